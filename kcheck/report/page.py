"""Pages of rules, limits and words: their blocks, and how a terminal shows them."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.engine.rule import Rule

HOME = "https://github.com/kcheck/kcheck/blob/main"
"""Where the files of the project can be read."""

RULES = "docs/rules"
"""The folder of the site with a page for each rule."""

_WIDTH = 118


class Name(NamedTuple):
    """A name as the code has it, with the page of the project where it is explained, if there is one."""

    text: str
    target: str = ""
    code: bool = True


Line: TypeAlias = "tuple[str | Name, ...]"


class Title(NamedTuple):
    """The head of a page."""

    text: str


class Part(NamedTuple):
    """The head of a part of it; `level` is 2 for its chapters."""

    text: str
    level: int = 2


class Prose(NamedTuple):
    """Paragraphs as people wrote them."""

    text: str


class Facts(NamedTuple):
    """A table of two columns without a head."""

    rows: tuple[tuple[str, Line], ...]


class Point(NamedTuple):
    """An item of a list, with what belongs to it."""

    line: Line
    below: tuple[str, ...] = ()


class Code(NamedTuple):
    """A piece of code: `suffix` is that of a file with it."""

    text: str
    suffix: str


Block: TypeAlias = Title | Part | Prose | Facts | Point | Code


def rule_file(rule: Rule) -> str:
    """Return the file of one of kcheck's rules, from the root of the project."""
    return f"rules/{rule.group}/{rule.name}.yaml"


# --- for a terminal


def as_text(blocks: Iterable[Block]) -> str:
    """The page for a terminal."""
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
                yield from textwrap.wrap(
                    visible(text),
                    _WIDTH,
                    initial_indent="    ",
                    subsequent_indent="    ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
        case Code(text):
            yield from textwrap.indent(text, "  ").splitlines()


def _plain(line: Line) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in line)


def anchor(heading: str) -> str:
    """What a link to a heading ends in, as GitHub makes it; the second one of a name has -1 behind it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
