"""Report formats, rendered by modules that are imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.layout import Text, plain
from kcheck.text.findings import Finding, Severity, Undecided

if TYPE_CHECKING:
    from kcheck.engine.linter import Result

FORMATS = ("text", "concise", "json", "sarif", "junit", "github", "gitlab", "rdjson", "markdown", "html", "statistics")


class Report(NamedTuple):
    """Result of a check, with options of its report.

    With `info`, findings of that severity are included; `min_severity` goes first. `show_undecided` adds each undecided
    check. `quiet` drops the closing lines. `next_step`, the last of these, is for text only. `command_line` tells
    readers of a page how to make the report again. `before` is the result without the changes that are compared.
    """

    result: Result
    info: bool = False
    show_undecided: bool = False
    quiet: bool = False
    next_step: str = ""
    command_line: str = ""
    min_severity: Severity | None = None
    before: Result | None = None

    @property
    def least(self) -> Severity:
        """Severity from which findings are shown."""
        return self.min_severity if self.min_severity is not None else Severity(not self.info)

    @property
    def findings(self) -> list[Finding]:
        """Findings to show, by path, place and rule."""
        return [finding for finding in self.result.findings if finding.severity >= self.least]

    @property
    def undecided(self) -> list[Undecided]:
        """Undecided checks, each with the inputs it needs."""
        return self.result.undecided

    def render(self, format: str = "text") -> str:  # noqa: A002
        """Return the report in one of `FORMATS`. Raises ValueError for another."""
        if format not in FORMATS:
            raise ValueError(f"format {format}: expected one of {', '.join(FORMATS)}")
        module, function = _PLACES.get(format, (format, "render"))
        made: str | Text = getattr(import_module(f"kcheck.report.{module}"), function)(self)
        return made if isinstance(made, str) else plain(made)


_PLACES = {
    "html": ("html.check_page", "render"),
    **{name: ("text", name) for name in ("concise", "statistics")},
    **{name: ("forges", name) for name in ("github", "gitlab", "junit", "markdown", "rdjson")},
}
"""Module and function of formats that have no module of their own."""
