"""Findings as JSON, by the contract docs/report.schema.json."""

from kcheck.engine.judged import MissingInput
from kcheck.engine.linter import Result
from kcheck.report.escape import json_text
from kcheck.report.formats import Report
from kcheck.report.places import fingerprints
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Span

VERSION = 1


def render(report: Report) -> str:
    """Render the report as JSON, sorted by path, place and rule."""
    result = report.result
    counts = {severity.word: sum(f.severity == severity for f in result.findings) for severity in Severity}
    data = {
        "version": VERSION,
        "findings": [_finding(finding, key) for finding, key in fingerprints(report.findings)],
        "undecided": [
            {"rule": check.rule, "object": check.object, "path": check.span.source.path, "line": check.span.begin.line,
             "missing": list(check.missing)}
            for check in sorted(result.undecided, key=lambda c: (c.span.source.path, c.span.start, c.rule, c.object))
        ],
        **undecided_data(result),
        "hints": result.judged.hints,
        "summary": {
            **counts, "suppressed": result.suppressed, "known": result.known, "decided": result.decided,
            "undecided": len(result.undecided), "unknown_inputs": len(result.judged.inputs),
        },
    }  # fmt: skip
    return json_text(data, indent=2)


def undecided_data(result: Result) -> dict[str, object]:
    """Return the unknown inputs, and what was judged."""
    judged = result.judged
    found = {
        "clusters": judged.clusters, "pools": judged.pools, "workloads": judged.workloads,
        "environments": [
            {"root": one.root, "name": one.name, "var_files": list(one.var_files)} for one in judged.environments
        ],
        "not_judged": [
            {"cluster": one.cluster.id, **_place(one.cluster.place), "input": _input(one.input)}
            for one in judged.not_judged
        ],
        "not_read": [
            {"path": one.path, "line": one.line or None, "reason": one.reason, "remedy": one.remedy, "what": one.what}
            for one in judged.skipped
        ],
    }  # fmt: skip
    return {"inputs": [_input(missing) for missing in judged.inputs], "judged": found}


def _input(missing: MissingInput) -> dict[str, object]:
    place = {"path": None, "line": None} if missing.place is None else _place(missing.place)
    return {
        "reason": missing.reason, "checks": missing.checks, "path": place["path"], "line": place["line"],
        "remedy": missing.remedy, "rules": dict(sorted(missing.rules.items())),
    }  # fmt: skip


def _finding(finding: Finding, fingerprint: str) -> dict[str, object]:
    end = finding.span.finish
    fix = finding.fix
    return {
        "rule": finding.rule, "severity": finding.severity.word, "message": finding.message,
        "details": list(finding.details), **_place(finding.span), "end_line": end.line, "end_column": end.column,
        "related": [{**_place(related.span), "message": related.message} for related in finding.related],
        "object": finding.object, "also": list(finding.also), "waste": finding.waste,
        "help": "; ".join(finding.help.splitlines()), "fingerprint": fingerprint,
        "fix": None if fix is None else {"safety": fix.safety, "title": fix.title},
    }  # fmt: skip


def _place(span: Span) -> dict[str, object]:
    begin = span.begin
    return {"path": span.source.path, "line": begin.line, "column": begin.column}
