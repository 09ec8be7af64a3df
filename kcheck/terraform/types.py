"""Type constraints of variables: convert a given value to the declared type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.source import scalars
from kcheck.source.scalars import EvaluationError
from kcheck.source.values import Datum, Known, Missing, Origin, SetData, Unknown
from kcheck.syntax.hcl import nodes
from kcheck.terraform import convert
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.scope import Scope

if TYPE_CHECKING:
    from kcheck.source.text import Span
    from kcheck.source.values import DatumValue
    from kcheck.terraform.budget import Budget


def convert_to(value: Datum, declared: nodes.Expression, budget: Budget) -> Datum:
    """The value as the type constraint wants it; parts that are unknown stay so.

    Raises:
        EvaluationError: the value cannot have that type.
        BudgetError: its defaults take more than the budget has left.
    """
    if isinstance(value, Unknown) or value.value is None:
        return value
    if isinstance(declared, nodes.Variable | nodes.Literal):
        name = declared.name if isinstance(declared, nodes.Variable) else str(declared.value)
        return _primitive(value, name)
    if not isinstance(declared, nodes.Call) or not declared.arguments:
        return value
    inner = declared.arguments[0]
    if declared.name == "object" and isinstance(inner, nodes.Object):
        return _object(value, inner, budget)
    if declared.name == "tuple" and isinstance(inner, nodes.Tuple):
        items = value.value if isinstance(value.value, tuple) else ()
        return Known(tuple(convert_to(i, t, budget) for i, t in zip(items, inner.items, strict=False)), value.origin)
    if declared.name == "map":
        if not isinstance(value.value, dict):
            raise EvaluationError("a map is needed")
        return Known({key: convert_to(item, inner, budget) for key, item in value.value.items()}, value.origin)
    if declared.name in ("list", "set"):
        if not isinstance(value.value, tuple):
            raise EvaluationError(f"a {declared.name} is needed")
        items = tuple(convert_to(item, inner, budget) for item in value.value)
        if declared.name == "list":
            return Known(items, value.origin)
        return Known(convert.to_set(list(items)), value.origin)
    return value


def _primitive(value: Known[DatumValue], name: str) -> Datum:
    if name in ("any", "list", "map", "set"):  # a bare `list` is Terraform 0.11's spelling of list(any)
        return value
    if isinstance(value.value, dict | tuple | SetData):
        raise EvaluationError(f"a {name} is needed")
    match name:
        case "string":
            return Known(scalars.to_string(value.value), value.origin)
        case "number":
            return Known(scalars.to_number(value.value), value.origin)
        case "bool":
            return Known(scalars.to_bool(value.value), value.origin)
    return value


def _object(value: Known[DatumValue], declared: nodes.Object, budget: Budget) -> Datum:
    """An object keeps the declared attributes only; optional ones get their default."""
    if not isinstance(value.value, dict):
        raise EvaluationError("an object is needed")
    result: dict[str, Datum] = {}
    nothing = Scope({}, budget=budget)
    for key_node, type_node in declared.entries:
        key = str(key_node.value) if isinstance(key_node, nodes.Literal) else ""
        optional = isinstance(type_node, nodes.Call) and type_node.name == "optional"
        parts = type_node.arguments if optional and isinstance(type_node, nodes.Call) else (type_node,)
        given: Datum | None = value.value.get(key)
        if given is None and not optional:
            raise EvaluationError(f"the attribute `{key}` is required")
        if given is None:
            default = value_of(parts[1], nothing) if len(parts) > 1 else Known(None, Origin(()))
            given = absent(default, value.origin.below(key))
        elif len(parts) > 1 and isinstance(given, Known) and given.value is None:
            given = absent(value_of(parts[1], nothing), given.origin)
        result[key] = convert_to(given, parts[0], budget)
    return Known(result, value.origin)


def absent(default: Datum, origin: Origin) -> Datum:
    """A default with the place of the absent or null value."""
    if isinstance(default, Unknown):
        return default
    value = default.value
    if isinstance(value, dict) and value:  # to write a part of it would lose the others
        missing = Missing(origin.missing.container, ()) if origin.missing else None
        nowhere = Origin(origin.spans, missing=missing)
        return Known({key: absent(item, nowhere) for key, item in value.items()}, nowhere)
    if isinstance(value, tuple):
        return Known(type(value)(absent(item, origin) for item in value), origin)
    place: Span | None = default.origin.written if default.origin.spans else None
    return Known(value, origin.used(place) if place and origin.spans else origin)
