"""A problem that a parser reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kcheck.text.text import Span


class Problem(Struct, frozen=True):
    """A part of a file that could not be read: kcheck's own words and the place."""

    message: str
    span: Span
