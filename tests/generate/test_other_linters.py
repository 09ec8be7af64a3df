"""Test that other_linters.yaml lists everything that other linters report on generated clusters, with the reason.

Runs checkov, kube-linter and trivy if they are in PATH or in the folders of KCHECK_LINTERS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kcheck.config.numbers.clouds import CLOUDS
from kcheck.generate import intent, readme
from kcheck.generate.assembly import generate

VARIANTS: tuple[dict[str, Any], ...] = (
    {"nodes": 450},
    {"nodes": 450, "scheduler": "none"},
    {"nodes": 450, "spot": {"share": 30}, "network": {"api_ranges": ["203.0.113.0/24"]}},
)
OWN_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {"gke": ({"nodes": 450, "machines": ["a3-ultragpu-8g"]},)}
"""Intents with features of one cloud only, such as networks for RDMA."""
NOT_HERE = {
    "CKV2_AWS_5", "CKV2_AWS_12", "CKV_AWS_38", "CKV_AWS_39", "CKV_AWS_58", "CKV_AWS_111", "CKV_AWS_338", "CKV_AWS_356",
    "CKV_AWS_184",
}  # fmt: skip
"""Checks that only report something in modules, which `terraform init` would download, or on EFS, which is not used."""
COMMANDS = {
    "checkov": ["-d", ".", "--framework", "kubernetes", "terraform", "-o", "json", "--quiet", "--compact"],
    "kube-linter": ["lint", ".", "--format", "json"],
    "trivy": ["config", "--quiet", "--skip-check-update", "--format", "json", "."],
}


def program(name: str) -> str | None:
    folders = [*filter(None, os.environ.get("KCHECK_LINTERS", "").split(os.pathsep)), os.environ.get("PATH", "")]
    return shutil.which(name, path=os.pathsep.join(folders))


@cache
def reported(linter: str, cloud: str) -> frozenset[str]:
    """Return the checks of another linter that report something on the files generated for a cloud."""
    found: set[str] = set()
    common = VARIANTS if cloud != "selfmanaged" else VARIANTS[:2]
    for given in common + OWN_VARIANTS.get(cloud, ()):
        files = generate(intent.with_defaults(cloud, given)).files
        with TemporaryDirectory() as top:
            for path, data in files.items():
                target = Path(top, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            command = [program(linter) or linter, *COMMANDS[linter]]
            done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
        found |= READERS[linter](json.loads(done.stdout))
    return frozenset(found)


def of_checkov(report: Any) -> set[str]:
    runs = report if isinstance(report, list) else [report]
    return {one["check_id"] for run in runs for one in run.get("results", {}).get("failed_checks", ())}


def of_kube_linter(report: Any) -> set[str]:
    return {one["Check"] for one in report["Reports"] or ()}


def of_trivy(report: Any) -> set[str]:
    results = report.get("Results") or ()
    return {one["ID"] for result in results for one in result.get("Misconfigurations") or () if one["Status"] == "FAIL"}


READERS = {"checkov": of_checkov, "kube-linter": of_kube_linter, "trivy": of_trivy}


def told(linter: str, owner: str) -> set[str]:
    return {one.check for one in readme.findings_of(owner) if one.linter == linter}


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("linter", COMMANDS)
def test_each_report_of_a_linter_has_a_reason(linter: str, cloud: str) -> None:
    if program(linter) is None:
        pytest.skip(f"{linter} is not installed")
    found = reported(linter, cloud)
    assert found - told(linter, "any") - told(linter, cloud) == set()
    assert told(linter, cloud) - found <= NOT_HERE


@pytest.mark.parametrize("linter", COMMANDS)
def test_each_common_reason_applies_on_some_cloud(linter: str) -> None:
    if program(linter) is None:
        pytest.skip(f"{linter} is not installed")
    assert told(linter, "any") - {check for cloud in CLOUDS for check in reported(linter, cloud)} == set()


def test_each_reason_is_a_sentence_that_the_readme_contains() -> None:
    for owner in ("any", *CLOUDS):
        for one in readme.findings_of(owner):
            assert one.linter in COMMANDS
            assert one.reason.endswith(".")
            assert "|" not in one.reason
    output = generate(intent.with_defaults("eks", {"nodes": 10}))
    page = output.files["other-linters.md"].decode()
    assert all(f"| {one.linter} | {one.check} | {one.reason} |" in page for one in readme.other_findings("eks"))
