"""How a generated cluster differs from the code that its intent was read from, where no intent can say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kcheck.generate.training_pools import described, named
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.units import counted
from kcheck.text.values import Known, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.generate.intent_fields import CodeReader
    from kcheck.model import NodePool
    from kcheck.text.values import Value

T = TypeVar("T")

_MOST = 6
"""How many ranges or taints a sentence lists."""


def differences(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Sentences about what of the old code the new one does not keep; none where they say the same."""
    yield from _name(old, new)
    yield from _tier(old, new)
    yield from _family(old)
    yield from _system(old, new)
    yield from _taints(old, new)
    yield from _least(old, new)
    yield from _ranges(old, new)


def _name(old: CodeReader, new: CodeReader) -> Iterator[str]:
    before, after = known(old.cluster.name), known(new.cluster.name)
    if before and after and before != after:
        yield f"the cluster is called {after}; in the code it is {before} ({old.cluster.place.location})"


def _tier(old: CodeReader, new: CodeReader) -> Iterator[str]:
    before, after = old.cluster.tier, new.cluster.tier
    if isinstance(before, Known) and isinstance(after, Known) and before.value.lower() != after.value.lower():
        place = before.origin.spans[0] if before.origin.spans else old.cluster.place
        yield f"the control plane has the tier {after.value}; in the code it has {before.value} ({place.location})"


def _family(old: CodeReader) -> Iterator[str]:
    family = old.cluster.ip_family
    if known(family) == "ipv6":
        place = family.origin.spans[0] if family.origin and family.origin.spans else old.cluster.place
        yield f"pods and Services get IPv4 addresses; in the code they get IPv6 ({place.location})"


def _system(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Pools for the cluster's own pods that get other machines."""
    after = new.training.system
    types = [name for pool in after for name in _types(pool)]
    before = [pool for pool in old.training.system if not set(_types(pool)) & set(types)]
    if before and after:
        was = "; ".join(described(pool, old.world) for pool in before)
        yield f"the cluster's own pods get {'; '.join(_sized(pool, new) for pool in after)}; the code has {was}"


def _types(pool: NodePool) -> tuple[str, ...]:
    return known(pool.machine.instance_types) or ()


def _sized(pool: NodePool, reader: CodeReader) -> str:
    nodes = known(reader.world.sizes.of_pool(pool)) or 0
    return f"up to {counted(nodes, 'node')} of {'/'.join(_types(pool)) or 'an unknown type'}"


def _taints(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Taints of training nodes with keys that no new pool has."""
    kept = {_key(taint) for pool in new.training.sizes for taint in known(pool.scheduling.taints) or ()}
    lost: dict[str, NodePool] = {}
    for pool in old.training.sizes:
        for taint in known(pool.scheduling.taints) or ():
            if _key(taint) not in kept:
                lost.setdefault(taint, pool)
    if lost:
        listed = [f"{taint} of {named(pool)}" for taint, pool in lost.items()]
        yield f"taints are left out: {_some(listed)}"


def _key(taint: str) -> str:
    return taint.partition(":")[0].partition("=")[0]


def _least(old: CodeReader, new: CodeReader) -> Iterator[str]:
    """Nodes that are always there, where the new pools grow from none."""
    if not any(known(pool.size.autoscaled) and known(pool.size.min_nodes) == 0 for pool in new.training.sizes):
        return
    fixed = [pool for pool, size in old.training.sizes.items() if known(pool.size.autoscaled) is False and size]
    growing = [pool for pool in old.training.sizes if known(pool.size.autoscaled) and known(pool.size.min_nodes)]
    listed = [f"{described(pool, old.world)} at any time" for pool in fixed]
    listed += [f"{named(pool)}, at least {known(pool.size.min_nodes):,}" for pool in growing]
    if listed:
        yield f"pools grow from 0 nodes; the code has {_some(listed)}"


def _ranges(old: CodeReader, new: CodeReader) -> Iterator[str]:
    before = cidrs(old)
    lost = [f"{cidr} ({place})" for cidr, place in before.items() if cidr not in cidrs(new)]
    if lost:
        yield f"network.range: chosen by size; the code has {_some(lost)}"


def cidrs(reader: CodeReader) -> dict[str, str]:
    """The ranges of the network of a cluster and of its pods, with their places."""
    found: dict[str, str] = {}
    for pool in reader.world.pools.of_cluster(reader.cluster):
        subnets = known(pool.addresses.subnets) or ()
        for network in filter(None, (known(subnet.network) for subnet in subnets)):
            found |= dict.fromkeys(_written(network.cidrs) or (), network.place.location)
        pods = known(pool.addresses.pod_range)
        if pods is not None and (cidr := _written(pods.cidr)):
            found.setdefault(cidr, pods.place.location)
    return {cidr: place for cidr, place in found.items() if parse_cidr(cidr)}


def _written(value: Value[T]) -> T | None:
    """A value that is in the code, and no default."""
    return value.value if isinstance(value, Known) and value.origin.missing is None else None


def _some(listed: list[str]) -> str:
    more = f"; and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return f"{'; '.join(listed[:_MOST])}{more}"
