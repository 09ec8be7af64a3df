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
                result.append(_append(missing.container, f"{missing.path[0]}={change.value}"))
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


def _append(container: Span, text: str) -> Edit:
    """A new last item of a list of flags, written like the one before it."""
    from kcheck.syntax import yaml

    for document in yaml.documents(container.source):
        for node in yaml.walk(document.root):
            if isinstance(node, yaml.Sequence) and (node.start, node.end) == (container.start, container.end):
                return _item(node, text)
    raise EditError(f"the list at {container.source.path}:{container.begin.line} cannot be found again")


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
    end = data.find(b"\n", max(last.end - 1, node.items[-1].start))
    end = len(data) if end < 0 else end
    end -= data[end - 1 : end] == b"\r"
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
