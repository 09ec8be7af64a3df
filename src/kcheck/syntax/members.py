"""New members of maps and items of lists in YAML, in the style of their neighbours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kcheck.syntax import yaml
from kcheck.syntax.insertion import sibling
from kcheck.text import Edit, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.syntax.insertion import Insertion
    from kcheck.text import Span
    from kcheck.values import Data

_NULLS = ("", "null", "~", "{}", "[]")
_ALIAS = re.compile(rb"(?<=[\s:,\[-])\*(?=[\w.-])")
_FILLED = re.compile(rb"\$\{[^}\n]*\}")
_FLAT = re.compile(rb"^( *)[\w.\"'/-]+:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*\1- ", re.MULTILINE)
_DEEP = re.compile(rb"^( *)[\w.\"'/-]+:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*\1 +- ", re.MULTILINE)
_STEP = re.compile(rb"^([\w.\"'/-]+):[ \t]*(?:#.*)?\r?\n( +)[\w\"']", re.MULTILINE)


def added(container: Span, insertion: Insertion) -> list[Edit] | None:
    """The edits that add to the map or list at a span; None if none is found there."""
    if container.text.strip() in _NULLS:
        return _filled(container, insertion)
    node = _read(container)
    if isinstance(node, yaml.Sequence):
        return _items(node, insertion)
    if isinstance(node, yaml.Mapping):
        return _in_flow(node, insertion) if node.flow else _in_block(node, insertion)
    return None


def _read(container: Span) -> yaml.Target | None:
    """The node at a span, read again where it stands: all around it is blanked, also where a template is."""
    source, data = container.source, container.source.data
    blank = b" " * len(source.before(container.start))
    inside = _FILLED.sub(lambda match: b"x" * len(match[0]), data[container.start : container.end])
    for text in (inside, _ALIAS.sub(b"x", inside)):
        part = Source(source.path, blank + text)
        root = next((document.root for document in yaml.documents(part)), None)
        if root is not None and root.start == len(blank):
            return _moved(root, source, container.start - len(blank))
    return None


def _moved(node: yaml.Target, source: Source, by: int) -> yaml.Target:
    """A list or a map, and what is in it, at its place in the file."""
    if isinstance(node, yaml.Scalar):
        return yaml.Scalar(source, node.start + by, node.end + by, node.anchor, node.text, node.style, node.tag)
    at = (source, node.start + by, node.end + by, node.anchor)
    if isinstance(node, yaml.Sequence):
        return yaml.Sequence(*at, tuple(_moved(yaml.resolve(item), source, by) for item in node.items), node.flow)
    entries = ((_moved(e.key, source, by), _moved(yaml.resolve(e.value), source, by)) for e in node.entries)
    return yaml.Mapping(
        *at, tuple(yaml.Entry(key, value) for key, value in entries if isinstance(key, yaml.Scalar)), node.flow
    )


class _Style(NamedTuple):
    """How neighbours are written: the quotes of keys and texts, the indentation of maps and of lists in them."""

    keys: yaml.Style
    texts: yaml.Style
    step: int
    dash: int

    def lines(self, members: dict[str, Data]) -> Iterator[str]:
        """Members of a map in block style."""
        for name, value in members.items():
            key = yaml.literal(name, self.keys)
            if isinstance(value, dict) and value:
                yield f"{key}:"
                yield from (" " * self.step + line for line in self.lines(value))
            elif isinstance(value, list) and value:
                yield f"{key}:"
                yield from (" " * self.dash + line for item in value for line in self.item(item))
            else:
                yield f"{key}: {self.flow(value)}"

    def item(self, item: Data) -> Iterator[str]:
        """An item of a list in block style."""
        lines = list(self.lines(item)) if isinstance(item, dict) and item else [self.flow(item)]
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])

    def flow(self, value: Data) -> str:
        """A value in flow style."""
        if isinstance(value, dict):
            return f"{{{', '.join(self.members(value))}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self.flow, value))}]"
        return yaml.literal(value, self.texts)

    def members(self, members: dict[str, Data]) -> Iterator[str]:
        """Members of a map in flow style."""
        return (f"{yaml.literal(name, self.keys)}: {self.flow(value)}" for name, value in members.items())


def _style(source: Source, keys: Iterable[yaml.Target], texts: Iterable[yaml.Target], step: int = 0) -> _Style:
    if source.path.endswith(".json"):
        return _Style("double", "double", 2, 2)
    data = source.data
    found = _STEP.search(data)
    flat = _FLAT.search(data) is not None or _DEEP.search(data) is None
    step = step or (len(found[2]) if found else 2)
    key = next(iter(keys), None)
    texts = [text for text in texts if isinstance(text, yaml.Scalar) and isinstance(yaml.value(text), str)]
    return _Style(quotes(key) if key else "plain", quotes(texts[-1]) if texts else "plain", step, 0 if flat else step)


def quotes(node: yaml.Target) -> yaml.Style:
    """The quotes of a text."""
    quote = node.span.text[:1]
    return "double" if quote == '"' else "single" if quote == "'" else "plain"


def _own_style(node: yaml.Mapping) -> _Style:
    nested = [entry.value for entry in node.entries if isinstance(entry.value, yaml.Mapping) and not entry.value.flow]
    column = _column(node.entries[0].key) if node.entries else 0
    step = next((inner - column for inner in map(_column, nested) if inner > column), 0)
    values = [yaml.resolve(entry.value) for entry in node.entries]
    return _style(node.source, [entry.key for entry in node.entries], values, step)


def _in_flow(node: yaml.Mapping, insertion: Insertion) -> list[Edit]:
    """New last members of a map in braces; each on its own line where the last one is."""
    texts = list(_own_style(node).members(insertion.members))
    return [_listed(node, node.entries[-1].value.end, node.entries[-1].key.start, texts)]


def _listed(node: yaml.Mapping | yaml.Sequence, end: int, last: int, texts: list[str]) -> Edit:
    """What is added behind the last part of a list or map in brackets, which begins at `last`."""
    source = node.source
    before = source.before(last)
    between = f",{source.newline}{before}" if not before.strip() else ", "
    return Edit(source.span(end, end), "".join(f"{between}{text}" for text in texts))


def _in_block(node: yaml.Mapping, insertion: Insertion) -> list[Edit]:
    """New members: behind a sibling, behind the last single value, or before all that is nested; lists come last."""
    style = _own_style(node)
    short = [entry for entry in node.entries if _is_short(entry)]
    behind: dict[int, dict[str, Data]] = {}
    for name, value in insertion.members.items():
        near = sibling(name, [entry.key.text for entry in short])
        at = next((i for i, entry in enumerate(node.entries) if entry in short and entry.key.text == near), -1)
        if near is None or isinstance(value, list):
            single = [i for i, entry in enumerate(node.entries) if entry in short]
            at = len(node.entries) - 1 if isinstance(value, list) else single[-1] if single else -1
        behind.setdefault(at, {})[name] = value
    return [_line_behind(node, at, list(style.lines(members))) for at, members in behind.items()]


def _is_short(entry: yaml.Entry) -> bool:
    """Whether a member is a single value on the line of its key."""
    value, source = yaml.resolve(entry.value), entry.key.source
    return isinstance(value, yaml.Scalar) and source.line_number(entry.key.start) == source.line_number(
        max(value.end - 1, entry.key.start)
    )


def _line_behind(node: yaml.Mapping, at: int, lines: list[str]) -> Edit:
    """New lines behind the member `at`, or before the first one and its comments."""
    source = node.source
    indent = " " * _column(node.entries[0].key)
    if at >= 0:
        entry = node.entries[at]
        end = _own_end(source, max(entry.value.end - 1, entry.key.start), len(indent))
        return Edit(source.span(end, end), "".join(f"{source.newline}{indent}{line}" for line in lines))
    start = _commented(source, node.entries[0].key.start)
    between = f"{source.newline}{indent}"
    return Edit(source.span(start, start), between.join([*lines, ""]))


def _own_end(source: Source, at: int, column: int) -> int:
    """The end of what stands at `at`: comments below it that are further in than `column` are part of it."""
    number = last = source.line_number(at)
    while number < len(source.line_starts):
        number += 1
        line = source.line(number)
        if not line.strip():
            continue
        if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) <= column:
            break
        last = number
    return source.line_end(source.line_starts[last - 1] if last > source.line_number(at) else at)


def _commented(source: Source, at: int) -> int:
    """Where the comment begins that stands right above what is at `at`, at its column; `at` without one."""
    number, before = source.line_number(at), source.before(at)
    if before.strip():
        return at
    while number > 1 and source.line(number - 1).startswith(f"{before}#"):
        number -= 1
        at = source.line_starts[number - 1] + len(before)
    return at


def _items(node: yaml.Sequence, insertion: Insertion) -> list[Edit]:
    """New last items of a list that has some, in the style of the last one."""
    source = node.source
    last = yaml.resolve(node.items[-1])
    flags = [item for name, value in insertion.members.items() for item in _flag(node, name, value)]
    inner = list(last.entries) if isinstance(last, yaml.Mapping) else []
    texts = [yaml.resolve(entry.value) for entry in inner] if inner else [last]
    style = _style(source, [entry.key for entry in inner], texts)
    items = [*flags, *insertion.items]
    if node.flow:
        return [_listed(node, last.end, last.start, list(map(style.flow, items)))]
    indent = " " * _column(node)
    end = _own_end(source, max(last.end - 1, node.items[-1].start), len(indent))
    lines = (f"{source.newline}{indent}{line}" for item in items for line in style.item(item))
    return [Edit(source.span(end, end), "".join(lines))]


def _flag(node: yaml.Sequence, name: str, value: Data) -> list[str]:
    """A flag as items: one of its own and its value where the others are written so."""
    written = [item.text for item in map(yaml.resolve, node.items) if isinstance(item, yaml.Scalar)]
    apart = [text for text in written if text.startswith("--")]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if apart and not any("=" in flag for flag in apart) and len(apart) < len(written):
        return [name, text]
    return [f"{name}={text}"]


def _filled(container: Span, insertion: Insertion) -> list[Edit] | None:
    """What is written into a map or list that is empty or null: below its key, in braces where that is not at hand."""
    source = container.source
    value: Data = insertion.members or insertion.items
    key = re.fullmatch(r"(\s*(?:- +)*)([^\s#{\[].*)?:\s*", source.before(container.start))
    rest = source.data[container.end : source.line_end(container.end)].strip()
    style = _style(source, [], [])
    if key is None or (rest and not rest.startswith(b"#")) or source.path.endswith(".json"):
        return None if not container.text else [Edit(container, style.flow(value))]
    indent = " " * len(key[1])
    if insertion.members:
        lines = [" " * style.step + text for text in style.lines(insertion.members)]
    else:
        lines = [" " * style.dash + text for item in insertion.items for text in style.item(item)]
    text = "".join(f"{source.newline}{indent}{line}" for line in lines)
    bare = source.data[: container.start].rstrip(b" \t")
    if rest:  # a comment stays behind the key
        end = source.line_end(container.end)
        gone = Edit(source.span(container.start, container.end), "")
        return [*([gone] if container.text else []), Edit(source.span(end, end), text)]
    return [Edit(source.span(len(bare), container.end), text)]


def _column(node: yaml.Target) -> int:
    """How many characters stand before a node on its line."""
    return len(node.source.before(node.start))
