"""Walls of clusters and pools that the clouds document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.numbers import profiles
from kcheck.scale.growth import Interval, surge_nodes
from kcheck.source.values import Known, Unknown, Unset, equals, known, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.model import NodePool
    from kcheck.scale.walls.model import Ground, Sizes, Wall
    from kcheck.scale.world import World

_FAQ = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"


def walls(ground: Ground) -> Iterator[Wall]:
    """The maximum that is written, the limits of the cluster and of each pool."""
    yield from _maximum(ground)
    yield from _CLUSTER[ground.cluster.cloud](ground)
    for pool in ground.pools:
        yield from _pool(pool, ground)
        if ground.cluster.cloud == "ack":
            yield from _engine(pool, ground)


def _maximum(ground: Ground) -> Iterator[Wall]:
    """The sum of the pools' maxima, beyond which nothing grows."""
    cluster, world = ground.cluster, ground.world
    maximum = world.sizes.maximum(cluster)
    if not ground.pools or cluster.plane is not None or world.autoscaling.beyond_pools(cluster):
        return
    biggest = max(ground.pools, key=lambda pool: (bool(known(pool.size.autoscaled)), number(pool.size.max_nodes, 0)))
    entry = ("hard", _FAQ)
    if isinstance(maximum, Known):
        parts = [
            f"{pool.display_name} {known(pool.size.max_nodes):,}" for pool in ground.pools if known(pool.size.max_nodes)
        ]
        text = f"{' + '.join(parts[:6])}{' + ...' if len(parts) > 6 else ''} = {maximum.value:,}"
        nodes = Interval(maximum.value, maximum.value)
        yield ground.wall("maximum", "the pools", nodes, text, biggest.size.max_nodes, entry)
    else:
        unknown = next((pool for pool in ground.pools if not isinstance(pool.size.max_nodes, Known)), biggest)
        yield ground.unknown("maximum", "the pools", reason_of(maximum), unknown.size.max_nodes, entry)


# --- of the cluster


def _aks(ground: Ground) -> Iterator[Wall]:
    cluster, tier = ground.cluster, ground.cluster.tier
    free, paid = ground.limits["free_tier.ceiling"], ground.limits["standard_tier.nodes"]
    if not isinstance(tier, Known):
        nodes = Interval(free.number, paid.number)
        why = f"{free.value:,} of the Free tier, {paid.value:,} of the others: {reason_of(tier)}"
        yield ground.wall("cluster-limit", "the cluster", nodes, why, tier, paid)
    elif tier.value == "Free":
        yield ground.fixed("cluster-limit", "free_tier.ceiling", tier, "the ceiling of the Free tier")
        text = "what Microsoft recommends for the Free tier"
        yield ground.fixed("control-plane", "free_tier.recommended", tier, text)
    else:
        yield ground.fixed("cluster-limit", "standard_tier.nodes", tier, f"the limit of the {tier.value} tier")
    if equals(cluster.network_plugin, "kubenet"):
        text = "one route for each node in a route table"
        yield ground.fixed("kubenet-routes", "kubenet.nodes", cluster.network_plugin, text)
    if equals(cluster.network_policy, "azure"):
        text = "what Azure's Network Policy Manager supports"
        yield ground.fixed("network-policy", "network_policy.nodes", cluster.network_policy, text)


def _eks(ground: Ground) -> Iterator[Wall]:
    yield ground.fixed("cluster-limit", "cluster.nodes", ground.cluster.name, "the most that AWS enables, on request")


def _gke(ground: Ground) -> Iterator[Wall]:
    cluster = ground.cluster
    text = "the default; Google raises it on request"
    yield ground.fixed("cluster-limit", "cluster.nodes", cluster.name, text)
    if known(cluster.zonal):
        text = "Google asks for a regional cluster above it"
        yield ground.fixed("control-plane", "zonal.nodes", cluster.location, text)


def _ack(ground: Ground) -> Iterator[Wall]:
    tier, plugin = ground.cluster.tier, ground.cluster.network_plugin
    if equals(tier, "ack.standard"):
        yield ground.fixed("cluster-limit", "basic.nodes", tier, "an ACK Basic cluster, and it cannot be raised")
        return
    if equals(plugin, "flannel"):
        text = f"one route of the VPC for each node; up to {ground.limits['flannel.ceiling'].value:,} on request"
        yield ground.fixed("flannel-routes", "flannel.nodes", plugin, text)
        yield ground.fixed("cluster-limit", "flannel.ceiling", plugin, "no more routes than that can be had")
    elif equals(plugin, "terway"):
        text = f"the default; up to {ground.limits['terway.ceiling'].value:,} on request"
        yield ground.fixed("cluster-limit", "terway.nodes", plugin, text)
        yield ground.fixed("cluster-limit", "terway.ceiling", plugin, "no more than that can be had")
    if equals(plugin, "terway") and equals(ground.cluster.security_group, "basic"):
        yield _group(ground)
    if not isinstance(tier, Known):
        yield ground.unknown("cluster-limit", "the cluster", reason_of(tier), tier, ground.limits["basic.nodes"])


