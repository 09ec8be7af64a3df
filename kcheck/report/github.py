"""Log of a GitHub Actions step, with annotations.

GitHub shows ten annotations of a kind and step, https://docs.github.com/en/actions/reference/limits; the job's summary
has all findings. Syntax: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions.
"""

from kcheck.report import markdown, text
from kcheck.report.escape import workflow_command
from kcheck.report.formats import Report
from kcheck.report.places import Repository
from kcheck.text.findings import Finding, Severity

MOST = 10
"""Annotations shown per step."""
MOST_BYTES = 1_000_000
"""Bytes of a step's summary; GitHub allows 1 MiB."""
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """Render the report as text, followed by the worst findings as annotations."""
    repository = Repository()
    worst = sorted(report.findings, key=lambda finding: (-finding.severity, finding.key))
    lines = [_annotation(finding, repository) for finding in worst[:MOST]]
    if len(worst) > MOST:
        lines.append(f"{MOST} of {len(worst):,} findings are annotated; the summary of the job has all.")
    return text.render(report) + "".join(f"{line}\n" for line in lines)


def summary(report: Report) -> str:
    """Render the job summary."""
    return markdown.summary(report, MOST_BYTES)


def _annotation(finding: Finding, repository: Repository) -> str:
    begin, end = finding.span.begin, finding.span.finish
    properties = {
        "file": repository.path(finding.span.source.path), "line": str(begin.line), "endLine": str(end.line),
        "col": str(begin.column), "endColumn": str(end.column), "title": f"kcheck: {finding.rule}",
    }  # fmt: skip
    if end.line != begin.line:  # columns are of one line only
        del properties["col"], properties["endColumn"]
    lines = [finding.message, *finding.details]
    if finding.fix is not None:
        lines.append(f"fix ({finding.fix.safety}): {finding.fix.title}")
    if finding.help:
        lines += [f"help: {line}" for line in finding.help.splitlines()]
    return workflow_command(_COMMANDS[finding.severity], properties, lines)
