"""Run the rules over a tree: decide, grade, suppress, prune. Every command goes through `run`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck import cel, inventory, rules
from kcheck.findings import Change, Finding, Fix, Related, Severity, Undecided
from kcheck.subjects import ID, SUBJECTS, View, cloud_of, things, wanted, word
from kcheck.suppressions import Suppressions
from kcheck.units import duration, shown
from kcheck.world import Input, World

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config import Config
    from kcheck.files import Tree
    from kcheck.rules import Grade, Rule
    from kcheck.terraform.variables import Variables
    from kcheck.text import Span
    from kcheck.values import Origin


class Bug(NamedTuple):
    """A rule or a reader that failed: kcheck's fault, never the user's."""

    rule: str
    object: str
    message: str


@dataclass
class Result:
    """What a run found. `decided` counts the checks with an answer; `hints` say how to give inputs that miss."""

    world: World
    findings: list[Finding] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)
    bugs: list[Bug] = field(default_factory=list)
    decided: int = 0
    suppressed: int = 0
    relevant: bool = False
    hints: list[str] = field(default_factory=list)

    def unknown_inputs(self) -> dict[str, int]:
        """What is not known, and how many checks wait for it, the most wanted first."""
        waiting: dict[str, int] = {}
        for check in self.undecided:
            for reason in check.missing:
                waiting[reason] = waiting.get(reason, 0) + 1
        return dict(sorted(waiting.items(), key=lambda item: (-item[1], item[0])))


def run(tree: Tree, config: Config) -> Result:
    """Read the tree and decide every rule on every subject."""
    reading = inventory.read(tree, config)
    world = World(reading.inventory, config)
    result = Result(world)
    result.relevant = bool(reading.inventory.clusters or reading.inventory.workloads or reading.problems)
    comments = Suppressions(reading.sources, config.accepted)
    by_subject: dict[str, list[Rule]] = {}
    for rule in rules.chosen(config):
        by_subject.setdefault(rule.subject, []).append(rule)
    for subject, matching in by_subject.items():
        if subject != "input":
            found = _decide(subject, matching, world, result)
            result.findings += _agreed(found, world)
    result.findings = _pruned(result.findings, by_subject)
    _suppress(result, comments)
    world.inputs = list(_inputs(reading, comments))
    result.findings += _decide("input", by_subject.get("input", []), world, result)
    _suppress(result, comments)
    result.findings = _merged([_graded(finding, config) for finding in result.findings])
    result.hints = list(_hints(result.unknown_inputs(), reading.variables))
    return result


_NO_VALUE = re.compile(r"var\.(\w+) has no default")


def _hints(inputs: Iterable[str], variables: Variables | None) -> Iterable[str]:
    """How to give the variables that have no value: with files that set them, else by name."""
    names = [match[1] for match in map(_NO_VALUE.fullmatch, inputs) if match]
    if not names or variables is None:
        return
    found = list(variables.candidates(names))
    for path, own in found:
        yield f"--var-file {path} sets {', '.join(own)}"
    if len(found) > 1:
        yield "entries under `clusters:` in kcheck.yaml check them all, each by its name"
    if not found:
        yield f"--var {names[0]}=VALUE, or a tfvars file with --var-file, gives the value"


def _graded(finding: Finding, config: Config) -> Finding:
    """The finding with the severity that the settings give its rule."""
    wanted = config.severity.get(finding.rule)
    return finding._replace(severity=Severity[wanted.upper()]) if wanted else finding


def _agreed(findings: list[Finding], world: World) -> list[Finding]:
    """A value that others use too is only changed if the rule has found all of them."""
    users: dict[tuple[str, str], dict[Span, list[str]]] = {}
    wanting = {(f.rule, change.owner) for f in findings for change in (f.fix.changes if f.fix else ())}

    def others(finding: Finding, change: Change) -> list[str]:
        key = (change.subject, change.name)
        if key not in users:
            by_place: dict[Span, list[str]] = {}
            field_ = word(*key)
            for thing in things(change.subject, world):
                value = field_.read(thing, world)
                origin = None if isinstance(value, list) else value.origin
                if origin is not None and origin.literal:
                    by_place.setdefault(origin.written, []).append(thing.id)
            users[key] = by_place
        names = users[key].get(change.origin.written, [])
        return [name for name in names if (finding.rule, name) not in wanting]

    result = []
    for finding in findings:
        changes = finding.fix.changes if finding.fix else ()
        content = [name for change in changes if change.origin.literal for name in others(finding, change)]
        if content:
            own = next(change.subject for change in changes if change.origin.literal)
            text = f"the value is shared with {content[0]}, which is fine with it; give this {own} its own"
            finding = finding._replace(fix=None, help=text)  # noqa: PLW2901
        result.append(finding)
    return result


def _pruned(findings: list[Finding], by_subject: dict[str, list[Rule]]) -> list[Finding]:
    """One cause, one finding: without those that another one on the same object or place makes redundant."""
    unless = {rule.name: rule.unless for own in by_subject.values() for rule in own if rule.unless}
    found = {(f.rule, where) for f in findings for where in (f.object, f.span)}

    def told(finding: Finding) -> bool:
        names = unless.get(finding.rule, ())
        return any((name, where) in found for name in names for where in (finding.object, finding.span))

    return [finding for finding in findings if not told(finding)]


def _merged(findings: list[Finding]) -> list[Finding]:
    """One cause, one finding: a module that is called several times is named once, with its other objects."""
    groups: dict[tuple[str, Span], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.key):
        groups.setdefault((finding.rule, finding.span), []).append(finding)
    result = []
    for group in groups.values():
        worst = max(group, key=lambda finding: finding.severity)
        others = dict.fromkeys(f.object for f in group if f.object != worst.object)
        also = tuple(Related(worst.span, f"also {name}") for name in others)
        result.append(worst._replace(related=worst.related + also))
    return result


def _suppress(result: Result, comments: Suppressions) -> None:
    kept = [finding for finding in result.findings if not comments.silences(finding)]
    result.suppressed += len(result.findings) - len(kept)
    result.findings = kept


def _inputs(reading: inventory.Reading, comments: Suppressions) -> Iterable[Input]:
    """What is to be said of the files themselves."""
    for problem in reading.problems:
        place = problem.span
        yield Input(f"{place.source.path}:{place.begin.line}", place, "unreadable", problem.message)
    for folder, sources in reading.templates.items():
        many = len(sources) > 1
        what = f"{len(sources)} files are templates; render them first" if many else "a template; render it first"
        yield Input(folder, sources[0].span(0, 0), "templates", what)
    for suppression in comments.bare():
        place = suppression.span
        yield Input(f"{place.source.path}:{place.begin.line}", place, "bare-suppression", ", ".join(suppression.rules))
    for accepted in comments.expired():
        place = accepted.place
        what = f"{accepted.rule} ({accepted.reason}) expired on {accepted.expires}"
        yield Input(f"{place.source.path}:{place.begin.line}", place, "expired-suppression", what)
    for accepted in comments.unused_settings():
        place = accepted.place
        what = f"`{accepted.rule}` has nothing to silence" + (f" in {accepted.path}" if accepted.path else "")
        yield Input(f"{place.source.path}:{place.begin.line}", place, "unused-suppression", what)
    for suppression, rule in comments.unused():
        place = suppression.span
        what = f"`{rule}` has nothing to silence here" if rules.named(rule) else f"there is no rule `{rule}`"
        yield Input(f"{place.source.path}:{place.begin.line}:{rule}", place, "unused-suppression", what)


def _decide(subject: str, matching: list[Rule], world: World, result: Result) -> list[Finding]:
    """Decide the rules of one subject; `unless` rules come first, so that one cause gives one finding."""
    findings: list[Finding] = []
    ordered = sorted(matching, key=lambda rule: (len(rule.unless), rule.name))
    variables = (subject, "limits")
    conditions: dict[str, cel.Expression] = {}
    for rule in list(ordered):
        try:
            conditions[rule.name] = _condition(rule.when, rule.problem, variables)
        except cel.SyntaxProblem as error:
            result.bugs.append(Bug(rule.name, subject, str(error)))
            ordered.remove(rule)
    fields = wanted(path for condition in conditions.values() for path in cel.usage(condition).paths)
    for thing in things(subject, world):
        try:
            judge = _Judge(View(subject, thing, world, fields.get(subject, {})))
        except _BROKEN as error:
            result.bugs.append(Bug("", thing.id, f"the view of the {subject} cannot be built: {error!r}"))
            continue
        whole: _Judge | None = None
        fired: set[str] = set()
        for rule in ordered:
            if fired.intersection(rule.unless):
                continue
            try:
                if not judge.holds(rule, conditions[rule.name], result):
                    continue
                whole = whole or _Judge(View(subject, thing, world))
                severity = whole.severity(rule)
                if severity is not None:
                    findings.append(whole.finding(rule, severity))
                    fired.add(rule.name)
            except (cel.ExpressionError, cel.SyntaxProblem, *_BROKEN) as error:
                result.bugs.append(Bug(rule.name, thing.id, str(error)))
    return findings


_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError)


def limits_view(cloud: str, world: World) -> dict[str, Any]:
    """The limits of a cloud as rules see them: limits.group.name."""
    return world.remember("limits view", cloud, lambda: _limits_view(cloud, world))


def _limits_view(cloud: str, world: World) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, entry in world.limits(cloud).items():
        if entry.value is None:
            continue  # it differs by account, and nobody has said it
        group, name = key.split(".")
        result.setdefault(group, {})[name] = entry.value
    return result


@cache
def _condition(when: str, problem: str, variables: tuple[str, ...]) -> cel.Expression:
    """`when` and `problem` as one three-valued conjunction: a known no beats an unknown."""
    return cel.conjunction(when, problem, variables) if when else cel.compile(problem, variables)


@cache
def _compiled(text: str, variables: tuple[str, ...]) -> cel.Expression:
    return cel.compile(text, variables)


class _Judge:
    """Decides rules on one subject; expressions share one activation."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.variables = (view.subject, "limits")
        limits = limits_view(cloud_of(view.thing, view.world), view.world)
        data: dict[str, object] = {view.subject: view.data, "limits": limits}
        self.activation = cel.activation(data, self.variables)

    def holds(self, rule: Rule, condition: cel.Expression, result: Result) -> bool:
        """Whether the rule's condition holds; counts the check as decided or notes what it waits for."""
        verdict = cel.condition(condition, self.activation)
        if verdict is None:
            missing = self.missing(condition)
            result.undecided.append(Undecided(rule.name, self.view.thing.id, self.view.place(), missing))
            return False
        result.decided += 1
        return verdict

    def missing(self, expression: cel.Expression) -> tuple[str, ...]:
        """The reasons of the values that an undecided expression waits for."""
        usage = cel.usage(expression)
        paths = usage.paths - usage.presence
        reasons = [self.view.missing[path] for path in sorted(paths) if path in self.view.missing]
        return tuple(dict.fromkeys(reasons))

    def value(self, expression: str) -> Any:
        """The value of an expression; None where it is not known."""
        result = cel.evaluate(_compiled(expression, self.variables), self.activation)
        return None if result is cel.UNDECIDED else result

    def severity(self, rule: Rule) -> Severity | None:
        """How bad it is; None where the size is known and small."""
        wanted = self.graded(rule.grade) if rule.grade else Severity[rule.severity.upper()]
        if wanted is None:
            return None
        if rule.mild and self.value(rule.mild):
            return Severity.INFO
        return min(wanted, Severity.WARNING) if rule.weak and self.value(rule.weak) else wanted

    def graded(self, grade: Grade) -> Severity | None:
        """How bad it is by size; None where that is known and small."""
        size = self.value(grade.of)
        if size is None:
            return Severity.INFO
        if grade.wall and size > self.value(grade.wall):
            return Severity.ERROR
        if grade.recommended and size > self.value(grade.recommended):
            return Severity.WARNING
        return None

    # --- findings

    def finding(self, rule: Rule, severity: Severity) -> Finding:
        origin = self.origins(rule.at)[0]
        span = origin.written
        related = [Related(use, "used here") for use in origin.spans[1:][-1:] if _line(use) != _line(span)]
        for place in rule.related:
            name = cel.split_place(place)[1]
            found = (Related(other.written, name) for other in self.origins(place))
            related += [other for other in found if _line(other.span) != _line(span)]
        fix, help_text = self.fix(rule)
        return Finding(
            rule.name,
            severity,
            rule.waste,
            self.message(rule),
            span,
            tuple(dict.fromkeys(related)),
            self.view.thing.id,
            fix,
            help_text,
            (*origin.spans, self.view.place()),
        )

    def origins(self, place: str) -> list[Origin]:
        """Where the fields of a place come from: one, or one for each object of a list."""
        prefix, name = cel.split_place(place)
        return [self.view.origin(record, name) for record in self.records(prefix)]

    def records(self, expression: str) -> list[int]:
        """The numbers of the records that an expression gives: one, or a list of them."""
        numbers = self.value(f"type({expression}) == list ? ({expression}).map(r, r.{ID}) : [({expression}).{ID}]")
        return numbers or []

    def message(self, rule: Rule) -> str:
        """The message with its holes filled."""
        parts = []
        for part in cel.holes(rule.message):
            if isinstance(part, str):
                parts.append(part)
                continue
            value = self.value(part.text)
            unit = self.unit(part.text)
            unknown = "an unknown number of" if unit and "seconds" not in unit else "something unknown"
            parts.append(unknown if value is None else shown(value, unit))
        return " ".join("".join(parts).split())

    def unit(self, expression: str) -> str:
        """The unit of a hole that is a plain word."""
        steps = expression.strip().split(".")
        if len(steps) < 2 or steps[0] != self.view.subject or not all(step.isidentifier() for step in steps):
            return ""
        subject = steps[0]
        for step in steps[1:-1]:
            subject = word(subject, step).type
        return word(subject, steps[-1]).unit if subject in SUBJECTS else ""

    def fix(self, rule: Rule) -> tuple[Fix | None, str]:
        """The changes that mend the finding, or what a person must do instead."""
        changes = []
        for setting in rule.settings:
            value = self.value(setting.to)
            if value is None:
                return None, ""
            prefix, name = cel.split_place(setting.place)
            for record in self.records(prefix):
                origin = self.view.origin(record, name)
                if not origin.literal and not (origin.missing and origin.missing.path):
                    silent = origin.written == self.view.place() or origin.written.source.private
                    given = "" if silent else f"`{_short(origin.written)}` gives the value; "
                    return None, f"{given}{name} should be {value}"
                if origin.literal and value == self.view.record(record).get(name):
                    continue  # it is written as it should be
                written = duration(value) if self.view.field(record, name).unit == "seconds" else value
                changes.append(Change(origin, name, written, *self.view.owner(record)))
        if not changes:
            return None, ""
        return Fix(rule.safety, tuple(changes), ", ".join(dict.fromkeys(map(_title, changes)))), ""


def _short(span: Span) -> str:
    """The first line of a piece of code."""
    lines = span.text.splitlines() or [""]
    return lines[0].rstrip(" {[(") + (" ..." if len(lines) > 1 else "")


def _title(change: Change) -> str:
    written = change.origin.written.text if change.origin.missing is None else '"'
    plain = change.value if isinstance(change.value, str) else str(change.value).lower()
    value = f'"{plain}"' if isinstance(change.value, str) and written.startswith('"') else plain
    if change.origin.missing is not None:
        name = change.origin.missing.path[-1]
        if name.startswith("--"):
            return f"add {name}={change.value}"
        yaml = change.origin.missing.container.source.path.endswith((".yaml", ".yml"))
        return f"add {name}: {value}" if yaml else f"add {name} = {value}"
    return f"change {change.origin.written.text} to {value}"


def _line(span: Any) -> tuple[str, int]:
    return span.source.path, span.begin.line
