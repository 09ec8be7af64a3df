"""Evaluate policies without an API server: CEL, with the API server's own functions in Python."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cel_expr_python import cel

from kcheck.addons.admission.table import VARIABLES, environment, table
from kcheck.text.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.addons.admission.export import Manifest


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found[0] for found in re.finditer(pattern, text)]


FUNCTIONS: Mapping[str, Callable[..., object]] = MappingProxyType({
    "find": _find,
    "findAll": _find_all,
    "sum": sum,
    "min": min,
    "max": max,
    "quantity": str,
    "asApproximateFloat": lambda text: float(quantity(text)),
})  # fmt: skip


def evaluate(text: str, data: Mapping[str, object]) -> object:
    """Return the value of an expression in a policy.

    Raises:
        RuntimeError: it fails.

    """
    env = environment(VARIABLES, tuple(FUNCTIONS.items()))
    value = env.compile(text).eval(env.Activation({name: data.get(name) for name in VARIABLES}))
    if value.type() == cel.Type.ERROR:
        raise RuntimeError(f"{value.plain_value()} in {text}")
    plain: object = value.plain_value()
    return plain


def refusals(policy: Manifest, item: Manifest, values: Mapping[str, str]) -> list[str]:
    """Return the messages of a policy that refuses an object; none if it accepts or does not match the object."""
    spec: Any = policy["spec"]
    if not _matches(spec["matchConstraints"]["resourceRules"], item):
        return []
    variables: dict[str, object] = {}
    data = {
        "object": item, "oldObject": None, "request": {"operation": "CREATE"}, "params": {"data": dict(values)},
        "variables": variables,
    }  # fmt: skip
    if not all(evaluate(one["expression"], data) for one in spec["matchConditions"]):
        return []
    for one in spec["variables"]:
        variables[one["name"]] = evaluate(one["expression"], data)
    failed = (one for one in spec["validations"] if not evaluate(one["expression"], data))
    return [str(evaluate(one["messageExpression"], data)) for one in failed]


def _matches(rules: list[Mapping[str, list[str]]], item: Manifest) -> bool:
    group = str(item["apiVersion"]).rpartition("/")[0]
    kind = f"{group}/{item['kind']}" if group else str(item["kind"])
    names = {found[kind] for found in table()["kinds"].values() if kind in found}
    return any(group in one["apiGroups"] and names & set(one["resources"]) for one in rules)
