"""The files on disk; an overlay replaces the bytes of some, before a change or after a fix."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 20_000_000
"""Larger files are dumps, not configuration."""


class DirectoryEntry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    path: str
    is_folder: bool


class TooLargeError(Exception):
    """A file too large to be written by hand."""


class Disk:
    """`overlay` maps real paths to the bytes that stand in for those on disk; None for a file that does not exist."""

    def __init__(self, overlay: Mapping[str, bytes | None] | None = None) -> None:
        self.overlay = dict(overlay or {})
        self._added: dict[str, dict[str, bool]] = {}
        self._real: dict[str, str] = {}
        for path, data in self.overlay.items():
            if data is not None and not os.path.exists(path):
                self._add(path)

    def _add(self, path: str) -> None:
        """List a file that is not on disk, and its missing parent folders."""
        is_folder = False
        while True:
            above, name = os.path.split(path)
            self._added.setdefault(above, {})[name] = is_folder
            if above == path or os.path.isdir(above):
                return
            path, is_folder = above, True

    def real(self, path: str) -> str:
        """The path with its links resolved; those of a folder once for everything in it."""
        folder, name = os.path.split(path)
        if name in ("", ".", "..") or os.path.islink(path):
            return os.path.realpath(path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        return os.path.join(self._real[folder], name)

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; None if there is none that can be read.

        Raises:
            TooLargeError: it has more than MAX_BYTES.
        """
        real = self.real(path)
        if real in self.overlay:
            return self.overlay[real]
        try:
            status = os.stat(real)
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > MAX_BYTES:
                raise TooLargeError(path)
            with open(real, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file, however large it is; none if it cannot be read."""
        real = self.real(path)
        if real in self.overlay:
            return (self.overlay[real] or b"")[:size]
        if not os.path.isfile(real):  # a pipe would be waited for
            return b""
        try:
            with open(real, "rb") as file:
                return file.read(size)
        except OSError:
            return b""

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""
        real = self.real(path)
        return self.overlay[real] is not None if real in self.overlay else os.path.isfile(real)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return os.path.isdir(path) or (bool(self._added) and os.path.realpath(path) in self._added)

    def entries(self, folder: str) -> list[DirectoryEntry]:
        """What a folder holds, sorted by name.

        Raises:
            OSError: there is no such folder, or it cannot be read.
        """
        try:
            found = [DirectoryEntry(e.name, e.path, e.is_dir()) for e in _readable(folder)]
        except (FileNotFoundError, NotADirectoryError):
            if not self.is_folder(folder):
                raise
            found = []
        if self.overlay:
            found = [entry for entry in found if entry.is_folder or self.is_file(entry.path)]
            added = self._added.get(os.path.realpath(folder), {})
            found += [DirectoryEntry(name, os.path.join(folder, name), inner) for name, inner in added.items()]
        return sorted(found)

    def walk(self, top: str) -> Iterator[str]:
        """All files below a folder, links to folders not followed."""
        stack = [top]
        while stack:
            try:
                entries = self.entries(stack.pop())
            except OSError:
                continue
            yield from (entry.path for entry in entries if not entry.is_folder)
            stack += [entry.path for entry in entries if entry.is_folder and not os.path.islink(entry.path)]


def _readable(folder: str) -> Iterator[os.DirEntry[str]]:
    """The readable entries of a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                entry.is_dir()
            except OSError:
                continue
            yield entry
