"""What a finding is called where reports of several runs are compared."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.text.findings import Finding


def fingerprints(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each finding with its own 32 hexadecimal digits, which survive moved lines and changed numbers."""
    seen: Counter[str] = Counter()
    for finding in findings:
        key = hashlib.sha256("\0".join(min(finding.identities)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[key] += 1
        if seen[key] > 1:
            key = hashlib.sha256(f"{key}{seen[key]}".encode()).hexdigest()[:32]
        yield finding, key
