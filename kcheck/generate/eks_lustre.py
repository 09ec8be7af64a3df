"""The file system for checkpoints of machines with EFA on EKS: FSx for Lustre, sized by what the usual job writes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kcheck.generate import recommended
from kcheck.generate.intent import label
from kcheck.numbers import fabrics
from kcheck.numbers.profiles import limits

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool

_GIB_IN_TIB = 1024


class Lustre(NamedTuple):
    """A file system in one zone: what the job needs of it in MB/s, and its capacity in GiB.

    `quota` is the code of the account's quota of capacity if a new account has less; else empty.
    """

    zone: str
    needed: int
    capacity: int
    efa: bool
    quota: str

    @property
    def tebibytes(self) -> str:
        """The capacity in TiB."""
        return f"{self.capacity / _GIB_IN_TIB:.1f}"

    def throughput(self, each: int) -> int:
        """MB/s of the whole file system, with so much for each TiB."""
        return self.capacity * each // _GIB_IN_TIB

    def dollars(self, mills: int) -> int:
        """US dollars a month, at so many thousandths for each GiB."""
        return self.capacity * mills // 1000


def lustre(intent: Intent, pools: list[Pool]) -> Lustre | None:
    """The file system of an intent; None for machines without EFA, for which EFS is enough.

    Capacity comes in steps: https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    if not intent.gpus or fabrics.fabric(intent.cloud, intent.machine) is None:
        return None
    usual, known = recommended.values(intent.cloud), limits(intent.cloud)
    needed = intent.job_nodes * int(usual["storage.each"])
    efa = needed >= int(usual["storage.efa_from"])
    step = known["fsx.step_efa" if efa else "fsx.step"].number
    least = max(ceil(needed * _GIB_IN_TIB / int(usual["storage.throughput"])), int(usual["storage.size"]))
    capacity = ceil(least / step) * step
    quota = known["fsx.capacity"]
    return Lustre(label(pools[0].zones[0]), needed, capacity, efa, quota.code if capacity > quota.number else "")
