"""Use and cost of a cluster by owner, team, namespace, job or experiment."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, field

from kcheck.addons.usage import accounting
from kcheck.addons.usage.accounting import Amounts, Held, Period
from kcheck.config.numbers import profiles
from kcheck.scale.usage import joining
from kcheck.scale.usage.joining import Joined, Match
from kcheck.scale.usage.nodes import Nodes, Priced, label
from kcheck.scale.usage.recording import HOUR, Recording
from kcheck.scale.world import World
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES
from kcheck.text.text import grouped
from kcheck.text.values import known

By = Literal["owner", "team", "namespace", "job", "experiment"]
BY: tuple[By, ...] = ("owner", "team", "namespace", "job", "experiment")
Order = Literal["idle", "use", "paid", "gpu-hours"]
"""Sort orders of the rows."""
NOBODY = "(none)"
"""Row of pods without a label for the dimension."""
_WEEK = 7 * 24 * HOUR
_MILLS = 1000
_FEW = 0.02
"""Share of GPU-hours without a price up to which rows are sorted by money."""
_GIB = 1 << 30


class Row(Struct):
    """A row of the bill, of one owner, team, namespace, job or experiment.

    `before` are the amounts of the earlier span, `recent` those compared with it. `matches` are the row's pods.
    """

    name: str
    amounts: Amounts
    matches: list[Match] = []
    recent: Amounts | None = None
    before: Amounts | None = None


class Compared(Struct, frozen=True):
    """Two compared periods; `factor` scales the earlier one to the later."""

    recent: Period
    before: Period
    factor: float = 1.0


class PoolBill(Struct):
    """Nodes of a pool or machine type: `whole` capacity, and `spare` unrequested."""

    name: str
    machines: list[str] = []
    nodes: int = 0
    whole: Amounts = field(default_factory=Amounts)
    spare: Amounts = field(default_factory=Amounts)


class Unpriced(Struct, frozen=True):
    """Nodes of a machine type without a price; the type is empty if not recorded."""

    machine: str
    nodes: int
    hours: float


class Bill(Struct):
    """Bill of a recording.

    `requested` is the sum of the rows, `spare` what no pod requested, `total` both: the cost of the nodes. `pools`
    split the total, those with the most spare first. `labels` are the label names searched for the dimension.
    `by_money` tells whether enough nodes have prices to sort by idle money; otherwise idle GPU-hours count.
    """

    by: By
    joined: Joined
    span: Period
    rows: list[Row]
    spare: Row
    total: Row
    requested: Row
    nodes: list[Priced]
    pools: list[PoolBill] = []
    labels: list[str] = []
    by_money: bool = True
    order: Order = "idle"
    unpriced: list[Unpriced] = []
    compared: Compared | None = None

    @property
    def is_priced(self) -> bool:
        """Whether any node has a price."""
        return any(one.price for one in self.nodes)


class _Part(Struct):
    """Amounts of a period: of pods by index, of spare capacity, and of pools."""

    pods: dict[int, Amounts] = field(default_factory=dict)
    ran: set[int] = field(default_factory=set)
    spare: Amounts = field(default_factory=Amounts)
    pools: dict[str, PoolBill] = field(default_factory=dict)


def bill(
    joined: Joined, world: World, by: By, own_labels: Mapping[str, Sequence[str]] | None = None,
    previous: Joined | None = None, order: Order = "idle",
) -> Bill:  # fmt: skip
    """Bill a recording, compared with the `previous` one or week with week."""
    recording = joined.recording
    names = list((own_labels or {}).get(by) or _usual_labels()[by]) if by not in ("namespace", "job") else []
    nodes = Nodes(recording.nodes, world)
    keys = _keys(joined, by, names)
    span = _span(recording, recording.begin)
    part = _part(joined, nodes, span)
    rows = _rows(joined, keys, part)
    spare = Row("", part.spare)
    requested = Row("", accounting.total(row.amounts for row in rows))
    requested.amounts.runs = _runs(joined.matches[index] for index in part.ran)
    total = Row("", accounting.total([requested.amounts, spare.amounts]))
    result = Bill(
        by, joined, span, rows, spare=spare, total=total, requested=requested, nodes=list(nodes.by_name.values()),
        pools=sorted(part.pools.values(), key=_rank_pool), labels=names, order=order,
    )  # fmt: skip
    result.unpriced = _unpriced(result.nodes)
    result.by_money = result.is_priced and total.amounts.gpu_unpriced <= _FEW * total.amounts.gpu_hours
    rows.sort(key=lambda row: _rank(row, order, by_money=result.by_money))
    if previous is not None:
        _compare_with(result, previous, world)
    elif recording.end - recording.begin >= 2 * _WEEK:
        _compare_weeks(result, keys, nodes)
    return result


def _rank(row: Row, order: Order, *, by_money: bool) -> tuple[float | str, ...]:
    amounts = row.amounts
    match order:
        case "use":  # rows without GPUs by their CPU, after the others
            use = amounts.cpu_use if amounts.gpu_use is None else amounts.gpu_use
            return amounts.gpu_use is None, 2.0 if use is None else round(use, 9), -amounts.gpu_hours, row.name
        case "paid":
            return -round(amounts.paid, 6), -round(amounts.gpu_hours, 6), row.name
        case "gpu-hours":
            return -round(amounts.gpu_hours, 6), -round(amounts.cpu_requested, 6), row.name
    cores = max(0.0, amounts.cpu_requested - amounts.cpu_used)
    idle = (amounts.idle, amounts.gpu_idle) if by_money else (amounts.gpu_idle, amounts.idle)
    return -round(idle[0], 6), -round(idle[1], 6), -round(cores, 6), row.name


def _rank_pool(pool: PoolBill) -> tuple[float, float, float, str]:
    spare = pool.spare
    return -round(spare.paid, 6), -round(spare.gpu_hours, 6), -round(spare.cpu_requested, 6), pool.name


# --- whose a pod is


def _keys(joined: Joined, by: By, names: Sequence[str]) -> list[str]:
    if by == "namespace":
        return [match.pod.namespace for match in joined.matches]
    if by == "job":
        return [f"{match.job[0]} {match.pod.namespace}/{match.job[1]}" for match in joined.matches]
    spaces = {name: label(labels, names) for name, labels in joined.recording.namespaces.items()}
    return [_labelled(match, names, spaces) or NOBODY for match in joined.matches]


@cache
def _usual_labels() -> dict[str, list[str]]:
    """Return the usual labels of owners, teams or experiments, best first."""
    data: dict[str, list[str]] = bundled.load(os.path.join(PROFILES, "any", "dimensions.yaml"))["labels"]
    return data


def _labelled(match: Match, names: Sequence[str], spaces: Mapping[str, str]) -> str:
    """Return a pod's label, else its namespace's, else its code's."""
    template, workload = match.template, match.workload
    code = [template.labels, template.annotations] if template is not None else []
    code += [workload.labels] if workload is not None else []
    found = label(match.pod.labels, names) or spaces.get(match.pod.namespace, "")
    return found or next((text for labels in code if (text := label(known(labels) or {}, names))), "")


