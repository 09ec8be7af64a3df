"""Template values for self-managed clusters."""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from kcheck.config.config import ConfigError
from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits
from kcheck.generate import jobs, recommended
from kcheck.generate.intent import Intent
from kcheck.generate.manifests import autoscaler_chart
from kcheck.generate.pools import Pool, evenly, system_nodes
from kcheck.generate.ranges import Layout, Slot
from kcheck.generate.recommended import control_nodes
from kcheck.inventory.clouds.registry import cloud
from kcheck.inventory.clouds.selfmanaged.clusters import ZONE
from kcheck.model import Cluster, Manifest, Raw
from kcheck.text.syntax import yaml

_CLOUD = "selfmanaged"
_SERVICES = 16
_EVENTS_MEMBERS = ("events-1", "events-2", "events-3")


class Control(NamedTuple):
    """Control plane machines with API server and etcd; sizes in GB."""

    nodes: int
    vcpus: int
    memory: int
    disk: int


class Neighbours(NamedTuple):
    """Kernel's neighbour table: thresholds of garbage collection."""

    keep: int
    soft: int
    most: int


def slots(intent: Intent, pools: list[Pool]) -> list[Slot]:  # noqa: ARG001 - as of every cloud
    """List the ranges of pods and Services; both exist inside the cluster only.

    Raises ConfigError if fields contradict each other.
    """
    _check(intent)
    return [Slot("pods", routed=False, least=22), Slot("services", prefix=_SERVICES, routed=False)]


