"""Regular expressions in RE2, as in Go and Terraform."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from kcheck.terraform import convert
from kcheck.terraform.budget import BudgetError
from kcheck.terraform.functions.signature import Table, give, text
from kcheck.text.data_types import STRING, Type, list_of
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Origin

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from kcheck.terraform.budget import Budget
    from kcheck.text.values import Datum

    Pattern: TypeAlias = Any  # re2 has no types
    Match: TypeAlias = re.Match[str]

TABLE = Table()

_ESCAPE = regex(r"(?s)\\Q.*?(?:\\E|\Z)|\\(.)")
_REFERENCE = regex(r"(?a)\$(?:(\w+)|\{(\w+)\}|\$)")
_MEMORY = 1 << 20
"""Maximum bytes of a compiled pattern: 10,000 times a usual one."""
_MOST_WORK = 100_000_000
"""Maximum characters times instructions per call: a second at worst."""
_A_STEP = 600


@lru_cache(maxsize=100)
def _compiled(pattern: str) -> Pattern:
    """Compile a pattern, or raise EvaluationError or BudgetError."""
    import re2  # 8 ms, and most modules have no pattern

    if any(match[1] == "C" for match in _ESCAPE.finditer(pattern)):  # a byte, which Go does not have
        raise EvaluationError(f"`{pattern}` is not a regular expression: invalid escape sequence: \\C")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except UnicodeError as error:
        raise EvaluationError("a pattern with half of a surrogate pair is not a regular expression") from error
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace")
        if "too large" in why:
            raise BudgetError("a regular expression is too large") from error
        raise EvaluationError(f"`{pattern}` is not a regular expression: {why}") from error
    if 0 < len(compiled.groupindex) < compiled.groups:
        raise EvaluationError(f"`{pattern}` has groups with and without a name")
    return compiled


def _matches(pattern: str, value: str, budget: Budget) -> Iterator[Match]:
    """Yield matches like Go, or raise EvaluationError or BudgetError."""
    compiled = _compiled(pattern)
    size, left = compiled.programsize, _MOST_WORK
    budget.spend(len(pattern) // 8 + size // 100)
    at, end = 0, -1
    found = compiled.finditer(value)
    while True:
        work = (len(value) - at) * size
        left -= work
        if left < 0:
            raise BudgetError("a regular expression takes too long for a text of this length")
        budget.spend(work // _A_STEP)
        match = next(found, None)
        if match is None:
            return
        start, stop = match.span()
        if stop != at or start != end:
            yield match
        at, end = max(stop, at + 1), stop


def _found(match: Match) -> str | list[str | None] | dict[str, str | None]:
    if match.re.groupindex:
        return dict(sorted(match.groupdict().items()))
    return list(match.groups()) if match.re.groups else match[0]


@TABLE.function(text, text, counted=True)
def _regex(pattern: str, value: str, budget: Budget) -> Datum:
    match = next(_matches(pattern, value, budget), None)
    if match is None:
        raise EvaluationError(f"`{pattern}` does not match")
    return convert.convert(give(_found(match), Origin(())), _type_of_match(match.re))


@TABLE.function(text, text, counted=True)
def _regexall(pattern: str, value: str, budget: Budget) -> Datum:
    found = [_found(match) for match in _matches(pattern, value, budget)]
    return convert.convert(give(found, Origin(())), list_of(_type_of_match(_compiled(pattern))))


def _type_of_match(pattern: Pattern) -> Type:
    names = tuple(sorted(pattern.groupindex))
    if names:
        return Type("object", (STRING,) * len(names), names)
    return Type("tuple", (STRING,) * pattern.groups) if pattern.groups else STRING


@TABLE.function(text, text, text, counted=True)
def _replace(value: str, old: str, new: str, budget: Budget) -> str:
    """replace(); between slashes, `old` is a regular expression."""
    if len(old) < 2 or not (old.startswith("/") and old.endswith("/")):
        budget.write(len(value) + value.count(old) * len(new))
        return value.replace(old, new)
    parts, end = [], 0
    for match in _matches(old[1:-1], value, budget):
        expanded = _expanded(match, new)
        budget.write(len(expanded))
        parts += [value[end : match.start()], expanded]
        end = match.end()
    return "".join(parts) + value[end:]


def _expanded(match: Match, template: str) -> str:
    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        if not name:
            return "$"
        try:
            return match[int(name) if name.isdigit() else name] or ""
        except (IndexError, ValueError):
            return ""

    return _REFERENCE.sub(group, template)
