"""The page of `kcheck check`: the verdict first, then the findings by rule, then what was not judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcheck import __version__
from kcheck.report.html import document
from kcheck.report.html.document import Head, Section
from kcheck.report.html.findings import groups
from kcheck.report.html.verdict import MOST_OPEN, verdicts
from kcheck.report.owners import owners
from kcheck.report.rule import CLASSES
from kcheck.report.text import closing, judged_lines, place_text, sorted_checks
from kcheck.report.verdict import STATES, states_text
from kcheck.text.findings import SAFETIES, Severity
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from kcheck.engine.judged import MissingInput
    from kcheck.report.formats import Report
    from kcheck.report.html.findings import Group
    from kcheck.report.html.verdict import Verdict

_MOST_ROWS = 200
"""Rows of a table of what was not judged."""
_MOST_FOLDERS = 60
_MOST_RULES = 8
"""Rules that wait for an input."""


def render(report: Report) -> str:
    """The report as a page: bounded, and the same bytes for the same code."""
    of_clusters = owners(report.findings, report.result.world)
    found = list(verdicts(report, of_clusters))
    by_rule = list(groups(report, of_clusters))
    worst = sorted(found, key=lambda one: list(STATES).index(one.state))
    result = report.result
    head = document.markup(
        "check.html", verdicts=worst, rows=list(map(_row, worst)), bugs=result.bugs, numbers=list(_numbers(report)),
        late=result.judged.skipped[0].reason if result.is_late else "",
    )  # fmt: skip
    limits = document.markup("clusters.html", verdicts=worst, most=MOST_OPEN)
    sections = [Section("Limits", limits, "limits")] if found else []
    sections.append(Section("Findings", _findings(report, by_rule, found), "findings"))
    sections.append(Section("Not judged", _not_judged(report), "not-judged"))
    lines = [f"kcheck {__version__}", *filter(None, (report.command_line,))]
    return document.page(Head(_title(found, report), "", head), sections, lines, is_filtered=True)


def _title(found: Sequence[Verdict], report: Report) -> str:
    """The answer in one line."""
    states = Counter(one.state for one in found)
    if len(found) == 1:
        one = found[0]
        if one.reach == "not known":
            return f"How far {one.name} gets is not known"
        return f"{one.name} reaches {f'its target, {one.target}' if one.state == 'reaches' else one.reach}"
    if found:
        return states_text(states["reaches"], states["stops"], states["unknown"])
    counts = Counter(finding.severity for finding in report.findings)
    words = [counted(counts[one], one.word) for one in reversed(Severity) if counts[one]]
    return ", ".join(words) or (
        "Nothing found" if report.result.judged.is_complete else "Nothing found in what was checked"
    )


def _row(one: Verdict) -> tuple[Markup | str, ...]:
    """A verdict as a row of a table."""
    cluster, state = (document.markup(f"{name}.html", one=one) for name in ("cluster", "state"))
    return cluster, state, one.reach, one.first.what if one.first else "none is known", one.waste.amount


def _numbers(report: Report) -> Iterator[tuple[str, str, str]]:
    """The headline numbers: how many, of what, and the severity if it is of one."""
    result = report.result
    counts = Counter(finding.severity for finding in result.findings)
    for severity in reversed(Severity):
        is_shown = report.info or severity is not Severity.INFO
        if counts[severity] or severity is not Severity.INFO:
            word = counted(counts[severity], severity.word).partition(" ")[2]
            yield f"{counts[severity]:,}", word if is_shown else f"{word} hidden (--info)", severity.word
    fixes = sum(finding.fix is not None for finding in report.findings)
    undecided = counted(len(result.undecided), "undecided check").partition(" ")[2]
    others = ((fixes, "with a fix"), (len(result.undecided), undecided), (result.suppressed, "suppressed"))
    for number, text in (*others, (result.known, "already known")):
        if number:
            yield f"{number:,}", text, ""


def _findings(report: Report, by_rule: Sequence[Group], found: Sequence[Verdict]) -> Markup:
    """The filters, and the findings by rule."""
    findings = report.findings
    counts = Counter(finding.severity for finding in findings)
    classes = {finding.fix.safety for finding in findings if finding.fix is not None}
    left = sum(group.left for group in by_rule)
    return document.markup(
        "findings.html",
        severities=[(one.word, counts[one]) for one in reversed(Severity) if counts[one]],
        groups=by_rule,
        clusters=[(one.number, one.name) for one in found] if len(found) > 1 else [],
        folders=_folders(report),
        waste=sum(finding.waste for finding in findings),
        count=len(findings) - left,
        shown=counted(len(findings) - left, "finding"),
        left=left,
        summary=next(closing(report)),
        classes=[CLASSES[safety] for safety in SAFETIES if safety in classes],
    )


def _folders(report: Report) -> list[tuple[str, int]]:
    """The folders that findings are in, down to the second level, each with how many."""
    counts: Counter[str] = Counter()
    for finding in report.findings:
        steps = finding.span.source.path.split("/")[:-1]
        counts.update("/".join(steps[:depth]) for depth in range(1, min(len(steps), 2) + 1))
    chosen = sorted(name for name, _ in counts.most_common(_MOST_FOLDERS))
    return [(name, counts[name]) for name in chosen]


def _not_judged(report: Report) -> Markup:
    """What was checked, and what was not: clusters, inputs, files."""
    result = report.result
    judged = result.judged
    return document.markup(
        "not_judged.html",
        lines=list(judged_lines(result, listed=False)),
        inputs=[_input(one) for one in judged.inputs[:_MOST_ROWS]],
        more_inputs=max(0, len(judged.inputs) - _MOST_ROWS),
        skipped=judged.skipped[:_MOST_ROWS],
        more_skipped=max(0, len(judged.skipped) - _MOST_ROWS),
        undecided=sorted_checks(result)[:_MOST_ROWS] if report.show_undecided else [],
        count=len(result.undecided),
        undecided_text=f"{counted(len(result.undecided), 'check')} undecided",
    )


def _input(one: MissingInput) -> tuple[Markup | str, ...]:
    """An unknown input as a row of a table."""
    place = document.markup("place.html", place=place_text(one.place)) if one.place is not None else ""
    names = sorted(one.rules)
    more = f" and {len(names) - _MOST_RULES} more" if len(names) > _MOST_RULES else ""
    return one.reason, f"{one.checks:,}", place, one.remedy, f"{', '.join(names[:_MOST_RULES])}{more}"
