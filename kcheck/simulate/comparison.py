"""What one scenario saves against another, by the same draws: the one way in which kcheck compares runs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kcheck.simulate.results import cost, is_priced
from kcheck.simulate.run import simulate
from kcheck.simulate.scenario import seeds
from kcheck.source.units import rough

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.simulate.model import Case, Summary
    from kcheck.simulate.scenario import Scenario

_LARGEST = 1000
"""Runs of more nodes are told from two smaller ones: what a node waits for others grows with their number."""


_PAIR, _MOST, _ALIKE = 2, 3, 1.03
"""Draws that are compared first, and those that are where the first ones are further apart than this ratio."""


class Estimate(NamedTuple):
    """A number with the quickest loops of the autoscaler and with the slowest: the least, the most, and their mean."""

    least: int
    most: int
    mean: int


class Saving(NamedTuple):
    """What is saved of a run: seconds until its last node is gone, paid seconds of nodes, and money.

    The money is None without a price. `nodes` are those of each pool of the first scenario.
    """

    nodes: tuple[int, ...]
    time: Estimate
    node_time: Estimate
    money: Estimate | None

    @property
    def least_per_node(self) -> float:
        """The paid seconds of a node that are saved for certain."""
        return self.node_time.least / max(1, sum(self.nodes))


def compare(before: Scenario, after: Scenario) -> Saving | None:
    """What a scenario saves against one of the same nodes; None where runs do not come to their end."""
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
    """The nodes that a run has of each pool; those that take the place of others do not count."""
    pods = case.pods
    small = case if pods <= _LARGEST else _smaller(case, _LARGEST)
    launched = [use.nodes for use in _summary(small).uses]
    share = pods / small.pods * min(1, small.pods / max(1, sum(launched)))
    return tuple(round(nodes * share) for nodes in launched)


def _estimate(numbers: Sequence[float]) -> Estimate:
    return Estimate(rough(min(numbers)), rough(max(numbers)), rough(sum(numbers) / len(numbers)))


_Difference: TypeAlias = "tuple[float, float, float]"
"""What runs save against others: seconds, paid seconds, thousandths of a dollar."""


def _difference(before: Case, after: Case) -> _Difference | None:
    """The difference of runs; of too many nodes as it grows from half of the most that are simulated to these."""
    nodes = before.pods
    if nodes <= _LARGEST:
        return _simulated(before, after)
    half, full = (_simulated(_smaller(before, size), _smaller(after, size)) for size in (_LARGEST // 2, _LARGEST))
    if half is None or full is None:
        return None
    steps = (nodes - _LARGEST) / (_LARGEST - _LARGEST // 2)
    time = full[0] + steps * (full[0] - half[0])
    paid, mills = (nodes / _LARGEST * (full[i] + steps * (full[i] - 2 * half[i])) for i in (1, 2))
    return time, paid, mills


def _simulated(before: Case, after: Case) -> _Difference | None:
    """The median difference of any two draws; None where one of them does not come to its end.

    Not of those of one seed: which batches of deletions just miss a loop is not what a setting decides. Where a call
    deletes a whole batch, all batches of a run miss it or none, so there two draws are compared at least.
    """
    few = len(seeds(before))
    for number in (few,) if before.cloud.serial else (max(_PAIR, few), _MOST):
        runs = [[_summary(replace(case, seed=seed)) for seed in range(number)] for case in (before, after)]
        if not all(run.finished for own in runs for run in own):
            return None
        if all(_agree([run.paid for run in own]) for own in runs):
            break
    pairs = list(product(*runs))
    return (
        median(one.total - other.total for one, other in pairs),
        median(one.paid - other.paid for one, other in pairs),
        median(cost(before, one) - cost(after, other) for one, other in pairs) * 1000,
    )


def _agree(numbers: Sequence[float]) -> bool:
    """Whether more draws would tell nothing new."""
    return max(numbers) <= _ALIKE * min(numbers)


def _smaller(case: Case, nodes: int) -> Case:
    """A case with fewer nodes, its pools in proportion, and nothing left to chance, which would grow too."""
    share = nodes / case.pods
    pools = tuple(replace(pool, most=ceil(pool.most * share), least=0, existing=0) for pool in case.pools)
    calm = replace(case.cloud, lost=0, stragglers=0, late=0, boot_sigma=0, loop_sigma=0, interruptions=0)
    first, *others = (replace(job, pods=max(1, round(job.pods * share))) for job in case.jobs)
    queues = tuple(replace(queue, nodes=max(1, round(queue.nodes * share))) for queue in case.queues)
    return replace(case, job=first, others=tuple(others), queues=queues, pools=pools, cloud=calm)


@lru_cache(maxsize=1024)
def _summary(case: Case) -> Summary:
    """The result of a run; the same one is compared with several."""
    return simulate(case).summary
