"""Anchors of YAML: how many places share what is written once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.syntax import yaml

if TYPE_CHECKING:
    from kcheck.text import Source, Span


class _Anchor(NamedTuple):
    start: int
    end: int
    name: str
    aliases: int


def uses(span: Span) -> tuple[str, int]:
    """The innermost anchor that a place is below, and how many places have what is there; ("", 1) without one."""
    found = [a for a in _anchors(span.source) if a.start <= span.start and span.end <= a.end and a.aliases]
    count = 1
    for anchor in found:
        count *= 1 + anchor.aliases
    return (min(found, key=lambda anchor: anchor.end - anchor.start).name, count) if found else ("", 1)


@lru_cache(maxsize=4)
def _anchors(source: Source) -> list[_Anchor]:
    """The anchors of a file with the number of their aliases."""
    targets: dict[yaml.Target, int] = {}
    for document in yaml.documents(source):
        todo: list[yaml.Node | None] = [document.root]
        while todo:
            node = todo.pop()
            if isinstance(node, yaml.Alias):
                targets[node.target] = targets.get(node.target, 0) + 1
            elif isinstance(node, yaml.Sequence):
                todo += node.items
            elif isinstance(node, yaml.Mapping):
                todo += [entry.value for entry in node.entries]
    return [_Anchor(node.start, node.end, node.anchor or "", count) for node, count in targets.items()]
