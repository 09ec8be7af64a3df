"""All that a run asks of the system: files, folders, links, variables, the day. Recorded answers can be compared."""

from __future__ import annotations

import os
import stat
import time
from errno import ENOENT

try:
    from _blake2 import blake2b  # hashlib brings OpenSSL, whose import takes half as long as starting Python: 8 ms
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")
    Stamp = tuple[int, int, int]


class Recording:
    """The questions of a run, each with its answer.

    What a run prints depends on its code, its arguments and these answers: where all are the same, so is the rest.
    `is_complete` says that it did nothing but ask and print.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], str] = {}
        self.is_complete = True

    def add(self, question: str, about: str, answer: str) -> None:
        """Note an answer; one question with two answers is a file that changed during the run."""
        if self.answers.setdefault((question, about), answer) != answer:
            self.is_complete = False


_recording: Recording | None = None


def record() -> Recording:
    """Record from here on what the run asks."""
    global _recording  # noqa: PLW0603 - a process is one run
    _recording = Recording()
    return _recording


def begin_part() -> None:
    """Record from here on what a forked process asks, for its parent, which does not see it."""
    if _recording is not None:
        record()


def part() -> Recording | None:
    """What a forked process has asked."""
    return _recording


def add_part(recorded: Recording | None) -> None:
    """Add what a forked process has asked to what this one has."""
    if _recording is None or recorded is None:
        return
    _recording.is_complete = _recording.is_complete and recorded.is_complete
    for (question, about), answer in recorded.answers.items():
        _recording.add(question, about, answer)


def stop_recording() -> None:
    """Record nothing from here on."""
    global _recording  # noqa: PLW0603 - a process is one run
    _recording = None


def cannot_repeat() -> None:
    """Say that this run does more than ask and print: it runs a program, writes a file, or draws a random number."""
    if _recording is not None:
        _recording.is_complete = False


def is_same(answers: Iterable[tuple[str, str, str]]) -> bool:
    """Whether every question has the answer again that it had."""
    return all(_QUESTIONS[question](about) == answer for question, about, answer in answers)


def digest(data: bytes) -> str:
    """A short text that other bytes do not have."""
    return blake2b(data, digest_size=20).hexdigest()


# --- files and folders


def exists(path: str) -> bool:
    """Whether there is anything at a path, links followed."""
    return _kind(path) != ""


def is_file(path: str) -> bool:
    """Whether there is a regular file, links followed."""
    return _kind(path) == "file"


def is_folder(path: str) -> bool:
    """Whether there is a folder, links followed."""
    return _kind(path) == "folder"


def is_link(path: str) -> bool:
    """Whether a path is a symbolic link."""
    return _asked("link", path, os.path.islink(path), _flag)


def is_read_only(path: str) -> bool:
    """Whether an existing file is read-only."""
    return _asked("read-only", path, _is_read_only(path), _flag)


def real_path(path: str) -> str:
    """The path with its links resolved; a text that no file can have for a path stays as it is."""
    return _asked("real path", path, _real_path(path), str)


def size(path: str) -> int | None:
    """The bytes of a regular file; None if there is none."""
    return _asked("size", path, _size(path), str)


def read(path: str) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    return _attempt("content", path, _read, digest)


def head(path: str, most: int) -> bytes:
    """The first bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    return _attempt("head", f"{most} {path}", _head, digest)


def entries(folder: str) -> list[tuple[str, bool]]:
    """The readable entries of a folder, sorted: the name, and whether it is a folder, links followed.

    Raises:
        OSError: it cannot be read.
    """
    return _attempt("entries", folder, _entries, _digest_of_entries)


# --- what changes while a run waits; no result depends on it, so it is not recorded


