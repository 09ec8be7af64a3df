"""Parse YAML into trees with byte spans, and format scalars.

A file is cut at its `---` and `...` lines before it is parsed, so that a broken document loses no other one. Aliases
stay references to nodes that are built once; nothing here copies their targets.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text.regex import late, regex
from kcheck.text.text import BOM, Problem, Source, Span
from kcheck.text.yaml_nodes import Alias, Computed, Mapping, Node, Pair, Plain, Scalar, Sequence, Style, Target

with late():
    import yaml

    pyyaml = yaml  # for others, so that none imports it earlier

__all__ = ["Alias", "Computed", "Mapping", "Node", "Pair", "Plain", "Scalar", "Sequence", "Style", "Target"]
"""Names of `yaml_nodes` that others find here too."""

Loader: type[yaml.Loader] = getattr(yaml, "CLoader", yaml.Loader)
MAX_NODES, MAX_MERGES, MAX_ALIASED = 1_000_000, 1_000, 20_000
_MAX_DEPTH, _TOO_DEEP = 100, "nested too deeply (more than 100 levels)"


class Document(Struct, frozen=True):
    """A non-empty document: its root, or its problem."""

    span: Span
    root: Target | None
    problem: Problem | None


class _RefusedError(Exception):
    """Message, start and end of an error in YAML that PyYAML accepts."""


_SEPARATOR = regex(rb"\n(---|\.\.\.)(?=[ \t\r\n]|\Z)")  # six times faster than one that begins with `^`


def documents(
    source: Source, wanted: Callable[[bytes], bool] = bool, instead: bytes | None = None
) -> Iterator[Document]:
    """Yield the `wanted` documents of a file.

    `instead` replaces the file's bytes and must have the same length.
    """
    source.syntax = source.syntax or "yaml"
    data = source.data if instead is None else instead
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        hint = ", the file looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        problem = Problem(f"this byte is not UTF-8{hint}", source.span(error.start, error.start + 1))
        yield Document(source.span(0, len(data)), None, problem)
        return
    start = len(BOM) if data.startswith(BOM) else 0
    for begin, end in _separators(data):
        if data[begin] == 0x2E:  # `...` belongs to no document
            yield from read_part(source, data[start:begin], start, wanted)
            start = end
        elif any(line.lstrip()[:1] not in (b"", b"#", b"%") for line in data[start:begin].splitlines()):
            yield from read_part(source, data[start:begin], start, wanted)
            start = begin
    yield from read_part(source, data[start:], start, wanted)


def _separators(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each `---` and `...` on a line of its own."""
    if _SEPARATOR.match(b"\n" + data[:4]):
        yield 0, 3
    for match in _SEPARATOR.finditer(data):
        yield match.span(1)


def read_part(source: Source, data: bytes, start: int, wanted: Callable[[bytes], bool] = bool) -> Iterator[Document]:
    """Parse a part of a file without separators, at `start`."""
    span = source.span(start, start + len(data))
    if not wanted(data):
        return
    offset = _offsets(data, start)
    try:
        roots = _build(source, data, offset)
    except _RefusedError as error:
        yield Document(span, None, Problem(error.args[0], source.span(*error.args[1:])))
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two: escapes, pure parser only
        yield Document(span, None, _explain(error, source, data, offset))
    else:
        for root in roots:  # several only if exotic line ends (lone CR, NEL) hide a separator
            yield Document(span if len(roots) == 1 else root.span, root, None)


def _offsets(data: bytes, base: int) -> Callable[[int], int]:
    """Return a function that maps PyYAML's marks to bytes of the file."""
    if data.isascii():
        return base.__add__
    text = data.decode()
    wide = [match.start() for match in re.finditer(r"[^\x00-\x7f]", text)]
    shifts = list(accumulate((len(text[index].encode()) - 1 for index in wide), initial=base))
    return lambda index: index + shifts[bisect_left(wide, index)]


_STYLES: dict[str | None, Style] = {"'": "single", '"': "double", "|": "literal", ">": "folded"}
_pair = partial(tuple.__new__, Pair)  # without a Python frame for each: building a tree takes a fifth less
_PROPERTIES = regex(rb"(?:[&!][^ \t\r\n]*(?:[ \t\r\n]+|#[^\r\n]*)*){1,2}")


