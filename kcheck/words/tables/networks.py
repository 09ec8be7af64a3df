"""The words of subnets, pod ranges, and of what ends the growth of a cluster."""

from __future__ import annotations

from kcheck.scale import addresses as demands
from kcheck.words.derive import basics, larger_ranges, limits, ranges
from kcheck.words.tables.field import Field, made, named, part, record, records, simple

_DEMAND = (
    simple("cidr", "string", "its IPv4 range", nullable=False),
    made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
    made("addresses_needed", "int", "addresses that its pools need at their sizes, surge nodes of upgrades included",
         ranges.needed, "addresses", bounded=True),
    made("addresses_as_written", "int", "the same of the pools only of which somebody wrote the size", ranges.needed_as_written, "addresses"),
    made("addresses_one_upgrade", "int", "the same where one pool is upgraded at a time", ranges.needed_one_at_a_time, "addresses"),
    made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
    records("shares", "share", "what each pool takes of it, the largest share first", ranges.shares),
)  # fmt: skip
"""What subnets and ranges of pods have in common."""

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "subnet": (
        named("the subnet's name"),
        *_DEMAND,
        made("prefix", "int", "length of its prefix", ranges.prefix),
        made("usable_addresses", "int", "addresses that the cloud does not keep for itself", demands.room, "addresses"),
        made("addresses_per_node", "int", "addresses of the node in it that takes most", ranges.widest, "addresses"),
        made("sufficient_cidr", "string", "next free block of the network that is large enough; null if there is none",
              larger_ranges.sufficient_cidr, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda s, w: basics.count(s, w.pools.in_subnet(s)), "pools"),
        made("for_pods", "bool", "whether it holds pods and no nodes", lambda s, w: basics.computed(s, w.pools.holds_only_pods(s))),
        records("pools", "pool", "pools whose nodes are in it", lambda s, w: w.pools.in_subnet(s)),
    ),
    "pod_range": (
        named("name of the range, or of its cluster"),
        *_DEMAND,
        made("addresses", "int", "its addresses, and those of the ranges that continue it", demands.room, "addresses"),
        made("block", "int", "length of the prefix of the block that a node takes; null if its pools differ",
              ranges.range_block, nullable=True),
        made("sufficient_cidr", "string", "the range widened until it has room; null if that overlaps",
              larger_ranges.sufficient_range, nullable=True),
        made("in_the_way", "string", "what it would then overlap, or may overlap; null if nothing is in the way", larger_ranges.in_the_way, nullable=True),
        made("in_the_way_cidr", "string", "the range of that; null where it is not known", larger_ranges.in_the_way_cidr, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda r, w: basics.count(r, w.pools.in_range(r)), "pools"),
        records("pools", "pool", "pools whose pods are in it", lambda r, w: w.pools.in_range(r)),
    ),
    "share": (
        part("pool", "string", "the pool"),
        part("nodes", "int", "its nodes when its cluster reaches its target", "nodes"),
        part("surge", "int", "nodes that an upgrade adds", "nodes"),
        part("subnets", "int", "subnets over which these are spread", "subnets"),
        part("per_node", "int", "addresses that one of them takes", "addresses"),
        part("addresses", "int", "addresses that they take here", "addresses"),
        part("by_default", "bool", "whether its size is a default that nobody wrote"),
    ),
    "wall": (
        made("mechanism", "string", "what ends the growth: subnet, pod-range, cluster-limit ...", lambda w, _w: basics.computed(w, w.mechanism)),
        made("scope", "string", "the cluster, pool, subnet or range that it ends", lambda w, _w: basics.computed(w, w.scope)),
        made("kind", "string", "hard, quota or recommended", lambda w, _w: basics.computed(w, w.kind)),
        made("limit", "int", "the number of the limit; null where it differs by account and the settings do not say it", limits.number, nullable=True),
        made("nodes", "int", "nodes of the cluster when it is met", limits.nodes, "nodes", bounded=True),
        made("target", "int", "nodes that the cluster should reach", limits.target, "nodes", bounded=True),
        made("cause", "string", "the value that makes the wall", limits.cause, nullable=True),
        records("pools", "pool", "the pools that meet it", lambda w, _w: list(w.pools)),
        record("cluster", "cluster", "its cluster", basics.cluster_of),
    ),
}  # fmt: skip

PARTS = frozenset({"share"})
"""Subjects that are only parts of others."""
