"""What a command printed, printed again while all that it read is the same.

A result is a function of the command line, the code, and the answers of the system. The first names the file of a
stored result; the others are in it, and are asked for again: content is read and compared, its times are not trusted.
"""

from __future__ import annotations

import io
import os
import sys

from kcheck import __version__
from kcheck.text.bundled import PROFILES, RULES
from kcheck.text.files import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO, TypeAlias

    from _typeshed import ReadableBuffer

    Printed: TypeAlias = list[tuple[str, bytes]]
    Result: TypeAlias = tuple[str, int, list[tuple[str, str, str]], Printed]
    """The code, the exit status, the answers that both depend on, and what was printed, in order."""

OFF = "--no-cache"
VARIABLE = "KCHECK_CACHE_DIR"
"""Another folder for results; empty: none."""
MOST_BYTES = 64 * 1024 * 1024
"""All results together; the oldest go."""
_PREFIX = "kcheck-result-"
"""How the files of results are called: a folder that somebody names may hold others."""
_STATUSES = (0, 1)
"""Those of a result; others are of a mistake of the user, or of kcheck."""


def run(arguments: list[str], is_answered: Callable[[list[str]], bool], command: Callable[[list[str]], None]) -> None:
    """Run a command, unless it is answered at once, or print what it printed before. Leaves with its exit status."""
    folder, streams = _folder(), _streams()
    name = _file_name(arguments) if OFF not in arguments and folder and streams else ""
    if not name:
        return None if is_answered(arguments) else command(arguments)
    path = os.path.join(folder, name)
    stored, code = _load(path), ""
    if stored is not None:
        code, (code_then, status, answers, printed) = _code(), stored
        if code == code_then and system.is_same(answers):
            _print(printed)
            sys.exit(status)

    def ask_or_run() -> None:
        nonlocal code
        if not is_answered(arguments):
            code = code or _code()
            command(arguments)

    recording = system.record()
    try:
        status, printed = _recorded(ask_or_run, streams)
    finally:
        system.stop_recording()
    is_sure = recording.is_result and recording.is_complete and status in _STATUSES
    if is_sure and code and _code() == code:  # nobody changed it meanwhile
        answers = [(question, about, answer) for (question, about), answer in recording.answers.items()]
        _store(path, (code, status, answers, printed))
    sys.exit(status)


def unrecorded(stream: TextIO) -> TextIO:
    """The stream itself, for what is no part of the result."""
    buffer = getattr(stream, "buffer", None)
    return buffer.original if isinstance(buffer, _Copy) else stream


# --- which result


def _file_name(arguments: list[str]) -> str:
    """The name of a result, from all that is known before anything is read; empty in a folder that is gone."""
    try:
        folder = os.getcwd()
    except OSError:
        return ""
    streams = [(stream.isatty(), stream.encoding) for stream in (sys.stdout, sys.stderr)]
    known = (__version__, sys.version, list(_libraries()), sys.getfilesystemencoding(), streams, folder, arguments)
    return _PREFIX + system.digest(repr(known).encode())


