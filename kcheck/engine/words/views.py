"""Plain data of a subject for CEL, with reasons and origins.

Unknown fields are absent from a view, unset ones are null. Records of other subjects hold only plain fields, or those
that are wanted, so a view is finite and has no cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import TypeAlias, cast

from msgspec import Struct

from kcheck.engine.words.subjects import things, words
from kcheck.engine.words.tables.field import Field
from kcheck.model import Thing
from kcheck.scale.world import World
from kcheck.text.amount import Amount
from kcheck.text.findings import UnknownInput, unknown_input
from kcheck.text.ip_ranges import prefix_of
from kcheck.text.partly_known import MOST_CHOICES
from kcheck.text.syntax.cel import Expression
from kcheck.text.syntax.cel_tree import Usage
from kcheck.text.text import Span
from kcheck.text.values import Either, Known, Missing, Origin, Unknown, Unset, Value, candidates

ID = "_id"
_LARGEST = 10**15
_PYTHON: dict[str, type] = {"int": int, "string": str, "bool": bool}

Wanted: TypeAlias = "dict[str, Wanted]"
"""Fields that are read, each with those of the records it holds."""


@cache
def wanted(*expressions: Expression) -> Wanted:
    """Return the fields that expressions read."""
    return nested(path for expression in expressions for path in expression.used.paths)


def nested(paths: Iterable[str]) -> Wanted:
    """Convert paths of fields to a tree of fields."""
    result: Wanted = {}
    for path in paths:
        inner = result
        for step in path.replace("[]", "").split("."):
            inner = inner.setdefault(step, {})
    return result


class Choice(Struct, frozen=True):
    """Field with several possible values or bounds; `path` is its name."""

    path: str
    record: dict[str, object]
    name: str
    values: list[object]


class Target(Struct, frozen=True):
    """Field with its place in the code, its value, and its owner.

    `address` is the name of the record's object in the code; empty if it has none.
    """

    name: str
    origin: Origin
    value: object
    subject: str
    owner: str
    kind: str
    unit: str = ""
    address: str = ""


class View:
    """Plain data of one object; only the `fields` that are wanted, all if None.

    The shape of an `open` view is unknown to kcheck: errors of a condition there mean undecided.
    """

    open = False

    def __init__(self, subject: str, thing: Thing, world: World, fields: Wanted | None = None) -> None:
        self.subject = subject
        self.thing = thing
        self.world = world
        self.missing: dict[str, UnknownInput] = {}
        self.choices: list[Choice] = []
        self.partly: dict[str, Amount | str] = {}
        self.data: dict[str, object] = self._read(fields)

    def _read(self, fields: Wanted | None) -> dict[str, object]:
        self._things: list[tuple[str, object]] = []
        self._records: list[dict[str, object]] = []
        return self._record(self.subject, self.thing, self.subject, fields, nested=False)

    def _record(
        self, subject: str, thing: object, path: str, fields: Wanted | None, *, nested: bool
    ) -> dict[str, object]:
        """Read the fields of an object or a record."""
        result: dict[str, object] = {ID: len(self._things)}
        self._things.append((subject, thing))
        self._records.append(result)
        own = words(subject)
        for field in own.values() if fields is None else [own[name] for name in fields if name in own]:
            if fields is None and nested and field.kind in ("record", "records"):
                continue
            found = field.found(thing, self.world)
            one = found.value if type(found) is Known else found
            if type(one) is _PYTHON.get(field.type) and not (isinstance(one, int) and abs(one) > _LARGEST):
                result[field.name] = one  # as most are
                continue
            value = field.valued(found, thing)
            inner = None if fields is None else fields[field.name]
            where = f"{path}.{field.name}"
            if isinstance(value, list):
                result[field.name] = [self._record(field.type, item, where, inner, nested=True) for item in value]
            elif field.nullable and isinstance(value, Unset):
                result[field.name] = None
            elif not isinstance(value, Known) or _is_too_large(field, value.value):
                self._note_missing(field, value, where, result)
            elif field.kind == "record":
                result[field.name] = self._record(field.type, value.value, where, inner, nested=True)
            else:
                result[field.name] = self._checked(field, value.value, where)
        return result

    def _note_missing(self, field: Field, value: Value[object], where: str, record: dict[str, object]) -> None:
        """Record why a field is missing, and everything known of it.

        The reason of a computed word may be a model field; its candidates are not values of the word.
        A condition that holds at both bounds holds between them, as a bounded number is compared only once.
        """
        too_large = f"{field.name} is larger than any number of it can be"
        why = UnknownInput(too_large, too_large) if isinstance(value, Known) else unknown_input(value)
        self.missing.setdefault(where, why)
        if (prefix := prefix_of(value)) is not None:
            self.partly[where] = f"/{prefix}"
        if isinstance(value, Either) and field.direct:
            found: tuple[Known[object], ...] = candidates(value)
            options = [one.value for one in found]
            if any((one is None and not field.nullable) or _is_too_large(field, one) for one in options):
                return
            plain = [None if one is None else self._checked(field, one, where) for one in options]
            self.choices += [Choice(where, record, field.name, plain)] if plain else []
        elif isinstance(value, Unknown) and field.bounded and value.between and value.between[0] <= _LARGEST:
            self.partly[where] = ends = Amount(*value.between)
            high = _LARGEST if ends.high is None else min(ends.high, _LARGEST)
            self.choices.append(Choice(where, record, field.name, [ends.low, high]))

    def choose(self, usage: Usage) -> Iterator[None]:
        """Set the fields that an expression reads to each combination of candidates.

        Nothing is yielded if there are none, or more than MOST_CHOICES combinations.
        """
        wanted = [one for one in self.choices if one.path in usage.paths - usage.presence]
        if not wanted or prod(len(one.values) for one in wanted) > MOST_CHOICES:
            return
        try:
            for values in product(*(one.values for one in wanted)):
                for one, value in zip(wanted, values, strict=True):
                    one.record[one.name] = value
                yield
        finally:
            for one in wanted:
                del one.record[one.name]

    def _checked(self, field: Field, value: object, where: str) -> object:
        """Return a value if it has the type in the table."""
        if {*map(type, _items(field, value))} - {_PYTHON[field.type]}:
            raise TypeError(f"{where} is {value!r}, not {field.type}: a bug in the reader of {self.thing.id}")
        return list(_items(field, value)) if field.kind == "list" else value

    @property
    def numbered(self) -> dict[str, object]:
        """Return the data with a number in each record, by which places are found."""
        return self.data

    def hidden(self, usage: Usage) -> tuple[UnknownInput, ...]:  # noqa: ARG002 - for views in which absent may be unknown
        """List unknown values that an expression would treat as absent."""
        return ()

    def lacks(self, usage: Usage) -> tuple[UnknownInput, ...]:
        """List the reasons for the missing values of an undecided expression."""
        steps = (path.split(".") for path in sorted(usage.paths - usage.presence))
        outer = (".".join(path[: i + 1]) for path in steps for i in range(len(path)))  # a.b.c needs a.b
        return tuple(dict.fromkeys(self.missing[path] for path in outer if path in self.missing))

    def target(self, record: int, path: tuple[str, ...]) -> Target:
        """Return a field of a record; a computed field is placed at its object.

        Raises KeyError if the record's subject has no such field.
        """
        subject, thing = self._things[record]
        own = thing if isinstance(thing, Thing) else self.thing
        field = words(subject)[path[-1]]
        value = field.read(thing, self.world)
        origin = None if isinstance(value, list) else value.origin
        return Target(
            name=field.name, origin=origin if origin is not None and origin.spans else Origin((own.place,)),
            value=self._records[record].get(field.name), subject=subject, owner=own.id, kind=field.kind,
            unit=field.unit, address=getattr(thing, "address", ""),
        )  # fmt: skip

    def record(self, number: int) -> dict[str, object]:
        """Return the data of a record."""
        return self._records[number]


def _is_too_large(field: Field, value: object) -> bool:
    """Whether a number is implausibly large, or out of CEL's range."""
    if type(value) is int:
        return abs(value) > _LARGEST
    return field.type == "int" and any(type(item) is int and abs(item) > _LARGEST for item in _items(field, value))


def _items(field: Field, value: object) -> Iterable[object]:
    """Return the values of a list or a map, or the scalar itself."""
    if field.kind == "map" and isinstance(value, Mapping):
        return value.values()
    return cast("Iterable[object]", value) if field.kind == "list" else (value,)


def users(subject: str, name: str, world: World) -> Iterator[tuple[Span | Missing, str]]:
    """Yield where a field of a subject's objects is or would be written."""
    field = words(subject)[name]
    for thing in things(subject, world):
        value = field.read(thing, world)
        origin = None if isinstance(value, list) else value.origin
        if origin is not None and origin.spans and (origin.literal or origin.missing or field.kind == "list"):
            yield origin.missing or origin.written, thing.id
