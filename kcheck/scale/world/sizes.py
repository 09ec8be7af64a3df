"""Target sizes of clusters and pools, and numbers of nodes."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.config.numbers import machines
from kcheck.model import CONTROL_PLANE
from kcheck.scale import placement
from kcheck.scale.growth import Growth, largest
from kcheck.scale.world.memory import Memory, once
from kcheck.scale.world.numbers import needs, vcpus_of
from kcheck.text.amount import Amount, amount_of, exactly
from kcheck.text.need import need, or_unknown
from kcheck.text.units import listed
from kcheck.text.values import Known, Origin, Unknown, Value, because, candidates, equals, known, mapped, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.config.config import Config
    from kcheck.model import Autoscaler, Cluster, Image, Inventory, NodePool, Thing, Workload
    from kcheck.scale.world.numbers import Numbers
    from kcheck.scale.world.pools import Pools
    from kcheck.scale.world.relations import Autoscaling

    Uses = list[tuple[Workload, Image]]


class Cap(Struct, frozen=True):
    """Cap on all pools of a cluster: each node takes `per_node` of its `room`.

    `other` is the minimum that a node outside the pools takes, 0 if none counts. `cause` is where the room is written,
    None for a quota. Fixed pools `stay` as they are at the cap of an autoscaler. `why` says why a node may take more.
    """

    room: int
    unit: str
    per_node: Mapping[str, int]
    other: int
    cause: Value[int] | None
    why: str = ""

    @property
    def stays(self) -> bool:
        """Whether fixed pools keep their nodes beyond the cap."""
        return self.cause is not None

    def taken(self, sizes: Mapping[str, int]) -> int:
        """Sum the room that pools of given sizes take."""
        return sum(self.per_node.get(name, 0) * size for name, size in sizes.items())

    def most(self, pools: list[NodePool], *, others: bool) -> float:
        """Return the most nodes in any mixture of pools, and `others`."""
        takes = [self.per_node.get(pool.id, 0) for pool in pools] + ([self.other] if others else [])
        least = min(takes, default=0)
        return self.room // least if least else inf


def _of_autoscaler(scaler: Autoscaler, cluster: Cluster, pools: list[NodePool]) -> list[Cap]:
    """List the autoscaler's caps on nodes and cores; 0 means no cap."""
    found = []
    if number(scaler.max_nodes, 0):
        found.append(Cap(number(scaler.max_nodes, 0), "nodes", {pool.id: 1 for pool in pools}, 1, scaler.max_nodes))
    if number(scaler.max_cores, 0):
        each = {pool.id: vcpus(pool, cluster) for pool in pools}
        unsized = [pool.display_name for pool in pools if not each[pool.id]]
        why = f"the cores of a node of {listed(unsized)} are not known" if unsized else ""
        cores = {name: max(1, one) for name, one in each.items()}
        found.append(Cap(number(scaler.max_cores, 0), "cores", cores, 1, scaler.max_cores, why))
    for kind, most in (known(scaler.max_accelerators) or {}).items():
        cards = {pool.id: _cards(pool, cluster, kind) for pool in pools}
        own = [pool for pool in pools if cards[pool.id] is not None]
        unsized = [pool.display_name for pool in own if not cards[pool.id]]
        why = f"the GPUs of a node of {listed(unsized)} are not known" if unsized else ""
        each, cause = {pool.id: cards[pool.id] or 1 for pool in own}, scaler.max_accelerators
        found += [Cap(most, kind, each, 0, mapped(cause, itemgetter(kind)), why)] if own else []
    return found


def _cards(pool: NodePool, cluster: Cluster, kind: str) -> int | None:
    """Count a node's GPUs of a kind, attached or of its type; None without any."""
    name = next(iter(known(pool.machine.instance_types) or ()), "")
    own = known(pool.machine.accelerator) or machines.accelerator(cluster.cloud, name)
    return (known(pool.machine.gpus) or machines.gpus(cluster.cloud, name) or 0) if own == kind else None


def vcpus(pool: NodePool, cluster: Cluster) -> int:
    """Return the vCPUs of a pool's smallest machine; 0 if one is unknown."""
    names = known(pool.machine.instance_types) or ()
    return min((vcpus_of(cluster.cloud, name) for name in names), default=0)


