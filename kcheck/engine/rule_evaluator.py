"""Evaluate rules on one object: condition, severity, finding and fix."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from kcheck.config.numbers.clouds import owners
from kcheck.engine.words.subjects import cloud_of
from kcheck.engine.words.views import ID, Target, View
from kcheck.model import Input
from kcheck.scale.world.memory import once
from kcheck.text.amount import Amount
from kcheck.text.findings import Change, Finding, Fix, Related, Severity, Undecided, UnknownInput, last_key
from kcheck.text.syntax import cel
from kcheck.text.units import between, duration, shown, singular
from kcheck.text.values import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.engine.rule import Grade, Rule, Sentence
    from kcheck.scale.world import World
    from kcheck.text.syntax.hcl import write


_MOST_RECORDS = 4
"""Most records of a list for which an `each` sentence is printed."""


@once
def limits_view(cloud: str, world: World) -> dict[str, object]:
    """Return the limits for rules, of this cloud and by cloud.

    Only custom rules name a cloud: without them the profiles of other clouds are not read.
    """
    named = owners() if world.config.rules else ()
    return {**{owner: _limits_view(owner, world) for owner in named}, **_limits_view(cloud, world)}


def _limits_view(cloud: str, world: World) -> dict[str, dict[str, int | str | bool]]:
    result: dict[str, dict[str, int | str | bool]] = {}
    for key, entry in world.numbers.limits(cloud).items():
        if entry.value is None:
            continue  # it differs by account, and nobody has said it
        group, name = key.split(".")
        result.setdefault(group, {})[name] = entry.value
    return result


@cache
def joined_condition(when: str, problem: str, variables: tuple[str, ...]) -> cel.Expression:
    """Compile `when && problem` with three values: false wins over unknown."""
    return cel.conjunction(when, problem, variables) if when else cel.compile(problem, variables)


def records_expression(expression: str) -> str:
    """Return an expression for the numbers of another expression's records."""
    return f"type({expression}) == list ? dyn({expression}).map(r, r.{ID}) : [dyn({expression}).{ID}]"


