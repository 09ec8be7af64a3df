"""Test the page of published figures: its table equals kcheck's output, which is near the published numbers."""

from __future__ import annotations

import re

import pytest

from kcheck.config import settings
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from tests.places import ROOT
from tests.whole.test_docs import anchors

TEXT = (ROOT / "docs" / "published-figures.md").read_text()
SECTIONS = {next(iter(anchors(f"## {part}"))): part for part in TEXT.split("\n## ")[1:]}
"""Each section by the anchor of its heading; test_docs.py compares the output in it with a new run."""

TABLE = TEXT.split("\n## ")[0]
ROWS = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in TABLE.splitlines() if line.startswith("| ")]
TREES = sorted(path.name for path in (ROOT / "examples" / "published").iterdir())

_OFF = 0.15
"""The greatest relative distance of a modelled time from the published one, as docs/simulate.md states."""


def minutes(cell: str) -> tuple[float, float] | None:
    """Return the bounds of a time in a cell of the table, in minutes."""
    found = re.fullmatch(r"`?(?:about )?(\d+)(?: to (\d+))? min`?", cell)
    return (float(found[1]), float(found[2] or found[1])) if found else None


def off(published: str, printed: str) -> str:
    """Return the distance of a range from a published one in percent, as the table prints it."""
    theirs, ours = (
        [float(text.replace(",", "")) for text in re.findall(r"\d[\d,.]*", cell.partition(" of ")[0])]
        for cell in (published, printed)
    )
    ends = sorted({round(100 * (one / min(max(one, theirs[0]), theirs[-1]) - 1)) for one in ours})
    return f"{' to '.join(f'{end:+d}' if end else '0' for end in ends)} %"


FIGURES = pytest.mark.parametrize(
    ("figure", "published", "printed", "away", "rests_on", "where"), ROWS[1:], ids=[row[0] for row in ROWS[1:]]
)


@FIGURES
def test_published_figures_equal_the_printed_figures(
    figure: str, published: str, printed: str, away: str, rests_on: str, where: str
) -> None:
    section = SECTIONS[where.partition("(#")[2].rstrip(")")]
    assert away == ("-" if printed == "-" else off(published, printed)), figure
    if rests_on.startswith("Not repeated"):
        assert "not repeated" in section.lower(), figure
    else:
        assert rests_on.startswith(("Repeated", "Fitted", "Follows from the fitted times")), figure
        assert "Chosen" not in rests_on or rests_on.startswith("Fitted"), figure
        assert printed.startswith("`"), figure
    if not printed.startswith("`"):
        return
    shown = "".join(re.findall(r"```text\n(.*?)```", section, re.DOTALL))
    assert re.search(rf"(?<![\d,]){re.escape(printed.strip('`'))}(?![\d,])", shown), figure
    theirs, ours = minutes(published), minutes(printed)
    if theirs and ours:
        assert ours[0] <= theirs[1] * (1 + _OFF), figure
        assert ours[1] >= theirs[0] * (1 - _OFF), figure


def test_each_published_tree_is_on_the_page() -> None:
    assert [name for name in TREES if f"examples/published/{name} " not in TEXT] == []


@pytest.mark.medium
@pytest.mark.parametrize("name", TREES)
def test_published_trees_are_fully_decided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "published")
    assert not linter.run(Tree([name]), settings.load((name,), None)).undecided
