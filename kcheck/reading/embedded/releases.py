"""Helm releases in Terraform: the chart, and the values that it is given, in every way people write them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from kcheck.kubernetes.releases import Release, chart_name, path_of
from kcheck.reading.embedded.trees import documents
from kcheck.reading.embedded.trees import tree as tree_of
from kcheck.source.values import Known, Missing, Origin, Unknown, Unset, Value, concealed, known
from kcheck.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.releases import Path
    from kcheck.source.values import Record
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

RESOURCE = "helm_release"
_SETS = ("set", "set_sensitive", "set_list")


def read(root: Module) -> Iterator[tuple[Release, Instance]]:
    """The releases of a root module, and the resources that make them."""
    folder = root.configuration.folder
    for instance in root.instances(RESOURCE):
        address = instance.address if folder == "." else f"{folder}:{instance.address}"
        yield _release(instance, address, folder), instance


def _release(instance: Instance, address: str, root: str) -> Release:
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
            path = record.entry("name")
            if isinstance(path, Known) and isinstance(path.value, str):
                sets[path_of(path.value)] = _value(record, secret=kind == "set_sensitive")
            else:
                gap = path.reason if isinstance(path, Unknown) else gap
    chart, version, name, repository = (_entry(instance, key) for key in ("chart", "version", "name", "repository"))
    near = isinstance(chart, Known) and isinstance(repository, Unset)
    folder = posixpath.normpath(posixpath.join(root, str(known(chart)))) if near else ""
    return Release(
        address, instance.span, chart=chart_name(chart), version=version, trees=tuple(trees), sets=sets, gap=gap,
        name=name, folder=folder, room=_room(instance),
    )  # fmt: skip


def _room(instance: Instance) -> Missing | None:
    """Where a release gets another `set`: a block next to others, or an item of the list that holds them."""
    listed = instance.entry("set")
    if isinstance(listed, Known) and isinstance(listed.value, tuple) and listed.origin.spans:
        return Missing(listed.origin.written, ())
    blocks = instance.blocks("set")
    found = instance.absent(("set", "")).missing if blocks and not isinstance(blocks, Unknown) else None
    return Missing(found.container, ("set",)) if found and found.path else None


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


def _entry(instance: Instance, name: str) -> Value[str]:
    datum = instance.entry(name)
    if isinstance(datum, Unknown):
        return datum
    text = datum.value if datum is not None else None
    return Known(text, datum.origin) if datum is not None and isinstance(text, str) else Unset(Origin((instance.span,)))
