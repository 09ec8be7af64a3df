"""Fleet report as a self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report.html import document
from kcheck.report.html.document import Head, Section
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from kcheck.addons.fleet.report.layout import Part, Report
    from kcheck.addons.fleet.report.numbers import Row

_STATES = {"stops": "stop before their target", "unknown": "not known", "reaches": "reach their target"}
"""The parts of a bar, from the bottom to the top."""
_HEIGHT, _LINE = 160, 20
"""Pixels: of the plot, and of a line of the legend."""
_SHARE = 0.7
"""What a bar takes of its place."""
_LABELS = 4
"""Of the axis at the most: they fit a phone."""


def html(report: Report) -> str:
    """Render the report as a page; the same numbers give the same bytes."""
    body = document.markup("fleet_head.html", lines=report.lines, numbers=document.numbers(report.numbers))
    sections = [Section(part.title, _body(part), part.name) for part in report.parts]
    return document.page(Head(report.title, report.about, body), sections)


def _body(part: Part) -> Markup:
    shown = [table for table in part.tables if table.rows]
    words = [[at for at, column in enumerate(table.columns) if not column.is_number] for table in shown]
    tables = [(one, [column.title for column in one.columns], own) for one, own in zip(shown, words, strict=True)]
    picture = chart(part.points) if part.points else ""
    return document.markup("fleet.html", part=part, tables=tables, picture=picture)


# --- the trend: clusters by what becomes of them, run by run


def chart(runs: Sequence[Row]) -> Markup:
    """Draw the number of clusters in each run, the oldest first."""
    most = max(1, *(run.clusters for run in runs))
    step = document.round_step(most / 4)
    top = -(-most // step) * step
    begin = 8 + _LINE * len(_STATES) + 8
    return document.markup(
        "fleet.svg", bars=_bars(runs, top), keys=list(_STATES.items()), line=_LINE, top=begin,
        plot=_HEIGHT, height=begin + _HEIGHT + 28, about=_about(runs),
        ticks=[(_y(number, top), f"{number:,}") for number in range(step, top + 1, step)],
    )  # fmt: skip


def _about(runs: Sequence[Row]) -> str:
    first, last = runs[0], runs[-1]
    before, now = counted(first.clusters_that_stop, "cluster"), f"{last.clusters_that_stop:,}"
    return f"{before} stopped before the target on {first.started}, {now} on {last.started}"


def _bars(runs: Sequence[Row], top: int) -> list[dict[str, object]]:
    place = 100 / len(runs)
    every = -(-len(runs) // _LABELS)
    is_daily = len({run.started[:10] for run in runs}) > 1
    found: list[dict[str, object]] = []
    for at, run in enumerate(runs):
        x = place * (at + (1 - _SHARE) / 2)
        counts = {
            "stops": run.clusters_that_stop, "unknown": run.clusters_unknown, "reaches": run.clusters_that_reach,
        }  # fmt: skip
        is_labelled = (len(runs) - 1 - at) % every == 0
        label = (run.started[5:10] if is_daily else run.started[11:]) if is_labelled else ""
        about = f"{run.started}: {', '.join(f'{counts[state]:,} {text}' for state, text in _STATES.items())}"
        width = place * _SHARE
        found.append({
            "x": round(x, 2), "width": round(width, 2), "middle": round(x + width / 2, 2),
            "pieces": _pieces(counts, top), "about": about, "label": label,
        })  # fmt: skip
    return found


def _pieces(counts: dict[str, int], top: int) -> list[dict[str, object]]:
    below, found = 0, list[dict[str, object]]()
    for state in _STATES:
        if counts[state]:
            y = _y(below + counts[state], top)
            found.append({"state": state, "y": y, "height": round(_y(below, top) - y, 1)})
        below += counts[state]
    return found


def _y(clusters: int, top: int) -> float:
    return round(_HEIGHT * (1 - clusters / top), 1)
