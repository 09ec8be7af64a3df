"""Template values for EKS: VPC, subnets and node groups by zone, quotas."""

import re
from itertools import groupby
from math import ceil

from kcheck.config.config import ConfigError
from kcheck.config.numbers import fabrics, machines
from kcheck.config.numbers.profiles import limits, settings
from kcheck.generate import jobs, monitoring, ranges, recommended
from kcheck.generate.intent import Intent, label
from kcheck.generate.jobs import FileSystem
from kcheck.generate.manifests import autoscaler_chart
from kcheck.generate.pools import Pool, system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.generate.readme import QuotaRequest
from kcheck.text.units import GIB_IN_TIB

_BLOCK = 16
"""Shortest prefix of a VPC block and of a subnet.

https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
"""
_PUBLIC = 26
"""Prefix of public subnets, which have only NAT gateways and load balancers."""
_SERVICES = 16


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:  # noqa: ARG001 - as of every cloud
    """List the ranges: a private and a public subnet per zone, and Services.

    Raises ConfigError if it is unknown how many addresses a node takes.
    """
    unknown = next((name for name in intent.machines if machines.interfaces(intent.cloud, name) is None), None)
    if unknown is not None:
        raise ConfigError(f"machines: kcheck does not know how many addresses a node of {unknown} takes")
    private = [Slot(f"private {zone}", "the VPC", least=24, most=_BLOCK) for zone in intent.zones]
    public = [Slot(f"public {zone}", "the VPC", prefix=_PUBLIC) for zone in intent.zones]
    return [*private, *public, Slot("services", prefix=_SERVICES, routed=False)]


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:
    """Return the template values for EKS."""
    inner = [layout.ranges[slot.name] for slot in slots(intent, pools) if slot.network]
    machine, files, usual = machines.machine(intent.cloud, intent.machine), lustre(intent), recommended.values("eks")
    size, mills = files.capacity if files else 0, int(usual["storage.price"])
    return {
        "blocks": ranges.parts(layout.networks["the VPC"], _BLOCK, inner),
        "zones": [
            {"name": zone, "letter": label(zone), "private": layout.ranges[f"private {zone}"],
             "public": layout.ranges[f"public {zone}"]}
            for zone in intent.zones
        ],
        "ami": _ami(intent), "efa_cards": efa_cards(intent), "interfaces": 1 + len(efa_cards(intent)),
        "node_addresses": 1 + int(usual["cni.minimum"]), "node_pools": node_pools(pools),
        "zoned_spot": intent.autoscaler == "cluster-autoscaler" and any(p.spot and len(p.zones) > 1 for p in pools),
        "autoscaler_chart": autoscaler_chart(intent), **_most(intent), "dns_autoscaler": False,
        "autoscaler_pods": intent.autoscaler != "none", "vpc_cni": True, "charts": True,
        "docker_hub": f"{_registry(intent)}/{intent.name}-hub", "repository": _repository(intent),
        "nvme": bool(machine and machine.nvme), "lustre": files, "storage_requests": _requests(intent, files),
        "checkpoint_zone": label(pools[0].zones[0]),
        "checkpoint_size": size, "checkpoint_tebibytes": f"{size / GIB_IN_TIB:.1f}",
        "checkpoint_price": f"{mills / 1000:.2f}", "checkpoint_dollars": size * mills // 1000,
        "scratch": jobs.scratch(machine.nvme) if machine and len(intent.machines) == 1 else 0,
        "plane_tier": _tier(intent), **({"cache": True} if files else {}),  # whose image is on Docker Hub
    }  # fmt: skip


def _registry(intent: Intent) -> str:
    """Return the account's ECR registry, which holds the Docker Hub cache.

    https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html
    """
    return f"{intent.account}.dkr.ecr.{intent.region}.amazonaws.com"


def _repository(intent: Intent) -> str:
    host, _, path = f"{intent.registry}/{intent.image}".partition("/")
    return path.rpartition(":")[0] if host == _registry(intent) else ""


