"""Requests compared with measured use: need by tier, and excess."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers.reserved import GI, MI
from kcheck.model import Container, NodePool, PodTemplate, Thing, Workload
from kcheck.scale import allocatable
from kcheck.scale.bundles import classes_in, defaults_in
from kcheck.scale.jobs import priority_class
from kcheck.scale.usage import histogram, measured
from kcheck.scale.usage.measured import ContainerUse
from kcheck.scale.usage.numbers import HIGHEST, LOWEST, STANDARD, Buffers, buffers, table
from kcheck.scale.usage.recording import HOUR, Lack
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import placeholders
from kcheck.text.need import if_set
from kcheck.text.units import counted, size
from kcheck.text.values import Known, Unknown, Unset, Value, known, number

_FINE = tuple(step * power for power in (100, 10, 1) for step in (5, 2, 1))
_CPU_STEPS = (1000, *_FINE)
_MEMORY_STEPS = (*(1024 * step for step in (16, 8, 4, 2, 1)), 512, *_FINE)
"""Steps of round numbers: millicores, and Mi."""

_MOST = 1.04
"""Most that rounding up adds."""


def used_cpu(of: ContainerUse, percent: float, *, batch: bool) -> float | None:
    """Return the millicores at a percentile of the samples; None without samples.

    The start of a job is short and may need more: it is counted separately, as hours of work would hide it.
    """
    if not batch:
        return histogram.percentile(histogram.merged((of.starting, of.cpu)), percent)
    found = (histogram.percentile(one, percent) for one in (of.starting, of.cpu))
    return max((one for one in found if one is not None), default=None)


def cpu(used: float, buffers: Buffers) -> int:
    """Return the CPU request for some use, in millicores."""
    return round_cpu(max(used * (1 + buffers.cpu_buffer / 100), table()["least"]["cpu"]))


def memory(of: ContainerUse, buffers: Buffers) -> int:
    """Return the memory request in bytes: the peak plus a buffer."""
    needed = max(of.memory_peak, of.killed * table()["oom"] / 100)
    return round_memory(max(needed * (1 + buffers.memory_buffer / 100), table()["least"]["memory"]))


def round_cpu(millicores: float) -> int:
    """Round millicores up to a usual number: 35m, 1250m, 2500m, 14."""
    return _rounded(millicores, _CPU_STEPS)


def round_memory(count: float) -> int:
    """Round bytes up to a usual number: 350Mi, 1450Mi, 7Gi, 12.5Gi, 64Gi."""
    return _rounded(count / MI, _MEMORY_STEPS) * MI


def _rounded(number: float, steps: Sequence[int]) -> int:
    """Round up to the largest step that adds little."""
    found = (math.ceil(number / step - 1e-9) * step for step in steps)
    return next((one for one in found if one <= number * _MOST), math.ceil(number - 1e-9))


def cpu_text(millicores: int) -> str:
    """Format millicores as a quantity: 350m, 1500m, 4."""
    return str(millicores // 1000) if millicores % 1000 == 0 else f"{millicores}m"


def memory_text(count: int) -> str:
    """Format bytes as a quantity, exactly: 350Mi, 12.5Gi, 64Gi."""
    if count % GI == 0:
        return f"{count // GI}Gi"
    if count > GI and count % (GI // 2) == 0:
        return f"{count // GI}.5Gi"
    return f"{count // MI}Mi" if count % MI == 0 else str(count)


CPU, MEMORY = "CPU", "memory"


class Request(Thing, frozen=True):
    """Request of a container and its measured need: millicores or bytes."""

    container: Container
    resource: Annotated[str, "CPU or memory"]
    amount: Annotated[Value[int], "the request of the container, by default its limit: millicores or bytes"]
    own: Annotated[Value[int], "the request as written; null where only a limit is written, or nothing"]
    limit: Annotated[Value[int], "its limit, in the same unit"]
    needed: Annotated[int, "what was measured with the buffer of its tier, in the same unit"]
    used: Annotated[int, "what the need comes from: a percentile, or the most that was used, in the same unit"]
    peak: Annotated[int, "the most that was used, in the same unit"]
    equal: Annotated[bool, "whether request and limit are to stay the same, so that nothing above the request is left"]
    percentile: float
    buffers: Buffers
    use: ContainerUse


def requests(world: World) -> list[Request]:
    """List the requests of all containers measured long enough."""
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
    """Whether a container was measured long enough to know its need."""
    limits = world.numbers.limits("any")
    if world.deployed.workload(container).batch:
        return use.seconds >= limits["usage.batch_minutes"].number * 60
    return use.seconds >= limits["usage.service_hours"].number * HOUR


class Coverage(Struct, frozen=True):
    """Number of workloads by how long they were measured."""

    recording: str
    measured: int
    briefly: int
    unnamed: int
    unseen: int
    lacks: tuple[Lack, ...]


def coverage(world: World) -> Coverage | None:
    """Count the workloads of the code that the recording measured; None without one."""
    found = measured.of(world)
    if found is None:
        return None
    enough: dict[Workload, bool] = {}
    for container, use in measured.containers(found).items():
        owner = world.deployed.workload(container)
        enough[owner] = enough.get(owner, False) or _is_enough(container, use, world)
    whole = sum(enough.values())
    others = [one for one in world.inventory.workloads if not one.partial and one not in enough]
    unnamed = sum(map(_is_unnamed, others))
    lacks, recording = tuple(found.recording.lacks), world.config.usage.recording
    return Coverage(recording, whole, len(enough) - whole, unnamed, len(others) - unnamed, lacks)


def _is_unnamed(workload: Workload) -> bool:
    """Whether a name needed to match measurements with a workload is unknown."""
    names = (workload.name, *(container.name for template in workload.templates for container in template.containers))
    return any(isinstance(name, Unknown) or placeholders.first(known(name) or "") for name in names)


def _requests(container: Container, use: ContainerUse, world: World) -> Iterator[Request]:
    owner = world.deployed.workload(container)
    own = _buffers(owner, world)
    equal = _is_equal(container.cpu_request, container.cpu_limit, own)
    percentile = 100.0 if equal else own.cpu_percentile
    used = used_cpu(use, percentile, batch=owner.batch)
    if used is not None:
        yield Request(
            f"{container.id}/cpu", container.place, container, CPU, container.cpu, container.cpu_request,
            limit=container.cpu_limit, needed=cpu(used, own), used=round(used),
            peak=round(used_cpu(use, 100, batch=False) or 0), equal=equal, percentile=percentile, buffers=own, use=use,
        )  # fmt: skip
    if use.memory_peak:
        yield Request(
            f"{container.id}/memory", container.place, container, MEMORY, container.memory,
            container.memory_request, limit=container.memory_limit, needed=memory(use, own),
            used=use.memory_peak, peak=use.memory_peak, percentile=100.0, buffers=own, use=use,
            equal=_is_equal(container.memory_request, container.memory_limit, own),
        )  # fmt: skip


def _is_equal(request: Value[int], limit: Value[int], of: Buffers) -> bool:
    """Whether request and limit stay equal."""
    if not isinstance(limit, Known):
        return False
    return known(request) == limit.value or (isinstance(request, Unset) and of.tier == HIGHEST)


@once
def _buffers(owner: Workload, world: World) -> Buffers:
    return buffers(tier(owner, world), world.config.usage.tiers)


def tier(owner: Workload, world: World) -> str:
    """Return the tier of a workload: of the settings, else its priority."""
    labels: dict[str, str] = {}
    for found in (owner.labels, *(one.labels for one in owner.templates)):
        labels |= known(found) or {}
    own = known(priority_class(owner, world))
    name = known(owner.priority) or (known(own.name) if own is not None else None) or ""
    for given in world.config.usage.tiers:
        by_class = any(fnmatchcase(name, pattern) for pattern in given.classes)
        if by_class or (given.labels and given.labels.items() <= labels.items()):
            return given.name
    value = number(own.number, 0) if own is not None else 0
    if value < 0:
        return LOWEST
    return HIGHEST if value > 0 and value >= _highest(world.deployed.scope(owner), world) else STANDARD


_OF_SYSTEM = 1_000_000_000
"""Highest value of a user's priority class; Kubernetes' own are above."""


@once
def _highest(scope: str, world: World) -> int:
    """Return the highest value of the classes in a scope; a single class has no tier."""
    numbers = (number(one.number, 0) for one in classes_in(scope, world))
    values = {one for one in numbers if one <= _OF_SYSTEM}
    return max(values) if len(values) > 1 or (values and not defaults_in(scope, world)) else _OF_SYSTEM


# --- words of requests


def text(one: Request, count: int) -> str:
    """Format an amount of its resource as a quantity."""
    return cpu_text(count) if one.resource == CPU else memory_text(count)


def said(one: Request, count: int) -> str:
    """Format an amount of its resource for people, with three digits."""
    return f"{float(f'{count / 1000:.3g}'):g} CPU" if one.resource == CPU else size(count)


def asked_text(one: Request, _world: World) -> Value[str]:
    """Format the requested amount; null without one."""
    found = if_set(one.amount)
    return computed(one, None if found is None else f"{said(one, found)}{_of(one)}")


def _of(one: Request) -> str:
    return "" if one.resource == CPU else " of memory"


def limit_text(one: Request, _world: World) -> Value[str]:
    """Format the limit; null without one."""
    most = known(one.limit)
    return one.limit if isinstance(one.limit, Unknown) else computed(one, None if most is None else said(one, most))


def limit_needed(one: Request) -> int:
    """Return a limit with room above the need, equal where they must be."""
    if one.resource == CPU or one.equal:
        return one.needed
    return max(one.needed, round_memory(one.needed * 1.1))


def basis(one: Request) -> str:
    """Describe what the need is based on: a percentile, or the peak."""
    if one.percentile >= 100:
        return f"at most {said(one, one.used)}"
    return f"at most {said(one, one.used)} in {one.percentile:g}% of the time"


def buffer(one: Request) -> str:
    """Describe the buffer of its tier."""
    percent = one.buffers.cpu_buffer if one.resource == CPU else one.buffers.memory_buffer
    return f"{percent:g}% (tier {one.buffers.tier})"


def span(seconds: int) -> str:
    """Format how long pods ran."""
    return f"{seconds / HOUR:,.0f} h" if seconds >= 10 * HOUR else f"{max(1, round(seconds / 60)):,} min"


def measured_text(one: Request) -> str:
    """Describe how much was measured: pods and time."""
    return f"{span(one.use.seconds)} of {counted(one.use.pods, 'pod')}"


def fills_node(one: Request, world: World) -> bool:
    """Whether its pods take all GPUs of a node, so that nobody else can use the rest."""
    template = world.deployed.template(one.container)
    gpus = number(template.gpus, 0)
    pools = world.pools.fitting(template) if gpus else []
    return all(number(pool.machine.gpus, 0) == gpus for pool in pools) if pools else bool(gpus) and template.all_cards


# --- money


def share_rate(template: PodTemplate, world: World, share: Callable[[NodePool], float | None]) -> float | None:
    """Return the mills per hour of a share of a node; None if unknown."""
    rates = []
    for pool in world.pools.fitting(template):
        price, part = world.numbers.price(pool), share(pool)
        if price is None or part is None:
            return None
        rates.append(price.mills * part)
    return min(rates, default=None)


def starts_high(one: Request, world: World) -> bool:
    """Whether the first minutes of a job need clearly more CPU than the hours after."""
    if one.resource != CPU or not world.deployed.workload(one.container).batch:
        return False
    later = used_cpu(replace(one.use, starting={}), one.percentile, batch=True)
    return later is not None and one.used > 1.25 * later


def _together(one: Request, world: World) -> int | None:
    """Sum its pods' excess above the need; None if unknown."""
    count, amount = known(world.deployed.template(one.container).count), known(one.amount)
    return None if count is None or amount is None else max(0, amount - one.needed) * count


def excess(one: Request, world: World) -> Value[str]:
    """Format the excess of all its pods above the need."""
    found = _together(one, world)
    return computed(one, f"{said(one, found)}{_of(one)}" if found else None)


def excess_amount(one: Request, world: World) -> Value[int]:
    """Return how much all its pods request beyond their need, in the resource's unit."""
    return computed(one, _together(one, world))


def excess_money(one: Request, world: World) -> Value[int]:
    """Return the hourly price of the excess, as a share of the nodes its pods run on."""
    found = _together(one, world)
    if not found:
        return computed(one, None)
    rate = share_rate(world.deployed.template(one.container), world, lambda pool: _share(one.resource, pool))
    mills = 0 if rate is None else round(rate * found)
    return computed(one, mills if mills >= _CENT else None)


_CENT = 10
"""Mills that are worth a sentence."""


def _share(resource: str, pool: NodePool) -> float | None:
    """Return a millicore's or byte's share of a machine; None with GPUs."""
    least = min((room.vcpus * 1000 if resource == CPU else room.memory for room in allocatable.rooms(pool)), default=0)
    return 1 / least if least and known(pool.machine.gpus) == 0 else None
