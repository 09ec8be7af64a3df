"""All that commands print. What strangers wrote is shown, and acts on no terminal and in no log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kcheck.text.control_characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.text.files.save import File


def page(text: str) -> None:
    """Print lines that end themselves."""
    click.echo(visible_lines(text), nl=False)


def table(text: str) -> None:
    """Print CSV, whose lines end in a carriage return, too; its cells are visible."""
    click.echo(text.encode(), nl=False)


def line(text: str) -> None:
    """Print one line."""
    click.echo(visible(text))


def note(text: str) -> None:
    """Print one line to stderr."""
    click.echo(visible(text), err=True)


def report(text: str) -> None:
    """Print what a format of `check` made: it may have colours, links and annotations, and shows the rest as here."""
    click.echo(text, nl=False)


def diffs(files: Iterable[File]) -> None:
    """Print changes for `git apply`, and which of them it does not take."""
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
    """Make the message of a mistake in usage visible, before click prints it; those of rules have several lines."""
    lines = getattr(mistake.__cause__, "lines", (mistake.message,))
    vars(mistake)["message"] = "\n".join(map(visible, lines))
