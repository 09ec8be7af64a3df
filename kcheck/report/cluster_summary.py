"""Reach of a cluster, waste of its run, and its findings."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from kcheck.engine.linter import Result
from kcheck.engine.rule_words import saving_words
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.model import Cluster, Thing
from kcheck.report import capacity
from kcheck.report.places import by_name
from kcheck.scale import savings, walls
from kcheck.scale.money import month
from kcheck.scale.savings import Saving
from kcheck.scale.word_helpers import cluster_of
from kcheck.scale.world import World
from kcheck.text.findings import Finding
from kcheck.text.units import between, counted, money, node_hours, readable, rough
from kcheck.text.values import Known, Unset, known, reason_of

STATES = {"stops": "\u2715 stops before its target", "unknown": "? not known", "reaches": "\u2713 reaches its target"}
"""Verdicts in words, not by colour alone, the worst first."""


class Waste(NamedTuple):
    """Waste of a run: an amount, or that it is unknown, with a note on its basis.

    `saving` is None if nothing was found (then `is_none`) or the amount is unknown.
    """

    amount: str
    note: str
    saving: Saving | None = None
    is_none: bool = False


def reach_of(cluster: Cluster, world: World) -> tuple[str, str]:
    """Return a cluster's state, a key of `STATES`, and its largest size."""
    target, nodes = world.sizes.wanted_amount(cluster).exact, capacity.reachable_nodes(cluster, world)
    first, low = walls.first(cluster, world), capacity.earliest(cluster, world)[1].low
    high = first.nodes.high if first is not None else None
    if target is None:
        found = "at most " if nodes is None else ""
        return "unknown", "not known" if high is None else f"{found}{counted(nodes or high, 'node')}, no target known"
    of = f"of {counted(target, 'node')}"
    if nodes is not None:
        return "reaches" if nodes >= target else "stops", f"{nodes:,} {of}"
    if high is not None and high < target:
        return "stops", f"at most {high:,} {of}"
    if 0 < low < target:
        return "unknown", f"at least {low:,} {of}"
    return "unknown", "not known" if high is None else f"{target:,} {of}, as far as is known"


def states_text(reaches: int, stops: int, unknown: int) -> str:
    """Summarize the states of clusters, an unknown majority first."""
    total = reaches + stops + unknown
    whose = "reaches its" if 1 in (reaches, total) else "reach their"
    parts = [f"{stops:,} {'stops' if stops == 1 else 'stop'} before it"] * bool(stops)
    if 2 * unknown > total:
        reached = [f"{reaches:,} {whose} target"] * bool(reaches or stops)
        return ", ".join([f"How far {unknown:,} of {counted(total, 'cluster')} get is not known", *reached, *parts])
    parts += [f"{unknown:,} not known"] * bool(unknown)
    return ", ".join([f"{reaches:,} of {counted(total, 'cluster')} {whose} target", *parts])


def change_lines(before: Result, now: Result) -> Iterator[str]:
    """Yield how reach and price of each cluster change."""
    old = {cluster.id: cluster for cluster in before.world.inventory.clusters}
    for cluster in now.world.inventory.clusters:
        was, first = old.pop(cluster.id, None), walls.first(cluster, now.world)
        reach, price = reach_of(cluster, now.world)[1], _monthly(cluster, now.world)
        then = reach_of(was, before.world)[1] if was else ""
        parts = [f"reach {then and f'{then} -> '}{reach}"] * (then != reach)
        parts += [f"first limit: {first.what}"] if parts and first is not None else []
        cost_then = _monthly(was, before.world) if was else None
        words = [money(one) + " a month" if one is not None else "price not known" for one in (cost_then, price)]
        if was is None or cost_then != price:
            more = None if cost_then is None or price is None else price - cost_then
            sign = "" if more is None else f" ({'+' if more > 0 else '-'}{money(abs(more))})"
            parts.append(f"all nodes up {f'{words[0]} -> ' if was else ''}{words[1]}{sign}")
        yield f"{cluster.display_name}: {'; '.join(parts) or 'neither reach nor price changes'}"
    yield from (f"{cluster.display_name} is gone" for cluster in old.values())


