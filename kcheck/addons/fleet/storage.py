"""Tables of all runs of a fleet, as Parquet files and as one DuckDB file.

A run has a Parquet file in the folder of each table. The file of `runs` is moved into place last; from then on the run
counts. The DuckDB file follows: a copy of it is updated, and replaces it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from inspect import getdoc
from types import NoneType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec.structs import asdict, replace

from kcheck.addons.fleet.database import DATABASE, ResultsError, connected, failures, quoted, require
from kcheck.addons.fleet.outcomes import FAILED, Kept, encoded
from kcheck.addons.fleet.shared import placed
from kcheck.addons.fleet.tables import TABLES, RepositoryRow, Rows, RunRow, SharedRow
from kcheck.text.files import save, system

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection
    from msgspec import Meta, Struct

    from kcheck.addons.fleet.run import Ended

_PARQUET, _WORK = "parquet", "unfinished"
_ID = "%Y%m%dT%H%M%SZ"
_STORAGE = "v1.3.0"
"""The oldest DuckDB that can read the file."""
_MEMORY, _COPIES = 512 * 1024**2, 32
"""Bytes that DuckDB may take to write, and how many of the longest line it must have room for, as threads read it."""
_LEAST_LINE = 16 * 1024**2
"""Bytes of a line of JSON for which DuckDB has room in any case."""

_TYPES: dict[object, str] = {
    str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", tuple[str, ...]: "VARCHAR[]"
}  # fmt: skip


@contextlib.contextmanager
def locked_run(folder: str) -> Iterator[str]:
    """Make and lock the folder of one run, with a unique id.

    Raises ResultsError if another run is going on there, or there can be no tables.
    """
    require(folder)
    with contextlib.ExitStack() as stack:
        with failures(folder):
            save.make_folder(folder)
            stack.enter_context(locked(folder))
            run = run_id(folder, datetime.now(UTC))
        yield run


def run_id(folder: str, begin: datetime) -> str:
    """Return an id for a run that begins now, later than those in the folder."""
    there = runs(folder)
    now = begin.strftime(_ID)
    if not there or there[-1] < now:
        return now
    last = datetime.strptime(there[-1], _ID).replace(tzinfo=UTC)
    return (last + timedelta(seconds=1)).strftime(_ID)


def runs(folder: str) -> list[str]:
    """List the ids of the runs in a folder, the oldest first."""
    return _stored(os.path.join(folder, _PARQUET, "runs"))


def write(
    folder: str, run: RunRow, ended: Sequence[Ended], kept: Kept, shared: Iterable[SharedRow] = (), *, keep: int = 100
) -> None:
    """Add a run to the tables atomically, and remove all but the last runs.

    Raises ResultsError if the tables cannot be written.
    """
    with failures("the tables cannot be written"):
        _remove_unfinished(folder)
        work = os.path.join(folder, _WORK)
        os.makedirs(work)
        with contextlib.ExitStack() as stack:
            lines = {
                name: _Lines(stack.enter_context(open(os.path.join(work, f"{name}.ndjson"), "wb"))) for name in TABLES
            }
            _write_lines(lines, run, ended, kept, shared)
        longest = max(one.longest for one in lines.values())
        with contextlib.chdir(folder), connected(_WORK, max(_MEMORY, _COPIES * longest)) as database:
            for name in TABLES:
                _write_parquet(database, name, longest)
            for name in reversed(TABLES):  # `runs` comes last
                save.make_folder(os.path.join(_PARQUET, name))
                save.replace(os.path.join(_WORK, f"{name}.parquet"), _file(name, run.run))
            for old in runs(".")[: -max(1, keep)]:
                _remove(old)
            _write_database(database)
        shutil.rmtree(work)


# --- columns


class Column(NamedTuple):
    """A column with a DuckDB type; if `nullable`, null means unknown."""

    name: str
    type: str
    meaning: str
    nullable: bool = False


@cache
def columns(table: str) -> tuple[Column, ...]:
    """List the columns of a table, in order."""
    row, of_repository = TABLES[table]
    first = {"run": "the run, as in runs.run"} if table != "runs" else {}
    first |= {"repository": "the repository: its name in the list, or the end of its path"} if of_repository else {}
    own = (_column(name, *get_args(hint)) for name, hint in get_type_hints(row, include_extras=True).items())
    return (*(Column(name, "VARCHAR", text) for name, text in first.items()), *own)


def meaning(table: str) -> str:
    """Return what a row of a table stands for."""
    return getdoc(TABLES[table].row) or ""


def _column(name: str, kind: object, meta: Meta) -> Column:
    plain = next(one for one in (kind, *get_args(kind)) if one in _TYPES)
    is_time = "format" in (meta.extra_json_schema or {})
    type_ = "TIMESTAMP" if is_time else _TYPES[plain]
    return Column(name, type_, meta.description or "", NoneType in get_args(kind))


# --- rows as lines of JSON


class _Lines:
    """Rows of a table, as JSON lines in a file."""

    def __init__(self, file: BinaryIO) -> None:
        self.longest = 0
        self._file = file

    def add(self, rows: Iterable[Struct], **first: str) -> None:
        """Add rows that have the same first columns."""
        for row in rows:
            line = encoded(first | asdict(row), msgspec.json.encode) + b"\n"
            self.longest = max(self.longest, len(line))
            self._file.write(line)


def _write_lines(
    lines: dict[str, _Lines], run: RunRow, ended: Sequence[Ended], kept: Kept, shared: Iterable[SharedRow]
) -> None:
    """Write the rows of a run, one repository after another."""
    lines["runs"].add([run])
    lines["shared_limits"].add(shared, run=run.run)
    for one in ended:
        row, rows = _repository(one, kept)
        for name, table in TABLES.items():
            if table.of_repository:
                found = [row] if name == "repositories" else getattr(rows, name)
                lines[name].add(found, run=run.run, repository=one.repository.name)


def _repository(one: Ended, kept: Kept) -> tuple[RepositoryRow, Rows]:
    """Return the row of a repository, and the rows of its check."""
    outcome = one.outcome
    last = kept.outcome(one.repository.name) if outcome.status != FAILED else None
    rows = last.rows if last is not None else None
    if rows is not None:
        rows = replace(rows, clusters=[placed(cluster, one.repository) for cluster in rows.clusters])
    is_lost = rows is None and outcome.status != FAILED
    found = rows or Rows()
    severities = [finding.severity for finding in found.findings]
    row = RepositoryRow(
        owner=one.repository.owner, path=one.repository.folder, status=FAILED if is_lost else outcome.status,
        reason="what was found can no longer be read" if is_lost else outcome.reason,
        is_unchanged=outcome.is_unchanged, revision=outcome.revision, seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds, memory=outcome.memory,
        files=last.files if last is not None else outcome.files, attempts=one.attempts,
        errors=severities.count("error"), warnings=severities.count("warning"), infos=severities.count("info"),
        undecided=len({(row.rule, row.object, row.path, row.line) for row in found.undecided}),
        suppressed=found.suppressed,
    )  # fmt: skip
    return row, found


# --- files of the tables, in the current folder


def _write_parquet(database: DuckDBPyConnection, table: str, longest: int) -> None:
    """Make the Parquet file of a table; numbers over 64 bits become null."""
    wide = {"BIGINT": "HUGEINT"}
    read = ", ".join(f"{quoted(one.name)}: '{wide.get(one.type, one.type)}'" for one in columns(table))
    cast = ", ".join(f"TRY_CAST({quoted(one.name)} AS {one.type}) AS {quoted(one.name)}" for one in columns(table))
    options = f"format = 'newline_delimited', maximum_object_size = {max(_LEAST_LINE, longest + 1)}"
    lines, file = f"{_WORK}/{table}.ndjson", f"{_WORK}/{table}.parquet"
    source = f"FROM read_json('{lines}', {options}, columns = {{{read}}})"
    database.execute(f"COPY ({source} SELECT {cast}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    os.unlink(lines)


def _write_database(database: DuckDBPyConnection) -> None:
    """Make the DuckDB file of all valid Parquet files."""
    new = f"{_WORK}/{DATABASE}"
    if not _copy_earlier(database, new):
        database.execute(f"ATTACH '{new}' AS new (STORAGE_VERSION '{_STORAGE}')")
        for table in TABLES:
            own = ", ".join(f"{quoted(one.name)} {one.type}" for one in columns(table))
            database.execute(f"CREATE TABLE new.{table} ({own})")
    there = {str(run) for (run,) in database.execute("FROM new.runs SELECT run").fetchall()}
    wanted = runs(".")
    for table in TABLES:
        for run in there.difference(wanted):
            database.execute(f"DELETE FROM new.{table} WHERE run = '{run}'")  # noqa: S608 - ids are digits
        for run in wanted:
            if run not in there and os.path.isfile(_file(table, run)):
                _add(database, table, run)
        database.execute("CHECKPOINT new")
    database.execute("DETACH new")
    save.replace(new, DATABASE)


def _copy_earlier(database: DuckDBPyConnection, new: str) -> bool:
    """Copy the earlier DuckDB file; return False if it is unusable."""
    import duckdb

    if not os.path.isfile(DATABASE):
        return False
    shutil.copyfile(DATABASE, new)
    wanted = {(table, one.name, one.type) for table in TABLES for one in columns(table)}
    names = "FROM duckdb_columns() SELECT table_name, column_name, data_type WHERE database_name = 'new'"
    with contextlib.suppress(duckdb.Error):
        database.execute(f"ATTACH '{new}' AS new")
        if set(database.execute(names).fetchall()) == wanted:
            return True
        database.execute("DETACH new")
    save.remove(new)
    return False


def _add(database: DuckDBPyConnection, table: str, run: str) -> None:
    """Add the rows of a run to a table; columns its kcheck did not have are null."""
    source = f"FROM '{_file(table, run)}'"
    there = {str(name) for name, *_ in database.execute(f"DESCRIBE {source}").fetchall()}
    wanted = ", ".join(quoted(one.name) for one in columns(table) if one.name in there)
    database.execute(f"INSERT INTO new.{table} BY NAME {source} SELECT {wanted}")


def _stored(folder: str) -> list[str]:
    """List the runs that have a Parquet file in the folder of a table."""
    there = system.entries(folder) if os.path.isdir(folder) else ()
    names = (os.path.splitext(name) for name, is_folder in there if not is_folder)
    return sorted(run for run, ending in names if ending == ".parquet" and _is_id(run))


def _is_id(text: str) -> bool:
    try:
        return datetime.strptime(text, _ID).strftime(_ID) == text
    except ValueError:
        return False


def _file(table: str, run: str) -> str:
    return f"{_PARQUET}/{table}/{run}.parquet"


def _remove(run: str, folder: str = ".") -> None:
    """Remove a run, its file of `runs` first, so that a partial run never counts."""
    for table in TABLES:
        save.remove(os.path.join(folder, _file(table, run)))


def _remove_unfinished(folder: str) -> None:
    """Remove files of runs that were killed."""
    if os.path.isdir(os.path.join(folder, _WORK)):
        shutil.rmtree(os.path.join(folder, _WORK))
    known = set(runs(folder))
    for run in {run for table in TABLES for run in _stored(os.path.join(folder, _PARQUET, table))} - known:
        _remove(run, folder)


# --- a lock of the folder, which the system holds: a killed process leaves none

_LOCK = ".lock"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
"""Error codes of a lock that another process has; others mean that this disk has no locks."""


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Lock an existing folder against other processes.

    Raises ResultsError if another process has it, OSError if the lock file cannot be written.
    """
    handle = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    try:
        try:
            if sys.platform == "win32":
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                text = f"{folder}: another `kcheck fleet` writes its results there; wait for its end"
                raise ResultsError(text) from error
        yield
    finally:
        os.close(handle)  # which gives it back
