"""Findings for programs. The contract is docs/report.schema.json; changes that add keep version 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kcheck.findings import Severity

if TYPE_CHECKING:
    from kcheck.engine import Result
    from kcheck.findings import Finding
    from kcheck.text import Span

VERSION = 1


def render(result: Result, *, info: bool) -> str:
    """The report as JSON: lines and columns from 1, columns in code points, sorted by path, place and rule."""
    shown = [finding for finding in result.findings if info or finding.severity > Severity.INFO]
    counts = {severity.word: sum(f.severity == severity for f in result.findings) for severity in Severity}
    data = {
        "version": VERSION,
        "findings": [_finding(finding) for finding in shown],
        "undecided": [
            {
                "rule": check.rule,
                "object": check.object,
                "path": check.span.source.path,
                "line": check.span.begin.line,
                "missing": list(check.missing),
            }
            for check in sorted(result.undecided, key=lambda c: (c.span.source.path, c.span.start, c.rule, c.object))
        ],
        "hints": result.hints,
        "summary": {
            **counts,
            "suppressed": result.suppressed,
            "decided": result.decided,
            "undecided": len(result.undecided),
            "unknown_inputs": len(result.unknown_inputs()),
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    end = finding.span.finish
    fix = finding.fix
    return {
        "rule": finding.rule,
        "severity": finding.severity.word,
        "message": finding.message,
        **_place(finding.span),
        "end_line": end.line,
        "end_column": end.column,
        "related": [{**_place(related.span), "message": related.message} for related in finding.related],
        "object": finding.object,
        "fix": None if fix is None else {"safety": fix.safety, "title": fix.title},
    }


def _place(span: Span) -> dict[str, Any]:
    begin = span.begin
    return {"path": span.source.path, "line": begin.line, "column": begin.column}
