"""HTML page of cluster limits: reach, first wall, ladder, remedies."""

from __future__ import annotations

import textwrap
from math import ceil, log10
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import capacity
from kcheck.report.escape import is_address
from kcheck.report.html import document
from kcheck.report.html.document import Head, Picture, Section
from kcheck.report.limit import age_lines
from kcheck.scale import walls
from kcheck.text.units import clipped, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from kcheck.model import Cluster
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World

_ABOUT = "kcheck capacity: the number of nodes at which each limit is hit, lowest first"
_MOST = 300
"""Rows per cluster: limits with a number, and limits without one."""


def as_html(world: World, command_line: str = "") -> str:
    """Render a page with a section per cluster."""
    clusters = world.inventory.clusters
    sections = [
        Section(capacity.heading(cluster, world), body(cluster, world), f"cluster-{at}")
        for at, cluster in enumerate(clusters, 1)
    ]
    parts = [(name, f"{title}: {_reach(one, world)}") for one, (title, _, name) in zip(clusters, sections, strict=True)]
    name = clusters[0].display_name if len(clusters) == 1 else counted(len(clusters), "cluster")
    title = f"Limits of {name}" if clusters else "No cluster found here"
    head = Head(title, _ABOUT, document.contents("Clusters", parts))
    return document.page(head, sections, (command_line, *age_lines(world)))


def _reach(cluster: Cluster, world: World) -> str:
    nodes = capacity.reachable_nodes(cluster, world)
    return "how many it reaches is not known" if nodes is None else f"reaches {nodes:,}"


def body(cluster: Cluster, world: World, *, folded: bool = False) -> Markup:
    """Render the limits of a cluster; `folded` shortens the tables."""
    each = capacity.grouped_walls(cluster, world) if folded else [[one] for one in walls.find_walls(cluster, world)]
    known, unknown = _by_number(each)
    first, drawn = walls.first(cluster, world), draw_ladder(cluster, world)
    needed = [(f"{amount} {unit}", code, name) for amount, unit, code, name in capacity.quota_rows(cluster, world)]
    return document.markup(
        "capacity.html", summary=capacity.summary_sentence(cluster, world),
        month=capacity.month_sentence(cluster, world),
        move=first.move if first is not None and first.short else "", picture=drawn.svg if drawn else "",
        rows=[_row(one) for one in known[:_MOST]], left=max(0, len(known) - _MOST) + max(0, len(unknown) - _MOST),
        unknown=[(_place(one[0]), capacity.group_name(one), one[0]) for one in unknown[:_MOST]],
        folded=folded, quotas_title=capacity.quotas_title(cluster, world), quotas=needed,
    )  # fmt: skip


def _by_number(groups: list[list[Wall]]) -> tuple[list[list[Wall]], list[list[Wall]]]:
    """Separate groups with a number, the lowest first, from those without."""
    known = sorted((one for one in groups if one[0].number is not None), key=lambda one: one[0].number or 0)
    return known, [one for one in groups if one[0].number is None and not capacity.is_account_quota(one[0])]


def _row(group: list[Wall]) -> tuple[Markup | str, ...]:
    wall = group[0]
    nodes = document.markup("limit.html", wall=wall)
    name, kind = capacity.group_name(group), wall.kind
    about = f"{kind}, source of {name} ({wall.cluster.place.location})"
    source = document.markup("link.html", text=kind, address=wall.source, label=about)  # other links have this text
    return nodes, name, source if is_address(wall.source) else kind, wall.arithmetic, _place(wall), wall.move


def _place(wall: Wall) -> Markup:
    return document.markup("place.html", place=wall.place.location)


def as_svg(cluster: Cluster, world: World) -> str | None:
    """Draw the limits of a cluster as a picture; None if no limit has a number."""
    drawn = draw_ladder(cluster, world)
    if drawn is None:
        return None
    return document.picture(drawn, capacity.heading(cluster, world), capacity.summary_sentence(cluster, world))


_MOST_DRAWN, _MOST_UNDRAWN = 16, 6
"""Rungs in a picture, and unknown limits listed below it."""
_LABEL = 46
"""Characters per label line, to fit a phone."""
_LINE, _BAR, _GAP = 17, 10, 16
_RIGHT = 97.0
"""End of the axis, in percent of the width; leaves room for half a mark."""
_WIDEST = 30
"""Largest ratio of highest to lowest number on a linear axis."""
_BEYOND = 1.3
"""Shortest (`_BEYOND`) and longest (`_FAR`) linear axis, in targets."""
_FAR = 2.0


class Tick(NamedTuple):
    """A number on the axis; `x` is a percentage of the width."""

    x: float
    text: str
    anchor: str


class Rung(NamedTuple):
    """A drawn limit; `solid` and `reach` are percentages of the width."""

    kind: str
    number: str
    lines: tuple[str, ...]
    about: str
    y: int
    bar: int
    solid: float
    reach: float
    is_beyond: bool


