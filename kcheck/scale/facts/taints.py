"""Words of the taint that keeps other pods from GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.names import NVIDIA
from kcheck.scale.facts.basics import computed
from kcheck.text.regex import regex
from kcheck.text.values import Unknown, Value, known

if TYPE_CHECKING:
    from kcheck.model import NodePool
    from kcheck.scale.world import World

_OTHERS = regex(r"^(trn|inf|dl\d|g4ad|vt1)|_MI300X|^Standard_(NG|NV\d+as_v4)")
"""Machines with accelerators that are not of NVIDIA."""


def parts(pool: NodePool, _world: World) -> Value[dict[str, str]]:
    """The taint of GPU nodes in its parts; null where the cards are not those that it is called after."""
    if isinstance(pool.machine.instance_types, Unknown):
        return pool.machine.instance_types
    types = known(pool.machine.instance_types) or ()
    if not types or any(map(_OTHERS.search, types)):
        return computed(pool, None)
    return computed(pool, {"key": NVIDIA, "value": "true", "effect": pool.scheduling.no_schedule})


def form(pool: NodePool, _world: World) -> Value[str]:
    """How it is written: as a text, an item, or a member of a map."""
    return computed(pool, pool.scheduling.taint_form)
