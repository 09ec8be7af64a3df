"""Words of pods and their containers: whose they are, where they land, what they take of a node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.scale import placement
from kcheck.scale.facts import gpus
from kcheck.scale.facts.basics import computed
from kcheck.scale.facts.jobs import alike
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Value, known, total

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.model import Container, Image, NodePool, PodTemplate, Requirement, Thing, Workload
    from kcheck.scale.world import World


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
    found = alike(pods, world)
    return found if isinstance(found, Unknown) else computed(pods, next(iter(found), None))


def nodes(pods: PodTemplate, world: World) -> Value[int]:
    """Nodes of all pools that pods can land on; null where there are none."""
    found = pools(pods, world)
    if isinstance(found, Unknown):
        return found
    sum_ = total(world.sizes.of_pool(pool) for pool in found)
    return sum_ if isinstance(sum_, Unknown) else computed(pods, sum_ if found else None)


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
    home = world.deployed.scope(owner)
    ranges = world.remember("limit ranges", home, lambda: _limit_ranges(owner, world))
    return computed(one, "a LimitRange" if ranges & {known(owner.namespace), None} else None)


def _limit_ranges(owner: Workload, world: World) -> set[str | None]:
    """The namespaces with a LimitRange that are applied with a workload; None for what names none."""
    return {known(limit.namespace) for limit in world.deployed.beside(owner).limits if limit.kind == "LimitRange"}


def mig_strategy(one: Container, world: World) -> Value[str]:
    """The MIG strategy that is applied with a container; null where none is written."""
    return computed(one, gpus.strategy(one, world))
