"""What is told of a generated cluster: quotas to ask for, how far the walls are, what a run costs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck import machines, walls
from kcheck.profiles import limits
from kcheck.report.capacity import sentence
from kcheck.walls import quotas

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.model import Cluster
    from kcheck.walls.model import Wall
    from kcheck.world import World


class Request(NamedTuple):
    """A quota to ask the provider for: its key in the profile, its code and name there, and how much."""

    key: str
    code: str
    name: str
    amount: int
    unit: str


class Far(NamedTuple):
    """A wall with the place in the output that makes it."""

    nodes: int
    what: str
    kind: str
    arithmetic: str
    where: str
    source: str


def context(world: World, cluster: Cluster, intent: Intent, top: str) -> dict[str, Any]:
    """What the templates of the README and the settings are filled with, beside what all have."""
    return {
        "requests": _requests(world, cluster),
        "walls": [_far(wall, top) for wall in walls.of(cluster, world) if wall.number is not None],
        "sentence": sentence(cluster, world),
        "run": _run(intent),
    }


def _requests(world: World, cluster: Cluster) -> list[Request]:
    """Quotas of the account, and those of the cloud that the target is above, each once with the largest amount."""
    found: dict[str, list[Request]] = {}
    for one in quotas.at_target(cluster, world):
        quota = one.need.quota
        key = f"{cluster.cloud}.quota.{quota.key}"
        found.setdefault(key, []).append(Request(key, quota.code, quota.name, one.amount, quotas.unit(one.need)))
    for wall in walls.of(cluster, world):
        if wall.short and wall.kind == "quota" and wall.limit and not wall.limit.startswith("quota."):
            key = f"{cluster.cloud}.{wall.limit}"
            entry = limits(cluster.cloud)[wall.limit]
            request = Request(key, entry.note, wall.what, wall.needed or 0, entry.unit)
            found.setdefault(key, []).append(request)
    return [request for requests in found.values() for request in requests]


def _far(wall: Wall, top: str) -> Far:
    path = os.path.relpath(wall.place.source.path, os.path.relpath(top)).replace(os.sep, "/")
    where = f"{path}:{wall.place.begin.line}"
    return Far(wall.number or 0, wall.what, wall.kind, wall.arithmetic.replace("|", "\\|"), where, wall.source)


class Run(NamedTuple):
    """What the usual job costs by list price: `mills` thousandths of a US dollar an hour and node."""

    mills: int
    machine: str
    region: str
    market: str

    def cost(self, nodes: int, hours: int) -> int:
        """US dollars."""
        return round(self.mills * nodes * hours / 1000)

    @property
    def dollars(self) -> str:
        """US dollars an hour and node."""
        return f"{self.mills / 1000:,.2f}"


def _run(intent: Intent) -> Run | None:
    spot = intent.spot_nodes > intent.nodes - intent.spot_nodes
    found = machines.price(intent.cloud, intent.machine, spot=spot)
    return None if found is None else Run(found.mills, found.machine, found.region, found.market)
