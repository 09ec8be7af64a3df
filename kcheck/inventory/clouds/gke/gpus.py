"""GPUs of GKE node pools: their number and their sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.gke import machines
from kcheck.inventory.clouds.reader import has_accelerator
from kcheck.model import NOTHING, Machine, NodePool, Sharing
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config.numbers.fields import Fields

_IN_NAME = regex(r"-(\d{1,9})g(?:-|$)")
_GPU = "nvidia.com/gpu"


def machine(fields: Fields) -> Machine:
    """The machine of a pool."""
    name, attached = fields.text("instance_type"), fields.number("gpus")
    gpu = mapped(attached, bool) if known(attached) else mapped(name, lambda one: has_accelerator("gke", one))
    return fields.record_of(
        Machine,
        instance_types=mapped(name, lambda one: (one,)),
        gpu=gpu,
        gpus=_of_node(name, attached),
        disk_type=machines.boot_disk(fields),
        networks=_networks(fields),
        local_ssd=_local_ssd(name, fields.number("local_ssds")),
    )


def _networks(fields: Fields) -> Value[int]:
    """Networks of a node beside the first one."""
    outer = fields.record.blocks("network_config")
    found = outer if isinstance(outer, Unknown) or not outer else outer[0].blocks("additional_node_network_configs")
    if isinstance(found, Unknown):
        return found
    return Known(len(found), Origin(((*found, fields.record)[0].span,)))


def _local_ssd(name: Value[str], attached: Value[int]) -> Value[int]:
    """GB of the local SSDs of one node: of those attached to it, else of those of its machine type."""
    if isinstance(attached, Unknown) or (isinstance(attached, Known) and attached.value):
        return mapped(attached, lambda count: count * machines.local_ssd_size())
    return mapped(name, machines.local_ssd)


def _of_node(name: Value[str], attached: Value[int]) -> Value[int]:
    """GPUs of one node: those attached to it, else those in the name of its machine type."""
    if not isinstance(attached, Unset):
        return attached
    match = _IN_NAME.search(known(name) or "")
    return Known(int(match[1]), name.origin) if match and isinstance(name, Known) else Unset(attached.origin)


def sharing(fields: Fields, pool: NodePool) -> Iterator[Sharing]:
    """How the nodes of a pool share their GPUs, if they do."""
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
