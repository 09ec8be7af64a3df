"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""

from kcheck.report.escape import json_text
from kcheck.report.formats import Report
from kcheck.report.places import Repository, fingerprints
from kcheck.text.findings import Severity

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """Render a list of findings; an empty list too, as GitLab compares the next report with it."""
    repository = Repository()
    data = [
        {
            "type": "issue",
            "check_name": finding.rule,
            "description": f"{finding.rule}: {finding.message}",
            **({"content": {"body": "\n".join(f"- {line}" for line in finding.details)}} if finding.details else {}),
            "severity": _SEVERITIES[finding.severity],
            "fingerprint": fingerprint,
            "location": {
                "path": repository.path(finding.span.source.path),
                "lines": {"begin": finding.span.begin.line, "end": finding.span.finish.line},
            },
        }
        for finding, fingerprint in fingerprints(report.findings)
    ]
    return json_text(data, indent=1)
