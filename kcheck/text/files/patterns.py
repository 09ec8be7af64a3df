"""Path patterns of settings and kustomizations."""

import re
from functools import cache

from kcheck.text.regex import regex

_FEW = 2
"""Most wildcards for Python's own engine, which tries all ways and is slow with many."""


def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a file, folder or pattern; `**` stands for any folders."""
    path, pattern = path.removeprefix("./"), pattern.removeprefix("./").rstrip("/")
    if pattern in (".", "") or path == pattern or path.startswith(pattern + "/"):
        return True
    return any(character in pattern for character in "*?[") and _below(pattern).fullmatch(path) is not None


class PatternError(ValueError):
    """An invalid pattern, such as [z-a]."""


@cache
def _below(text: str) -> re.Pattern[str]:
    """Compile a pattern of the settings; it also matches below a matching folder."""
    try:
        return _compiled(text, _glob(text) + "(?:/.*)?")
    except PatternError:  # only the text itself fits
        return re.compile(re.escape(text))


def compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern of Terraform, which may have `{a,b}`. Raises PatternError if it is invalid."""
    return _compiled(text, _glob(text, braces=True))


def _compiled(text: str, expression: str) -> re.Pattern[str]:
    """Compile an expression; one with many wildcards for RE2, which takes linear time."""
    try:
        if text.count("*") <= _FEW:
            return re.compile(f"(?s){expression}")
    except re.error as error:
        raise PatternError(text) from error
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        found: re.Pattern[str] = re2.compile(f"(?s){expression}", options)
    except (re2.error, UnicodeError) as error:
        raise PatternError(text) from error
    return found


_GLOB = regex(r"\*\*/|\*\*|\[\^?[^\]]+\]|\\.|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _glob(pattern: str, *, braces: bool = False) -> str:
    """Translate a path pattern to a regular expression: `*`, `?`, `**`, `[a-z]`, and `{a,b}` with `braces`."""
    result = []
    depth = 0
    for part in _GLOB.findall(pattern):
        if part in _WILD:
            result.append(_WILD[part])
        elif part[0] == "[" and len(part) > 1:
            result.append(part)
        elif braces and (part == "{" or (depth and part in ",}")):
            depth += {"{": 1, ",": 0, "}": -1}[part]
            result.append({"{": "(?:", ",": "|", "}": ")"}[part])
        else:
            result.append(re.escape(part[-1]))
    return "".join(result)
