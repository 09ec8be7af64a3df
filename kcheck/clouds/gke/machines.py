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
    """GB of one local SSD that is attached."""
    return tables_of(_CLOUD)["local_ssd_size"]


def local_ssds(name: str) -> int:
    """Local SSDs that a machine of Google has from the start."""
    return _local_ssds(name)[0]


def local_ssd(name: str) -> int:
    """GB of these local SSDs together."""
    count, size = _local_ssds(name)
    return count * size


def _local_ssds(name: str) -> tuple[int, int]:
    found = (value_in(line, name) for line in tables_of(_CLOUD)["local_ssds"].values())
    count, _, size = (next(filter(None, found), None) or "0").partition("x")
    return int(count), int(size or local_ssd_size())
