"""Test anchors above a place, and how often each is used."""

from __future__ import annotations

import pytest

from kcheck.text.syntax import key_paths, yaml
from kcheck.text.text import Source

MERGED = "a: &a {x: 1}\nb: {<<: *a}\nc: {<<: *a, y: 2}\n"
NESTED = "a: &a {b: &b {x: 1}}\nc: [*a, *a]\nd: *b\n"


@pytest.mark.parametrize(
    ("text", "path", "key", "expected"),
    [
        (MERGED, ("a", "x"), "", ("a", 3)),
        (MERGED, ("a",), "y", ("a", 2)),
        (MERGED, ("a",), "z", ("a", 3)),
        (NESTED, ("a", "b", "x"), "", ("b", 4)),
        (NESTED, ("a",), "z", ("a", 3)),
        ("x-a: &a {x: 1}\nb: *a\n", ("x-a", "x"), "", ("a", 1)),
        ("a: &a {x: 1}\nb: 2\n", ("a", "x"), "", ("", 1)),
    ],
)
def test_anchor_uses_are_counted_through_aliases_and_merges(
    text: str, path: tuple[str, ...], key: str, expected: tuple[str, int]
) -> None:
    (document,) = yaml.documents(Source("a.yaml", text.encode()))
    node = yaml.get(document.root, *path)
    assert node is not None
    assert key_paths.uses(node.span, key) == expected


def test_many_findings_of_a_file_count_its_nodes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file with a finding at each anchor, time would otherwise grow with the square of its size."""
    size, asked, entries = 200, 0, yaml.entries

    def counted(mapping: yaml.Mapping) -> dict[str, yaml.Pair]:
        nonlocal asked
        asked += 1
        return entries(mapping)

    text = "".join(f"a{i}: &a{i} {{x: {i}}}\nb{i}: *a{i}\n" for i in range(size))
    (document,) = yaml.documents(Source("a.yaml", text.encode()))
    monkeypatch.setattr(yaml, "entries", counted)
    places = [yaml.get(document.root, f"a{i}", "x") for i in range(size)]
    assert [key_paths.uses(place.span) for place in places if place] == [(f"a{i}", 2) for i in range(size)]
    assert asked < 10 * size
