"""Which fix saves how much of a run: each alone, and all together, by the same draws of chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.engine import linter, rules
from kcheck.files.tree import Tree
from kcheck.fix import fix
from kcheck.reading import inventory
from kcheck.scale.world import World
from kcheck.simulate import comparison, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.config.config import Config
    from kcheck.simulate.comparison import Saving
    from kcheck.simulate.results import SimulationResult
    from kcheck.simulate.scenario import Scenario

_SUBJECTS = ("autoscaler", "pool", "flag")
"""What a fix can be about that moves a run."""

_NOTHING = 30
"""Seconds, of the run or of all its nodes together, that are none."""

SAFETIES = ("safe", "costs", "unsafe")


class FixSaving(NamedTuple):
    """What fixes save of a run; of one that does not end without them, only how long it takes then, in seconds.

    `rules` are the names that `kcheck fix --select` takes; `safety` is the riskiest class among them.
    """

    rules: tuple[str, ...]
    safety: str
    saved: Saving | None
    after: float


def savings(
    paths: list[str], config: Config, base: SimulationResult, again: Callable[[World], Scenario | str]
) -> list[FixSaving]:
    """What each applicable fix saves of a run, and all of them; the most first. `again` makes the scenario anew.

    Where a wall stops the run, it is the run without that which counts.
    """
    base = base.without_wall or base
    able = {rule.name for rule in rules.selected(config) if rule.subject in _SUBJECTS}

    def fixed(names: tuple[str, ...]) -> FixSaving | None:
        """What fixes of some rules save; None if they change nothing of the run."""
        outcome = fix.fix(paths, config, safeties=SAFETIES, rules=names)
        if not outcome.files:
            return None
        overlay = {file.real: file.new for file in outcome.files}
        world = World(inventory.read(Tree(paths, overlay, config.exclude), config).inventory, config)
        found = again(world)
        if isinstance(found, str) or found.without_wall.case == base.scenario.case:
            return None
        after = results.run_scenario(found.without_wall)
        if not after.middle.summary.finished:
            return None
        return FixSaving(
            rules=tuple(sorted({finding.rule for finding in outcome.fixed})),
            safety=max((one.fix.safety for one in outcome.fixed if one.fix), key=SAFETIES.index, default="safe"),
            saved=comparison.compare(base.scenario, after.scenario),
            after=after.middle.summary.total,
        )

    names = sorted(_fixable(paths, config) & able)
    each = [one for name in names if (one := fixed((name,))) and _is_worth_saying(one.saved)]
    each.sort(key=_rank)
    if len(each) > 1:
        every = fixed(tuple(sorted({name for one in each for name in one.rules})))
        each = [every, *each] if every else each
    return each


def _is_worth_saying(saved: Saving | None) -> bool:
    """Whether a fix changes anything of the run."""
    return saved is None or max(map(abs, (*saved.time, *saved.node_time))) > _NOTHING


def _rank(one: FixSaving) -> tuple[float, float, tuple[str, ...]]:
    """The place of a fix in the list: what saves most comes first."""
    if one.saved is None:
        return (0, one.after, one.rules)
    return (-one.saved.node_time.mean, -one.saved.time.mean, one.rules)


def _fixable(paths: list[str], config: Config) -> set[str]:
    """The rules that have something to say here, and a fix for it."""
    result = linter.run(Tree(paths, exclude=config.exclude), config)
    return {finding.rule for finding in result.findings if finding.fix is not None}
