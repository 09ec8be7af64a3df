"""Run the rules over a tree: decide, withhold fixes, prune, suppress, merge."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from kcheck.config.config import ConfigError, nearest
from kcheck.engine import judged, merging, rules
from kcheck.engine.deciding import Checks
from kcheck.engine.judged import Judged
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
    from collections.abc import Callable, Iterable

    from kcheck.config.config import Config
    from kcheck.engine.deciding import Bug, Outcome
    from kcheck.engine.incremental import Earlier
    from kcheck.engine.rule import Rule
    from kcheck.inventory.reading import Kept
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Span


class Result(Struct):
    """Input and findings of a run. `decided` counts the checks with an answer.

    `known` counts findings left out as known before, by a baseline or a comparison. It `is_late` if its time was over.
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

    def add(self, checks: Checks, outcomes: Iterable[Outcome]) -> None:
        """Add what checks gave, in the order of their things."""
        self.bugs += checks.bugs
        for outcome in outcomes:
            self.findings += outcome.findings
            self.undecided += outcome.undecided
            self.bugs += outcome.bugs
            self.decided += outcome.decided


def no_progress(text: str) -> None:
    """Report no progress."""


def run(tree: Tree, config: Config, tell: Callable[[str], None] = no_progress) -> Result:
    """Read the tree and decide every rule on every subject; `tell` receives progress."""
    return Linter(tree, config, tell).result()


class Linter:
    """A tree as it was read, whose things can be judged. What was `kept` of another one is not read again."""

    def __init__(
        self, tree: Tree, config: Config, tell: Callable[[str], None] = no_progress, kept: Kept | None = None
    ) -> None:
        self.tree = tree
        self.config = config
        self.tell = tell
        self._rules = rules.selected(config)
        self._by_subject = grouped(self._rules, lambda rule: rule.subject)
        tell(f"reading {tree.count:,} files" if tree.count else "reading")
        self.reading = reader.read(tree, config, rules.raw_kinds(self._rules), kept)
        self.world = World(self.reading.inventory, config)
        _check_targets(self.reading.inventory, config)
        if config.usage.recording:
            from kcheck.scale.usage import measured

            measured.of(self.world)

    def result(self, *, until_deadline: bool = False, earlier: Earlier | None = None) -> Result:
        """Judge all things, those aside for which the outcomes of an `earlier` run stand.

        A run `until_deadline` gives what it has found when its time is over, and says what it has not judged.
        """
        found, world = self.reading.inventory, self.world
        result = Result(world, self.reading)
        named = any(skipped.what != "not read" for skipped in self.reading.skipped)
        result.relevant = bool(found.has_content() or self.reading.problems or named)
        by_subject = dict(self._by_subject)
        of_inputs = by_subject.pop("input", [])
        left = list(by_subject)
        final: list[tuple[Checks, list[Outcome]]] = []
        try:
            for number, (subject, own) in enumerate(by_subject.items(), 1):
                self.tell(f"checking, {number} of {len(by_subject)}: {subject}")
                checks = Checks(subject, own, world)
                decide = checks.outcome if earlier is None else partial(earlier.outcome, checks)
                final.append((checks, self._without_withheld(list(map(decide, checks.things)), earlier)))
                result.add(*final[-1])
                left.remove(subject)
        except deadline.DeadlineError:
            if not until_deadline:
                raise
            result.is_late = True
            many = f"{len(left):,} of {len(self._by_subject):,} kinds of objects were not checked: {', '.join(left)}"
            self.reading.skipped.insert(0, Skipped(self.tree.given[0], f"{deadline.reason()}; {many}"))
        deadline.check_cancelled()
        result.findings = _pruned(result.findings, by_subject)
        comments = Suppressions(self.reading.sources, self.config, self._rules)
        _suppress(result, comments)
        world.inputs = list(_inputs(self.reading, comments, self.config, result.undecided, self.tree))
        inputs = Checks("input", of_inputs, world)
        result.add(inputs, map(inputs.outcome, inputs.things))
        _suppress(result, comments)
        deadline.check_cancelled()
        graded = (_with_set_severity(one, self.config) for one in result.findings)
        result.findings = merging.merged(graded, self._rules)
        deadline.check_cancelled()
        result.judged = judged.judged(world, result.undecided, self.reading)
        if earlier is not None:
            earlier.end(final)
        return result

    def _without_withheld(self, outcomes: list[Outcome], earlier: Earlier | None) -> list[Outcome]:
        """The outcomes without the fixes that nobody may make; those that were taken over are without them."""
        fresh = outcomes if earlier is None else [outcome for outcome in outcomes if not earlier.is_taken(outcome)]
        found = [finding for outcome in fresh for finding in outcome.findings]
        if not any(finding.fix for finding in found):
            return outcomes
        from kcheck.engine import may_change

        others = [] if earlier is None else [one for own in outcomes if earlier.is_taken(own) for one in own.findings]
        final = iter(may_change.withhold_fixes(found, self.world, self.tree, self.reading.roots, others))
        made = {id(outcome): outcome._replace(findings=list(islice(final, len(outcome.findings)))) for outcome in fresh}
        return [made.get(id(outcome), outcome) for outcome in outcomes]