class Evaluator:
    """Decides rules on one object.

    The runtime copies every variable an expression names: all limits would take as long as 20 conditions.
    """

    def __init__(self, view: View, groups: Iterable[str]) -> None:
        self.view = view
        self.variables = (view.subject, "limits")
        limits = limits_view(cloud_of(view.thing, view.world), view.world)
        self.limits = {name: limits[name] for name in groups if name in limits}
        self.activation = self.new_activation(view.data)

    def new_activation(self, data: dict[str, object]) -> cel.Activation:
        """Wrap data for expressions, with the limits."""
        return cel.activation({self.view.subject: data, "limits": self.limits}, self.variables)

    # --- values

    def evaluate(self, expression: str | cel.Expression, activation: cel.Activation | None = None) -> object:
        """Evaluate to plain data; UNDECIDED if candidates of a value disagree."""
        found = self.options(expression, activation)
        return found[0] if found.count(found[0]) == len(found) else cel.UNDECIDED

    def options(self, expression: str | cel.Expression, activation: cel.Activation | None = None) -> list[object]:
        """Evaluate with this or other data, or with each candidate if undecided.

        In an open view, an expression is undecided if it fails, or may take a missing value for absent.
        """
        compiled = cel.compile(expression, self.variables) if isinstance(expression, str) else expression
        own = activation is None
        if own and self.view.open and self.view.hidden(compiled.used):
            return [cel.UNDECIDED]
        try:
            found = cel.evaluate(compiled, activation or self.activation)
        except cel.ExpressionError as error:
            if not (self.view.open or error.beyond):
                raise
            return [cel.UNDECIDED]
        if found is not cel.UNDECIDED or not own or not self.view.choices:
            return [found]
        choices = self.view.choose(compiled.used)
        return [cel.evaluate(compiled, self.new_activation(self.view.data)) for _ in choices] or [found]

    def holds(self, condition: str | cel.Expression) -> bool | None:
        """Whether a condition holds; None if undecided."""
        found = self.evaluate(condition)
        if isinstance(found, bool):
            return found
        if found is not cel.UNDECIDED and not self.view.open:
            text = condition if isinstance(condition, str) else condition.text
            raise cel.ExpressionError(text, f"the result must be true or false, not {found!r}")
        return None

    def verdict(self, rule: Rule) -> bool | Undecided:
        """Return whether the rule's condition holds, or the values it waits for."""
        condition = joined_condition(rule.when, rule.problem, self.variables)
        holds = self.holds(condition)
        if holds is None and self.view.open and rule.when:  # where one half looks at what is not known
            holds = False if False in map(self.holds, (rule.when, rule.problem)) else None
        if holds is not None:
            return holds
        inputs = self.view.lacks(condition.used) or self.misfit(condition)
        return Undecided(rule.name, self.view.thing.id, self.view.thing.place, inputs)

    def misfit(self, condition: cel.Expression) -> tuple[UnknownInput, ...]:
        """Return the error of a condition on the code as written; empty if it has none."""
        try:
            cel.condition(condition, self.activation)
        except cel.ExpressionError as error:
            why = f"it does not fit what is written: {'too many parts, or no Unicode' if error.beyond else error}"
            return (UnknownInput(why, why),)
        return ()

    def severity_by_size(self, grade: Grade) -> tuple[Severity | None, bool]:
        """Return the severity by size, None if too small to report; and whether small."""
        found = self.options(grade.of)
        numbers = [int(value) for value in found if isinstance(value, int | float)]
        if len(numbers) < len(found):
            return Severity.INFO, False
        is_known = min(numbers) == max(numbers)
        for limit, severity in ((grade.wall, Severity.ERROR), (grade.recommended, Severity.WARNING)):
            most = self.evaluate(limit) if limit else None
            if isinstance(most, int | float) and min(numbers) > most:
                return severity, False
        silent = is_known and grade.silent and self.holds(grade.silent)
        return None if silent else Severity.INFO, is_known

    def severity(self, rule: Rule) -> tuple[Severity | None, bool]:
        """Return the severity of a finding, None if too small; and whether small."""
        grade = rule.grade
        by_size, small = self.severity_by_size(grade) if grade else (Severity[rule.severity.upper()], False)
        caps = [Severity[cap.severity.upper()] for cap in rule.at_most if by_size and self.holds(cap.where)]
        return min([by_size, *caps]) if by_size else by_size, small

    # --- findings

    def finding(self, rule: Rule) -> Finding | None:
        """Build the finding of a rule that fires; None if too small to report."""
        severity, small = self.severity(rule)
        if severity is None:
            return None
        origin = next((target.origin for target in self.targets(rule.at)), Origin((self.view.thing.place,)))
        span = origin.written
        related = [Related(use, "used here") for use in origin.spans[1:][-1:] if use.line != span.line]
        for place in rule.related:
            name = cel.split_place(place)[1]
            found = [one.origin for one in self.targets(place) if one.origin.written.line != span.line]
            values = [Origin(one.spans[:1], missing=one.missing, within=one.within) for one in found]
            related += [Related(value.written, name, value) for value in values]
        fix, help_text = self.fix(rule)
        if fix is None:
            help_text = "\n".join(filter(None, (help_text, *self.sentences(rule.help))))
        return Finding(
            rule=rule.name, severity=severity, waste=rule.waste, message=self.fill(rule.message),
            details=tuple(self.sentences(rule.details)), span=span, related=tuple(dict.fromkeys(related)),
            object=self.view.thing.id, fix=fix, help=help_text, anchors=(*origin.spans, self.view.thing.place),
            about=self.view.thing.about if isinstance(self.view.thing, Input) else "", small=small,
        )  # fmt: skip

    def targets(self, place: str) -> list[Target]:
        """List the fields that an `at` expression names: one, or one per record of a list.

        In an open view, parents of the field may be missing.
        """
        path: tuple[str, ...] = ()
        while True:
            try:
                place, name = cel.split_place(place)
            except cel.SyntaxProblem:
                if not path:
                    raise
                return []
            path = (name, *path)
            found = self.records(place)
            if found or not self.view.open:
                return [self.view.target(record, path) for record in found]

    def records(self, expression: str) -> list[int]:
        """List the numbers of the records that an expression returns."""
        if not expression.replace(".", "").isidentifier():
            found = self.evaluate(records_expression(expression), self.numbered_activation)
            return found if isinstance(found, list) else []
        part: object = {self.view.subject: self.view.numbered}  # CEL copies a list for each of its items
        for step in expression.split("."):
            part = part.get(step) if isinstance(part, dict) else None
        return [one[ID] for one in (part if isinstance(part, list) else [part]) if isinstance(one, dict)]

    @cached_property
    def numbered_activation(self) -> cel.Activation:
        """Data in which every record has its number."""
        return self.activation if self.view.numbered is self.view.data else self.new_activation(self.view.numbered)

    def fill(self, text: str) -> str:
        """Fill the holes of a text."""
        return self.filled(text)[0]

    def filled(self, text: str, each: tuple[str, dict[str, object]] | None = None) -> tuple[str, bool]:
        """Fill the holes of a text; also return whether all their values are known.

        `each` is the expression of a list, and the record of it that the text is about.
        """
        from kcheck.engine import rule_words  # types of expressions: only where something is found

        parts: list[str] = []
        complete, single, holes = True, False, cel.holes(text)
        for part, after in zip(holes, (*holes[1:], ""), strict=True):
            if isinstance(part, str):
                parts.append(singular(part) if single else part)
                continue
            value = self.hole(part.text, each)
            if value is None:
                parts.append("not set")
                continue
            complete = complete and value is not cel.UNDECIDED
            typed = (part.text, self.view.subject, each[0] if each else "")
            unit = "" if isinstance(value, str) else rule_words.result_type(*typed).unit
            shown_value = _unknown(unit, after) if value is cel.UNDECIDED else _with_unit(value, unit)
            counted = single and parts[-1] == " "  # {workload.gpus} {workload.cards}
            parts.append(singular(f" {shown_value}")[1:] if counted else shown_value)
            single = parts[-1].removeprefix("at least ").removeprefix("at most ") == "1"
        filled = " ".join("".join(parts).split())
        return filled[:1].upper() + filled[1:] if parts[:1] == [""] else filled, complete

    def hole(self, text: str, each: tuple[str, dict[str, object]] | None) -> object:
        """Return the value of a hole: None for null, or UNDECIDED."""
        if each is not None:
            variables = (*self.variables, "each")
            data: dict[str, object] = {self.view.subject: self.view.data, "limits": self.limits, "each": each[1]}
            return self.evaluate(cel.compile(text, variables), cel.activation(data, variables))
        value = self.evaluate(text)
        return self.address(text) or self.view.partly.get(text.strip(), value) if value is cel.UNDECIDED else value

    def address(self, text: str) -> str:
        """Return the address of the object whose `name` a hole shows; else empty."""
        try:
            targets = self.targets(text) if cel.split_place(text)[1] == "name" else []
        except cel.SyntaxProblem:  # more than a place
            return ""
        return next((target.address for target in targets), "")

    def sentences(self, sentences: Sequence[Sentence]) -> Iterator[str]:
        """Yield the sentences whose condition holds and whose values are known."""
        for one in sentences:
            if one.where and not self.holds(one.where):
                continue
            found = self.records(one.each) if one.each else []
            records = [(one.each, self.view.record(number)) for number in found[:_MOST_RECORDS]]
            for each in records if one.each else (None,):
                text, complete = self.filled(one.say, each)
                if complete and text not in ("", "not set"):
                    yield text
            if len(found) > _MOST_RECORDS:
                yield f"and {len(found) - _MOST_RECORDS:,} more"

    def fix(self, rule: Rule) -> tuple[Fix | None, str]:
        """Return the fix of a finding, or None and instructions for a manual change."""
        for obstacle in rule.withheld:
            if self.holds(obstacle.where) is not False:
                return None, self.fill(obstacle.say)
        changes: list[Change] = []
        titles: list[str] = []
        for setting in rule.settings:
            value = self.ordered_value(setting.to)
            if value in (None, cel.UNDECIDED):
                return None, ""
            for target in self.targets(setting.place):
                part = _literal_part(target, value)
                if part is not None:
                    place = Origin((part.span,), literal=True)
                    changes.append(Change(place, target.name, part.value, target.subject, target.owner))
                    titles.append(_with_part(part, target.origin))
                    continue
                seconds = isinstance(value, int) and target.unit == "seconds"
                written = duration(int(value)) if seconds else value
                change = Change(target.origin, target.name, written, target.subject, target.owner, setting.append)
                if not _is_writable(change, target):
                    return None, self.by_hand(change)
                if target.origin.literal and value == target.value:
                    continue  # it is written as it should be
                changes.append(change)
                titles.append(_title(change))
        if not changes:
            return None, ""
        is_unsafe = rule.unsafe and self.holds(rule.unsafe) is not False  # also where that is undecided
        safety = "unsafe" if is_unsafe else rule.safety
        return Fix(safety, tuple(changes), ", ".join(dict.fromkeys(titles))), ""

    def ordered_value(self, text: str) -> Any:
        """Evaluate an expression, keeping the order of map keys."""
        subject, *steps = text.strip().split(".")
        word: object = self.view.data if subject == self.view.subject else None
        for step in steps:
            word = word.get(step) if isinstance(word, dict) else None
        return word if isinstance(word, dict) else _ordered(self.evaluate(text), text)

    def by_hand(self, change: Change) -> str:
        """Return an instruction for a change that kcheck cannot write."""
        origin, written = change.origin, change.origin.written
        in_module = origin.within and origin.path[0].startswith("module ")
        if origin.why:
            return (
                f"{change.instruction} and {origin.why} = true" if in_module else f"{origin.why}; {change.instruction}"
            )
        if written.source.private:
            return f"in the code that {written.source.path} was made from, {change.instruction}"
        if written.source.path.startswith("--"):
            return change.instruction
        if in_module:
            return f"{change.instruction} in the {origin.within[0]} of what {origin.path[0]} makes"
        if written == self.view.thing.place:
            return f"{_parts(origin)}{change.instruction}"
        line, *more = written.text.splitlines() or [""]
        line = line.rstrip(" {[(") + (" ..." if more else "")
        if not last_key(origin.path) and line.startswith("data "):
            return f"write a value in place of `{line}`"
        flag = written.source.path.endswith((".sh", ".bash", ".mk", "akefile", "ustfile"))
        where = " by a flag of the command" if flag else f"; `{line}` gives it now" if line else ""
        return change.instruction + (where or f" in {written.source.path}")


