"""Go templates: syntax tree and interpreter with a limit of steps."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator
from typing import NamedTuple

from kcheck.kubernetes.template_functions import DEPTH, Fields, Opaque, TemplateError, call, field, shown, unsupported
from kcheck.text.regex import regex

NOTHING = "<no value>"
"""Go's text for nil, which helm removes in the end."""
_MOST = 20_000_000
"""Characters that the steps of a chart may make; a step itself counts as 100."""
_SPACE = " \t\r\n"
_ACTION = regex(
    r"""\{\{(?P<left>-[ \t\r\n])?(?:/\*(?:[^*]|\*(?!/))*\*/(?P<right>[ \t\r\n]-)?"""
    r"""|(?P<body>(?:[^"`}]++|"(?:[^"\\\n]|\\.)*"|`[^`]*+`|\}(?!\}))*))\}\}"""
)
_HEAD = regex(
    r"\A\s*(?:(?P<keyword>if|with|range|end|else\s+if|else|define|template|block|break|continue)\b\s*)?"
    r"(?:(?P<first>\$\w+)(?:\s*,\s*(?P<second>\$\w+))?(?P<sign>\s*:=|\s+=)\s*)?(?P<rest>.*)\Z",
    re.ASCII | re.DOTALL,
)
_TOKEN = regex(
    r"""[ \t\r\n]*(?:\||\(|(?:(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)"""
    r"|(?P<number>[-+]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)"
    r"|(?P<field>\$\w*(?:\.[^\W\d]\w*)*|(?:\.[^\W\d]\w*)+|\.)"
    r"|(?P<close>\)(?:\.[^\W\d]\w*)*)"
    r"|(?P<word>[^\W\d]\w*))(?=[ \t\r\n|()]|\Z)|(?P<other>.{1,10}))",
    re.ASCII | re.DOTALL,
)
_ESCAPE = regex(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}
_ELSE = {"else": ("if", "with", "range"), "else if": ("if",)}
"""Blocks that each belongs to."""
_CONSTANTS = {"true": True, "false": False, "nil": None}


class Literal(NamedTuple):
    """A constant."""

    value: object


class Field(NamedTuple):
    """Keys below the dot, a variable or a pipeline in parentheses."""

    root: str | Pipeline
    keys: tuple[str, ...]


Operand = Literal | Field | str
"""A constant, a field, or the name of a function."""
Command = tuple[Operand, ...]
Pipeline = tuple[Command, ...]
"""Commands; the result of each is the last argument of the next."""


class Node(NamedTuple):
    """An action: keyword, template, variables, value, and bodies."""

    keyword: str
    name: str
    variables: tuple[str, ...]
    declares: bool
    pipeline: Pipeline
    place: str
    body: Body
    other: Body


Body = list[str | Node]


def parse(text: str, path: str, name: str, templates: dict[str, Body]) -> None:
    """Add a file by its name, and the templates defined in it.

    Raises TemplateError if helm does not read it, or kcheck does not.
    """
    blocks: list[Node] = []
    bodies: list[Body] = [[]]
    for node in _nodes(text, path):
        if isinstance(node, str):
            bodies[-1].append(node)
            continue
        keyword = node.keyword
        above = blocks[-1].keyword if blocks and bodies[-1] is blocks[-1].body else ""
        if keyword == "end" and blocks:
            ended, _ = blocks.pop(), bodies.pop()
            if ended.keyword == "define":
                _add(templates, ended.name, ended.body)
        elif above and above in _ELSE.get(keyword, ()):
            bodies[-1] = blocks[-1].other
            if keyword == "else if":
                blocks[-1] = node._replace(keyword="if")
                bodies[-1].append(blocks[-1])
                bodies[-1] = node.body
        elif keyword in ("end", *_ELSE) or (keyword == "define" and blocks):
            raise TemplateError(f"`{keyword}` is misplaced", node.place)
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
    """Yield the texts and actions of a template, with places in `path`."""
    at, line, counted, trims = 0, 1, 0, False
    while (start := text.find("{{", at)) >= 0:
        line, counted = line + text.count("\n", counted, start), start
        place = path and f"{path}:{line}"
        match = _ACTION.match(text, start)
        if match is None:
            raise TemplateError("an action has no end", place)
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
            yield _action(body, place)
        except TemplateError as error:
            error.place = place
            raise
    yield text[at:].lstrip(_SPACE) if trims else text[at:]