def _monthly(cluster: Cluster, world: World) -> int | None:
    """Return the price of a month with all nodes up, in mills."""
    lines, missing, _ = month(cluster, world)
    return rough(sum(line.mills for line in lines)) if lines and not missing else None


# --- money


class Savings:
    """Savings in a cluster's run by fixing its findings."""

    def __init__(self, result: Result) -> None:
        self.world = result.world
        self.undecided = result.undecided
        self.rules = by_name(self.world)
        found = ((name, [word.name for word in saving_words(rule)]) for name, rule in self.rules.items())
        self.words = {name: words for name, words in found if words}

    def waste(self, cluster: Cluster, findings: Iterable[Finding]) -> Waste:
        """Estimate what the fixes of all findings together save of a run."""
        objects = {(finding.rule, name) for finding in findings for name in finding.objects}
        changes = [(word, thing) for name, thing in self._things(cluster, objects) for word in self.words[name]]
        found = savings.together(cluster, self.world, dict.fromkeys(changes))
        if isinstance(found, Known):
            return _amount(found.value)
        if not isinstance(found, Unset):
            return Waste("not known", reason_of(found))
        waiting = {(check.rule, check.object): check.missing for check in self.undecided}
        for name, thing in self._things(cluster, waiting):
            return Waste("not known", f"{name} is undecided: {'; '.join(waiting[name, thing.id])}")
        return Waste("nothing found", "by the settings that were judged", is_none=True)

    def _things(self, cluster: Cluster, wanted: Collection[tuple[str, str]]) -> Iterator[tuple[str, Thing]]:
        """Yield the objects of a cluster that are in `wanted`, pairs of rule and id."""
        for name in sorted({rule for rule, _ in wanted} & self.words.keys()):
            for thing in things(self.rules[name].subject, self.world):
                if (name, thing.id) in wanted and known(cluster_of(thing, self.world)) == cluster:
                    yield name, thing


def _amount(saving: Saving) -> Waste:
    found = saving.found
    hours = between(node_hours(found.node_time.least), node_hours(found.node_time.most))
    run = f"of a {readable(saving.run_time)} run on {counted(saving.nodes, 'node')} (simulated)"
    if found.money is None:
        return Waste(hours, f"{run}; no price of these nodes is known: set --price", saving)
    part = f", without {counted(saving.unpriced, 'node')} that have no list price" if saving.unpriced else ""
    return Waste(between(money(found.money.least), money(found.money.most)), f"{hours} {run}{part}", saving)


_OWNERS = ("cluster", "workload", "template", "autoscaler", "pool", "pools", "workloads", "jobs")
"""Fields that lead from a thing to its cluster, the most reliable first."""


def owners(findings: Sequence[Finding], world: World) -> list[list[int]]:
    """List the clusters of each finding, numbered from 1; empty if unknown."""
    rules = by_name(world)
    number_of = {cluster.id: number for number, cluster in enumerate(world.inventory.clusters, 1)}
    subjects: dict[str, set[str]] = {}
    for finding in findings:
        subjects.setdefault(rules[finding.rule].subject, set()).update(finding.objects)
    found: dict[tuple[str, str], set[int]] = {}
    for subject, wanted in subjects.items():
        for thing in things(subject, world) if number_of and subject in SUBJECTS else ():
            if thing.id in wanted:
                found[subject, thing.id] = {number_of[one.id] for one in _owners(subject, thing, world)}
    return [
        sorted(set().union(*(found.get((rules[one.rule].subject, name), ()) for name in one.objects)))
        for one in findings
    ]


def _owners(subject: str, thing: Thing, world: World) -> list[Cluster]:
    if isinstance(thing, Cluster):
        return [thing]
    fields = {field.name: field for field in SUBJECTS[subject] if field.kind in ("record", "records")}
    for name in _OWNERS:
        value = fields[name].read(thing, world) if name in fields else []
        single = [value.value] if isinstance(value, Known) else []
        inner = [one for one in (value if isinstance(value, list) else single) if isinstance(one, Thing)]
        if inner:
            return [owner for one in inner for owner in _owners(fields[name].type, one, world)]
    own = known(cluster_of(thing, world))
    return [own] if own is not None else []
