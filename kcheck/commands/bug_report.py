"""What kcheck says when it fails itself."""

from __future__ import annotations

from kcheck import __version__
from kcheck.commands import printing
from kcheck.text.errors import description

ISSUES = "the project's issue tracker"


def print_report(error: BaseException) -> None:
    """Print what to send in."""
    printing.note(f"kcheck {__version__} failed: {description(error)}")
    printing.note(f"This is a bug in kcheck. Please report this line in {ISSUES}.")
