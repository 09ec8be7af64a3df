"""Template values for AKS: one node subnet behind a NAT gateway, pools by zone and machine type, InfiniBand."""

from __future__ import annotations

import os
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from kcheck.config.config import ConfigError
from kcheck.config.numbers import machines
from kcheck.config.numbers.clouds import folder
from kcheck.config.numbers.profiles import limits
from kcheck.config.numbers.retirements import find
from kcheck.generate import jobs, recommended
from kcheck.generate.intent import letters_of
from kcheck.generate.manifests import PROVISIONING, dns_replicas
from kcheck.generate.pools import in_scale_set, system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.inventory.clouds.aks import machines as sizes
from kcheck.scale import deletion
from kcheck.scale.deletion import sufficient_batch
from kcheck.text import bundled, units
from kcheck.text.units import GIB_IN_TIB

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool

_SPOT_KEY, _SPOT = "kubernetes.azure.com/scalesetpriority", "spot"
"""The taint and the label of AKS' own on spot nodes: https://learn.microsoft.com/azure/aks/spot-node-pool"""
_REGISTRY = ".azurecr.io"
_VAULT = 24
"""Letters of the name of a Key Vault: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules"""


class Group(NamedTuple):
    """A node pool as AKS has it: of one machine type, with a name of up to 12 letters and digits."""

    name: str
    zones: tuple[str, ...]
    nodes: int
    spot: bool
    machine: str
    ephemeral: bool


class Market(NamedTuple):
    """Karpenter's limits for a market: nodes, GPUs, CPUs."""

    name: str
    machines: tuple[str, ...]
    nodes: int
    gpus: int
    vcpus: int


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:  # noqa: ARG001 - as of every cloud
    """The node subnet, and the cluster's ranges for Services and pods.

    Raises:
        ConfigError: what Azure does not have, or what Karpenter cannot give.
    """
    _refuse(intent)
    usual = recommended.values("aks")
    found = [
        Slot("nodes", "the network", least=24),
        Slot("api", "the network", prefix=int(usual["api.prefix"])),
        Slot("services", prefix=int(usual["network.services"]), routed=False),
    ]
    if lustre(intent):
        found.append(Slot("lustre", "the network", prefix=int(usual["lustre.prefix"])))
    return found if intent.mode == "node-subnet" else [*found, Slot("pods", routed=False, least=16)]


