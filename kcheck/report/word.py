"""Terminal pages of subjects and the words that rules may use."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kcheck.engine import rule_words
from kcheck.engine.rule import Rule
from kcheck.engine.words.raw_views import OPEN
from kcheck.engine.words.raw_views import SUBJECTS as RAW
from kcheck.engine.words.subjects import SUBJECTS
from kcheck.engine.words.tables.field import Field
from kcheck.report import page
from kcheck.report.layout import Text
from kcheck.report.page import Block, Facts, Line, Name, Part, Point, Prose, Title
from kcheck.report.rule import link

INDEX = "docs/words.md"
_OPEN = "Any name may stand below it: what is absent in the code is absent, and `null` is too."
_NONE = (Point(("no rule",)),)


class _Use(NamedTuple):
    """A rule that uses a word: the keys of its file, and the path they use."""

    rule: Rule
    path: str
    keys: tuple[str, ...]


def names() -> list[str]:
    """List all subjects, and all words as `subject.word`."""
    words = [f"{subject}.{field.name}" for subject, fields in SUBJECTS.items() for field in fields]
    raw = [f"{subject}.{name}" for subject, own in RAW.items() for name in own if name]
    return [*SUBJECTS, *RAW, *words, *raw]


def type_name(field: Field) -> str:
    """Format the type of a word for people: int, list of string, one cluster."""
    prefix = {"record": "one ", "records": "list of ", "list": "list of ", "map": "map of "}.get(field.kind, "")
    return f"{prefix}{field.type}"


def as_text(name: str, rules: Sequence[Rule]) -> Text | None:
    """Return the page of a subject or a word; None if unknown."""
    subject, _, rest = name.partition(".")
    if subject in RAW and (not rest or rest in RAW[subject] or name.startswith(tuple(f"{path}." for path in OPEN))):
        blocks = _raw(subject, rest, rules)
    elif not rest and subject in SUBJECTS:
        null = ", may be null"
        own = ((one.name, f"{type_name(one)}{null if one.nullable else ''}", one.meaning) for one in SUBJECTS[subject])
        blocks = _subject(subject, own, rules)
    elif found := _found(name):
        blocks = _word(*found, rules)
    else:
        return None
    return page.as_text(blocks)


def _found(path: str) -> tuple[str, Field] | None:
    """Resolve a path to subject and word: pool and spot for subnet.pools.spot."""
    subject, *steps = path.replace("[]", "").split(".")
    found = None
    for step in steps:
        field = next((field for field in SUBJECTS.get(subject, ()) if field.name == step), None)
        if field is None:
            return found if found and found[1].kind == "map" else None
        found = subject, field
        subject = field.type
    return found


def _word(subject: str, field: Field, rules: Sequence[Rule]) -> Iterator[Block]:
    yield Title(f"{subject}.{field.name}")
    yield Prose(_sentence(field.meaning))
    rows: list[tuple[str, Line]] = [("subject", (Name(subject, f"{INDEX}#{subject}"),)), ("type", (type_name(field),))]
    rows += [("unit", (field.unit,))] if field.unit else []
    yield Facts((*rows, ("may be null", ("yes" if field.nullable else "no",))))
    yield from _uses(
        [use for use in _all_uses(rules) if _found(use.path) == (subject, field)], f"{subject}.{field.name}"
    )
    yield _more(subject)


def _sentence(meaning: str) -> str:
    """Make a sentence of a meaning, with a capital letter."""
    begin = meaning[0] if "_" in meaning.partition(" ")[0] else meaning[0].upper()
    return f"{begin}{meaning[1:]}."


def _more(subject: str) -> Prose:
    return Prose(f"More: {page.HOME}/{INDEX}#{subject}")


def _raw(subject: str, rest: str, rules: Sequence[Rule]) -> Iterator[Block]:
    path = f"{subject}.{rest}".rstrip(".")
    own = {f"{subject}.{name}".rstrip("."): meaning for name, meaning in RAW[subject].items()}
    if path == subject:
        yield from _subject(subject, ((name, "", meaning) for name, meaning in RAW[subject].items()), rules)
        return
    yield Title(path)
    above = next(name for name in sorted(own, reverse=True) if path == name or path.startswith(f"{name}."))
    yield Prose(_sentence(own[above] if path == above else f"what the code has there; see {above}"))
    if above in OPEN:
        yield Prose(_OPEN)
    yield from _uses([use for use in _all_uses(rules) if use.path.replace("[]", "") == path], path)
    yield _more(subject)


def _subject(subject: str, words: Iterable[tuple[str, str, str]], rules: Sequence[Rule]) -> Iterator[Block]:
    yield Title(subject)
    yield Part("Words")
    for name, type_, meaning in words:
        yield Point((Name(f"{subject}.{name}".rstrip(".")), f" ({type_})" if type_ else ""), (meaning,))
    if subject in OPEN:
        yield Prose(_OPEN)
    yield Part("Judged by")
    judges = [Point((link(rule), f": {rule.summary}")) for rule in rules if rule.subject == subject]
    yield from judges or _NONE
    yield _more(subject)


def _all_uses(rules: Iterable[Rule]) -> Iterator[_Use]:
    for rule in rules:
        for path, keys in rule_words.places(rule).items():
            yield _Use(rule, path, keys)


def _uses(uses: Sequence[_Use], name: str) -> Iterator[Block]:
    yield Part("Used by")
    for use in uses:
        other = "" if use.path == name else f", as {use.path}"
        yield Point((link(use.rule), f": {', '.join(use.keys)}{other}"))
    yield from () if uses else _NONE
