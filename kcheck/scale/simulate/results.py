"""Results of a scenario, and the comparison of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, product
from math import inf
from statistics import median
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from kcheck.scale.simulate.model import PHASES, Case, Phase, Run, Summary
from kcheck.scale.simulate.run import simulate, summarize
from kcheck.scale.simulate.scenario import Scenario, seeds
from kcheck.text.units import counted, rough

_IDLE = {False: "scale-down-unneeded-time", True: "consolidateAfter"}
_GIVEN_UP = {False: "max-node-provision-time", True: "Karpenter's own limit"}
_PULLS = "the registry's pull limit"
_BACKOFF = "initial-node-group-backoff-duration"
PARTS = {"start": PHASES[:4], "work": PHASES[4:5], "idle": PHASES[5:]}
"""Phases of a node in three parts: before its pod works, while it does, and after."""


class Range(NamedTuple):
    """Smallest and largest number over several runs."""

    least: float
    most: float


class Part(NamedTuple):
    """Time and cost of a part of the paid time; the cost is None without a price."""

    node_hours: Range
    dollars: Range | None


class SimulationResult(NamedTuple):
    """Scenario with one run per draw, represented by the median run.

    If a limit stops it, `without_wall` is the result without that limit.
    """

    scenario: Scenario
    runs: list[Run]
    without_wall: SimulationResult | None = None

    @property
    def middle(self) -> Run:
        """Run of median length."""
        return self.runs[self._middle]

    @property
    def case(self) -> Case:
        """Inputs of the run of median length."""
        return self.scenario.draws[self._middle]

    @property
    def _middle(self) -> int:
        return _median([run.summary for run in self.runs])

    @property
    def total(self) -> Range:
        """Shortest and longest run, in seconds."""
        return range_of(run.summary.total for run in self.runs)

    @property
    def node_hours(self) -> Range:
        """Paid time of the cheapest and the most expensive run."""
        return range_of(run.summary.paid / 3600 for run in self.runs)

    @property
    def dollars(self) -> Range | None:
        """Cost of the cheapest and the most expensive run; None without prices."""
        return self.part(PHASES).dollars

    def part(self, phases: Sequence[str]) -> Part:
        """Return the range of time and cost of some phases over all runs."""
        case = self.scenario.case
        hours = range_of(sum(run.summary.phases[phase] for phase in phases) / 3600 for run in self.runs)
        return Part(hours, range_of(cost(case, run.summary, phases) for run in self.runs) if is_priced(case) else None)

    @property
    def unpriced(self) -> int:
        """Number of nodes without a price in the median run."""
        pairs = zip(self.scenario.case.pools, self.middle.summary.uses, strict=True)
        return sum(use.nodes for pool, use in pairs if pool.price is None)


def middle_summary(scenario: Scenario) -> Summary:
    """Return the result of the run of median length, without its timeline."""
    found = [summarize(case) for case in scenario.draws]
    return found[_median(found)]


def _median(summaries: list[Summary]) -> int:
    return sorted(range(len(summaries)), key=lambda i: summaries[i].total)[len(summaries) // 2]


def range_of(numbers: Iterable[float]) -> Range:
    """Return the minimum and maximum of some numbers."""
    found = list(numbers)
    return Range(min(found), max(found))


def is_priced(case: Case) -> bool:
    """Whether any node of a run has a price."""
    return any(pool.price is not None for pool in case.pools)


def cost(case: Case, summary: Summary, phases: Iterable[str] = PHASES) -> float:
    """Sum the US dollars of some phases of a run, without unpriced nodes."""
    pairs = list(zip(case.pools, summary.uses, strict=True))
    mills = (pool.price.mills * use.phases[name] for name in phases for pool, use in pairs if pool.price is not None)
    return sum(mills) / 3_600_000


def run_scenario(scenario: Scenario, run: Callable[[Case], Run] = simulate) -> SimulationResult:
    """Run a scenario, also without the limit that stops it."""
    found = SimulationResult(scenario, list(map(run, scenario.draws)))
    return found._replace(without_wall=run_scenario(scenario.without_wall, run)) if scenario.is_stopped else found


def deciding_factors(outcome: SimulationResult) -> dict[str, str]:
    """Describe what decides the length of each phase of the paid time."""
    case, run = outcome.case, outcome.middle
    job = case.job
    calls = f", after calls of {case.cloud.delete_call:g} s one after the other" if case.cloud.serial else ""
    stays = "the size of the pools" if case.is_static else ""
    waves = f", {-(-job.runs // max(1, job.pods)):,} on a node one after the other" if job.parallel else ""
    return {
        "boot": f"machines are ready about {minutes(case.cloud.boot)} after they start",
        "pull": _PULLS if run.summary.held.get(_PULLS, 0) >= 1 else f"{minutes(case.cloud.pull)} to pull the image",
        "turn": f"{case.cloud.pod_rate:g} pods start per second{', and all wait for the last one' * job.gang}",
        "wait": _wait(outcome),
        "work": f"{case.job.duration / 60:,g} min each{waves or ' once all run' * job.gang}",
        "timer": stays or _timer(outcome),
        "idle": stays or _setting(outcome, "unneeded_time", _IDLE[case.settings.karpenter]),
        "queue": stays or _queue(outcome),
        "delete": f"the cloud takes {minutes(case.cloud.delete_latency)} to stop a machine{calls}",
    }


def _setting(outcome: SimulationResult, field: str, flag: str) -> str:
    """Return a setting with name, value and place as in the code."""
    name, *place = outcome.scenario.written.get(field, (flag,))
    value = getattr(outcome.case.settings, field)
    text = f"{value:,}" if field == "bulk_delete" else minutes(value)
    return " ".join((name or flag, text, *(f"({where})" for where in place)))


def _wait(outcome: SimulationResult) -> str:
    """Describe how long a gang waits for its last node."""
    case, run = outcome.case, outcome.middle
    readies = sorted(run.readies) or [0]
    if not any(job.gang for job in case.jobs):
        return "pods do not wait for each other"
    half, last = minutes(readies[len(readies) // 2]), minutes(readies[-1])
    late = f"all wait for the last node, ready after {last}; half of them are after {half}"
    lost = sum(any(event.what == "never joined" for event in one.events) for one in outcome.runs)
    if not lost:
        return late
    draws = f" in {lost:,} of {len(outcome.runs):,} draws" if lost < len(outcome.runs) else ""
    failed = run.summary.held.get(_BACKOFF, 0)
    then = f", then its pool is skipped by {_BACKOFF} for {minutes(failed)}" if failed >= 1 else ""
    limit = _setting(outcome, "provision_time", _GIVEN_UP[case.settings.karpenter])
    return f"{late}; a machine that never joins is abandoned by {limit}{draws}{then}"


def _timer(outcome: SimulationResult) -> str:
    """Describe what delays the timers of empty nodes."""
    few = f"few nodes have a timer at once, by {_setting(outcome, 'bulk_delete', outcome.case.settings.batch_flag)}"
    return few if "timers" in outcome.middle.summary.bound else "the autoscaler's next loop starts it"


def _queue(outcome: SimulationResult) -> str:
    """Describe the slowest part of deletion."""
    case, held = outcome.case, outcome.middle.summary.held
    settings, cloud = case.settings, case.cloud
    if settings.karpenter:
        return f"disruption budgets of {counted(settings.bulk_delete, 'node')} at a time"
    after = held.get("scale-down-delay-after-add", 0)
    if after > held.get(settings.batch_flag, 0):
        return _setting(outcome, "delay_after_add", "scale-down-delay-after-add")
    pause = 0 if settings.eager else settings.scan_interval
    gap = pause + cloud.loop + cloud.loop_per_node * case.pods
    if settings.modern:  # a batch waits until the calls of the one before have returned
        gap = max(gap, settings.taint_delay + cloud.delete_call)
    batches = f"{_setting(outcome, 'bulk_delete', settings.batch_flag)}, a batch about every {gap:.0f} s"
    rates = {batches: settings.bulk_delete / gap if gap else inf}
    if settings.client_qps:
        requests = cloud.taint_requests + cloud.event_requests
        rates[f"kube-client-qps {settings.client_qps:g}"] = settings.client_qps / requests
    if cloud.serial and cloud.delete_call:
        rates[f"the cloud's calls, one node in {cloud.delete_call:g} s"] = 1 / cloud.delete_call
    return min(rates, key=lambda name: rates[name])


def minutes(seconds: float) -> str:
    """Format an approximate duration."""
    return f"{seconds / 60:.3g} min" if seconds >= 60 else f"{seconds:.2g} s"


def part_nodes(spans: Iterable[Phase], until: float, columns: int) -> dict[str, list[float]]:
    """Count the nodes in each phase, averaged over equal time columns of a run."""
    names = {phase: part for part, phases in PARTS.items() for phase in phases}
    changes = {part: [0.0] * (columns + 2) for part in PARTS}
    for phase, begin, end in spans:
        own = changes[names[phase]]
        for time, sign in ((begin, 1), (end, -1)):
            column, rest = divmod(min(max(time / until, 0.0), 1.0) * columns, 1)
            own[int(column)] += sign * (1 - rest)
            own[int(column) + 1] += sign * rest
    return {part: list(accumulate(own))[:columns] for part, own in changes.items()}


# --- comparison of two scenarios by the same draws


_LARGEST = 500
"""Nodes of a compared run; in larger runs each stands for several."""

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Nodes that one may stand for: divisors of round batches."""


