"""One line a finding, as compilers print errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.report.text import closing
from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from kcheck.report.formats import Report
    from kcheck.text.findings import Finding


def render(report: Report) -> str:
    """Render each finding as `path:line:column: severity rule: message`, then the closing lines."""
    lines = [*map(_line, report.findings), *(() if report.quiet else closing(report))]
    return "".join(f"{visible(line)}\n" for line in lines)


def _line(finding: Finding) -> str:
    fix = f" [{finding.fix.safety} fix]" if finding.fix else ""
    return f"{finding.span.exact_location}: {finding.severity.word} {finding.rule}: {finding.message}{fix}"
