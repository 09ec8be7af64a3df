"""A stored result is printed again only where a new run would print the same."""

from __future__ import annotations

import gc
import io
import os
import random
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands import cli, result_cache
from kcheck.report.formats import FORMATS
from kcheck.text.files import system
from tests.conftest import written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.medium

MODULE = """\
variable "most" {}
variable "size" { default = "Standard_D4s_v5" }

resource "azurerm_kubernetes_cluster" "main" {
  name = "main"
  default_node_pool {
    name       = "system"
    node_count = var.most
    vm_size    = var.size
  }
  network_profile { network_plugin = "kubenet" }
}
"""
ROOT_MODULE = 'module "cluster" {\n  source = "../modules/cluster"\n  most   = 20\n}\n'
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: nginx}\n"
RULE = """\
summary: Pod without a team
severity: warning
subject: object
when: object.kind == "Pod"
problem: '!has(object.metadata.labels)'
at: object.metadata.name
message: "{object.metadata.name} has no team"
sources: [https://example.com]
---
why: A pod needs a team.
examples:
  - {bad: 'x', good: 'y'}
"""
TREE = {
    "modules/cluster/main.tf": MODULE,
    "repo/infra/main.tf": ROOT_MODULE.replace("../", "../../"),
    "repo/deploy/pod.yaml": POD,
    "repo/policies/teams/pod-without-team.yaml": RULE,
    "other/pod.yaml": POD.replace("nginx", "nginx:1"),
}


class Run(NamedTuple):
    """What a run printed, and whether it was stored before."""

    status: int
    out: str
    err: str
    was_stored: bool


