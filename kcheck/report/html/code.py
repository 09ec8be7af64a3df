"""Code in a page: the lines around a finding, and the diff of a fix."""

from collections.abc import Iterator
from typing import NamedTuple

from kcheck.report.text import attribute_text
from kcheck.text.files.save import LineMatcher
from kcheck.text.findings import Finding
from kcheck.text.regex import regex
from kcheck.text.syntax import edit
from kcheck.text.text import Edit, OverlapError, Source, Span, grouped
from kcheck.text.units import clipped, counted

_AROUND = 2
"""Context lines before and after a place or a change."""
_WIDEST = 160
_MOST_CHANGED = 60
_MOST_BYTES = 1_000_000
"""Size of the largest file whose changes are shown."""
_WORDS = r"(?:passw|passphrase|secret|token|credential|private_?key|api_?key|access_?key|connection_?string|dsn)"
_SECRET = regex(rf"(?i)^(.*{_WORDS}.*?[:=]\s*)\S.*$")
_NAME, _VALUE = regex(rf"(?i)\bname\b.*{_WORDS}"), regex(r"^(\W*value\W*[:=]\s*)\S.*$")
"""Name of a secret, and the next line with its value, as in a container's environment."""
_OPAQUE = regex(r"[\w+/=-]{40,}|(?<=://)[^/\s@]+(?=@)")
"""Long opaque words, and credentials in an address."""


class Line(NamedTuple):
    """A line of code; `marked` is the part a finding is about."""

    number: int | None
    before: str
    marked: str = ""
    after: str = ""


class Changed(NamedTuple):
    """A diff line; `kind` is added, removed, same or place."""

    kind: str
    text: str


def excerpt(span: Span) -> list[Line]:
    """List the lines around a span and mark it; in a plan, show only the attribute."""
    source, begin, end = span.source, span.begin, span.finish
    if source.private:
        text = attribute_text(span)
        return [Line(None, "", text)] if text else []
    last = len(source.line_starts)
    numbers = range(max(1, begin.line - _AROUND), min(last, begin.line + _AROUND) + 1)
    if not source.line(begin.line).strip():
        return []
    texts = {number: source.line(number).replace("\t", " ") for number in numbers}
    indent = min(len(text) - len(text.lstrip()) for text in texts.values() if text.strip())
    indent = min(indent, begin.column - 1)
    lines: list[Line] = []
    for number, text in texts.items():
        if number == begin.line:
            to = end.column - 1 if end.line == begin.line else len(text)
            lines.append(_marked(number, text[indent:], begin.column - 1 - indent, max(to, begin.column) - indent))
        elif text.startswith("---"):  # another object of YAML
            if number > begin.line:
                break
            lines = []
        else:
            above = source.line(number - 1) if number > 1 else ""
            lines.append(Line(number, concealed(text[indent:], above)))
    while lines and not lines[-1].before.strip() and not lines[-1].marked:
        lines.pop()
    while lines and not lines[0].before.strip() and not lines[0].marked:
        lines.pop(0)
    return lines


def _marked(number: int, text: str, start: int, end: int) -> Line:
    before, marked, after = text[:start], text[start:end], text[end:]
    if len(text) > _WIDEST and start > _WIDEST // 2:
        before = f"...{before[-_WIDEST // 4 :]}"
    room = max(_WIDEST - len(before), _WIDEST // 4)
    return Line(number, before, clipped(marked, room), "" if len(marked) > room else clipped(after, room - len(marked)))


def concealed(text: str, above: str = "") -> str:
    """Mask likely secrets in a context line.

    `above` is the line before it, which may hold the name of its value.
    """
    text = _SECRET.sub(r"\1...", text[: 2 * _WIDEST])
    text = _VALUE.sub(r"\1...", text) if _NAME.search(above[:_WIDEST]) else text
    return clipped(_OPAQUE.sub("...", text), _WIDEST)


def fix_lines(finding: Finding) -> list[Changed]:
    """Return a finding's fix as a diff; empty if the fix can only be described."""
    try:
        by_source = grouped(edit.edits(finding.changes), lambda one: one.span.source)
        found = [line for source, own in by_source.items() for line in _file(source, own)]
    except (edit.EditError, OverlapError):
        return []
    more = len(found) - _MOST_CHANGED
    return found if more <= 0 else [*found[:_MOST_CHANGED], Changed("place", f"and {counted(more, 'more line')}")]


def _file(source: Source, edits: list[Edit]) -> Iterator[Changed]:
    if source.private or len(source.data) > _MOST_BYTES:
        return
    old, new = source.data.split(b"\n"), edit.apply_edits(source, edits).split(b"\n")
    for steps in LineMatcher(old, new).get_grouped_opcodes(_AROUND):
        yield Changed("place", f"{source.path}:{steps[steps[0][0] == 'equal'][1] + 1}")
        for kind, start, stop, to, until in steps:
            if kind == "equal":
                yield from _same(old, start, stop)
            else:
                yield from (Changed("removed", clipped(_text(line), _WIDEST)) for line in old[start:stop])
                yield from (Changed("added", clipped(_text(line), _WIDEST)) for line in new[to:until])


def _same(lines: list[bytes], start: int, end: int) -> Iterator[Changed]:
    for number in range(start, end):
        above = _text(lines[number - 1]) if number else ""
        yield Changed("same", concealed(_text(lines[number]), above))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r").replace("\t", " ")
