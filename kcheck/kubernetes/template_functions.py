"""The functions of helm's templates that kcheck knows, with Go's types: a number of YAML is a float64."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml as pyyaml

from kcheck.kubernetes.marked_values import as_data
from kcheck.kubernetes.template_syntax import MAX_DEPTH, TemplateError, unsupported
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_TEXT = 2_000_000
"""Characters of one value."""
_MOST_ITEMS = 10_000
_WHOLE = regex(r"(-?(?:0|[1-9]\d{0,17}))(?:\.0+)?")
_VERB = regex(r"%(0?\d?)([dqstv%])|%")
_QUOTED = regex(r"[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?.*|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
"""Dates, and numbers to the base 60: plain texts for go-yaml, which puts them in quotes all the same."""
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_ESCAPES = {ord(char): f"\\{name}" for char, name in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)}
_HTML = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class Int64(int):
    """An int64: no int, for Go."""


class Fields(dict[str, object]):
    """A struct, or a map of which kcheck does not know all keys."""


_KINDS = {
    type(None): "invalid", bool: "bool", Int64: "int64", int: "int", float: "float64", str: "string", list: "slice",
    dict: "map", Fields: "struct",
}  # fmt: skip


def kind(value: object) -> str:
    """The kind of a value, as Go names it."""
    return _KINDS.get(type(value), "func")


def _called(value: object) -> str:
    return "nil" if value is None else f"a {kind(value)}"


def weigh(*values: object) -> None:
    """Count the characters of values; lists may hold the same one many times.

    Raises:
        TemplateError: they are too many.
    """
    left, level, below = MOST_TEXT, list(values), 0
    while level:
        left -= sum(len(one) + 1 if isinstance(one, str | list | dict) else 1 for one in level)
        if left < 0 or below > MAX_DEPTH:
            raise unsupported("too much text")
        lists = (
            one if isinstance(one, list) else [*one, *one.values()] for one in level if isinstance(one, list | dict)
        )
        level, below = [item for one in lists for item in one], below + 1


# --- texts of values


def decimal(value: float, low: int = -4, high: int = 6) -> str:
    """A float64 in its shortest form, with an exponent outside of these."""
    if not math.isfinite(value):
        raise unsupported("an infinite number")
    exact = Decimal(repr(value)).normalize()
    exponent = exact.adjusted() if value else 0
    if low <= exponent < high:
        return f"{exact:f}"
    digits = "".join(map(str, exact.as_tuple().digits))
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{exponent:+03d}"


def shown(value: object, nothing: str = "<nil>") -> str:
    """A value as %v prints it."""
    weigh(value)
    return _shown(value, nothing)


def _shown(value: object, nothing: str = "<nil>") -> str:
    if isinstance(value, bool) or value is None:
        return nothing if value is None else str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if kind(value) == "map" and isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_shown(value[key])}' for key in sorted(value))}]"
    raise unsupported(f"a {kind(value)} as text")


def quoted(text: str) -> str:
    """A text as %q prints it."""
    text = text.translate(_ESCAPES)
    odd = {ord(char) for char in text if not char.isprintable()}
    return f'"{text.translate({one: _escape(one) for one in odd})}"'


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _quote(*values: object) -> str:
    return " ".join(quoted(shown(value)) for value in values if value is not None)


def _print(*values: object) -> str:
    """Join values, with a space between two that are no texts."""
    text = ""
    for before, value in zip((None, *values), values, strict=False):
        space = " " if text and not isinstance(before, str) and not isinstance(value, str) else ""
        text += space + shown(value)
    return text


def _printf(form: str, *values: object) -> str:
    """Fill in verbs; Go writes its complaints about wrong ones into the text."""
    left = list(values)

    def filled(match: Any) -> str:
        width, verb = match[1], match[2]
        if verb == "%" and not width:
            return "%"
        takes = {"d": ("int", "int64"), "q": ("string",), "s": ("string",), "t": ("bool",)}
        if not verb or not left or (verb in takes and kind(left[0]) not in takes[verb]) or (width and verb != "d"):
            raise unsupported(f"printf {quoted(form)}")
        value = left.pop(0)
        return quoted(value) if verb == "q" and isinstance(value, str) else shown(value).rjust(*_padding(width, value))

    text = _VERB.sub(filled, form)
    if left:
        raise unsupported(f"printf {quoted(form)}")
    return text


def _padding(width: str, value: object) -> tuple[int, str]:
    if width[:1] == "0" and isinstance(value, int) and value < 0:
        raise unsupported("printf of a negative number")
    return int(width or 0), "0" if width[:1] == "0" else " "


def to_yaml(value: object) -> str:
    """A value as go-yaml writes it."""
    weigh(value)
    dumper = getattr(pyyaml, "CSafeDumper", pyyaml.SafeDumper)
    text: str = pyyaml.emit(_document(value), Dumper=dumper, allow_unicode=True, width=2**30)
    return text.removesuffix("...\n").removesuffix("\n")


def _document(value: object) -> Iterator[Any]:
    yield pyyaml.StreamStartEvent()
    yield pyyaml.DocumentStartEvent(explicit=False)
    yield from _events(value)
    yield pyyaml.DocumentEndEvent(explicit=False)
    yield pyyaml.StreamEndEvent()


def _events(value: object) -> Iterator[Any]:
    if isinstance(value, list):
        yield pyyaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
        for item in value:
            yield from _events(item)
        yield pyyaml.SequenceEndEvent()
    elif kind(value) == "map" and isinstance(value, dict):
        yield pyyaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
        for key in sorted(value):
            yield from _events(key)
            yield from _events(value[key])
        yield pyyaml.MappingEndEvent()
    else:
        style, text = None, shown(value, "null")
        if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**64:
            text = str(int(value))
        if isinstance(value, str):
            typed = not isinstance(yaml.resolved(text), str) or _QUOTED.fullmatch(text)
            style = "|" if "\n" in text else '"' if typed else None
        yield pyyaml.ScalarEvent(None, None, (True, True), text, style=style)


def from_yaml(text: str) -> dict[str, object]:
    """The map in a text, with numbers as float64.

    Raises:
        TemplateError: it is none.
    """
    roots = [(document.problem, document.root) for document in yaml.documents(Source("", text.encode()))]
    problem, root = roots[0] if roots else (None, None)
    if problem is not None or (root is not None and not isinstance(root, yaml.Mapping)):
        raise unsupported("YAML that is no map")
    return values_of(root)


def values_of(root: yaml.Node | None) -> dict[str, object]:
    """A map of YAML as data."""
    try:
        found: dict[str, object] = (
            json.loads(json.dumps(as_data(root), allow_nan=False), parse_int=float) if root is not None else {}
        )
    except (OverflowError, ValueError):
        raise unsupported("too many values") from None
    return found


def _to_json(value: object) -> str:
    weigh(value)

    def plain(value: object) -> object:
        if isinstance(value, list):
            return list(map(plain, value))
        if kind(value) == "map" and isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if kind(value) in ("struct", "func") or (isinstance(value, float) and decimal(value, -6, 21).count("e")):
            raise unsupported(f"toJson of a {kind(value)}")
        return int(value) if isinstance(value, float) and value.is_integer() else value

    text = json.dumps(plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.translate(_HTML)


# --- numbers


def integer(value: object) -> int:
    """A value as int64: texts that are no numbers are refused, though helm takes 0."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        if match is None and value:
            raise unsupported(f"{quoted(value)} as a number")
        value = int(match[1]) if match else 0
    if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
        raise unsupported(f"a {kind(value)} as a number")
    return _whole(int(value) if isinstance(value, bool | int | float) else 0)


