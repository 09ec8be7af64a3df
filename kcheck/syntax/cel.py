"""CEL, the language of conditions: compile, evaluate, and tell which words of the rules an expression uses.

The only module that knows cel_expr_python.
"""

from __future__ import annotations

import re
import struct
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from cel_expr_python import cel as _cel
from cel_expr_python.ext import ext_strings
from msgspec import Struct

from kcheck.source.regex import regex
from kcheck.syntax import cel_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.syntax.cel_tree import Node


class Undecided(Enum):
    """The type of UNDECIDED."""

    UNDECIDED = "undecided"


UNDECIDED: Final[Literal[Undecided.UNDECIDED]] = Undecided.UNDECIDED  # a value that is needed is unknown
Activation: TypeAlias = _cel.Activation
Result: TypeAlias = object  # UNDECIDED or plain Python data

_ERROR = _cel.Type.ERROR
_NULL = _cel.Type.NULL
# How the texts begin: the keys they quote, which can say anything, come later.
_UNKNOWN = ("NOT_FOUND: Key not found in map", 'UNKNOWN: No value with name "')
_OVERFLOW = "OUT_OF_RANGE: integer overflow"  # numbers in code may have any size
_STATUS = regex(r"^[A-Z_]+: (ERROR: <input>:-1:-1: )?| \[[A-Z_]+\]$")
_COMPILE_ERROR = regex(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: \(in container ''\)| expecting \{.*)?\n")
_SYNTAX = tuple(
    (regex(pattern), f"Syntax error: {plain}")
    for pattern, plain in (
        (r"recognition error at: '[\"']", "a quote is not closed"),
        (r"recognition error at: '='? ?", "`=` is no operator; `==` compares"),
        (r"missing '\)' at '<EOF>'", "`(` is not closed"),
        (r"input '\)' expecting <EOF>", "`)` closes no `(`"),
        (r"input '(and|or|not|is)'", "`and`, `or` and `not` are written `&&`, `||` and `!`"),
        (r"input '<EOF>'", "the expression ends too early"),
        (r"expecting <EOF>", "an operator is missing before this"),
    )
)
_IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _LOOP = range(3, 10)  # fields of cel.expr.Expr


class SyntaxProblem(ValueError):  # noqa: N818 - a problem of the rule, not of kcheck
    """An invalid expression, place or message; the text has the error and its position.

    `at` is the character of the text, None if that cannot be told.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class ExpressionError(Exception):
    """An error of CEL other than a missing value: a bug of the rule or of the view."""

    def __init__(self, text: str, error: str) -> None:
        self.text, self.error = text, _STATUS.sub("", error)
        super().__init__(f"{self.error} in `{' '.join(text.split())}`")


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


class Expression(Struct, eq=False):
    """A compiled expression."""

    text: str
    variables: tuple[str, ...]
    program: _cel.Expression
    used: Usage | None = None


class Hole(Struct, frozen=True):
    """A hole of a message: the text of an expression."""

    text: str


@cache
def _env(variables: tuple[str, ...]) -> _cel.Env:
    types = dict.fromkeys(variables, _cel.Type.DYN)
    return _cel.NewEnv(variables=types, extensions=[ext_strings.ExtStrings()])  # the list is part of the format


@cache
def compile(text: str, variables: tuple[str, ...]) -> Expression:  # noqa: A001 - cel.compile, as re.compile
    """Compile an expression over `variables`; SyntaxProblem if that fails."""
    try:
        return Expression(text, variables, _env(variables).compile(text))
    except RuntimeError as error:
        what = _STATUS.sub("", str(error).partition("\n")[0])
        at = None
        if found := _COMPILE_ERROR.search(f"{error}\n"):
            line = f"line {found[1]}, " if "\n" in text.strip() else ""
            what = f"{_plain(found[3])} at {line}column {found[2]}"
            at = sum(map(len, text.splitlines(keepends=True)[: int(found[1]) - 1])) + int(found[2]) - 1
        raise SyntaxProblem(f"{what} of `{' '.join(text.split())}`", at) from None


def _plain(error: str) -> str:
    """What the parser says, in words for people who write rules."""
    if not error.startswith("Syntax error: "):
        return error
    return next((plain for pattern, plain in _SYNTAX if pattern.search(error)), error)


def conjunction(when: str, problem: str, variables: tuple[str, ...]) -> Expression:
    """Compile `when && problem` as one: a false half decides, also beside an unknown one."""
    for text in (when, problem):
        if ")" in text and _mask(text)[1] < len(text):  # `a) || (b` would compile between brackets
            compile(text, variables)
    try:
        return compile(f"({when}\n) && ({problem}\n)", variables)  # a line end closes a comment
    except SyntaxProblem:
        compile(when, variables)  # the half with the problem, with its own columns
        compile(problem, variables)
        raise


def activation(data: dict[str, object], variables: tuple[str, ...]) -> Activation:
    """The data of a subject for its expressions; a variable without data is unknown.

    It must be a finite tree of exactly dict, list, str, int, float, bool and None: nothing is checked here, and
    a cycle kills the process.
    """
    return _env(variables).Activation(data)


def evaluate(expression: Expression, activation: Activation) -> Result:
    """Plain Python data; UNDECIDED where a missing value, or too large a number, decides; ExpressionError otherwise.

    The runtime gives away a reference to None with every null that it hands out, and Python ends when none is left: no
    expression may return maps or lists with nulls in them.
    """
    try:
        value = expression.program.eval(activation)
        if value.type() == _NULL:
            return None
        plain: object = value.plain_value()
    except RuntimeError as error:  # not even an error value: iteration budget, lone surrogate
        raise ExpressionError(expression.text, str(error)) from error
    if type(plain) is str and value.type() == _ERROR:  # an error comes as its text
        if plain.startswith((*_UNKNOWN, _OVERFLOW)):
            return UNDECIDED
        raise ExpressionError(expression.text, plain)
    return plain


def condition(expression: Expression, activation: Activation) -> bool | None:
    """The result of a condition, None if undecided; ExpressionError if it is not true or false."""
    value = evaluate(expression, activation)
    if isinstance(value, bool):
        return value
    if value is UNDECIDED:
        return None
    raise ExpressionError(expression.text, f"the result must be true or false, not {value!r}")


def usage(expression: Expression) -> Usage:
    """What the expression uses, read off its serialised syntax tree."""
    if expression.used is None:
        walker = _Walker(expression.variables)
        walker.sets["result"].update(path for path, _ in walker.use(_tree(expression), {}))
        sets = {name: frozenset(found) for name, found in walker.sets.items()}
        expression.used = Usage(**sets, numbers=tuple(walker.numbers))
    return expression.used


def required_texts(expression: Expression, path: str) -> frozenset[str] | None:
    """The values of a path for which a condition can hold; None if it can hold with any."""
    return _demanded(_tree(expression), path)


def _demanded(expr: bytes, path: str) -> frozenset[str] | None:
    kind, body = _node(expr)
    if kind != _CALL or len(args := body.get(3, [])) != 2:
        return None
    function = body[2][0].decode()
    if function in ("_&&_", "_||_"):
        both = [_demanded(arg, path) for arg in args]
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


def _tree(expression: Expression) -> bytes:
    """The serialised syntax tree."""
    return cel_tree.root(expression.program.serialize())


def tree(expression: Expression) -> Node:
    """The syntax tree."""
    return cel_tree.tree(expression.program.serialize())


_Message: TypeAlias = dict[int, list[Any]]
"""The fields of a protobuf message by number: ints of varints, bytes of all else."""

_Refs: TypeAlias = frozenset[tuple[str, int]]  # where a value comes from: paths, and how many lists were put around
_NONE: _Refs = frozenset()


class _Walker:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        self.sets: dict[str, set[str]] = {name: set() for name in Usage.__struct_fields__ if name != "numbers"}
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

    def call(self, body: _Message, scope: Mapping[str, _Refs]) -> _Refs:
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


def _node(expr: bytes) -> tuple[int, _Message]:
    return next(
        (kind, cel_tree.fields(body[0])) for kind, body in cel_tree.fields(expr).items() if _CONST <= kind <= _LOOP
    )


_TOKEN = regex(
    r"""[bB]?(?:[rR](?:"{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
    |"{3}(?:\\.|.)*?"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|`[^`\n]*`
    |//[^\n]*|\w+|\s+|.""",
    re.VERBOSE | re.DOTALL,
)


def masked(text: str) -> str:
    """The text with strings and what is in brackets masked."""
    return _mask(text)[0]


_PARTNER = {")": "(", "]": "[", "}": "{"}
_PLACE = regex(r"\s*(?:\w+|#)(?:\s*\.\s*(?:\w+|#)|\s*#)*?\s*(\.)\s*([A-Za-z_]\w*)\s*", re.ASCII)


def _mask(text: str, at: int = 0) -> tuple[str, int]:
    """The text from `at` with strings and brackets masked, up to an unmatched bracket, and its position."""
    masked, opened = "", ""
    for found in _TOKEN.finditer(text, at):
        piece, inside = found[0], opened
        if piece in ('"', "'", "`"):
            raise SyntaxProblem(f"{piece} is not closed in `{text}`")
        if piece in _PARTNER:
            if not opened:
                return masked, found.start()
            if opened[-1] != _PARTNER[piece]:
                raise SyntaxProblem(f"{opened[-1]} is closed by {piece} in `{text}`")
            opened = opened[:-1]
        elif piece in ("(", "[", "{"):
            inside = opened = opened + piece
        quoted = inside or piece[-1] in "\"'`"
        masked += " " * len(piece) if piece.startswith("//") else "#" * len(piece) if quoted else piece
    if opened:
        raise SyntaxProblem(f"{opened[-1]} is not closed in `{text}`")
    return masked, len(text)


@cache
def split_place(text: str) -> tuple[str, str]:
    """Split `<expression>.<field>` at its last dot; SyntaxProblem if it has none, or an operator outside brackets."""
    found = _PLACE.fullmatch(_mask(text)[0]) if _mask(text)[1] == len(text) else None
    if found is None:
        raise SyntaxProblem(f"`{text}` is not a place: <object>.<field>, as in subnet.cidr or (a ? b : c).cidr")
    return text[: found.start(1)].strip(), found[2]


@cache
def holes(message: str) -> tuple[str | Hole, ...]:
    """Split a message into text, in which `{{` and `}}` are braces, and holes; SyntaxProblem for a lone brace."""
    parts: list[str | Hole] = []
    literal, at = "", 0
    while at < len(message):
        char = message[at]
        if char not in "{}" or message.startswith(char * 2, at):
            literal, at = literal + char, at + (2 if char in "{}" else 1)
            continue
        end = _mask(message, at + 1)[1] if char == "{" else at
        hole = message[at + 1 : end].strip()
        if not hole or message[end : end + 1] != "}":
            raise SyntaxProblem(f"{char} without a match in the message `{message}`: a brace is written {char}{char}")
        parts += [literal, Hole(hole)] if literal else [Hole(hole)]
        literal, at = "", end + 1
    return (*parts, literal) if literal else tuple(parts)
