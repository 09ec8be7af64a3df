"""Local disks and InfiniBand of Azure's VM sizes, by name."""

from __future__ import annotations

from kcheck.config.numbers import profiles
from kcheck.config.numbers.machines import machine, tables_of
from kcheck.text.regex import regex

_CLOUD = "aks"
_SIZE = regex(r"(?:standard_)?([a-z]+)\d+(?:-\d+)?([a-z]*)(?:_(?!v\d)\w+?)?(?:_v(\d{1,9}))?")
_STEP = regex(r"(\d+) (?:up to (\d+)|above)")
_WITH_DISKS = ("n", "l", "h")


def ephemeral(name: str, vcpus: int) -> bool | None:
    """Whether an Azure VM size has a local disk for AKS' boot disk; None if unclear by name.

    It needs premium storage (`s`) and a local disk or cache: all old versions, newer ones with a `d`, and GPU machines.
    Disks of other families are too small below `vcpus` vCPUs.
    """
    match, found = _SIZE.fullmatch(name.lower()), machine(_CLOUD, name)
    if match is None:
        return None
    kind, features, version = match[1], match[2], int(match[3] or 1)
    old = "machine.last_with_disks_of_amd" if "a" in features else "machine.last_with_disks"
    local = kind.startswith(_WITH_DISKS) or "d" in features or version <= profiles.settings(_CLOUD)[old].number
    if not local or kind.startswith("b") or ("s" not in features and kind not in ("ds", "gs")):
        return False
    if kind.startswith(_WITH_DISKS):
        return True
    return None if found is None or found.vcpus is None else found.vcpus >= vcpus


def managed_disk(name: str) -> int | None:
    """Return the GiB of the managed boot disk that AKS gives a VM size; None if its vCPUs are unknown."""
    found = machine(_CLOUD, name)
    if found is None or found.vcpus is None:
        return None
    steps = _STEP.finditer(profiles.limits(_CLOUD)["disk.managed"].text)
    return next(int(step[1]) for step in steps if step[2] is None or found.vcpus <= int(step[2]))


def temporary(name: str) -> int:
    """Return the GiB of a VM size's temporary disk, all of which the boot disk takes; 0 if not listed."""
    return tables_of(_CLOUD).get("temporary", {}).get(name.removeprefix("Standard_"), 0)


def fabric(name: str) -> bool:
    """Whether an Azure VM size has InfiniBand: `r` for RDMA in its name.

    https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
    """
    match = _SIZE.fullmatch(name.lower())
    return match is not None and match[1].startswith(("n", "h")) and "r" in match[2]
