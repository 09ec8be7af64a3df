"""Pods that no node can take, the pool that comes closest, and jobs that their queue never admits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers.reserved import GI, MI
from kcheck.scale import placement
from kcheck.scale.basics import computed, first_unknown
from kcheck.scale.queues import admitting_queue
from kcheck.text.need import need
from kcheck.text.units import cores, counted
from kcheck.text.values import Known, Origin, Unknown, Value, known, number, sure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcheck.model import Cluster, NodePool, PodTemplate, Queue, Workload
    from kcheck.scale.placement import Share
    from kcheck.scale.world import World


class Shortage(Struct, frozen=True):
    """Request that the largest machine in reach has no room for; amounts as people write them."""

    resource: str
    asked: Value[str]
    machine: str
    left: str
    whole: str
    exact: bool
    taken: str | None
    pool: NodePool


class Refusal(Struct, frozen=True):
    """Labels or GPUs that pods ask for and no pool has; the nearest `pool` `has` other ones."""

    kind: str
    asked: Value[str]
    pool: NodePool
    has: str
    fixed: bool


def refusal(template: PodTemplate, world: World) -> Value[Refusal]:
    """Find what the nearest pool lacks besides size and tolerations; null where one may take the pods."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    asks = bool(number(template.gpus, 0)) or bool(sure(template.selection))
    if workload.per_node or not asks or _on_virtual_nodes(template):
        return computed(template, None)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    pools = world.pools.of_cluster(cluster)
    fits = (world.pools.fit(template, pool) for pool in pools)
    if not pools or not all(fit.fits is False and fit.kind in ("label", "gpus") for fit in fits):
        return computed(template, None)
    serverless = known(cluster.serverless) or isinstance(cluster.serverless, Unknown)
    if need(_more_nodes(cluster, world)) or serverless:
        return computed(template, None)
    obstacles = [(pool, world.pools.obstacles(template, pool)) for pool in pools]
    pool, found = min(obstacles, key=lambda pair: (len(pair[1]), pair[1][0].kind != "label"))
    kind, field = found[0].kind, template.selection if found[0].kind == "label" else template.gpus
    asked = Known(found[0].why, field.origin or Origin((template.place,)))
    fixed = not any(known(one.size.autoscaled) for one in pools)
    return computed(template, Refusal(kind, asked, pool, _instead(kind, template, pool), fixed))


def _on_virtual_nodes(template: PodTemplate) -> bool:
    return any("virtual-kubelet" in one.values for term in sure(template.selection) or () for one in term)


def _instead(kind: str, template: PodTemplate, pool: NodePool) -> str:
    """Describe the GPUs or labels that the pool has in place of those asked for."""
    if kind == "gpus":
        return counted(number(pool.machine.gpus, 0), "GPU")
    keys = {one.key for term in sure(template.selection) or () for one in term}
    own = [one for one in placement.labels(pool) if one.partition("=")[0] in keys]
    return " and ".join(own) or f"no label {' or '.join(sorted(keys))}"


def shortage(template: PodTemplate, world: World) -> Value[Shortage]:
    """Find the request that no node of the cluster has room for; null where one has, or may."""
    workload = world.deployed.workload(template)
    cluster = world.inventory.cluster_of.get(workload)
    if not (known(template.cpu) or known(template.memory)):
        return computed(template, None)
    if cluster is None:
        return world.inventory.unknown_cluster(workload) if world.inventory.clusters else computed(template, None)
    pools = world.pools.of_cluster(cluster)
    fits = (world.pools.fit(template, pool) for pool in pools)
    if any(fit.fits is not False or fit.kind == "taint" for fit in fits):
        return computed(template, None)  # a queue may add the toleration
    every = [(world.pools.shortage(template, pool), pool) for pool in pools if world.pools.chosen(template, pool)]
    found = [(share, pool) for share, pool in every if share is not None]
    if not found or need(_more_nodes(cluster, world)):
        return computed(template, None)
    return computed(template, _told(*max(found, key=lambda one: one[0].left.high or 0), template))


def _more_nodes(cluster: Cluster, world: World) -> bool | Unknown:
    """Whether there are other pools, or something may add nodes of other kinds."""
    values = (world.pools.all_of_cluster(cluster), cluster.provisioned, world.autoscaling.tool(cluster))
    return first_unknown(values) or world.autoscaling.beyond_pools(cluster)


