"""Template values for AKS: one subnet behind a NAT gateway, pools by zone."""

from math import ceil
from typing import NamedTuple, TypedDict

from kcheck.config.config import ConfigError
from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits, load_own
from kcheck.config.numbers.retirements import find
from kcheck.generate import jobs, recommended
from kcheck.generate.intent import Intent, letters_of
from kcheck.generate.jobs import FileSystem
from kcheck.generate.manifests import PROVISIONING, dns_replicas
from kcheck.generate.pools import Pool, in_scale_set, system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.inventory.clouds.aks import pools as sizes
from kcheck.scale import deletion
from kcheck.text.units import GIB_IN_TIB

_SPOT_KEY, _SPOT = "kubernetes.azure.com/scalesetpriority", "spot"
"""Taint and label that AKS puts on spot nodes (https://learn.microsoft.com/azure/aks/spot-node-pool)."""
_REGISTRY = ".azurecr.io"
_VAULT = 24
"""Maximum name length of a Key Vault.

https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
"""


class Market(NamedTuple):
    """Karpenter's limits for a market: nodes, GPUs and CPUs."""

    name: str
    machines: tuple[str, ...]
    nodes: int
    gpus: int
    vcpus: int


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:  # noqa: ARG001 - as of every cloud
    """List the node subnet and the cluster's ranges for Services and pods.

    Raises ConfigError if Azure or Karpenter cannot provide the intent.
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
    """Raise ConfigError for zones, machines and settings that AKS cannot have."""
    usual, why = recommended.values("aks"), recommended.reasons("aks")
    for machine in intent.machines:
        if any(part in machine for part in str(usual["intent.not_nvidia"]).split(", ")):
            raise ConfigError(f"machines: {machine} has no NVIDIA GPUs; {why['intent.not_nvidia']}")
    if intent.autoscaler == "karpenter" and intent.job_nodes > 1:
        for machine in filter(sizes.fabric, intent.machines):
            told = f"InfiniBand of {machine} joins machines of one scale set, and Karpenter's are in none"
            raise ConfigError(f"autoscaler: {told}; use managed, or jobs of one node")
    if in_scale_set(intent) and intent.job_nodes > (most := limits("aks")["pool.in_fabric"].number):
        told = f"InfiniBand joins {most} nodes of {intent.machine} at most, one scale set"
        raise ConfigError(f"job.nodes: {intent.job_nodes:,} are too many: {told}")
    if intent.autoscaler == "karpenter" and intent.price_cap is not None:
        raise ConfigError("spot.price_cap: Karpenter pays up to the on-demand price and has no cap; use managed")
    for zone in intent.zones:
        if not zone.isdigit():
            raise ConfigError(f"zones: {zone} is not a zone of Azure; zones are 1, 2 and 3")


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:  # noqa: ARG001 - as of every cloud
    """Return the template values for AKS."""
    found, vcpus = groups(pools), limits("aks")["disk.vcpus"].number
    ephemeral = {one.machine: bool(sizes.ephemeral(one.machine, vcpus)) for one in found}
    fabric = any(sizes.fabric(machine) for machine in intent.machines)
    whole = fabric and any(pool.nodes >= intent.job_nodes for pool in pools)
    nodes = sum(group.nodes for group in found) + system_nodes(intent)
    short, private = letters_of(intent.name), not intent.api_ranges
    new_registry = intent.registry if intent.registry.endswith(_REGISTRY) and "/" not in intent.registry else ""
    ended, share = find("aks", "network_plugin", "kubenet")[0], deletion.percentage(len(intent.zones))
    found_prices = (machines.price("aks", one, spot=False, region=intent.region) for one in intent.machines)
    prices = [price for price in found_prices if price]
    return {
        "groups": found, **_nat(intent.region, nodes), "fabric": fabric, "whole": whole,
        "largest": max(pool.nodes for pool in pools),
        "topology": _topology(intent.machine) if jobs.interfaces(intent).number else None, "lustre": lustre(intent),
        "private": private, "markets": markets(intent), "kinds": len(ephemeral) > 1,
        "ephemeral": ephemeral, "disks": sorted(set(ephemeral.values())), "scratch": scratch(intent, ephemeral),
        "managed_disk": max((sizes.managed_disk(name) or 0 for name in ephemeral if not ephemeral[name]), default=0),
        "drain_minutes": drain(intent.job_hours), "drain_reason": _drain_reason(intent.job_hours),
        "patches": intent.spot_nodes == 0 or intent.autoscaler == "karpenter",
        "registry_name": new_registry.removesuffix(_REGISTRY),
        "docker_hub": new_registry and f"{new_registry}/docker-hub",
        "vault": f"{short[: _VAULT - 1 - len(intent.unique)]}-{intent.unique}", "nodes_at_most": nodes,
        "deletion": batch(nodes), "pause_percentage": share,
        "pause_nodes": deletion.tolerated(nodes, batch(nodes), share),
        "cap_is_low": any((intent.price_cap or one.mills) < one.mills for one in prices),
        "nap_zones": [jobs.zone(intent, zone) for zone in intent.zones],
        "refused": f"kubenet stops being supported on AKS on {ended.ends}" if intent.mode == "kubenet" else "",
        "accelerated": intent.gpus > 0, "gpus_after": jobs.interfaces(intent).number > 0,
        "dns_ladder": dns_ladder(dns_replicas(intent)),
        "provisioning_class": PROVISIONING if intent.autoscaler == "managed" and (whole or not fabric) else "",
        "charts": not private, "node_local_dns": False, "dns_autoscaler": False,
        "spot_taint": {"key": _SPOT_KEY, "value": _SPOT, "effect": "NoSchedule"},
    }  # fmt: skip


def _nat(region: str, nodes: int) -> dict[str, object]:
    usual = recommended.values("aks")
    sku = "Standard" if region in str(usual["nat.zonal"]).split(", ") else "StandardV2"
    bits = prefix(nodes * int(usual["nat.ports"]))
    return {"nat_sku": sku, "nat_prefix": bits, "nat_addresses": 1 << (32 - bits)}


def scratch(intent: Intent, ephemeral: dict[str, bool]) -> int:
    """Return GiB of local disk that a pod may fill; 0 if unknown.

    The local disk is the boot disk, shared by all emptyDirs.
    """
    share = int(recommended.values("aks")["job.scratch"])
    if intent.autoscaler != "managed" or not all(ephemeral.values()):
        return 0
    return min(sizes.temporary(machine) for machine in intent.machines) * share // 100


def groups(pools: list[Pool]) -> list[Pool]:
    """Split pools by machine type, with names of up to 12 letters and digits.

    Each can hold all nodes, because availability is unknown.
    """
    result = []
    for pool in pools:
        for i, machine in enumerate(pool.machines):
            kind = chr(ord("a") + i) if len(pool.machines) > 1 else ""
            result.append(pool._replace(name=letters_of(pool.name) + kind, machines=(machine,)))
    return result


def markets(intent: Intent) -> list[Market]:
    """List the on-demand and spot limits, based on the smallest machine."""
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
    """Return the prefix length of public addresses for this many ports."""
    usual = recommended.values("aks")
    wanted = ceil(ports / int(usual["nat.ports_each"]))
    count = min(max(wanted, int(usual["nat.least"])), int(usual["nat.most"]))
    return 32 - (count - 1).bit_length()


def dns_ladder(most: int) -> list[list[int]]:
    """List the steps of the CoreDNS autoscaler: node threshold and replicas."""
    usual = recommended.values("aks")
    each, more = int(usual["dns.most"]), int(usual["dns.rung"])
    found = [[1, int(usual["dns.least"])]]
    while found[-1][1] < most:
        replicas = found[-1][1]
        found.append([replicas * each + 1, min(most, replicas + max(1, replicas * more // 100))])
    return found


def drain(hours: int) -> int:
    """Return the drain timeout in minutes: the length of a job, within AKS' bounds."""
    least = limits("aks")["upgrade.drain_timeout"].number // 60
    return max(least, min(hours * 60, int(recommended.values("aks")["upgrade.drain_most"])))


