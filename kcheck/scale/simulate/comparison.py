"""Comparison of two scenarios by the same draws: the only one in kcheck."""

from __future__ import annotations

from itertools import product
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from kcheck.scale.simulate.results import cost, is_priced
from kcheck.scale.simulate.run import summarize
from kcheck.scale.simulate.scenario import seeds
from kcheck.text.units import rough

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.scale.simulate.model import Case, Summary
    from kcheck.scale.simulate.scenario import Scenario

_LARGEST = 500
"""Nodes of a compared run; in larger runs each stands for several."""

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Nodes that one may stand for: divisors of round batches."""


class Estimate(NamedTuple):
    """Number with the quickest and the slowest loops of the autoscaler: the least, the most, and their mean."""

    least: int
    most: int
    mean: int


class Saving(NamedTuple):
    """Saving in a run: seconds until its last node is gone, paid seconds of nodes, and money.

    The money is None without a price. `nodes` are those of each pool of the first scenario.
    """

    nodes: tuple[int, ...]
    time: Estimate
    node_time: Estimate
    money: Estimate | None

    @property
    def least_per_node(self) -> float:
        """Least saved paid seconds per node."""
        return self.node_time.least / max(1, sum(self.nodes))


def compare(before: Scenario, after: Scenario) -> Saving | None:
    """Estimate the saving of a scenario against one of the same nodes; None where runs do not end."""
    if len(before.cases) != len(after.cases):  # another autoscaler
        return None
    found = [_difference(one, other) for one, other in zip(before.cases, after.cases, strict=True)]
    sure = [one for one in found if one is not None]
    if not sure or len(sure) < len(found):
        return None
    return Saving(
        nodes=_nodes(before.case),
        time=_estimate([one[0] for one in sure]),
        node_time=_estimate([one[1] for one in sure]),
        money=_estimate([one[2] for one in sure]) if is_priced(before.case) else None,
    )


def _nodes(case: Case) -> tuple[int, ...]:
    """Count the nodes of each pool in a run, without replacements."""
    coarse, _ = _coarse(case)
    launched = [use.nodes for use in summarize(coarse).uses]
    share = case.pods / max(coarse.pods, sum(launched))
    return tuple(round(nodes * share) for nodes in launched)


def _estimate(numbers: Sequence[float]) -> Estimate:
    return Estimate(rough(min(numbers)), rough(max(numbers)), rough(sum(numbers) / len(numbers)))


_Difference: TypeAlias = "tuple[float, float, float]"
"""Difference between runs: seconds, paid seconds, thousandths of a dollar."""


def _difference(before: Case, after: Case) -> _Difference | None:
    """Return the median difference of any two draws; None where one of them does not end.

    Not of draws of one seed: which batches of deletions just miss a loop does not depend on a setting.
    """
    (one, each), (other, _) = _coarse(before), _coarse(after)
    own = [summarize(replace(one, seed=seed)) for seed in seeds(one)]
    others = own if _are_equal(one, other, own) else [summarize(replace(other, seed=seed)) for seed in seeds(one)]
    if not all(run.finished for run in own + others):
        return None
    pairs = list(product(own, others))
    return (
        median(a.total - b.total for a, b in pairs),
        median(a.paid - b.paid for a, b in pairs) * each,
        median(cost(before, a) - cost(after, b) for a, b in pairs) * 1000 * each,
    )


def _are_equal(one: Case, other: Case, runs: list[Summary]) -> bool:
    """Whether the other case only raises settings that stopped nothing in the runs of the first.

    That holds for half of what rules compare, and a run takes 20 ms.
    """
    own, new = one.settings, other.settings
    larger = replace(
        own,
        batch=max(own.batch, new.batch),
        unready_count=max(own.unready_count, new.unready_count),
        unready_percentage=max(own.unready_percentage, new.unready_percentage),
    )
    if own.karpenter or new != larger or replace(other, settings=own) != one:
        return False
    changed = set() if new.batch == own.batch else {"batch"}
    if (new.unready_count, new.unready_percentage) != (own.unready_count, own.unready_percentage):
        changed.add("unready_count")
    return not any(changed & run.bound for run in runs)


def _coarse(case: Case) -> tuple[Case, int]:
    """Return a smaller run that takes the same time, and how many nodes each of its nodes stands for."""
    each = next((step for step in _STEPS if case.pods <= _LARGEST * step), _STEPS[-1])
    if each == 1:
        return case, 1
    own, cloud = case.settings, case.cloud
    settings = replace(
        own, batch=_part(own.batch, each), soft_taints=_part(own.soft_taints, each),
        client_qps=own.client_qps / each, client_burst=own.client_burst / each,
        unready_count=own.unready_count // each, nodes_total=_part(own.nodes_total, each),
        nodes_per_scale_up=_part(own.nodes_per_scale_up, each),
    )  # fmt: skip
    slower = replace(
        cloud, launch_rate=cloud.launch_rate / each, pod_rate=cloud.pod_rate / each,
        create_rate=cloud.create_rate / each, create_burst=cloud.create_burst / each,
        schedule_rate=cloud.schedule_rate / each, loop_per_node=cloud.loop_per_node * each,
        delete_call=cloud.delete_call * (each if cloud.serial else 1), fit_check=cloud.fit_check * each,
        affinity_check=cloud.affinity_check * each**2,
    )  # fmt: skip
    pools = tuple(
        replace(pool, most=_part(pool.most, each), least=pool.least // each, existing=pool.existing // each)
        for pool in case.pools
    )
    first, *others = (replace(job, pods=_part(job.pods, each)) for job in case.jobs)
    queues = tuple(replace(queue, nodes=_part(queue.nodes, each)) for queue in case.queues)
    result = replace(
        case, job=first, others=tuple(others), queues=queues, pools=pools, settings=settings, cloud=slower,
        system_nodes=case.system_nodes // each,
    )  # fmt: skip
    return result, each


def _part(number: int, each: int) -> int:
    """Divide a number of nodes, rounding up."""
    return -(-number // each)
