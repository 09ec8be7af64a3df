"""The syntax of Go templates: texts, actions and blocks as a tree."""

from __future__ import annotations

import re
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
_HEAD = regex(
    r"\A\s*(?:(?P<keyword>if|with|range|end|else\s+if|else|define|template|block|break|continue)\b\s*)?"
    r"(?:(?P<first>\$\w+)(?:\s*,\s*(?P<second>\$\w+))?(?P<sign>\s*:=|\s+=)\s*)?(?P<rest>.*)\Z",
    re.ASCII | re.DOTALL,
)
_TOKEN = regex(
    r"""\s*(?:\||\(|(?:(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)"""
    r"|(?P<number>[-+]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)"
    r"|(?P<field>\$\w*(?:\.[^\W\d]\w*)*|(?:\.[^\W\d]\w*)+|\.)"
    r"|(?P<close>\)(?:\.[^\W\d]\w*)*)"
    r"|(?P<word>[^\W\d]\w*))(?=[\s|()]|$))",
    re.ASCII,
)
_ESCAPE = regex(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}
_ELSE = {"else": ("if", "with", "range"), "else if": ("if",)}
"""The blocks that it belongs to."""
_CONSTANTS = {"true": True, "false": False, "nil": None}


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


def parse(text: str, path: str, name: str, templates: dict[str, Body]) -> None:
    """Add the templates that a file defines, and itself by its name.

    Raises:
        TemplateError: it has something that helm does not read, or kcheck.
    """
    blocks: list[Node] = []
    bodies: list[Body] = [[]]
    for node in _nodes(text, path):
        if isinstance(node, str):
            bodies[-1].append(node)
            continue
        keyword = node.action.keyword
        if keyword == "end" and blocks:
            ended, body = blocks.pop(), bodies.pop()
            if ended.action.keyword == "define":
                _add(templates, ended.action.name, body)
        elif (
            keyword in _ELSE
            and blocks
            and bodies[-1] is blocks[-1].body
            and blocks[-1].action.keyword in _ELSE[keyword]
        ):
            bodies[-1] = blocks[-1].other
            if keyword == "else if":
                blocks[-1] = node._replace(action=node.action._replace(keyword="if"))
                bodies[-1].append(blocks[-1])
                bodies[-1] = node.body
        elif keyword in ("end", *_ELSE) or (keyword == "define" and blocks):
            raise TemplateError(f"a `{keyword}` is where it does not belong", node.place)
        else:
            if keyword != "define":
                bodies[-1].append(node)
            if keyword not in ("", "template"):
                blocks.append(node)
                bodies.append(node.body)
    if blocks:
        raise TemplateError("an `end` is missing", blocks[-1].place)
    _add(templates, name, bodies[0])


def _add(templates: dict[str, Body], name: str, body: Body) -> None:
    """Add a template; an empty one does not replace another."""
    if name not in templates or not all(isinstance(node, str) and not node.strip() for node in body):
        templates[name] = body


def _nodes(text: str, path: str) -> Iterator[str | Node]:
    """The texts and actions of a template; spaces are trimmed, comments left out."""
    at, line, counted, trims = 0, 1, 0, False
    while (start := text.find("{{", at)) >= 0:
        line, counted = line + text.count("\n", counted, start), start
        match = _ACTION.match(text, start)
        if match is None:
            raise TemplateError("an action has no end", f"{path}:{line}")
        before = text[at:start].lstrip(_SPACE) if trims else text[at:start]
        before = before.rstrip(_SPACE) if match["left"] else before
        if before:
            yield before
        at, trims, body = match.end(), match["right"] is not None, match["body"]
        if body is None:
            continue
        if body.endswith("-") and body[-2:-1] in tuple(_SPACE):
            body, trims = body[:-2], True
        try:
            yield Node(_action(body), f"{path}:{line}", [], [])
        except TemplateError as error:
            error.place = f"{path}:{line}"
            raise
    yield text[at:].lstrip(_SPACE) if trims else text[at:]


@lru_cache(maxsize=10_000)
def _action(text: str) -> Action:
    """An action without its place: charts repeat them."""
    keyword, first, second, sign, rest = _HEAD.findall(text)[0]
    keyword = " ".join(keyword.split())
    if keyword in ("block", "break", "continue"):
        raise unsupported(keyword)
    tokens = _tokens(rest.rstrip(_SPACE))
    name = ""
    if keyword in ("define", "template"):
        if not tokens or tokens[-1][0] != "string":
            raise TemplateError("the name of a template is missing")
        name = _string(tokens.pop()[1])
    pipeline: Pipeline = ()
    if tokens or keyword not in ("define", "template", "else", "end"):
        pipeline = _pipeline(tokens)
    variables = tuple(filter(None, (first, second)))
    if tokens or (keyword in ("define", "else", "end") and pipeline):
        raise TemplateError(f"it has more than a {keyword or 'value'} in an action")
    if len(variables) > {"": 1, "if": 1, "with": 1, "range": 2}.get(keyword, 0):
        raise unsupported("variables there")
    return Action(keyword, name, variables, sign.strip() == ":=", pipeline)


_Tokens = list[tuple[str, str]]
"""Kinds and texts, in reverse."""


def _tokens(text: str) -> _Tokens:
    if text.count("(") > MAX_DEPTH:
        raise unsupported(f"more than {MAX_DEPTH} levels")
    tokens, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise TemplateError(f"it has {text[at : at + 10].strip()!r} in an action")
        tokens.append((token.lastgroup or "sign", token[0].strip()))
        at = token.end()
    return tokens[::-1]


def _pipeline(tokens: _Tokens) -> Pipeline:
    commands = [_command(tokens)]
    while tokens and tokens[-1][1] == "|":
        tokens.pop()
        commands.append(_command(tokens))
    return tuple(commands)


def _command(tokens: _Tokens) -> Command:
    operands: list[Operand] = []
    while tokens and tokens[-1][1] != "|" and tokens[-1][0] != "close":
        operands.append(_operand(tokens))
    if not operands:
        raise TemplateError("a value is missing")
    return tuple(operands)


def _operand(tokens: _Tokens) -> Operand:
    kind, text = tokens.pop()
    if kind == "string":
        return Literal(_string(text))
    if kind == "number":
        return Literal(float(text) if "." in text else int(text))
    if kind == "word":
        return Literal(_CONSTANTS[text]) if text in _CONSTANTS else text
    if kind == "field":
        root, *keys = text.split(".")
        return Field(root, tuple(filter(None, keys)))
    pipeline = _pipeline(tokens)
    if not tokens or tokens[-1][0] != "close":
        raise TemplateError("a parenthesis is not closed")
    return Field(pipeline, tuple(tokens.pop()[1].split(".")[1:]))


def _string(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    if any(match[1] not in _ESCAPES for match in _ESCAPE.finditer(text)):
        raise unsupported(f"the text {text}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text[1:-1])
