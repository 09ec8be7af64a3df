"""What a rule found, and the change that would mend it. No syntax and no edits here."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kcheck.source.units import data_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.source.text import Span
    from kcheck.source.values import Data, Missing, Origin


class Severity(IntEnum):
    """How bad: error breaks at scale, warning is slow or fragile, info is worth knowing."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """The severity as findings print it."""
        return self.name.lower()


SAFETIES = ("safe", "costs", "unsafe")
"""safe: nothing is replaced, evicted sooner or dearer. costs: bill or behaviour changes. unsafe: the rest."""


class Change(NamedTuple):
    """Give the value with this origin another one, or, to `append`, the list with this origin an item.

    It is the field `name` of the thing with the id `owner`, which is of a kind of `subject`.
    """

    origin: Origin
    name: str
    value: Data
    subject: str = ""
    owner: str = ""
    append: bool = False

    @property
    def place(self) -> Span | Missing:
        """Where it is written, or would be: what is shared by others has the same."""
        return self.origin.missing or self.origin.written


def said(change: Change) -> str:
    """What a person has to write where kcheck does not, by the name that the code has for it."""
    value, missing = data_text(change.value), change.origin.missing
    if change.origin.why:
        return f"{change.origin.why}; {'.'.join(missing.path) if missing else change.name} should be {value}"
    name = called(change)
    return f"{name} should also have {value}" if change.append else f"{name} should be {value}"


_BEFORE = re.compile(r"([\w./-]+)[\"']?\s*[:=]\s*[\"'\[]?$")


def called(change: Change) -> str:
    """What the code calls a value: its key where it is absent, or what stands before it; else kcheck's word for it."""
    if change.origin.missing is not None and change.origin.missing.path:
        path = change.origin.missing.path
        return next((step for step in reversed(path) if step not in _ANY), path[-1])
    written = change.origin.written
    match = _BEFORE.search(written.source.before(written.start)) if not written.source.private else None
    if match is not None and match[1] not in _ANY:
        return match[1]
    return change.subject if change.name == "text" else change.name  # an image is its text


_ANY = ("value", "default", "name", "repository", "registry", "tag", "newName", "newTag")
"""Keys that say nothing of what they are for, or of a part only: of sets, variables, images."""


class Fix(NamedTuple):
    """The changes that together mend a finding."""

    safety: str
    changes: tuple[Change, ...]
    title: str


class Related(NamedTuple):
    """Another place that a finding is about."""

    span: Span
    message: str


Identity = tuple[str, str, str, str]
"""What a finding is known by in other runs: rule, file, object, and the shape of its message."""

_DIGITS = re.compile(r"\d+(?:[,._]\d+)*")


def unnumbered(message: str) -> str:
    """A message without its numbers."""
    return _DIGITS.sub("#", message)


class Finding(NamedTuple):
    """One problem at one place. `anchors` are the places where a comment can suppress it.

    `help` says what a person must do where kcheck cannot change the value itself. `also` are the other objects that
    have it at the same place. `shape` is the message without what changes with sizes, prices and other objects.
    """

    rule: str
    severity: Severity
    waste: bool
    message: str
    span: Span
    related: tuple[Related, ...]
    object: str
    fix: Fix | None
    help: str
    anchors: tuple[Span, ...]
    also: tuple[str, ...] = ()
    shape: str = ""

    @property
    def objects(self) -> set[str]:
        """All objects that have it at this place."""
        return {self.object, *self.also}

    @property
    def keys(self) -> set[tuple[str, str]]:
        """The rule with each of its objects."""
        return {(self.rule, name) for name in self.objects}

    @property
    def identities(self) -> frozenset[Identity]:
        """What it is known by in other runs, for each of its objects."""
        path = self.span.source.path
        return frozenset((self.rule, path, _unnumbered(name, path), self.shape) for name in self.objects)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that mend it; none where it has no fix."""
        return self.fix.changes if self.fix is not None else ()

    @property
    def key(self) -> tuple[str, int, int, str, str]:
        """The order of reports: path, place, rule."""
        return (self.span.source.path, self.span.start, self.span.end, self.rule, self.object)


class Tally(NamedTuple):
    """How many findings share an identity, and how bad the worst is."""

    number: int
    worst: Severity


def tally(severities: Iterable[tuple[Identity, Severity]]) -> dict[Identity, Tally]:
    """The findings by their identities."""
    result: dict[Identity, Tally] = {}
    for identity, severity in severities:
        number, worst = result.get(identity, (0, severity))
        result[identity] = Tally(number + 1, max(severity, worst))
    return result


_AT = re.compile(r":\d+(?=:|$)")


def _unnumbered(name: str, path: str) -> str:
    """An object without the line of its file, by which some are called."""
    return path + _AT.sub("", name[len(path) :], count=1) if name.startswith(f"{path}:") else name


class Undecided(NamedTuple):
    """A check that could not be decided, and the inputs it waits for."""

    rule: str
    object: str
    span: Span
    missing: tuple[str, ...]