def efa_cards(intent: Intent) -> range:
    """Return the network cards with EFA of an on-demand node.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    number, fabric = jobs.efa(intent), fabrics.fabric(intent.cloud, intent.machine)
    first = 1 if fabric is not None and fabric.ordinary != fabric.each else 0
    return range(first, first + number)


def node_pools(pools: list[Pool]) -> list[Pool]:
    """Merge pools into Karpenter NodePools, one per market and zone."""
    found = groupby(sorted(pools, key=lambda pool: (pool.spot, pool.zones)), key=lambda pool: (pool.spot, pool.zones))
    every = [list(own) for _, own in found]
    return [own[0]._replace(name=own[0].name.rstrip("0123456789"), nodes=sum(p.nodes for p in own)) for own in every]


def _tier(intent: Intent) -> str:
    """Return the control plane tier for a burst of nodes; empty for small ones."""
    usual, entry = recommended.values(intent.cloud), limits(intent.cloud)["plane.burst"]
    return str(usual["plane.tier"]) if intent.nodes > entry.number // 2 else ""


def _ami(intent: Intent) -> str:
    """Return the AMI type of training nodes, by their processor.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
    """
    arm = all(re.match(r"a1\.|[a-z]+\d+g", name) for name in intent.machines)
    return f"AL2023_{'ARM_64' if arm else 'x86_64'}_{'NVIDIA' if intent.gpus else 'STANDARD'}"


def _most(intent: Intent) -> dict[str, int]:
    """Return the autoscaler's limits of cores and GiB, system nodes included."""
    usual = recommended.values(intent.cloud)
    types = [machines.machine(intent.cloud, name) for name in (*intent.machines, str(usual["system.machine"]))]
    widest = max((one.vcpus or 0 for one in types if one), default=0)
    nodes = intent.nodes + system_nodes(intent)
    return {"most_cores": nodes * widest, "most_memory": nodes * int(usual["autoscaler.memory_each"])}


def lustre(intent: Intent) -> FileSystem | None:
    """Size the file system of an intent; None for machines without EFA.

    Capacity comes in steps: https://docs.aws.amazon.com/fsx/latest/LustreGuide/increase-storage-capacity.html
    """
    if "storage" not in intent.parts or not intent.gpus or fabrics.fabric(intent.cloud, intent.machine) is None:
        return None
    usual = recommended.values(intent.cloud)
    wanted, speed = intent.job_nodes * int(usual["storage.each"]), int(usual["storage.throughput"])
    efa = wanted >= int(usual["storage.efa_from"])
    step = limits(intent.cloud)["fsx.step_efa" if efa else "fsx.step"].number
    capacity = ceil(max(wanted * GIB_IN_TIB / speed, int(usual["storage.size"])) / step) * step
    return FileSystem(capacity, capacity * speed // GIB_IN_TIB, wanted)


def _requests(intent: Intent, files: FileSystem | None) -> list[QuotaRequest]:
    needed = {"fsx.capacity": files.capacity if files else 0, "ebs.gp3": ceil(_disks(intent) / GIB_IN_TIB)}
    known = limits(intent.cloud)
    return [
        QuotaRequest(f"{intent.cloud}.{key}", known[key].code, known[f"{key}_name"].text, amount, known[key].unit)
        for key, amount in needed.items()
        if amount > known[key].number
    ]


def _disks(intent: Intent) -> int:
    """Sum GiB of EBS disks of all nodes and Prometheus."""
    machine, system = machines.machine(intent.cloud, intent.machine), system_nodes(intent)
    own = int(str(recommended.values(intent.cloud)["disk.size"]).removesuffix("Gi"))
    each = settings(intent.cloud)["pool.disk_size"].number if machine and machine.nvme else own
    prometheus = monitoring.monitoring(intent, intent.nodes + system)
    return intent.nodes * each + system * own + prometheus.shards * prometheus.disk
