"""Measured GPUs: how busy they were, and a smaller share that would suffice."""

from kcheck.model import NodePool, PodTemplate, Thing
from kcheck.scale.usage import histogram, measured
from kcheck.scale.usage.measured import GpuUse
from kcheck.scale.usage.numbers import Slice, slices
from kcheck.scale.usage.recording import HOUR
from kcheck.scale.usage.requests import share_rate
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.text.need import need
from kcheck.text.values import Value, known


class GpuUsage(Thing, frozen=True):
    """Measured GPUs of the pods of a template."""

    template: PodTemplate
    use: GpuUse


def gpus(world: World) -> list[GpuUsage]:
    """List the GPUs of all templates measured long enough."""
    found = measured.of(world)
    least = world.numbers.limits("any")["usage.gpu_hours"].number * HOUR
    uses = measured.gpus(found).items() if found is not None else ()
    return [
        GpuUsage(f"{template.id}/gpus", template.place, template, use)
        for template, use in uses
        if use.seconds >= least and use.busy
    ]


def part(one: GpuUsage, world: World) -> Slice | None:
    """Find the smallest sufficient MIG profile for a pod; else None."""
    if one.use.profile or need(one.template.gpus) != 1:
        return None
    share = world.numbers.limits("any")["usage.share_busy"].number / 100
    busy = histogram.percentile(one.use.busy, 95) or 0
    return next(
        (s for s in slices(one.use.model) if one.use.memory <= s.memory * share and busy <= s.compute * share), None
    )


def copies(one: GpuUsage, world: World) -> int | None:
    """Count the pods that fit one GPU by sharing it; None if only one."""
    if one.use.profile or need(one.template.gpus) != 1 or not one.use.memory_total:
        return None
    share = world.numbers.limits("any")["usage.share_busy"].number / 100
    busy = max(histogram.percentile(one.use.busy, 95) or 0, 1)
    found = int(min(one.use.memory_total * share / max(one.use.memory, 1), 100 * share / busy))
    return min(found, _MOST_COPIES) if found > 1 else None


_MOST_COPIES = 8
"""Most pods on a GPU before they hinder each other."""


def busy(one: GpuUsage) -> int:
    """Return the mean utilisation of its GPUs, in percent."""
    return round(histogram.mean(one.use.busy) or 0)


def busy_most(one: GpuUsage) -> int:
    """Return the utilization not exceeded in 95% of the time, in percent."""
    return round(histogram.percentile(one.use.busy, 95) or 0)


def tensor(one: GpuUsage) -> int | None:
    """Return the mean activity of tensor cores in percent; None if not measured."""
    found = histogram.mean(one.use.tensor)
    return None if found is None else round(found)


def idle_seconds(one: GpuUsage) -> int:
    """Count the GPU-seconds that were held but idle."""
    return round(one.use.seconds * (1 - (histogram.mean(one.use.busy) or 0) / 100))


def gpu_hours(seconds: int) -> str:
    """Format GPU-time."""
    text = f"{seconds / HOUR:,.0f}" if seconds >= 10 * HOUR else f"{float(f'{seconds / HOUR:.2g}'):g}"
    return f"{text} GPU-hour{'s' * (text != '1')}"


def idle_money(one: GpuUsage, world: World) -> Value[int]:
    """Sum the cost of idle GPU-time, in thousandths of a dollar; null without a price."""
    rate = share_rate(one.template, world, _card)
    return computed(one, None if rate is None else round(rate * idle_seconds(one) / HOUR))


def _card(pool: NodePool) -> float | None:
    """Return one GPU's share of a node of the pool; None if its GPUs are unknown."""
    count = known(pool.machine.gpus)
    return 1 / count if count else None


def mebibytes(count: int) -> int | None:
    """Convert MiB to bytes; None if not measured."""
    return count << 20 if count else None
