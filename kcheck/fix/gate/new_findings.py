"""What is found now and was not a moment ago, and what is gone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.text.findings import Finding, Identity


class News(NamedTuple):
    """Findings that are new, that have changed, and that are gone; a line that has moved is no change."""

    new: list[Finding]
    changed: list[Finding]
    gone: list[Finding]


def news(before: Sequence[Finding], now: Sequence[Finding]) -> News:
    """Compare two runs by the identities of their findings, and by what they say."""
    counts = [Counter(identity for one in findings for identity in one.identities) for findings in (before, now)]
    said_before, said_now = ({_said(finding) for finding in findings} for findings in (before, now))
    gone = _whole(before, counts[0] - counts[1], said_now)
    new = _whole(now, counts[1] - counts[0], said_before)
    known = {id(finding) for finding in new}
    changed = [finding for finding in now if id(finding) not in known and _said(finding) not in said_before]
    return News(new, changed, gone)


def _whole(findings: Sequence[Finding], surplus: Counter[Identity], others: set[object]) -> list[Finding]:
    """The findings all of whose identities the other run has fewer times; first those that it says nothing like."""
    found = []
    for finding in sorted(findings, key=lambda one: _said(one) in others):
        if all(surplus[identity] > 0 for identity in finding.identities):
            surplus.subtract(finding.identities)
            found.append(finding)
    return sorted(found, key=lambda one: one.key)


def _said(finding: Finding) -> object:
    """What a finding says, wherever it is now."""
    return finding.identities, finding.severity, finding.message
