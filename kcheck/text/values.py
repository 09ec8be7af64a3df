"""Values: known, unset or unknown, and where each was written.

A value is Known, Unset (absent, with the place where it would be written) or Unknown (with a reason). Each carries its
Origin, so that a finding can point at, and a fix can change, the right bytes. Large trees have millions of them:
`gc=False` saves 16 bytes each, and the search for cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text.text import Span

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V", bound="Known[object] | Unset | Unknown")

Data: TypeAlias = "str | int | bool | list[Data] | dict[str, Data]"
"""A value as a fix writes it: a single one, a list, or a map."""


class Missing(Struct, frozen=True, gc=False):
    """Where an absent value would be written.

    `container`: existing block or mapping. `path`: missing names below it: nested blocks or mappings, and last the
    attribute. An empty path is for a part of a default that can only be written as a whole.
    """

    container: Span
    path: tuple[str, ...]

    def below(self, name: str) -> Missing:
        """Return where an attribute of the absent value would be written."""
        return Missing(self.container, (*self.path, name))


class Origin(Struct, frozen=True, gc=False):
    """Origin of a value: a chain of spans from where it is written to its last use.

    `literal`: whether the first span is a literal that can be replaced. `missing`: where an absent value with a default
    would be written; its span is that of its container. `why`: why only a person can write there, though the place is
    known. `within`: keys inside the span, if the value is a part of something larger.
    """

    spans: tuple[Span, ...]
    literal: bool = False
    missing: Missing | None = None
    why: str = ""
    within: tuple[str, ...] = ()

    @property
    def written(self) -> Span:
        """Where the value is written, or would be."""
        return self.spans[0]

    @property
    def path(self) -> tuple[str, ...]:
        """Keys of the value, from the outermost block or map to its own name.

        In HCL ('resource "azurerm_kubernetes_cluster" "main"', "sku_tier"), for a flag (..., "args", "--expander").
        """
        if not self.spans:
            return ()
        if self.missing is None:
            return (*self.written.keys, *self.within)
        return (*self.missing.container.keys, *self.missing.path)

    def used(self, span: Span) -> Origin:
        """Add a reference at `span`; leave out references in skeletons."""
        if span.source.bundled or span in self.spans:
            return self
        return replace(self, spans=(*self.spans, span))

    def below(self, name: str) -> Origin:
        """Return where a missing attribute of the object would be written."""
        if not self.spans or (self.missing and not self.missing.path):
            return self
        missing = self.missing or Missing(self.written, ())
        return Origin((self.written,), missing=missing.below(name), why=self.why)

    def outside(self, place: Span | None) -> Origin:
        """Remove the spans of skeletons; a value written only in skeletons gets `place`."""
        if not self.spans or not self.spans[0].source.bundled:
            return self
        spans = tuple(span for span in self.spans if not span.source.bundled)
        missing = self.missing if self.missing and not self.missing.container.source.bundled else None
        return Origin(spans or ((place,) if place else ()), missing=missing)


class Overlaid(Origin, frozen=True, gc=False, kw_only=True):
    """An origin that others may share; `own` is for an overlay."""

    own: Missing


class Symbol(NamedTuple):
    """Identity of a resource's attribute whose value only the cloud knows."""

    address: str
    attribute: str

    def element(self, key: Datum) -> Symbol:
        """Return the identity of an element of it; the attribute is "?" if unknown."""
        if not isinstance(key, Known) or self.attribute == "?":
            return Symbol(self.address, "?")
        step = f'["{key.value}"]' if isinstance(key.value, str) else f"[{key.value}]"
        return Symbol(self.address, self.attribute + step) if self.attribute else Symbol(self.address + step, "")


class Known(Struct, Generic[T_co], gc=False):
    """A value determined by the code."""

    value: T_co
    origin: Origin


class Unset(Struct, frozen=True, eq=False, gc=False):
    """An absent value without a known default, and where it would be.

    A workload has 57, most of them never looked at: one takes 56 bytes plus shared parts, 400 with its origin.
    """

    at: Origin | Span
    container: Span | None = None
    path: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """Place where it would be written."""
        if isinstance(self.at, Span):
            return Origin((self.at,), missing=Missing(self.container or self.at, self.path))
        return self.at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unset) and self.origin == other.origin

    def __hash__(self) -> int:
        return hash(self.origin)


NOTHING = Unset(Origin(()))
"""Value of a field that the cloud does not have."""


