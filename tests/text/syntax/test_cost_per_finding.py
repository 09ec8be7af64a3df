"""Test that the place of a finding is found with as few calls in a long file as in a short one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kcheck.text.findings import Change
from kcheck.text.syntax import edit, yaml
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import OverlapError, Source, Span
from kcheck.text.values import Missing, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.text.syntax.insertion import Insertion
    from kcheck.text.text import Edit

pytestmark = pytest.mark.medium

JOB = "kind: Job\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          image: b:{i}\n"
POOL = 'resource "pool" "p{i}" {{\n  max_count = {i}\n  labels = {{\n    a = 1\n  }}\n}}\n'


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls that some work makes."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def documents(size: int) -> tuple[Source, list[Span]]:
    """Return a file of many Jobs, and the spans of their containers."""
    source = Source("a.yaml", "---\n".join(JOB.format(i=i) for i in range(size)).encode(), syntax="yaml")
    roots = [document.root for document in yaml.documents(source)]
    found = [yaml.get(root, "spec", "template", "spec", "containers") for root in roots]
    return source, [item.span for node in found if isinstance(node, yaml.Sequence) for item in node.items]


def items(size: int) -> tuple[Source, list[Span]]:
    """Return a file with many Jobs in one List, and the spans of their containers."""
    each = ("- " + JOB.format(i=i).replace("\n", "\n  ").rstrip(" ") for i in range(size))
    source = Source("a.yaml", ("kind: List\nitems:\n" + "".join(each)).encode(), syntax="yaml")
    jobs = yaml.get(next(yaml.documents(source)).root, "items")
    assert isinstance(jobs, yaml.Sequence)
    found = [yaml.get(yaml.resolve(job), "spec", "template", "spec", "containers") for job in jobs.items]
    return source, [item.span for node in found if isinstance(node, yaml.Sequence) for item in node.items]


def blocks(size: int) -> tuple[Source, list[Span]]:
    """Return a file of many pools, and the spans of their blocks."""
    source = Source("a.tf", "".join(POOL.format(i=i) for i in range(size)).encode(), syntax="hcl")
    return source, [block.span for block in parse(source).body.blocks]


def entries(size: int) -> tuple[Source, list[Span]]:
    """Return a file with many pools in one object, and the spans of their bodies."""
    lines = "".join(f"  p{i} = {{\n    a = 1\n  }}\n" for i in range(size))
    source = Source("a.tf", f"pools = {{\n{lines}}}\n".encode(), syntax="hcl")
    return source, [found for i in range(size) for found in [_after(source, f"p{i} = ".encode())]]


def _after(source: Source, name: bytes) -> Span:
    start = source.data.index(b" " + name) + len(name) + 1
    return source.span(start, source.data.index(b"}", start) + 1)


def added(place: Span, name: str = "more", value: str = "x") -> Change:
    """Return a change that adds a value to a block or map."""
    return Change(Origin((place,), missing=Missing(place, (name,))), name, value, "container", "x")


FILES = pytest.mark.parametrize("make", [documents, items, blocks, entries])


@FILES
def test_reading_keys_of_many_places_grows_linearly(make: Callable[[int], tuple[Source, list[Span]]]) -> None:
    def work(size: int) -> int:
        _, places = make(size)
        places[0].keys  # noqa: B018 - reads the file
        return calls(lambda: [place.keys for place in places])

    assert work(200) <= 1.3 * 4 * work(50)


@FILES
def test_editing_many_places_one_by_one_grows_linearly(make: Callable[[int], tuple[Source, list[Span]]]) -> None:
    def work(size: int) -> int:
        _, places = make(size)
        edit.edits([added(places[0])])
        return calls(lambda: [edit.edits([added(place)]) for place in places])

    assert work(200) <= 1.3 * 4 * work(50)


@FILES
def test_editing_many_places_together_grows_linearly(make: Callable[[int], tuple[Source, list[Span]]]) -> None:
    def work(size: int) -> int:
        _, places = make(size)
        together = edit.Together()
        together.add([added(places[0])])
        return calls(lambda: any(map(together.add, ([added(place)] for place in places))))

    assert work(200) <= 1.3 * 4 * work(50)


def test_an_insertion_wanted_by_many_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (place, *_) = blocks(1)
    made: list[Span] = []
    worked_out = edit._added

    def counted(container: Span, insertion: Insertion) -> list[Edit]:
        made.append(container)
        return worked_out(container, insertion)

    monkeypatch.setattr(edit, "_added", counted)
    together = edit.Together()
    for _ in range(100):
        together.add([added(place)])
    assert len(made) == 1


def test_a_change_that_overlaps_leaves_the_others_as_they_were() -> None:
    source = Source("a.yaml", b"a: 1\nb: 2\n", syntax="yaml")
    first, second = source.span(3, 4), source.span(8, 9)

    def replaced(place: Span, value: int) -> Change:
        return Change(Origin((place,), literal=True), "a", value, "container", "x")

    together = edit.Together()
    together.add([replaced(first, 5)])
    with pytest.raises(OverlapError):
        together.add([replaced(second, 6), replaced(first, 7)])
    together.add([replaced(first, 5), replaced(second, 8)])
    with pytest.raises(OverlapError):
        together.add([replaced(second, 6)])
