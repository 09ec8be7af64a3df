"""Helm releases in Terraform, of resources and published modules.

Such a module takes chart values as an object argument (`karpenter = { values = [...] }`,
`vpa_helm_config = { set = [...] }`), as several by name (`helm_releases = { ... }`), or as its own arguments.
"""

import posixpath
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kcheck.config.numbers import profiles
from kcheck.inventory.embedded.objects import documents
from kcheck.inventory.embedded.objects import tree as tree_of
from kcheck.kubernetes.helm_releases import Path, Release, chart_name, path_of
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance, ObjectRecord, objects_in
from kcheck.text.partly_known import listed, members
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Blocks, Datum, Known, Missing, Origin, Record, Unknown, Unset, Value, concealed, known

RESOURCE = "helm_release"
_BLOCKS = ("set", "set_sensitive", "set_list")


def read(root: Module) -> Iterator[tuple[Release, Instance]]:
    """Yield the releases of a root module with their resources."""
    folder = root.configuration.folder
    for instance in root.instances(RESOURCE):
        address = instance.address if folder == "." else f"{folder}:{instance.address}"
        yield _release(instance, address, folder), instance


def _release(instance: Instance, address: str, root: str) -> Release:
    given = _Values(instance.doubt)
    given.add_trees(instance.entry("values"), instance.span)
    for kind in _BLOCKS:
        given.add_sets(instance.blocks(kind), secret=kind == "set_sensitive")
    chart, version, name, repository = (
        _text(instance.entry(key), Origin((instance.span,))) for key in ("chart", "version", "name", "repository")
    )
    near = isinstance(chart, Known) and isinstance(repository, Unset)
    folder = posixpath.normpath(posixpath.join(root, str(known(chart)))) if near else ""
    return Release(
        address, instance.span, chart=chart_name(chart), version=version, trees=tuple(given.trees), sets=given.sets,
        gap=given.gap, name=name, folder=folder, room=_room(instance),
    )  # fmt: skip


class _Values:
    """Chart values of a release, and why some may be missing."""

    def __init__(self, gap: str) -> None:
        self.trees: list[yaml.Target] = []
        self.sets: dict[Path, yaml.Target] = {}
        self.gap = gap

    def add_trees(self, datum: Datum | None, place: Span) -> None:
        """Add the trees in a list of values, or in a single one."""
        if isinstance(datum, Unknown):
            self.gap = datum.reason
            return
        for item in listed(datum):
            found = _trees(item, place)
            if not found and isinstance(item, Unknown):
                self.gap = item.reason
            self.trees += found

    def add_sets(self, records: Blocks, *, secret: bool) -> None:
        """Add the values that records of `name` and `value` set."""
        if isinstance(records, Unknown):
            self.gap = records.reason
            return
        for record in records.value:
            path = record.entry("name")
            if isinstance(path, Known) and isinstance(path.value, str):
                self.sets[path_of(path.value)] = _value(record, secret=secret)
            elif isinstance(path, Unknown):
                self.gap = path.reason


def _trees(datum: Datum, place: Span) -> list[yaml.Target]:
    return [root for root in documents(datum, place) if isinstance(root, yaml.Mapping)]


def _room(instance: Instance) -> Missing | None:
    """Return where to add a new `set` to a release."""
    listed = instance.entry("set")
    if isinstance(listed, Known) and isinstance(listed.value, tuple) and listed.origin.spans:
        return Missing(listed.origin.written, ())
    blocks = instance.blocks("set")
    found = instance.absent(("set", "")).missing if known(blocks) else None
    return Missing(found.container, ("set",)) if found and found.path else None


def _value(record: Record, *, secret: bool) -> yaml.Target:
    """Return the value of a `set`, read as YAML like Helm does."""
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


def _text(datum: Datum | None, here: Origin) -> Value[str]:
    """Return a text; Unset where there is none."""
    if datum is None or isinstance(datum, Unknown):
        return datum or Unset(here)
    return Known(datum.value, datum.origin) if isinstance(datum.value, str) else Unset(here)


# --- published modules

_CHARTS = ("chart", "chart_name", "helm_chart_name", "helm_chart")
_VERSIONS = ("chart_version", "helm_chart_version", "version")
_NAMES = ("name", "release_name", "helm_release_name")
_VALUES = ("values", "extra_values", "helm_values", "values_yaml", "additional_values", "custom_values")
_SETS = ("set", "set_values", "settings", "set_sensitive")
_INSIDE = ("helm_config", "helm_release", "helm")
"""Keys of an object that contain the release."""

_ON = ("enabled", "enable", "create")
_SWITCH = regex(r"(?:enable|install|deploy|create)_(\w+)|(\w+)_enabled")
_SUFFIX = regex(r"_(?:helm_config|helm_release|helm_values|extra_values|config|helm|values|release|addon)$")
_MENTIONS = regex(
    r"\b(?:values|set|settings|\w+_values|set_\w+|chart\w*|helm\w*)\b[\"']?[ \t]*[=:]|^[\s(]*(?:var|local)\."
)
"""Marks in the text of an argument that holds a release, or refers to one."""
_DEPTH, _MOST = 2, 20_000

Fields = dict[str, Datum]


class _Call(NamedTuple):
    """A call of a module that was not read."""

    address: str
    place: Span
    fields: Fields
    source: str
    arguments: list[str]


