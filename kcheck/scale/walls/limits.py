"""Documented limits of clusters, pools and pods, and quotas, as walls."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import NodePool, Workload
from kcheck.scale import addresses
from kcheck.scale.growth import reach, surge_nodes
from kcheck.scale.walls.model import Sizes, Takes, Wall, WallFinder, unknown
from kcheck.scale.world import World
from kcheck.scale.world.numbers import Need, needs
from kcheck.text.amount import Amount, amount_of, exactly
from kcheck.text.need import first_unknown
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, because, equals, known, mapped, number

_FAQ = ("hard", "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md")


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the written maximum, caps, and limits of cluster and pools."""
    yield from _maximum(finder)
    yield from _capped(finder)
    yield from _documented(finder)
    for pool in finder.pools:
        yield from _pool(pool, finder)
        yield from _of_each_pool(pool, finder)


def _maximum(finder: WallFinder) -> Iterator[Wall]:
    """Yield the sum of the pools' maxima, the largest written size."""
    cluster, world = finder.cluster, finder.world
    maximum = world.sizes.maximum(cluster)
    if not finder.pools or world.autoscaling.beyond_pools(cluster):
        return
    growing = [pool for pool, takes in zip(finder.pools, finder.growth.taking, strict=True) if takes] or finder.pools
    biggest = max(growing, key=lambda pool: (bool(known(pool.size.autoscaled)), number(pool.size.max_nodes, 0)))
    nodes = amount_of(maximum)
    if nodes.high is not None:
        pools = [pool for pool in finder.pools if amount_of(pool.size.max_nodes).high] or finder.pools
        parts = [f"{pool.display_name} {amount_of(pool.size.max_nodes)}" for pool in pools]
        text = f"{' + '.join(parts[:6])}{' + ...' if len(parts) > 6 else ''} = {nodes}"
        wall = finder.limit("maximum", "the pools", biggest.size.max_nodes, _FAQ)
        yield finder.at(wall, nodes, text)
    else:
        one = next((pool for pool in finder.pools if not isinstance(pool.size.max_nodes, Known)), biggest)
        origin = one.size.max_nodes.origin
        if cluster.plane is not None and origin is not None and origin.written == cluster.place:
            return  # nothing in the code says how many there are
        yield unknown(finder.limit("maximum", "the pools", one.size.max_nodes, _FAQ), maximum)


def _capped(finder: WallFinder) -> Iterator[Wall]:
    for cap in finder.world.sizes.caps(finder.cluster):
        if cap.cause is None:
            continue
        wall = finder.limit("autoscaling", "the cluster", cap.cause, _FAQ, key=cap.unit)
        if cap.why:
            yield unknown(wall, cap.why)
        elif finder.pools and not finder.gap:
            standing = finder.world.sizes.standing(cap, finder.cluster)
            text = f"{cap.room:,} {cap.unit}" + (f"; {finder.of_each(cap.per_node)}" if cap.unit != "nodes" else "")
            yield from finder.grown(wall, cap.taken, cap.room, cap.per_node, text, standing)


def _documented(finder: WallFinder) -> Iterator[Wall]:
    own = cloud(finder.cluster.cloud)
    for one in own.limits(finder.cluster, finder.limits):
        entry = finder.limits[one.key]
        wall = finder.limit(one.mechanism, "the cluster", one.cause, entry)
        if one.unknown:
            yield unknown(wall, one.unknown)
        elif one.counts_surge and finder.pools and not finder.gap:
            trial = finder.upgraded(entry.number)
            nodes = reach(trial, finder.growth)
            if nodes is not None:
                yield finder.at(wall, nodes, f"{one.text}, surge of an upgrade included", trial)
        elif one.nodes is not None:
            yield finder.at(wall, one.nodes, one.text)
        else:
            target = finder.world.sizes.target_amount(finder.cluster).exact
            yield finder.at(wall, exactly(entry.number), one.text, needed=target)


