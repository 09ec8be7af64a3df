"""Findings as an editor shows them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types

from kcheck.editor.positions import uri
from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.source.findings import Severity
from kcheck.source.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.editor.positions import Positions
    from kcheck.editor.snapshot import Snapshot
    from kcheck.source.findings import Finding
    from kcheck.source.text import Span

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Hint,
}
"""What `check` hides without --info is a hint: editors show it in the code and leave it out of their lists."""
_MOST_RELATED = 20


def by_file(snapshot: Snapshot, positions: Positions) -> dict[str, list[types.Diagnostic]]:
    """All diagnostics of a folder, by the path of the file as findings print it."""
    pages = {name: url(rule) for name, rule in by_name(snapshot.world).items()}
    found: dict[str, list[types.Diagnostic]] = {}
    for finding in snapshot.result.findings:
        own = found.setdefault(finding.span.source.path, [])
        own.append(_diagnostic(finding, pages.get(finding.rule, ""), positions))
    return found


def _diagnostic(finding: Finding, page: str, positions: Positions) -> types.Diagnostic:
    lines = [finding.message, *(f"help: {line}" for line in finding.help.splitlines())]
    return types.Diagnostic(
        range=positions.first_line(finding.span),
        message="\n".join(map(visible, lines)),
        severity=SEVERITIES[finding.severity],
        code=finding.rule,
        code_description=types.CodeDescription(page) if page else None,
        source="kcheck",
        related_information=list(_related(finding, positions)) or None,
    )


def _related(finding: Finding, positions: Positions) -> Iterable[types.DiagnosticRelatedInformation]:
    """The details, which are about the place itself, and the other places."""
    for detail in finding.details:
        yield _information(finding.span, detail, positions)
    for related in finding.related[:_MOST_RELATED]:
        yield _information(related.span, related.message, positions)


def _information(span: Span, text: str, positions: Positions) -> types.DiagnosticRelatedInformation:
    location = types.Location(uri(os.path.abspath(span.source.path)), positions.first_line(span))
    return types.DiagnosticRelatedInformation(location, visible(text))
