"""Which words of the rules an expression of CEL uses, read off its serialised syntax tree."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kcheck.text.regex import regex
from kcheck.text.syntax import cel_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.text.syntax.cel_tree import Message

_IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _LOOP = range(3, 10)  # fields of cel.expr.Expr


class Usage(Struct, frozen=True):
    """What an expression uses.

    Elements of lists are followed: `a.b.exists(x, x.c)` uses a.b and a.b.c. Only where the element itself is meant,
    a path of the narrower sets ends in `[]`. A constant key counts as a field if it is an identifier.
    """

    paths: frozenset[str]  # all, those of the other sets too
    presence: frozenset[str]  # under has()
    membership: frozenset[str]  # right of `in`
    keys: frozenset[str]  # members that `"key" in a.b` asks for
    counted: frozenset[str]  # of which only what members there are counts: what macros walk over, size()
    whole: frozenset[str]  # in which everything counts
    size: frozenset[str]  # given to size()
    compared_whole: frozenset[str]  # compared with a map literal
    result: frozenset[str]  # what the expression gives, or the elements of the list it makes
    functions: frozenset[str]  # by CEL's names (`_>_`, `@in`), without those that macros expand to
    numbers: tuple[int | float, ...]  # literals, from left to right


_SETS = Usage.__struct_fields__[:-1]


def packed(used: Usage) -> list[list[str] | tuple[int | float, ...]]:
    """A usage as plain data, the same in each run."""
    return [*(sorted(getattr(used, name)) for name in _SETS), used.numbers]


def unpacked(data: list[Any]) -> Usage:
    """The usage that plain data stands for."""
    sets = dict(zip(_SETS, map(frozenset, data), strict=False))
    return Usage(**sets, numbers=tuple(data[-1]))


def usage(expr: bytes, variables: tuple[str, ...]) -> Usage:
    """What an expression uses."""
    walker = _Walker(variables)
    walker.sets["result"].update(path for path, _ in walker.use(expr, {}))
    sets = {name: frozenset(found) for name, found in walker.sets.items()}
    return Usage(**sets, numbers=tuple(walker.numbers))


def required_texts(expr: bytes, path: str) -> frozenset[str] | None:
    """The values of a path for which a condition can hold; None if it can hold with any."""
    kind, body = _node(expr)
    if kind != _CALL or len(args := body.get(3, [])) != 2:
        return None
    function = body[2][0].decode()
    if function in ("_&&_", "_||_"):
        both = [required_texts(arg, path) for arg in args]
        if function == "_&&_":
            found = [texts for texts in both if texts is not None]
            return frozenset.intersection(*found) if found else None
        return None if None in both else frozenset.union(*filter(None, both), frozenset())
    if function == "_==_" and _dotted(args[1]) == path:
        args = args[::-1]
    if function not in ("_==_", "@in") or _dotted(args[0]) != path:
        return None
    kind, body = _node(args[1])
    items = [_node(item)[1].get(6) for item in (body.get(1, []) if kind == _LIST else [args[1]])]
    if (kind == _LIST) != (function == "@in") or None in items:
        return None
    return frozenset(item[0].decode() for item in items if item)


def _dotted(expr: bytes) -> str:
    """`a.b.c` as a text; empty for all else."""
    kind, body = _node(expr)
    if kind == _SELECT and 3 not in body and (inner := _dotted(body[1][0])):
        return f"{inner}.{body[2][0].decode()}"
    return str(body[1][0].decode()).removeprefix(".") if kind == _IDENT else ""


_Refs: TypeAlias = frozenset[tuple[str, int]]  # where a value comes from: paths, and how many lists were put around
_NONE: _Refs = frozenset()


class _Walker:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        self.sets: dict[str, set[str]] = {name: set() for name in _SETS}
        self.numbers: list[int | float] = []

    def note(self, kind: str, refs: _Refs) -> None:
        self.sets[kind].update(path for path, lists in refs if not lists or kind == "whole")

    def use(self, expr: bytes, scope: Mapping[str, _Refs], kind: str = "whole") -> _Refs:
        """Visit a part whose value is used, so its paths end here."""
        refs = self.visit(expr, scope)
        self.sets["paths"].update(path.rstrip("[]") for path, _ in refs)
        self.note(kind, refs)
        return refs

    def visit(self, expr: bytes, scope: Mapping[str, _Refs]) -> _Refs:
        kind, body = _node(expr)
        if kind == _CONST:
            self.numbers += [value - (value >> 63 << 64) for value in body.get(3, ())] + body.get(4, [])
            self.numbers += [struct.unpack("<d", value)[0] for value in body.get(5, ())]
        elif kind == _IDENT:
            name = body[1][0].decode()
            if name in scope:
                return scope[name]
            name = name.removeprefix(".")  # `.a` is the variable, also where a macro binds its own `a`
            return frozenset({(name, 0)}) if name in self.variables else _NONE
        elif kind == _SELECT:
            refs = _member(self.visit(body[1][0], scope), body[2][0])
            if 3 not in body:
                return refs
            self.note("presence", refs)
            self.note("paths", refs)
        elif kind == _CALL:
            return self.call(body, scope)
        elif kind == _LIST:
            items = [self.visit(item, scope) for item in body.get(1, ())]
            return frozenset((path, lists + 1) for refs in items for path, lists in refs)
        elif kind == _STRUCT:
            for entry in map(cel_tree.fields, body.get(2, ())):
                self.use(entry[3][0], scope)
                self.use(entry[4][0], scope)
        elif kind == _LOOP:  # its accu_init and loop_condition come from the macro alone
            (name,), (source,), (total,), (step,), (result,) = (body[number] for number in (1, 2, 3, 6, 7))
            elements = _elements(self.use(source, scope, "counted"))
            inner = {**scope, name.decode(): elements, total.decode(): _NONE}
            return self.visit(result, {**scope, total.decode(): self.visit(step, inner)})
        return _NONE

    def call(self, body: Message, scope: Mapping[str, _Refs]) -> _Refs:
        function, args = body[2][0].decode(), body.get(1, []) + body.get(3, [])
        nodes = [_node(arg) for arg in args]
        kinds = [kind for kind, _ in nodes]
        if not any(kind == _IDENT and node[1][0].startswith(b"@") for kind, node in nodes):
            self.sets["functions"].add(function)
        elif function in ("_+_", "_==_") and _CONST in kinds:
            return _NONE  # `@result + 1` and `@result == 1` of exists_one: nothing here is the author's
        if function == "_?_:_":
            self.use(args[0], scope)
            return self.visit(args[1], scope) | self.visit(args[2], scope)
        if function == "_+_":  # of lists, perhaps
            return _NONE.union(*[self.visit(arg, scope) for arg in args])
        if function == "_[_]":
            refs, key = self.visit(args[0], scope), nodes[1][1].get(6) if kinds[1] == _CONST else None
            if key and _IDENTIFIER.fullmatch(key[0].decode()):
                return _member(refs, key[0])
            self.use(args[1], scope)
            return _elements(refs)
        key = nodes[0][1].get(6) if function == "@in" and kinds[0] == _CONST else None
        if key:  # of a map only this member counts; lists are unknown if an item is not
            operands = [_NONE, self.use(args[1], scope, "membership")]
            self.note("keys", _member(operands[1], key[0]))
        else:
            operands = [self.use(arg, scope, "counted" if function == "size" else "whole") for arg in args]
        if function in ("@in", "size"):
            self.note("membership" if function == "@in" else "size", operands[-1])
        elif function in ("_==_", "_!=_") and _STRUCT in kinds:
            self.note("compared_whole", operands[0] | operands[1])
        return _NONE


def _member(refs: _Refs, name: bytes) -> _Refs:
    return frozenset((f"{path.rstrip('[]')}.{name.decode()}", 0) for path, lists in refs if not lists)


def _elements(refs: _Refs) -> _Refs:
    return frozenset((path, lists - 1) if lists else (f"{path}[]", 0) for path, lists in refs)


def _node(expr: bytes) -> tuple[int, Message]:
    return next(
        (kind, cel_tree.fields(body[0])) for kind, body in cel_tree.fields(expr).items() if _CONST <= kind <= _LOOP
    )
