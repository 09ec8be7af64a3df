"""Node pools of clusters, subnets and ranges, and pools that pods fit."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.inventory.clouds import registry
from kcheck.model import CONTROL_PLANE, Subnet
from kcheck.scale import allocatable, placement
from kcheck.scale.allocatable import Taken
from kcheck.scale.world.memory import Memory, once
from kcheck.text.amount import Amount, exactly
from kcheck.text.need import NotKnown, first_unknown, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import some
from kcheck.text.values import Known, Origin, Unknown, because, equals, known, number, sure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.model import Cluster, Definition, Inventory, NodePool, PodRange, PodTemplate, Sharing, Thing, Workload
    from kcheck.scale.world.relations import Autoscaling, Deployments
    from kcheck.text.values import Value


_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"
CONFIG = "nvidia.com/device-plugin.config"
"""Node label that names the device plugin configuration of the node."""
_CONFIG_FILE = regex(r"(?:CONFIG_FILE|--config-file)[ =]\S*/([\w.-]+)")


def _missing(what: str, place: Cluster | Subnet | PodRange, why: str) -> Unknown:
    return because(Unknown(why), text=f"{what} {place.address} may be missing")


class Outside(Struct, frozen=True):
    """Subnets outside the code that some pools of a cluster use for nodes or pods."""

    subnet: Subnet
    pools: list[NodePool]
    of_pods: bool


def _outside(cluster: Cluster, why: Unknown, pools: list[NodePool], *, of_pods: bool) -> Outside:
    first, reason = pools[0], because(why, why.origin)
    names = some([pool.display_name for pool in pools], 1)
    name = f"the subnets of {'the pods of ' if of_pods else ''}pool {names}"
    identity = f"{first.id}/{'pod-' if of_pods else ''}subnets"
    subnet = Subnet(
        identity, first.place, cluster.cloud, name, first.root, "", name=reason, cidr=reason, network=reason
    )
    return Outside(subnet, pools, of_pods)


class _Daemon(Struct, frozen=True):
    """A DaemonSet on a pool, whether it is certain, and its requests."""

    name: tuple[str, str]
    sure: bool
    cpu: int
    memory: int


def _name(workload: Workload) -> tuple[str, str]:
    return known(workload.namespace) or "", known(workload.name) or workload.id


def _bounds(group: list[_Daemon]) -> Taken:
    """Return bounds on the requests of a DaemonSet, perhaps defined twice."""
    cpu, memory = [one.cpu for one in group], [one.memory for one in group]
    sure = all(one.sure for one in group)
    return Taken(Amount(min(cpu) if sure else 0, max(cpu)), Amount(min(memory) if sure else 0, max(memory)))


def _less(every: Taken, own: Taken) -> Taken:
    return Taken(
        Amount(every.cpu.low - own.cpu.low, (every.cpu.high or 0) - (own.cpu.high or 0)),
        Amount(every.memory.low - own.memory.low, (every.memory.high or 0) - (own.memory.high or 0)),
    )


class Pools(Memory):
    """Node pools of clusters, subnets and ranges, and pools that pods fit."""

    def __init__(self, inventory: Inventory, deployed: Deployments, autoscaling: Autoscaling) -> None:
        super().__init__()
        self._inventory = inventory
        self._deployed = deployed
        self._autoscaling = autoscaling

    def of_cluster(self, cluster: Cluster) -> list[NodePool]:
        """List the known pools of a cluster."""
        return self._by_cluster[cluster.id]

    def all_of_cluster(self, cluster: Cluster) -> Value[list[NodePool]]:
        """List the pools of a cluster; Unknown if one may be missing."""
        found = self.kinds_of_cluster(cluster)
        why = self._why_uncounted(self.of_cluster(cluster))
        return _missing("pools of", cluster, why) if why and isinstance(found, Known) else found

    def kinds_of_cluster(self, cluster: Cluster) -> Value[list[NodePool]]:
        """List the pools of a cluster; one may stand for an unknown number of pools."""
        if cluster.gap:
            return _missing("pools of", cluster, cluster.gap)
        pool = self._without_cluster.get(cluster.root)
        if pool is not None:
            return because(pool.cluster, Origin((pool.place,)), f"the cluster of {pool.address} is not known")
        found = self.of_cluster(cluster)
        if self._autoscaling.has_karpenter(cluster) and not any(equals(pool.mode, "Karpenter") for pool in found):
            own = (one for one in self._inventory.karpenter if known(one.cluster) is cluster)
            if old := next((one for one in own if one.kind != "NodePool"), None):
                return Unknown(f"the nodes of {old.kind} {known(old.name) or '?'}, of an old API, are not counted")
            return Unknown(f"the NodePools of Karpenter on {cluster.address} are not in this code, or in templates")
        return Known(found, Origin((cluster.place,)))

    @once
    def network(self, cluster: Cluster) -> str:
        """Return the id of a cluster's only network; empty if unknown."""
        subnets = [one for pool in self.of_cluster(cluster) for one in known(pool.addresses.subnets) or ()]
        networks = {found.id for one in subnets if (found := known(one.network)) is not None}
        return known(cluster.network_id) or (networks.pop() if len(networks) == 1 else "")

    def in_network_of(self, cluster: Cluster) -> list[Cluster]:
        """List the other clusters in a cluster's network."""
        own = self.network(cluster)
        return [one for one in self._by_network[own] if one is not cluster] if own else []

    @cached_property
    def _by_network(self) -> dict[str, list[Cluster]]:
        return grouped(self._inventory.clusters, self.network)

    def inside(self, place: Subnet | PodRange) -> list[NodePool]:
        """List pools in a subnet or range. Raises NotKnown if incomplete."""
        found = self.perhaps_inside(place)
        need(self.doubt(place))
        return found

    def perhaps_inside(self, place: Subnet | PodRange) -> list[NodePool]:
        """List pools that are or may be inside. Raises NotKnown if incomplete."""
        if place.id in self.outside:
            return self.outside[place.id].pools
        nodes, pods = self._by_subnet[place.id], self._by_pods[place.id]
        own = nodes + self._anywhere.get(place.root, []) if isinstance(place, Subnet) else pods
        if why := place.gap or self._why_uncounted(own):
            raise NotKnown(_missing("pools in", place, why))
        return nodes + pods + self._perhaps_in_subnet[place.id]

    def doubt(self, place: Subnet | PodRange) -> Unknown | None:
        """Return why pools may also be elsewhere; None if all are inside."""
        for pool in self._perhaps_in_subnet[place.id]:
            text = f"how many nodes of {pool.display_name} are in {place.address} is not known"
            return because(pool.addresses.subnets, text=text)
        return None

    def counted(self, pool: NodePool) -> bool:
        """Whether a pool certainly exists and is one pool, not a stand-in for several."""
        return pool.id not in self._inventory.doubts

    def _why_uncounted(self, pools: Iterable[NodePool]) -> str:
        """Return why the number of pools is unknown; empty if known."""
        doubts = self._inventory.doubts  # most often none: then nobody looks at all pools once more
        return next(filter(None, (doubts.get(pool.id) for pool in pools)), "") if doubts else ""

    def holds_only_pods(self, subnet: Subnet) -> bool:
        """Whether a subnet holds pods, and no nodes."""
        if subnet.id in self.outside:
            return self.outside[subnet.id].of_pods
        return bool(self._by_pods[subnet.id]) and not self._by_subnet[subnet.id]

    @once
    @or_unknown
    def candidates(self, template: PodTemplate) -> Value[list[tuple[NodePool, bool]]]:
        """List the pools that pods fit, and whether each is certain."""
        workload = self._deployed.workload(template)
        cluster = self._inventory.cluster_of.get(workload)
        if cluster is None:
            return self._inventory.unknown_cluster(workload)
        need(self.all_of_cluster(cluster))
        found = [(pool, self.fit(template, pool).fits) for pool in self.selected(template, cluster)]
        return Known([(pool, bool(fits)) for pool, fits in found if fits is not False], Origin((workload.place,)))

    def selected(self, template: PodTemplate, cluster: Cluster) -> list[NodePool]:
        """List a cluster's pools, less those whose labels certainly rule out pods."""
        return self._labelled(cluster).selected(self.bound(template))

    @once
    def _labelled(self, cluster: Cluster) -> placement.Labelled:
        return placement.Labelled(self.of_cluster(cluster))

    def near(self, template: PodTemplate, cluster: Cluster) -> list[NodePool]:
        """List the pools of a cluster that pods may land on."""
        found = known(self.candidates(template))
        pools = self.of_cluster(cluster) if found is None else [pool for pool, _ in found]
        return [pool for pool in pools if found or self.fit(template, pool).fits is not False]

    def fitting(self, template: PodTemplate) -> list[NodePool]:
        """List the pools that pods fit; none if pools may be missing."""
        return [pool for pool, _ in known(self.candidates(template)) or ()]

    def may_land(self, template: PodTemplate, pool: NodePool) -> bool:
        """Whether pods may run on nodes of a pool."""
        found = known(self.candidates(template))
        return self.fit(template, pool).fits is not False if found is None else any(one is pool for one, _ in found)

    def fit(self, template: PodTemplate, pool: NodePool) -> placement.Fit:
        """Check whether pods can run on a pool, once for equal pools."""
        like = self.alike.get(pool)
        return self._fit(template, pool) if like is None else self._fit_alike(template, like)

    def _fit(self, template: PodTemplate, pool: NodePool) -> placement.Fit:
        return placement.fit(self.bound(template), pool, self._taken(template, pool), self.slots(pool))

    _fit_alike = once(_fit)

    @cached_property
    def alike(self) -> dict[NodePool, NodePool]:
        """Map each pool to the first of several pools that take the same pods."""
        named = self._is_chosen_by_name
        groups = grouped(self._inventory.pools, lambda pool: allocatable.shape(pool, self.slots(pool), named=named))
        return {pool: own[0] for own in groups.values() if own[1:] for pool in own}

    @cached_property
    def _is_chosen_by_name(self) -> bool:
        """Whether pods or their volumes select a pool by its name label."""
        names = {label for one in registry.every() for label in one.pool_labels}
        chosen = [one.selection for workload in self._inventory.workloads for one in workload.templates]
        chosen += [one.nodes for one in self._inventory.definitions]
        return any(one.key in names for each in chosen for term in sure(each) or () for one in term)

    def deciding(self, templates: tuple[PodTemplate, ...], pool: NodePool) -> Unknown | None:
        """Return the input that decides whether some pods run on a pool."""
        inputs = (pool.machine.instance_types, pool.scheduling.taints, pool.scheduling.labels, pool.market.spot)
        is_open = first_unknown(inputs) or self._open_selection(templates)
        return placement.deciding(self.fit(template, pool) for template in templates) if is_open else None

    @once
    def _open_selection(self, templates: tuple[PodTemplate, ...]) -> Unknown | None:
        return first_unknown(one.selection for one in templates)

    @once
    def bound(self, template: PodTemplate) -> PodTemplate:
        """Return pods with the node selection of their volumes added."""
        claims = dict.fromkeys((_CLAIM, known(one.name)) for one in template.references if one.kind == _CLAIM)
        every = self._volumes(self._deployed.scope(self._deployed.workload(template))) if claims else {}
        for own in (every[claim] for claim in claims if claim in every):
            kind, name = (_VOLUME, own.volume) if isinstance(own.volume, Known) else ("StorageClass", own.storage)
            behind = every.get((kind, known(name)))
            terms = sure(template.selection)
            if behind is not None and isinstance(behind.nodes, Known) and terms is not None:
                both = tuple((*term, *more) for term in terms or ((),) for more in behind.nodes.value)
                template = replace(template, selection=Known(both, behind.nodes.origin))
        return template

    @once
    def _volumes(self, scope: str) -> dict[tuple[str, str | None], Definition]:
        found = self._deployed.in_scope(scope).definitions
        return {(one.kind, known(one.name)): one for one in found}

    def obstacles(self, template: PodTemplate, pool: NodePool) -> list[placement.Fit]:
        """List the requirements of pods that a pool certainly does not meet."""
        found = placement.requirements(self.bound(template), pool, self._taken(template, pool), self.slots(pool))
        return [one for one in found if one.fits is False]

    def growing_pools(self, cluster: Cluster) -> list[NodePool]:
        """List the pools that grow with a cluster.

        They are the pools that its accelerator jobs fit, else, for jobs of several pods, autoscaled pools without
        accelerators, else pools with accelerators. Pools of a fixed size, or for the system, grow only if no others do.
        """
        pools = [pool for pool in self.of_cluster(cluster) if not equals(pool.mode, CONTROL_PLANE)]
        scaled = [pool for pool in pools if known(pool.size.autoscaled)]
        cards = [pool for pool in pools if known(pool.machine.gpu)]
        jobs = (job for job in self._deployed.on(cluster).workloads if job.batch and not job.per_node)
        pods = [template for job in jobs for template in job.templates]
        with_cards = [one for one in pods if one.on_accelerators]
        able = pools if with_cards else [pool for pool in scaled if pool not in cards]
        asking = with_cards or [one for one in pods if number(one.count, 0) > 1]
        near = {pool for one in asking for pool in self.near(one, cluster)} if able else ()
        found = [pool for pool in able if pool in near] or cards
        found = [pool for pool in found or pools if pool in scaled] or found or pools
        return [pool for pool in found if not equals(pool.mode, "System")] or found

    def chosen(self, template: PodTemplate, pool: NodePool) -> bool:
        """Whether pods may run on a pool if its nodes are large enough."""
        return placement.chooses(self.bound(template), pool, self.slots(pool)).fits is not False

    def shortage(self, template: PodTemplate, pool: NodePool) -> allocatable.Share | None:
        """Return the request that exceeds every node of a pool; else None."""
        return allocatable.shortage(template, pool, self._taken(template, pool))

    def per_node(self, template: PodTemplate, pool: NodePool, *, ports: bool = True) -> Amount | None:
        """Count pods per node beside its DaemonSets; None if unknown."""
        return placement.per_node(template, pool, self._taken(template, pool), self.slots(pool), ports=ports)

    def nodes_for(self, template: PodTemplate, pool: NodePool) -> int:
        """Count the nodes that pods certainly fit on."""
        pods, each = number(template.count, 0), self.per_node(template, pool)
        return pods if each is None else -(-pods // max(1, each.low))

    def cpu_left(self, pool: NodePool) -> int | None:
        """Return the millicores left beside DaemonSets; None if unknown."""
        left = [room.cpu_left - self._daemons(pool)[0].cpu for room in allocatable.rooms(pool)]
        return min(left, key=lambda one: one.low).exact if left else None

    @once
    def slots(self, pool: NodePool) -> Amount | None:
        """Count the GPUs that a node offers, shared ones several times; None if unknown."""
        cards, cluster = known(pool.machine.gpus), known(pool.cluster)
        whole = None if cards is None else exactly(cards)
        if not cards or not self._inventory.sharings or cluster is None:
            return whole
        own = [one for one in self._inventory.sharings if one.pool is pool]
        others = [one for one in self._inventory.sharings if self._inventory.cluster_of.get(one) in (cluster, None)]
        taken = [one for one in others if one.pool is None and self._may_take(pool, cluster, one)]
        named = (one.chooses for one in others if one.chooses)
        chosen = tuple(f"/{name}" for name in (*named, *self._started_with(pool, cluster)))
        default = [one for one in taken if one.default or (chosen and one.id.endswith(chosen))]
        found = own or default or [one for one in taken if not one.strategy_only]
        copies = [many for one in found for many in one.of_cards]
        if not copies:
            return whole
        most = max(number(one, 0) for one in copies) if all(map(known, copies)) else None
        low = cards * min(number(one, 1) for one in copies) if own or default else cards
        return Amount(low, None if most is None else cards * max(1, most))

    def _started_with(self, pool: NodePool, cluster: Cluster) -> Iterator[str]:
        """Yield the default device plugin configurations."""
        own = known(pool.scheduling.labels) or {}
        plain = replace(pool, scheduling=replace(pool.scheduling, labels=Known({CONFIG: "", **own}, Origin(()))))
        agents = (one for agent in self._deployed.on(cluster).workloads if agent.per_node for one in agent.templates)
        for template in agents:
            found = _CONFIG_FILE.search(" ".join(one.text for one in template.containers))
            if found and placement.fit(template, plain).fits is not False:
                yield found[1]

    def _may_take(self, pool: NodePool, cluster: Cluster, one: Sharing) -> bool:
        """Whether nodes of a pool may use a device plugin configuration."""
        names = {(known(own.scheduling.labels) or {}).get(CONFIG) for own in self.of_cluster(cluster)} - {None}
        chosen, name = (known(pool.scheduling.labels) or {}).get(CONFIG), one.id.rpartition("/")[2]
        return name == chosen if chosen is not None else name not in names

    def _taken(self, template: PodTemplate, pool: NodePool) -> Taken:
        """Sum the requests of a pool's DaemonSets, except the given pods' own."""
        workload, (every, each) = self._deployed.workload(template), self._daemons(pool)
        own = each.get(_name(workload)) if workload.per_node else None
        return every if own is None else _less(every, own)

    @once
    def _daemons(self, pool: NodePool) -> tuple[Taken, dict[tuple[str, str], Taken]]:
        """Sum the requests of a pool's DaemonSets, and list each by name, duplicates once."""
        each = {name: _bounds(group) for name, group in grouped(self._requests(pool), lambda one: one.name).items()}
        cpu, memory = (sum((getattr(one, field) for one in each.values()), exactly(0)) for field in Taken._fields)
        return Taken(cpu, memory), each

    def _requests(self, pool: NodePool) -> Iterator[_Daemon]:
        cluster = known(pool.cluster)
        for workload in self.daemon_sets.get(cluster.id, ()) if cluster is not None else ():
            for template in workload.templates:
                cpu, memory = number(template.cpu, 0), number(template.memory, 0)
                fits = placement.chooses(template, pool).fits if cpu or memory else False
                if fits is not False:
                    yield _Daemon(_name(workload), bool(fits), cpu, memory)

    @cached_property
    def daemon_sets(self) -> dict[str, list[Workload]]:
        """DaemonSets by cluster id."""
        cluster_of = self._inventory.cluster_of
        own = (one for one in self._inventory.workloads if one.per_node and not one.partial and one in cluster_of)
        return grouped(own, lambda one: cluster_of[one].id)

    @cached_property
    def _by_cluster(self) -> dict[str, list[NodePool]]:
        return self._by_owner(lambda pool: [known(pool.cluster)])

    @cached_property
    def _by_subnet(self) -> dict[str, list[NodePool]]:
        return self._by_owner(lambda pool: known(pool.addresses.subnets) or ())

    @cached_property
    def _by_pods(self) -> dict[str, list[NodePool]]:
        """Pools by the subnets and range of their pods."""

        def owners(pool: NodePool) -> Iterator[Thing | None]:
            yield from known(pool.addresses.pod_subnets) or ()
            yield known(pool.addresses.pod_range)

        return self._by_owner(owners)

    @cached_property
    def _perhaps_in_subnet(self) -> dict[str, list[NodePool]]:
        return self._by_owner(lambda pool: pool.addresses.candidates)

    def _by_owner(self, owners: Callable[[NodePool], Iterable[Thing | None]]) -> dict[str, list[NodePool]]:
        """Group pools by the ids of their owners; leave out pools without one."""
        found: dict[str, list[NodePool]] = defaultdict(list)
        for pool in self._inventory.pools:
            for owner in owners(pool):
                if owner is not None:
                    found[owner.id].append(pool)
        return found

    @cached_property
    def _anywhere(self) -> dict[str, list[NodePool]]:
        """Pools that may be in any subnet, by root module."""
        own = (pool for pool in self._inventory.pools if not pool.addresses.candidates)
        return grouped((pool for pool in own if isinstance(pool.addresses.subnets, Unknown)), lambda pool: pool.root)

    @cached_property
    def outside(self) -> dict[str, Outside]:
        """Subnets outside the code by id, one for each cluster and reason."""
        found: dict[tuple[Cluster, bool, str], list[tuple[NodePool, Unknown]]] = defaultdict(list)
        for pool in self._inventory.pools:
            cluster, own = known(pool.cluster), pool.addresses
            for of_pods, subnets in ((False, own.subnets), (True, own.pod_subnets)):
                if cluster is not None and isinstance(subnets, Unknown) and (of_pods or not own.candidates):
                    found[cluster, of_pods, subnets.reason].append((pool, subnets))
        made = [
            _outside(cluster, pairs[0][1], [pool for pool, _ in pairs], of_pods=of_pods)
            for (cluster, of_pods, _), pairs in found.items()
        ]
        return {one.subnet.id: one for one in made}

    @cached_property
    def _without_cluster(self) -> dict[str, NodePool]:
        """Pool that may belong to any cluster, by root module."""
        pools = self._inventory.pools
        return {one.root: one for one in pools if isinstance(one.cluster, Unknown) and not one.cluster.symbol}
