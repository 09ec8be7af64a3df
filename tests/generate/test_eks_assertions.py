"""Test the assertions of a generated EKS cluster's `terraform test`, without AWS' provider and modules.

The assertions look at variables, locals and values of charts, which need no provider; everything else is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.generate import intent
from kcheck.generate.assembly import generate

if TYPE_CHECKING:
    from pathlib import Path

BASES: dict[str, dict[str, Any]] = {
    "usual": {"nodes": 1000},
    "karpenter": {"nodes": 1000, "spot": {"share": 30}, "autoscaler": "karpenter"},
    "spot": {"nodes": 64, "spot": {"share": 100}},
    "cpu": {"nodes": 100, "machines": ["m7i.48xlarge"], "network": {"api_ranges": ["203.0.113.0/24"]}},
    "large": {"nodes": 5000},
}
OF_PROVIDERS = re.compile(r"^(mock_provider|override_module)\b.*?(\{\}|^\})\n+", re.MULTILINE | re.DOTALL)
VALUES = re.compile(r"helm_release\.(\w+)\.values\[0\]")
TFVARS = "terraform.tfvars"
EDITS = [
    ("usual", TFVARS, "api_ranges .*", 'api_ranges = ["0.0.0.0/0"]', "answers the whole internet"),
    ("usual", TFVARS, "nodes = 167", "nodes = 50", "fewer than 1,000 training nodes"),
    ("usual", TFVARS, "nodes = 16[67]", "nodes = 60", "fits the on-demand pools of no zone"),
    ("usual", TFVARS, r"10\.0\.0\.0/19", "10.0.0.0/22", "fewer addresses than its nodes take"),
    ("usual", TFVARS, r"10\.0\.0\.0/19", "10.9.0.0/19", "outside of the VPC"),
    ("usual", TFVARS, 'zones = \\["a"\\]', 'zones = ["z"]', "in a zone that has no subnet"),
    ("usual", TFVARS, "capacity = 62400", "capacity = 4800", "slower than the 60,160 MB/s"),
    ("usual", TFVARS, 'zone = "a"', 'zone = "z"', "has to be in one of the zones"),
    ("usual", TFVARS, "nodes = 166", "nodes = 166, capacity_block = true", "A Capacity Block has an id"),
    ("usual", TFVARS, "nodes = 166", 'nodes = 166, spot = true, reservation = "cr-1"', "on demand and in one zone"),
    ("usual", "values/cluster-autoscaler.yaml", "max-nodes-total: .*", "max-nodes-total: 1000", "stops below the sum"),
    ("usual", TFVARS, "^name .*", 'name = "other"', "the pools of another cluster"),
    ("karpenter", TFVARS, "^name .*", 'name = "other"', "have another role"),
    ("karpenter", TFVARS, r"10\.0\.0\.0/\d+", "10.0.0.0/23", "fewer addresses than its nodes take"),
]


@cache
def files(base: str) -> dict[str, str]:
    found = generate(intent.with_defaults("eks", BASES[base])).files
    return {path: data.decode() for path, data in found.items()}


def printed(made: dict[str, str], folder: Path) -> str:
    """Return what `terraform test` prints for the generated assertions."""
    names = re.search(r"efa_interfaces = concat\(.*?^  \)\n", made["node_pools.tf"], re.MULTILINE | re.DOTALL)
    suite = OF_PROVIDERS.sub("", made["tests/cluster.tftest.hcl"])
    suite = suite.replace("aws_fsx_lustre_file_system.checkpoints.storage_capacity", "var.checkpoints.capacity")
    suite = VALUES.sub(lambda found: f'file("values/{found[1].replace("_", "-")}.yaml")', suite)
    written = {path: text for path, text in made.items() if path.startswith(("values/", "kubernetes/"))}
    written |= {path: made[path] for path in ("variables.tf", TFVARS)}
    written |= {"tests/cluster.tftest.hcl": suite, "main.tf": f"locals {{\n{names[0] if names else ''}}}\n"}
    for path, text in written.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    own = {**os.environ, "CHECKPOINT_DISABLE": "1"}
    done = subprocess.run(
        ["terraform", "test", "-no-color"], cwd=folder, env=own, capture_output=True, text=True, check=False
    )
    return " ".join((done.stdout + done.stderr).split())


needs_terraform = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not installed")


@needs_terraform
@pytest.mark.parametrize("base", BASES)
def test_the_generated_assertions_hold(base: str, tmp_path: Path) -> None:
    found = printed(files(base), tmp_path)
    assert "Success!" in found, found


@needs_terraform
@pytest.mark.parametrize(("base", "path", "old", "new", "message"), EDITS, ids=[edit[-1] for edit in EDITS])
def test_the_generated_assertions_fail_after_edits(
    base: str, path: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    made = dict(files(base))
    made[path], number = re.subn(old, new, made[path], flags=re.MULTILINE)
    assert number
    found = printed(made, tmp_path)
    assert message in found, found
    assert "Success!" not in found