class Spread(NamedTuple):
    """Minimum, maximum and mean over autoscaler loops of different speed."""

    least: int
    most: int
    mean: int


class Saving(NamedTuple):
    """Saving in a run: seconds, paid node-seconds, and money.

    The money is None without a price. `nodes` are those of each pool of the first scenario.
    """

    nodes: tuple[int, ...]
    time: Spread
    node_time: Spread
    money: Spread | None


def compare(before: Scenario, after: Scenario) -> Saving | None:
    """Estimate the saving against another scenario; None if runs do not end."""
    if len(before.cases) != len(after.cases):  # another autoscaler
        return None
    found = [_difference(one, other) for one, other in zip(before.cases, after.cases, strict=True)]
    sure = [one for one in found if one is not None]
    if not sure or len(sure) < len(found):
        return None
    return Saving(
        nodes=_nodes(before.case),
        time=_spread([one[0] for one in sure]),
        node_time=_spread([one[1] for one in sure]),
        money=_spread([one[2] for one in sure]) if is_priced(before.case) else None,
    )


def _nodes(case: Case) -> tuple[int, ...]:
    coarse, _ = _coarse(case)
    launched = [use.nodes for use in summarize(coarse).uses]
    share = case.pods / max(coarse.pods, sum(launched))
    return tuple(round(nodes * share) for nodes in launched)