def _literal_part(target: Target, value: object) -> write.Part | None:
    """Find the literal in a computed text to change, so that the text gets this value."""
    from kcheck.text.syntax.hcl import write

    old = None if target.origin.literal or target.origin.missing else target.value
    if not isinstance(old, str) or not isinstance(value, str):
        return None
    return write.literal_to_change(target.origin.written, old, value)


def _is_writable(change: Change, target: Target) -> bool:
    """Whether a change can be made where the value is written, or where it would be."""
    origin = change.origin
    if isinstance(change.value, float | bytes) or origin.written.source.derived or origin.why:
        return False
    if origin.missing is not None:
        return bool(origin.missing.path)
    return origin.literal or (change.append and target.kind == "list")


def _parts(origin: Origin) -> str:
    """Format where each part of a composed value is written."""
    places = dict.fromkeys(span.location for span in origin.spans)
    if len(places) == 1 or any(span.source.private for span in origin.spans):
        return ""
    return f"it is put together from {' and '.join(places)}; "


def _ordered(value: object, text: str) -> object:
    """Sort the keys of maps in the order of the expression, which CEL does not keep."""
    if isinstance(value, list):
        return [_ordered(item, text) for item in value]
    if not isinstance(value, dict):
        return value

    def place(name: str) -> tuple[int, str]:
        found = text.find(f"'{name}'")
        return found if found >= 0 else len(text), name

    return {name: _ordered(value[name], text) for name in sorted(value, key=place)}