def _engine(pool: NodePool, ground: Ground) -> Iterator[Wall]:
    """What the Cluster Autoscaler of ACK is rated for; its other engine has no such number."""
    own = [one for one in ground.world.inventory.autoscalers if known(one.cluster) is ground.cluster]
    if not any(equals(one.profile, "cluster-autoscaler") for one in own) or ground.gap:
        return
    entry = ground.limits["autoscaler.nodes"]
    scope, text = f"pool {pool.display_name}", "what ACK rates its Cluster Autoscaler for, a pool"
    yield from ground.grown(
        "engine", scope, lambda sizes: sizes[pool.id], room=entry.number, weights={pool.id: 1}, arithmetic=text,
        cause=own[0].profile, entry=entry, key=pool.id, pools=[pool],
    )  # fmt: skip


def _group(ground: Ground) -> Wall:
    """The addresses of a basic security group, of nodes and of their pods."""
    entry, least = ground.limits["security_group.basic"], ground.limits["terway.least_pod_addresses"].number
    most = least + profiles.settings("ack")["terway.idle_pool"].number
    nodes = Interval(entry.number // (1 + most), entry.number // (1 + least))
    text = f"{entry.number:,} addresses, of which a node takes {1 + least} to {1 + most} with one pod"
    return ground.wall("security-group", "the cluster", nodes, text, ground.cluster.security_group, entry)


def _selfmanaged(ground: Ground) -> Iterator[Wall]:
    cluster, plane = ground.cluster, ground.cluster.plane
    designed, own = profiles.limits(cluster.cloud)["cluster.nodes"].number, ground.limits["cluster.nodes"].number
    text = "what Kubernetes is designed for"
    text = text if own == designed else f"as the settings say; {designed:,} are {text}"
    yield ground.fixed("cluster-limit", "cluster.nodes", cluster.name, text)
    if plane is None:
        return
    default = profiles.settings(cluster.cloud)["plane.etcd_quota"].number
    if known(plane.etcd_quota) == default:
        text = f"where the {default >> 30} GiB of etcd's default were full"
        yield ground.fixed("etcd", "etcd.default_quota", plane.etcd_quota, text)
    if isinstance(plane.event_servers, Unset):
        text = "from where on events need an etcd of their own"
        yield ground.fixed("events", "etcd.events_apart", plane.event_servers, text)
    if (known(plane.writes_inflight) or 0) < ground.limits["apiserver.writes_inflight"].number:
        text = "above which Kubernetes' own scripts raise the requests in flight"
        yield ground.fixed("apiserver", "apiserver.inflight_nodes", plane.writes_inflight, text)


_CLUSTER = {"aks": _aks, "eks": _eks, "gke": _gke, "ack": _ack, "selfmanaged": _selfmanaged}


# --- of a pool


def counted(pool: NodePool, nodes: int, world: World) -> int | Unknown:
    """Nodes that the cloud's limit of a pool counts: in the fullest zone, or all with the surge of an upgrade."""
    cluster = known(pool.cluster)
    if cluster is None:
        return Unknown(reason_of(pool.cluster), pool.cluster.origin)
    if isinstance(pool.size.zone_count, Unknown):
        return pool.size.zone_count
    if isinstance(pool.size.zone_count, Known):
        return -(-nodes // max(1, int(pool.size.zone_count.value)))
    counts_surge = world.numbers.limits(cluster.cloud).get("pool.counts_surge")
    if counts_surge is None or not counts_surge.value:
        return nodes
    if not isinstance(pool.upgrade.surge, Known):
        return Unknown(reason_of(pool.upgrade.surge), pool.upgrade.surge.origin)
    return nodes + surge_nodes(pool.upgrade.surge.value, nodes)


def _pool(pool: NodePool, ground: Ground) -> Iterator[Wall]:
    """The limit of a pool: of all, of those in one zone, or of those that the cloud manages.

    Karpenter starts machines one by one, in no scale set or managed group that could be full.
    """
    world, limits = ground.world, ground.limits
    mechanism, key = ("pool-limit", "pool.nodes") if "pool.nodes" in limits else ("pool-quota", "pool.quota")
    if key not in limits or (key == "pool.quota" and not pool.managed) or equals(pool.mode, "Karpenter"):
        return
    entry, scope = limits[key], f"pool {pool.display_name}"
    first = counted(pool, 1, world)
    if isinstance(first, Unknown) or ground.gap:
        why = ground.gap or (first.reason if isinstance(first, Unknown) else "")
        yield ground.unknown(mechanism, scope, why, cause=pool.size.max_nodes, entry=entry, key=pool.id, pools=[pool])
        return

    def takes(sizes: Sizes) -> int:
        many = counted(pool, sizes[pool.id], world)
        return many if isinstance(many, int) else entry.number + 1

    text = f"{entry.value:,} {limits['pool.what'].value if 'pool.what' in limits else 'nodes'}"
    yield from ground.grown(
        mechanism, scope, takes, room=entry.number, weights={pool.id: 1}, arithmetic=text, cause=pool.size.max_nodes,
        entry=entry, key=pool.id, pools=[pool],
    )  # fmt: skip