def _action(text: str, place: str) -> Node:
    keyword, first, second, sign, rest = _HEAD.findall(text)[0]
    keyword = " ".join(keyword.split())
    if keyword in ("block", "break", "continue"):
        raise unsupported(keyword)
    if rest.count("(") > DEPTH:
        raise unsupported(f"more than {DEPTH} levels")
    tokens = [(match.lastgroup or "sign", match[0].strip()) for match in _TOKEN.finditer(rest.rstrip(_SPACE))][::-1]
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
        raise TemplateError(f"it has more than one {keyword or 'value'} in an action")
    if len(variables) > {"": 1, "if": 1, "with": 1, "range": 2}.get(keyword, 0):
        raise unsupported("variables there")
    return Node(keyword, name, variables, sign.strip() == ":=", pipeline, place, body=[], other=[])


def _pipeline(tokens: list[tuple[str, str]]) -> Pipeline:
    """Parse tokens (kind and text, in reverse order) up to a closing parenthesis."""
    commands: list[list[Operand]] = [[]]
    while tokens and tokens[-1][0] != "close":
        kind, text = tokens.pop()
        if text == "|":
            commands.append([])
        else:
            commands[-1].append(_operand(kind, text, tokens))
    if not all(commands):
        raise TemplateError("a value is missing")
    return tuple(map(tuple, commands))


def _operand(kind: str, text: str, tokens: list[tuple[str, str]]) -> Operand:
    if kind == "other":
        raise TemplateError(f"it has {text!r} in an action")
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
    if not tokens:
        raise TemplateError("a parenthesis is not closed")
    return Field(pipeline, tuple(tokens.pop()[1].split(".")[1:]))


def _string(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    if any(match[1] not in _ESCAPES for match in _ESCAPE.finditer(text)):
        raise unsupported(f"the text {text}")
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text[1:-1])


# --- running

_Scope = ChainMap[str, object]


