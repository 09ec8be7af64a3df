"""Convert and compare values by the rules of Terraform's types (cty)."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from operator import is_

from kcheck.terraform import type_rules
from kcheck.text import placeholders, scalars
from kcheck.text.data_types import ANYTHING, DYNAMIC, ListData, MapData, Null, SetData, Type
from kcheck.text.scalars import EvaluationError, floating, kind, to_string
from kcheck.text.syntax.json import Node
from kcheck.text.values import Datum, DatumValue, Key, Known, Origin, Unknown, known

_SINGLE: dict[str, Callable[[object], DatumValue]] = {
    "string": scalars.to_string,
    "number": scalars.to_number,
    "bool": scalars.to_bool,
}


def equal(a: Datum, b: Datum) -> bool | None:
    """Whether `==` holds: compared deeply, never across types; None if unknown."""
    structured = isinstance(known(a), tuple | dict) and isinstance(known(b), tuple | dict)
    if structured and not type_rules.same(type_rules.type_of(a), type_rules.type_of(b)):
        return False
    return _equal(a, b)


def _equal(a: Datum, b: Datum) -> bool | None:
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return _same_symbol(a, b)
    x, y = a.value, b.value
    type_of = kind(x)
    if type_of != kind(y):
        return False
    if type_of == "resource":
        return True if x is y else None
    if isinstance(x, dict) and isinstance(y, dict):
        return _all_equal((x[key], y[key]) for key in x) if x.keys() == y.keys() else False
    if isinstance(x, tuple) and isinstance(y, tuple):
        return _all_equal(zip(x, y, strict=True)) if len(x) == len(y) else False
    if type_of == "number":
        return scalars.rounded(scalars.exact(a)) == scalars.rounded(scalars.exact(b))
    return bool(x == y)


def _same_symbol(a: Datum, b: Datum) -> bool | None:
    """Return True if two unknowns are the same attribute, else None."""
    if isinstance(a, Unknown) and isinstance(b, Unknown) and a.symbol is not None and a.symbol == b.symbol:
        return None if "?" in a.symbol.attribute else True
    return None


def _all_equal(pairs: Iterable[tuple[Datum, Datum]]) -> bool | None:
    result: bool | None = True
    for a, b in pairs:
        same = _equal(a, b)
        if same is False:
            return False
        if same is None:
            result = None
    return result


def unify(items: Sequence[Datum]) -> list[Datum]:
    """Convert elements to one common type, like the branches of a conditional.

    Unknown values fit any type. Elements that need no conversion are returned unchanged. Raises EvaluationError if no
    single type fits all.
    """
    types = [type_rules.type_of(item) for item in items]
    found = type_rules.unify(types)
    if found is None:
        raise EvaluationError(f"no single type fits {' and '.join(sorted({one.kind for one in types}))}")
    return [to_type(item, found) for item in items]


def convert(datum: Datum, want: Type) -> Datum:
    """Convert a value to a type. Raises EvaluationError if impossible."""
    if isinstance(datum, Unknown):
        return datum
    found = type_rules.converted(type_rules.type_of(datum), want)
    if found is None:
        raise EvaluationError(f"a {want.kind} is needed, not {kind_name(datum.value)}")
    return to_type(datum, found)


def to_type(datum: Datum, want: Type) -> Datum:
    """Convert a value to a type already known to fit."""
    if isinstance(datum, Unknown) or want in (DYNAMIC, ANYTHING):
        return datum
    value = datum.value
    if hasattr(value, "attribute"):
        return datum  # a resource: its type is not known
    if value is None:
        return datum if type_rules.type_of(datum) == want else Null(None, datum.origin, type=want)
    if want.kind in _SINGLE:
        single = _SINGLE[want.kind](value)
        return datum if single is value else Known(single, datum.origin)
    if isinstance(value, tuple):
        return _sequence(datum, value, want)
    if not isinstance(value, dict):
        return datum
    if want.kind == "object":
        return _object(datum, value, want)
    found = {key: to_type(item, want.element) for key, item in value.items()}
    if isinstance(value, MapData) and value.element == want.element and all(found[key] is value[key] for key in found):
        return datum
    return Known(MapData.of(found, want.element), datum.origin)


def _object(datum: Known[DatumValue], value: dict[Key, Datum], want: Type) -> Datum:
    if isinstance(value, MapData) and (missing := {*want.names} - want.optional - {*map(str, value)}):
        raise EvaluationError(f"the map has no element `{min(missing)}`, which an object needs")
    found: dict[Key, Datum] = {
        name: to_type(value[name], part) if name in value else Null(None, datum.origin.below(name), type=part)
        for name, part in zip(want.names, want.parts, strict=True)
    }
    same = not isinstance(value, MapData) and found.keys() == value.keys()
    return datum if same and all(found[name] is value[name] for name in found) else Known(found, datum.origin)


def _sequence(datum: Known[DatumValue], value: tuple[Datum, ...], want: Type) -> Datum:
    parts = want.parts if want.kind == "tuple" else want.parts * len(value)
    found = [to_type(item, part) for item, part in zip(value, parts, strict=True)]
    if want.kind == "set":
        if isinstance(value, SetData) and value.element == want.element and all(map(is_, value, found)):
            return datum
        return Known(set_data(found, want.element), datum.origin)
    if want.kind == "list":
        if isinstance(value, ListData) and value.element == want.element and all(map(is_, value, found)):
            return datum
        return Known(ListData.of(found, want.element), datum.origin)
    return datum if all(map(is_, value, found)) else Known(tuple(found), datum.origin)


def kind_name(value: object) -> str:
    """Name the kind of a value, for messages."""
    name = kind(value)
    return {"null": name, "bool": "a boolean", "map": "this value", "resource": "this value"}.get(name, f"a {name}")


def identity(datum: Datum) -> str:
    """Return a text that is equal for equal values of one type."""
    if isinstance(datum, Unknown):
        if datum.symbol:
            return f"?{datum.symbol.address}.{datum.symbol.attribute}"
        name = datum.reason.removesuffix(" has no value")
        if name != datum.reason:  # a variable
            return f"?{name}"
        written = datum.origin.spans[0] if datum.origin and datum.origin.spans else None
        return f"?{written.source.path}:{written.start}:{datum.reason}" if written else f"?{id(datum)}"
    value = datum.value
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, dict):
        parts = (f'"{key}":{identity(value[key])};' for key in sorted(value, key=str))
        return "{" + "".join(parts) + "}"
    if isinstance(value, tuple):
        return "[" + "".join(identity(item) + ";" for item in value) + "]"
    match kind(value):
        case "null":
            return "~"
        case "bool":
            return "T" if value else "F"
        case "number":
            return to_string(scalars.exact(datum))
    return f"?{id(value)}"


def order_text(datum: Datum) -> str:
    """Return the sort text of an element, as Terraform orders sets."""
    if isinstance(datum, Unknown):
        return "?"
    value = datum.value
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, MapData):
        return "{" + "".join(f"{_quoted(str(key))}:{order_text(value[key])};" for key in sorted(value, key=str)) + "}"
    if isinstance(value, dict):
        return "<" + "".join(f"{order_text(value[key])};" for key in sorted(value, key=str)) + ">"
    if isinstance(value, tuple):
        begin, end = "[]" if isinstance(value, ListData | SetData) else "<>"
        return begin + "".join(f"{order_text(item)};" for item in value) + end
    if isinstance(value, bool):
        return "T" if value else "F"
    return floating("g", value, 10) if isinstance(value, int | Fraction) else "~"


def _quoted(value: str) -> str:
    """Quote a text like Go's %q."""
    return '"' + "".join(map(_quoted_character, value)) + '"'


