"""Run the examples of rules: `bad`, `good` and `fixed`."""

import contextlib
import copy
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from functools import cached_property

from msgspec.structs import replace

from kcheck.config import settings
from kcheck.config.config import Config, parse_price
from kcheck.engine import linter, rule_words, rules
from kcheck.engine.linter import Result
from kcheck.engine.rule import Example, Rule
from kcheck.engine.rule_evaluator import Evaluator, joined_condition
from kcheck.engine.rule_words import Mistake, failed_at, usages
from kcheck.engine.words import raw_views
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.engine.words.views import View
from kcheck.fix import fix
from kcheck.scale.world import World
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES, Finding
from kcheck.text.regex import regex
from kcheck.text.syntax import cel

LONGEST_HEADLINE = 100
LONGEST_DETAIL = 120
"""Most characters of a message, or of a sentence below it, on the examples of a rule."""
_LEAST_WHY = 80
_ADVICE = regex(r"(use|avoid|prefer|require|no|do|should|check|enable)-")
_MOST_THINGS = 5
"""Objects for which the rule's silence is explained."""

_MOST_VALUES = 6


class ExampleRun:
    """Runs an example of a rule; `folders` hold rules besides the built-in ones."""

    def __init__(self, rule: Rule, example: Example, folders: tuple[str, ...] = ()) -> None:
        self.rule, self.example, self._folders = rule, example, folders

    @cached_property
    def bad(self) -> Result:
        """Result of checking `bad`."""
        return self.checked(self.example.bad, self._needed)

    @cached_property
    def good(self) -> Result:
        """Result of checking `good`."""
        return self.checked(self.example.good, self._needed)

    def findings(self) -> list[Finding]:
        """List the rule's findings in `bad`."""
        return [one for one in self.bad.findings if one.rule == self.rule.name] if self.example.bad else []

    def failures(self) -> list[Mistake]:
        """List differences between the example and what kcheck does."""
        misnamed = [self._mistake(key, text) for key, text in _misnamed(self.example)]
        if misnamed:
            return misnamed
        silent = self.bad_failures()
        return [*silent, *self.good_failures(), *(self.fix_failures() if not silent else ())]

    def bad_failures(self) -> list[Mistake]:
        """List failures of `bad`: silent, or firing on an unknown value."""
        if not self.example.bad:
            return []
        wrong = _bugs(self.rule, self.bad)
        if wrong:
            return wrong
        if self.findings():
            return [self._mistake("bad", text) for text in failures(self.rule, self.bad.world)]
        whole = self.checked(self.example.bad)
        return [self._mistake("bad", f"`bad` must fire: {_silence(self.rule, whole, self.example)}")]

    def good_failures(self) -> list[Mistake]:
        """List failures of `good`: the rule fires, or there is nothing to judge."""
        if not self.example.good:
            return []
        wrong = [
            self._mistake("good", f"`good` must be silent: {finding.span.exact_location} {finding.message}")
            for finding in self.good.findings
            if finding.rule == self.rule.name
        ]
        if not self.good.relevant and self.rule.subject != "input":
            wrong.append(self._mistake("good", "`good` has nothing that kcheck looks at: silence shows nothing"))
        found = [*wrong, *_bugs(self.rule, self.good)]
        return found or [self._mistake("good", text) for text in failures(self.rule, self.good.world)]

    def fix_failures(self) -> list[Mistake]:
        """List differences between the fixed `bad` and `fixed`."""
        rule, example = self.rule, self.example
        if example.fixed is not None and not rule.fixable:
            return [self._mistake("fixed", "`fixed` belongs to a rule with a fix only: add `fix`, or delete `fixed`")]
        if not example.bad or not rule.fixable:
            return []
        with _written(example.bad):
            config = self._config()
            outcome = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
            save.save(outcome.files)
            again = fix.fix(["."], config, safeties=SAFETIES, rules=(rule.name,))
            made = {name: _read(name) for name in filter(_is_inside, example.bad)}
        wrong = [f"`bad` is not fixed: {refused.reason}" for refused in outcome.refused]
        expected = example.bad if example.fixed is None else example.fixed
        for name in sorted(expected.keys() | made.keys()):
            before, after = expected.get(name, ""), made.get(name, "")
            if before != after:
                said = "`fixed` is missing; fix makes of" if example.fixed is None else "fix makes something else of"
                lines = unified_diff(
                    before.splitlines(), after.splitlines(), "expected", "made by fix", lineterm="", n=1
                )
                wrong.append("\n".join([f"{said} {name}:", *lines]))
        if again.files:
            wrong.append(f"a second fix still changes {', '.join(file.path for file in again.files)}")
        return [self._mistake("bad" if example.fixed is None else "fixed", text) for text in wrong]

    def checked(self, files: Mapping[str, str], names: tuple[str, ...] = ()) -> Result:
        """Check files by the rules with these names, or by all."""
        with _written(files):
            config = self._config()
            return linter.run(Tree(["."]), config if config.select else replace(config, select=names))

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        """Return names of rules to run: this rule and rules it defers to; empty for all."""
        needed = [self.rule] if self.rule.subject != "input" else []
        for rule in needed:
            every = rules.all_rules(self._folders) if rule.unless else ()
            needed += [other for other in every if other.name in rule.unless and other not in needed]
        return tuple(rule.name for rule in needed)

    def _config(self) -> Config:
        """Read the example's settings, and add its nodes, price and rule folders."""
        nodes = {"": self.example.nodes} if self.example.nodes else {}
        own = settings.load(["."])
        return replace(own, nodes=nodes, price=parse_price(self.example.price), rules=(*own.rules, *self._folders))

    def _mistake(self, key: str, message: str) -> Mistake:
        return Mistake(message, ("examples", self.example.number, key))


