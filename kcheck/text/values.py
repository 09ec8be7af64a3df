"""Values: known, unset or unknown, and where each was written.

A value is Known, Unset (absent, with the place where it would be written) or Unknown (with a reason).
Each carries its Origin, so that a finding can point at, and a fix can change, the right bytes.
Large trees have millions of them: `gc=False` saves 16 bytes each, and none is looked for in cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast, overload

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction

    from kcheck.text.text import Span

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V", bound="Known[Any] | Unset | Unknown")

Data: TypeAlias = "str | int | bool | list[Data] | dict[str, Data]"
"""A value as a fix writes it: a single one, a list, or a map."""


class Missing(Struct, frozen=True, gc=False):
    """Where an absent value would be written.

    `container` is the block or mapping that exists; `path` the names below it that do not, the last one the
    attribute, those before it nested blocks or mappings. An empty path belongs to a part of a default that can only be
    written as a whole.
    """

    container: Span
    path: tuple[str, ...]

    def below(self, name: str) -> Missing:
        """Where an attribute of the absent value would be written."""
        return Missing(self.container, (*self.path, name))


class Origin(Struct, frozen=True, gc=False):
    """Origin of a value: a chain of spans from where it is written to its last use.

    `literal` says that the first span is a literal that can be replaced by another one. A value that is absent
    and takes a default has `missing`, and the span of its container. `why` says why only a person can write
    something there, though the place is known. Where that is of something larger only, `within` has the keys below it.
    """

    spans: tuple[Span, ...]
    literal: bool = False
    missing: Missing | None = None
    why: str = ""
    within: tuple[str, ...] = ()

    @property
    def written(self) -> Span:
        """The place where the value is written, or would be."""
        return self.spans[0]

    @property
    def path(self) -> tuple[str, ...]:
        """The keys of the value, from the outermost block or map to its own name.

        In HCL ('resource "azurerm_kubernetes_cluster" "main"', "sku_tier"), of a flag (..., "args", "--expander").
        """
        if not self.spans:
            return ()
        if self.missing is None:
            return (*self.written.keys, *self.within)
        return (*self.missing.container.keys, *self.missing.path)

    def used(self, span: Span) -> Origin:
        """The origin after a reference at `span`; references in skeletons are left out."""
        if span.source.bundled or span in self.spans:
            return self
        return replace(self, spans=(*self.spans, span))

    def below(self, name: str) -> Origin:
        """Where an attribute would be written that the object with this origin lacks."""
        if not self.spans or (self.missing and not self.missing.path):
            return self
        missing = self.missing or Missing(self.written, ())
        return Origin((self.written,), missing=missing.below(name))

    def outside(self, place: Span | None) -> Origin:
        """The origin without spans of skeletons; a value written only there gets `place`."""
        if not self.spans or not self.spans[0].source.bundled:
            return self
        spans = tuple(span for span in self.spans if not span.source.bundled)
        missing = self.missing if self.missing and not self.missing.container.source.bundled else None
        return Origin(spans or ((place,) if place else ()), missing=missing)


class Overlaid(Origin, frozen=True, gc=False, kw_only=True):
    """An origin that others may share; `own` is where an overlay would have a value of its own instead."""

    own: Missing


class Symbol(NamedTuple):
    """An attribute of a resource that only the cloud knows: its identity is known, its value is not."""

    address: str
    attribute: str

    def element(self, key: Datum) -> Symbol:
        """The identity of an element of it; the attribute is "?" if unknown."""
        if not isinstance(key, Known) or self.attribute == "?":
            return Symbol(self.address, "?")
        step = f'["{key.value}"]' if isinstance(key.value, str) else f"[{key.value}]"
        return Symbol(self.address, self.attribute + step) if self.attribute else Symbol(self.address + step, "")


class Known(Struct, Generic[T_co], gc=False):
    """A value that follows from the code."""

    value: T_co
    origin: Origin


class Unset(Struct, frozen=True, eq=False, gc=False):
    """A value that is absent and for which no default is known: its origin, or where it would be written.

    A workload has 57, most of them never looked at: one takes 56 bytes beside shared parts, with its origin 400.
    """

    at: Origin | Span
    container: Span | None = None
    path: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """Where it would be written."""
        if isinstance(self.at, Origin):
            return self.at
        return Origin((self.at,), missing=Missing(self.container or self.at, self.path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unset) and self.origin == other.origin

    def __hash__(self) -> int:
        return hash(self.origin)


class Unknown(Struct):
    """A value that does not follow from the code. `reason` names the missing input.

    `symbol` keeps the identity of a value that only exists after apply, so that links can be followed.
    """

    reason: str
    origin: Origin | None = None
    symbol: Symbol | None = None


class Encoded(str):
    """Output of `jsonencode` or `yamlencode`; `datum` is the encoded value."""

    __slots__ = ("datum",)
    datum: Known[DatumValue]


class Unencoded(Unknown):
    """Output of `jsonencode` or `yamlencode` of a partly unknown `datum`."""

    datum: Datum | None = None


class Subnetwork(str):
    """A range from `cidrsubnet`; `newbits` is how much longer its prefix is."""

    __slots__ = ("newbits",)
    newbits: Known[int]


class Piece(NamedTuple):
    """A piece of a template's text: literal at `span`, or filled in there from `datum`."""

    text: str
    span: Span
    datum: Datum | None = None


