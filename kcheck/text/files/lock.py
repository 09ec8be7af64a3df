"""A folder that one process at a time writes to. The system holds the lock, so that a killed process leaves none."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = ".lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
"""What the system says of a lock that another process has; anything else says that there are none on this disk."""


class LockedError(Exception):
    """Another process writes to the folder."""


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Keep other processes from a folder, which exists, until the end; nobody is kept out where there are no locks.

    Raises:
        LockedError: another process has it.
        OSError: the file of the lock cannot be written.
    """
    handle = os.open(os.path.join(folder, _NAME), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    try:
        try:
            _take(handle)
        except OSError as error:
            if error.errno in _TAKEN:
                raise LockedError from error
        yield
    finally:
        os.close(handle)  # which gives it back


if sys.platform == "win32":

    def _take(handle: int) -> None:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:

    def _take(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