def _title(change: Change) -> str:
    """Describe a change: renamed, quoted, set or added."""
    old = change.origin.written.text
    if change.origin.missing is None and change.value == old:
        return f"put {old} in quotes"
    if change.origin.missing is None and change.key.lstrip("-") == old.lstrip("-"):
        return f"rename {old} to {change.value}"
    return change.instruction


def _with_part(part: write.Part, origin: Origin) -> str:
    """Describe the change of a literal in a computed value."""
    span, name = origin.written, last_key(origin.path)
    before, after = span.source.span(span.start, part.span.start).text, span.source.span(part.span.end, span.end).text
    if "\n" in span.text:
        return f"change {part.span.text} to {part.value} in {name}"
    return f"set {name} = {before}{part.value}{after}"


def _unknown(unit: str, after: object) -> str:
    """Return the placeholder for an unknown value; none before a noun."""
    following = str(after)
    if not unit or "seconds" in unit:
        return "unknown"
    if following.startswith(" of "):
        return "some"
    return "" if following[:1] == " " and following[1:2].isalpha() else "an unknown number"


def _with_unit(value: object, unit: str) -> str:
    """Format a value or its bounds with its unit."""
    if isinstance(value, Amount) and value.high is not None and shown(value.low, unit) != f"{value.low:,}":
        return between(shown(value.low, unit), shown(value.high, unit))
    return shown(value, unit)
