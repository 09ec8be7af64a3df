"""Bill as a self-contained HTML page: no script, font or network."""

from __future__ import annotations

import re
import warnings
from contextlib import chdir
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.usage.accounting import busy_hours
from kcheck.addons.usage.report import usage_notes
from kcheck.addons.usage.report.usage_numbers import (
    cells,
    change_titles,
    changes,
    columns,
    day,
    dollars,
    hours,
    percent,
    places,
    sums,
    wait,
)
from kcheck.report.escape import short, xml_text
from kcheck.report.html import document
from kcheck.report.html.document import Head, Number, Section
from kcheck.scale.usage.recording import HOUR
from kcheck.text.bundled import PROFILES
from kcheck.text.regex import regex
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kcheck.addons.usage.bill import Bill, Row

    _Rows = Sequence[tuple[str, str, Iterable[str]]]
    """A name, what is written below it, and the cells."""

_ABOUT = "kcheck usage: who held which GPUs, what idled, and what it cost"
_MOST = 200
_MEANING = """\
GPU-hours: GPUs that pods requested, times the hours for which they had their nodes.
Busy: The mean utilisation of these GPUs while their pods ran, as NVIDIA's DCGM measures it.
Paid: The price of a node, shared by its pods: on nodes with GPUs by the GPUs that they request; on other nodes by the \
larger of their shares of cores and memory, requested or used, whichever is more, as OpenCost does.
Idle: What was paid for GPUs while they were not busy, or for cores and memory that were requested and not used.
Not requested: What the nodes cost beyond what their pods requested. With it, the rows add up to the bill."""


def as_html(bill: Bill, command_line: str = "") -> str:
    """Render the bill as a page that ends with the command that prints it."""
    head = Head(usage_notes.title(bill), _ABOUT, document.numbers(list(_numbers(bill))))
    return document.page(head, [*_plots(bill), *_tables(bill), *_notes(bill), _meaning()], (command_line,))


def _numbers(bill: Bill) -> Iterator[Number]:
    asked, total = bill.requested.amounts, bill.total.amounts
    if bill.is_priced:
        yield Number(dollars(total.paid), f"paid for {counted(len(bill.nodes), 'node')}")
        idle = percent(total.idle / total.paid if total.paid else None)
        yield Number(dollars(total.idle), f"of it idle ({idle})", is_bad=True)
        yield Number(dollars(bill.spare.amounts.paid), "of that was requested by no pod")
    if asked.gpu_hours:
        yield Number(hours(asked.gpu_hours), "GPU-hours requested")
    if asked.gpu_use is not None:
        yield Number(percent(asked.gpu_use), "of them busy, on average")
    if asked.queue_mean is not None:
        yield Number(wait(asked.queue_mean), "until a pod has its node, on average")


def _plots(bill: Bill) -> Iterator[Section]:
    try:
        found = plots(bill)
    except ImportError:
        text = "For plots, install matplotlib beside kcheck, such as by its extra plots."
        yield Section("Plots", document.markup("note.html", lines=[text]), "plots")
        return
    for number, plot in enumerate(found, 1):
        body = document.markup("plot.html", title=plot.title, svg=document.trusted(plot.svg), text=plot.text)
        yield Section(plot.title, body, f"plot-{number}")


def _tables(bill: Bill) -> Iterator[Section]:
    rows = bill.rows[:_MOST]
    rest = len(bill.rows) - _MOST
    more = f" {counted(rest, 'more row')} in --format json or csv." if rest > 0 else ""
    if bill.rows:
        titles = [(column.title, column.about) for column in columns(bill, page=True)]
        body = [(row.name, _place(row, bill), cells(row, bill, page=True)) for row in rows]
        last = [(name, "", cells(row, bill, page=True)) for name, row in sums(bill)]
        caption = f"{usage_notes.order(bill)}{more}"
        yield _table(f"All numbers by {bill.by}", "numbers", caption, (bill.by, titles), body, last)
    times = usage_notes.compared(bill)
    if times:
        titles = [(title, f"change of {title}") for title in change_titles(bill)]
        body = [(row.name, "", changes(row, bill)) for row in rows]
        last = [(name, "", changes(row, bill)) for name, row in sums(bill)]
        yield _table("Change", "change", f"{times}.", (bill.by, titles), body, last)


def _table(
    title: str, name: str, caption: str, head: tuple[str, list[tuple[str, str]]], body: _Rows, last: _Rows
) -> Section:
    made = document.markup(
        "usage.html", label=title, caption=caption, head=head, parts=(("tbody", body), ("tfoot", last))
    )
    return Section(title, made, name)


def _place(row: Row, bill: Bill) -> str:
    """Return where a job is in the code; empty for other rows."""
    found = places(row) if bill.by == "job" else []
    return f"{found[0][0]}:{found[0][1]}" if len(found) == 1 else ""


def _notes(bill: Bill) -> Iterator[Section]:
    for number, note in enumerate(usage_notes.notes(bill), 1):
        yield Section(note.title, document.markup("note.html", lines=note.lines), f"note-{number}")