def _drain_reason(hours: int) -> str:
    usual = recommended.values("aks")
    if hours * 60 > int(usual["upgrade.drain_most"]):
        return f"{recommended.reasons('aks')['upgrade.drain_most']}, and jobs run longer"
    return "as long as a job runs, if a budget keeps it from being evicted"


def batch(nodes: int) -> int:
    """Return a deletion batch that removes all nodes in few slow loops."""
    return ceil(nodes / int(recommended.values("aks")["autoscaler.batches"]) / 10) * 10


class _Topology(TypedDict):
    """Entry of `topologies.yaml`; only the template reads the rest."""

    machines: list[str]


def _topology(machine: str) -> _Topology | None:
    """Return a VM size's topology for NCCL; None if it exposes its own."""
    topologies: list[_Topology] = load_own("aks", "topologies")["topologies"]
    return next((one for one in topologies if machine.removeprefix("Standard_") in one["machines"]), None)


def lustre(intent: Intent) -> FileSystem | None:
    """Size the checkpoint file system for a job over InfiniBand; else None."""
    if "storage" not in intent.parts or not intent.gpus or not jobs.by_pool(intent):
        return None
    usual = recommended.values(intent.cloud)
    speed, step, most = (int(usual[f"lustre.{key}"]) for key in ("speed", "step", "most"))
    wanted = intent.job_nodes * int(usual["lustre.write"])
    claims = ceil(len(intent.teams) * int(usual["storage.size"]) / GIB_IN_TIB)
    capacity = min(most, step * ceil(max(wanted / speed, claims) / step))
    return FileSystem(capacity, capacity * speed, wanted)
