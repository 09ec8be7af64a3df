"""Save files: all or none, each with its old or its new bytes at every moment."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kcheck.text import deadline
from kcheck.text.errors import Error
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, leads_out
from kcheck.text.regex import regex

_TEMPORARY = regex(r"\.kcheck-(\d{1,10})-\w{8}\.tmp")
"""Name of a file being written, with the number of its process."""


class File(NamedTuple):
    """A file to write: path on disk, displayed path, bytes before and after.

    A `fresh` one does not exist yet. Links in a repository are not followed out of it.
    """

    real: str
    path: str
    old: bytes
    new: bytes
    fresh: bool = False


class SaveError(Error):
    """Files could not be written; the message says which, and which were."""


def save(files: Iterable[File]) -> None:
    """Replace files whose bytes have not changed. Readers see the old bytes or the new ones.

    All are first written beside the old ones, so that an early failure changes nothing. Modes are kept. Missing folders
    of new files are created. Raises SaveError if a file is read-only, has changed since it was read, or cannot be
    written; the message says what was.
    """
    deadline.stop()
    wanted = [_resolved(file) for file in files]
    for file in wanted:
        _checked(file)
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
    try:
        _refuse_outside(file.real)
    except PermissionError as error:
        raise SaveError(f"nothing written: {file.path} leads out of the repository") from error
    return file._replace(real=os.path.realpath(file.real))


def _refuse_outside(path: str) -> None:
    """Refuse to follow a link that a stranger may have made.

    Raises PermissionError if it leads out of the repository.
    """
    if leads_out(path):
        raise PermissionError(errno.EACCES, f"it is {REASON}", path)


def make_folder(path: str) -> None:
    """Create a folder and its parents if missing.

    Raises OSError if it cannot be created, or is a link out of the repository.
    """
    _refuse_outside(path)
    os.makedirs(path, exist_ok=True)


def _checked(file: File) -> None:
    """Refuse to write a file that is read-only or not as it was read.

    Raises SaveError if it is so, or it cannot be read.
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
    """Create a folder and its parents if missing, and add those to `made`."""
    if folder and not os.path.isdir(folder):
        _make(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _beside(file: File) -> str:
    """Write the new bytes to a temporary file in the same folder, synced, with the mode of the old file."""
    import tempfile  # with five modules more, a twentieth of checking one manifest

    status = None if file.fresh else os.stat(file.real)
    folder, prefix = os.path.dirname(file.real), f".kcheck-{os.getpid()}-"
    _remove_stale(folder)
    handle, temporary = tempfile.mkstemp(".tmp", prefix, folder)
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
    """Remove files of killed runs from a folder: only once, before this run writes there, so none is its own."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or "."):
            match = _TEMPORARY.fullmatch(name)
            if match and not _is_running(int(match[1])):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _is_running(number: int) -> bool:
    """Whether another process with a number exists; always assumed on Windows, where asking does harm."""
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
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _settle(folder: str) -> None:
    """Sync the names in a folder to disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copies(files: Iterable[File], folder: str) -> None:
    """Write the new bytes below another folder, at the same paths. Raises SaveError if one cannot be written."""
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
    """Write a file so that readers see the old bytes or the new ones.

    A pipe, or a file that cannot be replaced, is written in place. Links in a repository are not followed out of it.
    Raises OSError if it cannot be written.
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
    """Move a finished file to its place on the same disk, in one step for readers.

    Raises OSError if it cannot be moved.
    """
    _refuse_outside(os.path.dirname(place) or ".")
    with open(file, "rb+") as finished:
        os.fsync(finished.fileno())
    os.replace(file, place)
    _settle(os.path.dirname(place))


def remove(path: str) -> None:
    """Remove a file of an earlier run, if it exists. Raises OSError if it cannot be removed."""
    _refuse_outside(os.path.dirname(path) or ".")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


_NOT_REPLACED = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
"""Error codes of a writable file that cannot be replaced, because of its folder or because it is a mount."""


def _replace(file: File) -> None:
    temporary = _beside(file)
    try:
        os.replace(temporary, file.real)
    except BaseException:
        os.unlink(temporary)
        raise