def _build(source: Source, data: bytes, offset: Callable[[int], int]) -> list[Target]:
    """Build the trees of the documents in `data`."""
    builder, roots = _Builder(source), list[Target]()
    makers: dict[type[yaml.Event], Callable[[Any, int, int], Any]] = {
        yaml.ScalarEvent: builder.scalar, yaml.AliasEvent: builder.alias,
        yaml.MappingStartEvent: builder.begin, yaml.SequenceStartEvent: builder.begin,
        yaml.MappingEndEvent: builder.end, yaml.SequenceEndEvent: builder.end,
    }  # fmt: skip
    for nodes, event in enumerate(iter(Loader(data).get_event, None)):  # two for a list or a map
        make = makers.get(type(event))
        node = make(event, offset(event.start_mark.index), offset(event.end_mark.index)) if make is not None else None
        if node is None:
            continue
        builder.anchors[node.anchor] = node
        if nodes > MAX_NODES:
            raise _RefusedError(f"too large (more than {MAX_NODES:,} values)", node.start, node.end)
        if builder.stack:
            builder.children.append(node)
        elif node.start < node.end or node.anchor or node.tag:
            roots.append(node)  # anything else is an empty document
    return roots


class _Builder:
    """Innermost open collection, those around it, and the anchors so far."""

    def __init__(self, source: Source) -> None:
        self.source, self.file = source, source.data
        self.anchors: dict[str | None, Target | None] = {}  # to None while the node is being built
        self.children: list[Node] = []  # of the innermost open collection; of a map, keys and values in turn
        self.stack: list[tuple[list[Node], int, str | None, bool, int, int]] = []
        self.height = self.size = 0  # levels and values below the innermost open collection, those of aliases included
        self.below: dict[str | None, tuple[int, int]] = {}  # of what an anchor names
        self.aliased = 0

    def scalar(self, event: yaml.ScalarEvent, start: int, end: int) -> Scalar:
        file, anchor, tag, style = self.file, event.anchor, event.tag, _STYLES.get(event.style, "plain")
        if (anchor or tag) and (match := _PROPERTIES.match(file, start, end)):
            start = match.end()
        elif start == end and len(self.children) % 2 and file[start - 1] not in b":-":
            # PyYAML puts an absent value behind the blanks and comments.
            gap = file[self.children[-1].end : start].lstrip()
            start = end = start - len(gap) + 1 if gap[:1] == b":" else self.children[-1].end
        if style in ("literal", "folded") and b"+" not in file[start + 1 : start + 3]:
            # PyYAML takes in the empty lines that follow.
            end = file.find(b"\n", start + len(file[start:end].rstrip(b"\r\n")), end) + 1 or end
        return Scalar(self.source, start, end, anchor, event.value, style=style, tag=tag)

    def begin(self, event: yaml.CollectionStartEvent, start: int, end: int) -> None:
        anchor, flow = event.anchor, bool(event.flow_style)
        if anchor or event.tag:
            # The event ends behind `[`, `{` or the `-` of an unindented list, else before the child.
            start = end - (flow or (type(event) is yaml.SequenceStartEvent and self.file[end : end + 1] != b"-"))
        if len(self.stack) == _MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP, start, start + 1)
        self.stack.append((self.children, start, anchor, flow, self.height, self.size))
        self.children = []
        self.height = self.size = 0
        self.anchors[anchor] = None

    def end(self, event: yaml.CollectionEndEvent, _start: int, end: int) -> Sequence | Mapping:
        inner = self.children
        self.children, start, anchor, flow, above, beside = self.stack.pop()
        height, size = self.height + 1, self.size + len(inner)
        if anchor:
            self.below[anchor] = height, size
        self.height, self.size = max(height, above), size + beside
        end = end if flow else inner[-1].end
        if type(event) is yaml.SequenceEndEvent:
            return Sequence(self.source, start, end, anchor, tuple(inner), flow)
        keys = [key if type(key) is Scalar else _key(key) for key in inner[::2]]
        pairs = tuple(map(_pair, zip(keys, inner[1::2], strict=True)))
        return Mapping(self.source, start, end, anchor, pairs, flow)

    def alias(self, event: yaml.AliasEvent, start: int, end: int) -> Alias:
        name = event.anchor or ""
        target = self.anchors.get(name)
        if target is None:
            why = "is inside its own anchor" if name in self.anchors else "refers to no anchor above it"
            raise _RefusedError(f"alias *{name} {why}", start, end)
        levels, values = self.below.get(name, (0, 1)) if type(target) is not Scalar else (0, 1)
        self.height, self.size, self.aliased = max(self.height, levels), self.size + values, self.aliased + values
        if len(self.stack) + levels > _MAX_DEPTH:
            raise _RefusedError(_TOO_DEEP, start, end)
        if self.aliased > MAX_ALIASED:
            raise _RefusedError(f"too large (aliases stand for more than {MAX_ALIASED:,} values)", start, end)
        return Alias(self.source, start, end, None, name, target)


def _key(key: Node) -> Scalar:
    if isinstance(target := resolve(key), Scalar):
        return target if target is key else replace(target, start=key.start, end=key.end)
    raise _RefusedError("a key must be a text, not a list or a map", key.start, key.end)


