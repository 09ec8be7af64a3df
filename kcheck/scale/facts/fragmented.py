"""Words of what was free on the nodes of a pool while pods waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.model import NodePool, Thing
from kcheck.scale.facts.basics import computed
from kcheck.scale.usage import fragments, measured
from kcheck.scale.usage.nodes import Nodes

if TYPE_CHECKING:
    from kcheck.scale.usage.recording import Node
    from kcheck.scale.world import World
    from kcheck.text.values import Value

_HOUR = 3600


class Fragment(Thing, frozen=True):
    """What was free on the nodes of a pool while pods waited, and of no use to any of them."""

    pool: NodePool
    found: fragments.Fragments
    job: tuple[str, str]


def fragmented(world: World) -> list[Fragment]:
    """The pools of the code for whose nodes pods waited while there was something free on them."""
    found = measured.of(world)
    if found is None:
        return []
    pools: dict[NodePool, list[Node]] = {}
    for one in Nodes(found.recording.nodes, world).by_name.values():
        if one.own is not None:
            pools.setdefault(one.own, []).append(one.node)
    jobs = {id(match.pod): match.job for match in found.matches}
    result = []
    for pool, nodes in pools.items():
        rest = fragments.fragments(nodes, found.recording.pods, found.recording.end)
        if rest is not None and rest.stranded:
            result.append(Fragment(pool.id, pool.place, pool, rest, jobs[id(rest.longest)]))
    return result


def share(one: Fragment) -> int:
    """Of what the pool had in that time, in percent."""
    return round(100 * one.found.stranded / max(one.found.whole, 1))


def free(one: Fragment) -> str:
    """The mean of what was free and of no use, in words."""
    amount = one.found.stranded / one.found.waiting / _size(one)
    return f"{float(f'{amount:.2g}'):g}"


def nodes(one: Fragment) -> str:
    """The mean number of nodes with such a rest, in words."""
    return f"{float(f'{one.found.nodes:.2g}'):g}"


def hours(seconds: float) -> str:
    """Time in words."""
    found = seconds / _HOUR
    return f"{found:,.0f} h" if found >= 10 else f"{float(f'{found:.2g}'):g} h"


def asked(one: Fragment) -> str:
    """What the pod that waited longest asked for, of what was free, in words."""
    size = fragments.shape(one.found.longest)
    return f"{size.gpus if one.found.unit == 'GPUs' else size.cpu / _size(one):g}"


def _size(one: Fragment) -> int:
    """What the unit is of what is counted: GPUs, or millicores."""
    return 1 if one.found.unit == "GPUs" else 1000


def money(one: Fragment, world: World) -> Value[int]:
    """What that cost in all of the time, in thousandths of a dollar; null where no price is known."""
    price, found = world.numbers.price(one.pool), one.found
    if price is None:
        return computed(one, None)
    return computed(one, round(price.mills * found.there / _HOUR * found.stranded / found.whole))
