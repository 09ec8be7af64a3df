"""Test action.yml and ci/gitlab.yml, run in a shell with the environment of GitHub and GitLab."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from kcheck.addons.setup import hook_and_job
from kcheck.report.page import REPOSITORY, SOURCE
from tests.places import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
BASH = shutil.which("bash")
GIT = f"git+{REPOSITORY}"
CLUSTER = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "TIER"

  default_node_pool {
    name       = "system"
    node_count = 2000
  }
}
"""

pytestmark = pytest.mark.skipif(BASH is None or os.name == "nt", reason="the steps run in bash")


class Ran(NamedTuple):
    """Exit status, text and outputs of a step."""

    status: int
    text: str
    outputs: dict[str, str]


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def kcheck(tmp_path: Path) -> Path:
    """Return a program that runs kcheck from this checkout."""
    code = "from kcheck.commands.cli import main; main()"
    return executable(tmp_path / "bin" / "kcheck", f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """Return a program that prints its arguments, one a line, and exits with $STATUS.

    It writes the SARIF or Markdown file that an argument names.
    """
    text = """#!/bin/sh
for argument in "$@"; do
  printf '%s\\n' "$argument"
  case "$argument" in sarif=*) echo '{}' > "${argument#sarif=}" ;; markdown=*) echo "$COMMENT" > "${argument#*=}" ;; esac
done
exit "${STATUS:-0}"
"""
    return executable(tmp_path / "bin" / "echo-kcheck", text)


def step(name: str) -> dict[str, Any]:
    return next(step for step in STEPS if step.get("id") == name)


def run(name: str, cwd: Path, known: dict[str, str], **more: str) -> Ran:
    """Run a step of the action in bash as GitHub does.

    `known` are the given inputs and the outputs of other steps.
    """
    wanted = step(name)
    values = {f"inputs.{key}": str(entry.get("default", "")) for key, entry in ACTION["inputs"].items()} | known

    def resolved(text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values[match[1]], text)

    temporary = cwd.parent / "runner temp"
    temporary.mkdir(exist_ok=True)
    output, summary = temporary / "output", temporary / "summary"
    for file in (output, summary):
        file.write_text("")
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(temporary), "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(cwd), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    environment |= {key: resolved(value) for key, value in wanted["env"].items()} | more
    script = temporary / "script.sh"
    script.write_text(wanted["run"])
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
        cwd=cwd / resolved(wanted.get("working-directory", ".")),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    pairs = (line.partition("=") for line in output.read_text().splitlines())
    return Ran(done.returncode, done.stdout, {key: value for key, _, value in pairs})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "work space"
    path.mkdir()
    return path


def arguments(echo: Path, workspace: Path, inputs: dict[str, str], **more: str) -> list[str]:
    """Return the arguments with which the action calls kcheck."""
    known = {"steps.install.outputs.kcheck": str(echo)} | {f"inputs.{key}": value for key, value in inputs.items()}
    ran = run("check", workspace, known, **more)
    assert ran.status == 0, ran.text
    return ran.text.splitlines()


# --- structure


def test_action_declares_its_inputs() -> None:
    """Only keys that GitHub knows are used, actions are pinned to a commit, and inputs go through the environment."""
    assert set(ACTION) == {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    for own in ACTION["inputs"].values():
        assert set(own) == {"description", "default"}
        assert isinstance(own["default"], str)
    for own in STEPS:
        assert set(own) <= {
            "name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory", "continue-on-error",
        }  # fmt: skip
        assert ("run" in own) != ("uses" in own)
        assert "run" not in own or own["shell"] == "bash"
        assert "${{" not in own.get("run", "")


def test_expressions_use_only_existing_inputs_and_outputs() -> None:
    known = {f"inputs.{name}" for name in ACTION["inputs"]}
    known |= {"steps.python.outputs.python-path"}
    for own in STEPS:
        known |= {f"steps.{own['id']}.outputs.{name}" for name in re.findall(r'"([\w-]+)=\$', own.get("run", ""))}
    for text in re.findall(r"\$\{\{(.*?)\}\}", (ROOT / "action.yml").read_text()):
        assert set(re.findall(r"(?:inputs|steps)\.[\w.-]+", text)) <= known


@pytest.mark.parametrize(
    "text", [(ROOT / "action.yml").read_text(), hook_and_job.workflow("")], ids=["action", "workflow"]
)
def test_actions_are_pinned(text: str) -> None:
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for name, comment in used:
        if not name.startswith("kcheck/"):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name)
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment)


