"""What kcheck says when it fails itself."""

from __future__ import annotations

import traceback

from kcheck import __version__
from kcheck.commands import printing

ISSUES = "the project's issue tracker"


def print_report(error: BaseException) -> None:
    """Print what to send in. The last lines of the stack name places in kcheck, nothing of the user's files."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in reversed(frames))
    printing.note(f"kcheck {__version__} failed: {type(error).__name__}: {error} ({places})")
    printing.note(f"This is a bug in kcheck. Please report this line in {ISSUES}.")
