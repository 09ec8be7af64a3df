"""Path patterns of settings and kustomizations."""

from __future__ import annotations

import re
from functools import cache

from kcheck.source.regex import regex


def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a named file or folder, or a pattern; `**` stands for any folders."""
    path, pattern = path.removeprefix("./"), pattern.removeprefix("./").rstrip("/")
    if pattern in (".", "") or path == pattern or path.startswith(pattern + "/"):
        return True
    return any(character in pattern for character in "*?[") and _pattern(pattern).fullmatch(path) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A settings pattern as a regular expression; it also matches below a matching folder."""
    try:
        return re.compile(glob(text) + "(?:/.*)?")
    except re.error:  # a class such as [z-a]: only the text itself fits
        return re.compile(re.escape(text))


_GLOB = regex(r"\*\*/|\*\*|\[\^?[^\]]+\]|\\.|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob(pattern: str, *, braces: bool = False) -> str:
    """A pattern of paths as the text of a regular expression: `*`, `?`, `**`, `[a-z]`, and `{a,b}` with `braces`."""
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
