"""Add members to maps and items to lists in YAML."""

import re
from collections.abc import Iterable

from kcheck.text.keys import Json
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.syntax.insertion import Insertion, sibling
from kcheck.text.syntax.yaml_style import Style, column, style_of
from kcheck.text.text import Edit, Source, Span
from kcheck.text.values import Data

_NULLS = ("", "null", "Null", "NULL", "~")
_ALIAS = regex(rb"(?<=[\s:,\[-])\*(?=[\w.-])")
_FILLED = regex(rb"\$\{[^}\n]*\}")


def edits_to_add(container: Span, insertion: Insertion) -> list[Edit] | None:
    """Make the edits that add to the map or list at a span; None if there is none."""
    if any(isinstance(name, Json) for name in insertion.members):
        return None
    if container.text.strip() in _NULLS:
        return _filled(container, insertion)
    node = _read(container)
    if isinstance(node, yaml.Sequence):
        return _items(node, insertion) if node.items else _filled(container, insertion)
    if isinstance(node, yaml.Mapping) and not node.entries:
        return _filled(container, insertion)
    if isinstance(node, yaml.Mapping) and not insertion.items:
        is_plain = node.flow or node.entries[0].key.start == node.start  # `? key` begins at another column
        return _members(node, insertion) if is_plain else None
    return None


def _read(container: Span) -> yaml.Target | None:
    """Parse the node at a span again, with everything around it blanked.

    Aliases are read as text, since their targets are elsewhere.
    """
    source, start = container.source, container.start
    before = len(source.before(start))
    inside = _FILLED.sub(lambda match: b"x" * len(match[0]), source.data[start : container.end])
    part = b" " * before + _ALIAS.sub(b"x", inside)
    root = next((document.root for document in yaml.read_part(source, part, start - before)), None)
    return root if root is not None and root.start == start else None


# --- maps


def _members(node: yaml.Mapping, insertion: Insertion) -> list[Edit] | None:
    style = _own_style(node)
    behind: dict[int, dict[str, Data]] = {}
    result: list[Edit] = []
    for name, value in insertion.members.items():
        old = node.own(name)
        if old is None:
            behind.setdefault(_place(node, name, value), {})[name] = value
            continue
        found = _given(yaml.resolve(old.value), value, style)
        if found is None:
            return None
        result += found
    add = _in_flow if node.flow else _in_block
    for at, members in behind.items():
        short_first = sorted(members.items(), key=lambda member: isinstance(member[1], dict | list))
        result += add(node, at, dict(short_first), style)
    return result


def edits_to_add_last(node: yaml.Mapping, members: dict[str, Data]) -> list[Edit]:
    """Make the edits that append large members to a map, such as jobs of a pipeline."""
    style = _own_style(node)
    if node.flow:
        return _in_flow(node, len(node.entries) - 1, members, style)
    keys = [entry.key for entry in node.entries]
    source, indent = node.source, " " * column(keys[0])
    last = max(node.entries[-1].value.end - 1, keys[-1].start)
    is_apart = len(keys) > 1 and _is_apart(source, keys[-1].start)
    return _below(source, last, indent, (style.lines({name: value}) for name, value in members.items()), is_apart)


def _below(source: Source, at: int, indent: str, parts: Iterable[Iterable[str]], is_apart: bool = False) -> list[Edit]:
    """Add parts as lines below the part at `at`."""
    end, gap = _own_end(source, at, len(indent)), source.newline if is_apart else ""
    lines = (f"{'' if i else gap}{source.newline}{indent}{line}" for part in parts for i, line in enumerate(part))
    return [Edit(source.span(end, end), "".join(lines))]


def _is_apart(source: Source, at: int) -> bool:
    number = source.line_number(at) - 1
    while number > 1 and source.line(number).lstrip().startswith("#"):
        number -= 1
    return not source.line(number).strip()


