"""Tables of words as CEL expressions for the API server."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Required, TypedDict

from cel_expr_python import cel as _cel
from cel_expr_python.ext import ext_optional, ext_strings

from kcheck.config.numbers import profiles
from kcheck.text.syntax.cel import Expression, SyntaxProblem

# `as` is a word of Python
Part = TypedDict("Part", {"of": Required[str], "as": str, "among": str, "only": bool, "gives": str}, total=False)
"""Source of an object's parts; the table explains the keys."""


class Better(TypedDict):
    """A better expression for a word, used when the parameters it needs are known."""

    needs: list[str]
    of: str


class Table(TypedDict):
    """Contents of profiles/any/admission.yaml."""

    kinds: dict[str, dict[str, str]]
    written: dict[str, int]
    same: dict[str, str]
    parts: dict[str, Part]
    better: dict[str, Better]
    words: dict[str, dict[str, str]]
    parameters: dict[str, str]
    refused: dict[str, str]
    cannot: dict[str, str]


@cache
def table() -> Table:
    """Load the table."""
    data: Table = profiles.load_own("any", "admission")
    return data


PARTS = {"template": "workload", "container": "workload", "image": "workload"}
"""Subjects that are parts, with the subject of the whole object."""


def object_subject(subject: str) -> str:
    """Return the subject of the whole object."""
    return PARTS.get(subject, subject)


def is_about_objects(subject: str) -> bool:
    """Whether a subject is a Kubernetes object or a part of one."""
    return object_subject(subject) in table()["kinds"] or subject in table()["cannot"]


def kinds(subject: str) -> tuple[str, ...]:
    """List the kinds, as `group/Kind`, that policies on a subject can cover."""
    return tuple(table()["kinds"].get(object_subject(subject), ()))


def resource(subject: str, kind: str) -> str:
    """Return the plural resource name of a kind."""
    return table()["kinds"][object_subject(subject)][kind]


def facts(kind: str) -> Mapping[str, object]:
    """Return the words of a workload that depend only on its kind."""
    entry = profiles.workloads().get(kind, {"pods": []})
    fields = profiles.table("any").get(kind, {})
    settings = [name for name in ("ttl", "deadline") if name in fields]
    inner = ["deadline"] if kind == "jobset.x-k8s.io/JobSet" else []
    return {
        "kind": kind.rpartition("/")[2], "group": kind.rpartition("/")[0], "batch": entry.get("batch", False),
        "per_node": entry.get("per_node", False), "settings": [*settings, *inner],
    }  # fmt: skip


# --- CEL as in the API server of Kubernetes, with optional fields and its own functions

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


def compile_policy(text: str, names: tuple[str, ...]) -> Expression:
    """Compile an expression of a policy. Raises SyntaxProblem if it is invalid."""
    try:
        return Expression(text, names, environment(names).compile(text))
    except RuntimeError as error:
        raise SyntaxProblem(f"{str(error).partition(chr(10))[0]} of `{' '.join(text.split())}`") from None


@cache
def environment(names: tuple[str, ...], functions: tuple[tuple[str, Callable[..., object]], ...] = ()) -> _cel.Env:
    """Make a CEL environment like the API server's."""
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
