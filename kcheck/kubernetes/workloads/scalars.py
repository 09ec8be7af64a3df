"""Single values, numbers and maps of manifests, each with its span."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar, cast

from kcheck.kubernetes.objects import value_of
from kcheck.text import placeholders
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text, quantity
from kcheck.text.values import (
    DatumValue,
    Known,
    Missing,
    Origin,
    Overlaid,
    Unknown,
    Unset,
    Value,
    bare,
    mapped,
    with_origin,
)
from kcheck.text.yaml_nodes import Patched, Stated

T = TypeVar("T")

_PATHS: dict[tuple[str, ...], tuple[str, ...]] = {}
"""Paths of absent values; equal ones are stored once."""


def scalar(node: yaml.Node, *path: str) -> Value[object]:
    """Return the scalar at a path below a node, or where it would be written."""
    found = _reached(node, path)
    if type(found) is Unset:  # as two of three are
        return found
    if isinstance(found, yaml.Scalar):
        value = value_of(found)
        if type(node) is not Patched or isinstance(value, Unknown):
            return value
        return with_origin(value, _overlaid(value.origin, node, path))
    return found if isinstance(found, Unset | Unknown) else _wrong(found, path, "a single value")


def _overlaid(origin: Origin, node: Patched, path: tuple[str, ...]) -> Origin:
    """Return the origin of a value in a patched map; its span is in the overlay."""
    at = 0
    while at < len(path) - 1 and isinstance(inner := yaml.get(node, path[at]), Patched):
        node, at = inner, at + 1
    written = origin.written
    if written.source is node.patch.source and node.patch.start <= written.start < node.patch.end:
        return origin
    own = Missing(node.patch, path[at:])
    return Overlaid(origin.spans, origin.literal, origin.missing, origin.why, origin.within, own=own)


def _reached(node: yaml.Node, path: tuple[str, ...]) -> yaml.Target | Unset | Unknown:
    """Return the node at a path; else where it would be, or why a parent is unknown."""
    here, above = yaml.resolve(node), None
    for at, step in enumerate(path):
        inner = yaml.member(here, step)
        if inner is None:
            if type(here) is yaml.Computed and isinstance(here.datum, Unknown):
                return here.datum
            own = above.own(path[at - 1]) if above is not None and isinstance(above, yaml.Mapping) else None
            place = own.key.span if own is not None else node.span
            rest = path[at:]
            if type(here) is Stated:
                return Unset(here.absent(rest))
            if type(node) is Patched:
                return Unset(_overlaid(Origin((place,), missing=Missing(here.span, rest)), node, path))
            return Unset(place, here.span, _PATHS.setdefault(rest, rest))
        here, above = inner, here
    return here


def absent(node: yaml.Node, *path: str) -> Unset:
    """Return an absent value with its span."""
    found = _reached(node, path)
    return found if isinstance(found, Unset) else Unset(Origin((node.span,)))


def text(node: yaml.Node, *path: str) -> Value[str]:
    """Return the text at a path."""
    return _typed(node, path, str, "is not a text")


def written(node: yaml.Node, *path: str) -> Value[str]:
    """Return the scalar at a path as text, including placeholders."""
    value = scalar(node, *path)
    found = yaml.get(node, *path) if type(value) is not Unset and isinstance(value, Unknown) else None
    if found is not None and isinstance(found, yaml.Scalar) and not isinstance(found, yaml.Computed):
        raw = found.span.text
        return Known(raw.strip("\"'") if "{{" in raw else found.text, Origin((found.span,)))
    return mapped(value, as_text)


def boolean(node: yaml.Node, *path: str) -> Value[bool]:
    """Return the boolean at a path; false if absent."""
    value = _typed(node, path, bool, "is neither true nor false")
    return Known(value=False, origin=value.origin) if isinstance(value, Unset) else value


def integer(node: yaml.Node, *path: str) -> Value[int]:
    """Return the whole number at a path."""
    return _typed(node, path, int, "is not a number")


def scaled_quantity(node: yaml.Node, path: tuple[str, ...], times: int) -> Value[int]:
    """Return the quantity at a path times `times`, rounded up."""
    return in_units(scalar(node, *path), ".".join(path), times)


def in_units(value: Value[object], name: str, times: int) -> Value[int]:
    """Multiply a quantity by `times`, rounded up; `name` is for the reason."""
    if type(value) is Unset or not isinstance(value, Known):
        return value
    try:
        return Known(_rounded_up(as_text(value.value), times), value.origin)
    except ValueError as error:
        missing = placeholders.of_number(as_text(value.value))
        return Unknown(placeholders.reason(missing) if missing else f"`{name}`: {error}", value.origin)


@lru_cache(maxsize=1024)  # a tree has few different quantities, and fractions took a tenth of reading a workload
def _rounded_up(text: str, times: int) -> int:
    return -(-quantity(text) * times // 1)


def written_map(node: yaml.Node, *path: str) -> Value[dict[str, str]]:
    """Return the map of strings at a path, with known values only."""
    return mapping(node, *path, as_written=True)


def mapping(node: yaml.Node, *path: str, as_written: bool = False) -> Value[dict[str, str]]:
    """Return the map of strings at a path, empty if absent; Unknown if any part is."""
    found = _reached(node, path)
    if isinstance(found, Unset):
        return Known({}, found.origin)
    if isinstance(found, Unknown):
        return found
    if isinstance(found, yaml.Scalar) and isinstance(value_of(found), Unset):
        return Known({}, Origin((found.span,)))
    if not isinstance(found, yaml.Mapping):
        return _wrong(found, path, "a map")
    result = {}
    for key, entry in yaml.entries(found).items():
        inner = yaml.resolve(entry.value)
        value: Value[object]
        if isinstance(inner, yaml.Scalar):
            value = written(inner) if as_written else value_of(inner)
        else:
            value = _wrong(inner, (*path, key), "a single value")
        if isinstance(value, Unknown):
            return value
        result[key] = as_text(value.value) if isinstance(value, Known) else ""
    return Known(result, Origin((found.span,)))


def listed(node: yaml.Target, name: str, read: Callable[[yaml.Target], T]) -> Value[tuple[T, ...]]:
    """Convert each item of a list, with the list's span."""
    found = yaml.get(node, name)
    if found is None:
        return gap(node, name) or Known((), absent(node, name).origin)
    return gap(node, name) or Known(tuple(map(read, yaml.items(node, name))), Origin((found.span,)))