def in_arguments(root: Module, calls: Iterable[tuple[Instance, list[str]]]) -> Iterator[tuple[Release, Instance]]:
    """Yield the releases in module arguments that no other reader uses."""
    folder = root.configuration.folder
    for instance, arguments in calls:
        attributes = instance.block.body.attributes
        own = any(name in arguments for name in (*_CHARTS, *_VALUES, *_SETS))
        names = [
            name
            for name in arguments
            if own
            or _SUFFIX.search(name)
            or name.replace("_", "-") in _scalers()
            or _MENTIONS.search(attributes[name].value_span.text[:_MOST])
        ]
        switches = [name for name in attributes if name in _ON or _SWITCH.fullmatch(name)]
        fields = {name: found for name in (*names, *switches) if (found := instance.entry(name)) is not None}
        address = instance.address if folder == "." else f"{folder}:{instance.address}"
        source = instance.entry("source")
        name = str(known(source)) if source is not None else ""
        for release in _releases(_Call(address, instance.span, fields, name, arguments)):
            yield release, instance


def _releases(call: _Call) -> Iterator[Release]:
    if _is_release(call.fields, named=False):
        yield from _described(call, call.fields, "", call.place)
        return
    seen = set()
    for name, datum in call.fields.items():
        base = _SUFFIX.sub("", name)
        if any(_is(call.fields, key, on=False) for key in (f"enable_{base}", f"{base}_enabled")):
            continue
        alone = name != base and name.endswith("values")  # cluster_autoscaler_values = [...]
        whole: Datum = Known({"values": datum}, datum.origin or Origin((call.place,))) if alone else datum
        named = name != base and not name.endswith("_config")  # much else has a name like that
        for release in _found(call, whole, base, named=named or name.endswith("_helm_config"), depth=0):
            seen.add(known(release.chart))
            yield release
    for name in call.arguments:  # what is turned on without a word about its values
        match = _SWITCH.fullmatch(name)
        base = (match[1] or match[2]) if match else ""
        chart = base.replace("_", "-")
        if chart in _scalers() and chart not in seen and _is(call.fields, name, on=True):
            yield from _described(call, {}, base, call.place)


@cache
def _scalers() -> tuple[str, ...]:
    """List the charts that matter even without values."""
    return (*profiles.load_own("any", "charts"), "karpenter")


def _found(call: _Call, datum: Datum, name: str, *, named: bool, depth: int) -> Iterator[Release]:
    value = datum.value if isinstance(datum, Known) else None
    if isinstance(value, tuple):
        for item in value:
            own = item.value.get("name") if isinstance(item, Known) and isinstance(item.value, dict) else None
            called = known(own) if own is not None else None
            if isinstance(called, str) and depth < _DEPTH:
                yield from _found(call, item, called, named=False, depth=depth + 1)
    fields = members(datum)
    if not fields or any(_is(fields, key, on=False) for key in _ON):
        return
    inside = _first(fields, _INSIDE)
    if inside is not None:
        yield from _found(call, inside, name, named=True, depth=depth + 1)
    elif _is_release(fields, named=named) or (
        name.replace("_", "-") in _scalers() and any(_is(fields, key, on=True) for key in _ON)
    ):
        spans = datum.origin.spans if datum.origin else ()
        place = next((span for span in spans if not span.source.bundled), call.place)
        yield from _described(call, fields, name, place)
    elif depth < _DEPTH:
        for key, inner in fields.items():
            if isinstance(inner, Known) and isinstance(inner.value, dict):
                yield from _found(call, inner, key, named=False, depth=depth + 1)


def _is(fields: Fields, key: str, *, on: bool) -> bool:
    switch = fields.get(key)
    return isinstance(switch, Known) and switch.value is on


def _is_release(fields: Fields, *, named: bool) -> bool:
    given = [key for key in (*_VALUES, *_SETS) if key in fields]
    if named or any(key in fields for key in _CHARTS):
        return bool(given) or any(key in fields for key in _VERSIONS)
    return any(_says(fields[key], key) for key in given)


def _says(datum: Datum, key: str) -> bool:
    """Whether a value is a YAML map, a list of them, or a list of `set` entries."""
    value = datum.value if isinstance(datum, Known) else None
    for item in value if isinstance(value, tuple) else (datum,):
        inner = item.value if isinstance(item, Known) else None
        if isinstance(inner, dict):
            return key.startswith("set") and key != "settings" and {"name", "value"} <= inner.keys()
        if isinstance(item, Known) and item.origin.spans and _trees(item, item.origin.written):
            return True
    return False


def _described(call: _Call, fields: Fields, name: str, place: Span) -> Iterator[Release]:
    given, here = _Values(f"{call.address} was not read and may set other chart values"), Origin((place,))
    for key in _VALUES:
        given.add_trees(fields.get(key), place)
    for key in _SETS:
        datum = fields.get(key)
        if isinstance(datum, Known) and isinstance(datum.value, dict) and "name" not in datum.value:
            given.sets |= {path_of(path): tree_of(item, place) for path, item in members(datum).items()}
        else:
            given.add_sets(objects_in(datum, ObjectRecord), secret=key == "set_sensitive")
    chart = _text(_first(fields, _CHARTS), here)
    if isinstance(chart, Unset):
        label = name.replace("_", "-") or next((one for one in _scalers() if one in call.source), None)
        at = here if name else Origin((call.place,))
        chart = Known(label, at) if label else Unknown(f"{call.address} chooses the chart", at)
    called = _text(_first(fields, _NAMES), here)
    if isinstance(called, Unset) and name:
        called = Known(name, here)
    address = f"{call.address}/{name}" if name else call.address
    yield Release(
        address, place, chart=chart_name(chart), version=_text(_first(fields, _VERSIONS[: 3 if name else 2]), here),
        trees=tuple(given.trees), sets=given.sets, gap=given.gap, name=called,
    )  # fmt: skip


def _first(fields: Fields, keys: tuple[str, ...]) -> Datum | None:
    return next((fields[key] for key in keys if key in fields), None)
