"""A repository as one archive, for workers that do not see its folder: what kcheck may read of it, and nothing else.

The same files give the same bytes, wherever and whenever they are packed.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zlib
from typing import TYPE_CHECKING

from kcheck.addons.fleet.revision import revision
from kcheck.terraform.copies import CONFIG, origin
from kcheck.text.files import folders, system
from kcheck.text.files.disk import MAX_BYTES
from kcheck.text.units import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 100_000_000
"""Of an archive as it is sent."""
MOST_UNPACKED = 1_000_000_000
MOST_ENTRIES = 100_000
_HEAD = 65_536
"""So much is packed of a file that is too large to be read: what it is shows there."""
_SIZE = "KCHECK.size"
"""The size of such a file."""
_NAMES = "surrogateescape"
"""Names are bytes for the system, and UTF-8 for most."""
_LEVEL = 1  # twice as fast as the default, for a tenth more bytes
_GIT = ".git"


class ArchiveError(Exception):
    """What cannot be packed, or not be unpacked."""


def packed() -> bytes:
    """The archive of the repository in the current folder.

    Folders that nothing reads are packed without their content, and so is git's, but for the commit and the origin.
    A link that leads out of the repository leads nowhere in the archive.

    Raises:
        ArchiveError: it has too much.
    """
    data = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", _LEVEL, data, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, errors=_NAMES) as tar,
    ):
        for number, (info, content) in enumerate(_members()):
            tar.addfile(info, io.BytesIO(content))
            if number > MOST_ENTRIES:
                raise ArchiveError(f"it has more than {MOST_ENTRIES:,} files and folders, too many for --pack")
            _bound(data.tell(), tar.offset)
    _bound(data.tell(), 0)
    return data.getvalue()


def _bound(packed_bytes: int, unpacked: int) -> None:
    """Refuse an archive that has too much.

    Raises:
        ArchiveError: it has.
    """
    if packed_bytes > MOST_BYTES or unpacked > MOST_UNPACKED:
        most = f"{MOST_UNPACKED // 10**6:,} MB, or {MOST_BYTES // 10**6:,} MB compressed"
        raise ArchiveError(f"its files have more than {most}, too much for --pack")


def _members() -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """What the current folder has, each folder before its content."""
    top, todo = os.path.realpath("."), [""]
    while todo:
        folder = todo.pop()
        inner = []
        for entry in _entries(folder or "."):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                yield _link(path, top), b""
            elif entry.is_dir():
                yield _info(path, tarfile.DIRTYPE), b""
                if path == _GIT:
                    yield from _of_git()
                elif folders.may_be_read(path):
                    inner.append(path)
            elif entry.is_file():
                yield _file(path) if entry.name != _GIT else (_info(path, tarfile.REGTYPE), b"")
        todo += reversed(inner)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:  # kcheck does not read it, either
        return []


def _info(path: str, kind: bytes, mode: int = 0o755) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.type, info.mode = kind, mode
    return info


def _of_git() -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """The commit that is checked out, and where it came from; git's settings have passwords besides."""
    try:
        address = origin(system.head(f"{_GIT}/config", CONFIG))
    except OSError:
        address = None
    url = f'[remote "origin"]\nurl = https://{address.host}/{address.path}\n' if address is not None else ""
    for name, text in (("HEAD", revision()), ("config", url)):
        if text:
            content = text.encode("utf-8", "replace")
            info = _info(f"{_GIT}/{name}", tarfile.REGTYPE)
            info.size = len(content)
            yield info, content


def _file(path: str) -> tuple[tarfile.TarInfo, bytes]:
    """A regular file; one that cannot be read can be read nowhere."""
    info = _info(path, tarfile.REGTYPE, 0o644)
    try:
        with open(path, "rb", opener=_opened) as file:
            status = os.fstat(file.fileno())
            is_large = status.st_size > MAX_BYTES
            content = file.read(_HEAD if is_large else MAX_BYTES) if stat.S_ISREG(status.st_mode) else b""
    except OSError:
        info.mode = 0
        return info, b""
    if is_large:
        info.pax_headers = {_SIZE: str(status.st_size)}
    info.size = len(content)
    return info, content


def _opened(path: str, flags: int) -> int:
    """A file that is what it was when its folder was listed: no link, and no pipe that would be waited for."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _link(path: str, top: str) -> tarfile.TarInfo:
    """A link to what it leads to in the end; to itself, which is nothing, where that is outside."""
    info = _info(path, tarfile.SYMTYPE, 0o777)
    real = os.path.realpath(path)
    info.linkname = os.path.basename(path)
    if _is_inside(real, top):
        info.linkname = os.path.relpath(real, os.path.realpath(os.path.dirname(path))).replace(os.sep, "/")
    return info


def _is_inside(real: str, top: str) -> bool:
    return os.path.join(real, "").startswith(os.path.join(top, ""))


# --- where it is checked


def unpack(data: bytes, folder: str) -> None:
    """Unpack an archive into an empty folder: regular files, folders, and links that stay in it.

    Raises:
        ArchiveError: it has anything else, or too much.
        OSError: a file cannot be written.
    """
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(data)) as stream,
            tarfile.open(fileobj=_Bounded(stream), mode="r|", bufsize=1 << 20, errors=_NAMES) as tar,
        ):
            _unpack(tar, os.path.realpath(folder))
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        raise ArchiveError(f"its archive cannot be unpacked: {error}") from error


class _Bounded(io.BytesIO):
    """A stream that ends with an error after so many bytes as an archive may have, however small it is compressed."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        super().__init__()
        self._stream, self._left = stream, MOST_UNPACKED + (1 << 20)

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes.

        Raises:
            ArchiveError: there were too many.
        """
        part = self._stream.read(size if size is not None and size >= 0 else self._left)
        self._left -= len(part)
        if self._left < 0:
            raise ArchiveError(f"its archive has more than {MOST_UNPACKED:,} bytes")
        return part


def _unpack(tar: tarfile.TarFile, top: str) -> None:
    links = []
    for number, info in enumerate(tar):
        if number > MOST_ENTRIES:
            raise ArchiveError(f"its archive has more than {MOST_ENTRIES:,} entries")
        vars(tar)["members"] = []  # it would remember them all
        path = os.path.join(top, *_steps(info.name))
        if info.type == tarfile.DIRTYPE:
            os.mkdir(path)
        elif info.type == tarfile.SYMTYPE:
            links.append((path, info.linkname))
        elif info.type == tarfile.REGTYPE and info.sparse is None:
            _write(tar, info, path)
        else:
            raise ArchiveError(f"its archive has {info.name}, which is no file, folder or link")
    for path, target in links:  # nothing is written through one
        os.symlink(target, path)
    for path, target in links:
        if not _is_inside(os.path.realpath(path), top):
            raise ArchiveError(f"its archive has a link that leads out of it, to {target}")


def _steps(name: str) -> list[str]:
    """The folders and the name of an entry.

    Raises:
        ArchiveError: they may lead out of the folder.
    """
    steps = name.split("/")
    if any(step in ("", ".", "..") or os.path.basename(step) != step or os.path.splitdrive(step)[0] for step in steps):
        raise ArchiveError(f"its archive has {name}, which is no path in it")
    return steps


def _write(tar: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> None:
    content = tar.extractfile(info)
    with open(path, "xb") as file:
        if content is not None:
            while part := content.read(1 << 20):
                file.write(part)
        size = whole_number(info.pax_headers.get(_SIZE, ""))
        if size is not None:
            file.truncate(size)  # the rest takes no room
    if not info.mode:
        os.chmod(path, 0)
