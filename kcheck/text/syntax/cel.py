"""Compile and evaluate CEL, the language of conditions.

Only this module and `addons.admission.table` import cel_expr_python.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cache, cached_property
from typing import Any, Final, Literal, TypeAlias

from cel_expr_python import cel as _cel
from cel_expr_python.ext import ext_strings
from msgspec import Struct, convert

from kcheck.text import bundled
from kcheck.text.regex import regex
from kcheck.text.syntax import cel_tree
from kcheck.text.syntax.cel_tree import Node, Usage


class Undecided(Enum):
    """Marks a result that depends on unknown values."""

    UNDECIDED = "undecided"


UNDECIDED: Final[Literal[Undecided.UNDECIDED]] = Undecided.UNDECIDED  # a value that is needed is unknown
Activation: TypeAlias = _cel.Activation
Result: TypeAlias = object  # UNDECIDED or plain Python data
Serialized: TypeAlias = list[Any]
"""Syntax tree of an expression as bytes, and its usage as plain data."""

_ERROR = _cel.Type.ERROR
_NULL, _BOOL = _cel.Type.NULL, _cel.Type.BOOL
# How the texts begin: the keys they quote, which can say anything, come later.
_UNKNOWN = ("NOT_FOUND: Key not found in map", 'UNKNOWN: No value with name "')
_OVERFLOW = "OUT_OF_RANGE: integer overflow"  # numbers in code may have any size
_STATUS = regex(r"^[A-Z_]+: (ERROR: <input>:-1:-1: )?| \[[A-Z_]+\]$")
_COMPILE_ERROR = regex(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: \(in container ''\)| expecting \{.*)?\n")
_SYNTAX = tuple(
    (regex(pattern), f"Syntax error: {plain}")
    for pattern, plain in (
        (r"recognition error at: '[\"']", "a quote is not closed"),
        (r"recognition error at: '='? ?", "`=` is not an operator; `==` compares"),
        (r"missing '\)' at '<EOF>'", "`(` is not closed"),
        (r"input '\)' expecting <EOF>", "`)` closes no `(`"),
        (r"input '(and|or|not|is)'", "`and`, `or` and `not` are written `&&`, `||` and `!`"),
        (r"input '<EOF>'", "the expression ends too early"),
        (r"expecting <EOF>", "an operator is missing before this"),
    )
)


class SyntaxProblem(ValueError):  # noqa: N818 - a problem of the rule, not of kcheck
    """An invalid expression, place or message, with the position.

    `at` is the index of the character; None if unknown.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class ExpressionError(Exception):
    """A CEL error: a bug in the rule or the view, or an input beyond bounds."""

    def __init__(self, text: str, error: str, *, beyond: bool = False) -> None:
        self.text, self.error, self.beyond = text, _STATUS.sub("", error), beyond
        super().__init__(f"{self.error} in `{' '.join(text.split())}`")


class Expression:
    """A compiled expression, converted on first use."""

    def __init__(self, text: str, variables: tuple[str, ...], compiled: _cel.Expression | Serialized) -> None:
        self.text, self.variables = text, variables
        self.packed_usage: list[Any] = []
        if isinstance(compiled, list):
            self.serialized, self.packed_usage = compiled
        else:
            self.program = compiled

    @cached_property
    def program(self) -> _cel.Expression:
        """Program to run."""
        return _env(self.variables).deserialize(self.serialized)

    @cached_property
    def is_condition(self) -> bool:
        """Whether its result can only be true or false, by its syntax."""
        return bool(self.program.return_type() == _BOOL)

    @cached_property
    def serialized(self) -> bytes:
        """Syntax tree as bytes."""
        return bytes(self.program.serialize())

    @cached_property
    def used(self) -> Usage:
        """Paths and numbers that the expression uses."""
        return convert(self.packed_usage, Usage) if self.packed_usage else cel_tree.usage(self.tree, self.variables)

    @cached_property
    def tree(self) -> Node:
        """Syntax tree of the expression."""
        return cel_tree.tree(self.serialized)


class Hole(Struct, frozen=True):
    """Expression in the braces of a message."""

    text: str


@cache
def _env(variables: tuple[str, ...]) -> _cel.Env:
    extensions = [ext_strings.ExtStrings()]  # the list is part of the format
    with _hidden("google.protobuf"):  # it works without, and would import 28 modules (20 ms) for messages nobody makes
        return _cel.NewEnv(variables=dict.fromkeys(variables, _cel.Type.DYN), extensions=extensions)


@contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Make the import of a module fail, if it is not imported yet."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment] # its import fails, as documented
    try:
        yield
    finally:
        del sys.modules[name]


