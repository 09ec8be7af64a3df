"""Words of what was measured: requests beside use, GPUs beside work, free GPUs beside pods that wait."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kcheck.model import Container, PodTemplate, Thing
from kcheck.source.units import counted
from kcheck.source.values import Known, Unknown, Value, known, number
from kcheck.usage import amounts, measured
from kcheck.usage.numbers import HIGHEST, LOWEST, STANDARD, Slice, buffers, slices
from kcheck.words.derive.basics import computed
from kcheck.words.derive.jobs import default_classes, pod_classes, priority_class

if TYPE_CHECKING:
    from kcheck.model import PriorityClass, Workload
    from kcheck.scale.world import World
    from kcheck.usage.measured import ContainerUse, GpuUse
    from kcheck.usage.numbers import Buffers

CPU, MEMORY = "CPU", "memory"
_HOUR = 3600


class Request(Thing, frozen=True):
    """The CPU or memory that a container asks for, and what it was measured to need: millicores, or bytes.

    `amount` is the request, `limit` the limit, as in the code. `used` is what the need comes from: a percentile, or the
    peak. With an `equal` limit the need covers the peak, as nothing above it is left.
    """

    container: Container
    resource: str
    amount: Value[int]
    limit: Value[int]
    needed: int
    used: int
    peak: int
    equal: bool
    percentile: float
    buffers: Buffers
    use: ContainerUse


def requests(world: World) -> list[Request]:
    """The requests of all containers that were measured for long enough."""
    found = measured.of(world)
    if found is None:
        return []
    return [
        request
        for container, use in measured.containers(found).items()
        if not container.init and _is_enough(container, use, world)
        for request in _requests(container, use, world)
    ]


def _is_enough(container: Container, use: ContainerUse, world: World) -> bool:
    """Whether a container was measured for long enough to say what it needs."""
    limits = world.numbers.limits("any")
    if world.deployed.workload(container).batch:
        return use.seconds >= limits["usage.batch_minutes"].number * 60
    return use.seconds >= limits["usage.service_hours"].number * _HOUR


def _requests(container: Container, use: ContainerUse, world: World) -> list[Request]:
    owner = world.deployed.workload(container)
    own = _buffers(owner, world)
    result = []
    equal = _is_equal(container.cpu, container.cpu_limit)
    percentile = 100.0 if equal else own.cpu_percentile
    used = amounts.used_cpu(use, percentile, batch=owner.batch)
    if used is not None:
        peak = amounts.peak_cpu(use) or 0
        needed = amounts.cpu(used, own)
        result.append(
            Request(
                f"{container.id}/cpu", container.place, container, CPU, container.cpu, container.cpu_limit,
                needed=needed, used=round(used), peak=round(peak), equal=equal, percentile=percentile,
                buffers=own, use=use,
            )
        )  # fmt: skip
    if use.memory_peak:
        result.append(
            Request(
                f"{container.id}/memory", container.place, container, MEMORY, container.memory, container.memory_limit,
                needed=amounts.memory(use, own), used=use.memory_peak, peak=use.memory_peak,
                equal=_is_equal(container.memory, container.memory_limit), percentile=100.0, buffers=own, use=use,
            )
        )  # fmt: skip
    return result


def _is_equal(amount: Value[int], limit: Value[int]) -> bool:
    """Whether a container gets no more than it asks for."""
    return isinstance(amount, Known) and known(limit) == amount.value


# --- tiers


def _buffers(owner: Workload, world: World) -> Buffers:
    return world.remember("buffers", owner.id, lambda: buffers(tier(owner, world), world.config.usage.tiers))


def tier(owner: Workload, world: World) -> str:
    """The tier of a workload: of the settings, else by the value of its priority class."""
    labels = dict(known(owner.labels) or {})
    for one in owner.templates:
        labels |= known(one.labels) or {}
    own = known(priority_class(owner, world))
    name = known(owner.priority) or (known(own.name) if own is not None else None) or ""
    for one in world.config.usage.tiers:
        by_class = any(fnmatchcase(name, pattern) for pattern in one.classes)
        by_label = bool(one.labels) and one.labels.items() <= labels.items()
        if by_class or by_label:
            return one.name
    value = number(own.number, 0) if own is not None else 0
    if value < 0:
        return LOWEST
    return HIGHEST if value > 0 and value >= _highest(owner, world) else STANDARD


_OF_SYSTEM = 1_000_000_000
"""Values above it are of Kubernetes' own classes: the most that one of a user may have."""


def _highest(owner: Workload, world: World) -> int:
    """The highest value of the classes that are applied with a workload; a class alone is of no tier."""
    found = world.remember("values of classes", world.deployed.scope(owner), lambda: _values(owner, world))
    return found[-1] if len(found) > 1 or (found and not default_classes(owner, world)) else _OF_SYSTEM


