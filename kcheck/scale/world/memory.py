"""Cache of computed values."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from kcheck.text.need import NotKnown

P = ParamSpec("P")
T = TypeVar("T")


class Memory:
    """Cache of results of functions marked with `once`."""

    def __init__(self) -> None:
        self.results: dict[tuple[object, ...], object] = {}  # by function and arguments


def once(function: Callable[P, T]) -> Callable[P, T]:
    """Cache a function's results in its Memory argument, including NotKnown."""

    @wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        memory, rest = (args[0], args[1:]) if isinstance(args[0], Memory) else (args[-1], args[:-1])
        results, key = memory.results, (function, rest)  # type: ignore[attr-defined]
        if key not in results:
            try:
                results[key] = function(*args, **kwargs)
            except NotKnown as error:
                results[key] = NotKnown(error.missing)  # a new one, which holds no frames
        found = results[key]
        if type(found) is NotKnown:
            raise NotKnown(found.missing)
        return found  # type: ignore[no-any-return] # of this function: a cast takes as long as the look-up

    return remembered
