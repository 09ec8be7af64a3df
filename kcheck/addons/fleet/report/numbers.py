"""The numbers of a report, asked of the tables of a fleet.

What `kcheck fleet query` answers is asked by its queries, over views of the repositories and runs that are asked for.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from kcheck.addons.fleet import questions
from kcheck.addons.fleet.database import failures, opened
from kcheck.addons.fleet.report.overview import (
    Before,
    ChangeCount,
    Changed,
    Changes,
    Check,
    FirstLimit,
    Fixable,
    Listed,
    Missing,
    Money,
    Overview,
    Point,
    RuleCount,
    Run,
    Shared,
    SharedNote,
    Stop,
    Totals,
    Trend,
)
from kcheck.config.config import ConfigError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

_T = TypeVar("_T", bound=Struct)

MOST = 200
"""Rows of a list."""
_MOST_RUNS = 12
"""Runs of a trend."""

_BEFORE = """
SELECT run, strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started, version,
  EXISTS (SELECT 1 FROM query_changes WHERE since <> '' AND since < runs.run) AS is_older
FROM runs WHERE run < getvariable('run') ORDER BY run DESC LIMIT 1"""
_CHANGE_COUNTS = """
SELECT change, severity, count(*) AS number FROM query_changes GROUP BY ALL ORDER BY min(rowid)"""
_CHANGED = "FROM query_changes WHERE change = getvariable('change')"
_FIRST_LIMITS = (
    "SELECT mechanism, sum(clusters) AS clusters FROM query_first_limits GROUP BY ALL ORDER BY clusters DESC, mechanism"
)
_OVER = "FROM query_shared WHERE state = 'over'"
_SHARED_UNKNOWN = "FROM query_shared WHERE state = 'unknown'"
_SHARED_NOTES = """
SELECT part AS note, count(*) AS limits
FROM (SELECT unnest(string_split(note, '; ')) AS part FROM query_shared WHERE state = 'unknown')
WHERE part <> '' GROUP BY part ORDER BY limits DESC, part"""
_MONEY = """
FROM query_money WHERE clusters_with_dollars + clusters_without_price + clusters_unknown > 0"""
_MISSING = """
SELECT missing, remedy, sum(clusters) AS clusters, sum(checks) AS checks, sum(repositories) AS repositories,
  min(example) AS example