def _meaning() -> Section:
    pairs = [line.split(": ", 1) for line in _MEANING.splitlines()]
    return Section("What the numbers mean", document.markup("meaning.html", pairs=pairs), "meaning")


_ROWS, _LINES = 12, 5
"""Rows in a bar plot, and lines in a plot over time."""
_NAME = 32
_LEGEND = 95
_POINTS = 168
"""Points of a line: the hours of a week."""
_WIDTH, _BAR, _MARGIN, _CHART, _LINE = 7.6, 0.3, 0.75, 2.6, 0.19
"""Inches: plot width; heights of a bar, of margins, of a chart over time, of a legend line."""
_LEFT, _LETTER, _RIGHT = 0.03, 0.0115, 0.97
"""Shares of the width: left margin, a letter of the names, right end of the plot."""
_LITTLE = 0.001
"""Share of all bars below which a part is not drawn."""
_COLORS = ("ink", "grid", "used", "idle", "unknown", "line0", "line1", "line2", "line3", "line4")
_MARKS = {name: f"#00fe{index:02x}" for index, name in enumerate(_COLORS)}
"""Placeholder colours, replaced by CSS variables of the page."""
_SPACE = regex(r"\n\s*")
_DEFINED = regex(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL)
_NAMED = regex(r"<g id=\"[^\"]*\"")
"""Ids of groups, which would repeat within the page and are never referenced."""
_STYLED = regex(r" style=\"([^\"]*)\"")
_FONT = regex(r"(?:\S+ )*?([\d.]+px) (.*)")
_SIZE = regex(r"<svg [^>]*?viewBox=\"([^\"]*)\"[^>]*>")


class Plot(NamedTuple):
    """A plot: title, description, and SVG."""

    title: str
    text: str
    svg: str


def plots(bill: Bill) -> list[Plot]:
    """Draw the plots of a bill that have data.

    Raises ImportError if matplotlib is not installed.
    """
    with chdir(PROFILES):  # it reads settings of the current folder, which may be a stranger's
        import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")  # of letters that its own font lacks: the browser has others
        matplotlib.rcdefaults()
        matplotlib.rc("svg", fonttype="none")
        matplotlib.rc("text", parse_math=False)  # names of strangers are no formulas
        matplotlib.rc("font", size=9, family="DejaVu Sans")  # its own, by which it measures text
        found = (_money(bill), _gpu_hours(bill), _core_hours(bill), _over_time(bill))
        return [plot for plot in found if plot is not None]


def _money(bill: Bill) -> Plot | None:
    rows = sorted((row for row in bill.rows if row.amounts.paid), key=lambda row: -row.amounts.idle)[:_ROWS]
    if not rows:
        return None
    parts = [(one.paid - one.idle - one.unmeasured, one.idle, one.unmeasured) for one in (row.amounts for row in rows)]
    title = f"Money paid by {bill.by}, and how much of it idled"
    text = f"US dollars, most idle first: {_listed(bill, rows, lambda row: dollars(row.amounts.idle))} idle."
    labels = [_short(row, bill) for row in rows]
    return Plot(title, text, _bars(title, labels, parts, ("used", "idle", "not measured"), "US dollars"))


def _gpu_hours(bill: Bill) -> Plot | None:
    rows = sorted((row for row in bill.rows if row.amounts.gpu_hours), key=lambda row: -row.amounts.gpu_hours)[:_ROWS]
    if not rows:
        return None
    parts = [
        (one.gpu_busy, one.gpu_idle, one.gpu_hours - one.gpu_busy - one.gpu_idle)
        for one in (row.amounts for row in rows)
    ]
    title = f"GPU-hours requested by {bill.by}, and how many of them were busy"
    text = f"GPU-hours, most requested first: {_listed(bill, rows, lambda row: hours(row.amounts.gpu_hours))}."
    labels = [_short(row, bill) for row in rows]
    return Plot(title, text, _bars(title, labels, parts, ("busy", "not busy", "not measured"), "GPU-hours"))


def _core_hours(bill: Bill) -> Plot | None:
    rows = [] if bill.total.amounts.gpu_hours else [row for row in bill.rows if row.amounts.cpu_requested]
    rows = sorted(rows, key=lambda row: -row.amounts.cpu_requested)[:_ROWS]
    if not rows:
        return None
    parts = [(one.cpu_used, one.cpu_requested - one.cpu_used, 0.0) for one in (row.amounts for row in rows)]
    title = f"Core-hours requested by {bill.by}, and how many of them were used"
    text = f"Core-hours, most requested first: {_listed(bill, rows, lambda row: hours(row.amounts.cpu_requested))}."
    labels = [_short(row, bill) for row in rows]
    return Plot(title, text, _bars(title, labels, parts, ("used", "not used", "not measured"), "core-hours"))


def _listed(bill: Bill, rows: Sequence[Row], number: Callable[[Row], str]) -> str:
    return ", ".join(f"{_short(row, bill)} {number(row)}" for row in rows[:3])


