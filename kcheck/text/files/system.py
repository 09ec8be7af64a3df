"""Read files and folders; an impossible path is a missing file."""

from __future__ import annotations

import os
import select
import stat
import sys
from errno import EINVAL, ENOENT

try:
    from _blake2 import blake2b  # hashlib brings OpenSSL, whose import takes half as long as starting Python: 8 ms
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = tuple[int, int, int]


_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
"""Flag with which a pipe that nobody writes to opens; Windows has no such pipes."""
PATIENCE = 10
"""Seconds to wait for who writes to a pipe."""


def digest(data: bytes) -> str:
    """Return a short hash of some bytes."""
    return blake2b(data, digest_size=20).hexdigest()


def is_read_only(path: str) -> bool:
    """Whether an existing file is read-only."""
    return os.path.exists(path) and not (os.stat(path).st_mode & stat.S_IWUSR and os.access(path, os.W_OK))


def real_path(path: str) -> str:
    """Resolve the links of a path; an impossible path only becomes absolute."""
    try:
        return os.path.realpath(path)
    except ValueError:  # a null character, or half of one
        return os.path.abspath(path)


def size(path: str) -> int | None:
    """Return the size of a regular file in bytes; None if there is none."""
    found = stamp(path)
    return found[1] if found is not None else None


def read(path: str) -> bytes:
    """Read a file. Raises OSError if it cannot be read."""
    return head(path, -1)


def head(path: str, most: int) -> bytes:
    """Read up to `most` bytes of a file, or all for -1."""
    try:
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | _AT_ONCE)) as file:
            mode = os.fstat(file.fileno()).st_mode
            if most < 0 and stat.S_ISCHR(mode):
                raise OSError(EINVAL, "a device, which has no end")
            if stat.S_ISFIFO(mode) and _AT_ONCE:
                if not select.select([file], [], [], PATIENCE)[0]:
                    raise OSError(EINVAL, "a pipe that nobody writes to")
                os.set_blocking(file.fileno(), True)
            return file.read(most)
    except ValueError as error:  # a null character, or half of one: there is no such file
        raise FileNotFoundError(ENOENT, str(error)) from error


def entries(folder: str) -> list[tuple[str, bool]]:
    """List the readable entries of a folder: name, and whether it is one.

    Raises OSError if it cannot be read.
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
    """List the environment variables with a prefix, sorted."""
    return sorted((name, text) for name, text in os.environ.items() if name.startswith(prefix))


def stamp(path: str) -> Stamp | None:
    """Return time, size and inode number of a file; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def standard_input() -> bytes:
    """Read all of stdin."""
    return sys.stdin.buffer.read()
