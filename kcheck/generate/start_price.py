"""The price of starting jobs as a whole, in minutes and node-hours: both ways simulated for the generated cluster."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kcheck.scale.simulate import results, run, scenario
from kcheck.scale.world import World

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.scale.simulate.results import Range
    from kcheck.scale.simulate.scenario import Scenario

_MOST_NODES = 5000
"""Larger jobs take longer than somebody waits for a README: 2.6 seconds for this many."""


class Start(NamedTuple):
    """The range of a run over its draws: minutes until its last node is gone, paid node-hours."""

    minutes: str
    node_hours: str


class StartPrice(NamedTuple):
    """A job on all nodes with some minutes of work: started as a whole, and pod by pod as nodes get ready."""

    nodes: int
    work: int
    whole: Start
    single: Start


def start_price(world: World, intent: Intent) -> StartPrice | None:
    """The price of starting as a whole; None without an autoscaler whose model is calibrated."""
    if intent.autoscaler in ("none", "karpenter") or intent.nodes > _MOST_NODES:
        return None
    own = World(world.inventory, replace(world.config, nodes={"": intent.nodes}))
    found = scenario.build_scenario(own, own.inventory.clusters[0])
    if isinstance(found, str) or found.is_stopped or not found.has_autoscaler or found.case.settings.karpenter:
        return None
    whole, single = (_start(found, gang=gang) for gang in (True, False))
    if whole is None or single is None:
        return None
    return StartPrice(intent.nodes, scenario.DURATION // 60, whole, single)


def _start(found: Scenario, *, gang: bool) -> Start | None:
    """The run of a scenario, with or without waiting for the last node; None if it does not finish."""
    runs = [run.summarize(replace(case, job=replace(case.job, gang=gang))) for case in found.draws]
    if not all(one.finished for one in runs):
        return None
    minutes = results.range_of(one.total / 60 for one in runs)
    return Start(_text(minutes), _text(results.range_of(one.paid / 3600 for one in runs)))


def _text(bounds: Range) -> str:
    """A range in whole numbers that holds its bounds."""
    return f"{floor(bounds.least):,} to {ceil(bounds.most):,}"
