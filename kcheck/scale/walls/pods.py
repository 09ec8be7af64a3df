"""Wall of pods: the number of pods that a cluster is made for, in nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.registry import cloud
from kcheck.scale import placement
from kcheck.text.values import known, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcheck.model import NodePool, Workload
    from kcheck.scale.walls.model import Sizes, Wall, WallFinder


def walls(finder: WallFinder) -> Iterator[Wall]:
    """Yield the documented number of pods, where nodes run more of them before the limit of nodes.

    A node runs one pod of each DaemonSet and as many of the largest job as fit, at least one.
    """
    own = cloud(finder.cluster.cloud)
    entry = finder.limits.get(own.pods_limit(finder.cluster, finder.pools))
    if entry is None or finder.gap or not finder.pools:
        return
    deployed = [one for one in finder.world.deployed.on(finder.cluster).workloads if not one.partial]
    job = max((one for one in deployed if one.batch), key=lambda one: number(one.pods, 0), default=None)
    pods = number(job.pods, 0) if job else 0
    daemons = {pool.id: _daemons(pool, deployed) for pool in finder.pools}
    packed = {pool.id: _packed(job, pool, daemons[pool.id], finder) for pool in finder.pools}

    def takes(sizes: Sizes) -> int:
        room = sum(packed[name] * size for name, size in sizes.items())
        return sum(daemons[name] * size for name, size in sizes.items()) + max(sum(sizes.values()), min(pods, room))

    each = max(finder.pools, key=lambda pool: daemons[pool.id] + packed[pool.id])
    text = f"{entry.number:,} pods; a node of {each.display_name} runs {packed[each.id]} of the largest job"
    text += f" and {daemons[each.id]} of DaemonSets" if daemons[each.id] else ""
    documented = [finder.limits[one.key].number for one in own.limits(finder.cluster, finder.limits)]
    for wall in finder.grown(
        "pods", "the cluster", takes, room=entry.number, weights={pool.id: 1 for pool in finder.pools},
        arithmetic=text, cause=job.pods if job else finder.pools[0].size.max_nodes, entry=entry,
    ):  # fmt: skip
        if wall.nodes is not None and wall.nodes.low < max(documented, default=0):
            yield wall


def _packed(job: Workload | None, pool: NodePool, daemons: int, finder: WallFinder) -> int:
    """Count the pods of a job that surely fit on a node beside its DaemonSets, at least one."""
    found = [finder.world.pools.per_node(one, pool) for one in job.templates] if job else []
    most = max((one.low for one in found if one is not None), default=1)
    return max(1, min(most, number(pool.addresses.max_pods, most) - daemons))


def _daemons(pool: NodePool, deployed: Sequence[Workload]) -> int:
    """Count the DaemonSets that run on every node of a pool."""
    every = (one for one in deployed if one.per_node)
    found = (one for one in every if any(placement.chooses(template, pool).fits for template in one.templates))
    return len({(known(one.namespace), known(one.name) or one.id) for one in found})
