"""Evaluate try() and can()."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from kcheck.terraform.operators import INFINITE
from kcheck.terraform.partial_collections import either
from kcheck.text.scalars import AbsentError, EvaluationError, UncaughtError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Datum, Either, Known, Origin, Unknown

Evaluate: TypeAlias = Callable[[nodes.Expression], Datum]
"""Evaluates an expression in a strict scope. Raises EvaluationError if Terraform would refuse it."""


def first(arguments: Sequence[nodes.Expression], evaluate: Evaluate) -> Datum:
    """Evaluate try(): return the first argument that succeeds.

    A literal default gets the place where the absent attribute would be written. Raises EvaluationError if every
    argument fails.
    """
    problem = "try() has no argument that can be evaluated"
    absent: AbsentError | None = None
    for at, argument in enumerate(arguments, 1):
        try:
            value = evaluate(argument)
        except UncaughtError:
            raise
        except EvaluationError as error:
            problem = str(error)
            absent = absent or (error if isinstance(error, AbsentError) else None)
            continue
        empty = isinstance(argument, nodes.Tuple | nodes.Object) and isinstance(value, Known) and not value.value
        if type(value) is Either and arguments[at:]:  # it may be one that does not exist
            others: list[Datum] = []
            with suppress(EvaluationError):
                others.append(first(arguments[at:], evaluate))
            return either(value.reason, value.origin, [*value.branches, *others], value.symbol)
        if absent is None or not isinstance(value, Known) or not (empty or isinstance(argument, nodes.Literal)):
            return value
        return Known(value.value, absent.origin.used(argument.span))
    raise EvaluationError(problem)


def succeeds(node: nodes.Call, evaluate: Evaluate) -> Datum:
    """Evaluate can(): whether the argument evaluates without error."""
    if len(node.arguments) != 1:
        raise EvaluationError(f"can() needs one argument, not {len(node.arguments)}")
    try:
        value = evaluate(node.arguments[0])
    except UncaughtError:
        raise
    except EvaluationError:
        return Known(value=False, origin=Origin((node.span,)))
    if isinstance(value, Unknown) and value.reason != INFINITE:
        return Unknown(value.reason, Origin((node.span,)))
    return Known(value=True, origin=Origin((node.span,)))
