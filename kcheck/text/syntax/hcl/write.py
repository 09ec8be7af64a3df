"""Write HCL for fixes: literals, parts of values, and new members."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from itertools import pairwise

from msgspec import Struct

from kcheck.text.files.tree import HCL
from kcheck.text.ip_ranges import parse_cidr, with_newbits
from kcheck.text.keys import Json, MapName
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.insertion import Insertion, sibling
from kcheck.text.text import Edit, Source, Span
from kcheck.text.values import Data, Piece

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NAME = regex(r"[A-Za-z_][\w-]*")
_LAST = ("depends_on", "lifecycle", "provisioner", "connection", "timeouts")
"""Members that people write after all others."""
_WIDTH = 120
"""Longest line on which an object stays, in characters."""
_STEP = regex(rb"^\S[^\n]*[{\[(](?:[ \t]*\r?\n)+([ \t]+)[^\s]", re.MULTILINE)
"""First indentation below a line without one."""
_BLANK = regex(rb"\n[ \t]*\r?\n")
_COMMENT = regex(r"(?:#|//)(?!\s*\S+\s*=)")
"""Begin of a comment, not of an attribute that is commented out."""


def literal(value: Data, like: str = "") -> str:
    """Format a value as HCL on one line, quoted as the old value was."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(name)} = {literal(inner)}' for name, inner in value.items())} }}"
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int):
        text = str(value)
    else:
        escaped = "".join(_ESCAPES.get(character, character) for character in value)
        return f'"{_MARKS.sub(_escaped, escaped)}"'
    return f'"{text}"' if like.startswith('"') else text


_MARKS = regex(r"([$%])(\1*)\{")


def _escaped(match: re.Match[str]) -> str:
    """Escape template markers in a string."""
    mark, more = match[1], len(match[2])
    return f"\\u{ord(mark):04x}" * more + mark * 2 + "{"


def _key(name: str, *, quoted: bool = False) -> str:
    return name if _NAME.fullmatch(name) and not quoted else literal(name)


def inside(text: str) -> str:
    """Format a text for the inside of a template, without quotes."""
    return literal(text)[1:-1]


def template(text: str, pattern: re.Pattern[str], written: Callable[[re.Match[str]], str]) -> str:
    """Format a text as a template; `written` formats each match of a pattern."""
    parts, at = "", 0
    for match in pattern.finditer(text):
        parts += inside(text[at : match.start()]) + written(match)
        at = match.end()
    return f'"{parts}{inside(text[at:])}"'


def insert(block: nodes.Block, insertion: Insertion) -> list[Edit]:
    """Make the edits that write an insertion into a block or object."""
    source = block.span.source
    writer = _Writer(block)
    if source.line_number(block.body.span.start) == source.line_number(block.body.span.end - 1):
        return [writer.inline(insertion.members) or writer.unfold(insertion.members)]
    short = {name: value for name, value in insertion.members.items() if not writer.is_long(value)}
    long = {name: value for name, value in insertion.members.items() if writer.is_long(value)}
    edits = writer.short(short) if short else []
    return [*edits, writer.long(long)] if long else edits


def append(items: nodes.Tuple, insertion: Insertion) -> list[Edit]:
    """Make the edits that add items to a list."""
    source = items.span.source
    texts = [literal(item) for item in insertion.items]
    if not items.items:
        return [_filled(items, texts)]
    last = items.items[-1].span
    before = source.before(last.start)
    comma = source.data[last.end : items.span.end].lstrip().startswith(b",")
    end = source.line_end(last.end)
    if before.strip() or end >= items.span.end:
        return [Edit(source.span(last.end, last.end), "".join(f", {text}" for text in texts))]
    if isinstance(items.items[-1], nodes.Object) and "\n" in last.text:
        like = _Writer(nodes.as_block(items.items[-1]))
        inner = (like.inside(item, like.indent) for item in insertion.items)
        texts = [source.newline.join(("{", *lines, f"{before}}}")) for lines in inner]
    lines = [f"{source.newline}{before}{text}" for text in texts]
    if comma:
        return [Edit(source.span(end, end), "".join(f"{line}," for line in lines))]
    added = Edit(source.span(end, end), ",".join(lines))
    return [Edit(source.span(last.end, last.end), ","), added]


