"""Findings as Markdown, for pull request comments and job summaries."""

from kcheck.engine.rule import Rule
from kcheck.report.escape import markdown, markdown_code, markdown_link, markdown_row
from kcheck.report.formats import Report
from kcheck.report.places import Repository, by_name
from kcheck.report.rule import url
from kcheck.report.text import closing
from kcheck.report.verdict import change_lines
from kcheck.text.findings import Finding

MOST_BYTES = 60_000
"""Fits a GitHub comment of at most 65,536 characters."""


def render(report: Report) -> str:
    """Render the report as a comment within GitHub's limit."""
    return summary(report, MOST_BYTES)


def summary(report: Report, most: int) -> str:
    """Render the closing lines and a table of findings, the worst first, in at most `most` bytes."""
    every = by_name(report.result.world)
    repository = Repository()
    ordered = sorted(report.findings, key=lambda finding: (-finding.severity, finding.key))
    changes = (
        [] if report.before is None else [f"- {markdown(one)}" for one in change_lines(report.before, report.result)]
    )
    lines = [
        "### kcheck",
        "",
        *changes,
        *([""] if changes else []),
        *(markdown(one.strip()) for one in closing(report)),
    ]
    room = most - sum(map(_size, lines)) - 200
    if ordered:
        lines += ["", "| | where | what | how to mend it |", "|---|---|---|---|"]
    for left, finding in zip(range(len(ordered), 0, -1), ordered, strict=True):
        row = _row(finding, every[finding.rule], repository)
        room -= _size(row)
        if room < 0:
            lines += ["", f"and {left:,} more, in the log."]
            break
        lines.append(row)
    return "\n".join(lines) + "\n"


def _row(finding: Finding, rule: Rule, repository: Repository) -> str:
    page = url(rule)
    name = markdown_link(finding.rule, page) if page else markdown_code(finding.rule)
    mark = f"{finding.severity.word}{' (waste)' if finding.waste else ''}"
    fix = f"fix ({finding.fix.safety}): {finding.fix.title}" if finding.fix else ""
    mend = "; ".join(filter(None, (fix, *finding.help.splitlines())))
    place = f"{repository.path(finding.span.source.path)}:{finding.span.begin.line}"
    what = "<br>".join(map(markdown, (finding.message, *finding.details)))
    return markdown_row((mark, markdown_code(place), f"{name}: {what}", markdown(mend)))


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
