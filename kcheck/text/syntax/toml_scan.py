"""Positions of tables and keys in a TOML file, which the parser does not report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.text.text import Source, Span


def find_table(data: bytes, name: str) -> int | None:
    """The begin of the first header of a table or a subtable; None without one."""
    match = re.search(rb"^\[" + re.escape(name.encode()) + rb"(?:\.|\])", data, re.MULTILINE)
    return match.start() if match else None


def key_line(source: Source, table: str, key: str, start: int) -> Span | None:
    """The first line from `start` that sets a key, or is the header of its table."""
    names = re.escape(table.encode()), re.escape(key.encode())
    pattern = re.compile(rb"^[ \t]*(?:\[+%s\.)?[\"']?%s\b[^\n]*" % names, re.MULTILINE)
    match = pattern.search(source.data, start)
    return source.span(match.start(), match.end()) if match else None
