"""Flags of a container, in every form."""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text import placeholders
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Known, Origin, Unknown, Value


class Argument(Struct, frozen=True):
    """A flag: its name without dashes, its value, and the place of the whole item."""

    name: Known[str]
    value: Value[str]
    span: Span


def read(container: yaml.Node) -> Iterator[Argument]:
    """Yield the flags of a container; none if its command is a shell script."""
    found = [item for key in ("command", "args") for item in yaml.scalars(container, key)]
    if _is_shell(found):
        return
    for flag in parse(found):
        text = flag.value.value if isinstance(flag.value, Known) else ""
        yield replace(flag, value=_filled(text, flag.value, container)) if "$(" in text else flag


_VARIABLE = regex(r"\$\(([\w.-]+)\)")


def _filled(text: str, value: Value[str], container: yaml.Node) -> Value[str]:
    """Resolve a flag value that is a variable of the container's environment."""
    whole = _VARIABLE.fullmatch(text)
    for variable in yaml.items(container, "env") if whole else ():
        name, given = yaml.get(variable, "name"), yaml.get(variable, "value")
        if isinstance(name, yaml.Scalar) and whole and name.text == whole[1] and isinstance(given, yaml.Scalar):
            if isinstance(given, yaml.Computed) or "$(" in given.text:
                break
            return _certain(
                Known(given.text, Origin((given.span, *(value.origin.spans if value.origin else ())), literal=True))
            )
    return Unknown(f"`{text}` comes from the container's environment", value.origin)


def parse(found: list[yaml.Scalar]) -> Iterator[Argument]:
    """Yield the flags of a list, in all usual forms."""
    for at, item in enumerate(found):
        if not item.text.startswith("-"):
            continue
        name, sign, text = item.text.lstrip("-").partition("=")
        value: Value[str]
        following = found[at + 1] if at + 1 < len(found) else None
        if isinstance(item, yaml.Computed) and isinstance(item.datum, Unknown):
            value = item.datum
        elif sign:
            value = _part(item, text)
        elif following is not None and not following.text.startswith("-"):
            value = Known(following.text, Origin((following.span,), literal=True))
        else:
            value = Known("true", Origin((item.span,)))
        yield Argument(_part(item, name), _certain(value), item.span)


def _certain(value: Value[str]) -> Value[str]:
    """Return a flag's value; Unknown if it contains a placeholder without a default."""
    if not isinstance(value, Known) or "$(" in value.value or not placeholders.first(value.value):
        return value
    text, origin = placeholders.with_defaults(value.value), value.origin
    return placeholders.unknown([text], origin) or Known(text, Origin(origin.spans))


def runs(container: yaml.Node, program: str) -> bool:
    """Whether a container's command starts a program, directly or through a shell."""
    found = [item for key in ("command", "args") for item in yaml.scalars(container, key)]
    words = [item.text for item in found]
    if not _is_shell(found):
        return bool(words) and words[0].rpartition("/")[2] == program
    starts = re.compile(rf"(?:^|[;&|\s])(?:\S*/)?{re.escape(program)}\s+\\?\s*-")
    return any(starts.search(word) for word in words)


def room(container: yaml.Node) -> Span | None:
    """Return the list to which a flag can be added; None if there is none."""
    given = yaml.get(container, "args") or yaml.get(container, "command")
    found = yaml.items(given)
    return given.span if given is not None and found and not isinstance(found[-1], yaml.Computed) else None


def gap(container: yaml.Node) -> str:
    """Return why flags of a container may be missing; empty if none can."""
    nodes = [yaml.get(container, key) for key in ("command", "args")]
    found = [item for node in nodes for item in yaml.scalars(node)]
    if _is_shell(found):
        return "the command is a shell script"
    return next(filter(None, map(unknown, (*nodes, *found))), "")


def unknown(node: yaml.Node | None) -> str:
    """Return why a node's text or items are unknown; empty if they are known."""
    found = node.datum if isinstance(node, yaml.Computed) and not node.text else None
    return found.reason if isinstance(found, Unknown) else ""


_SHELLS = ("sh", "bash", "ash", "dash")


def _is_shell(found: list[yaml.Scalar]) -> bool:
    """Whether a command is `sh -c` with a script."""
    words = [item.text for item in found]
    return bool(words) and words[0].rpartition("/")[2] in _SHELLS and any(_LINE.fullmatch(word) for word in words[1:])


_LINE = regex(r"-[a-z]*c")


def _part(item: yaml.Scalar, text: str) -> Known[str]:
    """Return a part of a scalar, with its own place if the scalar has no escapes."""
    span = item.span
    raw = text.encode()
    at = span.source.data.find(raw, span.start, span.end) if raw and item.text in span.text else -1
    if at < 0:
        return Known(text, Origin((span,)))
    return Known(text, Origin((span.source.span(at, at + len(raw)),), literal=True))