# --- installing

PYTHON = """#!/bin/sh
printf '%s\\n' "$@" >> "$LOG"
if [ "$3" = venv ]; then mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; fi
"""
"""A fake Python that logs its arguments, and creates folders that look like virtual environments."""


@pytest.mark.parametrize(
    ("version", "what"), [("", str(ROOT)), ("0.1.0", f"{GIT}@v0.1.0"), ("v0.1.0", f"{GIT}@v0.1.0"), ("1; ls", f"{GIT}@v1; ls")]
)  # fmt: skip
def test_the_action_installs_the_requested_version(version: str, what: str, workspace: Path, tmp_path: Path) -> None:
    python, log = executable(tmp_path / "python", PYTHON), tmp_path / "log"
    known = {"steps.python.outputs.python-path": str(python), "inputs.version": version}
    ran = run("install", workspace, known, LOG=str(log))
    assert ran.status == 0, ran.text
    venv = f"{tmp_path}/runner temp/kcheck-venv"
    assert log.read_text().splitlines() == [
        "-I", "-m", "venv", venv, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what,
    ]  # fmt: skip
    assert ran.outputs == {"kcheck": f"{venv}/bin/kcheck"}


# --- checking


def test_the_action_without_inputs_checks_everything(echo: Path, workspace: Path) -> None:
    assert arguments(echo, workspace, {}) == ["check", "--format", "github", "--"]


def test_all_inputs_of_the_action_become_flags(echo: Path, workspace: Path) -> None:
    inputs = {
        "paths": "infra  deploy", "nodes": "train=1000 50", "price": "30", "baseline": "known.json", "fail-on": "error",
        "diff-base": "v1", "args": "--info --select network",
    }  # fmt: skip
    assert arguments(echo, workspace, inputs) == [
        "check", "--format", "github", "--nodes", "train=1000", "--nodes", "50", "--price", "30",
        "--baseline", "--baseline-file", "known.json", "--diff-base", "v1", "--fail-on", "error",
        "--info", "--select", "network", "--", "infra", "deploy",
    ]  # fmt: skip


def test_input_lines_can_hold_paths_with_spaces(echo: Path, workspace: Path) -> None:
    found = arguments(echo, workspace, {"paths": "my infra\n\n*.tf\n$(ls)\n"})
    assert found[found.index("--") + 1 :] == ["my infra", "*.tf", "$(ls)"]
    found = arguments(echo, workspace, {"paths": "infra deploy\n"})
    assert found[found.index("--") + 1 :] == ["infra", "deploy"]


@pytest.mark.parametrize("evil", ["$(touch hacked)", "`touch hacked`", "; touch hacked", '"; touch hacked; "'])
def test_inputs_of_the_action_are_never_run_as_shell_code(evil: str, echo: Path, workspace: Path) -> None:
    names = ("paths", "nodes", "price", "baseline", "diff-base", "fail-on", "args")
    arguments(echo, workspace, dict.fromkeys(names, evil), GITHUB_BASE_REF=evil)
    assert not list(workspace.iterdir())


