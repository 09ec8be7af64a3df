"""Base class of everything in the model."""

from __future__ import annotations

from msgspec import Struct

from kcheck.text.text import Span


class Thing(Struct, frozen=True, eq=False):
    """Any object that rules can judge. `id` is its identity, `place` its declaration."""

    id: str
    place: Span

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"
