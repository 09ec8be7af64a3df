"""Gangs: how the pods of a job start together, and what Volcano admits."""

import re

from kcheck.model import Cluster, Scheduler, Workload
from kcheck.scale.control_plane import minor
from kcheck.scale.queues import queued_by_default
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import NotKnown, need
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped

_OPERATED = frozenset({"PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"})
"""Kinds whose operator makes a pod group for every job if its flags say so."""

_FLAG = regex(
    r"--gang-schedul(?:er-name|ing)[= ](?!none\b|default|-)[\w-]+|--enable-gang-scheduling(?!=false)", re.IGNORECASE
)


def gang(workload: Workload, world: World) -> Value[str]:
    """Name the gang scheduler of a job; Unset without one."""
    if not isinstance(workload.gang, Unset):
        return workload.gang
    if queued_by_default(workload, world):
        return computed(workload, "Kueue")
    if workload.kind not in _OPERATED:
        return workload.gang
    found = operator(world)
    return Known("its operator", Origin((found.place,))) if found else workload.gang


def native_served(workload: Workload, world: World) -> Value[bool]:
    """Whether the cluster's version has a job's gang field; null without."""
    field, cluster = known(workload.native_gang), world.inventory.cluster_of.get(workload)
    if field is None or cluster is None:
        return computed(workload, None)
    limits = world.numbers.limits("any")
    group, job = limits["native_gang.group"].number, limits["native_gang.job"].number
    served = {
        "spec.scheduling": lambda own: own >= job,
        "schedulingGroup": lambda own: own >= group,
        "workloadRef": lambda own: own < group,
    }
    return mapped(minor(cluster, world), served[field])


def native_enabled(workload: Workload, world: World) -> Value[bool]:
    """Whether the code enables the gate of Kubernetes' own gangs."""
    cluster = world.inventory.cluster_of.get(workload)
    plane = cluster.plane if cluster else None
    if plane is None or isinstance(plane.features, Unset):
        return computed(workload, value=False)
    return mapped(plane.features, lambda gates: _GATE in gates)


_GATE = "GenericWorkload=true"


@once
def operator(world: World) -> Workload | None:
    """Find a job operator that creates pod groups."""
    return next(
        (w for w in world.inventory.workloads for t in w.templates for c in t.containers if _FLAG.search(c.text)), None
    )


def volcano(workload: Workload, world: World) -> Scheduler | None:
    """Find the configuration of the Volcano scheduler; unset without."""
    found = world.deployed.beside(workload).schedulers or world.inventory.schedulers
    return next(iter(found), None)


@once
def admitted(cluster: Cluster, world: World) -> int:
    """Count the GPUs that Volcano admits at once. Raises NotKnown if one is unknown."""
    pools = need(world.pools.all_of_cluster(cluster))
    if known(cluster.provisioned):
        raise NotKnown(Unknown(f"{cluster.address} gets nodes beside its pools"))
    sum_ = 0
    for pool in pools:
        least = pool.size.min_nodes if known(pool.size.autoscaled) is not False else pool.size.max_nodes
        if known(pool.machine.gpu) is False or known(least) == 0:
            continue
        sum_ += need(least) * need(pool.machine.gpus)
    return sum_ * world.numbers.limits("any")["volcano.overcommit"].number // 100
