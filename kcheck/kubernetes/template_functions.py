"""The functions of helm's templates that kcheck knows."""

from __future__ import annotations

import base64
import hashlib
import math
from typing import TYPE_CHECKING, Any

from kcheck.kubernetes.template_syntax import TemplateError, unsupported
from kcheck.kubernetes.template_values import (
    MOST_TEXT,
    Fields,
    Int64,
    called,
    from_yaml,
    kind,
    quoted,
    shown,
    to_json,
    to_yaml,
    weigh,
)
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_ITEMS = 10_000
_WHOLE = regex(r"(-?(?:0|[1-9]\d{0,17}))(?:\.0+)?")
_VERB = regex(r"%(0?\d?)([dqstv%])|%")
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# --- texts


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
            raise TemplateError(f"it compares {called(one)} with {called(other)}")
        if one == other:
            return True
    return False


def _less(one: Any, other: Any) -> bool:
    equal(one, other)
    if kind(one) not in ("int", "int64", "float64", "string") or other is None:
        raise TemplateError(f"it compares {called(one)}")
    return bool(one < other)


def _has(needle: object, items: object) -> bool:
    if not isinstance(items, list) or isinstance(needle, list | dict):
        raise unsupported(f"has with a {kind(items)}")
    return any(kind(item) == kind(needle) and item == needle for item in items)


# --- parts of texts, and lists


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
        raise TemplateError(f"it takes .{key} of {called(value)}")
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
            raise TemplateError(f"it takes {shown(key)} of {called(value)}")
    return value


def _length(value: object) -> int:
    if not isinstance(value, str | list | dict):
        raise TemplateError(f"it takes the length of {called(value)}")
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
    "toJson": ("a", to_json),
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
            raise TemplateError(f"{name} gets {called(argument)}")
    return function(*arguments)
