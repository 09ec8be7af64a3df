"""The files on disk; an overlay replaces the bytes of some, before a change or after a fix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kcheck.files import system

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
            if data is not None and not system.exists(path):
                self._add(path)

    def _add(self, path: str) -> None:
        """List a file that is not on disk, and its missing parent folders."""
        is_folder = False
        while True:
            above, name = os.path.split(path)
            self._added.setdefault(above, {})[name] = is_folder
            if above == path or system.is_folder(above):
                return
            path, is_folder = above, True

    def real(self, path: str) -> str:
        """The path with its links resolved; those of a folder once for everything in it."""
        folder, name = os.path.split(path)
        if name in ("", ".", "..") or system.is_link(path):
            return system.real_path(path)
        if folder not in self._real:
            self._real[folder] = system.real_path(folder)
        return os.path.join(self._real[folder], name)

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; None if there is none that can be read.

        Raises:
            TooLargeError: it has more than MAX_BYTES.
        """
        real = self.real(path)
        if real in self.overlay:
            return self.overlay[real]
        size = system.size(real)
        if size is None:
            return None
        if size > MAX_BYTES:
            raise TooLargeError(path)
        try:
            return system.read(real)
        except OSError:
            return None

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file, however large it is; none if it cannot be read."""
        real = self.real(path)
        if real in self.overlay:
            return (self.overlay[real] or b"")[:size]
        if not system.is_file(real):  # a pipe would be waited for
            return b""
        try:
            return system.head(real, size)
        except OSError:
            return b""

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""
        real = self.real(path)
        return self.overlay[real] is not None if real in self.overlay else system.is_file(real)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return system.is_folder(path) or (bool(self._added) and system.real_path(path) in self._added)

    def entries(self, folder: str) -> list[DirectoryEntry]:
        """What a folder holds, sorted by name.

        Raises:
            OSError: there is no such folder, or it cannot be read.
        """
        try:
            found = [DirectoryEntry(name, os.path.join(folder, name), inner) for name, inner in system.entries(folder)]
        except (FileNotFoundError, NotADirectoryError):
            if not self.is_folder(folder):
                raise
            found = []
        if self.overlay:
            found = [entry for entry in found if entry.is_folder or self.is_file(entry.path)]
            added = self._added.get(system.real_path(folder), {})
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
            stack += [entry.path for entry in entries if entry.is_folder and not system.is_link(entry.path)]
