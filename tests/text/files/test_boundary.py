"""Test that no path in a repository makes kcheck read a file outside of it.

Only the command line can allow that.
"""

from __future__ import annotations

import base64
import os
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.text.files import system
from kcheck.text.files.boundary import around
from tests.text.files.test_tree import CLUSTER

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

pytestmark = pytest.mark.medium

SECRET = "hunter2-of-the-runner"  # noqa: S105 - it is to be found nowhere
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, image: busybox}]}\n"
OUTSIDE = {
    "pod.yaml": POD % SECRET,
    "broken.yaml": f"apiVersion: v1\nkind: Pod\n{SECRET}: [\n",
    "main.tf": CLUSTER.replace("train", SECRET),
    "own.tfvars": f'name = "{SECRET}"\n',
    "kcheck.yaml": f"{SECRET}: 1\n",
    "baseline.json": f'{{"version": "{SECRET}", "findings": []}}',
    "rule.yaml": f"{SECRET}\n",
    "Chart.yaml": f"apiVersion: v2\nname: {SECRET}\nversion: 1.0.0\n",
    "kustomization.yaml": "resources: [pod.yaml]\n",
    "environ": f"TOKEN={SECRET}\0OTHER=1",
    "values.yaml": f"image: {SECRET}\n",
    "terragrunt.hcl": f'locals {{ name = "{SECRET}" }}\n',
    "pyproject.toml": f"[tool.kcheck]\n{SECRET} = 1\n",
}
VARIABLE = CLUSTER.replace('"train"', "var.name") + 'variable "name" {}\n'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory: a checkout next to a folder with secrets."""
    for name, text in OUTSIDE.items():
        path = tmp_path / "outside" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    monkeypatch.chdir(top)
    return top


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the files outside of the checkout that are read; it must stay empty."""
    found: list[str] = []
    outside = os.path.join(os.path.realpath(tmp_path), "outside", "")
    own = system.head

    def noted(path: str, most: int) -> bytes:
        real = os.path.realpath(path)
        if real.startswith(outside):
            found.append(real)
        return own(path, most)

    monkeypatch.setattr(system, "head", noted)  # all bytes are read by it
    return found


def add(top: Path, files: dict[str, str], links: dict[str, str] | None = None) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, target in (links or {}).items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


KUSTOMIZE = {
    "resource": "resources: [../outside/pod.yaml]\n",
    "broken resource": "resources: [../outside/broken.yaml]\n",
    "environment": "resources: [../outside/environ]\n",
    "folder": "resources: [../outside]\n",
    "component": "components: [../outside]\n",
    "patch": "resources: [own.yaml]\npatches: [{path: ../outside/environ}]\n",
    "strategic patch": "resources: [own.yaml]\npatchesStrategicMerge: [../outside/environ]\n",
    "operations": (
        "resources: [own.yaml]\npatchesJson6902: [{path: ../outside/environ, target: {version: v1, kind: Pod}}]\n"
    ),
    "replacement": "resources: [own.yaml]\nreplacements: [{path: ../outside/environ}]\n",
    "chart": "helmCharts: [{name: x, valuesFile: ../outside/values.yaml}]\n",
}


@pytest.mark.parametrize("case", KUSTOMIZE)
def test_kustomizations_outside_the_repository_are_not_read(repository: Path, asked: list[str], case: str) -> None:
    add(repository, {"kustomization.yaml": KUSTOMIZE[case], "own.yaml": POD % "own"})
    found = run("check", ".", "--show-undecided", "--info")
    assert SECRET not in found.output
    assert asked == []
    assert case == "chart" or "outside of the repository" in found.output


LINKS = {
    "folder": {"k8s": "../outside"},
    "root": {"k8s": "/"},
    "file": {"pod.yaml": "../outside/pod.yaml", "broken.yaml": "../outside/broken.yaml"},
    "link to a link": {"a": "b", "b": "../outside"},
    "terraform": {"main.tf": "../outside/main.tf"},
    "variables": {"terraform.tfvars": "../outside/own.tfvars", "x.auto.tfvars": "../outside/own.tfvars"},
    "kustomization": {"kustomization.yaml": "../outside/kustomization.yaml"},
    "chart": {"chart/Chart.yaml": "../../outside/Chart.yaml"},
    "values": {"own/values.yaml": "../../outside/values.yaml"},
    "unit": {"unit/terragrunt.hcl": "../../outside/terragrunt.hcl"},
    "project": {"pyproject.toml": "../outside/pyproject.toml"},
}


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
@pytest.mark.parametrize("command", ["check", "show", "capacity", "fix", "simulate"])
@pytest.mark.parametrize("case", LINKS)
def test_links_out_of_the_repository_are_not_followed(
    repository: Path, asked: list[str], case: str, command: str
) -> None:
    chart = {"own/Chart.yaml": "apiVersion: v2\nname: own\nversion: 1.0.0\n", "own/templates/p.yaml": POD % "own"}
    own = {} if case == "terraform" else {"main.tf": VARIABLE if case == "variables" else CLUSTER}
    add(repository, chart | own, LINKS[case])
    found = run(command, ".")
    assert SECRET not in found.output
    assert asked == []
    if command == "check" and case not in ("project", "values"):
        assert "outside of the repository; --allow-outside" in found.output


