"""Keys that lead to a span in YAML or JSON, and uses of anchors."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter

from kcheck.text.syntax import embedded_yaml, json, yaml
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
    found = embedded_yaml.documents(pieces)
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
        names += in_text(embedded_yaml.embedded_lines(node), span, depth - 1)
    return tuple(names)


def _step(node: yaml.Node, span: Span, key: str) -> tuple[str, yaml.Node] | None:
    """Return the key below a node that leads to a span, and its value."""
    if isinstance(node, yaml.Mapping):
        near = bisect_right(node.entries, span.start, key=lambda entry: entry.key.start) - 1
        for entry in chain(node.entries[near : near + 1], node.entries):
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
    """Yield the values of a JSON file around a span, each after its key."""
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
    """Return the innermost anchor above a span and its number of uses.

    With a `key` that the map at the span lacks, count the maps that would get it through merges.
    """
    shared, merging = _anchors(span.source)
    way = list(_way_down(_roots(span.source), span))
    found = [node for node in way if node in shared]
    if not found:
        return "", 1
    own, times, count = way[-1], _times(span.source), 0
    if own.span == span or isinstance(own, yaml.Scalar):  # which may be a text that holds the span
        lacking = (node for node in merging.get(own, ()) if key and key not in yaml.entries(node))
        count = sum(times[node] for node in (own, *lacking))
    return found[-1].anchor or "", max(count, 1)


def _way_down(nodes: Sequence[yaml.Node], span: Span) -> Iterator[yaml.Target]:
    """Yield the nodes that hold a place, the innermost last."""
    while (at := _holder(nodes, span)) is not None and not isinstance(node := nodes[at], yaml.Alias):
        yield node
        nodes = yaml.children(node) if node.span != span else ()


def _values(node: yaml.Target, *, top: bool = False) -> list[yaml.Node]:
    if isinstance(node, yaml.Sequence):
        return list(node.items)
    if not isinstance(node, yaml.Mapping):
        return [node] if top else []
    entries = yaml.entries(node).items()
    return [entry.value for name, entry in entries if not (top and name.startswith(_EXTENSION))]


@lru_cache(maxsize=4)
def _times(source: Source) -> Counter[yaml.Target]:
    """Count how often each node of a file is reached, cached."""
    result, order = Counter[yaml.Target](), dict[yaml.Target, None]()

    def visit(node: yaml.Target) -> None:
        for inner in map(yaml.resolve, _values(node)):
            if inner not in order:
                visit(inner)
        order[node] = None

    for root in _roots(source):
        visit(root)
        result.update(map(yaml.resolve, _values(root, top=True)))
    for node in reversed(order):
        for inner in map(yaml.resolve, _values(node) if result[node] else ()):
            result[inner] += result[node]
    return result


@lru_cache(maxsize=4)
def _anchors(source: Source) -> tuple[set[yaml.Target], dict[yaml.Target, list[yaml.Mapping]]]:
    """Return the targets of the aliases of a file, and the maps that merge a map."""
    targets, merging = set[yaml.Target](), dict[yaml.Target, list[yaml.Mapping]]()
    for node in (node for root in _roots(source) for node in yaml.walk(root)):
        targets.update(one.target for one in yaml.children(node) if isinstance(one, yaml.Alias))
        if isinstance(node, yaml.Mapping):
            for layer in [*yaml.layers(node)][1:]:
                merging.setdefault(layer, []).append(node)
    return targets, merging
