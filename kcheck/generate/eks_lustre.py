"""The file system for checkpoints of machines with EFA on EKS: FSx for Lustre, sized by what the usual job writes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import fabrics
from kcheck.config.numbers.profiles import limits
from kcheck.generate import recommended
from kcheck.generate.intent import label
from kcheck.text.units import GIB_IN_TIB

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool


class Lustre(NamedTuple):
    """A file system in one zone: MB/s that the job needs, the `capacity` in GiB and its step, MB/s that it has.

    `dollars` are a month's.
    """

    zone: str
    needed: int
    capacity: int
    step: int
    throughput: int
    efa: bool
    price: str
    dollars: int

    @property
    def tebibytes(self) -> str:
        """The capacity in TiB."""
        return f"{self.capacity / GIB_IN_TIB:.1f}"


def lustre(intent: Intent, pools: list[Pool]) -> Lustre | None:
    """The file system of an intent; None for machines without EFA, for which EFS is enough.

    Capacity comes in steps: https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    if not intent.gpus or fabrics.fabric(intent.cloud, intent.machine) is None:
        return None
    usual, known = recommended.values(intent.cloud), limits(intent.cloud)
    needed, each = intent.job_nodes * int(usual["storage.each"]), int(usual["storage.throughput"])
    efa = needed >= int(usual["storage.efa_from"])
    step = known["fsx.step_efa" if efa else "fsx.step"].number
    capacity = ceil(max(needed * GIB_IN_TIB / each, int(usual["storage.size"])) / step) * step
    mills = int(usual["storage.price"])
    return Lustre(
        zone=label(pools[0].zones[0]),
        needed=needed,
        capacity=capacity,
        step=step,
        throughput=capacity * each // GIB_IN_TIB,
        efa=efa,
        price=f"{mills / 1000:.2f}",
        dollars=capacity * mills // 1000,
    )
