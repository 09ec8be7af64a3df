"""The syntax of Go templates: texts, actions and blocks as a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100
_SPACE = " \t\r\n"
_END = regex(r"[ \t\r\n]*\}\}|[ \t\r\n]+-\}\}")
_COMMENT = regex(r"/\*.*?\*/(?:[ \t\r\n]-)?\}\}", re.DOTALL)
_TOKEN = regex(
    r"""(?P<space>[ \t\r\n]*)(?:(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)"""
    r"|(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
    r"|(?P<variable>\$\w*(?:\.[^\W\d]\w*)*)"
    r"|(?P<field>(?:\.[^\W\d]\w*)+|\.)"
    r"|(?P<close>\)(?:\.[^\W\d]\w*)*)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign>:=|[=|(,]))"
)
_APART = {"string", "number", "variable", "field", "word"}
"""Tokens with spaces between them."""
_ESCAPE = regex(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}
_CONSTANTS = {"true": True, "false": False, "nil": None}
_BLOCKS = ("if", "with", "range")
_KEYWORDS = frozenset({*_BLOCKS, "end", "else", "define", "template", "block", "break", "continue"})


class TemplateError(Exception):
    """Why a template is not rendered, and the line; `unsupported` is what helm has and kcheck has not."""

    def __init__(self, message: str, place: str = "", *, unsupported: str = "") -> None:
        super().__init__(message)
        self.place = place
        self.unsupported = unsupported


def unsupported(name: str, place: str = "") -> TemplateError:
    """The error of something that only helm renders."""
    return TemplateError(f"it uses {name}", place, unsupported=name)


class Literal(NamedTuple):
    """A constant."""

    value: object


class Field(NamedTuple):
    """Keys below the dot, a variable or a pipeline in parentheses."""

    root: str | Pipeline
    keys: tuple[str, ...]


class Function(NamedTuple):
    """A function by its name: with arguments if it begins a command."""

    name: str


Operand = Literal | Field | Function
Command = tuple[Operand, ...]


class Pipeline(NamedTuple):
    """Commands, of which each has the value of the one before as its last argument, and what gets the result."""

    commands: tuple[Command, ...]
    place: str
    variables: tuple[str, ...] = ()
    declares: bool = False


class Block(NamedTuple):
    """An `if`, `with` or `range`, and its `else`."""

    kind: str
    pipeline: Pipeline
    body: Body
    other: Body


class Call(NamedTuple):
    """A `template` action."""

    name: str
    pipeline: Pipeline | None
    place: str


Node = str | Pipeline | Block | Call
Body = list[Node]
_Token = tuple[str, str]


def is_empty(body: Body) -> bool:
    """Whether a template has nothing: such a one does not replace another."""
    return all(isinstance(node, str) and not node.strip() for node in body)


class _Action(NamedTuple):
    tokens: list[_Token]
    place: str


def parse(text: str, path: str) -> dict[str, Body]:
    """The templates that a file defines, and itself by its path.

    Raises:
        TemplateError: it has something that helm does not read, or kcheck.
    """
    return _Parser(text, path).templates


def _items(text: str, path: str) -> Iterator[str | _Action]:
    """The texts and actions of a template; spaces are trimmed, comments left out."""
    at, line, counted, trims = 0, 1, 0, False
    while (start := text.find("{{", at)) >= 0:
        before = text[at:start].lstrip(_SPACE) if trims else text[at:start]
        at = start + 2
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] in tuple(_SPACE):
            before, at = before.rstrip(_SPACE), at + 2
        if before:
            yield before
        line, counted = line + text.count("\n", counted, start), start
        place = f"{path}:{line}" if path else ""
        if text.startswith("/*", at):
            end = _COMMENT.match(text, at)
            if end is None:
                raise TemplateError("a comment has no end", place)
        else:
            tokens: list[_Token] = []
            while (end := _END.match(text, at)) is None:
                token = _TOKEN.match(text, at)
                if token is None or (tokens and {tokens[-1][0], token.lastgroup} <= _APART and not token["space"]):
                    raise TemplateError(f"it has {text[at : at + 10].strip()!r} in an action", place)
                tokens.append((str(token.lastgroup), token[str(token.lastgroup)]))
                at = token.end()
            yield _Action(tokens, place)
        at, trims = end.end(), end[0].endswith("-}}")
    rest = text[at:].lstrip(_SPACE) if trims else text[at:]
    if rest:
        yield rest


class _Parser:
    """Reads one file."""

    def __init__(self, text: str, path: str) -> None:
        self.templates: dict[str, Body] = {}
        self._items = _items(text, path)
        self._tokens: list[_Token] = []
        self._place = ""
        self._depth = 0
        body, end = self._body(top=True)
        if end:
            raise self._error(f"a `{end}` belongs to nothing")
        self.templates[path] = body

    def _error(self, message: str) -> TemplateError:
        return TemplateError(message, self._place)

    def _body(self, *, top: bool = False) -> tuple[Body, str]:
        """The nodes up to an `end` or `else`, and that word."""
        self._deeper()
        body: Body = []
        for item in self._items:
            if isinstance(item, str):
                body.append(item)
                continue
            self._tokens, self._place = item.tokens[::-1], item.place
            kind, word = self._peek()
            if kind != "word" or word not in (
                *_BLOCKS,
                "end",
                "else",
                "define",
                "template",
                "block",
                "break",
                "continue",
            ):
                body.append(self._whole())
                continue
            self._tokens.pop()
            if word in ("end", "else"):
                self._depth -= 1
                return body, word
            if word == "define" and top:
                name = self._name()
                found = self._closed()
                if name not in self.templates or not is_empty(found):
                    self.templates[name] = found
            elif word == "template":
                name = self._name()
                body.append(Call(name, self._whole() if self._tokens else None, self._place))
            elif word in _BLOCKS:
                body.append(self._block(word))
            else:
                raise unsupported(word, self._place)
        if not top:
            raise self._error("an `end` is missing")
        return body, ""

    def _closed(self) -> Body:
        """The body of a `define`."""
        body, end = self._body()
        if end != "end":
            raise self._error("an `else` belongs to nothing")
        return body

    def _block(self, kind: str) -> Block:
        pipeline = self._whole(ranges=kind == "range")
        body, end = self._body()
        other: Body = []
        if end == "else" and self._tokens:
            _, word = self._tokens.pop()
            if word != "if" or kind != "if":
                raise unsupported(f"else {word}", self._place)
            self._deeper()
            other = [self._block("if")]
            self._depth -= 1
        elif end == "else":
            other = self._closed()
        return Block(kind, pipeline, body, other)

    def _name(self) -> str:
        kind, text = self._peek()
        if kind != "string":
            raise self._error("the name of a template is missing")
        self._tokens.pop()
        return self._string(text)

    # --- one action; its tokens are reversed

    def _peek(self) -> _Token:
        return self._tokens[-1] if self._tokens else ("", "")

    def _whole(self, *, ranges: bool = False) -> Pipeline:
        """The pipeline that the rest of an action is."""
        pipeline = self._pipeline(ranges=ranges)
        if self._tokens:
            raise self._error(f"it has {self._peek()[1]!r} where an action should end")
        return pipeline

    def _pipeline(self, *, ranges: bool = False) -> Pipeline:
        self._deeper()
        variables: list[str] = []
        declares = False
        signs = {1: (":=", "="), 3: (",",)}
        for count in (3, 1):
            if len(self._tokens) > count and self._tokens[-1][0] == "variable" and self._tokens[-2][1] in signs[count]:
                variables.append(self._tokens.pop()[1])
                declares = self._tokens.pop()[1] == ":="
        if len(variables) > 1 and not ranges:
            raise self._error("it sets two variables at once")
        if any("." in name for name in variables):
            raise self._error("it sets a field of a variable")
        commands = [self._command()]
        while self._peek()[1] == "|" and self._peek()[0] == "sign":
            self._tokens.pop()
            commands.append(self._command())
        self._depth -= 1
        return Pipeline(tuple(commands), self._place, tuple(variables), declares)

    def _command(self) -> Command:
        operands: list[Operand] = []
        while self._tokens and self._peek()[0] != "close" and self._peek() != ("sign", "|"):
            operands.append(self._operand(*self._tokens.pop()))
        if not operands:
            raise self._error("a value is missing")
        return tuple(operands)

    def _operand(self, kind: str, text: str) -> Operand:
        if kind == "string":
            return Literal(self._string(text))
        if kind == "number":
            return Literal(self._number(text))
        if kind == "word":
            return Literal(_CONSTANTS[text]) if text in _CONSTANTS else Function(text)
        if kind in ("field", "variable"):
            root, *keys = text.split(".")
            return Field(root, tuple(filter(None, keys)))
        if text != "(":
            raise self._error(f"it has {text!r} where a value should be")
        pipeline = self._pipeline()
        if self._peek()[0] != "close":
            raise self._error("a parenthesis is not closed")
        return Field(pipeline, tuple(self._tokens.pop()[1].split(".")[1:]))

    def _string(self, text: str) -> str:
        if text[0] == "`":
            return text[1:-1]
        if any(match[1] not in _ESCAPES for match in _ESCAPE.finditer(text)):
            raise unsupported(f"the text {text}", self._place)
        return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text[1:-1])

    def _number(self, text: str) -> int | float:
        digits = text.lstrip("+-")
        if len(digits) > 15 or (digits.isdecimal() and len(digits) > 1 and digits[0] == "0"):
            raise unsupported(f"the number {text}", self._place)
        return int(text) if digits.isdecimal() else float(text)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise unsupported(f"more than {MAX_DEPTH} levels", self._place)
