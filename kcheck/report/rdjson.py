"""Diagnostics for reviewdog, which comments on pull requests and suggests changes there.

Format: https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto.
"""

from kcheck.report.escape import json_text
from kcheck.report.formats import Report
from kcheck.report.page import REPOSITORY
from kcheck.report.places import Repository, by_name, edits_of
from kcheck.report.rule import url
from kcheck.text.findings import Finding
from kcheck.text.text import Span, apply


def render(report: Report) -> str:
    """Render the findings, with safe fixes as suggestions."""
    every, repository = by_name(report.result.world), Repository()
    diagnostics = [
        {
            "message": "\n".join((finding.message, *(f"- {line}" for line in finding.details))),
            "location": {"path": repository.path(finding.span.source.path), "range": _range(finding.span)},
            "severity": finding.severity.name,
            "code": {"value": finding.rule, "url": url(every[finding.rule])},
            "suggestions": _suggestions(finding),
        }
        for finding in report.findings
    ]
    source = {"name": "kcheck", "url": REPOSITORY}
    return json_text({"source": source, "diagnostics": diagnostics}, indent=1)


def _suggestions(finding: Finding) -> list[dict[str, object]]:
    """Return a safe fix as one suggestion; empty if it also changes another file."""
    if finding.fix is None or finding.fix.safety != "safe":
        return []
    edits, source = edits_of(finding), finding.span.source
    if not edits or any(one.span.source is not source for one in edits):
        return []
    whole = source.span(min(one.span.start for one in edits), max(one.span.end for one in edits))
    text = apply(source.data, edits)[whole.start : whole.end - len(source.data) or None]
    return [{"range": _range(whole), "text": text.decode()}]


def _range(span: Span) -> dict[str, dict[str, int]]:
    return {"start": _position(span, span.start), "end": _position(span, span.end)}


def _position(span: Span, offset: int) -> dict[str, int]:
    """Return line and column, both from 1; the column in bytes."""
    line = span.source.line_number(offset)
    return {"line": line, "column": offset - span.source.line_starts[line - 1] + 1}
