"""Wait for file changes by polling, which works on every system and file system."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from kcheck.text.files import folders, system
from kcheck.text.files.boundary import around

_PAUSE = 0.3
"""Seconds between two polls."""
_SHARE = 20
"""Polling takes at most this fraction (1/20) of the time."""
_SETTLED = 0.15
"""Seconds without a change after which writing is done: editors and git write several times."""
_LONGEST = 5.0
"""Seconds after which changes are reported even if writing goes on."""

Stamps = dict[str, "system.Stamp"]


class Watcher:
    """Stamps of the files below some paths, and of some other files."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._boundary = around(paths)
        self._others: tuple[str, ...] = ()
        self._pause = _PAUSE
        self._visited: set[str] = set()
        self._seen = self._look()

    def watch_others(self, paths: Iterable[str]) -> None:
        """Set the other files to watch from now on."""
        self._others = tuple(paths)
        self._boundary = around(self._paths).widened(self._others)
        for path in self._others:
            found: Stamps = {}
            self._add(path, found, set())
            for name, stamp in found.items():
                # where a folder was looked at, a file that was not there is new
                if system.real_path(os.path.dirname(name) or ".") not in self._visited:
                    self._seen.setdefault(name, stamp)

    def wait(self) -> list[str]:
        """Wait for changes and until they stop; return the changed paths."""
        before = self._seen
        while (now := self._look()) == before:
            time.sleep(self._pause)
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            time.sleep(_SETTLED)
            last, now = now, self._look()
            if last == now:
                break
        self._seen = now
        return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))

    def _look(self) -> Stamps:
        begin = time.monotonic()
        found: Stamps = {}
        self._visited = set()
        for path in (*self._paths, *self._others):
            self._add(path, found, self._visited)
        self._pause = max(_PAUSE, (time.monotonic() - begin) * _SHARE)
        return found

    def _add(self, top: str, found: Stamps, visited: set[str]) -> None:
        """Add a file, or the files of a folder; links are followed, each folder once."""
        todo = [top]
        while todo:
            path = todo.pop()
            if (stamp := system.stamp(path)) is not None:
                found[os.path.normpath(path)] = stamp
                continue
            real = system.real_path(path)
            if real in visited or not self._boundary.holds(real):
                continue
            visited.add(real)
            with suppress(OSError):  # it is gone, or no folder
                inner = system.entries(path)
                todo += [
                    os.path.join(path, name) for name, is_folder in inner if not is_folder or folders.is_ours(name)
                ]
