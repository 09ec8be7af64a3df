"""Words and limits in the expressions of a rule, and mistakes in their use."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from kcheck.config.config import nearest
from kcheck.config.numbers import profiles
from kcheck.config.numbers.clouds import owners
from kcheck.engine import rule_files, rule_variables
from kcheck.engine.expression_types import ANY, BOOL, NUMBERS, Checker, Type, TypeMistake, facts
from kcheck.engine.rule import Rule, Sentence, source_entries
from kcheck.engine.words.raw_views import OPEN
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import SUBJECTS
from kcheck.engine.words.tables.field import Field
from kcheck.engine.words.views import Wanted, nested
from kcheck.text.syntax import cel
from kcheck.text.syntax.cel_tree import Usage

Steps: TypeAlias = tuple[str | int, ...]
"""Keys under which a text stands in its file."""


class Text(Struct, frozen=True):
    """An expression or a place of a rule, with its keys in the file.

    `kind` is condition, number, value, hole, records, broken or place: a field of one record, or of a list's records.
    `given` are conditions that hold when it is evaluated, `denied` conditions that do not; `each` is the list whose
    records it is evaluated for.
    """

    steps: Steps
    text: str
    kind: str
    given: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    each: str = ""


def texts(rule: Rule) -> Iterator[Text]:
    """Yield all expressions and places of a rule."""
    yield from (Text((rule_variables.NAME, one.name), one.expression, "value") for one in rule.variables)
    fires = tuple(filter(None, (rule.when, rule.problem)))
    if rule.when:
        yield Text(("when",), rule.when, "condition")
    yield Text(("problem",), rule.problem, "condition", fires[:-1])
    yield Text(("at",), rule.at, "place", fires)
    for cap in rule.at_most:
        yield Text(("at_most", cap.severity), cap.where, "condition", fires)
    for name in ("of", "wall", "recommended"):
        if text := getattr(rule.grade, name, None):
            yield Text(("grade", name), text, "number", fires)
    if rule.grade and rule.grade.silent:
        yield Text(("grade", "silent"), rule.grade.silent, "condition", fires)
    yield from (Text(("related", i), text, "place", fires) for i, text in enumerate(rule.related))
    held = tuple(obstacle.where for obstacle in rule.withheld)
    for i, setting in enumerate(rule.settings):
        steps = ("fix", "changes", i)
        yield Text((*steps, "append" if setting.append else "set"), setting.place, "place", fires, held)
        yield Text((*steps, "to"), setting.to, "value", fires, held)
    if rule.unsafe:
        yield Text(("fix", "unsafe"), rule.unsafe, "condition", fires, held)
    for i, obstacle in enumerate(rule.withheld):
        steps = ("fix", "withheld", i)
        yield Text((*steps, "where"), obstacle.where, "condition", fires, held[:i])
        yield from _holes((*steps, "help"), obstacle.say, (*fires, obstacle.where), held[:i])
    yield from _holes(("message",), rule.message, fires)
    for name, sentences in (("details", rule.details), ("help", rule.help)):
        for i, sentence in enumerate(sentences):
            yield from _sentence((name, i), sentence, fires)


def _holes(steps: Steps, text: str, given: tuple[str, ...], denied: tuple[str, ...] = (), each: str = "") -> list[Text]:
    """List the expressions in a text with holes; a broken text itself."""
    try:
        parts = cel.holes(text)
    except cel.SyntaxProblem:
        return [Text(steps, text, "broken")]
    return [Text(steps, hole.text, "hole", given, denied, each) for hole in parts if not isinstance(hole, str)]


def _sentence(steps: Steps, sentence: Sentence, given: tuple[str, ...]) -> Iterator[Text]:
    where = (sentence.where,) if sentence.where else ()
    if sentence.each:
        yield Text((*steps, "each"), sentence.each, "records", (*given, *where))
    yield from (Text((*steps, "if"), text, "condition", given) for text in where)
    yield from _holes((*steps, "say"), sentence.say, (*given, *where), each=sentence.each)


# --- what is used


def usages(rule: Rule) -> Iterator[tuple[Text, Usage]]:
    """Yield the expressions of a rule, without its places, each with its usage."""
    for one in texts(rule):
        if one.kind != "place":
            yield one, cel.compile(one.text, names(one, rule.subject)).used


def limits(rule: Rule) -> set[str]:
    """Return the limits that a rule uses, as `limits[.cloud].group.name`."""
    return {path for path in places(rule) if path.startswith("limits.") and profiles.entries(path)}


def places(rule: Rule) -> dict[str, tuple[str, ...]]:
    """Map the words and limits that a rule uses to the keys of the rule that use them."""
    found: dict[str, dict[str, None]] = {}
    for one in texts(rule):
        for path in _used_words(one, rule.subject):
            found.setdefault(path, {})[str(one.steps[0])] = None
    return {path: tuple(keys) for path, keys in found.items()}


@cache
def looked_at(rule: Rule, *parts: str) -> Wanted:
    """Return what the expressions and places of a rule, or of `parts`, may read."""
    found = (path for path, keys in places(rule).items() if not parts or not {*parts}.isdisjoint(keys))
    return {rule.subject: {}, "limits": {}, **nested(found)}


def saving_words(rule: Rule) -> list[Field]:
    """List the words in a rule's texts that state the saving of its fix."""
    words = (one for one in SUBJECTS.get(rule.subject, ()) if one.type == "saving")
    return [one for one in words if one.name in looked_at(rule)[rule.subject]]


