"""New entries of YAML mappings: in the style of the mapping, every other byte as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck import edit
from kcheck.findings import Change
from kcheck.syntax import yaml
from kcheck.text import Source, apply
from kcheck.values import Missing, Origin


def inserted(text: str, at: tuple[str, ...], path: tuple[str, ...], value: str | int | bool) -> str:
    """The text with an entry added below the mapping at a path."""
    source = Source("a.yaml", text.encode())
    root = next(yaml.documents(source)).root
    node = yaml.get(root, *at)
    assert isinstance(node, yaml.Mapping)
    origin = Origin((node.span,), missing=Missing(node.span, path))
    edits = edit.edits([Change(origin, path[-1], value, "template", "x")])
    return apply(source.data, edits).decode()


@pytest.mark.parametrize(
    ("text", "at", "path", "expected"),
    [
        pytest.param("a:\n  b: 1\n", ("a",), ("c",), "a:\n  b: 1\n  c: 5\n", id="block"),
        pytest.param("a:\n  b: 1", ("a",), ("c",), "a:\n  b: 1\n  c: 5", id="no line end"),
        pytest.param("a:\n  b: 1 # why\n\nd: 2\n", ("a",), ("c",), "a:\n  b: 1 # why\n  c: 5\n\nd: 2\n", id="comment"),
        pytest.param("a:\n  b:\n", ("a",), ("c",), "a:\n  b:\n  c: 5\n", id="null last"),
        pytest.param(
            "a:\n  b: 1\n    # c: 2\n  # d: 3\ne: 4\n",
            ("a",),
            ("f",),
            "a:\n  b: 1\n    # c: 2\n  f: 5\n  # d: 3\ne: 4\n",
            id="a comment that is further in",
        ),
        pytest.param("a: {b: 1}\n", ("a",), ("c", "d"), "a: {b: 1, c: {d: 5}}\n", id="flow"),
        pytest.param("a: {}\n", ("a",), ("c",), "a:\n  c: 5\n", id="empty flow"),
        pytest.param(
            "a:\n  b: |\n    x\n    y\nd: 1\n", ("a",), ("c",), "a:\n  c: 5\n  b: |\n    x\n    y\nd: 1\n", id="text"
        ),
        pytest.param("a:\r\n  b: 1\r\nd: 2\r\n", ("a",), ("c",), "a:\r\n  b: 1\r\n  c: 5\r\nd: 2\r\n", id="windows"),
        pytest.param("a:\n  b: 1\n", (), ("c", "d"), "c:\n  d: 5\na:\n  b: 1\n", id="nested"),
        pytest.param("- n: x\n  m:\n    k: 1\n", (0,), ("c",), "- n: x\n  c: 5\n  m:\n    k: 1\n", id="item of a list"),
    ],
)
def test_entry(text: str, at: tuple[str, ...], path: tuple[str, ...], expected: str) -> None:
    assert inserted(text, at, path, 5) == expected


NAMES = st.from_regex(r"[a-z][a-zA-Z.\-/]{0,8}", fullmatch=True)
VALUES = st.one_of(st.integers(0, 10**6), st.booleans(), st.text("ab:#{}'\" é,", max_size=8))


@given(
    st.lists(NAMES, min_size=1, max_size=4, unique=True), st.lists(NAMES, min_size=1, max_size=3), VALUES, st.booleans()
)
def test_what_is_inserted_reads_back(names: list[str], path: list[str], value: str | int | bool, flow: bool) -> None:
    names = [name for name in names if name != path[0]] or ["other"]
    if path[0] in names:
        return
    inner = ", ".join(f"{yaml.literal(name)}: 1" for name in names)
    block = "".join(f"  {yaml.literal(name)}: 1\n" for name in names)
    text = f"a: {{{inner}}}\nz: end\n" if flow else f"a:\n{block}z: end\n"
    root = next(yaml.documents(Source("a.yaml", inserted(text, ("a",), tuple(path), value).encode()))).root
    found = yaml.get(root, "a", *path)
    assert isinstance(found, yaml.Scalar)
    assert yaml.value(found) == value
    assert all(isinstance(yaml.get(root, "a", name), yaml.Scalar) for name in names)
    end = yaml.get(root, "z")
    assert isinstance(end, yaml.Scalar)
    assert end.text == "end"
