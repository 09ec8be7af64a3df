"""The rules that comments and annotations name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.engine.annotations import IGNORE
from kcheck.engine.suppressions import COMMENT
from kcheck.report.escape import markdown, markdown_link
from kcheck.report.places import by_name
from kcheck.report.rule import severity, url
from kcheck.text.regex import regex
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.text import Source, Span

_NAMES = regex(rb"[^,\s]+")
_ANNOTATION = regex(rb"[\"']?" + IGNORE.replace(".", "\\.").encode() + rb"[\"']?[ \t]*:[ \t]*[\"']?([^:\n\r\"']*)")


def comment(source: Source, offset: int, snapshot: Snapshot) -> tuple[str, Span] | None:
    """What the rule is that a comment names at a byte: Markdown, and the place of the name."""
    for span in _named(source, offset):
        if span.start <= offset < span.end:
            text = of_rule(span.text, snapshot)
            return (text, span) if text else None
    return None


def _named(source: Source, offset: int) -> Iterator[Span]:
    """The names in the comments and annotations of a line."""
    start = source.line_start(offset) if source.data else 0
    line = source.data[start : source.line_end(offset)]
    for pattern in (COMMENT, _ANNOTATION):
        for found in pattern.finditer(line):
            for name in _NAMES.finditer(found[1]):
                begin = start + found.start(1)
                yield source.span(begin + name.start(), begin + name.end())


def of_rule(name: str, snapshot: Snapshot) -> str:
    """What a rule finds, or what a group of rules is, as Markdown; empty if there is none of that name."""
    every = by_name(snapshot.world)
    rule = every.get(name)
    if rule is not None:
        page = url(rule)
        more = f"\n\n{markdown_link('What it checks, and why', page)}" if page else ""
        return f"**{markdown(rule.name)}** ({markdown(severity(rule))}): {markdown(rule.summary)}.{more}"
    own = [one for one in every.values() if one.group == name]
    rows = [f"- {markdown_link(one.name, url(one))}: {markdown(one.summary)}" for one in own[:_MOST_RULES]]
    rows += [f"- and {len(own) - _MOST_RULES} more"] if len(own) > _MOST_RULES else []
    return "\n".join([f"**{markdown(name)}**: {counted(len(own), 'rule')}", "", *rows]) if own else ""


_MOST_RULES = 12
