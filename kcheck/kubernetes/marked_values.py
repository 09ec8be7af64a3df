"""Chart values that become requests and limits, found by marks.

Templates of charts are programs. Instead of reading them, kcheck has helm render the chart once more with a unique
number for each value that may be a request or a limit, and finds these numbers in the output.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.objects import Object, objects_in, value_of
from kcheck.kubernetes.patches import replace_at
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Missing, Origin, Unknown
from kcheck.text.yaml_nodes import Stated

Path = tuple[str, ...]
_Changes = dict[str, "_Changes | str | int"]

MOST_MARKS, MOST_VALUES, MAX_DEPTH = 1_000, 20_000, 40
_FIRST = 1201
"""First mark: small enough that a template that repeats something so often still ends."""
_SIDES = ("requests", "limits")
_UNITS = {"cpu": "m", "memory": "Mi"}
_QUANTITY = regex(r"([0-9]+(?:\.[0-9]+)?)([numkKMGTPE]i?)?")
_NUMBER = regex(r"(?<![0-9.])[0-9]+")
_BREAK = regex(r"^---[ \t]*\n", re.MULTILINE)

_Identity = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class Mark(Struct, frozen=True):
    """A value that may be a request or a limit, and the text that replaces it.

    `holder` is the innermost map of the last file that has part of its path, `rest` the path below it.
    """

    path: Path
    text: str
    node: yaml.Scalar | None
    holder: yaml.Target
    rest: Path

    @property
    def origin(self) -> Origin:
        """Return where the value is written, or would be."""
        if self.node is not None and self.node.source is self.holder.source:
            return Origin((self.node.span,), literal=not isinstance(self.node, yaml.Computed))
        return Origin((self.holder.span,), missing=Missing(self.holder.span, self.rest))


class Marks:
    """Marks of a chart's values; `amounts` are rendered requests and limits."""

    def __init__(self, values: yaml.Target | None, output: str, amounts: set[str], *, absent: bool) -> None:
        self.values = values
        self.marks: dict[str, Mark] = {}
        self.found: dict[_Identity, dict[Path, Mark]] = {}
        taken = {match[0] for match in _NUMBER.finditer(output)}
        self._numbers = (str(number) for number in count(_FIRST) if str(number) not in taken)
        self._amounts = amounts
        self._left = MOST_VALUES
        self._changes: _Changes = {}
        self._elsewhere: set[Path] = set()
        if isinstance(values, yaml.Mapping):
            self._look(values, (), absent=absent)

    def as_json(self) -> str | None:
        """Return all values with marks as JSON; None without marks."""
        try:
            return json.dumps(Data({}).of(self.values, self._changes)) if self.marks else None
        except OverflowError:
            return None

    def _look(self, node: yaml.Mapping, path: Path, *, absent: bool) -> None:
        """Mark possible requests and limits below a map of values."""
        if len(path) > MAX_DEPTH or self._left <= 0:
            return
        entries = yaml.entries(node)
        self._left -= len(entries) + 1
        for key, entry in entries.items():
            below, here = yaml.resolve(entry.value), (*path, key)
            if key.lower().endswith("resources") and _may_hold(below):
                self._resources(below, here, absent=absent)
            elif isinstance(below, yaml.Mapping):
                self._look(below, here, absent=absent)
            elif isinstance(below, yaml.Sequence):
                for i, item in enumerate(map(yaml.resolve, below.items)):
                    if isinstance(item, yaml.Mapping):
                        self._look(item, (*here, str(i)), absent=absent)
            elif isinstance(below, yaml.Scalar) and below.text in self._amounts:
                match = _QUANTITY.fullmatch(below.text)
                if match:
                    self._mark(here, below, match[2] or "", node)

    def _resources(self, node: yaml.Target, path: Path, *, absent: bool) -> None:
        """Mark the amounts in a map of requests and limits, or `absent` ones."""
        inner = isinstance(node, yaml.Mapping) and not any(side in yaml.entries(node) for side in _SIDES)
        if isinstance(node, yaml.Mapping) and inner and node.entries:
            self._look(node, path, absent=absent)  # resources of several things, or by another name
            return
        for side in _SIDES:
            for resource, unit in _UNITS.items():
                here: Path = (side, resource)
                below = yaml.get(node, *here)
                if isinstance(below, yaml.Scalar):
                    match = _QUANTITY.fullmatch(below.text)
                    self._mark((*path, *here), below, (match[2] or "") if match else unit, *_holder(node, here))
                elif absent:
                    holder, rest = _holder(node, here)
                    if _may_hold(holder):
                        self._mark((*path, *here), None, unit, holder, rest)

    def _mark(self, path: Path, node: yaml.Scalar | None, unit: str, holder: yaml.Target, rest: Path = ()) -> None:
        if len(self.marks) >= MOST_MARKS:
            return
        number = next(self._numbers)
        is_number = node is not None and not unit and not isinstance(yaml.value(node), str)
        self.marks[number] = Mark(path, number + unit, node, holder, rest)
        inner = self._changes
        for step in path[:-1]:
            below = inner.setdefault(step, {})
            inner = below if isinstance(below, dict) else {}
        inner[path[-1]] = int(number) if is_number else number + unit

    # --- where the marks come out

    def read(self, output: str) -> None:
        """Record where helm's output has marks."""
        uses = dict.fromkeys(self.marks, 0)
        for match in _NUMBER.finditer(output):
            if match[0] in uses:
                uses[match[0]] += 1
        by_text = {mark.text: (number, mark) for number, mark in self.marks.items()}
        for part in _BREAK.split(output):
            for document in yaml.documents(Source("", part.encode())):
                for item in objects_in(document.root) if document.root is not None else ():
                    for path, text in _amounts(item.root, ()):
                        if text in by_text:
                            number, mark = by_text[text]
                            uses[number] -= 1
                            self.found.setdefault(_identity(item), {})[path] = mark
        self._elsewhere = {self.marks[number].path for number, left in uses.items() if left > 0}

    def applied(self, item: Object) -> Object:
        """Set the places of an object's requests and limits to those in the values."""
        found = self.found.get(_identity(item), {})
        root = item.root
        for container in dict.fromkeys(path[:-3] for path in found):
            own = {path[-3:]: self._origin(mark) for path, mark in found.items() if path[:-3] == container}
            root = replace_at(root, container, lambda node, own=own: _placed(node, (), own))  # type: ignore[misc]
        return replace(item, root=root)

    def _origin(self, mark: Mark) -> Origin:
        if mark.path not in self._elsewhere:
            return mark.origin
        return replace(mark.origin, why=f"the chart uses the value {'.'.join(mark.path)} for more than this")


