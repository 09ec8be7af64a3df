"""A report on a fleet as a page that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck import __version__
from kcheck.addons.fleet.report.trend import chart
from kcheck.report.html import document
from kcheck.report.html.document import Head, Section

if TYPE_CHECKING:
    from markupsafe import Markup

    from kcheck.addons.fleet.report.layout import Part, Report, Table

MOST = 100
"""Rows of a table."""


def render(report: Report) -> str:
    """The report as a page, the same bytes for the same numbers."""
    body = document.markup("fleet_head.html", lines=report.lines, numbers=document.numbers(report.numbers))
    sections = [Section(part.title, _body(part), part.name) for part in report.parts]
    return document.page(Head(report.title, report.about, body), sections, [f"kcheck {__version__}"])


def _body(part: Part) -> Markup:
    shown = [table for table in part.tables if table.rows]
    tables = [(table, [column.title for column in table.columns], _words(table)) for table in shown]
    picture = chart(part.points).svg if part.points else ""
    return document.markup("fleet.html", part=part, tables=tables, picture=picture)


def _words(table: Table) -> list[int]:
    """The columns of a table that have text."""
    return [at for at, column in enumerate(table.columns) if not column.is_number]
