"""Files on disk, with an overlay that replaces some."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kcheck.text.files import system
from kcheck.text.files.boundary import Boundary

MAX_BYTES = 20_000_000
"""Largest file that is read; larger ones are dumps, not configuration."""


class DirectoryEntry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    path: str
    is_folder: bool


class TooLargeError(Exception):
    """A file too large to be handwritten."""


class Disk:
    """Files within a boundary; without one, any files the user names.

    `overlay` maps real paths to the bytes that replace those on disk; None for a file that does not exist. Files
    outside the boundary count as missing; `refused` is called once for each requested file there that exists, with its
    path and real path.
    """

    def __init__(
        self, overlay: Mapping[str, bytes | None] | None = None, boundary: Boundary | None = None,
        refused: Callable[[str, str], None] | None = None,
    ) -> None:  # fmt: skip
        self.overlay = dict(overlay or {})
        self.boundary = boundary
        self._refused = refused
        self._told: set[str] = set()
        self._added: dict[str, dict[str, bool]] = {}
        self._real: dict[str, str] = {}
        for path, data in self.overlay.items():
            if data is not None and not os.path.exists(path):
                self._add(path)

    def _add(self, path: str) -> None:
        """Add a file that is not on disk, with its missing parent folders."""
        is_folder = False
        while True:
            above, name = os.path.split(path)
            self._added.setdefault(above, {})[name] = is_folder
            if above == path or os.path.isdir(above):
                return
            path, is_folder = above, True

    def real(self, path: str) -> str:
        """Resolve the links of a path; a folder's links are resolved once."""
        folder, name = os.path.split(path)
        if name in ("", ".", "..") or os.path.islink(path):
            return system.real_path(path)
        if folder not in self._real:
            self._real[folder] = system.real_path(folder)
        return os.path.join(self._real[folder], name)

    def is_outside(self, path: str, real: str = "") -> bool:
        """Whether a path leads out of the boundary; `real` is its real path if known."""
        real = real or self.real(path)
        if self.boundary is None or self.boundary.holds(real):
            return False
        if self._refused is not None and real not in self._told and (os.path.isfile(real) or os.path.isdir(real)):
            self._told.add(real)
            self._refused(path, real)
        return True

    def read(self, path: str, real: str = "") -> bytes | None:
        """Read a regular file; None if it cannot be read.

        Raises TooLargeError if it has more than MAX_BYTES.
        """
        real = real or self.real(path)
        if real in self.overlay:
            return self.overlay[real]
        if self.is_outside(path, real):
            return None
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
        """Read the first bytes of a file of any size; none if it cannot be read."""
        real = self.real(path)
        if real in self.overlay:
            return (self.overlay[real] or b"")[:size]
        if self.is_outside(path, real) or not os.path.isfile(real):  # a pipe would be waited for
            return b""
        try:
            return system.head(real, size)
        except OSError:
            return b""

    def is_file(self, path: str) -> bool:
        """Whether there is a file."""
        real = self.real(path)
        if real in self.overlay:
            return self.overlay[real] is not None
        return os.path.isfile(real) and not self.is_outside(path, real)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        if os.path.isdir(path):
            return not self.is_outside(path)
        return bool(self._added) and system.real_path(path) in self._added

    def entries(self, folder: str) -> list[DirectoryEntry] | None:
        """List the contents of a folder, sorted; None if unreadable."""
        if self.is_outside(folder):
            return None
        try:
            found = [DirectoryEntry(name, os.path.join(folder, name), inner) for name, inner in system.entries(folder)]
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError) or not self.is_folder(folder):
                return None
            found = []
        if self.overlay:
            found = [entry for entry in found if self.overlay.get(self.real(entry.path), b"") is not None]
            added = self._added.get(system.real_path(folder), {})
            found += [DirectoryEntry(name, os.path.join(folder, name), inner) for name, inner in added.items()]
        return sorted(found)

    def links(self, top: str) -> Iterator[str]:
        """Yield all links below a folder, also behind links to folders, each folder once."""
        stack, seen = [top], set()
        while stack:
            folder = stack.pop()
            real = self.real(folder)
            if real in seen:
                continue
            seen.add(real)
            entries = self.entries(folder) or []
            yield from (entry.path for entry in entries if os.path.islink(entry.path))
            stack += [entry.path for entry in entries if entry.is_folder]

    def walk(self, top: str, enters: Callable[[str], bool] = bool) -> Iterator[str]:
        """Yield all files below a folder, in folders whose names it `enters`."""
        stack = [top]
        while stack:
            entries = self.entries(stack.pop()) or []
            yield from (entry.path for entry in entries if not entry.is_folder)
            inner = (entry for entry in entries if entry.is_folder and enters(entry.name))
            stack += [entry.path for entry in inner if not os.path.islink(entry.path)]
