"""Tasks of workers and their outcomes, each kept in a file as soon as it is known.

A run that is killed leaves what it has found; the next one takes that over where nothing has changed.
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
    """Settings of a repository in the list, in place of its own where not empty.

    `roots` are the folders to be checked, all of them without any. `nodes` are written as for `--nodes`, `price` as for
    `--price`. Paths are relative to the top of the repository, but those of `rules` and `module_dirs`, which are the
    fleet's.
    """

    roots: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    price: str = ""
    var_files: tuple[str, ...] = ()
    environments: tuple[Environment, ...] = ()
    rules: tuple[str, ...] = ()
    module_dirs: tuple[str, ...] = ()


class Task(Struct, frozen=True):
    """Repository to check, with limits in seconds and bytes; `day` is empty for the worker's own."""

    name: str
    folder: str
    settings: Settings = Settings()
    seconds: float = 600.0
    memory: int = 4 * 1024**3
    day: str = ""


class Outcome(Struct, frozen=True):
    """Result of a task. `rows` is None where it failed, or where it `is_unchanged`.

    `seconds` and `cpu_seconds` are what its check took, `memory` the most bytes it had. `key` is that of what was
    checked; empty where the next run has to check it again.
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
    """There is nothing to check repositories with, or not any more."""


def failed(reason: str, *, can_retry: bool = False) -> Outcome:
    """Make the outcome of a task without a result; one that may have failed by chance can be retried."""
    return Outcome(FAILED, reason, can_retry=can_retry)


def encoded(data: object, encode: Callable[[object], bytes] = msgspec.msgpack.encode) -> bytes:
    """Write data as MessagePack or JSON. Half characters, which names of files may have, become escapes."""
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
    """The last outcomes below a folder, by the names of repositories."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "outcomes")
        save.make_folder(self._folder)

    def outcome(self, name: str) -> Outcome | None:
        """Read the last outcome; None if there is none, or one of another kcheck."""
        try:
            with open(self._path(name), "rb") as file:
                return msgspec.msgpack.decode(file.read(), type=Outcome)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, name: str, outcome: Outcome) -> None:
        """Keep an outcome in place of the one before: whoever reads sees the one or the other."""
        save.write(self._path(name), encoded(outcome))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{system.digest(name.encode('utf-8', 'surrogatepass'))}.msgpack")
