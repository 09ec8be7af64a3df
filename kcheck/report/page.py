"""Pages of rules, limits and words: their blocks, and how a terminal shows them."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kcheck import __version__
from kcheck.engine.rule import Rule
from kcheck.report import layout
from kcheck.report.layout import Column, Table

REPOSITORY = "https://github.com/kcheck/kcheck"
HOME = f"{REPOSITORY}/blob/main"
"""Base address of the project's files."""
SOURCE = f"git+{REPOSITORY}@v{__version__}"
"""Source for pip: the tag of this version, as kcheck is on no index."""

RULES = "docs/rules"
"""Folder of the rule pages in the site."""

_WIDTH = 118


class Name(NamedTuple):
    """A name, as code unless `code` is False, linked to its page."""

    text: str
    target: str = ""
    code: bool = True


Line: TypeAlias = tuple[str | Name, ...]


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


def install(extra: str) -> str:
    """Format the command that installs kcheck with an extra."""
    return f"pip install 'kcheck[{extra}] @ {SOURCE}'"


def rule_file(rule: Rule) -> str:
    """Return the file of a built-in rule, relative to the project's root."""
    return f"rules/{rule.group}/{rule.name}.yaml"


# --- for a terminal


def as_text(blocks: Iterable[Block]) -> Iterator[layout.Line | Table]:
    """Yield the lines and tables of a page for a terminal."""
    before: Block | None = None
    for block in blocks:
        if before is not None and not (isinstance(block, Point) and isinstance(before, Point | Part)):
            yield from (layout.Line(),) if not (isinstance(before, Part) and isinstance(block, Code)) else ()
        yield from _text(block)
        before = block


def _text(block: Block) -> Iterator[layout.Line | Table]:
    match block:
        case Title(text):
            yield layout.Line(text, "bold")
        case Part(text):
            yield layout.Line(f"{text}:", "bold")
        case Prose(text):
            yield from (layout.Line(one, hang=0) for one in _paragraphs(text))
        case Facts(rows):
            yield Table((Column(), Column()), [(name, _plain(line)) for name, line in rows])
        case Point(line, below):
            yield layout.Line(f"  {_plain(line)}".rstrip())
            yield from (layout.Line(f"    {text}", width=_WIDTH, hang=0) for text in below)
        case Code(text):
            yield from (layout.Line(one.rstrip(), hang=4) for one in textwrap.indent(text, "  ").splitlines())


_OWN = (" ", "- ", "* ")
"""How lines begin that do not go on with the line before."""


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of prose, and each line of a list or of code."""
    found = [""]
    for line in map(str.rstrip, text.splitlines()):
        if found[-1] and line and not line.startswith(_OWN) and not found[-1].startswith(_OWN):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found[1:]


def _plain(line: Line) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in line)


def anchor(heading: str) -> str:
    """Return GitHub's anchor of a heading, numbered if repeated."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
