"""HTML page of simulated runs: duration, cost, idle time, savings."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import capacity, simulation
from kcheck.report.html import document
from kcheck.report.html.document import Head, Number, Picture, Section
from kcheck.report.page import HOME
from kcheck.scale.simulate.results import PARTS, SimulationResult, deciding_factors, part_nodes
from kcheck.scale.simulate.run import trace
from kcheck.text.units import between, counted, money, node_hours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from kcheck.fix.what_if import FixSaving
    from kcheck.scale.simulate.model import Phase

_ABOUT = "kcheck simulate: how long the job takes, what it costs, and which setting costs it"
GUIDE = f"{HOME}/docs/simulate.md"
"""Documentation of the model's accuracy."""


def as_html(pairs: Sequence[tuple[SimulationResult, list[FixSaving] | None]], command_line: str = "") -> str:
    """Render a page with a section per run, and savings if not None."""
    roots = capacity.roots([run.scenario.cluster for run, _ in pairs])
    sections = [
        Section(f"{_heading(run)}{roots[run.scenario.cluster.id]}", _body(run, savings, f"run-{at}"), f"run-{at}")
        for at, (run, savings) in enumerate(pairs, 1)
    ]
    name = pairs[0][0].scenario.cluster.display_name
    title = f"Simulated run of {name}" if len(pairs) == 1 else f"{len(pairs)} simulated runs"
    parts = [
        (one.name, f"{one.title}: {simulation.end_text(run)}") for one, (run, _) in zip(sections, pairs, strict=True)
    ]
    return document.page(Head(title, _ABOUT, document.contents("Runs", parts)), sections, (command_line,))


def _body(outcome: SimulationResult, savings: list[FixSaving] | None, name: str) -> Markup:
    scenario = outcome.scenario
    runs = [outcome] if outcome.without_wall is None else [outcome, outcome.without_wall]
    return document.markup(
        "run.html", numbers=document.numbers(_numbers(outcome, savings)),
        stopped=list(simulation.stop_reasons(outcome)),
        charts=[_chart(run, f"{name}-{at}") for at, run in enumerate(runs, 1)],
        head=("time", *simulation.PART_NAMES.values(), "all"), phases=_phases(runs[-1]),
        savings=None if savings is None else simulation.savings_table(outcome, savings), assumed=scenario.assumed,
        notes=simulation.model_notes(scenario), ranges=simulation.RANGES, gaps=simulation.NOT_MODELLED, guide=GUIDE,
    )  # fmt: skip


def _heading(outcome: SimulationResult) -> str:
    cluster = outcome.scenario.cluster
    return f"{cluster.display_name} ({cluster.cloud}, {cluster.place.location})"


def _numbers(outcome: SimulationResult, savings: list[FixSaving] | None) -> list[Number]:
    summary, case = outcome.middle.summary, outcome.scenario.case
    found = [Number(simulation.minutes_text(*outcome.total), "until the last node is gone")]
    if not summary.finished:
        done = f"{summary.pods_done:,} of {case.pods:,}"
        found = [Number(done, f"pods end: {simulation.end_text(outcome)}", is_bad=summary.pods_done < case.pods)]
    if case.ceiling is not None:
        room = f"{max(0, case.ceiling - case.system_nodes):,} of {case.pods:,}"
        found.append(Number(room, "nodes of the job at once: a wall stops the rest", is_bad=True))
    if summary.finished or summary.failed:
        found += _costs(outcome)
    return [*found, *_saving(outcome, savings)]


def _costs(outcome: SimulationResult) -> list[Number]:
    hours, spent = simulation.hours_text(outcome.node_hours), outcome.dollars
    if spent is None:
        found = [Number(hours, "paid; none of these nodes has a list price, --price sets one")]
    else:
        found = [Number(simulation.money_text(spent), f"for {hours} {simulation.price_text(outcome)}")]
    work = outcome.part(PARTS["work"]).node_hours
    for part in ("idle", "start"):
        own = outcome.part(PARTS[part]).node_hours
        name, cost = simulation.PART_NAMES[part], simulation.part_cost(outcome, PARTS[part])
        took = simulation.hours_text(own)
        found.append(Number(cost or took, f"{name}: {took}" if cost else name, is_bad=own.most > work.most))
    return found


def _saving(outcome: SimulationResult, savings: list[FixSaving] | None) -> list[Number]:
    names, safety, saved, _ = savings[0] if savings else ((), "", None, None)
    if saved is None:
        return []
    estimate = saved.node_time if saved.money is None else saved.money
    least, most = (node_hours(end) if saved.money is None else money(end) for end in estimate[:2])
    by = names[0] if len(names) == 1 else counted(len(names), "fix", "fixes")
    when = " once nothing stops it" if outcome.without_wall else ""
    return [Number(between(least, most), f"saved by {by} ({safety}){when}")] if estimate.most > 0 else []


