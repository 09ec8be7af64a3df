"""Syntax tree of a CEL expression, and the words that it uses."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from kcheck.text.regex import regex

_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT = range(3, 9)  # fields of cel.expr.Expr
Message: TypeAlias = dict[int, list[Any]]
"""Fields of a protobuf message by number: ints for varints, bytes for all else."""


class Node(Struct, frozen=True):
    """A part of an expression. `at` is the index of its first character.

    A `const` has a value. An `ident` (`rooted` as `.a`, which no macro binds), a `select` (also of `has()`, a `test`)
    and a `call` have a name; of operators it is CEL's (`_>_`). The parts of a call are its operands, the receiver
    first; those of a `map` its keys and values in turn. A `loop` is a macro such as exists(): its parts are the range,
    the initial value, the step and the result; `name` is its variable, `value` that of the result.
    """

    kind: str
    at: int
    name: str = ""
    value: object = None
    parts: tuple[Node, ...] = ()
    test: bool = False
    rooted: bool = False


def tree(serialized: bytes) -> Node:
    """Parse a serialized expression."""
    envelope = fields(serialized)  # type, content
    content = fields(envelope[2][0])
    expression, source = (4, 5) if envelope[1][0].endswith(b".CheckedExpr") else (2, 3)
    places = [fields(entry) for entry in fields(content.get(source, [b""])[0]).get(4, ())]
    return _node(content[expression][0], {one[1][0]: one.get(2, [0])[0] for one in places})


def _node(message: bytes, places: dict[int, int]) -> Node:
    parts = fields(message)
    kind = max(parts)  # the id, and one of the others
    body = fields(parts[kind][0])
    own = places.get(parts.get(2, [0])[0], 0)
    if kind == _CONST:
        return Node("const", own, value=_constant(body))
    if kind == _IDENT:
        name = body[1][0].decode()
        return Node("ident", own, name.removeprefix("."), rooted=name.startswith("."))
    if kind == _SELECT:
        operand = _node(body[1][0], places)
        return Node("select", min(own, operand.at), body[2][0].decode(), parts=(operand,), test=3 in body)
    if kind == _CALL:
        found = _nodes([*body.get(1, ()), *body.get(3, ())], places)
        return Node("call", min([own, *(one.at for one in found)]), body[2][0].decode(), parts=found)
    if kind == _LIST:
        return Node("list", own, parts=_nodes(body.get(1, ()), places))
    if kind == _STRUCT:
        entries = map(fields, body.get(2, ()))
        return Node("map", own, parts=_nodes([one for entry in entries for one in (entry[3][0], entry[4][0])], places))
    found = _nodes([body[number][0] for number in (2, 4, 6, 7)], places)
    return Node("loop", found[0].at, body[1][0].decode(), body[3][0].decode(), found)


def _nodes(messages: Sequence[bytes], places: dict[int, int]) -> tuple[Node, ...]:
    return tuple([_node(one, places) for one in messages])


def _constant(body: Message) -> object:
    if 2 in body:
        return bool(body[2][0])
    if 3 in body:
        value: int = body[3][0]
        return value - (value >> 63 << 64)
    if 5 in body:
        return float(struct.unpack("<d", body[5][0])[0])
    return body[6][0].decode() if 6 in body else body.get(4, body.get(7, [None]))[0]


def fields(message: bytes) -> Message:
    """Decode the fields of a protobuf message."""
    found: Message = {}
    at, end = 0, len(message)
    while at < end:
        tag, at = (message[at], at + 1) if message[at] < 128 else _varint(message, at)
        if tag & 7 in (1, 5):
            value = 8 if tag & 7 == 1 else 4
        else:
            value, at = (message[at], at + 1) if message[at] < 128 else _varint(message, at)
        at += value if tag & 7 else 0
        found.setdefault(tag >> 3, []).append(message[at - value : at] if tag & 7 else value)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while message[at] > 127:
        value, at, shift = value | (message[at] & 127) << shift, at + 1, shift + 7
    return value | message[at] << shift, at + 1


_IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class Usage(Struct, frozen=True, array_like=True):
    """Paths and numbers that an expression uses.

    Elements of lists are followed: `a.b.exists(x, x.c)` uses a.b and a.b.c. In the narrower sets, a path ends in `[]`
    if the element itself is meant. A constant key counts as a field if it is an identifier.
    """

    paths: frozenset[str]  # all, those of the other sets too
    presence: frozenset[str]  # under has()
    keys: frozenset[str]  # members that `"key" in a.b` asks for
    counted: frozenset[str]  # of which only what members there are counts: what macros walk over, size()
    whole: frozenset[str]  # in which everything counts
    result: frozenset[str]  # what the expression gives, or the elements of the list it makes
    numbers: tuple[int | float, ...]  # literals, from left to right


_SETS = Usage.__struct_fields__[:-1]


def usage(tree: Node, variables: tuple[str, ...]) -> Usage:
    """Collect what an expression uses."""
    walker = _Walker(variables)
    walker.sets["result"].update(path for path, _ in walker.use(tree, {}))
    sets = {name: frozenset(found) for name, found in walker.sets.items()}
    return Usage(**sets, numbers=tuple(walker.numbers))


def required_texts(node: Node, path: str) -> frozenset[str] | None:
    """Return the values of a path for which a condition can be true; None for any."""
    if node.kind != "call" or len(node.parts) != 2:
        return None
    if node.name in ("_&&_", "_||_"):
        both = [required_texts(part, path) for part in node.parts]
        if node.name == "_&&_":
            found = [texts for texts in both if texts is not None]
            return frozenset.intersection(*found) if found else None
        return None if None in both else frozenset.union(*filter(None, both), frozenset())
    one, other = node.parts
    if node.name == "_==_" and _dotted(other) == path:
        one, other = other, one
    if node.name not in ("_==_", "@in") or _dotted(one) != path:
        return None
    texts = [_text(item) for item in (other.parts if other.kind == "list" else (other,))]
    if (other.kind == "list") != (node.name == "@in") or None in texts:
        return None
    return frozenset(text for text in texts if text is not None)


def _text(node: Node) -> str | None:
    return node.value if node.kind == "const" and isinstance(node.value, str) else None


def _dotted(node: Node) -> str:
    """Return `a.b.c` as text; empty for other expressions."""
    if node.kind == "select" and not node.test and (inner := _dotted(node.parts[0])):
        return f"{inner}.{node.name}"
    return node.name if node.kind == "ident" else ""


_Refs: TypeAlias = frozenset[tuple[str, int]]  # where a value comes from: paths, and how many lists were put around
_NONE: _Refs = frozenset()


class _Walker:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        self.sets: dict[str, set[str]] = {name: set() for name in _SETS}
        self.numbers: list[int | float] = []

    def note(self, kind: str, refs: _Refs) -> None:
        self.sets[kind].update(path for path, lists in refs if not lists or kind == "whole")

    def use(self, node: Node, scope: Mapping[str, _Refs], kind: str = "whole") -> _Refs:
        """Visit a part whose value is used, so that its paths end here."""
        refs = self.visit(node, scope)
        self.sets["paths"].update(path.rstrip("[]") for path, _ in refs)
        if kind:
            self.note(kind, refs)
        return refs

    def visit(self, node: Node, scope: Mapping[str, _Refs]) -> _Refs:
        if node.kind == "const" and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            self.numbers.append(node.value)
        elif node.kind == "ident":
            if node.name in scope and not node.rooted:
                return scope[node.name]
            return frozenset({(node.name, 0)}) if node.name in self.variables else _NONE
        elif node.kind == "select":
            refs = _member(self.visit(node.parts[0], scope), node.name)
            if not node.test:
                return refs
            self.note("presence", refs)
            self.note("paths", refs)
        elif node.kind == "call":
            return self.call(node, scope)
        elif node.kind == "list":
            items = [self.visit(item, scope) for item in node.parts]
            return frozenset((path, lists + 1) for refs in items for path, lists in refs)
        elif node.kind == "map":
            for part in node.parts:
                self.use(part, scope)
        elif node.kind == "loop":  # how it starts comes from the macro alone
            source, _, step, result = node.parts
            total, elements = str(node.value), _elements(self.use(source, scope, "counted"))
            inner = {**scope, node.name: elements, total: _NONE}
            return self.visit(result, {**scope, total: self.visit(step, inner)})
        return _NONE

    def call(self, node: Node, scope: Mapping[str, _Refs]) -> _Refs:
        function, args = node.name, node.parts
        made = any(arg.kind == "ident" and arg.name.startswith("@") for arg in args)
        if made and function in ("_+_", "_==_") and any(arg.kind == "const" for arg in args):
            return _NONE  # `@result + 1` and `@result == 1` of exists_one: nothing here is the author's
        if function == "_?_:_":
            self.use(args[0], scope)
            return self.visit(args[1], scope) | self.visit(args[2], scope)
        if function == "_+_":  # of lists, perhaps
            return _NONE.union(*[self.visit(arg, scope) for arg in args])
        if function == "_[_]":
            refs, key = self.visit(args[0], scope), _text(args[1])
            if key is not None and _IDENTIFIER.fullmatch(key):
                return _member(refs, key)
            self.use(args[1], scope)
            return _elements(refs)
        key = _text(args[0]) if function == "@in" else None
        if key is not None:  # of a map only this member counts; lists are unknown if an item is not
            self.note("keys", _member(self.use(args[1], scope, kind=""), key))
            return _NONE
        for arg in args:
            self.use(arg, scope, "counted" if function == "size" else "whole")
        return _NONE


def _member(refs: _Refs, name: str) -> _Refs:
    return frozenset((f"{path.rstrip('[]')}.{name}", 0) for path, lists in refs if not lists)


def _elements(refs: _Refs) -> _Refs:
    return frozenset((path, lists - 1) if lists else (f"{path}[]", 0) for path, lists in refs)