class Axis(NamedTuple):
    """Scale from node counts to percentages of the width."""

    begin: int
    end: int

    def x(self, nodes: int) -> float:
        """Return the position of a number of nodes, in percent."""
        if not self.begin:
            share = nodes / self.end
        else:
            share = log10(max(nodes, self.begin) / self.begin) / log10(self.end / self.begin)
        return round(_RIGHT * min(1.0, share), 2)

    @property
    def title(self) -> str:
        """Label below the axis."""
        return "nodes (logarithmic scale)" if self.begin else "nodes"

    def ticks(self) -> list[Tick]:
        """List round numbers along the axis, few enough for a phone."""
        if self.begin:
            first, last = round(log10(self.begin)), round(log10(self.end))
            step = ceil((last - first) / 5)
            numbers = [10**power for power in range(first, last + 1, step)]
        else:
            numbers = list(range(0, self.end + 1, self.end // (4 if self.end % 4 == 0 else 5)))
        anchors = ["start", *["middle"] * len(numbers)]
        return [
            Tick(self.x(number), f"{number:,}", "end" if self.x(number) >= _RIGHT else anchor)
            for number, anchor in zip(numbers, anchors, strict=False)
        ]


def draw_ladder(cluster: Cluster, world: World) -> Picture | None:
    """Draw the limits of a cluster; None if none has a number."""
    known, unknown = _by_number(capacity.grouped_walls(cluster, world))
    if not known:
        return None
    drawn, target = known[:_MOST_DRAWN], world.sizes.wanted_amount(cluster).exact
    axis = _axis([wall.number or 0 for wall, *_ in drawn], target)
    rungs = _rungs(drawn, axis)
    keys = _legend(drawn, rungs, target)
    top = 8 + 20 * ceil(len(keys) / 2)
    base = top + rungs[-1].bar + _BAR + _GAP
    notes = _notes(known[_MOST_DRAWN:], list(map(capacity.group_title, unknown)))
    name = cluster.display_name
    height = base + 40 + _LINE * len(notes)
    svg = document.markup(
        "ladder.svg", name=name, id=f"ladder-{world.inventory.clusters.index(cluster) + 1}",
        about=capacity.summary_sentence(cluster, world), right=_RIGHT, height=height, top=top, base=base, axis=axis,
        keys=keys, rungs=rungs, bar_height=_BAR, line_height=_LINE,
        target=None if target is None else Tick(axis.x(target), counted(target, "node"), ""), notes=notes,
    )  # fmt: skip
    return Picture(svg, height)


def _axis(numbers: Sequence[int], target: int | None) -> Axis:
    """Return a linear axis around a target, else perhaps a logarithmic one."""
    positive = [number for number in numbers if number > 0]
    most, least = max(positive, default=1), min(positive, default=1)
    if target:
        near = [number for number in positive if number <= _FAR * target]
        return Axis(0, _rounded(max(round(_BEYOND * target), *near, 1)))
    if most <= least * _WIDEST:
        return Axis(0, _rounded(most))
    return Axis(10 ** max(0, ceil(log10(least)) - 1), 10 ** ceil(log10(most)))


def _rounded(number: int) -> int:
    step: int = 10 ** max(0, len(str(number)) - 2)
    sizes = (4, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
    return next((size * step for size in sizes if size * step >= number), number)


def _rungs(groups: Sequence[list[Wall]], axis: Axis) -> list[Rung]:
    found, y = [], _GAP
    for group in groups:
        wall = group[0]
        number = f"{wall.nodes}"
        lines = _label(f"{number}  {capacity.group_title(group)}")
        bar = y + _LINE * len(lines) - 8
        end = axis.end + 1 if wall.nodes.high is None else wall.nodes.high
        kind = "unclear" if wall.short is None else "before" if wall.short else "after"
        about = f"{wall.what}: {number} nodes. {wall.arithmetic}"
        solid, reach, rest = axis.x(wall.nodes.low), axis.x(end), (lines[0][len(number) :], *lines[1:])
        found.append(Rung(kind, number, rest, about, y, bar, solid=solid, reach=reach, is_beyond=end > axis.end))
        y = bar + _BAR + _GAP + 6
    return found


def _label(text: str) -> list[str]:
    lines = textwrap.wrap(text, _LABEL, drop_whitespace=True, break_on_hyphens=False)
    return lines if len(lines) <= 3 else [*lines[:2], f"{lines[2][: _LABEL - 3].rstrip()}..."]


_KEYS = {"before": "hit before target", "after": "not before target", "unclear": "maybe before target"}


def _legend(groups: Sequence[list[Wall]], rungs: Sequence[Rung], target: int | None) -> list[dict[str, object]]:
    kinds = {rung.kind for rung in rungs}
    texts = [(kind, text) for kind, text in _KEYS.items() if kind in kinds]
    if any(group[0].nodes.exact is None for group in groups):
        texts.append(("range", "in this range"))
    if any(rung.is_beyond for rung in rungs):
        texts.append(("beyond", "beyond the scale"))
    if target is not None:
        texts.append(("target", f"target: {counted(target, 'node')}"))
    return [
        {"kind": kind, "text": text, "x": "50%" if at % 2 else "0%", "y": 16 + 20 * (at // 2)}
        for at, (kind, text) in enumerate(texts)
    ]


def _notes(rest: Sequence[list[Wall]], unknown: Sequence[str]) -> list[str]:
    notes = [f"and {counted(len(rest), 'more limit')} from {rest[0][0].number or 0:,} nodes on"] if rest else []
    if unknown:
        listed = [clipped(f"?  {name}", _LABEL - 3) for name in unknown[:_MOST_UNDRAWN]]
        more = len(unknown) - _MOST_UNDRAWN
        notes += ["Not known at how many nodes:", *listed, *([f"and {more:,} more"] if more > 0 else [])]
    return notes