def _quoted_character(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPED = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def sort_key(datum: Datum) -> tuple[int, object]:
    """Return the sort key of a set element; unknowns and nulls come last."""
    if isinstance(datum, Unknown):
        return (6, 0)
    value = datum.value
    match kind(value):
        case "null":
            return (7, 0)
        case "bool":
            return (0, value)
        case "number":
            return (1, value)
        case "string":
            return (2, value)  # the order of code points is that of UTF-8
    return (3, order_text(datum))


def to_set(items: Sequence[Datum]) -> SetData:
    """Make a set in Terraform's order, or raise EvaluationError."""
    types = (type_rules.type_of(Known(tuple(items), Origin(()))), Type("set", (DYNAMIC,)))
    found = type_rules.converted(*types)
    if found is None:
        raise EvaluationError("no single type fits the elements of the set")
    return set_data((to_type(item, found.element) for item in items), found.element)


def set_data(items: Iterable[Datum], element: Type) -> SetData:
    """Make a set from elements that already have its type."""
    unique: dict[Key, Datum] = {}
    for item in items:
        unique.setdefault(identity(item), item)
    return SetData.of(sorted(unique.values(), key=sort_key), element)


def from_json(node: Node) -> Datum:
    """Convert a JSON node to an editable value; encrypted texts become Unknown."""
    value = node.value
    if isinstance(value, dict):
        return Known({key: from_json(member.value) for key, member in value.items()}, Origin((node.span,)))
    if isinstance(value, list):
        return Known(tuple(map(from_json, value)), Origin((node.span,)))
    if isinstance(value, str) and placeholders.is_encrypted(value):
        return Unknown(placeholders.encrypted(node.span), Origin((node.span,)))
    return Known(value, Origin((node.span,), literal=not node.span.source.private))