def _refuse(intent: Intent) -> None:
    """Refuses zones and machines that AKS does not run training on, and what its autoscalers cannot give."""
    usual, why = recommended.values("aks"), recommended.reasons("aks")
    for machine in intent.machines:
        if any(part in machine for part in str(usual["intent.not_nvidia"]).split(", ")):
            raise ConfigError(f"machines: {machine} has no GPUs of NVIDIA; {why['intent.not_nvidia']}")
    if intent.autoscaler == "karpenter" and intent.job_nodes > 1:
        for machine in filter(sizes.fabric, intent.machines):
            told = f"InfiniBand of {machine} joins machines of one scale set, and Karpenter's are in none"
            raise ConfigError(f"autoscaler: {told}; use managed, or jobs of one node")
    if in_scale_set(intent) and intent.job_nodes > int(usual["pools.in_fabric"]):
        told = f"{usual['pools.in_fabric']} nodes of {intent.machine} at most reach each other over InfiniBand"
        raise ConfigError(f"job.nodes: {intent.job_nodes:,} are too many: {told}, those of one scale set")
    if intent.autoscaler == "karpenter" and intent.price_cap is not None:
        raise ConfigError("spot.price_cap: Karpenter pays up to the on-demand price and has no cap; use managed")
    for zone in intent.zones:
        if not zone.isdigit():
            raise ConfigError(f"zones: {zone} is not a zone of Azure; zones are 1, 2 and 3")


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:  # noqa: ARG001 - as of every cloud
    """The node pools, the addresses of the NAT gateway, and the autoscaler's settings."""
    usual = recommended.values("aks")
    found = groups(pools)
    fabric = any(sizes.fabric(machine) for machine in intent.machines)
    whole = fabric and any(pool.nodes >= intent.job_nodes for pool in pools)
    nodes = sum(group.nodes for group in found) + system_nodes(intent)
    ports = nodes * int(usual["nat.ports"])
    deleted, share = batch(nodes), deletion.percentage(len(intent.zones))
    short, private = letters_of(intent.name), not intent.api_ranges
    return {
        "groups": found,
        "nat_sku": "Standard" if intent.region in str(usual["nat.zonal"]).split(", ") else "StandardV2",
        "nat_prefix": prefix(ports),
        "nat_addresses": 1 << (32 - prefix(ports)),
        "fabric": fabric,
        "whole": whole,
        "scale_set": limits("aks")["pool.quota"].number,
        "largest": max(pool.nodes for pool in pools),
        "topology": _topology(intent.machine) if jobs.interfaces(intent).number else None,
        "lustre": lustre(intent),
        "private": private,
        "markets": markets(intent),
        "kinds": len({group.machine for group in found}) > 1,
        "disks": sorted({group.ephemeral for group in found}),
        "managed_disk": max((sizes.managed_disk(one.machine) or 0 for one in found if not one.ephemeral), default=0),
        "drain_minutes": drain(intent.job_hours),
        "drain_reason": _drain_reason(intent.job_hours),
        "patches": intent.spot_nodes == 0 or intent.autoscaler == "karpenter",
        "registry_name": intent.registry.removesuffix(_REGISTRY) if _is_new(intent.registry) else "",
        "docker_hub": f"{intent.registry}/docker-hub" if _is_new(intent.registry) else "",
        "vault": f"{short[: _VAULT - 1 - len(intent.unique)]}-{intent.unique}",
        "spot_taint": {"key": _SPOT_KEY, "value": _SPOT, "effect": "NoSchedule"},
        "nodes_at_most": nodes,
        "deletion": deleted,
        "pause_percentage": share,
        "pause_nodes": deletion.tolerated(nodes, deleted, share),
        "cap_is_low": _is_low(intent),
        "scratch": scratch(intent, found),
        "nap_zones": [jobs.zone(intent, zone) for zone in intent.zones],
        "refused": _retired() if intent.mode == "kubenet" else "",
        "accelerated": intent.gpus > 0,
        "gpus_after": _driver(intent),
        "node_local_dns": False,
        "dns_autoscaler": False,
        "dns_ladder": dns_ladder(dns_replicas(intent)),
        "provisioning_class": PROVISIONING if intent.autoscaler == "managed" and (whole or not fabric) else "",
        "charts": not private,
    }  # fmt: skip


def scratch(intent: Intent, found: list[Group]) -> int:
    """GiB of the local disk that a pod may fill: it is the boot disk, with all emptyDirs; 0 where it is not known."""
    share = int(recommended.values("aks")["job.scratch"])
    if intent.autoscaler != "managed" or not all(group.ephemeral for group in found):
        return 0
    return min(sizes.temporary(machine) for machine in intent.machines) * share // 100


def groups(pools: list[Pool]) -> list[Group]:
    """Pools by machine type; each can hold all spot nodes, because availability is unknown."""
    vcpus = limits("aks")["disk.vcpus"].number
    result = []
    for pool in pools:
        for i, machine in enumerate(pool.machines):
            kind = chr(ord("a") + i) if len(pool.machines) > 1 else ""
            name, local = letters_of(pool.name) + kind, bool(sizes.ephemeral(machine, vcpus))
            result.append(Group(name, pool.zones, pool.nodes, pool.spot, machine, local))
    return result


def markets(intent: Intent) -> list[Market]:
    """On-demand and spot, with limits based on the smallest machine."""
    result = []
    for name, types, nodes in (
        ("on-demand", intent.machines[:1], intent.nodes - intent.spot_nodes),
        ("spot", intent.machines, intent.spot_nodes),
    ):
        found = [machines.machine("aks", one) for one in types]
        vcpus = min((one.vcpus or 0 if one else 0) for one in found)
        if nodes:
            result.append(Market(name, types, nodes, nodes * intent.gpus, nodes * vcpus))
    return result


def prefix(ports: int) -> int:
    """Prefix length of the public addresses for that many ports, up to the limit of a NAT gateway."""
    usual = recommended.values("aks")
    wanted = ceil(ports / int(usual["nat.ports_each"]))
    count = min(max(wanted, int(usual["nat.least"])), int(usual["nat.most"]))
    return 32 - (count - 1).bit_length()


