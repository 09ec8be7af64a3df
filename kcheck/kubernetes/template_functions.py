"""Functions of helm's templates, with Go's types: numbers are float64."""

import base64
import hashlib
import json
import math
import posixpath
from collections.abc import Callable, Iterator

import yaml as pyyaml

from kcheck.kubernetes.marked_values import Data, Unknowns
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source

DEPTH = 100
MOST_TEXT = 2_000_000
"""Characters of one value."""
_MOST_ITEMS = 10_000
_MOST_NAME = 100
_QUOTED = regex(r"[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?.*|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
"""Dates, and numbers to the base 60: go-yaml quotes them, although they are plain texts for it."""
_ESCAPES = {ord(char): f"\\{name}" for char, name in zip('\n\r\t\\"', 'nrt\\"', strict=True)}
_WHOLE = regex(r"(-?(?:0|[1-9]\d{0,17}))(?:\.0+)?")
_VERB = regex(r"%(.?)")
_METHODS = frozenset({"AsMap", "AsSecrets", "Encode", "PathValue", "Table", "YAML"})
"""Methods of helm's values and files: they win over keys."""


class TemplateError(Exception):
    """A reason not to render a template; `unsupported` names a helm feature."""

    def __init__(self, message: str, place: str = "", *, unsupported: str = "") -> None:
        super().__init__(message[: 2 * _MOST_NAME])
        self.place = place
        self.unsupported = unsupported


def unsupported(name: str, place: str = "") -> TemplateError:
    """Build the error for a template feature that only helm renders."""
    name = name[:_MOST_NAME]
    return TemplateError(f"it uses {name}", place, unsupported=name)


class Int64(int):
    """An int64, which Go distinguishes from an int."""


class Fields(dict[str, object]):
    """A struct, or a map whose other keys are unknown."""


class Opaque(str):
    """A stand-in for unknown or random text: it may be printed, but not compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __bool__(self) -> bool:
        raise unsupported("a text that is not known as a condition")

    def __eq__(self, other: object) -> bool:
        raise unsupported("a comparison with a text that is not known")


_KINDS = {
    type(None): "nil", bool: "bool", Int64: "int64", int: "int", float: "float64", str: "string", list: "slice",
    dict: "map", Fields: "struct", Opaque: "text that is not known",
}  # fmt: skip
_VERBS = {"d": ("int", "int64"), "s": ("string", "text that is not known"), "t": ("bool",)}


def kind(value: object) -> str:
    """Return Go's name for the kind of a value."""
    return _KINDS.get(type(value), "func")


# --- texts of values


def shown(value: object, nothing: str = "<nil>") -> str:
    """Print a value as %v: a float64 in its shortest form."""
    if isinstance(value, bool) or value is None:
        return nothing if value is None else str(value).lower()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise unsupported("an infinite number")
        if not value or 1e-4 <= abs(value) < 1e6:
            return repr(value).removesuffix(".0")
        return next(text for digits in range(17) if float(text := f"{value:.{digits}e}") == value)
    if not isinstance(value, str | int):
        raise unsupported(f"a {kind(value)} as a text")
    return value if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """Print a text as %q."""
    if any(not char.isprintable() for char in text if char not in "\n\r\t"):
        raise unsupported("quote of a character that is not printable")
    return f'"{text.translate(_ESCAPES)}"'


def _weigh(value: object, left: int = MOST_TEXT, depth: int = DEPTH) -> int:
    """Subtract the size of a value from the remaining characters."""
    left -= 10 + 2 * (DEPTH - depth) + (len(value) if isinstance(value, str | list | dict) else 0)
    if left < 0 or depth < 0:
        raise unsupported("too much text")
    if kind(value) in ("struct", "func"):
        raise unsupported(f"toYaml of a {kind(value)}")
    for item in value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else ():
        left = _weigh(item, left, depth - 1)
    return left


def to_yaml(value: object) -> str:
    """Write a value as go-yaml does."""
    _weigh(value)
    dumper = getattr(pyyaml, "CSafeDumper", pyyaml.SafeDumper)
    begin = (pyyaml.StreamStartEvent(), pyyaml.DocumentStartEvent(explicit=False))
    end = (pyyaml.DocumentEndEvent(explicit=False), pyyaml.StreamEndEvent())
    text: str = pyyaml.emit((*begin, *_events(value), *end), Dumper=dumper, allow_unicode=True, width=2**30)
    return text.removesuffix("...\n").removesuffix("\n")


def _events(value: object) -> Iterator[pyyaml.Event]:
    if isinstance(value, list):
        yield pyyaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
        for item in value:
            yield from _events(item)
        yield pyyaml.SequenceEndEvent()
    elif isinstance(value, dict):
        yield pyyaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
        for key in sorted(value):
            yield from _events(key)
            yield from _events(value[key])
        yield pyyaml.MappingEndEvent()
    else:
        style, text = None, str(shown(value, "null"))
        if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**64:
            text = str(int(value))
        if isinstance(value, str):
            typed = not isinstance(yaml.resolved(text), str) or _QUOTED.fullmatch(text)
            style = "|" if "\n" in text else '"' if typed else None
        yield pyyaml.ScalarEvent(None, None, (True, True), text, style=style)


def from_yaml(text: str) -> dict[str, object]:
    """Read the map in a text."""
    document = next(iter(yaml.documents(Source("", text.encode()))), None)
    return values_of(document.root) if document is not None else {}


def values_of(root: yaml.Node | None) -> dict[str, object]:
    """Convert a YAML map to data, with numbers as float64; null becomes an empty map.

    Raises TemplateError if it is no map, or too large.
    """
    if root is None or (isinstance(root, yaml.Scalar) and yaml.value(root) is None):
        return {}
    if not isinstance(root, yaml.Mapping):
        raise unsupported("YAML that is not a map")
    return from_json(to_json(root, {}), {})


def to_json(root: yaml.Node | None, unknown: Unknowns) -> str:
    """Write values as JSON; placeholders for unknown values are added to `unknown`.

    Raises TemplateError if there are too many.
    """
    try:
        return json.dumps(Data(unknown).of(root, {}), allow_nan=False)
    except (OverflowError, ValueError):
        raise unsupported("too many values") from None


def from_json(text: str, unknown: Unknowns) -> dict[str, object]:
    """Read values, with numbers as float64. Raises TemplateError if no map."""
    found = json.loads(text, parse_int=float)
    if not isinstance(found, dict | None):
        raise unsupported("values that are not a map")
    return {key: _opaque(value, unknown) for key, value in (found or {}).items()}


def _opaque(value: object, unknown: Unknowns) -> object:
    if isinstance(value, dict):
        return {key: _opaque(inner, unknown) for key, inner in value.items()}
    if isinstance(value, list):
        return [_opaque(inner, unknown) for inner in value]
    return Opaque(value) if isinstance(value, str) and value in unknown else value


# --- functions


def _print(*values: object) -> str:
    """Join values, with a space between neighbours that are not text."""
    text = ""
    for before, value in zip((None, *values), values, strict=False):
        space = " " if text and not isinstance(before, str) and not isinstance(value, str) else ""
        text += space + shown(value)
    return text


def _printf(form: str, *values: object) -> str:
    """Fill in printf verbs; refuse wrong ones."""
    verbs = _VERB.findall(form)
    fits = (verb == "v" or kind(value) in _VERBS.get(verb, ()) for verb, value in zip(verbs, values, strict=False))
    if len(verbs) != len(values) or not all(fits):
        raise unsupported(f"printf {form!r}")
    return _VERB.sub("%s", form) % tuple(map(shown, values))


def _integer(value: object) -> Int64:
    """Convert to int64; refuse texts without a number, which helm reads as 0."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value or "0")
        if match is None:
            raise unsupported(f"{value!r} as a number")
        value = int(match[1])
    if not isinstance(value, int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise unsupported(f"a {kind(value)} as a number")
    if not -(2**63) <= int(value or 0) < 2**63:
        raise unsupported("a number beyond 64 bits")
    return Int64(value or 0)


def _arithmetic(function: Callable[[int, int], int]) -> Callable[..., Int64]:
    def folded(first: object, *others: object) -> Int64:
        result = _integer(first)
        for other in others:
            result = _integer(function(result, _integer(other)))
        return result

    return folded


def _divided(one: int, other: int) -> int:
    if not other:
        raise TemplateError("it divides by zero")
    return one // other if (one < 0) == (other < 0) else -(-one // other)


def _until(count: int) -> list[int]:
    if not 0 <= count <= _MOST_ITEMS:
        raise unsupported(f"until {count}")
    return list(range(count))


def _equal(one: object, *others: object) -> bool:
    """Whether a value equals one of the others; refuse other types."""
    for other in others:
        kinds = {"int" if kind(value) == "int64" else kind(value) for value in (one, other)}
        fits = len(kinds) == 1 and kinds <= {"bool", "int", "float64", "string"}
        if not fits and not kinds & {"nil", "text that is not known"}:
            raise TemplateError(f"it compares {kind(one)} with {kind(other)}")
        if one == other:
            return True
    return False


def _less(one: object, other: object) -> bool:
    _equal(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return one < other
    if kind(one) not in ("int", "int64", "float64") or not isinstance(one, int | float) or other is None:
        raise TemplateError(f"it compares {kind(one)}")
    return isinstance(other, int | float) and one < other


def _ascii(text: str) -> str:
    if not text.isascii():
        raise unsupported("letters beyond ASCII")
    return text


def _indent(spaces: int, text: str) -> str:
    if not 0 <= (text.count("\n") + 1) * spaces <= MOST_TEXT:
        raise unsupported(f"indent {spaces}")
    return " " * spaces + text.replace("\n", "\n" + " " * spaces)


def _replace(old: str, new: str, text: str) -> str:
    if text.count(old) * len(new) > MOST_TEXT:
        raise unsupported("too much text")
    return text.replace(old, new)


def _dict(*values: object) -> dict[str, object]:
    keys = values[::2]
    if len(values) % 2 or any(type(key) is not str for key in keys):
        raise unsupported("dict with a key that is not a text, or has no value")
    return dict(zip(map(str, keys), values[1::2], strict=True))


def field(value: object, key: str) -> object:
    """Return the value of a key. Raises TemplateError if it is unknown."""
    if not isinstance(value, dict):
        raise TemplateError(f"it takes .{key} of {kind(value)}")
    if key in _METHODS or (isinstance(value, Fields) and key not in value):
        raise unsupported(f".{key}")
    if key == "AsConfig":  # of files that .Files.Glob found
        return to_yaml({posixpath.basename(path): text for path, text in value.items()})
    return value.get(key)


def _required(message: str, value: object) -> object:
    if value is None or value == "":
        raise TemplateError(message)
    return value


def _index(value: object, *keys: object) -> object:
    """Return the element at keys or positions; null where a map lacks a key."""
    for key in keys:
        if isinstance(value, dict) and type(key) is str:
            value = field(value, key)
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            raise TemplateError(f"index of {kind(value)}")
    return value


def _random_text(length: int) -> Opaque:
    if length < 1:
        raise unsupported(f"randAlphaNum {length}")
    return Opaque("randalphanum")


FUNCTIONS: dict[str, tuple[str, Callable[..., object]]] = {
    "add": ("aa*", _arithmetic(lambda one, other: one + other)),
    "append": ("la", lambda items, item: [*items, item]),
    "base": ("s", lambda path: posixpath.basename(path.rstrip("/")) or path[:1] or "."),
    "b64enc": ("p", lambda text: base64.b64encode(text.encode()).decode()),
    "coalesce": ("a*", lambda *values: next((one for one in values if isinstance(one, Opaque) or one), None)),
    "concat": ("l*", lambda *lists: [item for one in lists for item in one]),
    "contains": ("ss", lambda part, text: part in text),
    "date": ("st", lambda *_: Opaque("date")),
    "default": ("aa*", lambda usual, *given: next((one for one in given[:1] if isinstance(one, Opaque) or one), usual)),
    "dict": ("a*", _dict),
    "div": ("aa", _arithmetic(_divided)),
    "empty": ("a", lambda value: not value),
    "eq": ("aaa*", _equal),
    "fail": ("s", lambda message: _required(message, None)),
    "first": ("l", lambda items: items[0] if items else None),
    "fromJson": ("s", from_yaml),
    "fromYaml": ("s", from_yaml),
    "ge": ("aa", lambda one, other: not _less(one, other)),
    "get": ("ms", lambda values, key: values.get(key, "")),
    "gt": ("aa", lambda one, other: not _less(one, other) and one != other),
    "has": ("sl", lambda text, items: text in items),
    "hasKey": ("ms", lambda values, key: key in values),
    "hasPrefix": ("ss", lambda part, text: text.startswith(part)),
    "hasSuffix": ("ss", lambda part, text: text.endswith(part)),
    "indent": ("ip", _indent),
    "index": ("aa*", _index),
    "int": ("a", lambda value: int(_integer(value))),
    "join": ("sl", lambda between, items: between.join(shown(item) for item in items if item is not None)),
    "kindIs": ("sa", lambda name, value: ("string" if isinstance(value, str) else kind(value)) == name),
    "le": ("aa", lambda one, other: _less(one, other) or one == other),
    "len": ("c", lambda value: len(value.encode()) if isinstance(value, str) else len(value)),
    "list": ("a*", lambda *items: list(items)),
    "lookup": ("ssss", lambda *_: {}),  # as `helm template`, which asks no cluster
    "lower": ("p", lambda text: _ascii(text).lower()),
    "lt": ("aa", _less),
    "max": ("aa*", _arithmetic(max)),
    "min": ("aa*", _arithmetic(min)),
    "mul": ("aa*", _arithmetic(lambda one, other: one * other)),
    "ne": ("aa", lambda one, other: not _equal(one, other)),
    "nindent": ("ip", lambda spaces, text: "\n" + _indent(spaces, text)),
    "not": ("a", lambda value: not value),
    "now": ("", lambda: Fields(now="")),
    "print": ("a*", _print),
    "printf": ("sa*", _printf),
    "quote": ("a*", lambda *values: " ".join(_quoted(shown(value)) for value in values if value is not None)),
    "randAlphaNum": ("i", _random_text),
    "replace": ("sss", _replace),
    "required": ("sa", _required),
    "set": ("msa", lambda values, key, value: values.update({key: value}) or values),
    "sha256sum": ("s", lambda text: hashlib.sha256(text.encode()).hexdigest()),
    "squote": ("a*", lambda *values: " ".join(f"'{shown(value)}'" for value in values if value is not None)),
    "sub": ("aa", _arithmetic(lambda one, other: one - other)),
    "ternary": ("aab", lambda yes, no, value: yes if value else no),
    "toString": ("a", shown),
    "toYaml": ("a", to_yaml),
    "trim": ("p", lambda text: _ascii(text).strip(" \t\n\v\f\r")),
    "trimPrefix": ("ss", lambda part, text: text.removeprefix(part)),
    "trimSuffix": ("ss", lambda part, text: text.removesuffix(part)),
    "trunc": ("is", lambda length, text: _ascii(text)[length:] if length < 0 else _ascii(text)[:length]),
    "unixEpoch": ("t", lambda _: Opaque("unixepoch")),
    "until": ("i", _until),
    "upper": ("p", lambda text: _ascii(text).upper()),
    "uuidv4": ("", lambda: Opaque("uuidv4")),
}
"""Functions by name, with the kinds of their arguments: `a` is any, `p` a text, also one that is not known, `t` a
time; `*` repeats the last."""
_TYPES: dict[str, tuple[type, ...]] = {
    "a": (object,), "b": (bool,), "c": (str, list, dict), "i": (int,), "l": (list,), "m": (dict,), "p": (str, Opaque),
    "s": (str,), "t": (Fields, type(None)),
}  # fmt: skip


def call(name: str, arguments: list[object]) -> object:
    """Call a function of templates. Raises TemplateError if it is unknown, or fails."""
    if name not in FUNCTIONS:
        raise unsupported(name)
    types, function = FUNCTIONS[name]
    if types.endswith("*"):
        types = types[:-2] + types[-2] * max(0, len(arguments) - len(types) + 2)
    if len(types) != len(arguments):
        raise TemplateError(f"{name} has {len(arguments)} arguments")
    for letter, argument in zip(types, arguments, strict=True):
        if letter != "a" and type(argument) not in _TYPES[letter]:
            if isinstance(argument, Opaque):
                raise unsupported(f"{name} of a text that is not known")
            raise TemplateError(f"{name} gets {kind(argument)}")
    result = function(*arguments)
    opaque = isinstance(result, str) and any(isinstance(argument, Opaque) for argument in arguments)
    return Opaque(result) if opaque else result
