"""Everything commands print; untrusted text is escaped."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from kcheck import __version__
from kcheck.text.control_characters import visible, visible_lines

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.report.layout import Text
    from kcheck.text.files.save import File


_NARROWEST, _WIDEST = 60, 200


def page(text: str | Text, *, err: bool = False) -> None:
    """Print a string or a Text: styled on a terminal, plain elsewhere."""
    stream = sys.stderr if err else sys.stdout
    if isinstance(text, str):
        click.echo(visible_lines(text), nl=False)
    elif width := screen(stream):
        from kcheck.report.terminal import render  # imports rich: 40 ms

        drawn = render(text, width, colours=_has_colours(stream), links=stream.isatty())
        click.echo(drawn, nl=False, color=True, err=err)
    else:
        from kcheck.report.layout import plain

        click.echo(plain(text), nl=False, err=err)


def screen(stream: TextIO | None = None) -> int:
    """Return the columns of a terminal; 0 for a pipe without colours."""
    stream = stream or sys.stdout
    if not stream.isatty() and not _has_colours(stream):
        return 0
    from shutil import get_terminal_size  # with zlib, bz2 and lzma

    return min(max(get_terminal_size((100, 24)).columns, _NARROWEST), _WIDEST)


def _has_colours(stream: TextIO) -> bool:
    """Whether to print colours: by --color, NO_COLOR, FORCE_COLOR and TERM."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def table(text: str) -> None:
    """Print CSV with its CRLF line ends; its cells are already escaped."""
    click.echo(text.encode(), nl=False)


def line(text: str, *, bold: bool = False, err: bool = False) -> None:
    """Print one line, as wide as the terminal."""
    from kcheck.report.layout import Line

    page([Line(visible(text), "bold" if bold else "")], err=err)


note = partial(line, err=True)


def report(text: str) -> None:
    """Print a report of `check` for programs, already escaped."""
    click.echo(text, nl=False)


_MARKS = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}
"""Styles of the lines of a diff by their first characters."""


def diffs(files: Iterable[File], *, err: bool = False) -> None:
    """Print changes for `git apply`, and warn about those it would not apply exactly."""
    from kcheck.text.files.save import diff

    found = {file.path: diff(file) for file in files}
    stream, text = sys.stderr if err else sys.stdout, "".join(own.text for own in found.values())
    if screen(stream):
        from kcheck.report.layout import Line

        styles = ((one, _MARKS.get(one[:3].strip()) or _MARKS.get(one[:1], "")) for one in text.splitlines())
        page((Line(one, style, is_code=True) for one, style in styles), err=err)
    else:
        stream.buffer.write(text.encode("utf-8", "surrogateescape"))
        stream.flush()
    for path in (path for path, own in found.items() if not own.exact):
        note(f"kcheck: {path}: its diff shows control or invisible characters as escapes; do not apply it")


def show_mistake(mistake: click.ClickException) -> None:
    """Escape the message of a usage error before click prints it."""
    lines: Iterable[str] = map(visible, getattr(mistake.__cause__, "lines", (mistake.message,)))
    if room := screen(sys.stderr):
        from kcheck.report.escape import wrapped

        lines = (part for line in lines for part in wrapped(line, room - len("Error: "), "", "  "))
    vars(mistake)["message"] = "\n".join(lines)


def bug(error: BaseException) -> None:
    """Print a bug with its error, for a bug report."""
    from kcheck.text.errors import description

    note(f"kcheck {__version__} failed: {description(error)}")
    note("This is a bug in kcheck. Please report this line in the project's issue tracker.")


_PATIENCE = 1.0
"""Seconds before progress is shown."""


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal's stderr if the run takes over a second.

    Yields a function that takes the current stage.
    """
    stream = sys.stderr
    if quiet or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    import threading

    stage = ["reading"]
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(stream, stage, done), daemon=True)
    teller.start()
    try:
        yield lambda text: stage.__setitem__(0, text)
    finally:
        done.set()
        teller.join()


def _tell(stream: TextIO, stage: list[str], done: threading.Event) -> None:
    begin = time.monotonic()
    if done.wait(_PATIENCE):
        return
    from kcheck.report.terminal import live

    with live(stream, screen(stream), lambda: f"kcheck: {stage[0]}, {int(time.monotonic() - begin)} s"):
        done.wait()
