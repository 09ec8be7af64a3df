"""Count the places that share a value through YAML anchors."""

from functools import lru_cache

from kcheck.text.syntax import yaml
from kcheck.text.text import Source, Span

_EXTENSION = "x-"
"""Prefix of top-level keys that only hold anchors for the rest."""


def uses(span: Span, key: str = "") -> tuple[str, int]:
    """Return the innermost anchor above a place and its number of uses; ("", 1) without one.

    With a `key` that the map at the place lacks, count the maps that would get it through merges.
    """
    roots, shared = _anchors(span.source)
    found = [node for node in shared if node.span.holds(span)]
    if not found:
        return "", 1
    counter = _Counter(span, key)
    count = sum(counter.below(value) for root in roots for value in _values(root, top=True))
    return min(found, key=lambda node: node.end - node.start).anchor or "", max(count, 1)


class _Counter:
    """Counts how often a place is reached; each node is visited once, because aliases can multiply."""

    def __init__(self, span: Span, key: str) -> None:
        self.span = span
        self.key = key
        self.done: dict[yaml.Target, int] = {}

    def below(self, node: yaml.Node) -> int:
        target = yaml.resolve(node)
        if target not in self.done:
            inner = sum(map(self.below, _values(target)))
            self.done[target] = inner + self._own(target)
        return self.done[target]

    def _own(self, target: yaml.Target) -> int:
        if isinstance(target, yaml.Scalar):  # which may be a text that holds the place
            return int(target.span.holds(self.span))
        if target.span == self.span:
            return 1
        if not self.key or not isinstance(target, yaml.Mapping) or self.key in yaml.entries(target):
            return 0
        return int(any(layer.span == self.span for layer in yaml.layers(target)))


def _values(node: yaml.Target, *, top: bool = False) -> list[yaml.Node]:
    if isinstance(node, yaml.Sequence):
        return list(node.items)
    if not isinstance(node, yaml.Mapping):
        return [node] if top else []
    entries = yaml.entries(node).items()
    return [entry.value for name, entry in entries if not (top and name.startswith(_EXTENSION))]


@lru_cache(maxsize=4)
def _anchors(source: Source) -> tuple[list[yaml.Target], set[yaml.Target]]:
    """Return the roots of a file and the targets of its aliases."""
    roots = [document.root for document in yaml.documents(source) if document.root is not None]
    targets: set[yaml.Target] = set()
    todo: list[yaml.Node] = list(roots)
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.Alias):
            targets.add(node.target)
        elif isinstance(node, yaml.Sequence):
            todo += node.items
        elif isinstance(node, yaml.Mapping):
            todo += [entry.value for entry in node.entries]
    return roots, targets
