"""Quotas of storage on EKS that a new account has too little of: of the file system, and of the disks of all nodes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits, settings
from kcheck.generate import monitoring, recommended
from kcheck.generate.pools import system_nodes
from kcheck.generate.readme import QuotaRequest
from kcheck.text.units import GIB_IN_TIB

if TYPE_CHECKING:
    from kcheck.generate.eks_lustre import Lustre
    from kcheck.generate.intent import Intent


def requests(intent: Intent, files: Lustre | None) -> list[QuotaRequest]:
    """What to request of FSx and EBS."""
    needed = {"fsx.capacity": files.capacity if files else 0, "ebs.gp3": ceil(_disks(intent) / GIB_IN_TIB)}
    known = limits(intent.cloud)
    return [
        QuotaRequest(f"{intent.cloud}.{key}", known[key].code, known[f"{key}_name"].text, amount, known[key].unit)
        for key, amount in needed.items()
        if amount > known[key].number
    ]


def _disks(intent: Intent) -> int:
    """GiB of the disks of all nodes and of Prometheus; nodes that boot beside local disks have the image's size."""
    machine, system = machines.machine(intent.cloud, intent.machine), system_nodes(intent)
    own = int(str(recommended.values(intent.cloud)["disk.size"]).removesuffix("Gi"))
    each = settings(intent.cloud)["pool.disk_size"].number if machine and machine.nvme else own
    prometheus = monitoring.monitoring(intent, intent.nodes + system)
    return intent.nodes * each + system * own + prometheus.shards * prometheus.disk
