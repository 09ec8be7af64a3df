"""Test a story: a five-year-old repository adopts kcheck, day by day."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from tests.conftest import Write

OLD_JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completions: 64
  parallelism: 64
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:2.1
          command: [torchrun, train.py]
          resources:
            requests:
              nvidia.com/gpu: 4
            limits:
              nvidia.com/gpu: 8
"""
MENDED = OLD_JOB.replace("  parallelism: 64\n", "  parallelism: 64\n  activeDeadlineSeconds: 86400\n")
NETWORK = """\
resource "azurerm_virtual_network" "main" {
  name          = "main"
  address_space = ["10.0.0.0/16"]
}

resource "azurerm_subnet" "nodes" {
  name                 = "nodes"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.0.0.0/24"]
}
"""
CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  sku_tier           = "Standard"
  kubernetes_version = "1.36"

  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D4s_v5"
    vnet_subnet_id       = azurerm_subnet.nodes.id
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 3
    max_pods             = 30

    upgrade_settings {
      max_surge = "10%"
    }
  }

  network_profile {
    network_plugin = "azure"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "cpu" {
  name                  = "cpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_D16s_v5"
  vnet_subnet_id        = azurerm_subnet.nodes.id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = var.workers
  max_pods              = 30

  upgrade_settings {
    max_surge = "10%"
  }
}
"""
VARIABLES = """\
variable "workers" {
  type        = number
  description = "The most machines that the pool may have."
  default     = 3
}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def found(*arguments: str) -> list[tuple[str, str]]:
    result = run("check", "--format", "json", *arguments)
    return [(item["rule"], item["path"]) for item in json.loads(result.stdout)["findings"]]


def places(folder: Path) -> list[tuple[str, str]]:
    known = json.loads((folder / "kcheck-baseline.json").read_text())["findings"]
    return sorted((item["rule"], item["path"]) for item in known if item["severity"] != "info")


@pytest.mark.slow
def test_an_old_repository_adopts_kcheck_step_by_step(write: Write, git: Callable[..., str]) -> None:
    jobs = {f"jobs/{name}.yaml": OLD_JOB.format(name=name) for name in "abcdefghij"}
    folder = write({"infra/network.tf": NETWORK, "infra/cluster.tf": CLUSTER, "infra/variables.tf": VARIABLES, **jobs})
    git("add", ".")
    git("commit", "-qm", "five years of work")

    # Monday: a look
    old = found()
    assert len(old) == 50
    assert {path for _, path in old} == set(jobs)

    # Monday, later: the stock is taken, and the gate is shut behind it
    assert "(20 errors, 30 warnings, 22 infos)" in run("baseline").stderr
    stock = places(folder)
    assert len(stock) == 50
    write({"kcheck.yaml": "baseline: kcheck-baseline.json\n"})
    result = run("check")
    assert (result.exit_code, result.stdout) == (
        0,
        "nothing found; 72 already known.\n1 cluster, 2 pools, 10 workloads checked.\n",
    )
    git("add", ".")
    git("commit", "-qm", "turn kcheck on")

    # Tuesday: somebody moves an old job down a few lines, and scales another; nobody is told of what was there
    write({
        "jobs/a.yaml": f"# moved\n\n{jobs['jobs/a.yaml']}",
        "jobs/b.yaml": jobs["jobs/b.yaml"].replace("64", "96"),
    })  # fmt: skip
    assert run("check").exit_code == 0
    git("commit", "-qam", "more of b")

    # Wednesday: a pool is widened, in a file that says nothing of networks
    write({"infra/variables.tf": VARIABLES.replace("= 3", "= 20")})
    git("commit", "-qam", "a bigger pool")
    expected = [("subnet-too-small", "infra/network.tf")]
    assert found() == expected
    assert found("--diff-base", "HEAD~1") == expected
    assert found("--no-baseline", "--diff-base", "HEAD~1") == expected
    assert run("check", "--hook", "infra/variables.tf").exit_code == 1
    assert found("--no-baseline", "--diff-base", "HEAD") == []

    # the hook proposes the diff, and touches nothing that is known
    result = run("fix", "--hook", "--diff", "--unsafe-fixes", "--exit-non-zero-on-fix", "infra/variables.tf")
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("---", "+++")] == [
        '-  address_prefixes     = ["10.0.0.0/24"]',
        '+  address_prefixes     = ["10.0.0.0/22"]',
    ]
    subprocess.run(["git", "apply"], input=result.stdout, text=True, check=True, cwd=folder)
    assert run("check").exit_code == 0
    git("commit", "-qam", "a wider subnet")

    # Thursday: an old job is mended, another one is removed; their entries go
    write({"jobs/c.yaml": MENDED.format(name="c")})
    result = run("check")
    assert result.exit_code == 0
    assert "1 entry of kcheck-baseline.json not found any more; `kcheck baseline --prune` removes it:" in result.stderr
    assert "  jobs/c.yaml job-without-deadline: jobs/c.yaml:Job/c\n" in result.stderr
    git("rm", "-q", "jobs/d.yaml")
    assert run("baseline", "--prune").exit_code == 0
    assert places(folder) == sorted(
        place for place in stock if place[1] != "jobs/d.yaml" and place != ("job-without-deadline", "jobs/c.yaml")
    )
    assert run("check").stderr == ""

    # and what comes back is new
    write({"jobs/c.yaml": jobs["jobs/c.yaml"]})
    assert found() == [("job-without-deadline", "jobs/c.yaml")]
