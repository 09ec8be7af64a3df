"""HCL for fixes: literals in the style of what they replace, attributes inserted as terraform fmt would have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.text import Edit, Source, Span

if TYPE_CHECKING:
    from kcheck.syntax.hcl import nodes
    from kcheck.syntax.insertion import Insertion, Scalar

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ASSIGNMENT = re.compile(r'([ \t]*)([\w-]+|"[^"]*")([ \t]*)=(?!=)')


def literal(value: Scalar, like: str = "") -> str:
    """The value as HCL; a number stays in quotes where what it replaces (`like`) was in quotes."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int):
        text = str(value)
    else:
        escaped = "".join(_ESCAPES.get(character, character) for character in value)
        return f'"{_MARKS.sub(_escaped, escaped)}"'
    return f'"{text}"' if like.startswith('"') else text


_MARKS = re.compile(r"([$%])(\1*)\{")


def _escaped(match: re.Match[str]) -> str:
    """The begin of what would be a template; what would make its escape ambiguous is written by its number."""
    mark, more = match[1], len(match[2])
    return f"\\u{ord(mark):04x}" * more + mark * 2 + "{"


def insert(block: nodes.Block, insertion: Insertion) -> list[Edit]:
    """The edits that write an insertion into a block, in the style of its neighbours."""
    source = block.span.source
    indent = _indent(source, block)
    if source.line_number(block.body.span.start) == source.line_number(block.body.span.end - 1):
        return [_unfold(block, insertion, indent)]
    edits: list[Edit] = []
    if insertion.attributes:
        edits += _insert_attributes(block, insertion.attributes, indent)
    if insertion.blocks:
        at = _line_end(source, _last_end(block))
        equals = "= " if _takes_objects(block) else ""
        text = _blocks(insertion, indent, source.newline, blank=not _is_empty(block), equals=equals)
        edits.append(Edit(source.span(at, at), text))
    return edits


def _is_empty(block: nodes.Block) -> bool:
    return not block.body.entries and not block.body.blocks


def _is_long(source: Source, entry: nodes.Entry) -> bool:
    return source.line_number(entry.span.start) != source.line_number(entry.span.end)


def _takes_objects(block: nodes.Block) -> bool:
    """Whether what is nested in a block is an object: in a module call and in an object, there are no blocks."""
    return block.type in ("module", "")


def _blocks(insertion: Insertion, indent: str, newline: str, *, blank: bool, equals: str = "") -> str:
    parts: list[str] = []
    for name, inner in insertion.blocks.items():
        lines = ["", f"{indent}{name} {equals}{{"] if blank or parts else [f"{indent}{name} {equals}{{"]
        lines += _aligned(inner.attributes, indent + "  ")
        text = newline + newline.join(lines)
        if inner.blocks:
            text += _blocks(inner, indent + "  ", newline, blank=bool(inner.attributes), equals=equals)
        parts.append(f"{text}{newline}{indent}}}")
    return "".join(parts)


def _aligned(attributes: dict[str, Scalar], indent: str) -> list[str]:
    width = max(map(len, attributes), default=0)
    return [f"{indent}{name.ljust(width)} = {literal(value)}" for name, value in attributes.items()]