def _spread(numbers: Sequence[float]) -> Spread:
    return Spread(rough(min(numbers)), rough(max(numbers)), rough(sum(numbers) / len(numbers)))


_Difference: TypeAlias = "tuple[float, float, float]"
"""Difference between runs: seconds, paid seconds, thousandths of a dollar."""


def _difference(before: Case, after: Case) -> _Difference | None:
    """Return the median difference between draws; None if one does not end.

    Not of draws of one seed: which batches of deletions just miss a loop does not depend on a setting. Nodes that stay
    are paid after a shorter run, too.
    """
    (one, each), (other, _) = _coarse(before), _coarse(after)
    own = [summarize(replace(one, seed=seed)) for seed in seeds(one)]
    others = own if _are_equal(one, other, own) else [summarize(replace(other, seed=seed)) for seed in seeds(one)]
    if not all(run.finished for run in own + others):
        return None
    found = [(a.total - b.total, a.paid - b.paid, cost(before, a) - cost(after, b)) for a, b in product(own, others)]
    stay = sum(pool.least for pool in other.pools)
    rate = sum(pool.least * pool.price.mills for pool in other.pools if pool.price) / 3_600_000
    return (
        median(time for time, _, _ in found),
        median(paid - stay * time for time, paid, _ in found) * each,
        median(spent - rate * time for time, _, spent in found) * 1000 * each,
    )


_RAISED = {
    "bulk_delete": "bulk_delete", "max_unready_nodes": "max_unready_nodes",
    "max_unready_percentage": "max_unready_nodes",
}  # fmt: skip


def _are_equal(one: Case, other: Case, runs: list[Summary]) -> bool:
    """Whether the other case only raises settings that stopped nothing.

    This is so for half of the comparisons in rules, and a run takes 20 ms.
    """
    own, new = one.settings, other.settings
    raised = {name: max(getattr(own, name), getattr(new, name)) for name in _RAISED}
    if own.karpenter or new != replace(own, **raised) or replace(other, settings=own) != one:
        return False
    changed = {flag for name, flag in _RAISED.items() if getattr(new, name) != getattr(own, name)}
    return not any(changed & run.bound for run in runs)


def _coarse(case: Case) -> tuple[Case, int]:
    """Return a smaller run of the same length, and its scale."""
    each = next((step for step in _STEPS if case.pods <= _LARGEST * step), _STEPS[-1])
    if each == 1:
        return case, 1
    own, cloud = case.settings, case.cloud
    settings = replace(
        own, bulk_delete=_part(own.bulk_delete, each), soft_taints=_part(own.soft_taints, each),
        client_qps=own.client_qps / each, client_burst=own.client_burst / each,
        max_unready_nodes=own.max_unready_nodes // each, max_nodes=_part(own.max_nodes, each),
        scale_up_nodes=_part(own.scale_up_nodes, each),
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
    return -(-number // each)
