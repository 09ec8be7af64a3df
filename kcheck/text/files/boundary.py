"""Limits of what a run may read: repositories and named paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kcheck.text.files import system

REASON = "outside of the repository"


class Boundary:
    """Folders that may be read: real paths that end with a separator."""

    def __init__(self, folders: Iterable[str]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    def holds(self, real: str) -> bool:
        """Whether a path, with its links resolved, may be read."""
        return _with_separator(real).startswith(self.folders)

    def widened(self, named: Iterable[str]) -> Boundary:
        """Return a boundary that also holds paths the user names."""
        own = [system.real_path(path) for path in named if not leads_out(path)]
        return Boundary((*self.folders, *map(_with_separator, own)))


def around(paths: Iterable[str], outside: Iterable[str] = ()) -> Boundary:
    """Make the boundary of a run on some paths, with folders `outside` it.

    A path belongs to the repository that holds its name, wherever links lead: in a stranger's checkout, any folder can
    be a link. Without a repository it is the working directory, or a path that is not in it.
    """
    tops = [*(_top(path) for path in paths), *map(system.real_path, outside)]
    return Boundary(map(_with_separator, tops))


def leads_out(path: str) -> bool:
    """Whether a path in a repository leads outside it."""
    owner = _owner(path)
    return bool(owner) and not contains_path(owner, path)


def remedy(path: str) -> str:
    """Return the flag that allows reading a path outside."""
    return f"--allow-outside {path} reads it"


def repository(path: str) -> str:
    """Return the folder of the repository that holds `path`; empty without one."""
    return next((folder for folder in _upwards(system.real_path(path)) if _is_repository(folder)), "")


def contains_path(folder: str, path: str) -> bool:
    """Whether a path is a folder or below it, links resolved."""
    return _with_separator(system.real_path(path)).startswith(_with_separator(system.real_path(folder)))


def _top(path: str) -> str:
    owner = _owner(path)
    if owner:
        return owner
    real = system.real_path(path)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    here = system.real_path(".")
    return repository(folder) or (here if here != os.path.dirname(here) and contains_path(here, folder) else folder)


def _owner(path: str) -> str:
    """Return the repository that contains a path by its name; empty if none does."""
    found = ""
    for here in _upwards(os.path.abspath(path)):
        if not found and _is_repository(here):
            found = here
        if os.path.islink(here):  # it belongs to whoever holds the link, not to what it leads to
            found = ""
    return system.real_path(found) if found else ""


def _upwards(path: str) -> Iterator[str]:
    """Yield a path and the folders above it."""
    yield path
    while (above := os.path.dirname(path)) != path:
        yield (path := above)


def _is_repository(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, ".git"))


def _with_separator(path: str) -> str:
    return os.path.join(path, "")


# --- git's own files of a work tree


_LONGEST = 10_000_000
"""Bytes of a file that are read; a list of references is the largest."""


def git_folders(top: str) -> tuple[str, str]:
    """Return a work tree's git folder, and the one it shares with others."""
    entry = os.path.join(top, ".git")
    if os.path.islink(entry):  # which may lead anywhere
        return os.devnull, os.devnull
    folder, is_worktree = git_link(entry)
    return (folder, os.path.dirname(os.path.dirname(folder))) if is_worktree else (entry, entry)


def git_link(entry: str) -> tuple[str, bool]:
    """Return the folder that a `.git` file names, and whether that points back."""
    folder = system.real_path(os.path.join(os.path.dirname(entry), git_line(entry).removeprefix("gitdir: ")))
    back = git_line(os.path.join(folder, "gitdir"))
    own = bool(back) and os.path.basename(os.path.dirname(folder)) == "worktrees"
    return folder, own and system.real_path(os.path.join(folder, back)) == system.real_path(entry)


def git_line(path: str) -> str:
    """Return the first line of a file; empty if the file is missing."""
    return git_text(path).partition("\n")[0].rstrip("\r")


def git_text(path: str) -> str:
    """Read one of git's files; empty for none, and for a pipe or link."""
    try:
        return os.fsdecode(system.head(path, _LONGEST)) if os.path.isfile(path) and not os.path.islink(path) else ""
    except OSError:
        return ""
