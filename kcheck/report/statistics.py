"""How often each rule found something."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kcheck.report.text import closing
from kcheck.text.control_characters import visible

if TYPE_CHECKING:
    from kcheck.report.formats import Report
    from kcheck.text.findings import Finding


def render(report: Report) -> str:
    """A line for each rule, the most frequent first: findings, rule, worst severity, those with a fix."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_rule[finding.rule].append(finding)
    ordered = sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0]))
    wide = max(map(len, by_rule), default=0)
    lines = [_line(name, own, wide) for name, own in ordered]
    if not report.quiet:
        lines += [*([""] if lines else []), *closing(report)]
    return "".join(f"{visible(line)}\n" for line in lines)


def _line(name: str, findings: list[Finding], wide: int) -> str:
    worst = max(finding.severity for finding in findings).word
    fixable = [finding.fix.safety for finding in findings if finding.fix is not None]
    fixes = f"  {len(fixable):,} fixable ({', '.join(dict.fromkeys(fixable))})" if fixable else ""
    return f"{len(findings):7,}  {name:{wide}}  {worst:7}{fixes}".rstrip()
