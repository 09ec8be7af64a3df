"""The part of a cluster to simulate: the pools of a job, autoscaler settings, walls."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kcheck.scale import queue_limits, walls
from kcheck.scale.simulate import jobs, parameters
from kcheck.scale.simulate.model import Case, Job, Pool, Settings
from kcheck.scale.simulate.parameters import LoopTime
from kcheck.text.units import minor_version, seconds, whole_number
from kcheck.text.values import Known, Unknown, Unset, known, number

if TYPE_CHECKING:
    from kcheck.model import Autoscaler, Cluster, NodePool, PodTemplate, Workload
    from kcheck.scale.simulate.model import Cloud
    from kcheck.scale.simulate.parameters import Measured
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World

DURATION = 600
"""Seconds of work where nobody says how long: the job of the published runs."""

_MOST_SEEDS, _DRAWN = 3, 600
"""Draws of chance with each time of the loops: so many, and fewer of more nodes, where chance is averaged out."""

_MOST_PODS = 100_000
"""Runs of more nodes are not simulated."""

_NO_AUTOSCALER = "an autoscaler with the defaults of its version"
_UNCALIBRATED = "Karpenter is a small model that is not calibrated"

_FIELDS = {
    "max_unready_percentage": "unready_percentage", "max_unready_nodes": "unready_count", "bulk_delete": "batch",
    "unneeded_time": "unneeded_time", "delay_after_add": "delay_after_add",
    "delay_after_failure": "delay_after_failure", "delay_after_delete": "delay_after_delete",
    "scan_interval": "scan_interval", "new_pod_delay": "new_pod_delay", "provision_time": "provision_time",
    "client_qps": "client_qps", "max_nodes": "nodes_total", "scale_up_nodes": "nodes_per_scale_up",
    "binpacking_time": "binpacking_time", "balance": "balance", "scale_down": "scale_down",
}  # fmt: skip
"""Field of an autoscaler -> the setting of a run."""

_SECONDS = {"backoff": "initial-node-group-backoff-duration", "backoff_most": "max-node-group-backoff-duration",
            "backoff_reset": "node-group-backoff-reset-timeout", "taint_delay": "node-delete-delay-after-taint",
            "batcher_interval": "node-deletion-batcher-interval", "soft_taint_time": "max-bulk-soft-taint-time",
            "startup_time": "max-node-startup-time"}  # fmt: skip
_COUNTS = {"client_burst": "kube-client-burst", "soft_taints": "max-bulk-soft-taint-count"}
_SWITCHES = {
    "frequent_loops": "frequent-loops-enabled",
    "parallel_drain": "parallel-drain",
    "salvo": "salvo-scale-up",
    "local_delays": "scale-down-delay-type-local",
}
"""Setting of a run -> the flag that is read as it is written."""


def seeds(case: Case) -> range:
    """The draws of chance that are made of a run."""
    return range(min(_MOST_SEEDS, 1 + _DRAWN // case.pods))


class Scenario(Struct, frozen=True):
    """A requested run with its assumptions.

    `wall` is the first one that stops the cluster, where it is below what the job wants. `case` has the slowest loops
    of its autoscaler's version; `quick` are the quickest, None where there is but one time. `measured` are the delays
    that were measured in this cluster, if any.
    """

    case: Case
    cluster: Cluster
    job: Workload | None
    assumed: tuple[str, ...]
    wall: Wall | None = None
    quick: LoopTime | None = None
    measured: Measured | None = None

    @property
    def cases(self) -> tuple[Case, ...]:
        """The run with the slowest loops that its autoscaler is believed to have, and with the quickest."""
        if self.quick is None:
            return (self.case,)
        return self.case, replace(self.case, cloud=replace(self.case.cloud, **self.quick._asdict()))

    @property
    def draws(self) -> tuple[Case, ...]:
        """The runs that stand for it: several by chance with each time of the loops."""
        return tuple(replace(case, seed=seed) for case in self.cases for seed in seeds(case))

    @property
    def without_wall(self) -> Scenario:
        """The same without what stops it."""
        return replace(self, case=replace(self.case, ceiling=None, pulls=0), wall=None)

    @property
    def is_stopped(self) -> bool:
        """Whether a wall stops it, or the limit of a registry."""
        return self.wall is not None or self.case.pulls > 0

    @property
    def has_autoscaler(self) -> bool:
        """Whether its autoscaler is in the code, with a place for settings."""
        return _NO_AUTOSCALER not in self.assumed

    @property
    def title(self) -> str:
        """What people call the cluster."""
        return self.cluster.display_name

    @property
    def wall_text(self) -> str:
        """The wall as text, if there is one."""
        return "" if self.wall is None else f": the {self.wall.what}, at {self.wall.number:,} nodes"


def build_scenario(world: World, cluster: Cluster) -> Scenario | str:
    """The run of the largest job, or of as many pods as nodes are asked for; a text if impossible.

    Without a job, of as many as its pools have nodes. It is the only run of a cluster: for what `check` says of money,
    for `simulate` and its --what-if.
    """
    assumed: list[str] = []
    duration = world.config.run.duration
    nodes = _requested_nodes(world, cluster)
    together = jobs.largest(world, cluster)
    job, template = together.jobs[0] if together else (None, None)
    near = world.pools.of_cluster(cluster)
    chosen = _chosen(world, cluster, job, template)
    if isinstance(chosen, str):
        return f"{cluster.address} cannot run {chosen}"
    if nodes and chosen and not isinstance(world.pools.all_of_cluster(cluster), Unknown):
        shares = world.sizes.shares(cluster, nodes)
        nodes = sum(shares[pool.id] for pool in chosen)
    if not chosen and not nodes:
        return f"{cluster.address} has no autoscaled pool of known size; set --nodes N to run a job on N nodes"
    sizes = [number(pool.size.max_nodes, 0) for pool in chosen]
    seconds = duration or DURATION
    first = chosen[0] if chosen else None
    together = jobs.on_pools(together, world, chosen) if together else None
    own_jobs, queues = jobs.simulated(together, world, first, seconds) if together else ([], ())
    if nodes or not own_jobs:
        gang, apart = bool(job and isinstance(job.gang, Known)), bool(template and known(template.spread))
        until = (known(job.deadline) if job else None) or inf
        own_jobs, queues = [Job(nodes or sum(sizes), seconds, gang, anti_affinity=apart, deadline=until)], ()
    if together is not None and own_jobs[1:]:
        assumed.append(together.note)
    count = sum(one.pods for one in own_jobs)
    if count > _MOST_PODS:
        return (
            f"{cluster.address} has a run of {count:,} nodes, more than {_MOST_PODS:,}; set --nodes N for a smaller one"
        )
    most = sum(sizes)
    if nodes and 0 < most < nodes:
        names = known(chosen[0].name) or chosen[0].address
        others = f" and {len(chosen) - 1} more" if chosen[1:] else ""
        assumed.append(f"{names}{others}, of at most {most:,} nodes, assumed to have room for {nodes:,}")
        sizes = [ceil(size * nodes / most) for size in sizes]
    own = tuple(_pool(pool, size, world) for pool, size in zip(chosen, sizes, strict=True))
    if not own:
        own = (Pool("nodes", count, price=world.numbers.price(None)),)
        assumed.append(f"one pool of {count:,} nodes, because the code has none of known size")
    if job is None:
        assumed.append(f"the code has no job: {count:,} pods, one per node")
    if duration is None:
        assumed.append(f"each pod works for {seconds / 60:g} minutes")
    settings, notes, delays = _delays(world, cluster, chosen, count)
    assumed += notes
    case = Case(
        own,
        replace(own_jobs[0], gpu=any(known(pool.machine.gpu) for pool in chosen)),
        settings, _with_image(delays.cloud, world.config.run.image),
        system_nodes=sum(number(pool.size.standing, 0) for pool in near if pool not in chosen),
        others=tuple(own_jobs[1:]), queues=queues,
    )  # fmt: skip
    hub = _pull_budget(world, cluster, count, case.system_nodes)
    if hub is not None:
        window = world.numbers.limits("any")["docker_hub.window"].number * 3600
        case = replace(case, pulls=hub, window=window)
    wall = _stopping_wall(world, cluster, count + case.system_nodes)
    if wall is not None:
        case = replace(case, ceiling=wall.nodes.high if wall.nodes else None)
    return Scenario(case, cluster, job, tuple(assumed), wall, quick=delays.quick, measured=delays)


def _chosen(world: World, cluster: Cluster, job: Workload | None, template: PodTemplate | None) -> list[NodePool] | str:
    """The pools of a run: autoscaled ones that take its pods, else fixed ones; a text if its job can never run."""
    near = [pool for pool in world.pools.of_cluster(cluster) if number(pool.size.max_nodes, 0)]
    scaled = [pool for pool in near if known(pool.size.autoscaled)]
    if job is None or template is None:
        return [pool for pool in scaled if known(pool.machine.gpu)] or scaled
    beyond = known(queue_limits.excess(job, world))
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
    """The settings of the autoscaler with what is assumed of them, and how fast it and its cloud are."""
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


def _requested_nodes(world: World, cluster: Cluster) -> int | None:
    """Nodes of the run that --nodes asks for; what an environment is meant to reach says nothing of a job."""
    own = world.sizes.requested_by_name(cluster)
    return world.config.nodes.get("") if own is None else own


def _with_image(cloud: Cloud, size: float | None) -> Cloud:
    """A cloud whose new nodes pull an image of that many MiB."""
    return replace(cloud, pull=size / parameters.parameters(cloud.name)["bandwidth"].value) if size else cloud


def _pool(pool: NodePool, most: int, world: World) -> Pool:
    least = number(pool.size.standing, 0)
    spot, price = known(pool.market.spot) is True, world.numbers.price(pool)
    return Pool(known(pool.name) or pool.address, most, least, least, spot, price)


def _karpenter(world: World, pools: list[NodePool], nodes: int) -> Settings:
    """How long Karpenter keeps empty nodes, and how many it takes away at once."""
    names = {known(pool.name) for pool in pools}
    own = [one for one in world.inventory.karpenter if known(one.name) in names]
    after = max((number(one.consolidate_after, 0) for one in own), default=0)
    budgets = [_nodes_of(text, nodes) for one in own for text in known(one.budgets) or ()]
    return Settings(karpenter=True, unneeded_time=after, batch=max(1, min(budgets, default=nodes)), taint_delay=0)


def _nodes_of(budget: str, nodes: int) -> int:
    """A budget as a number of nodes: some, or a percentage of all."""
    text = budget.partition(" ")[0]
    number = whole_number(text.removesuffix("%"))
    if number is None:
        return nodes
    return ceil(nodes * Fraction(number, 100)) if text.endswith("%") else number


def autoscaler_settings(own: Autoscaler | None, cluster: Cluster | None) -> tuple[Settings, list[str]]:
    """The settings of a cluster's autoscaler, with what is assumed where they are unknown."""
    minor = minor_version(known(cluster.version) or "") if cluster is not None else None
    if own is None:
        usual = Settings(minor=minor) if minor else Settings()
        return usual, [_NO_AUTOSCALER]
    if isinstance(own.version, Known):
        minor = minor_version(own.version.value) or minor
    base = Settings(minor=minor) if minor else Settings()
    profile = parameters.profile_settings(cluster.cloud, known(own.profile) or "") if cluster is not None else {}
    changed: dict[str, Any] = dict(profile)
    notes = [f"{known(own.profile)} stands for autoscaler settings that its cloud does not publish"] if changed else []
    changed |= _known_settings(own, base)
    unknown = sorted(name for name in _FIELDS if not isinstance(getattr(own, name), Known | Unset))
    if unknown:
        notes.append(f"not known, default assumed: {', '.join(unknown)}")
    return replace(base, **changed), notes


