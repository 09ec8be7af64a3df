"""The syntax tree of an expression of CEL, read off its serialised form (cel/expr/syntax.proto)."""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

from msgspec import Struct

_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _LOOP = range(3, 10)  # fields of cel.expr.Expr
Message: TypeAlias = dict[int, list[Any]]
"""The fields of a protobuf message by number: ints of varints, bytes of all else."""


class Node(Struct, frozen=True):
    """One part of an expression. `at` is the character where it begins.

    A `const` has its value; an `ident` (`rooted` as `.a`, which no macro binds), a `select` (also of `has()`, a `test`)
    and a `call` their name, of operators that of CEL (`_>_`); calls have their operands as parts, the receiver first; a
    `map` its keys and values in turn. A `loop` is a macro such as exists(): what it walks over, how it starts, its step
    and its result; `name` is its variable and `value` that of the result.
    """

    kind: str
    at: int
    name: str = ""
    value: object = None
    parts: tuple[Node, ...] = ()
    test: bool = False
    rooted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether it is the literal `null`."""
        return self.kind == "const" and self.value is None


def tree(serialized: bytes) -> Node:
    """The tree of a compiled expression that was serialised."""
    content, source = _content(serialized)
    places = [fields(entry) for entry in fields(source).get(4, ())]
    return _node(content, {one[1][0]: one.get(2, [0])[0] for one in places})


def _content(serialized: bytes) -> tuple[bytes, bytes]:
    """The message of the expression, and that of its places."""
    envelope = fields(serialized)  # type, content
    checked = envelope[1][0].endswith(b".CheckedExpr")
    content = fields(envelope[2][0])
    return content[4 if checked else 2][0], content.get(5 if checked else 3, [b""])[0]


def stable(serialized: bytes) -> bytes:
    """A checked expression with its maps in order; the runtime writes them in a different one each time."""
    envelope = fields(serialized)
    content = fields(envelope[2][0])
    source = fields(content[5][0])
    for maps, numbers in ((content, (2, 3)), (source, (4, 5))):  # references and types, places and calls of macros
        for number in numbers:
            maps.get(number, []).sort()
    content[5] = [_written(source)]
    return _written({**envelope, 2: [_written(content)]})


def _written(message: Message) -> bytes:
    """A message whose fields all are texts or messages."""
    return b"".join(
        _written_varint(number << 3 | 2) + _written_varint(len(content)) + content
        for number, contents in sorted(message.items())
        for content in contents
    )


def _written_varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _written_varint(rest) if rest else bytes([low])


def _node(message: bytes, places: dict[int, int]) -> Node:
    parts = fields(message)
    kind, body = next((kind, fields(content[0])) for kind, content in parts.items() if _CONST <= kind <= _LOOP)
    own = places.get(parts.get(2, [0])[0], 0)

    def inner(*messages: bytes) -> tuple[Node, ...]:
        return tuple(_node(one, places) for one in messages)

    if kind == _CONST:
        return Node("const", own, value=_constant(body))
    if kind == _IDENT:
        name = body[1][0].decode()
        return Node("ident", own, name.removeprefix("."), rooted=name.startswith("."))
    if kind == _SELECT:
        found = inner(body[1][0])
        return Node("select", min(own, found[0].at), body[2][0].decode(), parts=found, test=3 in body)
    if kind == _CALL:
        found = inner(*body.get(1, ()), *body.get(3, ()))
        return Node("call", min([own, *(one.at for one in found)]), body[2][0].decode(), parts=found)
    if kind == _LIST:
        return Node("list", own, parts=inner(*body.get(1, ())))
    if kind == _STRUCT:
        entries = map(fields, body.get(2, ()))
        return Node("map", own, parts=inner(*(one for entry in entries for one in (entry[3][0], entry[4][0]))))
    found = inner(*(body[number][0] for number in (2, 4, 6, 7)))
    return Node("loop", found[0].at, body[1][0].decode(), body[3][0].decode(), found)


def _constant(body: Message) -> object:
    """The value of a literal."""
    if 2 in body:
        return bool(body[2][0])
    for number in (3, 4):
        if number in body:
            value: int = body[number][0]
            return value - (value >> 63 << 64) if number == 3 else value
    if 5 in body:
        return float(struct.unpack("<d", body[5][0])[0])
    return body[6][0].decode() if 6 in body else body[7][0] if 7 in body else None


def fields(message: bytes) -> Message:
    """The fields of a message of protobuf."""
    found: Message = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value, at = (8 if tag & 7 == 1 else 4, at) if tag & 7 in (1, 5) else _varint(message, at)
        content: int | bytes = value
        if tag & 7:
            content, at = message[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(content)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while message[at] > 127:
        value, at, shift = value | (message[at] & 127) << shift, at + 1, shift + 7
    return value | message[at] << shift, at + 1
