"""Words of subnets, pod ranges, and walls."""

from kcheck.engine.words.tables.field import Field, annotated, made, named, record, records, simple
from kcheck.scale import addresses, basics, ranges, walls

ADDRESSES = (
    named("its name, or that of the cluster that makes it"),
    simple("cidr", "string", "its IPv4 range", nullable=False),
    made("nodes", "int", "nodes in it when their clusters reach their targets", ranges.nodes, "nodes"),
    made("usable_addresses", "int", "addresses that the cloud does not keep for itself; of a pod range also those of the ranges that continue it", addresses.room, "addresses"),
    made("addresses_needed", "int", "addresses that its pools need at their sizes while one of them is upgraded", ranges.needed, "addresses", bounded=True),
    made("addresses_as_written", "int", "the same of the pools only of which somebody wrote the size", ranges.needed_as_written, "addresses"),
    made("addresses_all_upgrades", "int", "the same while all of them are upgraded at once", ranges.needed_all_at_once, "addresses"),
    made("addresses_per_node", "int", "addresses of the node in it that takes most; of a pod range those of the largest block", ranges.widest, "addresses"),
    made("full_at", "int", "nodes at which it is full, pools growing in proportion; null if they fit", ranges.full, "nodes", nullable=True, bounded=True),
    made("sufficient_cidr", "string", "a larger range for it: the next free block of the subnet's network, or the pod range widened; null if there is none", ranges.sufficient_cidr, nullable=True),
    made("in_the_way", "string", "what the pod range would overlap if it were widened, or may overlap; null if nothing is in the way, and for a subnet", ranges.in_the_way, nullable=True),
    made("in_the_way_cidr", "string", "the range of that; null where it is not known", ranges.in_the_way_cidr, nullable=True),
    made("for_pods", "bool", "whether it holds pods and no nodes, as each pod range does", ranges.for_pods),
    made("pools_count", "int", "number of pools in it", lambda p, w: basics.count(p, addresses.pools_of(p, w)), "pools"),
    records("pools", "pool", "pools whose nodes or pods are in it", addresses.pools_of),
    records("shares", "share", "what each pool takes of it, the largest share first", ranges.shares),
)  # fmt: skip
"""Words of subnets and of pod ranges."""

SUBJECTS: dict[str, tuple[Field, ...]] = {
    "subnet": ADDRESSES,
    "pod_range": ADDRESSES,
    "share": annotated(ranges.Share),
    "wall": (
        *annotated(walls.model.Wall),
        made("limit", "int", "the number of the limit; null where it differs by account and the settings do not say it", walls.number, nullable=True),
        made("nodes", "int", "nodes of the cluster when it is met", walls.nodes, "nodes", bounded=True),
        made("target", "int", "nodes that the cluster should reach", walls.target, "nodes", bounded=True),
        made("cause", "string", "the value that makes the wall", walls.cause, nullable=True),
        records("pools", "pool", "the pools that meet it", lambda w, _w: list(w.pools)),
        record("cluster", "cluster", "its cluster", basics.cluster_of),
    ),
}  # fmt: skip
"""Subjects that are only parts of others."""