class Sizes(Memory):
    """Target sizes of clusters and pools, and nodes of workloads."""

    def __init__(
        self, inventory: Inventory, config: Config, pools: Pools, autoscaling: Autoscaling, numbers: Numbers
    ) -> None:
        super().__init__()
        self._inventory = inventory
        self._config = config
        self._pools = pools
        self._autoscaling = autoscaling
        self._numbers = numbers

    @once
    def caps(self, cluster: Cluster) -> list[Cap]:
        """List the caps on all pools of a cluster."""
        scaler, pools = self._autoscaling.autoscaler(cluster), self._pools.of_cluster(cluster)
        found = _of_autoscaler(scaler, cluster, pools) if scaler is not None else []
        told = any(name.startswith(f"{cluster.cloud}.quota.") for name in self._config.limits)
        for one in needs(cluster, pools) if told else ():
            room = self._numbers.limits(cluster.cloud)[f"quota.{one.quota.key}"].value
            if isinstance(room, int):
                found.append(Cap(room, one.unit, one.per_node, 0, None))
        return found

    def requested(self, cluster: Cluster) -> int | None:
        """Return the requested number of nodes, by a flag or in the settings."""
        own = self.requested_by_name(cluster)
        if own is not None:
            return own
        environment = self._config.environment(cluster.root, cluster.environment)
        if environment is not None and environment.nodes is not None:
            return environment.nodes
        return self._config.nodes.get("")

    def requested_by_name(self, cluster: Cluster) -> int | None:
        """Return the number of nodes requested for this cluster by name."""
        names = (cluster.address, cluster.id, known(cluster.name))
        return next((self._config.nodes[name] for name in names if name in self._config.nodes), None)

    @once
    @or_unknown
    def maximum(self, cluster: Cluster) -> Value[int]:
        """Sum the maxima of the cluster's pools."""
        maxima = (amount_of(pool.size.max_nodes) for pool in need(self._pools.all_of_cluster(cluster)))
        return sum(maxima, exactly(0)).value(Origin((cluster.place,)))

    @once
    def wanted(self, cluster: Cluster) -> Value[int]:
        """Return the requested nodes, else the sum of the pools' maxima."""
        requested, place = self.requested(cluster), Origin((cluster.place,))
        if requested is not None:
            return Known(requested, place)
        tool = self._autoscaling.tool(cluster)
        if self._autoscaling.beyond_pools(cluster):
            found: Value[int] = Unknown(f"{cluster.address} has nodes outside its pools; set --nodes N", place)
        elif known(tool) is None and any(one.value == "karpenter" for one in candidates(tool)):
            found = because(tool, tool.origin)
        else:
            found = self.maximum(cluster)
        if not isinstance(found, Unknown) or found.between:
            return found
        pools = (pool for pool in self._pools.of_cluster(cluster) if self._pools.counted(pool))
        return Amount(sum(number(pool.size.max_nodes, 0) for pool in pools), None, found).value(place)

    @once
    def target(self, cluster: Cluster) -> Value[int]:
        """Return a cluster's target: the wanted nodes, or fewer under a cap."""
        wanted, caps = self.wanted(cluster), self.caps(cluster)
        if not caps or self.requested(cluster) is not None:
            return wanted
        if isinstance(wanted, Known):
            nodes = min(self.within(cap, cluster, wanted.value) for cap in caps)
            return wanted if nodes == wanted.value else Known(nodes, wanted.origin)
        pools, every = self._pools.of_cluster(cluster), self.maximum(cluster)
        others = isinstance(self._pools.all_of_cluster(cluster), Unknown) or self._autoscaling.beyond_pools(cluster)
        most = min(max(cap.most(pools, others=others), self.standing(cap, cluster)) for cap in caps)
        low = min(self.within(cap, cluster, every.value) for cap in caps) if isinstance(every, Known) else 0
        return Amount(low, None if most == inf else int(most), because(wanted, wanted.origin)).value(Origin(()))

    def wanted_amount(self, cluster: Cluster) -> Amount:
        """Return the wanted number of nodes as far as it is known."""
        return amount_of(self.wanted(cluster))

    def target_amount(self, cluster: Cluster) -> Amount:
        """Return the target as far as it is known."""
        return amount_of(self.target(cluster))

    def within(self, cap: Cap, cluster: Cluster, most: int) -> int:
        """Count how many of `most` nodes fit below a cap as the pools grow."""
        pools, growth = self._pools.of_cluster(cluster), self.growth(cluster)
        names = [pool.id for pool in pools]
        found = largest(
            lambda sizes: cap.taken(dict(zip(names, sizes, strict=True))) <= cap.room, growth.sizes, ceiling=most
        )
        return max(found, min(most, self.standing(cap, cluster)))

    @once
    def growth(self, cluster: Cluster) -> Growth:
        """Return how the pools share a cluster's nodes."""
        pools = self._pools.of_cluster(cluster)
        maxima = [known(pool.size.max_nodes) for pool in pools]
        growable = tuple(bool(known(pool.size.autoscaled)) for pool in pools)
        planes = tuple(equals(pool.mode, CONTROL_PLANE) for pool in pools)
        if any(planes) and not any(growable):
            growable = tuple(not plane for plane in planes)
        taking = {pool.id for pool in self._pools.growing_pools(cluster)}
        return Growth(
            tuple(maxima),
            growable,
            tuple(number(pool.size.min_nodes, 0) for pool in pools),
            tuple(pool.id in taking for pool in pools),
        )

    def of_pool(self, pool: NodePool) -> Value[int]:
        """Count the nodes of a pool at its cluster's target."""
        if not isinstance(pool.cluster, Known):
            return pool.size.max_nodes
        cluster = pool.cluster.value
        target = known(self.target(cluster))
        sizes = self._of_pools(cluster, target) if target is not None else None
        if sizes is None:
            return self._alone(pool, cluster)
        return Known(sizes[pool.id], pool.size.max_nodes.origin or Origin((pool.place,)))

    def shares(self, cluster: Cluster, nodes: int) -> dict[str, int]:
        """Return the size of each pool by id for that many nodes."""
        maxima = {pool.id: number(pool.size.max_nodes, 0) for pool in self._pools.of_cluster(cluster)}
        return self._of_pools(cluster, nodes) or maxima

    def around(self, thing: Thing) -> Value[int]:
        """Return the target of an object's cluster, else the requested number."""
        cluster, requested = self._inventory.cluster_of.get(thing), self._config.nodes.get("")
        if cluster is not None:
            return self.target(cluster)
        if requested is not None:
            return Known(requested, Origin((thing.place,)))
        return self._inventory.unknown_size(thing)

    def of_workload(self, workload: Workload) -> Value[int]:
        """Count the nodes of a workload, one per pod, or all for a DaemonSet."""
        if workload.per_node:
            return self._of_daemons(workload)
        target = self.around(workload)
        return mapped(workload.pods, lambda pods: min(pods, number(target, pods)))

    def standing(self, cap: Cap, cluster: Cluster) -> int:
        """Count the nodes outside the autoscaler's cap."""
        if not cap.stays:
            return 0
        sizes = (pool.size for pool in self._pools.of_cluster(cluster))
        return sum(number(one.standing, 0) for one in sizes)

    def _alone(self, pool: NodePool, cluster: Cluster) -> Value[int]:
        """Return the size of a pool alone: its maximum, or the most under a cap."""
        most, caps = pool.size.max_nodes, self.caps(cluster)
        if not caps or not isinstance(most, Known) or not known(pool.size.autoscaled) or self.requested(cluster):
            return most
        bound = max(number(pool.size.min_nodes, 0), min(cap.most([pool], others=False) for cap in caps))
        return most if bound >= most.value else Known(int(bound), most.origin)

    @once
    def _of_pools(self, cluster: Cluster, target: int) -> dict[str, int] | None:
        """Return the size of each pool at the target; None if two are unknown."""
        growth = self.growth(cluster)
        if len(growth.unknown) > 1 or isinstance(self._pools.all_of_cluster(cluster), Unknown):
            return None
        sizes = growth.grown(target, growth.unknown[0]) if growth.unknown else growth.sizes(target)
        return {pool.id: size for pool, size in zip(self._pools.of_cluster(cluster), sizes, strict=True)}

    @once
    @or_unknown
    def _of_daemons(self, workload: Workload) -> Value[int]:
        """Count the nodes of a DaemonSet: the target, or the nodes of the pools it fits."""
        cluster = self._inventory.cluster_of.get(workload)
        pools = self._pools.of_cluster(cluster) if cluster else []
        for template in workload.templates:
            found = placement.landed(template, pools, self._pools.alike)
            if found is not None and cluster is not None:
                if cluster.gap or not all(map(self._pools.counted, found)) or known(cluster.provisioned) is True:
                    return Unknown(f"{cluster.address} has nodes that are not in this code")
                return Known(sum(need(self.of_pool(pool)) for pool in found), Origin((workload.place,)))
        return self.around(workload)


