"""Manifests that .gitignore names: those that no clone has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.text.regex import regex
from kcheck.text.text import Skipped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from kcheck.text.files.disk import Disk

_WILD = regex(r"[*?]+")


class Ignored:
    """Files that the .gitignore files of a repository leave out, and how many were asked for."""

    def __init__(self, disk: Disk, top: str) -> None:
        self._disk = disk
        self._top = top
        self._lines: dict[str, list[str]] = {}
        self._specs: dict[str, GitIgnoreSpec] = {}
        self.paths: list[str] = []

    def add(self, path: str) -> bool:
        """Whether the last pattern that matches a file ignores it; the file is counted then."""
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
        """Say how many manifests were left out."""
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
    """Whether a part of a path has what a pattern says without wildcards, which rules out nearly all."""
    words = _WILD.split(pattern.strip().rstrip("/").rpartition("/")[2].removeprefix("!"))
    return "[" in pattern or "\\" in pattern or any(all(word in part for word in words) for part in parts)
