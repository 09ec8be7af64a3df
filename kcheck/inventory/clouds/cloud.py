"""The interface of a cloud: one object, with the differences from this default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from kcheck.config.numbers import profiles, reserved
from kcheck.model import Mirror
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.config.numbers.reserved import Node, Reserved
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Autoscaler, Cluster, Cni, Inventory, NodePool
    from kcheck.terraform.configuration import Configuration
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.interval import Interval
    from kcheck.text.text import Skipped, Source
    from kcheck.text.values import Value


class Limit(Struct, frozen=True):
    """A documented number of nodes for a cluster, or for each pool.

    `key` is that of the number in `limits.yaml`, `cause` the value that makes it hold, `text` says what it is. `nodes`
    are given where they are not the number itself; `unknown` says why they cannot be. Nodes of an upgrade may count.
    """

    mechanism: str
    key: str
    cause: Value[object]
    text: str = ""
    nodes: Interval | None = None
    unknown: str = ""
    counts_surge: bool = False


class Label(Struct, frozen=True):
    """A cloud's label of spot nodes: its value on spot and on other nodes, empty if absent."""

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
    """A cloud: how its resources are read, and the behaviour of its nodes, addresses and control planes.

    `resources` is how the types of its clusters' resources begin in Terraform, `beside` those of other root modules
    that these may refer to; `objects` are kinds of manifests that are clusters of it, `files` kinds of other files.
    """

    name: str
    resources: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    provider: str = ""
    """How the kinds of its objects begin in Cluster API."""
    node_class: str = ""
    """The kind of its settings of nodes for Karpenter."""
    cache: str = ""
    """The type of its resources that cache a registry."""
    references: tuple[Reference, ...] = ()
    """What of its resources refers to others, for plans: these do not say it of what is only known after apply."""
    pool_labels: tuple[str, ...] = ()
    """Labels of nodes that have the name of their pool."""
    label_domains: tuple[str, ...] = ()
    """How the domains end of labels that the cloud itself gives to nodes."""
    autoscaler_provider: str = ""
    """Its name for the cluster autoscaler (`--cloud-provider`)."""
    sharing_label: str = ""
    """The label by which nodes offer parts of cards: whole ones where it is `default`, none known if `disabled`."""
    node_ids: str = ""
    """How the provider IDs of its nodes begin."""
    spot_label: Label | None = None
    spot_labels: tuple[str, ...] = ()
    """Labels that only spot nodes have."""
    gpu_labels: tuple[str, ...] = ()
    """How labels begin that only nodes with accelerators have."""
    spot_taint: str = ""
    """The taint that all spot nodes have, as `key=value:Effect`."""
    admits_asked_resources: bool = False
    """Whether pods that ask for a resource tolerate the taint of its name (ExtendedResourceToleration)."""
    taints_gpu_nodes: bool = False
    grows_pools: bool = True
    """Whether the cloud itself runs what grows pools."""
    runs_dns: bool = False
    """Whether the cloud runs CoreDNS, whatever the manifests say."""
    own_kernel: bool = False
    """Whether nobody but the user sets what the kernels of nodes know of others."""
    caches_docker_hub: bool = False
    picks_service_range: bool = False
    """Whether the range of Services, where none is written, is among the addresses of the network."""
    shares_gateways: bool = False
    """Whether clusters of one network may leave through one gateway."""
    has_disks: bool = True
    """Whether volumes of the default storage class are disks of the cloud."""
    extended_plan: str = ""
    """The support plan by which versions of Kubernetes are supported for longer."""
    reservation: str = ""
    """The resource that reserves machines."""
    reservation_ids: str = ""
    """What reservations are called everywhere, as a pattern; others have names, which mean something in an account."""
    reserves_by_machine: bool = False
    """Whether pools name a group of reservations, of which each is for one machine type."""
    zones_of_pools: str = "subnets"
    """What spreads a pool: its `subnets`, the zones of its `region`, or those that are `listed`."""

    @property
    def generator(self) -> str:
        """The module that generates clusters of it."""
        return f"kcheck.generate.{self.name}"

    def region(self, location: str) -> str:
        """The region of a location of clusters."""
        return location

    def has_own_addresses(self, cluster: Cluster) -> bool:
        """Whether the public addresses by which a cluster goes out belong to no other cluster."""
        return False

    def gpu_family(self, family: str) -> str:
        """What the machine families with the same GPUs as this one have in common."""
        return family

    def read(self, roots: Sequence[Module], inventory: Inventory) -> None:
        """Read the clusters of root modules."""
        return

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a resource that may cache a registry; None if it does not."""
        return None

    def read_objects(self, objects: Iterable[Object], inventory: Inventory) -> None:
        """Read the clusters that are written as manifests."""
        return

    def blueprints(self, files: Mapping[str, Sequence[Source]]) -> Iterable[tuple[str, Configuration]]:
        """Root modules in the files of other tools, with their names."""
        return ()

    def read_files(self, files: Mapping[str, Sequence[Source]], inventory: Inventory) -> Iterable[Skipped]:
        """Read clusters from files of other tools; yields what could not be read."""
        return ()

    def read_kernel(self, sources: Iterable[Source], inventory: Inventory) -> None:
        """Read what files set of the kernels of nodes."""
        return

    def mirror(
        self, root: Module, instance: Instance, upstream: str | None, path: str, parts: tuple[str | None, ...]
    ) -> Mirror | None:
        """A cache of a registry; None if that is unknown. Unknown parts of its prefix get a name in <>."""
        if not upstream:
            return None
        folder, prefix = root.configuration.folder, "/".join(part for part in parts if part)
        upstream = _HOSTS.get(upstream.rstrip("/"), upstream)
        identity = f"{folder}:{instance.address}"
        return Mirror(identity, instance.span, self.name, folder, upstream, path=path, prefix=prefix)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        """The documented limits of a cluster; `numbers` include values from the settings."""
        yield from ()

    def pods_limit(self, cluster: Cluster, pools: Iterable[NodePool]) -> str:
        """The key of the number of pods that a cluster is made for."""
        return "cluster.pods"

    def pool_limit(self, autoscalers: Iterable[Autoscaler]) -> Limit | None:
        """The documented limit of each pool for its autoscaler."""
        return None

    def has_pool_quota(self, pool: NodePool) -> bool:
        """Whether the quota of nodes in a pool, where the cloud has one, holds for this pool."""
        return pool.managed

    def outbound_nodes(self, ports: int, addresses: int, ports_per_address: int) -> int | None:
        """Nodes with outbound ports on some public addresses; None if not limited so."""
        return None

    def outbound_addresses(self, ports: int, nodes: int, ports_per_address: int) -> int | None:
        """Public addresses needed for the outbound ports of nodes; None if impossible."""
        return -(-nodes * ports // ports_per_address)

    def pod_block(self, max_pods: int) -> int:
        """Prefix length of a node's pod block, if it follows from its maximum pods.

        The smallest block with twice as many addresses as pods, but not below a size.
        https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 110 pods take a /24.
        """
        longest = profiles.settings("any")["pods.longest_block"].number
        return min(longest, 32 - (2 * max_pods - 1).bit_length())

    def node_addresses(self, cni: Cni, interfaces: int, addresses: int, pods: int) -> int:
        """Addresses that a node holds for a number of pods, by interfaces and addresses of each."""
        return 1 + pods

    def interfaces_held(self, pods: int, addresses: int, warm: int, most: int) -> int:
        """Attached network interfaces of a node for a number of pods, with `warm` spare ones."""
        return 1

    def joins_in_scale_set(self, machine: str) -> bool:
        """Whether machines of a type are joined by a fabric only within one pool."""
        return False

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Interfaces of their fabric that nodes of a pool get, of those that the machine has."""
        return Known(most, Origin((pool.place,)))

    def boots_from_own_disk(self, machine: str, vcpus: int) -> bool | None:
        """Whether machines of a type can boot from a local disk; None if unknown."""
        return True

    def reserved(self, node: Node) -> Reserved:
        """What a node keeps from pods where its kubelet has no configuration of its own."""
        return reserved.by_default()
