"""Read the fields of a record by the table of its cloud."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kcheck import profiles
from kcheck.terraform import convert
from kcheck.terraform.convert import EvaluationError
from kcheck.values import Datum, Known, Unknown, Unset, Value, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.terraform.resource import Record

_STEP = re.compile(r"([a-z_0-9]+)(\[0\])?$")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS: dict[str, int | Fraction] = {"h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 1000)}


class Fields:
    """The fields of one record, read when they are asked for."""

    def __init__(self, cloud: str, resource: str, record: Record) -> None:
        self.resource = resource
        self.record = record
        self._table = profiles.table(cloud)[resource]
        self._settings = profiles.settings(cloud)

    def __getitem__(self, name: str) -> Value[Any]:
        """The field's value, converted to its type; a default where it is absent or null."""
        entry = self._table[name]
        kind = entry.get("type", "string")
        found: Value[Any] | None = None
        for path in entry["path"].split(" | "):
            value = self._read(path)
            if not isinstance(value, Unset) or value.origin.missing is None:
                found = value
                break
            found = found or value
        if isinstance(found, Unset) and "unset" in entry:
            default = self._settings[entry["unset"]].value
            return Known(_TYPES[kind](default), found.origin)
        if isinstance(found, Known):
            return _typed(found, kind)
        return found if found is not None else Unset(self.record.absent((name,)))

    def raw(self, name: str) -> Datum | None:
        """The field's datum as it was evaluated, symbols included; None if it is absent."""
        value = self._read(self._table[name]["path"].split(" | ")[0])
        return None if isinstance(value, Unset) else value

    def _read(self, path: str) -> Value[Any]:
        record = self.record
        steps = path.split(".")
        for i, step in enumerate(steps[:-1]):
            nested = record.blocks(step)
            if isinstance(nested, Unknown):
                return nested
            if not nested:
                return Unset(record.absent(tuple(steps[i:])))
            record = nested[0]
        match = _STEP.match(steps[-1])
        name, first = match.groups() if match else (steps[-1], None)
        value = record.entry(name)
        if value is None:
            return Unset(record.absent((name,)))
        if isinstance(value, Known) and value.value is None:
            return Unset(value.origin)
        if first is None or isinstance(value, Unknown):
            return value
        items = value.value if isinstance(value.value, tuple) else ()
        if len(items) != 1:
            return Unknown(f"`{name}` has {len(items)} elements, kcheck reads one", value.origin)
        item: Datum = items[0]
        return item


def _typed(value: Known[Any], kind: str) -> Value[Any]:
    try:
        return Known(_TYPES[kind](plain(value)), value.origin)
    except EvaluationError as error:
        return Unknown(f"{error}", value.origin)
    except ValueError as error:  # a part of it is not known
        return Unknown(str(error), value.origin)


def seconds(text: Any) -> int:
    """A Go duration such as `10m` or `1h30m` in whole seconds.

    Raises:
        EvaluationError: it is not a duration.
    """
    parts = _DURATION.findall(str(text))
    if not parts or "".join(number + unit for number, unit in parts) != str(text):
        raise EvaluationError(f"`{text}` is not a duration such as 10m or 30s")
    return int(sum(Fraction(number) * _SECONDS[unit] for number, unit in parts))


def _whole(value: Any) -> int:
    number = convert.to_number(value)
    if not isinstance(number, int):
        raise EvaluationError(f"{value} is not a whole number")
    return number


def _list(value: Any) -> tuple[str, ...]:
    return tuple(convert.to_string(item) for item in value) if isinstance(value, list) else ()


def _map(value: Any) -> dict[str, str]:
    return {key: convert.to_string(item) for key, item in value.items()} if isinstance(value, dict) else {}


_TYPES: dict[str, Callable[[Any], Any]] = {
    "string": convert.to_string,
    "int": _whole,
    "number": lambda value: int(convert.to_number(value)),
    "bool": convert.to_bool,
    "seconds": seconds,
    "list": _list,
    "map": _map,
}
