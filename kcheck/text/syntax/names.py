"""Keys that lead to a span in YAML or JSON, and other places that share its value through anchors."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

from kcheck.text.syntax import json, texts, yaml
from kcheck.text.text import Problem, Source, Span
from kcheck.text.values import Piece

_ARGUMENTS = frozenset({"args", "command", "arguments", "additionalArgs"})
_DEPTH = 4
"""Levels of YAML embedded in YAML that are searched."""
_start = attrgetter("start")


def in_yaml(span: Span) -> tuple[str, ...]:
    """Return the keys that lead to a span in a YAML file."""
    roots = _roots(span.source)
    at = _holder(roots, span)
    return _keys(roots[at], span) if at is not None else ()


def in_text(pieces: tuple[Piece, ...], span: Span, depth: int = _DEPTH) -> tuple[str, ...]:
    """Return the keys that lead to a span in YAML embedded in a text."""
    found = texts.documents(pieces)
    return next((_keys(root, span, depth) for root in found if root.span.holds(span)), ())


def in_json(span: Span) -> tuple[str, ...]:
    """Return the keys that lead to a span in a JSON file."""
    return tuple(name for name, _ in _way(span))[1:]


def json_member(span: Span, name: str) -> Span | None:
    """Return the value of a member of the object at a span in a JSON file."""
    own = next((node.value for _, node in _way(span) if node.span == span), None)
    return own[name].value.span if isinstance(own, dict) and name in own else None


@lru_cache(maxsize=4)  # several findings of a file come together
def _roots(source: Source) -> tuple[yaml.Target, ...]:
    return tuple(document.root for document in yaml.documents(source) if document.root is not None)


@lru_cache(maxsize=4)
def _json(source: Source) -> json.Node | Problem:
    return json.parse(source)


def _holder(nodes: Sequence[yaml.Node], span: Span) -> int | None:
    """Return the index of the node that contains a span."""
    near = bisect_right(nodes, span.start, key=_start) - 1
    if near >= 0 and nodes[near].span.holds(span):
        return near
    # in a template, the bytes of a node may be in another file than those around it
    return next((at for at, node in enumerate(nodes) if node.span.holds(span)), None)


def _keys(node: yaml.Node, span: Span, depth: int = _DEPTH) -> tuple[str, ...]:
    names: list[str] = []
    while True:
        step = _step(node, span, names[-1] if names else "")
        if step is None:
            break
        name, node = step
        names.append(name)
    own = node.own("id") if isinstance(node, yaml.Mapping) and node.span != span else None
    if own is not None and isinstance(own.value, yaml.Scalar):  # the place stands for all of the map
        names.append(f'"{own.value.text}"')
    if isinstance(node, yaml.Scalar) and depth and node.span != span and "\n" in node.text.strip("\n"):
        names += in_text(texts.embedded_lines(node), span, depth - 1)
    return tuple(names)


def _step(node: yaml.Node, span: Span, key: str) -> tuple[str, yaml.Node] | None:
    """Return the key below a node that leads to a span, and its value."""
    if isinstance(node, yaml.Mapping):
        for entry in node.entries:
            if entry.key.span.holds(span) or entry.value.span.holds(span):
                own = node.own("name") if entry.key.text == "value" else None
                name = own.value.text if own is not None and isinstance(own.value, yaml.Scalar) else entry.key.text
                return name, entry.value
    if isinstance(node, yaml.Sequence):
        at = _holder(node.items, span) if node.span != span else None
        if at is not None:
            return _item(node.items, at, key), node.items[at]
    return None


def _item(items: tuple[yaml.Node, ...], at: int, key: str) -> str:
    """Name a list item by its flag among arguments, else by its number."""
    flag = _flag(items[at]) or (_flag(items[at - 1]) if at else "")
    return flag if flag and key in _ARGUMENTS else f"[{at}]"


def _flag(node: yaml.Node) -> str:
    text = node.text if isinstance(node, yaml.Scalar) else ""
    return text.partition("=")[0] if text.startswith("-") else ""


def _way(span: Span) -> Iterator[tuple[str, json.Node]]:
    """Yield the values of a JSON file that contain a span, from the whole file down, each after its key."""
    root = _json(span.source)
    step = ("", root) if isinstance(root, json.Node) else None
    while step is not None:
        yield step
        value = step[1].value
        inner: Iterable[tuple[str, Span, json.Node]] = ()
        if isinstance(value, dict):
            inner = ((name, member.key, member.value) for name, member in value.items())
        elif isinstance(value, list):
            inner = ((f"[{at}]", item.span, item) for at, item in enumerate(value))
        step = next(((name, node) for name, key, node in inner if key.holds(span) or node.span.holds(span)), None)


_EXTENSION = "x-"
"""Prefix of top-level keys that only hold anchors for the rest."""


def uses(span: Span, key: str = "") -> tuple[str, int]:
    """Return the innermost anchor above a span and its number of uses; ("", 1) without one.

    With a `key` that the map at the span lacks, count the maps that would get it through merges.
    """
    roots, shared = _anchors(span.source)
    found = [node for node in shared if node.span.holds(span)]
    if not found:
        return "", 1
    counter = _Counter(span, key)
    count = sum(counter.below(value) for root in roots for value in _values(root, top=True))
    return min(found, key=lambda node: node.end - node.start).anchor or "", max(count, 1)


class _Counter:
    """Counts how often a node is reached; each node is visited once, because aliases can multiply."""

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
def _anchors(source: Source) -> tuple[tuple[yaml.Target, ...], set[yaml.Target]]:
    """Return the roots of a file and the targets of its aliases."""
    roots, targets = _roots(source), set[yaml.Target]()
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