class Unknown(Struct):
    """A value not determined by the code. `reason` names the missing input.

    `symbol` keeps the identity of a value that only exists after apply, so that links can be followed. `cause` is the
    missing input alone if the reason says more. `between` are the known bounds of a number.
    """

    reason: str
    origin: Origin | None = None
    symbol: Symbol | None = None
    cause: str = ""
    between: tuple[int, int | None] | None = None


class Encoded(Known[str], kw_only=True):
    """Output of `jsonencode` or `yamlencode`; `datum` is the encoded value."""

    datum: Datum


class Unencoded(Unknown, kw_only=True):
    """Output of `jsonencode` or `yamlencode` of a partly unknown `datum`."""

    datum: Datum


class Subnetwork(Known[str], kw_only=True):
    """A range from `cidrsubnet`; `newbits` is the number of bits added to the prefix."""

    newbits: Known[int]


class Unplaced(Unknown, kw_only=True):
    """A range with an unknown address; `length` is its prefix length."""

    length: int


class Piece(Struct, frozen=True):
    """A piece of a template's text: literal, or filled in from `datum`."""

    text: str
    span: Span
    datum: Datum | None = None


class Rendered(Known[str], kw_only=True):
    """Text from a template, with its pieces."""

    pieces: tuple[Piece, ...]


class Unrendered(Unknown, kw_only=True):
    """Text from a template with unknown parts, so that the text is unknown."""

    pieces: tuple[Piece, ...]


def with_origin(value: V, origin: Origin) -> V:
    """Return a value with another origin."""
    return cast("V", Unset(origin) if isinstance(value, Unset) else replace(value, origin=origin))


def pieces_of(value: Value[object]) -> tuple[Piece, ...]:
    """Return the pieces of a text from a template; none for other values."""
    return value.pieces if isinstance(value, Rendered | Unrendered) else ()


class Either(Unknown, kw_only=True):
    """A value that is one of its branches."""

    branches: tuple[Datum, ...]


class Partial(Unknown, kw_only=True):
    """A partly known collection: `part` is in it, any of `rest` may be.

    Both are of one type. A keyed entry of `rest` is there or not.
    """

    part: Elements
    rest: Elements

    def elements(self) -> Iterator[Datum]:
        """Yield the certain elements, then the possible ones."""
        for some in (self.part, self.rest):
            yield from some.values() if isinstance(some, dict) else some


class AtLeast(Unknown, kw_only=True):
    """A map or list with this `part`, to which unread code may add."""

    part: Elements | None


def candidates(value: Value[T]) -> tuple[Known[T], ...]:
    """Return the value, or its candidates if all are known; empty otherwise."""
    if isinstance(value, Known):
        return (value,)
    if not isinstance(value, Either):
        return ()
    found = [candidates(branch) for branch in value.branches]
    flat = tuple(cast("Known[T]", one) for branch in found for one in branch)
    return flat if all(found) else ()


class Joined(Unknown, kw_only=True):
    """Result of a `join` with unknown parts."""

    separator: str
    parts: tuple[Datum, ...]


class Answer(Unknown, kw_only=True):
    """Result of a data source; `echo` has its query arguments."""

    echo: Callable[[str], Datum | None]


class Secret(Unknown, kw_only=True):
    """A sensitive value: it is never read or printed."""

    datum: Datum

    def __repr__(self) -> str:
        return f"Secret({self.reason!r})"


def concealed(value: Datum, reason: str, symbol: Symbol | None = None) -> Datum:
    """Wrap a value as a secret; unknown values stay unknown."""
    return value if isinstance(value, Unknown) else Secret(reason, value.origin, symbol, datum=value)


def encoded(value: Value[object]) -> Datum | None:
    """Return the encoded value of a text from `jsonencode` or `yamlencode`; else None."""
    return value.datum if isinstance(value, Encoded | Unencoded) else None


Value: TypeAlias = Known[T_co] | Unset | Unknown
"""A field of the model: of a cluster, a pool, a workload."""

DatumValue: TypeAlias = "bool | int | float | Fraction | str | Elements | Named | Record | None"
"""Result of an expression: tuple for a tuple, list or set, dict for a map or object (see `data_types`)."""

Datum: TypeAlias = Known[DatumValue] | Unknown
"""Result of evaluating an expression, with its origin."""


class UnknownKey(Struct, frozen=True, eq=False):
    """A map key known only after apply; equal names are the same key."""

    name: str
    datum: Unknown

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownKey) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


