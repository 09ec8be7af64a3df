"""Helm releases in Terraform: the chart, and the values that it is given, in every way people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kcheck.embedded.trees import documents
from kcheck.embedded.trees import tree as tree_of
from kcheck.kubernetes.objects import value_of
from kcheck.syntax import yaml
from kcheck.values import Known, Origin, Unknown, Unset, Value, concealed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text import Span
    from kcheck.values import Record

RESOURCE = "helm_release"
_SETS = ("set", "set_sensitive", "set_list")
_STEP = re.compile(r"((?:\\.|[^.\[\\])+)|\[(\d+)\]", re.DOTALL)
_ARCHIVE = re.compile(r"(.+?)-v?\d[\w.+-]*\.tgz")

Path = tuple[str | int, ...]


@dataclass(frozen=True, eq=False)
class Release:
    """A release: its chart without repository and version, and its values.

    `sets` are single values by path, the last one of a path counts and wins over `trees`; of those the last that says
    something counts. `gap` says why some values may be missing.
    """

    address: str
    place: Span
    chart: Value[str]
    version: Value[str]
    trees: tuple[yaml.Target, ...] = ()
    sets: dict[Path, yaml.Target] = field(default_factory=dict)
    gap: str = ""

    def find(self, *path: str | int) -> yaml.Target | None:
        """What the values say at a path."""
        if path in self.sets:
            return self.sets[path]
        found = (yaml.get(tree, *path) for tree in reversed(self.trees))
        return next((node for node in found if node is not None), None)

    def scalar(self, *path: str | int) -> Value[Any]:
        """The single value at a path: Unset where nobody says it, Unknown where somebody may."""
        node = self.find(*path)
        if isinstance(node, yaml.Scalar):
            return value_of(node)
        place = Origin((self.place,))
        return Unknown(self.gap, place) if self.gap else Unset(place)

    def names(self, *path: str | int) -> dict[str, Span]:
        """The keys below a path, with where they are written."""
        found: dict[str, Span] = {}
        for tree in self.trees:
            node = yaml.get(tree, *path)
            if isinstance(node, yaml.Mapping):
                found |= {name: entry.key.span for name, entry in yaml.entries(node).items()}
        for own, value in self.sets.items():
            if own[: len(path)] == path and len(own) > len(path):
                found[str(own[len(path)])] = value.span
        return found


def read(root: Module) -> Iterator[tuple[Release, Instance]]:
    """The releases of a root module, and the resources that make them."""
    folder = root.configuration.folder
    for instance in root.instances(RESOURCE):
        address = instance.address if folder == "." else f"{folder}:{instance.address}"
        yield _release(instance, address), instance


def _release(instance: Instance, address: str) -> Release:
    trees: list[yaml.Target] = []
    sets: dict[Path, yaml.Target] = {}
    gap = instance.doubt
    values = instance.entry("values")
    if isinstance(values, Unknown):
        gap = values.reason
    elif values is not None and isinstance(values.value, tuple):
        for item in values.value:
            found = [root for root in documents(item, instance.span) if isinstance(root, yaml.Mapping)]
            if not found and isinstance(item, Unknown):
                gap = item.reason
            trees += found
    for kind in _SETS:
        records = instance.blocks(kind)
        if isinstance(records, Unknown):
            gap = records.reason
            continue
        for record in records:
            name = record.entry("name")
            if isinstance(name, Known) and isinstance(name.value, str):
                sets[_path(name.value)] = _value(record, secret=kind == "set_sensitive")
            else:
                gap = name.reason if isinstance(name, Unknown) else gap
    return Release(address, instance.span, _chart(instance), _entry(instance, "version"), tuple(trees), sets, gap)


def _value(record: Record, *, secret: bool) -> yaml.Target:
    """What a `set` sets: Helm reads texts as YAML does, unless their type is string."""
    datum = record.entry("value")
    if datum is None:
        datum = Unknown("a value of the release is not a single one", Origin((record.span,)))
    if secret:
        datum = concealed(datum, "the value is sensitive")
    span = datum.origin.written if datum.origin and datum.origin.spans else record.span
    if isinstance(datum, Known) and isinstance(datum.value, str):
        kind = record.entry("type")
        if not isinstance(kind, Known) or kind.value != "string":
            plain = yaml.Scalar(*span, None, datum.value, "plain", None)
            datum = Known(yaml.value(plain), datum.origin)
    return tree_of(datum, span)


def _path(name: str) -> Path:
    r"""The steps of `a.b\.c[0]`."""
    steps = ((match[1], match[2]) for match in _STEP.finditer(name))
    return tuple(re.sub(r"\\(.)", r"\1", text) if text else int(number) for text, number in steps)


def _chart(instance: Instance) -> Value[str]:
    """The chart's name: without the path, address or archive that it is given by."""
    chart = _entry(instance, "chart")
    if not isinstance(chart, Known):
        return chart
    name = str(chart.value).rstrip("/").rpartition("/")[2]
    archive = _ARCHIVE.fullmatch(name)
    return Known(archive[1] if archive else name, chart.origin)


def _entry(instance: Instance, name: str) -> Value[str]:
    datum = instance.entry(name)
    if isinstance(datum, Known) and (datum.value is None or not isinstance(datum.value, str)):
        datum = None
    return Unset(Origin((instance.span,))) if datum is None else datum
