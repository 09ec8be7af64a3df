"""Test the hooks, installed and run by pre-commit: which commits they stop, pass or ignore."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.fix.gate.relevance import NAMES, SUFFIXES
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytest.importorskip("pre_commit", reason="pre-commit is not installed")

PARTS = (
    "kcheck",
    "rules",
    "profiles",
    "examples",
    "scripts",
    "hatch_build.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    ".pre-commit-hooks.yaml",
)
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
NO_NETWORK = re.compile(
    r"no matching distribution|could not find a version|connection|name resolution|network|timed out|temporary failure",
    re.IGNORECASE,
)
CLUSTER = """\
variable "nodes" {
  type = number
}

resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Free"

  default_node_pool {
    name       = "system"
    node_count = var.nodes
  }
}
"""
SMALL, LARGE = "nodes = 3\n", "nodes = 2000\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  ttlSecondsAfterFinished: 60
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: k8s.gcr.io/train:1.0.0
"""

pytestmark = [pytest.mark.medium, pytest.mark.skipif(os.name == "nt", reason="scripts of POSIX")]


class Done(NamedTuple):
    status: int
    text: str


class Repository:
    """A Git repository that uses kcheck's hooks; several of them share a home of pre-commit."""

    def __init__(self, folder: Path, home: Path, source: Path, hooks: tuple[str, ...]) -> None:
        self.folder = folder
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))
        }
        self.environment |= {
            "PRE_COMMIT_HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.com", "PRE_COMMIT_COLOR": "never",
        }  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        self.run("git", "init", "-q")
        if source != folder:
            rev = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True)
            entry = {"repo": str(source), "rev": rev.stdout.strip(), "hooks": [{"id": name} for name in hooks]}
            (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [entry]}))

    def run(self, *command: str) -> Done:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout)

    def commit(self, files: dict[str, str]) -> Done:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        self.run("git", "add", ".")
        return self.run("git", "commit", "-m", "Change")

    def pre_commit(self, *arguments: str) -> Done:
        return self.run(sys.executable, "-m", "pre_commit", *arguments)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this checkout as a Git repository that pre-commit can clone."""
    if not (ROOT).is_dir():
        pytest.skip("the hooks are installed from the source, which is missing")
    folder = tmp_path_factory.mktemp("kcheck")
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    done = Repository(folder, folder, folder, ()).commit({})
    assert done.status == 0, done.text
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    """Return a home of pre-commit in which the hooks were just installed, by the first run of all."""
    home = tmp_path_factory.mktemp("home")
    cold = Repository(tmp_path_factory.mktemp("cold"), home, source, ("kcheck", "kcheck-fix"))
    done = cold.pre_commit("install-hooks")
    if done.status != 0:
        if NO_NETWORK.search(done.text):
            pytest.skip("no network: the packages that the hooks need cannot be installed")
        pytest.fail(done.text)
    assert f"Installing environment for {source}" in done.text
    return home


@pytest.fixture
def repository(tmp_path: Path, home: Path, source: Path) -> Repository:
    """Return a repository with the hook `kcheck` and a committed cluster that has no finding."""
    repository = Repository(tmp_path / "repository", home, source, ("kcheck",))
    repository.pre_commit("install")
    done = repository.commit({"infra/main.tf": CLUSTER, "infra/terraform.tfvars": SMALL})
    assert done.status == 0, done.text
    assert "Installing environment" not in done.text
    return repository


SECRET = "hunter2"  # noqa: S105
HOSTILE = (
    "--", "--var-file={outside}/secret.tfvars.json", "--output-file=text={outside}/written.sh", "--output={outside}/out.tf",
    "--exit-zero.tf", "--fail-on=never", "--exit-zero", "--select=x.yaml", "-q.yaml", "-h", "--help", "--hook",
    "--config=x.yaml", "--ignore=free-control-plane", "a\n--exit-zero.tf", "--nodes=1\n.tf", "-", "--baseline",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
@pytest.mark.parametrize("arguments", [None, ["--fail-on", "error", "."], ["infra"]], ids=str)
def test_no_name_of_a_committed_file_is_an_option(
    tmp_path: Path, hook: dict[str, Any], arguments: list[str] | None
) -> None:
    """The published hooks are tested, and hooks of a user who forgets `--`."""
    repository = Repository(tmp_path / "repository", tmp_path / "home", tmp_path / "repository", ())
    repository.environment["PYTHONPATH"] = str(ROOT)
    entry = hook["entry"].replace("kcheck", f"{sys.executable} -c 'from kcheck.commands.cli import main; main()'", 1)
    own = {} if arguments is None else {"args": arguments}
    local = {"repo": "local", "hooks": [{**hook, **own, "language": "system", "entry": entry, "files": ""}]}
    (repository.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [local]}))
    outside = hostile_names(tmp_path, repository.folder, HOSTILE[1:])
    repository.commit({"infra/main.tf": CLUSTER, "infra/terraform.tfvars": LARGE, "infra/job.yaml": JOB})
    done = repository.pre_commit("run", "--all-files")
    assert done.status == 1
    assert SECRET not in done.text
    assert [path.name for path in outside.iterdir()] == ["secret.tfvars.json"]
    assert "exit code: 1" in done.text
    if hook["id"] == "kcheck":
        assert "error free-control-plane" in done.text
    else:
        assert "files were modified by this hook" in done.text


def hostile_names(top: Path, folder: Path, names: Iterable[str]) -> Path:
    """Write files with hostile names, and the folder outside that some of the names point to; return that folder."""
    outside = top / "outside"
    outside.mkdir()
    (outside / "secret.tfvars.json").write_text(f'{{"nodes": "{SECRET}"}}')
    for name in names:
        path = folder / name.format(outside=outside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return outside


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_name_as_first_argument_is_only_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outside = hostile_names(tmp_path, tmp_path, [name])
    (tmp_path / "main.tf").write_text(CLUSTER.replace("var.nodes", "2000"))
    for command in ("check", "fix"):
        for options in ([], ["--fail-on", "error"], ["--fail-on=warning", "."], ["--"]):
            done = CliRunner().invoke(cli, [command, "--hook", *options, name.format(outside=outside), "main.tf"])
            assert done.exit_code == 1, done.output
            assert SECRET not in done.output
            assert [path.name for path in outside.iterdir()] == ["secret.tfvars.json"]
        assert ("free-control-plane" in done.output) == (command == "check")


def test_an_option_after_the_files_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(CLUSTER)
    for command in ("check", "fix"):
        done = CliRunner().invoke(cli, [command, "--hook", "main.tf", "--fail-on=never"])
        assert done.exit_code == 2
        assert "--fail-on=never is not a file; with --hook, options come before files" in done.output


def test_the_published_hooks_have_the_documented_settings() -> None:
    assert [hook["id"] for hook in HOOKS] == ["kcheck", "kcheck-fix"]
    for hook in HOOKS:
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is hook["require_serial"] is True
        assert "--hook" in hook["entry"]
        assert hook["args"][-1] == "--"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("main.tf", True), ("a/main.tf.json", True), ("prod.tfvars", True), ("prod.tfvars.json", True),
        ("job.yaml", True), ("job.yml", True), ("job.json", True), ("values.yaml.tftpl", True), ("a.tpl", True),
        ("base/Kustomization", True), ("Kustomization", True), ("README.md", False), ("main.py", False),
        ("a.tf.md", False), ("MyKustomization", False), ("live/eks/terragrunt.hcl", True), ("root.hcl", True),
    ],
)  # fmt: skip
def test_only_relevant_files_start_the_hooks(path: str, wanted: bool) -> None:
    for hook in HOOKS:
        assert bool(re.search(hook["files"], path)) == wanted


def test_hooks_start_for_every_relevant_file_name() -> None:
    for hook in HOOKS:
        assert all(re.search(hook["files"], f"a/b{suffix}") for suffix in SUFFIXES)
        assert all(
            re.search(hook["files"], name) for name in (*NAMES, "kcheck.yaml", "kcheck-baseline.json", "pyproject.toml")
        )


@pytest.mark.slow
def test_a_bad_commit_is_stopped(repository: Repository) -> None:
    """A commit is stopped also if the fault is in a file that it does not change."""
    done = repository.commit({"infra/terraform.tfvars": LARGE})
    assert done.status == 1
    assert "infra/main.tf:7:14 error free-control-plane" in done.text
    assert repository.run("git", "log", "--oneline").text.count("\n") == 1


@pytest.mark.slow  # pre-commit installs kcheck from its source, as it does for users: a quarter of a minute
def test_a_good_commit_passes(repository: Repository) -> None:
    done = repository.commit({"infra/terraform.tfvars": "nodes = 4\n"})
    assert done.status == 0, done.text
    assert re.search(r"kcheck\.+Passed", done.text)


@pytest.mark.slow
def test_an_irrelevant_commit_runs_nothing(repository: Repository) -> None:
    """Other kinds of files start no hook; other tools' YAML is recognised at once, even next to a fault."""
    assert re.search(r"kcheck\.+\(no files to check\)Skipped", repository.commit({"README.md": "# a\n"}).text)
    repository.run("git", "commit", "--no-verify", "-m", "Bad")
    (repository.folder / "infra" / "terraform.tfvars").write_text(LARGE)
    repository.run("git", "commit", "--no-verify", "-am", "Bad")
    times = []
    for number in range(3):
        (repository.folder / "compose.yml").write_text(f"services:\n  a:\n    image: a:{number}\n")
        repository.run("git", "add", ".")
        done = repository.pre_commit("run", "--verbose")
        assert done.status == 0, done.text
        assert re.search(r"kcheck\.+Passed", done.text)
        assert "free-control-plane" not in done.text
        times += [float(text) for text in re.findall(r"duration: ([\d.]+)s", done.text)]
    assert min(times) < 1