def stamp(path: str) -> Stamp | None:
    """What a file has another of when it was written again: its time, size and number; None if there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return _stamp(status) if stat.S_ISREG(status.st_mode) else None


def stamps(folder: str) -> list[tuple[str, Stamp | None]]:
    """The entries of a folder, each file with its stamp, each folder without; nothing of one that cannot be read."""
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


# --- what surrounds the run


def variable(name: str) -> str | None:
    """An environment variable; None if it is not set."""
    return _asked("variable", name, os.environ.get(name), repr)


def variables(prefix: str) -> list[tuple[str, str]]:
    """The environment variables whose names begin so, sorted."""
    return _asked("variables", prefix, _variables(prefix), repr)


def day() -> datetime.date:
    """Today in UTC."""
    import datetime

    return datetime.date.fromisoformat(_asked("day", "", _day(), str))


def has_come(day: datetime.date) -> bool:
    """Whether a day has come, in UTC: the answer changes once, that of `day` every day."""
    text = day.isoformat()
    return _asked("has come", text, _has_come(text), _flag)


def days_since(day: datetime.date, marks: Iterable[int]) -> int:
    """Days since a day in UTC, that day too; recorded is only whether they are more than each of some marks."""
    import datetime

    for mark in marks:
        has_come(day + datetime.timedelta(days=mark))
    return (datetime.date.fromisoformat(_day()) - day).days + 1


# --- asking


def _asked(question: str, about: str, answer: T, text: Callable[[T], str]) -> T:
    if _recording is not None:
        _recording.add(question, about, text(answer))
    return answer


def _attempt(question: str, about: str, action: Callable[[str], T], text: Callable[[T], str]) -> T:
    """Ask what may fail; a failure is an answer, too."""
    try:
        answer = _tried(action, about)
    except OSError as error:
        if _recording is not None:
            _recording.add(question, about, _failure(error))
        raise
    if _recording is not None:
        _recording.add(question, about, text(answer))
    return answer


def _again(action: Callable[[str], T], text: Callable[[T], str]) -> Callable[[str], str]:
    """The answer to a question, a failure included, as text."""

    def ask(about: str) -> str:
        try:
            return text(_tried(action, about))
        except OSError as error:
            return _failure(error)

    return ask


def _tried(action: Callable[[str], T], path: str) -> T:
    try:
        return action(path)
    except ValueError as error:  # a null character, or half of one: there is no such file
        raise FileNotFoundError(ENOENT, str(error)) from error


def _failure(error: OSError) -> str:
    return f"{type(error).__name__} {error.errno}"


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _kind(path: str) -> str:
    return _asked("kind", path, _kind_of(path), str)


def _kind_of(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # a null character, or half of one
        return os.path.abspath(path)


def _is_read_only(path: str) -> bool:
    return os.path.exists(path) and not (os.stat(path).st_mode & stat.S_IWUSR and os.access(path, os.W_OK))


def _size(path: str) -> int | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _head(about: str) -> bytes:
    most, _, path = about.partition(" ")
    with open(path, "rb") as file:
        return file.read(int(most))


def _entries(folder: str) -> list[tuple[str, bool]]:
    found = []
    with os.scandir(folder) as listed:
        for entry in listed:
            try:
                found.append((entry.name, entry.is_dir()))
            except OSError:
                continue
    return sorted(found)


def _variables(prefix: str) -> list[tuple[str, str]]:
    return sorted((name, text) for name, text in os.environ.items() if name.startswith(prefix))


def _day() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def _has_come(day: str) -> bool:
    return _day() >= day


def _flag(value: bool) -> str:
    return "yes" if value else "no"


def _digest_of_entries(found: list[tuple[str, bool]]) -> str:
    text = "".join(f"{name}/{is_folder:d}/" for name, is_folder in found)
    return digest(text.encode("utf-8", "surrogatepass"))


_QUESTIONS: dict[str, Callable[[str], str]] = {
    "kind": _kind_of,
    "link": _again(os.path.islink, _flag),
    "read-only": _again(_is_read_only, _flag),
    "real path": _again(_real_path, str),
    "size": _again(_size, str),
    "content": _again(_read, digest),
    "head": _again(_head, digest),
    "entries": _again(_entries, _digest_of_entries),
    "variable": _again(os.environ.get, repr),
    "variables": _again(_variables, repr),
    "day": lambda _: _day(),
    "has come": lambda day: _flag(_has_come(day)),
}
"""How each question is asked again: the answer as text."""