class Rendered(str):
    """Text that a template made, with its parts."""

    __slots__ = ("pieces",)
    pieces: tuple[Piece, ...]


class Unrendered(Unknown):
    """Text of a template with unknown parts, which have no text."""

    pieces: tuple[Piece, ...] = ()


def with_origin(value: V, origin: Origin) -> V:
    """The same value from another place."""
    return cast("V", Unset(origin) if isinstance(value, Unset) else replace(value, origin=origin))


def pieces_of(value: Value[object]) -> tuple[Piece, ...]:
    """The parts of a text that a template made; none of another."""
    if isinstance(value, Unrendered):
        return value.pieces
    return value.value.pieces if isinstance(value, Known) and isinstance(value.value, Rendered) else ()


class Either(Unknown, kw_only=True):
    """A value that is one of its branches: the condition is unknown, or the cloud chooses."""

    branches: tuple[Datum, ...]


class Partial(Unknown, kw_only=True):
    """A partly known collection: `part` is in it, and any number like each of `rest`.

    Both are of one type. An entry of `rest` with a key of its own is there or not.
    """

    part: tuple[Datum, ...] | dict[str, Datum]
    rest: tuple[Datum, ...] | dict[str, Datum]

    def elements(self) -> Iterator[Datum]:
        """The certain elements, then the possible ones."""
        for some in (self.part, self.rest):
            yield from some.values() if isinstance(some, dict) else some


class AtLeast(Unknown, kw_only=True):
    """A value to which something that is not read may add: a map or a list with this `part`."""

    part: Any


def candidates(value: Value[T]) -> tuple[Known[T], ...]:
    """The value, or its candidates if all are known; empty otherwise."""
    if isinstance(value, Known):
        return (value,)
    if not isinstance(value, Either):
        return ()
    found = [candidates(branch) for branch in value.branches]
    flat = tuple(cast("Known[T]", one) for branch in found for one in branch)
    return flat if all(found) else ()


class Joined(Unknown, kw_only=True):
    """Text that `join` could not make because some of its parts are unknown."""

    separator: str
    parts: tuple[Datum, ...]


class Answer(Unknown, kw_only=True):
    """The result of a data source; `echo` has the attributes of its query."""

    echo: Callable[[str], Datum | None]


class Secret(Unknown, kw_only=True):
    """A value marked as sensitive: it is never read or printed."""

    datum: Datum

    def __repr__(self) -> str:
        return f"Secret({self.reason!r})"


def concealed(value: Datum, reason: str, symbol: Symbol | None = None) -> Datum:
    """The value as a secret; unknown values stay unknown."""
    return value if isinstance(value, Unknown) else Secret(reason, value.origin, symbol, datum=value)


def encoded(value: Value[object]) -> Datum | None:
    """The encoded value of a text from `jsonencode` or `yamlencode`; else None."""
    if isinstance(value, Unencoded):
        return value.datum
    return value.value.datum if isinstance(value, Known) and isinstance(value.value, Encoded) else None


Value: TypeAlias = Known[T_co] | Unset | Unknown
"""What the model holds: one field of a cluster, a pool, a workload."""

DatumValue: TypeAlias = (
    "bool | int | float | Fraction | str | tuple[Datum, ...] | dict[str, Datum] | Named | Record | None"
)
"""What an expression may give: a tuple is a tuple, list or set, a dict a map or an object (see `data_types`)."""

Datum: TypeAlias = "Known[DatumValue] | Unknown"
"""What evaluating an expression gives."""


