"""Test placement against the stored verdicts of a real scheduler, on random pods and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scale.drawn_pods import STORED, Cases

if TYPE_CHECKING:
    from tests.conftest import Read


@pytest.mark.medium
def test_kcheck_agrees_with_the_stored_verdicts(read: Read) -> None:
    cases, stored = Cases(read), [line.split() for line in STORED.read_text().splitlines()]
    changed = [one.name for one, line in zip(cases.all, stored, strict=True) if [one.name, one.digest] != line[:2]]
    assert not changed, "other cases are drawn: KCHECK_UPDATE=1 with a scheduler stores its verdicts on them"
    placed = [[int(count) for count in line[2:]] for line in stored]
    wrong = [said for one, counts in zip(cases.all, placed, strict=True) if (said := cases.disagreement(one, counts))]
    assert not wrong, "\n".join(wrong[:5])
