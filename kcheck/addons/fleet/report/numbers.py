"""Tables of a fleet up to a run, for all repositories or one owner.

`kcheck fleet query` runs its queries over views of these tables.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING

from kcheck.addons.fleet.database import failures, opened, question
from kcheck.config.config import ConfigError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

Row = SimpleNamespace
"""A row of an answer: its columns are those of the query."""
_OWNERS = "SELECT DISTINCT owner FROM fleet.main.repositories WHERE run = ? AND owner <> '' ORDER BY owner"
_RUNS = "SELECT run FROM fleet.main.runs ORDER BY run DESC"


@contextmanager
def asked(folder: str, owner: str = "", run: str = "") -> Iterator[Numbers]:
    """Open the tables up to a run, for all repositories or one owner.

    Raises ConfigError if there is no such run, or no such owner; ResultsError if there are no tables, or they cannot be
    read.
    """
    with opened(folder) as database, failures(f"{folder}: the tables cannot be read"):
        runs = [str(name) for (name,) in database.execute(_RUNS).fetchall()]
        if not runs:
            raise ConfigError("no run of `kcheck fleet` has ended yet")
        if run and run not in runs:
            raise ConfigError(f"--run {run}: there is no such run; the last runs are {', '.join(runs[:5])}")
        run = run or runs[0]
        owners = [str(name) for (name,) in database.execute(_OWNERS, [run]).fetchall()]
        if owner and owner not in owners:
            hint = nearest(owner, tuple(owners)) if owners else "the list names none"
            raise ConfigError(f"--owner {owner}: run {run} has no repository of this owner; {hint}")
        yield Numbers(database, owner, run, is_by_owner=bool(owners) and not owner)


class Numbers:
    """Numbers of a run; `now` has its totals, see `sql/run.sql`.

    `before` is the run before, None without one; `changes` since then are rows of the query `changes`.
    """

    def __init__(self, database: DuckDBPyConnection, owner: str, run: str, *, is_by_owner: bool) -> None:
        self.owner = owner
        self.is_by_owner = is_by_owner
        self._database = database
        self.set(run=run, owner=owner, by="owner", first="")
        database.execute(own("views"))
        for name in ("first-limits", "shared", "changes", "rules", "fixable", "undecided", "repositories", "trend"):
            self._keep(name)
        self.set(by="owner" if is_by_owner else "repository")
        self._keep("money")
        self.set(by="owner")
        self.now = self.rows(own("run"))[0]
        self.before = next(iter(self.rows(own("before"))), None)
        self.changes = self.rows("FROM query_changes")

    def set(self, **variables: str) -> None:
        """Set the variables that queries and views read with `getvariable`."""
        for name, value in variables.items():
            self._database.execute(f'SET VARIABLE "{name}" = ?', [value])

    def rows(self, sql: str) -> list[Row]:
        """Run a query; the answer to `kcheck fleet query NAME` is the table `query_NAME`."""
        found = self._database.execute(sql)
        names = [str(column[0]) for column in found.description or ()]
        return [Row(**dict(zip(names, one, strict=True))) for one in found.fetchall()]

    def _keep(self, name: str) -> None:
        """Store the answer to a question of `kcheck fleet query` as a table."""
        self._database.execute(f"CREATE TEMP TABLE query_{name.replace('-', '_')} AS {question(name).sql}")


def own(name: str) -> str:
    """Read a query that only reports use."""
    return files(__package__).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
