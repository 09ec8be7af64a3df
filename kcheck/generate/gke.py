"""Template values for GKE: one subnet with ranges, NAT, pools, GPU networks."""

import re
from math import ceil
from typing import NamedTuple

from kcheck.config.config import ConfigError
from kcheck.config.numbers import fabrics, machines
from kcheck.config.numbers.fabrics import Fabric
from kcheck.config.numbers.profiles import limits
from kcheck.generate import jobs, recommended
from kcheck.generate.intent import Intent, label
from kcheck.generate.jobs import FileSystem
from kcheck.generate.pools import Pool, evenly, system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.inventory.clouds.gke import pools as own_machines
from kcheck.inventory.clouds.gke.cloud import CLOUD
from kcheck.inventory.clouds.registry import cloud
from kcheck.text.ip_ranges import is_private, sufficient_prefix
from kcheck.text.units import GIB_IN_TIB


class Machine(NamedTuple):
    """Template values of a machine type; without GPUs, `accelerator` is empty."""

    name: str
    accelerator: str
    gpus: int
    joins: bool
    local_ssds: int
    disk_type: str
    disk_size: int


class Gateway(NamedTuple):
    """NAT gateway: nodes, public addresses, and ports per address."""

    nodes: int
    addresses: int
    ports: int


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:
    """List ranges of nodes, pods, Services, GPU networks and Managed Lustre."""
    usual = recommended.values(intent.cloud)
    found = [
        Slot("nodes", least=24),
        Slot("pods", least=21, most=9),
        Slot("services", prefix=int(usual["network.services"])),
    ]
    if _networks(intent):
        each = recommended.with_growth("any", sum(one.nodes for one in _own_pools(intent, pools)))
        prefix = sufficient_prefix(each, limits(intent.cloud)["subnet.reserved"].number) - _subnet_bits(intent)
        found.append(Slot("gpu", prefix=prefix, routed=False))
    if lustre(intent):
        found.append(Slot("storage", prefix=int(usual["storage.range"]), routed=False))
    return found


_FLAGS: dict[str, object] = {
    "device_plugin": False, "node_local_dns": False, "dns_autoscaler": False, "coredns_metrics": False,
    "dcgm": {"namespace": "gke-managed-system", "name": "gke-managed-dcgm-exporter", "ours": False},
    "gpu_errors": False,
}  # fmt: skip


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:  # noqa: ARG001 - as of every cloud
    """Return the template values for GKE.

    Raises ConfigError if the machine types are of a kind that is not generated.
    """
    usual, total = recommended.values(intent.cloud), intent.nodes + system_nodes(intent)
    own = _own_pools(intent, pools)
    types = [_machine(name, intent) for name in intent.machines]
    few = limits("any")["gpu_node.pods"].number
    fabric, checkpoints = _fabric_of(intent), lustre(intent)
    host = f"{intent.region}-docker.pkg.dev/{intent.account}/"
    able = (pool.zones[0] for pool in pools if not pool.spot and pool.nodes >= intent.job_nodes)
    return {
        "training_pools": own, "training_machines": types,
        "gateway": gateway(sum(pool.nodes for pool in own) + system_nodes(intent), intent.cloud),
        "training_block": cloud("gke").pod_block(few),
        "system_block": cloud("gke").pod_block(int(usual["system.pods"])),
        "together": intent.job_nodes > 1 and re.search(str(usual["pools.placement"]), intent.machine) is not None,
        "reserved": re.search(str(usual["pools.reserved"]), intent.machine) is not None and intent.spot < 100,
        "direct": intent.job_nodes > 1 and re.search(str(usual["pools.direct"]), intent.machine) is not None,
        "gpu_networks": _networks(intent), "gpu_bits": _subnet_bits(intent),
        "some_join": fabric is not None and not _all_have_fabric(intent),
        "gpu_cards": sum(one.zone in ("", intent.zones[0]) for one in _networks(intent)),
        "vpcs": 1 + len({one.vpc for one in _networks(intent)}),
        "tested_with": usual[_BLUEPRINTS[fabric.name]] if fabric else "",
        "gpu_fabric": fabric, "left_out": None if fabric else _possible(intent),
        "sample_zone": next(able, intent.zones[0]), "shared_volume": "storage" in intent.parts,
        "lustre": checkpoints, "checkpoint_size": checkpoints.capacity if checkpoints else 0,
        "spot_grace": intent.minor >= int(usual["spot.since"]),
        "private_api": bool(intent.api_ranges) and all(map(is_private, intent.api_ranges)),
        "scaled": total > int(usual["cluster.scale"]), "unsupported": total > int(usual["cluster.autoscaled"]),
        "taint_value": "present" if intent.gpus else "true",
        "repository": intent.registry.removeprefix(host) if intent.registry.startswith(host) else "",
        "docker_hub": f"{host}{intent.name}-docker-hub",
        "scratch": jobs.scratch(min(own_machines.local_ssd(name) for name in intent.machines)),
        **_FLAGS, **({"cache": True} if fabric and fabric.name == "GPUDirect-TCPXO" else {}),  # for its shell
    }  # fmt: skip


