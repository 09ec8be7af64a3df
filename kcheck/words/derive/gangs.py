"""Words of gangs: what starts the pods of a job together, how many it takes, and what Volcano lets in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.source.values import Known, Origin, Unknown, Unset, Value, known, number, reason_of, total
from kcheck.words.derive.basics import computed
from kcheck.words.derive.jobs import all_gpus
from kcheck.words.derive.queues import queued_by_default

if TYPE_CHECKING:
    from kcheck.model import Cluster, Scheduler, Workload
    from kcheck.scale.world import World

_OPERATED = frozenset({"PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"})
"""Kinds whose operator makes groups of pods for every job, if its flags say so."""

_FLAG = re.compile(
    r"--gang-schedul(?:er-name|ing)[= ](?!none\b|default|-)[\w-]+|--enable-gang-scheduling(?!=false)", re.IGNORECASE
)


def gang(workload: Workload, world: World) -> Value[str]:
    """What starts the pods of a job together: as it says itself, else by a default queue, or its operator's flags."""
    if not isinstance(workload.gang, Unset):
        return workload.gang
    if queued_by_default(workload, world):
        return computed(workload, "Kueue")
    if workload.kind not in _OPERATED:
        return workload.gang
    operator = world.remember("operator with gangs", "", lambda: _operator(world))
    return Known("its operator", Origin((operator.place,))) if operator else workload.gang


def _operator(world: World) -> Workload | None:
    """An operator of jobs that makes groups of pods."""
    return next(
        (w for w in world.inventory.workloads for t in w.templates for c in t.containers if _FLAG.search(c.text)), None
    )


def together(workload: Workload, _world: World) -> Value[int]:
    """Pods that a job needs at once: without a launcher, which only starts the others and may come later."""
    others = [one for one in workload.templates if not (known(one.count) == 1 and known(one.gpus) == 0)]
    sum_ = total(one.count for one in others if known(one.gpus)) if known(workload.gpus) else workload.pods
    return computed(workload, sum_) if isinstance(sum_, int) else sum_


# --- Volcano


def _conf(workload: Workload, world: World) -> Scheduler | None:
    """The configuration of the scheduler that a job of Volcano meets."""
    return next(iter(world.deployed.beside(workload).schedulers or world.inventory.schedulers), None)


def conf_by_default(workload: Workload, world: World) -> Value[bool]:
    """Whether the configuration of Volcano's scheduler is not in the code, so that the one it comes with holds."""
    return computed(workload, _conf(workload, world) is None)


def warm_gpus(workload: Workload, world: World) -> Value[int]:
    """GPUs of the nodes that its cluster always has."""
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is None:
        return world.inventory.unknown_cluster(workload)
    found = _warm(cluster, world)
    return found if isinstance(found, Unknown) else computed(workload, found)


def _warm(cluster: Cluster, world: World) -> int | Unknown:
    pools = world.pools.all_of_cluster(cluster)
    if isinstance(pools, Unknown):
        return pools
    if known(cluster.provisioned):
        return Unknown(f"{cluster.address} gets nodes beside its pools")
    sum_ = 0
    for pool in pools:
        least = pool.size.min_nodes if known(pool.size.autoscaled) is not False else pool.size.max_nodes
        if known(pool.machine.gpu) is False or known(least) == 0:
            continue
        if not isinstance(least, Known) or not isinstance(pool.machine.gpus, Known):
            return Unknown(reason_of(least if not isinstance(least, Known) else pool.machine.gpus))
        sum_ += least.value * pool.machine.gpus.value
    return sum_


def locked_out(workload: Workload, world: World) -> Value[bool]:
    """Whether Volcano never makes the pods of a GPU job: it lets in what fits the nodes that are there already."""
    if known(workload.gang) != "Volcano":
        return computed(workload, value=False)
    conf = _conf(workload, world)
    if conf is not None:
        if not isinstance(conf.actions, Known) or not isinstance(conf.plugins, Known):
            return Unknown("the configuration of Volcano's scheduler is not known")
        if "enqueue" not in conf.actions.value or "overcommit" not in conf.plugins.value:
            return computed(workload, value=False)
    gpus, warm = all_gpus(workload, world), warm_gpus(workload, world)
    if known(gpus) == 0 or not world.inventory.cluster_of.get(workload):
        return computed(workload, value=False)
    if not isinstance(gpus, Known) or not isinstance(warm, Known):
        return Unknown(reason_of(gpus if not isinstance(gpus, Known) else warm))
    percent = world.numbers.limits("any")["volcano.overcommit"].number
    return computed(workload, gpus.value * 100 > warm.value * percent and _comes(workload, world))


def _comes(workload: Workload, world: World) -> bool:
    """Whether an autoscaler would bring the nodes: all pools that its GPU pods land on grow."""
    pools = []
    for template in workload.templates:
        found = world.pools.candidates(template) if number(template.gpus, 0) else []
        if isinstance(found, Unknown):
            return False
        pools += [pool for pool, _ in found]
    return bool(pools) and all(known(pool.size.autoscaled) for pool in pools)
