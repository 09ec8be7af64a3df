"""Test examples of rules whose `good` or `fixed` is a diff of `bad`."""

from __future__ import annotations

import pytest

from kcheck.engine.rule import patched

POOLS = """\
pool "a" {
  size = 1
}

pool "b" {
  size = 1
  zone = "x"
}
"""


@pytest.mark.parametrize(
    ("diff", "old", "new"),
    [
        pytest.param('@@\n-  zone = "x"\n+  zone = "y"\n', 'zone = "x"', 'zone = "y"', id="a-line-is-replaced"),
        pytest.param('@@\n-  size = 1\n   zone = "x"\n', '  size = 1\n  zone = "x"', '  zone = "x"', id="context-tells-which-line"),
        pytest.param('@@ pool "b" {\n-  size = 1\n+  size = 2\n', "1\n  zone", "2\n  zone", id="below-a-line"),
        pytest.param('@@ pool "b" {\n+  spot = true\n', '"b" {\n', '"b" {\n  spot = true\n', id="insertion-below-a-line"),
        pytest.param('@@ zone = "x"\n+  spot = true\n@@\n-  spot = true\n', "", "", id="hunks-in-turn"),
        pytest.param("@@\n }\n\n-pool \"b\" {\n+pool \"c\" {\n", '"b"', '"c"', id="an-empty-line-is-context"),
    ],
)  # fmt: skip
def test_a_hunk_changes_the_lines_that_it_names(diff: str, old: str, new: str) -> None:
    assert patched({"main.tf": POOLS}, diff) == {"main.tf": POOLS.replace(old, new)}


def test_a_hunk_without_a_file_name_finds_its_file() -> None:
    files = {"main.tf": POOLS, "kcheck.yaml": "nodes: 10\n"}
    assert patched(files, "@@\n-nodes: 10\n+nodes: 20\n") == files | {"kcheck.yaml": "nodes: 20\n"}


@pytest.mark.parametrize(
    ("hunk", "places"),
    [
        pytest.param("@@\n-  size = 3\n", 0, id="nowhere"),
        pytest.param("@@\n-  size = 1\n", 2, id="twice"),
        pytest.param('@@ pool "c" {\n-  size = 1\n', 0, id="below-no-such-line"),
    ],
)
def test_a_hunk_that_fits_no_single_place_is_refused(hunk: str, places: int) -> None:
    with pytest.raises(ValueError, match=f"^{places} places of `bad` have the lines of this hunk:\n{hunk[:5]}"):
        patched({"main.tf": POOLS}, hunk)
