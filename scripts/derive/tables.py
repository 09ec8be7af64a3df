"""Edits of the tables in profiles/: one line a family, `name value` separated by commas; all else stays as it is."""

from __future__ import annotations

import re

ORDER = ("nano", "micro", "small", "medium", "large", "xlarge")


class Tables:
    """The text of a file of tables."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    @property
    def text(self) -> str:
        """The file as it is now."""
        return "\n".join(self.lines) + "\n"

    def put(self, table: str, family: str, name: str, value: str) -> None:
        """Write a value into the line of a family: in place of the old one, or where it belongs."""
        start, end = self._section(table)
        at = next((i for i in range(start, end) if self._key(i) == family), None)
        if at is None:
            at = next((i for i in range(start, end) if self._key(i) > family), end)
            key = family if re.fullmatch(r"[\w. -]+", family) else f'"{family}"'
            self.lines.insert(at, f"  {key}: {name} {value}")
            return
        head, _, line = self.lines[at].partition(": ")
        entries = line.split(", ")
        found = next((i for i, entry in enumerate(entries) if entry.partition(" ")[0] == name), None)
        if found is None:
            later = (i for i, entry in enumerate(entries) if _size(entry.partition(" ")[0]) > _size(name))
            entries.insert(next(later, len(entries)), f"{name} {value}")
        else:
            entries[found] = f"{name} {value}"
        self.lines[at] = f"{head}: {', '.join(entries)}"

    def _section(self, table: str) -> tuple[int, int]:
        start = self.lines.index(f"{table}:") + 1
        rest = range(start, len(self.lines))
        return start, next((i for i in rest if not self.lines[i].startswith(" ")), len(self.lines))

    def _key(self, at: int) -> str:
        return self.lines[at].rpartition(": ")[0].strip().strip('"') if ": " in self.lines[at] else ""


def _size(name: str) -> tuple[int, int, str]:
    """The order of sizes: small ones first, by their numbers, bare metal last."""
    number = re.search(r"\d+", name)
    word = ORDER.index(name) if name in ORDER else len(ORDER)
    return ("metal" in name) + 0, word * 1000 + (int(number[0]) if number and word == len(ORDER) else 0), name


def stamped(text: str, url: str, commit: str) -> str:
    """The text with the commit of a source: `url` is its address with {} for the commit."""
    head, _, tail = url.partition("{}")
    return re.sub(rf"{re.escape(head)}[^/\s]+{re.escape(tail)}", url.replace("{}", commit), text)


def dated(text: str, day: str) -> str:
    """The text with the day of a source, if that is newer than the one it has."""
    line = re.search(r"^source_dated: (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    return text if line is None or line[1] >= day else f"{text[: line.start(1)]}{day}{text[line.end(1) :]}"
