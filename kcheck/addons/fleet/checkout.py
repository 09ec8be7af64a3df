"""What is checked out: the commit, and a key that changes with all that a check depends on."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from kcheck import __version__
from kcheck.terraform.copies import CONFIG, origin
from kcheck.text.bundled import PACKAGE, PROFILES, RULES
from kcheck.text.files import folders, system
from kcheck.text.files.disk import MAX_BYTES
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.addons.fleet.listing import Repository

_GIT = ".git"
_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_REFERENCES = 10_000_000
"""Bytes of a list of references."""
_MOST_ENTRIES, _MOST_BYTES = 200_000, 2_000_000_000
"""Of a checkout with a key: one that has more is checked each time."""
_HEAD = 65_536
"""So much counts of a file that is too large to be read: what it is shows there."""
_VARIABLES = "TF_VAR_"


# --- the commit


def revision(folder: str) -> str:
    """Return the commit that git's own files name; empty without one. No program is run."""
    git = os.path.join(folder, _GIT)
    head = _text(os.path.join(git, "HEAD")).strip()
    if not head.startswith("ref: refs/"):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref: ")
    if ".." in name.split("/"):
        return ""
    own = _text(os.path.join(git, *name.split("/"))).strip()
    if _COMMIT.fullmatch(own):
        return own
    packed = (line.partition(" ") for line in _text(os.path.join(git, "packed-refs")).splitlines())
    return next((commit for commit, _, ref in packed if ref == name and _COMMIT.fullmatch(commit)), "")


def _text(path: str) -> str:
    """Read one of git's files; a pipe would be waited for."""
    try:
        return system.head(path, _MOST_REFERENCES).decode("ascii", "replace") if os.path.isfile(path) else ""
    except OSError:
        return ""


# --- the key


class Keys:
    """The keys of repositories on a day; what these share is read once."""

    def __init__(self, day: str) -> None:
        variables = [f"{name}={text}" for name, text in system.variables(_VARIABLES)]
        self._common = [code(), day, *variables]
        self._shared: dict[str, str] = {}

    def of(self, one: Repository) -> str:
        """Return the key of a repository, wherever it lies; empty if it has too much, or is not there."""
        name = os.path.basename(system.real_path(one.folder))  # modules may be known by it
        try:
            content = _digest_of_folder(one.folder)
            shared = [self._of_shared(path) for path in (*one.settings.rules, *one.settings.module_dirs)]
        except (OSError, _TooMuchError):
            return ""
        return _digest([*self._common, name, repr(one.settings), *shared, content])

    def _of_shared(self, path: str) -> str:
        """Digest a folder, or a file, that several repositories are checked with.

        Raises:
            OSError: it is not there.
            _TooMuchError: it has too much.
        """
        if path not in self._shared:
            is_file = os.path.isfile(path)
            self._shared[path] = system.digest(system.read(path)) if is_file else _digest_of_folder(path)
        return self._shared[path]


@cache
def code() -> str:
    """Digest this kcheck with its rules and numbers: another one finds other things."""
    return _digest([__version__, *map(_digest_of_folder, (PACKAGE, RULES, PROFILES))])


class _TooMuchError(Exception):
    """A folder has more than a key is made of."""


def _digest_of_folder(top: str) -> str:
    """Digest all that kcheck may read below a folder.

    Raises:
        OSError: it is not there, or cannot be read.
        _TooMuchError: it has too much.
    """
    found: list[str] = []
    size, todo = 0, [""]
    while todo:
        above = todo.pop()
        for entry in _entries(top, above):
            path = f"{above}{entry.name}"
            kind, content, read = _content(entry)
            if kind == "folder" and entry.name != _GIT:
                if not folders.may_be_read(path):
                    continue
                todo.append(f"{path}/")
            found.append(f"{path}\0{kind} {content}")
            size += read
            if len(found) > _MOST_ENTRIES or size > _MOST_BYTES:
                raise _TooMuchError
    return _digest(sorted(found))


def _entries(top: str, above: str) -> list[os.DirEntry[str]]:
    """List a folder below another one; one that cannot be read is as empty as it is for kcheck.

    Raises:
        OSError: that is the top itself.
    """
    try:
        with os.scandir(os.path.join(top, above)) as listed:
            return list(listed)
    except OSError:
        if not above:
            raise
        return []


def _content(entry: os.DirEntry[str]) -> tuple[str, str, int]:
    """Return the kind of an entry, what is in it, and the bytes that were read for that."""
    try:
        if entry.is_symlink():
            return "link", os.readlink(entry.path), 0
        if entry.is_dir():
            return "folder", _origin(entry.path) if entry.name == _GIT else "", 0
        if entry.is_file() and entry.name != _GIT:  # that of a work tree says where it lies
            size = entry.stat().st_size
            data = system.read(entry.path) if size <= MAX_BYTES else system.head(entry.path, _HEAD)
            return "file", f"{size} {system.digest(data)}", len(data)
    except OSError as error:
        return "unreadable", str(error.errno), 0
    return "other", "", 0


def _origin(git: str) -> str:
    """Return where a repository was cloned from: modules may be known by it."""
    path = os.path.join(git, "config")
    address = origin(system.head(path, CONFIG)) if os.path.isfile(path) else None
    return address.path if address else ""


def _digest(texts: Iterable[str]) -> str:
    return system.digest("\0\0".join(texts).encode("utf-8", "surrogatepass"))