def _told(share: Share, pool: NodePool, template: PodTemplate) -> Shortage:
    left, whole = share.left.high or 0, share.room.memory
    write: Callable[[int], str]
    if share.resource == "cpu":
        resource, values, write, whole = "CPU", [one.cpu for one in template.containers], cores, share.room.vcpus * 1000
        text = f"{cores(share.asked)} CPU{'' if share.asked == 1000 else 's'}"
    else:
        unit = MI if share.asked < GI or (share.asked - left) * 100 < GI else GI
        resource, values, write = "memory", [one.memory for one in template.containers], partial(_memory, unit=unit)
        text = f"{write(share.asked)} of memory"
    written = [value for value in values if isinstance(value, Known)]
    largest = max(written, key=lambda one: one.value).origin if written else Origin((template.place,))
    return Shortage(
        resource,
        Known(text, largest),
        share.room.machine,
        write(left),
        write(whole),
        exact=share.left.exact is not None,
        taken=write(share.taken) if share.taken else None,
        pool=pool,
    )


def _memory(count: int, unit: int) -> str:
    """Format bytes in Gi or Mi, rounded down to hundredths of Gi."""
    return f"{count // unit:,}Mi" if unit == MI else f"{count * 100 // unit / 100:g}Gi"


# --- queues


class Excess(Struct, frozen=True):
    """Request of a job beyond the `most` that its queue, or its namespace's quota, ever gives.

    CPU is in whole CPUs, memory in GiB.
    """

    resource: str
    asked: int
    most: int
    parts: str
    kind: str
    name: str


def excess(job: Workload, world: World) -> Value[Excess]:
    """Find the excess that bars a job from its queue, or its last pods from their namespace; null without."""
    if not job.batch or job.per_node:
        return computed(job, None)
    queue = admitting_queue(job, world)
    if queue is not None and not job.shrinks:
        pods, name = _least(job, queue), known(queue.name) or ""
        own = queue.guaranteed if queue.kind == "ClusterQueue" else queue.quotas
        for most in (own, queue.quotas):  # its own quota, and with what it may borrow
            if isinstance(most, Unknown):
                return most
            found = _first(pods, known(most) or {}, queue.kind, name)
            if found is None:
                break
        else:
            return computed(job, found)
    return computed(job, _beyond_namespace(job, world) if known(job.rigid) else None)


def _beyond_namespace(job: Workload, world: World) -> Excess | None:
    """Find the excess of all pods of a job over the quotas of their namespace."""
    space = known(job.namespace)
    for quota in world.deployed.beside(job).limits if space else ():
        if quota.kind != "ResourceQuota" or known(quota.namespace) != space:
            continue
        hard = {
            key.removeprefix("requests."): int(text)
            for key, text in (known(quota.hard) or {}).items()
            if not key.startswith("limits.") and text.isdigit()
        }
        found = _first(job.templates, hard, "ResourceQuota of namespace", space or "")
        if found is not None:
            return found
    return None


def _least(job: Workload, queue: Queue) -> tuple[PodTemplate, ...]:
    """Return the pods to admit together: all, or those of minAvailable (Volcano, where all are alike)."""
    least, every = known(job.least), sum(number(one.count, 0) for one in job.templates)
    if queue.kind != "Queue" or least is None or least >= every:
        return job.templates
    only = job.templates if len(job.templates) == 1 else ()
    return tuple(replace(one, count=Known(least, Origin((one.place,)))) for one in only)


def _first(pods: tuple[PodTemplate, ...], most: dict[str, int], kind: str, name: str) -> Excess | None:
    """Find the first resource of which pods ask for more than a queue or quota gives."""
    for resource, each in _asked(pods).items():
        asked = sum(count * amount for count, amount in each)
        unit = {"cpu": 1000, "memory": GI}.get(resource, 1)
        if resource in most and asked > most[resource] * (1000 if resource == "cpu" else 1):
            parts = " + ".join(f"{counted(count, 'pod')} x {amount / unit:,.4g}" for count, amount in each)
            own = most[resource] if resource != "memory" else most[resource] // GI
            return Excess(resource, -(-asked // unit), own, parts, kind, name)
    return None


def _asked(pods: tuple[PodTemplate, ...]) -> dict[str, list[tuple[int, int]]]:
    """Return count and request of pods by resource: accelerators first, millicores of CPU, bytes."""
    found: dict[str, list[tuple[int, int]]] = {}
    for template in pods:
        for resource, amount in _of_pod(template):
            if isinstance(template.count, Known) and amount:
                found.setdefault(resource, []).append((template.count.value, amount))
    return found


def _of_pod(template: PodTemplate) -> Iterator[tuple[str, int]]:
    names = {known(one.gpu) for one in template.containers if not one.init} - {None}
    if len(names) == 1:
        yield str(names.pop()), number(template.gpus, 0)
    yield "cpu", number(template.cpu, 0)
    yield "memory", number(template.memory, 0)
