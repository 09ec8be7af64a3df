"""Save files: all or none, each old or new at every moment."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text import deadline
from kcheck.text.errors import Error
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, leads_out
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

_TEMPORARY = regex(r"\.kcheck-(\d{1,10})-\w{8}\.tmp")
"""A file that is being written, by the number of its process."""


class File(NamedTuple):
    """A file to write: its path on disk, its shown path, its bytes before and after.

    A `fresh` one is not there yet. Links in a repository are not followed out of it.
    """

    real: str
    path: str
    old: bytes
    new: bytes
    fresh: bool = False


class SaveError(Error):
    """What could not be written, and what was."""


def save(files: Iterable[File]) -> None:
    """Replace files whose bytes have not changed. Readers see the old bytes or the new ones.

    All are written beside the old ones first, so that nothing has changed if anything fails until then. Modes are kept.
    New files get the folders that they need.

    Raises:
        SaveError: a file is read-only, has changed since it was read, or cannot be written; the message says what was.
    """
    deadline.stop()
    wanted = [_resolved(file) for file in files]
    for file in wanted:
        _checked(file)
    for folder in {os.path.dirname(file.real) for file in wanted}:
        _remove_stale(folder)
    written: list[tuple[File, str]] = []
    made: list[str] = []
    done, here = 0, ""
    try:
        for file in wanted:
            here = file.path
            _make(os.path.dirname(file.real), made)
            written.append((file, _beside(file)))
        for file in wanted:
            _checked(file)
        for file, temporary in written:
            here = file.path
            os.replace(temporary, file.real)
            done += 1
    except OSError as error:
        saved = ", ".join(file.path for file, _ in written[:done])
        raise SaveError(f"{f'only {saved}' if done else 'nothing'} written: {here}: {error.strerror}") from error
    finally:
        for _, temporary in written[done:]:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        for folder in reversed(made if done < len(wanted) else []):
            with contextlib.suppress(OSError):  # what holds a file that was written stays
                os.rmdir(folder)
    for folder in dict.fromkeys(os.path.dirname(file.real) for file in wanted):
        _settle(folder)


def _resolved(file: File) -> File:
    """Return a file by its real path.

    Raises:
        SaveError: a link leads there out of a repository.
    """
    try:
        _refuse_outside(file.real)
    except PermissionError as error:
        raise SaveError(f"nothing written: {file.path} leads out of the repository") from error
    return file._replace(real=os.path.realpath(file.real))


def _refuse_outside(path: str) -> None:
    """Refuse to follow a link that a stranger may have made.

    Raises:
        PermissionError: it leads out of the repository.
    """
    if leads_out(path):
        raise PermissionError(errno.EACCES, f"it is {REASON}", path)


def make_folder(path: str) -> None:
    """Make a folder with those above it, if it is not there.

    Raises:
        OSError: it cannot be made, or is a link out of the repository.
    """
    _refuse_outside(path)
    os.makedirs(path, exist_ok=True)


def _checked(file: File) -> None:
    """Refuse a file that is not what was read, or not to be written.

    Raises:
        SaveError: that is so.
    """
    if file.fresh:
        if os.path.lexists(file.real):
            raise SaveError(f"nothing written: {file.path} exists now; run again")
        return
    try:
        with open(file.real, "rb") as now:
            same = now.read() == file.old
    except OSError as error:
        raise SaveError(f"nothing written: {file.path}: {error.strerror}") from error
    if system.is_read_only(file.real):
        raise SaveError(f"nothing written: {file.path} is read-only")
    if not same:
        raise SaveError(f"nothing written: {file.path} has changed since it was read; run again")


def _make(folder: str, made: list[str]) -> None:
    """Create a folder and its parents if missing; created ones are added to a list."""
    if folder and not os.path.isdir(folder):
        _make(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _beside(file: File) -> str:
    """The new bytes in a temporary file of the same folder, on disk, with the mode of the old file."""
    status = None if file.fresh else os.stat(file.real)
    prefix = f".kcheck-{os.getpid()}-"
    handle, temporary = tempfile.mkstemp(".tmp", prefix, os.path.dirname(file.real))
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(file.new)
            new.flush()
            os.fsync(new.fileno())
        os.chmod(temporary, _usual_mode() if status is None else stat.S_IMODE(status.st_mode))
        if status is None:
            return temporary
        if hasattr(os, "chown") and (os.geteuid(), os.getegid()) != (status.st_uid, status.st_gid):
            with contextlib.suppress(OSError):  # only root may give files away
                os.chown(temporary, status.st_uid, status.st_gid)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


@cache
def _remove_stale(folder: str) -> None:
    """Remove what killed runs have left in a folder: once, before this run writes there, so none of it is its own."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or "."):
            match = _TEMPORARY.fullmatch(name)
            if match and not _is_running(int(match[1])):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _is_running(number: int) -> bool:
    """Whether there is another process of a number; Windows cannot be asked without harm."""
    if os.name == "nt" or number == os.getpid():
        return number != os.getpid()
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def _usual_mode() -> int:
    """The mode that this system gives to new files."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _settle(folder: str) -> None:
    """Have a folder's names on disk too, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copies(files: Iterable[File], folder: str) -> None:
    """Write the new bytes below another folder, at the same paths.

    Raises:
        SaveError: one cannot be written.
    """
    for file in files:
        target = os.path.join(folder, os.path.normpath(file.path).replace("..", "__").lstrip("/"))
        try:
            make_folder(os.path.dirname(target))
            write(target, file.new)
            if not file.fresh:
                os.chmod(target, stat.S_IMODE(os.stat(file.real).st_mode))
        except OSError as error:
            raise SaveError(f"{target}: {error.strerror}") from error


def write(path: str, data: bytes) -> None:
    """Write a file, new or not, whose readers see the old bytes or the new ones; a pipe is written to.

    A link in a repository is not followed out of it.

    Raises:
        OSError: it cannot be written.
    """
    real = os.path.realpath(path)
    _refuse_outside(path)
    if system.is_read_only(real):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    fresh = not os.path.exists(real)
    if fresh or os.path.isfile(real):
        try:
            _replace(File(real, path, b"", data, fresh))
        except OSError as error:
            if fresh or error.errno not in _NOT_REPLACED:
                raise
        else:
            return
    with open(real, "wb") as there:
        there.write(data)


def replace(file: str, place: str) -> None:
    """Move a finished file to its place, on the same disk: readers see what was there before, or all of it.

    Raises:
        OSError: it cannot be moved.
    """
    _refuse_outside(os.path.dirname(place) or ".")
    with open(file, "rb+") as finished:
        os.fsync(finished.fileno())
    os.replace(file, place)
    _settle(os.path.dirname(place))


def remove(path: str) -> None:
    """Remove a file that an earlier run has written, if it is there.

    Raises:
        OSError: it cannot be removed.
    """
    _refuse_outside(os.path.dirname(path) or ".")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


_NOT_REPLACED = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
"""Why a file that may be written to cannot be replaced: its folder may not be, or it is mounted by itself."""


def _replace(file: File) -> None:
    _remove_stale(os.path.dirname(file.real))
    temporary = _beside(file)
    try:
        os.replace(temporary, file.real)
    except BaseException:
        os.unlink(temporary)
        raise
