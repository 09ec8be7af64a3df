"""Test code actions in an editor: their edits equal those of `kcheck fix`, byte for byte."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lsprotocol import types
from msgspec.structs import replace

from kcheck.addons.editor import actions
from kcheck.addons.editor.actions import Plan, Request
from kcheck.addons.editor.positions import Positions, uri
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.addons.editor.workspace_edits import Client, UneditableError, text_edits, workspace_edit
from kcheck.config import settings
from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.fix import fix
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES, Severity
from kcheck.text.text import Source
from tests.addons.editor.session import applied
from tests.places import LONG, ROOT

if TYPE_CHECKING:
    from kcheck.text.findings import Finding
    from tests.conftest import Check, Write


EXAMPLES = {
    f"{rule.name}-{example.number}": example.bad
    for rule in rules.load()
    for example in rule.documentation.examples
    if example.bad and example.fixed
}
CHOSEN = [name for number, name in enumerate(EXAMPLES) if LONG or number % 6 == 0]
ABLE = Client(versioned=True, annotated=True, snippets=True, creates=True, literals=True, shows=True)
SUBNET = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"
  default_node_pool {
    name       = "system"
    node_count = 30
  }
}
"""


def snapshot(config: Config | None = None, folder: str = ".") -> Snapshot:
    """Return a snapshot of a folder after a check."""
    tree, config = Tree([folder]), config or Config()
    return Snapshot(os.path.abspath(folder), tree, config, linter.run(tree, config), {})


def quiet(_: str) -> None:
    """Ignore a progress message."""


def made(state: Snapshot, plan: Plan) -> dict[str, bytes]:
    """Return the files of a plan as they are after an editor applied its edits."""
    assert plan.refusal == ""
    texts = {uri(os.path.abspath(file.path)): file for file in plan.files}
    result = {}
    for change in workspace_edit(plan, ABLE, Positions(), {}).edit.document_changes or ():
        assert isinstance(change, types.TextDocumentEdit)
        file = texts[change.text_document.uri]
        result[file.path] = applied(file.old.decode(), change.edits).encode()
    return result


def request(finding: Finding, what: str = "fix") -> Request:
    place = finding.span
    return Request(what, "", finding.rule, finding.object, place.source.path, finding.about, place.begin.line)


@pytest.mark.parametrize("name", CHOSEN)
def test_the_edits_of_an_action_equal_the_edits_of_fix(name: str, write: Write) -> None:
    """Only rules with a single finding are tested: `fix --select` then fixes nothing else."""
    write(dict(EXAMPLES[name]))
    state = snapshot(settings.load((".",)))
    fixable = [finding for finding in state.result.findings if finding.fix is not None]
    single = [one for one in fixable if [other.rule for other in fixable].count(one.rule) == 1]
    for finding in single:
        written = fix.fix(["."], state.config, safeties=SAFETIES, rules=(finding.rule,))
        plan = actions.work_out(state, request(finding), quiet)
        brought = {one.rule for one in written.fixed} ^ {finding.rule}
        if not brought and plan.title.count("; ") == 0:
            assert made(state, plan) == {file.path: file.new for file in written.files}


def test_the_title_states_the_cost_of_a_fix(check: Check) -> None:
    check({"main.tf": SUBNET})
    titles = [actions.fix_title(finding) for finding in snapshot().result.findings if finding.fix is not None]
    assert titles == ['Set sku_tier = "Standard" (costs: the bill or the behaviour changes)']


def test_the_title_of_an_unsafe_fix_names_what_it_may_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "gke-training")
    (finding,) = (one for one in snapshot().result.findings if one.fix is not None and one.fix.safety == "unsafe")
    assert actions.fix_title(finding) == (
        'Set ip_cidr_range = "10.0.0.0/21" (unsafe: may replace google_compute_subnetwork.nodes, or stop what runs there)'
    )


def test_a_fix_is_offered_at_the_finding_and_at_the_place_it_changes(check: Check) -> None:
    check(
        {"main.tf": SUBNET.replace('"Free"', "var.tier"), "variables.tf": 'variable "tier" {\n  default = "Free"\n}\n'}
    )
    state = snapshot()
    (own,) = (one for one in state.result.findings if one.fix is not None)
    for source in {own.span.source, *(change.origin.written.source for change in own.changes)}:
        at = source.data.index(b"Free") if b"Free" in source.data else own.span.start
        assert own in actions.findings_at(state, source, at, at)
        assert own not in actions.findings_at(state, source, len(source.data), len(source.data))


def test_a_fix_that_causes_another_finding_is_refused_with_the_reason(check: Check) -> None:
    check(
        {
            "main.tf": """
module "eks" {
  source     = "terraform-aws-modules/eks/aws"
  version    = "~> 21.0"
  name       = "main"
  subnet_ids = ["subnet-1"]
  eks_managed_node_groups = {
    default = {}
    own     = { max_size = 30 }
  }
}
"""
        }
    )
    state = snapshot(Config(nodes={"": 1000}))
    finding = next(one for one in state.result.findings if one.rule == "pool-capped-by-default")
    plan = actions.work_out(state, request(finding), quiet)
    assert plan.files == ()
    assert plan.refusal.startswith("then pool-over-quota would be found: Node group default grows to")


def test_a_vanished_finding_is_not_fixed(check: Check) -> None:
    check({"main.tf": SUBNET})
    state = snapshot()
    gone = replace(request(state.result.findings[0]), object="other")
    assert actions.work_out(state, gone, quiet).refusal == f"{gone.rule} is not found here any more"


