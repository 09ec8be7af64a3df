"""What became of each repository when it was last checked: a file each, written as soon as it is known.

A run that is killed leaves what it has found; the next one takes that over where nothing has changed.
"""

from __future__ import annotations

import os
from typing import TypeVar

import msgspec

from kcheck.addons.fleet.tables import Found, Uses
from kcheck.addons.fleet.task import Outcome, encoded
from kcheck.text.files import save, system

_T = TypeVar("_T")


class _Time(msgspec.Struct):
    seconds: float = 0.0


class _Key(msgspec.Struct):
    key: str = ""


class Kept:
    """The outcomes below a folder, by the names of repositories."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "outcomes")
        save.make_folder(self._folder)

    def seconds(self, name: str) -> float | None:
        """How long the last check took; None if there was none."""
        found = self._read(name, _Time)
        return found.seconds if found is not None else None

    def key(self, name: str) -> str:
        """Return the key of what was last checked; empty if it has to be checked again."""
        found = self._read(name, _Key)
        return found.key if found is not None else ""

    def outcome(self, name: str) -> Outcome | None:
        """The last outcome."""
        return self._read(name, Outcome)

    def uses(self, name: str) -> Uses | None:
        """What the clusters of the last outcome take of limits that they share."""
        found = self._read(name, Found)
        return found.rows if found is not None else None

    def keep(self, name: str, outcome: Outcome) -> None:
        """Keep an outcome in place of the one before: whoever reads sees the one or the other."""
        save.write(self._path(name), encoded(outcome))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{system.digest(name.encode('utf-8', 'surrogatepass'))}.msgpack")

    def _read(self, name: str, kind: type[_T]) -> _T | None:
        try:
            with open(self._path(name), "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=kind)
        except (OSError, msgspec.MsgspecError):  # there is none, or it is of another kcheck
            return None
