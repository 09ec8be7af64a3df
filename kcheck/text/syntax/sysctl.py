"""Settings of the kernel in files of sysctl: `net.ipv4.name = value` a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.text import Source, Span


def numbers_set(source: Source, name: str) -> Iterator[Span]:
    """Where a file gives a setting, written with dots, a whole number, in order."""
    steps = rb"[./]".join(re.escape(step.encode()) for step in name.split("."))
    for match in re.finditer(rb"^[ \t]*-?" + steps + rb"[ \t]*=[ \t]*(\d+)\b", source.data, re.MULTILINE):
        yield source.span(match.start(1), match.end(1))
