"""Changes to edits: where a value is written decides how it is changed. Knows no cloud."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.files import KUSTOMIZATIONS, MANIFESTS, TERRAFORM, VARIABLES
from kcheck.text import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.findings import Change
    from kcheck.syntax import yaml
    from kcheck.syntax.hcl import nodes
    from kcheck.syntax.insertion import Insertion
    from kcheck.text import Source, Span


_YAML = (*MANIFESTS, *KUSTOMIZATIONS)
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
            if _is_yaml(missing.container.source) or _is_hcl(missing.container.source):
                _gather(insertions, missing.container, missing.path, change.value)
            else:
                raise EditError(
                    f"{change.name} is absent in {missing.container.source.path}, which kcheck does not edit"
                )
        elif change.origin.literal:
            result.append(_replace(change))
        else:
            raise EditError(f"{change.name} is computed: `{change.origin.written.text}`")
    collections: dict[Source, dict[tuple[int, int], yaml.Sequence | yaml.Mapping]] = {}
    for container, insertion in insertions.items():
        if _is_yaml(container.source):
            if container.source not in collections:
                collections[container.source] = _collections(container.source)
            result.append(_added(container, insertion, collections[container.source]))
        else:
            from kcheck.syntax.hcl.write import insert

            result += insert(_block(container), insertion)
    return result


def source_of(change: Change) -> Source:
    """The file that a change is written to."""
    missing = change.origin.missing
    return missing.container.source if missing is not None else change.origin.written.source


def _is_hcl(source: Source) -> bool:
    return not source.derived and source.path.endswith((".tf", ".tfvars"))


def _is_yaml(source: Source) -> bool:
    """Whether a file is read as YAML; a manifest in JSON is. Plans are nobody's to edit."""
    if source.path.endswith(".json"):
        return not source.private and not source.derived and not source.path.endswith((*TERRAFORM, *VARIABLES))
    return source.path.endswith(_YAML)


def _gather(insertions: dict[Span, Insertion], span: Span, path: tuple[str, ...], value: str | int | bool) -> None:
    from kcheck.syntax.insertion import Insertion

    insertions.setdefault(span, Insertion()).add(path, value)


def _replace(change: Change) -> Edit:
    span = change.origin.written
    if _is_hcl(span.source) and (not isinstance(change.value, str) or _LITERAL.match(span.text)):
        from kcheck.syntax.hcl.write import literal

        return Edit(span, literal(change.value, span.text))
    if _is_yaml(span.source) or _is_hcl(span.source):  # in HCL, a part of YAML in a template
        from kcheck.syntax import yaml

        style: yaml.Style = "double" if span.text[:1] == '"' else "single" if span.text[:1] == "'" else "plain"
        text = yaml.literal(change.value, style)
        return Edit(span, text if span.text else f" {text}")  # `key:` without a value
    if span.source.path.endswith((".tf.json", ".tfvars.json")) and not span.source.derived:
        import json

        quoted = span.text.startswith('"') and not isinstance(change.value, str)
        return Edit(span, f'"{json.dumps(change.value)}"' if quoted else json.dumps(change.value, ensure_ascii=False))
    raise EditError(f"{change.name} is written in {span.source.path}, which kcheck does not edit")


def _collections(source: Source) -> dict[tuple[int, int], yaml.Sequence | yaml.Mapping]:
    """The maps and lists of a YAML file, read again, by where they are."""
    from kcheck.syntax import yaml

    nodes = (node for document in yaml.documents(source) for node in yaml.walk(document.root))
    return {(node.start, node.end): node for node in nodes if isinstance(node, yaml.Sequence | yaml.Mapping)}


def _added(
    container: Span, insertion: Insertion, collections: dict[tuple[int, int], yaml.Sequence | yaml.Mapping]
) -> Edit:
    from kcheck.syntax.members import added

    node = collections.get((container.start, container.end))
    if node is None:
        raise EditError(f"what is at {container.source.path}:{container.begin.line} cannot be found again")
    return added(node, insertion)


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
