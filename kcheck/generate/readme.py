"""Facts for a generated README: quotas, walls, costs."""

from __future__ import annotations

import os
from math import ceil, floor
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.clouds import folder
from kcheck.config.numbers.profiles import ProfileValue, limits
from kcheck.generate import recommended
from kcheck.generate.intent import Intent
from kcheck.generate.pools import system_nodes
from kcheck.model import Cluster, Surge
from kcheck.report import simulation
from kcheck.report.capacity import month_text, summary_sentence
from kcheck.scale import money, quotas, walls
from kcheck.scale.growth import surge_nodes
from kcheck.scale.simulate import results, scenario
from kcheck.scale.simulate.model import PHASES
from kcheck.scale.simulate.results import Range
from kcheck.scale.simulate.scenario import Scenario
from kcheck.scale.walls.model import Wall
from kcheck.scale.world import World
from kcheck.text.text import Span
from kcheck.text.units import between
from kcheck.text.values import known


class QuotaRequest(NamedTuple):
    """Quota to request: its profile key, code, name and amount."""

    key: str
    code: str
    name: str
    amount: int
    unit: str

    @property
    def service(self) -> str:
        """AWS service code of the quota."""
        group = self.key.split(".")[1]
        return {"quota": "ec2", "vpc": "vpc", "fsx": "fsx", "ebs": "ebs"}.get(group, "eks")


class Facts(NamedTuple):
    """Facts in the README of a cluster, assuming the requested quotas are granted."""

    walls: list[Wall]
    sentence: str
    run: machines.Price | None
    start: StartPrice | None
    other_findings: list[OtherFinding]
    requests: list[QuotaRequest]
    idle: str


def facts(world: World, intent: Intent, requests: list[QuotaRequest]) -> Facts:
    """Collect the facts of the README; `requests` are quotas to request."""
    cluster = world.inventory.clusters[0]
    return Facts(
        _lowest_walls(world, cluster), summary_sentence(cluster, world),
        intent.price(spot=intent.spot_nodes > intent.nodes - intent.spot_nodes), start_price(world, intent),
        other_findings=other_findings(intent.cloud), requests=requests,
        idle=month_text(money.month(cluster, world, idle=True)),
    )  # fmt: skip


def quota_requests(world: World, cluster: Cluster) -> list[QuotaRequest]:
    """List quotas to request, of the account and of the cloud.

    Pools that are never empty are upgraded while jobs run: their surge needs quota too. All may be of the largest type.
    """
    found, lasting = {}, [pool for pool in world.pools.of_cluster(cluster) if known(pool.size.min_nodes)]
    surges = {
        pool.id: surge_nodes(known(pool.upgrade.surge) or Surge(), known(world.sizes.of_pool(pool)) or 0)
        for pool in lasting
    }
    for one in quotas.at_target(cluster, world):
        quota, amount = one.need.quota, (one.amount.high or one.amount.low) + one.need.amount(surges)
        key = f"{cluster.cloud}.quota.{quota.key}"
        found[quota.code] = QuotaRequest(key, quota.code, quota.name, amount, one.need.unit)
    for wall in walls.find_walls(cluster, world):
        if wall.short and wall.kind == "quota" and not wall.limit.startswith("quota."):
            entries, key = limits(cluster.cloud), f"{cluster.cloud}.{wall.limit}"
            entry, named = entries[wall.limit], entries.get(f"{wall.limit}_name")
            amount = max(wall.needed or 0, found[key].amount if key in found else 0)
            found[key] = QuotaRequest(key, entry.code, named.text if named else wall.what, amount, entry.unit)
    return list(found.values())


def _lowest_walls(world: World, cluster: Cluster) -> list[Wall]:
    """List the lowest wall of each kind, up to the cluster limit."""
    result: dict[str, Wall] = {}
    for wall in walls.find_walls(cluster, world):
        if wall.number is not None:
            result.setdefault(wall.mechanism, wall)
        if "cluster-limit" in result:
            break
    return list(result.values())


