"""Changes to edits: where a value is written decides how it is changed. Knows no cloud."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.text import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.findings import Change
    from kcheck.syntax import yaml
    from kcheck.syntax.hcl import nodes
    from kcheck.syntax.hcl.write import Insertion
    from kcheck.text import Source, Span
    from kcheck.values import Missing


YAML = (".yaml", ".yml")
_LITERAL = re.compile(r"[\"]|(?:null|true|false|-?[\d.]+)$")
"""What a literal of HCL begins with, or is."""


class EditError(Exception):
    """A change that cannot be written: what a person must do instead."""


def edits(changes: Iterable[Change]) -> list[Edit]:
    """The edits of all changes; those that insert into the same block are written together.

    Raises:
        EditError: a value stands where kcheck cannot change it.
    """
    result: list[Edit] = []
    insertions: dict[Span, Insertion] = {}
    for change in changes:
        missing = change.origin.missing
        if missing is not None:
            if missing.container.source.path.endswith(YAML) and not missing.container.source.derived:
                result.append(_add(missing, change.value))
            elif _is_hcl(missing.container.source):
                _gather(insertions, missing.container, missing.path, change.value)
            else:
                raise EditError(
                    f"{change.name} is absent in {missing.container.source.path}, which kcheck does not edit"
                )
        elif change.origin.literal:
            result.append(_replace(change))
        else:
            raise EditError(f"{change.name} is computed: `{change.origin.written.text}`")
    for container, insertion in insertions.items():
        from kcheck.syntax.hcl.write import insert

        result += insert(_block(container), insertion)
    return result


def _is_hcl(source: Source) -> bool:
    return not source.derived and source.path.endswith((".tf", ".tfvars"))


def _gather(insertions: dict[Span, Insertion], span: Span, path: tuple[str, ...], value: str | int | bool) -> None:
    from kcheck.syntax.hcl.write import Insertion

    insertions.setdefault(span, Insertion()).add(path, value)


def _replace(change: Change) -> Edit:
    span = change.origin.written
    if _is_hcl(span.source) and (not isinstance(change.value, str) or _LITERAL.match(span.text)):
        from kcheck.syntax.hcl.write import literal

        return Edit(span, literal(change.value, span.text))
    if span.source.path.endswith(YAML) or _is_hcl(span.source):  # in HCL, a part of YAML in a template
        from kcheck.syntax import yaml

        style: yaml.Style = "double" if span.text[:1] == '"' else "single" if span.text[:1] == "'" else "plain"
        text = yaml.literal(change.value, style)
        return Edit(span, text if span.text else f" {text}")  # `key:` without a value
    if span.source.path.endswith((".tf.json", ".tfvars.json")) and not span.source.derived:
        import json

        quoted = span.text.startswith('"') and not isinstance(change.value, str)
        return Edit(span, f'"{json.dumps(change.value)}"' if quoted else json.dumps(change.value, ensure_ascii=False))
    raise EditError(f"{change.name} is written in {span.source.path}, which kcheck does not edit")


def _add(missing: Missing, value: str | int | bool) -> Edit:
    """A new last entry of a mapping, or a new last flag of a list."""
    from kcheck.syntax import yaml

    container = missing.container
    for document in yaml.documents(container.source):
        for node in yaml.walk(document.root):
            if (node.start, node.end) != (container.start, container.end):
                continue
            if isinstance(node, yaml.Sequence):
                return _item(node, f"{missing.path[0]}={value}")
            if isinstance(node, yaml.Mapping) and (node.entries or node.flow):
                return _entry(node, missing.path, value)
    raise EditError(f"the list or map at {container.source.path}:{container.begin.line} cannot be added to")


def _entry(node: yaml.Mapping, path: tuple[str, ...], value: str | int | bool) -> Edit:
    """A new last entry of a mapping, in its style, with the mappings that it is in."""
    from kcheck.syntax import yaml

    source, text = node.source, yaml.literal(value)
    *outer, name = map(yaml.literal, path)
    if node.flow:
        inner = f"{name}: {text}"
        for step in reversed(outer):
            inner = f"{step}: {{{inner}}}"
        end = node.entries[-1].value.end if node.entries else node.start + 1
        return Edit(source.span(end, end), f", {inner}" if node.entries else inner)
    first, last = node.entries[0].key, node.entries[-1]
    start = source.line_starts[source.line_number(first.start) - 1]
    indent = " " * len(source.data[start : first.start].decode("utf-8", "replace"))
    lines = [f"{indent}{'  ' * depth}{step}:" for depth, step in enumerate(outer)]
    lines.append(f"{indent}{'  ' * len(outer)}{name}: {text}")
    end = _line_end(source, max(last.value.end - 1, last.key.end))
    return Edit(source.span(end, end), "".join(source.newline + line for line in lines))


def _line_end(source: Source, at: int) -> int:
    """Where the line of a byte ends, before its line end."""
    end = source.data.find(b"\n", at)
    end = len(source.data) if end < 0 else end
    return end - (source.data[end - 1 : end] == b"\r")


def _item(node: yaml.Sequence, text: str) -> Edit:
    """A new last item of a list that has one, in the style of the last one."""
    from kcheck.syntax import yaml

    last = yaml.resolve(node.items[-1])
    quote = last.span.text[:1]
    style: yaml.Style = "double" if quote == '"' else "single" if quote == "'" else "plain"
    item = yaml.literal(text, style)
    data = node.source.data
    if node.flow:
        return Edit(node.source.span(last.end, last.end), f", {item}")
    start = node.source.line_starts[node.source.line_number(node.items[-1].start) - 1]
    line = data[start : node.items[-1].start].decode("utf-8", "replace")
    end = _line_end(node.source, max(last.end - 1, node.items[-1].start))
    return Edit(node.source.span(end, end), f"{node.source.newline}{line}{item}")


def _block(container: Span) -> nodes.Block:
    """The block or object at a span, read again from its source."""
    from kcheck.syntax.hcl import nodes
    from kcheck.syntax.hcl.parse import parse

    for block in _all(parse(container.source).body):
        if (block.span.start, block.span.end) == (container.start, container.end):
            return block
        for entry in block.body.entries.values():
            if entry.value_span.start <= container.start and container.end <= entry.value_span.end:
                for node in nodes.walk(entry.expression):
                    if isinstance(node, nodes.Object) and (node.span.start, node.span.end) == container[1:]:
                        return nodes.as_block(node)
    raise EditError(f"`{container.text.splitlines()[0]}` is no block or object that kcheck could add to")


def _all(body: nodes.Body) -> Iterator[nodes.Block]:
    for block in body.blocks:
        yield block
        yield from _all(block.body)