def _given(node: yaml.Target, value: Data, style: Style) -> list[Edit] | None:
    """Set a member that exists as null; None if it has a value."""
    if isinstance(value, dict):
        return edits_to_add(node.span, Insertion(members=value))
    if isinstance(value, list):
        return edits_to_add(node.span, Insertion(items=value))
    if node.span.text not in _NULLS:
        return None
    text = style.flow(value)
    return [Edit(node.span, text if node.span.text else f" {text}")]


def _own_style(node: yaml.Mapping) -> Style:
    nested = [entry.value for entry in node.entries if isinstance(entry.value, yaml.Mapping) and not entry.value.flow]
    own = column(node.entries[0].key)
    step = next((inner - own for inner in map(column, nested) if inner > own), 0)
    values = [yaml.resolve(entry.value) for entry in node.entries]
    return style_of(node.span, [entry.key for entry in node.entries], values, step)


def _place(node: yaml.Mapping, name: str, value: Data) -> int:
    """Return the index of the member to add after; -1 is the top.

    Lists go last.
    """
    if isinstance(value, list):
        return len(node.entries) - 1
    short = {entry.key.text: i for i, entry in enumerate(node.entries) if _is_short(entry)}
    near = sibling(name, [other for other in short if other != "apiVersion"])  # kind goes there
    return short[near] if near is not None else max(short.values(), default=-1)


def _is_short(entry: yaml.Pair) -> bool:
    """Whether a member is a single value on the line of its key."""
    value, source = yaml.resolve(entry.value), entry.key.source
    return isinstance(value, yaml.Scalar) and source.line_number(entry.key.start) == source.line_number(
        max(value.end - 1, entry.key.start)
    )


def _in_block(node: yaml.Mapping, at: int, members: dict[str, Data], style: Style) -> list[Edit]:
    """Add lines after the member `at`, or before the first one for -1."""
    source, lines = node.source, style.lines(members)
    indent = " " * column(node.entries[0].key)
    if at >= 0:
        entry = node.entries[at]
        return _below(source, max(entry.value.end - 1, entry.key.start), indent, [lines])
    start = _commented(source, node.entries[0].key.start)
    return [Edit(source.span(start, start), "".join(f"{line}{source.newline}{indent}" for line in lines))]


def _own_end(source: Source, at: int, column: int) -> int:
    """Return the end of the part at `at`, with indented comments below it."""
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
    """Return the start of the comments right above `at`."""
    number, before = source.line_number(at), source.before(at)
    if before.strip():
        return at
    while number > 1 and source.line(number - 1).startswith(f"{before}#"):
        number -= 1
        at = source.data.index(b"#", source.line_starts[number - 1])
    return at


def _in_flow(node: yaml.Mapping, at: int, members: dict[str, Data], style: Style) -> list[Edit]:
    """Add members to a map in braces after the member `at`."""
    source, first = node.source, node.entries[0].key.start
    indent = _margin(node, first if at < 0 else node.entries[at].key.start)
    broken = indent is not None and _is_broken(node)
    texts = style.members(members, f"{source.newline}{indent}" if broken else "")
    if at < 0:
        start = _commented(source, first)
        between = ", " if indent is None else f",{source.newline}{indent}"
        return [Edit(source.span(start, start), "".join(f"{text}{between}" for text in texts))]
    return _listed(node, node.entries[at].value.end, indent, texts, last=at == len(node.entries) - 1)


def _is_broken(node: yaml.Mapping) -> bool:
    """Whether nested maps and lists of a map in braces all cover several lines."""
    source = node.source
    inner = [value.span for _, value in node.entries if isinstance(value, yaml.Mapping | yaml.Sequence)]
    spans = [span for span in inner if span.text.strip("{}[] \t\r\n")] or [node.span]
    return all(source.line_number(span.start) < source.line_number(span.end) for span in spans)


def _margin(node: yaml.Mapping | yaml.Sequence, at: int) -> str | None:
    """Return the indentation of a part in braces that begins a line."""
    before = node.source.before(at)
    return None if before.strip() else before


