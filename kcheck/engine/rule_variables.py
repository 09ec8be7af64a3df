"""Variables of a rule: named expressions, inlined when it is loaded.

CEL has no side effects, so an expression with the text of its variables is evaluated as lazily as
ValidatingAdmissionPolicy evaluates them, and an unknown value in one decides as it does anywhere else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kcheck.config.config import Written
from kcheck.text.regex import regex
from kcheck.text.syntax import cel

NAME = "variables"
_USE = regex(rf"{cel.QUOTED}|(?<![\w.])variables\s*\.\s*([A-Za-z_]\w*)", re.VERBOSE | re.DOTALL)
_LONGEST = 20_000
_BARE = regex(r"[\w.]+")
_TEXTS = frozenset({"message", "details", "help", "say"})
_PLAIN = frozenset({NAME, "summary", "severity", "subject", "waste", "tag", "unless", "safety", "sources"})


class Variable(Struct, frozen=True):
    """A named expression of a rule."""

    name: str
    expression: str


def read(data: Written) -> tuple[Variable, ...]:
    """Read the variables of a rule, in their order."""
    return tuple(Variable(name, str(text)) for name, text in data.get(NAME, {}).items())


def bodies(variables: Sequence[Variable]) -> dict[str, str]:
    """Return the text that replaces each variable, earlier ones inlined.

    Raises ValueError if one is too long, because each variable doubles the one before it.
    """
    found: dict[str, str] = {}
    for one in variables:
        text = expanded(one.expression.strip(), found)
        if len(text) > _LONGEST:
            raise ValueError(f"variable {one.name} is over {_LONGEST:,} letters with the variables above it filled in")
        end = "\n" if "//" in text else ""  # a line end closes a comment
        found[one.name] = text if _BARE.fullmatch(text) else f"({text}{end})"
    return found


def expanded(text: str, bodies: Mapping[str, str]) -> str:
    """Inline variables into an expression; unknown names stay."""
    return _USE.sub(lambda found: bodies.get(found[1] or "", found[0]), text)


def used(text: str) -> Iterator[tuple[str, int]]:
    """Yield the variables in an expression, each with the index of its use."""
    yield from ((found[1], found.start()) for found in _USE.finditer(text) if found[1])


def place(
    steps: tuple[str | int, ...], text: str, at: int, variables: Sequence[Variable]
) -> tuple[tuple[str | int, ...], str, int]:
    """Return where a character of an expanded text is written."""
    put_in = bodies(variables)
    grown = 0
    for found in _USE.finditer(text):
        body = put_in.get(found[1] or "", found[0])
        start = found.start() + grown
        if start <= at < start + len(body) and found[1] in put_in:
            expression = next(one.expression for one in variables if one.name == found[1]).strip()
            inside = at - start - (not _BARE.fullmatch(body))
            return place((NAME, found[1]), expression, max(inside, 0), variables)
        if at >= start:
            grown += len(body) - len(found[0])
    return steps, text, at - grown


def expanded_rule(data: Written, bodies: Mapping[str, str], key: str = "") -> Written:
    """Inline variables into all expressions, places and texts of a rule."""
    if isinstance(data, dict):
        return {name: value if name in _PLAIN else expanded_rule(value, bodies, name) for name, value in data.items()}
    if isinstance(data, list):
        return [expanded_rule(item, bodies, key) for item in data]
    if not isinstance(data, str) or NAME not in data:
        return data
    return _filled(data, bodies) if key in _TEXTS else expanded(data, bodies)


def _filled(text: str, bodies: Mapping[str, str]) -> str:
    try:
        parts = cel.holes(text)
    except cel.SyntaxProblem:  # told with the other mistakes of the rule
        return text
    return "".join(
        part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else f"{{{expanded(part.text, bodies)}}}"
        for part in parts
    )