def dns_ladder(most: int) -> list[list[int]]:
    """Steps of the autoscaler of CoreDNS: from so many nodes on, so many replicas, up to `most`."""
    usual = recommended.values("aks")
    each, more = int(usual["dns.most"]), int(usual["dns.rung"])
    found = [[1, int(usual["dns.least"])]]
    while found[-1][1] < most:
        replicas = found[-1][1]
        found.append([replicas * each + 1, min(most, replicas + max(1, replicas * more // 100))])
    return found


def drain(hours: int) -> int:
    """Drain timeout in minutes: the length of a job, within AKS' bounds."""
    least = limits("aks")["upgrade.drain_timeout"].number // 60
    return max(least, min(hours * 60, int(recommended.values("aks")["upgrade.drain_most"])))


def _drain_reason(hours: int) -> str:
    usual = recommended.values("aks")
    if hours * 60 > int(usual["upgrade.drain_most"]):
        return f"{recommended.reasons('aks')['upgrade.drain_most']}, and jobs run longer"
    return "as long as a job runs, if a budget keeps it from being evicted"


def batch(nodes: int) -> int:
    """Deletion batch that removes all nodes in time; on AKS tainting is slow.

    Where tainting alone takes longer than they may, they may take twice that.
    """
    usual, common = recommended.values("aks"), limits("any")
    qps, goal = common["autoscaler.client_qps"].number, common["autoscaler.deletion_time"].number
    pause = max(units.seconds(str(usual[f"autoscaler.{key}"])) for key in ("scan_interval", "after_delete"))
    return sufficient_batch(nodes, goal, pause, qps) or nodes


def _is_new(registry: str) -> bool:
    """Whether a registry is one of Azure, which is made beside the cluster."""
    return registry.endswith(_REGISTRY) and "/" not in registry


def _is_low(intent: Intent) -> bool:
    """Whether the spot price cap is below the on-demand list price."""
    prices = (machines.price("aks", machine, spot=False) for machine in intent.machines)
    return intent.price_cap is not None and any(found and intent.price_cap < found.mills for found in prices)


def _retired() -> str:
    """Why kubenet is refused at any size."""
    return f"kubenet stops being supported on AKS on {find('aks', 'network_plugin', 'kubenet')[0].ends}"


_PREFIX = "Standard_"


class Condition(NamedTuple):
    """A label that nodes have once something is done, and why others wait for it."""

    label: str
    value: str
    reason: str


class _Processor(TypedDict):
    vendor: str
    family: int
    model: int


class _Cpu(TypedDict):
    affinity: str
    bridges: list[list[str]]


class _Topology(TypedDict):
    machines: list[str]
    processor: _Processor
    link: str
    cpus: list[_Cpu]


class _File(TypedDict):
    topologies: list[_Topology]


class Lustre(NamedTuple):
    """A file system: TiB, its MB/s and those that the usual job wants, and its zone."""

    capacity: int
    speed: int
    wanted: int
    zone: str


def _topology(machine: str) -> _Topology | None:
    """The topology of a VM size as NCCL reads it; None where the machine shows it, or none is published."""
    data: _File = bundled.load(os.path.join(folder("aks"), "topologies.yaml"))
    return next((one for one in data["topologies"] if machine.removeprefix(_PREFIX) in one["machines"]), None)


def _driver(intent: Intent) -> Condition | None:
    """What the network operator labels nodes with when the driver of their InfiniBand is loaded."""
    if not jobs.interfaces(intent).number:
        return None
    label = recommended.values("aks")["infiniband.loaded"]
    return Condition(str(label), "false", recommended.reasons("aks")["infiniband.loaded"])


def lustre(intent: Intent) -> Lustre | None:
    """The file system for checkpoints over InfiniBand: fast enough for a job of GPUs, with room for all claims."""
    if not intent.gpus or not jobs.by_pool(intent):
        return None
    usual = recommended.values(intent.cloud)
    speed, step, most = (int(usual[f"lustre.{key}"]) for key in ("speed", "step", "most"))
    wanted = intent.job_nodes * int(usual["lustre.write"])
    claims = ceil(len(intent.teams) * int(usual["storage.size"]) / GIB_IN_TIB)
    capacity = min(most, step * ceil(max(wanted / speed, claims) / step))
    return Lustre(capacity, capacity * speed, wanted, intent.zones[0])