def _known_settings(own: Autoscaler, base: Settings) -> dict[str, Any]:
    """The settings of an autoscaler for a run."""
    types = {name: type(getattr(base, name)) for name in base.__struct_fields__}
    found = {name: getattr(own, field) for field, name in _FIELDS.items()}
    result = {name: types[name](value.value) for name, value in found.items() if isinstance(value, Known)}
    for flag in own.flags:
        name, text = known(flag.name), known(flag.value)
        if name is None or text is None:
            continue
        result |= {key: float(seconds(text)) for key, one in _SECONDS.items() if one == name}
        result |= {key: text == "true" for key, one in _SWITCHES.items() if one == name}
        number = whole_number(text)
        result |= {key: number for key, one in _COUNTS.items() if one == name and number is not None}
    return result


def _stopping_wall(world: World, cluster: Cluster, nodes: int) -> Wall | None:
    """The first wall below that many nodes, pool maxima aside."""
    for wall in walls.find_walls(cluster, world):
        stops = wall.kind != "recommended" and wall.mechanism not in ("maximum", "docker-hub")
        if stops and wall.nodes is not None and wall.nodes.high is not None and wall.nodes.high < nodes:
            return wall
    return None


def _pull_budget(world: World, cluster: Cluster, nodes: int, beside: int) -> int | None:
    """New nodes that Docker Hub's pull limit allows, if fewer than the run has `beside` those that run already."""
    found = (wall.number for wall in walls.find_walls(cluster, world) if wall.mechanism == "docker-hub")
    return next((number - beside for number in found if number is not None and number < nodes + beside), None)