def _listed(
    node: yaml.Mapping | yaml.Sequence, end: int, indent: str | None, texts: list[str], *, last: bool
) -> list[Edit]:
    """Add texts after a part in braces that ends at `end`; its comment stays with it."""
    source = node.source
    if indent is None:
        return [Edit(source.span(end, end), "".join(f", {text}" for text in texts))]
    between = f",{source.newline}{indent}"
    line = source.line_end(end)
    comma, sign, _ = source.data[end:line].partition(b"#")
    if not sign or comma.strip() not in (b"", b",") or (not last and not comma.strip()):
        return [Edit(source.span(end, end), "".join(f"{between}{text}" for text in texts))]
    text = f"{source.newline}{indent}{between.join(texts)}"
    if comma.strip():
        return [Edit(source.span(line, line), f"{text},")]
    return [Edit(source.span(end, end), ","), Edit(source.span(line, line), text)]


def _items(node: yaml.Sequence, insertion: Insertion) -> list[Edit]:
    """Append items to a list that is not empty, in the style of the last one."""
    source = node.source
    last = yaml.resolve(node.items[-1])
    flags = [item for name, value in insertion.members.items() for item in _flag(node, name, value)]
    inner = list(last.entries) if isinstance(last, yaml.Mapping) else []
    near = [yaml.resolve(entry.value) for entry in inner] if inner else [last]
    if flags:  # a value in an item of its own has the quotes that it needs
        near = [item for item in yaml.scalars(node) if item.text.startswith("--")] or near
    # what is in the last item stands nearer to a new one than what is around the list
    style = style_of(source.span(last.end, last.end), [entry.key for entry in inner], near)
    items = [*flags, *insertion.items]
    if node.flow:
        margin = _margin(node, last.start)
        wide = margin is not None and last.span.text[:1] in ("{", "[") and "\n" in last.span.text
        texts = [style.flow(item, f"{source.newline}{margin}" if wide else "") for item in items]
        return _listed(node, last.end, margin, texts, last=True)
    indent = " " * column(node)
    is_apart = len(node.items) > 1 and all(_is_apart(source, one.start) for one in node.items[1:])
    return _below(source, max(last.end - 1, node.items[-1].start), indent, map(style.item, items), is_apart)


def _flag(node: yaml.Sequence, name: str, value: Data) -> list[str]:
    """Format a flag as one or two list items, like its neighbours."""
    written = [item.text for item in yaml.scalars(node)]
    apart = [text for text in written if text.startswith("--")]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if apart and not any("=" in flag for flag in apart) and len(apart) < len(written):
        return [name, text]
    return [f"{name}={text}"]


def _filled(container: Span, insertion: Insertion) -> list[Edit] | None:
    """Fill an empty or null map or list: below its key, or in braces."""
    source = container.source
    value: Data = insertion.members or insertion.items
    before = source.before(container.start)
    key = re.fullmatch(r"(\s*(?:- +)*)([^\s#{\[,].*)?:\s*", before)
    end = source.line_end(container.end)
    rest = source.data[container.end : end].strip()
    style = style_of(container, [], [])
    if (
        key is None
        or (rest and not rest.startswith(b"#"))
        or source.path.endswith(".json")
        or _in_brackets(source, end)
    ):
        text = style.flow(value)
        if container.text:
            return [Edit(container, text)]
        return [Edit(container, f" {text}")] if before[-1:] in (":", "-") else None
    indent = " " * len(key[1])
    if insertion.members:
        lines = [" " * style.step + text for text in style.lines(insertion.members)]
    else:
        lines = [" " * style.dash + text for item in insertion.items for text in style.item(item)]
    text = "".join(f"{source.newline}{indent}{line}" for line in lines)
    bare = len(source.data[: container.start].rstrip(b" \t"))
    if rest:  # a comment stays behind the key
        gone = [Edit(source.span(bare, container.end), "")] if container.text else []
        return [*gone, Edit(source.span(end, end), text)]
    return [Edit(source.span(bare, end), text)]


_NEXT = regex(rb"(?:\s|#[^\n]*)*([},\]])?")


def _in_brackets(source: Source, at: int) -> bool:
    """Whether the end of a line is in braces or brackets that close below."""
    match = _NEXT.match(source.data, at)
    return match is not None and match[1] is not None
