"""Requests from what was measured: percentiles, buffers, and numbers as people write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kcheck.scale.usage import histogram
from kcheck.scale.usage.numbers import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.scale.usage.measured import ContainerUse
    from kcheck.scale.usage.numbers import Buffers

_MI = 1 << 20
_GI = 1 << 30
_FINE = tuple(step * power for power in (100, 10, 1) for step in (5, 2, 1))
_CPU_STEPS = (1000, *_FINE)
_MEMORY_STEPS = (*(1024 * step for step in (16, 8, 4, 2, 1)), 512, *_FINE)
"""Steps of numbers as people write them: millicores, and Mi."""

_MOST = 1.04
"""Rounding up adds 4 % at most."""


def used_cpu(of: ContainerUse, percent: float, *, batch: bool) -> float | None:
    """Millicores that so many percent of the samples do not exceed; None without samples.

    A job has a start, which is short and may need more: it counts by itself, or it would be lost among hours of work.
    """
    if not batch:
        return histogram.percentile(histogram.merged((of.starting, of.cpu)), percent)
    found = (histogram.percentile(one, percent) for one in (of.starting, of.cpu))
    return max((one for one in found if one is not None), default=None)


def peak_cpu(of: ContainerUse) -> float | None:
    """The most millicores that were used in a step; None without samples."""
    return histogram.percentile(histogram.merged((of.starting, of.cpu)), 100)


def cpu(used: float, buffers: Buffers) -> int:
    """The request of CPU for what was used, in millicores."""
    return round_cpu(max(used * (1 + buffers.cpu_buffer / 100), table()["least"]["cpu"]))


def memory(of: ContainerUse, buffers: Buffers) -> int:
    """The request of memory, in bytes: its peak and a buffer; more than that at which it was killed."""
    needed = max(of.memory_peak, of.killed * table()["oom"] / 100)
    return round_memory(max(needed * (1 + buffers.memory_buffer / 100), table()["least"]["memory"]))


def round_cpu(millicores: float) -> int:
    """Millicores rounded up to a number as people write them: 35m, 1250m, 2500m, 14."""
    return _rounded(millicores, _CPU_STEPS)


def round_memory(count: float) -> int:
    """Bytes rounded up to a number as people write them: 350Mi, 1450Mi, 7Gi, 12.5Gi, 64Gi."""
    return _rounded(count / _MI, _MEMORY_STEPS) * _MI


def _rounded(number: float, steps: Sequence[int]) -> int:
    """The next multiple of the largest step that adds little; of the smallest one where all add more."""
    found = (math.ceil(number / step - 1e-9) * step for step in steps)
    return next((one for one in found if one <= number * _MOST), math.ceil(number - 1e-9))


def cpu_text(millicores: int) -> str:
    """Millicores as a quantity: 350m, 1500m, 4."""
    return str(millicores // 1000) if millicores % 1000 == 0 else f"{millicores}m"


def memory_text(count: int) -> str:
    """Bytes as a quantity, exactly: 350Mi, 12.5Gi, 64Gi."""
    if count % _GI == 0:
        return f"{count // _GI}Gi"
    if count > _GI and count % (_GI // 2) == 0:
        return f"{count // _GI}.5Gi"
    return f"{count // _MI}Mi" if count % _MI == 0 else str(count)
