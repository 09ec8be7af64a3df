"""Google's machines: accelerators and local disks by type name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.machines import tables_of, value_in
from kcheck.text.values import Known, Value, known

if TYPE_CHECKING:
    from kcheck.config.numbers.fields import Fields

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


def boot_disk(fields: Fields) -> Value[str]:
    """The type of a pool's boot disks; the default depends on what its machines take."""
    kind, name = fields.text("disk_type"), known(fields.text("instance_type"))
    if kind.origin is None or kind.origin.missing is None or name is None:
        return kind
    if not re.search(profiles.limits(_CLOUD)["disk.not_for"].text, name):
        return kind
    return Known(profiles.settings(_CLOUD)["pool.disk_type_without_pd"].text, kind.origin)
