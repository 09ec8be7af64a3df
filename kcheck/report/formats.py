"""The formats of a report. Each is a module of its name, imported when it is asked for; of HTML the page of a check."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from kcheck.text.findings import Finding, Undecided

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown", "html")


class Report(NamedTuple):
    """Result of a check: with `info` also findings of that severity, with `show_undecided` each undecided check.

    A `quiet` one has no closing lines. `next_step` is the last of them, `links` makes names of rules hyperlinks: both
    are of text for a terminal only. `command_line` is how the report can be made again, for a page.
    """

    result: Result
    info: bool = False
    show_undecided: bool = False
    quiet: bool = False
    next_step: str = ""
    links: bool = False
    command_line: str = ""

    @property
    def findings(self) -> list[Finding]:
        """The findings that are shown, by path, place and rule."""
        return [finding for finding in self.result.findings if self.info or finding.severity > Severity.INFO]

    @property
    def undecided(self) -> list[Undecided]:
        """The checks that could not be decided, each with the inputs it needs."""
        return self.result.undecided

    def render(self, format: str = "text") -> str:  # noqa: A002
        """Return the report as text, json, sarif, junit, github, gitlab, markdown or html.

        Raises:
            ValueError: there is no such format.
        """
        if format not in FORMATS:
            raise ValueError(f"format {format}: expected one of {', '.join(FORMATS)}")
        return render(format, self)


def render(name: str, report: Report) -> str:
    """A report in a format."""
    text: str = import_module(f"kcheck.report.{'html.check' if name == 'html' else name}").render(report)
    return text
