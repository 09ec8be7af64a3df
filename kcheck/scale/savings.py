"""Savings from changed settings, by simulated runs: node-hours and money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from kcheck.config.numbers.machines import Price
from kcheck.model import Autoscaler, Cluster, Thing
from kcheck.scale import money
from kcheck.scale.autoscaler import sufficient_batch, tolerated_nodes, tolerated_share
from kcheck.scale.money import Rate
from kcheck.scale.simulate import parameters, results, scenario
from kcheck.scale.simulate.model import Case
from kcheck.scale.simulate.results import Spread
from kcheck.scale.simulate.scenario import Scenario
from kcheck.scale.word_helpers import computed
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.amount import Amount
from kcheck.text.need import or_none
from kcheck.text.values import Origin, Unknown, Value, known

_NOTHING = 5
"""Saved seconds per node for which nobody changes a setting."""


class Saving(NamedTuple):
    """Saving from a change, as the simulation `found` it, with rates."""

    found: results.Saving
    nodes: Annotated[int, "nodes of the simulated run", "nodes"]
    node_time: Amount
    money: Amount
    unpriced: Annotated[int, "nodes without a price", "nodes"]
    run_time: Annotated[int, "work of each pod of the simulated run", "seconds"]
    rates: tuple[Rate, ...]


def by(word: str) -> Callable[[Autoscaler, World], Value[Saving]]:
    """Return the estimated saving from changing a word; null if nothing."""

    def read(autoscaler: Autoscaler, world: World) -> Value[Saving]:
        key = (word, autoscaler.id)
        if not (world.is_first_look and key in world.estimates):
            world.estimates[key] = _saved(autoscaler, world, _CHANGES[word](autoscaler, world))
        return cast("Value[Saving]", world.estimates[key])

    return read


def together(cluster: Cluster, world: World, changes: Iterable[tuple[str, Thing]]) -> Value[Saving]:
    """Estimate the saving from several changes together."""
    owner = world.autoscaling.autoscaler(cluster)
    if owner is None:
        return Unknown("no autoscaler of this cluster is in the code", Origin((cluster.place,)))
    wanted = [_CHANGES[word](thing, world) for word, thing in changes]
    if not wanted:
        run = _run(owner, world)
        return Unknown(run, Origin((owner.place,))) if isinstance(run, str) else computed(owner, None)
    return _saved(owner, world, lambda case: reduce(lambda own, change: change(own), wanted, case))


_Change: TypeAlias = "Callable[[Case], Case]"


def _without_idling(autoscaler: Autoscaler, world: World) -> _Change:
    cluster = known(autoscaler.cluster)
    profile = parameters.profile_settings(cluster.cloud, "OPTIMIZE_UTILIZATION") if cluster is not None else {}
    recommended = float(world.numbers.limits("any")["autoscaler.idle_time"].number)
    changed: dict[str, float] = profile or {"unneeded_time": recommended}
    return lambda case: replace(case, settings=replace(case.settings, **changed))


def _in_larger_batches(autoscaler: Autoscaler, world: World) -> _Change:
    batch = sufficient_batch(autoscaler, world)
    return lambda case: replace(case, settings=replace(case.settings, bulk_delete=batch or case.settings.bulk_delete))


def _tolerant(autoscaler: Autoscaler, world: World) -> _Change:
    nodes = or_none(tolerated_nodes)(autoscaler, world) or 0
    percent = tolerated_share(autoscaler, world)

    def change(case: Case) -> Case:
        own = case.settings
        count, share = max(own.max_unready_nodes, nodes), max(own.max_unready_percentage, float(percent))
        return replace(case, settings=replace(own, max_unready_nodes=count, max_unready_percentage=share))

    return change


_CHANGES: dict[str, Callable[[Any, World], _Change]] = {
    "idle_saving": _without_idling,
    "deletion_saving": _in_larger_batches,
    "tolerance_saving": _tolerant,
}
"""Changes by the words that rules have for their savings."""


def _saved(autoscaler: Autoscaler, world: World, change: _Change) -> Value[Saving]:
    """Estimate the saving from a change in a run; null if it may be nothing."""
    base = _run(autoscaler, world) if world.config.run.savings else "savings are not asked for"
    if isinstance(base, str):
        return Unknown(base, Origin((autoscaler.place,)))
    found = results.compare(base, replace(base, case=change(base.case)))
    if found is None:
        return Unknown("the simulated run does not end", Origin((autoscaler.place,)))
    if found.node_time.least / max(1, sum(found.nodes)) < _NOTHING:
        return computed(autoscaler, None)
    kinds: Counter[Price] = Counter()
    for pool, nodes in zip(base.case.pools, found.nodes, strict=True):
        if pool.price is not None and nodes:
            kinds[pool.price] += nodes
    saving = Saving(
        found=found, nodes=sum(found.nodes), node_time=_amount(autoscaler, found.node_time),
        money=_amount(autoscaler, found.money), unpriced=sum(found.nodes) - kinds.total(),
        run_time=round(base.case.job.length), rates=money.rates(kinds),
    )  # fmt: skip
    return computed(autoscaler, saving)


def _amount(thing: Thing, estimate: Spread | None) -> Amount:
    origin = Origin((thing.place,))
    if estimate is None:
        return Amount(why=Unknown("no price of these nodes is known"), origin=origin)
    return Amount(estimate.least, estimate.most, Unknown("how long the autoscaler's loops take is not known"), origin)


@once
def _run(autoscaler: Autoscaler, world: World) -> Scenario | str:
    """Return the cluster's run without a limit that stops it, or why there is none."""
    cluster = known(autoscaler.cluster)
    own = world.autoscaling.autoscaler(cluster) if cluster is not None else None
    if cluster is None or own is None or own.id != autoscaler.id:
        return "no cluster of this autoscaler is known"
    found = scenario.build_scenario(world, cluster)
    if isinstance(found, str):
        return found
    return "Karpenter scales the nodes of the job" if found.case.settings.karpenter else found.without_wall
