"""Test that a real API server accepts, with strict validation, what kcheck generates, fixes and shows in rules."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.engine import rules
from tests.apiserver.client import NotServedError
from tests.apiserver.definitions import VARIABLE
from tests.apiserver.manifests import completed, objects
from tests.generate import test_grid as grid
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.apiserver.client import Client, Object

TRAINING = sorted(path.name for path in (ROOT / "examples").glob("*-training"))
GROUPS = sorted(path.name for path in (ROOT / "rules").iterdir() if path.is_dir())


class Judge:
    """A judge that sends objects to the server, and collects refusals and kinds that the server does not know."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.refused: list[str] = []
        self.unknown: set[str] = set()

    def ask(self, where: str, thing: Object, *, complete: bool = False) -> None:
        """Send an object; record a refusal or warning. With `complete`, missing required fields are no refusal."""
        try:
            answer = completed(self.client, thing)[1] if complete else self.client.create(thing, dry_run=True)
        except NotServedError as kind:
            self.unknown.add(str(kind))
            return
        if not (answer.taken or (complete and answer.only_lacks)) or answer.warnings:
            self.refused.append(f"{where}: {thing['kind']}: {answer.message or answer.warnings}")

    def files(self, files: Mapping[str, str]) -> None:
        """Send all objects of some files; fail if there are none."""
        things = [(path, thing) for path, text in sorted(files.items()) for thing in objects(text)]
        assert things
        self.client.define(thing for _, thing in things)
        for path, thing in things:
            self.ask(path, thing)

    def done(self) -> None:
        """Fail if an object was refused; skip the test if the server did not know all kinds."""
        assert not self.refused, "\n".join(self.refused)
        if self.unknown:
            pytest.skip(f"the server takes all else; {VARIABLE} does not define {', '.join(sorted(self.unknown))}")


@pytest.fixture
def judge(client: Client) -> Judge:
    """Return a judge for one test."""
    return Judge(client)


def manifests(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.glob("**/*.yaml")}


@pytest.mark.parametrize("example", grid.EXAMPLES)
def test_the_api_server_accepts_generated_examples(judge: Judge, example: str) -> None:
    files = grid.example_output(example).files
    judge.files({path: data.decode() for path, data in files.items() if path.endswith(".yaml")})
    judge.done()


@pytest.mark.parametrize("case", grid.CASES, ids=grid.named)
def test_the_api_server_accepts_generated_manifests(judge: Judge, case: grid.Case) -> None:
    files = grid.made(case)[1].files
    judge.files({path: data.decode() for path, data in files.items() if path.endswith(".yaml")})
    judge.done()


@pytest.mark.parametrize("example", TRAINING)
def test_the_api_server_accepts_examples_before_and_after_their_fixes(
    judge: Judge, example: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    judge.files(manifests(folder))
    result = CliRunner().invoke(cli, ["fix", str(folder), "--unsafe-fixes", "--info", "--fail-on", "never"])
    assert result.stderr.startswith("Fixed ")
    judge.files(manifests(folder))
    judge.done()


@pytest.mark.parametrize("group", GROUPS)
def test_the_api_server_accepts_good_and_fixed_examples_of_rules(judge: Judge, group: str) -> None:
    asked = [
        (f"{rule.name} {side}", thing)
        for rule in rules.load()
        if rule.group == group
        for example in rule.documentation.examples
        for side, files in (("good", example.good), ("fixed", example.fixed))
        for text in (files or {}).values()
        for thing in objects(text)
    ]
    judge.client.define(thing for _, thing in asked)
    for where, thing in asked:
        judge.ask(where, thing, complete=True)
    judge.done()
