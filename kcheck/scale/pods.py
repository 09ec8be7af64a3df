"""Pods and their containers: whose they are, where they land, what they take and leave of a node, what moves them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import flags
from kcheck.config.numbers.clouds import owners
from kcheck.model import STAY
from kcheck.scale import placement
from kcheck.scale.basics import computed, derived
from kcheck.scale.jobs import alike
from kcheck.scale.world.memory import once
from kcheck.text.interval import Bounded, Interval
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, number, reason_of, total

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Container, Image, NodePool, PodTemplate, Requirement, Thing, Workload
    from kcheck.scale.world import World
    from kcheck.text.values import Value


def workload(thing: Thing, world: World) -> Value[Workload]:
    """The workload that a template or a container is part of."""
    return Known(world.deployed.workload(thing), Origin((thing.place,)))


def template(one: Container, world: World) -> Value[PodTemplate]:
    """The pods that a container is in."""
    owner = world.deployed.workload(one)
    return Known(next(pods for pods in owner.templates if one in pods.containers), Origin((one.place,)))


def image(one: Container, world: World) -> Value[Image]:
    """The image of a container; null without one, or where it is never pulled."""
    if isinstance(one.image, Unknown):
        return one.image
    images = world.deployed.workload(one).images
    return computed(one, next((image for image in images if image.id == one.id), None))


def name(pods: PodTemplate, world: World) -> Value[str]:
    """Kind and name of the workload, with the role of the pods."""
    owner = world.deployed.workload(pods)
    role = f" ({pods.role})" if pods.role else ""
    return computed(pods, f"{owner.kind} {known(owner.name) or '?'}{role}")


# --- where they land


def node_labels(pods: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """Labels that pods select nodes by, as key=value; of several terms those that are in all of them."""
    if not isinstance(pods.selection, Known):
        return pods.selection
    terms = [_labels(term) for term in pods.selection.value]
    found = terms[0] if terms else []
    return Known(tuple(one for one in found if all(one in term for term in terms)), pods.selection.origin)


def gpu_selector(pods: PodTemplate, world: World) -> Value[str]:
    """By what pods select nodes with GPUs: a label of such nodes alone; of a job, one of tainted pools."""
    if isinstance(pods.selection, Unknown):
        return pods.selection
    own, labels = placement.gpu_label(pods), known(node_labels(pods, world))
    if own or not labels:
        return computed(pods, own or None)
    job = world.deployed.workload(pods).batch  # a service may fill what is left of a node
    found = world.pools.candidates(pods) if job and world.inventory.clusters else []
    if isinstance(found, Unknown):
        return found
    sure = bool(found) and all(certain and known(pool.machine.gpu) for pool, certain in found)
    tainted = sure and all(placement.taints(pool) for pool, _ in found)
    return computed(pods, labels[0] if tainted else None)


def _labels(term: Iterable[Requirement]) -> list[str]:
    return [f"{one.key}={','.join(one.values)}".rstrip("=") for one in term if one.operator in ("In", "Exists")]


def pools(pods: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The pools that pods can land on."""
    found = world.pools.candidates(pods)
    return found if isinstance(found, Unknown) else [pool for pool, _ in found]


