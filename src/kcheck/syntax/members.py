"""New members of maps and items of lists in YAML, in the style of their neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.syntax import yaml
from kcheck.text import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.syntax.insertion import Insertion
    from kcheck.text import Source


def added(node: yaml.Sequence | yaml.Mapping, insertion: Insertion) -> Edit:
    """The edit that adds members to a map, or flags to a list of them, behind the last one."""
    if isinstance(node, yaml.Sequence):
        return _items(node, [f"{name}={value}" for name, value in insertion.attributes.items()])
    style = _style(node.entries[0].key) if node.entries else "plain"
    values = _style(yaml.resolve(node.entries[-1].value)) if node.entries else "plain"
    if node.flow:
        at = node.entries[-1].value.end if node.entries else node.start + 1
        return Edit(node.source.span(at, at), (", " if node.entries else "") + _flow(insertion, style, values))
    first = node.entries[0].key.start
    column = first - node.source.line_starts[node.source.line_number(first) - 1]
    indent = " " * len(node.source.data[first - column : first].decode("utf-8", "replace"))
    end = _line_end(node.source, max(node.entries[-1].value.end - 1, node.entries[-1].key.start))
    lines = (f"{node.source.newline}{indent}{line}" for line in _block(insertion, style, values))
    return Edit(node.source.span(end, end), "".join(lines))


def _block(insertion: Insertion, style: yaml.Style, values: yaml.Style) -> Iterator[str]:
    for name, value in insertion.attributes.items():
        yield f"{yaml.literal(name, style)}: {yaml.literal(value, values)}"
    for name, inner in insertion.blocks.items():
        yield f"{yaml.literal(name, style)}:"
        yield from (f"  {line}" for line in _block(inner, style, values))


def _flow(insertion: Insertion, style: yaml.Style, values: yaml.Style) -> str:
    parts = [f"{yaml.literal(name, style)}: {yaml.literal(v, values)}" for name, v in insertion.attributes.items()]
    for name, inner in insertion.blocks.items():
        parts.append(f"{yaml.literal(name, style)}: {{{_flow(inner, style, values)}}}")
    return ", ".join(parts)


def _items(node: yaml.Sequence, texts: list[str]) -> Edit:
    """New last items of a list that has one, in the style of the last one."""
    last = yaml.resolve(node.items[-1])
    items = [yaml.literal(text, _style(last)) for text in texts]
    source = node.source
    if node.flow:
        return Edit(source.span(last.end, last.end), "".join(f", {item}" for item in items))
    start = source.line_starts[source.line_number(node.items[-1].start) - 1]
    line = source.data[start : node.items[-1].start].decode("utf-8", "replace")
    end = _line_end(source, max(last.end - 1, node.items[-1].start))
    return Edit(source.span(end, end), "".join(f"{source.newline}{line}{item}" for item in items))


def _style(node: yaml.Target) -> yaml.Style:
    """The quotes of a text."""
    quote = node.span.text[:1]
    return "double" if quote == '"' else "single" if quote == "'" else "plain"


def _line_end(source: Source, at: int) -> int:
    """The end of the line that holds `at`, before its line end; a comment behind the value stays with it."""
    end = source.data.find(b"\n", at)
    end = len(source.data) if end < 0 else end
    return end - (source.data[end - 1 : end] == b"\r")
