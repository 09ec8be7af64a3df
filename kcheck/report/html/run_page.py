"""Simulated runs as a page: how long each takes, what it costs, what of that is idle, and what fixes would save."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import capacity, simulation
from kcheck.report.html import document, run_chart
from kcheck.report.html.document import Head, Number, Section
from kcheck.report.page import HOME
from kcheck.scale.simulate.results import PARTS, deciding_factors
from kcheck.scale.simulate.run import trace
from kcheck.text.units import between, counted, money, node_hours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from kcheck.fix.what_if import FixSaving
    from kcheck.scale.simulate.results import SimulationResult

_ABOUT = "kcheck simulate: how long the job takes, what it costs, and which setting costs it"
GUIDE = f"{HOME}/docs/simulate.md"
"""Where it says how accurate the model is."""


class Table(NamedTuple):
    """The titles and the rows of a table."""

    head: tuple[str, ...]
    rows: tuple[tuple[Markup | str, ...], ...]


class Chart(NamedTuple):
    """A run with its picture, and the numbers of that."""

    lines: tuple[str, ...]
    picture: Markup
    rows: tuple[tuple[str, ...], ...]


def as_html(pairs: Sequence[tuple[SimulationResult, list[FixSaving] | None]]) -> str:
    """A page with a section for each run, and what fixes save of it, if that was asked for."""
    roots = capacity.roots([run.scenario.cluster for run, _ in pairs])
    sections = [
        Section(f"{_heading(run)}{roots[run.scenario.cluster.id]}", _body(run, savings, f"run-{at}"), f"run-{at}")
        for at, (run, savings) in enumerate(pairs, 1)
    ]
    title = f"Simulated run of {pairs[0][0].scenario.title}" if len(pairs) == 1 else f"{len(pairs)} simulated runs"
    parts = [
        (one.name, f"{one.title}: {simulation.end_text(run)}") for one, (run, _) in zip(sections, pairs, strict=True)
    ]
    return document.page(Head(title, _ABOUT, document.contents("Runs", parts)), sections)


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
    return f"{outcome.scenario.title} ({cluster.cloud}, {cluster.place.location})"


def _numbers(outcome: SimulationResult, savings: list[FixSaving] | None) -> list[Number]:
    """How long the run takes, what it costs, what of that is idle, and what fixes save."""
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
    """What is paid, and what of that is not for work."""
    hours, spent = simulation.hours_text(outcome.node_hours), outcome.dollars
    if spent is None:
        found = [Number(hours, "paid; none of these nodes has a list price, --price sets one")]
    else:
        found = [Number(simulation.money_text(spent), f"for {hours} {simulation.price_text(outcome)}")]
    work = outcome.part(PARTS["work"]).node_hours
    for part in ("idle", "start"):
        own = outcome.part(PARTS[part]).node_hours
        name, cost, took = simulation.PART_NAMES[part], simulation.part_cost(outcome, part), simulation.hours_text(own)
        found.append(Number(cost or took, f"{name}: {took}" if cost else name, is_bad=own.most > work.most))
    return found


def _saving(outcome: SimulationResult, savings: list[FixSaving] | None) -> list[Number]:
    """What the fixes save that save the most: all together, or the only one."""
    names, safety, saved, _ = savings[0] if savings else ((), "", None, None)
    if saved is None:
        return []
    estimate = saved.node_time if saved.money is None else saved.money
    least, most = (node_hours(end) if saved.money is None else money(end) for end in estimate[:2])
    by = names[0] if len(names) == 1 else counted(len(names), "fix", "fixes")
    when = " once nothing stops it" if outcome.without_wall else ""
    return [Number(between(least, most), f"saved by {by} ({safety}){when}")] if estimate.most > 0 else []


def _phases(outcome: SimulationResult) -> Table:
    """Where the paid time goes: minutes of the run of median length, node-hours and money of all runs."""
    causes, priced = deciding_factors(outcome), outcome.dollars is not None
    rows: list[tuple[Markup | str, ...]] = []
    for part, phases in PARTS.items():
        for phase in phases:
            name = document.markup("phase.html", part=part, name=simulation.NAMES[phase])
            own = outcome.part((phase,))
            hours = simulation.hours_text(own.node_hours).removesuffix(" node-hours")
            spent = [] if own.dollars is None else [simulation.money_text(own.dollars)]
            rows.append((name, f"{simulation.share(outcome, phase):.1f}", hours, *spent, causes[phase]))
    head = ("a node is", "minutes, on average", "node-hours", *(["cost"] if priced else []), "decided by")
    return Table(head, tuple(rows))


def _chart(outcome: SimulationResult, name: str) -> Chart:
    lines = tuple(line.strip() for line in simulation.run_summary(outcome))
    spans = trace(outcome.case)
    return Chart(lines, run_chart.chart(outcome, spans, name).svg, tuple(run_chart.rows(outcome, spans)))


def as_svg(outcome: SimulationResult) -> str:
    """The picture of a run."""
    drawn = run_chart.chart(outcome, trace(outcome.case))
    return document.picture(drawn, _heading(outcome), next(simulation.run_summary(outcome)))
