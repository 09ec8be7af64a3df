"""Run the rules over a tree.

Stages: read (inventory), decide (rule_outcomes), withhold fixes (may_change), prune (`unless`), suppress, decide the
rules about files (`input`), suppress again, set severities, merge (merging), count what was judged (judged).
"""

from __future__ import annotations

import operator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kcheck.config.config import ConfigError, nearest
from kcheck.engine import judged, merging, rules
from kcheck.engine.judged import Judged
from kcheck.engine.rule_outcomes import Checks
from kcheck.engine.suppressions import Suppressions
from kcheck.inventory import reader
from kcheck.inventory.reading import Reading
from kcheck.model import Input, Inventory
from kcheck.scale.world import World
from kcheck.text import deadline
from kcheck.text.findings import Finding, Severity, Undecided
from kcheck.text.text import Skipped, grouped
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kcheck.config.config import Config
    from kcheck.engine.rule import Rule
    from kcheck.engine.rule_outcomes import Bug, Outcome
    from kcheck.inventory.reading import Kept
    from kcheck.model import Thing
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Span

    Decide: TypeAlias = Callable[[Checks, Thing], Outcome]


class Result(Struct):
    """Input and findings of a run. `decided` counts the checks with an answer.

    `known` counts findings left out because a baseline or a comparison has them. `is_late`: the time limit was reached.
    `renamed` maps the former names of rules that settings and comments use to those of today.
    """

    world: World
    reading: Reading
    findings: list[Finding] = []
    undecided: list[Undecided] = []
    bugs: list[Bug] = []
    decided: int = 0
    suppressed: int = 0
    known: int = 0
    relevant: bool = False
    is_late: bool = False
    judged: Judged = field(default_factory=Judged)
    renamed: dict[str, str] = {}


def run(tree: Tree, config: Config, tell: Callable[[str], None] = deadline.no_progress) -> Result:
    """Read the tree and decide every rule on every subject; `tell` receives progress."""
    return Linter(tree, config, tell).result()


class Linter:
    """Reads a tree and decides rules on the objects it `holds`."""

    def __init__(
        self, tree: Tree, config: Config, tell: Callable[[str], None] = deadline.no_progress, kept: Kept | None = None
    ) -> None:
        self.tree = tree
        self.config = config
        self.tell = tell
        self._rules = rules.selected(config)
        self._by_subject = grouped(self._rules, lambda rule: rule.subject)
        self.reading = reader.read(tree, config, rules.raw_kinds(self._rules), kept, tell)
        self.world = World(self.reading.inventory, config)
        self.holds: Callable[[Thing], bool] = lambda _: True
        _check_targets(self.reading.inventory, config)
        if config.usage.recording:
            from kcheck.scale.usage import measured

            measured.of(self.world)

    def result(self, *, until_deadline: bool = False, decide: Decide = Checks.outcome) -> Result:
        """Decide all rules on all objects; `decide` runs those of one object.

        If the run is `until_deadline`, it returns its findings at the time limit, and says what it has not checked.
        """
        result = Result(self.world, self.reading, relevant=_is_relevant(self.reading))
        self._decide_things(result, decide, until_deadline=until_deadline)
        result.findings = _pruned(result.findings, self._rules)
        comments = Suppressions(self.reading.sources, self.config, self._rules)
        _suppress(result, comments)
        used = (*rules.named(self.config).values(), *(one.rules for one in comments.all))
        result.renamed = rules.former(chain.from_iterable(used), self.config)
        self.world.inputs = list(_inputs(self.reading, comments, self.config, result.undecided, self.tree))
        self._decide_subject("input", result)
        _suppress(result, comments)
        deadline.check_cancelled()
        severities = rules.severities(self.config, self._rules)
        result.findings = merging.merged(_with_set_severities(result.findings, severities), self._rules)
        deadline.check_cancelled()
        result.judged = judged.judged(self.world, result.undecided, self.reading, self.holds)
        return result

    def _decide_things(self, result: Result, decide: Decide, *, until_deadline: bool) -> None:
        subjects = [subject for subject in self._by_subject if subject != "input"]
        left = list(subjects)
        try:
            for number, subject in enumerate(subjects, 1):
                self.tell(f"checking, {number} of {len(subjects)}: {subject}")
                self._decide_subject(subject, result, decide)
                left.remove(subject)
        except deadline.DeadlineError:
            if not until_deadline:
                raise
            result.is_late = True
            many = f"{len(left):,} of {len(self._by_subject):,} kinds of objects were not checked: {', '.join(left)}"
            self.reading.skipped.insert(0, Skipped(self.tree.given[0], f"{deadline.reason()}; {many}"))
        deadline.check_cancelled()

    def _decide_subject(self, subject: str, result: Result, decide: Decide = Checks.outcome) -> None:
        checks = Checks(subject, self._by_subject.get(subject, []), self.world)
        things = [thing for thing in checks.things if self.holds(thing)]
        outcomes = [decide(checks, thing) for thing in things]
        found = [finding for outcome in outcomes for finding in outcome.findings]
        result.findings += self._with_allowed_fixes(found, things, checks)
        result.bugs += [*checks.bugs, *(bug for outcome in outcomes for bug in outcome.bugs)]
        result.undecided += [check for outcome in outcomes for check in outcome.undecided]
        result.decided += sum(outcome.decided for outcome in outcomes)

    def _with_allowed_fixes(self, found: list[Finding], things: list[Thing], checks: Checks) -> list[Finding]:
        """Withhold fixes that may not be made."""
        if not any(finding.fix for finding in found):
            return found
        from kcheck.engine import may_change

        allowed = may_change.withhold_fixes(found, self.world, self.tree, self.reading)
        if len(things) == len(checks.things) or not any(map(operator.is_not, allowed, found)):
            return allowed
        others = [one for thing in {*checks.things}.difference(things) for one in checks.outcome(thing).findings]
        return may_change.withhold_fixes([*found, *others], self.world, self.tree, self.reading)[: len(found)]


