"""Terraform values as YAML trees; each part keeps its place in the code."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from kcheck.text.syntax import texts, yaml
from kcheck.text.units import decimal_number
from kcheck.text.values import Datum, Known, Piece, Unknown, encoded, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.text import Span


def tree(datum: Datum, place: Span) -> yaml.Target:
    """Convert a value to a tree; `place` is used for parts without a place."""
    inner = encoded(datum)
    if inner is not None:
        return tree(inner, place)
    spans = datum.origin.spans if datum.origin else ()
    span = next((span for span in spans if not span.source.bundled), place)
    value = datum.value if isinstance(datum, Known) else None
    if isinstance(value, dict):
        entries = tuple(
            yaml.Pair(yaml.Scalar(*span, None, key, "double", None), tree(item, span)) for key, item in value.items()
        )
        return yaml.Mapping(*span, None, entries, flow=False)
    if isinstance(value, tuple):
        return yaml.Sequence(*span, None, tuple(tree(item, span) for item in value), flow=False)
    return computed_scalar(datum, span)


def computed_scalar(datum: Datum, span: Span) -> yaml.Computed:
    """Build a scalar whose value was computed elsewhere."""
    if isinstance(datum, Unknown):
        return yaml.Computed(*span, None, "", "double", None, datum)
    value: object = datum.value
    if isinstance(value, str):
        return yaml.Computed(*span, None, str(value), "double", None, datum)
    if isinstance(value, Fraction):
        value = decimal_number(value)
    if not isinstance(value, int | float | None):
        return computed_scalar(Unknown("a whole resource is not a YAML value", datum.origin), span)
    return yaml.Computed(*span, None, _plain(value), "plain", None, datum)


def _plain(value: float | None) -> str:
    try:
        return yaml.literal(value)
    except ValueError:
        return str(value)


def documents(datum: Datum, place: Span) -> Iterator[yaml.Target]:
    """Yield the YAML documents in a value: those of a string, or an object as one."""
    value = datum.value if isinstance(datum, Known) else None
    if encoded(datum) is not None or isinstance(value, dict):
        yield tree(datum, place)
        return
    pieces = pieces_of(datum)
    if not pieces and isinstance(value, str):
        span = datum.origin.written if datum.origin and datum.origin.spans else place
        pieces = (Piece(str(value), span),)
    if not pieces:
        return
    yield from texts.documents(pieces)
