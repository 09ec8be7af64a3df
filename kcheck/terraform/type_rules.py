"""Types of values and failing expressions, by Terraform's rules (cty)."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from kcheck.text.data_types import (
    ANYTHING,
    BOOL,
    DYNAMIC,
    NUMBER,
    PRIMITIVE,
    STRING,
    ListData,
    MapData,
    Null,
    SetData,
    Type,
)
from kcheck.text.scalars import EvaluationError, kind, to_string
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Datum, Known, known

_FAMILIES = (("list", "tuple", "set"), ("map", "object"))  # from general to special
_MOST_TYPES = 200  # of different kinds in one collection: far more than fit into one type
_SINGLE = {"string": STRING, "number": NUMBER, "bool": BOOL, "null": DYNAMIC, "resource": ANYTHING}


def type_of(datum: Datum) -> Type:
    """Return the type of a value; ANYTHING if unknown."""
    if type(datum) is Null:
        return datum.type
    if not isinstance(datum, Known):
        return ANYTHING
    value = datum.value
    if isinstance(value, ListData | SetData):
        return Type("list" if isinstance(value, ListData) else "set", (value.element,))
    if isinstance(value, MapData):
        return Type("map", (value.element,))
    if isinstance(value, tuple):
        return Type("tuple", tuple(map(type_of, value)))
    if isinstance(value, dict):
        names = sorted(value, key=str)
        return Type("object", tuple(type_of(value[name]) for name in names), tuple(map(str, names)))
    return _SINGLE[kind(value)]


def same(a: Type, b: Type) -> bool:
    """Whether two types are equal, as far as known."""
    if a == b or ANYTHING in (a, b):
        return True
    if a.kind != b.kind or a.names != b.names or len(a.parts) != len(b.parts):
        return False
    return bool(a.parts) and all(map(same, a.parts, b.parts))


def unify(types: Sequence[Type]) -> Type | None:
    """Find the type that all types convert to; None without one."""
    found = [one for one in dict.fromkeys(types) if one != ANYTHING]
    if not found:
        return ANYTHING
    if len(found) == 1:
        return found[0]
    kinds = {one.kind for one in found}
    others = kinds - {"dynamic"}
    if others <= PRIMITIVE:
        known = [one for one in found if one != DYNAMIC]
        return known[0] if len(known) == 1 else STRING if STRING in known else None
    if len(others) == 1:
        return DYNAMIC if DYNAMIC in found else _unify_alike(found)
    result: Type | None = None
    if others == {"map", "object"}:
        result = _with_structures(found, "object", "map")
    elif others == {"list", "tuple"}:
        result = _with_structures(found, "tuple", "list")
    elif {"object", "tuple"} <= others:
        return None
    return result or _preferred(found)


def _unify_alike(types: list[Type]) -> Type | None:
    first = types[0]
    if first.kind in ("list", "set", "map"):
        element = unify([one.element for one in types])
        return None if element is None else Type(first.kind, (element,))
    if any(one.names != first.names or len(one.parts) != len(first.parts) for one in types):
        return _as_collection(types)
    parts = [unify(column) for column in zip(*(one.parts for one in types), strict=True)]
    if None in parts:
        return None
    result = Type(first.kind, tuple(part for part in parts if part is not None), first.names)
    return result if all(converted(one, result) for one in types) else _as_collection(types)


def _as_collection(types: Iterable[Type]) -> Type | None:
    """Find the map or list type that objects or tuples convert to; None without one."""
    found = list(types)
    element = unify([part for one in found for part in one.parts])
    if element is None:
        return None
    result = Type("map" if found[0].kind == "object" else "list", (element,))
    return result if element == DYNAMIC or all(converted(one, result) for one in found) else None


def _with_structures(types: list[Type], structure: str, collection: str) -> Type | None:
    """Unify structures with collections: the structures become one collection first."""
    made = _as_collection(one for one in types if one.kind == structure)
    if made is None:
        return None
    result = unify([made if one.kind == structure else one for one in types])
    return result if result is not None and result.kind == collection else None


def _preferred(types: list[Type]) -> Type | None:
    """Find the first type, from general to special, that all others convert to."""
    if len(types) > _MOST_TYPES:
        return None
    waiting = [sum(_compare(other, one) < 0 for other in types) for one in types]
    order = [at for at, count in enumerate(waiting) if not count]
    for at in order:  # grows on the way
        for other, one in enumerate(types):
            if _compare(types[at], one) < 0:
                waiting[other] -= 1
                if not waiting[other]:
                    order.append(other)
    found = (types[at] for at in order)
    return next((want for want in found if all(converted(one, want) is not None for one in types)), None)


def _compare(a: Type, b: Type) -> int:
    """Return below 0 if unification prefers type `a`, above 0 if `b`."""
    if a == b:
        return 0
    if DYNAMIC in (a, b):
        return 1 if a == DYNAMIC else -1
    if a.kind in PRIMITIVE and b.kind in PRIMITIVE:
        return -1 if a == STRING else 1 if b == STRING else 0
    if a.kind == b.kind:
        if a.names != b.names or len(a.parts) != len(b.parts):
            return 0
        found = {_compare(x, y) for x, y in zip(a.parts, b.parts, strict=True)} - {0}
        return found.pop() if len(found) == 1 else 0
    for family in _FAMILIES:
        if a.kind in family and b.kind in family:
            return -1 if family.index(a.kind) < family.index(b.kind) else 1
    return 0


def converted(have: Type, want: Type) -> Type | None:
    """Return the type of a value after conversion; None if it cannot be converted."""
    if have == want or want in (DYNAMIC, ANYTHING):
        return have
    if have in (DYNAMIC, ANYTHING):
        return _bare(want)
    if have.kind in PRIMITIVE and want.kind in PRIMITIVE:
        return want if STRING in (have, want) else None
    match have.kind, want.kind:
        case "object" | "map", "object":
            return _to_object(have, want)
        case "tuple", "tuple":
            if len(have.parts) != len(want.parts):
                return None
            parts = [converted(a, b) for a, b in zip(have.parts, want.parts, strict=True)]
            return None if None in parts else Type("tuple", tuple(part for part in parts if part is not None))
        case ("list" | "set", "list" | "set") | ("map", "map"):
            element = converted(have.element, want.element)
            return None if element is None else Type(want.kind, (element,))
        case ("tuple", "list" | "set") | ("object", "map"):
            element = _collected(have.parts, want)
            return None if element is None else Type(want.kind, (element,))
    return None


def _collected(parts: tuple[Type, ...], want: Type) -> Type | None:
    """Return the element type of a tuple as a collection; else None."""
    element: Type | None = want.element
    if not parts:
        return _bare(want.element)
    if element == DYNAMIC:
        element = unify(parts)
        if element == DYNAMIC and want.kind != "map" and any(part not in (DYNAMIC, ANYTHING) for part in parts):
            return None
    if element is None:
        return None
    found: list[Type] = []
    for part in parts:
        result = converted(part, element)
        if result is None:
            return None
        found.append(result)
    if want.kind == "list" or (want.kind == "map" and element.kind in ("list", "set", "map", "object")):
        return unify(found)
    alike = {one for one in found if one not in (DYNAMIC, ANYTHING)}
    return None if len(alike) > 1 else alike.pop() if alike else found[0]


def _to_object(have: Type, want: Type) -> Type | None:
    parts: list[Type] = []
    given = dict.fromkeys(want.names, have.parts[0]) if have.kind == "map" else dict(zip(have.names, have.parts))  # noqa: B905
    for name, wanted in zip(want.names, want.parts, strict=True):
        part = converted(given[name], wanted) if name in given else None
        if part is None:
            if name not in want.optional or (name in given and have.kind == "object"):
                return None
            part = _bare(wanted)
        parts.append(part)
    return Type("object", tuple(parts), want.names)


def _bare(want: Type) -> Type:
    if not want.parts:
        return want
    return Type(want.kind, tuple(map(_bare, want.parts)), want.names)


_ARITHMETIC = frozenset("+-*/%")


def despite(node: nodes.Expression, evaluate: Callable[[nodes.Expression], Datum]) -> Type:
    """Return the type of an expression that may fail."""
    with suppress(EvaluationError):
        return type_of(evaluate(node))
    with suppress(EvaluationError):  # of a key
        return _of_failed(node, evaluate)
    return DYNAMIC


def _of_failed(node: nodes.Expression, evaluate: Callable[[nodes.Expression], Datum]) -> Type:
    if isinstance(node, nodes.Template):
        inner = node.parts[0] if node.wraps else None
        return despite(inner, evaluate) if isinstance(inner, nodes.Expression) else STRING
    if isinstance(node, nodes.Conditional):
        branches = [(despite(branch, evaluate), branch) for branch in (node.yes, node.no)]
        if any(one == DYNAMIC and not isinstance(branch, nodes.Literal) for one, branch in branches):
            return DYNAMIC
        return unify([one for one, _ in branches]) or DYNAMIC
    if isinstance(node, nodes.Operation):
        return NUMBER if node.operator in _ARITHMETIC else BOOL
    if isinstance(node, nodes.Tuple):
        return Type("tuple", tuple(despite(item, evaluate) for item in node.items))
    if isinstance(node, nodes.Object):
        found: dict[str, Type] = {}
        for key, value in node.entries:
            name = to_string(known(evaluate(key)))
            found[name] = despite(value, evaluate)
        names = tuple(sorted(found))
        return Type("object", tuple(found[name] for name in names), names)
    if isinstance(node, nodes.Splat):
        source = despite(node.target, evaluate)
        if source.kind in ("list", "set", "dynamic", "anything"):
            return Type("list", (DYNAMIC,)) if source.parts else DYNAMIC
        return Type("tuple", (DYNAMIC,) * (len(source.parts) if source.kind == "tuple" else 1))
    return DYNAMIC


def of_step(node: nodes.Expression, element: Type) -> Type:
    """Return the element type of a splat; raise EvaluationError without one."""
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
    step = node.key if isinstance(node, nodes.Index) else None
    key = node.name if isinstance(node, nodes.GetAttr) else step.value if isinstance(step, nodes.Literal) else None
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