def _misnamed(example: Example) -> Iterator[tuple[str, str]]:
    """Yield files outside the example's folder, or that no fix can make."""
    for key, files in (("bad", example.bad), ("good", example.good), ("fixed", example.fixed or {})):
        for name in files:
            if not _is_inside(name):
                yield key, f"`{key}` needs the path of a file in a folder of its own, not {name or 'an empty one'}"
            elif key == "fixed" and name not in example.bad:
                yield key, f"`fixed` has {name}, and `bad` has not: it has {', '.join(example.bad) or 'no file'}"


def headline_failures(found: Iterable[Finding]) -> list[Mistake]:
    """List headlines and details that are too long once filled in."""
    texts = [("message", one.message, LONGEST_HEADLINE) for one in found]
    texts += [("details", text, LONGEST_DETAIL) for one in found for text in one.details]
    return [
        Mistake(f"{len(text)} characters, {most} at most: {text}", (key,))
        for key, text, most in texts
        if len(text) > most
    ]


def _silence(rule: Rule, result: Result, example: Example) -> str:
    others = ", ".join(sorted({finding.rule for finding in result.findings}))
    reasons = list(_reasons(rule, result)) or [f"there is no {rule.subject} in {', '.join(example.bad)}"]
    head = f"found {'are' if ',' in others else 'is'} {others}" if others else "nothing is found"
    return "\n  ".join([f"{head};", *reasons]) if len(reasons) > 1 else f"{head}; {reasons[0]}"


def _reasons(rule: Rule, result: Result) -> Iterator[str]:
    waiting = {check.object: check.missing for check in result.undecided if check.rule == rule.name}
    found, words = things(rule.subject, result.world), rule_words.looked_at(rule)
    for thing in found[:_MOST_THINGS]:
        evaluator = Evaluator(raw_views.view(rule.subject, thing, result.world, words[rule.subject]), words["limits"])
        halves = [(name, text) for name, text in (("when", rule.when), ("problem", rule.problem)) if text]
        verdicts = [evaluator.holds(text) for _, text in halves]
        if thing.id in waiting:
            yield f"undecided on {thing.id}: {'; '.join(waiting[thing.id]) or 'a value is not known'}"
        elif False in verdicts:
            name, text = halves[verdicts.index(False)]
            yield f"`{name}` is false for {thing.id}{_values(text, evaluator)}"
        else:
            yield f"it holds for {thing.id}, but {_left_out(rule, result, thing.id)}"
    if len(found) > _MOST_THINGS:
        yield f"and so for {len(found) - _MOST_THINGS} more"


def _values(text: str, evaluator: Evaluator) -> str:
    shown = []
    for path in sorted(cel.compile(text, evaluator.variables).used.paths):
        value: object = {evaluator.view.subject: evaluator.view.data, "limits": evaluator.limits}
        for step in path.split("."):
            value = value.get(step, cel.UNDECIDED) if isinstance(value, dict) else cel.UNDECIDED
        if not isinstance(value, dict | list) and value is not cel.UNDECIDED:
            shown.append(f"{path} is {json.dumps(value, ensure_ascii=False)}")
    return f": {', '.join(shown[:_MOST_VALUES])}" if shown else ""


def _left_out(rule: Rule, result: Result, thing: str) -> str:
    hiding = {finding.rule for finding in result.findings if thing in finding.objects}.intersection(rule.unless)
    if hiding:
        return f"`unless` leaves it to {', '.join(sorted(hiding))}"
    return "`grade.silent` holds" if rule.grade and rule.grade.silent else "it is left out"


def _bugs(rule: Rule, result: Result) -> list[Mistake]:
    return [
        Mistake(
            f"{'the rule' if bug.rule == rule.name else f'kcheck ({bug.rule})'} fails on {bug.object}: {bug.message}",
            *failed_at(rule, bug.message),
        )
        for bug in result.bugs
    ]


@contextlib.contextmanager
def _written(files: Mapping[str, str]) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="kcheck-") as folder, contextlib.chdir(folder):
        os.mkdir(".git")  # settings are looked for no further up
        for name, text in files.items():
            if not _is_inside(name):
                continue  # an example has no business outside of its folder
            path = os.path.normpath(name)
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        yield