def _phases(outcome: SimulationResult) -> dict[str, object]:
    """List where paid time goes: minutes, node-hours and cost."""
    causes, priced = deciding_factors(outcome), outcome.dollars is not None
    rows: list[tuple[Markup | str, ...]] = []
    for part, phases in PARTS.items():
        for phase in phases:
            name = document.markup("phase.html", part=part, name=simulation.NAMES[phase])
            hours = simulation.hours_text(outcome.part((phase,)).node_hours).rpartition(" ")[0]
            spent = filter(None, [simulation.part_cost(outcome, (phase,))])
            rows.append((name, f"{simulation.share(outcome, phase):.1f}", hours, *spent, causes[phase]))
    head = ("a node is", "minutes, on average", "node-hours", *(["cost"] if priced else []), "decided by")
    return {"head": head, "rows": rows}


def _chart(outcome: SimulationResult, name: str) -> dict[str, object]:
    lines, spans = [line.strip() for line in simulation.run_summary(outcome)], trace(outcome.case)
    return {"lines": lines, "picture": chart(outcome, spans, name).svg, "rows": chart_rows(outcome, spans)}


def as_svg(outcome: SimulationResult) -> str:
    """Draw a run as a picture."""
    drawn = chart(outcome, trace(outcome.case))
    return document.picture(drawn, _heading(outcome), next(simulation.run_summary(outcome)))


# --- the chart: nodes over time by what they do, and the paid time without work

_PARTS = ("work", "idle", "start")
"""From bottom to top."""
_COLUMNS = 240
_HEIGHT = 260
_LINE, _LETTER = 18, 7
"""Pixels: height of a text line, width of a letter."""
_LABEL = 44
"""Characters per legend line, to fit a phone."""
_PHONE = 300
"""Pixels of the narrowest plot."""
_ROWS = 24


class Key(NamedTuple):
    """A legend entry."""

    part: str
    lines: tuple[str, ...]
    y: int


class Level(NamedTuple):
    """A horizontal line at a number of nodes, `y` pixels below the top of the plot."""

    kind: str
    text: str
    y: int


class Moment(NamedTuple):
    """A vertical line at a time; `x` is a percentage of the width."""

    text: str
    x: float
    y: int


def chart(outcome: SimulationResult, spans: Sequence[Phase], name: str = "run") -> Picture:
    """Draw the run of median length; `name` is the chart's id in its page."""
    total = outcome.middle.summary.total or 1
    nodes = part_nodes(spans, total, _COLUMNS)
    levels, most = _levels(outcome, max(map(sum, zip(*nodes.values(), strict=True))))
    keys = _legend(outcome)
    moments = _moments(outcome, total, keys[-1].y + _LINE * len(keys[-1].lines) + 10)
    top = moments[-1].y + 24
    height = top + _HEIGHT + 40
    words = [line.strip() for line in simulation.run_summary(outcome)]
    svg = document.markup(
        "run.svg", id=name, height=height, title=f"Nodes over time: {words[0]}", about=". ".join(words[1:]),
        keys=keys, moments=moments, top=top, plot=_HEIGHT, base=top + _HEIGHT, columns=_COLUMNS, line_height=_LINE,
        bands=_bands(outcome, nodes, most), levels=levels, ticks=_ticks(total),
    )  # fmt: skip
    return Picture(svg, height)


def chart_rows(outcome: SimulationResult, spans: Sequence[Phase]) -> list[tuple[str, ...]]:
    """List the chart's numbers: time, nodes per part, and all nodes."""
    minutes = max(1, ceil(outcome.middle.summary.total / 60))
    step = next((step for step in (1, 2, 5, 10, 15, 30, 60) if minutes <= _ROWS * step), ceil(minutes / _ROWS))
    columns = ceil(minutes / step)
    nodes = part_nodes(spans, columns * step * 60, columns)
    found = []
    for at, each in enumerate(zip(*(nodes[part] for part in simulation.PART_NAMES), strict=True)):
        time = f"{at * step:,} to {(at + 1) * step:,} min"
        found.append((time, *(f"{number:,.0f}" for number in (*each, sum(each)))))
    return found


def _legend(outcome: SimulationResult) -> list[Key]:
    found, y = [], 12
    for part in _PARTS:
        lines = _wrapped(simulation.part_text(outcome, part))
        found.append(Key(part, lines, y))
        y += _LINE * len(lines) + 2
    return found


