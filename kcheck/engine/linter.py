"""Run the rules over a tree: decide, grade, suppress, prune. Every command goes through `run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.config import ConfigError, nearest
from kcheck.engine import judged, may_change, merging, rules, several_clusters
from kcheck.engine.evaluator import Evaluator, joined_condition
from kcheck.engine.judged import Judged
from kcheck.engine.suppressions import Suppressions
from kcheck.model import Input
from kcheck.reading import inventory
from kcheck.scale.world import World
from kcheck.source.findings import Finding, Severity, Undecided
from kcheck.source.units import counted
from kcheck.source.values import known
from kcheck.syntax import cel
from kcheck.words import raw_views
from kcheck.words.subjects import things
from kcheck.words.views import wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.config.config import Config
    from kcheck.engine.rule import Rule
    from kcheck.files.tree import Tree
    from kcheck.model import Cluster, Inventory


class Bug(NamedTuple):
    """A rule or a reader that failed: kcheck's fault, never the user's."""

    rule: str
    object: str
    message: str


@dataclass
class Result:
    """What a run found. `decided` counts the checks with an answer.

    `known` counts what was found and left out, as it was there before.
    """

    world: World
    findings: list[Finding] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    bugs: list[Bug] = field(default_factory=list)
    decided: int = 0
    suppressed: int = 0
    known: int = 0
    relevant: bool = False
    judged: Judged = field(default_factory=Judged)

    def unknown_inputs(self) -> dict[str, int]:
        """What is not known, and how many checks wait for it, the most wanted first."""
        return {missing.reason: missing.checks for missing in self.judged.inputs}


def no_progress(text: str) -> None:
    """Tell nobody what goes on."""


def run(tree: Tree, config: Config, tell: Callable[[str], None] = no_progress) -> Result:
    """Read the tree and decide every rule on every subject; `tell` is told what goes on."""
    chosen = rules.selected(config)
    tell(f"reading {tree.count:,} files" if tree.count else "reading")
    reading = inventory.read(tree, config, rules.raw_kinds(chosen))
    found = reading.inventory
    world = World(found, config)
    _check_targets(found, config)
    result = Result(world)
    result.relevant = bool(found.has_content() or reading.problems)
    comments = Suppressions(reading.sources, config, chosen)
    by_subject: dict[str, list[Rule]] = {}
    for rule in chosen:
        by_subject.setdefault(rule.subject, []).append(rule)
    for number, (subject, matching) in enumerate(by_subject.items(), 1):
        if subject != "input":
            tell(f"checking, {number} of {len(by_subject)}: {subject}")
            result.findings += may_change.withhold_fixes(
                _decide(subject, matching, world, result), world, tree, reading.roots
            )
    result.findings = _pruned(result.findings, by_subject)
    _suppress(result, comments)
    world.inputs = list(_inputs(reading, comments, config, result.undecided, tree))
    result.findings += _decide("input", by_subject.get("input", []), world, result)
    _suppress(result, comments)
    result.findings = merging.merged((_with_set_severity(one, config) for one in result.findings), chosen)
    result.judged = judged.judged(world, result.undecided, reading)
    return result


def _check_targets(found: Inventory, config: Config) -> None:
    """Refuse targets of clusters that are not there.

    Raises:
        ConfigError: --nodes names one.
    """
    names = {name for cluster in found.clusters for name in (cluster.address, cluster.id, known(cluster.name)) if name}
    for name in config.nodes.keys() - names - {""} if names else ():
        raise ConfigError(f"--nodes {name}: there is no such cluster; {nearest(name, tuple(sorted(names)))}")


def _with_set_severity(finding: Finding, config: Config) -> Finding:
    """The finding with the severity that the settings give its rule."""
    wanted = config.severity.get(finding.rule)
    return finding._replace(severity=Severity[wanted.upper()]) if wanted else finding


def _pruned(findings: list[Finding], by_subject: dict[str, list[Rule]]) -> list[Finding]:
    """One cause, one finding: without those that another one on the same object or place makes redundant."""
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
    reading: inventory.Reading, comments: Suppressions, config: Config, undecided: list[Undecided], tree: Tree
) -> Iterable[Input]:
    """What is to be said of the files themselves."""
    for problem in reading.problems:
        place = problem.span
        yield Input(f"{place.source.path}:{place.begin.line}", place, "unreadable", problem.message, problem.message)
    for gap in reading.gaps:
        place = gap.span
        yield Input(f"{place.source.path}:{place.begin.line}", place, "not-rendered", gap.message, gap.message)
    for folder, sources in reading.templates.items():
        many = len(sources) > 1
        what = f"{len(sources)} files here are templates" if many else "This file is a template"
        what = f"{what} and cannot be read; render {'them' if many else 'it'} first"
        yield Input(folder, sources[0].span(0, 0), "templates", what)
    for chart, count in reading.unrendered:
        values = ": only its values were checked" if chart.values is not None else ""
        what = f"Chart {chart.label} is not rendered{values}; --render helm renders {counted(count, 'template')}"
        yield Input(chart.folder, chart.source.span(0, 0), "chart", what)
    for suppression in comments.without_reason():
        place = suppression.span
        what = ", ".join(suppression.rules)
        yield Input(f"{place.source.path}:{place.begin.line}", place, "bare-suppression", what, what)
    for accepted in comments.expired():
        place = accepted.place
        what = f"{accepted.rule} ({accepted.reason}) expired on {accepted.expires}"
        yield Input(f"{place.source.path}:{place.begin.line}", place, "expired-suppression", what, accepted.rule)
    for accepted in comments.unused_settings(undecided, tree.given):
        place = accepted.place
        where = f" in {accepted.path}" if accepted.path else ""
        what = f"{accepted.rule} is not found{where or ' anywhere'}; remove this entry"
        yield Input(f"{place.source.path}:{place.begin.line}", place, "unused-suppression", what, accepted.rule + where)
    every = rules.all_rules(config.rules) if comments.all else []
    names = {name for rule in every for name in (rule.name, rule.group)}
    for suppression, name in comments.unused(names, undecided):
        place = suppression.span
        if name in comments.not_ignorable:
            what = rules.why_not_ignorable(name, config)
        elif name in names:
            what = f"{name} is not found here; remove it from this comment"
        else:
            what = f"There is no rule {name}; {nearest(name, tuple(sorted(names)))}"
        yield Input(f"{place.source.path}:{place.begin.line}:{name}", place, "unused-suppression", what)
    for place in comments.nameless:
        what = "This comment names no rule and has no effect; write ignore[RULE] and a reason"
        yield Input(f"{place.source.path}:{place.begin.line}", place, "unused-suppression", what, "nameless")


def _decide(subject: str, matching: list[Rule], world: World, result: Result) -> list[Finding]:
    """Decide the rules of one subject; `unless` rules come first, so that one cause gives one finding."""
    findings: list[Finding] = []
    found = things(subject, world)
    if not found:
        return findings
    ordered = sorted(matching, key=lambda rule: (len(rule.unless), rule.name))
    variables = (subject, "limits")
    conditions: dict[str, cel.Expression] = {}
    for rule in list(ordered):
        try:
            conditions[rule.name] = joined_condition(rule.when, rule.problem, variables)
        except cel.SyntaxProblem as error:
            result.bugs.append(Bug(rule.name, subject, str(error)))
            ordered.remove(rule)
    fields = wanted(*conditions.values()).get(subject, {})
    for thing in found:
        try:
            evaluator = Evaluator(raw_views.view(subject, thing, world, fields))
        except _BROKEN as error:
            result.bugs.append(Bug("", thing.id, f"the view of the {subject} cannot be built: {error!r}"))
            continue
        fired: set[str] = set()
        for rule in ordered:
            if fired.intersection(rule.unless):
                continue
            try:
                verdict = evaluator.verdict(rule, conditions[rule.name])
                clusters: tuple[Cluster, ...] = ()
                if isinstance(verdict, Undecided):
                    verdict, clusters = several_clusters.decide(rule, conditions[rule.name], verdict, thing, world)
                if isinstance(verdict, Undecided):
                    result.undecided.append(verdict)
                    continue
                result.decided += 1
                if not verdict:
                    continue
                finding = several_clusters.finding(rule, thing, world, clusters)
                if finding is not None:
                    findings.append(finding)
                    fired.add(rule.name)
            except (cel.ExpressionError, cel.SyntaxProblem, *_BROKEN) as error:
                result.bugs.append(Bug(rule.name, thing.id, str(error)))
    return findings


_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)
