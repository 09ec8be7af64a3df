"""What a cluster did and cost, by owner, team, namespace, job or experiment; the worst first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from kcheck.config.numbers import profiles
from kcheck.scale.usage import accounting, labels, owners
from kcheck.scale.usage.accounting import Amounts, Held, Span
from kcheck.scale.usage.nodes import Nodes
from kcheck.scale.usage.recording import HOUR
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcheck.scale.usage.joining import Joined, Match
    from kcheck.scale.usage.nodes import Priced
    from kcheck.scale.usage.recording import Recording
    from kcheck.scale.world import World

By = Literal["owner", "team", "namespace", "job", "experiment"]
BY: tuple[By, ...] = ("owner", "team", "namespace", "job", "experiment")
Order = Literal["idle", "use", "paid", "gpu-hours"]
"""What the rows are sorted by."""
NOBODY = "(none)"
"""The row of what has no label for the dimension."""
_WEEK = 7 * 24 * HOUR
_MILLS = 1000
_FEW = 0.02
"""The share of the GPU-hours that may lack a price, and the rows are still in the order of money."""
_GIB = 1 << 30


class Row(Struct):
    """What belongs to one owner, team, namespace, job or experiment; `before` is what it was in the time before.

    `recent` is what of it is compared with that. `matches` are its pods.
    """

    name: str
    amounts: Amounts
    matches: list[Match] = []
    recent: Amounts | None = None
    before: Amounts | None = None


class Compared(Struct, frozen=True):
    """Two times that are compared; `factor` made the earlier one as long as the later one."""

    recent: Span
    before: Span
    factor: float = 1.0


class PoolBill(Struct):
    """Nodes of a pool, or of a machine type where the pool is not known: what they have, and what no pod requested."""

    name: str
    machines: list[str] = []
    nodes: int = 0
    whole: Amounts = field(default_factory=Amounts)
    spare: Amounts = field(default_factory=Amounts)


class Unpriced(Struct, frozen=True):
    """Nodes without a price, by machine type; the type is empty where it was not recorded."""

    machine: str
    nodes: int
    hours: float


class Bill(Struct):
    """A recording as a bill.

    `requested` is the sum of the rows, `spare` what of the nodes no pod requested, and `total` both: what the nodes
    cost. `pools` divide that, those with the most spare first. `labels` are the names that were looked for, of a
    dimension that has some. `by_money` says whether the rows are priced well enough for an order of idle money; else
    that is of idle GPU-hours, because some nodes with GPUs have no price. `order` is what the rows are sorted by.
    """

    by: By
    joined: Joined
    span: Span
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
    """A span: what each pod had and paid, by its index; which of them ran; and what of the nodes was spare."""

    pods: dict[int, Amounts] = field(default_factory=dict)
    ran: set[int] = field(default_factory=set)
    spare: Amounts = field(default_factory=Amounts)
    pools: dict[str, PoolBill] = field(default_factory=dict)


def bill(
    joined: Joined, world: World, by: By, own_labels: Mapping[str, Sequence[str]] | None = None,
    previous: Joined | None = None, order: Order = "idle",
) -> Bill:  # fmt: skip
    """The bill of a recording; with `previous`, an older one, or after two weeks, compared with the time before."""
    recording = joined.recording
    names = labels.candidates(by, own_labels or {}) if by not in ("namespace", "job") else []
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
    """The worst first: most idle, least used, most paid, or most GPU-hours."""
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
    """The name of the row of each pod."""
    if by == "namespace":
        return [match.pod.namespace for match in joined.matches]
    if by == "job":
        return [f"{match.job[0]} {match.pod.namespace}/{match.job[1]}" for match in joined.matches]
    dimension = labels.Dimension(names, joined.recording)
    return [dimension.of(match) or NOBODY for match in joined.matches]


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


def _span(recording: Recording, begin: int, end: int | None = None) -> Span:
    """From a time to another one, in whole hours from the beginning of the recording."""
    until = recording.end if end is None else end
    first = round((begin - recording.begin) / HOUR)
    last = -(-(until - recording.begin) // HOUR) if end is None else round((until - recording.begin) / HOUR)
    return Span(begin, until, first, last)


def _part(joined: Joined, nodes: Nodes, span: Span) -> _Part:
    """What each pod had in a span, and paid of its node."""
    part, recording = _Part(), joined.recording
    held: dict[int, Held] = {}
    on_node: dict[str, float] = {}
    for index, match in enumerate(joined.matches):
        node = nodes.by_name.get(match.pod.node)
        found = accounting.held(match.pod, node, span, recording)
        if found is not None:
            held[index] = found
            if found.share is not None:
                on_node[match.pod.node] = on_node.get(match.pod.node, 0) + found.share.paid * found.share.seconds
    seconds = {name: _node_seconds(one, span, recording) for name, one in nodes.by_name.items()}
    taken = {name: dict.fromkeys(_SPARE, 0.0) for name in nodes.by_name}
    waiting = _waits(joined.matches, span)
    for index, match in enumerate(joined.matches):
        amounts = _queued(match, span, recording)
        if index in held:
            found, name = held[index], match.pod.node
            factor = min(1.0, seconds[name] / on_node[name]) if on_node.get(name) else 1.0
            _charge(found, nodes.by_name.get(name), factor)
            if name in taken:
                for part_of in _SPARE:
                    taken[name][part_of] += getattr(found.amounts, part_of)
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


def _charge(found: Held, node: Priced | None, factor: float) -> None:
    """Add to what a pod had what it paid; by a factor less where pods together asked for more than their node has."""
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


def _queued(match: Match, span: Span, recording: Recording) -> Amounts:
    """How long a pod waited for its node, if it got it in a span; or if it had none when it was seen last."""
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


def _node_seconds(one: Priced, span: Span, recording: Recording) -> float:
    """Seconds of a span in which a node was seen."""
    node = one.node
    if node.first is None or node.last is None:
        return node.seconds * (span.end - span.begin) / (recording.end - recording.begin)
    first, last = node.first, max(node.last, node.first) + recording.step
    return node.seconds * span.within(first, last) / max(1, min(last, recording.end) - max(first, recording.begin))


def _of_node(one: Priced, hours: float) -> Amounts:
    """What a node has for its pods, and what it costs."""
    allocatable = one.node.allocatable
    gpus, cores = one.gpus / one.copies * hours, allocatable.get("cpu", 0) / _MILLS * hours
    amounts = Amounts(gpu_hours=gpus, cpu_requested=cores, memory_requested=allocatable.get("memory", 0) / _GIB * hours)
    if one.price is None:
        amounts.gpu_unpriced, amounts.cpu_unpriced = gpus, cores
    else:
        amounts.paid = one.price.mills / _MILLS * hours
    return amounts


_SPARE = ("gpu_hours", "cpu_requested", "memory_requested", "paid", "gpu_unpriced", "cpu_unpriced")


def _left(node: Amounts, taken: Mapping[str, float]) -> Amounts:
    """What of a node nobody requested, all of it idle."""
    left = {name: max(0.0, getattr(node, name) - amount) for name, amount in taken.items()}
    return Amounts(**left, idle=left["paid"], gpu_idle=left["gpu_hours"])


def _unpriced(nodes: Iterable[Priced]) -> list[Unpriced]:
    found: dict[str, list[float]] = {}
    for one in nodes:
        if one.price is None:
            found.setdefault(one.machine, []).append(one.node.seconds / HOUR)
    return [Unpriced(machine, len(hours), sum(hours)) for machine, hours in sorted(found.items())]


# --- against the time before


def _compare_with(result: Bill, older: Joined, world: World) -> None:
    """Compare with an older recording, as if that were as long."""
    recording, before = result.joined.recording, older.recording
    span = _span(before, before.begin)
    factor = (recording.end - recording.begin) / (before.end - before.begin)
    sums = _sums(older, _keys(older, result.by, result.labels), _part(older, Nodes(before.nodes, world), span))
    recent = {row.name: row.amounts for row in [*result.rows, result.spare]}
    _note(result, Compared(result.span, span, factor), recent, sums)


def _compare_weeks(result: Bill, keys: Sequence[str], nodes: Nodes) -> None:
    """Compare the last week with the one before."""
    recording = result.joined.recording
    middle = recording.end - _WEEK
    spans = _span(recording, middle), _span(recording, middle - _WEEK, middle)
    recent, before = (_sums(result.joined, keys, _part(result.joined, nodes, span)) for span in spans)
    _note(result, Compared(*spans), recent, before)


def _sums(joined: Joined, keys: Sequence[str], part: _Part) -> dict[str, Amounts]:
    """The amounts of each row by its name; what was spare has none."""
    return {row.name: row.amounts for row in _rows(joined, keys, part)} | {"": part.spare}


def _note(result: Bill, compared: Compared, recent: dict[str, Amounts], before: dict[str, Amounts]) -> None:
    """Note what each row had in two times; a row of the earlier one that is gone is in the total alone."""
    result.compared = compared
    for row in [*result.rows, result.spare]:
        row.recent = recent.get(row.name, Amounts())
        row.before = before.get(row.name, Amounts()).times(compared.factor)
    for row, names in ((result.requested, {*recent, *before} - {""}), (result.total, {*recent, *before})):
        row.recent = accounting.total(recent[name] for name in names if name in recent)
        row.before = accounting.total(before[name] for name in names if name in before).times(compared.factor)


_TOGETHER = 600
"""Seconds in which the pods of a gang are created; one that comes later replaces another."""
_REPEATED = ("Cron", "Scheduled")
"""How kinds begin whose objects make a job each time."""


def _run(match: Match) -> tuple[str, str, str]:
    """What a run of a job is: the namespace, kind and name of its outermost owner that is made for it alone."""
    pod = match.pod
    made = [one for one in owners.chain(pod) if not one.kind.startswith(_REPEATED)]
    return (pod.namespace, made[-1].kind, made[-1].name) if made else (pod.namespace, "Pod", pod.name)


@cache
def _rigid() -> frozenset[str]:
    """Kinds whose pods wait for each other, whatever the group."""
    every: dict[str, bool] = {}
    for key, entry in profiles.workloads().items():
        kind = key.rpartition("/")[2]
        every[kind] = entry.get("rigid") in (True, "fixed") and every.get(kind, True)
    return frozenset(kind for kind, rigid in every.items() if rigid)


def _is_gang(match: Match) -> bool:
    workload = match.workload
    if workload is not None and (known(workload.rigid) is True or known(workload.gang) is not None):
        return True
    return any(owner.kind in _rigid() for owner in owners.chain(match.pod))


def _waits(matches: Iterable[Match], span: Span) -> dict[int, int]:
    """For how many seconds of a span each pod had its node while others of its gang had none, by its index."""
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