@cache
def compile(text: str, variables: tuple[str, ...]) -> Expression:  # noqa: A001 - cel.compile, as re.compile
    """Compile an expression over `variables`; SyntaxProblem if that fails."""
    if stored := serialized_expressions(variables).get(text):
        return Expression(text, variables, bundled.unpacked(stored))
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


@cache
def serialized_expressions(variables: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return the wheel's compiled expressions of kcheck's rules, by text.

    None are returned if they are of another version of the runtime.
    """
    runtime, found = bundled.compiled(f"expressions/{'-'.join(variables)}") or ("", {})
    installed = os.path.dirname(os.path.dirname(_cel.__file__))
    return found if os.path.exists(os.path.join(installed, runtime)) else {}


def _plain(error: str) -> str:
    """Translate a parser error for people who write rules."""
    if not error.startswith("Syntax error: "):
        return error
    return next((plain for pattern, plain in _SYNTAX if pattern.search(error)), error)


def conjunction(when: str, problem: str, variables: tuple[str, ...]) -> Expression:
    """Compile `when && problem` as one expression."""
    joined = f"({when}\n) && ({problem}\n)"  # a line end closes a comment
    for text in () if joined in serialized_expressions(variables) else (when, problem):
        if ")" in text and _mask(text)[1] < len(text):  # `a) || (b` would compile between brackets
            compile(text, variables)
    try:
        return compile(joined, variables)
    except SyntaxProblem:
        compile(when, variables)  # the half with the problem, with its own columns
        compile(problem, variables)
        raise


def activation(data: dict[str, object], variables: tuple[str, ...]) -> Activation:
    """Wrap the data of a subject; a variable without data is unknown.

    The data must be a finite tree of exactly dict, list, str, int, float, bool and None: nothing is checked here, and a
    cycle kills the process.
    """
    return _env(variables).Activation(data)


def evaluate(expression: Expression, activation: Activation) -> Result:
    """Evaluate to plain Python data, or UNDECIDED for a missing value.

    The runtime releases a reference to None with every null it returns, and Python ends when none is left: no
    expression may return maps or lists with nulls. Raises ExpressionError for any other error of CEL.
    """
    try:
        value = expression.program.eval(activation)
        if not expression.is_condition and value.type() == _NULL:
            return None
        plain: object = value.plain_value()
    except RuntimeError as error:  # not even an error value: iteration budget, lone surrogate
        beyond = "Iteration budget" in (why := str(error)) or "construction from null" in why
        raise ExpressionError(expression.text, why, beyond=beyond) from error
    if type(plain) is str and value.type() == _ERROR:  # an error comes as its text
        if plain.startswith((*_UNKNOWN, _OVERFLOW)):
            return UNDECIDED
        raise ExpressionError(expression.text, plain)
    return plain


def condition(expression: Expression, activation: Activation) -> bool | None:
    """Evaluate a condition; None if undecided, ExpressionError if no boolean."""
    value = evaluate(expression, activation)
    if isinstance(value, bool):
        return value
    if value is UNDECIDED:
        return None
    raise ExpressionError(expression.text, f"the result must be true or false, not {value!r}")


QUOTED = r"""[bB]?(?:[rR](?:"{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
    |"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|`[^`\n]*`|//[^\n]*"""
"""Verbose pattern of a text or a comment."""
_TOKEN = regex(rf"{QUOTED}|\w+|\s+|.", re.VERBOSE | re.DOTALL)


def masked(text: str) -> str:
    """Mask strings and the contents of brackets."""
    return _mask(text)[0]


_PARTNER = {")": "(", "]": "[", "}": "{"}
_PLACE = regex(r"\s*(?:\w+|#)(?:\s*\.\s*(?:\w+|#)|\s*#)*?\s*(\.)\s*([A-Za-z_]\w*)\s*", re.ASCII)


def _mask(text: str, at: int = 0) -> tuple[str, int]:
    """Mask strings and brackets from `at` up to an unmatched bracket."""
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
    """Split `<expression>.<field>` at its last dot, or raise SyntaxProblem."""
    found = _PLACE.fullmatch(_mask(text)[0]) if _mask(text)[1] == len(text) else None
    if found is None:
        raise SyntaxProblem(f"`{text}` is not a place: <object>.<field>, as in subnet.cidr or (a ? b : c).cidr")
    return text[: found.start(1)].strip(), found[2]


@cache
def holes(message: str) -> tuple[str | Hole, ...]:
    """Split a message into text and holes, or raise SyntaxProblem."""
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
            raise SyntaxProblem(f"unmatched {char} in the message `{message}`; write {char}{char} for a literal brace")
        parts += [literal, Hole(hole)] if literal else [Hole(hole)]
        literal, at = "", end + 1
    return (*parts, literal) if literal else tuple(parts)
