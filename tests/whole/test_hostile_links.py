"""Test commands that write in a repository whose links lead out: nothing outside is written, created or removed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.addons.fleet import storage
from kcheck.commands.cli import cli
from kcheck.text.files import save
from tests.conftest import written
from tests.fix.gate.test_gate import cluster

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")]

WRITERS = {
    "generate": ("train", "generate eks --nodes 8"),
    "generate into a folder": ("out", "generate eks --nodes 8 --output out/train"),
    "generate a part": ("train/kubernetes", "generate eks --nodes 8"),
    "generate a file": ("train/README.md", "generate eks --nodes 8 --overwrite"),
    "generate on clouds": ("train", "generate eks --cloud eks,gke --nodes 8"),
    "generate for one of them": ("train/gke", "generate eks --cloud eks,gke --nodes 8"),
    "fix": ("infra/main.tf", "fix ."),
    "fix a folder": ("infra", "fix ."),
    "fix into a folder": ("out", "fix . --output out"),
    "fix into a part": ("out/infra", "fix . --output out"),
    "fix into a file": ("out/infra/main.tf", "fix . --output out"),
    "baseline": ("kcheck-baseline.json", "baseline ."),
    "baseline in a folder": ("out", "baseline . --baseline-file out/known.json"),
    "settings": ("kcheck.yaml", "init --write --ci github"),
    "hook": (".pre-commit-config.yaml", "init --write"),
    "workflow": (".github", "init --write --ci github"),
    "workflow's folder": (".github/workflows", "init --write --ci github"),
    "job": (".gitlab-ci.yml", "init --write --ci gitlab"),
    "report": ("report.json", "check . --output-file json=report.json"),
    "report in a folder": ("out", "check . --output-file html=out/report.html"),
    "prune": ("kcheck-baseline.json", "baseline . --prune"),
    "ignores": ("infra/main.tf", "ignore reason ."),
    "rule": ("rules", "rules new own/bad-name --dir rules"),
    "rule's group": ("rules/own", "rules new own/bad-name --dir rules"),
    "rule's file": ("rules/own/bad-name.yaml", "rules new own/bad-name --dir rules"),
    "fleet": ("results", "fleet infra --output results"),
    "fleet's outcomes": ("results/outcomes", "fleet infra --output results"),
    "fleet's tables": ("results/parquet", "fleet infra --output results"),
    "fleet's work": ("results/unfinished", "fleet infra --output results"),
    "fleet's lock": ("results/.lock", "fleet infra --output results"),
}


def listing(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a repository `work`, the working directory, and a folder `victim` beside it."""
    written(tmp_path, {"work/infra/main.tf": cluster(), "victim/x": "x"})
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def prepare(name: str) -> None:
    """Prepare what a command needs: the folder of a report, or a baseline with an outdated entry."""
    if name == "report in a folder":
        os.mkdir("out")
    if name == "prune":
        CliRunner().invoke(cli, ["baseline", "."])
        written(Path("infra"), {"main.tf": cluster(nodes=3)})


@pytest.mark.parametrize("case", WRITERS)
def test_each_command_writes_if_there_is_no_link(place: Path, case: str) -> None:
    (place / "work/.git").mkdir()
    prepare(case)
    before = listing(place / "work")
    CliRunner().invoke(cli, WRITERS[case][1].split())
    assert listing(place / "work") != before


@pytest.mark.parametrize("kind", ["folder", "file", "nothing", "nothing in a folder"])
@pytest.mark.parametrize("case", WRITERS)
def test_no_command_writes_through_a_link(place: Path, case: str, kind: str) -> None:
    name, command = WRITERS[case]
    (place / "work/.git").mkdir()
    prepare(case)
    link, victim = place / "work" / name, place / "victim"
    if kind == "folder" and name.startswith("infra"):
        shutil.copytree(place / "work/infra", victim, dirs_exist_ok=True)
    if kind == "file" and link.is_file():
        shutil.copy(link, victim / "x")
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to({"folder": victim, "file": victim / "x", "nothing": victim / "y"}.get(kind, victim / "y/z"))
    before = listing(victim)
    CliRunner().invoke(cli, command.split())
    assert listing(victim) == before
    assert sorted(path.name for path in place.iterdir()) == ["victim", "work"]


def test_output_named_by_the_user_can_be_anywhere(place: Path) -> None:
    (place / "work/.git").mkdir()
    for command in (
        "generate eks --nodes 8 --output ../victim/new",
        "check . --output-file json=../victim/report.json",
    ):
        CliRunner().invoke(cli, command.split())
    assert {"new/README.md", "report.json"} < listing(place / "victim").keys()
    (place / "work/own").mkdir()
    (place / "work/inside").symlink_to("own")
    CliRunner().invoke(cli, ["check", ".", "--output-file", "json=inside/report.json"])
    assert (place / "work/own/report.json").exists()


def test_low_level_writes_do_not_go_through_a_link(place: Path) -> None:
    """Such writes are the lock of a fleet, and moving and removing files."""
    (place / "work/.git").mkdir()
    (place / "work/cache").symlink_to("../victim")
    written(place, {"work/new": "new"})
    moves: list[Callable[[], object]] = [
        lambda: save.replace("new", "cache/x"), lambda: save.remove("cache/x"), lambda: save.make_folder("cache/y"),
        lambda: save.write("cache/x", b""),
    ]  # fmt: skip
    for move in moves:
        with pytest.raises(PermissionError, match="it is outside of the repository"):
            move()
    (place / "work/.lock").symlink_to("../victim/lock")
    with pytest.raises(OSError, match="symbolic link"), storage.locked("."):
        pass
    assert listing(place / "victim") == {"x": b"x"}
