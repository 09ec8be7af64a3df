"""Save files, all or none; or show the changes."""

import contextlib
import errno
import os
import stat
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from functools import cache
from typing import NamedTuple, TypeVar

from kcheck.text import deadline
from kcheck.text.control_characters import visible, visible_lines
from kcheck.text.errors import Error
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, leads_out
from kcheck.text.files.tree import display_path
from kcheck.text.regex import regex
from kcheck.text.text import leading

Line = TypeVar("Line", bound=Hashable)

_TEMPORARY = regex(r"\.kcheck-(\d{1,10})-\w{8}\.tmp")
"""Name of a file being written, with the number of its process."""


class File(NamedTuple):
    """A file to write: path on disk, displayed path, bytes before and after.

    A `fresh` one does not exist yet, a `gone` one is removed. Links in a repository are not followed out of it.
    """

    real: str
    path: str
    old: bytes
    new: bytes
    fresh: bool = False
    gone: bool = False


class SaveError(Error):
    """Files could not be written; the message says which, and which were."""


def save(files: Iterable[File]) -> None:
    """Replace files whose bytes have not changed.

    All are first written beside the old ones, so that an early failure changes nothing. Modes are kept. Missing folders
    of new files are created. Raises SaveError if a file is read-only, has changed since it was read, or cannot be
    written; the message lists the files that were written.
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
            written.append((file, "" if file.gone else _beside(file)))
        for file in wanted:
            _checked(file)
        for file, temporary in written:
            here = file.path
            if file.gone:
                os.unlink(file.real)
            else:
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
    """Refuse to write a file that is read-only or has changed since it was read.

    Raises SaveError if so, or if it cannot be read.
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
    """Create a folder and its missing parents, and add the new ones to `made`."""
    if folder and not os.path.isdir(folder):
        _make(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _beside(file: File) -> str:
    """Write the new bytes to a temporary file in the same folder."""
    status = None if file.fresh else os.stat(file.real)
    folder = os.path.dirname(file.real)
    _remove_stale(folder)
    temporary = os.path.join(folder, f".kcheck-{os.getpid()}-{os.urandom(4).hex()}.tmp")
    mode = 0o666 if status is None else 0o600  # nobody else may read it before it has the mode of the old file
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(file.new)
            new.flush()
            os.fsync(new.fileno())
        if status is None:
            return temporary
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        if hasattr(os, "chown") and (os.geteuid(), os.getegid()) != (status.st_uid, status.st_gid):
            with contextlib.suppress(OSError):  # only root may give files away
                os.chown(temporary, status.st_uid, status.st_gid)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


@cache
def _remove_stale(folder: str) -> None:
    """Remove files of killed runs from a folder, once."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or "."):
            match = _TEMPORARY.fullmatch(name)
            if match and not _is_running(int(match[1])):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _is_running(number: int) -> bool:
    """Whether another process with an id exists; assumed on Windows."""
    if os.name == "nt" or number == os.getpid():
        return number != os.getpid()
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def _settle(folder: str) -> None:
    """Sync a folder's names to disk, if the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copies(files: Iterable[File], folder: str) -> None:
    """Write the new bytes below another folder, or raise SaveError."""
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
    """Remove a file of an earlier run, or raise OSError."""
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


_BOM = "\ufeff"
_NAMED = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
"""Escapes that git uses for some bytes of a name."""


class Diff(NamedTuple):
    """Diff of a file; not `exact` if characters are escaped."""

    text: str
    exact: bool


def diff(file: File) -> Diff:
    """Make the diff of a file, for `git apply` unless a line is escaped."""
    path = display_path(system.real_path(file.real))  # without the links on the way, beyond which git changes nothing
    texts = (data.decode("utf-8", "surrogateescape").split("\n") for data in (file.old, file.new))
    found = _hunks(*([*_with_newlines(lines)] for lines in texts))
    wanted = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found]
    if not wanted:
        return Diff("", exact=True)
    shown = [_shown(line) for line in wanted]
    old = "/dev/null" if file.fresh else _name(f"a/{path}")
    new = "/dev/null" if file.gone else _name(f"b/{path}")
    return Diff("".join((f"--- {old}\n", f"+++ {new}\n", *shown)), exact=shown == wanted)


