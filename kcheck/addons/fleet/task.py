"""What a worker is asked, and what it answers."""

import msgspec
from msgspec import Struct

from kcheck.addons.fleet.tables import Rows
from kcheck.config.config import Environment

CHECKED, PARTLY, FAILED = "checked", "partly", "failed"
"""What becomes of a repository: judged, judged until its time was over, or not judged at all."""

SECONDS, MEMORY = 600.0, 4 * 1024**3
"""The time and the memory (bytes) that a repository may take, unless the user says otherwise."""


class Settings(Struct, frozen=True):
    """What the list of a fleet says about a repository, in place of its own settings; what is empty stays as it is.

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


class Bounds(Struct, frozen=True):
    """The seconds and the bytes of memory that the check of one repository may take."""

    seconds: float = SECONDS
    memory: int = MEMORY


class Task(Struct, frozen=True):
    """A repository to check, as of a `day` (empty: as the clock of its worker says)."""

    name: str
    folder: str
    settings: Settings = Settings()
    bounds: Bounds = Bounds()
    day: str = ""


class Outcome(Struct, frozen=True):
    """What became of a task. `rows` is None where it failed, or where it `is_unchanged`.

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


def failed(reason: str, *, can_retry: bool = False) -> Outcome:
    """Make the outcome of a task without a result; one that may have failed by chance can be retried."""
    return Outcome(FAILED, reason, can_retry=can_retry)


def encoded(outcome: Outcome) -> bytes:
    """Write an outcome as MessagePack. Half characters, which names of files may have, become escapes."""
    try:
        return msgspec.msgpack.encode(outcome)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(escaped(msgspec.to_builtins(outcome)))


def escaped(data: object) -> object:
    """Copy data of lists and dicts, with half characters of its text as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, list | tuple):
        return [escaped(item) for item in data]
    if isinstance(data, dict):
        return {escaped(key): escaped(item) for key, item in data.items()}
    return data
