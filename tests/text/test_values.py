"""Test values and their origins."""

from __future__ import annotations

from msgspec.structs import replace

from kcheck.text.text import Source
from kcheck.text.values import Known, Missing, Origin, Unset, with_origin

FILE = Source("a.yaml", b"spec: {}")
KEY, MAP = FILE.span(0, 4), FILE.span(6, 8)
WRITTEN = Origin((KEY,), missing=Missing(MAP, ("replicas",)))


def test_an_absent_value_has_the_origin_of_its_place() -> None:
    absent = Unset(KEY, MAP, ("replicas",))
    assert absent.origin == WRITTEN
    assert absent == Unset(WRITTEN)
    assert hash(absent) == hash(Unset(WRITTEN))
    assert absent != Unset(KEY, MAP, ("paused",))


def test_an_absent_value_can_be_given_another_origin() -> None:
    moved = replace(WRITTEN, why="a person decides")
    assert with_origin(Unset(KEY, MAP, ("replicas",)), moved).origin == moved
    assert with_origin(Known(1, WRITTEN), moved) == Known(1, moved)
