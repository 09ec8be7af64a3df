"""Convert values to the declared types of variables."""

from operator import is_

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.terraform.budget import Budget
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.scope import Scope
from kcheck.text.data_types import DYNAMIC, PRIMITIVE, Type, each
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Span
from kcheck.text.values import Datum, Key, Known, Missing, Origin, Unknown

_COLLECTIONS = frozenset({"list", "set", "map"})


def convert_to(value: Datum, declared: nodes.Expression, budget: Budget) -> Datum:
    """Convert a value to a type constraint; unknown parts stay unchanged.

    Raises EvaluationError if the value or a default cannot have its type, BudgetError if defaults exceed the budget.
    """
    for node in nodes.walk(declared):
        if isinstance(node, nodes.Call) and node.name == "optional" and node.arguments[1:]:
            convert.convert(value_of(node.arguments[1], Scope({}, budget=budget)), type_of(node.arguments[0]))
    return convert.convert(_defaulted(value, declared, budget), type_of(declared))


def type_of(declared: nodes.Expression) -> Type:
    """Read a type constraint; DYNAMIC if it cannot be read."""
    if isinstance(declared, nodes.Variable | nodes.Literal):
        name = declared.name if isinstance(declared, nodes.Variable) else str(declared.value)
        if name in PRIMITIVE:
            return Type(name)
        # a bare `list` is Terraform 0.11's spelling of list(any)
        return Type(name, (DYNAMIC,)) if name in _COLLECTIONS else DYNAMIC
    if not isinstance(declared, nodes.Call) or not declared.arguments:
        return DYNAMIC
    inner = declared.arguments[0]
    if declared.name == "object" and isinstance(inner, nodes.Object):
        found = {_key(key): part for key, part in inner.entries}
        names = tuple(sorted(found))
        parts = tuple(type_of(_inner(found[name])) for name in names)
        return Type("object", parts, names, frozenset(name for name in names if _inner(found[name]) is not found[name]))
    if declared.name == "tuple" and isinstance(inner, nodes.Tuple):
        return Type("tuple", tuple(map(type_of, inner.items)))
    return Type(declared.name, (type_of(inner),)) if declared.name in _COLLECTIONS else DYNAMIC


def _key(node: nodes.Expression) -> str:
    return str(node.value) if isinstance(node, nodes.Literal) else ""


def _inner(declared: nodes.Expression) -> nodes.Expression:
    optional = isinstance(declared, nodes.Call) and declared.name == "optional" and declared.arguments
    return declared.arguments[0] if optional and isinstance(declared, nodes.Call) else declared


def _defaulted(value: Datum, declared: nodes.Expression, budget: Budget) -> Datum:
    """Fill in defaults of optional attributes that are absent or null."""
    if not isinstance(value, Known) or not isinstance(declared, nodes.Call) or not declared.arguments:
        return value
    inner, parts = declared.arguments[0], value.value
    if declared.name == "object" and isinstance(inner, nodes.Object) and isinstance(parts, dict):
        return _object(value.origin, parts, inner, budget)
    if isinstance(parts, tuple) and declared.name in ("list", "set", "tuple"):
        kinds = inner.items if isinstance(inner, nodes.Tuple) else (inner,) * len(parts)
        items = [_defaulted(item, kind, budget) for item, kind in zip(parts, kinds, strict=False)]
        same = len(items) == len(parts) and all(map(is_, items, parts))
        return value if same else Known(tuple(items), value.origin)
    if declared.name == "map" and isinstance(parts, dict):
        found = {key: _defaulted(item, inner, budget) for key, item in parts.items()}
        return value if all(found[key] is parts[key] for key in found) else Known(found, value.origin)
    return value


def _object(origin: Origin, given: dict[Key, Datum], declared: nodes.Object, budget: Budget) -> Datum:
    result, nothing = dict(given), Scope({}, budget=budget)
    for key_node, type_node in declared.entries:
        key = _key(key_node)
        item = given.get(key)
        kind = _inner(type_node)
        defaults = type_node.arguments[1:] if kind is not type_node and isinstance(type_node, nodes.Call) else ()
        if kind is not type_node and (item is None or (isinstance(item, Known) and item.value is None)):
            place = origin.below(key) if item is None else item.origin or origin
            item = absent(value_of(defaults[0], nothing), place) if defaults else Known(None, place)
        if item is not None:
            result[key] = _defaulted(item, kind, budget)
    return Known(result, replace(origin, why="the variable's type must have the attribute, too"))


def absent(default: Datum, origin: Origin) -> Datum:
    """Place a default at the absent or null value that it replaces."""
    if isinstance(default, Unknown):
        return default
    value = default.value
    if isinstance(value, dict) and value:  # to write a part of it would lose the others
        missing = Missing(origin.missing.container, ()) if origin.missing else None
        nowhere = Origin(origin.spans, missing=missing)
        return Known(each(value, lambda item: absent(item, nowhere)), nowhere)
    if isinstance(value, tuple):
        return Known(each(value, lambda item: absent(item, origin)), origin)
    place: Span | None = default.origin.written if default.origin.spans else None
    return replace(default, origin=origin.used(place) if place and origin.spans else origin)
