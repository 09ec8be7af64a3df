"""Interface of a cloud: defaults that each cloud overrides."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcheck.config.numbers import profiles, reserved
from kcheck.model import Autoscaler, Cluster, Cni, Inventory, Mirror, NodePool
from kcheck.text.values import Known, Origin, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.config.numbers.reserved import Node, Reserved
    from kcheck.kubernetes.objects import Object
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.amount import Amount
    from kcheck.text.text import Skipped, Source


class Limit(Struct, frozen=True):
    """A documented number of nodes, per cluster or per pool.

    `key` names the number in `limits.yaml`, `cause` is the value that applies it, `text` describes it. `nodes` is set
    where it differs from that number; `unknown` says why it is not known; `counts_surge` if surge nodes count, too.
    """

    mechanism: str
    key: str
    cause: Value[object]
    text: str = ""
    nodes: Amount | None = None
    unknown: str = ""
    counts_surge: bool = False


class Label(Struct, frozen=True):
    """A cloud's label of spot nodes, with values on spot and other nodes."""

    key: str
    spot: str
    on_demand: str = ""


class Reference(Struct, frozen=True):
    """An attribute and the resource types it refers to; `many` if it is a list."""

    attribute: str
    kinds: tuple[str, ...]
    many: bool = False


_HUB = "docker.io"
_HOSTS = {"registry-1.docker.io": _HUB, "DOCKER_HUB": _HUB, "https://registry-1.docker.io": _HUB}