Unknowns = dict[str, Unknown]
"""Texts that stand for values that are not known."""


class Data:
    """Converts values to data, up to a limit, as aliases of aliases can multiply."""

    def __init__(self, unknown: Unknowns) -> None:
        self._left = MOST_VALUES
        self._unknown = unknown

    def of(self, node: yaml.Node | None, changes: _Changes | str | int, depth: int = 0) -> object:
        """Convert values to data. Raises OverflowError if there are too many."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise OverflowError
        if not isinstance(changes, dict):
            return changes
        target = yaml.resolve(node) if node is not None else None
        if isinstance(target, yaml.Sequence):
            return [self.of(item, changes.get(str(i), {}), depth + 1) for i, item in enumerate(target.items)]
        if isinstance(target, yaml.Mapping) or changes:
            own = yaml.pairs(target)
            found = {
                _key(key, entry): self.of(entry.value, changes.get(key, {}), depth + 1) for key, entry in own.items()
            }
            return found | {key: self.of(None, below, depth + 1) for key, below in changes.items() if key not in own}
        if isinstance(target, yaml.Computed) and isinstance(target.datum, Unknown):
            text = f"kcheckunknown{len(self._unknown)}x"
            self._unknown[text] = target.datum
            return text
        return yaml.value(target) if isinstance(target, yaml.Scalar) else None


def _key(key: str, entry: yaml.Pair) -> str:
    """Return a key as helm has it: `on` is true."""
    value = yaml.value(entry.key)
    return str(value).lower() if isinstance(value, bool) else key


def _may_hold(node: yaml.Node | None) -> bool:
    """Whether a node is a map, or null, which may become one."""
    return isinstance(node, yaml.Mapping) or (isinstance(node, yaml.Scalar) and yaml.value(node) is None)


def _holder(node: yaml.Target, path: Path) -> tuple[yaml.Target, Path]:
    """Return the innermost node of a path, and the path below it."""
    here = node
    for i, step in enumerate(path[:-1]):
        below = yaml.get(here, step)
        if below is None or below.source is not node.source:
            return here, path[i:]
        here = below
    return here, path[-1:]


def _identity(item: Object) -> _Identity:
    return item.kind, yaml.text(item.root, "metadata", "namespace"), yaml.text(item.root, "metadata", "name")


def _amounts(node: yaml.Node, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the CPU and memory requests and limits below a node, with their paths."""
    target = yaml.resolve(node)
    if len(path) > MAX_DEPTH:
        return
    if isinstance(target, yaml.Sequence):
        for i, item in enumerate(target.items):
            yield from _amounts(item, (*path, str(i)))
    elif isinstance(target, yaml.Mapping):
        for key, entry in yaml.entries(target).items():
            yield from _amounts(entry.value, (*path, key))
    elif len(path) > 3 and path[-3] == "resources" and path[-2] in _SIDES and path[-1] in _UNITS:
        yield path, target.text


def _placed(node: yaml.Target, path: Path, own: dict[Path, Origin]) -> yaml.Target:
    """Set the spans of a container's amounts, written or missing."""
    if isinstance(node, yaml.Mapping):
        entries = tuple(
            entry._replace(value=_placed(yaml.resolve(entry.value), (*path, key), own))
            if any(other[: len(path) + 1] == (*path, key) for other in own)
            else entry
            for key, entry in yaml.entries(node).items()
        )
        return Stated(*node.span, None, entries, flow=node.flow, absent=_absent(node, path, own))
    origin = own.get(path)
    if origin is None or not isinstance(node, yaml.Scalar):
        return node
    value = value_of(node)
    if not isinstance(value, Known):
        return node
    return yaml.Computed(*node.span, None, node.text, "plain", None, Known(value.value, origin.used(node.span)))


def _absent(node: yaml.Mapping, path: Path, own: dict[Path, Origin]) -> Callable[[Path], Origin]:
    usual = Origin((node.span,), missing=Missing(node.span, ()))
    return lambda rest: own.get((*path, *rest)) or replace(usual, missing=Missing(node.span, rest))


def traced(
    values: yaml.Target | None, output: str, objects: Iterable[Object], render: Callable[[str], str | None]
) -> list[Object]:
    """Return the objects helm printed, with spans in the values.

    `render` returns helm's output with other values, given as JSON, or None if helm fails. It is called at most twice.
    """
    objects = list(objects)
    amounts = {text for item in objects for _, text in _amounts(item.root, ())}
    for absent in (True, False):
        marks = Marks(values, output, amounts, absent=absent)
        text = marks.as_json()
        again = render(text) if text is not None else None
        if again is not None:
            marks.read(again)
            return [marks.applied(item) for item in objects]
    return objects