def _code() -> str:
    """What tells this kcheck, with its rules and numbers, from an edited one; empty if its files cannot be listed.

    By names, sizes and times: 830 files, 4 ms. That is why nothing asks where there is nothing to check.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    todo = [package, *(folder for folder in (RULES, PROFILES) if not folder.startswith(package))]
    found = []
    try:
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if not entry.is_dir():
                        status = entry.stat()
                        found.append((entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                    elif entry.name != "__pycache__":
                        todo.append(entry.path)
    except OSError:
        return ""
    return system.digest(repr(sorted(found)).encode())


def _libraries() -> Iterator[str]:
    """Where modules are imported from, and the installed distributions, whose names have their versions."""
    for folder in sys.path:
        yield folder
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        yield from sorted(name for name in names if name.endswith("-info"))


# --- what is printed


class _Copy(io.BufferedIOBase):
    """Passes on what is written to a stream, and keeps it."""

    def __init__(self, original: io.TextIOWrapper, name: str, printed: Printed) -> None:
        self.original = original
        self.name = name
        self._printed = printed

    def write(self, data: ReadableBuffer, /) -> int:
        printed = bytes(data)
        self._printed.append((self.name, printed))
        try:
            self.original.buffer.write(printed)
        except OSError:  # the reader of a pipe has left: what is not printed is not stored
            system.cannot_repeat()
            raise
        return len(printed)

    def flush(self) -> None:
        try:
            self.original.buffer.flush()
        except OSError:
            system.cannot_repeat()
            raise

    def isatty(self) -> bool:
        return self.original.isatty()

    def fileno(self) -> int:
        return self.original.fileno()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True


def _streams() -> dict[str, io.TextIOWrapper]:
    """The streams that are printed to, by name; none if what is printed cannot be seen."""
    found = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    if not all(isinstance(stream, io.TextIOWrapper) for stream in found.values()):
        return {}
    if os.name == "nt" and any(stream.isatty() for stream in found.values()):  # click writes to the console itself
        return {}
    return found


def _recorded(command: Callable[[], None], streams: dict[str, io.TextIOWrapper]) -> tuple[int, Printed]:
    """The exit status of a command, and what it printed."""
    printed: Printed = []
    for name, stream in streams.items():
        stream.flush()
        copy = io.TextIOWrapper(_Copy(stream, name, printed), stream.encoding, stream.errors, write_through=True)
        setattr(sys, name, copy)
    try:
        command()
    except SystemExit as stop:
        return (stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 2), printed
    finally:
        for name, stream in streams.items():
            setattr(sys, name, stream)
    return 0, printed


def _print(printed: Printed) -> None:
    try:
        for name, data in printed:
            stream = getattr(sys, name).buffer
            stream.write(data)
            stream.flush()
    except BrokenPipeError:  # as click does: nothing more is printed, not even at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


# --- where results are


def _folder() -> str:
    """The folder of stored results: the user's own, never one of the repository, which others write; empty if none."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return named
    if os.name == "nt":
        above = os.environ.get("LOCALAPPDATA") or ""
    elif sys.platform == "darwin":
        above = os.path.expanduser("~/Library/Caches")
    else:
        above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(above, "kcheck") if os.path.isabs(above) else ""


def _load(path: str) -> Result | None:
    """A stored result; None if there is none that is whole."""
    try:
        with open(path, "rb") as file:
            checksum, _, body = file.read(MOST_BYTES).partition(b"\n")
    except OSError:
        return None
    if checksum != system.digest(body).encode():
        return None
    size, _, rest = body.partition(b"\n")
    code, status, count, *fields = rest[: int(size)].decode("utf-8", "surrogatepass").split("\0")
    at, printed = int(size), []
    end = 2 * int(count)
    for name, length in zip(fields[:end:2], fields[1:end:2], strict=True):
        printed.append((name, rest[at : at + int(length)]))
        at += int(length)
    answers = iter(fields[end:])
    return code, int(status), list(zip(answers, answers, answers, strict=True)), printed


def _store(path: str, result: Result) -> None:
    """Store a result: readers see all of it or the one before. Where nothing can be written, nothing is."""
    code, status, answers, printed = result
    fields = [code, str(status), str(len(printed))]
    for name, data in printed:
        fields += [name, str(len(data))]
    for answer in answers:
        fields += answer
    head = "\0".join(fields).encode("utf-8", "surrogatepass")
    body = b"%d\n" % len(head) + head + b"".join(data for _, data in printed)
    data = system.digest(body).encode() + b"\n" + body
    if len(data) > MOST_BYTES // 4:
        return
    from tempfile import mkstemp

    from kcheck.text.files.boundary import leads_out

    folder = os.path.dirname(path)
    if leads_out(folder):
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, temporary = mkstemp(dir=folder, prefix=_PREFIX)  # of mode 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        _make_room(folder)
    except OSError:
        return


def _make_room(folder: str) -> None:
    """Delete the oldest results where all are too large."""
    with os.scandir(folder) as entries:
        own = [entry for entry in entries if entry.name.startswith(_PREFIX)]
        found = [(status.st_mtime_ns, status.st_size, entry.path) for entry in own for status in (entry.stat(),)]
    left = sum(size for _, size, _ in found) - MOST_BYTES
    for _, size, path in sorted(found):
        if left <= 0:
            return
        os.unlink(path)
        left -= size
