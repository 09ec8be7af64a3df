"""What the terminal can show."""

from __future__ import annotations

import os
import sys

_PROGRAMS = frozenset({"Hyper", "WezTerm", "ghostty", "iTerm.app", "terminology", "vscode", "zed"})
_TERMS = frozenset({"alacritty", "alacritty-direct", "foot", "foot-extra", "xterm-ghostty", "xterm-kitty"})
_MARKS = ("DOMTERM", "KONSOLE_VERSION", "WT_SESSION")
"""Variables that only terminals with links set."""
_FIRST_VTE = 5000
"""VTE 0.50 and later have links: GNOME Terminal, Tilix, Xfce's."""


def shows_links() -> bool:
    """Whether stdout is a terminal that shows hyperlinks; FORCE_HYPERLINK=1 or 0 decides for unknown ones."""
    term = os.environ.get("TERM")
    if not sys.stdout.isatty() or term == "dumb" or os.environ.get("NO_COLOR") or os.environ.get("CI"):
        return False
    forced = os.environ.get("FORCE_HYPERLINK", "").strip()
    if forced:
        return forced != "0"
    vte = os.environ.get("VTE_VERSION", "")
    return (
        (vte.isdecimal() and int(vte) >= _FIRST_VTE)
        or os.environ.get("TERM_PROGRAM") in _PROGRAMS
        or term in _TERMS
        or any(name in os.environ for name in _MARKS)
    )


def linked(text: str, address: str) -> str:
    """Text as a hyperlink (OSC 8)."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"