def _filled(items: nodes.Tuple, texts: list[str]) -> Edit:
    """Add the first items to an empty list, after its comments."""
    source, inside = items.span.source, items.span.text[1:-1].rstrip()
    if not inside:
        return Edit(items.span, f"[{', '.join(texts)}]")
    at = items.span.start + 1 + len(inside.encode())
    number = source.line_number(at)
    if number == source.line_number(items.span.start):
        return Edit(source.span(at, at), f" {', '.join(texts)}")
    indent = _blanks(source.line(number))
    return Edit(source.span(at, at), "".join(f"{source.newline}{indent}{text}," for text in texts))


class _Writer:
    """Writes into a block with nested blocks, or into an object with nested objects."""

    def __init__(self, block: nodes.Block) -> None:
        self.block = block
        self.source: Source = block.span.source
        self.entries = sorted(block.body.attributes.values(), key=lambda entry: entry.span.start)
        self.objects = block.type in ("module", "")
        self.quoted = not block.type and bool(self.entries) and all(e.name.startswith('"') for e in self.entries)
        self.indent, self.step = self._indent()

    def line_end(self, offset: int) -> int:
        """Return the end of the line after `offset`, after a comment."""
        end = self.source.line_end(offset)
        if offset < self.block.span.end <= end:
            rest = self.source.data[offset : self.block.span.end]
            return offset + (len(rest) - len(rest.lstrip(b" \t")) + 1 if rest.lstrip(b" \t").startswith(b",") else 0)
        behind = self.source.data[offset:end].lstrip(b" \t,")
        if behind.startswith(b"/*") and b"*/" not in behind:
            return self.line_end(self.source.data.find(b"*/", offset) + 2)
        return end

    def is_long(self, value: Data) -> bool:
        """Whether a value needs several lines."""
        inner = value[0] if isinstance(value, list) and value else value
        return isinstance(inner, dict) and bool(inner)

    def key(self, name: str) -> str:
        return _key(name, quoted=self.quoted) if self.objects else name

    def short(self, members: dict[str, Data]) -> list[Edit]:
        """Insert attributes after a sibling, else after the last one before nested blocks."""
        nested = [inner.span.start for inner in self.block.body.blocks]
        if self.objects:
            nested += [entry.span.start for entry in self.entries if self._is_multiline(entry)]
        before = [entry for entry in self.entries if entry.span.end <= min(nested, default=self.block.span.end)]
        before = [entry for entry in before if entry.name not in _LAST] or before
        before = [entry for entry in before if not self.is_commented(entry)] or before
        single = {entry.name: entry for entry in self.entries if not self._is_multiline(entry)}
        behind: dict[int, list[str]] = {}
        commas: list[Edit] = []
        first: list[str] = []
        for name, value in members.items():
            near = sibling(name, [other for other in single if other not in _LAST])
            anchor = single[near] if near else before[-1] if before else None
            text = f"{self.indent}{self.key(name)}{self.equals(anchor)}{literal(value)}"
            if anchor is None:
                first.append(text)
                continue
            others = behind.setdefault(self.line_end(anchor.span.end), [])
            if self.has_comma(anchor):
                text += ","
            elif anchor is self.entries[-1] and self.has_comma(self.entries[0]):  # commas between, none at the end
                end = self.source.span(anchor.span.end, anchor.span.end)
                others[-1:] = [f"{line}," for line in others[-1:]]
                commas += [] if others else [Edit(end, ",")]
            others.append(text)
        newline = self.source.newline
        added = (Edit(self.source.span(at, at), newline + newline.join(lines)) for at, lines in behind.items())
        edits = [*commas, *added]
        if first:
            at = self.line_end(self.block.body.span.start)
            blank = newline if self.block.body.blocks or self.entries else ""
            edits.append(Edit(self.source.span(at, at), newline + newline.join(first) + blank))
        return edits

    def is_commented(self, entry: nodes.Attribute) -> bool:
        """Whether a comment introduces the lines around an attribute."""
        first, last = (self.source.line_number(item.span.start) for item in (self.block, entry))
        for number in range(last - 1, first, -1):
            line = self.source.line(number).strip()
            if not line or _COMMENT.match(line):
                return bool(line)
        return False

    def equals(self, entry: nodes.Attribute | None) -> str:
        """Return the text between a key and its value; objects may have a colon there."""
        if entry is None or not self.objects:
            return " = "
        between = self.source.data[entry.span.start + len(entry.name.encode()) : entry.value_span.start].decode()
        return between if between.strip() == ":" else " = "

    def has_comma(self, entry: nodes.Attribute) -> bool:
        behind = self.source.data[entry.span.end : self.block.span.end].lstrip(b" \t")
        return not self.block.type and behind.startswith(b",")

    def inline(self, members: dict[str, Data]) -> Edit | None:
        """Add members to a short object on one line; None if it needs several lines."""
        if self.block.type or not self.entries or any(map(self.is_long, members.values())):
            return None
        end, equals = self.entries[-1].span.end, self.equals(self.entries[-1])
        text = "".join(f", {self.key(name)}{equals}{literal(value)}" for name, value in members.items())
        line = self.source.line(self.source.line_number(end))
        return Edit(self.source.span(end, end), text) if len(line) + len(text) <= _WIDTH else None

    def long(self, members: dict[str, Data]) -> Edit:
        inside: list[nodes.Attribute | nodes.Block] = [entry for entry in self.entries if entry.name not in _LAST]
        inside += [inner for inner in self.block.body.blocks if inner.type not in _LAST]
        at = self.line_end(max((item.span.end for item in inside), default=self.block.body.span.start))
        comma = "," if self.entries and self.has_comma(self.entries[-1]) else ""
        lines: list[str] = []
        for name, value in members.items():
            lines += self.lines({name: value}, self.indent, blank=bool(inside or lines))
            lines[-1] += comma
        return Edit(self.source.span(at, at), "".join(self.source.newline + line for line in lines))

    def lines(self, members: dict[str, Data], indent: str, *, blank: bool) -> list[str]:
        """Format members as lines, nested blocks apart."""
        result = [f"{indent}{self.key(n)} = {literal(v)}" for n, v in members.items() if not self.is_long(v)]
        for name, value in members.items():
            if not self.is_long(value):
                continue
            items = value if isinstance(value, list) else [value]
            gap = [""] if self.is_apart(name) else []
            if self.objects and isinstance(value, list):
                result += gap if blank or result else []
                result.append(f"{indent}{self.key(name)} = [")
                for item in items:
                    deep = indent + self.step
                    result += [f"{deep}{{", *self.inside(item, deep + self.step), f"{deep}}},"]
                result.append(f"{indent}]")
                continue
            opening, closing, writer = f"{self.key(name)} = {{" if self.objects else f"{name} {{", "}", self
            if isinstance(name, MapName):
                opening, writer = f"{name} = {{", self.of_objects()
            elif isinstance(name, Json):
                opening, closing, writer = f"{self.key(name)} = jsonencode({{", "})", self.of_objects()
            for item in items:
                result += gap if blank or result else []
                result += [f"{indent}{opening}", *writer.inside(item, indent + self.step), f"{indent}{closing}"]
        return result

    def is_apart(self, name: str) -> bool:
        """Whether a blank line precedes a nested member."""
        if not self.objects and not isinstance(name, MapName):
            return True
        gaps = [
            self.source.data[before.span.end : after.span.start]
            for before, after in pairwise(self.entries)
            if self._is_multiline(before) or self._is_multiline(after)
        ]
        return any(map(_BLANK.search, gaps)) if gaps else not isinstance(name, MapName)

    def of_objects(self) -> _Writer:
        inner = copy(self)
        inner.objects, inner.quoted = True, False
        return inner

    def inside(self, item: Data, indent: str) -> list[str]:
        return self.lines(item, indent, blank=False) if isinstance(item, dict) else []

    def unfold(self, members: dict[str, Data]) -> Edit:
        """Rewrite a block on one line as one on several."""
        newline, outer = self.source.newline, self.indent.removesuffix(self.step)
        old = [f"{self.indent}{entry.name} = {entry.value_span.text}" for entry in self.entries]
        inside = self.block.body.span.text[1:-1].strip()
        if "/*" in inside:  # what is said there stays where it is said
            old = [f"{self.indent}{inside}"]
        lines = self.lines(members, self.indent, blank=False)
        new = ["", *lines] if old and lines and self.is_long(next(iter(members.values()))) else lines
        return Edit(self.block.body.span, newline.join(["{", *old, *new, f"{outer}}}"]))

    def _is_multiline(self, entry: nodes.Attribute) -> bool:
        return self.source.line_number(entry.span.start) != self.source.line_number(entry.span.end)

    def _indent(self) -> tuple[str, str]:
        """Return the indentation of the block's body, and the step from its parent."""
        inside: list[nodes.Attribute | nodes.Block] = [*self.entries, *self.block.body.blocks]
        own = self.source.line_number(self.block.span.start)
        outer = _blanks(self.source.line(own))
        for item in sorted(inside, key=lambda item: item.span.start):
            number = self.source.line_number(item.span.start)
            if number != own:
                indent = _blanks(self.source.line(number))
                return indent, indent.removeprefix(outer) if indent.startswith(outer) and indent > outer else "  "
        found = _STEP.search(self.source.data)
        step = found[1].decode() if found else "  "
        return outer + step, step


