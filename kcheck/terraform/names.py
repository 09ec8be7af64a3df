"""Names whose values are computed on demand."""

from __future__ import annotations

from _thread import get_ident  # threading takes 3 ms to import
from typing import TYPE_CHECKING

from kcheck.terraform.scope import circular
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Datum, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable


class Names:
    """`var`, `local`, `module`, `data`, a resource type: attributes evaluated once, when asked for."""

    def __init__(self, find: Callable[[str], Datum | None], missing: Callable[[str], str]) -> None:
        self._find = find
        self._missing = missing
        self._cache: dict[str, Datum] = {}
        self._running: set[tuple[int, str]] = set()

    def attribute(self, name: str) -> Datum:
        """The value of a name.

        Raises:
            EvaluationError: there is no such name.
        """
        found = self._cache.get(name)
        if found is None:
            running = get_ident(), name  # what another thread evaluates does not refer to itself
            if running in self._running:
                return Unknown(circular(self._missing(name)))
            self._running.add(running)
            try:
                found = self._find(name)
            finally:
                self._running.discard(running)
            if found is None:
                raise EvaluationError(f"there is no {self._missing(name)}")
            self._cache[name] = found
        return found