def _whole(value: int) -> Int64:
    if not -(2**63) <= value < 2**63:
        raise unsupported("a number beyond 64 bits")
    return Int64(value)


def _arithmetic(function: Callable[[int, int], int]) -> Callable[..., Int64]:
    def folded(first: object, *others: object) -> Int64:
        result = _whole(integer(first))
        for other in others:
            result = _whole(function(result, integer(other)))
        return result

    return folded


def _divided(one: int, other: int) -> int:
    """A quotient, rounded towards zero.

    Raises:
        TemplateError: by zero.
    """
    if not other:
        raise TemplateError("it divides by zero")
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)


def _float(value: object) -> float:
    return value if isinstance(value, float) else float(integer(value))


def _until(count: int) -> list[int]:
    if abs(count) > _MOST_ITEMS:
        raise unsupported(f"more than {_MOST_ITEMS:,} items")
    return list(range(0, count, -1 if count < 0 else 1))


# --- comparisons


def equal(one: object, *others: object) -> bool:
    """Whether a value is one of some others.

    Raises:
        TemplateError: their types differ.
    """
    for other in others:
        kinds = {kind(value).removesuffix("64") if kind(value) == "int64" else kind(value) for value in (one, other)}
        if "invalid" not in kinds and (len(kinds) > 1 or not kinds <= {"bool", "int", "float64", "string"}):
            raise TemplateError(f"it compares {_called(one)} with {_called(other)}")
        if one == other:
            return True
    return False


