"""The formats of a report. Each is a module of its name, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from kcheck.source.findings import Severity

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from kcheck.source.findings import Finding

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")


class Report(NamedTuple):
    """What is to be told: with `info` what is only worth knowing, too, with `undecided` each check that waits.

    A `quiet` one has no closing lines.
    """

    result: Result
    info: bool = False
    undecided: bool = False
    quiet: bool = False

    @property
    def findings(self) -> list[Finding]:
        """The findings that are shown, by path, place and rule."""
        return [finding for finding in self.result.findings if self.info or finding.severity > Severity.INFO]


def render(name: str, report: Report) -> str:
    """A report in a format."""
    text: str = import_module(f"kcheck.report.{name}").render(report)
    return text
