"""Headline and notes of a bill."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcheck.addons.usage.bill import NOBODY, Bill
from kcheck.addons.usage.report.usage_numbers import dollars, hours, length, percent, period, wait
from kcheck.scale.usage.recording import HOUR
from kcheck.text.units import counted
from kcheck.text.values import known

MOST = 10
"""Items of a list."""
_NEGLIGIBLE_SHARE = 0.01
"""Share of GPU-hours below which missing measurements are not mentioned."""
_FLAG = "--metric-labels-allowlist"


class Note(NamedTuple):
    """A heading with lines below it."""

    title: str
    lines: tuple[str, ...]


def title(bill: Bill) -> str:
    """Return the title: dimension and time."""
    return f"Usage by {bill.by}, {period(bill.span)} ({length(bill.span)})"


def headline(bill: Bill) -> Iterator[str]:
    """Yield the two or three most important numbers, in sentences."""
    total, spare = bill.total.amounts, bill.spare.amounts
    if bill.is_priced:
        share = f" ({percent(total.idle / total.paid)})" if total.paid else ""
        nodes = counted(len(bill.nodes), "node")
        yield f"{dollars(total.paid)} paid for {nodes}; {dollars(total.idle)} of it{share} idle."
        if spare.paid and total.paid:
            yield (
                f"{dollars(total.idle - spare.idle)} was requested and not used; "
                f"{dollars(spare.paid)} was requested by no pod."
            )
    if total.gpu_hours:
        asked = bill.requested.amounts.gpu_hours
        of = f" of {hours(total.gpu_hours)} on the nodes" if bill.nodes else ""
        busy = f"; while requested, GPUs were {percent(total.gpu_use)} busy" if total.gpu_use is not None else ""
        yield f"{hours(asked)} GPU-hours requested{of}{busy}."
    if total.gang_gpu_hours >= 1:
        yield f"{hours(total.gang_gpu_hours)} GPU-hours held by gangs that waited for their last pod."


def order(bill: Bill) -> str:
    """Say how the rows are sorted."""
    if bill.order != "idle":
        words = {"use": "Least used first.", "paid": "Most paid first.", "gpu-hours": "Most GPU-hours first."}
        return words[bill.order]
    if bill.by_money:
        return "Most idle money first."
    if bill.total.amounts.gpu_hours:
        return f"Most idle GPU-hours first{', as some nodes have no price' if bill.is_priced else ''}."
    return "Most unused cores first."


def compared(bill: Bill) -> str:
    """Say which times are compared; empty if none are."""
    if bill.compared is None:
        return ""
    recent, before = bill.compared.recent, bill.compared.before
    scaled = f", scaled to {length(recent)}" if round(bill.compared.factor, 3) != 1 else ""
    return f"{period(recent)} against {period(before)} ({length(before)}{scaled})"


def notes(bill: Bill) -> list[Note]:
    """List notes on the numbers and on workloads without a counterpart."""
    found = (
        Note("Node pools", tuple(_pools(bill))),
        Note("Prices", tuple(_prices(bill))),
        Note(f"Pods without {'an' if bill.by[0] in 'aeo' else 'a'} {bill.by}", tuple(_nameless(bill))),
        Note("Queues", tuple(_queues(bill))),
        Note("Not measured", tuple(_lacks(bill))),
        Note("Not found in the code", tuple(_strangers(bill))),
        Note("In the code, and never ran", tuple(_unseen(bill))),
        Note("Doubts", tuple(_some(f"{one.what}: {one.why}" for one in bill.joined.doubts))),
    )
    return [note for note in found if note.lines]


def _some(lines: Iterable[str]) -> Iterator[str]:
    every = list(lines)
    yield from every[:MOST]
    if len(every) > MOST:
        yield f"and {len(every) - MOST:,} more (--format json lists all)"


def _pools(bill: Bill) -> Iterator[str]:
    lines = []
    for one in bill.pools:
        machines = [machine for machine in one.machines if machine != one.name]
        more = f" and {len(machines) - 1} other types" if len(machines) > 1 else ""
        kinds = f" of {machines[0]}{more}" if machines else ""
        spare, whole = one.spare, one.whole
        parts = [(f"{hours(spare.gpu_hours)} of {hours(whole.gpu_hours)} GPU-hours", whole.gpu_hours)]
        parts.append((f"{hours(spare.cpu_requested)} of {hours(whole.cpu_requested)} core-hours", not whole.gpu_hours))
        parts.append((f"{dollars(spare.paid)} of {dollars(whole.paid)}", whole.paid))
        texts = ", ".join(text for text, wanted in parts if wanted)
        lines.append(f"{one.name or 'unknown'}: {counted(one.nodes, 'node')}{kinds}; no pod requested {texts}")
    yield from _some(lines)


def _prices(bill: Bill) -> Iterator[str]:
    found = [one.price for one in bill.nodes if one.price]
    regions = sorted({one.region for one in found if one.region})
    if regions:
        markets = " and ".join(sorted({one.market for one in found if one.market}))
        yield f"list prices of {', '.join(regions)}, {markets}; --price sets your own for every node"
    elif found:
        yield "every node costs what --price or the settings say"
    for one in bill.unpriced:
        what = f"of type {one.machine}" if one.machine else "of a machine type that was not recorded"
        missing = "no list price" if one.machine else f"no price: export its label with {_FLAG}=nodes=[*]"
        yield f"{counted(one.nodes, 'node')} {what} ({hours(one.hours)} node-hours): {missing}, or set --price"
    if not bill.nodes:
        yield "no nodes in the recording, so no prices: kube_node_info of kube-state-metrics has them"


def _nameless(bill: Bill) -> Iterator[str]:
    """Yield ways to give pods a name in the dimension."""
    row = next((row for row in bill.rows if row.name == NOBODY), None)
    if row is None or not bill.labels:
        return
    yield f"{counted(row.amounts.pods, 'pod')}; none of these labels was seen: {', '.join(bill.labels)}"
    if not any(match.pod.labels for match in row.matches):
        yield f"no label of these pods was recorded: run kube-state-metrics with {_FLAG}=pods=[*],namespaces=[*]"
    coded = dict.fromkeys(match.workload for match in row.matches if match.workload is not None)
    yield from _some(
        f"add {bill.labels[0]} to {one.kind} {known(one.name)} at {one.place.source.path}:{one.place.begin.line}"
        for one in coded
    )


def _queues(bill: Bill) -> Iterator[str]:
    for one in bill.joined.recording.waits:
        yield (
            f"{one.system} {one.queue}: {counted(round(one.count), 'workload')}, {one.what}: "
            f"{wait(one.mean / HOUR)} on average, {wait(one.high / HOUR)} at the 95th percentile"
        )


def _lacks(bill: Bill) -> Iterator[str]:
    total = bill.total.amounts
    asked = bill.requested.amounts.gpu_hours
    seen = total.gpu_busy + bill.requested.amounts.gpu_idle
    if asked - seen > _NEGLIGIBLE_SHARE * asked:
        yield f"the use of {percent(1 - seen / asked)} of the requested GPU-hours; they count as paid, not as idle"
    yield from (f"{one.what}: {one.why}" for one in bill.joined.recording.lacks)


def _strangers(bill: Bill) -> Iterator[str]:
    """Yield workloads that ran but are not in the code; nothing without code."""
    joined = bill.joined
    if joined.unseen or joined.doubts or any(match.workload is not None for match in joined.matches):
        yield from _some(
            f"{kind} {space}/{name}: {counted(pods, 'pod')}" for space, (kind, name), pods in joined.strangers
        )


def _unseen(bill: Bill) -> Iterator[str]:
    yield from _some(
        f"{one.kind} {known(one.name)} at {one.place.source.path}:{one.place.begin.line}" for one in bill.joined.unseen
    )
