"""The syntax of Go templates: texts, actions and blocks as a tree."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100
_SPACE = " \t\r\n"
_ACTION = regex(
    r"""\{\{(?P<left>-[ \t\r\n])?(?:/\*(?:[^*]|\*(?!/))*+\*/(?P<right>[ \t\r\n]-)?"""
    r"""|(?P<body>(?:[^"`}]++|"(?:[^"\\\n]|\\.)*+"|`[^`]*+`|\}(?!\}))*+))\}\}"""
)
_TOKEN = regex(
    r"""(?P<space>[ \t\r\n]*)(?:(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)"""
    r"|(?P<number>[-+]?\d+(?:\.\d+)?(?![\w.]))"
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
_BLOCKS = frozenset({"if", "with", "range"})
_UNSUPPORTED = frozenset({"block", "break", "continue"})
_KEYWORDS = _BLOCKS | _UNSUPPORTED | {"define", "template", "else", "end"}


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


Operand = Literal | Field | str
"""A text is the name of a function."""
Command = tuple[Operand, ...]
Pipeline = tuple[Command, ...]
"""Commands, each of which has the result of the one before as its last argument."""


class Action(NamedTuple):
    """What is in braces: a keyword, the name of a template, variables that are set, and a value."""

    keyword: str
    name: str
    variables: tuple[str, ...]
    declares: bool
    pipeline: Pipeline


class Node(NamedTuple):
    """An action at a place; blocks have a body, and another one after `else`."""

    action: Action
    place: str
    body: Body
    other: Body


Body = list[str | Node]


def is_empty(body: Body) -> bool:
    """Whether a template has nothing: such a one does not replace another."""
    return all(isinstance(node, str) and not node.strip() for node in body)


def parse(text: str, path: str) -> dict[str, Body]:
    """The templates that a file defines, and itself by its path.

    Raises:
        TemplateError: it has something that helm does not read, or kcheck.
    """
    templates: dict[str, Body] = {path: []}
    blocks: list[Node] = []
    bodies = [templates[path]]
    for node in _nodes(text, path):
        if isinstance(node, str):
            bodies[-1].append(node)
            continue
        keyword = node.action.keyword
        if keyword == "end" and blocks:
            ended = blocks.pop()
            body, name = bodies.pop(), ended.action.name
            if ended.action.keyword == "define" and (name not in templates or not is_empty(body)):
                templates[name] = body
        elif keyword == "else" and blocks and bodies[-1] is blocks[-1].body and blocks[-1].action.keyword != "define":
            bodies[-1] = blocks[-1].other
            if node.action.pipeline:
                if blocks[-1].action.keyword != "if":
                    raise unsupported("else if", node.place)
                blocks[-1] = node._replace(action=node.action._replace(keyword="if"))
                bodies[-1].append(blocks[-1])
                bodies[-1] = node.body
        elif keyword in ("end", "else") or (keyword == "define" and blocks):
            raise TemplateError(f"a `{keyword}` is where it does not belong", node.place)
        else:
            if keyword != "define":
                bodies[-1].append(node)
            if keyword in _BLOCKS or keyword == "define":
                blocks.append(node)
                bodies.append(node.body)
    if blocks:
        raise TemplateError("an `end` is missing", blocks[-1].place)
    return templates


def _nodes(text: str, path: str) -> Iterator[str | Node]:
    """The texts and actions of a template; spaces are trimmed, comments left out."""
    at, line, counted, trims = 0, 1, 0, False
    for match in _ACTION.finditer(text):
        body = match["body"]
        yield from _text(text[at : match.start()], path, line, left=trims, right=match["left"] is not None)
        at, trims = match.end(), match["right"] is not None
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        if body is None:
            continue
        if body.endswith("-") and body[-2:-1] in tuple(_SPACE):
            body, trims = body[:-2], True
        try:
            yield Node(_action(body), f"{path}:{line}", [], [])
        except TemplateError as error:
            error.place = f"{path}:{line}"
            raise
    yield from _text(text[at:], path, line, left=trims)


def _text(text: str, path: str, line: int, *, left: bool, right: bool = False) -> Iterator[str]:
    """A text without the spaces that its neighbors trim."""
    if "{{" in text:
        raise TemplateError("an action has no end", f"{path}:{line + text[: text.index('{{')].count(chr(10))}")
    text = text.lstrip(_SPACE) if left else text
    text = text.rstrip(_SPACE) if right else text
    if text:
        yield text


@lru_cache(maxsize=10_000)
def _action(text: str) -> Action:
    """An action without its place: charts repeat them."""
    return _Reader(text).action()


class _Reader:
    """Reads one action."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        """Kinds and texts, in reverse."""
        self._depth = 0
        text, at = text.rstrip(_SPACE), 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            kind = str(token.lastgroup) if token else ""
            joined = self._tokens and {self._tokens[-1][0], kind} <= _APART and not (token and token["space"])
            if token is None or joined:
                raise TemplateError(f"it has {text[at : at + 10].strip()!r} in an action")
            self._tokens.append((kind, token[kind]))
            at = token.end()
        self._tokens.reverse()

    def action(self) -> Action:
        """The whole action.

        Raises:
            TemplateError: it has something that helm does not read, or kcheck.
        """
        keyword, name = "", ""
        pipeline: Pipeline = ()
        if self._next("word") in _KEYWORDS:
            keyword = self._tokens.pop()[1]
        if keyword in _UNSUPPORTED:
            raise unsupported(keyword)
        if keyword == "else" and self._tokens and (self._tokens.pop() != ("word", "if") or not self._tokens):
            raise unsupported("else with")
        if keyword in ("define", "template"):
            if not self._next("string"):
                raise TemplateError("the name of a template is missing")
            name = _string(self._tokens.pop()[1])
        variables, sign = self._variables()
        most = {"range": 2, "define": 0, "template": 0}.get(keyword, 1)
        if len(variables) > most or sign == "," or any("." in one for one in variables):
            raise TemplateError(f"it sets {', '.join(variables)}")
        if self._tokens or keyword not in ("define", "template", "else", "end"):
            pipeline = self._pipeline()
        if self._tokens or (keyword in ("define", "end") and pipeline):
            raise TemplateError("it has more where an action should end")
        return Action(keyword, name, variables, sign == ":=", pipeline)

    def _next(self, kind: str) -> str:
        """The text of the next token, if it is of a kind."""
        return self._tokens[-1][1] if self._tokens and self._tokens[-1][0] == kind else ""

    def _variables(self) -> tuple[tuple[str, ...], str]:
        """The variables that are set, and the sign after the last."""
        names, sign = [], ""
        while self._next("variable") and len(self._tokens) > 1 and self._tokens[-2][1] in (",", "=", ":="):
            names.append(self._tokens.pop()[1])
            sign = self._tokens.pop()[1]
            if sign != ",":
                break
        return tuple(names), sign

    def _pipeline(self) -> Pipeline:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise unsupported(f"more than {MAX_DEPTH} levels")
        commands = [self._command()]
        while self._next("sign") == "|":
            self._tokens.pop()
            commands.append(self._command())
        self._depth -= 1
        return tuple(commands)

    def _command(self) -> Command:
        operands: list[Operand] = []
        while self._tokens and not self._next("close") and self._next("sign") != "|":
            operands.append(self._operand(*self._tokens.pop()))
        if not operands:
            raise TemplateError("a value is missing")
        return tuple(operands)

    def _operand(self, kind: str, text: str) -> Operand:
        if kind == "string":
            return Literal(_string(text))
        if kind == "number":
            return Literal(_number(text))
        if kind == "word":
            return Literal(_CONSTANTS[text]) if text in _CONSTANTS else text
        if kind in ("field", "variable"):
            root, *keys = text.split(".")
            return Field(root, tuple(filter(None, keys)))
        if text != "(":
            raise TemplateError(f"it has {text!r} where a value should be")
        pipeline = self._pipeline()
        if not self._next("close"):
            raise TemplateError("a parenthesis is not closed")
        return Field(pipeline, tuple(self._tokens.pop()[1].split(".")[1:]))


def _string(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    if any(match[1] not in _ESCAPES for match in _ESCAPE.finditer(text)):
        raise unsupported(f"the text {text}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text[1:-1])


def _number(text: str) -> int | float:
    digits = text.lstrip("+-")
    if len(digits) > 15 or (digits.isdecimal() and len(digits) > 1 and digits[0] == "0"):
        raise unsupported(f"the number {text}")
    return int(text) if digits.isdecimal() else float(text)
