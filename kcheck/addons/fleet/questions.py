"""The questions about a fleet that kcheck answers in SQL: a file each in `queries`, which begins with the question."""

from __future__ import annotations

import os
from typing import NamedTuple

from kcheck.addons.fleet.database import failures, opened
from kcheck.report.query_result import Answer
from kcheck.text.files import system

QUESTIONS = (
    "reach", "first-limits", "shared", "money", "trend", "changes", "rules", "fixable", "undecided", "repositories"
)  # fmt: skip
"""Their names, in the order in which people ask."""

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries")
_MARK = "-- "


class Question(NamedTuple):
    """A question in one sentence, notes on its answer, and the query with both as a comment."""

    name: str
    sentence: str
    notes: str
    sql: str


def question(name: str) -> Question:
    """The question of a name in `QUESTIONS`."""
    sql = system.read(os.path.join(_FOLDER, f"{name}.sql")).decode()
    first, *notes = [line.removeprefix(_MARK) for line in sql.split("\n") if line.startswith(_MARK)]
    return Question(name, first, " ".join(notes), sql)


def ask(folder: str, sql: str) -> Answer:
    """The answer of the tables in a folder.

    Raises:
        ResultsError: there are none, or they cannot be read.
    """
    with opened(folder) as database, failures(f"{folder}: the query fails"):
        found = database.execute(sql)
        return Answer([str(name) for name, *_ in found.description or ()], found.fetchall())
