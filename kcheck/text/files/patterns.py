"""Path patterns of settings, kustomizations and .gitignore."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from kcheck.text.regex import regex
from kcheck.text.text import Skipped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from kcheck.text.files.disk import Disk

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
    """Compile a pattern of Terraform, or raise PatternError."""
    return _compiled(text, _glob(text, braces=True))


def _compiled(text: str, expression: str) -> re.Pattern[str]:
    """Compile an expression, with RE2 if it has many wildcards."""
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
    """Translate a path pattern to a regular expression."""
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


_WILDCARD = regex(r"[*?]+")


class Ignored:
    """Files excluded by a repository's .gitignore files, and their number."""

    def __init__(self, disk: Disk, top: str) -> None:
        self._disk = disk
        self._top = top
        self._lines: dict[str, list[str]] = {}
        self._specs: dict[str, GitIgnoreSpec] = {}
        self.paths: list[str] = []

    def add(self, path: str) -> bool:
        """Whether the last pattern that matches a file ignores it; if so, count the file."""
        parts = os.path.relpath(self._disk.real(path), self._top).split(os.sep)
        found = False
        for depth in range(len(parts) if parts[0] != ".." else 0):
            folder, rest = os.path.join(self._top, *parts[:depth]), parts[depth:]
            if any(_may_match(line, rest) for line in self._patterns(folder)):
                matched = self._spec(folder).check_file("/".join(rest)).include
                found = found if matched is None else matched
        self.paths += [path] if found else []
        return found

    def note(self) -> Skipped:
        """Format how many manifests were left out."""
        more = f", and {len(self.paths) - 1:,} more" if len(self.paths) > 1 else ""
        first = os.path.normpath(self.paths[0]).replace(os.sep, "/")
        return Skipped(first, f"in .gitignore{more}", remedy="name a file to have it read", by_choice=True)

    def _patterns(self, folder: str) -> list[str]:
        if folder not in self._lines:
            text = (self._disk.read(os.path.join(folder, ".gitignore")) or b"").decode("utf-8", "replace")
            self._lines[folder] = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return self._lines[folder]

    def _spec(self, folder: str) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec  # takes 27 ms

        if folder not in self._specs:
            self._specs[folder] = GitIgnoreSpec.from_lines(self._patterns(folder))
        return self._specs[folder]


def _may_match(pattern: str, parts: list[str]) -> bool:
    """Whether a path contains the literal parts of a pattern."""
    words = _WILDCARD.split(pattern.strip().rstrip("/").rpartition("/")[2].removeprefix("!"))
    return "[" in pattern or "\\" in pattern or any(all(word in part for word in words) for part in parts)
