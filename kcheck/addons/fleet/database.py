"""DuckDB file of a fleet, and queries on it, without network or other files.

Each file in `queries` begins with the question it answers.
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import datetime
import gc
import io
import os
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import page
from kcheck.report.escape import defused, json_text, markdown, markdown_row, short
from kcheck.report.layout import Column, Line, Table, Text
from kcheck.text.control_characters import visible
from kcheck.text.errors import FailedError
from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


class ResultsError(FailedError):
    """The reason why the tables cannot be written or read."""


def require(folder: str) -> None:
    """Check that DuckDB is installed and can use a folder.

    Raises ResultsError if it is not installed, or cannot read the path of the folder.
    """
    try:
        import duckdb  # noqa: F401 - whoever needs it imports it again
    except ImportError as error:
        raise ResultsError(f"kcheck fleet needs DuckDB: {page.install('fleet')}") from error
    path = os.path.abspath(folder)
    if "?" in path or "\\" in path.replace(os.sep, "/") or not path.isprintable():
        raise ResultsError(f"{folder}: DuckDB takes no path with a question mark, a backslash or a control character")
    atexit.unregister(gc.freeze)  # DuckDB complains on stderr of what Python has not released at its end


@contextlib.contextmanager
def failures(what: str) -> Iterator[None]:
    """Convert errors of the system and of DuckDB; `what` names the failed step.

    Raises ResultsError if there was one.
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
    """Open DuckDB with a memory limit in bytes (0: none) and a folder to spill to."""
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

    Raises ResultsError if there are none, or they cannot be read.
    """
    require(folder)
    if not os.path.isfile(os.path.join(folder, DATABASE)):
        raise ResultsError(f"{folder} has no {DATABASE}; `kcheck fleet` creates it")
    with contextlib.ExitStack() as stack:
        with failures(f"{os.path.join(folder, DATABASE)} cannot be read; the next `kcheck fleet` rebuilds it"):
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
    """A question in one sentence, notes on its answer, and the commented query."""

    sentence: str
    notes: str
    sql: str


def question(name: str) -> Question:
    """Read a question by its name in `QUESTIONS`."""
    sql = system.read(os.path.join(_QUERIES, f"{name}.sql")).decode()
    first, *notes = [line.removeprefix(_MARK) for line in sql.split("\n") if line.startswith(_MARK)]
    return Question(first, " ".join(notes), sql)


Value = str | int | float | bool | datetime.datetime | list[str] | None


class Answer(NamedTuple):
    """Result of a query; None stands for an unknown value."""

    columns: list[str]
    rows: list[tuple[Value, ...]]


def ask(folder: str, sql: str) -> Answer:
    """Query the tables in a folder. Raises ResultsError if they cannot be read."""
    with opened(folder) as database, failures(f"{folder}: the query fails"):
        found = database.execute(sql)
        return Answer([str(name) for name, *_ in found.description or ()], found.fetchall())


# --- formats of answers

_WIDEST = 60
"""Characters of a cell in a text table."""
_NARROWEST = 12
"""Minimum width at which a column title wraps."""
_NOTHING = "Nothing.\n"


def as_text(answer: Answer) -> list[Line | Table]:
    """Return an aligned table; cut names in the middle, sentences at the end."""
    if not answer.rows:
        return [Line(_NOTHING.rstrip())]
    body = [[_short(_shown(value)) for value in row] for row in answer.rows]
    titles = list(map(_title, answer.columns, zip(*body, strict=True)))
    most = max(map(len, titles))
    heads = ("\n".join([""] * (most - len(title)) + title) for title in titles)
    return [Table(list(map(Column, heads, _numeric(answer))), body)]


def as_csv(answer: Answer) -> str:
    """Format CSV (RFC 4180); no text can act as a spreadsheet formula."""
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(map(defused, answer.columns))
    writer.writerows([_cell(value) for value in row] for row in answer.rows)
    return made.getvalue()


def as_json(answer: Answer) -> str:
    """Format a JSON list of objects; unknown values are null."""
    rows = [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
    return json_text(rows, indent=1)


def as_markdown(answer: Answer) -> str:
    """Format a Markdown table."""
    if not answer.rows:
        return _NOTHING
    head = [markdown(name.replace("_", " ")) for name in answer.columns]
    rule = ["---:" if number else "---" for number in _numeric(answer)]
    body = ([markdown(_shown(value)) for value in row] for row in answer.rows)
    return "".join(f"{markdown_row(row)}\n" for row in (head, rule, *body))


FORMATS: dict[str, Callable[[Answer], str | Text]] = {
    "text": as_text, "csv": as_csv, "json": as_json, "markdown": as_markdown,
}  # fmt: skip


def _numeric(answer: Answer) -> list[bool]:
    columns = zip(*answer.rows, strict=True)
    return [any(isinstance(value, int | float) and not isinstance(value, bool) for value in own) for own in columns]


def _title(name: str, cells: tuple[str, ...]) -> list[str]:
    return wrap(visible(name).replace("_", " "), max(_NARROWEST, *map(len, cells)), break_long_words=False)


def _short(cell: str) -> str:
    cell = visible(cell)
    if " " not in cell:
        return short(cell, _WIDEST)
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 3].rstrip()}..."


def _shown(value: Value) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return ", ".join(value) if isinstance(value, list) else str(_plain(value)) or "-"


def _plain(value: Value) -> str | int | float | bool | list[str] | None:
    """Convert a value for JSON or CSV; times are UTC."""
    return f"{value.isoformat(timespec='seconds')}Z" if isinstance(value, datetime.datetime) else value


def _cell(value: Value) -> str | int | float | None:
    plain = _plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    text = ", ".join(plain) if isinstance(plain, list) else plain
    return defused(text) if isinstance(text, str) else text