class Images:
    """Images of workloads, and the nodes that pull them."""

    def __init__(self, inventory: Inventory, sizes: Sizes, numbers: Numbers) -> None:
        self._inventory = inventory
        self._sizes = sizes
        self._numbers = numbers

    @cached_property
    def every(self) -> list[Uses]:
        """Images of each cluster, or file without one, most nodes first."""
        matters = self._numbers.limits("any")["docker_hub.stalled_at"].number

        def order(use: tuple[Workload, Image]) -> tuple[bool, int, bool]:
            workload, nodes = use[0], self._sizes.of_workload(use[0])
            return bool(known(workload.pull_secrets)), -number(nodes, matters), isinstance(nodes, Known)

        found: dict[str, Uses] = defaultdict(list)
        for workload in self._inventory.workloads:
            cluster = self._inventory.cluster_of.get(workload)
            for image in workload.images:
                text = image.text.value if isinstance(image.text, Known) else image.id
                scope = cluster.id if cluster else image.place.source.path
                found[f"{scope}:{text}"].append((workload, image))
        for uses in found.values():
            uses.sort(key=order)
        return list(found.values())

    def uses(self, image: Image) -> Uses:
        """Return the workloads that run an image in the same cluster or file."""
        return self._uses[image]

    def nodes(self, image: Image) -> Value[int]:
        """Count the nodes that pull the image."""
        return self._sizes.of_workload(self.uses(image)[0][0])

    @cached_property
    def _uses(self) -> dict[Image, Uses]:
        return {image: uses for uses in self.every for _, image in uses}
