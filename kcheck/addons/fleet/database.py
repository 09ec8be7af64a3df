"""The DuckDB file of a fleet, and how DuckDB is used: without a network, extensions, or files of others."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

DATABASE = "fleet.duckdb"
_SETTINGS: dict[str, str | bool] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}
_MISSING = "the tables of a fleet need DuckDB: pip install 'kcheck[fleet]'"


class ResultsError(Exception):
    """The tables cannot be written or read, and why."""


def require(folder: str) -> None:
    """Make sure that DuckDB is there, and takes a folder.

    Raises:
        ResultsError: it is not installed, or the path of the folder has what it cannot read.
    """
    try:
        import duckdb  # noqa: F401 - whoever needs it imports it again
    except ImportError as error:
        raise ResultsError(_MISSING) from error
    path = os.path.abspath(folder)
    if "?" in path or "\\" in path.replace(os.sep, "/") or not path.isprintable():
        raise ResultsError(f"{folder}: DuckDB takes no path with a question mark, a backslash or a control character")
    atexit.unregister(gc.freeze)  # DuckDB complains on stderr of what Python has not released at its end


@contextlib.contextmanager
def failures(what: str) -> Iterator[None]:
    """Say of errors of the system and of DuckDB, which is there, what cannot be done.

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
    """DuckDB without a file, with so many bytes of memory (what there is without), and a folder for what is beyond."""
    import duckdb

    bounds: dict[str, str | bool] = {"memory_limit": f"{memory}B"} if memory else {}
    database = duckdb.connect(":memory:", config={**_SETTINGS, **bounds, "temp_directory": spill})
    try:
        yield database
    finally:
        database.close()


@contextlib.contextmanager
def opened(folder: str) -> Iterator[DuckDBPyConnection]:
    """The tables of all runs in a folder, to be read; no query can reach a file or a network.

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
    """A name as SQL takes it, whatever words SQL has."""
    return '"' + name.replace('"', '""') + '"'
