"""What one scenario saves against another, by the same draws: the one way in which kcheck compares runs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kcheck.simulate.results import cost, range_of
from kcheck.simulate.run import simulate
from kcheck.source.units import rough

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.simulate.model import Case, Summary
    from kcheck.simulate.scenario import Scenario

_LARGEST = 1000
"""Runs of more nodes are told from two smaller ones: what a node waits for others grows with their number."""


class Estimate(NamedTuple):
    """A number that runs give: the least, the most, and the mean; of money in thousandths of a dollar."""

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
    """What a scenario saves against one of the same nodes; None where no pair of runs comes to its end."""
    nodes = before.case.pods
    pairs = list(zip(before.draws, after.draws, strict=True))
    found = [one for one in (_difference(*pair, nodes) for pair in pairs) if one is not None]
    if not found:
        return None
    money = [one.mills for one in found if one.mills is not None]
    return Saving(
        nodes=_nodes(before.draws[0]),
        time=_estimate([one.time for one in found]),
        node_time=_estimate([one.paid for one in found]),
        money=_estimate(money) if len(money) == len(found) else None,
    )


class _Difference(NamedTuple):
    """What one run saves against another: seconds, paid seconds, thousandths of a dollar."""

    time: float
    paid: float
    mills: float | None


def _nodes(case: Case) -> tuple[int, ...]:
    """The nodes that a run has of each pool; those that take the place of others do not count."""
    pods = case.pods
    small = case if pods <= _LARGEST else _smaller(case, _LARGEST)
    launched = [use.nodes for use in _summary(small).uses]
    share = pods / small.pods * min(1, small.pods / max(1, sum(launched)))
    return tuple(round(nodes * share) for nodes in launched)


def _estimate(numbers: Sequence[float]) -> Estimate:
    least, most = range_of(numbers)
    return Estimate(rough(least), rough(most), rough(sum(numbers) / len(numbers)))


def _difference(before: Case, after: Case, nodes: int) -> _Difference | None:
    """The difference of two runs; of too many nodes as it grows from half of the most that are simulated to these."""
    if nodes <= _LARGEST:
        return _simulated(before, after)
    half, full = (_simulated(_smaller(before, size), _smaller(after, size)) for size in (_LARGEST // 2, _LARGEST))
    if half is None or full is None:
        return None
    share = (nodes - _LARGEST) / (_LARGEST - _LARGEST // 2)
    paid = 2 * half.paid, full.paid
    mills = None if half.mills is None or full.mills is None else (2 * half.mills, full.mills)
    return _Difference(
        _grown((half.time, full.time), share),
        _grown(paid, share) * nodes / _LARGEST,
        None if mills is None else _grown(mills, share) * nodes / _LARGEST,
    )


def _grown(found: tuple[float, float], share: float) -> float:
    """What comes after two numbers, so many of their distances further."""
    return found[1] + (found[1] - found[0]) * share


def _smaller(case: Case, nodes: int) -> Case:
    """A case with fewer nodes, its pools in proportion, and nothing left to chance, which would grow too."""
    share = nodes / case.pods
    pools = tuple(replace(pool, most=ceil(pool.most * share), least=0, existing=0) for pool in case.pools)
    calm = replace(case.cloud, lost=0, stragglers=0, late=0, boot_sigma=0, loop_sigma=0, interruptions=0)
    first, *others = (replace(job, pods=max(1, round(job.pods * share))) for job in case.jobs)
    queues = tuple(replace(queue, nodes=max(1, round(queue.nodes * share))) for queue in case.queues)
    return replace(case, job=first, others=tuple(others), queues=queues, pools=pools, cloud=calm)


def _simulated(before: Case, after: Case) -> _Difference | None:
    one, other = _summary(before), _summary(after)
    if not one.finished or not other.finished:
        return None
    costs = cost(before, one), cost(after, other)
    mills = None if costs[0] is None or costs[1] is None else (costs[0] - costs[1]) * 1000
    return _Difference(one.total - other.total, one.paid - other.paid, mills)


@lru_cache(maxsize=1024)
def _summary(case: Case) -> Summary:
    """The result of a run; the same one is compared with several."""
    return simulate(case).summary
