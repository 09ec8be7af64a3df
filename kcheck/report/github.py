"""The log of a step of GitHub Actions, with annotations.

GitHub shows ten annotations of a kind and step, https://docs.github.com/en/actions/reference/limits; the job's summary
has all findings. How commands are written: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.files import system
from kcheck.report import markdown, text
from kcheck.report.places import Repository
from kcheck.source.findings import Severity

if TYPE_CHECKING:
    from kcheck.report.formats import Report
    from kcheck.source.findings import Finding

MOST = 10
"""How many annotations of a step are shown."""
MOST_BYTES = 1_000_000
"""The summary of a step may have 1 MiB."""
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """The report as text, then the worst findings as annotations."""
    repository = Repository()
    worst = sorted(report.findings, key=lambda finding: (-finding.severity, finding.key))
    lines = [_annotation(finding, repository) for finding in worst[:MOST]]
    if len(worst) > MOST:
        lines.append(f"{MOST} of {len(worst):,} findings are annotated; the summary of the job has all.")
    return _inert(text.render(report)) + "".join(f"{line}\n" for line in lines)


def _inert(log: str) -> str:
    """Text of which no line is a command, whatever files are called and say: a word nobody can guess ends it."""
    system.cannot_repeat()
    end = os.urandom(16).hex()
    return f"::stop-commands::{end}\n{log}::{end}::\n" if log else ""


def summary(report: Report) -> str:
    """What the summary of the job says."""
    return markdown.summary(report, MOST_BYTES)


def _annotation(finding: Finding, repository: Repository) -> str:
    begin, end = finding.span.begin, finding.span.finish
    properties = {
        "file": repository.path(finding.span.source.path),
        "line": str(begin.line),
        "endLine": str(end.line),
        "col": str(begin.column),
        "endColumn": str(end.column),
        "title": f"kcheck: {finding.rule}",
    }
    if end.line != begin.line:  # columns are of one line only
        del properties["col"], properties["endColumn"]
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    lines = [finding.message, *finding.details]
    if finding.fix is not None:
        lines.append(f"fix ({finding.fix.safety}): {finding.fix.title}")
    if finding.help:
        lines += [f"help: {line}" for line in finding.help.splitlines()]
    body = "\n".join(lines)
    return f"::{_COMMANDS[finding.severity]} {given}::{_data(body)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
