"""Savings of fixes for a simulated run, each alone and all together."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.engine.linter import Result
from kcheck.engine.rule import Rule
from kcheck.engine.rule_words import saving_words
from kcheck.engine.words.subjects import things
from kcheck.fix import fix
from kcheck.fix.fix import Fixes
from kcheck.scale.savings import Saving as ChangeSaving
from kcheck.scale.simulate import results, scenario
from kcheck.scale.simulate.results import Saving, SimulationResult
from kcheck.scale.word_helpers import cluster_of
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from kcheck.text.values import Known, known

_SUBJECTS = ("autoscaler", "pool", "flag")
"""Subjects of rules whose fixes change a run."""

_NOTHING = 30
"""Seconds, of the run or of all its nodes together, below which a saving counts as none."""

BY_HAND = "by hand"


class FixSaving(NamedTuple):
    """Savings of fixes for a run; `after` is the run's length with them, in seconds.

    `rules` are names for `kcheck fix --select`; `safety` is their riskiest class, or `BY_HAND`. `saved` is None for a
    run that does not end without the fixes.
    """

    rules: tuple[str, ...]
    safety: str
    saved: Saving | None
    after: float | None


def savings(paths: list[str], config: Config, bases: list[SimulationResult]) -> list[list[FixSaving]]:
    """Estimate what each fix, and all together, save in each run, largest first.

    If a limit stops a run, savings are of the run without the limit.
    """
    able = {rule.name: rule for rule in rules.selected(config) if rule.subject in _SUBJECTS}
    tree = Tree(paths, None, config.exclude, config.boundary)
    found_before = linter.run(tree, config)
    start = fix.State({}, tree, found_before)
    # what the findings in fixed files say is never printed; conditions of the user's own rules may ask for savings
    silent = replace(config, run=replace(config.run, savings=bool(config.rules)))

    @cache
    def fixed(names: tuple[str, ...]) -> Fixes:
        return fix.fix(paths, silent, safeties=SAFETIES, rules=names, start=start)

    names = sorted({finding.rule for finding in found_before.findings if finding.fix is not None} & able.keys())
    return [
        _by_fixes(base.without_wall or base, names, fixed) + _by_hand(found_before, able, base.scenario.cluster.id)
        for base in bases
    ]


def _by_fixes(base: SimulationResult, names: list[str], fixed: Callable[[tuple[str, ...]], Fixes]) -> list[FixSaving]:

    def saving(names: tuple[str, ...]) -> FixSaving | None:
        outcome = fixed(names)
        if not outcome.files:
            return None
        world = outcome.result.world
        cluster = next((one for one in world.inventory.clusters if one.id == base.scenario.cluster.id), None)
        found = "it is gone" if cluster is None else scenario.build_scenario(world, cluster)
        if isinstance(found, str) or found.without_wall.case == base.scenario.case:
            return None
        saved = results.compare(base.scenario, found.without_wall)
        if not names[1:] and saved is not None and max(map(abs, (*saved.time, *saved.node_time))) <= _NOTHING:
            return None
        after = results.middle_summary(found.without_wall)
        if not after.finished:
            return None
        return FixSaving(
            rules=tuple(sorted({finding.rule for finding in outcome.fixed})),
            safety=max((one.fix.safety for one in outcome.fixed if one.fix), key=SAFETIES.index, default="safe"),
            saved=saved,
            after=after.total,
        )

    each = [one for name in names if (one := saving((name,)))]
    each.sort(key=_rank)
    if len(each) > 1:
        every = saving(tuple(sorted({name for one in each for name in one.rules})))
        each = [every, *each] if every else each
    return each


def _by_hand(result: Result, able: dict[str, Rule], cluster: str) -> list[FixSaving]:
    found: dict[str, Saving] = {}
    for finding in result.findings:
        rule = able.get(finding.rule)
        if rule is None or finding.fix is not None:
            continue
        words = saving_words(rule)
        for thing in things(rule.subject, result.world) if words else ():
            owner = known(cluster_of(thing, result.world))
            if thing.id not in finding.objects or owner is None or owner.id != cluster:
                continue
            for word in words:
                value = word.read(thing, result.world)
                if isinstance(value, Known) and isinstance(value.value, ChangeSaving):
                    found[rule.name] = value.value.found
    return sorted((FixSaving((name,), BY_HAND, one, None) for name, one in found.items()), key=_rank)


def _rank(one: FixSaving) -> tuple[float, float, tuple[str, ...]]:
    if one.saved is None:
        return (0, one.after or 0, one.rules)
    return (-one.saved.node_time.mean, -one.saved.time.mean, one.rules)