def _of_each_pool(pool: NodePool, finder: WallFinder) -> Iterator[Wall]:
    """Yield the documented limit of a pool for its autoscaler."""
    scaling = [one for one in finder.world.inventory.autoscalers if known(one.cluster) is finder.cluster]
    found = cloud(finder.cluster.cloud).pool_limit(scaling)
    if found is None or finder.gap:
        return
    entry = finder.limits[found.key]
    wall = finder.limit(found.mechanism, f"pool {pool.display_name}", found.cause, entry, key=pool.id, pools=[pool])
    yield from finder.grown(wall, lambda sizes: sizes[pool.id], entry.number, {pool.id: 1}, found.text)


# --- of a pool


def counted(pool: NodePool, nodes: int, world: World) -> Value[int]:
    """Count the nodes that count towards the cloud's pool limit."""
    cluster = known(pool.cluster)
    if cluster is None:
        return because(pool.cluster, pool.cluster.origin)
    if not isinstance(pool.size.zone_count, Unset):
        return mapped(pool.size.zone_count, lambda zones: -(-nodes // max(1, zones)))
    counts_surge = world.numbers.limits(cluster.cloud).get("pool.counts_surge")
    if counts_surge is None or not counts_surge.value:
        return Known(nodes, Origin((pool.place,)))
    if isinstance(pool.upgrade.surge, Unset):
        return because(pool.upgrade.surge, pool.upgrade.surge.origin)
    return mapped(pool.upgrade.surge, lambda surge: nodes + surge_nodes(surge, nodes))


def _pool(pool: NodePool, finder: WallFinder) -> Iterator[Wall]:
    """Yield the limits of a pool; Karpenter has none."""
    if equals(pool.mode, "Karpenter"):
        return
    if "pool.nodes" in finder.limits:
        yield from _full(pool, "pool-limit", "pool.nodes", finder)
    types, has_quota = pool.machine.instance_types, cloud(finder.cluster.cloud).has_pool_quota(pool)
    missing = types if isinstance(types, Unknown) and not has_quota else None
    if "pool.quota" in finder.limits and (missing or has_quota):
        yield from _full(pool, "pool-quota", "pool.quota", finder, missing)


def _full(
    pool: NodePool, mechanism: str, key: str, finder: WallFinder, missing: Unknown | None = None
) -> Iterator[Wall]:
    """Yield the wall where a pool exceeds a number of nodes."""
    world, limits = finder.world, finder.limits
    entry = limits[key]
    wall = finder.limit(mechanism, f"pool {pool.display_name}", pool.size.max_nodes, entry, key=pool.id, pools=[pool])
    first = counted(pool, entry.number, world)
    if isinstance(first, Unknown) or finder.gap or missing:
        # where nobody asked for a size, the pool grows to its own maximum whatever other pools there are
        own = known(pool.size.max_nodes) if world.sizes.requested(finder.cluster) is None else None
        most = None if own is None else known(counted(pool, own, world))
        if most is None or most > entry.number:
            why = missing or finder.gap or first
            yield replace(unknown(wall, why), short=None if most is None or missing else True)
        return

    def takes(sizes: Sizes) -> int:
        return number(counted(pool, sizes[pool.id], world), entry.number + 1)

    named = limits.get("pool.what")
    text = f"{entry.value:,} {named.value if named else 'nodes'}"
    yield from finder.grown(wall, takes, entry.number, {pool.id: 1}, text)


def quota_walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield a wall for each quota with a number."""
    asked = needs(finder.cluster, finder.pools)
    for need in asked:
        entry = finder.limits[f"quota.{need.quota.key}"]
        scope, cause = f"{need.quota.code} ({need.quota.name})", need.pools[0].size.max_nodes
        wall = finder.limit("quota", scope, cause, entry, key=need.quota.code, pools=need.pools)
        if not isinstance(entry.value, int):
            yield unknown(wall, f"the quota depends on the account; needed: {_each(need)}")
        elif finder.gap:
            yield unknown(wall, finder.gap)
        else:
            yield from finder.grown(wall, need.amount, entry.value, need.per_node, f"a quota of {entry.value:,}")
    missing = first_unknown(pool.machine.instance_types for pool in finder.pools)
    seen = {need.quota.key for need in asked}
    for key, quota in profiles.quotas(finder.cluster.cloud).items():
        if missing and key not in seen and f"{finder.cluster.cloud}.quota.{key}" in finder.world.config.limits:
            scope, entry = f"{quota['code']} ({quota['name']})", finder.limits[f"quota.{key}"]
            yield unknown(finder.limit("quota", scope, missing, entry, key=quota["code"]), missing)


def _each(need: Need) -> str:
    """Format how much of a quota one node of each pool uses."""
    if need.quota.counts == "nodes":
        return "every node"
    return " and ".join(
        f"{need.per_node[pool.id]:,} {need.unit} per node of {pool.display_name}" for pool in need.pools[:4]
    )


# --- of pods


def pod_walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the documented limit on pods, if it comes before that on nodes.

    A node runs one pod of each DaemonSet and as many of the largest job as fit, at least one.
    """
    own = cloud(finder.cluster.cloud)
    entry = finder.limits.get(own.pods_limit(finder.cluster, finder.pools))
    if entry is None or finder.gap or not finder.pools:
        return
    jobs = [one for one in finder.world.deployed.on(finder.cluster).workloads if one.batch and not one.partial]
    job = max(jobs, key=lambda one: number(one.pods, 0), default=None)
    daemons = {pool.id: addresses.daemons(pool, finder.world) for pool in finder.pools}
    packed = {pool.id: _packed([job] if job else [], pool, daemons[pool.id], finder).low for pool in finder.pools}
    each = max(finder.pools, key=lambda pool: daemons[pool.id] + packed[pool.id])
    text = f"{entry.number:,} pods; a node of {each.display_name} runs {packed[each.id]} of the largest job"
    text += f" and {daemons[each.id]} of DaemonSets" if daemons[each.id] else ""
    documented = max((finder.limits[one.key].number for one in own.limits(finder.cluster, finder.limits)), default=0)
    whole = finder.limit("pods", "the cluster", job.pods if job else finder.pools[0].size.max_nodes, entry)
    inputs = (*(one.pods for one in jobs), *(pool.machine.instance_types for pool in finder.pools if jobs))
    missing = first_unknown(inputs)
    unsure = [one for one in jobs if isinstance(one.pods, Unknown)] or jobs
    full = {pool.id: _packed(unsure, pool, daemons[pool.id], finder).high or 1 for pool in finder.pools}
    sure = (number(job.pods, 0) if job else 0, packed, None)
    for pods, room, why in (sure, (entry.number + 1, full, missing)) if missing else (sure,):
        takes = _taken(daemons, room, pods)
        found = finder.grown(whole, takes, entry.number, {pool.id: 1 for pool in finder.pools}, text)
        if near := [wall for wall in found if wall.nodes.low < documented]:
            yield unknown(whole, why) if why else near[0]
            return


def _taken(daemons: Mapping[str, int], packed: Mapping[str, int], pods: int) -> Takes:
    """Count the pods of DaemonSets and of a job on pools of given sizes."""

    def takes(sizes: Sizes) -> int:
        room = sum(packed[name] * size for name, size in sizes.items())
        return sum(daemons[name] * size for name, size in sizes.items()) + max(sizes.total, min(pods, room))

    return takes


def _packed(jobs: list[Workload], pool: NodePool, daemons: int, finder: WallFinder) -> Amount:
    """Count the job pods that certainly, and possibly, fit on a node."""
    found = [finder.world.pools.per_node(pods, pool) for one in jobs for pods in one.templates]
    least = max((one.low for one in found if one is not None), default=1)
    room = number(pool.addresses.max_pods, least) - daemons
    most = max((one.high if one and one.high is not None else room for one in found), default=1)
    return Amount(max(1, min(least, room)), max(1, min(most, room)))
