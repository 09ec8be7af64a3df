"""Static types of expressions, from the table of words, and type mistakes.

Nothing is evaluated. A value that may be null has to be compared with null first, on either side of `&&` and `||`: CEL
ignores a failing operand if the other one decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct

from kcheck.config.config import nearest
from kcheck.text.syntax.cel_tree import Node

_ORDER = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_EQUAL = frozenset({"_==_", "_!=_"})
_ARITHMETIC = frozenset({"_+_", "_-_", "_*_", "_/_", "_%_"})
_OF_TEXT = {
    "startsWith": "bool", "endsWith": "bool", "contains": "bool", "matches": "bool", "indexOf": "int",
    "lastIndexOf": "int", "lowerAscii": "string", "upperAscii": "string", "replace": "string", "substring": "string",
    "trim": "string", "charAt": "string", "reverse": "string",
}  # fmt: skip
_CONVERSIONS = {"string": "string", "int": "int", "uint": "int", "double": "double", "bool": "bool", "type": "type"}
_MEASURES = {
    "time": ("seconds", "whole seconds"), "size": ("bytes", "memory", "GB", "GiB"), "share": ("percent",),
    "processors": ("millicores", "cores", "vCPUs"), "money": ("mills",), "node time": ("node-seconds",),
}  # fmt: skip
_CALLED = {"string": "text", "int": "a number", "double": "a number", "bool": "true or false", "null": "null"}


class Type(NamedTuple):
    """Type of a part of an expression.

    `kind` is int, double, string, bool, null, type, list, map, record, or any where that is not known. `of` is the type
    of a list's or map's elements, `subject` that of a record. Of a `bounded` number perhaps only the bounds are known.
    `word` is the rule word it is read from, if any, with its `meaning`.
    """

    kind: str
    of: Type | None = None
    subject: str = ""
    nullable: bool = False
    bounded: bool = False
    unit: str = ""
    word: str = ""
    meaning: str = ""

    @property
    def described(self) -> str:
        """Word and its meaning, as messages print them."""
        meaning = f" ({self.meaning})" if self.meaning else ""
        return f"`{self.word}`{meaning}" if self.word else "this"

    @property
    def what(self) -> str:
        """Name of the type for messages."""
        if self.kind in ("list", "map"):
            return f"a {self.kind}"
        return _CALLED.get(self.kind, f"a {self.subject}" if self.kind == "record" else self.kind)


ANY = Type("any")
BOOL = Type("bool")
NUMBERS = frozenset({"int", "double"})
_FUNCTIONS = {
    **{name: (("string",), Type(result)) for name, result in _OF_TEXT.items()},
    "size": (("list", "map", "string"), Type("int")),
    "join": (("list",), Type("string")),
    "split": (("string",), Type("list", Type("string"))),
}
"""Kinds that the first operand may have, and the type of the result."""


class TypeMistake(NamedTuple):
    """Mistake in an expression, and the index of its character."""

    at: int
    message: str


class Checker(Struct):
    """Infers the types of one expression.

    `variables` are its names; `members` gives the fields of a subject; `sure` are the paths that are not null.
    """

    variables: Mapping[str, Type]
    members: Callable[[str], Mapping[str, Type]]
    sure: frozenset[str] = frozenset()
    mistakes: list[TypeMistake] = []
    compared: list[str] = []
    """Bounded words that are compared, once for each comparison."""

    def type_of(self, node: Node) -> Type:
        """Return the type of an expression; add its mistakes to `mistakes`."""
        return self._visit(node, _Scope({}, self.sure))

    def _wrong(self, node: Node, message: str) -> None:
        self.mistakes.append(TypeMistake(node.at, message))

    def _visit(self, node: Node, scope: _Scope) -> Type:
        if node.kind == "const":
            return _constant(node.value)
        if node.kind == "ident":
            found = scope.locals.get(node.name)
            return found[0] if found else self.variables.get(node.name, ANY)._replace(word=node.name)
        if node.kind == "select":
            found_type = self._member(node, self._visit(node.parts[0], scope), scope)
            return BOOL if node.test else found_type
        if node.kind == "list":
            items = [self._visit(item, scope) for item in node.parts]
            return Type("list", _joined(items))
        if node.kind == "map":
            values = [self._visit(part, scope) for part in node.parts][1::2]
            return Type("map", _joined(values))
        return self._loop(node, scope) if node.kind == "loop" else self._call(node, scope)

    def _member(self, node: Node, of: Type, scope: _Scope) -> Type:
        if of.kind == "any":
            return ANY
        if of.nullable and scope.path(node.parts[0]) not in scope.sure:
            self._refuse_null(node.parts[0], of)
        if of.kind == "map":
            return of.of or ANY
        if of.kind != "record":
            self._wrong(node, f"{of.described} is {of.what} and has no field {node.name}")
            return ANY
        fields = self.members(of.subject)
        own = fields.get(node.name)
        path = scope.path(node)
        if own is None:
            word = path if path.startswith("limits") else f"{of.subject}.{node.name}"
            known = tuple(f"{word.rpartition('.')[0]}.{name}" for name in fields)
            self._wrong(node, f"there is no word {word}; {_nearest(word, known, fields)}")
            return ANY
        return own._replace(word=path, nullable=own.nullable and path not in scope.sure)

    def _refuse_null(self, node: Node, found: Type) -> None:
        if found.kind == "null":
            self._wrong(node, "null is compared by == and != only")
            return
        self._wrong(node, f"{found.described} may be null: ask `{found.word or 'x'} != null` first")

    def _non_null(self, node: Node, scope: _Scope) -> Type:
        """Visit an operand that must not be null."""
        found = self._visit(node, scope)
        if found.kind == "null" or found.nullable:
            self._refuse_null(node, found)
        return found._replace(nullable=False)

    def _wants(self, node: Node, scope: _Scope, *kinds: str) -> Type:
        """Visit an operand that must be of one of some kinds."""
        found = self._non_null(node, scope)
        if found.kind not in (*kinds, "any", "null"):
            wanted = " or ".join(dict.fromkeys(_CALLED.get(kind, f"a {kind}") for kind in kinds))
            self._wrong(node, f"{found.described} is {found.what}; {wanted} is needed here")
        return found

    def _call(self, node: Node, scope: _Scope) -> Type:
        name, parts = node.name, node.parts
        if name in ("_&&_", "_||_"):
            truth = name == "_&&_"
            for one, other in (parts, parts[::-1]):
                self._wants(one, scope.knowing(facts(other, scope, truth=truth)), "bool")
            return BOOL
        if name == "!_":
            self._wants(parts[0], scope, "bool")
            return BOOL
        if name == "_?_:_":
            self._wants(parts[0], scope, "bool")
            sides = zip(parts[1:], (True, False), strict=True)
            return _joined([self._visit(one, scope.knowing(facts(parts[0], scope, truth=side))) for one, side in sides])
        if name in _ORDER:
            self._order(node, [self._wants(part, scope, "int", "double", "string") for part in parts])
            return BOOL
        if name in _EQUAL:
            self._equal(node, [self._visit(part, scope) for part in parts], scope)
            return BOOL
        if name in _ARITHMETIC:
            return self._arithmetic(node, [self._non_null(part, scope) for part in parts])
        if name == "-_":
            return self._wants(parts[0], scope, "int", "double")._replace(word="", meaning="")
        if name == "@in":
            return self._membership(node, scope)
        return self._index(node, scope) if name == "_[_]" else self._function(node, scope)

    def _function(self, node: Node, scope: _Scope) -> Type:
        name, parts = node.name, node.parts
        if name in _FUNCTIONS:
            kinds, result = _FUNCTIONS[name]
            self._wants(parts[0], scope, *kinds)
            return result
        found = [self._non_null(part, scope) if name in _CONVERSIONS else self._visit(part, scope) for part in parts]
        if name == "dyn":
            return found[0] if found[0].kind in ("list", "record") else ANY
        return Type(_CONVERSIONS[name]) if name in _CONVERSIONS else ANY

    def _order(self, node: Node, sides: list[Type]) -> None:
        """Add the mistakes of `<`, `<=`, `>` or `>=`."""
        left, right = sides
        kinds = {side.kind for side in sides} - {"any", "null"}
        if len(kinds) > 1 and not kinds <= NUMBERS:
            self._wrong(node, f"{left.described} is {left.what} and {right.described} is {right.what}: no order")
        if all(side.unit for side in sides) and _measure(left.unit) != _measure(right.unit):
            self._wrong(node, f"{left.described} is in {left.unit} and {right.described} in {right.unit}")
        self.compared += [side.word for side in sides if side.bounded]

    def _equal(self, node: Node, sides: list[Type], scope: _Scope) -> None:
        """Add the mistakes of `==` or `!=`."""
        left, right = sides
        for one, other in (sides, sides[::-1]):
            never = not one.nullable and one.word not in scope.sure
            if other.kind == "null" and one.kind not in ("any", "null") and never:
                self._wrong(node, f"{one.described} is never null")
                return
            if one.bounded and other.kind != "null":
                self._wrong(node, f"{one.described} may be known by its bounds only: compare it by < or >")
        kinds = {side.kind for side in sides} - {"any", "null"}
        if len(kinds) > 1 and not kinds <= NUMBERS:
            self._wrong(node, f"{left.described} is {left.what} and {right.described} is {right.what}: never equal")

    def _arithmetic(self, node: Node, sides: list[Type]) -> Type:
        kinds = {side.kind for side in sides} - {"any", "null"}
        if len(kinds) > 1 and not kinds <= NUMBERS:
            one, other = (f"{side.described} is {side.what}" for side in sides)
            hint = "; string() makes text of a number" if "string" in kinds else ""
            self._wrong(node, f"{one}, {other}: `{node.name.strip('_')}` joins what is of one kind{hint}")
            return ANY
        if kinds and node.name != "_+_" and not kinds <= NUMBERS:
            self._wrong(node, f"{sides[0].described} is {sides[0].what}; a number is needed here")
        kept = _unit_of(node.name, sides)
        bounded = next((side for side in sides if side.bounded), None)
        joined = _joined(sides)
        word = bounded.word if bounded else ""
        return joined._replace(unit=kept, bounded=bounded is not None, word=word, meaning="")

    def _membership(self, node: Node, scope: _Scope) -> Type:
        item, within = self._visit(node.parts[0], scope), self._wants(node.parts[1], scope, "list", "map")
        if item.bounded:
            self._wrong(node, f"{item.described} may be known by its bounds only: compare it by < or >")
        own = within.of.kind if within.kind == "list" and within.of else "string" if within.kind == "map" else "any"
        if "any" not in (own, item.kind) and own != item.kind and not {own, item.kind} <= NUMBERS:
            self._wrong(node, f"{item.described} is {item.what}, and {within.described} holds something else")
        return BOOL

    def _index(self, node: Node, scope: _Scope) -> Type:
        found = self._wants(node.parts[0], scope, "list", "map")
        self._wants(node.parts[1], scope, *(("string",) if found.kind == "map" else ("int",)))
        result = found.of or ANY
        return result._replace(word=scope.path(node))

    def _loop(self, node: Node, scope: _Scope) -> Type:
        source, start, step, result = node.parts
        found = self._wants(source, scope, "list", "map")
        element = (found.of or ANY) if found.kind == "list" else Type("string") if found.kind == "map" else ANY
        only = source.parts[0] if source.kind == "list" and len(source.parts) == 1 else None
        alias = scope.path(only) if only is not None else ""
        inner = scope.inside(node.name, element, alias)
        total = str(node.value)
        begun = self._visit(start, scope)
        made = self._visit(step, inner.inside(total, begun, ""))
        return self._visit(result, scope.inside(total, made if begun.kind == "list" else begun, ""))


class _Scope(NamedTuple):
    """Variables of macros with the paths they stand for, and paths that are not null."""

    locals: Mapping[str, tuple[Type, str]]
    sure: frozenset[str]

    def knowing(self, more: frozenset[str]) -> _Scope:
        return self._replace(sure=self.sure | more) if more else self

    def inside(self, name: str, type_: Type, alias: str) -> _Scope:
        path = alias or name
        sure = self.sure if alias else frozenset(one for one in self.sure if not one.startswith(f"{name}."))
        return _Scope({**self.locals, name: (type_, path)}, sure)

    def path(self, node: Node) -> str:
        """Return a chain of fields as `a.b[0].c`; empty for other expressions."""
        if node.kind == "ident":
            return self.locals[node.name][1] if node.name in self.locals else node.name
        if node.kind == "select":
            inner = self.path(node.parts[0])
            return f"{inner}.{node.name}" if inner else ""
        if node.kind == "call" and node.name == "_[_]" and node.parts[1].kind == "const":
            inner = self.path(node.parts[0])
            return f"{inner}[{node.parts[1].value}]" if inner else ""
        return ""


_WHOLE = _Scope({}, frozenset())


def facts(node: Node, scope: _Scope = _WHOLE, *, truth: bool) -> frozenset[str]:
    """Return the paths that cannot be null if a condition is true, or if it is false."""
    if node.kind != "call":
        return frozenset()
    name, parts = node.name, node.parts
    if name == "!_":
        return facts(parts[0], scope, truth=not truth)
    if name in ("_&&_", "_||_"):
        left, right = (facts(part, scope, truth=truth) for part in parts)
        return left | right if truth == (name == "_&&_") else left & right
    paths = frozenset(filter(None, (scope.path(part) for part in parts)))
    if name in _EQUAL:
        same = truth == (name == "_==_")
        constants = [part.value for part in parts if part.kind == "const"]
        null, constant = None in constants, bool(constants)
        return paths if (null and not same) or (constant and not null and same) else frozenset()
    if name == "@in":
        return paths if truth and parts[1].kind == "list" else frozenset()
    return paths if name in _ORDER or name in _OF_TEXT else frozenset()


def _constant(value: object) -> Type:
    kinds = {bool: "bool", int: "int", float: "double", str: "string", type(None): "null"}
    text = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return Type(kinds.get(type(value), "any"), nullable=value is None, word=text)


def _joined(types: list[Type]) -> Type:
    """Return the common type of alternatives."""
    real = [one for one in types if one.kind != "null"]
    kinds = {one.kind for one in real}
    nullable = len(real) < len(types) or any(one.nullable for one in real)
    if not real:
        return types[0] if types else ANY
    if len(kinds) > 1:
        return Type("double", nullable=nullable) if kinds <= NUMBERS else ANY
    held = [one.of for one in real if one.of is not None and one.of.kind != "any"]
    units = {one.unit for one in real}
    return Type(
        real[0].kind, held[0] if held else real[0].of, real[0].subject, nullable, any(one.bounded for one in real),
        units.pop() if len(units) == 1 else "",
    )  # fmt: skip


def _unit_of(operator: str, sides: list[Type]) -> str:
    """Return the unit of a sum, a product ...; a count times an amount is an amount."""
    left, right = (side.unit for side in sides)
    if operator in ("_*_", "_/_"):
        amounts = [unit for unit in (left, right) if _measure(unit)]
        return amounts[0] if len(amounts) == 1 else "" if right else left
    return left or right if not left or not right or left == right else ""


def _measure(unit: str) -> str:
    """Return the measure of a unit; none for counts."""
    return next((measure for measure, units in _MEASURES.items() if unit in units), "")


def _nearest(word: str, known: tuple[str, ...], fields: Mapping[str, Type]) -> str:
    hint = nearest(word, known)
    meaning = next((one.meaning for name, one in fields.items() if hint.endswith(f".{name}?")), "")
    return f"{hint} ({meaning})" if meaning else hint