FROM query_undecided GROUP BY missing, remedy
ORDER BY clusters DESC, repositories DESC, checks DESC, missing, remedy"""
_RULES = """
SELECT *, strftime(oldest_first_seen::TIMESTAMP, '%Y-%m-%d') AS oldest
FROM query_rules WHERE worst_severity <> 'info'"""
_FIXABLE = """
SELECT fix, sum(findings) AS findings FROM query_fixable GROUP BY fix
ORDER BY list_position(['safe', 'costs', 'unsafe'], fix)"""
_POINTS = """
SELECT * REPLACE (strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started) FROM query_trend ORDER BY run"""
_UNCHECKED = "FROM query_repositories WHERE status <> 'checked'"
_SLOW = "FROM query_repositories WHERE status = 'checked'"
_OWNERS = "SELECT DISTINCT owner FROM fleet.main.repositories WHERE run = ? AND owner <> '' ORDER BY owner"


def ask(folder: str, owner: str = "", run: str = "") -> Overview:
    """The numbers of a run (the last one, unless one is named), of all repositories or of those of an owner.

    Raises:
        ConfigError: there is no such run, or no such owner.
        ResultsError: there are no tables, or they cannot be read.
    """
    with opened(folder) as database, failures(f"{folder}: the tables cannot be read"):
        run = _chosen(database, run)
        owners = [str(name) for (name,) in database.execute(_OWNERS, [run]).fetchall()]
        if owner and owner not in owners:
            hint = nearest(owner, tuple(owners)) if owners else "the list names none"
            raise ConfigError(f"--owner {owner}: no repository of run {run} is theirs; {hint}")
        return _Asked(database, owner, run).overview(is_by_owner=bool(owners) and not owner)


def _chosen(database: DuckDBPyConnection, run: str) -> str:
    """The id of the run that is asked for.

    Raises:
        ConfigError: there is none.
    """
    names = [str(name) for (name,) in database.execute("SELECT run FROM fleet.main.runs ORDER BY run DESC").fetchall()]
    if not names:
        raise ConfigError("no run of `kcheck fleet` has ended yet")
    if run and run not in names:
        raise ConfigError(f"--run {run}: there is none; the last ones are {', '.join(names[:5])}")
    return run or names[0]


class _Asked:
    """The tables, as far as they are of a run, those before it, and an owner."""

    def __init__(self, database: DuckDBPyConnection, owner: str, run: str) -> None:
        self.database = database
        self.owner = owner
        self._set(run=run, owner=owner, by="owner", first="", change="")
        database.execute(_own("views"))

    def overview(self, *, is_by_owner: bool) -> Overview:
        for name in ("first-limits", "shared", "changes", "rules", "fixable", "undecided", "repositories", "trend"):
            self._answer(name)
        self._set(by="owner" if is_by_owner else "repository")
        self._answer("money")
        self._set(by="owner")
        return Overview(
            owner=self.owner,
            now=self._rows(_own("run"), Run)[0],
            changes=self._changes(),
            stops=self._listed(_own("stops"), Stop),
            first_limits=self._rows(_FIRST_LIMITS, FirstLimit),
            shared=self._listed(_OVER, Shared),
            shared_unknown=self._listed(_SHARED_UNKNOWN, Shared).total,
            shared_notes=self._listed(_SHARED_NOTES, SharedNote),
            money=self._listed(_MONEY, Money),
            is_by_owner=is_by_owner,
            missing=self._listed(_MISSING, Missing),
            rules=self._listed(_RULES, RuleCount),
            fixable=self._rows(_FIXABLE, Fixable),
            trend=self._trend(),
            unchecked=self._listed(_UNCHECKED, Check),
            slow=self._listed(_SLOW, Check),
        )

    def _changes(self) -> Changes | None:
        """What has changed; None where there is no run before."""
        before = self._rows(_BEFORE, Before)
        if not before:
            return None
        counts, rows = self._rows(_CHANGE_COUNTS, ChangeCount), {}
        for change in dict.fromkeys(one.change for one in counts):
            self._set(change=change)
            rows[change] = self._listed(_CHANGED, Changed)
        return Changes(before[0], counts, rows)

    def _trend(self) -> Trend:
        points = self._rows(_POINTS, Point)[-_MOST_RUNS:]
        self._set(first=points[0].run)
        totals = self._rows(_own("totals"), Totals)
        return Trend(points, *totals) if len(totals) == 2 else Trend(points)

    def _answer(self, question: str) -> None:
        """Keep the answer to a question of `kcheck fleet query` as a table."""
        table = f"query_{question.replace('-', '_')}"
        self.database.execute(f"CREATE TEMP TABLE {table} AS {questions.question(question).sql}")

    def _set(self, **variables: str) -> None:
        """Set what queries and views look up with `getvariable`."""
        for name, value in variables.items():
            self.database.execute(f'SET VARIABLE "{name}" = ?', [value])

    def _listed(self, sql: str, row: type[_T]) -> Listed[_T]:
        found = self.database.execute(sql)
        rows = _converted(found, row, found.fetchmany(MOST))
        total = len(rows)
        while more := found.fetchmany(10_000):
            total += len(more)
        return Listed(rows, total)

    def _rows(self, sql: str, row: type[_T]) -> list[_T]:
        found = self.database.execute(sql)
        return _converted(found, row, found.fetchall())


def _converted(found: DuckDBPyConnection, row: type[_T], values: Sequence[Sequence[object]]) -> list[_T]:
    """What a query has found, as structs with the values of some of its columns."""
    names = [str(column[0]) for column in found.description or ()]
    return [msgspec.convert(dict(zip(names, one, strict=True)), row) for one in values]


def _own(name: str) -> str:
    """The text of a query of reports alone."""
    return files(__package__).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
