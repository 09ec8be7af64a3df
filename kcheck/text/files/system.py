"""Reads files and folders as the system has them; a path that no file can have is one without a file."""

from __future__ import annotations

import os
import stat
from errno import ENOENT

try:
    from _blake2 import blake2b  # hashlib brings OpenSSL, whose import takes half as long as starting Python: 8 ms
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int]


def digest(data: bytes) -> str:
    """Return a short text that other bytes do not have."""
    return blake2b(data, digest_size=20).hexdigest()


def is_read_only(path: str) -> bool:
    """Return whether an existing file is read-only."""
    return os.path.exists(path) and not (os.stat(path).st_mode & stat.S_IWUSR and os.access(path, os.W_OK))


def real_path(path: str) -> str:
    """Resolve the links of a path; a text that no file can have for a path stays as it is."""
    try:
        return os.path.realpath(path)
    except ValueError:  # a null character, or half of one
        return os.path.abspath(path)


def size(path: str) -> int | None:
    """Return the bytes of a regular file; None if there is none."""
    found = stamp(path)
    return found[1] if found is not None else None


def read(path: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    return head(path, -1)


def head(path: str, most: int) -> bytes:
    """Return the first bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except ValueError as error:  # a null character, or half of one: there is no such file
        raise FileNotFoundError(ENOENT, str(error)) from error


def entries(folder: str) -> list[tuple[str, bool]]:
    """List the readable entries of a folder, sorted: the name, and whether it is a folder, links followed.

    Raises:
        OSError: it cannot be read.
    """
    found = []
    try:
        with os.scandir(folder) as listed:
            for entry in listed:
                try:
                    found.append((entry.name, entry.is_dir()))
                except OSError:
                    continue
    except ValueError as error:
        raise FileNotFoundError(ENOENT, str(error)) from error
    return sorted(found)


def variables(prefix: str) -> list[tuple[str, str]]:
    """List the environment variables whose names begin so, sorted."""
    return sorted((name, text) for name, text in os.environ.items() if name.startswith(prefix))


# --- what changes while a run waits


def stamp(path: str) -> Stamp | None:
    """Return what changes when a file is written again: its time, size and number; None if there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return _stamp(status) if stat.S_ISREG(status.st_mode) else None


def stamps(folder: str) -> list[tuple[str, Stamp | None]]:
    """List a folder: files with their stamps, folders without; nothing of one that cannot be read."""
    found: list[tuple[str, Stamp | None]] = []
    try:
        with os.scandir(folder) as listed:
            for entry in listed:
                try:
                    status = entry.stat()
                except OSError:  # a link to nothing
                    continue
                if stat.S_ISDIR(status.st_mode):
                    found.append((entry.name, None))
                elif stat.S_ISREG(status.st_mode):
                    found.append((entry.name, _stamp(status)))
    except (OSError, ValueError):
        return []
    return found


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_mtime_ns, status.st_size, status.st_ino)
