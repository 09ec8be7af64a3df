"""Test positions, spans and edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.text.text import Edit, OverlapError, Source, apply


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"ab\ncd", 3, (2, 1)),
        (b"ab\ncd", 2, (1, 3)),
        ("é=1".encode(), 2, (1, 2)),
        (b"\xef\xbb\xbfab", 3, (1, 1)),
        (b"\xef\xbb\xbfab", 4, (1, 2)),
        (b"a\r\nb", 3, (2, 1)),
        (b"", 0, (1, 1)),
    ],
)
def test_positions_count_code_points(data: bytes, offset: int, expected: tuple[int, int]) -> None:
    assert Source("f", data).position(offset) == expected


def test_a_line_has_no_line_end_and_no_byte_order_mark() -> None:
    source = Source("f", b"\xef\xbb\xbfone\r\ntwo")
    assert [source.line(1), source.line(2)] == ["one", "two"]
    assert source.newline == "\r\n"


def test_applying_an_edit_keeps_other_bytes() -> None:
    source = Source("f", b"a = 1\r\nb = 2")
    edits = [Edit(source.span(4, 5), "10"), Edit(source.span(11, 12), "20"), Edit(source.span(4, 5), "10")]
    assert apply(source.data, edits) == b"a = 10\r\nb = 20"


def test_insertions_at_one_place_keep_their_order() -> None:
    source = Source("f", b"ab")
    assert apply(source.data, [Edit(source.span(1, 1), "1"), Edit(source.span(1, 1), "2")]) == b"a12b"


def test_overlapping_edits_are_refused() -> None:
    source = Source("f", b"abcdef")
    with pytest.raises(OverlapError):
        apply(source.data, [Edit(source.span(0, 3), "x"), Edit(source.span(2, 4), "y")])


@given(
    st.binary(max_size=80), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 8), st.text(max_size=3)), max_size=5)
)
def test_bytes_outside_edits_do_not_change(data: bytes, wanted: list[tuple[int, int, str]]) -> None:
    source = Source("f", data)
    edits, end = [], 0
    for start, length, text in sorted(wanted):
        if end <= start <= len(data):
            end = min(len(data), start + length)
            edits.append(Edit(source.span(start, end), text))
    result = apply(data, edits)
    expected, at = b"", 0
    for edit in edits:
        expected += data[at : edit.span.start] + edit.text.encode()
        at = edit.span.end
    if len({(e.span, e.text) for e in edits}) == len(edits):
        assert result == expected + data[at:]
