"""What a worker is asked, and what it answers. Both travel as MessagePack, between processes and between machines."""

import msgspec
from msgspec import Struct

from kcheck.addons.fleet.tables import Rows
from kcheck.config.config import Environment

CHECKED, PARTLY, FAILED = "checked", "partly", "failed"
"""What becomes of a repository: judged, judged until its time was over, or not judged at all."""
PACKED, CHANGED = "packed", "changed"
"""What becomes of one that is to be checked elsewhere, or has to be checked; both within a run only."""

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


class Past(Struct, frozen=True):
    """What an outcome depends on: the code, the settings, and each question to the system with its answer.

    In the answers, `FOLDER` stands for the folder of the repository, so that they hold wherever it lies.
    """

    code: str
    settings: Settings
    answers: list[tuple[str, str, str]]


class Task(Struct, frozen=True):
    """A repository to check: a folder that the worker sees, or its files as an archive. `past` is of its last check.

    `is_packing` asks for its archive instead, unless it is unchanged. About `more` tasks will follow it at its worker.
    """

    name: str
    folder: str
    settings: Settings = Settings()
    bounds: Bounds = Bounds()
    past: Past | None = None
    archive: bytes = b""
    is_packing: bool = False
    more: int = 0


class Outcome(Struct, frozen=True):
    """What became of a task. `rows` is None where it failed, or where it `is_unchanged`.

    `seconds` and `cpu_seconds` are what its check took, `memory` the most bytes it had. `past` is None where the next
    run cannot take it over, and where that of the last one still holds. `code` is that of the kcheck that answers,
    `archive` what was asked for with `is_packing`.
    """

    status: str
    reason: str = ""
    rows: Rows | None = None
    past: Past | None = None
    is_unchanged: bool = False
    can_retry: bool = False
    revision: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
    files: int = 0
    code: str = ""
    archive: bytes = b""


def failed(reason: str, *, can_retry: bool = False) -> Outcome:
    """The outcome of a task without a result; one that may have failed by chance can be retried."""
    return Outcome(FAILED, reason, can_retry=can_retry)


def encoded(outcome: Outcome) -> bytes:
    """An outcome as it is sent and kept. Half characters, which names of files may have, are written as escapes."""
    try:
        return msgspec.msgpack.encode(outcome)
    except UnicodeEncodeError:
        own = msgspec.structs.replace(outcome, past=None)  # its answers are no longer those of the system
        return msgspec.msgpack.encode(escaped(msgspec.to_builtins(own)))


def escaped(data: object) -> object:
    """Data of lists and dicts, whose text has half characters as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, list | tuple):
        return [escaped(item) for item in data]
    if isinstance(data, dict):
        return {escaped(key): escaped(item) for key, item in data.items()}
    return data
