"""Template values for ACK: VPC, vSwitches and pools by zone, scaling engine."""

import re
from typing import NamedTuple

from kcheck.config.numbers import fabrics, machines
from kcheck.config.numbers.profiles import limits, settings
from kcheck.generate import recommended
from kcheck.generate.intent import Intent, label
from kcheck.generate.jobs import FileSystem, interfaces
from kcheck.generate.pools import Pool, system_nodes
from kcheck.generate.ranges import Layout, Slot

_LARGEST = 16
"""Shortest prefix of a vSwitch.

https://github.com/aliyun/terraform-provider-alicloud/blob/v1.289.0/website/docs/r/vswitch.html.markdown
"""
_NODES, _PODS = 24, 22
"""Longest useful prefixes; pods need more addresses because system pods come on top of one per node."""
_FLANNEL = 20
_SERVICES = 16
_REGISTRY = ".cr.aliyuncs.com"
_SUFFIX = "-registry-vpc"
_FLAGS: dict[str, object] = {
    "namespace_labels": {"node-local-dns-injection": "enabled"}, "device_plugin": False, "node_local_dns": False,
}  # fmt: skip


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:  # noqa: ARG001 - as of every cloud
    """List the ranges of vSwitches for nodes and pods, and of Services."""
    nodes = [Slot(f"nodes {zone}", "the VPC", least=_NODES, most=_LARGEST) for zone in intent.zones]
    services = Slot("services", prefix=_SERVICES, routed=False)
    if checkpoints(intent) is not None:
        nodes.append(Slot("storage", "the VPC", prefix=int(recommended.values(intent.cloud)["storage.subnet"])))
    if intent.mode == "flannel":
        return [*nodes, Slot("pods", routed=False, least=_FLANNEL), services]
    pods = [Slot(f"pods {zone}", "the VPC", least=_PODS, most=_LARGEST) for zone in intent.zones]
    return [*nodes, *pods, services]


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:
    """Return the template values for ACK."""
    usual, numbers, files = recommended.values(intent.cloud), limits(intent.cloud), checkpoints(intent)
    return {
        "vpc": layout.networks["the VPC"],
        "zones": [
            {"name": zone, "letter": label(zone), "nodes": layout.ranges[f"nodes {zone}"],
             "pods": layout.ranges.get(f"pods {zone}", "")}
            for zone in intent.zones
        ],
        "release": _release(intent), "plane": _plane(intent),
        "nftables": intent.minor >= int(usual["proxy.nftables_from"]), "engine": _engine(pools),
        "after_add": f"{numbers['autoscaler.delay_after_add'].number // 60}m",
        "disk": str(numbers["disk.fast"].value),
        "training_disk": _training_disk(intent), "training_image": _training_image(intent),
        "pod_addresses": numbers["terway.least_pod_addresses"].number
        + settings(intent.cloud)["terway.idle_pool"].number, "node_addresses": _node_addresses(intent),
        "no_quota": _no_quota(intent), "pull_minutes": _pull_minutes(intent), "refused": _refused(intent),
        "price_cap": "" if intent.price_cap is None else intent.cap, "registry": _registry(intent),
        "docker_hub": intent.registry.partition("/")[0] if _registry(intent) else "", "hub_images": _hub_images(intent),
        "mainland": re.fullmatch(str(usual["registry.mainland"]), intent.region) is not None, "cpfs": files,
        "parallel_regions": _regions(str(usual["storage.parallel"])),
        "checkpoint_class": usual["storage.parallel_class"] if files else "",
        "checkpoint_size": files.capacity if files else 0, **_FLAGS,
    }  # fmt: skip


