"""Test the comparison of two runs: new, changed and gone findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.fix.gate.comparison import News, compare
from kcheck.text.findings import Finding, Severity
from kcheck.text.text import Source

if TYPE_CHECKING:
    from collections.abc import Sequence


def finding(name: str, line: int = 1, message: str = "It is full", also: tuple[str, ...] = ()) -> Finding:
    source = Source("main.tf", b"a\n" * 20)
    span = source.span(2 * line - 2, 2 * line - 1)
    return Finding(
        "full", Severity.WARNING, waste=False, message=message, span=span, related=(), object=name, fix=None, help="",
        anchors=(span,), also=also,
    )  # fmt: skip


def names(found: News) -> tuple[Sequence[str], ...]:
    return tuple([one.object for one in some] for some in found)


def test_a_moved_finding_is_not_a_change() -> None:
    assert compare([finding("a"), finding("b", 2)], [finding("b", 7), finding("a", 9)]) == ([], [], [])


def test_new_and_gone_findings_are_listed() -> None:
    assert names(compare([finding("a"), finding("b")], [finding("b"), finding("c")])) == (["c"], [], ["a"])


def test_another_message_or_severity_counts_as_a_change() -> None:
    after = finding("a", message="It is full at 3")
    assert names(compare([finding("a")], [after])) == ([], ["a"], [])
    worse = replace(finding("a"), severity=Severity.ERROR)
    assert names(compare([finding("a")], [worse])) == ([], ["a"], [])


def test_among_similar_findings_the_one_with_a_new_message_is_new() -> None:
    before = [finding("a", message="first"), finding("a", message="second")]
    after = [finding("a", message="first"), finding("a", 2, "third"), finding("a", 3, "second")]
    (new,) = compare(before, after).new
    assert new.message == "third"
    (gone,) = compare(after, before).gone
    assert gone.message == "third"


def test_one_part_of_a_merged_finding_can_be_gone() -> None:
    together = finding("a", also=("b",))
    assert names(compare([together], [finding("a")])) == ([], ["a"], [])
    assert names(compare([finding("a")], [together])) == ([], ["a"], [])
    assert names(compare([together], [])) == ([], [], ["a"])