def _runs(matches: Iterable[Match]) -> int:
    return len({_run(match) for match in matches})


def _rows(joined: Joined, keys: Sequence[str], part: _Part) -> list[Row]:
    rows: dict[str, Row] = {}
    for index, amounts in part.pods.items():
        row = rows.setdefault(keys[index], Row(keys[index], Amounts(), []))
        row.amounts.add(amounts)
        row.matches.append(joined.matches[index])
    for row in rows.values():
        row.amounts.runs = _runs(row.matches)
    return list(rows.values())


# --- what it had, and what that cost


def _span(recording: Recording, begin: int, end: int | None = None) -> Period:
    """Return a period in whole hours from the beginning of the recording."""
    until = recording.end if end is None else end
    first = round((begin - recording.begin) / HOUR)
    last = -(-(until - recording.begin) // HOUR) if end is None else round((until - recording.begin) / HOUR)
    return Period(begin, until, first, last)


def _part(joined: Joined, nodes: Nodes, span: Period) -> _Part:
    part, recording = _Part(), joined.recording
    held = _held(joined, nodes, span)
    on_node: dict[str, float] = {}
    for index, used in held.items():
        if used.share is not None:
            name = joined.matches[index].pod.node
            on_node[name] = on_node.get(name, 0) + used.share.paid * used.share.seconds
    seconds = {name: _node_seconds(one, span, recording) for name, one in nodes.by_name.items()}
    taken = {name: Amounts() for name in nodes.by_name}
    waiting = _waits(joined.matches, span)
    for index, match in enumerate(joined.matches):
        amounts = _queued(match, span, recording)
        if index in held:
            found, name = held[index], match.pod.node
            factor = min(1.0, seconds[name] / on_node[name]) if on_node.get(name) else 1.0
            _charge(found, nodes.by_name.get(name), factor)
            if name in taken:
                taken[name].add(found.amounts)
            amounts.add(found.amounts)
            part.ran.add(index)
        elif not amounts.queued:
            continue
        if index in waiting and amounts.pod_hours:
            amounts.gang_gpu_hours = amounts.gpu_hours / amounts.pod_hours * waiting[index] / HOUR
        part.pods[index] = amounts
    for name, one in nodes.by_name.items():
        whole = _of_node(one, seconds[name] / HOUR)
        left = _left(whole, taken[name])
        part.spare.add(left)
        key = one.pool or one.machine
        pool = part.pools.setdefault(key, PoolBill(key))
        pool.nodes += 1
        pool.machines += [one.machine] if one.machine and one.machine not in pool.machines else []
        pool.whole.add(whole)
        pool.spare.add(left)
    return part


def _held(joined: Joined, nodes: Nodes, span: Period) -> dict[int, Held]:
    """Return the amounts of pods in the period, by pod index."""
    pods = [match.pod for match in joined.matches]
    found = (accounting.held(pod, nodes.by_name.get(pod.node), span, joined.recording) for pod in pods)
    return {index: one for index, one in enumerate(found) if one is not None}


def _charge(found: Held, node: Priced | None, factor: float) -> None:
    """Add payments to a pod's amounts; `factor` shares an overbooked node."""
    amounts, share = found.amounts, found.share
    if node is None or node.price is None or share is None:
        amounts.gpu_unpriced, amounts.cpu_unpriced = amounts.gpu_hours, amounts.cpu_requested
        return
    price = node.price.mills / _MILLS * share.seconds / HOUR * factor
    amounts.paid = price * share.paid
    if share.used is None:
        amounts.unmeasured = amounts.paid
    else:
        amounts.idle = price * max(0.0, share.paid - share.used)


def _queued(match: Match, span: Period, recording: Recording) -> Amounts:
    """Return a pod's wait for its node, if it ended in the period."""
    pod = match.pod
    if pod.scheduled is not None:
        if pod.created is None or not span.has(pod.scheduled):
            return Amounts()
        hours = max(0, pod.scheduled - pod.created) / HOUR
    elif pod.waiting and not pod.running and span.has(min(pod.pending or recording.end, recording.end - 1)):
        hours = pod.waiting / HOUR
    else:
        return Amounts()
    return Amounts(queued=1, queue_hours=hours, queue_longest=hours)


def _node_seconds(one: Priced, span: Period, recording: Recording) -> float:
    node = one.node
    if node.first is None or node.last is None:
        return node.seconds * (span.end - span.begin) / (recording.end - recording.begin)
    first, last = node.first, max(node.last, node.first) + recording.step
    return node.seconds * span.within(first, last) / max(1, min(last, recording.end) - max(first, recording.begin))


def _of_node(one: Priced, hours: float) -> Amounts:
    allocatable = one.node.allocatable
    gpus, cores = one.gpus / one.copies * hours, allocatable.get("cpu", 0) / _MILLS * hours
    amounts = Amounts(gpu_hours=gpus, cpu_requested=cores, memory_requested=allocatable.get("memory", 0) / _GIB * hours)
    if one.price is None:
        amounts.gpu_unpriced, amounts.cpu_unpriced = gpus, cores
    else:
        amounts.paid = one.price.mills / _MILLS * hours
    return amounts


_SPARE = ("gpu_hours", "cpu_requested", "memory_requested", "paid", "gpu_unpriced", "cpu_unpriced")


def _left(node: Amounts, taken: Amounts) -> Amounts:
    """Return the part of a node that no pod requested, all of it idle."""
    left = {name: max(0.0, getattr(node, name) - getattr(taken, name)) for name in _SPARE}
    return Amounts(**left, idle=left["paid"], gpu_idle=left["gpu_hours"])


def _unpriced(nodes: Iterable[Priced]) -> list[Unpriced]:
    found = sorted(grouped((one for one in nodes if one.price is None), lambda one: one.machine).items())
    return [Unpriced(machine, len(own), sum(one.node.seconds / HOUR for one in own)) for machine, own in found]


# --- against the time before


def _compare_with(result: Bill, older: Joined, world: World) -> None:
    """Compare with an older recording, scaled to the same length."""
    recording, before = result.joined.recording, older.recording
    span = _span(before, before.begin)
    factor = (recording.end - recording.begin) / (before.end - before.begin)
    sums = _sums(older, _keys(older, result.by, result.labels), _part(older, Nodes(before.nodes, world), span))
    recent = {row.name: row.amounts for row in [*result.rows, result.spare]}
    _note(result, Compared(result.span, span, factor), recent, sums)


def _compare_weeks(result: Bill, keys: Sequence[str], nodes: Nodes) -> None:
    recording = result.joined.recording
    middle = recording.end - _WEEK
    spans = _span(recording, middle), _span(recording, middle - _WEEK, middle)
    recent, before = (_sums(result.joined, keys, _part(result.joined, nodes, span)) for span in spans)
    _note(result, Compared(*spans), recent, before)


def _sums(joined: Joined, keys: Sequence[str], part: _Part) -> dict[str, Amounts]:
    """Sum the amounts per row; spare capacity is under ""."""
    return {row.name: row.amounts for row in _rows(joined, keys, part)} | {"": part.spare}


def _note(result: Bill, compared: Compared, recent: dict[str, Amounts], before: dict[str, Amounts]) -> None:
    """Store both periods' amounts in each row."""
    result.compared = compared
    for row in [*result.rows, result.spare]:
        row.recent = recent.get(row.name, Amounts())
        row.before = before.get(row.name, Amounts()).times(compared.factor)
    for row, names in ((result.requested, {*recent, *before} - {""}), (result.total, {*recent, *before})):
        row.recent = accounting.total(recent[name] for name in names if name in recent)
        row.before = accounting.total(before[name] for name in names if name in before).times(compared.factor)


_TOGETHER = 600
"""Seconds in which the pods of a gang are created; a later pod is a replacement."""
_REPEATED = ("Cron", "Scheduled")
"""Prefixes of kinds that create a job each time."""


def _run(match: Match) -> tuple[str, str, str]:
    """Identify a run of a job by namespace, kind and name of its outermost owner."""
    pod = match.pod
    made = [one for one in joining.chain(pod) if not one.kind.startswith(_REPEATED)]
    return (pod.namespace, made[-1].kind, made[-1].name) if made else (pod.namespace, "Pod", pod.name)


@cache
def _rigid() -> frozenset[str]:
    """Return kinds whose pods always wait for each other."""
    every: dict[str, bool] = {}
    for key, entry in profiles.workloads().items():
        kind = key.rpartition("/")[2]
        every[kind] = entry.get("rigid") in (True, "fixed") and every.get(kind, True)
    return frozenset(kind for kind, rigid in every.items() if rigid)


def _is_gang(match: Match) -> bool:
    workload = match.workload
    if workload is not None and (known(workload.rigid) is True or known(workload.gang) is not None):
        return True
    return any(owner.kind in _rigid() for owner in joining.chain(match.pod))


def _waits(matches: Iterable[Match], span: Period) -> dict[int, int]:
    """Return by pod index the seconds a pod held its node waiting for its gang."""
    gangs: dict[tuple[str, str, str], list[tuple[int, Match]]] = {}
    for index, match in enumerate(matches):
        if match.pod.created is not None and _is_gang(match):
            gangs.setdefault(_run(match), []).append((index, match))
    result: dict[int, int] = {}
    for members in gangs.values():
        first = min(match.pod.created or 0 for _, match in members)
        own = [(index, match.pod) for index, match in members if (match.pod.created or 0) <= first + _TOGETHER]
        there = [
            time for _, pod in own if (time := pod.pending if pod.scheduled is None else pod.scheduled) is not None
        ]
        last = max(there, default=0)
        for index, pod in own:
            if pod.scheduled is not None and (seconds := span.within(pod.scheduled, min(last, pod.ended or last))):
                result[index] = seconds
    return result