def context(intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:  # noqa: ARG001
    """Return the template values for self-managed clusters."""
    usual, entries, why = recommended.values(_CLOUD), limits(_CLOUD), recommended.reasons(_CLOUD)
    target = intent.nodes + system_nodes(intent)
    beyond = {f"{_CLOUD}.cluster.nodes": why["intent.most"]} if target > entries["cluster.nodes"].number else {}
    host, _, path = intent.registry.partition("/")
    return {
        "control": control(intent), "own_nodes": system_nodes(intent) - control(intent).nodes,
        "beyond": beyond, "endpoint": f"api.{_domain(intent)}",
        "node_mask": cloud("selfmanaged").pod_block(int(usual["kubelet.max_pods"])), "inflight": inflight(target),
        "because": {
            "inflight": entries["apiserver.inflight_nodes"].note.rstrip("."),
            "quota": entries["etcd.quota"].note.rstrip("."),
        },
        "events_apart": target > entries["etcd.events_apart"].number, "neighbours": neighbours(target),
        "backlog": backlog(target), "kubelets_name_dns": True, "events_url": _events(intent),
        "events_names": [f"{name}.{_domain(intent)}" for name in _EVENTS_MEMBERS],
        "events_members": ",".join(f"{name}=https://{name}.{_domain(intent)}:2380" for name in _EVENTS_MEMBERS),
        "registry_host": host, "own_etcd": True, "etcd_in_pods": intent.installer != "kubespray", "own_machines": True,
        "registry_path": "/".join(filter(None, ("v2", path, "docker-hub"))),
        **_machines(intent),
        **(_kubespray(intent) if intent.installer == "kubespray" else {}),
    }  # fmt: skip


def _zones(intent: Intent) -> dict[str, list[tuple[str, int, int]]]:
    """Split the machines of each role evenly over zones, as first and last number."""
    members, zones = control(intent).nodes, {name: list[tuple[str, int, int]]() for name in intent.zones}
    sizes = {"control": members, "system": system_nodes(intent) - members, "training": intent.nodes}
    for role, size in sizes.items():
        ends = accumulate(evenly(size, len(zones)), initial=0)
        for ranges, (before, last) in zip(zones.values(), pairwise(ends), strict=True):
            if last > before:
                ranges.append((role, before + 1, last))
    return zones


def _kubespray(intent: Intent) -> dict[str, object]:
    """Return kubespray's version, machines by zone, and the parts it brings.

    Raises ConfigError if it does not support the version of Kubernetes.
    """
    usual = recommended.values(_CLOUD)
    known = str(usual["kubespray.versions"]).split(", ")
    version = next((one for one in known if one.rpartition(".")[0] == intent.kubernetes), None)
    if version is None:
        release = usual["kubespray.release"]
        raise ConfigError(f"kubernetes: kubespray {release} has {', '.join(known)}; use one, or another installer")
    return {"kube_version": version, "zones": _zones(intent), "node_local_dns": False, "dns_autoscaler": False}


def _machines(intent: Intent) -> dict[str, object]:
    """Return values of training machines for Cluster API and the autoscaler."""
    usual = recommended.values(_CLOUD)
    vcpus = jobs.vcpus(intent) or max(intent.gpus, 1) * int(usual["job.vcpus"])
    each = int(usual["job.memory_gpu" if intent.gpus else "job.memory_cpu"])
    found, model = machines.memory(_CLOUD, intent.machine), machines.machine(_CLOUD, intent.machine)
    nodes = intent.nodes + system_nodes(intent)
    scratch = jobs.scratch(model.nvme) if model is not None else 0
    return {
        "image": _image(intent, intent.name),
        "training_image": _image(intent, f"{intent.name}-training" if intent.gpus or scratch else intent.name),
        "scratch": scratch, "node_cpus": vcpus, "dns_cores": int(usual["dns.most"]) * vcpus,
        "unhealthy_minutes": int(usual["capi.unhealthy"]) // 60,
        "card_networks": ",".join(["default/infiniband"] * jobs.interfaces(intent).number),
        "node_memory": found >> 30 if found else vcpus * each,
        "least": int(usual["capi.least"]) if jobs.interfaces(intent).number else 0,
        "autoscaler_chart": autoscaler_chart(intent) if intent.autoscaler == "cluster-autoscaler" else "",
        "most_cores": nodes * max(vcpus, control(intent).vcpus),
        "most_memory": nodes * int(usual["autoscaler.memory_each"]),
    }  # fmt: skip


def _image(intent: Intent, name: str) -> str:
    usual = recommended.values(_CLOUD)
    return str(usual["capi.image"]).format(region=intent.region, name=name, kubernetes=f"{intent.kubernetes}.0")


def _domain(intent: Intent) -> str:
    return f"{intent.name}.{intent.region}.internal"


def _events(intent: Intent) -> str:
    """Return the URLs of the etcd for events."""
    if intent.installer == "cluster-api":
        return ";".join(f"https://{name}.{_domain(intent)}:2379" for name in _EVENTS_MEMBERS)
    return "https://127.0.0.1:2382"


def _check(intent: Intent) -> None:
    if intent.autoscaler != "none" and intent.installer != "cluster-api":
        raise ConfigError(f"autoscaler: {intent.installer} adds no machines; use installer: cluster-api, or none")
    if intent.fabric != "none" and not intent.gpus:
        raise ConfigError(f"network.fabric: {intent.fabric} is for machines with GPUs; use none")
    if intent.cards and intent.fabric == "none":
        raise ConfigError("network.cards: name the network between the GPUs with network.fabric, too")
    if intent.fabric in BY_CARDS and not intent.cards:
        raise ConfigError(f"network.cards: list the cards of {intent.fabric}; a machine has other cards, too")


def control(intent: Intent) -> Control:
    """Size the control plane of a cluster.

    vCPUs by nodes: https://github.com/kubernetes/kubernetes/blob/v1.33.0/cluster/gce/config-common.sh
    """
    usual = recommended.values(_CLOUD)
    steps = (step.split(" ") for step in str(usual["control.vcpus"]).split(", "))
    cores = max(int(count) for least, count in steps if intent.nodes > int(least))
    return Control(
        control_nodes(_CLOUD, intent.nodes), cores, cores * int(usual["control.memory"]), int(usual["control.disk"])
    )


def inflight(target: int) -> dict[str, int]:
    """Return the API server's requests in flight; empty if defaults suffice."""
    usual, entries = recommended.values(_CLOUD), limits(_CLOUD)
    if target <= entries["apiserver.inflight_nodes"].number:
        return {}
    if target <= int(usual["apiserver.large"]):
        return {
            "reads": entries["apiserver.reads_inflight"].number,
            "writes": entries["apiserver.writes_inflight"].number,
        }
    return {"reads": int(usual["apiserver.reads"]), "writes": int(usual["apiserver.writes"])}


def neighbours(target: int) -> Neighbours:
    """Size the neighbour table of a node: the kernel's default plus entries per node."""
    usual = recommended.values(_CLOUD)
    most = limits(_CLOUD)["arp.entries"].number + target * int(usual["arp.each"])
    return Neighbours(most * int(usual["arp.keep"]) // 100, most * int(usual["arp.soft"]) // 100, most)


def backlog(target: int) -> int:
    """Return the listen backlog: a power of two, at least the kubelets."""
    return max(int(recommended.values(_CLOUD)["kernel.backlog"]), 1 << (target - 1).bit_length())


# --- the code of an existing cluster

RAW = Raw(kinds=frozenset({"Metal3MachineTemplate", "NicClusterPolicy", "ResourceFlavor", "SriovNetworkNodePolicy"}))
"""Objects to keep as written, beyond those that rules need."""

BY_CARDS = ("roce", "infiniband-sriov")
"""GPU networks whose cards must be named."""

_PLACES = {
    "ResourceFlavor": ("spec", "nodeLabels", ZONE),
    "Metal3MachineTemplate": ("spec", "template", "spec", "hostSelector", "matchLabels", ZONE),
}


def beside(cluster: Cluster, objects: Iterable[Manifest]) -> list[Manifest]:
    """List the objects in the folder of a cluster and its subfolders."""
    return [one for one in objects if cluster.root == "." or one.place.source.path.startswith(f"{cluster.root}/")]


def zones(objects: Iterable[Manifest]) -> list[str]:
    """List the zones named in queues and machine templates."""
    return sorted({yaml.text(one.tree, *_PLACES[one.kind]) for one in objects if one.kind in _PLACES} - {""})


def cards(objects: Iterable[Manifest], resource: str) -> list[str]:
    """List the interfaces that NVIDIA's network operator offers to pods."""
    return list(dict.fromkeys(name for one in objects for name in _cards(one, resource.rpartition("/")[2])))


def _cards(item: Manifest, resource: str) -> Iterator[str]:
    if yaml.text(item.tree, "spec", "resourceName") == resource:
        yield from (one.text for one in yaml.scalars(item.tree, "spec", "nicSelector", "pfNames"))
    config = yaml.text(item.tree, "spec", "rdmaSharedDevicePlugin", "config")
    if config:
        try:
            listed = [one for one in json.loads(config)["configList"] if one["resourceName"] == resource]
            yield from (str(name) for one in listed for name in one.get("selectors", {}).get("ifNames", ()))
        except (ValueError, KeyError, TypeError, AttributeError):
            return