class Interpreter:
    """Runs templates, with limits on their steps and texts."""

    def __init__(self, templates: dict[str, Body], files: dict[str, str]) -> None:
        self.templates = templates
        self._files = files
        """Texts parsed when they are run: most refused charts fail at the first."""
        self._left = _MOST
        self._depth = 0
        self._random = 0

    def run(self, name: str, dot: object) -> str:
        """Return the text of a template. Raises TemplateError if it fails."""
        out: list[str] = []
        self._walk(self._template(name), dot, ChainMap({"$": dot}), out)
        text = "".join(out)
        return Opaque(text) if any(isinstance(one, Opaque) for one in out) else text

    def _template(self, name: str) -> Body:
        if name in self._files:
            parse(self._files.pop(name), name.partition("/")[2], name, self.templates)
        if name not in self.templates:
            raise TemplateError(f"no template is called {name}")
        return self.templates[name]

    def _spend(self, made: object, each: int = 1) -> None:
        size = len(made) if isinstance(made, str) else 100 * len(made) if isinstance(made, list) else 0
        self._left -= 100 + each * size
        if self._left < 0:
            raise unsupported("too many steps")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise unsupported(f"more than {DEPTH} levels of templates")

    def _walk(self, body: Body, dot: object, scope: _Scope, out: list[str]) -> None:
        self._deeper()
        for node in body:
            if isinstance(node, str):
                self._spend(node)
                out.append(node)
                continue
            try:
                self._node(node, dot, scope, out)
            except TemplateError as error:
                error.place = error.place or node.place
                raise
        self._depth -= 1

    def _node(self, node: Node, dot: object, scope: _Scope, out: list[str]) -> None:
        inner = scope.new_child() if node.keyword else scope
        value = self._pipeline(node.pipeline, dot, scope) if node.pipeline else None
        if node.keyword == "range":
            self._range(node, value, dot, inner, out)
            return
        for name in node.variables:
            _assign(node, name, value, inner)
        if node.keyword == "template":
            self._walk(self._template(node.name), value, ChainMap({"$": value}), out)
        elif node.keyword and value:
            self._walk(node.body, value if node.keyword == "with" else dot, inner, out)
        elif node.keyword:
            self._walk(node.other, dot, inner, out)
        elif not node.variables:
            out.append(shown(value, NOTHING))
            self._spend(out[-1])

    def _range(self, node: Node, value: object, dot: object, scope: _Scope, out: list[str]) -> None:
        if not isinstance(value, list | dict | None) or isinstance(value, Fields):
            raise unsupported("range over a value that is neither list nor map")
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value or ()))
        if any(item is None for _, item in pairs):
            raise unsupported("range over null")
        for key, item in pairs:
            inner = scope.new_child()
            for name, own in zip(node.variables[::-1], (item, key), strict=False):
                _assign(node, name, own, inner)
            self._spend(None)
            self._walk(node.body, item, inner, out)
        if not pairs:
            self._walk(node.other, dot, scope, out)

    # --- values

    def _pipeline(self, pipeline: Pipeline, dot: object, scope: _Scope) -> object:
        self._deeper()
        last: list[Operand] = []
        value: object = None
        for command in pipeline:
            value = self._command([*command, *last], dot, scope)
            self._spend(value)
            last = [Literal(value)]
        self._depth -= 1
        return value

    def _command(self, operands: list[Operand], dot: object, scope: _Scope) -> object:
        first, *others = operands
        if first in ("and", "or") and others:
            value: object = None
            for operand in others:
                value = self._value(operand, dot, scope)
                if bool(value) == (first == "or"):
                    break
            return value
        if isinstance(first, str):
            return self._call(first, [self._value(one, dot, scope) for one in others])
        value = self._value(first, dot, scope)
        if callable(value) and len(others) == 1:
            return value(self._value(others[0], dot, scope))
        if callable(value) or others:
            raise TemplateError("it passes arguments to a value that is not a function")
        return value

    def _value(self, operand: Operand, dot: object, scope: _Scope) -> object:
        if isinstance(operand, str):
            return self._call(operand, [])
        if isinstance(operand, Literal):
            return operand.value
        value = dot
        if isinstance(operand.root, tuple):
            value = self._pipeline(operand.root, dot, scope)
        elif operand.root in scope:
            value = scope[operand.root]
        elif operand.root:
            raise TemplateError(f"{operand.root} is not declared")
        if value is None:
            return None  # a nil that was a value of its own has all keys
        for key in operand.keys:
            value = field(value, key)
        return value

    def _call(self, name: str, arguments: list[object]) -> object:
        for argument in arguments:
            self._spend(argument, 30 if name == "fromYaml" else 1)
        if name == "include":
            if len(arguments) != 2 or type(arguments[0]) is not str:
                raise TemplateError("include needs a text and a value")
            return self.run(arguments[0], arguments[1])
        if name == "tpl" and len(arguments) == 2 and type(arguments[0]) is str:
            self._spend(arguments[0], 10)
            own = f"tpl {len(self.templates)}"
            parse(arguments[0], "", own, self.templates)
            return self.run(own, arguments[1])
        result = call(name, arguments)
        self._spend(result, 10 if name == "toYaml" else 0)
        if name in ("randAlphaNum", "uuidv4"):
            self._random += 1
            return Opaque(f"{result}-{self._random}")
        return result


def _assign(node: Node, name: str, value: object, scope: _Scope) -> None:
    """Declare a variable, or set the innermost one with its name."""
    found = [scope.maps[0]] if node.declares else [one for one in scope.maps if name in one]
    if not found:
        raise TemplateError(f"{name} is not declared")
    found[0][name] = value
