"""Words of autoscalers and their flags: how fast they delete, what idle nodes cost."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import flags
from kcheck.scale import deletion, unready
from kcheck.scale.facts.basics import anyone, computed, is_default, unknown_size
from kcheck.scale.facts.pools import autoscaled
from kcheck.text.units import minor_version
from kcheck.text.values import Known, Unknown, Unset, Value, all_known, combined, known, mapped, number, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.model import Autoscaler, Flag
    from kcheck.scale.facts import money
    from kcheck.scale.world import World


def has_work(autoscaler: Autoscaler, world: World) -> bool:
    """Whether an autoscaler has pools to scale, makes some itself, or may have some."""
    cluster = known(autoscaler.cluster)
    if cluster is None or known(autoscaler.provisioning):
        return True
    return known(autoscaled(cluster, world)) is not False


def by_default(autoscaler: Autoscaler, world: World) -> Value[bool]:
    """Whether its nodes are nobody's wish: none were asked for, and a pool's maximum is a default."""
    cluster = known(autoscaler.cluster)
    if cluster is None or world.sizes.requested(cluster) is not None:
        return computed(autoscaler, value=False)
    return anyone(autoscaler, (is_default(pool, pool.size.max_nodes) for pool in world.pools.of_cluster(cluster)))


def growable_nodes(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Nodes that the autoscaler adds and removes when the cluster reaches its target."""
    shares = growing(autoscaler, world)
    return shares if isinstance(shares, Unknown) else computed(autoscaler, sum(nodes for _, nodes in shares))


def growing(autoscaler: Autoscaler, world: World) -> list[money.Share] | Unknown:
    """The pools that the autoscaler grows, with the nodes that it adds to each."""
    return world.remember("growing", autoscaler, lambda: _growing(autoscaler, world))


def _growing(autoscaler: Autoscaler, world: World) -> list[money.Share] | Unknown:
    if not isinstance(autoscaler.cluster, Known):
        asked = world.config.nodes.get("")
        return [(None, asked)] if asked else unknown_size(autoscaler, world)
    pools = world.pools.all_of_cluster(autoscaler.cluster.value)
    if isinstance(pools, Unknown):
        return pools
    shares: list[money.Share] = []
    for pool in pools:
        if not isinstance(pool.size.autoscaled, Known):
            return Unknown(reason_of(pool.size.autoscaled), pool.size.autoscaled.origin)
        if pool.size.autoscaled.value:
            nodes = world.sizes.of_pool(pool)
            if not isinstance(nodes, Known):
                return Unknown(reason_of(nodes), nodes.origin)
            shares.append((pool, max(0, nodes.value - number(pool.size.min_nodes, 0))))
    return shares


def zones(autoscaler: Autoscaler, world: World) -> Value[int]:
    """In how many zones the pools are that it scales; unset where they name none."""
    shares = growing(autoscaler, world)
    if isinstance(shares, Unknown):
        return shares
    found = all_known(pool.placement.zones for pool, _ in shares if pool is not None)
    named = found if isinstance(found, Unknown) else {zone for own in found for zone in own}
    return computed(autoscaler, named if isinstance(named, Unknown) else len(named) or None)


def tolerated_share(autoscaler: Autoscaler, world: World) -> Value[int]:
    """The percentage with which it goes on when one of its zones fails; the default where these are not known."""
    return computed(autoscaler, unready.percentage(number(zones(autoscaler, world), 1)))


def tolerated_nodes(autoscaler: Autoscaler, world: World) -> Value[int]:
    """The count with which it goes on while a batch of nodes is deleted, its own one or one that is large enough."""
    batch, share = known(sufficient_batch(autoscaler, world)), unready.percentage(number(zones(autoscaler, world), 1))
    found = combined(
        lambda nodes, own: unready.tolerated(nodes, max(own, batch or 0), share),
        growable_nodes(autoscaler, world),
        autoscaler.bulk_delete,
    )
    return computed(autoscaler, found)


