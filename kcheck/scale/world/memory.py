"""Values that are computed once."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


class Memory:
    """Keeps the results of functions that are computed `once`."""

    def __init__(self) -> None:
        self.results: dict[tuple[object, ...], object] = {}


def once(function: Callable[P, T]) -> Callable[P, T]:
    """Keep the results of a function in the `Memory` that is its first or its last argument."""

    @wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        memory = args[0] if isinstance(args[0], Memory) else cast("Memory", args[-1])
        key = (function, *(one for one in args if one is not memory))
        if key not in memory.results:
            memory.results[key] = function(*args, **kwargs)
        return cast("T", memory.results[key])

    return remembered
