"""Simulated runs as text with a chart, and as JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, inf
from typing import NamedTuple

from kcheck.fix.what_if import FixSaving
from kcheck.report.capacity import month_text
from kcheck.report.escape import json_text
from kcheck.report.layout import Column, Line, Table, line
from kcheck.scale.money import DAY, MONTH
from kcheck.scale.simulate.model import PHASES, Job, JobTimes, Point
from kcheck.scale.simulate.results import (
    PARTS,
    Range,
    Saving,
    SimulationResult,
    Spread,
    cost,
    deciding_factors,
    range_of,
)
from kcheck.scale.simulate.scenario import Scenario
from kcheck.text.text import grouped
from kcheck.text.units import between, counted, dollars, money, node_hours, readable, rough

NAMES = {
    "boot": "booting", "pull": "pulling images", "turn": "waiting for its turn to start",
    "wait": "waiting for the last node", "work": "work", "timer": "idle until its timer starts",
    "idle": "idle until it may go", "queue": "waiting for its deletion", "delete": "being deleted",
}  # fmt: skip
"""Names of the phases of paid time."""

PART_NAMES = {"start": "starting and waiting", "work": "working", "idle": "idle"}
"""Names of the parts of paid time."""

CURVES = (("launched", "paid for", "."), ("ready", "ready", "o"), ("busy", "has its pod", "#"))
"""Curves of the chart, the highest first: field, legend, and mark."""

RANGES = (
    "A range reaches from the shortest run to the longest, or from the cheapest to the most expensive: "
    "draws of chance, with the quickest loops that the autoscaler is believed to have and with the slowest."
)
NOT_MODELLED = (
    "Not modelled: pods that do not fill a node, eviction from nodes in use, other load on the API server, "
    "jobs of several queues of a cohort."
)
"""For pages without the guide, in the words of docs/simulate.md."""

_WIDTH, _HEIGHT, _MARGIN = 66, 12, 12
_BAR = 20
_MODEL = "A model of the cluster autoscaler and its cloud: docs/simulate.md says how far off it may be."


def as_text(outcome: SimulationResult, screen: int = 0) -> Iterator[Line]:
    """Yield the lines of a run, with a chart of at most 80 columns."""
    first, *rest = run_summary(outcome)
    yield from (Line(first, "bold"), *map(Line, rest))
    if outcome.without_wall is not None:
        yield from (Line(f"  {reason}", "red") for reason in stop_reasons(outcome))
        yield from (Line("  without that:"), Line())
        yield from as_text(outcome.without_wall, screen)
        return
    yield from (Line(), Line("  where the paid time of a node goes, on average:"))
    summary, causes = outcome.middle.summary, deciding_factors(outcome)
    for phase in (phase for phase in PHASES if round(share(outcome, phase), 1)):
        bar = "#" * round(_BAR * summary.phases[phase] / summary.paid) if summary.paid else ""
        style = "green" if phase == "work" else "yellow"
        what = f"{NAMES[phase]}: {causes[phase]}"
        yield line(f"  {share(outcome, phase):6.1f} min  ", (f"{bar:{_BAR}}", style), f"  {what}", column=_BAR + 16)
    width = min(_WIDTH, (screen or _WIDTH + _MARGIN) - _MARGIN)
    drawn = (Line(text, is_code=True) for text in chart(outcome.middle.timeline, summary.total, width))
    yield from (Line(), *drawn, Line())
    yield from (Line(f"  assumed: {text}") for text in outcome.scenario.assumed)
    yield from (Line(f"  {text}", width=110) for text in model_notes(outcome.scenario))


def run_summary(outcome: SimulationResult) -> Iterator[str]:
    """Yield the duration and cost of the run."""
    scenario, summary = outcome.scenario, outcome.middle.summary
    job, pods = scenario.case.job, scenario.case.pods
    name = scenario.job.kind if scenario.job else "pods"
    name = f"{len(scenario.case.jobs)} jobs" if scenario.case.others else name
    waves = f"{job.completions:,} completions, {job.parallel:,} at a time, each " if job.parallel else ""
    size = f"{scenario.cluster.display_name}: {name} on {counted(pods, 'node')}, {waves}"
    yield f"{size}{job.duration / 60:,g} min of work: {end_text(outcome)}"
    if scenario.risk:
        yield f"  {scenario.risk}"
    yield from _overlaps(outcome)
    if not summary.finished:
        yield from _unfinished(outcome)
        return
    yield (
        f"  nodes ready from {summary.first_ready / 60:.1f} to {summary.last_ready / 60:.1f} min, "
        f"last pod starts at {summary.last_start / 60:.1f}, work ends at {summary.last_done / 60:.1f}"
    )
    yield f"  {_paid(outcome)}: {summary.overspend(scenario.case):.1f} times the work itself"
    yield f"  of that {part_text(outcome, 'idle')}; {part_text(outcome, 'start')}"
    yield from _monthly(outcome)
    if scenario.case.others:
        for one, times in zip(scenario.case.jobs, summary.jobs, strict=True):
            yield f"  {one.name}: {counted(one.pods, 'node')}, from {times.start / 60:.1f} to {times.done / 60:.1f} min"
    if summary.interrupted:
        lost = node_hours(rough(summary.lost))
        yield f"  {counted(summary.interrupted, 'spot machine')} taken away: {lost} of work done again"


def _monthly(outcome: SimulationResult) -> Iterator[str]:
    """Yield the monthly cost: all runs of a schedule, and everything else."""
    case, spent = outcome.case, outcome.dollars
    pairs = list(zip(case.jobs, outcome.middle.summary.jobs, strict=True))
    skips = [_at_once(one, times) if one.concurrency == "Forbid" else 1 for one, times in pairs]
    work = sum(one.runs * one.duration / one.period / skip for one, skip in zip(case.jobs, skips, strict=True))
    runs = work * MONTH / case.work
    if runs >= 1 and spent is not None and not case.is_static:
        nodes = sum(one.pods * (_at_once(one, times) if one.concurrency == "Allow" else 1) for one, times in pairs)
        most = min(nodes, sum(pool.most for pool in case.pools)) * MONTH / 3600
        costs = [(cost * runs, cost * most / hours) for cost, hours in zip(spent, outcome.node_hours, strict=True)]
        shared = ", whose nodes pass from one to the next" if any(least > always for least, always in costs) else ""
        yield f"  a month: {money_text(range_of(map(min, costs)))} for {runs:,.0f} runs of the schedule{shared}"
    if spent is not None and outcome.scenario.idle.lines:
        yield f"  without a run {month_text(outcome.scenario.idle)}"


def end_text(outcome: SimulationResult) -> str:
    """Format when and how the run ends."""
    scenario, summary = outcome.scenario, outcome.middle.summary
    if summary.finished:
        last = "the work ends, on nodes that stay" if outcome.case.is_static else "the last node is gone"
        return f"about {minutes_text(*outcome.total)} until {last}"
    if summary.pods_done == scenario.case.pods:
        return f"nodes are still there after {scenario.case.horizon / 3600:,.3g} h"
    if not summary.failed:
        return "deadlock" if _stuck(outcome) else "never done"
    if scenario.case.others:
        return f"{', '.join(times.name for times in summary.jobs if times.done == inf)} fail at their deadline"
    return f"fails at its deadline of {scenario.case.job.deadline / 60:g} min"


def _unfinished(outcome: SimulationResult) -> Iterator[str]:
    scenario, summary = outcome.scenario, outcome.middle.summary
    held, pods = summary.held, scenario.case.pods
    cause = max(held, key=lambda name: held[name], default="nodes that do not come")
    if summary.pods_done == pods:
        yield f"  work ends at {summary.last_done / 60:.1f} min; nodes wait for {cause} to be deleted"
        return
    rest = "" if scenario.wall or (summary.failed and not held) else f"; the rest waits for {cause}"
    yield f"  {summary.pods_done:,} of {pods:,} pods end{rest}"
    job = scenario.case.job
    if job.parallel:
        left = -(-summary.jobs[0].left * job.parallel // job.pods)
        yield f"  {job.completions - left:,} of {job.completions:,} completions end"
    if stuck := _stuck(outcome):
        yield from _held(outcome, stuck)
    if summary.failed:
        yield f"  {_paid(outcome)}"
        yield f"  of that {part_text(outcome, 'idle')}; {part_text(outcome, 'start')}"


def _overlaps(outcome: SimulationResult) -> Iterator[str]:
    """Yield the effect on CronJobs that overlap with their next run."""
    for job, times in zip(outcome.scenario.case.jobs, outcome.middle.summary.jobs, strict=True):
        many, took = _at_once(job, times), min(times.done, job.deadline)
        if many > 1:
            skips, replaces = f"{many - 1:,} of {many:,} starts are skipped", "none ends: the next one replaces it"
            overlaps = f"up to {many:,} at once, for {counted(many * job.pods, 'node')}"
            becomes = {"Forbid": skips, "Replace": replaces}.get(job.concurrency, overlaps)
            yield f"  {job.name} starts every {readable(int(job.period))}, a run takes {took / 60:,.1f} min: {becomes}"


def _at_once(job: Job, times: JobTimes) -> int:
    """Return how many runs of a job there are at once, if each one starts in time."""
    took = min(times.done, job.deadline)
    return max(1, ceil(took / job.period)) if took < inf else 1


def _stuck(outcome: SimulationResult) -> list[str]:
    pairs = zip(outcome.scenario.case.jobs, outcome.middle.summary.jobs, strict=True)
    held = ((times, one.pods) for one, times in pairs if one.gang and times.start == inf and times.held)
    return [f"{times.name} holds {times.held:,} of {counted(pods, 'node')}" for times, pods in held]


def _held(outcome: SimulationResult, stuck: list[str]) -> Iterator[str]:
    """Yield what jobs hold while they wait for nodes, and its daily cost."""
    yield f"  {', '.join(stuck)}; {'none ever starts' if stuck[1:] else 'it never starts'} without the rest"
    pairs = list(zip(outcome.scenario.case.pools, outcome.middle.summary.uses, strict=True))
    if nodes := sum(use.held for _, use in pairs):
        mills = sum(24 * use.held * pool.price.mills for pool, use in pairs if pool.price)
        gpus = sum(24 * use.held * pool.gpus for pool, use in pairs)
        texts = node_hours(nodes * DAY), counted(gpus, "GPU-hour") if gpus else "", money(mills) if mills else ""
        yield f"  a day of that: {', '.join(filter(None, texts))}"


def _paid(outcome: SimulationResult) -> str:
    spent = outcome.dollars
    cost_text = "" if spent is None else f", {money_text(spent)} {price_text(outcome)}"
    return f"{hours_text(outcome.node_hours)} paid{cost_text}"


def part_text(outcome: SimulationResult, name: str) -> str:
    """Format the time and cost of a part."""
    spent = part_cost(outcome, PARTS[name])
    return f"{PART_NAMES[name]}: {hours_text(outcome.part(PARTS[name]).node_hours)}{f', {spent}' if spent else ''}"


def part_cost(outcome: SimulationResult, phases: Sequence[str]) -> str:
    """Format the cost of some phases; empty without prices."""
    found = outcome.part(phases).dollars
    return "" if found is None else money_text(found)


def hours_text(bounds: Range) -> str:
    """Format a range of node-hours."""
    return between(*(node_hours(rough(bound * 3600)) for bound in bounds))


def money_text(bounds: Range) -> str:
    """Format a range of dollars."""
    return between(*(money(rough(bound * 1000)) for bound in bounds))


def minutes_text(least: float, most: float) -> str:
    """Format a range of seconds in minutes, of a day or more in hours."""
    if least >= DAY:
        return between(f"{round(least / 3600):,} h", f"{round(most / 3600):,} h")
    return between(f"{round(least / 60)} min", f"{round(most / 60)} min")


def price_text(outcome: SimulationResult) -> str:
    """Format the node prices of a run by market and region."""
    found = [pool.price for pool in outcome.scenario.case.pools if pool.price]
    kinds = grouped(found, lambda price: f" ({price.market}, {price.region})" if price.market else "")
    ranges = {kind: range_of(one.mills for one in own) for kind, own in kinds.items()}
    texts = [f"{between(money(int(low)), money(int(top)))} per node-hour{kind}" for kind, (low, top) in ranges.items()]
    unpriced = ", without the nodes that have no list price" if outcome.unpriced else ""
    return f"at {' and '.join(texts)}{unpriced}"


def stop_reasons(outcome: SimulationResult) -> Iterator[str]:
    """Yield the reasons why nodes do not come, or pods do not start."""
    scenario = outcome.scenario
    if scenario.wall is not None:
        what = f"the {scenario.wall.what}, at {scenario.case.ceiling:,} nodes (to move it: {scenario.wall.move})"
        yield f"no more nodes at once than the wall lets be: {what}"
    if scenario.case.pulls:
        waiting, nodes = counted(outcome.middle.summary.refused, "pod"), counted(scenario.case.pulls, "fresh node")
        limit = f"serves {nodes} in {scenario.case.window / 3600:g} hours without an account"
        yield f"{waiting} on ready nodes wait: Docker Hub {limit}; a mirror serves all"


def model_notes(scenario: Scenario) -> list[str]:
    """List which delays were measured, and where the model's accuracy is documented."""
    delays = scenario.delays
    if not delays.notes:
        return [] if scenario.case.settings.karpenter else [_MODEL]
    lines = [f"measured: {', '.join(delays.notes)} ({delays.place})"]
    if delays.missing:
        lines.append(f"not measured: {', '.join(delays.missing)}; docs/simulate.md says how far off these may be")
    return lines


