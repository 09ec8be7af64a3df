"""Findings, and the changes that fix them; without syntax or edits."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct

from kcheck.text.files.tree import MANIFESTS
from kcheck.text.keys import Item
from kcheck.text.regex import regex
from kcheck.text.text import Span
from kcheck.text.units import data_text
from kcheck.text.values import Data, Missing, Origin, Unknown, Unset, cause_of, reason_of


class Severity(IntEnum):
    """Severity: error breaks at scale, warning is slow, info is worth knowing."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """Severity as findings print it."""
        return self.name.lower()


SAFETIES = ("safe", "costs", "unsafe")
"""safe: nothing is replaced, evicted sooner or dearer. costs: bill or behaviour changes. unsafe: the rest."""


class Change(Struct, frozen=True):
    """A new value for a place in the code, or with `append` a new item.

    `name` is the field of the object with the id `owner`, whose kind is `subject`.
    """

    origin: Origin
    name: str
    value: Data
    subject: str = ""
    owner: str = ""
    append: bool = False

    @property
    def place(self) -> Span | Missing:
        """Where it is written, or would be; equal for shared values."""
        return self.origin.missing or self.origin.written

    @property
    def key(self) -> str:
        """Name in the code: an attribute, a key or a flag; else kcheck's own word."""
        own = self.origin.missing.path if self.origin.missing else ()
        last = last_key(own) if _PARTS.isdisjoint(own) else ""  # else the keys above it, from its file, count
        return last or last_key(self.origin.path) or (self.subject if self.name == "text" else self.name)

    @property
    def instruction(self) -> str:
        """The change as an instruction: `set sku_tier = "Standard"`."""
        missing, written = self.origin.missing, self.origin.written
        if self.append:
            return f"add {data_text(self.value)} to {self.key}"
        path = missing.path if missing is not None else ()
        name = next((step for step in path if isinstance(step, Item)), path[-1]) if path else self.key
        source = (missing.container if missing is not None else written).source
        text = data_text(self.value)
        where = f" in {self.origin.path[0]}" if missing is None and name == "default" else ""
        if written.source.path.startswith("--"):  # an argument of kcheck
            assignment = f"{written.source.path}={text}"
        elif name.startswith("-"):
            assignment = f"{name}={text}"
        elif source.path.endswith(MANIFESTS):
            assignment = f"{'.'.join(path) or name}: {text}"
        elif "-" in name or isinstance(self.value, list | dict):  # a key of YAML in a text
            assignment = f"{name}: {text}"
        else:
            quoted = isinstance(self.value, str) and (not self.origin.literal or written.text.startswith(('"', "null")))
            assignment = f'{name} = "{text}"' if quoted else f"{name} = {text}"
        return f"{'add' if path else 'set'} {assignment}{where}"


_PARTS = frozenset({"value", "name", "repository", "registry", "tag", "newName", "newTag", "enabled"})
"""Keys that say little without the one above them."""


def last_key(path: tuple[str, ...]) -> str:
    """Return the name of the value at a path of keys: `cidrs[0]`."""
    keys, index = list(path), ""
    while keys and keys[-1].startswith("["):
        index = keys.pop() + index
    if not keys or keys[-1].endswith('"'):  # the place is a whole block, such as module "eks"
        return ""
    above = keys[-2] if len(keys) > 1 and keys[-1] in _PARTS and not keys[-2].startswith("[") else ""
    return f"{above}.{keys[-1]}{index}" if above else f"{keys[-1]}{index}"


class Fix(Struct, frozen=True):
    """Changes that together fix a finding."""

    safety: str
    changes: tuple[Change, ...]
    title: str


class Related(Struct, frozen=True):
    """Another span that a finding concerns, with a note or a `value`."""

    span: Span
    note: str
    value: Origin | None = None

    @property
    def message(self) -> str:
        """The note, or the name of the value in the code, found by parsing."""
        if self.value is None:
            return self.note
        name, missing = last_key(self.value.path) or self.note, self.value.missing
        return f"{name} is not set" if missing is not None and missing.path else name


Identity = tuple[str, str, str, str]
"""Identity of a finding across runs: rule, file, object, and the problem if it is about the file itself."""

_DIGITS = regex(r"\d+(?:[,._]\d+)*")


def unnumbered(text: str) -> str:
    """Replace the numbers in a text by #."""
    return _DIGITS.sub("#", text)


class Finding(Struct, frozen=True):
    """A problem in the code: headline, and details below it.

    `anchors`: spans where a comment can suppress it. `help`: instructions for a person, one per line, if kcheck cannot
    change the value. `also`: other objects with the same place or cause. `about`: distinguishes findings on a whole
    file. `parts`: findings that were merged into it. `small`: its size is known and below the thresholds of its rule,
    which is no reason to change shared values.
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
    about: str = ""
    parts: tuple[Finding, ...] = ()
    small: bool = False
    details: tuple[str, ...] = ()

    @property
    def objects(self) -> set[str]:
        """All objects with this finding at this place."""
        return {self.object, *self.also}

    @property
    def keys(self) -> set[tuple[str, str]]:
        """Pairs of the rule and each object."""
        return {(self.rule, name) for name in self.objects}

    @property
    def identities(self) -> frozenset[Identity]:
        """Identities across runs, one per object."""
        if self.parts:
            return frozenset().union(*(part.identities for part in self.parts))
        path = self.span.source.path
        return frozenset((self.rule, path, _unnumbered(name, path), unnumbered(self.about)) for name in self.objects)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes that fix it; none without a fix."""
        return self.fix.changes if self.fix is not None else ()

    @property
    def key(self) -> tuple[str, int, int, str, str]:
        """Sort key of reports: path, place, rule."""
        return (self.span.source.path, self.span.start, self.span.end, self.rule, self.object)


Severities = dict[Identity, list[Severity]]
"""Severities of all findings with an identity."""


def severities_of(found: Iterable[tuple[Identity, Severity]]) -> Severities:
    """Group severities by the identities of their findings."""
    result: Severities = {}
    for identity, severity in found:
        result.setdefault(identity, []).append(severity)
    return result


_AT = regex(r":\d+(?=:|$)")


def _unnumbered(name: str, path: str) -> str:
    """Remove the line number from an object's name, if the name is a line of the file."""
    return path + _AT.sub("", name[len(path) :], count=1) if name.startswith(f"{path}:") else name


class UnknownInput(Struct, frozen=True):
    """Reason why a check's input is unknown, equal for all checks that need it.

    `cause` is the missing input alone; `place` is where the code uses it, if known.
    """

    reason: str
    cause: str
    place: Span | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownInput) and self.reason == other.reason

    def __hash__(self) -> int:
        return hash(self.reason)


def unknown_input(value: Unset | Unknown) -> UnknownInput:
    """Return the input that a value waits for, without places in bundled code."""
    origin = value.origin.outside(None) if value.origin else None
    return UnknownInput(reason_of(value), cause_of(value), origin.written if origin and origin.spans else None)


class Undecided(Struct, frozen=True):
    """An undecided check, and the inputs it waits for."""

    rule: str
    object: str
    span: Span
    inputs: tuple[UnknownInput, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Reasons why the inputs are unknown."""
        return tuple(one.reason for one in self.inputs)
