"""Save files: all or none, each old or new at every moment; or print them as a diff."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from difflib import unified_diff
from typing import TYPE_CHECKING, NamedTuple

from kcheck.files import system
from kcheck.files.tree import display_path
from kcheck.source import deadline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class File(NamedTuple):
    """A file to write: its real path, its shown path, its bytes before and after.

    A `fresh` one is not there yet.
    """

    real: str
    path: str
    old: bytes
    new: bytes
    fresh: bool = False


class SaveError(Exception):
    """What could not be written, and what was."""


def save(files: Iterable[File]) -> None:
    """Replace files whose bytes have not changed. Readers see the old bytes or the new ones.

    All are written beside the old ones first, so that nothing has changed if anything fails until then. Modes are kept.
    New files get the folders that they need.

    Raises:
        SaveError: a file is read-only, has changed since it was read, or cannot be written; the message says what was.
    """
    system.cannot_repeat()
    deadline.stop()
    wanted = list(files)
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
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(file.real), prefix=".kcheck-")
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
    system.cannot_repeat()
    for file in files:
        target = os.path.join(folder, os.path.normpath(file.path).replace("..", "__").lstrip("/"))
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as new:
                new.write(file.new)
            if not file.fresh:
                os.chmod(target, stat.S_IMODE(os.stat(file.real).st_mode))
        except OSError as error:
            raise SaveError(f"{target}: {error.strerror}") from error


def diff(file: File) -> bytes:
    """A unified diff that `git apply` takes, byte for byte."""
    path = display_path(file.real)  # without the links on the way, beyond which git changes nothing
    before = file.old.decode("utf-8", "surrogateescape").split("\n")
    after = file.new.decode("utf-8", "surrogateescape").split("\n")
    name = "/dev/null" if file.fresh else f"a/{path}"
    lines = unified_diff(list(_lines(before)), list(_lines(after)), name, f"b/{path}", lineterm="\n")
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return text.encode("utf-8", "surrogateescape")


def _lines(parts: list[str]) -> Iterator[str]:
    """The lines with their newline; only a newline ends a line, as for git."""
    yield from (part + "\n" for part in parts[:-1])
    if parts[-1]:
        yield parts[-1]