def _less(one: Any, other: Any) -> bool:
    equal(one, other)
    if kind(one) not in ("int", "int64", "float64", "string") or other is None:
        raise TemplateError(f"it compares {_called(one)}")
    return bool(one < other)


def _has(needle: object, items: object) -> bool:
    if not isinstance(items, list) or isinstance(needle, list | dict):
        raise unsupported(f"has with a {kind(items)}")
    return any(kind(item) == kind(needle) and item == needle for item in items)


# --- texts and lists


def _ascii(text: str) -> str:
    if not text.isascii():
        raise unsupported("letters beyond ASCII")
    return text


def _trunc(length: int, text: str) -> str:
    text = _ascii(text)
    return text[length:] if length < 0 < len(text) + length else text if length < 0 else text[:length]


def _indent(spaces: int, text: str) -> str:
    if spaces < 0 or (text.count("\n") + 1) * spaces > MOST_TEXT:
        raise unsupported(f"indent {spaces}")
    return " " * spaces + text.replace("\n", "\n" + " " * spaces)


def _replace(old: str, new: str, text: str) -> str:
    if text.count(old) * len(new) > MOST_TEXT:
        raise unsupported("too much text")
    return text.replace(old, new)


def _join(separator: str, items: object) -> str:
    values = [] if items is None else items if isinstance(items, list) else [items]
    weigh(values, [separator] * len(values))
    return separator.join(shown(value) for value in values if value is not None)


def _split_list(separator: str, text: str) -> list[str]:
    if not separator:
        raise unsupported("splitList of nothing")
    return text.split(separator)


def _dict(*values: object) -> dict[str, object]:
    if len(values) % 2:
        raise unsupported("dict with a key that has no value")
    return {shown(key): value for key, value in zip(values[::2], values[1::2], strict=True)}


def _keys(*maps: dict[str, object]) -> list[str]:
    """The keys, which Go has in no order."""
    keys = [key for one in maps for key in one]
    if len(keys) > 1:
        raise unsupported("keys in no order")
    return keys


_METHODS = frozenset({"AsMap", "Encode", "PathValue", "Table", "YAML"})
"""Methods of helm's values, which win over keys."""


def field(value: object, key: str) -> object:
    """What a map has below a key.

    Raises:
        TemplateError: it is no map.
    """
    if not isinstance(value, dict):
        raise TemplateError(f"it takes .{key} of {_called(value)}")
    if key in _METHODS or (isinstance(value, Fields) and key not in value):
        raise unsupported(f".{key}")
    return value.get(key)


def _index(value: object, *keys: object) -> object:
    for key in keys:
        if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        elif isinstance(key, str):
            value = field(value, key)
        else:
            raise TemplateError(f"it takes {shown(key)} of {_called(value)}")
    return value


def _length(value: object) -> int:
    if not isinstance(value, str | list | dict):
        raise TemplateError(f"it takes the length of {_called(value)}")
    return len(value.encode()) if isinstance(value, str) else len(value)


def _required(message: str, value: object) -> object:
    if value is None or value == "":
        raise TemplateError(message)
    return value


def _fail(message: str) -> object:
    raise TemplateError(message)


def _concat(*lists: list[object]) -> list[object]:
    weigh(*([0] * len(one) for one in lists))
    return [item for one in lists for item in one]


def _kind_is(name: str, value: object) -> bool:
    if isinstance(value, Fields):
        raise unsupported("kindIs of it")
    return name == kind(value)


def _set(values: dict[str, object], key: str, value: object) -> dict[str, object]:
    values[key] = value
    return values


def _known_api(name: str) -> bool:
    """Whether helm takes an API for known: those of other projects are not."""
    group = name.partition("/")[0]
    if name in _APIS:
        return True
    if "." not in group or group.endswith(".k8s.io"):
        raise unsupported(f".Capabilities.APIVersions.Has {quoted(name)}")
    return False


_APIS = frozenset({"apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1"})
CAPABILITIES = Fields(APIVersions=Fields(Has=_known_api))

