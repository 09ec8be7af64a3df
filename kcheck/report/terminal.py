"""Text for a terminal, drawn by rich."""

import io
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.live import Live
from rich.text import Text
from rich.theme import Theme

from kcheck.report import layout
from kcheck.text.control_characters import visible
from kcheck.text.regex import regex

_NARROWEST = 20
"""Least columns of a wrapped line beside its indent."""
_WORD = regex(r"\S+")


class _Highlighter(RegexHighlighter):
    base_style = "kcheck."
    highlights = (
        r"(?P<code>`[^`]+`)", r"(?P<link>https://\S*[\w/])", r"(?P<place>[\w./-]*\w\.\w+:\d+(:\d+)?)",
        r"(?P<money>\$\d[\d.,]*k?)", r"^ *= (?P<label>also|fix|help)(?=[ :])",
    )  # fmt: skip


_THEME = Theme({f"kcheck.{name}": style for name, style in {
    "code": "bold", "link": "underline", "place": "cyan", "money": "bold", "label": "green",
}.items()})  # fmt: skip


def render(text: layout.Text, width: int, *, colours: bool, links: bool = True) -> str:
    """Draw a text in lines of `width` columns; words are never cut."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="standard" if colours else None,
        theme=_THEME, highlight=False, legacy_windows=False, no_color=not colours,
    )  # fmt: skip
    highlighter = _Highlighter()
    with console.capture() as made:
        for line in layout.lines(text, width):
            whole = Text(visible(line.text if line.is_code else line.text.replace("\n", " ")))
            if not line.is_code:
                highlighter.highlight(whole)
            for begin, end, style in (*line.spans, *([(0, len(whole), line.style)] if line.style else [])):
                whole.stylize(style if links else style.partition("link ")[0], begin, end)
            for one in _wrapped(whole, line, console):
                shown = visible(one.plain)  # again, as some texts act where they begin a line
                console.print(one if shown == one.plain else Text(shown), soft_wrap=True)
    return made.get()


def live(stream: TextIO, width: int, text: Callable[[], str]) -> Live:
    """Return a line that is drawn again and again, and disappears in the end."""
    console = Console(file=stream, width=width, force_terminal=True, no_color=True, legacy_windows=False)
    return Live(
        get_renderable=lambda: Text(visible(text()), no_wrap=True, overflow="ellipsis"), console=console,
        refresh_per_second=5, transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip


def _wrapped(text: Text, line: layout.Line, console: Console) -> Iterator[Text]:
    if line.is_code or text.cell_len <= console.width:
        yield text
        return
    indent = len(text) - len(text.plain.lstrip())
    body = text[indent:]
    room = max(_NARROWEST, console.width - indent - line.hang)
    for number, one in enumerate(body.divide(_breaks(body.plain, room, line.hang))):
        one.rstrip()
        yield Text(" " * (indent + line.hang * (number > 0))) + one


def _breaks(text: str, room: int, hang: int) -> Iterator[int]:
    """Yield where to break a text between words; the first line is longer."""
    begin = 0
    for word in _WORD.finditer(text):
        if begin < word.start() and cell_len(text[begin : word.end()]) > room + (0 if begin else hang):
            begin = word.start()
            yield begin
