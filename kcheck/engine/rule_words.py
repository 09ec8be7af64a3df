"""What a rule asks for: the words and limits in its expressions, and mistakes in them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.config import nearest
from kcheck.engine.rule import source_entries
from kcheck.numbers import profiles
from kcheck.numbers.clouds import owners
from kcheck.syntax import cel
from kcheck.words.raw_views import OPEN
from kcheck.words.raw_views import SUBJECTS as RAW
from kcheck.words.subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.rule import Rule
    from kcheck.words.views import Wanted

_BELOW = tuple(f"{word}." for word in OPEN)


def words(subject: str) -> set[str]:
    """Everything that a rule about a subject may name, limits aside."""
    result = {subject, "limits"}
    for name in RAW.get(subject, ()):
        result.add(f"{subject}.{name}".rstrip("."))
    for field in SUBJECTS.get(subject, ()):
        result.add(f"{subject}.{field.name}")
        if field.kind in ("record", "records"):
            result |= {f"{subject}.{field.name}.{inner.name}" for inner in SUBJECTS[field.type]}
    return result


def expressions(rule: Rule) -> list[str]:
    """All expressions of a rule, its places aside."""
    return [text for place, text in _texts(rule) if not _is_place(place)]


def limits(rule: Rule) -> set[str]:
    """The limits that the expressions of a rule use, as `limits[.cloud].group.name`."""
    return {path for path in used(rule) if path.startswith("limits.") and profiles.entries(path)}


def used(rule: Rule) -> set[str]:
    """The words and limits that a rule uses, its places included, as paths."""
    return set(places(rule))


def places(rule: Rule) -> dict[str, tuple[str, ...]]:
    """The words and limits that a rule uses, each with the keys of the rule that use it."""
    found: dict[str, dict[str, None]] = {}
    for steps, text in _texts(rule):
        for path in _used_words(text, rule.subject, place=_is_place(steps)):
            found.setdefault(path, {})[str(steps[0])] = None
    return {path: tuple(keys) for path, keys in found.items()}


@cache
def looked_at(rule: Rule) -> Wanted:
    """The fields of the subject that any expression or place of a rule may look at."""
    result: Wanted = {}
    for steps, text in _texts(rule):
        for path in _used_words(text, rule.subject, place=_is_place(steps)):
            inner = result
            for step in path.replace("[]", "").split("."):
                inner = inner.setdefault(step, {})
    return result.get(rule.subject, {})


Steps = tuple["str | int", ...]


def _texts(rule: Rule) -> Iterator[tuple[Steps, str]]:
    """All expressions and places of a rule, with the keys that they are under."""
    for name in ("when", "problem", "at"):
        if text := getattr(rule, name):
            yield (name,), text
    yield from ((("at_most", cap.severity), cap.where) for cap in rule.at_most)
    for name in ("of", "wall", "recommended", "silent"):
        if text := getattr(rule.grade, name, None):
            yield ("grade", name), text
    yield from ((("related", i), text) for i, text in enumerate(rule.related))
    for i, setting in enumerate(rule.settings):
        yield ("fix", "changes", i, "append" if setting.append else "set"), setting.place
        yield ("fix", "changes", i, "to"), setting.to
    for i, obstacle in enumerate(rule.withheld):
        yield ("fix", "withheld", i, "where"), obstacle.where
        yield from ((("fix", "withheld", i, "help"), hole) for hole in _holes(obstacle.help))
    for name in ("message", "help"):
        yield from (((name,), hole) for hole in _holes(getattr(rule, name)))


def _holes(text: str) -> Iterator[str]:
    """The expressions in a text with holes."""
    return (hole.text for hole in cel.holes(text) if not isinstance(hole, str))


def _is_place(steps: Steps) -> bool:
    return steps[0] in ("at", "related") or steps[-1] in ("set", "append")


class Mistake(NamedTuple):
    """What is wrong with a rule: the keys that it is under, the text, and the character in it that is meant."""

    place: tuple[Steps, str, int]
    message: str


def _used_words(text: str, subject: str, *, place: bool) -> set[str]:
    """The words that an expression or a place uses; of a place, the field may be that of each object in a list."""
    prefix, name = cel.split_place(text) if place else (text, "")
    usage = cel.usage(cel.compile(prefix, (subject, "limits")))
    return set(usage.paths) | ({f"{path.rstrip('[]')}.{name}" for path in usage.result} if place else set())


@cache
def _limit_words() -> frozenset[str]:
    """What may stand behind `limits`: groups and their numbers, those of the cloud at hand and of a named one."""
    own = {
        f"{prefix}.{key}"
        for owner in owners()
        for key in profiles.limits(owner)
        for prefix in ("limits", f"limits.{owner}")
    }
    return frozenset(own | {name.rpartition(".")[0] for name in own} | {f"limits.{owner}" for owner in owners()})


def problems(rule: Rule) -> Iterator[Mistake]:
    """What is wrong with a rule that can be told without running it: syntax, and words that do not exist."""
    if rule.subject not in SUBJECTS and rule.subject not in RAW:
        message = f"there is no subject {rule.subject}; {nearest(rule.subject, (*SUBJECTS, *RAW))}"
        yield Mistake((("subject",), "", 0), message)
        return
    allowed = words(rule.subject) | _limit_words()
    maps = {f"{rule.subject}.{field.name}" for field in SUBJECTS.get(rule.subject, ()) if field.kind == "map"}
    try:
        texts = list(_texts(rule))
    except cel.SyntaxProblem as error:
        yield Mistake((("message",), "", 0), str(error))
        return
    for steps, text in texts:
        try:
            used = _used_words(text, rule.subject, place=_is_place(steps))
        except cel.SyntaxProblem as error:
            yield Mistake((steps, text, error.at or 0), str(error))
            continue
        for path in sorted(
            path for path in used - allowed if not path.startswith(_BELOW) and path.rpartition(".")[0] not in maps
        ):
            message = f"`{text}`: there is no word {path}; {nearest(path, tuple(sorted(allowed)))}"
            yield Mistake((steps, text, max(text.find(path), 0)), message)
    for i, source in enumerate(rule.sources):
        if not source_entries(source):
            yield Mistake((("sources", i), "", 0), f"there is no source {source}: an address or a key of profiles")
