"""Evaluate try() and can()."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from kcheck.terraform.operators import INFINITE
from kcheck.terraform.partial_collections import either
from kcheck.text.scalars import AbsentError, EvaluationError, UncaughtError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Datum, Either, Known, Origin, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.terraform.scope import Scope

    Evaluate: TypeAlias = Callable[[nodes.Expression, Scope], Datum]


def first(node: nodes.Call, scope: Scope, value_of: Evaluate) -> Datum:
    """Evaluate try(): return the first argument that succeeds.

    A literal default gets the place where the absent attribute would be written. Raises EvaluationError if every
    argument fails.
    """
    problem = "try() has no argument that can be evaluated"
    absent: AbsentError | None = None
    strict = scope.strictly()
    for at, argument in enumerate(node.arguments):
        try:
            value = value_of(argument, strict)
        except UncaughtError:
            raise
        except EvaluationError as error:
            problem = str(error)
            absent = absent or (error if isinstance(error, AbsentError) else None)
            continue
        empty = isinstance(argument, nodes.Tuple | nodes.Object) and isinstance(value, Known) and not value.value
        if type(value) is Either and node.arguments[at + 1 :]:  # it may be one that does not exist
            others: list[Datum] = []
            with suppress(EvaluationError):
                others.append(first(replace(node, arguments=node.arguments[at + 1 :]), scope, value_of))
            return either(value.reason, value.origin, [*value.branches, *others], value.symbol)
        if absent is None or not isinstance(value, Known) or not (empty or isinstance(argument, nodes.Literal)):
            return value
        return Known(value.value, absent.origin.used(argument.span))
    raise EvaluationError(problem)


def succeeds(node: nodes.Call, scope: Scope, value_of: Evaluate) -> Datum:
    """Evaluate can(): whether the argument evaluates without error."""
    try:
        value = value_of(node.arguments[0], scope.strictly())
    except UncaughtError:
        raise
    except EvaluationError:
        return Known(value=False, origin=Origin((node.span,)))
    if isinstance(value, Unknown) and value.reason != INFINITE:
        return Unknown(value.reason, Origin((node.span,)))
    return Known(value=True, origin=Origin((node.span,)))
