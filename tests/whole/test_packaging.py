"""Test packages, images and promises of a release."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sysconfig
import tomllib
from importlib.metadata import version
from typing import TYPE_CHECKING

import jsonschema
import pytest
from packaging.requirements import Requirement

from tests.places import ROOT

if TYPE_CHECKING:
    from types import ModuleType

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]


LOCK = (ROOT / "constraints.txt").read_text()
"""The newest versions with which the tests passed."""


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """Load the hook that builds a wheel."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("requirement", DEPENDENCIES, ids=str)
def test_libraries_of_version_0_have_an_upper_bound(requirement: Requirement) -> None:
    assert version(requirement.name) in requirement.specifier  # also where the oldest of all are installed
    locked = dict(line.partition(";")[0].strip().split("==") for line in LOCK.splitlines() if "==" in line)
    now = locked[requirement.name.lower()]
    assert now in requirement.specifier
    major, minor = map(int, now.split(".")[:2])
    if major == 0:
        assert f"0.{minor + 1}" not in requirement.specifier


@pytest.mark.parametrize(
    ("platform", "abi", "said"),
    [
        ("linux-x86_64", "cpython-312-x86_64-linux-gnu", ""),
        ("win-amd64", None, ""),
        ("linux-x86_64", "cpython-312-x86_64-linux-musl", "python:3.12-slim"),
        ("win-arm64", None, r"\(x64\)"),
    ],
)
def test_a_platform_without_wheels_gets_a_message(
    hook: ModuleType, platform: str, abi: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: platform)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _name: abi)
    build = hook.CompiledData.__new__(hook.CompiledData)
    if not said:
        assert build.dependencies() == []
        return
    with pytest.raises(SystemExit, match=f"cel-expr-python has no build for .*{said}"):
        build.dependencies()


def test_each_security_promise_names_existing_tests() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.endswith("| tests |")]
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/.]+)`", row)
        assert named, row
        assert all((ROOT / name).exists() for name in named), row


def test_the_image_runs_as_an_unprivileged_user_with_locked_versions() -> None:
    text = (ROOT / "Dockerfile").read_text()
    last = text.rpartition("FROM ")[2]
    assert "-slim" in last.split("\n")[0]
    assert "USER 65534:65534" in last
    assert 'ENTRYPOINT ["kcheck"]' in last
    assert "-c /src/constraints.txt" in text
    code = "".join(path.read_text() for path in (ROOT / "kcheck").rglob("*.py"))
    imports = re.findall(r"from cel_expr_python.ext import (.+)", code)
    needed = {name for line in imports for name in line.split(", ")}
    assert set(re.findall(r"! -name '(ext_\w+)\.\*'", text)) == needed, "the image lacks an extension of CEL"
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert all((ROOT / name).exists() for name in kept)
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {path.split("/")[0] for path in included["force-include"]} <= kept


@pytest.mark.slow
def test_the_container_image_is_small_and_runs() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("docker does not run here")
    subprocess.run([docker, "build", "-q", "-t", "kcheck-test", str(ROOT)], check=True)
    size = subprocess.run(
        [docker, "image", "inspect", "-f", "{{.Size}}", "kcheck-test"], capture_output=True, check=True
    )
    assert int(size.stdout) < 200_000_000
    where = ["-v", f"{ROOT}/examples/gke-training:/work:ro"]
    run = subprocess.run([docker, "run", "--rm", *where, "kcheck-test"], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    assert "pod-range-too-small" in run.stdout


def test_the_draft_7_settings_schema_accepts_the_same_settings() -> None:
    schema = json.loads((ROOT / "docs/kcheck.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    settings = {
        "nodes": 1000,
        "clusters": [{"root": "infra", "var_files": ["a.tfvars"]}],
    }
    assert list(validator.iter_errors(settings)) == []
    assert [error.validator for error in validator.iter_errors({"noodes": 1})] == ["additionalProperties"]
    assert schema["$id"] in (ROOT / "docs/settings.md").read_text()


def test_every_hint_installs_an_extra_from_the_tag() -> None:
    """kcheck is on no index, where `pip install 'kcheck[lsp]'` finds nothing, or what a stranger put there."""
    hints = [
        line
        for path in (ROOT / "kcheck").rglob("*.py")
        for line in path.read_text().splitlines()
        if "pip install 'kcheck" in line
    ]
    assert [line.strip() for line in hints] == ["return f\"pip install 'kcheck[{extra}] @ {SOURCE}'\""]
