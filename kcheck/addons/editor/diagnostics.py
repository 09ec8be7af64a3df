"""Findings as editor diagnostics."""

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

from lsprotocol import types

from kcheck.addons.editor.positions import Positions
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.report.text import ALSO, input_text, related_text
from kcheck.text import deadline
from kcheck.text.control_characters import visible
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Span

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Hint,
}
"""Infos become hints: editors show these in the code but not in lists, like `check` without --info."""
_MOST_RELATED = 20


_TAGS = {"deprecated": types.DiagnosticTag.Deprecated, "unnecessary": types.DiagnosticTag.Unnecessary}
_UNREADABLE = "unreadable-file"
_UNDECIDED = "undecided"


Known: TypeAlias = "dict[int, tuple[Finding, types.Diagnostic]]"
"""Diagnostics by id of the finding, reused while a run has the same finding."""


def by_file(snapshot: Snapshot, positions: Positions, known: Known) -> dict[str, list[types.Diagnostic]]:
    """Build all diagnostics of a folder, by the file's path as findings print it.

    Diagnostics of findings in `known` are reused, and `known` is updated for the next run. Raises
    deadline.CancelledError if the request was cancelled.
    """
    made = _Diagnostics(snapshot, positions)
    found: dict[str, list[types.Diagnostic]] = {}
    before, kept = dict(known), {} if snapshot.stand_ins else known
    known.clear()
    for finding in snapshot.result.findings:
        deadline.check_cancelled()
        same = before.get(id(finding)) if kept is known else None
        diagnostic = same[1] if same is not None else made.of_finding(finding)
        kept[id(finding)] = (finding, diagnostic)
        found.setdefault(finding.span.source.path, []).append(diagnostic)
    for span, diagnostic in chain(made.half_typed(), made.not_judged()):
        found.setdefault(span.source.path, []).append(diagnostic)
    return found


class _Diagnostics:
    def __init__(self, snapshot: Snapshot, positions: Positions) -> None:
        self.snapshot = snapshot
        self.positions = positions
        self.rules = by_name(snapshot.world)

    def of_finding(self, finding: Finding) -> types.Diagnostic:
        span = self.snapshot.shown(finding.span)
        lines = [finding.message, *(f"help: {line}" for line in finding.help.splitlines())]
        diagnostic = self.diagnostic(span, "\n".join(lines), SEVERITIES[finding.severity], finding.rule)
        diagnostic.related_information = list(self.related(finding)) or None
        return diagnostic

    def half_typed(self) -> Iterator[tuple[Span, types.Diagnostic]]:
        """Yield syntax errors of files that were checked in their last readable version."""
        for stand_in in self.snapshot.stand_ins.values():
            message = f"Cannot read this: {stand_in.problem.message}\nUntil then the last readable text is checked"
            span = stand_in.problem.span
            yield span, self.diagnostic(span, message, types.DiagnosticSeverity.Error, _UNREADABLE)

    def not_judged(self) -> Iterator[tuple[Span, types.Diagnostic]]:
        judged = self.snapshot.result.judged
        for one in judged.not_judged:
            text = f"Cluster {one.cluster.address} was checked in part: {input_text(one.input)}"
            span = self.snapshot.shown(one.cluster.place)
            yield span, self.diagnostic(span, text, types.DiagnosticSeverity.Information, _UNDECIDED)
        for missing in judged.inputs:
            if missing.place is not None and not missing.place.source.bundled:
                span = self.snapshot.shown(missing.place)
                yield span, self.diagnostic(span, input_text(missing), types.DiagnosticSeverity.Hint, _UNDECIDED)

    def diagnostic(self, span: Span, text: str, severity: types.DiagnosticSeverity, code: str) -> types.Diagnostic:
        """Build a diagnostic; its code links to the rule's file."""
        rule = self.rules.get(code)
        page = url(rule) if rule is not None else ""
        tag = _TAGS.get(rule.tag) if rule is not None else None
        return types.Diagnostic(
            range=self.positions.first_line(span), message="\n".join(map(visible, text.split("\n"))), severity=severity,
            code=code, code_description=types.CodeDescription(page) if page else None, source="kcheck",
            tags=[tag] if tag is not None else None,
        )  # fmt: skip

    def related(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        """Yield the details, placed at the finding, and the related places."""
        for detail in finding.details:
            yield self.information(finding.span, detail)
        for related in finding.related[:_MOST_RELATED]:
            is_object = related.note.startswith(ALSO)
            yield self.information(related.span, related.note if is_object else related_text(related))

    def information(self, span: Span, text: str) -> types.DiagnosticRelatedInformation:
        span = self.snapshot.shown(span)
        location = types.Location(self.snapshot.address(span.source.path), self.positions.first_line(span))
        return types.DiagnosticRelatedInformation(location, visible(text))
