"""Read the fields of a resource by the table of its cloud."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeGuard, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers import names, profiles
from kcheck.text import scalars
from kcheck.text.ip_ranges import is_ipv6
from kcheck.text.partly_known import choices, distinct, plain
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.units import seconds
from kcheck.text.values import (
    NOTHING,
    Datum,
    Either,
    Known,
    Origin,
    Subnetwork,
    Unknown,
    Unset,
    Value,
    agreed,
    bare,
    candidates,
    known,
    mapped,
    with_origin,
)
from kcheck.text.versions import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.config.numbers.profiles import FieldEntry
    from kcheck.text.values import DatumValue, Record
    from kcheck.text.versions import Range


T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", bound=Struct)

_LARGEST = 10**9
_MODEL_TYPES: dict[object, type[object]] = {
    "Value[str]": str, "Value[int]": int, "Value[bool]": bool, "Value[tuple[str, ...]]": tuple,
    "Value[dict[str, str]]": dict,
}  # fmt: skip
"""Type to read for a field of the model, by annotation."""


@cache
def _types(model: type[Struct]) -> dict[str, type[object] | None]:
    """Return the types to read for the fields of a class."""
    plain = {name: _MEANING.sub("", text) for name, text in model.__annotations__.items()}
    return {name: _MODEL_TYPES.get(text) for name, text in plain.items()}


_MEANING = regex(r"^Annotated\[|, ['\"].*")


class _Path(Struct, frozen=True):
    """The path of a field: nested blocks, an attribute, and whether to take one item."""

    outer: tuple[str, ...]
    written: str
    name: str
    first: bool


@cache
def _paths(text: str) -> tuple[_Path, ...]:
    """Parse the alternative paths of a field, separated by ` | `."""
    result = []
    for path in text.split(" | "):
        *outer, last = path.split(".")
        result.append(_Path(tuple(outer), last, last.removesuffix("[0]"), last.endswith("[0]")))
    return tuple(result)


class Fields:
    """Fields of a record, read on demand; NOTHING where its resource has none."""

    def __init__(
        self,
        cloud: str,
        resource: str,
        record: Record,
        pins: Mapping[str, Range] = MappingProxyType({}),
        ignored: Value[tuple[str, ...]] = NOTHING,
    ) -> None:
        """Read `record`; changes of the `ignored` paths have no effect."""
        self.ignored = ignored
        self.resource = resource
        self.record = record
        self._cloud = cloud
        self._provider = resource.partition("_")[0]
        self._pin = pins.get(self._provider, ANY)
        self._table = profiles.table(cloud)[resource]
        self._settings = profiles.settings(cloud)

    def has(self, name: str) -> bool:
        """Whether the resource has a field."""
        return name in self._table

    def text(self, name: str) -> Value[str]:
        """Read a text."""
        return self._checked(name, str)

    def number(self, name: str) -> Value[int]:
        """Read a whole number, also of seconds or bytes."""
        return self._checked(name, int)

    def flag(self, name: str) -> Value[bool]:
        """Read a boolean."""
        return self._checked(name, bool)

    def texts(self, name: str) -> Value[tuple[str, ...]]:
        """Read a list of texts."""
        return self._checked(name, tuple)

    def count(self, name: str) -> Value[int]:
        """Count the distinct elements of a list; some may be unknown."""
        datum = self.raw(name)
        lists = datum.branches if type(datum) is Either else (datum,)
        items = [one.value for one in lists if isinstance(one, Known) and isinstance(one.value, tuple)]
        numbers = [number for number in map(distinct, items) if number is not None]
        if datum is None or len(numbers) < len(lists):
            return mapped(self.texts(name), lambda texts: len(set(texts)))
        found = [Known(number, Origin(())) for number in numbers]
        place = (datum.origin or Origin(())).outside(self.record.span)
        return agreed(datum, found) if type(datum) is Either else with_origin(found[0], place)

    def mapping(self, name: str) -> Value[dict[str, str]]:
        """Read a map of texts."""
        return self._checked(name, dict)

    def record_of(self, kind: Callable[P, R], *given: P.args, **computed: P.kwargs) -> R:
        """Make a record of the model; read fields not given from the table."""
        made = kind(*given, **computed)
        types = _types(type(made))
        found = {
            name: self._checked(name, kept)
            for name in made.__struct_fields__[len(given) :]
            if (kept := types.get(name)) is not None and name in self._table and name not in computed
        }
        return replace(made, **found)

    def _checked(self, name: str, kind: type[T]) -> Value[T]:
        value = self.read(name) if self.has(name) else NOTHING
        if _is_of(value, kind):
            return value
        raise TypeError(f"{name} of {self.resource} is no {kind.__name__}")

    def read(self, name: str) -> Value[object]:
        """Read a field, converted to its type; the default if it is absent or null."""
        value = self._value(name)
        origin = value.origin
        if origin is not None and origin.spans and origin.spans[0].source.bundled:
            value = with_origin(value, origin.outside(self.record.span))
        elif origin is not None and origin.missing and self.resource.partition(".")[0] in names.listed("whole"):
            keys = tuple(self._table[name]["path"].partition(" | ")[0].split("."))
            value = with_origin(value, Origin((self.record.span,), within=keys))  # such a body is not set in parts
        return value

    def _value(self, name: str) -> Value[object]:
        entry = self._table[name]
        kind = entry.get("type", "string")
        found: Value[object] | None = None
        for path in _paths(entry["path"]):
            value = self._read(path, entry.get("since", {}))
            if name.endswith("cidr") and isinstance(value, Known) and value.value == "":  # providers take it for none
                value = Unset(value.origin)
            if not isinstance(value, Unset):
                found = value
                break
            # the first spelling that the provider knows is where it would be written, unless another is there and null
            if found is None or value.origin.literal or (_refused(found) and not _refused(value)):
                found = value
        if found is not None and found.origin and (why := self._why_not(entry, found.origin)):
            found = with_origin(found, replace(found.origin, why=why))
        if isinstance(found, Unset) and "unset" in entry:
            default = self._settings[entry["unset"]].value
            return Known(_TYPES[kind](default), found.origin)
        if isinstance(found, Either):
            return self._typed_either(found, kind, entry.get("unset", ""))
        if isinstance(found, Known):
            choice = choices(cast("Datum", found))
            if choice is not None:
                return agreed(choice, [_typed(branch, kind) for branch in choice.branches if isinstance(branch, Known)])
            return _typed(found, kind)
        return found if found is not None else Unset(self.record.absent((name,)))

    def _typed_either(self, value: Either, kind: str, unset: str) -> Known[object] | Unknown:
        """Convert every candidate of a value; null becomes the default if there is one."""
        options: tuple[Known[object], ...] = candidates(value)
        found: list[Value[object]] = []
        for one in options:
            given = Known(self._settings[unset].value, one.origin) if one.value is None and unset else one
            found.append(given if given.value is None else _typed(given, kind))
        typed = [cast("Datum", one) for one in found if isinstance(one, Known)]
        if len(typed) < len(found):
            return bare(value)
        return replace(value, branches=tuple(typed)) if None in (one.value for one in options) else agreed(value, found)

    def _absent(self, record: Record, path: tuple[str, ...], since: Mapping[str, str]) -> Unset:
        """Return an unset field, with the reason if the provider may lack it."""
        origin, name, oldest = record.absent(path), path[-1], profiles.oldest(self._cloud).get(self._provider)
        first, why = since.get(name), ""
        if first is not None and not self._pin.reaches(first):
            why = f"{self._provider} is pinned below {first}, which does not have {name}"
        elif oldest is not None and not self._pin.reaches(oldest):
            why = f"{self._provider} is pinned below {oldest}, which may not have {name}"
        return Unset(replace(origin, why=why) if why else origin)

    def _why_not(self, entry: FieldEntry, origin: Origin) -> str:
        """Return why a field cannot be set in its block; empty if it can."""
        since, path = entry.get("values_since"), origin.missing.path if origin.missing else ()
        if origin.why:
            return origin.why
        if since and not self._pin.reaches(since):
            return f"{self._provider} is pinned below {since}, which has other values"
        return (self._obstacle(entry, path[-1]) if path else "") or self._not_applied(entry)

    def _obstacle(self, entry: FieldEntry, name: str) -> str:
        """Return why an attribute cannot be added; empty if it can."""
        for path in (path for other in entry.get("conflicts", ()) for path in _paths(other)):
            if not isinstance(self._read(path, {}), Unset):
                return entry.get("say") or f"remove {path.written} first: it excludes {name}"
        needed = entry.get("needs", {})
        for path in _paths(needed["path"]) if needed else ():
            if isinstance(value := self._read(path, {}), Unset):
                return f"{needed['say']}: {name} needs it"
            if isinstance(value, Known) and not value.origin.literal:
                return f"{path.name} is computed, and {name} may not suit all its values"
        return ""

    def _not_applied(self, entry: FieldEntry) -> str:
        """Return why an edit of a field has no effect: Terraform ignores changes of it."""
        for path in _paths(entry["path"]):
            steps = (*path.outer, path.name)
            outer = {".".join(steps[: i + 1]) for i in range(len(steps))} | {"all"}
            listed = next((one for one in known(self.ignored) or () if one in outer), None)
            if listed is not None:
                return f"remove {listed} from ignore_changes first, or Terraform does not apply it"
        return ""

    def raw(self, name: str) -> Datum | None:
        """Return the evaluated datum with symbols; None if absent."""
        paths = _paths(self._table[name]["path"]) if self.has(name) else ()
        values = (self._read(path, {}) for path in paths)
        return next((value for value in values if not isinstance(value, Unset)), None)

    def _read(self, path: _Path, since: Mapping[str, str]) -> Value[DatumValue]:
        record = self.record
        for i, step in enumerate(path.outer):
            nested = record.blocks(step)
            if isinstance(nested, Unknown):
                return nested
            if not nested.value:
                return self._absent(record, (*path.outer[i:], path.written), since)
            record = nested.value[0]
        name = path.name
        value = record.entry(name)
        if value is None:
            return self._absent(record, (name,), since)
        if isinstance(value, Known) and value.value is None:
            return Unset(value.origin)
        if not path.first or isinstance(value, Unknown):
            return value
        items = value.value if isinstance(value.value, tuple) else ()
        if items[1:]:  # of a network with two stacks
            items = tuple(item for item in items if not is_ipv6(str(known(item))))
        if len(items) != 1:
            return Unknown(f"`{name}` has {len(items)} elements, kcheck reads one", value.origin)
        item: Datum = items[0]
        return item


def _is_of(value: Value[object], kind: type[T]) -> TypeGuard[Value[T]]:
    return not isinstance(value, Known) or isinstance(value.value, kind)


def _refused(value: Value[object]) -> bool:
    return bool(value.origin and value.origin.why)


def _typed(value: Known[object], kind: str) -> Value[object]:
    if isinstance(value, Subnetwork) and kind == "string":
        return value
    try:
        return Known(_TYPES[kind](plain(value)), value.origin)
    except ValueError as error:  # it does not convert, or part of it is unknown
        return Unknown(str(error), value.origin)


def _whole(value: object) -> int:
    number = _bytes(value)
    if number < 0:
        raise EvaluationError(f"{value} is negative; a number of nodes, pods or seconds cannot be")
    if number > _LARGEST:
        raise EvaluationError("the number is too large for nodes, pods or seconds")
    return number


def _bytes(value: object) -> int:
    number = scalars.to_number(value)
    if not isinstance(number, int):
        raise EvaluationError(f"{value} is not a whole number")
    return int(number)  # minus zero is a kind of its own


def _prefix(value: object) -> int:
    number = _whole(value)
    if number > 32:
        raise EvaluationError(f"{value} is not an IPv4 prefix length (0 to 32)")
    return number


_TYPES: dict[str, Callable[[object], object]] = {
    "string": scalars.to_string, "int": _whole, "bytes": _bytes, "prefix": _prefix, "bool": scalars.to_bool,
    "number": lambda value: int(scalars.to_number(value)),
    "seconds": lambda value: seconds(scalars.to_string(value)),
    "list": lambda value: tuple(map(scalars.to_string, value)) if isinstance(value, list) else (),
    "map": lambda value: {key: scalars.to_string(one) for key, one in value.items()} if isinstance(value, dict) else {},
}  # fmt: skip