def kcheck(*arguments: str, during: Callable[[], object] = lambda: None) -> Run:
    """Run the command line in this process, and something else beside it."""
    ran = []
    answer, run = cli._is_answered, cli._run

    def is_answered(words: list[str]) -> bool:
        ran.append(True)
        return answer(words)

    def command(words: list[str]) -> None:
        during()
        run(words)

    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2)]
    before = sys.stdout, sys.stderr, sys.argv
    sys.stdout, sys.stderr, sys.argv = *streams, ["kcheck", *arguments]
    status: object = 0
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cli, "_is_answered", is_answered)
            patch.setattr(cli, "_run", command)
            cli.main()
    except SystemExit as stop:
        status = stop.code
    finally:
        sys.stdout, sys.stderr, sys.argv = before
        gc.enable()
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return Run(status if isinstance(status, int) else 0, out, err, was_stored=not ran)


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored results."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("KCHECK_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def top(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder above the working directory, which is a repository."""
    written(tmp_path, TREE)
    (tmp_path / "repo" / "linked.yaml").symlink_to("../other/pod.yaml")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path


ARGUMENTS = ("check", ".", "--rules", "policies", "--env-vars")


@pytest.mark.parametrize("arguments", [
    *(("check", ".", "--format", name) for name in FORMATS),
    ("check", ".", "--statistics"), ("check", "--info", "--show-undecided", "--fail-on", "never"), ("check", "-q", "infra"),
    ("check", "--hook", "deploy/pod.yaml"), ("capacity",), ("show",), ("fix", "--diff"), ("simulate", "--nodes", "30"),
], ids=" ".join)  # fmt: skip
def test_the_same_again(arguments: tuple[str, ...], top: Path) -> None:
    first, second = kcheck(*arguments), kcheck(*arguments)
    assert not first.was_stored
    assert second == first._replace(was_stored=True)
    assert kcheck(arguments[0], "--no-cache", *arguments[1:]) == first


def retarget(top: Path) -> None:
    (top / "other" / "b.yaml").write_text(POD.replace("name: a", "name: b"))
    (top / "repo" / "linked.yaml").unlink()
    (top / "repo" / "linked.yaml").symlink_to("../other/b.yaml")


def folder_for_file(top: Path) -> None:
    (top / "repo/deploy/pod.yaml").unlink()
    (top / "repo/deploy/pod.yaml").mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file": lambda top: (top / "repo/infra/main.tf").write_text(ROOT_MODULE.replace("../", "../../").replace("20", "2")),
    "a module outside": lambda top: (top / "modules/cluster/main.tf").write_text(MODULE.replace("kubenet", "azure")),
    "the target of a link": lambda top: (top / "other/pod.yaml").write_text(POD.replace("name: a", "name: c")),
    "a link": retarget,
    "one byte at the same time": lambda top: same_times(top / "repo/deploy/pod.yaml", POD.replace("nginx", "nginy")),
    "a new file": lambda top: (top / "repo/deploy/more.yaml").write_text(POD.replace("name: a", "name: d")),
    "a new folder": lambda top: written(top / "repo/more", {"pod.yaml": POD.replace("name: a", "name: e")}),
    "a new file of variables": lambda top: (top / "modules/cluster/a.auto.tfvars").write_text('size = "Standard_D8s_v5"\n'),
    "a new file in the module": lambda top: (top / "modules/cluster/b.tf").write_text(MODULE.replace("main", "more")),
    "a file less": lambda top: (top / "repo/deploy/pod.yaml").unlink(),
    "a file that becomes a folder": folder_for_file,
    "settings": lambda top: (top / "repo/kcheck.yaml").write_text("ignore: [image]\n"),
    "settings above": lambda top: (top / "kcheck.yaml").write_text("ignore: [image]\n"),
    "settings of a project": lambda top: (top / "repo/pyproject.toml").write_text("[tool.kcheck]\nignore = ['image']\n"),
    "a rule of one's own": lambda top: (top / "repo/policies/teams/pod-without-team.yaml").write_text(RULE.replace("no team", "none")),
    "a new rule of one's own": lambda top: (top / "repo/policies/teams/pod-alone.yaml").write_text(RULE.replace("no team", "none")),
    "a top of a repository": lambda top: (top / "repo/.git").mkdir(),
    "a variable": lambda _: os.environ.__setitem__("TF_VAR_other", "7"),
    "the terminal": lambda _: os.environ.__setitem__("GITHUB_ACTIONS", "false"),
    "the day": lambda _: os.environ.__setitem__("KCHECK_TODAY", "2026-11-23"),
}  # fmt: skip


def same_times(path: Path, text: str) -> None:
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(change: Callable[[Path], object], top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TF_VAR_other", "GITHUB_ACTIONS", "KCHECK_TODAY"):  # put back at the end
        monkeypatch.setenv(name, os.environ.get(name, ""))
    first = kcheck(*ARGUMENTS)
    assert kcheck(*ARGUMENTS).was_stored
    change(top)
    after = kcheck(*ARGUMENTS)
    assert not after.was_stored
    assert after == kcheck(*ARGUMENTS, "--no-cache")
    assert first.out or first.err


@pytest.mark.parametrize(("tomorrow", "is_stored"), [("2026-11-23", True), ("2026-11-24", False)])
def test_a_day_counts_on_which_something_ends(
    top: Path, tomorrow: str, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KCHECK_TODAY")
    monkeypatch.setattr(system, "_day", lambda: "2026-11-22")
    (top / "repo/kcheck.yaml").write_text(
        "suppressions: [{rule: kubenet-retiring, reason: known, expires: 2026-11-24}]\n"
    )
    kcheck(*ARGUMENTS)
    monkeypatch.setattr(system, "_day", lambda: tomorrow)
    assert kcheck(*ARGUMENTS).was_stored is is_stored


def test_a_result_is_of_one_version_of_the_code(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = written(top / "rules", {"a.yaml": "1"})
    monkeypatch.setattr(result_cache, "RULES", str(rules))
    kcheck(*ARGUMENTS)
    assert kcheck(*ARGUMENTS).was_stored
    (rules / "a.yaml").write_text("2")
    assert not kcheck(*ARGUMENTS).was_stored
    assert kcheck(*ARGUMENTS).was_stored
    monkeypatch.setattr(result_cache, "__version__", "0")
    assert not kcheck(*ARGUMENTS).was_stored
    assert kcheck(*ARGUMENTS).was_stored
    library = written(top / "site", {"click-1.dist-info/METADATA": ""})
    monkeypatch.syspath_prepend(library)
    assert not kcheck(*ARGUMENTS).was_stored


def test_code_that_changes_meanwhile_stores_nothing(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = written(top / "rules", {"a.yaml": "1"})
    monkeypatch.setattr(result_cache, "RULES", str(rules))
    kcheck(*ARGUMENTS, during=lambda: written(rules, {"b.yaml": ""}))
    assert not kcheck(*ARGUMENTS).was_stored


def test_a_file_that_changes_while_it_is_read_stores_nothing(top: Path, cache: Path) -> None:
    recording = system.record()
    path = top / "a"
    path.write_text("1")
    assert system.read(str(path)) == b"1"
    assert recording.is_complete
    path.write_text("2")
    assert system.read(str(path)) == b"2"
    system.stop_recording()
    assert not recording.is_complete


@pytest.mark.parametrize("arguments", [
    ("check", "--output-file", "json=report.json"), ("check", "--add-ignores", "known"),
    ("check", "--nodes", "x"), ("check", "missing"), ("check", "--help"), ("check", "--hook", "NOTES.md"), ("fix",), ("fix", "--output", "fixed"), ("rules",), ("--version",),
], ids=" ".join)  # fmt: skip
def test_what_is_not_stored(arguments: tuple[str, ...], top: Path, cache: Path) -> None:
    kcheck(*arguments)
    assert not kcheck(*arguments).was_stored
    assert list(cache.iterdir()) == []


def test_a_comparison_with_a_commit_is_not_stored(git: Callable[..., str], tmp_path: Path, cache: Path) -> None:
    written(tmp_path, {"pod.yaml": POD})
    git("add", ".")
    git("commit", "-qm", "a")
    (tmp_path / "pod.yaml").write_text(POD.replace("nginx", "nginx:latest"))
    arguments = ("check", "--diff-base", "HEAD")
    kcheck(*arguments)
    assert not kcheck(*arguments).was_stored


def test_a_baseline_is_read_and_compared(top: Path) -> None:
    kcheck("baseline", ".")
    arguments = ("check", ".", "--baseline")
    first = kcheck(*arguments)
    assert kcheck(*arguments) == first._replace(was_stored=True)
    (top / "repo/kcheck-baseline.json").unlink()
    assert kcheck(*arguments).status == 2


# --- where results are


def entry(cache: Path) -> Path:
    (path,) = cache.iterdir()
    return path


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:200],
        lambda data: data.replace(b"warning", b"problem"),
        lambda data: b"\n" + data.partition(b"\n")[2],
        lambda _: b"{}",
    ],
)
def test_a_damaged_result_is_replaced(damage: Callable[[bytes], bytes], top: Path, cache: Path) -> None:
    first = kcheck(*ARGUMENTS)
    path = entry(cache)
    data = path.read_bytes()
    assert damage(data) != data
    path.write_bytes(damage(data))
    assert kcheck(*ARGUMENTS) == first
    assert kcheck(*ARGUMENTS) == first._replace(was_stored=True)


def test_results_are_the_users_own(top: Path, cache: Path) -> None:
    kcheck(*ARGUMENTS)
    assert stat.S_IMODE(entry(cache).stat().st_mode) == 0o600


def test_results_in_the_users_folder(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCHECK_CACHE_DIR")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(top / "home"))
    kcheck(*ARGUMENTS)
    assert kcheck(*ARGUMENTS).was_stored
    assert list((top / "home").rglob("kcheck-result-*"))
    monkeypatch.setenv("HOME", "nowhere")  # a relative folder is not one of the user's
    monkeypatch.setenv("XDG_CACHE_HOME", "nowhere")
    monkeypatch.setenv("LOCALAPPDATA", "nowhere")
    kcheck(*ARGUMENTS)
    assert not kcheck(*ARGUMENTS).was_stored
    assert not (top / "repo/nowhere").exists()


def test_a_folder_that_cannot_be_written_is_no_matter(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kcheck(*ARGUMENTS, "--no-cache")
    for folder in (top / "other/pod.yaml", top / "other/pod.yaml" / "below"):
        monkeypatch.setenv("KCHECK_CACHE_DIR", str(folder))
        assert kcheck(*ARGUMENTS) == kcheck(*ARGUMENTS) == first


def test_the_folder_of_results_may_be_in_the_tree(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kcheck(*ARGUMENTS, "--no-cache")
    monkeypatch.setenv("KCHECK_CACHE_DIR", "deploy")
    runs = [kcheck(*ARGUMENTS) for _ in range(4)]
    assert [run._replace(was_stored=False) for run in runs] == [first] * 4
    assert runs[-1].was_stored


def test_the_oldest_results_go(top: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "of-the-user").write_text("x" * 200_000)
    kcheck(*ARGUMENTS)
    size = max(path.stat().st_size for path in cache.iterdir() if path.name.startswith("kcheck-"))
    monkeypatch.setattr(result_cache, "MOST_BYTES", 4 * size + 4_000)
    for number in range(1, 9):
        kcheck(*ARGUMENTS, "--nodes", str(number))
    kept = [path for path in cache.iterdir() if path.name.startswith("kcheck-")]
    assert 2 <= len(kept) <= 5
    assert kcheck(*ARGUMENTS, "--nodes", "8").was_stored
    assert not kcheck(*ARGUMENTS, "--nodes", "1").was_stored
    assert (cache / "of-the-user").exists()


def test_readers_see_whole_results_whoever_writes(cache: Path) -> None:
    path = str(cache / "kcheck-result-a")
    results = [("", i % 2, [("kind", f"{i}", "x" * i)], [("stdout", bytes([i]) * 10_000 * i)]) for i in range(1, 9)]
    wrong = []

    def write_and_read(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(20):
            result_cache._store(path, draw.choice(results))
            if result_cache._load(path) not in results:
                wrong.append(seed)

    threads = [threading.Thread(target=write_and_read, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [path.name for path in cache.iterdir()] == ["kcheck-result-a"]


@pytest.mark.slow
def test_processes_at_once_print_the_same(top: Path, cache: Path) -> None:
    def start() -> subprocess.Popen[bytes]:
        code = "import sys; from kcheck.commands.cli import main; sys.argv = ['kcheck', 'check', '.']; main()"
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    several = [start() for _ in range(3)]
    printed = {(*process.communicate(), process.returncode) for process in several}
    last = start()
    assert printed == {(*last.communicate(), last.returncode)}
    assert len(list(cache.iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_run_of_several_processes_is_stored(top: Path, cache: Path) -> None:
    code = (
        "import sys; from kcheck.commands.cli import main; sys.argv = ['kcheck', 'check', '.', '--jobs', '2']; main()"
    )
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert run.stdout
    assert len(list(cache.iterdir())) == 1


def test_what_could_not_be_printed_is_not_stored(top: Path, cache: Path) -> None:
    code = "import sys; from kcheck.commands.cli import main; sys.argv = ['kcheck', 'check', '.']; main()"
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert run.stderr == b""
    assert list(cache.iterdir()) == []


NAMES = (
    "main.tf",
    "a.tf",
    "pod.yaml",
    "sub/pod.yaml",
    "sub/main.tf",
    "kcheck.yaml",
    "a.auto.tfvars",
    "kustomization.yaml",
    "vendor/b.yaml",
)
CONTENTS = (
    POD, POD.replace("nginx", "nginx:1"), MODULE, ROOT_MODULE.replace("../modules/cluster", "./sub"), "most = 7\n", "most = 700\n",
    "ignore: [image]\n", "resources: [pod.yaml, sub]\n", "", "kind: [\n",
)  # fmt: skip
EDITS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(CONTENTS) | st.none() | st.sampled_from(NAMES).map(lambda name: f"link {name}"),
)


@pytest.mark.slow
@given(edits=st.lists(EDITS, min_size=1, max_size=3))
def test_any_edit_is_seen(edits: list[tuple[str, str | None]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("tree")
    written(folder, {"main.tf": MODULE, "pod.yaml": POD, "sub/pod.yaml": POD})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KCHECK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "results"))
        for edit in [("main.tf", MODULE), *edits]:
            make(folder, *edit)
            fresh = kcheck("check", str(folder), "--no-cache")
            assert fresh.status != 3, fresh.err
            assert kcheck("check", str(folder))._replace(was_stored=False) == fresh
            assert kcheck("check", str(folder))._replace(was_stored=False) == fresh


def make(folder: Path, name: str, content: str | None) -> None:
    """Make a file or a link in a folder, or make sure that there is none."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if content is not None and content.startswith("link "):
        path.symlink_to(os.path.relpath(folder / content.removeprefix("link "), path.parent))
    elif content is not None:
        path.write_text(content)