def share(outcome: SimulationResult, phase: str) -> float:
    """Return the average minutes that a node spends in a phase."""
    summary = outcome.middle.summary
    return summary.phases[phase] / 60 / max(1, summary.launched)


def chart(timeline: list[Point], total: float, width: int = _WIDTH) -> Iterator[str]:
    """Yield a text chart of nodes over time: with their pod, ready, and paid for."""
    columns = list(_columns(timeline, total, width))
    top = max((point.launched for point in timeline), default=0) or 1
    for row in range(_HEIGHT, 0, -1):
        level = top * (row - 0.5) / _HEIGHT
        cells = "".join(_mark(point, level) for point in columns)
        yield f"  {f'{top:,}' if row == _HEIGHT else '':>7} |{cells}".rstrip()
    yield f"  {'0':>7} +{'-' * width}"
    yield f"  {'':7}  0{f'{total / 60:.0f} min':>{width - 1}}"
    yield f"  {'':7}  {'   '.join(f'{mark} {words}' for _, words, mark in reversed(CURVES))}"


def _mark(point: Point | None, level: float) -> str:
    curves = reversed(CURVES) if point is not None else ()
    return next((mark for name, _, mark in curves if getattr(point, name) >= level), " ")


def _columns(timeline: list[Point], total: float, width: int) -> Iterator[Point | None]:
    at = -1
    for column in range(width):
        time = total * (column + 0.5) / width
        while at + 1 < len(timeline) and timeline[at + 1].time <= time:
            at += 1
        yield timeline[at] if at >= 0 else None


