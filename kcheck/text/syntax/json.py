"""JSON with the byte spans of its values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from json.decoder import JSONDecoder
from typing import Any, NoReturn

from msgspec import Struct

from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError, to_number
from kcheck.text.text import BOM, Problem, Source, Span, not_text

MAX_DEPTH = 200

_BLANK = regex(r"[ \t\r\n]*")
_DECODER = JSONDecoder()


def _no_constant(_name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads. Raises ValueError always."""
    raise ValueError


_EXACT = JSONDecoder(parse_float=to_number, parse_int=to_number, parse_constant=_no_constant)
"""Reads a value with exact numbers."""


class Member(Struct, frozen=True):
    """One `"key": value` of an object; `key` covers the quoted key."""

    key: Span
    value: Node


class Node(Struct, eq=False):
    """A value of JSON: Members, Nodes, or a scalar."""

    value: str | int | Fraction | list[Node] | dict[str, Member] | None
    span: Span


class _NotJsonError(Exception):
    """An error, and the index of its character."""


def parse(source: Source) -> Node | Problem:
    """Parse a file of one JSON value; the last of several equal keys counts."""
    source.syntax = source.syntax or "json"
    if (problem := not_text(source.span(0, len(source.data)))) is not None:
        return problem
    reader = _Reader(source, source.data.decode())
    try:
        return reader.whole()
    except _NotJsonError as error:
        message, at = error.args
        return Problem(f"not JSON: {message}", reader.span(at, min(at + 1, len(reader.text))))


def key_of(span: Span) -> tuple[str, ...]:
    """Find the key of a value in a file too large to parse again."""
    before = span.source.data[max(0, span.start - _LONGEST_KEY) : span.start].decode("utf-8", "replace")
    match = _KEY.search(before)
    return (match[1],) if match else ()


_LONGEST_KEY = 200
_KEY = regex(r'"([^"\\]*)"\s*:\s*$')


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


class _Reader:
    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.text = text
        self.ascii = text.isascii()

    def span(self, start: int, end: int) -> Span:
        if self.ascii:
            return self.source.span(start, end)
        first = len(self.text[:start].encode())
        return self.source.span(first, first + len(self.text[start:end].encode()))

    def whole(self) -> Node:
        node, end = self.value(len(BOM.decode()) if self.text.startswith("\ufeff") else 0, 0)
        end = _blank(self.text, end)
        if end < len(self.text):
            raise _NotJsonError("unexpected text after the value", end)
        return node

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        at = _blank(self.text, at)
        first = self.text[at : at + 1]
        if depth > MAX_DEPTH:
            raise _NotJsonError("nested too deeply", at)
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        content, end = self.single(at)
        return Node(content, self.span(at, end)), end

    def single(self, at: int) -> tuple[Any, int]:
        """Read a text, a number, true, false or null."""
        try:
            return _EXACT.raw_decode(self.text, at)
        except EvaluationError as error:
            raise _NotJsonError(str(error), at) from error
        except ValueError as error:
            broken = "this string is not closed, or has an invalid character"
            raise _NotJsonError(broken if self.text[at : at + 1] == '"' else "a value is missing", at) from error

    def object(self, start: int, depth: int) -> tuple[Node, int]:
        members: dict[str, Member] = {}
        at = _blank(self.text, start + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise _NotJsonError("a key in quotes is missing", at)
            key, end = self.single(at)
            colon = _blank(self.text, end)
            if self.text[colon : colon + 1] != ":":
                raise _NotJsonError("`:` is missing", colon)
            node, after = self.value(colon + 1, depth + 1)
            members[key] = Member(self.span(at, end), node)
            at = self.next(after, "}")
        return Node(members, self.span(start, at + 1)), at + 1

    def array(self, start: int, depth: int) -> tuple[Node, int]:
        items = []
        at = _blank(self.text, start + 1)
        while self.text[at : at + 1] != "]":
            node, after = self.value(at, depth + 1)
            items.append(node)
            at = self.next(after, "]")
        return Node(items, self.span(start, at + 1)), at + 1

    def next(self, at: int, closing: str) -> int:
        """Return the index of the next member, or of the closing bracket."""
        at = _blank(self.text, at)
        if self.text[at : at + 1] == ",":
            at = _blank(self.text, at + 1)
            if self.text[at : at + 1] == closing:
                raise _NotJsonError("a value is missing after `,`", at)
        elif self.text[at : at + 1] != closing:
            raise _NotJsonError(f"`,` or `{closing}` is missing", at)
        return at


def members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the keys of the object at an index, and where their values begin.

    For large files of which only a part matters: nothing is kept, and unwanted values are skipped at the speed of the
    library. Raises ValueError if it is no object, or not JSON.
    """
    at = _blank(text, start)
    if text[at : at + 1] != "{":
        raise ValueError("an object is missing")
    at = _blank(text, at + 1)
    while text[at : at + 1] == '"':
        key, end = _DECODER.raw_decode(text, at)
        begin = _blank(text, _blank(text, end) + 1)
        yield key, begin
        _, end = _DECODER.raw_decode(text, begin)
        at = _blank(text, end)
        at = _blank(text, at + 1) if text[at : at + 1] == "," else at


def items(text: str, start: int) -> Iterator[tuple[dict[str, object], int]]:
    """Yield the plain items of the list at an index, and where they begin.

    Raises ValueError if it is no list, or not JSON.
    """
    at = _blank(text, start)
    if text[at : at + 1] != "[":
        raise ValueError("a list is missing")
    at = _blank(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        found, end = _DECODER.raw_decode(text, at)
        yield found, at
        at = _blank(text, end)
        at = _blank(text, at + 1) if text[at : at + 1] == "," else at


def node(source: Source, text: str, start: int) -> Node:
    """Parse the value at an index, or raise ValueError."""
    try:
        return _Reader(source, text).value(start, 0)[0]
    except _NotJsonError as error:
        raise ValueError(error.args[0]) from error
