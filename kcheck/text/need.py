"""Helpers for values that a computation needs."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar, overload

from kcheck.text.amount import Amount
from kcheck.text.values import Either, Known, Origin, Unknown, Unset, Value, bare, reason_of

P = ParamSpec("P")
T = TypeVar("T")


class NotKnown(Exception):  # noqa: N818 - ends a computation, not the run
    """Raised by `need` for a missing value; `missing` has the reason."""

    def __init__(self, missing: Unknown) -> None:
        super().__init__(missing.reason)
        self.missing = missing


@overload
def need(value: Amount) -> int: ...
@overload
def need(value: Value[T]) -> T: ...
@overload
def need(value: T | Unknown) -> T: ...
def need(value: object) -> object:
    """Return a needed value. Raises NotKnown if it is unknown or unset."""
    if type(value) is Known:  # as most are; isinstance takes long for a class of another kind
        return value.value
    if isinstance(value, Amount):
        value = value.value(Origin(()))
    if isinstance(value, Unset):
        raise NotKnown(Unknown(reason_of(value), value.origin))
    if isinstance(value, Unknown):
        raise NotKnown(bare(value) if type(value) is Either or value.between else value)
    return value.value if isinstance(value, Known) else value


def if_set(value: Value[T]) -> T | None:
    """Return a value; None if it is unset. Raises NotKnown if it is unknown."""
    return None if isinstance(value, Unset) else need(value)


def first_unknown(values: Iterable[object]) -> Unknown | None:
    """Return the first unknown value."""
    decided = (Known, Unset)
    return next((value for value in values if type(value) not in decided and isinstance(value, Unknown)), None)


def or_unknown(function: Callable[P, T]) -> Callable[P, T | Unknown]:
    """Make a function return the reason as Unknown if a value it needs is missing."""

    @wraps(function)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T | Unknown:
        try:
            return function(*args, **kwargs)
        except NotKnown as error:
            return error.missing

    return attempt


@or_unknown
def total(values: Iterable[Value[int]], origin: Origin) -> Value[int]:
    """Sum numbers; Unknown if one of them is."""
    return Known(sum([need(value) for value in values]), origin)


def or_none(function: Callable[P, T]) -> Callable[P, T | None]:
    """Make a function return None if a value it needs is missing."""

    @wraps(function)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return function(*args, **kwargs)
        except NotKnown:
            return None

    return attempt