def _values(owner: Workload, world: World) -> list[int]:
    classes: list[PriorityClass] = pod_classes(owner, world)
    return sorted({number(one.number, 0) for one in classes if not one.kueue and number(one.number, 0) <= _OF_SYSTEM})


# --- words of requests


def text(one: Request, count: int) -> str:
    """An amount of its resource as a quantity."""
    return amounts.cpu_text(count) if one.resource == CPU else amounts.memory_text(count)


def said(one: Request, count: int) -> str:
    """An amount of its resource as people say it, with three digits."""
    from kcheck.source.units import size

    return f"{float(f'{count / 1000:.3g}'):g} CPU" if one.resource == CPU else size(count)


def asked(one: Request, _world: World) -> Value[int]:
    """What is asked for; null where nothing is."""
    return one.amount


def asked_text(one: Request, _world: World) -> Value[str]:
    """What is asked for, in words; null where nothing is."""
    found = one.amount
    if isinstance(found, Unknown):
        return found
    return computed(one, None if known(found) is None else said(one, number(found, 0)))


def limit_text(one: Request, _world: World) -> Value[str]:
    """The limit, in words; null without one."""
    if isinstance(one.limit, Unknown):
        return one.limit
    return computed(one, None if known(one.limit) is None else said(one, number(one.limit, 0)))


def limit_needed(one: Request) -> int:
    """A limit that leaves room above the need: the need itself where request and limit are equal."""
    if one.resource == CPU or one.equal:
        return one.needed
    return max(one.needed, amounts.round_memory(one.needed * 1.1))


def basis(one: Request) -> str:
    """What the need comes from, in words: the percentile, or the peak."""
    if one.percentile >= 100:
        return f"at most {said(one, one.used)}"
    return f"at most {said(one, one.used)} in {one.percentile:g}% of the time"


def buffer(one: Request) -> str:
    """The buffer of its tier, in words."""
    percent = one.buffers.cpu_buffer if one.resource == CPU else one.buffers.memory_buffer
    return f"{percent:g}% of tier {one.buffers.tier}"


def span(seconds: int) -> str:
    """Time that pods ran, in words."""
    return f"{seconds / _HOUR:,.0f} h" if seconds >= 10 * _HOUR else f"{max(1, round(seconds / 60)):,} min"


def measured_text(one: Request) -> str:
    """How much was measured, in words: pods and time."""
    return f"{counted(one.use.pods, 'pod')} in {span(one.use.seconds)}"


def fills_node(one: Request, world: World) -> bool:
    """Whether its pods take all GPUs of a node, so that what they do not use of it is nobody's."""
    template = template_of(one.container, world)
    pools = world.pools.candidates(template) if number(template.gpus, 0) else []
    if isinstance(pools, Unknown) or not pools:
        return bool(number(template.gpus, 0)) and template.all_cards
    return all(number(pool.machine.gpus, 0) == number(template.gpus, 0) for pool, _ in pools)


def template_of(container: Container, world: World) -> PodTemplate:
    """The pods that a container is in."""
    owner = world.deployed.workload(container)
    return next(one for one in owner.templates if container in one.containers)


# --- GPUs


class GpuUsage(Thing, frozen=True):
    """The GPUs of the pods of a template, as they were measured."""

    template: PodTemplate
    use: GpuUse


def gpus(world: World) -> list[GpuUsage]:
    """The GPUs of all templates that were measured for long enough."""
    found = measured.of(world)
    least = world.numbers.limits("any")["usage.gpu_hours"].number * _HOUR
    uses = measured.gpus(found).items() if found is not None else ()
    return [
        GpuUsage(f"{template.id}/gpus", template.place, template, use)
        for template, use in uses
        if use.seconds >= least and use.busy
    ]


def part(one: GpuUsage, world: World) -> Slice | None:
    """The smallest MIG profile that would carry what a pod does on its one GPU; None if none would, or has one."""
    if one.use.profile or number(one.template.gpus, 0) != 1:
        return None
    share = world.numbers.limits("any")["usage.share_busy"].number / 100
    busy = measured.percentile(one.use.busy, 95) or 0
    return next(
        (s for s in slices(one.use.model) if one.use.memory <= s.memory * share and busy <= s.compute * share), None
    )


def copies(one: GpuUsage, world: World) -> int | None:
    """So many of these pods fit one GPU by memory and work, with time slices or MPS; None where only one does."""
    if one.use.profile or number(one.template.gpus, 0) != 1 or not one.use.memory_total:
        return None
    share = world.numbers.limits("any")["usage.share_busy"].number / 100
    busy = max(measured.percentile(one.use.busy, 95) or 0, 1)
    found = int(min(one.use.memory_total * share / max(one.use.memory, 1), 100 * share / busy))
    return min(found, _MOST_COPIES) if found > 1 else None


_MOST_COPIES = 8
"""More pods on a GPU than that are in each other's way whatever they use."""
