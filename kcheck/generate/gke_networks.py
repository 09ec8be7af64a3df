"""Networks between GPUs of nodes on GKE: which VPCs and subnets there are, and how pods join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import fabrics
from kcheck.config.numbers.profiles import limits
from kcheck.generate import recommended
from kcheck.text.ip_ranges import sufficient_prefix

if TYPE_CHECKING:
    from kcheck.config.numbers.fabrics import Fabric
    from kcheck.generate.intent import Intent


_BLUEPRINTS = {
    "GPUDirect-TCPX": "fabric.tcpx_version",
    "GPUDirect-TCPXO": "fabric.tcpxo_version",
    "GPUDirect RDMA": "fabric.gib_version",
}
"""The setting that holds the version of GKE in Google's own blueprint of a fabric."""


class Network(NamedTuple):
    """A network of a node beside its first one, as a Network object of the cluster has it.

    `vpc` and `subnet` are what their names have after the name of the cluster. `interface` is that of a pod, empty
    where pods do not join. `zone` is where it is, empty for all zones.
    """

    name: str
    vpc: str
    subnet: str
    mode: str
    interface: str = ""
    zone: str = ""


def fabric_of(intent: Intent) -> Fabric | None:
    """The fabric over which the usual job talks: that of its machines; None where it has one node, or does without.

    A job on demand is on the first machine type, one on spot nodes on any of them, so that all must have it.
    """
    first = fabrics.fabric(intent.cloud, intent.machine)
    on_spot = intent.job_nodes > intent.nodes - intent.spot_nodes
    if first is None or not intent.gpus or intent.job_nodes < 2 or (on_spot and not of_all(intent)):
        return None
    return first


def has_fabric(intent: Intent, machine: str) -> bool:
    """Whether a machine type has the fabric of the first one."""
    first, own = fabrics.fabric(intent.cloud, intent.machine), fabrics.fabric(intent.cloud, machine)
    return first is not None and own is not None and own.name == first.name


def of_all(intent: Intent) -> bool:
    """Whether all machine types have the same fabric."""
    return all(has_fabric(intent, machine) for machine in intent.machines)


def networks(intent: Intent) -> list[Network]:
    """The networks of all nodes beside the ordinary one.

    A network for RDMA is of one zone and has a subnet for each interface; others have a VPC for each interface.
    """
    fabric = fabric_of(intent)
    if fabric is None:
        return []
    if fabric.joins == "region":
        names = [f"gpu-{i}" for i in range(fabric.interfaces)]
        return [Network(name, name, name, "NetDevice", f"eth{i}") for i, name in enumerate(names, 1)]
    zonal = [
        Network(f"rdma-{zone}-{i}", f"rdma-{zone}", f"rdma-{zone}-{i}", "RDMA", f"eth{i + 2}", zone)
        for zone in intent.zones
        for i in range(fabric.interfaces)
    ]
    return [Network("gvnic", "gvnic", "gvnic", "NetDevice"), *zonal]


def of_node(intent: Intent) -> int:
    """How many of these networks a node joins: those of all zones and of its own."""
    return sum(one.zone in ("", intent.zones[0]) for one in networks(intent))


def subnet_bits(intent: Intent) -> int:
    """By how many bits the prefix of a subnet is longer than that of the range for all of them."""
    return (len({one.subnet for one in networks(intent)}) - 1).bit_length()


def prefix(intent: Intent, nodes: int) -> int:
    """The prefix of the range for all subnets, each with an address for that many nodes."""
    each = recommended.with_growth("any", nodes)
    return sufficient_prefix(each, limits(intent.cloud)["subnet.reserved"].number) - subnet_bits(intent)


def vpcs(intent: Intent) -> int:
    """VPC networks in all, the ordinary one included."""
    return 1 + len({one.vpc for one in networks(intent)})


def tested_with(intent: Intent) -> str:
    """The version of GKE in Google's blueprint of the fabric; empty without a fabric."""
    fabric = fabric_of(intent)
    return str(recommended.values(intent.cloud)[_BLUEPRINTS[fabric.name]]) if fabric else ""