def _with_newlines(parts: list[str]) -> Iterator[str]:
    """Yield the lines with their newline; as for git, only a newline ends a line."""
    yield from (part + "\n" for part in parts[:-1])
    if parts[-1]:
        yield parts[-1]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a unified diff, with three lines around each change."""
    for steps in LineMatcher(old, new).get_grouped_opcodes():
        (_, start, _, to, _), (_, _, end, _, stop) = steps[0], steps[-1]
        yield f"@@ -{_range(start, end)} +{_range(to, stop)} @@\n"
        for kind, first, last, begin, until in steps:
            yield from (f"{' ' if kind == 'equal' else '-'}{line}" for line in old[first:last])
            yield from (f"+{line}" for line in new[begin:until] if kind != "equal")


def _range(start: int, end: int) -> str:
    """Format a range of lines as a hunk has it: the first line, and how many if not 1."""
    return f"{start + 1}" if end == start + 1 else f"{start + (end > start)},{end - start}"


_LONG = 2_000
"""Lines of a gap above which difflib ignores very frequent lines; all would take minutes."""


class LineMatcher(SequenceMatcher[Line]):
    """Matches lines that two texts have once, and with difflib those between.

    All by difflib takes a time that grows with the square of their number.
    """

    def __init__(self, old: Sequence[Line], new: Sequence[Line]) -> None:
        super().__init__(None, old, new)
        self.old, self.new = old, new

    def get_matching_blocks(self) -> list[Match]:
        """List the blocks of equal lines in order; the last one is empty."""
        head = leading(self.old, self.new)
        tail = leading(self.old[head:][::-1], self.new[head:][::-1])
        end, stop = len(self.old) - tail, len(self.new) - tail
        anchors = _anchors(self.old[head:end], self.new[head:stop])
        blocks, start, to = [Match(0, 0, head)], head, head
        for i, j, size in [*((head + i, head + j, 1) for i, j in anchors), (end, stop, tail)]:
            gap = SequenceMatcher(None, self.old[start:i], self.new[to:j], autojunk=i - start > _LONG)
            for own, other, count in [*gap.get_matching_blocks()[:-1], Match(i - start, j - to, size)]:
                last = blocks[-1]
                if (last.a + last.size, last.b + last.size) == (start + own, to + other):
                    blocks[-1] = last._replace(size=last.size + count)
                elif count:
                    blocks.append(Match(start + own, to + other, count))
            start, to = i + size, j + size
        return [*blocks, Match(len(self.old), len(self.new), 0)]


_Chain = tuple[int, int, "_Chain | None"]
"""Two places of a line, and the lines before it."""


def _anchors(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """List the places of lines that each text has once: the most in one order."""
    here, there = _once(old), _once(new)
    ends: list[int] = []
    chains: list[_Chain] = []
    for line, i in here.items():
        if line in there:
            at = bisect_left(ends, there[line])
            ends[at : at + 1] = [there[line]]
            chains[at : at + 1] = [(i, there[line], chains[at - 1] if at else None)]
    found, chain = [], chains[-1] if chains else None
    while chain is not None:
        i, j, chain = chain
        found.append((i, j))
    return found[::-1]


def _once(lines: Sequence[Line]) -> dict[Line, int]:
    counts = Counter(lines)
    return {line: i for i, line in enumerate(lines) if counts[line] == 1}


def _shown(line: str) -> str:
    """Escape a line of a diff, except a Windows line end and a byte-order mark."""
    mark = _BOM if line[1:2] == _BOM else ""
    end = "\r\n" if line.endswith("\r\n") else "\n"
    body = line[1 + len(mark) :].removesuffix(end)
    return f"{line[:1]}{mark}{visible_lines(f'{line[:1]}{body}')[1:]}{end}"


def _name(path: str) -> str:
    """Format a path like git, quoted if it has characters that act."""
    if visible(path) == path and not set('"\\') & set(path):
        return path
    hashes = path.replace("##", "#\0").encode("utf-8", "surrogateescape")
    return f'"{"".join(map(_byte, hashes))}"'


def _byte(byte: int) -> str:
    if byte == 0:
        return "\\043"
    return _NAMED.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