@pytest.mark.slow
def test_the_hook_passes_on_all_files(repository: Repository) -> None:
    assert repository.pre_commit("run", "--all-files").status == 0


@pytest.mark.slow
def test_the_fix_hook_applies_no_fix_that_costs_money(tmp_path: Path, home: Path, source: Path) -> None:
    repository = Repository(tmp_path / "repository", home, source, ("kcheck-fix",))
    repository.pre_commit("install")
    done = repository.commit({"infra/main.tf": CLUSTER, "infra/terraform.tfvars": LARGE})
    assert done.status == 0, done.text
    assert (repository.folder / "infra/main.tf").read_text() == CLUSTER


@pytest.mark.slow
def test_the_fix_hook_changes_files_and_fails_as_pre_commit_expects(tmp_path: Path, home: Path, source: Path) -> None:
    repository = Repository(tmp_path / "repository", home, source, ("kcheck-fix",))
    repository.pre_commit("install")
    done = repository.commit({"job.yaml": JOB, "README.md": "# a\n"})
    assert done.status == 1
    assert "files were modified by this hook" in done.text
    assert (repository.folder / "job.yaml").read_text() == JOB.replace("k8s.gcr.io", "registry.k8s.io")
    assert (repository.folder / "README.md").read_text() == "# a\n"
    again = repository.commit({})
    assert again.status == 0, again.text
