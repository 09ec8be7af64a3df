"""Pages of rules, limits and words: their blocks, and how a terminal shows them."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kcheck.report.escape import wrapped
from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.engine.rule import Rule

REPOSITORY = "https://github.com/kcheck/kcheck"
HOME = f"{REPOSITORY}/blob/main"
"""Base address of the project's files."""

RULES = "docs/rules"
"""Folder of the rule pages in the site."""

_WIDTH = 118


class Name(NamedTuple):
    """A name, as code unless `code` is False, linked to its page in the project if it has one."""

    text: str
    target: str = ""
    code: bool = True


Line: TypeAlias = "tuple[str | Name, ...]"


class Title(NamedTuple):
    """A page title."""

    text: str


class Part(NamedTuple):
    """A section heading; `level` 2 is a chapter."""

    text: str
    level: int = 2


class Prose(NamedTuple):
    """Paragraphs, already wrapped."""

    text: str


class Facts(NamedTuple):
    """A table of two columns without a header."""

    rows: tuple[tuple[str, Line], ...]


class Point(NamedTuple):
    """A list item with sub-items."""

    line: Line
    below: tuple[str, ...] = ()


class Code(NamedTuple):
    """A code block; `suffix` is a file suffix that gives the language."""

    text: str
    suffix: str


Block: TypeAlias = Title | Part | Prose | Facts | Point | Code


def rule_file(rule: Rule) -> str:
    """Return the file of a built-in rule, relative to the project's root."""
    return f"rules/{rule.group}/{rule.name}.yaml"


# --- for a terminal


def as_text(blocks: Iterable[Block]) -> str:
    """Format a page for a terminal."""
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None and not (isinstance(block, Point) and isinstance(before, Point | Part)):
            lines += [""] if not (isinstance(before, Part) and isinstance(block, Code)) else []
        lines += _text(block)
        before = block
    return "\n".join(visible(line.rstrip()) for line in lines) + "\n"


def _text(block: Block) -> Iterator[str]:
    match block:
        case Title(text):
            yield text
        case Part(text):
            yield f"{text}:"
        case Prose(text):
            yield from text.splitlines()
        case Facts(rows):
            wide = max(len(name) for name, _ in rows)
            yield from (f"{name:{wide}}  {_plain(line)}" for name, line in rows)
        case Point(line, below):
            yield f"  {_plain(line)}"
            for text in below:
                yield from wrapped(text, _WIDTH, "    ", "    ")
        case Code(text):
            yield from textwrap.indent(text, "  ").splitlines()


def _plain(line: Line) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in line)


def anchor(heading: str) -> str:
    """Return GitHub's anchor of a heading; GitHub appends -1 to the second heading of the same text."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