def _bars(
    title: str, labels: Sequence[str], parts: Sequence[tuple[float, ...]], names: tuple[str, ...], unit: str
) -> str:
    figure, axes = _figure(_BAR * len(labels) + _MARGIN, _LEFT + _LETTER * max(map(len, labels)))
    places = range(len(labels), 0, -1)
    done = [0.0] * len(labels)
    for index, (name, color) in enumerate(zip(names, ("used", "idle", "unknown"), strict=True)):
        values = [max(0.0, part[index]) for part in parts]
        if sum(values) > _LITTLE * sum(map(sum, parts)):
            axes.barh(places, values, left=done, color=_MARKS[color], label=name, height=0.7)
        done = [before + value for before, value in zip(done, values, strict=True)]
    axes.set_yticks(list(places), list(labels))
    axes.set_ylim(0.4, len(labels) + 0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(unit)
    axes.grid(axis="x", color=_MARKS["grid"], linewidth=0.5)
    return _svg(figure, axes, title)


def _over_time(bill: Bill) -> Plot | None:
    """Plot utilization of the rows with the most GPU-hours, with gaps."""
    rows = sorted((row for row in bill.rows if row.amounts.gpu_measured), key=lambda row: -row.amounts.gpu_hours)[
        :_LINES
    ]
    if not rows:
        return None
    nodes = {one.node.name: one for one in bill.nodes}
    begin, count = bill.span.begin, bill.span.last
    step = -(-count // _POINTS)
    title = f"GPU utilisation over time, of the {bill.by}s with the most GPU-hours" if len(rows) > 1 else (
        "GPU utilisation over time"
    )  # fmt: skip
    side_by_side = max(1, _LEGEND // max(len(_short(row, bill)) + 5 for row in rows))
    figure, axes = _figure(_CHART, 0.08, -(-len(rows) // side_by_side))
    times = [(hour + step / 2) / 24 for hour in range(0, count, step)]
    for index, row in enumerate(rows):
        measured, busy = [0.0] * len(times), [0.0] * len(times)
        for match in row.matches:
            for hour, whole, part in busy_hours(match.pod, nodes.get(match.pod.node)):
                if hour < count:
                    measured[hour // step] += whole
                    busy[hour // step] += part
        values = [100 * part / whole if whole else float("nan") for part, whole in zip(busy, measured, strict=True)]
        axes.plot(times, values, color=_MARKS[f"line{index}"], label=_short(row, bill), linewidth=1.3)
    axes.set_ylim(0, 102)
    axes.set_xlim(0, count / 24)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    shown = max(1, round(count / 24 / 7))
    days = range(0, count // 24 + 1, shown)
    axes.set_xticks(list(days), [day(begin + 24 * HOUR * index).rpartition(" ")[0] for index in days])
    axes.grid(color=_MARKS["grid"], linewidth=0.5)
    text = f"Lines in percent, a point for {'each hour' if step == 1 else f'{step} hours'}: " + ", ".join(
        f"{_short(row, bill)} {100 * (row.amounts.gpu_use or 0):.0f}% on average" for row in rows
    )
    return Plot(title, f"{text}.", _svg(figure, axes, title, side_by_side))


def _short(row: Row, bill: Bill) -> str:
    """Return the name of a row for a plot; a job's without its kind."""
    return short(row.name.partition(" ")[2] if bill.by == "job" else row.name, _NAME)


def _figure(height: float, left: float, lines: int = 1) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    top = _LINE * (lines - 1)
    height += top
    figure = Figure(figsize=(_WIDTH, height), facecolor="none")
    axes = figure.add_axes((left, 0.48 / height, _RIGHT - left, 1 - (0.75 + top) / height), facecolor="none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_MARKS["grid"])
    axes.set_axisbelow(True)
    return figure, axes


def _svg(figure: Figure, axes: Axes, title: str, side_by_side: int = 3) -> str:
    """Convert a figure to inline SVG in the page's colours, reproducibly."""
    import matplotlib

    axes.tick_params(colors=_MARKS["ink"], length=0)
    axes.xaxis.label.set_color(_MARKS["ink"])
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=side_by_side, frameon=False, labelcolor=_MARKS["ink"],
        borderpad=0.2, handlelength=1, columnspacing=1.2,
    )  # fmt: skip
    text = StringIO()
    matplotlib.rc("svg", hashsalt=title)
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    body = text.getvalue()
    body = _DEFINED.sub("", body[body.index("<svg") :])
    body = _NAMED.sub("<g", _SPACE.sub("\n", body))
    rest = f'role="img" class="plot"><title>{xml_text(title)}</title>'
    body = _SIZE.sub(lambda match: f'<svg viewBox="{match[1]}" {rest}', body, count=1)
    body = _STYLED.sub(lambda match: _attributes(match[1]), body)
    for name, mark in _MARKS.items():
        body = body.replace(mark, f"var(--{name})")
    return body


def _attributes(style: str) -> str:
    """Convert a style to SVG attributes, as the page's policy forbids inline styles."""
    pairs = [part.split(": ", 1) for part in style.split(";") if ": " in part]
    found = {name.strip(): value.strip() for name, value in pairs}
    font = _FONT.fullmatch(found.pop("font", ""))
    if font:
        found |= {"font-size": font[1], "font-family": font[2]}
    return "".join(f' {name}="{value}"' for name, value in found.items())
