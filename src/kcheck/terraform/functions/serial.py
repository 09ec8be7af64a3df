"""Functions that write values as text and read them back: JSON, YAML, CSV."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from kcheck.terraform import convert
from kcheck.terraform.convert import EvaluationError
from kcheck.terraform.functions.signature import Table, anything, data, text

if TYPE_CHECKING:
    from kcheck.values import Datum

TABLE = Table()

_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026",
    "\u2028": "\\u2028", "\u2029": "\\u2029",
}  # fmt: skip


def json_text(datum: Datum) -> str:
    """The value as Terraform writes JSON: compact, keys sorted, safe for HTML."""
    return _json(data(datum))


def _json(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return _quoted(value) if isinstance(value, str) else convert.to_string(value)


def _quoted(value: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'


@TABLE.function(anything)
def _jsonencode(value: Datum) -> str:
    return json_text(value)


@TABLE.function(text)
def _jsondecode(value: str) -> Any:
    import json

    try:
        return json.loads(value, parse_float=Fraction)
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"jsondecode(): {error}") from error


@TABLE.function(anything)
def _yamlencode(value: Datum) -> str:
    lines = _yaml(data(value))
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> list[str]:
    """The lines of a value, keys and strings in double quotes, text of several lines as a block."""
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key in sorted(value):
            lines += _under(f"{_quoted(key)}:", value[key])
        return lines
    if isinstance(value, list) and value:
        lines = []
        for item in value:
            inner = _yaml(item)
            if isinstance(item, str) and "\n" in item:
                lines += [f"- {inner[0]}", *(f"  {line}" if line else "" for line in inner[1:])]
            else:
                lines += [f"- {inner[0]}", *(f"  {line}" for line in inner[1:])]
        return lines
    return _yaml_scalar(value)


def _yaml_scalar(value: Any) -> list[str]:
    if isinstance(value, str) and "\n" in value:
        mark = "|" if value.endswith("\n") and not value.endswith("\n\n") else "|+" if value.endswith("\n") else "|-"
        body = value.removesuffix("\n")
        return [mark, *body.split("\n")]
    return ["{}" if value == {} else "[]" if value == [] else _json(value)]


def _under(head: str, value: Any) -> list[str]:
    lines = _yaml(value)
    if isinstance(value, str) and "\n" in value:
        return [f"{head} {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])]
    if isinstance(value, dict) and value:
        return [head, *(f"  {line}" for line in lines)]
    if isinstance(value, list) and value:
        return [head, *lines]
    return [f"{head} {lines[0]}"]


@cache
def _loader() -> Any:
    """PyYAML's safe loader without the numbers that only YAML 1.1 knows: 1_000 and 1:30 are text."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {})
    loader.yaml_implicit_resolvers = {
        letter: [(tag, _NUMBERS.get(tag, pattern)) for tag, pattern in resolvers]
        for letter, resolvers in base.yaml_implicit_resolvers.items()
    }
    return loader


_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?$"),
}


@TABLE.function(text)
def _yamldecode(value: str) -> Any:
    import yaml

    try:
        return _decoded(yaml.load(value, _loader()))  # noqa: S506 - the loader is a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise EvaluationError(f"yamldecode(): {' '.join(str(error).split())}") from error


def _decoded(value: Any) -> Any:
    """PyYAML's data as Terraform's: keys are text, numbers exact, dates text."""
    if isinstance(value, dict):
        return {"null" if key is None else convert.to_string(key): _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, float):
        return convert.whole(Fraction(repr(value)))
    if value is None or isinstance(value, str | int):
        return value
    day = value.isoformat()
    return f"{day}Z" if "T" in day else f"{day}T00:00:00Z"


@TABLE.function(text)
def _csvdecode(value: str) -> list[dict[str, str]]:
    import csv
    import io

    rows = list(csv.reader(io.StringIO(value), strict=True))
    if not rows:
        raise EvaluationError("csvdecode() needs a line of names")
    names = rows[0]
    return [dict(zip(names, row, strict=True)) for row in rows[1:] if row]
