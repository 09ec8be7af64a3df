"""Google's machines: accelerators and local disks by type name."""

from __future__ import annotations

from kcheck.numbers.machines import tables_of, value_in

_CLOUD = "gke"


def accelerator(name: str) -> str | None:
    """The accelerator name of a machine's built-in GPUs; None without GPUs or if unknown."""
    for kind, line in tables_of(_CLOUD)["accelerators"].items():
        if kind.startswith("nvidia-") and value_in(line, name) is not None:
            return kind
    return None


def local_ssd_size() -> int:
    """GB of one local SSD."""
    return tables_of(_CLOUD)["local_ssd_size"]


def local_ssds(name: str) -> int:
    """Local SSDs that a machine of Google has from the start."""
    return next((int(found) for line in tables_of(_CLOUD)["local_ssds"].values() if (found := value_in(line, name))), 0)
