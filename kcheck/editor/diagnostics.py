"""Findings as an editor shows them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from lsprotocol import types

from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.report.text import input_text
from kcheck.source.findings import Severity
from kcheck.source.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

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


_TAGS = {"deprecated": types.DiagnosticTag.Deprecated, "unnecessary": types.DiagnosticTag.Unnecessary}
_UNREADABLE = "unreadable-file"
_UNDECIDED = "undecided"


def by_file(snapshot: Snapshot, positions: Positions) -> dict[str, list[types.Diagnostic]]:
    """All diagnostics of a folder, by the path of the file as findings print it."""
    return _Diagnostics(snapshot, positions).by_file()


class _Diagnostics:
    def __init__(self, snapshot: Snapshot, positions: Positions) -> None:
        self.snapshot = snapshot
        self.positions = positions
        self.rules = by_name(snapshot.world)

    def by_file(self) -> dict[str, list[types.Diagnostic]]:
        """The findings, and what could not be judged, where the code asks for it."""
        found: dict[str, list[types.Diagnostic]] = {}
        for span, diagnostic in chain(self.findings(), self.half_typed(), self.not_judged()):
            found.setdefault(span.source.path, []).append(diagnostic)
        return found

    def findings(self) -> Iterator[tuple[Span, types.Diagnostic]]:
        """The findings, each with its place."""
        for finding in self.snapshot.result.findings:
            span = self.snapshot.shown(finding.span)
            lines = [finding.message, *(f"help: {line}" for line in finding.help.splitlines())]
            diagnostic = self.diagnostic(span, "\n".join(lines), SEVERITIES[finding.severity], finding.rule)
            diagnostic.related_information = list(self.related(finding)) or None
            yield span, diagnostic

    def half_typed(self) -> Iterator[tuple[Span, types.Diagnostic]]:
        """What cannot be read of texts for which others stand in."""
        for stand_in in self.snapshot.stand_ins.values():
            message = f"Cannot read this: {stand_in.problem.message}\nUntil then the last readable text is checked"
            span = stand_in.problem.span
            yield span, self.diagnostic(span, message, types.DiagnosticSeverity.Error, _UNREADABLE)

    def not_judged(self) -> Iterator[tuple[Span, types.Diagnostic]]:
        """The clusters that were not judged, and the inputs that checks wait for."""
        judged = self.snapshot.result.judged
        for one in judged.not_judged:
            text = f"Cluster {one.cluster.address} was not checked: {input_text(one.input)}"
            span = self.snapshot.shown(one.cluster.place)
            yield span, self.diagnostic(span, text, types.DiagnosticSeverity.Information, _UNDECIDED)
        for missing in judged.inputs:
            if missing.place is not None and not missing.place.source.bundled:
                span = self.snapshot.shown(missing.place)
                yield span, self.diagnostic(span, input_text(missing), types.DiagnosticSeverity.Hint, _UNDECIDED)

    def diagnostic(self, span: Span, text: str, severity: types.DiagnosticSeverity, code: str) -> types.Diagnostic:
        """One diagnostic; the name of a rule leads to its page."""
        rule = self.rules.get(code)
        page = url(rule) if rule is not None else ""
        tag = _TAGS.get(rule.tag) if rule is not None else None
        return types.Diagnostic(
            range=self.positions.first_line(span),
            message="\n".join(map(visible, text.split("\n"))),
            severity=severity,
            code=code,
            code_description=types.CodeDescription(page) if page else None,
            source="kcheck",
            tags=[tag] if tag is not None else None,
        )

    def related(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        """The details, which are about the place itself, and the other places."""
        for detail in finding.details:
            yield self.information(finding.span, detail)
        for related in finding.related[:_MOST_RELATED]:
            yield self.information(related.span, related.message)

    def information(self, span: Span, text: str) -> types.DiagnosticRelatedInformation:
        """A place with a text."""
        span = self.snapshot.shown(span)
        location = types.Location(self.snapshot.address(span.source.path), self.positions.first_line(span))
        return types.DiagnosticRelatedInformation(location, visible(text))
