"""Test that lines of two texts are matched in their order, in a time that grows with their number."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kcheck.text.files.save import LineMatcher

LINES = st.lists(st.sampled_from(["{", "}", "a", "b", "c"]) | st.text("xyz", min_size=2, max_size=3), max_size=30)


@given(LINES, LINES)
def test_the_steps_turn_the_old_lines_into_the_new_ones(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    at = 0
    for kind, start, end, to, stop in LineMatcher(old, new).get_opcodes():
        assert start == at
        assert kind != "equal" or old[start:end] == new[to:stop]
        made += old[start:end] if kind == "equal" else new[to:stop]
        at = end
    assert (made, at) == (new, len(old))


@given(LINES, LINES)
def test_blocks_of_equal_lines_that_follow_each_other_are_one(old: list[str], new: list[str]) -> None:
    *blocks, _ = LineMatcher(old, new).get_matching_blocks()
    for one, following in pairwise(blocks):
        assert (one.a + one.size, one.b + one.size) != (following.a, following.b)


def test_a_line_that_is_there_once_stays_though_the_lines_around_it_repeat() -> None:
    old = ["{", "one", "}", "{", "two", "}"]
    new = ["{", "new", "}", "{", "one", "}", "{", "two", "}"]
    steps = [step for step in LineMatcher(old, new).get_opcodes() if step[0] != "equal"]
    assert steps == [("insert", 1, 1, 1, 4)]


class Counted(str):
    """A line that counts how often it is looked up."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()

    __eq__ = str.__eq__


def looks(blocks: int) -> int:
    """Count the lines looked up to compare blocks with one new line each."""
    old = [Counted(line) for i in range(blocks) for line in ("spec:", f"name: {i}", "image: a", "command: b", "---")]
    new = [Counted(line) for one in old for line in ((one, "  volumes: []") if one.startswith("name") else (one,))]
    Counted.looks = 0
    LineMatcher(old, new).get_opcodes()
    return Counted.looks


def test_twice_as_many_blocks_take_twice_as_long_to_compare() -> None:
    assert looks(400) / looks(200) < 2.1