def unread(tree: Tree, config: Config) -> Result:
    """Return the result of a tree that could not be read in time."""
    reading = Reading(Inventory(), [], {}, [])
    result = Result(World(reading.inventory, config), reading, relevant=True, is_late=True)
    result.judged.skipped = [
        Skipped(tree.given[0], f"{deadline.reason()}; not all files were read, nothing was checked")
    ]
    return result


def _check_targets(found: Inventory, config: Config) -> None:
    """Refuse targets of unknown clusters.

    Raises:
        ConfigError: --nodes names one.
    """
    names = {name for cluster in found.clusters for name in (cluster.address, cluster.id, known(cluster.name)) if name}
    for name in config.nodes.keys() - names - {""} if names else ():
        raise ConfigError(f"--nodes {name}: there is no such cluster; {nearest(name, tuple(sorted(names)))}")


def _with_set_severity(finding: Finding, config: Config) -> Finding:
    """Give a finding the severity that the settings give its rule."""
    wanted = config.severity.get(finding.rule)
    return replace(finding, severity=Severity[wanted.upper()]) if wanted else finding


def _pruned(findings: list[Finding], by_subject: dict[str, list[Rule]]) -> list[Finding]:
    """Remove findings that another one on the same object or place makes redundant."""
    unless = {rule.name: rule.unless for own in by_subject.values() for rule in own if rule.unless}
    found = {(f.rule, where) for f in findings for where in (f.object, f.span)}

    def told(finding: Finding) -> bool:
        names = unless.get(finding.rule, ())
        return any((name, where) in found for name in names for where in (finding.object, finding.span))

    return [finding for finding in findings if not told(finding)]


def _suppress(result: Result, comments: Suppressions) -> None:
    kept = [finding for finding in result.findings if not comments.silences(finding)]
    result.suppressed += len(result.findings) - len(kept)
    result.findings = kept


def _inputs(
    reading: Reading, comments: Suppressions, config: Config, undecided: list[Undecided], tree: Tree
) -> Iterable[Input]:
    """What is to be said of the files themselves."""

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
    for accepted in comments.expired():
        day = str(accepted.expires)
        yield one(accepted.place, "expired-suppression", accepted.rule, accepted.rule, accepted.reason, day)
    for accepted in comments.unused_settings(undecided, tree.given):
        about = f"{accepted.rule} in {accepted.path}" if accepted.path else accepted.rule
        yield one(accepted.place, "unused-suppression", about, accepted.rule)
    every = rules.all_rules(config.rules) if comments.all else []
    known_names = {name for rule in every for name in (rule.name, rule.group)}
    for suppression, name in comments.unused(known_names, undecided):
        kind = "unused-suppression" if name in known_names else "suppression-of-unknown-rule"
        kind = "forbidden-suppression" if name in comments.not_ignorable else kind
        found = one(suppression.span, kind, "", name)
        yield replace(found, id=f"{found.id}:{name}")
    for place in comments.nameless:
        yield one(place, "suppression-without-rule", "nameless")
