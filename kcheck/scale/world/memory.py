"""Values that are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")


class Memory:
    """Keeps what has been computed."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, Hashable], Any] = {}

    def remember(self, what: str, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives for a thing, or the id of one, computed once."""
        if (what, key) not in self._values:
            self._values[what, key] = compute()
        found: T = self._values[what, key]
        return found