def gap(node: yaml.Node, *path: str) -> Unknown | None:
    """Return why a path or a parent is unknown; None if known or absent."""
    found = _reached(node, path)
    if type(found) is Unset:
        return None
    value = value_of(found) if isinstance(found, yaml.Scalar) else found
    return bare(value) if isinstance(value, Unknown) else None  # what it may be is not read, as what it is would be


def _typed(node: yaml.Node, path: tuple[str, ...], kind: type[T], why: str) -> Value[T]:
    """Return the scalar at a path, which must have a type."""
    value = scalar(node, *path)
    if type(value) is Unset or not isinstance(value, Known):
        return value
    if not isinstance(value.value, kind) or (kind is int and isinstance(value.value, bool)):
        missing = placeholders.of_number(as_text(value.value)) if kind is not str else ""
        return Unknown(placeholders.reason(missing) if missing else f"`{'.'.join(path)}` {why}", value.origin)
    return cast("Known[T]", value)


def _wrong(found: yaml.Target, path: tuple[str, ...], wanted: str) -> Unknown:
    if isinstance(found, yaml.Computed) and isinstance(found.datum, Unknown):
        return found.datum
    return Unknown(f"`{'.'.join(path)}` is not {wanted}", Origin((found.span,)))


# --- nodes for settings in another form, at the places of these


def scalar_at(place: yaml.Target, text: str) -> yaml.Scalar:
    """Build a text with the span of the node it is derived from."""
    return yaml.Scalar(*place.span, None, text, "plain", None)


def computed_at(place: yaml.Target, value: DatumValue | Unknown, origin: Origin | None = None) -> yaml.Computed:
    """Build a value with the span of the node it follows from."""
    datum = value if isinstance(value, Unknown) else Known(value, origin or Origin((place.span,)))
    text = "" if isinstance(value, Unknown) else as_text(value)
    return yaml.Computed(*place.span, None, text, "plain", None, datum=datum)


def mapping_at(place: yaml.Target, entries: Iterable[yaml.Pair]) -> yaml.Mapping:
    """Build a map with the span of the node it is derived from."""
    return yaml.Mapping(*place.span, None, tuple(entries), flow=False)


def entry(place: yaml.Target, name: str, value: yaml.Node) -> yaml.Pair:
    """Build a map entry with the span of a node."""
    return yaml.Pair(scalar_at(place, name), value)


def of_containers(
    place: yaml.Target, found: Iterable[yaml.Target], spec: Iterable[yaml.Pair] = (), metadata: Iterable[yaml.Pair] = ()
) -> yaml.Mapping:
    """Build a pod template from equivalent settings in another form."""
    listed = yaml.Sequence(*place.span, None, tuple(found), flow=False)
    inner = mapping_at(place, (*spec, entry(place, "containers", listed)))
    return mapping_at(place, (entry(place, "metadata", mapping_at(place, metadata)), entry(place, "spec", inner)))