FUNCTIONS: dict[str, tuple[str, Callable[..., object]]] = {
    "add": ("aa*", _arithmetic(lambda one, other: one + other)),
    "append": ("la", lambda items, item: [*items, item]),
    "b64enc": ("s", lambda text: base64.b64encode(text.encode()).decode()),
    "ceil": ("a", lambda value: float(math.ceil(_float(value)))),
    "coalesce": ("a*", lambda *values: next(filter(None, values), None)),
    "concat": ("l*", _concat),
    "contains": ("ss", lambda part, text: part in text),
    "default": ("aa*", lambda usual, *given: (given and given[0]) or usual),
    "dict": ("a*", _dict),
    "div": ("aa", _arithmetic(_divided)),
    "empty": ("a", lambda value: not value),
    "eq": ("aaa*", equal),
    "fail": ("s", _fail),
    "first": ("l", lambda items: items[0] if items else None),
    "float64": ("a", _float),
    "floor": ("a", lambda value: float(math.floor(_float(value)))),
    "fromYaml": ("s", from_yaml),
    "ge": ("aa", lambda one, other: not _less(one, other)),
    "get": ("ms", lambda values, key: field(values, key) if key in values else ""),
    "gt": ("aa", lambda one, other: not _less(one, other) and one != other),
    "has": ("aa", _has),
    "hasKey": ("ms", lambda values, key: key in values),
    "hasPrefix": ("ss", lambda part, text: text.startswith(part)),
    "hasSuffix": ("ss", lambda part, text: text.endswith(part)),
    "indent": ("is", _indent),
    "index": ("aa*", _index),
    "int": ("a", lambda value: int(integer(value))),
    "int64": ("a", integer),
    "join": ("sa", _join),
    "keys": ("m*", _keys),
    "kindIs": ("sa", _kind_is),
    "last": ("l", lambda items: items[-1] if items else None),
    "le": ("aa", lambda one, other: _less(one, other) or one == other),
    "len": ("a", _length),
    "list": ("a*", lambda *items: list(items)),
    "lookup": ("ssss", lambda *_: {}),
    "lower": ("s", lambda text: _ascii(text).lower()),
    "lt": ("aa", _less),
    "max": ("aa*", _arithmetic(max)),
    "min": ("aa*", _arithmetic(min)),
    "mod": ("aa", _arithmetic(lambda one, other: one - other * _divided(one, other))),
    "mul": ("aa*", _arithmetic(lambda one, other: one * other)),
    "ne": ("aa", lambda one, other: not equal(one, other)),
    "nindent": ("is", lambda spaces, text: "\n" + _indent(spaces, text)),
    "not": ("a", lambda value: not value),
    "print": ("a*", _print),
    "printf": ("sa*", _printf),
    "quote": ("a*", _quote),
    "replace": ("sss", _replace),
    "required": ("sa", _required),
    "set": ("msa", _set),
    "sha256sum": ("s", lambda text: hashlib.sha256(text.encode()).hexdigest()),
    "splitList": ("ss", _split_list),
    "squote": ("a*", lambda *values: " ".join(f"'{shown(value)}'" for value in values if value is not None)),
    "sub": ("aa", _arithmetic(lambda one, other: one - other)),
    "ternary": ("aab", lambda yes, no, value: yes if value else no),
    "toJson": ("a", _to_json),
    "toString": ("a", shown),
    "toYaml": ("a", to_yaml),
    "trim": ("s", lambda text: text.strip(_SPACES)),
    "trimAll": ("ss", lambda characters, text: text.strip(characters) if characters else text),
    "trimPrefix": ("ss", lambda part, text: text.removeprefix(part)),
    "trimSuffix": ("ss", lambda part, text: text.removesuffix(part)),
    "trunc": ("is", _trunc),
    "until": ("i", _until),
    "upper": ("s", lambda text: _ascii(text).upper()),
}
"""By name: the kinds of their arguments (any, bool, int, list, map, string; * is any more of them) and what they do."""
_TYPES: dict[str, tuple[type, ...]] = {
    "a": (object,), "b": (bool,), "i": (int,), "l": (list,), "m": (dict,), "s": (str,),
}  # fmt: skip


def call(name: str, arguments: list[object]) -> object:
    """The result of a function.

    Raises:
        TemplateError: it is not known, or fails.
    """
    if name not in FUNCTIONS:
        raise unsupported(name)
    types, function = FUNCTIONS[name]
    if types.endswith("*"):
        types = types[:-2] + types[-2] * max(0, len(arguments) - len(types) + 2)
    if len(types) != len(arguments):
        raise TemplateError(f"{name} has {len(arguments)} arguments")
    for letter, argument in zip(types, arguments, strict=True):
        if letter != "a" and type(argument) not in _TYPES[letter]:
            raise TemplateError(f"{name} gets {_called(argument)}")
    return function(*arguments)