def place(span: Span, top: str) -> str:
    """Format a span as a path below a folder, and a line."""
    path = os.path.relpath(span.source.path, top).replace(os.sep, "/")
    return f"{path}:{span.begin.line}"


class OtherFinding(NamedTuple):
    """Finding of another linter that stays, and why."""

    linter: str
    check: str
    reason: str


def other_findings(cloud: str) -> list[OtherFinding]:
    """List findings of other linters on generated files, by linter and check."""
    return sorted({(one.linter, one.check): one for owner in ("any", cloud) for one in findings_of(owner)}.values())


def findings_of(owner: str) -> list[OtherFinding]:
    """Read the findings of other linters on one owner's templates."""
    tables: dict[str, dict[str, str]] = profiles.load_table(os.path.join(folder(owner), "other_linters.yaml"))
    return [OtherFinding(linter, *entry) for linter, checks in tables.items() for entry in checks.items()]


_MOST_NODES = 5000
"""Maximum job size to simulate for a README: this many nodes take 2.6 seconds."""


class StartPhase(NamedTuple):
    """Phase of paid time: durations of the work, cost, cause, how to set it."""

    title: str
    times: str
    cost: str
    cause: str
    way: ProfileValue


class Start(NamedTuple):
    """Ranges over all draws: minutes, paid node-hours, durations of the work.

    `fixed` are durations that no setting changes.
    """

    minutes: str
    node_hours: str
    times: str
    phases: list[StartPhase]
    fixed: str


class StartPrice(NamedTuple):
    """Start costs of a job: as a gang, by pod, on a quarter of the nodes."""

    work: int
    whole: Start
    single: Start
    fewer: Start


def start_price(world: World, intent: Intent) -> StartPrice | None:
    """Simulate the price of starting a job; None without an autoscaler in the code."""
    if intent.autoscaler == "none" or intent.nodes > _MOST_NODES:
        return None
    own = World(world.inventory, replace(world.config, nodes={"": intent.nodes + system_nodes(intent)}))
    found = scenario.build_scenario(own, own.inventory.clusters[0])
    if isinstance(found, str) or found.is_stopped or not found.has_autoscaler:
        return None
    usual, own_ways = recommended.entries(intent.cloud), found.case.settings.karpenter * "karpenter_"
    ways = {name: usual.get(f"{own_ways}phase.{name}", usual[f"phase.{name}"]) for name in PHASES}
    starts = [_start(found, ways, part, gang=gang) for gang, part in ((True, 1), (False, 1), (True, 4))]
    finished = [one for one in starts if one is not None]
    return StartPrice(scenario.DURATION // 60, *finished) if finished == starts else None


def _start(found: Scenario, ways: dict[str, ProfileValue], part: int, *, gang: bool) -> Start | None:
    """Simulate a job on a `part` of the nodes; None if a run does not finish."""
    job = replace(found.case.job, gang=gang, pods=ceil(found.case.job.pods / part))
    pools = tuple(replace(pool, most=ceil(pool.most / part)) for pool in found.case.pools)
    names = {field: pair[:1] for field, pair in found.written.items()}
    ran = results.run_scenario(replace(found, case=replace(found.case, job=job, pools=pools), written=names))
    if not all(one.summary.finished for one in ran.runs):
        return None
    why, work = results.deciding_factors(ran), ran.case.work / 3600
    hours = [_times(ran.part([name]).node_hours, work) for name in PHASES]
    phases = [
        StartPhase(simulation.NAMES[name], times, simulation.part_cost(ran, [name]), why[name], ways[name])
        for name, times in zip(PHASES, hours, strict=True)
    ]
    minutes = results.range_of(seconds / 60 for seconds in ran.total)
    fixed = ran.part([name for name in PHASES if not ways[name].value]).node_hours
    return Start(_text(minutes), _text(ran.node_hours), _times(ran.node_hours, work), phases, _times(fixed, work))


def _times(hours: Range, work: float) -> str:
    return between(*(f"{bound / work:.1f}" for bound in hours))


def _text(bounds: Range) -> str:
    return f"{floor(bounds.least):,} to {ceil(bounds.most):,}"