def _is_inside(name: str) -> bool:
    return bool(os.path.basename(name)) and not os.path.isabs(name) and not os.path.normpath(name).startswith("..")


def _read(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def failures(rule: Rule, world: World) -> Iterator[str]:
    """Yield paths whose missing or null value makes the rule misbehave."""
    if rule.subject in RAW:
        return  # what is absent there is absent
    variables = (rule.subject, "limits")
    condition = joined_condition(rule.when, rule.problem, variables)
    used = cel.compile(rule.problem, variables).used.paths
    paths = sorted(path for path in used if "." in path and not path.startswith("limits."))
    nullable = {f"{rule.subject}.{field.name}" for field in SUBJECTS[rule.subject] if field.nullable}
    words = rule_words.looked_at(rule)
    for thing in things(rule.subject, world):
        evaluator = Evaluator(View(rule.subject, thing, world, words[rule.subject]), words["limits"])
        before = _verdict(evaluator, condition, evaluator.view.data)
        for path in paths:
            steps = path.split(".")[1:]
            after = _verdict(evaluator, condition, without(evaluator.view.data, steps))
            if after not in (before, None):
                wrong = "fires" if after else "is silent"
                yield f"where {path} is not known the rule must be undecided; it {wrong} on {thing.id}"
            if path in nullable:
                try:
                    _verdict(evaluator, condition, without(evaluator.view.data, steps, [None]))
                except cel.ExpressionError as error:
                    yield f"where {path} is null the rule fails on {thing.id}: {error}"


def _verdict(evaluator: Evaluator, condition: cel.Expression, data: dict[str, object]) -> bool | None:
    return cel.condition(condition, evaluator.new_activation(data))


def without(data: dict[str, object], steps: list[str], replacement: list[None] | None = None) -> dict[str, object]:
    """Copy data with the field at a path removed or replaced."""
    result = copy.deepcopy(data)

    def walk(record: object, rest: list[str]) -> None:
        if isinstance(record, list):
            for item in record:
                walk(item, rest)
        elif isinstance(record, dict) and rest[0] in record:
            if len(rest) > 1:
                walk(record[rest[0]], rest[1:])
            elif replacement:
                record[rest[0]] = replacement[0]
            else:
                del record[rest[0]]

    walk(result, steps)
    return result


# --- standards


def misplaced_presence(rule: Rule) -> Iterator[Mistake]:
    """Yield uses of `has()` outside `when`, where unknown would count as absent."""
    if rule.subject in RAW:
        return
    for one, usage in usages(rule):
        if one.steps != ("when",) and usage.presence:
            at = max(one.text.find("has("), 0)
            message = (
                "has() asks whether a value is known, which is for `when` only; compare with null to ask for unset"
            )
            yield Mistake(message, one.steps, one.text, at)


def shortcomings(rule: Rule) -> list[Mistake]:
    """List why a rule does not meet the requirements for kcheck's own rules."""
    return [*_incomplete(rule), *_numbers(rule)]


def _incomplete(rule: Rule) -> Iterator[Mistake]:
    written = rule.documentation
    if _ADVICE.match(rule.name):
        yield Mistake("the file is named after a mistake, such as pod-without-team, not after advice", ("summary",))
    if len(written.why) <= _LEAST_WHY:
        yield Mistake(f"`why` needs more than {_LEAST_WHY} characters: what happens, and what would help", ("why",))
    if not written.examples:
        yield Mistake("the rule needs an example, with `bad` and `good`", ("examples",))
    for example in written.examples:
        for name, files in (("bad", example.bad), ("good", example.good)):
            if not files:
                yield Mistake(f"the example needs `{name}`", ("examples", example.number))
    if rule.fixable and written.examples and all(example.fixed is None for example in written.examples):
        yield Mistake("an example needs `fixed`: what kcheck fix makes of `bad`", ("examples",))
    entries = rule.entries()
    if not entries and rule.subject != "input":
        message = "the rule needs sources: keys of profiles such as limits.eks.pool.quota, or addresses"
        yield Mistake(message, ("sources",))
    doubtful = [name for name, entry in entries.items() if entry and entry.confidence == "low"]
    wall = rule.grade.wall if rule.grade else None
    if doubtful and (
        rule.severity == "error" or any(name.endswith(f".{wall.split('.', 1)[1]}") for name in doubtful if wall)
    ):
        yield Mistake(f"an error needs sources that are sure; the confidence of {doubtful[0]} is low", ("sources",))


def _numbers(rule: Rule) -> Iterator[Mistake]:
    """Yield numbers without a name; their meaning and source belong in the profiles."""
    for one, usage in usages(rule):
        for number in sorted(set(usage.numbers) - {0, 1}):
            match = re.search(rf"(?<![\w.]){re.escape(str(number))}(?![\w.])", one.text)
            message = f"{number} has no source: name it in profiles/<cloud>/limits.yaml, write limits.<group>.<name>"
            yield Mistake(message, one.steps, one.text, match.start() if match else 0)
