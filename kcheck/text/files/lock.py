"""Lock a folder for one writing process. The system holds the lock, so that a killed process leaves none."""

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
"""Error codes of a lock that another process has; others mean that this disk has no locks."""


class LockedError(Exception):
    """Another process writes to the folder."""


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Lock an existing folder against other processes; without effect where there are no locks.

    Raises:
        LockedError: another process has it.
        OSError: the lock file cannot be written.
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
