"""Functions that encode, decode and compute digests."""

from __future__ import annotations

import base64  # PyYAML brings it
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kcheck.terraform import convert
from kcheck.terraform.functions.signature import Table, anything, data, give, text
from kcheck.text import scalars
from kcheck.text.data_types import STRING, Type, list_of
from kcheck.text.need import NotKnown
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.syntax.yaml import Node, pyyaml
from kcheck.text.values import Datum, Encoded, Known, Origin, Unencoded, Unknown, Unrendered, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from yaml import Node as YamlNode
    from yaml import SafeLoader, ScalarNode

    from kcheck.terraform.budget import Budget

TABLE = Table()

_TOO_DEEP = "the text is nested too deeply"
_JSON_BLANKS = " \t\r\n"
_OF_HTML = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def json_text(datum: Datum) -> str:
    """Encode a value like Terraform's jsonencode."""
    return _json(data(datum))


def _json(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return _quoted(value) if isinstance(value, str) else scalars.to_string(value)


def _quoted(value: str) -> str:
    import json

    return json.dumps(value, ensure_ascii=False).translate(_OF_HTML)


def _encoded(value: Datum, write: Callable[[object], str]) -> Datum:
    """Encode a value to text that keeps its source data."""
    try:
        return Encoded(write(data(value)), Origin(()), datum=value)
    except NotKnown as error:
        return Unencoded(error.missing.reason, datum=value)


@TABLE.function(anything, deep=True)
def _jsonencode(value: Datum) -> str | Datum:
    return _encoded(value, _json)


def _refuse(name: str) -> None:
    raise EvaluationError(f"jsondecode(): {name} is not JSON")


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {_whole(key): _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, str):
        return _whole(value)
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _whole(value: str) -> str:
    """Replace each unpaired surrogate by a replacement character."""
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@TABLE.function(anything, counted=True)
def _jsondecode(datum: Datum, budget: Budget) -> object:
    import json

    written = _short(text(datum), budget).strip(_JSON_BLANKS)
    number = scalars.to_number
    decoder = json.JSONDecoder(parse_int=number, parse_float=number, parse_constant=_refuse)
    try:
        found, end = decoder.raw_decode(written)
        if written[end:].lstrip(_JSON_BLANKS)[:1] not in ("", "]", "}"):  # Terraform looks no further than these
            raise EvaluationError("jsondecode(): text follows the value")
        return _placed(_sorted(found), datum)
    except RecursionError as error:
        raise NotKnown(Unknown(_TOO_DEEP)) from error
    except ValueError as error:
        raise EvaluationError(f"jsondecode(): {error}") from error


@TABLE.function(anything, deep=True)
def _yamlencode(value: Datum) -> str | Datum:
    return _encoded(value, _yaml)


def _yaml(value: object) -> str:
    node = _node(value)
    dumper = getattr(pyyaml, "CSafeDumper", pyyaml.SafeDumper)
    written: str = pyyaml.serialize(node, Dumper=dumper, allow_unicode=True)
    written = written[: -4 if written.endswith("\n...\n") else None]  # content is indented
    plain_scalar = isinstance(node, pyyaml.ScalarNode) and node.style is None
    return f"{written}...\n" if plain_scalar else written  # as the libyaml that Terraform has


def _node(value: object) -> YamlNode:
    """Build a YAML node; strings are quoted, or block scalars."""
    if isinstance(value, dict):
        pairs = [(_node(key), _node(value[key])) for key in sorted(value)]
        return pyyaml.MappingNode(f"{_TAG}map", pairs, flow_style=not pairs)
    if isinstance(value, list):
        return pyyaml.SequenceNode(f"{_TAG}seq", [_node(item) for item in value], flow_style=not value)
    if isinstance(value, str):
        return pyyaml.ScalarNode(f"{_TAG}str", str(value), style="|" if "\n" in value else '"')
    if value is None:
        return pyyaml.ScalarNode(f"{_TAG}null", "null")
    text_of = scalars.to_string(value)
    tag = "bool" if isinstance(value, bool) else "float" if "." in text_of else "int"
    return pyyaml.ScalarNode(_TAG + tag, text_of)


_TAG = "tag:yaml.org,2002:"
_KINDS = {"int": "number", "float": "number", "bool": "bool", "null": "null", "timestamp": "string"}
"""Tag of a plain scalar -> the kind of value that it must have."""
_PLAIN = "plain"  # the tag of a scalar without quotes and without a tag of its own
_MOST = 200_000  # nodes, aliases followed: a guard against documents that unfold
_FLOAT = regex(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BASE = regex(r"(?:0x(?P<hex>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+))")
_DATE = regex(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ ])(\d\d?):(\d\d):(\d\d)(?:\.\d*)?(?P<zone>Z|[-+]\d\d:\d\d)?)?", re.ASCII
)


