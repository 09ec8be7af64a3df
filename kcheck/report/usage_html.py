"""A bill as a page of HTML that needs nothing else: no script, no font, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report import usage_notes, usage_plots
from kcheck.report.escape import xml_text
from kcheck.report.usage_numbers import (
    cells,
    change_titles,
    changes,
    columns,
    dollars,
    hours,
    percent,
    places,
    sums,
    wait,
)
from kcheck.source.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.usage.bill import Bill, Row

_MOST = 200
"""Rows of a page."""
_DARK = {
    "ink": "#d4d4d8", "grid": "#52525b", "used": "#60a5fa", "idle": "#fb923c", "line0": "#60a5fa", "line1": "#fb923c",
    "line2": "#4ade80", "line3": "#c084fc", "line4": "#22d3ee",
}  # fmt: skip
_LIGHT = usage_plots.COLORS
_STYLE = """\
:root{color-scheme:light dark;--page:#fff;--text:#18181b;--soft:#f4f4f5;LIGHT}
@media screen and (prefers-color-scheme:dark){:root{--page:#18181b;--text:#fafafa;--soft:#27272a;DARK}}
body{font:15px/1.5 system-ui,sans-serif;max-width:74rem;margin:2rem auto;padding:0 1rem}
body{background:var(--page);color:var(--text)}
h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.4rem 0}
.numbers{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.2rem 0;padding:0;list-style:none}
.numbers li{background:var(--soft);border-radius:.5rem;padding:.7rem 1rem;flex:1 1 8rem;box-sizing:border-box}
.numbers b{display:block;font-size:1.5rem;line-height:1.3}
.bad b{color:var(--idle)}.note,figcaption,caption,small{color:var(--ink);font-size:.9rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}caption{text-align:left}
td,th{padding:.3rem .45rem;text-align:right;border-bottom:1px solid var(--soft);white-space:nowrap}
tfoot th{white-space:nowrap!important}
td:first-child,th:first-child{text-align:left;min-width:13rem;white-space:normal;overflow-wrap:anywhere;font-weight:normal}
thead th{border-bottom:2px solid var(--grid);font-weight:600!important;vertical-align:bottom}
tfoot td,tfoot th{font-weight:600!important}tfoot tr:first-child>*{border-top:2px solid var(--grid)}
figure{margin:1.5rem 0}.plot{width:100%;height:auto;stroke-linejoin:round}
.plot text{font-family:system-ui,sans-serif!important}
@media print{body{margin:0;max-width:none;font-size:11px}td,th{padding:.15rem .25rem}figure,tr{break-inside:avoid}}
"""
_SECURITY = "default-src 'none'; style-src 'unsafe-inline'"
_MEANING = """\
GPU-hours: GPUs that pods requested, times the hours for which they had their nodes.
Busy: The mean utilisation of these GPUs while their pods ran, as NVIDIA's DCGM measures it.
Paid: The price of a node, shared by its pods: on nodes with GPUs by the GPUs that they request; on other nodes by the \
larger of their shares of cores and memory, requested or used, whichever is more, as OpenCost does.
Idle: What was paid for GPUs while they were not busy, or for cores and memory that were requested and not used.
Not requested: What the nodes cost beyond what their pods requested. With it, the rows add up to the bill."""


def render(bill: Bill) -> str:
    """The report as a page."""
    title = xml_text(usage_notes.title(bill))
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_SECURITY}">'
        f"<title>{title}</title>\n<style>{_style()}</style>"
    )
    body = [f"<h1>{title}</h1>", _numbers(bill), *_plots(bill), *_tables(bill), *_notes(bill), _meaning()]
    lines = "\n".join(part for part in body if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{lines}\n</body></html>\n'


def _style() -> str:
    pairs = {"LIGHT": _LIGHT, "DARK": _DARK}
    text = _STYLE
    for word, colors in pairs.items():
        text = text.replace(word, ";".join(f"--{name}:{color}" for name, color in colors.items()))
    return text


def _numbers(bill: Bill) -> str:
    """The headline numbers, each with what it is of."""
    asked, total = bill.requested.amounts, bill.total.amounts
    found: list[tuple[str, str, bool]] = []
    if bill.is_priced:
        found += [
            (dollars(total.paid), f"paid for {counted(len(bill.nodes), 'node')}", False),
            (dollars(total.idle), f"of it idle ({percent(total.idle / total.paid if total.paid else None)})", True),
            (dollars(bill.spare.amounts.paid), "of that was requested by no pod", False),
        ]
    if asked.gpu_hours:
        found.append((hours(asked.gpu_hours), "GPU-hours requested", False))
    if asked.gpu_use is not None:
        found.append((percent(asked.gpu_use), "of them busy, on average", False))
    if asked.queue_mean is not None:
        found.append((wait(asked.queue_mean), "until a pod has its node, on average", False))
    items = (
        f"<li{' class=bad' if bad else ''}><b>{xml_text(text)}</b> {xml_text(what)}</li>" for text, what, bad in found
    )
    return f"<ul class=numbers>{''.join(items)}</ul>" if found else ""


def _plots(bill: Bill) -> Iterator[str]:
    try:
        found = usage_plots.plots(bill)
    except ImportError:
        yield "<p class=note>For plots, install matplotlib beside kcheck, such as by its extra plots.</p>"
        return
    for plot in found:
        yield (
            f"<figure><h2>{xml_text(plot.title)}</h2>\n{plot.svg}"
            f"<figcaption>{xml_text(plot.text)}</figcaption></figure>"
        )


def _tables(bill: Bill) -> Iterator[str]:
    shown = columns(bill, page=True)
    rest = len(bill.rows) - _MOST
    more = f" {counted(rest, 'more row')} in --format json or csv." if rest > 0 else ""
    if bill.rows:
        titles = [(column.title, column.about) for column in shown]
        body = (_row(row.name, cells(row, bill, page=True), _place(row, bill)) for row in bill.rows[:_MOST])
        last = (_row(name, cells(row, bill, page=True)) for name, row in sums(bill))
        caption = f"{usage_notes.order(bill)}{more}"
        yield f"<section><h2>All numbers by {bill.by}</h2>{_table(bill, titles, body, last, caption)}</section>"
    times = usage_notes.compared(bill)
    if times:
        titles = [(title, f"change of {title}") for title in change_titles(bill)]
        body = (_row(row.name, changes(row, bill)) for row in bill.rows[:_MOST])
        last = (_row(name, changes(row, bill)) for name, row in sums(bill))
        yield f"<section><h2>Change</h2>{_table(bill, titles, body, last, f'{times}.')}</section>"


def _table(
    bill: Bill, titles: Sequence[tuple[str, str]], body: Iterable[str], last: Iterable[str], caption: str
) -> str:
    heads = "".join(f'<th scope=col title="{xml_text(about)}">{xml_text(title)}</th>' for title, about in titles)
    return (
        f"<div class=wide><table><caption>{xml_text(caption)}</caption>\n"
        f"<thead><tr><th scope=col>{bill.by}</th>{heads}</tr></thead>\n"
        f"<tbody>{''.join(body)}</tbody>\n<tfoot>{''.join(last)}</tfoot></table></div>"
    )


def _row(name: str, texts: Iterable[str], below: str = "") -> str:
    numbers = "".join(f"<td>{xml_text(text)}</td>" for text in texts)
    place = f"<br><small>{xml_text(below)}</small>" if below else ""
    return f"<tr><th scope=row>{xml_text(name)}{place}</th>{numbers}</tr>\n"


def _place(row: Row, bill: Bill) -> str:
    """Where the code has a job; empty for other rows, which may be of many."""
    found = places(row) if bill.by == "job" else []
    return f"{found[0][0]}:{found[0][1]}" if len(found) == 1 else ""


def _notes(bill: Bill) -> Iterator[str]:
    for note in usage_notes.notes(bill):
        lines = "".join(f"<li>{xml_text(line)}</li>" for line in note.lines)
        yield f"<section><h2>{xml_text(note.title)}</h2><ul>{lines}</ul></section>"


def _meaning() -> str:
    pairs = (line.split(": ", 1) for line in _MEANING.splitlines())
    lines = "".join(f"<dt>{xml_text(word)}</dt><dd>{xml_text(text)}</dd>" for word, text in pairs)
    return f"<section><h2>What the numbers mean</h2><dl>{lines}</dl></section>"
