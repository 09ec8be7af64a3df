"""Networks between GPUs of nodes on GKE: which VPCs and subnets there are, and how pods join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.generate import recommended
from kcheck.numbers import fabrics
from kcheck.numbers.profiles import limits
from kcheck.source.ip_ranges import sufficient_prefix

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.numbers.fabrics import Fabric


_BLUEPRINTS = {
    "GPUDirect-TCPX": "fabric.tcpx_version",
    "GPUDirect-TCPXO": "fabric.tcpxo_version",
    "GPUDirect RDMA": "fabric.gib_version",
}
"""The setting that holds the version of GKE in Google's own blueprint of a fabric."""


class Network(NamedTuple):
    """A network of a node beside its first one, as a Network object of the cluster has it.

    `vpc` and `subnet` are what their names have after the name of the cluster. `interface` is that of a pod, empty where
    pods do not join. `zone` is where it is, empty for all zones.
    """

    name: str
    vpc: str
    subnet: str
    mode: str
    interface: str = ""
    zone: str = ""


def fabric_of(intent: Intent) -> Fabric | None:
    """The fabric that all machines have, for jobs of several nodes; None where jobs do without."""
    found = {fabrics.fabric(intent.cloud, machine) for machine in intent.machines}
    names = {one.name for one in found if one is not None}
    alike = None not in found and len(names) == 1
    return next(iter(found)) if alike and intent.gpus and intent.job_nodes > 1 else None


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
    found = [Network("gvnic", "gvnic", "gvnic", "NetDevice")]
    for zone in intent.zones:
        for i in range(fabric.interfaces):
            found.append(Network(f"rdma-{zone}-{i}", f"rdma-{zone}", f"rdma-{zone}-{i}", "RDMA", f"eth{i + 2}", zone))
    return found


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