class Named(Protocol):
    """Something with attributes that are evaluated lazily: `var`, `local`, a resource."""

    def attribute(self, name: str) -> Datum:
        """The attribute's value.

        Raises:
            EvaluationError: there is no such attribute.
        """


class Record(Protocol):
    """Something with attributes and nested blocks: a resource, a nested block, an object in a list."""

    @property
    def span(self) -> Span:
        """Where it is written."""

    def entry(self, name: str) -> Datum | None:
        """The value of an attribute, or None if it is not set."""

    def blocks(self, kind: str) -> tuple[Record, ...] | Unknown:
        """The nested blocks of one type."""

    def names(self) -> Iterable[str]:
        """The names of its attributes and the types of its nested blocks."""

    def absent(self, path: tuple[str, ...]) -> Origin:
        """The origin of something that is not set below this record."""


def known(value: Value[T]) -> T | None:
    """The value, or None if it is unknown."""
    return value.value if isinstance(value, Known) else None


def sure(value: Value[T]) -> T | None:
    """The value, or the part of it that is known; None if it is unknown."""
    return cast("T", value.part) if isinstance(value, AtLeast) else known(value)


def number(value: Value[int], default: int) -> int:
    """The number, or a default if it is unknown."""
    return value.value if isinstance(value, Known) else default


def equals(value: Value[str], text: str) -> bool:
    """Whether the value is known to be this text."""
    return isinstance(value, Known) and value.value == text


def reason_of(value: Value[object]) -> str:
    """Why a needed value is missing."""
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


def _at(span: Span) -> str:
    """The place as text; empty outside the code of the user."""
    source = span.source
    return "" if source.bundled or source.private else f" in {source.path}:{span.begin.line}"


def unknown_of(*values: Value[object]) -> Unknown | None:
    """The reason of the first missing value; None if all are known."""
    missing = next((value for value in values if not isinstance(value, Known)), None)
    return None if missing is None else Unknown(reason_of(missing), missing.origin)


def all_known(values: Iterable[Value[T]]) -> list[T] | Unknown:
    """The values, or the reason of the first unknown one."""
    found = list(values)
    return unknown_of(*found) or [value.value for value in found if isinstance(value, Known)]


def total(values: Iterable[Value[int]]) -> int | Unknown:
    """The sum of some numbers, or the reason of an unknown one."""
    found = all_known(values)
    return found if isinstance(found, Unknown) else sum(found)


def mapped(value: Value[T], change: Callable[[T], R]) -> Value[R]:
    """A known value, or each candidate, changed by a function; others unchanged."""
    if type(value) is Either:
        options: tuple[Known[T], ...] = candidates(value)
        if not options or any(one.value is None for one in options):
            return Unknown(value.reason, value.origin, value.symbol)
        return agreed(value, [Known(change(one.value), one.origin) for one in options])
    return Known(change(value.value), value.origin) if isinstance(value, Known) else value


def agreed(choice: Either, branches: list[Any]) -> Known[Any] | Unknown:
    """The common value of branches, else a choice of them; unknown if one is unknown."""
    if not all(isinstance(branch, Known) for branch in branches):
        return Unknown(choice.reason, choice.origin, choice.symbol)
    if branches and all(branch.value == branches[0].value for branch in branches):
        spans = (choice.origin or branches[0].origin).spans
        return Known(branches[0].value, Origin(spans))
    return Either(choice.reason, choice.origin, choice.symbol, branches=tuple(branches))


@overload
def combined(function: Callable[[A, B], R], a: Value[A], b: Value[B], /) -> R | Unknown: ...
@overload
def combined(function: Callable[[A, B, C], R], a: Value[A], b: Value[B], c: Value[C], /) -> R | Unknown: ...
@overload
def combined(
    function: Callable[[A, B, C, D], R], a: Value[A], b: Value[B], c: Value[C], d: Value[D], /
) -> R | Unknown: ...
def combined(function: Callable[..., R], *values: Value[object]) -> R | Unknown:
    """The function's result for known values, or the reason of the first unknown one."""
    found = all_known(values)
    return found if isinstance(found, Unknown) else function(*found)


def plain(datum: Value[object]) -> Any:
    """The value as plain Python data.

    Raises:
        ValueError: part of it is unknown; the message is the reason.
    """
    if isinstance(datum, Unset):
        return None
    if isinstance(datum, Unknown):
        raise ValueError(datum.reason)
    if isinstance(value := datum.value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value