def test_a_given_path_that_is_a_hostile_link_is_not_followed(repository: Path, asked: list[str]) -> None:
    add(repository, {"main.tf": CLUSTER}, {"k8s": "../outside", "pod.yaml": "../outside/pod.yaml"})
    for path in ("k8s", "pod.yaml", "k8s/pod.yaml"):
        found = run("check", path)
        assert SECRET not in found.output
        assert asked == []
        assert f"{path}: outside of the repository" in found.output
    assert run("check", "--hook", "pod.yaml").exit_code == 0
    assert asked == []


def test_a_link_made_by_the_user_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, {"real/main.tf": CLUSTER, "real/.git/HEAD": ""}, {"mine": "real"})
    monkeypatch.chdir(tmp_path)
    assert "node limit of the cluster" in run("capacity", "mine").output


MODULES = {
    "path": "../outside",
    "absolute path": "{outside}",
    "copy": "terraform-aws-modules/eks/aws",
}


@pytest.mark.parametrize("case", MODULES)
def test_modules_outside_the_repository_are_not_read(
    repository: Path, tmp_path: Path, asked: list[str], case: str
) -> None:
    listed = '{"Modules": [{"Key": "x", "Source": "registry.terraform.io/terraform-aws-modules/eks/aws", "Dir": "%s"}]}'
    module = f'module "x" {{\n  source = "{MODULES[case].format(outside=tmp_path / "outside")}"\n}}\n'
    add(
        repository,
        {"main.tf": CLUSTER + module, ".terraform/modules/modules.json": listed % "../outside"},
        {"modules": "../outside"},
    )
    found = run("check", ".", "--show-undecided")
    assert SECRET not in found.output
    assert asked == []


