"""Values of helm's templates with Go's types, and their texts: a number of YAML is a float64."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml as pyyaml

from kcheck.kubernetes.marked_values import as_data
from kcheck.kubernetes.template_syntax import MAX_DEPTH, unsupported
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TEXT = 2_000_000
"""Characters of one value."""
_QUOTED = regex(r"[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?.*|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
"""Dates, and numbers to the base 60: plain texts for go-yaml, which puts them in quotes all the same."""
_ESCAPES = {ord(char): f"\\{name}" for char, name in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)}
_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class Int64(int):
    """An int64: no int, for Go."""


class Fields(dict[str, object]):
    """A struct, or a map of which kcheck does not know all keys."""


_KINDS = {
    type(None): "invalid", bool: "bool", Int64: "int64", int: "int", float: "float64", str: "string", list: "slice",
    dict: "map", Fields: "struct",
}  # fmt: skip


def kind(value: object) -> str:
    """The kind of a value, as Go names it."""
    return _KINDS.get(type(value), "func")


def called(value: object) -> str:
    """A value by its kind, in a message."""
    return "nil" if value is None else f"a {kind(value)}"


def weigh(*values: object) -> None:
    """Count the characters of values; lists may hold the same one many times.

    Raises:
        TemplateError: they are too many.
    """
    left, level, below = MOST_TEXT, list(values), 0
    while level:
        left -= sum(len(one) + 1 if isinstance(one, str | list | dict) else 1 for one in level)
        if left < 0 or below > MAX_DEPTH:
            raise unsupported("too much text")
        lists = (
            one if isinstance(one, list) else [*one, *one.values()] for one in level if isinstance(one, list | dict)
        )
        level, below = [item for one in lists for item in one], below + 1


def decimal(value: float, low: int = -4, high: int = 6) -> str:
    """A float64 in its shortest form, with an exponent outside of these."""
    if not math.isfinite(value):
        raise unsupported("an infinite number")
    exact = Decimal(repr(value)).normalize()
    exponent = exact.adjusted() if value else 0
    if low <= exponent < high:
        return f"{exact:f}"
    digits = "".join(map(str, exact.as_tuple().digits))
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{exponent:+03d}"


def shown(value: object, nothing: str = "<nil>") -> str:
    """A value as %v prints it."""
    weigh(value)
    return _shown(value, nothing)


def _shown(value: object, nothing: str = "<nil>") -> str:
    if isinstance(value, bool) or value is None:
        return nothing if value is None else str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if kind(value) == "map" and isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_shown(value[key])}' for key in sorted(value))}]"
    raise unsupported(f"a {kind(value)} as text")


def quoted(text: str) -> str:
    """A text as %q prints it."""
    text = text.translate(_ESCAPES)
    odd = {ord(char) for char in text if not char.isprintable()}
    return f'"{text.translate({one: _escape(one) for one in odd})}"'


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_yaml(value: object) -> str:
    """A value as go-yaml writes it."""
    weigh(value)
    dumper = getattr(pyyaml, "CSafeDumper", pyyaml.SafeDumper)
    text: str = pyyaml.emit(_document(value), Dumper=dumper, allow_unicode=True, width=2**30)
    return text.removesuffix("...\n").removesuffix("\n")


def _document(value: object) -> Iterator[Any]:
    yield pyyaml.StreamStartEvent()
    yield pyyaml.DocumentStartEvent(explicit=False)
    yield from _events(value)
    yield pyyaml.DocumentEndEvent(explicit=False)
    yield pyyaml.StreamEndEvent()


def _events(value: object) -> Iterator[Any]:
    if isinstance(value, list):
        yield pyyaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
        for item in value:
            yield from _events(item)
        yield pyyaml.SequenceEndEvent()
    elif kind(value) == "map" and isinstance(value, dict):
        yield pyyaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
        for key in sorted(value):
            yield from _events(key)
            yield from _events(value[key])
        yield pyyaml.MappingEndEvent()
    else:
        style, text = None, shown(value, "null")
        if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**64:
            text = str(int(value))
        if isinstance(value, str):
            typed = not isinstance(yaml.resolved(text), str) or _QUOTED.fullmatch(text)
            style = "|" if "\n" in text else '"' if typed else None
        yield pyyaml.ScalarEvent(None, None, (True, True), text, style=style)


def from_yaml(text: str) -> dict[str, object]:
    """The map in a text, with numbers as float64.

    Raises:
        TemplateError: it is none.
    """
    roots = [(document.problem, document.root) for document in yaml.documents(Source("", text.encode()))]
    problem, root = roots[0] if roots else (None, None)
    if problem is not None or (root is not None and not isinstance(root, yaml.Mapping)):
        raise unsupported("YAML that is no map")
    return values_of(root)


def values_of(root: yaml.Node | None) -> dict[str, object]:
    """A map of YAML as data."""
    try:
        found: dict[str, object] = (
            json.loads(json.dumps(as_data(root), allow_nan=False), parse_int=float) if root is not None else {}
        )
    except (OverflowError, ValueError):
        raise unsupported("too many values") from None
    return found


def to_json(value: object) -> str:
    """A value as Go writes JSON."""
    weigh(value)

    def plain(value: object) -> object:
        if isinstance(value, list):
            return list(map(plain, value))
        if kind(value) == "map" and isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if kind(value) in ("struct", "func") or (isinstance(value, float) and decimal(value, -6, 21).count("e")):
            raise unsupported(f"toJson of a {kind(value)}")
        return int(value) if isinstance(value, float) and value.is_integer() else value

    text = json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.translate(_HTML)