@cache
def _loader() -> type[SafeLoader]:
    """Return PyYAML's safe loader with plain scalars left for `_scalar`."""
    base = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
    return type("Loader", (base,), {"yaml_implicit_resolvers": {None: [(_PLAIN, re.compile(""))]}})


def _partly(value: Datum) -> list[Datum]:
    """Parse a partly unknown text; raise NotKnown if none of it is known."""
    found = [embedded_yaml.data(root) for root in embedded_yaml.documents(pieces_of(value))] if pieces_of(value) else []
    if not found:
        raise NotKnown(Unknown(value.reason if isinstance(value, Unknown) else "it is empty"))
    return found


def _short(value: str, budget: Budget) -> str:
    """Return a text if parsing it fits the budget."""
    budget.count(sum(value.count(sign) for sign in ",[{") + value.count("\n") // 2)
    budget.spend(len(value) >> 3)
    return value


@TABLE.function(anything, counted=True)
def _yamldecode(datum: Datum, budget: Budget) -> object:
    if isinstance(datum, Unknown):
        return _partly(datum)[0]
    return _placed(_yaml_data(_short(text(datum), budget)), datum)


def _placed(value: object, datum: Datum) -> object:
    """Attach source places to data parsed from a text, if known."""
    if not pieces_of(datum):
        return value

    roots = list(embedded_yaml.documents(pieces_of(datum)))
    return _at(value, roots[0]) if len(roots) == 1 else value


def _at(value: Any, node: Node) -> Datum:
    node = yaml.resolve(node)
    origin = Origin((node.span,))
    if isinstance(node, yaml.Computed):
        return Known(value, node.datum.origin or origin)
    if isinstance(node, yaml.Mapping) and isinstance(value, dict):
        entries = yaml.entries(node)
        if entries.keys() == value.keys():
            return Known({key: _at(item, entries[key].value) for key, item in value.items()}, origin)
    if isinstance(node, yaml.Sequence) and isinstance(value, list) and len(node.items) == len(value):
        return Known(tuple(map(_at, value, node.items)), origin)
    return give(value, replace(origin, literal=isinstance(node, yaml.Scalar)))


def _yaml_data(value: str) -> object:
    try:
        node = None if value.startswith("%YAML 1.2") else pyyaml.compose(value, _loader())
        if node is None:
            raise EvaluationError("yamldecode() of an empty document, or not of YAML 1.1")
        return _Reader().read(node)
    except RecursionError as error:
        raise NotKnown(Unknown(_TOO_DEEP)) from error
    except pyyaml.YAMLError as error:
        if "nesting depth" in str(error):  # since PyYAML 6.0.4; Terraform's parser goes deeper
            raise NotKnown(Unknown(_TOO_DEEP)) from error
        raise EvaluationError(f"yamldecode(): {' '.join(str(error).split())}") from error


@TABLE.function(anything, counted=True)
def _manifest_decode_multi(datum: Datum, budget: Budget) -> object:
    if isinstance(datum, Unknown):
        return _partly(datum)
    try:
        return [
            _Reader().read(node)
            for node in pyyaml.compose_all(_short(text(datum), budget), _loader())
            if node is not None
        ]
    except (pyyaml.YAMLError, RecursionError) as error:
        raise EvaluationError(f"manifest_decode_multi(): {' '.join(str(error).split())}") from error


# functions of the kubernetes provider, which only read and write YAML
TABLE["provider::kubernetes::manifest_decode_multi"] = TABLE.pop("manifest_decode_multi")
TABLE["provider::kubernetes::manifest_decode"] = TABLE["yamldecode"]
TABLE["provider::kubernetes::manifest_encode"] = TABLE["yamlencode"]


class _Reader:
    def __init__(self) -> None:
        self.left = _MOST
        self.open: set[int] = set()

    def read(self, node: YamlNode) -> object:
        self.left -= 1
        if self.left < 0:
            raise EvaluationError("yamldecode(): the document is too large")
        if id(node) in self.open:
            raise EvaluationError("yamldecode(): an anchor is used inside its own definition, or of a key")
        if isinstance(node, pyyaml.ScalarNode):
            return _scalar(node)
        if node.tag not in (f"{_TAG}map", f"{_TAG}seq", _PLAIN):
            raise EvaluationError(f'yamldecode(): unsupported tag "{node.tag}"')
        self.open.add(id(node))
        listed = isinstance(node, pyyaml.SequenceNode)
        result = [self.read(item) for item in node.value] if listed else self._mapping(node)
        self.open.discard(id(node))
        return result

    def _mapping(self, node: YamlNode) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise EvaluationError("yamldecode(): only strings are allowed as mapping keys")
            self.open.add(id(key_node))  # Terraform knows no anchors of keys
            key, value = _scalar(key_node), self.read(value_node)
            if key == "<<" and key_node.tag == _PLAIN:
                if not isinstance(value, dict):
                    raise EvaluationError("yamldecode(): only a map can be merged")
                merged = {**value, **merged}
            elif key is None:
                raise EvaluationError("yamldecode(): a mapping key cannot be null")
            else:
                result[scalars.to_string(key)] = value
        return dict(sorted({**merged, **result}.items()))


def _scalar(node: ScalarNode) -> str | bool | int | Fraction | None:
    """Read a scalar; quoted ones are text, and plain ones what their tag says."""
    tag = node.tag.removeprefix(_TAG)
    if node.tag != _PLAIN and tag not in ("str", "binary", *_KINDS):
        raise EvaluationError(f'yamldecode(): unsupported tag "{node.tag}"')
    if node.tag != _PLAIN and (node.style or tag not in _KINDS):
        return str(node.value)
    found = None if tag == "null" else _plain_scalar(node.value)
    if tag in _KINDS and scalars.kind(found) != _KINDS[tag]:
        raise EvaluationError(f'yamldecode(): cannot parse "{node.value}" as {tag}')
    return found


def _plain_scalar(value: str) -> str | bool | int | Fraction | None:
    if value in yaml.WORDS:
        return yaml.WORDS[value]
    if _FLOAT.fullmatch(value):
        return scalars.to_number(value)
    if based := _BASE.fullmatch(value):
        whole = int(based["hex"], 16) if based["hex"] else int(based["octal"], 8)
        if whole >= 1 << 64:
            raise EvaluationError(f'yamldecode(): cannot parse "{value}" as a number of 64 bits')
        return whole
    if re.fullmatch(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", value):
        raise NotKnown(Unknown("infinite numbers are not computed"))
    date = _DATE.fullmatch(value)
    return _moment(date) if date else value


def _moment(date: re.Match[str]) -> str:
    year, month, day, hour, minute, second = (int(part or 0) for part in date.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        return date[0]
    zone = date["zone"] or "Z"
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{zone}"


_CSV = regex(r'(?s)(?:(?:"(?:[^"]|"")*"|[^",\n]*)(?:,|\r?\n|$))*')


@TABLE.function(text, counted=True)
def _csvdecode(value: str, budget: Budget) -> Datum:
    import csv
    import io

    if not _CSV.fullmatch(_short(value, budget)):
        raise EvaluationError("csvdecode(): a quote stands inside of a field")
    try:
        rows = [row for row in csv.reader(io.StringIO(value), strict=True) if row]
    except csv.Error as error:
        raise EvaluationError(f"csvdecode(): {error}") from error
    if not rows:
        raise EvaluationError("csvdecode() needs a header line with column names")
    names = rows[0]
    if len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
        raise EvaluationError("csvdecode() needs distinct column names, and as many fields in every line")
    found = give([dict(sorted(zip(names, row, strict=True))) for row in rows[1:]], Origin(()))
    element = Type("object", (STRING,) * len(names), tuple(sorted(names)))
    return convert.convert(found, list_of(element))


@TABLE.function(anything)
def _base64encode(value: Datum) -> str | Datum:
    """base64encode(); partly unknown text stays plain."""
    return value if isinstance(value, Unrendered) else base64.b64encode(text(value).encode()).decode()


@TABLE.function(text)
def _base64decode(value: str) -> str:
    try:
        bare = value.replace("\r", "").replace("\n", "")  # line ends may stand anywhere
        return base64.b64decode(bare, validate=True).decode()
    except ValueError as error:
        raise EvaluationError("base64decode() needs base64 of UTF-8 text") from error


DIGESTS = ("md5", "sha1", "sha256", "sha512", "base64sha256", "base64sha512")


def digest(name: str, data: bytes) -> str:
    """Compute one of DIGESTS: in hexadecimal or, if its name says so, in base64."""
    import hashlib

    bare = name.removeprefix("base64")
    found = hashlib.new(bare, data, usedforsecurity=False)
    return found.hexdigest() if bare == name else base64.b64encode(found.digest()).decode()


TABLE.add(text, **{name: lambda value, name=name: digest(name, value.encode()) for name in DIGESTS})


@TABLE.function(text)
def _urlencode(value: str) -> str:
    from urllib.parse import quote_plus

    return quote_plus(value, safe="-_.~")


@TABLE.function(text, text)
def _uuidv5(space: str, name: str) -> str:
    import uuid

    known = {
        "dns": uuid.NAMESPACE_DNS, "url": uuid.NAMESPACE_URL, "oid": uuid.NAMESPACE_OID, "x500": uuid.NAMESPACE_X500,
    }  # fmt: skip
    try:
        return str(uuid.uuid5(known.get(space) or uuid.UUID(space), name))
    except ValueError as error:
        raise EvaluationError(f'"{space}" is not a UUID namespace') from error


def _codec(name: str) -> str:
    """Return Python's name for an IANA encoding."""
    import codecs

    try:
        found = codecs.lookup("" if name.lower() in ("utf8", "utf16", "utf-32", "ascii") else name)  # no IANA names
    except (LookupError, ValueError) as error:
        raise EvaluationError(f'"{name}" is not an encoding that can be used') from error
    if not found._is_text_encoding:
        raise EvaluationError(f'"{name}" is not an encoding of text')
    return found.name


@TABLE.function(text, text)
def _textencodebase64(value: str, encoding: str) -> str:
    codec = _codec(encoding)
    try:
        data = ("\ufeff" + value).encode("utf-16-be") if codec == "utf-16" else value.encode(codec)
        return base64.b64encode(data).decode()
    except UnicodeEncodeError as error:
        raise EvaluationError(f"the text cannot be written in {encoding}") from error


@TABLE.function(text, text)
def _textdecodebase64(value: str, encoding: str) -> str:
    try:
        data, codec = base64.b64decode(value, validate=True), _codec(encoding)
    except ValueError as error:
        raise EvaluationError("textdecodebase64() needs base64") from error
    marked = data[:2] in (b"\xfe\xff", b"\xff\xfe")
    try:
        return data.decode("utf-16-be" if codec == "utf-16" and not marked else codec)
    except ValueError as error:  # Terraform marks what cannot be read in its own way
        raise NotKnown(Unknown(f"the text is not in {encoding}")) from error
