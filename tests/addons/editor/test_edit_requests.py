"""Test code actions and completion that an editor requests over stdin and stdout."""

from __future__ import annotations

import asyncio
import shutil
from threading import Event
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from kcheck.addons.editor import actions
from kcheck.addons.editor.actions import Plan, Request
from kcheck.addons.editor.edit_requests import OutdatedError, Prover
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from tests.addons.editor.session import capabilities, run
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.addons.editor.session import Editor


CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  /* Größe 😀 */ sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = 30
  }
}
"""
RULE = "free-control-plane"
LINE = types.Range(types.Position(2, 30), types.Position(2, 30))
JOB = """\
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {
  "restartPolicy": "Never", "containers": [{"name": "a", "image": "registry.example.com/a:1",
  "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}
"""
ALL = types.Range(types.Position(0, 0), types.Position(10_000, 0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a cluster, whose text before the edited place has more bytes than columns."""
    (tmp_path / "main.tf").write_text(CLUSTER, encoding="utf-8")
    return tmp_path


def titled(found: list[types.CodeAction], begin: str) -> types.CodeAction:
    (action,) = (one for one in found if one.title.startswith(begin))
    return action


def test_a_confirmed_fix_removes_its_finding(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        shown = await own.rules(address, RULE)
        action = titled(await own.actions(address, LINE, shown=shown), "Set sku_tier")
        assert list(action.diagnostics or ()) == [one for one in shown if one.code == RULE]
        assert action.edit is None
        done = await own.choose(action)
        assert done.edit is not None
        assert done.edit.change_annotations is not None
        (annotation,) = done.edit.change_annotations.values()
        assert (annotation.label, annotation.needs_confirmation) == ("kcheck (costs)", True)
        assert own.buffers[address] == CLUSTER.replace('"Free"', '"Standard"')
        await own.rules(address, RULE, gone=True)

    run(folder, story)


def test_an_editor_without_action_edits_gets_a_command_instead(folder: Path) -> None:
    able = capabilities(versioned=False, resolves=False, snippets=False, annotated=False, shows=False)

    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        action = titled(await own.actions(address, LINE), "Set sku_tier")
        assert action.command is not None
        await own.choose(action)
        await own.rules(address, RULE, gone=True)
        assert own.buffers[address] == CLUSTER.replace('"Free"', '"Standard"')

    run(folder, story, able)


def test_an_editor_that_cannot_open_documents_shows_the_address_of_a_rule(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        await own.choose(titled(await own.actions(address, LINE), f"Explain {RULE}"))
        assert own.messages[-1].endswith(f"rules/control-plane/{RULE}.yaml")

    run(folder, story, capabilities(shows=False))


@pytest.mark.parametrize("snippets", [True, False])
def test_an_ignore_comment_is_written_and_the_reason_is_left_to_type(snippets: bool, folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        await own.choose(titled(await own.actions(address, LINE), f"Ignore {RULE} here"))
        comment = f" # kcheck: ignore[{RULE}] "
        assert own.buffers[address] == CLUSTER.replace('"Free"', f'"Free"{comment}')
        missing = await own.rules(address, "suppression-without-reason")
        assert RULE in {one.code for one in missing}
        if not snippets:
            (shown,) = own.shown
            line = own.buffers[address].split("\n")[2]
            at = types.Position(2, len(line.encode("utf-16-le")) // 2)
            assert (shown.uri, shown.selection) == (address, types.Range(at, at))
        own.type(address, CLUSTER.replace('"Free"', f'"Free"{comment}torn down every night'))
        left = await own.rules(address, "suppression-without-reason", gone=True)
        assert RULE not in {one.code for one in left}

    run(folder, story, capabilities() if snippets else capabilities(snippets=False))


def test_the_settings_get_an_entry_where_no_comment_fits(folder: Path) -> None:
    (folder / "main.tf").unlink()
    (folder / "a.json").write_text(JOB)

    async def story(own: Editor) -> None:
        address = own.open("a.json")
        await own.rules(address, "job-never-cleaned")
        action = titled(await own.actions(address, ALL), "Ignore job-never-cleaned for this file in the settings")
        await own.choose(action)
        text = "suppressions:\n  - rule: job-never-cleaned\n    path: a.json\n    reason: \n"
        assert (folder / "kcheck.yaml").read_text() == text
        (shown,) = own.shown
        assert shown.uri.endswith("/kcheck.yaml")
        assert shown.selection == types.Range(types.Position(3, 12), types.Position(3, 12))

    run(folder, story)


def test_the_page_of_a_rule_explains_it(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        await own.choose(titled(await own.actions(address, LINE), f"Explain {RULE}"))
        (shown,) = own.shown
        assert shown.external
        assert shown.uri.endswith(f"rules/control-plane/{RULE}.yaml")

    run(folder, story)


def test_a_refused_fix_is_disabled_with_its_reason(folder: Path) -> None:
    (folder / "main.tf").write_text("""\
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
""")
    (folder / "kcheck.yaml").write_text("nodes: 1000\n")

    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, "pool-capped-by-default")
        action = titled(await own.actions(address, ALL, only=["quickfix"]), "Add max_size")
        if action.disabled is None:  # it was not known yet when the menu opened
            assert (await own.choose(action)).edit is None
            assert "then pool-over-quota would be found" in own.messages[-1]
            action = titled(await own.actions(address, ALL, only=["quickfix"]), "Add max_size")
        assert action.disabled is not None
        assert action.disabled.reason.startswith("then pool-over-quota would be found")

    run(folder, story)


def test_fixes_on_save_are_safe_and_in_this_file(tmp_path: Path) -> None:
    folder = tmp_path / "eks"
    shutil.copytree(ROOT / "examples" / "eks-training", folder)

    async def story(own: Editor) -> None:
        address = own.open("manifests/cluster-autoscaler.yaml")
        await own.rules(address, "removed-autoscaler-flag")
        (action,) = await own.actions(address, ALL, only=["source.fixAll"])
        assert (action.title, action.kind) == ("Fix 2 safe problems in this file", "source.fixAll.kcheck")
        done = await own.choose(action)
        assert done.edit is not None
        assert done.edit.change_annotations is None
        await own.rules(address, "removed-autoscaler-flag", gone=True)
        kinds = {one.kind for one in await own.actions(address, ALL, only=["source"])}
        assert kinds == {"source.kcheck.fixAll.workspace", "source.kcheck.fixAll.costs"}

    run(folder, story)


def test_unfinished_code_has_no_actions(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        own.type(address, CLUSTER.replace('"Free"', '"Free'))
        assert await own.actions(address, ALL) == []
        own.type(address, CLUSTER)
        assert await own.actions(address, ALL) != []

    run(folder, story)


def test_actions_apply_to_the_text_just_typed(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        action = titled(await own.actions(address, LINE), "Set sku_tier")
        own.type(address, f"# é\n# 😀\n{CLUSTER}")
        done = await own.choose(action)
        assert done.edit is not None
        assert own.buffers[address] == f"# é\n# 😀\n{CLUSTER}".replace('"Free"', '"Standard"')

    run(folder, story)


def test_many_findings_at_one_place_give_a_short_menu_of_actions(folder: Path) -> None:
    pool = 'resource "azurerm_kubernetes_cluster" "c{0}" {{\n  name     = "c{0}"\n  sku_tier = "Free"\n  default_node_pool {{\n    name       = "system"\n    node_count = 30\n  }}\n}}\n'
    (folder / "main.tf").write_text("".join(map(pool.format, range(300))))

    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        found = await own.rules(address, RULE)
        assert len(found) >= 300
        offered = await own.actions(address, ALL, shown=found)
        assert 20 <= len(offered) <= 45

    run(folder, story)


async def completed(own: Editor, address: str, line: int, character: int) -> dict[str, types.CompletionItem]:
    place = types.CompletionParams(types.TextDocumentIdentifier(address), types.Position(line, character))
    found = await asyncio.wait_for(own.client.text_document_completion_async(place), 60)
    assert isinstance(found, types.CompletionList)
    return {one.label: one for one in found.items}


def test_rule_names_are_completed_after_wide_characters(folder: Path) -> None:
    async def story(own: Editor) -> None:
        address = own.open("main.tf")
        await own.rules(address, RULE)
        typed = CLUSTER.replace('"Free"', '"Free" # kcheck: ignore[fr')
        own.type(address, typed)
        line = typed.split("\n")[2]
        columns = len(line.encode("utf-16-le")) // 2
        found = await completed(own, address, 2, columns)
        assert min(found.values(), key=lambda one: one.sort_text or "").label == RULE
        edit = found[RULE].text_edit
        assert isinstance(edit, types.TextEdit)
        assert edit.range == types.Range(types.Position(2, columns - 2), types.Position(2, columns))
        own.make(types.WorkspaceEdit(changes={address: [edit]}))
        assert own.buffers[address] == typed.replace("ignore[fr", f"ignore[{RULE}")

    run(folder, story)


def test_settings_are_completed_while_they_are_broken(folder: Path) -> None:
    (folder / "kcheck.yaml").write_text("nodes: 100\n")

    async def story(own: Editor) -> None:
        await own.rules(own.open("main.tf"), RULE)
        address = own.open("kcheck.yaml")
        own.type(address, "nodes: 100\nclusters:\n  - {root: 'é', var_files: [\nfail_on: ")
        own.type(address, "nodes: 100\nsuppressions:\n  - {path: 😀, rule: ")
        found = await completed(own, address, 2, 21)
        assert RULE in found
        own.type(address, "nodes: 100\nsupp")
        found = await completed(own, address, 1, 4)
        assert "nodes" not in found
        assert found["suppressions"].documentation == "Findings that are accepted."

    run(folder, story)


WITHIN = 60


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """Return the snapshot of an empty folder."""
    monkeypatch.chdir(tmp_path)
    tree = Tree(["."])
    return Snapshot(str(tmp_path), tree, Config(), linter.run(tree, Config()), {})


def one(name: str) -> Request:
    return Request("fix", "", rule=name)


def yes() -> bool:
    return True


def test_fixes_the_user_chose_run_before_fixes_tried_in_advance(
    state: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    begun, go_on = Event(), Event()

    def work_out(_: Snapshot, request: Request, __: Callable[[str], None]) -> Plan:
        begun.set()
        assert go_on.wait(WITHIN)
        done.append(request.rule)
        return Plan(title=request.rule)

    monkeypatch.setattr(actions, "work_out", work_out)
    prover = Prover()
    tried = [prover.ask(state, one(name), yes) for name in ("a", "b", "c")]
    assert begun.wait(WITHIN)
    assert prover.known(state, one("c")) is None
    chosen = prover.ask(state, one("c"), yes, chosen=True)
    go_on.set()
    assert chosen.result(WITHIN).title == "c"
    assert [future.result(WITHIN).title for future in tried] == ["a", "b", "c"]
    assert done == ["a", "c", "b"]
    assert prover.known(state, one("c")) == Plan(title="c")


def test_outdated_requests_are_dropped(state: Snapshot) -> None:
    prover = Prover()
    with pytest.raises(OutdatedError):
        prover.ask(state, Request("workspace", ""), lambda: False).result(WITHIN)
    assert prover.known(state, Request("workspace", "")) is None
    assert prover.ask(state, Request("workspace", ""), yes).result(WITHIN).refusal == "nothing is left to fix"


def test_an_error_in_kcheck_does_not_end_the_worker_thread(state: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    def work_out(_: Snapshot, request: Request, __: Callable[[str], None]) -> Plan:
        if request.rule == "bad":
            raise ZeroDivisionError
        return Plan(title=request.rule)

    monkeypatch.setattr(actions, "work_out", work_out)
    prover = Prover()
    with pytest.raises(ZeroDivisionError):
        prover.ask(state, one("bad"), yes).result(WITHIN)
    assert prover.ask(state, one("good"), yes).result(WITHIN).title == "good"
