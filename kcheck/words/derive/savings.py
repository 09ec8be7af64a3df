"""What other settings would save of a run, by the model of the autoscaler: node-hours and money."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from kcheck.simulate import parameters, scenario
from kcheck.simulate.run import simulate
from kcheck.source.values import Known, Unknown, Value, known
from kcheck.words.derive import money, scaling
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import Autoscaler, NodePool
    from kcheck.scale.world import World
    from kcheck.simulate.model import Case
    from kcheck.words.derive.money import Cost

_LARGEST = 1000
"""Runs of more nodes are told from two smaller ones: what a node waits for others grows with their number."""

_NOTHING = 5
"""Seconds a node that nobody would change a setting for."""


def idle(autoscaler: Autoscaler, world: World) -> Value[Cost]:
    """What it saves to keep idle nodes no longer than is recommended: by the cloud's faster profile, else by the time."""
    cluster = known(autoscaler.cluster)
    settings = parameters.profile_settings(cluster.cloud, "OPTIMIZE_UTILIZATION") if cluster is not None else {}
    recommended = float(world.numbers.limits("any")["autoscaler.idle_time"].number)
    return _saved(autoscaler, world, **(settings or {"unneeded_time": recommended}))


def deletion(autoscaler: Autoscaler, world: World) -> Value[Cost]:
    """What it saves to delete in batches that are large enough."""
    batch = known(scaling.sufficient_batch(autoscaler, world))
    return _saved(autoscaler, world, **({"batch": batch} if batch else {}))


def tolerance(autoscaler: Autoscaler, world: World) -> Value[Cost]:
    """What it saves to pause only for as many nodes that are not ready as it should; null where that is nothing."""
    nodes, percent = (
        known(scaling.tolerated_nodes(autoscaler, world)),
        known(scaling.tolerated_share(autoscaler, world)),
    )
    found = _run(autoscaler, world)
    if found is None or nodes is None or percent is None:
        return computed(autoscaler, None)
    own = found.settings
    count, share = max(own.unready_count, nodes), max(own.unready_percentage, float(percent))
    other = replace(found, settings=replace(own, unready_count=count, unready_percentage=share))
    return computed(autoscaler, _difference_of(autoscaler, world, found, other))


def split(pool: NodePool, world: World) -> Value[Cost]:
    """What it saves to have as many pools as are recommended instead of a large one; null where that is nothing."""
    cluster = known(pool.cluster)
    owner = world.autoscaling.autoscaler(cluster) if cluster is not None else None
    if owner is None:
        return computed(pool, None)
    return computed(pool, world.remember("split", owner, lambda: _split(owner, world)))


def _split(autoscaler: Autoscaler, world: World) -> Cost | None:
    """What it saves that no pool of an autoscaler is larger than is recommended."""
    found = _run(autoscaler, world)
    if found is None:
        return None
    most = world.numbers.limits("any")["large_pool.nodes"].number
    parts = tuple(
        replace(one, name=f"{one.name}{i}", most=ceil(one.most / ceil(one.most / most)))
        for one in found.pools
        for i in range(ceil(one.most / most))
    )
    other = replace(found, pools=parts, settings=replace(found.settings, balance=True))
    return _difference_of(autoscaler, world, found, other)


def _saved(autoscaler: Autoscaler, world: World, **changed: Any) -> Value[Cost]:
    """What changed settings save of a run that takes all nodes which the autoscaler grows; null where that is nothing.

    Where no run can be made of what is known, what nodes cost that wait as long as the settings say.
    """
    case = _run(autoscaler, world)
    if case is not None:
        other = replace(case, settings=replace(case.settings, **changed))
        return computed(autoscaler, _difference_of(autoscaler, world, case, other))
    deleting = "batch" in changed
    waiting = scaling.deletion_time(autoscaler, world) if deleting else autoscaler.unneeded_time
    shares = scaling.growing(autoscaler, world)
    if not isinstance(waiting, Known) or isinstance(shares, Unknown):
        return computed(autoscaler, None)
    return computed(autoscaler, money.cost(shares, world, Fraction(waiting.value, 2 if deleting else 1)))


def _run(autoscaler: Autoscaler, world: World) -> Case | None:
    """A run on all nodes which an autoscaler grows, without walls; None where that is not known."""
    cluster, nodes = known(autoscaler.cluster), known(scaling.growable_nodes(autoscaler, world))
    if cluster is None or not nodes:
        return None
    found = scenario.build_scenario(world, cluster, nodes=nodes, everything=True)
    return None if isinstance(found, str) else found.without_wall.case


def _difference_of(autoscaler: Autoscaler, world: World, case: Case, other: Case) -> Cost | None:
    """What one run saves against another, roughly; None where that is nothing."""
    seconds = world.remember("saved", (autoscaler, other), lambda: each(case, other))
    shares = scaling.growing(autoscaler, world)
    if isinstance(shares, Unknown) or seconds < _NOTHING:
        return None
    found = money.cost(shares, world, Fraction(round(seconds)))
    paid = None if found.money is None else money.rough(found.money)
    return found._replace(node_time=money.rough(found.node_time), money=paid, run_time=round(case.job.duration))


def each(case: Case, other: Case) -> float:
    """Paid seconds that one node of a run is better off in another one.

    Up to 1,000 nodes as they are; above, in proportion to the number of nodes, which is how queues grow.
    """
    nodes = case.job.pods
    if nodes <= _LARGEST:
        return _difference(case, other, nodes)
    half, full = (_difference(case, other, number) for number in (_LARGEST // 2, _LARGEST))
    return full + (full - half) * (nodes - _LARGEST) / (_LARGEST - _LARGEST // 2)


def _difference(case: Case, other: Case, nodes: int) -> float:
    """The same for a smaller run of the same shape."""
    return (_paid(_smaller(case, nodes)) - _paid(_smaller(other, nodes))) / nodes


@lru_cache(maxsize=256)
def _paid(case: Case) -> float:
    """Paid seconds of a run; the same one is compared with several."""
    return simulate(case).summary.paid


def _smaller(case: Case, nodes: int) -> Case:
    """A case with fewer nodes, its pools in proportion."""
    share = Fraction(nodes, case.job.pods)
    pools = tuple(
        replace(pool, most=-(-pool.most * share.numerator // share.denominator), least=0, existing=0)
        for pool in case.pools
    )
    calm = replace(case.cloud, lost=0, stragglers=0, late=0, boot_sigma=0)  # what is compared is settings, not luck
    return replace(case, job=replace(case.job, pods=nodes), pools=pools, cloud=calm)