def sure_pools(pods: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The pools that take pods for sure: nothing that decides it is unknown."""
    found = world.pools.candidates(pods)
    return found if isinstance(found, Unknown) else [pool for pool, certain in found if certain]


def pool(pods: PodTemplate, world: World) -> Value[NodePool]:
    """The pool that pods land on, the first of several with equal nodes; null where it is not known."""
    return derived(pods, alike(pods, world), lambda found: next(iter(found), None))


def nodes(pods: PodTemplate, world: World) -> Value[int]:
    """Nodes of all pools that pods can land on; null where there are none."""
    return derived(pods, pools(pods, world), lambda found: total(map(world.sizes.of_pool, found)) if found else None)


def per_node(pods: PodTemplate, world: World) -> Value[int]:
    """Pods for which a node of their pools has GPUs, CPU and memory; null where it is not known."""
    found = alike(pods, world)
    if isinstance(found, Unknown):
        return found
    each = world.pools.per_node(pods, found[0], ports=False) if found else None
    return computed(pods, each.exact if each else None)


# --- what they ask for


def starter(pods: PodTemplate, _world: World) -> Value[str]:
    """What starts several processes in a pod, such as torchrun; null if nothing is seen."""
    return computed(pods, next((word for one in pods.containers for word in one.starters), None))


_IDLE = regex(
    r"\bsleep +(?:inf(?:inity)?|[0-9]{5,}|[0-9]+[hd])\b|\btail +-[fF] +/dev/null\b"
    r"|\bwhile +(?:true|:) *; *do +sleep\b|\bjupyter[- ](?:lab|notebook|server)\b|\bstart-notebook\b|\bcode-server\b"
    r"|\bsshd +-D\b"
)
"""Commands that keep a pod alive without work, or for a person who may be away."""


def idles(pods: PodTemplate, world: World) -> Value[str]:
    """The command that keeps pods and their GPUs without work; null without, and of workers that a launcher drives."""
    if world.deployed.workload(pods).kind == "MPIJob":
        return computed(pods, None)
    found = (_IDLE.search(one.text) for one in pods.containers if isinstance(one.gpu, Known))
    return computed(pods, next((match[0] for match in found if match), None))


_PORT = regex(r"(?:--(?:master[-_])?port[= ]+|_PORT[= ]|--rdzv[-_]endpoint[= ]+[^\s:]+:)([0-9]{2,5})(?![0-9])")
_TUNED = regex(r"\b(NCCL|GLOO|UCX|FI|OMPI_MCA_btl|MV2|I_MPI)_|btl_tcp_if|LD_PRELOAD|/rdma|infiniband", re.IGNORECASE)


def fixed_ports(pods: PodTemplate, _world: World) -> Value[tuple[int, ...]]:
    """The ports that commands and variables of pods name, each once."""
    found = (int(port) for one in pods.containers for port in _PORT.findall(one.text))
    return computed(pods, tuple(dict.fromkeys(found)))


def tunes_network(pods: PodTemplate, _world: World) -> Value[bool]:
    """Whether pods say by which interfaces their processes talk: those of the node, as RDMA needs."""
    found = any(one.rdma or _TUNED.search(one.text) for one in pods.containers)
    return computed(pods, value=found)


def watches(pods: PodTemplate, world: World) -> Value[tuple[str, ...]]:
    """What the service account of pods may list and watch in the whole cluster."""
    owner = world.deployed.workload(pods)
    space, account = known(owner.namespace) or "", known(pods.account) or ""
    for one in world.deployed.beside(owner).watchers if account else ():
        if any(own == account and (not of or not space or of == space) for of, own in one.accounts):
            return Known(tuple(one.resources), Origin((pods.place,)))
    return Known((), Origin((pods.place,)))


def requests_from(one: Container, world: World) -> Value[str]:
    """What gives a container requests where it has none: its pod, a LimitRange, a runtime; null if nothing does."""
    owner = world.deployed.workload(one)
    if any(pods.asks_as_one and one in pods.containers for pods in owner.templates):
        return computed(one, "the pod")
    if owner.kind == "TrainJob":
        return computed(one, "the runtime")
    ranges = _limit_ranges(world.deployed.scope(owner), world)
    return computed(one, "a LimitRange" if ranges & {known(owner.namespace), None} else None)


@once
def _limit_ranges(scope: str, world: World) -> set[str | None]:
    """The namespaces with a LimitRange in a scope; None for what names none."""
    return {known(limit.namespace) for limit in world.deployed.in_scope(scope).limits if limit.kind == "LimitRange"}


def names(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes of pods."""
    return mapped(template.volumes, lambda found: tuple(volume.name for volume in found))


def on_disk(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes on the disk of the node: emptyDir that is not in memory, and hostPath."""
    kinds = ("emptyDir", "hostPath")
    return mapped(
        template.volumes, lambda found: tuple(one.name for one in found if one.kind in kinds and not one.memory)
    )


def in_memory(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes in memory."""
    return mapped(template.volumes, lambda found: tuple(one.name for one in found if one.memory))


NOTICE = "spot.notice"


def _growing(template: PodTemplate, world: World) -> list[NodePool] | Unknown:
    """The autoscaled pools that pods can land on."""
    found = world.pools.candidates(template)
    return found if isinstance(found, Unknown) else [pool for pool, _ in found if known(pool.size.autoscaled)]


def coming(workload: Workload, world: World) -> Value[int]:
    """Pods with GPUs for which an autoscaler has to add nodes first."""
    sum_ = 0
    for template in workload.templates:
        if not number(template.gpus, 0):
            continue
        found = _growing(template, world)
        if isinstance(found, Unknown) or not isinstance(template.count, Known):
            return Unknown(reason_of(found if isinstance(found, Unknown) else template.count))
        ready = sum(number(pool.size.min_nodes, 0) * _most_per_node(template, pool, world) for pool in found)
        sum_ += max(0, template.count.value - ready) if found else 0
    return computed(workload, sum_)


def _most_per_node(template: PodTemplate, pool: NodePool, world: World) -> int:
    """Pods for which a node may have room."""
    each = world.pools.per_node(template, pool)
    return (each.high if each else None) or 1


def time_to_stop(template: PodTemplate, world: World) -> Value[int]:
    """Seconds that pods get to stop: the notice of spot nodes, or what the autoscaler waits; null without a limit."""
    found = _time_to_stop(template, world)
    if isinstance(found, Unknown):
        return Bounded(found.reason, found.origin, bounds=Interval(_granted(template, world), None))
    return found


def _time_to_stop(template: PodTemplate, world: World) -> Value[int]:
    found = world.pools.candidates(template)
    if isinstance(found, Unknown):
        return found
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    spot = [pool for pool, certain in found if certain and known(pool.market.spot)]
    if cluster is not None and spot and len(spot) == len(found):
        entry = world.numbers.limits(cluster.cloud).get(NOTICE)
        return computed(template, entry.number if entry else None)
    autoscaler = world.autoscaling.autoscaler(cluster) if cluster else None
    if autoscaler is None or not isinstance(autoscaler.grace, Known | Unknown):
        return computed(template, None)
    moved = [
        pool for pool, certain in found if certain and known(pool.size.autoscaled) and known(pool.mode) != "Karpenter"
    ]
    if not moved or STAY in (known(template.annotations) or {}):
        return computed(template, None)
    return autoscaler.grace


def _granted(template: PodTemplate, world: World) -> int:
    """Seconds that pods get to stop on any cluster; in a tree without one, of pods that do not ask for spot nodes."""
    times = [one.grace for one in world.inventory.autoscalers if not isinstance(one.grace, Unset)]
    least = min([_by_default(), *(number(time, 0) for time in times)])
    if world.inventory.clusters or placement.asks_for_spot(template) or isinstance(template.selection, Unknown):
        notices = [world.numbers.limits(cloud).get(NOTICE) for cloud in owners()]
        least = min([least, *(notice.number for notice in notices if notice is not None)])
    return least


def _by_default() -> int:
    """Seconds that the cluster autoscaler gives pods where nobody says otherwise."""
    default = flags.flags()["max-graceful-termination-sec"]["default"]
    return int(default)


_LOOKED_AT, _NAMED = 50, 3


def fillers(template: PodTemplate, world: World) -> list[Workload] | Unknown:
    """Other workloads whose pods fit the GPUs, CPU and memory that pods leave over on each node of their pool."""
    if not number(template.gpus, 0):
        return []
    found = pool(template, world)
    if isinstance(found, Unknown):
        return found
    of, each = known(found), known(per_node(template, world))
    if of is None or not each:
        return []
    left = number(of.machine.gpus, 0) - each * number(template.gpus, 0)
    if left <= 0:
        return []
    owner, cpu = world.deployed.workload(template), world.pools.cpu_left(of)
    result: dict[Workload, None] = {}
    for other in _small(of, world):
        workload = world.deployed.workload(other)
        room = cpu is None or number(other.cpu, 0) <= cpu - each * number(template.cpu, 0)
        if workload is not owner and number(other.gpus, 0) <= left and room:
            result[workload] = None
    return list(result)[:_NAMED]


@once
def _small(of: NodePool, world: World) -> list[PodTemplate]:
    """Pods with GPUs that may land on a pool, those with the fewest first."""
    cluster = known(of.cluster)
    found = [
        template
        for workload in (world.deployed.on(cluster).workloads if cluster else ())
        for template in workload.templates
        if number(template.gpus, 0) and world.pools.fit(template, of).fits is not False
    ]
    return sorted(found, key=lambda one: number(one.gpus, 0))[:_LOOKED_AT]
