"""Simulated runs as SVG, and as a page of HTML that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report.escape import xml_text
from kcheck.report.simulation import CURVES, NAMES, run_summary, share
from kcheck.simulate.model import PHASES
from kcheck.simulate.results import deciding_factors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.simulate.model import Point
    from kcheck.simulate.results import SimulationResult

_COLORS = {"launched": "#d4d4d8", "ready": "#93c5fd", "busy": "#2563eb"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 760, 320, 60, 28, 36, 24
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:820px;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}"
    "td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #e4e4e7}svg{width:100%}"
)


def as_svg(outcome: SimulationResult) -> str:
    """Nodes over time as areas: paid for, ready, with their pod."""
    run = outcome.middle
    total, top = run.summary.total or 1, max((point.launched for point in run.timeline), default=0) or 1
    across, base = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif"'
    parts = [f'{head} font-size="12" role="img">', f"<title>{xml_text(next(run_summary(outcome)))}</title>"]
    parts.append(f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>')
    for i, (name, words, _) in enumerate(CURVES):
        points = " ".join(
            f"{_LEFT + across * time / total:.1f},{base - (base - _TOP) * value / top:.1f}"
            for time, value in _steps(run.timeline, name, total)
        )
        parts.append(f'<polygon points="{points}" fill="{_COLORS[name]}"/>')
        x = _LEFT + 8 + i * 110
        parts.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{_COLORS[name]}"/>')
        parts.append(f'<text x="{x + 18}" y="16">{words}</text>')
    parts.append(f'<path d="M{_LEFT} {_TOP}V{base}H{_LEFT + across}" fill="none" stroke="#3f3f46"/>')
    parts += [
        f'<text x="{_LEFT - 6}" y="{y}" text-anchor="end">{label}</text>'
        for y, label in ((_TOP + 8, f"{top:,}"), (base, "0"))
    ]
    parts += [
        f'<text x="{_LEFT + across * 60 * at / total:.0f}" y="{base + 16}" text-anchor="middle">{at} min</text>'
        for at in _ticks(total / 60)
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(minutes: float) -> range:
    """Round numbers of minutes to label a time axis with, eight at most."""
    step = next((step for step in (1, 2, 5, 10, 20, 30, 60) if minutes < 8 * step), None)
    return range(0, int(minutes) + 1, step or 60 * (1 + int(minutes) // 480))


def _steps(timeline: list[Point], name: str, total: float) -> Iterator[tuple[float, int]]:
    """The corners of a curve that holds its value until the next point."""
    before = 0
    yield 0, 0
    for point in timeline:
        time = min(point.time, total)
        yield time, before
        before = getattr(point, name)
        yield time, before
    yield total, before
    yield total, 0


def as_html(outcomes: Iterable[SimulationResult]) -> str:
    """A page with a chart and a table for each run."""
    sections = "".join(map(_section, outcomes))
    head = f'<meta charset="utf-8"><title>kcheck simulate</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{sections}</body></html>\n'


def _section(outcome: SimulationResult) -> str:
    causes = deciding_factors(outcome)
    title, *words = run_summary(outcome)
    rows = "".join(
        f"<tr><td>{NAMES[phase]}</td><td>{share(outcome, phase):.1f}</td><td>{xml_text(causes[phase])}</td></tr>"
        for phase in PHASES
    )
    table = f"<table><tr><th>paid time of a node</th><th>min</th><th>decided by</th></tr>{rows}</table>"
    notes = "".join(f"<p><small>assumed: {xml_text(text)}</small></p>" for text in outcome.scenario.assumed)
    texts = "".join(f"<p>{xml_text(line.strip())}</p>" for line in words)
    return f"<section><h2>{xml_text(title)}</h2>{texts}{as_svg(outcome)}{table}{notes}</section>"
