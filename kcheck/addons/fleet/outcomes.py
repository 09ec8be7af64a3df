"""Tasks of workers and their outcomes, each saved as soon as it is known.

If a run is killed, the next one reuses its outcomes where nothing has changed.
"""

import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from kcheck.addons.fleet.tables import Rows
from kcheck.config.config import ConfigError, Environment
from kcheck.text.files import save, system

CHECKED, PARTLY, FAILED = "checked", "partly", "failed"
"""Status of a repository: judged, judged until its time was over, or not judged at all."""


class Settings(Struct, frozen=True):
    """Settings of a repository in the list; they replace the repository's own.

    `roots` are the folders to check, all if empty. `nodes` are written as for `--nodes`, `price` as for `--price`.
    Paths are relative to the top of the repository, except `rules` and `module_dirs`, which belong to the fleet.
    """

    roots: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    price: str = ""
    var_files: tuple[str, ...] = ()
    environments: tuple[Environment, ...] = ()
    rules: tuple[str, ...] = ()
    module_dirs: tuple[str, ...] = ()


class Task(Struct, frozen=True):
    """Repository to check, with limits in seconds and bytes."""

    name: str
    folder: str
    settings: Settings = Settings()
    seconds: float = 600.0
    memory: int = 4 * 1024**3
    day: str = ""


class Outcome(Struct, frozen=True):
    """Result of a task. `rows` is None if it failed, or if it `is_unchanged`.

    `seconds` and `cpu_seconds` are the duration of the check, `memory` its peak in bytes. `key` identifies the checked
    state; empty if the next run has to check it again.
    """

    status: str
    reason: str = ""
    rows: Rows | None = None
    key: str = ""
    is_unchanged: bool = False
    can_retry: bool = False
    revision: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
    files: int = 0


class EngineError(ConfigError):
    """There is no engine to check repositories with, or it stopped."""


def failed(reason: str, *, can_retry: bool = False) -> Outcome:
    """Make the outcome of a failed task; a random failure can be retried."""
    return Outcome(FAILED, reason, can_retry=can_retry)


def encoded(data: object, encode: Callable[[object], bytes] = msgspec.msgpack.encode) -> bytes:
    """Encode data as MessagePack or JSON, with lone surrogates escaped."""
    try:
        return encode(data)
    except UnicodeEncodeError:
        return encode(_escaped(msgspec.to_builtins(data)))


def _escaped(data: object) -> object:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, list | tuple):
        return [_escaped(item) for item in data]
    if isinstance(data, dict):
        return {_escaped(key): _escaped(item) for key, item in data.items()}
    return data


class Kept:
    """Last outcomes in a folder, by the names of repositories."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "outcomes")
        save.make_folder(self._folder)

    def outcome(self, name: str) -> Outcome | None:
        """Read the last outcome; None if there is none, or it is of another kcheck."""
        try:
            with open(self._path(name), "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=Outcome)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, name: str, outcome: Outcome) -> None:
        """Replace the last outcome atomically: readers see the old one or the new one."""
        save.write(self._path(name), encoded(outcome))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{system.digest(name.encode('utf-8', 'surrogatepass'))}.msgpack")
