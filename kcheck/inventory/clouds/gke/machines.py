"""Google's machine types and machines of a pool: accelerators, GPU sharing and local disks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.machines import tables_of, value_in
from kcheck.inventory.clouds.reader import has_accelerator
from kcheck.model import NOTHING, Machine, NodePool, Sharing
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config.numbers.fields import Fields

_CLOUD = "gke"


def accelerator(name: str) -> str | None:
    """Return the accelerator name of a machine type's built-in GPUs; None if it has none or is unknown."""
    for kind, line in tables_of(_CLOUD)["accelerators"].items():
        if kind.startswith("nvidia-") and value_in(line, name) is not None:
            return kind
    return None


def local_ssd_size() -> int:
    """Return the GB of one attached local SSD."""
    return tables_of(_CLOUD)["local_ssd_size"]


def local_ssds(name: str) -> int:
    """Count the local SSDs built into a machine type."""
    return _local_ssds(name)[0]


def local_ssd(name: str) -> int:
    """Return the GB of all local SSDs built into a machine type."""
    count, size = _local_ssds(name)
    return count * size


def _local_ssds(name: str) -> tuple[int, int]:
    found = (value_in(line, name) for line in tables_of(_CLOUD)["local_ssds"].values())
    count, _, size = (next(filter(None, found), None) or "0").partition("x")
    return int(count), int(size or local_ssd_size())


def boot_disk(fields: Fields) -> Value[str]:
    """Return the type of a pool's boot disks; the default depends on the machine type."""
    kind, name = fields.text("disk_type"), known(fields.text("instance_type"))
    if kind.origin is None or kind.origin.missing is None or name is None:
        return kind
    if not re.search(profiles.limits(_CLOUD)["disk.not_for"].text, name):
        return kind
    return Known(profiles.settings(_CLOUD)["pool.disk_type_without_pd"].text, kind.origin)


_IN_NAME = regex(r"-(\d{1,9})g(?:-|$)")
_GPU = "nvidia.com/gpu"


def of_pool(fields: Fields) -> Machine:
    """Read the machine of a pool."""
    name, attached = fields.text("instance_type"), fields.number("gpus")
    gpu = mapped(attached, bool) if known(attached) else mapped(name, lambda one: has_accelerator("gke", one))
    return fields.record_of(
        Machine,
        instance_types=mapped(name, lambda one: (one,)),
        gpu=gpu,
        gpus=_gpus_of_node(name, attached),
        disk_type=boot_disk(fields),
        networks=_networks(fields),
        local_ssd=_local_ssd_of_pool(name, fields.number("local_ssds")),
    )


def _networks(fields: Fields) -> Value[int]:
    outer = fields.record.blocks("network_config")
    found = outer if isinstance(outer, Unknown) or not outer else outer[0].blocks("additional_node_network_configs")
    if isinstance(found, Unknown):
        return found
    return Known(len(found), Origin(((*found, fields.record)[0].span,)))


def _local_ssd_of_pool(name: Value[str], attached: Value[int]) -> Value[int]:
    """Return the GB of a node's local SSDs: those attached, else those of its machine type."""
    if isinstance(attached, Unknown) or (isinstance(attached, Known) and attached.value):
        return mapped(attached, lambda count: count * local_ssd_size())
    return mapped(name, local_ssd)


def _gpus_of_node(name: Value[str], attached: Value[int]) -> Value[int]:
    """Return a node's GPUs: those attached, else those in the name of its machine type."""
    if not isinstance(attached, Unset):
        return attached
    match = _IN_NAME.search(known(name) or "")
    return Known(int(match[1]), name.origin) if match and isinstance(name, Known) else Unset(attached.origin)


def sharing(fields: Fields, pool: NodePool) -> Iterator[Sharing]:
    """Yield how a pool's nodes share their GPUs, if they do."""
    strategy, copies = fields.text("sharing"), fields.number("sharers")
    if not isinstance(strategy, Known) or isinstance(copies, Unset) or known(copies) == 1:
        return
    mps = equals(strategy, "MPS")
    yield Sharing(
        f"{pool.id}/sharing",
        pool.place,
        slices=() if mps else (copies,),
        mps=(copies,) if mps else (),
        mig=NOTHING,
        names=(_GPU,),
        pool=pool,
    )
