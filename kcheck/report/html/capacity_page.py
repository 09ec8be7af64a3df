"""The limits of clusters as a page: how far each gets, what stops it there, and what moves that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report import capacity
from kcheck.report.escape import is_address
from kcheck.report.html import document, ladder
from kcheck.report.html.document import Head, Section
from kcheck.scale import quotas, walls
from kcheck.text.units import counted

if TYPE_CHECKING:
    from markupsafe import Markup

    from kcheck.model import Cluster
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World

_ABOUT = "kcheck capacity: the number of nodes at which each limit is hit, lowest first"
_MOST = 300
"""Limits of a cluster with a number, and without one."""


def as_html(world: World) -> str:
    """A page with a section for each cluster."""
    clusters = world.inventory.clusters
    roots = capacity.roots(clusters)
    sections = [
        Section(f"{capacity.heading(cluster, world)}{roots[cluster.id]}", body(cluster, world), f"cluster-{at}")
        for at, cluster in enumerate(clusters, 1)
    ]
    parts = [(name, f"{title}: {_reach(one, world)}") for one, (title, _, name) in zip(clusters, sections, strict=True)]
    title = f"Limits of {clusters[0].display_name}" if len(clusters) == 1 else _title(len(clusters))
    return document.page(Head(title, _ABOUT, document.contents("Clusters", parts)), sections)


def _reach(cluster: Cluster, world: World) -> str:
    """How far a cluster gets, in a few words."""
    nodes = capacity.reachable_nodes(cluster, world)
    return "how many it reaches is not known" if nodes is None else f"reaches {nodes:,}"


def _title(number: int) -> str:
    return f"Limits of {counted(number, 'cluster')}" if number else "No cluster found here"


def body(cluster: Cluster, world: World, *, folded: bool = False) -> Markup:
    """What is said of the limits of a cluster; if `folded`, the tables are short, and opened by the reader."""
    each = capacity.grouped_walls(cluster, world) if folded else [[one] for one in walls.find_walls(cluster, world)]
    groups = [one for one in each if not capacity.is_account_quota(one[0])]
    known = sorted((one for one in groups if one[0].number is not None), key=lambda one: one[0].number or 0)
    unknown = [one for one in groups if one[0].number is None]
    first, drawn = walls.first(cluster, world), ladder.ladder(cluster, world)
    return document.markup(
        "capacity.html", summary=capacity.summary_sentence(cluster, world),
        move=first.move if first is not None and first.short else "", picture=drawn.svg if drawn else "",
        rows=[_row(one) for one in known[:_MOST]], left=max(0, len(known) - _MOST) + max(0, len(unknown) - _MOST),
        unknown=[(_place(one[0]), capacity.group_name(one), one[0]) for one in unknown[:_MOST]],
        folded=folded, quotas_title=capacity.quotas_title(cluster, world), quotas=_quotas(cluster, world),
    )  # fmt: skip


def _row(group: list[Wall]) -> tuple[Markup | str, ...]:
    wall = group[0]
    nodes = document.markup("limit.html", wall=wall)
    name, kind = capacity.group_name(group), wall.kind
    about = f"{kind}, source of {name} ({capacity.at(wall.cluster)})"
    source = document.link(kind, wall.source, about) if is_address(wall.source) else kind
    return nodes, name, source, wall.arithmetic, _place(wall), wall.move


def _place(wall: Wall) -> Markup:
    return document.markup("place.html", place=capacity.at(wall))


def _quotas(cluster: Cluster, world: World) -> list[tuple[str, ...]]:
    return [
        (
            f"{one.amount:,} {one.need.unit}{'' if one.sure else ' or more'}",
            one.need.quota.code,
            one.need.quota.name,
        )
        for one in quotas.at_target(cluster, world)
    ]


def as_svg(cluster: Cluster, world: World) -> str | None:
    """The ladder of a cluster as a picture; None where no limit has a number."""
    drawn = ladder.ladder(cluster, world)
    if drawn is None:
        return None
    return document.picture(drawn, capacity.heading(cluster, world), capacity.summary_sentence(cluster, world))
