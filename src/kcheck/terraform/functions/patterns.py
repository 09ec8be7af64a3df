"""Functions of regular expressions. RE2 and Python agree on nearly all of what people write; the rest is refused."""

from __future__ import annotations

import re
from functools import cache

from kcheck.terraform.convert import EvaluationError
from kcheck.terraform.functions.signature import Table, text

TABLE = Table()

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": "\\t ",
    "digit": "0-9",
    "lower": "a-z",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
    "punct": "!-/:-@\\[-`{-~",
}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern for Python.

    Raises:
        EvaluationError: it is no regular expression, or one of RE2's own kind.
    """
    translated = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match[1], match[0]), pattern)
    if re.search(r"\\[pPCQ]|\(\?[a-zA-Z]*U", translated):
        raise EvaluationError(f"kcheck does not read the regular expression `{pattern}`")
    translated = translated.replace("\\z", "\\Z")
    try:
        return re.compile(translated, re.ASCII)
    except re.error as error:
        raise EvaluationError(f"`{pattern}` is not a regular expression: {error}") from error


def _found(match: re.Match[str]) -> str | list[str | None] | dict[str, str | None]:
    """The match as Terraform gives it: text, a list of groups, or a map of named ones."""
    if match.groupdict():
        return dict(match.groupdict())
    return list(match.groups()) if match.re.groups else match[0]


@TABLE.function(text, text)
def _regex(pattern: str, value: str) -> str | list[str | None] | dict[str, str | None]:
    match = _compiled(pattern).search(value)
    if match is None:
        raise EvaluationError(f"`{pattern}` does not match")
    return _found(match)


@TABLE.function(text, text)
def _regexall(pattern: str, value: str) -> list[str | list[str | None] | dict[str, str | None]]:
    return [_found(match) for match in _compiled(pattern).finditer(value)]


@TABLE.function(text, text, text)
def _replace(value: str, old: str, new: str) -> str:
    """Between slashes the second argument is a regular expression, and $1 in the third a group."""
    if len(old) < 2 or not (old.startswith("/") and old.endswith("/")):
        return value.replace(old, new)
    pattern = _compiled(old[1:-1])

    def expand(match: re.Match[str]) -> str:
        def group(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2]
            if not name:
                return "$"
            try:
                return match[int(name) if name.isdigit() else name] or ""
            except IndexError:
                return ""

        return re.sub(r"\$(?:(\w+)|\{(\w+)\}|\$)", group, new)

    return pattern.sub(expand, value)