class Cloud(Protocol):
    """A cloud: how to read its resources, and how its nodes behave.

    `resources` are prefixes of its clusters' Terraform types, `beside` types in other root modules that these refer to,
    `objects` kinds of manifests that declare clusters, `files` kinds of other files.
    """

    name: str
    resources: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    blueprints: tuple[str, str] | None = None
    """Kind of files of another tool that stand for root modules, and the module beside that reads them."""
    provider: str = ""
    """Prefix of its kinds in Cluster API."""
    node_class: str = ""
    """Kind of its node class for Karpenter."""
    cache: str = ""
    """Resource type that caches a registry."""
    references: tuple[Reference, ...] = ()
    """References between its resources, which plans do not show for values known only after apply."""
    pool_labels: tuple[str, ...] = ()
    """Node labels that hold the name of the pool."""
    label_domains: tuple[str, ...] = ()
    """Domain suffixes of labels that the cloud itself gives to nodes."""
    autoscaler_provider: str = ""
    """Name of the cloud in the cluster autoscaler's `--cloud-provider`."""
    sharing_label: str = ""
    """Label of nodes that share GPUs: `default` offers whole ones, `disabled` an unknown number."""
    node_ids: str = ""
    """Prefix of its nodes' provider IDs."""
    spot_label: Label | None = None
    spot_labels: tuple[str, ...] = ()
    """Labels that only spot nodes have."""
    gpu_labels: tuple[str, ...] = ()
    """Prefixes of labels that only nodes with accelerators have."""
    spot_taint: str = ""
    """Taint of all spot nodes, as `key=value:Effect`."""
    admits_asked_resources: bool = False
    """Whether pods that ask for a resource tolerate the taint of its name (ExtendedResourceToleration)."""
    taints_gpu_nodes: bool = False
    grows_pools: bool = True
    """Whether the cloud itself runs an autoscaler."""
    runs_dns: bool = False
    """Whether the cloud runs CoreDNS, whatever the manifests say."""
    caches_docker_hub: bool = False
    picks_service_range: bool = False
    """Whether an unset Service range is taken from the network's addresses."""
    shares_gateways: bool = False
    """Whether clusters of one network may leave through one gateway."""
    has_disks: bool = True
    """Whether volumes of the default storage class are disks of the cloud."""
    extended_plan: str = ""
    """Support plan with extended support of Kubernetes versions."""
    reservation: str = ""
    """Resource type that reserves machines."""
    reservation_ids: str = ""
    """Pattern of globally unique reservation IDs; other names hold within an account."""
    reserves_by_machine: bool = False
    """Whether pools name a group of reservations, each for one machine type."""
    zone_labels: tuple[str, ...] = ()
    """Labels with the zone of a node for volumes, beside those of Kubernetes."""
    zones_of_pools: str = "subnets"
    """Source of a pool's zones: its `subnets`, its `region`, or those `listed`."""

    @property
    def generator(self) -> str:
        """Module that generates clusters of this cloud."""
        return f"kcheck.generate.{self.name}"

    def region(self, location: str) -> str:
        """Return the region of a cluster's location."""
        return location

    def has_own_addresses(self, cluster: Cluster) -> bool:
        """Whether no other cluster shares the cluster's public outbound addresses."""
        return False

    def gpu_family(self, family: str) -> str:
        """Return the name that machine families with the same GPUs share."""
        return family

    def read(self, roots: Sequence[Module], inventory: Inventory) -> None:
        """Read the clusters of root modules, with the `reader` beside the cloud's module."""
        import_module(f"{self.__module__.rpartition('.')[0]}.reader").read(roots, inventory)

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a resource that may cache a registry; None if it does not."""
        return None

    def read_objects(self, objects: Iterable[Object], inventory: Inventory) -> None:
        """Read clusters declared as manifests."""
        return

    def read_files(self, files: Mapping[str, Sequence[Source]], inventory: Inventory) -> Iterable[Skipped]:
        """Read clusters from files of other tools; return what could not be read."""
        return ()

    def read_kernel(self, sources: Iterable[Source], inventory: Inventory) -> None:
        """Read kernel settings of nodes from files."""
        return

    def mirror(
        self, root: Module, instance: Instance, upstream: str | None, path: str, parts: tuple[str | None, ...]
    ) -> Mirror | None:
        """Build a registry cache; None if the upstream is unknown."""
        if not upstream:
            return None
        folder, prefix = root.configuration.folder, "/".join(part for part in parts if part)
        upstream = _HOSTS.get(upstream.rstrip("/"), upstream)
        identity = f"{folder}:{instance.address}"
        return Mirror(identity, instance.span, self.name, folder, upstream, path=path, prefix=prefix)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        """Yield the documented limits of a cluster; `numbers` include settings."""
        yield from ()

    def pods_limit(self, cluster: Cluster, pools: Iterable[NodePool]) -> str:
        """Return the key of the cluster's pod limit."""
        return "cluster.pods"

    def pool_limit(self, autoscalers: Iterable[Autoscaler]) -> Limit | None:
        """Return the autoscaler's documented limit for each pool."""
        return None

    def has_pool_quota(self, pool: NodePool) -> bool:
        """Whether the cloud's quota of nodes in a pool applies to this pool."""
        return pool.managed

    def outbound_nodes(self, ports: int, addresses: int, ports_per_address: int) -> int | None:
        """Count the nodes that public addresses have ports for; None if unlimited."""
        return None

    def outbound_addresses(self, ports: int, nodes: int, ports_per_address: int) -> int | None:
        """Count the public addresses that nodes need; None if impossible."""
        return -(-nodes * ports // ports_per_address)

    def pod_block(self, max_pods: int) -> int:
        """Return the prefix length of a node's pod block by its maximum pods.

        The smallest block with twice as many addresses as pods, but not below a size.
        https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 110 pods take a /24.
        """
        longest = profiles.settings("any")["pods.longest_block"].number
        return min(longest, 32 - (2 * max_pods - 1).bit_length())

    def node_addresses(self, cni: Cni, interfaces: int, addresses: int, pods: int) -> int:
        """Count the addresses a node holds for a number of pods."""
        return 1 + pods

    def interfaces_held(self, pods: int, addresses: int, warm: int, most: int) -> int:
        """Count a node's attached interfaces for a number of pods, `warm` spare."""
        return 1

    def joins_in_scale_set(self, machine: str) -> bool:
        """Whether a fabric joins machines of a type only within one pool."""
        return False

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Return how many of the machine's `most` fabric interfaces the pool's nodes get."""
        return Known(most, Origin((pool.place,)))

    def boots_from_own_disk(self, machine: str, vcpus: int) -> bool | None:
        """Whether machines of a type can boot from a local disk; None if unknown."""
        return True

    def reserved(self, node: Node) -> Reserved:
        """Estimate what a node reserves if its kubelet has no configuration of its own."""
        return reserved.by_default()