def _is_relevant(reading: Reading) -> bool:
    named = any(skipped.what != "not read" for skipped in reading.skipped)
    return bool(reading.inventory.has_content() or reading.problems or named)


def unread(tree: Tree, config: Config) -> Result:
    """Return the result of a tree that could not be read in time."""
    reading = Reading(Inventory(), [], {}, [])
    result = Result(World(reading.inventory, config), reading, relevant=True, is_late=True)
    result.judged.skipped = [
        Skipped(tree.given[0], f"{deadline.reason()}; not all files were read, nothing was checked")
    ]
    return result


def _check_targets(found: Inventory, config: Config) -> None:
    """Refuse targets of unknown clusters. Raises ConfigError if --nodes names one."""
    names = {name for cluster in found.clusters for name in (cluster.address, cluster.id, known(cluster.name)) if name}
    for name in config.nodes.keys() - names - {""} if names else ():
        raise ConfigError(f"--nodes {name}: there is no such cluster; {nearest(name, tuple(sorted(names)))}")


def _with_set_severities(findings: Iterable[Finding], severities: Mapping[str, str]) -> Iterator[Finding]:
    for finding in findings:
        wanted = severities.get(finding.rule)
        yield replace(finding, severity=Severity[wanted.upper()]) if wanted else finding


def _pruned(findings: list[Finding], selected: Iterable[Rule]) -> list[Finding]:
    """Remove findings that another finding on the same object or line makes redundant."""
    now = rules.renamed(selected)
    unless = {rule.name: [now.get(name, name) for name in rule.unless] for rule in selected}
    found = {(one.rule, where) for one in findings for where in (one.object, one.span)}
    return [
        one
        for one in findings
        if found.isdisjoint((name, where) for name in unless[one.rule] for where in (one.object, one.span))
    ]


def _suppress(result: Result, comments: Suppressions) -> None:
    kept = [finding for finding in result.findings if not comments.silences(finding)]
    result.suppressed += len(result.findings) - len(kept)
    result.findings = kept


def _inputs(
    reading: Reading, comments: Suppressions, config: Config, undecided: list[Undecided], tree: Tree
) -> Iterator[Input]:
    """Yield the inputs of rules about files."""

    def one(place: Span, kind: str, about: str, name: str = "", reason: str = "", expires: str = "") -> Input:
        path = place.source.path
        return Input(
            f"{path}:{place.begin.line}", place, kind, path, about=about, name=name, reason=reason, expires=expires
        )

    for problem in reading.problems:
        yield one(problem.span, "unreadable", problem.message, reason=problem.message)
    for gap in reading.gaps:
        yield one(gap.span, "not-rendered", gap.message, reason=gap.message)
    for folder, sources in reading.templates.items():
        yield Input(folder, sources[0].span(0, 0), "templates", folder, count=len(sources))
    for chart, sources in reading.unrendered:
        place = chart.source.span(0, 0)
        yield Input(chart.folder, place, "chart", chart.folder, name=chart.label, count=len(sources))
    for suppression in (one for one in comments.all if not one.reason):
        names = ", ".join(suppression.rules)
        yield one(suppression.span, "suppression-without-reason", names, names)
    for accepted in comments.expired:
        day = str(accepted.expires)
        yield one(accepted.place, "expired-suppression", accepted.rule, accepted.rule, accepted.reason, day)
    for accepted in comments.unused_settings(undecided, tree.given):
        about = f"{accepted.rule} in {accepted.path}" if accepted.path else accepted.rule
        yield one(accepted.place, "unused-suppression", about, accepted.rule)
    every = rules.all_rules(config.rules) if comments.all else []
    known_names = {name for rule in every for name in rule.names}
    for suppression, name in comments.unused(known_names, undecided):
        kind = "unused-suppression" if name in known_names else "suppression-of-unknown-rule"
        kind = "forbidden-suppression" if name in comments.not_ignorable else kind
        found = one(suppression.span, kind, "", name)
        yield replace(found, id=f"{found.id}:{name}")
    for place in comments.nameless:
        yield one(place, "suppression-without-rule", "nameless")