def checkpoints(intent: Intent) -> FileSystem | None:
    """Size CPFS for the usual GPU job; None without GPUs or where it is not sold."""
    usual = recommended.values(intent.cloud)
    sold = re.fullmatch(str(usual["storage.parallel"]), intent.region)
    if not sold or not intent.gpus or "storage" not in intent.parts:
        return None
    each, step, fastest = (int(usual[f"storage.{name}"]) for name in ("speed", "step", "fastest"))
    wanted = intent.job_nodes * int(usual["storage.write"])
    needed = max(int(usual["storage.least"]), -(-min(wanted, fastest) * 1000 // each))
    capacity = -(-needed // step) * step
    return FileSystem(capacity, min(capacity * each // 1000, fastest), wanted)


def _regions(pattern: str) -> str:
    """Format a region pattern like `cn-(hangzhou|beijing)` for people."""
    first, _, rest = pattern.rstrip(")").partition("(")
    *some, last = (first + name for name in rest.split("|"))
    return f"{', '.join(some)} and {last}"


def _release(intent: Intent) -> str:
    usual = recommended.values(intent.cloud)
    return str(usual.get(f"release.minor{intent.minor}", f"{intent.kubernetes}.{usual['release.patch']}"))


def _training_image(intent: Intent) -> str:
    usual = recommended.values(intent.cloud)
    arm = all(re.fullmatch(str(usual["image.arm_machines"]), name) for name in intent.machines)
    return str(usual["image.arm" if arm else "image.type"])


def _no_quota(intent: Intent) -> list[str]:
    spot = intent.spot_nodes == intent.nodes
    return [
        name
        for name in intent.machines
        if all(quota.counts == "nodes" for quota in machines.quotas(intent.cloud, name, spot=spot))
    ]


def _pull_minutes(intent: Intent) -> int:
    """Estimate the minutes until all nodes have pulled an image through NAT."""
    usual = recommended.values(intent.cloud)
    megabits = intent.nodes * int(usual["nat.image"]) * 8
    return -(-megabits // (len(intent.zones) * int(usual["nat.bandwidth"]) * 60))


def _node_addresses(intent: Intent) -> int:
    """Return the vSwitch addresses per training node."""
    found = [fabrics.fabric(intent.cloud, name) for name in intent.machines]
    cards = [one.interfaces for one in found if one is not None]
    return max(cards) if interfaces(intent).number else 1


def _refused(intent: Intent) -> str:
    """Return why ACK cannot use one of the machine types; empty if it can."""
    pattern = str(recommended.values(intent.cloud)["image.confidential"])
    found = [name for name in intent.machines if re.fullmatch(pattern, name)]
    return f"{found[0]}: {recommended.reasons(intent.cloud)['image.confidential']}" if found else ""


def _training_disk(intent: Intent) -> str:
    """Return a system disk category that all training machines support."""
    numbers = limits(intent.cloud)
    older = any(re.match(numbers["disk.not_for"].text, name) for name in intent.machines)
    return str(recommended.values(intent.cloud)["disk.older"] if older else numbers["disk.fast"].value)


def _plane(intent: Intent) -> str:
    usual, burst = recommended.values(intent.cloud), limits(intent.cloud)["plane.burst"].number
    target = intent.nodes + system_nodes(intent)
    if target > int(usual["plane.large_from"]):
        return "large"
    return "tier" if target > burst else "usual"


def _engine(pools: list[Pool]) -> str:
    numbers = limits("ack")
    few = len(pools) <= numbers["autoscaler.pools"].number
    small = max(pool.nodes for pool in pools) <= numbers["autoscaler.nodes"].number
    return "small" if few and small else "large"


class Registry(NamedTuple):
    """Container Registry instance that the cluster pulls from."""

    host: str
    instance: str
    namespace: str
    repository: str


def _registry(intent: Intent) -> Registry | None:
    """Parse the registry and image of an intent; None if outside ACR or its region.

    https://www.alibabacloud.com/help/en/acr/developer-reference/api-cr-2018-12-01-struct-routeitem
    """
    host, _, _ = intent.registry.partition("/")
    name, _, region = host.removesuffix(_REGISTRY).partition(f"{_SUFFIX}.")
    path = f"{intent.registry}/{intent.image}".partition("/")[2].rpartition(":")[0]
    namespace, _, repository = path.partition("/")
    if not host.endswith(_REGISTRY) or region != intent.region or not repository:
        return None
    return Registry(host, name, namespace, repository)


def _hub_images(intent: Intent) -> dict[str, str]:
    """Map Docker Hub images to copy into the registry to tag patterns."""
    usual = recommended.values(intent.cloud)
    wanted: dict[str, str] = {}
    if intent.scheduler == "volcano":
        wanted |= dict.fromkeys(str(usual["registry.hub_of_volcano"]).split(", "), f"v{usual['chart.volcano']}")
    if intent.scheduler != "none" and not interfaces(intent).number:
        wanted[str(usual["registry.hub_of_mpi"])] = str(usual["chart.mpi"])
    return wanted or {str(usual["registry.hub"]): ".*"}