_TAB = "a tab must not be used for indentation"
_WORDS = (  # by a part of what PyYAML's C parser or its pure one says
    ("nesting depth", _TOO_DEEP),  # PyYAML 6.0.4 reads ahead, and counts before the tree does
    (r"violates indentation|indentation space|character '\\t' that", _TAB),
    ("cannot start|alphabetic or|tag handle|node content", "a value that begins like this needs quotes"),
    ("unexpected end of stream|unexpected document", "this quote is never closed"),
    ("could not find expected ':'", "this line has no ':' after its key"),
    ("mapping values are not", "unexpected ':': wrong indentation, or the text needs quotes"),
    ("sequence entries are not", "a list cannot begin on the line of its key"),
    ("',' or '[]}]'", "this bracket is not closed, or a ',' is missing"),
    ("expected key|<block|'-' ind|<document", "unexpected text: wrong indentation, or a stray quote"),
    ("escape|hexdecimal", "unknown escape in a double-quoted text"),
    ("block scalar", "only an indicator or a comment may follow '|' or '>'"),
)


def _explain(error: Exception, source: Source, data: bytes, offset: Callable[[int], int]) -> Problem:
    words, said, at = "not valid YAML", str(error).partition("\n")[0], offset(0)
    if isinstance(error, yaml.reader.ReaderError):
        if bad := yaml.reader.Reader.NON_PRINTABLE.search(data.decode()):  # parsers tell other places
            at = offset(bad.start())
            words = f"character U+{ord(bad[0]):04X}" + (", is this UTF-16?" if bad[0] == "\0" else "")
    elif isinstance(error, yaml.MarkedYAMLError):
        said = ": ".join(part for part in (error.context, error.problem) if part)
        words = next((meaning for part, meaning in _WORDS if re.search(part, said)), words)
        mark, context = error.problem_mark, error.context_mark
        # What is never closed shows far below; the place is where it was opened.
        below = mark and context and context.line < mark.line
        opened = re.match("while scanning a(n| quoted| simple)", said) or (below and "bracket is" in words)
        mark = context if context and opened else mark
        at = offset(mark.index) if mark else at
        if source.data[at : at + 1] == b"\t" and "start any token" in said:
            words = _TAB
        elif source.data[at - 1 : at] == b"}" and re.search("expected key|<block end", said):
            words = "a text that begins with `{` needs quotes"
    width = len(source.data[at : at + 4].decode(errors="ignore")[:1].encode())
    return Problem(words if words == _TOO_DEEP else f"{words} ({said})", source.span(at, at + width))


def resolve(node: Node) -> Target:
    """Return the node itself, or the target of an alias."""
    return node.target if type(node) is Alias else node  # type: ignore[return-value] # isinstance takes longer


def get(node: Node | None, *path: str | int) -> Target | None:
    """Walk down keys and indexes, through aliases and merge keys.

    The last of duplicate keys wins, and keys of the map itself win over merged ones.
    """
    found: Target | None = node.target if type(node) is Alias else node  # type: ignore[assignment] # as in resolve
    for step in path:
        if type(step) is str:
            found = member(found, step)
        elif isinstance(found, Sequence) and isinstance(step, int) and 0 <= step < len(found.items):
            found = resolve(found.items[step])
        else:
            return None
    return found


def member(node: Node | None, key: str) -> Target | None:
    """Return the value of a key of a map, like `get`."""
    if node is None or not isinstance(node, Mapping):
        return None
    index = node.indexed or node.index
    if (entry := index.get(key)) is None:
        if "<<" not in index:
            return None
        entry = next(filter(None, (layer.own(key) for layer in layers(node))), None)
    found = entry.value if entry is not None else None
    return found.target if type(found) is Alias else found  # type: ignore[return-value] # isinstance takes longer


def text(node: Node | None, *path: str | int) -> str:
    """Return the text of the scalar at a path; empty if there is none."""
    found = get(node, *path)
    return found.text if isinstance(found, Scalar) else ""


def items(node: Node | None, *path: str | int) -> list[Target]:
    """List the items of the list at a path; empty if there is none."""
    found = get(node, *path)
    return list(map(resolve, found.items)) if found is not None and isinstance(found, Sequence) else []


def scalars(node: Node | None, *path: str | int) -> list[Scalar]:
    """List the scalars of the list at a path."""
    return [item for item in items(node, *path) if isinstance(item, Scalar)]


def pairs(node: Node | None, *path: str | int) -> dict[str, Pair]:
    """Return the effective entries of the map at a path; empty if there is none."""
    found = get(node, *path)
    return entries(found) if isinstance(found, Mapping) else {}


