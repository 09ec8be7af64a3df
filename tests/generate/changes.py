"""Change generated files as a person would; a change without effect is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from kcheck.config.config import nearest


class Files(dict[str, str]):
    """Generated files by path; the error for a missing path suggests the nearest."""

    def __missing__(self, path: str) -> str:
        raise AssertionError(f"nothing generates {path}; {nearest(path, tuple(self))}")


Change = Callable[[Files], None]


def swap(path: str, pattern: str, new: str, *, times: int = 1) -> Change:
    """Return a change that replaces the only match of a pattern; `^` and `$` match at line ends."""

    def change(files: Files) -> None:
        files[path], found = re.subn(pattern, new, files[path], flags=re.MULTILINE)
        assert found == times, f"{path}: {pattern} is there {found} times, not {times}"

    return change


def every(path: str, pattern: str, new: str) -> Change:
    """Return a change that replaces every match of a pattern."""

    def change(files: Files) -> None:
        files[path], found = re.subn(pattern, new, files[path], flags=re.MULTILINE)
        assert found, f"{path}: {pattern} is not there"

    return change


def drop(path: str, pattern: str, *, times: int = 1) -> Change:
    """Return a change that removes the lines with a pattern, each with the block that it begins."""

    def change(files: Files) -> None:
        kept: list[str] = []
        found = 0
        inside: int | None = None
        for line in files[path].splitlines(keepends=True):
            depth = len(line) - len(line.lstrip(" "))
            if inside is not None and (depth > inside or not line.strip()):
                continue
            closing = inside == depth and re.match(r"[}\])]", line.lstrip())
            inside = None
            if closing:
                continue
            if re.search(pattern, line):
                found += 1
                inside = depth
                continue
            kept.append(line)
        assert found == times, f"{path}: {pattern} is in {found} lines, not {times}"
        files[path] = "".join(kept)

    return change


def documents(path: str, pattern: str, *, times: int = 1) -> Change:
    """Return a change that removes the YAML documents with a pattern."""

    def change(files: Files) -> None:
        every = re.split(r"^---\n", files[path], flags=re.MULTILINE)
        kept = [text for text in every if not re.search(pattern, text, re.MULTILINE)]
        assert len(every) - len(kept) == times, (
            f"{path}: {pattern} is in {len(every) - len(kept)} documents, not {times}"
        )
        files[path] = "---\n".join(kept)

    return change


def after(path: str, pattern: str, text: str, *, times: int = 1) -> Change:
    """Return a change that adds a line after each one with a pattern, at the same indentation."""
    return swap(path, rf"^([ -]*)(.*(?:{pattern}).*)$", rf"\1\2\n\g<1>{text}", times=times)


def add(path: str, text: str) -> Change:
    """Return a change that adds a file, or appends to one; manifests are separated by `---`."""

    def change(files: Files) -> None:
        between = "---\n" if path.startswith("kubernetes/") and path in files else ""
        files[path] = files.get(path, "") + between + dedent(text).lstrip("\n")

    return change


def without(*paths: str) -> Change:
    """Return a change that deletes files."""

    def change(files: Files) -> None:
        for path in paths:
            assert files[path] is not None
            del files[path]

    return change


def from_table(table: dict[str, Any]) -> Change:
    """Return the change that a table in a rule file describes: `file`, and what to do with it."""
    path, times = table["file"], table.get("times", 1)
    if "replace" in table:
        return swap(path, table["replace"], table["by"], times=times)
    if "replace_all" in table:
        return every(path, table["replace_all"], table["by"])
    if "drop" in table:
        return drop(path, table["drop"], times=times)
    if "drop_documents" in table:
        return documents(path, table["drop_documents"], times=times)
    if "after" in table:
        return after(path, table["after"], table["insert"], times=times)
    return add(path, table["add"]) if "add" in table else without(path)
