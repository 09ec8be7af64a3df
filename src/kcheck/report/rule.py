"""A rule as a page, and the list of rules."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from kcheck.bundled import RULES
from kcheck.units import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.profiles import Entry
    from kcheck.rules import Rule


def url(rule: Rule) -> str:
    """Where a rule is explained; empty for one of the user's own."""
    home = "https://github.com/kcheck/kcheck/blob/main/docs/rules"
    return f"{home}/{rule.name}.md" if rule.path.startswith(RULES) else ""


def severity(rule: Rule) -> str:
    """How bad, in words: one severity, or the ones that the size decides between."""
    if rule.grade is None:
        return rule.severity
    return "error or warning" if rule.grade.wall else "warning"


def as_text(rule: Rule) -> str:
    """The page of `kcheck explain`."""
    waste = ", waste" if rule.waste else ""
    fixable = f"fix: {rule.safety}" if rule.fixable else "no fix"
    lines = [f"{rule.group}/{rule.name}  ({severity(rule)}{waste}; {fixable})", "", rule.summary + ".", ""]
    lines += rule.details.why.splitlines()
    lines += ["", f"Judges each {rule.subject}:"]
    if rule.when:
        lines.append(f"  when     {rule.when}")
    lines.append(f"  problem  {rule.problem}")
    if rule.grade:
        lines.append(f"  error past {rule.grade.wall}" if rule.grade.wall else "  never an error")
        lines.append(f"  warning past {rule.grade.recommended}, info where {rule.grade.of} is not known")
    if rule.weak:
        lines.append(f"  at most a warning where {rule.weak}")
    if rule.mild:
        lines.append(f"  info where {rule.mild}")
    lines += [f"  no fix where {obstacle.where}" for obstacle in rule.withheld]
    if rule.unless:
        lines.append(f"  silent where {', '.join(rule.unless)} has found something on the same object")
    entries = rule.entries()
    if entries:
        lines += ["", "Sources:"]
        for entry in entries:
            lines += [f"  {entry}"] if isinstance(entry, str) else _entry(entry)
    example = next((item for item in rule.details.examples if item.bad), None)
    if example is not None:
        lines += ["", "Example:", *_indented(example.bad)]
        if example.fixed:
            lines += ["", "Mended:", *_indented(example.fixed)]
    lines += ["", f"Silence it with a comment: # kcheck: ignore[{rule.name}] reason"]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry) -> list[str]:
    value = shown(entry.value)
    lines = [
        f"  {entry.key} = {value} {entry.unit} ({entry.kind}, checked {entry.checked}, confidence {entry.confidence})"
    ]
    lines += [f"    {source}" for source in entry.sources]
    if entry.note:
        lines += textwrap.wrap(entry.note, 100, initial_indent="    ", subsequent_indent="    ")
    return lines


def _indented(files: dict[str, str]) -> list[str]:
    lines = []
    for name, text in files.items():
        if len(files) > 1:
            lines.append(f"  # {name}")
        lines += [f"  {line}".rstrip() for line in text.splitlines()]
    return lines


def listing(rules: Iterable[Rule]) -> str:
    """One line a rule, by group."""
    lines: list[str] = []
    group = ""
    for rule in rules:
        if rule.group != group:
            group = rule.group
            lines += ["", group] if lines else [group]
        marks = severity(rule) + (", waste" if rule.waste else "") + (f", fix: {rule.safety}" if rule.fixable else "")
        lines += [f"  {rule.name} ({marks})", f"    {rule.summary}"]
    return "\n".join(lines) + "\n"


def table(rules: Iterable[Rule]) -> str:
    """The Markdown table of README.md and docs."""
    lines = ["| rule | finds | severity | fix |", "|---|---|---|---|"]
    for rule in rules:
        waste = " (waste)" if rule.waste else ""
        lines.append(f"| `{rule.name}` | {rule.summary} | {severity(rule)}{waste} | {rule.safety or '-'} |")
    return "\n".join(lines) + "\n"
