"""Pages of HTML and pictures that need nothing else: one look for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.report.formats import Report


def render(report: Report) -> str:
    """The report of `kcheck check` as a page."""
    from kcheck.report.html import check  # not for pages of other commands

    return check.render(report)
