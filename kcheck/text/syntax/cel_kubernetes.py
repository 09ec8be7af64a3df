"""CEL as in the API server of Kubernetes, with optional fields and its own functions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cel_expr_python import cel as _cel
from cel_expr_python.ext import ext_optional, ext_strings

from kcheck.text.syntax.cel import Expression, SyntaxProblem

if TYPE_CHECKING:
    from collections.abc import Callable

_TYPE = _cel.Type
_FUNCTIONS = {
    "find": ((_TYPE.STRING, _TYPE.STRING), _TYPE.STRING),
    "findAll": ((_TYPE.STRING, _TYPE.STRING), _TYPE.List(_TYPE.STRING)),
    "sum": ((_TYPE.List(_TYPE.INT),), _TYPE.INT),
    "min": ((_TYPE.List(_TYPE.INT),), _TYPE.INT),
    "max": ((_TYPE.List(_TYPE.INT),), _TYPE.INT),
    "asApproximateFloat": ((_TYPE.STRING,), _TYPE.DOUBLE),
}
"""Methods that only the API server has: types of their arguments and result."""

VARIABLES = ("object", "oldObject", "request", "params", "variables")


def compile(text: str, names: tuple[str, ...] = VARIABLES) -> Expression:  # noqa: A001 - as cel.compile
    """Compile an expression of a policy.

    Raises:
        SyntaxProblem: it is invalid.
    """
    try:
        return Expression(text, names, environment(names).compile(text))
    except RuntimeError as error:
        raise SyntaxProblem(f"{str(error).partition(chr(10))[0]} of `{' '.join(text.split())}`") from None


@cache
def environment(names: tuple[str, ...], functions: tuple[tuple[str, Callable[..., object]], ...] = ()) -> _cel.Env:
    """Make an environment like the API server's; `functions` implement by name what only the API server has."""
    declared = [
        _cel.FunctionDecl(name, [_cel.Overload(name, result, list(takes), is_member=True)])
        for name, (takes, result) in _FUNCTIONS.items()
    ]
    declared.append(_cel.FunctionDecl("quantity", [_cel.Overload("quantity", _TYPE.STRING, [_TYPE.STRING])]))
    return _cel.NewEnv(
        variables=dict.fromkeys(names, _TYPE.DYN),
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
        functions=declared,
        function_impls=dict(functions),
    )