Key: TypeAlias = "str | UnknownKey"
"""Key of a map or object; sort by `str`."""

Elements: TypeAlias = tuple[Datum, ...] | dict[Key, Datum]
"""Elements of a collection."""


class Named(Protocol):
    """Something with attributes that are evaluated lazily: `var`, `local`, a resource."""

    def attribute(self, name: str) -> Datum:
        """Return the attribute's value, or raise EvaluationError."""


class Record(Protocol):
    """Something with attributes and nested blocks."""

    @property
    def span(self) -> Span:
        """Where it is written."""

    def entry(self, name: str) -> Datum | None:
        """Return the value of an attribute; None if it is not set."""

    def blocks(self, kind: str) -> Blocks:
        """Return the nested blocks of one type."""

    def names(self) -> Iterable[str]:
        """Return the names of its attributes and the types of its nested blocks."""

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return the origin of an unset value below this record."""


Blocks: TypeAlias = Known[tuple[Record, ...]] | Unknown
"""Nested blocks of one type."""


def parts(value: object) -> Iterable[Datum]:
    """Return the elements of a collection; none for other values."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()


def known(value: Value[T]) -> T | None:
    """Return the value; None if it is unknown or unset."""
    return None if type(value) is Unset else value.value if isinstance(value, Known) else None


def sure(value: Value[T]) -> T | None:
    """Return the value, or its known part; None if it is unknown."""
    return cast("T", value.part) if type(value) is AtLeast else known(value)


def first_set(*values: Value[T]) -> Value[T]:
    """Return the first value that is set; the last one if none is."""
    return next((value for value in values if type(value) is not Unset), values[-1])


def number(value: Value[int], default: int) -> int:
    """Return the number, or a default if it is unknown."""
    return value.value if isinstance(value, Known) else default


def equals(value: Value[str], text: str) -> bool:
    """Whether the value is known to be this text."""
    return isinstance(value, Known) and value.value == text


def reason_of(value: Value[object]) -> str:
    """Return why a needed value is missing."""
    if isinstance(value, Unknown):
        return value.reason
    if isinstance(value, Unset) and not value.origin.spans:
        return "the cloud has no such setting"
    origin = value.origin
    missing = origin.missing if isinstance(value, Unset) else None
    if missing is not None and missing.path:
        return f"`{'.'.join(missing.path)}` is not set{_at(missing.container)}"
    name = f"`{origin.path[-1]}`" if origin.path else "a value"
    return f"{name} is null{_at(origin.written) if origin.spans else ''}"


def cause_of(value: Value[object]) -> str:
    """Return the root cause of a missing value: the missing input."""
    return (value.cause if isinstance(value, Unknown) else "") or reason_of(value)


def because(missing: Value[object], origin: Origin | None = None, text: str = "") -> Unknown:
    """Return an unknown value; `text` says what follows from the missing one."""
    reason, cause = reason_of(missing), cause_of(missing)
    reason = f"{text}: {reason}" if text else reason
    return Unknown(reason, origin, cause="" if cause == reason else cause)


def _at(span: Span) -> str:
    """Format a span; empty outside the user's code."""
    return "" if span.source.bundled or span.source.private else f" in {span.location}"


def mapped(value: Value[T], change: Callable[[T], R]) -> Value[R]:
    """Apply a function to a known value or to each candidate; other values stay."""
    if type(value) is Unset:
        return value
    if type(value) is Either:
        options: tuple[Known[T], ...] = candidates(value)
        if not options or any(one.value is None for one in options):
            return bare(value)
        return agreed(value, [Known(change(one.value), one.origin) for one in options])
    if isinstance(value, Known):
        return Known(change(value.value), value.origin)
    return bare(value) if isinstance(value, Unknown) and value.between else value


def bare(value: Unknown) -> Unknown:
    """Return an unknown value without its candidates and bounds."""
    return Unknown(value.reason, value.origin, value.symbol, value.cause)


def agreed(choice: Either, branches: list[Any]) -> Known[Any] | Unknown:
    """Return the common value of branches, else a choice of them."""
    if not all(isinstance(branch, Known) for branch in branches):
        return bare(choice)
    if branches and all(branch.value == branches[0].value for branch in branches):
        return Known(branches[0].value, Origin((choice.origin or branches[0].origin).spans))
    return Either(choice.reason, choice.origin, choice.symbol, branches=tuple(branches))
