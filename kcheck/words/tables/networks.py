"""The words of subnets, pod ranges, and of what ends the growth of a cluster."""

from __future__ import annotations

from kcheck.scale import addresses as demands
from kcheck.words.derive import basics, larger_ranges, limits, ranges
from kcheck.words.tables.field import Field, made, named, record, records, simple

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "subnet": (
        named("the subnet's name"),
        simple("cidr", "string", "its IPv4 range", nullable=False),
        made("prefix", "int", "length of its prefix", ranges.prefix),
        made("usable_addresses", "int", "addresses that are not reserved by the cloud", demands.room, "addresses"),
        made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        made("addresses_needed", "int", "addresses its pools need at least at their sizes, surge included",
              ranges.needed, "addresses"),
        made("needs", "string", "addresses_needed, or at least so many where not all of it is known", ranges.needs),
        made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        made("only_at_once", "bool", "whether it is too small only if several of its pools are upgraded at once", ranges.only_at_once),
        made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        made("addresses_per_node", "int", "addresses of the hungriest node in it", ranges.widest, "addresses"),
        made("room", "int", "how many of these nodes fit, no surge", ranges.room, "nodes"),
        made("sufficient_cidr", "string", "next free block of the network that is big enough; null if there is none",
              larger_ranges.sufficient_cidr, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda s, w: basics.count(s, w.pools.in_subnet(s)), "pools"),
        made("for_pods", "bool", "whether it holds pods and no nodes", lambda s, w: basics.computed(s, w.pools.holds_only_pods(s))),
        records("pools", "pool", "pools whose nodes are in it", lambda s, w: w.pools.in_subnet(s)),
    ),
    "pod_range": (
        named("name of the range, or of its cluster"),
        simple("cidr", "string", "its IPv4 range", nullable=False),
        made("addresses", "int", "its addresses, and those of the ranges that continue it", demands.room, "addresses"),
        made("block", "int", "length of the prefix of the block that a node takes; null if its pools differ",
              ranges.range_block, nullable=True),
        made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
        made("addresses_needed", "int", "addresses that the blocks of all nodes take, surge included",
              ranges.needed, "addresses"),
        made("overflows", "bool", "whether it is full before its clusters reach their targets", demands.overflows),
        made("sum", "string", "the arithmetic of addresses_needed",
              ranges.arithmetic, nullable=True),
        made("by_default", "bool", "whether it is too small only because of sizes that nobody wrote", ranges.by_default),
        made("only_at_once", "bool", "whether it is too small only if several of its pools are upgraded at once", ranges.only_at_once),
        made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True),
        made("sufficient_cidr", "string", "the range widened until it has room; null if that overlaps",
              larger_ranges.sufficient_range, nullable=True),
        made("in_the_way", "string", "what it would then overlap, or may overlap; null if nothing is in the way", larger_ranges.in_the_way, nullable=True),
        made("pools_count", "int", "number of pools in it", lambda r, w: basics.count(r, w.pools.in_range(r)), "pools"),
        records("pools", "pool", "pools whose pods are in it", lambda r, w: w.pools.in_range(r)),
    ),
    "wall": (
        made("mechanism", "string", "what ends the growth: subnet, pod-range, cluster-limit ...", lambda w, _w: basics.computed(w, w.mechanism)),
        made("scope", "string", "the cluster, pool, subnet or range that it ends", lambda w, _w: basics.computed(w, w.scope)),
        made("kind", "string", "hard, quota or recommended", lambda w, _w: basics.computed(w, w.kind)),
        made("nodes", "int", "nodes of the cluster when it is met; the bound where only one is known", limits.nodes, "nodes"),
        made("reach", "string", "the same, with at most or at least where it is a bound", limits.reach),
        made("target", "string", "nodes that the cluster is meant to reach, with at least where not all is known", limits.target),
        made("short", "bool", "whether it is met before the target; unknown where the bounds do not tell", limits.short),
        made("arithmetic", "string", "how the number is worked out", lambda w, _w: basics.computed(w, w.arithmetic)),
        made("move", "string", "how the wall is moved", lambda w, _w: basics.computed(w, w.move)),
        made("cause", "string", "the value that makes the wall", limits.cause, nullable=True),
        records("pools", "pool", "the pools that meet it", lambda w, _w: list(w.pools)),
        record("cluster", "cluster", "its cluster", basics.cluster_of),
    ),
}  # fmt: skip
