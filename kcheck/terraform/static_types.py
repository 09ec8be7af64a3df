"""Types of expressions that give no value: branches that are not chosen and fail, and splats of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.terraform.type_rules import type_of, unify
from kcheck.text.data_types import ANYTHING, BOOL, DYNAMIC, NUMBER, PRIMITIVE, STRING, Type
from kcheck.text.scalars import EvaluationError, to_string
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.text.values import Datum

_ARITHMETIC = frozenset("+-*/%")


def despite(node: nodes.Expression, evaluate: Callable[[nodes.Expression], Datum]) -> Type:
    """The type of an expression that may fail, such as the other branch of a conditional."""
    try:
        return type_of(evaluate(node))
    except EvaluationError:
        return _of_failed(node, evaluate)


def _of_failed(node: nodes.Expression, evaluate: Callable[[nodes.Expression], Datum]) -> Type:
    """The type that Terraform gives to an expression that fails."""
    if isinstance(node, nodes.Template):
        return DYNAMIC if node.wraps else STRING
    if isinstance(node, nodes.Conditional):
        return unify([despite(node.yes, evaluate), despite(node.no, evaluate)]) or DYNAMIC
    if isinstance(node, nodes.Operation):
        return NUMBER if node.operator in _ARITHMETIC else BOOL
    if isinstance(node, nodes.Tuple):
        return Type("tuple", tuple(despite(item, evaluate) for item in node.items))
    if isinstance(node, nodes.Object):
        found: dict[str, Type] = {}
        for key, value in node.entries:
            name = known(evaluate(key)) if despite(key, evaluate) not in (ANYTHING, DYNAMIC) else None
            if name is None:
                return DYNAMIC
            found[to_string(name)] = despite(value, evaluate)
        names = tuple(sorted(found))
        return Type("object", tuple(found[name] for name in names), names)
    if isinstance(node, nodes.Splat):
        source = despite(node.target, evaluate)
        if source.kind == "tuple":
            return Type("tuple", (DYNAMIC,) * len(source.parts))
        return Type("list", (DYNAMIC,)) if source.kind in ("list", "set") else DYNAMIC
    return DYNAMIC


def of_step(node: nodes.Expression, element: Type) -> Type:
    """The type of the elements that a splat makes of elements of a type.

    Raises:
        EvaluationError: they have no such part.
    """
    if isinstance(node, nodes.Element):
        return element
    if isinstance(node, nodes.Splat):
        target = of_step(node.target, element)
        if target.kind in ("list", "set"):
            return Type("list", (of_step(node.each, target.element),))
        if target.kind != "tuple":  # it may be null, which gives none
            return DYNAMIC
        return Type("tuple", tuple(of_step(node.each, part) for part in target.parts))
    if not isinstance(node, nodes.GetAttr | nodes.Index):
        return ANYTHING
    target = of_step(node.target, element)
    if target in (DYNAMIC, ANYTHING):
        return target
    key = node.name if isinstance(node, nodes.GetAttr) else _literal(node.key)
    if target.kind == "map" or (target.kind == "list" and isinstance(node, nodes.Index)):
        return target.element
    if target.kind == "tuple" and isinstance(key, int) and 0 <= key < len(target.parts):
        return target.parts[key]
    if target.kind in PRIMITIVE or target.kind in ("list", "set", "tuple") or key is not None:
        if str(key) not in target.names:
            if target.kind == "object" and isinstance(key, int):
                return DYNAMIC
            raise EvaluationError(f"there is no element `{key}` in a {target.kind}")
        return target.parts[target.names.index(str(key))]
    return ANYTHING


def _literal(key: nodes.Expression) -> object:
    return key.value if isinstance(key, nodes.Literal) else None