def _wrapped(text: str) -> tuple[str, ...]:
    hours, comma, spent = text.partition(", ")
    whole = len(text) <= _LABEL or not comma
    return tuple(textwrap.wrap(text, _LABEL, break_on_hyphens=False)) if whole else (f"{hours},", spent)


def _levels(outcome: SimulationResult, peak: float) -> tuple[list[Level], int]:
    """Return the horizontal lines, and the number of nodes at the top of the plot."""
    case = outcome.scenario.case
    lines = [("target", case.pods, f"{counted(case.pods, 'node')} for the job{'s' if case.others else ''}")]
    if case.ceiling is not None:
        others = f", {case.system_nodes:,} of them in other pools" if case.system_nodes else ""
        lines.append(("wall", case.ceiling - case.system_nodes, f"wall: {counted(case.ceiling, 'node')}{others}"))
    step = document.round_step(max(peak, *(number for _, number, _ in lines)) / 5)
    most = step * ceil(max(peak, *(number for _, number, _ in lines)) / step + 0.1)
    found = [Level(kind, text, _y(number, most)) for kind, number, text in lines]
    for number in range(step, most + 1, step):
        y = _y(number, most)
        near = any(abs(y - own.y) < _LINE for own in found)
        found.append(Level("tick", "" if near else f"{number:,}{' nodes' if number + step > most else ''}", y))
    return found, most


def _y(nodes: float, most: int) -> int:
    return round(_HEIGHT * (1 - nodes / most))


def _moments(outcome: SimulationResult, total: float, y: int) -> list[Moment]:
    summary = outcome.middle.summary
    times = (
        ("last node ready", summary.last_ready), ("last pod starts", summary.last_start),
        ("work ends", summary.last_done), ("last node gone" if summary.finished else "end of the simulation", total),
    )  # fmt: skip
    shown = [(text, time) for text, time in times if 0 < time < inf]
    return [
        Moment(f"{text} {time / 60:,.1f} min", round(100 * min(time, total) / total, 2), y + _LINE * (at + 1))
        for at, (text, time) in enumerate(shown)
    ]


def _ticks(total: float) -> list[dict[str, object]]:
    """List numbers of minutes; `x` is a percentage of the width."""
    step = document.round_step(total / 60 / 6)
    times = range(0, int(total / 60) + 1, step)
    return [
        {"text": f"{time:,}", "x": round(6000 * time / total, 2), "anchor": "middle" if time else "start"}
        for time in times
    ]


def _bands(outcome: SimulationResult, nodes: dict[str, list[float]], most: int) -> list[dict[str, object]]:
    """List the areas of the parts, with names where there is room."""
    found, below = list[dict[str, object]](), [0.0] * _COLUMNS
    for part in _PARTS:
        above = [before + own for before, own in zip(below, nodes[part], strict=True)]
        if any(nodes[part]):
            words, x, y = _name(outcome, part, below, above, most)
            found.append({"part": part, "path": _path(below, above, most), "words": words, "x": x, "y": y})
        below = above
    return found


def _path(below: Sequence[float], above: Sequence[float], most: int) -> str:
    """Return the SVG path between two step curves, in columns and pixels."""
    upper = [f"V{_HEIGHT * (1 - value / most):.1f}H{at + 1}" for at, value in enumerate(above)]
    lower = [f"V{_HEIGHT * (1 - value / most):.1f}H{at}" for at, value in reversed(list(enumerate(below)))]
    return f"M0 {_HEIGHT}{''.join(upper)}{''.join(lower)}Z"


def _name(
    outcome: SimulationResult, part: str, below: Sequence[float], above: Sequence[float], most: int
) -> tuple[tuple[str, ...], float, int]:
    """Return an area's name and position; empty if too small."""
    name, spent = simulation.PART_NAMES[part], simulation.part_cost(outcome, PARTS[part])
    word = name.partition(" ")[0]
    for words in ((name, spent), (f"{name} {spent}",), (word, spent), (name,), (word,)):
        high, wide = _LINE * len(words) + 4, _LETTER * max(map(len, words)) / _PHONE * _COLUMNS
        tall = [_HEIGHT * (top - low) / most >= high for low, top in zip(below, above, strict=True)]
        edges = [-1, *(at for at, fits in enumerate(tall) if not fits), _COLUMNS]
        length, begin = max((end - at - 1, at + 1) for at, end in pairwise(edges))
        if all(words) and length >= wide:
            middle = begin + length // 2
            y = _y((below[middle] + above[middle]) / 2, most)
            return words, round(100 * middle / _COLUMNS, 2), y - _LINE * (len(words) - 1) // 2 + 4
    return (), 0, 0
