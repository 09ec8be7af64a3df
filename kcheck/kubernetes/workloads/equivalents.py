"""Pod templates equivalent to settings in another form, with nodes at the places of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text.syntax import yaml
from kcheck.text.units import as_text
from kcheck.text.values import Known, Origin, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.text.values import DatumValue


def scalar_at(place: yaml.Target, text: str) -> yaml.Scalar:
    """Build a text that stands for something at a place."""
    return yaml.Scalar(*place.span, None, text, "plain", None)


def computed_at(place: yaml.Target, value: DatumValue | Unknown, origin: Origin | None = None) -> yaml.Computed:
    """Build a value that follows from something at a place."""
    datum = value if isinstance(value, Unknown) else Known(value, origin or Origin((place.span,)))
    text = "" if isinstance(value, Unknown) else as_text(value)
    return yaml.Computed(*place.span, None, text, "plain", None, datum=datum)


def mapping_at(place: yaml.Target, entries: Iterable[yaml.Pair]) -> yaml.Mapping:
    """Build a map that stands for something at a place."""
    return yaml.Mapping(*place.span, None, tuple(entries), flow=False)


def entry(place: yaml.Target, name: str, value: yaml.Node) -> yaml.Pair:
    """Build an entry of such a map."""
    return yaml.Pair(scalar_at(place, name), value)


def of_containers(
    place: yaml.Target,
    found: Iterable[yaml.Target],
    spec: Iterable[yaml.Pair] = (),
    metadata: Iterable[yaml.Pair] = (),
) -> yaml.Mapping:
    """Build a pod template for equivalent settings in another form."""
    listed = yaml.Sequence(*place.span, None, tuple(found), flow=False)
    inner = mapping_at(place, (*spec, entry(place, "containers", listed)))
    return mapping_at(place, (entry(place, "metadata", mapping_at(place, metadata)), entry(place, "spec", inner)))
