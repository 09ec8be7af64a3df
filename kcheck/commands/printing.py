"""Everything commands print, including progress. Untrusted text is escaped, so it cannot control terminals or logs."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kcheck import __version__
from kcheck.text.control_characters import visible, visible_lines

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    from kcheck.text.files.save import File


def page(text: str) -> None:
    """Print lines that already end with a newline."""
    click.echo(visible_lines(text), nl=False)


def table(text: str) -> None:
    """Print CSV with its CRLF line ends; its cells are already escaped."""
    click.echo(text.encode(), nl=False)


def line(text: str) -> None:
    """Print one line."""
    click.echo(visible(text))


def note(text: str) -> None:
    """Print one line to stderr."""
    click.echo(visible(text), err=True)


def report(text: str) -> None:
    """Print a report of `check`, already escaped apart from its own colours, links and annotations."""
    click.echo(text, nl=False)


def diffs(files: Iterable[File]) -> None:
    """Print changes for `git apply`, and note those that it would not apply exactly."""
    from kcheck.text.files.patch import diff

    inexact = []
    for file in files:
        found = diff(file)
        sys.stdout.buffer.write(found.text.encode("utf-8", "surrogateescape"))
        if not found.exact:
            inexact.append(file.path)
    sys.stdout.flush()
    for path in inexact:
        note(f"kcheck: {path}: control or invisible characters are escapes in its diff; do not apply that")


def show_mistake(mistake: click.ClickException) -> None:
    """Escape the message of a usage error before click prints it; messages about rules have several lines."""
    lines = getattr(mistake.__cause__, "lines", (mistake.message,))
    vars(mistake)["message"] = "\n".join(map(visible, lines))


_ISSUES = "the project's issue tracker"


def bug(error: BaseException) -> None:
    """Print a bug with its error, to be reported."""
    from kcheck.text.errors import description

    note(f"kcheck {__version__} failed: {description(error)}")
    note(f"This is a bug in kcheck. Please report this line in {_ISSUES}.")


_PATIENCE = 1.0
"""Seconds before progress is shown."""
_EVERY = 0.2
_WIDEST = 79
_CLEAR = "\r\x1b[K"


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show progress on stderr if that is a terminal and the run takes over a second; cleared at the end.

    Yields a function that takes the current stage.
    """
    screen = sys.stderr
    if quiet or not screen.isatty():
        yield lambda _: None
        return
    import threading

    stage = ["reading"]
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(screen, stage, done), daemon=True)
    teller.start()
    try:
        yield lambda text: stage.__setitem__(0, text)
    finally:
        done.set()
        teller.join()


def _tell(screen: TextIO, stage: list[str], done: threading.Event) -> None:
    begin = time.monotonic()
    if done.wait(_PATIENCE):
        return
    while not done.wait(_EVERY):
        seconds = int(time.monotonic() - begin)
        screen.write(f"{_CLEAR}{visible(f'kcheck: {stage[0]}, {seconds} s')[:_WIDEST]}")
        screen.flush()
    screen.write(_CLEAR)
    screen.flush()
