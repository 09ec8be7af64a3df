"""Which fix saves how much of a run: each alone, and all together, by the same draws of chance."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from kcheck.engine import linter, rules
from kcheck.files.tree import Tree
from kcheck.fix import fix
from kcheck.reading import inventory
from kcheck.scale.world import World
from kcheck.simulate import results

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.config.config import Config
    from kcheck.simulate.results import SimulationResult
    from kcheck.simulate.scenario import Scenario

_SUBJECTS = ("autoscaler", "pool", "flag")
"""What a fix can be about that moves a run."""

_NOTHING = 0.05
"""Minutes and node-hours that are none."""

SAFETIES = ("safe", "costs", "unsafe")


class Saving(NamedTuple):
    """What fixes save: minutes of the run and paid hours of nodes, on average and the least and most over the draws.

    `rules` are the names that `kcheck fix --select` takes; `safety` is the riskiest class among them; `after` is how
    long the run takes then, in seconds.
    """

    rules: tuple[str, ...]
    safety: str
    minutes: float
    hours: float
    spread: tuple[float, float]
    price: int | None
    after: float

    @property
    def dollars(self) -> float | None:
        """US dollars of a run; None without a price."""
        return None if self.price is None else self.hours * self.price / 1000


def savings(
    paths: list[str], config: Config, base: SimulationResult, again: Callable[[World], Scenario | str]
) -> list[Saving]:
    """What each applicable fix saves of a run, and all of them; the most first. `again` makes the scenario anew.

    Where a wall stops the run, it is the run without that which counts.
    """
    base = base.without_wall or base
    able = {rule.name for rule in rules.selected(config) if rule.subject in _SUBJECTS}

    def saved(names: tuple[str, ...]) -> Saving | None:
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
        if not base.middle.summary.finished and not after.middle.summary.finished:
            return None
        pairs = [(a.summary, b.summary) for a, b in zip(base.runs, after.runs, strict=True)]
        minutes = [(one.total - other.total) / 60 for one, other in pairs]
        hours = [(one.paid - other.paid) / 3600 for one, other in pairs]
        fixed = tuple(sorted({finding.rule for finding in outcome.fixed}))
        risk = max((finding.fix.safety for finding in outcome.fixed if finding.fix), key=SAFETIES.index, default="safe")
        return Saving(
            rules=fixed,
            safety=risk,
            minutes=mean(minutes),
            hours=mean(hours),
            spread=(min(minutes), max(minutes)),
            price=base.scenario.price,
            after=after.middle.summary.total,
        )

    names = sorted(_fixable(paths, config) & able)
    each = [one for name in names if (one := saved((name,)))]
    each = [one for one in each if abs(one.minutes) > _NOTHING or abs(one.hours) > _NOTHING]
    each.sort(key=lambda one: (-one.hours, -one.minutes, one.rules))
    if len(each) > 1:
        every = saved(tuple(sorted({name for one in each for name in one.rules})))
        each = [every, *each] if every else each
    return each


def _fixable(paths: list[str], config: Config) -> set[str]:
    """The rules that have something to say here, and a fix for it."""
    result = linter.run(Tree(paths, exclude=config.exclude), config)
    return {finding.rule for finding in result.findings if finding.fix is not None}
