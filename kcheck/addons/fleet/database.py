"""DuckDB file of a fleet, and its questions. DuckDB has no network, no extensions, and no other files.

A question is a file in `queries`, which begins with it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.query_result import Answer
from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

DATABASE = "fleet.duckdb"
QUESTIONS = (
    "reach", "first-limits", "shared", "money", "trend", "changes", "rules", "fixable", "undecided", "repositories"
)  # fmt: skip
"""Their names, in the order in which people ask."""
_QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries")
_MARK = "-- "
_SETTINGS: dict[str, str | bool] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}


class ResultsError(Exception):
    """Says why the tables cannot be written or read."""


def require(folder: str) -> None:
    """Make sure that DuckDB is there, and takes a folder.

    Raises:
        ResultsError: it is not installed, or the path of the folder has what it cannot read.
    """
    try:
        import duckdb  # noqa: F401 - whoever needs it imports it again
    except ImportError as error:
        raise ResultsError("the tables of a fleet need DuckDB: pip install 'kcheck[fleet]'") from error
    path = os.path.abspath(folder)
    if "?" in path or "\\" in path.replace(os.sep, "/") or not path.isprintable():
        raise ResultsError(f"{folder}: DuckDB takes no path with a question mark, a backslash or a control character")
    atexit.unregister(gc.freeze)  # DuckDB complains on stderr of what Python has not released at its end


@contextlib.contextmanager
def failures(what: str) -> Iterator[None]:
    """Say what cannot be done where the system or DuckDB, which is there, fails.

    Raises:
        ResultsError: there was one.
    """
    import duckdb

    try:
        yield
    except OSError as error:
        raise ResultsError(f"{what}: {error.filename or ''}: {error.strerror or error}") from error
    except duckdb.Error as error:
        raise ResultsError(f"{what}: {str(error).partition(chr(10))[0]}") from error


@contextlib.contextmanager
def connected(spill: str = "", memory: int = 0) -> Iterator[DuckDBPyConnection]:
    """Open DuckDB in so many bytes of memory (0: all), with a folder for the rest."""
    import duckdb

    bounds: dict[str, str | bool] = {"memory_limit": f"{memory}B"} if memory else {}
    database = duckdb.connect(":memory:", config={**_SETTINGS, **bounds, "temp_directory": spill})
    try:
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def opened(folder: str) -> Iterator[DuckDBPyConnection]:
    """Open the tables of all runs, read-only and without files or a network.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    require(folder)
    if not os.path.isfile(os.path.join(folder, DATABASE)):
        raise ResultsError(f"{folder}: there is no {DATABASE}; `kcheck fleet` makes it")
    with contextlib.ExitStack() as stack:
        with failures(f"{os.path.join(folder, DATABASE)} cannot be read; the next `kcheck fleet` makes it anew"):
            database = stack.enter_context(connected())
            with contextlib.chdir(folder):  # DuckDB takes some names of folders for patterns
                database.execute(f"ATTACH '{DATABASE}' AS fleet (READ_ONLY)")
            for statement in ("USE fleet", "SET enable_external_access = false", "SET lock_configuration = true"):
                database.execute(statement)
        yield database


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


# --- questions


class Question(NamedTuple):
    """A question in one sentence, notes on its answer, and the query with both as a comment."""

    sentence: str
    notes: str
    sql: str


def question(name: str) -> Question:
    """Read the question of a name in `QUESTIONS`."""
    sql = system.read(os.path.join(_QUERIES, f"{name}.sql")).decode()
    first, *notes = [line.removeprefix(_MARK) for line in sql.split("\n") if line.startswith(_MARK)]
    return Question(first, " ".join(notes), sql)


def ask(folder: str, sql: str) -> Answer:
    """Ask the tables in a folder.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    with opened(folder) as database, failures(f"{folder}: the query fails"):
        found = database.execute(sql)
        return Answer([str(name) for name, *_ in found.description or ()], found.fetchall())