def test_fixing_all_findings_of_a_file_leaves_other_files_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "eks-training")
    state = snapshot()
    path = "manifests/cluster-autoscaler.yaml"
    source = next(one for one in state.tree.sources.values() if one is not None and one.path == path)
    offers = {offer.kind: offer for offer in actions.offers_for_all(state, source, "")}
    assert offers[actions.FILE].title == "Fix 2 safe problems in this file"
    plans = {kind: actions.work_out(state, offer.request, quiet) for kind, offer in offers.items()}
    assert [file.path for file in plans[actions.FILE].files] == [path]
    assert plans[actions.FILE].safety == "safe"
    assert {file.path for file in plans[actions.WORKSPACE].files} == {"eks.tf", path, "manifests/train.yaml"}
    assert plans[actions.COSTS].safety == "costs"
    safe = fix.fix(["."], state.config, safeties=("safe",), least=Severity.WARNING)
    assert made(state, plans[actions.WORKSPACE]) == {file.path: file.new for file in safe.files}


def test_the_cursor_waits_for_the_reason_in_an_ignore_comment(check: Check) -> None:
    check({"main.tf": SUBNET})
    state = snapshot()
    (finding,) = (one for one in state.result.findings if one.rule == "free-control-plane")
    plan = actions.work_out(state, request(finding, "comment"), quiet)
    assert made(state, plan) == {
        "main.tf": SUBNET.replace('"Free"', '"Free" # kcheck: ignore[free-control-plane] ').encode()
    }
    plain = workspace_edit(plan, ABLE, Positions(), {})
    assert plain.cursor is not None
    assert plain.cursor[1:] == (2, len('  sku_tier = "Free" # kcheck: ignore[free-control-plane] '))


JOB = """{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {"template": {"spec": {
  "restartPolicy": "Never", "containers": [{"name": "train", "image": "registry.example.com/train:1.0",
  "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}
"""


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("kcheck.yaml", None, "suppressions:\n  - rule: {}\n    path: jobs/a.json\n    reason: \n"),
        ("kcheck.yaml", "nodes: 10\n", "nodes: 10\nsuppressions:\n- rule: {}\n  path: jobs/a.json\n  reason: \n"),
        ("kcheck.yaml", "suppressions:\n- {{rule: spot, reason: b}}\n",
         "suppressions:\n- {{rule: spot, reason: b}}\n- rule: {}\n  path: jobs/a.json\n  reason: \n"),
        ("pyproject.toml", "[tool.kcheck]\nnodes = 10\n",
         '[tool.kcheck]\nnodes = 10\n\n[[tool.kcheck.suppressions]]\nrule = "{}"\npath = "jobs/a.json"\nreason = ""\n'),
    ],
)  # fmt: skip
def test_the_settings_get_an_entry_where_no_comment_is_possible(
    name: str, before: str | None, after: str, write: Write
) -> None:
    write({"jobs/a.json": JOB} | ({name: before.format()} if before is not None else {}))
    state = snapshot(settings.load((".",)))
    finding = next(one for one in state.result.findings if one.rule == "job-never-cleaned")
    source = finding.span.source
    offered = list(actions.offers(state, source, "", [finding]))
    assert [offer.request.what for offer in offered] == ["fix", "setting", "explain"]
    plan = actions.work_out(state, offered[1].request, quiet)
    assert plan.refusal == ""
    (file,) = plan.files
    assert file.fresh == (before is None)
    assert file.new.decode().replace(actions.REASON, "") == after.format(finding.rule)
    write({name: file.new})
    again = linter.run(Tree(["."]), settings.load((".",)))
    assert "job-never-cleaned" not in {one.rule for one in again.findings}


def test_an_unreadable_file_offers_no_ignore(check: Check) -> None:
    check({"main.tf": "resource {{{\n"})
    state = snapshot()
    (finding,) = state.result.findings
    assert [offer.request.what for offer in actions.offers(state, finding.span.source, "", [finding])] == ["explain"]


@pytest.mark.parametrize("data", [b'a = "\xff"\n', b"a = 1\rb = 2\n"])
def test_text_whose_positions_an_editor_counts_otherwise_is_not_edited(data: bytes) -> None:
    with pytest.raises(UneditableError):
        text_edits(Source("main.tf", data), data + b"c = 3\n", Positions())


def test_a_file_that_has_changed_on_disk_is_not_edited(check: Check) -> None:
    check({"main.tf": SUBNET})
    state = snapshot()
    finding = next(one for one in state.result.findings if one.fix is not None)
    plan = actions.work_out(state, request(finding), quiet)
    check({"main.tf": SUBNET + "# more\n"})
    with pytest.raises(UneditableError, match="has changed since it was checked"):
        workspace_edit(plan, ABLE, Positions(), {})


PIECES = st.lists(st.sampled_from(["a", "b", "\u00e9", "\U0001f600", "\n", "\r\n", "\ufeff"]), max_size=12).map("".join)


@given(PIECES, PIECES, st.integers(0, 12), st.integers(0, 4))
def test_computed_edits_turn_the_old_text_into_the_new_text(before: str, more: str, at: int, less: int) -> None:
    after = before[:at] + more + before[at + less :]
    assume("\r" not in (before + after).replace("\r\n", "") and not before.startswith("\ufeff"))
    assume("\r" not in before.replace("\r\n", "") and "\r" not in after.replace("\r\n", ""))
    edits = text_edits(Source("main.tf", before.encode()), after.encode(), Positions())
    assert applied(before, edits) == after
