"""The thread that works out edits."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor import actions
from kcheck.addons.editor.actions import Plan, Request
from kcheck.addons.editor.prover import OutdatedError, Prover
from kcheck.addons.editor.snapshot import Snapshot
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WITHIN = 60


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """The state of an empty folder."""
    monkeypatch.chdir(tmp_path)
    tree = Tree(["."])
    return Snapshot(str(tmp_path), tree, Config(), linter.run(tree, Config()), {})


def one(name: str) -> Request:
    return Request("fix", "", rule=name)


def yes() -> bool:
    return True


def test_what_is_chosen_comes_before_what_is_only_tried(state: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_outdated_is_not_worked_out(state: Snapshot) -> None:
    prover = Prover()
    with pytest.raises(OutdatedError):
        prover.ask(state, Request("workspace", ""), lambda: False).result(WITHIN)
    assert prover.known(state, Request("workspace", "")) is None
    assert prover.ask(state, Request("workspace", ""), yes).result(WITHIN).refusal == "nothing is left to fix"


def test_a_mistake_of_kcheck_does_not_end_the_thread(state: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    def work_out(_: Snapshot, request: Request, __: Callable[[str], None]) -> Plan:
        if request.rule == "bad":
            raise ZeroDivisionError
        return Plan(title=request.rule)

    monkeypatch.setattr(actions, "work_out", work_out)
    prover = Prover()
    with pytest.raises(ZeroDivisionError):
        prover.ask(state, one("bad"), yes).result(WITHIN)
    assert prover.ask(state, one("good"), yes).result(WITHIN).title == "good"