# --- what if


ALL = "all of these"


class SavingsTable(NamedTuple):
    """Savings of fixes: rows or sentences, and the command that prints fixes."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]
    command: str


def savings_table(outcome: SimulationResult, savings: list[FixSaving]) -> SavingsTable:
    """Return the savings of each fix and of all together."""
    if savings and not (outcome.without_wall or outcome).middle.summary.finished:
        lines = [f"with {' and '.join(one.rules)} fixed it is done after {one.after / 60:.0f} min"
                 for one in savings if one.after is not None]  # fmt: skip
        return SavingsTable((), (), tuple(lines), _command(savings))
    if not savings:
        why = "" if outcome.scenario.has_autoscaler else "; its autoscaler is not in this code"
        return SavingsTable((), (), (f"what if: none of kcheck's fixes changes this run{why}",), "")
    priced = outcome.dollars is not None
    head = tuple(column.title for column in _COLUMNS if priced or column.title != "dollars")
    rows = tuple(
        (ALL if len(one.rules) > 1 else one.rules[0], *_saved(one.saved, priced=priced), one.safety)
        for one in savings
        if one.saved is not None
    )
    fixes = [one for one in savings if one.after is not None]
    return SavingsTable(head, rows, (), _command(fixes) if fixes else "")


_COLUMNS = (
    Column("saved by", width=30), Column("minutes", is_number=True, width=11),
    Column("node-hours", is_number=True, width=15), Column("dollars", is_number=True, width=16), Column("fix"),
)  # fmt: skip


def table(outcome: SimulationResult, savings: list[FixSaving]) -> Iterator[Line | Table]:
    """Yield the savings as a table or in sentences, and the command of their fixes."""
    found = savings_table(outcome, savings)
    yield Line()
    if found.head:
        yield Table([column for column in _COLUMNS if column.title in found.head], found.rows, "  ")
    yield from (Line(f"  {text}") for text in found.lines)
    if found.command:
        yield from (Line(), Line(f"  {found.command}", "bold", hang=4))


def _saved(saved: Saving, *, priced: bool) -> list[str]:
    columns = [
        minutes_text(saved.time.least, saved.time.most).removesuffix(" min"),
        _bounds(saved.node_time, node_hours),
    ]
    return [*columns, *(["" if saved.money is None else _bounds(saved.money, dollars)] if priced else [])]


def _bounds(estimate: Spread, show: Callable[[int], str]) -> str:
    return between(show(estimate.least), show(estimate.most)).removesuffix("s").removesuffix(" node-hour")


def _command(savings: list[FixSaving]) -> str:
    select = " ".join(f"--select {name}" for name in max((one.rules for one in savings), key=len))
    unsafe = " --unsafe-fixes" if any(one.safety == "unsafe" for one in savings) else ""
    return f"kcheck fix {select}{unsafe} --diff"


# --- JSON


def as_json(outcomes: Iterable[tuple[SimulationResult, list[FixSaving] | None]]) -> str:
    """Format runs as JSON: version 1, additive changes only, times in seconds."""
    runs = [_data(outcome, savings) for outcome, savings in outcomes]
    return json_text({"version": 1, "runs": runs}, indent=1)


def _data(outcome: SimulationResult, savings: list[FixSaving] | None) -> dict[str, object]:
    scenario, run, job = outcome.scenario, outcome.middle, outcome.scenario.case.job
    summary, paid, spent = run.summary, outcome.node_hours, outcome.dollars
    data: dict[str, object] = {
        "cluster": scenario.cluster.id, "nodes": scenario.case.pods, "duration": job.duration,
        "completions": job.completions or None, "finished": summary.finished, "total": round(summary.total),
        "shortest": round(outcome.total.least), "longest": round(outcome.total.most),
        **{name: _whole(getattr(summary, name)) for name in ("first_ready", "last_ready", "last_start")},
        "last_done": round(summary.last_done), **_ends("node_hours", (paid.least, paid.most, summary.paid / 3600)),
        **_ends("dollars", None if spent is None else (spent.least, spent.most, cost(outcome.case, summary))),
        "unpriced_nodes": outcome.unpriced,
        "jobs": [
            {"name": one.name, "nodes": one.pods, "held": times.held}
            | {name: _whole(getattr(times, name)) for name in ("start", "done")}
            for one, times in zip(scenario.case.jobs, summary.jobs, strict=True)
        ],
        "interrupted": summary.interrupted, "lost": round(summary.lost), "failed": summary.failed,
        "refused": summary.refused, "overspend": round(summary.overspend(scenario.case), 2),
        "phases": {phase: round(summary.phases[phase]) for phase in PHASES},
        "phase_dollars": spent and {phase: round(cost(outcome.case, summary, (phase,)), 2) for phase in PHASES},
        "binding": deciding_factors(outcome), "held": {name: round(seconds) for name, seconds in summary.held.items()},
        "risk": scenario.risk or None, "assumed": list(scenario.assumed),
        "measured": list(scenario.delays.notes),
        "events": [{"time": round(e.time), "what": e.what, "pool": e.pool, "nodes": e.nodes} for e in run.events],
        "timeline": [dict(zip(p._fields, (round(p.time), *p[1:]), strict=True)) for p in run.timeline],
    }  # fmt: skip
    if outcome.without_wall is not None:
        data["stopped_by"] = list(stop_reasons(outcome))
        data["beyond"] = _data(outcome.without_wall, None)
    return data if savings is None else {**data, "what_if": [_saving(one) for one in savings]}


def _saving(one: FixSaving) -> dict[str, object]:
    saved = one.saved
    time, paid, spent = (None, None, None) if saved is None else (saved.time, saved.node_time, saved.money)
    minutes = _ends("minutes", time and [number / 60 for number in time])
    return {
        "rules": list(one.rules), "safety": one.safety, "minutes": minutes["minutes"],
        "least": minutes["minutes_least"], "most": minutes["minutes_most"],
        **_ends("node_hours", paid and [number / 3600 for number in paid]),
        **_ends("dollars", spent and [number / 1000 for number in spent]),
    }  # fmt: skip


def _ends(name: str, numbers: Iterable[float] | None) -> dict[str, float | None]:
    """Return minimum, maximum and mean as fields, rounded; None without numbers."""
    least, most, mean = (None,) * 3 if numbers is None else (round(number, 2) for number in numbers)
    return {name: mean, f"{name}_least": least, f"{name}_most": most}


def _whole(seconds: float) -> int | None:
    return None if seconds == float("inf") else round(seconds)
