"""What a reader could not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.text import Span


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file that could not be read: kcheck's own words and the place."""

    message: str
    span: Span
