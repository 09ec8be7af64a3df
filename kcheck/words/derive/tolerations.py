"""Words of the taints that pods tolerate, and of those that they should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import CARDS
from kcheck.scale import placement
from kcheck.source.values import Unknown, Value, known, mapped
from kcheck.words.derive import spot
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import PodTemplate, Toleration
    from kcheck.scale.world import World

_EFFECTS = {"noschedule": "NoSchedule", "noexecute": "NoExecute"}


def written(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The tolerations of pods, as taints are called."""
    return mapped(template.tolerations, lambda found: tuple(map(_text, found)))


def _text(one: Toleration) -> str:
    return f"{one.key}={one.value}:{one.effect}"


def lacking(template: PodTemplate, world: World) -> Value[dict[str, str]]:
    """The toleration of the one taint that keeps pods from the nodes they select; null where there are several."""
    taint = _barrier(template, world)
    if isinstance(taint, Unknown):
        return taint
    rest, _, effect = taint.rpartition(":")
    key, _, value = rest.partition("=")
    if not taint or effect.replace("_", "").lower() not in _EFFECTS:
        return computed(template, None)
    result = {"key": key, "operator": "Exists"}
    if value and key not in CARDS:  # of the taints of cards, nobody cares for the value
        result |= {"operator": "Equal", "value": value}
    return computed(template, {**result, "effect": _EFFECTS[effect.replace("_", "").lower()]})


def _barrier(template: PodTemplate, world: World) -> str | Unknown:
    if known(spot.taint(template, world)):
        taint = placement.spot_taint(template)
        return (
            taint
            if taint and placement.untolerated(template, taint)
            else placement.barrier(template, spot.selected_pools(template, world))
        )
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    found = world.pools.all_of_cluster(cluster) if cluster is not None else []
    return found if isinstance(found, Unknown) else placement.barrier(template, found)
