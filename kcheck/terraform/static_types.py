"""Types of expressions that give no value: branches that are not chosen and fail, and splats of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.source.data_types import ANYTHING, BOOL, DYNAMIC, NUMBER, PRIMITIVE, STRING, Type
from kcheck.source.scalars import EvaluationError
from kcheck.syntax.hcl import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

_ARITHMETIC = frozenset("+-*/%")


def of_failed(node: nodes.Expression, type_of: Callable[[nodes.Expression], Type]) -> Type:
    """The type that Terraform gives to an expression that fails; `type_of` gives those of its parts."""
    if isinstance(node, nodes.Template):
        return ANYTHING if node.wraps else STRING
    if isinstance(node, nodes.Operation):
        return NUMBER if node.operator in _ARITHMETIC else BOOL
    if isinstance(node, nodes.Tuple):
        return Type("tuple", tuple(map(type_of, node.items)))
    if isinstance(node, nodes.Object) and all(isinstance(key, nodes.Literal) for key, _ in node.entries):
        found = {str(key.value): type_of(value) for key, value in node.entries if isinstance(key, nodes.Literal)}
        return Type("object", tuple(found[name] for name in sorted(found)), tuple(sorted(found)))
    if isinstance(node, nodes.Splat):
        source = type_of(node.target)
        if source.kind == "tuple":
            return Type("tuple", (ANYTHING,) * len(source.parts))
        return Type("list", (ANYTHING,)) if source.kind in ("list", "set") else ANYTHING
    return ANYTHING


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
        parts = target.parts if target.kind == "tuple" else (target,)
        return DYNAMIC if target == DYNAMIC else Type("tuple", tuple(of_step(node.each, part) for part in parts))
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
