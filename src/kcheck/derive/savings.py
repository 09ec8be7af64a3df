"""What other settings would save of a run, by the model of the autoscaler: minutes and money of waste."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kcheck import parameters, scenario
from kcheck.derive import money, scaling
from kcheck.derive.basics import computed
from kcheck.simulate.run import simulate
from kcheck.values import Unknown, Value, known

if TYPE_CHECKING:
    from kcheck.model import Autoscaler
    from kcheck.simulate.model import Case
    from kcheck.world import World

_LARGEST = 300
"""Runs of more nodes are told from two smaller ones: what a node waits for others grows with their number."""

_NOTHING = 5
"""Seconds a node that nobody would change a setting for."""

_SEED = 0


def idle(autoscaler: Autoscaler, world: World) -> Value[str]:
    """What it saves to keep idle nodes no longer than is recommended."""
    return _saved(autoscaler, world, unneeded_time=float(world.limits("any")["autoscaler.idle_time"].number))


def deletion(autoscaler: Autoscaler, world: World) -> Value[str]:
    """What it saves to delete in batches that are large enough."""
    batch = known(scaling.sufficient_batch(autoscaler, world))
    return _saved(autoscaler, world, **({"batch": batch} if batch else {}))


def profile(autoscaler: Autoscaler, world: World) -> Value[str]:
    """What the faster profile of GKE saves."""
    return _saved(autoscaler, world, **parameters.bundle("gke", "OPTIMIZE_UTILIZATION"))


def _saved(autoscaler: Autoscaler, world: World, **changed: Any) -> Value[str]:
    """What changed settings save of a run that takes all nodes which the autoscaler grows; of about how long a job.

    Where no run can be made of what is known, what nodes cost that wait as long as the settings say.
    """
    cluster, nodes = known(autoscaler.cluster), known(scaling.growable_nodes(autoscaler, world))
    found = scenario.of(world, cluster, nodes=nodes, everything=True) if cluster is not None and nodes else ""
    if isinstance(found, str):
        usual = autoscaler.unneeded_time if "batch" not in changed else scaling.deletion_time(autoscaler, world)
        return scaling.waste(autoscaler, world, usual, 2 if "batch" in changed else 1)
    case = replace(found.case, ceiling=None)
    other = replace(case, settings=replace(case.settings, **changed))
    seconds = world.remember("saved", (cluster, str(changed)), lambda: each(case, other))
    shares = scaling.growing(autoscaler, world)
    run = f"of a run of {case.job.duration / 60:g} minutes on {case.job.pods:,} nodes (simulated)"
    if isinstance(shares, Unknown) or seconds < _NOTHING:
        return computed(autoscaler, f"next to nothing {run}, as other settings hold it up longer")
    return computed(autoscaler, f"about {money.cost(shares, world, Fraction(round(seconds)))}, {run}")


def each(case: Case, other: Case) -> float:
    """Paid seconds that one node of a run is better off in another one.

    Up to 300 nodes as they are; above, in proportion to the number of nodes, which is how queues grow.
    """
    nodes = case.job.pods
    if nodes <= _LARGEST:
        return _difference(case, other, nodes)
    half, full = (_difference(case, other, number) for number in (_LARGEST // 2, _LARGEST))
    return full + (full - half) * (nodes - _LARGEST) / (_LARGEST - _LARGEST // 2)


def _difference(case: Case, other: Case, nodes: int) -> float:
    """The same for a smaller run of the same shape."""
    first, second = (simulate(_smaller(one, nodes)).summary.paid for one in (case, other))
    return (first - second) / nodes


def _smaller(case: Case, nodes: int) -> Case:
    """A case with fewer nodes, its pools in proportion."""
    share = Fraction(nodes, case.job.pods)
    pools = tuple(
        replace(pool, most=-(-pool.most * share.numerator // share.denominator), least=0, existing=0)
        for pool in case.pools
    )
    return replace(case, job=replace(case.job, pods=nodes), pools=pools, seed=_SEED)
