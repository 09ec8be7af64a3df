"""The fields that every part of the model has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcheck.source.values import Origin, Unset

if TYPE_CHECKING:
    from kcheck.source.text import Span

NOTHING = Unset(Origin(()))
"""What a field is on a cloud that has no such thing."""


@dataclass(frozen=True, eq=False, repr=False)
class Thing:
    """Anything a rule can judge. `id` is its identity, `place` its declaration."""

    id: str
    place: Span
