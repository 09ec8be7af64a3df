"""Template values for GKE: one subnet with ranges for pods and Services, a NAT gateway, pools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kcheck.clouds.gke import machines as own
from kcheck.clouds.gke import outbound
from kcheck.clouds.registry import cloud
from kcheck.config.config import ConfigError
from kcheck.generate import recommended
from kcheck.generate.pools import system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.numbers import fabrics, machines
from kcheck.numbers.profiles import limits
from kcheck.source.ip_ranges import sufficient_prefix

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool
    from kcheck.numbers.fabrics import Fabric


class TrainingPool(NamedTuple):
    """A node pool as GKE has it: of one machine type."""

    name: str
    zones: tuple[str, ...]
    nodes: int
    spot: bool
    machine: str


class Machine(NamedTuple):
    """Template values of a machine type; `accelerator` is empty without GPUs."""

    name: str
    accelerator: str
    gpus: int
    local_ssds: int
    disk_type: str
    disk_size: int


class Network(NamedTuple):
    """A network of a node for its GPUs, and the interface of a pod in it."""

    name: str
    interface: str


class Quota(NamedTuple):
    """A quota in the Cloud Quotas API: its id, whether it is regional, its dimensions."""

    id: str
    region: bool
    key: str = ""
    value: str = ""


class Gateway(NamedTuple):
    """The NAT gateway: nodes, public addresses, and ports per node."""

    nodes: int
    addresses: int
    ports: int


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:
    """Ranges of nodes, pods and Services, all in one subnet."""
    services = int(recommended.values(intent.cloud)["network.services"])
    found = [Slot("nodes", least=24), Slot("pods", least=21, most=9), Slot("services", prefix=services)]
    fabric = own_networks(intent)
    if fabric is None:
        return found
    each = recommended.with_growth("any", sum(one.nodes for pool in pools for one in _of_one_type(pool)))
    size = sufficient_prefix(each, limits(intent.cloud)["subnet.reserved"].number)
    return [*found, Slot("gpu", prefix=size - (fabric.interfaces - 1).bit_length(), routed=False)]


def own_networks(intent: Intent) -> Fabric | None:
    """The fabric of all machines, where jobs have several nodes and each interface takes a network of its own."""
    found = {fabrics.fabric(intent.cloud, machine) for machine in intent.machines}
    one = found.pop() if len(found) == 1 else None
    alone = one is not None and re.fullmatch(str(recommended.values(intent.cloud)["pools.networks"]), one.name)
    return one if alone and intent.gpus and intent.job_nodes > 1 else None


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:  # noqa: ARG001 - as of every cloud
    """The pools by machine type, the gateway, the repositories, and fixed settings of GKE."""
    usual, total = recommended.values(intent.cloud), intent.nodes + system_nodes(intent)
    own = [one for pool in pools for one in _of_one_type(pool)]
    few = limits("any")["gpu_node.pods"].number
    fabric = own_networks(intent)
    networks = [Network(f"gpu-{i}", f"eth{i + 1}") for i in range(fabric.interfaces if fabric else 0)]
    host = f"{intent.region}-docker.pkg.dev/{intent.account}/"
    return {
        "training_pools": own,
        "training_machines": [_machine(name, intent) for name in intent.machines],
        "gateway": gateway(sum(pool.nodes for pool in own) + system_nodes(intent), intent.cloud),
        "training_pods": few, "training_block": cloud("gke").pod_block(few),
        "system_block": cloud("gke").pod_block(int(usual["system.pods"])),
        "together": intent.job_nodes > 1 and re.search(str(usual["pools.placement"]), intent.machine) is not None,
        "parallel_upgrades": limits(intent.cloud)["pool.parallel_upgrades"].number,
        "direct": intent.job_nodes > 1 and re.search(str(usual["pools.direct"]), intent.machine) is not None,
        "gpu_networks": networks, "gpu_gbits": fabric.gbits if fabric else 0,
        "gpu_bits": (len(networks) - 1).bit_length(),
        "scaled": total > int(usual["cluster.scale"]), "unsupported": total > int(usual["cluster.autoscaled"]),
        "taint_value": "present" if intent.gpus else "true",
        "repository": intent.registry.removeprefix(host) if intent.registry.startswith(host) else "",
        "docker_hub": f"{host}docker-hub",
        "quota_of": quota, "direct_source": recommended.entries(intent.cloud)["pools.direct"].sources[0],
        "device_plugin": False, "node_local_dns": False, "dns_autoscaler": False,
    }  # fmt: skip


def gateway(nodes: int, cloud: str) -> Gateway:
    """Public addresses for the ports of all nodes, with room to grow."""
    usual, room = recommended.values(cloud), limits(cloud)["snat.ports_per_address"].number
    grown = recommended.with_growth(cloud, nodes)
    return Gateway(grown, outbound.nat_addresses(int(usual["nat.ports"]), grown, room) or 0, room)


def quota(code: str) -> Quota:
    """The id of a quota of Compute Engine whose code is `N2_CPUS` or `CPUS_PER_VM_FAMILY vm_family=C3D`.

    https://docs.cloud.google.com/docs/quotas/terminology: the quotas of a region are called NAME-per-project-region.
    """
    name, _, dimension = code.partition(" ")
    words = name.replace("_", "-")
    if words.endswith("ALL-REGIONS"):
        return Quota(f"{words}-per-project", region=False)
    key, _, value = dimension.partition("=")
    return Quota(f"{words}-per-project-region", region=True, key=key, value=value)


def _of_one_type(pool: Pool) -> list[TrainingPool]:
    """A pool for each of its machine types: any of them may be available."""
    several = len(pool.machines) > 1
    return [
        TrainingPool(f"{pool.name}-{machine}" if several else pool.name, pool.zones, pool.nodes, pool.spot, machine)
        for machine in pool.machines
    ]


def _machine(name: str, intent: Intent) -> Machine:
    """The template values of a node pool's machine type.

    Raises:
        ConfigError: it should have GPUs, and has none of its own, or it is unknown how Google calls them.
    """
    usual, ssds = recommended.values(intent.cloud), own.local_ssds(name)
    count = machines.gpus(intent.cloud, name) or intent.gpus
    accelerator = own.accelerator(name) or ""
    if count and not accelerator:
        raise ConfigError(f"machines: {name} has no built-in GPUs; kcheck does not generate attached ones")
    hyperdisk = re.search(str(limits(intent.cloud)["disk.not_for"].value), name)
    disk = str(usual["pools.disk"] if hyperdisk else limits(intent.cloud)["disk.fast"].value)
    size = int(usual["disk.beside" if ssds else "disk.alone"])
    return Machine(name, accelerator, count, ssds, disk, size)
