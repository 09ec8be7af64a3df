"""The inventory with the numbers that follow from it: targets, spread of nodes, demand on subnets."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from kcheck.model import (
    Addon,
    Autoscaler,
    Cluster,
    Container,
    Image,
    Input,
    Inventory,
    NodePool,
    PodRange,
    PodTemplate,
    Service,
    Subnet,
    Thing,
    Workload,
)  # fmt: skip
from kcheck.numbers import machines, profiles
from kcheck.scale import placement
from kcheck.scale.growth import Growth, Interval
from kcheck.source.values import (
    Known,
    Origin,
    Unknown,
    Unset,
    Value,
    equals,
    known,
    mapped,
    number,
    reason_of,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from kcheck.config.config import Config


T = TypeVar("T")

_GROWS = re.compile(r"(?:^|/)(cluster-autoscaler|karpenter)(?:$|[/:@-])")


def _grouped(pairs: Iterable[tuple[Thing | None, T]]) -> dict[str, list[T]]:
    """Things by the id of what they belong to; those that belong to nothing are left out."""
    result: dict[str, list[T]] = defaultdict(list)
    for owner, thing in pairs:
        if owner is not None:
            result[owner.id].append(thing)
    return result


def _grouped_by(key: Callable[[Any], str], things: Iterable[Any]) -> dict[str, list[Any]]:
    """Things by what a function says of them."""
    result: dict[str, list[Any]] = defaultdict(list)
    for thing in things:
        result[key(thing)].append(thing)
    return result


class World:
    """The inventory with the numbers that follow from it: targets, spread of nodes, demand on subnets."""

    def __init__(self, inventory: Inventory, config: Config, inputs: Iterable[Input] = ()) -> None:
        self.inventory = inventory
        self.config = config
        self.inputs = list(inputs)
        self.cache: dict[tuple[str, Hashable], Any] = {}
        """What other rooms have worked out, by what it is and what it is of."""
        self._near: dict[str, dict[str, list[Any]]] = {}

    # --- who belongs to whom

    @cached_property
    def _pools_by_cluster(self) -> dict[str, list[NodePool]]:
        return _grouped((known(pool.cluster), pool) for pool in self.inventory.pools)

    @cached_property
    def _pools_by_subnet(self) -> dict[str, list[NodePool]]:
        return _grouped((subnet, pool) for pool in self.inventory.pools for subnet in known(pool.subnets) or ())

    @cached_property
    def _pools_by_pod_subnet(self) -> dict[str, list[NodePool]]:
        return _grouped((subnet, pool) for pool in self.inventory.pools for subnet in known(pool.pod_subnets) or ())

    @cached_property
    def _pools_by_range(self) -> dict[str, list[NodePool]]:
        return _grouped((known(pool.pod_range), pool) for pool in self.inventory.pools)

    @cached_property
    def _workloads_by_cluster(self) -> dict[str, list[Workload]]:
        cluster_of = self.inventory.cluster_of
        return _grouped((cluster_of.get(workload), workload) for workload in self.inventory.workloads)

    def near(self, kind: str, root: str) -> list[Any]:
        """The things of a kind that a root module makes."""
        if kind not in self._near:
            found = self._near.setdefault(kind, {})
            for thing in getattr(self.inventory, kind):
                found.setdefault(thing.root, []).append(thing)
        return self._near[kind].get(root, [])

    def workloads(self, cluster: Cluster) -> list[Workload]:
        """The workloads that run on a cluster, as far as they are known."""
        return self._workloads_by_cluster[cluster.id]

    @cached_property
    def _owners(self) -> dict[Thing, Workload]:
        found: dict[Thing, Workload] = {}
        for workload in self.inventory.workloads:
            for template in workload.templates:
                found[template] = workload
                found.update(dict.fromkeys(template.containers, workload))
        return found

    def owner(self, thing: Thing) -> Workload:
        """The workload that a pod template or a container is part of."""
        return thing if isinstance(thing, Workload) else self._owners[thing]

    def home(self, thing: Thing) -> str:
        """What is applied together: the cluster of a thing, else the folder of its kustomization or file."""
        cluster = self.inventory.cluster_of.get(thing)
        if cluster is not None:
            return cluster.id
        return self.inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)

    def neighbours(self, kind: str, thing: Thing) -> list[Any]:
        """The things of a kind that are applied together with one."""
        if isinstance(thing, PodTemplate | Container):
            thing = self.owner(thing)
        homes = self.remember("homes", kind, lambda: _grouped_by(self.home, getattr(self.inventory, kind)))
        return homes.get(self.home(thing), [])

    def fits(self, template: PodTemplate) -> list[tuple[NodePool, bool]] | Unknown:
        """The pools that pods can land on, and whether that is certain; Unknown where pools may be missing."""
        cluster = self.inventory.cluster_of.get(self.owner(template))
        if cluster is None:
            return Unknown("the manifest's cluster is not known")
        pools = self.all_pools(cluster)
        if isinstance(pools, Unknown):
            return pools
        found = [(pool, placement.fit(template, pool).fits) for pool in pools]
        return [(pool, bool(fits)) for pool, fits in found if fits is not False]

    @cached_property
    def _services_by_cluster(self) -> dict[str, list[Service]]:
        return _grouped((self.inventory.cluster_of.get(service), service) for service in self.inventory.services)

    def services(self, cluster: Cluster) -> list[Service]:
        """The Services of a cluster, as far as they are known."""
        return self._services_by_cluster[cluster.id]

    @cached_property
    def images(self) -> dict[str, list[tuple[Workload, Image]]]:
        """Every image of a cluster once, or of a file whose cluster is not known, with all its uses.

        The first is that on most nodes, those that sign in last.
        """
        result: dict[str, list[tuple[Workload, Image]]] = defaultdict(list)
        for workload in self.inventory.workloads:
            cluster = self.inventory.cluster_of.get(workload)
            for image in workload.images:
                text = image.text.value if isinstance(image.text, Known) else image.id
                home = cluster.id if cluster else image.place.source.path
                result[f"{home}:{text}"].append((workload, image))
        for uses in result.values():
            uses.sort(key=lambda use: (bool(known(use[0].pull_secrets)), -number(self.image_nodes(use[1], use[0]), 0)))
        return result

    @cached_property
    def _uses(self) -> dict[Image, list[tuple[Workload, Image]]]:
        return {image: uses for uses in self.images.values() for _, image in uses}

    def uses(self, image: Image) -> list[tuple[Workload, Image]]:
        """The workloads of the image's cluster, or file, that run it."""
        return self._uses[image]

    @cached_property
    def _addons_by_cluster(self) -> dict[str, list[Addon]]:
        return _grouped((self.inventory.cluster_of.get(addon), addon) for addon in self.inventory.addons)

    def addons(self, cluster: Cluster) -> list[Addon]:
        """What is installed into a cluster, as far as it is known."""
        return self._addons_by_cluster[cluster.id]

    def grown_by(self, cluster: Cluster) -> Value[str]:
        """What grows the pools of a cluster: the cloud, or what is installed into it; unset if nothing is found."""
        place = Origin((cluster.place,))
        if cluster.cloud == "aks" and equals(cluster.grower, "karpenter"):
            return cluster.grower
        if cluster.cloud != "eks":
            return Known(cluster.cloud, place)
        if not isinstance(cluster.provisioned, Known) or cluster.provisioned.value:
            return mapped(cluster.provisioned, lambda _: "auto-mode")
        if any(known(autoscaler.cluster) is cluster for autoscaler in self.inventory.autoscalers):
            return Known("cluster-autoscaler", place)
        names = [*self._installed[cluster.id], cluster.grower]
        for name in names:
            match = _GROWS.search(known(name) or "")
            if match is not None:
                return Known(match[1], place)
        unknown = next((name for name in (*names, self._loose) if isinstance(name, Unknown)), None)
        return unknown if unknown is not None else Unset(place)

    @cached_property
    def _installed(self) -> dict[str, list[Value[str]]]:
        """By cluster, the names of add-ons and images; by "" those whose cluster is not known."""
        own, result = self.inventory, defaultdict[str, list[Value[str]]](list)
        names: list[tuple[Thing, Value[str]]] = [(addon, addon.name) for addon in own.addons]
        for thing, name in (*names, *((one, image.text) for one in own.workloads for image in one.images)):
            cluster = own.cluster_of.get(thing)
            result[cluster.id if cluster else ""].append(name)
        return result

    @cached_property
    def _loose(self) -> Unknown | None:
        """An autoscaler that may be meant for any cluster."""
        name = next((text for name in self._installed[""] if _GROWS.search(text := known(name) or "")), None)
        return Unknown(f"the cluster that {name} is deployed to is not known") if name else None

    def pools(self, cluster: Cluster) -> list[NodePool]:
        """The pools of a cluster, as far as they are known."""
        return self._pools_by_cluster[cluster.id]

    @cached_property
    def _strays(self) -> dict[str, NodePool]:
        """By root, a pool that may belong to any cluster of it."""
        unknown = [pool for pool in self.inventory.pools if isinstance(pool.cluster, Unknown)]
        return {pool.root: pool for pool in unknown if isinstance(pool.cluster, Unknown) and not pool.cluster.symbol}

    def all_pools(self, cluster: Cluster) -> list[NodePool] | Unknown:
        """The pools of a cluster, Unknown where one may be missing."""
        if cluster.gap:
            return Unknown(f"pools of {cluster.address} may be missing: {cluster.gap}")
        stray = self._strays.get(cluster.root)
        if stray is not None:
            return Unknown(f"the cluster of {stray.address} is not known: {reason_of(stray.cluster)}")
        found = self.pools(cluster)
        if known(self.grown_by(cluster)) == "karpenter" and not any(equals(pool.mode, "Karpenter") for pool in found):
            return Unknown(f"the NodePools of Karpenter on {cluster.address} are not in this code, or in templates")
        return found

    def subnet_pools(self, subnet: Subnet) -> list[NodePool] | Unknown:
        """The pools whose nodes are in a subnet, then those whose pods are; Unknown where one may be missing."""
        if subnet.gap:
            return Unknown(f"pools in {subnet.address} may be missing: {subnet.gap}")
        if subnet.id in self._maybe:
            pool = self._maybe[subnet.id]
            return Unknown(f"whether {self.label(pool)} is in {subnet.address} is not known: {reason_of(pool.subnets)}")
        return self._pools_by_subnet[subnet.id] + self._pools_by_pod_subnet[subnet.id]

    def for_pods(self, subnet: Subnet) -> bool:
        """Whether a subnet holds pods, and no nodes."""
        return bool(self._pools_by_pod_subnet[subnet.id]) and not self._pools_by_subnet[subnet.id]

    @cached_property
    def _maybe(self) -> dict[str, NodePool]:
        """By subnet, a pool that may be in it."""
        return {subnet.id: pool for pool in self.inventory.pools for subnet in pool.maybe}

    def range_pools(self, pod_range: PodRange) -> list[NodePool] | Unknown:
        """The pools whose pods are in a range, Unknown where one may be missing."""
        if pod_range.gap:
            return Unknown(f"pools in {pod_range.address} may be missing: {pod_range.gap}")
        return self._pools_by_range[pod_range.id]

    # --- how many nodes

    def target(self, cluster: Cluster) -> Value[int]:
        """The number of nodes the cluster is meant to reach: as asked for, else the sum of its pools' maxima."""
        return self.remember("target", cluster.id, lambda: self._target(cluster))

    def _target(self, cluster: Cluster) -> Value[int]:
        asked = self.asked(cluster)
        if asked is not None:
            return Known(asked, Origin((cluster.place,)))
        if self.open_ended(cluster):
            return Unknown(f"{cluster.address} gets nodes beside its pools; give their number with --nodes")
        return self.maximum(cluster)

    def open_ended(self, cluster: Cluster) -> bool:
        """Whether something adds nodes beside the pools: the cloud, or Karpenter."""
        return bool(known(cluster.provisioned)) or known(self.grown_by(cluster)) == "karpenter"

    def asked(self, cluster: Cluster) -> int | None:
        """The number of nodes that was asked for, by a flag or in the settings."""
        own = self.named(cluster)
        if own is not None:
            return own
        environment = self.config.environment(cluster.root, cluster.environment)
        if environment is not None and environment.nodes is not None:
            return environment.nodes
        return self.config.nodes.get("")

    def named(self, cluster: Cluster) -> int | None:
        """The number of nodes that was asked for by the name of this cluster."""
        names = (cluster.address, cluster.id, known(cluster.name))
        return next((self.config.nodes[name] for name in names if name in self.config.nodes), None)

    def autoscaler(self, cluster: Cluster) -> Autoscaler | None:
        """What scales the pools of a cluster; None where none is in the code."""
        return next((one for one in self.inventory.autoscalers if known(one.cluster) is cluster), None)

    def price(self, pool: NodePool | None) -> machines.Price | None:
        """What one node of a pool costs: as the user says, else the list price of its cheapest machine type."""
        cluster = known(pool.cluster) if pool else None
        environment = self.config.environment(cluster.root, cluster.environment) if cluster else None
        cents = environment.price if environment and environment.price else self.config.price
        if cents is not None:
            return machines.Price(cents * 10)
        if pool is None or cluster is None:
            return None
        attached = None if isinstance(pool.gpus, Unknown) else number(pool.gpus, 0), known(pool.accelerator) or ""
        found = (
            machines.price(cluster.cloud, name, spot=known(pool.spot) is True, attached=attached)
            for name in known(pool.instance_types) or ()
        )
        return min((one for one in found if one), default=None)

    def limits(self, cloud: str) -> dict[str, profiles.ProfileValue]:
        """The limits of a cloud, with those that the settings raise."""
        return self.remember("limits", cloud, lambda: self._limits(cloud))

    def _limits(self, cloud: str) -> dict[str, profiles.ProfileValue]:
        entries = dict(profiles.limits(cloud))
        for name, value in self.config.limits.items():
            owner, _, key = name.partition(".")
            if owner in (cloud, "any") and key in entries:
                entries[key] = entries[key]._replace(value=value)
        return entries

    def maximum(self, cluster: Cluster) -> Value[int]:
        """The sum of the maxima of the cluster's pools."""
        return self.remember("maximum", cluster.id, lambda: self._maximum(cluster))

    def _maximum(self, cluster: Cluster) -> Value[int]:
        pools = self.all_pools(cluster)
        if isinstance(pools, Unknown):
            return pools
        nodes = total(pool.max_nodes for pool in pools)
        return nodes if isinstance(nodes, Unknown) else Known(nodes, Origin((cluster.place,)))

    def aim(self, cluster: Cluster) -> Interval:
        """The target as bounds: where it is not known, at least the maxima that are."""
        target = self.target(cluster)
        if isinstance(target, Known):
            return Interval(target.value, target.value)
        return Interval(sum(number(pool.max_nodes, 0) for pool in self.pools(cluster)), None)

    def growth(self, cluster: Cluster) -> Growth:
        """How the pools of a cluster share its nodes, in the order of `pools`."""
        pools = self.pools(cluster)
        maxima = [known(pool.max_nodes) for pool in pools]
        growable = tuple(bool(known(pool.autoscaled)) for pool in pools)
        return Growth(tuple(maxima), growable, tuple(number(pool.min_nodes, 0) for pool in pools))

    def nodes(self, pool: NodePool) -> Value[int]:
        """Nodes of a pool when its cluster reaches its target."""
        if not isinstance(pool.cluster, Known):
            return pool.max_nodes
        cluster = pool.cluster.value
        target = self.target(cluster)
        if not isinstance(target, Known) or isinstance(self.all_pools(cluster), Unknown):
            return pool.max_nodes
        sizes = self.remember("sizes", cluster.id, lambda: self._sizes(cluster, target.value))
        if isinstance(sizes, Unknown):
            return pool.max_nodes
        return Known(sizes[pool.id], pool.max_nodes.origin or Origin((pool.place,)))

    def _sizes(self, cluster: Cluster, target: int) -> dict[str, int] | Unknown:
        """The size of each pool at the target; the only pool of unknown size takes what the others leave."""
        growth = self.growth(cluster)
        unknown = [i for i, size in enumerate(growth.maxima) if size is None]
        if len(unknown) > 1:
            return Unknown("the sizes of several pools are not known")
        sizes = growth.grown(target, unknown) if unknown else growth.sizes(target)
        return {pool.id: size for pool, size in zip(self.pools(cluster), sizes, strict=True)}

    def remember(self, what: str, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives for a thing, or the id of one, worked out once."""
        if (what, key) not in self.cache:
            self.cache[what, key] = compute()
        found: T = self.cache[what, key]
        return found

    def label(self, pool: NodePool) -> str:
        """What people call the pool."""
        return pool.name.value if isinstance(pool.name, Known) else pool.address.rsplit(".", 1)[-1]

    def full_label(self, pool: NodePool) -> str:
        """The label with the cluster's, where several clusters have a pool of that name."""
        cluster = known(pool.cluster)
        return f"{known(cluster.name) or cluster.address}/{self.label(pool)}" if cluster else pool.address

    # --- images

    def workload_nodes(self, workload: Workload) -> Value[int]:
        """Nodes that run a pod of the workload, one pod on each; of a DaemonSet all that it lands on."""
        cluster = self.inventory.cluster_of.get(workload)
        asked = self.config.nodes.get("")
        target: Value[int] = Unknown("the manifest's cluster is not known")
        if cluster is not None:
            target = self.target(cluster)
        elif asked is not None:
            target = Known(asked, Origin((workload.place,)))
        if workload.per_node:
            return self.remember("landed", workload, lambda: self._landed(workload, target))
        return mapped(workload.pods, lambda pods: min(pods, number(target, pods)))

    def _landed(self, workload: Workload, target: Value[int]) -> Value[int]:
        """Nodes that run a DaemonSet: the target, or those of the pools that its labels and tolerations leave."""
        cluster = self.inventory.cluster_of.get(workload)
        pools = self.pools(cluster) if cluster else []
        for template in workload.templates:
            found = placement.landed(template, pools)
            if isinstance(found, Unknown):
                return found
            if found is not None and cluster is not None:
                if cluster.gap or known(cluster.provisioned) is True:
                    return Unknown(f"{cluster.address} has nodes that are not in this code")
                nodes = total(self.nodes(pool) for pool in found)
                return nodes if isinstance(nodes, Unknown) else Known(nodes, Origin((workload.place,)))
        return target

    def image_nodes(self, image: Image, workload: Workload | None = None) -> Value[int]:
        """Nodes that pull the image."""
        return self.workload_nodes(workload or self.uses(image)[0][0])