def entries(mapping: Mapping) -> dict[str, Pair]:
    """Return the effective entries by key text, with merges resolved."""
    index = mapping.index
    if len(index) == len(mapping.entries) and "<<" not in index:
        return index.copy()
    result: dict[str, Pair] = {}
    for layer in layers(mapping):
        for entry in reversed(layer.entries):
            if entry.key.text != "<<" or entry.key.style != "plain":
                result.setdefault(entry.key.text, entry)
    return dict(reversed(result.items()))


def layers(mapping: Mapping) -> Iterator[Mapping]:
    """Yield the map and its merges, strongest first, each once."""
    seen: set[Target] = set()
    todo: list[Target] = [mapping]
    while todo and len(seen) < MAX_MERGES:
        layer = todo.pop()
        if layer not in seen and isinstance(layer, Mapping):
            yield layer
            if layer.own("<<"):
                todo += [resolve(to) for k, to in layer.entries if k.text == "<<" and k.style == "plain"]
        elif layer not in seen and isinstance(layer, Sequence):
            todo += [target for item in reversed(layer.items) if isinstance(target := resolve(item), Mapping)]
        seen.add(layer)


WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
"""Plain scalars that are no text, in go-yaml and in Terraform."""
_CONSTANTS: dict[str, Plain] = {
    **WORDS,
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + form: float(f"{sign}inf") for sign in ("", "+", "-") for form in (".inf", ".Inf", ".INF")},
}
_INT = regex(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = regex(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TYPED = tuple("tag:yaml.org,2002:" + name for name in ("float", "int", "bool", "null"))


def children(node: Target) -> tuple[Node, ...]:
    """List the nodes right below a node, aliases as such."""
    if isinstance(node, Mapping):
        return tuple(entry.value for entry in node.entries)
    return node.items if isinstance(node, Sequence) else ()


def walk(node: Node | None) -> Iterator[Target]:
    """Yield a node and all nodes below it, but not the targets of aliases."""
    if node is not None and not isinstance(node, Alias):
        yield node
        for child in children(node):
            yield from walk(child)


def value(node: Scalar) -> Plain:
    """Return the value of a scalar for Kubernetes, partly by YAML 1.1.

    `yes`, `on`, `y` are booleans, `0777` is octal, `1_000` an int, `1e3` a float; quoted scalars, numbers in base 60,
    timestamps and scalars with a tag of their own are texts.
    """
    if node.tag not in _TYPED if node.tag else node.style != "plain":
        return node.text
    result = resolved(node.text)
    return float(result) if node.tag == _TYPED[0] and type(result) is int else result


def resolved(text: str) -> Plain:
    """Return the value of a plain scalar."""
    if text in _CONSTANTS or text[0] not in "0123456789+-.":
        return _CONSTANTS.get(text, text)
    digits = text if text[0] == "." else text.replace("_", "")
    if _INT.fullmatch(digits) and len(digits) < 100:
        unsigned = digits.lstrip("+-")
        number = int(digits, 8 if unsigned[0] == "0" and unsigned.isdecimal() else 0)
        if -(2**63) <= number < (2**63 if digits[0] in "+-" else 2**64):
            return number
    if _FLOAT.fullmatch(digits) and not math.isinf(result := float(digits)):
        return result
    return text


_SAFE = regex(r"""([^\s\-?:,\[\]{}#&*!|>'"%@`]|-(?=[\w./-]))([^,\[\]{}:#?]|:(?=\S)|(?<=\S)#)*(?<! )""")
# Separators, dates, and what other readers of YAML 1.1 take for numbers (base 60, underscores), merges and values.
_ELSEWHERE = regex(
    r"[-+]?0[bBxX]_*|[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?|[-+]?\.?\d[\d_.]*_[\d_.]*([eE][-+]\d+)?"
    r"|\d{4}-\d\d?-\d\d?.*|=|<<|(---|\.\.\.).*"
)


def literal(value: Plain, style: Style = "plain") -> str:
    """Format a scalar on one line so that it reads back as the same value, anywhere.

    It can stand in block or flow, as value or key. `style` is for texts that can be written so; the others get double
    quotes, and numbers none. Raises ValueError if an int that does not fit 64 bits would be read as something else.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{value} does not fit 64 bits")
        return str(value)
    if isinstance(value, float):
        text = repr(value).replace("inf", ".inf").replace("nan", ".nan")
        return text if "." in text else text.replace("e", ".0e")  # `1e+16` is a text to other readers
    if style == "single" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    safe = value.isprintable() and _SAFE.fullmatch(value) and not _ELSEWHERE.fullmatch(value)
    if style != "double" and safe and resolved(value) is value:
        return value
    import json

    # JSON leaves DEL, C1 and the line ends of Unicode as they are.
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
