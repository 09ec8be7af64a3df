"""Test the Python API: its names and signatures are a promise, and the code on its page runs as written."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import kcheck
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Write

pytestmark = pytest.mark.medium

NAMES = """
Change Cluster Error File Finding Fix Fixes Inventory Known NodePool Origin Project Refused Report Rule Severity Span
Undecided Unknown Unset Wall load rules
"""
SIGNATURES = {
    "load": (
        "*paths: str, nodes: int | Mapping[str, int] | None = None, overlay: Mapping[str, bytes] | None = None, "
        "config: str | None = None, var_files: Sequence[str] = (), variables: Mapping[str, str] | None = None, "
        "workspace: str = '', env_vars: bool = False, module_dirs: Sequence[str] = (), render: str = '', "
        "helm_values: Sequence[str] = (), price: float | None = None, exclude: Sequence[str] = (), "
        "select: Sequence[str] = (), ignore: Sequence[str] = (), rules: Sequence[str] = (), usage: str = '', "
        "outside: Sequence[str] = ()) -> Project"
    ),
    "rules": "*folders: str) -> list[Rule]",
    "Project.capacity": "self, cluster: Cluster) -> list[Wall]",
    "Project.check": ("self, *, info: bool = False, tell: Callable[[str], None] = no_progress) -> Report"),
    "Project.fix": (
        "self, safeties: Sequence[str] = ('safe', 'costs'), select: Sequence[str] = (), *, info: bool = False, "
        "comparison: Comparison | None = None, tell: Callable[[str], None] = no_progress, "
        "declined: Sequence[Finding] = ()) -> Fixes"
    ),
    "Project.inventory": "self) -> Inventory",
    "Report.findings": "self) -> list[Finding]",
    "Report.render": "self, format: str = 'text') -> str",
    "Report.undecided": "self) -> list[Undecided]",
    "Fixes.diff": "self) -> str",
    "Fixes.remaining": "self) -> list[Finding]",
    "Fixes.write": "self) -> None",
}
PAGE = (ROOT / "docs" / "api.md").read_text()
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - {name: a, image: quay.io/a/b:1}\n"


def signature(name: str) -> str:
    found: object = kcheck
    for part in name.split("."):
        found = getattr(found, part)
    function = found.fget if isinstance(found, property) else found
    assert callable(function)
    text = str(inspect.signature(function)).replace("'", "").replace('"', "")
    return re.sub(r"<function (\w+) at \w+>", r"\1", text)


def test_the_public_names_are_fixed() -> None:
    assert list(kcheck.__all__) == NAMES.split()
    assert [name for name in kcheck.__all__ if getattr(kcheck, name).__name__ != name and name != "rules"] == []


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_public_signatures_are_fixed(name: str) -> None:
    assert signature(name) == f"({SIGNATURES[name]}".replace("'", "")


def test_every_public_name_is_documented() -> None:
    assert [name for name in kcheck.__all__ if not re.search(rf"`(?:kcheck\.)?{name}\b", PAGE)] == []


def test_importing_kcheck_loads_no_module() -> None:
    code = "import sys, kcheck; print([name for name in sys.modules if name.startswith('kcheck.')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kcheck.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_script_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    script = re.search(
        r"^```python\n(\"\"\".*?)^```\n\n```text\n\$ python limits\.py (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    assert script is not None
    code, arguments, printed = script.groups()
    assert len(code.splitlines()) <= 20
    (tmp_path / "limits.py").write_text(code)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(tmp_path / "limits.py"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert run(*arguments.split()).stdout == printed
    assert run("nowhere").stderr == "nowhere: no such file or folder\n"


@pytest.fixture
def aks(write: Write) -> Path:
    code = 'resource "azurerm_kubernetes_cluster" "main" {\n  name     = "train"\n  sku_tier = "Free"\n}\n'
    return write({"main.tf": code, "kcheck.yaml": "nodes: 2000\n"})


def test_a_project_is_checked_fixed_and_written(aks: Path) -> None:
    project = kcheck.load(".", select=["free-control-plane"])
    report = project.check()
    assert [finding.rule for finding in report.findings] == ["free-control-plane"]
    assert report.render() == project.check().render()
    assert '"rule": "free-control-plane"' in report.render("json")
    with pytest.raises(ValueError, match="expected one of text, concise, json"):
        report.render("limit")
    fixes = project.fix()
    assert [finding.rule for finding in fixes.fixed] == ["free-control-plane"]
    assert not fixes.remaining
    assert not fixes.refused
    assert '-  sku_tier = "Free"\n+  sku_tier = "Standard"\n' in fixes.diff()
    assert '"Free"' in (aks / "main.tf").read_text()
    fixes.write()
    assert '"Standard"' in (aks / "main.tf").read_text()
    with pytest.raises(kcheck.Error, match=r"nothing written: main\.tf has changed since it was read"):
        fixes.write()


def test_every_value_in_the_api_has_its_origin(aks: Path) -> None:
    (cluster,) = kcheck.load().inventory.clusters
    assert isinstance(cluster.name, kcheck.Known)
    assert cluster.name.origin is not None
    assert cluster.name.origin.spans[0].location == "main.tf:2"


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "fires"), [(None, True), (10, False), ({"train": 10}, False)])
def test_targets_override_the_settings(aks: Path, nodes: int | dict[str, int] | None, fires: bool) -> None:
    found = kcheck.load(nodes=nodes).check().findings
    assert any(one.rule == "free-control-plane" for one in found) == fires


def test_an_overlay_stands_in_for_files(aks: Path) -> None:
    changed = (aks / "main.tf").read_bytes().replace(b"train", b"other")
    project = kcheck.load(select=["free-control-plane"], overlay={"main.tf": changed, "kcheck.yaml": b"nodes: 3000\n"})
    assert [cluster.display_name for cluster in project.inventory.clusters] == ["other"]
    (file,) = project.fix().files
    assert file.old == changed
    assert b"other" in file.new


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nodes": {"none": 3}}, "--nodes none: there is no such cluster"),
        ({"nodes": 0}, "N must be a whole number"),
        ({"price": -1.0}, "give US dollars"),
        ({"config": "none.yaml"}, "none.yaml: no such file"),
        ({"select": ["none"]}, "select: there is no rule none"),
        ({"rules": ["none"]}, "there is no folder none"),
    ],
)
def test_user_errors_are_raised_as_kcheck_errors(aks: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(kcheck.Error, match=re.escape(message)):
        kcheck.load(**settings)  # type: ignore[arg-type]


def test_fixes_of_rules_that_do_not_exist_are_refused(aks: Path) -> None:
    with pytest.raises(kcheck.Error, match="there is no rule none"):
        kcheck.load().fix(select=["none"])


def test_rules_of_a_folder_are_listed_too() -> None:
    own = kcheck.rules(str(ROOT / "examples" / "own-rules" / "policies"))[len(kcheck.rules()) :]
    assert [(rule.group, rule.name) for rule in own] == [
        ("images", "image-outside-registry"),
        ("teams", "gpu-job-without-team"),
    ]
