"""GKE: the behaviour of its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.reserved import GI, MI, Node, Reserved, eviction, taken
from kcheck.inventory.clouds.cloud import Cloud, Label, Limit, Reference
from kcheck.text.amount import Amount
from kcheck.text.files.configurations import BLUEPRINT
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.model import Cluster, Mirror, NodePool
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance

AUTOPILOT = "autopilot"
"""Tier of clusters whose nodes Google makes."""
_ZONE = regex(r"-[a-z]$")
"""Suffix of a zone's name after its region."""
_SPOT, _PREEMPTIBLE = "cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"


class Gke(Cloud):
    """Google Kubernetes Engine."""

    name = "gke"
    reservation = "google_compute_reservation"
    reservation_ids = r"projects/.+"
    resources = ("google_container_",)
    beside = ("google_compute_network", "google_compute_subnetwork", "google_compute_router_nat")
    extended_plan = "EXTENDED"
    provider = "GCP"
    references = (
        Reference("cluster", ("google_container_cluster",)),
        Reference("network", ("google_compute_network",)),
        Reference("subnetwork", ("google_compute_subnetwork",)),
    )
    cache = "google_artifact_registry_repository"
    autoscaler_provider = "gce"
    label_domains = ("google.com", "gke.io")
    pool_labels = ("cloud.google.com/gke-nodepool",)
    node_ids = "gce://"
    gpu_labels = ("cloud.google.com/gke-accelerator",)
    spot_label = Label(_SPOT, "true")
    spot_labels = (_SPOT, _PREEMPTIBLE)
    admits_asked_resources = True
    taints_gpu_nodes = True
    runs_dns = True
    caches_docker_hub = True
    shares_gateways = True
    zones_of_pools = "region"
    zone_labels = ("topology.gke.io/zone",)
    blueprints = (BLUEPRINT, "blueprints")

    def region(self, location: str) -> str:
        """Return the region of a zone or region."""
        return _ZONE.sub("", location)

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a remote repository of Artifact Registry."""
        fields = Fields(self.name, self.cache, instance)
        if known(fields.text("mode")) != "REMOTE_REPOSITORY":
            return None
        host = f"{known(fields.text('location')) or '<location>'}-docker.pkg.dev"
        parts = (host, known(fields.text("project")) or "<project>", known(fields.text("id")) or "<repository>")
        return self.mirror(root, instance, known(fields.text("upstream")), "", parts)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:  # noqa: ARG002
        """Yield the limits of a cluster, of Autopilot or of a zonal control plane."""
        if equals(cluster.tier, AUTOPILOT):
            yield Limit("cluster-limit", "autopilot.nodes", cluster.tier, "the default of Autopilot")
            pods = cluster.pods_take_addresses
            why = "Autopilot chooses how many pods a node has, and with it how many addresses it takes"
            why = f"{pods.reason}; {why}" if isinstance(pods, Unknown) else why
            yield Limit("pod-range", "pod_range.formula", cluster.tier, unknown=why)
            return
        yield Limit("cluster-limit", "cluster.nodes", cluster.name, "the default; Google raises it on request")
        if known(cluster.zonal):
            text = "Google asks for a regional cluster above it"
            yield Limit("control-plane", "zonal.nodes", cluster.location, text)

    def outbound_nodes(self, ports: int, addresses: int, ports_per_address: int) -> int:
        """Count the nodes that Cloud NAT has ports for: whole nodes on each address.

        https://docs.cloud.google.com/nat/docs/ports-and-addresses: 64,512 ports at 64 a node are 1,008 an address.
        """
        return ports_per_address // ports * addresses

    def outbound_addresses(self, ports: int, nodes: int, ports_per_address: int) -> int | None:
        """Count the public addresses Cloud NAT needs; None if ports never suffice."""
        each = ports_per_address // ports
        return -(-nodes // each) if each else None

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Count a node's additional networks: of the pool, or of the profile."""
        profile, networks = pool.machine.network_profile, pool.machine.networks
        if isinstance(profile, Unknown):
            return profile
        if known(profile):
            return Known(most, profile.origin)
        if isinstance(networks, Unset):
            return Unknown(f"the networks of {pool.display_name} are not read", Origin((pool.place,)))
        return mapped(networks, lambda count: min(count, most))

    def reserved(self, node: Node) -> Reserved:
        """Bound reserved resources by vCPUs, memory and pods."""
        limits, settings = profiles.limits(self.name), profiles.settings(self.name)
        cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
        if node.machine.startswith("e2-") and node.machine.count("-") == 1:  # e2-micro, e2-small, e2-medium
            cpu = limits["reserved.shared_core"].number
        many = limits["reserved.many_pods"].number if (node.pods or 0) > settings["pool.max_pods"].number else 0
        memory = taken(limits["reserved.memory"].text, node.memory, GI)
        if node.memory < GI:
            memory = settings["reserved.memory_of_smallest"].number * MI
        least = memory
        if node.minor is None or node.minor >= limits["reserved.memory_from"].number:
            pods = node.pods or settings["pool.max_pods"].number
            least = min(memory, limits["reserved.memory_of_pod"].number * MI * pods)
        return Reserved(Amount(cpu, cpu + many), Amount(least, memory), eviction())


CLOUD = Gke()
