"""Helm releases in Terraform: charts, and values in every form."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from kcheck.inventory.embedded.trees import documents
from kcheck.inventory.embedded.trees import tree as tree_of
from kcheck.kubernetes.releases import Release, chart_name, path_of
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, concealed, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.releases import Path
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.text import Span
    from kcheck.text.values import Datum, Record

RESOURCE = "helm_release"
_SETS = ("set", "set_sensitive", "set_list")


def read(root: Module) -> Iterator[tuple[Release, Instance]]:
    """Yield the releases of a root module with their resources."""
    folder = root.configuration.folder
    for instance in root.instances(RESOURCE):
        address = instance.address if folder == "." else f"{folder}:{instance.address}"
        yield _release(instance, address, folder), instance


def _release(instance: Instance, address: str, root: str) -> Release:
    sets: dict[Path, yaml.Target] = {}
    given = instance.entry("values")
    trees, gap = values(given, instance.span) if given is not None else ([], "")
    gap = gap or instance.doubt
    for kind in _SETS:
        found, why = settings(instance.blocks(kind), secret=kind == "set_sensitive")
        sets |= found
        gap = why or gap
    chart, version, name, repository = (_entry(instance, key) for key in ("chart", "version", "name", "repository"))
    near = isinstance(chart, Known) and isinstance(repository, Unset)
    folder = posixpath.normpath(posixpath.join(root, str(known(chart)))) if near else ""
    return Release(
        address, instance.span, chart=chart_name(chart), version=version, trees=tuple(trees), sets=sets, gap=gap,
        name=name, folder=folder, room=_room(instance),
    )  # fmt: skip


def values(datum: Datum, place: Span) -> tuple[list[yaml.Target], str]:
    """Return the trees in a list of values, and why some may be missing."""
    if isinstance(datum, Unknown):
        return [], datum.reason
    trees: list[yaml.Target] = []
    gap = ""
    for item in datum.value if isinstance(datum.value, tuple) else ():
        found = [root for root in documents(item, place) if isinstance(root, yaml.Mapping)]
        if not found and isinstance(item, Unknown):
            gap = item.reason
        trees += found
    return trees, gap


def settings(records: tuple[Record, ...] | Unknown, *, secret: bool) -> tuple[dict[Path, yaml.Target], str]:
    """Return the values that records of `name` and `value` set, and why some may be missing."""
    if isinstance(records, Unknown):
        return {}, records.reason
    sets: dict[Path, yaml.Target] = {}
    gap = ""
    for record in records:
        path = record.entry("name")
        if isinstance(path, Known) and isinstance(path.value, str):
            sets[path_of(path.value)] = _value(record, secret=secret)
        else:
            gap = path.reason if isinstance(path, Unknown) else gap
    return sets, gap


def _room(instance: Instance) -> Missing | None:
    """Return the place of a new `set` in a release: a block beside others, or a list item."""
    listed = instance.entry("set")
    if isinstance(listed, Known) and isinstance(listed.value, tuple) and listed.origin.spans:
        return Missing(listed.origin.written, ())
    blocks = instance.blocks("set")
    found = instance.absent(("set", "")).missing if blocks and not isinstance(blocks, Unknown) else None
    return Missing(found.container, ("set",)) if found and found.path else None


def _value(record: Record, *, secret: bool) -> yaml.Target:
    """Return the value of a `set`: Helm parses strings as YAML unless the type is string."""
    datum = record.entry("value")
    if datum is None:
        datum = Unknown("a value of the release is not a scalar", Origin((record.span,)))
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
