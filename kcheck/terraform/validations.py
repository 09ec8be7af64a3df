"""`validation` blocks of variables, applied to values that a fix would write."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kcheck.terraform.budget import Budget, BudgetError
from kcheck.terraform.evaluator import value_in
from kcheck.terraform.module import Module
from kcheck.terraform.scope import Names
from kcheck.terraform.types import convert_to
from kcheck.text import scalars
from kcheck.text.partly_known import wrap
from kcheck.text.scalars import EvaluationError
from kcheck.text.text import Span
from kcheck.text.values import Data, Datum, Known, Missing, Origin, parts

Place: TypeAlias = "Span | Missing"
"""Place where a value is written, or would be."""


class Validations:
    """Variables with `validation` blocks in all modules of the roots."""

    def __init__(self, roots: Iterable[Module]) -> None:
        self._users: dict[Place, list[tuple[Module, str]]] = {}
        for root in roots:
            for module in root.all():
                for name, block in module.configuration.variables.items():
                    value = module.scope.namespace("var").attribute(name) if block.body.all("validation") else None
                    for place in dict.fromkeys(_places(value) if value is not None else ()):
                        self._users.setdefault(place, []).append((module, name))

    def refusing(self, values: Mapping[Place, Data]) -> tuple[str, Place] | None:
        """Find a variable that rejects one of the new values, and its place; None without one."""
        for place in values:
            for module, name in self._users.get(place, ()):
                if _refuses(module, name, values):
                    return f"var.{name}" + (f" of {module.address}" if module.address else ""), place
        return None


def _places(datum: Datum) -> Iterator[Place]:
    origin = datum.origin
    if origin is not None and origin.spans:
        yield origin.missing or origin.written
    if isinstance(datum, Known):
        for part in parts(datum.value):
            yield from _places(part)


def _refuses(module: Module, name: str, values: Mapping[Place, Data]) -> bool:
    block, variables = module.configuration.variables[name], module.scope.namespace("var")
    changed = _changed(variables.attribute(name), values)
    kind = block.body.attributes.get("type")
    try:
        changed = convert_to(changed, kind.expression, Budget()) if kind else changed
    except (EvaluationError, BudgetError):
        return True
    others = Names(lambda other: changed if other == name else variables.attribute(other), "var")
    scope = module.scope.with_names(var=Known(others, Origin(())))
    for validation in block.body.all("validation"):
        found = value_in(validation.body, "condition", scope)
        if isinstance(found, Known) and _is_false(found.value):
            return True
    return False


def _is_false(value: object) -> bool:
    try:
        return not scalars.to_bool(value)
    except EvaluationError:
        return False


def _changed(datum: Datum, values: Mapping[Place, Data]) -> Datum:
    origin = datum.origin
    if origin is not None and origin.spans and (place := origin.missing or origin.written) in values:
        return wrap(values[place], origin)
    if not isinstance(datum, Known):
        return datum
    if isinstance(datum.value, dict):
        return Known({key: _changed(item, values) for key, item in datum.value.items()}, datum.origin)
    if isinstance(datum.value, tuple):
        return Known(type(datum.value)(_changed(item, values) for item in datum.value), datum.origin)
    return datum
