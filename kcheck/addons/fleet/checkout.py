"""Keys of checkouts, which change with every input of a check."""

import errno
import os
import stat
from collections.abc import Iterable
from functools import cache

from kcheck import __version__
from kcheck.addons.fleet.listing import Repository
from kcheck.terraform.copies import remote
from kcheck.text.bundled import PACKAGE, PROFILES, RULES
from kcheck.text.files import folders, system
from kcheck.text.files.disk import MAX_BYTES

_GIT = ".git"
_MOST_ENTRIES, _MOST_BYTES = 200_000, 2_000_000_000
"""Of a checkout with a key: one that has more is checked each time."""
_HEAD = 65_536
"""So much counts of a file that is too large to be read: what it is shows there."""


class Keys:
    """Keys of repositories on one day; what all repositories share is read once."""

    def __init__(self, day: str) -> None:
        self._common = [code(), day, *(f"{name}={text}" for name, text in system.variables("TF_VAR_"))]
        self._of_shared = cache(_digest_of)

    def of(self, one: Repository) -> str:
        """Return the key of a repository; empty if it is too large or missing."""
        name = os.path.basename(system.real_path(one.folder))  # modules may be known by it
        try:
            shared = map(self._of_shared, (*one.settings.rules, *one.settings.module_dirs))
            return _digest([*self._common, name, repr(one.settings), *shared, _digest_of(one.folder)])
        except OSError:
            return ""


@cache
def code() -> str:
    """Return a digest of this kcheck, its rules and its numbers."""
    return _digest([__version__, *map(_digest_of, (PACKAGE, RULES, PROFILES))])


def _digest_of(top: str) -> str:
    """Return a digest of a file, or of all readable files below a folder.

    Raises OSError if it is missing, unreadable or too large.
    """
    if os.path.isfile(top):
        return system.digest(system.read(top))
    os.scandir(top).close()
    found: list[str] = []
    size = 0
    for folder, inner, files in os.walk(top):
        below = os.path.relpath(folder, top)
        inner[:] = [name for name in inner if name == _GIT or folders.may_be_read(os.path.join(below, name))]
        for name in (*inner, *files):
            content, read = _content(os.path.join(folder, name), name)
            found.append(f"{os.path.join(below, name)}\0{content}")
            size += read
            if len(found) > _MOST_ENTRIES or size > _MOST_BYTES:
                raise OSError(errno.EFBIG, "the checkout is too large for a key", top)
        inner[:] = [name for name in inner if name != _GIT]
    return _digest(sorted(found))


def _content(path: str, name: str) -> tuple[str, int]:
    """Return an entry's kind and content with the number of bytes read."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return f"link {os.readlink(path)}", 0
        if stat.S_ISDIR(status.st_mode) or name == _GIT:  # the file of a work tree says where it lies
            return f"folder {remote(os.path.dirname(path)) if name == _GIT else ''}", 0
        if stat.S_ISREG(status.st_mode):
            data = system.head(path, -1 if status.st_size <= MAX_BYTES else _HEAD)
            return f"file {status.st_size} {system.digest(data)}", len(data)
    except OSError as error:
        return f"unreadable {error.errno}", 0
    return "other", 0


def _digest(texts: Iterable[str]) -> str:
    return system.digest("\0\0".join(texts).encode("utf-8", "surrogatepass"))