@pytest.mark.parametrize(
    ("given", "base", "expected"),
    [
        ("", "main", ["--diff-base", "origin/main"]),
        ("", "", []),
        ("none", "main", []),
        ("abc", "main", ["--diff-base", "abc"]),
    ],
)
def test_a_pull_request_is_compared_with_its_base(
    given: str, base: str, expected: list[str], echo: Path, workspace: Path
) -> None:
    found = arguments(echo, workspace, {"diff-base": given}, GITHUB_BASE_REF=base)
    assert found == ["check", "--format", "github", *expected, "--"]


@pytest.mark.parametrize(("given", "flag"), [("true", "--baseline"), ("false", "--no-baseline")])
def test_the_baseline_input_becomes_a_flag(given: str, flag: str, echo: Path, workspace: Path) -> None:
    assert flag in arguments(echo, workspace, {"baseline": given})


@pytest.mark.parametrize("status", ["0", "1", "2", "3"])
def test_findings_are_written_for_upload_at_every_exit_status(status: str, echo: Path, workspace: Path) -> None:
    known = {"steps.install.outputs.kcheck": str(echo), "inputs.sarif": "true"}
    ran = run("check", workspace, known, STATUS=status)
    assert ran.status == int(status)
    sarif = workspace.parent / "runner temp" / "kcheck.sarif"
    assert ran.outputs == {"exit-code": status, "sarif-file": str(sarif)}
    assert sarif.exists()
    upload = STEPS[-1]
    assert upload["if"] == "${{ !cancelled() && steps.check.outputs.sarif-file != '' }}"
    assert upload["continue-on-error"] is True


GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$LOG"
for argument in "$@"; do case "$argument" in body=@*) cat "${argument#body=@}" >> "$LOG" ;; --jq) printf "$IDS" ;; esac; done
"""
"""A fake GitHub client that logs its arguments and the comment, and knows the comments $IDS."""


def commented(workspace: Path, tmp_path: Path, text: str, ids: str = "") -> list[str]:
    """Return the lines that the fake client logs when the action comments with this text."""
    log, file = tmp_path / "log", tmp_path / "kcheck.md"
    file.write_text(text)
    executable(tmp_path / "gh" / "gh", GH)
    known = {
        "github.token": "t",
        "github.event.pull_request.number": "7",
        "steps.check.outputs.comment-file": str(file),
    }
    path = f"{tmp_path / 'gh'}:{os.environ['PATH']}"
    ran = run("comment", workspace, known, PATH=path, LOG=str(log), IDS=ids, GITHUB_REPOSITORY="acme/ml")
    assert ran.status == 0, ran.text
    return log.read_text().splitlines()


def test_a_pull_request_gets_one_comment_that_later_runs_update(workspace: Path, tmp_path: Path) -> None:
    first = commented(workspace, tmp_path, "train: reach 263 -> 65")
    assert "--method POST repos/acme/ml/issues/7/comments --field" in first[1]
    assert first[2:] == ["<!-- kcheck . -->", "train: reach 263 -> 65"]
    (tmp_path / "log").unlink()
    again = commented(workspace, tmp_path, "train: reach 65 -> 263", "12\\n34\\n")
    assert "--method PATCH repos/acme/ml/issues/comments/12 --field" in again[1]


def test_a_long_comment_ends_at_a_whole_line(workspace: Path, tmp_path: Path) -> None:
    lines = commented(workspace, tmp_path, "é" * 999 + "\n" + f"{'x' * 999}\n" * 99)
    assert lines[-1] == "The rest is in the job summary."
    assert {len(line) for line in lines[3:-2]} == {999}
    assert sum(map(len, lines)) < 65_536


def test_the_comment_input_writes_markdown_for_the_comment(echo: Path, workspace: Path) -> None:
    file = workspace.parent / "runner temp" / "kcheck.md"
    known = {"steps.install.outputs.kcheck": str(echo), "inputs.comment": "true"}
    ran = run("check", workspace, known, STATUS="1")
    assert ran.outputs == {"exit-code": "1", "comment-file": str(file)}
    assert f"markdown={file}" in ran.text


def test_action_runs_in_the_working_directory(echo: Path, workspace: Path) -> None:
    executable(echo, "#!/bin/sh\npwd\n")
    (workspace / "infra").mkdir()
    assert arguments(echo, workspace, {"working-directory": "infra"}) == [str(workspace / "infra")]


# --- GitLab

GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())
JOBS = {"init": yaml.safe_load(hook_and_job.pipeline(""))["kcheck"], "ci/gitlab.yml": GITLAB["kcheck"]}


def commit(folder: Path, text: str) -> str:
    """Write the cluster, commit it, and return the commit."""
    (folder / "main.tf").write_text(text)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Change"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize("name", JOBS)
def test_the_gitlab_job_installs_and_reports(name: str) -> None:
    job = JOBS[name]
    assert job["before_script"] == [f"pip install {SOURCE}"]
    assert job["variables"]["GIT_DEPTH"] == "0"
    assert job["artifacts"]["when"] == "always"
    assert all(file in job["script"][0] for file in job["artifacts"]["reports"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_the_gitlab_job_finds_what_a_merge_request_adds(name: str, kcheck: Path, workspace: Path) -> None:
    job = JOBS[name]
    base = commit(workspace, CLUSTER.replace("TIER", "Standard"))
    commit(workspace, CLUSTER.replace("TIER", "Free"))

    def ended(base: str) -> int:
        environment = {**os.environ, **job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
        environment |= {"PATH": f"{kcheck.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        environment.pop("GITHUB_ACTIONS", None)
        return subprocess.run(
            ["sh", "-ec", "\n".join(job["script"])], cwd=workspace, env=environment, check=False
        ).returncode

    assert ended(base) == 1
    quality = json.loads((workspace / "kcheck-quality.json").read_text())
    assert {entry["location"]["path"] for entry in quality} == {"main.tf"}
    assert "free-control-plane" in (workspace / "kcheck-junit.xml").read_text()
    assert ended("HEAD") == 0


# --- with the real kcheck


@pytest.mark.slow
def test_findings_of_a_pull_request_fail_the_job(kcheck: Path, workspace: Path) -> None:
    base = commit(workspace, CLUSTER.replace("TIER", "Standard"))
    commit(workspace, CLUSTER.replace("TIER", "Free"))
    known = {"steps.install.outputs.kcheck": str(kcheck), "inputs.sarif": "true", "inputs.diff-base": base}
    ran = run("check", workspace, known)
    assert ran.status == 1, ran.text
    assert "::error file=main.tf" in ran.text
    assert "free-control-plane" in (workspace.parent / "runner temp" / "summary").read_text()
    sarif = json.loads(Path(ran.outputs["sarif-file"]).read_text())
    assert "free-control-plane" in [result["ruleId"].rpartition("/")[2] for result in sarif["runs"][0]["results"]]
    assert run("check", workspace, known | {"inputs.diff-base": "HEAD"}).status == 0


@pytest.mark.slow
def test_paths_start_at_the_top_of_the_repository_in_any_working_directory(kcheck: Path, workspace: Path) -> None:
    (workspace / "infra").mkdir()
    commit(workspace / "infra", CLUSTER.replace("TIER", "Free"))
    (workspace / "infra" / ".git").rename(workspace / ".git")
    known = {"steps.install.outputs.kcheck": str(kcheck), "inputs.working-directory": "infra", "inputs.sarif": "true"}
    ran = run("check", workspace, known)
    assert "::error file=infra/main.tf" in ran.text
    sarif = json.loads(Path(ran.outputs["sarif-file"]).read_text())
    places = [result["locations"][0]["physicalLocation"] for result in sarif["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"infra/main.tf"}


@pytest.mark.medium
def test_a_repository_without_relevant_files_passes(kcheck: Path, workspace: Path) -> None:
    ran = run("check", workspace, {"steps.install.outputs.kcheck": str(kcheck), "inputs.sarif": "true"})
    assert ran.status == 0, ran.text