def lustre(intent: Intent) -> FileSystem | None:
    """Size Managed Lustre for the usual job; None for machines that need none."""
    usual = recommended.values(intent.cloud)
    able = re.search(str(usual["storage.lustre"]), intent.machine)
    if not able or "storage" not in intent.parts or intent.job_nodes < 2:
        return None
    tier, step = int(usual["storage.speed"]), int(usual["storage.step"])
    wanted = intent.job_nodes * int(usual["storage.each"])
    size = ceil(wanted * GIB_IN_TIB / tier / step) * step
    if size > int(usual["storage.small"]):
        step = int(usual["storage.large_step"])
        size = min(ceil(size / step) * step, int(usual["storage.most"]))
    return FileSystem(size, size * tier // GIB_IN_TIB, wanted)


def gateway(nodes: int, cloud: str) -> Gateway:
    """Size the NAT gateway for the ports of all nodes, with room to grow."""
    usual, room = recommended.values(cloud), limits(cloud)["snat.ports_per_address"].number
    grown = recommended.with_growth(cloud, nodes)
    return Gateway(grown, CLOUD.outbound_addresses(int(usual["nat.ports"]), grown, room) or 0, room)


def _own_pools(intent: Intent, pools: list[Pool]) -> list[Pool]:
    """Split pools by machine type, and by zone where their GPU networks are zonal.

    Each can hold all nodes, as others may be sold out. Zonal spot pools use zones that hold the usual job as a whole.
    """
    zonal = any(one.zone for one in _networks(intent))
    used = max(1, min(len(intent.zones), intent.spot_nodes // intent.job_nodes)) if zonal else 0
    return [
        one
        for pool in pools
        for machine in pool.machines
        for one in _divided(pool, machine, used if pool.spot and _has_fabric(intent, machine) else 0)
    ]


def _divided(pool: Pool, machine: str, zones: int) -> list[Pool]:
    name = f"{pool.name}-{machine}" if len(pool.machines) > 1 else pool.name
    own = pool._replace(name=name, machines=(machine,))
    if not zones:
        return [own]
    return [
        own._replace(name=f"{name}-{label(zone)}", zones=(zone,), nodes=nodes)
        for zone, nodes in zip(pool.zones, evenly(pool.nodes, zones), strict=False)
    ]


def _machine(name: str, intent: Intent) -> Machine:
    """Return the template values of a node pool's machine type.

    Raises ConfigError if its GPUs are missing or unknown, it needs whole racks, or it is not sold on demand.
    """
    usual = recommended.values(intent.cloud)
    if re.search(str(usual["pools.racks"]), name):
        raise ConfigError(f"machines: {name}: {recommended.reasons(intent.cloud)['pools.racks']}")
    if intent.spot < 100 and name == intent.machine and re.search(str(usual["pools.spot_only"]), name):
        raise ConfigError(f"machines: {name}: {recommended.reasons(intent.cloud)['pools.spot_only']}")
    ssds = own_machines.local_ssds(name)
    count = machines.gpus(intent.cloud, name) or intent.gpus
    accelerator = machines.accelerator(intent.cloud, name) or intent.accelerator
    if bool(count) != bool(accelerator):
        raise ConfigError(
            f"machines: {name} has no GPUs of its own; set gpus and accelerator for attached ones, or neither"
        )
    hyperdisk = re.search(str(limits(intent.cloud)["disk.not_for"].value), name)
    disk = str(usual["pools.disk"] if hyperdisk else limits(intent.cloud)["disk.fast"].value)
    size = int(usual["disk.beside" if ssds else "disk.alone"])
    return Machine(
        name=name, accelerator=accelerator, gpus=count, joins=_has_fabric(intent, name), local_ssds=ssds,
        disk_type=disk, disk_size=size,
    )  # fmt: skip


class Network(NamedTuple):
    """Additional network of a node, as a Network object in the cluster.

    `vpc` and `subnet` are the suffixes of their names after the cluster's name. `interface` is that of a pod, empty if
    pods do not join. `zone` is empty for all zones.
    """

    name: str
    vpc: str
    subnet: str
    mode: str
    interface: str = ""
    zone: str = ""


_BLUEPRINTS = {
    "GPUDirect-TCPX": "fabric.tcpx_version", "GPUDirect-TCPXO": "fabric.tcpxo_version",
    "GPUDirect RDMA": "fabric.gib_version",
}  # fmt: skip
"""Settings that hold the GKE version in Google's blueprint of each fabric."""


def _fabric_of(intent: Intent) -> Fabric | None:
    """Return the fabric that the pools join; None if it is left out or unreliable."""
    return _possible(intent) if "fabric" in intent.parts else None


def _possible(intent: Intent) -> Fabric | None:
    """Return the fabric of the usual job; None if it cannot rely on one.

    An on-demand job runs on the first machine type. A spot job may run on any, so all must have the fabric.
    """
    first = fabrics.fabric(intent.cloud, intent.machine)
    on_spot = intent.job_nodes > intent.nodes - intent.spot_nodes
    if not intent.gpus or intent.job_nodes < 2 or (on_spot and not _all_have_fabric(intent)):
        return None
    return first


def _has_fabric(intent: Intent, machine: str) -> bool:
    """Whether a machine type has the fabric of the first machine type."""
    first, own = fabrics.fabric(intent.cloud, intent.machine), fabrics.fabric(intent.cloud, machine)
    return first is not None and own is not None and own.name == first.name


def _all_have_fabric(intent: Intent) -> bool:
    return all(_has_fabric(intent, machine) for machine in intent.machines)


def _networks(intent: Intent) -> list[Network]:
    """List the additional networks of all nodes.

    An RDMA network is zonal with a subnet per interface; other fabrics have a VPC per interface.
    """
    fabric = _fabric_of(intent)
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


def _subnet_bits(intent: Intent) -> int:
    """Return how many bits longer a GPU subnet's prefix is than the range's."""
    return (len({one.subnet for one in _networks(intent)}) - 1).bit_length()
