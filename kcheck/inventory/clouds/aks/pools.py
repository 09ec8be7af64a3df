"""Azure's VM sizes by name: disks, InfiniBand; and upgrades of a pool."""

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.machines import machine, tables_of
from kcheck.model import Cluster, Surge, Upgrade
from kcheck.model.pools import surge_of
from kcheck.text.partly_known import either
from kcheck.text.regex import regex
from kcheck.text.units import minor_version
from kcheck.text.values import Known, Unknown, Unset, Value, equals, mapped

_CLOUD = "aks"
_SIZE = regex(r"(?:standard_)?([a-z]+)\d+(?:-\d+)?([a-z]*)(?:_(?!v\d)\w+?)?(?:_v(\d{1,9}))?")
_STEP = regex(r"(\d+) (?:up to (\d+)|above)")
_WITH_DISKS = ("n", "l", "h")


def ephemeral(name: str, vcpus: int) -> bool | None:
    """Whether an Azure VM size has a local boot disk; None if unclear.

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
    """Return the GiB of a VM size's managed boot disk; None if unknown."""
    found = machine(_CLOUD, name)
    if found is None or found.vcpus is None:
        return None
    steps = _STEP.finditer(profiles.limits(_CLOUD)["disk.managed"].text)
    return next(int(step[1]) for step in steps if step[2] is None or found.vcpus <= int(step[2]))


def temporary(name: str) -> int:
    """Return the GiB of a VM size's temporary disk; 0 if not listed."""
    return tables_of(_CLOUD).get("temporary", {}).get(name.removeprefix("Standard_"), 0)


def fabric(name: str) -> bool:
    """Whether an Azure VM size has InfiniBand: `r` for RDMA in its name.

    https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
    """
    match = _SIZE.fullmatch(name.lower())
    return match is not None and match[1].startswith(("n", "h")) and "r" in match[2]


def upgrade(fields: Fields, cluster: Cluster | None) -> Upgrade:
    """Read how a pool is upgraded, with surge nodes or with unavailable ones."""
    surge, missing = _surge(fields, cluster), fields.text("max_unavailable")
    without = isinstance(fields.text("max_surge"), Unset) and isinstance(missing, Known)
    rolling = surge_of(missing) if without else surge
    priority = fields.text("priority")
    if isinstance(priority, Known) and priority.value == "Spot":
        rolling = Unset(priority.origin)  # AKS refuses both settings for these
    return Upgrade(surge, rolling, mapped(fields.number("drain_timeout"), lambda minutes: minutes * 60))


def _surge(fields: Fields, cluster: Cluster | None) -> Value[Surge]:
    """Return the upgrade surge: as written, none for spot, else the default."""
    written = fields.text("max_surge")
    if not isinstance(written, Unset):
        return surge_of(written)
    if equals(fields.text("priority"), "Spot") or isinstance(fields.text("max_unavailable"), Known):
        return Known(Surge(), written.origin)
    version = cluster.version if cluster else written
    settings = profiles.settings(_CLOUD)
    before, after = (surge_of(Known(settings[key].text, written.origin)) for key in ("surge.old", "surge.new"))
    if isinstance(version, Unknown) and isinstance(before, Known) and isinstance(after, Known):
        return either([before, after], version.reason, version.origin)
    minor = minor_version(version.value) if isinstance(version, Known) else None
    return before if minor is not None and minor < settings["surge.share_from"].number else after