def _used_words(one: Text, subject: str, *more: str) -> set[str]:
    """Return the words that an expression or a place uses."""
    if one.kind == "broken":
        cel.holes(one.text)
    prefix, name = cel.split_place(one.text) if one.kind == "place" else (one.text, "")
    usage = cel.compile(prefix, (*names(one, subject), *more)).used
    found = set(usage.paths) | ({f"{path.rstrip('[]')}.{name}" for path in usage.result} if name else set())
    if not one.each:
        return found
    lists = [path.rstrip("[]") for path in cel.compile(one.each, (subject, "limits", *more)).used.result]
    own = {path for path in found if path.partition(".")[0] == "each"}
    return found - own | {f"{base}.{path.partition('.')[2]}".rstrip(".") for path in own for base in lists}


def names(one: Text, subject: str) -> tuple[str, ...]:
    """Return the variables of an expression."""
    return (subject, "limits", "each") if one.each else (subject, "limits")


# --- types


@cache
def members(subject: str) -> Mapping[str, Type]:
    """Return the types of a subject's fields, or of the limits."""
    head, _, group = subject.partition(".")
    if head == "limits":
        return _limits(group)
    if subject in RAW:
        return {name: ANY if f"{subject}.{name}" in OPEN else Type("string") for name in RAW[subject]}
    found: dict[str, Type] = {}
    for field in SUBJECTS[subject]:
        kind = field.type if field.kind == "scalar" else "list" if field.kind == "records" else field.kind
        held = Type("record", subject=field.type, word=f"each of {field.name}") if field.kind == "records" else None
        held = Type(field.type, unit=field.unit) if field.kind in ("list", "map") else held
        found[field.name] = Type(
            kind, held, field.type if field.kind == "record" else "", field.nullable, field.bounded, field.unit,
            meaning=field.meaning,
        )  # fmt: skip
    return found


@cache
def _limits(path: str) -> dict[str, Type]:
    """Return the types of limits: of a group, of a cloud, or of all clouds."""
    first, _, rest = path.partition(".")
    clouds, group = ((first,), rest) if first in owners() else (owners(), path)
    above = f"limits.{first}" if first in owners() else "limits"
    result = {} if path else {cloud: Type("record", subject=f"limits.{cloud}") for cloud in owners()}
    for cloud in clouds:
        for key, entry in profiles.limits(cloud).items():
            head, name = key.split(".")
            if not group:
                result[head] = Type("record", subject=f"{above}.{head}")
            elif head == group:
                kind = {bool: "bool", int: "int", float: "double", type(None): "int"}.get(type(entry.value), "string")
                result[name] = Type(kind, unit=entry.unit)
    return result


def roots(subject: str) -> dict[str, Type]:
    """Return the types of the variables of rules about a subject."""
    own = ANY if subject in OPEN else Type("record", subject=subject)
    return {subject: own, "limits": Type("record", subject="limits")}


@cache
def result_type(text: str, subject: str, each: str = "") -> Type:
    """Return the type of an expression, evaluated for each record of `each`."""
    return _check(Text((), text, "hole", each=each), subject)[0]


def _check(one: Text, subject: str) -> tuple[Type, Checker]:
    """Check an expression or place; return its type and the checker."""
    names = roots(subject)
    if one.each:
        element = _check(Text((), one.each, "records"), subject)[0].of
        names = {**names, "each": element or ANY}
    compiled = tuple(names)
    given = ((text, truth) for found, truth in ((one.given, True), (one.denied, False)) for text in found)
    sure = frozenset[str]().union(*(facts(cel.compile(text, compiled).tree, truth=truth) for text, truth in given))
    checker = Checker(names, members, sure)
    text = cel.split_place(one.text)[0] if one.kind == "place" else one.text
    return checker.type_of(cel.compile(text, compiled).tree), checker


# --- mistakes


class Mistake(Struct, frozen=True):
    """A mistake in a rule: keys above it, text, and index of the character."""

    message: str
    steps: Steps
    text: str = ""
    index: int = 0


def problems(rule: Rule) -> Iterator[Mistake]:
    """Yield static mistakes in a rule: syntax, unknown words, types."""
    if rule.subject not in SUBJECTS and rule.subject not in RAW:
        message = f"there is no subject {rule.subject}; {nearest(rule.subject, (*SUBJECTS, *RAW))}"
        yield Mistake(message, ("subject",))
        return
    written = rule.as_written
    found, raw = list(texts(rule)), list(texts(written))
    wrong = list(_variable_problems(written, raw)) or list(_syntax_problems(raw, written))
    yield from wrong
    if not wrong:
        pairs = zip(found, raw[len(written.variables) :], strict=True)
        yield from dict.fromkeys(mistake for pair in pairs for mistake in _type_problems(*pair, written))
        yield from _repeated_bounds(rule, found)
    for i, source in enumerate(rule.sources):
        if not source_entries(source):
            yield Mistake(f"there is no source {source}: an address or a key of profiles", ("sources", i))