CALLS = [
    'file("../outside/environ")', 'fileexists("../outside/environ")', 'templatefile("../outside/environ", {})',
    'fileset("../outside", "*")', 'filebase64("../outside/environ")', 'filemd5("../outside/environ")',
    'yamldecode(file("in/environ"))', 'templatefile("in/environ", {})', 'fileset("in", "*")',
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_functions_read_no_files_outside_the_repository(repository: Path, asked: list[str], call: str) -> None:
    add(repository, {"main.tf": ""}, {"in": "../outside"})
    found = run("eval", call)
    assert SECRET not in found.output
    assert base64.b64encode(OUTSIDE["environ"].encode()).decode() not in found.output
    assert asked == []
    assert "is outside of the repository" in found.output


def test_a_device_file_is_not_reported_as_outside_the_repository(repository: Path) -> None:
    add(repository, {"main.tf": CLUSTER.replace('"train"', 'file("/dev/null")')}, {"job.yaml": "/dev/null"})
    assert "--allow-outside" not in run("check", ".", "--show-undecided").output


UNITS = [
    'include "x" { path = "../../outside/terragrunt.hcl" }',
    'locals { x = read_terragrunt_config("../../outside/terragrunt.hcl") }',
    'locals { x = read_tfvars_file("../../outside/own.tfvars") }',
    'include "x" { path = find_in_parent_folders("../outside/terragrunt.hcl") }',
    'terraform { source = "../../outside" }',
    'dependency "x" { config_path = "../../outside" }',
]


@pytest.mark.parametrize("unit", UNITS)
def test_terragrunt_files_outside_the_repository_are_not_read(repository: Path, asked: list[str], unit: str) -> None:
    add(repository, {"unit/terragrunt.hcl": f"{unit}\ninputs = local\n", "unit/main.tf": VARIABLE})
    assert SECRET not in run("check", ".", "--show-undecided").output
    assert asked == []


SETTINGS = {
    "var_files": "var_files: [../outside/own.tfvars]\n",
    "baseline": "baseline: ../outside/baseline.json\n",
    "rules": "rules: [../outside]\n",
    "module_dirs": "module_dirs: [../outside]\n",
    "helm_values": "render: helm\nhelm_values: [../outside/values.yaml]\n",
    "clusters": "clusters: [{root: ., var_files: [../outside/own.tfvars]}]\n",
    "linked": "var_files: [in/own.tfvars]\n",
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_cannot_allow_files_outside_the_repository(repository: Path, asked: list[str], case: str) -> None:
    add(repository, {"main.tf": VARIABLE, "kcheck.yaml": SETTINGS[case]}, {"in": "../outside"})
    for command in ("check", "capacity", "fix"):
        found = run(command, ".")
        assert found.exit_code == 2
        assert SECRET not in found.output
        assert "is outside of the repository; --allow-outside" in found.output
        assert asked == []


def test_settings_outside_the_repository_are_refused(repository: Path, asked: list[str]) -> None:
    add(repository, {"main.tf": VARIABLE}, {"kcheck.yaml": "../outside/kcheck.yaml"})
    for arguments in (("check",), ("check", "--config", "kcheck.yaml"), ("init",), ("config",), ("rules",)):
        found = run(*arguments)
        assert found.exit_code == 2
        assert SECRET not in found.output
        assert "leads out of the repository" in found.output
        assert asked == []


def test_rules_and_baselines_outside_the_repository_are_refused(repository: Path, asked: list[str]) -> None:
    add(repository, {"main.tf": VARIABLE, "kcheck.yaml": "rules: [policies]\n"}, {"policies/x/y.yaml": "/x"})
    (repository / "policies/x/y.yaml").unlink()
    (repository / "policies/x/y.yaml").symlink_to("../../../outside/rule.yaml")
    (repository / "kcheck-baseline.json").symlink_to("../outside/baseline.json")
    for arguments in (("check",), ("rules",), ("explain", "y"), ("check", "--baseline"), ("baseline",)):
        found = run(*arguments)
        assert found.exit_code == 2
        assert SECRET not in found.output
        assert asked == []
    assert (repository / "../outside/baseline.json").read_text() == OUTSIDE["baseline.json"]


def test_the_command_line_can_allow_files_outside_the_repository(repository: Path) -> None:
    add(repository, {"main.tf": VARIABLE, "kcheck.yaml": "var_files: [../outside/own.tfvars]\n"})
    assert SECRET in run("show", ".", "--allow-outside", "../outside").output
    (repository / "kcheck.yaml").unlink()
    assert SECRET in run("show", ".", "--var-file", "../outside/own.tfvars").output
    add(repository, {"../outside/kcheck.yaml": "var_files: [own.tfvars]\n"})
    assert SECRET in run("show", ".", "--config", "../outside/kcheck.yaml").output


@pytest.mark.slow
def test_written_files_must_be_in_the_repository(repository: Path) -> None:
    linked = {"main.tf": CLUSTER}
    add(repository, linked, {".pre-commit-config.yaml": "../outside/values.yaml", ".github": "../outside"})
    assert "leads out of the repository" in run("init").output
    add(repository, {}, {"new/main.tf": "../../outside/main.tf", "new/cluster.tf": "../../outside/fresh.tf"})
    found = run("generate", "eks", "--nodes", "100", "--output", "new", "--overwrite")
    assert found.exit_code == 2
    assert "is a link that leads out of new" in found.output
    assert {path.name: path.read_text() for path in (repository / "../outside").iterdir()} == OUTSIDE


def test_reports_are_not_written_through_links_out_of_the_repository(repository: Path) -> None:
    add(repository, {"main.tf": CLUSTER}, {"report.json": "../outside/values.yaml", "new.json": "../outside/new.json"})
    for name in ("report.json", "new.json"):
        found = run("check", ".", "--output-file", f"json={name}")
        assert found.exit_code == 2
        assert f"{name}: it is outside of the repository" in found.output
    assert {path.name: path.read_text() for path in (repository / "../outside").iterdir()} == OUTSIDE
    assert run("check", ".", "--output-file", f"json={repository / '../mine.json'}").exit_code in (0, 1)


def test_the_boundary_is_the_repository_or_else_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = os.path.realpath(tmp_path)
    add(tmp_path, {"a/.git/HEAD": "", "a/b/x.tf": "", "c/x.tf": "", "ab/x.tf": ""})
    monkeypatch.chdir(tmp_path / "a/b")
    assert around(["."]).folders == (os.path.join(top, "a", ""),)
    assert around(["x.tf"]).folders == (os.path.join(top, "a", ""),)
    assert around(["../../c"]).folders == (os.path.join(top, "c", ""),)
    assert not around(["."]).holds(os.path.join(top, "ab"))
    assert around(["."], ["/"]).holds("/etc")
    monkeypatch.chdir(tmp_path)
    assert around(["c"]).folders == (os.path.join(top, ""),)
    monkeypatch.chdir("/")
    assert around([os.path.join(top, "c")]).folders == (os.path.join(top, "c", ""),)