def _insert_attributes(block: nodes.Block, attributes: dict[str, Scalar], indent: str) -> list[Edit]:
    """After the last attribute that stands before the first nested block, aligned with the lines it joins."""
    source = block.span.source
    newline = source.newline
    nested: list[nodes.Entry | nodes.Block] = [*block.body.blocks]
    if _takes_objects(block):
        nested += [entry for entry in block.body.entries.values() if _is_long(source, entry)]
    first_block = min((inner.span.start for inner in nested), default=block.span.end)
    before = [entry for entry in block.body.entries.values() if entry.span.end <= first_block]
    if not before:
        at = _line_end(source, block.body.span.start)
        blank = newline if block.body.blocks or block.body.entries else ""
        lines = newline.join(_aligned(attributes, indent))
        return [Edit(source.span(at, at), f"{newline}{lines}{blank}")]
    last = max(before, key=lambda entry: entry.span.end)
    chain = _chain(source, last, source.line_number(block.span.start))
    own = max(map(len, attributes))
    width = max((len(name) for name, _, _ in chain), default=0)
    edits: list[Edit] = []
    if own > width and _is_aligned(chain):
        # terraform fmt aligns the whole run of lines, so the longer name moves their `=`
        edits = [
            Edit(gap, " " * (own - len(name) + 1)) for name, _, gap in chain if len(gap.text) != own - len(name) + 1
        ]
    width = max(width, own) if _is_aligned(chain) else own
    lines = newline.join(f"{indent}{name.ljust(width)} = {literal(value)}" for name, value in attributes.items())
    at = _line_end(source, last.span.end)
    edits.append(Edit(source.span(at, at), f"{newline}{lines}"))
    return edits


def _chain(source: Source, last: nodes.Entry, header: int) -> list[tuple[str, int, Span]]:
    """The run of assignment lines that ends with `last`: name, line, and the blanks before each `=`.

    A value over several lines ends the run, as it does for terraform fmt; so does the line of the block's header.
    """
    result: list[tuple[str, int, Span]] = []
    if source.line_number(last.span.start) != source.line_number(last.span.end):
        return result
    number = source.line_number(last.span.start)
    while number > header:
        match = _ASSIGNMENT.match(source.line(number))
        if match is None:
            break
        start = source.line_starts[number - 1] + len(match[1].encode()) + len(match[2].encode())
        if number == 1:
            start += len(source.data[:3]) if source.data.startswith(b"\xef\xbb\xbf") else 0
        result.append((match[2], number, source.span(start, start + len(match[3]))))
        number -= 1
    return result


def _is_aligned(chain: list[tuple[str, int, Span]]) -> bool:
    width = max((len(name) for name, _, _ in chain), default=0)
    return all(len(gap.text) == width - len(name) + 1 for name, _, gap in chain)


def _unfold(block: nodes.Block, insertion: Insertion, indent: str) -> Edit:
    """A block on one line becomes one on several."""
    source = block.span.source
    newline = source.newline
    outer = indent[:-2]
    inner = [f"{entry.name} = {entry.value_span.text}" for entry in block.body.entries.values()]
    width = max(map(len, [*block.body.entries, *insertion.attributes]), default=0)
    old = [f"{indent}{e.name.ljust(width)} = {e.value_span.text}" for e in block.body.entries.values()]
    new = [f"{indent}{name.ljust(width)} = {literal(value)}" for name, value in insertion.attributes.items()]
    text = newline.join(["{", *old, *new])
    if insertion.blocks:
        equals = "= " if _takes_objects(block) else ""
        text += _blocks(insertion, indent, newline, blank=bool(inner or insertion.attributes), equals=equals)
    return Edit(block.body.span, f"{text}{newline}{outer}}}")


def _indent(source: Source, block: nodes.Block) -> str:
    """The indentation of the block's inside: that of its first line, else two more than its own."""
    inside: list[nodes.Entry | nodes.Block] = [*block.body.entries.values(), *block.body.blocks]
    own = source.line_number(block.span.start)
    for item in sorted(inside, key=lambda item: item.span.start):
        number = source.line_number(item.span.start)
        if number != own:
            line = source.line(number)
            return line[: len(line) - len(line.lstrip())]
    line = source.line(own)
    return line[: len(line) - len(line.lstrip())] + "  "


def _last_end(block: nodes.Block) -> int:
    inside: list[nodes.Entry | nodes.Block] = [*block.body.entries.values(), *block.body.blocks]
    return max((item.span.end for item in inside), default=block.body.span.start)


def _line_end(source: Source, at: int) -> int:
    """The end of the line that holds `at`, before its line end; a comment behind the value stays with it."""
    end = source.data.find(b"\n", at)
    end = len(source.data) if end == -1 else end
    return end - 1 if source.data[end - 1 : end] == b"\r" else end
