"""Simulated runs as text with a chart, JSON, SVG and a page of HTML."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck.simulate.model import PHASES
from kcheck.units import dollars

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.scenario import Scenario
    from kcheck.simulate.model import Point, Run
    from kcheck.whatif import Saving

_NAMES = {
    "boot": "booting", "wait": "waiting for its pod", "work": "work", "idle": "idle until it may go",
    "queue": "waiting for its deletion", "delete": "being deleted",
}  # fmt: skip
_WIDTH, _HEIGHT = 64, 12
_CURVES = (("launched", "paid for", "."), ("ready", "ready", "o"), ("busy", "at work", "#"))


class Outcome(NamedTuple):
    """A scenario with its runs, one for each seed; the middle one by its length stands for them."""

    scenario: Scenario
    runs: list[Run]

    @property
    def middle(self) -> Run:
        """The run of median length."""
        return sorted(self.runs, key=lambda run: run.summary.total)[len(self.runs) // 2]

    @property
    def spread(self) -> tuple[float, float]:
        """The shortest and the longest, in seconds."""
        totals = [run.summary.total for run in self.runs]
        return min(totals), max(totals)

    @property
    def cost(self) -> float | None:
        """US dollars of the middle run."""
        return money(self.middle.summary.paid, self.scenario.price)


def money(seconds: float, price: int | None) -> float | None:
    """US dollars for paid seconds of nodes; None without a price."""
    return None if price is None else seconds * price / 3_600_000


def binding(outcome: Outcome) -> dict[str, str]:
    """For each phase of the paid time, what decides how long it is."""
    case, summary = outcome.scenario.case, outcome.middle.summary
    settings, cloud, job = case.settings, case.cloud, case.job
    first = max(case.pools, key=lambda pool: pool.most)
    launch = job.pods / (cloud.launch_rate * len(case.pools))
    held = {name: seconds for name, seconds in summary.held.items() if seconds >= 1}
    slow = max(held, key=lambda name: held[name], default="")
    loop = settings.scan_interval + cloud.loop + cloud.loop_per_node * job.pods
    rates = {
        f"max-scale-down-parallelism {settings.batch}": settings.batch / loop,
        f"kube-client-qps {settings.client_qps:g}": settings.client_qps / cloud.taint_requests
        if settings.client_qps
        else 1e9,
    }
    if cloud.serial and cloud.delete_call:
        rates["one call of the cloud a node, one after the other"] = 1 / cloud.delete_call
    slowest = min(rates, key=lambda name: rates[name])
    starts = job.pods / cloud.pod_rate if cloud.pod_rate else 0
    return {
        "boot": f"machines boot in about {cloud.boot / 60:.1f} min"
        + (f"; {len(case.pools)} pools start {cloud.launch_rate:g} a second each" if launch > 60 else ""),
        "wait": slow
        if slow == "the registry's limit of pulls"
        else f"{cloud.pod_rate:g} pods start a second"
        if starts > 60
        else "pulling the image",
        "work": f"{job.duration / 60:g} min each" + (" once all run" if job.gang else ""),
        "idle": f"scale-down-unneeded-time {_minutes(settings.unneeded_time)}",
        "queue": "scale-down-delay-after-add"
        if held.get("scale-down-delay-after-add", 0) > held.get("max-scale-down-parallelism", 0)
        else slowest,
        "delete": f"the cloud takes {_minutes(cloud.delete_latency)} to stop a machine"
        + (f", and its calls {cloud.delete_call:g} s each" if cloud.serial else ""),
    } | (
        {"boot": f"node groups left alone after a failure; machines boot in about {cloud.boot / 60:.1f} min"}
        if slow == "initial-node-group-backoff-duration" and first
        else {}
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.2g} min" if seconds >= 60 else f"{seconds:g} s"


# --- text


def as_text(outcome: Outcome) -> str:
    """The run in words and numbers, and the nodes over time at 80 columns."""
    scenario, run = outcome.scenario, outcome.middle
    case, summary = scenario.case, run.summary
    name = scenario.job.kind if scenario.job else "a job"
    low, high = (bound / 60 for bound in outcome.spread)
    head = f"{case.job.pods:,} nodes for {name}, {case.job.duration / 60:g} min of work: about {summary.total / 60:.0f} min in all ({low:.0f} to {high:.0f} over {len(outcome.runs)} draws)"
    lines = [head]
    if not summary.finished:
        lines.append(f"  only {summary.pods_done:,} of the {case.job.pods:,} pods end: {_stuck(run)}")
    lines.append(
        f"  first node ready after {summary.first_ready / 60:.1f} min, last one after {summary.last_ready / 60:.1f}; last pod started after {summary.last_start / 60:.1f}, done after {summary.last_done / 60:.1f}"
    )
    cost = outcome.cost
    price = (
        f", ${dollars(round((cost or 0) * 1000))} at ${(scenario.price or 0) / 1000:g} a node and hour"
        if cost is not None
        else ""
    )
    lines.append(
        f"  {summary.paid / 3600:,.0f} node-hours paid{price}: {summary.overspend(case.job):.1f} times the work itself"
    )
    lines += ["", "  where the paid time of a node goes, on average"]
    causes, nodes = binding(outcome), max(1, summary.launched)
    for phase in PHASES:
        minutes = summary.phases[phase] / 60 / nodes
        bar = "#" * round(24 * summary.phases[phase] / summary.paid) if summary.paid else ""
        lines.append(f"  {minutes:6.1f} min  {bar:24}  {_NAMES[phase]}: {causes[phase]}")
    lines += ["", *chart(run.timeline, summary.total)]
    lines += ["", *(f"  assumed: {text}" for text in scenario.assumed)]
    lines.append(
        "  A model of the cluster autoscaler, fitted to runs of 2021; docs/simulate.md says how far off it may be."
    )
    return "\n".join(lines) + "\n"


def table(savings: list[Saving]) -> str:
    """What each fix saves, and all of them, as a table."""
    if not savings:
        return "  what if: no fix that kcheck has changes this run\n"
    lines = [
        "  what if, by the same draws:   minutes   node-hours"
        + ("          $" if savings[0].dollars is not None else "")
    ]
    for one in savings:
        name = "all of them" if len(one.rules) > 1 and one is savings[0] else ", ".join(one.rules)
        low, high = one.spread
        cost = "" if one.dollars is None else f" {one.dollars:>10,.0f}"
        lines.append(
            f"  {name:28} {one.minutes:>8.1f} {one.hours:>12,.0f}{cost}   {low:.0f} to {high:.0f} min ({one.safety})"
        )
    select = ",".join(savings[0].rules) if len(savings[0].rules) > 1 else savings[0].rules[0]
    chosen = " ".join(f"--select {name}" for name in select.split(","))
    unsafe = " --unsafe-fixes" if any(one.safety == "unsafe" for one in savings) else ""
    return "\n".join([*lines, f"  kcheck fix {chosen}{unsafe} --diff"]) + "\n"


def _stuck(run: Run) -> str:
    held = run.summary.held
    return max(held, key=lambda name: held[name], default="no node is there for the rest")


def chart(timeline: list[Point], total: float) -> list[str]:
    """Nodes over time in characters: at work, ready, and paid for."""
    columns = _columns(timeline, total)
    top = max((point.launched for point in timeline), default=0) or 1
    lines = []
    for row in range(_HEIGHT, 0, -1):
        level = top * (row - 0.5) / _HEIGHT
        cells = "".join(
            next(
                (mark for name, _, mark in reversed(_CURVES) if point is not None and getattr(point, name) >= level),
                " ",
            )
            for point in columns
        )
        label = f"{top:,}" if row == _HEIGHT else ""
        lines.append(f"  {label:>7} |{cells}".rstrip())
    lines.append(f"  {'0':>7} +{'-' * _WIDTH}")
    end = f"{total / 60:.0f} min"
    lines.append(f"  {'':7}  0{end:>{_WIDTH - 1}}")
    lines.append(f"  {'':7}  " + "   ".join(f"{mark} {words}" for _, words, mark in reversed(_CURVES)))
    return lines


def _columns(timeline: list[Point], total: float) -> list[Point | None]:
    """The point that holds at the middle of each column."""
    result: list[Point | None] = []
    at = -1
    for column in range(_WIDTH):
        time = total * (column + 0.5) / _WIDTH
        while at + 1 < len(timeline) and timeline[at + 1].time <= time:
            at += 1
        result.append(timeline[at] if at >= 0 else None)
    return result


# --- JSON


def as_json(outcomes: Iterable[Outcome]) -> str:
    """The runs for programs: version 1, additive changes only; times in seconds."""
    return json.dumps({"version": 1, "runs": [_data(one) for one in outcomes]}, indent=1, ensure_ascii=False) + "\n"


def _data(outcome: Outcome) -> dict[str, Any]:
    scenario, run, case = outcome.scenario, outcome.middle, outcome.scenario.case
    summary = run.summary
    return {
        "cluster": scenario.cluster.address, "pods": case.job.pods, "duration": case.job.duration,
        "finished": summary.finished, "total": round(summary.total), "shortest": round(outcome.spread[0]),
        "longest": round(outcome.spread[1]), "first_ready": _whole(summary.first_ready),
        "last_ready": _whole(summary.last_ready), "last_start": _whole(summary.last_start),
        "last_done": round(summary.last_done), "node_hours": round(summary.paid / 3600, 2),
        "dollars": None if outcome.cost is None else round(outcome.cost, 2), "overspend": round(summary.overspend(case.job), 2),
        "phases": {phase: round(summary.phases[phase]) for phase in PHASES}, "binding": binding(outcome),
        "held": {name: round(seconds) for name, seconds in summary.held.items()}, "assumed": list(scenario.assumed),
        "events": [{"time": round(e.time), "what": e.what, "pool": e.pool, "nodes": e.nodes} for e in run.events],
        "timeline": [[round(p.time), *p[1:]] for p in run.timeline],
    }  # fmt: skip


def _whole(seconds: float) -> int | None:
    return None if seconds == float("inf") else round(seconds)


# --- pictures


_COLORS = {"launched": "#d4d4d8", "ready": "#93c5fd", "busy": "#2563eb"}
_BOX = (760, 320, 60, 36)


def as_svg(outcome: Outcome) -> str:
    """Nodes over time as areas: paid for, ready, at work."""
    run = outcome.middle
    width, height, left, bottom = _BOX
    total = run.summary.total or 1
    top = max((point.launched for point in run.timeline), default=0) or 1
    across, up = width - left - 12, height - bottom - 28
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">',
             f"<title>{escape(_title(outcome))}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>']  # fmt: skip
    for name, words, _ in _CURVES:
        xy = []
        before = 0
        for point in run.timeline:
            x = left + across * min(point.time, total) / total
            value = getattr(point, name)
            xy += [(x, before), (x, value)]
            before = value
        xy += [(left + across, before), (left + across, 0)]
        path = " ".join(f"{x:.1f},{28 + up - up * value / top:.1f}" for x, value in [(left, 0), *xy])
        parts.append(f'<polygon points="{path}" fill="{_COLORS[name]}"><title>{words}</title></polygon>')
    base = 28 + up
    parts.append(f'<path d="M{left} 28V{base}H{left + across}" fill="none" stroke="#3f3f46"/>')
    parts.append(
        f'<text x="{left - 6}" y="36" text-anchor="end">{top:,}</text><text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
    )
    parts += [
        f'<text x="{left + across * i / 4:.0f}" y="{base + 16}" text-anchor="middle">{total / 60 * i / 4:.0f} min</text>'
        for i in range(5)
    ]
    parts += [
        f'<rect x="{left + 8 + i * 110}" y="6" width="12" height="12" fill="{_COLORS[name]}"/><text x="{left + 26 + i * 110}" y="16">{words}</text>'
        for i, (name, words, _) in enumerate(_CURVES)
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(outcome: Outcome) -> str:
    case = outcome.scenario.case
    return f"{outcome.scenario.cluster.address}: {case.job.pods:,} nodes, {case.job.duration / 60:g} min of work"


def as_html(outcomes: list[Outcome]) -> str:
    """A page that needs nothing else: a chart and a table for each run."""
    sections = []
    for outcome in outcomes:
        causes, summary = binding(outcome), outcome.middle.summary
        rows = "".join(
            f"<tr><td>{_NAMES[phase]}</td><td>{summary.phases[phase] / 60 / max(1, summary.launched):.1f}</td><td>{escape(causes[phase])}</td></tr>"
            for phase in PHASES
        )
        told = as_text(outcome).splitlines()[:4]
        words = "".join(
            f"<p>{escape(line.strip())}</p>" for line in told if line.strip() and "where the paid" not in line
        )
        sections.append(
            f"<section><h2>{escape(_title(outcome))}</h2>{words}{as_svg(outcome)}<table><tr><th>paid time of a node</th><th>min</th><th>decided by</th></tr>{rows}</table>"
            + "".join(f"<p><small>assumed: {escape(text)}</small></p>" for text in outcome.scenario.assumed) + "</section>"
        )  # fmt: skip
    style = "body{font:15px/1.5 sans-serif;max-width:820px;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #e4e4e7}svg{width:100%}"
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>kcheck simulate</title><style>{style}</style>{"".join(sections)}</html>\n'
