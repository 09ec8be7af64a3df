"""Test that repeated checks of an edited folder equal a first check."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor import checker
from kcheck.addons.editor.checker import Checker
from kcheck.config.effective import effective_config
from kcheck.scale.simulate import results
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.scale.simulate.scenario import Scenario

Seen = set[tuple[str, str, int, str, str]]


@pytest.fixture(params=["eks-training", "own-rules"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of an example in which every check reports a partial result first, however short it is."""
    shutil.copytree(ROOT / "examples" / request.param, tmp_path / "code")
    monkeypatch.chdir(tmp_path / "code")
    monkeypatch.setattr(checker, "_SHORT", -1.0)
    return tmp_path / "code"


def make() -> Checker:
    here = os.path.realpath(".")
    return Checker(here, lambda overlay: effective_config((here,), None, {}, overlay))


def seen(snapshot: Snapshot) -> Seen:
    """Return the visible parts of each finding: rule, place, message, fix or help."""
    return {
        (one.rule, one.span.source.path, one.span.start, one.message, one.fix.title if one.fix else one.help)
        for one in snapshot.result.findings
    }


def edits(folder: Path) -> list[dict[str, str]]:
    """Return edited versions of a folder's files: with other numbers, other names, missing lines."""
    result = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".tf", ".tfvars", ".yaml"):
            text = path.read_text()
            lines = text.splitlines(keepends=True)
            numbers = [i for i, line in enumerate(lines) if any(c.isdigit() for c in line) and "#" not in line]
            for i in numbers[:: max(1, len(numbers) // 3)]:
                more = "".join(
                    c + "0" if c.isdigit() and not (lines[i][k + 1 : k + 2]).isdigit() else c
                    for k, c in enumerate(lines[i])
                )
                result.append({str(path): "".join([*lines[:i], more, *lines[i + 1 :]])})
                result.append({str(path): "".join([*lines[:i], *lines[i + 1 :]])})
            result.append({str(path): f"\n{text}"})
    return result


def encoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {os.path.realpath(path): text.encode() for path, text in texts.items()}


def test_after_each_edit_the_findings_equal_a_fresh_check(folder: Path) -> None:
    again = make()
    list(again.check({}))
    partial = 0
    for texts in edits(folder):
        *first, last = again.check(encoded(texts))
        assert seen(last) == seen(list(make().check(encoded(texts)))[-1])
        assert not last.partial
        assert all(one.partial for one in first)
        partial += len(first)
    assert partial


def test_findings_of_the_edited_file_come_first(folder: Path) -> None:
    again = make()
    list(again.check({}))
    for texts in edits(folder):
        *first, last = again.check(encoded(texts))
        for one in first:
            ours = {os.path.relpath(path) for path in texts}
            assert {own for own in seen(one) if own[1] in ours} == {own for own in seen(last) if own[1] in ours}


def test_no_run_is_simulated_before_the_first_findings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Savings of the run before stand in; the second pass replaces them by those of the code as it is now."""
    again, compare = make(), results.compare
    simulated: list[Scenario] = []

    def counted(before: Scenario, after: Scenario) -> results.Saving | None:
        simulated.append(before)
        return compare(before, after)

    monkeypatch.setattr(results, "compare", counted)
    list(again.check({}))
    for texts in edits(folder):
        simulated.clear()
        checks = again.check(encoded(texts))
        last = next(checks)
        assert not (last.partial and simulated)
        for last in checks:  # noqa: B007 - the last one is looked at
            pass
        fresh = list(make().check(encoded(texts)))[-1]
        assert {one.details for one in last.result.findings} == {one.details for one in fresh.result.findings}


def test_unreadable_text_keeps_the_old_findings_and_reports_the_broken_place(folder: Path) -> None:
    again = make()
    (whole,) = [snapshot for snapshot in again.check({}) if not snapshot.partial]
    path = next(
        one.span.source.path for one in whole.result.findings if one.span.source.path.endswith((".tf", ".yaml"))
    )
    good = (folder / path).read_text()
    list(again.check(encoded({path: good})))
    snapshot = list(again.check(encoded({path: f'# typed\n{good}\nresource "a" "b" {{\n  x = \n'})))[-1]
    assert seen(snapshot) == seen(whole)
    (stand_in,) = snapshot.stand_ins.values()
    assert stand_in.problem.span.begin.line > len(good.splitlines())
    moved = {
        (one.rule, snapshot.shown(one.span).begin.line)
        for one in snapshot.result.findings
        if one.span.source.path == path
    }
    assert moved == {
        (one.rule, one.span.begin.line + 1) for one in whole.result.findings if one.span.source.path == path
    }
    assert not list(again.check(encoded({path: good})))[-1].stand_ins
