"""Scenario of a cluster: the pools of a job, autoscaler settings, walls."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from kcheck.model import Autoscaler, Cluster, KarpenterPool, NodePool, PodTemplate, Workload
from kcheck.scale import money, queue_limits, walls
from kcheck.scale.gangs import gang
from kcheck.scale.money import Bill
from kcheck.scale.simulate import jobs, parameters
from kcheck.scale.simulate.model import HORIZON, Case, Cloud, Job, Pool, Settings
from kcheck.scale.simulate.parameters import LoopTime, Measured
from kcheck.scale.walls.model import Wall
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.findings import last_key
from kcheck.text.need import or_none
from kcheck.text.units import minor_version, part_of, seconds, some, whole_number
from kcheck.text.values import Known, Unknown, Unset, equals, known, number

DURATION = 600
"""Default seconds of work: the job of the published runs."""

_MOST_SEEDS, _DRAWN = 3, 600
"""Most draws with each time of the loops, and nodes in all of them: large runs average chance out."""

MOST = 100_000
"""Most nodes of a simulated run."""

_NO_AUTOSCALER = "an autoscaler with the defaults of its version"
_UNCALIBRATED = "Karpenter is a small model that is not calibrated"

_FLAGS = {
    "initial-node-group-backoff-duration": "backoff", "max-node-group-backoff-duration": "backoff_most",
    "node-group-backoff-reset-timeout": "backoff_reset", "node-delete-delay-after-taint": "taint_delay",
    "node-deletion-batcher-interval": "batcher_interval", "max-bulk-soft-taint-time": "soft_taint_time",
    "max-node-startup-time": "startup_time", "kube-client-burst": "client_burst",
    "max-bulk-soft-taint-count": "soft_taints", "frequent-loops-enabled": "frequent_loops",
    "parallel-drain": "parallel_drain", "salvo-scale-up": "salvo", "scale-down-delay-type-local": "local_delays",
}  # fmt: skip
"""Settings of a run by flag, which is read as written."""


def seeds(case: Case) -> range:
    """Return the random seeds of a run's draws."""
    return range(min(_MOST_SEEDS, 1 + _DRAWN // case.pods))


class Scenario(Struct, frozen=True):
    """Requested run with its assumptions.

    `wall` stops it below what the job wants. `case` has the slowest loops of its autoscaler's version, `delays` the
    quickest. `risk`: what another job may do to it. `idle`: a month without runs. `written`: settings in the code.
    """

    case: Case
    cluster: Cluster
    job: Workload | None
    assumed: tuple[str, ...]
    delays: Measured
    wall: Wall | None = None
    risk: str = ""
    idle: Bill = Bill((), ())
    written: dict[str, tuple[str, ...]] = {}

    @property
    def cases(self) -> tuple[Case, ...]:
        """Runs with the slowest and the fastest assumed autoscaler loops."""
        quick = self.delays.quick
        if quick is None:
            return (self.case,)
        return self.case, replace(self.case, cloud=replace(self.case.cloud, **quick._asdict()))

    @property
    def draws(self) -> tuple[Case, ...]:
        """Runs that represent the scenario: several random ones for each loop time."""
        return tuple(replace(case, seed=seed) for case in self.cases for seed in seeds(case))

    @property
    def without_wall(self) -> Scenario:
        """Scenario without the limit that stops it."""
        return replace(self, case=replace(self.case, ceiling=None, pulls=0), wall=None)

    @property
    def is_stopped(self) -> bool:
        """Whether a wall or a registry's pull limit stops it."""
        return self.wall is not None or self.case.pulls > 0

    @property
    def has_autoscaler(self) -> bool:
        """Whether its autoscaler is in the code, so that settings can be changed."""
        return _NO_AUTOSCALER not in self.assumed


@once
def build_scenario(world: World, cluster: Cluster) -> Scenario | str:
    """Build the only run of a cluster, or return why there is none."""
    seconds = world.config.run.duration or DURATION
    together = jobs.largest(world, cluster)
    job, template = together.jobs[0] if together else (None, None)
    chosen = _chosen(world, cluster, job, template)
    if isinstance(chosen, str):
        return f"{cluster.address} cannot run {chosen}"
    nodes = _requested_nodes(world, cluster, chosen)
    if not chosen and not nodes:
        return f"{cluster.address} has no autoscaled pool of known size; set --nodes N to run a job on N nodes"
    together = jobs.on_pools(together, world, chosen) if together else None
    own_jobs, queues = jobs.simulated(together, world, chosen[0] if chosen else None, seconds) if together else ([], ())
    if nodes or not own_jobs:
        own_jobs, queues = [_one_job(job, template, nodes or sum(_sizes(chosen)), seconds)], ()
    count = sum(one.pods for one in own_jobs)
    pools, room = _pools(world, chosen, nodes, count)
    most = max(count, sum(pool.existing for pool in pools))
    if most > MOST:
        return f"{cluster.address} has a run of {most:,} nodes, more than {MOST:,}; set --nodes N for a smaller one"
    settings, defaults, delays = _delays(world, cluster, chosen, count)
    notes = {
        together.note if together else "": bool(own_jobs[1:]),
        room: True,
        f"the code has no job: {count:,} pods, one per node": job is None,
        f"each pod works for {seconds / 60:g} minutes": world.config.run.duration is None,
        _zone_traffic(world, cluster, chosen, count): own_jobs[0].gang,
    }
    case = Case(
        pools, replace(own_jobs[0], gpu=any(known(pool.machine.gpu) for pool in chosen)),
        settings, _with_image(delays.cloud, world.config.run.image),
        system_nodes=sum(number(one.size.standing, 0) for one in world.pools.of_cluster(cluster) if one not in chosen),
        others=tuple(own_jobs[1:]), queues=queues, horizon=HORIZON + sum(one.length for one in own_jobs),
    )  # fmt: skip
    assumed = (*(note for note, holds in notes.items() if note and holds), *(() if case.is_static else defaults))
    found = Scenario(case, cluster, job, assumed, delays)
    written = _written(world, cluster, chosen if settings.karpenter else [])
    return _limited(replace(found, risk=_deadlock(world, found, chosen), written=written), world)


def _zone_traffic(world: World, cluster: Cluster, pools: list[NodePool], count: int) -> str:
    """Describe the price of traffic between zones; empty without any."""
    room, price = Counter[tuple[str, ...]](), next(filter(None, map(world.numbers.price, pools)), None)
    for pool in pools:
        subnets = tuple(one.id for one in known(pool.addresses.subnets) or ())
        room[known(pool.placement.zones) or subnets] += number(pool.size.max_nodes, 0)
    entry = world.numbers.limits(cluster.cloud).get("zone_traffic.price")
    holds = any(len(zones) == 1 and nodes >= count for zones, nodes in room.items())
    if entry is None or price is None or holds or () in room or len({*chain(*room)}) < 2:
        return ""
    each, most = entry.number / 1000, price.mills / entry.number / 100
    return f"no traffic between zones, ${each:.2f} per GB: {most:,.3g} GB per node-hour add 1 % to its price"


def _deadlock(world: World, run: Scenario, pools: list[NodePool]) -> str:
    """Describe another job with which this one may deadlock."""
    case, most = run.case, sum(pool.most for pool in run.case.pools)
    mine = case.job.pods if run.job and pools and _waits(run.job, world) and not case.others else most + 1
    for other, template in jobs.every(world, run.cluster) if mine <= most else ():
        fits = other is not run.job and _waits(other, world) and world.pools.fit(template, pools[0]).fits is not False
        its = jobs.nodes(other, template, world, pools[0]) if fits else 0
        if its <= most <= mine + its - 2:  # each can lack its last node
            gpus = f", {most * case.pools[0].gpus:,} GPUs idle" if case.pools[0].gpus else ""
            both = f"{mine:,} + {its:,} nodes of {most:,}, each holds some and waits for the rest{gpus}"
            return f"started with {other.kind} {known(other.name)} it may deadlock: {both}"
    return ""


def _waits(job: Workload, world: World) -> bool:
    return known(job.rigid) is True and isinstance(gang(job, world), Unset)


def _one_job(job: Workload | None, template: PodTemplate | None, pods: int, seconds: float) -> Job:
    own = jobs.as_run(job, template, pods, seconds) if job and template else Job(pods, seconds)
    return replace(own, completions=own.runs, parallel=pods) if own.parallel else own


def _sizes(pools: list[NodePool]) -> list[int]:
    return [number(pool.size.max_nodes, 0) for pool in pools]


def _pools(world: World, chosen: list[NodePool], nodes: int | None, count: int) -> tuple[tuple[Pool, ...], str]:
    """Return the pools of a run, with assumptions about their sizes."""
    if not chosen:
        note = f"one pool of {count:,} nodes, because the code has none of known size"
        return (Pool("nodes", count, price=world.numbers.price(None)),), note
    sizes, note = _sizes(chosen), ""
    most = sum(sizes)
    if nodes and 0 < most < nodes:
        names = some([known(pool.name) or pool.address for pool in chosen], 1)
        note = f"{names}, of at most {most:,} nodes, assumed to have room for {nodes:,}"
        sizes = [ceil(size * nodes / most) for size in sizes]
    return tuple(_pool(pool, size, world) for pool, size in zip(chosen, sizes, strict=True)), note


def _limited(scenario: Scenario, world: World) -> Scenario:
    """Add Docker Hub's pull limit and the first wall, if the run exceeds them."""
    case, cluster = scenario.case, scenario.cluster
    nodes = min(case.pods, sum(pool.most for pool in case.pools)) + case.system_nodes
    numbers = (wall.number for wall in walls.find_walls(cluster, world) if wall.mechanism == "docker-hub")
    hub = next((one for one in numbers if one is not None and one < nodes), None)
    if hub is not None:
        window = world.numbers.limits("any")["docker_hub.window"].number * 3600
        case = replace(case, pulls=hub - case.system_nodes, window=window)
    wall = _stopping_wall(world, cluster, nodes)
    if wall is not None:
        case = replace(case, ceiling=wall.nodes.high)
    return replace(scenario, case=case, wall=wall, idle=money.month(cluster, world, idle=True))


def _chosen(world: World, cluster: Cluster, job: Workload | None, template: PodTemplate | None) -> list[NodePool] | str:
    """Choose the pools of a run, or return why there are none."""
    near = [pool for pool in world.pools.of_cluster(cluster) if number(pool.size.max_nodes, 0)]
    scaled = [pool for pool in near if known(pool.size.autoscaled)]
    if job is None or template is None:
        return [pool for pool in scaled if known(pool.machine.gpu)] or scaled
    beyond = or_none(queue_limits.excess)(job, world)
    if beyond is not None:
        most = f"{beyond.kind} {beyond.name} gives {beyond.most:,}"
        return f"{job.kind} {known(job.name)}: it needs {beyond.asked:,} {beyond.resource}, {most}"
    fits = [(pool, world.pools.fit(template, pool)) for pool in near]
    taking = [pool for pool, fit in fits if fit.fits is not False]
    if taking or not near:
        return [pool for pool in taking if pool in scaled] or taking
    every = world.pools.all_of_cluster(cluster)
    if isinstance(every, Unknown) or world.autoscaling.beyond_pools(cluster):
        return scaled
    lacks = "; ".join(f"pool {pool.display_name} lacks {fit.why}" for pool, fit in fits[:3])
    return f"{job.kind} {known(job.name)}: {lacks}"


def _delays(
    world: World, cluster: Cluster, pools: list[NodePool], nodes: int
) -> tuple[Settings, list[str], parameters.Measured]:
    """Return the autoscaler's settings and delays, and the cloud's."""
    quick: LoopTime | None
    if pools and all(known(pool.mode) == "Karpenter" for pool in pools):
        settings, notes = _karpenter(world, pools, nodes), [_UNCALIBRATED]
        own = parameters.parameters(cluster.cloud)
        quick, slow = None, LoopTime(own["karpenter_loop"].value, 0)
        cloud = parameters.cloud_parameters(cluster.cloud, slow, serial=False, delete_call=own["karpenter_call"].value)
    else:
        settings, notes = autoscaler_settings(world.autoscaling.autoscaler(cluster), cluster)
        quick, slow = parameters.loop_times(settings.minor)
        cloud = parameters.cloud_parameters(cluster.cloud, slow)
    return settings, notes, parameters.with_measured(world.config, cluster, cloud, quick)


def _written(world: World, cluster: Cluster, karpenter: list[NodePool]) -> dict[str, tuple[str, ...]]:
    """Return name and place of the settings of a run that the code has."""
    own = world.autoscaling.autoscaler(cluster)
    fields = ("unneeded_time", "bulk_delete", "provision_time", "delay_after_add") if own and not karpenter else ()
    found = [(name, getattr(own, name)) for name in fields]
    found += [("unneeded_time", one.consolidate_after) for one in _karpenter_pools(world, karpenter)]
    return {
        name: (last_key(origin.path).removeprefix("--"), origin.written.location)
        for name, value in found
        if (origin := value.origin) and origin.spans and origin.missing is None
    }


def _requested_nodes(world: World, cluster: Cluster, chosen: list[NodePool]) -> int | None:
    """Count the nodes of --nodes that fall to these pools."""
    own = world.sizes.requested_by_name(cluster)
    nodes = world.config.nodes.get("") if own is None else own
    if nodes and chosen and not isinstance(world.pools.all_of_cluster(cluster), Unknown):
        shares = world.sizes.shares(cluster, nodes)
        return sum(shares[pool.id] for pool in chosen)
    return nodes


def _with_image(cloud: Cloud, size: float | None) -> Cloud:
    return replace(cloud, pull=size / parameters.parameters(cloud.name)["bandwidth"].value) if size else cloud


def _pool(pool: NodePool, most: int, world: World) -> Pool:
    least = number(pool.size.standing, 0)
    spot, price = known(pool.market.spot) is True, world.numbers.price(pool)
    return Pool(known(pool.name) or pool.address, most, least, least, spot, price, gpus=number(pool.machine.gpus, 0))


def _karpenter(world: World, pools: list[NodePool], nodes: int) -> Settings:
    own = _karpenter_pools(world, pools)
    after = max((number(one.consolidate_after, 0) for one in own), default=0)
    budgets = [part_of(nodes, text.partition(" ")[0]) for one in own for text in known(one.budgets) or ()]
    return Settings(karpenter=True, unneeded_time=after, bulk_delete=max(1, min(budgets, default=nodes)), taint_delay=0)


def _karpenter_pools(world: World, pools: list[NodePool]) -> list[KarpenterPool]:
    names = {known(pool.name) for pool in pools if equals(pool.mode, "Karpenter")}
    return [one for one in world.inventory.karpenter if known(one.name) in names]


def autoscaler_settings(own: Autoscaler | None, cluster: Cluster | None) -> tuple[Settings, list[str]]:
    """Return a cluster's autoscaler settings, with assumptions for unknown ones."""
    minor = minor_version(known(cluster.version) or "") if cluster is not None else None
    if own is not None and isinstance(own.version, Known):
        minor = minor_version(own.version.value) or minor
    base = Settings(minor=minor) if minor else Settings()
    if own is None:
        return base, [_NO_AUTOSCALER]
    profile = parameters.profile_settings(cluster.cloud, known(own.profile) or "") if cluster is not None else {}
    changed: dict[str, object] = dict(profile)
    notes = [f"{known(own.profile)} stands for autoscaler settings that its cloud does not publish"] if changed else []
    found = {name: getattr(own, name) for name in base.__struct_fields__ if name in own.__struct_fields__}
    changed |= {name: type(getattr(base, name))(one.value) for name, one in found.items() if isinstance(one, Known)}
    unknown = sorted(name for name, one in found.items() if not isinstance(one, Known | Unset))
    for flag in own.flags:
        name, text = known(flag.name) or "", known(flag.value)
        if name in _FLAGS and text is not None:
            value = _flag_value(_FLAGS[name], text)
            changed |= {} if value is None else {_FLAGS[name]: value}
            unknown += [f"--{name}"] if value is None else []
    if unknown:
        notes.append(f"not known, default assumed: {', '.join(unknown)}")
    return replace(base, **changed), notes


def _flag_value(setting: str, text: str) -> float | bool | None:
    """Parse the value of a flag; None if the autoscaler would not start with it."""
    if setting in ("frequent_loops", "parallel_drain", "salvo", "local_delays"):
        return text == "true"
    if setting in ("client_burst", "soft_taints"):
        return whole_number(text)
    try:
        return float(seconds(text))
    except ValueError:
        return None


def _stopping_wall(world: World, cluster: Cluster, nodes: int) -> Wall | None:
    """Find the first wall below that many nodes, apart from pool maxima."""
    for wall in walls.find_walls(cluster, world):
        stops = wall.kind != "recommended" and wall.mechanism not in ("maximum", "docker-hub")
        if stops and wall.nodes.high is not None and wall.nodes.high < nodes:
            return wall
    return None
