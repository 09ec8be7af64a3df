"""The commit that is checked out, as git's own files say: no program is run."""

from __future__ import annotations

import os

from kcheck.text.files import system
from kcheck.text.regex import regex

_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST = 10_000_000
"""Bytes of a list of references."""


def revision() -> str:
    """The commit of the repository in the current folder; empty where there is none, or it is not known."""
    folder = ".git"
    if not system.is_folder(folder):
        return ""
    head = _text(os.path.join(folder, "HEAD")).strip()
    if not head.startswith("ref: refs/"):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref: ")
    if ".." in name.split("/"):
        return ""
    own = _text(os.path.join(folder, *name.split("/"))).strip()
    if _COMMIT.fullmatch(own):
        return own
    packed = (line.partition(" ") for line in _text(os.path.join(folder, "packed-refs")).splitlines())
    return next((commit for commit, _, ref in packed if ref == name and _COMMIT.fullmatch(commit)), "")


def _text(path: str) -> str:
    try:
        return system.head(path, _MOST).decode("ascii", "replace")
    except OSError:
        return ""