def client_qps(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Requests a second of the autoscaler; the default where a cloud runs it."""
    if isinstance(autoscaler.client_qps, Unset):
        return computed(autoscaler, world.numbers.limits("any")["autoscaler.client_qps"].number)
    return mapped(autoscaler.client_qps, lambda qps: max(1, qps))


def batches(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Batches in which its nodes are deleted."""
    nodes = growable_nodes(autoscaler, world)
    return computed(autoscaler, combined(deletion.batches, nodes, autoscaler.bulk_delete))


def tainting_time(autoscaler: Autoscaler, world: World) -> Value[int]:
    """Seconds it needs to taint its nodes, one request each."""
    nodes, qps = growable_nodes(autoscaler, world), client_qps(autoscaler, world)
    return computed(autoscaler, combined(deletion.tainting_time, nodes, qps))


def batch_interval(autoscaler: Autoscaler, _world: World) -> Value[int]:
    """Seconds from one batch to the next at least, the time to taint nodes aside."""
    from kcheck.scale.simulate import scenario

    settings, _ = scenario.autoscaler_settings(autoscaler, known(autoscaler.cluster))
    delay = ceil(settings.taint_delay)
    return mapped(autoscaler.scan_interval, lambda own: min(own, delay) if settings.eager else own)


def sufficient_batch(autoscaler: Autoscaler, world: World) -> Value[int]:
    """The round batch with which deletion is fast enough, even if loops do not follow each other at once."""
    wanted = world.numbers.limits("any")["autoscaler.deletion_time"].number
    batch = combined(
        lambda nodes, interval, qps: deletion.sufficient_batch(nodes, wanted, interval, qps),
        growable_nodes(autoscaler, world),
        autoscaler.scan_interval,
        client_qps(autoscaler, world),
    )
    return computed(autoscaler, None if isinstance(batch, Unknown) else batch)


def minor(autoscaler: Autoscaler, _world: World) -> Value[int]:
    """The minor version of an autoscaler; unset where the cloud runs it."""
    version = autoscaler.version
    if isinstance(version, Unset):
        return version
    if isinstance(version, Unknown):
        return Unknown(version.reason, version.origin)
    found = minor_version(version.value)
    if found is None:
        return Unknown(f"`{version.value}` is not a version of the cluster autoscaler", version.origin)
    return Known(found, version.origin)


def owner(flag: Flag, world: World) -> Value[Autoscaler]:
    """The autoscaler that has a flag."""
    return computed(flag, next(a for a in world.inventory.autoscalers if flag in a.flags))


def comes_later(flag: Flag, world: World) -> Value[bool]:
    """Whether a flag is newer than its autoscaler; not of one that upstream never had."""
    return _judged(flag, world, flags.comes_later, changes="first")


def is_removed(flag: Flag, world: World) -> Value[bool]:
    """Whether a flag is no longer in its autoscaler."""
    return _judged(flag, world, flags.is_removed, changes="removed")


def _judged(
    flag: Flag, world: World, judge: Callable[[str, flags.Release], bool | None], *, changes: str
) -> Value[bool]:
    name, autoscaler = known(flag.name) or "", known(owner(flag, world))
    if autoscaler is None or changes not in flags.flags().get(name, {}):
        return computed(flag, value=False)
    own = minor(autoscaler, world)
    release = flags.release(known(autoscaler.version) or "")
    if release is None:
        return own if isinstance(own, Unknown) else computed(flag, value=False)
    found = judge(name, release)
    if found is None:
        return Unknown(f"--{name} depends on the patch of {release}, which is not known", autoscaler.version.origin)
    return computed(flag, found)


def first_version(flag: Flag, _world: World) -> Value[str]:
    """The first version with a flag in the minor version of its autoscaler, or later."""
    own = flags.release(known(flag.version) or "")
    found = flags.first_release(known(flag.name) or "", own.minor if own else 0)
    return computed(flag, str(found) if found else None)


def removed_version(flag: Flag, _world: World) -> Value[str]:
    """The first version without a flag that earlier ones had."""
    found = flags.removed_release(known(flag.name) or "")
    return computed(flag, str(found) if found else None)


def successor(flag: Flag, world: World) -> Value[str]:
    """The flag that replaces one; null if there is none, or if the autoscaler sets it too."""
    name = flags.flags().get(known(flag.name) or "", {}).get("successor")
    siblings = known(owner(flag, world))
    is_set = siblings is not None and any(known(other.name) == name for other in siblings.flags)
    return computed(flag, None if is_set else name)


def profile_has_place(autoscaler: Autoscaler, _world: World) -> Value[bool]:
    """Whether the profile is written in the code, or could be: not where a module has it as its own default."""
    origin = autoscaler.profile.origin
    added = origin is not None and origin.missing is not None and bool(origin.missing.path)
    given = origin is not None and len(origin.spans) > 0 and origin.written != autoscaler.place
    return computed(autoscaler, added or given)
