"""The flags of a container, in every way people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.syntax import yaml
from kcheck.values import Known, Origin, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text import Span


class Argument(NamedTuple):
    """A flag as it is written: its name without dashes, its value, and the whole item."""

    name: Known[str]
    value: Value[str]
    span: Span


def read(container: yaml.Node) -> Iterator[Argument]:
    """The flags of a container: `--name=value`, `--name` with the value in the next item, `-name`."""
    found = [item for key in ("command", "args") for item in items(yaml.get(container, key))]
    for at, item in enumerate(found):
        if not item.text.startswith("-"):
            continue
        name, sign, text = item.text.lstrip("-").partition("=")
        value: Value[str]
        following = found[at + 1] if at + 1 < len(found) else None
        if isinstance(item, yaml.Given) and isinstance(item.datum, Unknown):
            value = item.datum
        elif sign:
            value = _part(item, text)
        elif following is not None and not following.text.startswith("-"):
            value = Known(following.text, Origin((following.span,), literal=True))
        else:
            value = Known("true", Origin((item.span,)))
        yield Argument(_part(item, name), value, item.span)


def items(node: yaml.Node | None) -> list[yaml.Scalar]:
    """The scalars of a list."""
    found = node.items if isinstance(node, yaml.Sequence) else []
    return [item for item in map(yaml.resolve, found) if isinstance(item, yaml.Scalar)]


def _part(item: yaml.Scalar, text: str) -> Known[str]:
    """A part of a scalar, with its own place where the scalar is written as it is read."""
    span = item.span
    raw = text.encode()
    at = span.source.data.find(raw, span.start, span.end) if raw and item.text in span.text else -1
    if at < 0:
        return Known(text, Origin((span,)))
    return Known(text, Origin((span.source.span(at, at + len(raw)),), literal=True))