def _variable_problems(rule: Rule, found: list[Text]) -> Iterator[Mistake]:
    """Yield variables that are unused, hide a word, or come too late."""
    above: list[str] = []
    uses: set[str] = set()
    every = tuple(one.name for one in rule.variables)
    for one in found:
        for name, at in rule_variables.used(one.text):
            uses.add(name)
            if name not in every:
                yield Mistake(f"there is no variable {name}; {nearest(name, every)}", one.steps, one.text, at)
            elif one.steps[0] == rule_variables.NAME and name not in above:
                message = f"variable {name} is not above this one: a variable may use those above it"
                yield Mistake(message, one.steps, one.text, at)
        if one.steps[0] == rule_variables.NAME:
            above.append(str(one.steps[1]))
    for name in every:
        steps = (rule_variables.NAME, name)
        if name not in uses:
            yield Mistake(f"variable {name} is not used", steps)
        elif rule.subject in SUBJECTS and any(field.name == name for field in SUBJECTS[rule.subject]):
            yield Mistake(f"variable {name} has the name of the word {rule.subject}.{name}", steps)


def _syntax_problems(found: list[Text], rule: Rule) -> Iterator[Mistake]:
    more = (rule_variables.NAME,) if rule.variables else ()
    for one in found:
        try:
            _used_words(one, rule.subject, *more)
        except cel.SyntaxProblem as error:
            yield Mistake(str(error), one.steps, one.text, error.at or 0)


def _type_problems(one: Text, raw: Text, rule: Rule) -> Iterator[Mistake]:
    """Yield unknown words, values that may be null, and wrong types.

    `raw` is the text before variables were inlined: mistakes are shown there.
    """
    found, checker = _check(one, rule.subject)
    for at, message in dict.fromkeys(checker.mistakes) or {TypeMistake(0, _misfit(one, found)): None}:
        if message:
            steps, text, index = rule_variables.place(raw.steps, raw.text, at, rule.variables)
            yield Mistake(f"`{' '.join(text.split())}`: {message}", steps, text, index)


def _misfit(one: Text, found: Type) -> str:
    """Return why the type of an expression does not suit its key; empty if it does."""
    if found.kind == "any":
        return ""
    if one.kind == "place":
        return _misplaced(one, found)
    if found.nullable and one.kind not in ("value", "hole"):
        return f"{found.described} may be null: ask `{found.word or 'x'} != null` first"
    if one.kind == "condition" and found != BOOL and found.kind != "bool":
        return f"{found.described} is {found.what}; a condition is true or false"
    if one.kind == "number" and found.kind not in NUMBERS:
        return f"{found.described} is {found.what}; a number is needed here"
    if one.kind == "hole" and found.kind in ("record", "map", "type"):
        return f"{found.described} is {found.what}, of which a message can show a field only"
    if one.kind == "records" and (found.kind != "list" or (found.of or ANY).kind not in ("record", "any")):
        return f"{found.described} is {found.what}; `each` wants a list of records"
    return ""


def _misplaced(one: Text, found: Type) -> str:
    """Return why a place is no field of a record; empty if it is one."""
    name = cel.split_place(one.text)[1]
    record = found.of or ANY if found.kind == "list" else found
    if record.kind == "any":
        return ""
    if record.kind != "record":
        return f"{found.described} is {found.what}; a place is a field of a record, or of each of a list"
    fields = members(record.subject)
    known = tuple(f"{record.subject}.{field}" for field in fields)
    word = f"{record.subject}.{name}"
    return "" if name in fields else f"there is no word {word}; {nearest(word, known)}"


def _repeated_bounds(rule: Rule, found: list[Text]) -> Iterator[Mistake]:
    """Yield bounded words that a condition compares twice."""
    compared = [
        (one, word)
        for one in found
        if one.steps[0] in ("when", "problem")
        for word in _check(one, rule.subject)[1].compared
    ]
    words = [word for _, word in compared]
    for one, word in compared:
        if words.count(word) > 1:
            message = f"{word} may be known by its bounds only: compare it once in `when` and `problem` together"
            yield Mistake(message, one.steps, one.text, max(one.text.find(word), 0))


def located(rule: Rule, mistakes: Iterable[Mistake]) -> list[str]:
    """Format mistakes in a rule, each with file, line and column."""
    found = list(mistakes)
    if not found:
        return []
    file = rule_files.read(rule.group, rule.path)
    return [f"{file.location(mistake.steps, mistake.text, mistake.index)}: {mistake.message}" for mistake in found]


def failed_at(rule: Rule, error: str) -> tuple[Steps, str]:
    """Find the expression that an error quotes; the condition if it quotes none."""
    for one in texts(rule):
        if f"`{' '.join(one.text.split())}`" in error:
            return one.steps, one.text
    return ("problem",), ""
