"""The numbers of a report, asked of the tables of a fleet in SQL: a file a question, in sql/."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from kcheck.config.config import ConfigError, nearest
from kcheck.files import system
from kcheck.fleet.report import overview
from kcheck.fleet.report.overview import Changes, Listed, Overview, Run, Totals, Trend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

_T = TypeVar("_T", bound=Struct)

MOST = 200
"""Rows of a list."""
_MOST_RUNS = 12
"""Runs of a trend."""


class _Name(Struct):
    name: str


class _Number(Struct):
    number: int


def ask(folder: str, owner: str = "", run: str = "") -> Overview:
    """The numbers of a run (the last one, unless one is named), of all repositories or of those of an owner.

    Raises:
        ConfigError: there is no run, no such run, or no such owner.
    """
    connection = opened(folder)
    try:
        return _asked(connection, owner, _chosen(connection, run))
    finally:
        connection.close()


def opened(folder: str) -> DuckDBPyConnection:
    """The tables in a folder, to be read.

    Raises:
        ConfigError: there are none.
    """
    import duckdb

    path = os.path.join(folder, "fleet.duckdb")
    if not system.is_file(path):
        raise ConfigError(f"{folder}: no results of a fleet; `kcheck fleet PATH... -o {folder}` makes them")
    return duckdb.connect(path, read_only=True)


def _chosen(connection: DuckDBPyConnection, run: str) -> str:
    """The id of the run that is asked for.

    Raises:
        ConfigError: there is none.
    """
    names = [str(name) for (name,) in connection.execute("SELECT run FROM runs ORDER BY run DESC").fetchall()]
    if not names:
        raise ConfigError("no run of `kcheck fleet` is finished yet")
    if run and run not in names:
        raise ConfigError(f"no run {run}; the last ones are {', '.join(names[:5])}")
    return run or names[0]


def _asked(connection: DuckDBPyConnection, owner: str, run: str) -> Overview:
    _set(connection, now=run, owner=owner, before="", by="")
    if owner:
        names = [one.name for one in _rows(connection, "owners", _Name)]
        if owner not in names:
            hint = nearest(owner, tuple(names)) if names else "no repository of this run has one"
            raise ConfigError(f"no owner {owner} in run {run}; {hint}")
    connection.execute(_sql("views"))
    runs = _rows(connection, "runs", Run)
    now, before = runs[0], runs[1] if len(runs) > 1 else None
    changes = None
    if before is not None:
        _set(connection, before=before.run)
        changes = _changes(connection, before)
    names = [one.name for one in _rows(connection, "owners", _Name)]
    is_by_owner = not owner and bool(names)
    _set(connection, by="owner" if is_by_owner else "repository")
    return Overview(
        owner=owner,
        now=now,
        changes=changes,
        stops=_listed(connection, "stops", overview.Stop),
        shared=_listed(connection, "shared", overview.Shared),
        shared_unknown=_rows(connection, "shared_unknown", _Number)[0].number,
        money=_listed(connection, "money", overview.Money),
        is_by_owner=is_by_owner,
        missing=_listed(connection, "missing", overview.Missing),
        rules=_listed(connection, "rules", overview.RuleCount),
        trend=_trend(connection, runs[:_MOST_RUNS][::-1]),
        unchecked=_listed(connection, "unchecked", overview.Unchecked),
        slow=_listed(connection, "slow", overview.Slow),
    )


def _changes(connection: DuckDBPyConnection, before: Run) -> Changes:
    return Changes(
        before=before,
        compared=_rows(connection, "compared", overview.Compared)[0],
        findings=_rows(connection, "changed_findings", overview.ChangedFindings)[0],
        clusters=_rows(connection, "changed_clusters", overview.ChangedClusters)[0],
        moved=_listed(connection, "moved", overview.Moved),
        new=_listed(connection, "new_findings", overview.Changed),
        gone=_listed(connection, "gone_findings", overview.Changed),
    )


def _trend(connection: DuckDBPyConnection, runs: Sequence[Run]) -> Trend:
    """The trend over some runs, the oldest first."""
    if len(runs) == 1:
        return Trend(list(runs))
    _set(connection, before=runs[0].run)
    totals = _rows(connection, "totals", Totals)
    return Trend(list(runs), *totals) if len(totals) == 2 else Trend(list(runs))


def _set(connection: DuckDBPyConnection, **variables: str) -> None:
    """Set what the queries ask for with `getvariable`."""
    for name, value in variables.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def _listed(connection: DuckDBPyConnection, query: str, row: type[_T]) -> Listed[_T]:
    """The first rows of a query, and how many it has."""
    found = connection.execute(_sql(query))
    rows = _converted(found, row, found.fetchmany(MOST))
    total = len(rows)
    while more := found.fetchmany(10_000):
        total += len(more)
    return Listed(rows, total)


def _rows(connection: DuckDBPyConnection, query: str, row: type[_T]) -> list[_T]:
    found = connection.execute(_sql(query))
    return _converted(found, row, found.fetchall())


def _converted(found: DuckDBPyConnection, row: type[_T], values: Sequence[Sequence[object]]) -> list[_T]:
    """What a query has found, as structs that have fields for its columns."""
    names = [str(column[0]) for column in found.description or ()]
    return [msgspec.convert(dict(zip(names, one, strict=True)), row) for one in values]


def _sql(name: str) -> str:
    return files(__package__).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
