"""Regular expressions: RE2 syntax translated to Python's; features that only RE2 has are refused."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from kcheck.source.regex import regex
from kcheck.source.scalars import EvaluationError
from kcheck.terraform.functions.signature import NotKnownError, Table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = Table()

_SPACE = "\\t\\n\\f\\r "
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-\\x7e",
    "lower": "a-z",
    "print": " -\\x7e",
    "punct": "!-/:-@\\[-`{-\\x7e",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_ESCAPE = r"\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP]\{\^?\w+\}|.)"
_TOKEN = regex(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    rf"|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|{_ESCAPE}|[^\]\\])*\])"
    rf"|(?P<escape>{_ESCAPE})"
    r"|\(\?P?<(?P<name>\w+)>"
    r"|\(\?(?P<flags>[imsU-]*)(?P<scope>[:)])"
    r"|(?P<foreign>\(\?)"
    r"|(?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_INNER = regex(rf"\[:(?P<named>\^?\w+):\]|(?P<escape>{_ESCAPE})|(?P<special>[\[&|~])", re.DOTALL)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern for Python.

    Raises:
        EvaluationError: it is not a regular expression that Terraform takes.
        NotKnownError: it is one that kcheck cannot translate.
    """
    lines = any("m" in match["flags"].partition("-")[0] for match in _TOKEN.finditer(pattern) if match["flags"])
    parts: list[str] = []
    repeated = False
    for match in _TOKEN.finditer(pattern):
        if match["repeat"] and repeated:
            raise EvaluationError(f"`{pattern}`: a repetition cannot be repeated")
        repeated = bool(match["repeat"])
        parts.append(_translated(match, pattern, lines))
    try:
        compiled = re.compile("".join(parts), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(f"`{pattern}` is not a regular expression: {error}") from error
    if 0 < len(compiled.groupindex) < compiled.groups:
        raise EvaluationError(f"`{pattern}` has groups with and without a name")
    return compiled


def _translated(match: re.Match[str], pattern: str, lines: bool) -> str:
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["set"]:
        start = 3 if match["set"][:3] == "[^]" else 2 if match["set"][:2] in ("[^", "[]") else 1
        head = match["set"][:start].replace("]", "\\]")
        return head + _INNER.sub(lambda inner: _member(inner, pattern), match["set"][start:-1]) + "]"
    if match["escape"]:
        return {"\\s": f"[{_SPACE}]", "\\S": f"[^{_SPACE}]", "\\z": "\\Z"}.get(match[0]) or _escape(match[0], pattern)
    if match["name"]:
        return f"(?P<{match['name']}>"
    if match["scope"]:
        if "U" in match["flags"] or (match["scope"] == ")" and (match.start() or "-" in match["flags"])):
            raise _untranslated(pattern)
        return match[0]
    if match["foreign"]:
        raise EvaluationError(f"`{pattern}`: Terraform's regular expressions have no `{pattern[match.start() :][:3]}`")
    if match["other"] == "$" and not lines:
        return "\\Z"  # Python's own also matches before a last line end
    return "\\{" if match["other"] == "{" else match[0]


def _member(match: re.Match[str], pattern: str) -> str:
    """A part of a set of characters."""
    if match["special"]:
        return "\\" + match["special"]
    if match["named"]:
        if match["named"].startswith("^"):
            raise _untranslated(pattern)
        if match["named"] not in _CLASSES:
            raise EvaluationError(f"`{pattern}`: there is no class {match[0]}")
        return _CLASSES[match["named"]]
    if match[0] == "\\S":
        raise _untranslated(pattern)
    return _SPACE if match[0] == "\\s" else _escape(match[0], pattern)


def _escape(escape: str, pattern: str) -> str:
    letter = escape[1]
    if letter in "pPC":
        raise _untranslated(pattern)
    if letter == "x" and len(escape) > 2:
        code = int(escape[2:].strip("{}"), 16)
        if code > 0x10FFFF:
            raise EvaluationError(f"`{pattern}`: there is no character {escape}")
        return re.escape(chr(code))
    if letter.isascii() and letter.isalnum() and letter not in "AbBdDwWafnrtv":
        raise EvaluationError(f"`{pattern}`: there is no escape {escape}")
    return escape


def _untranslated(pattern: str) -> NotKnownError:
    return NotKnownError(f"kcheck does not read the regular expression `{pattern}`")


def _matches(pattern: re.Pattern[str], value: str) -> Iterator[re.Match[str]]:
    """All matches as Go finds them: none that is empty if the last one ended."""
    at, end = 0, -1
    while at <= len(value):
        match = pattern.search(value, at)
        if match is None:
            return
        accepted = match.end() != at or match.start() != end
        at = at + 1 if match.end() == at else match.end()
        end = match.end()
        if accepted:
            yield match


def _found(match: re.Match[str]) -> str | list[str | None] | dict[str, str | None]:
    """The match as Terraform gives it: text, a list of groups, or a map of named ones."""
    if match.re.groupindex:
        return dict(sorted(match.groupdict().items()))
    return list(match.groups()) if match.re.groups else match[0]


@TABLE.function(text, text)
def _regex(pattern: str, value: str) -> str | list[str | None] | dict[str, str | None]:
    match = _compiled(pattern).search(value)
    if match is None:
        raise EvaluationError(f"`{pattern}` does not match")
    return _found(match)


@TABLE.function(text, text)
def _regexall(pattern: str, value: str) -> list[str | list[str | None] | dict[str, str | None]]:
    return [_found(match) for match in _matches(_compiled(pattern), value)]


@TABLE.function(text, text, text)
def _replace(value: str, old: str, new: str) -> str:
    """Between slashes the second argument is a regular expression, and $1 in the third a group."""
    if len(old) < 2 or not (old.startswith("/") and old.endswith("/")):
        return value.replace(old, new)
    parts, end = [], 0
    for match in _matches(_compiled(old[1:-1]), value):
        parts += [value[end : match.start()], _expanded(match, new)]
        end = match.end()
    return "".join(parts) + value[end:]


def _expanded(match: re.Match[str], template: str) -> str:
    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        if not name:
            return "$"
        try:
            return match[int(name) if name.isdigit() else name] or ""
        except IndexError:
            return ""

    return re.sub(r"\$(?:(\w+)|\{(\w+)\}|\$)", group, template, flags=re.ASCII)