def _blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


class Part(Struct, frozen=True):
    """A literal in a computed value: its span and new text."""

    span: Span
    value: str | int


def literal_to_change(span: Span, old: str, new: str) -> Part | None:
    """Find the literal to change so that the expression returns `new`.

    It is in the new bits of `cidrsubnet`, or the text at the beginning or the end of a template. None for other forms.
    """
    expression = _expression(span)
    if isinstance(expression, nodes.Call):
        return _newbits(expression, old, new)
    if not isinstance(expression, nodes.Template) or not expression.quoted:
        return None
    first, last = expression.parts[0], expression.parts[-1]
    if isinstance(last, Piece) and old.endswith(last.text) and new.startswith(old.removesuffix(last.text)):
        return _text(last, new.removeprefix(old.removesuffix(last.text)))
    if isinstance(first, Piece) and old.startswith(first.text) and new.endswith(old.removeprefix(first.text)):
        return _text(first, new.removesuffix(old.removeprefix(first.text)))
    return None


def _expression(span: Span) -> nodes.Expression | None:
    """Find the expression at a span; None if it is not in HCL."""
    if not span.source.path.endswith(HCL):
        return None
    from kcheck.text.syntax.hcl import names

    return names.expression_at(span)


def _newbits(call: nodes.Call, old: str, new: str) -> Part | None:
    """Return the change of a `cidrsubnet` call's new bits; else None."""
    network, wanted = parse_cidr(old), parse_cidr(new)
    if call.name != "cidrsubnet" or len(call.arguments) != 3 or network is None or wanted is None:
        return None
    bits = call.arguments[1]
    if not isinstance(bits, nodes.Literal) or type(bits.value) is not int:
        return None
    more = bits.value - network.prefixlen + wanted.prefixlen
    return Part(bits.span, more) if with_newbits(network, bits.value, more) == wanted else None


def _text(text: Piece, new: str) -> Part | None:
    """Return the change of a template's text; None if it needs escapes."""
    plain = new and not any(character in new for character in '"\\$%\n')
    return Part(text.span, new) if text.span.text == text.text and plain else None
