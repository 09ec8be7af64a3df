"""Test completion in comments, and in a kcheck.yaml that does not parse yet."""

from __future__ import annotations

import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kcheck.addons.editor.completion import Completions, completions
from kcheck.addons.editor.half_typed import slot
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.config import schemas
from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.text.files.tree import Tree
from tests.places import ROOT


@pytest.fixture(scope="module")
def state() -> Snapshot:
    """Return the snapshot of an example after a check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "examples" / "eks-training")
        tree, config = Tree(["."]), Config()
        return Snapshot(os.getcwd(), tree, config, linter.run(tree, config), {})


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "eks-training")


def at(text: str, state: Snapshot | None = None, path: str = "kcheck.yaml") -> Completions:
    """Return the completions at the bar `|` in a text."""
    found = completions(text.replace("|", "", 1), path, text.index("|"), state)
    return found or Completions(0, 0, [])


def labels(text: str, state: Snapshot | None = None, path: str = "kcheck.yaml") -> list[str]:
    """Return the labels of the completions at the bar `|`, in the order of an editor."""
    return [one.label for one in sorted(at(text, state, path).items, key=lambda one: (one.rank, one.label))]


def chosen(text: str, label: str, state: Snapshot | None = None) -> str:
    """Return the text after the completion with this label was chosen."""
    found = at(text, state)
    (one,) = (one for one in found.items if one.label == label)
    plain = text.replace("|", "", 1)
    return plain[: found.start] + one.text + plain[found.end :]


TOP = sorted(schemas.load("settings")["properties"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|", TOP),
        ("nodes: 1\nfa|\nprice: 3\n", sorted({*TOP} - {"nodes", "price"})),
        ("suppressions:\n  - rule: a\n|", sorted({*TOP} - {"suppressions"})),
        ("suppressions:\n  - |", ["reason", "rule", "expires", "path"]),
        ("suppressions:\n  |", ["reason", "rule", "expires", "path"]),
        ("suppressions:\n- rule: a\n  |\n  reason: b\n- rule: c\n  path: d", ["expires", "path"]),
        ("suppressions:\n  - {rule: a, |", ["reason", "expires", "path"]),
        ("suppressions: [{rule: a,\n  |}]", ["reason", "expires", "path"]),
        ("limits:\n  eks.pool.quota: {value: 3, |}", ["reason"]),
        ("usage:\n  |", ["labels", "recording", "tiers", "window"]),
        ("usage:\n  tiers:\n    |", ["highest", "lowest", "standard"]),
        ("fail_on: |", ["error", "info", "never", "undecided", "warning"]),
        ("fail_on:|", ["error", "info", "never", "undecided", "warning"]),
        ("severity:\n  spot-single-type: |", ["error", "info", "warning"]),
        ("clusters:\n- root: infra\n  simulation: {boot: |", ["95s"]),
        ("# |", []),
        ("nodes: 1 # |", []),
        ("usage:\n  window: 7d\nno such: |", []),
        ("nodes: |", []),
    ],
)
def test_valid_keys_and_values_are_completed(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


@pytest.mark.parametrize(
    "text",
    ["select: [|", "select:\n  - |", "select:\n  |", "ignore: [spot, sub|]", "not_ignorable: [|", "per_path_ignores:\n  lab: [|",
     "suppressions:\n  - rule: |", "suppressions:\n  - {rule: |", "suppressions:\n- rule: \"|\""],
)  # fmt: skip
def test_completion_in_comments_offers_rules_and_groups(text: str) -> None:
    every = {rule.name for rule in rules.load()}
    assert set(labels(text)) == every | {rule.group for rule in rules.load()}
    assert set(labels("severity:\n  |")) == every


def test_completion_offers_only_limits_that_can_be_raised() -> None:
    found = {one.label: one.detail for one in at("limits:\n  |").items}
    assert found["eks.pool.quota"] == "quota: 450 nodes"
    assert "eks.subnet.smallest" not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusters:\n  - root: |", ["."]),
        ("clusters:\n  - {root: ., var_files: [|", ["terraform.tfvars"]),
        ("var_files: [|", ["terraform.tfvars"]),
        ("clusters:\n  - root: .\n    manifests: [|", ["manifests", "manifests/cluster-autoscaler.yaml", "manifests/train.yaml"]),
        ("suppressions:\n  - path: |", ["eks.tf", "manifests", "manifests/cluster-autoscaler.yaml", "manifests/train.yaml", "terraform.tfvars", "vpc.tf"]),
        ("exclude: [|", ["manifests"]),
    ],
)  # fmt: skip
def test_completion_offers_existing_files_and_folders(text: str, expected: list[str], state: Snapshot) -> None:
    assert labels(text, state) == expected


@pytest.mark.parametrize(
    ("text", "label", "after"),
    [
        ("no|", "nodes", "nodes: "),
        ("su|", "suppressions", "suppressions:"),
        ("no|: 3", "nodes", "nodes: 3"),
        ("fail_on:|", "error", "fail_on: error"),
        ("fail_on: war|ning # as ever", "error", "fail_on: error # as ever"),
        ("select: [net|, spot]", "network", "select: [network, spot]"),
        ("select:\n  |", "network", "select:\n  - network"),
        ("suppressions:\n  |", "rule", "suppressions:\n  - rule: "),
        ('suppressions:\n  - rule: "sp|"\n', "spot", 'suppressions:\n  - rule: "spot"\n'),
        ("suppressions:\n  - {rule: 'sp|", "spot", "suppressions:\n  - {rule: 'spot'"),
    ],
)
def test_a_completion_replaces_the_typed_prefix(text: str, label: str, after: str) -> None:
    assert chosen(text, label) == after


def test_rules_found_in_the_file_come_first(state: Snapshot) -> None:
    text = (ROOT / "examples" / "eks-training" / "eks.tf").read_text()
    line = next(line for line in text.splitlines() if line.startswith('module "eks"'))
    commented = text.replace(line, f"{line} # kcheck: ignore[|]")
    found = labels(commented, state, "eks.tf")
    here = {one.rule for one in state.result.findings if one.span.source.path == "eks.tf"}
    assert "dns-not-scaled" in found[:3]
    assert set(found[: len(here)]) == here
    assert [one.detail for one in at(commented, state, "eks.tf").items if one.label == "dns-not-scaled"] == [
        "warning, scheduling, found here"
    ]


@pytest.mark.parametrize(
    ("text", "path", "start"),
    [
        ("a = 1 # kcheck: ignore[spot, sub|] why", "main.tf", 29),
        ("// kcheck:ignore[spot,|", "main.tf", 22),
        ('    kcheck.dev/ignore: "spot, job-|: why"', "a.yaml", 30),
        ("    kcheck.dev/ignore: spot,|", "a.yaml", 28),
    ],
)
def test_names_already_in_a_comment_or_annotation_are_not_offered_again(text: str, path: str, start: int) -> None:
    found = at(text, None, path)
    assert found.start == start
    names = [one.label for one in found.items]
    assert "spot" not in names
    assert {"network", "subnet-too-small"} <= {*names}


@pytest.mark.parametrize(
    "text", ["a = 1 # kcheck: ignore[spot] |", "# kcheck: ig|", "nodes = |", "    kcheck.dev/ignore: spot: |"]
)
def test_completion_offers_nothing_in_other_places(text: str) -> None:
    assert at(text, None, "main.tf").items == []


LEAF = st.sampled_from(["a", "1", '"x y"', "[a, b]", "{k: v}", "''"])
TREES = st.recursive(
    LEAF, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), TREES, min_size=1), st.booleans(), st.data())
def test_the_path_at_the_cursor_equals_the_path_a_parser_finds(
    tree: dict[str, object], flow: bool, data: st.DataObject
) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, width=1000, sort_keys=False)
    marked = []

    def leaves(node: object, steps: tuple[str | int, ...]) -> None:
        if isinstance(node, dict | list):
            for step, inner in node.items() if isinstance(node, dict) else enumerate(node):
                leaves(inner, (*steps, step))
        else:
            marked.append(steps)

    leaves(tree, ())
    wanted = data.draw(st.sampled_from(marked))
    holder: object = tree
    for step in wanted[:-1]:
        holder = holder[step]  # type: ignore[index]
    holder[wanted[-1]] = "cursor"  # type: ignore[index]
    text = yaml.safe_dump(tree, default_flow_style=flow, width=1000, sort_keys=False)
    found = slot(text, text.index("cursor") + 3)
    assert found is not None
    assert found.steps == wanted
    assert text[found.start : found.end] == "cursor"


@given(st.text(st.sampled_from("ab:-[]{}\"'#| \n,\t\u00e9\U0001f600"), max_size=40), st.integers(0, 40))
def test_completion_never_fails_on_any_text(text: str, cursor: int) -> None:
    found = slot(text, min(cursor, len(text)))
    assert found is None or 0 <= found.start <= min(cursor, len(text)) <= found.end <= len(text)
