"""Test `--from` without `--output`, which corrects the code itself: edits, new files, and removed files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.generate import intent
from kcheck.generate.assembly import generate
from kcheck.generate.parts import ALONE
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.conftest import Write

CLUSTER = """
resource "google_compute_network" "ml" {
  name                    = "ml"
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "ml" {
  name          = "ml"
  network       = google_compute_network.ml.id
  ip_cidr_range = "10.0.0.0/24"

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.8.0.0/14"
  }
}

resource "google_container_cluster" "ml" {
  name                     = "ml"
  location                 = "us-central1"
  network                  = google_compute_network.ml.id
  subnetwork               = google_compute_subnetwork.ml.id
  remove_default_node_pool = true
  initial_node_count       = 1
  min_master_version       = "1.35"

  ip_allocation_policy {
    cluster_secondary_range_name = "pods"
  }

  maintenance_policy {
    recurring_window {
      start_time = "2026-01-03T02:00:00Z"
      end_time   = "2026-01-03T10:00:00Z"
      recurrence = "FREQ=WEEKLY;BYDAY=SA,SU"
    }
  }
}

resource "google_container_node_pool" "cpu" {
  name     = "cpu"
  cluster  = google_container_cluster.ml.id
  location = "us-central1"

  node_config {
    machine_type = "n2-standard-16"
  }

  autoscaling {
    total_min_node_count = 1
    total_max_node_count = 30
  }
}

resource "google_container_node_pool" "gpu" {
  name           = "gpu"
  cluster        = google_container_cluster.ml.id
  location       = "us-central1"
  node_locations = ["us-central1-a"]

  node_config {
    machine_type = "a2-highgpu-8g"

    guest_accelerator {
      type  = "nvidia-tesla-a100"
      count = 8

      gpu_driver_installation_config {
        gpu_driver_version = "DEFAULT"
      }
    }
  }

  autoscaling {
    total_min_node_count = 0
    total_max_node_count = 8
  }
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
        - name: train
          image: us-central1-docker.pkg.dev/ml/ml/train:1.2.0
          resources: {limits: {nvidia.com/gpu: 8}}
"""


def run(command: str, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [command, *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def headers(output: str) -> set[str]:
    """Return the header lines of a diff, which name its files."""
    return {line for line in output.splitlines() if line.startswith(("--- ", "+++ "))}


def test_the_code_itself_is_corrected_and_extended(write: Write) -> None:
    write({"main.tf": CLUSTER, "jobs.yaml": JOB})
    code, out = run("generate", "--from", ".", "--nodes", "40", "--diff")
    assert code == 0, out
    assert headers(out) == {"--- a/jobs.yaml", "+++ b/jobs.yaml", "--- a/main.tf", "+++ b/main.tf"}
    assert "-    total_max_node_count = 8\n+    total_max_node_count = 40\n" in out
    assert "assumed" not in out
    assert run("generate", "--from", ".", "--nodes", "40")[0] == 2, "own files change with --overwrite only"
    assert Path("main.tf").read_text() == CLUSTER
    assert run("generate", "--from", ".", "--nodes", "40", "--overwrite")[0] == 0
    assert Path("main.tf").read_text() == CLUSTER.replace("count = 8\n  }\n}\n", "count = 40\n  }\n}\n"), (
        "CPU nodes stay"
    )
    code, out = run("check", ".", "--nodes", "70")
    assert (code, "warning" in out, "2 pools" in out) == (0, False, True), out
    assert run("generate", "--from", ".", "--diff")[1] == "Nothing was fixed.\n"
    assert run("generate", "aks", "--from", ".", "--diff")[0] == 2
    assert sorted(path.name for path in Path().iterdir()) == ["jobs.yaml", "main.tf"]


def test_manifests_are_added_if_check_then_reports_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "eks-training", tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    code, out = run("generate", "--from", ".", "--diff")
    assert "--- /dev/null\n+++ b/kubernetes/gpu.yaml\n" in out
    assert "jobs/" not in out
    assert {"--- a/eks.tf", "--- a/vpc.tf"} < headers(out)
    assert code == 1
    assert "left for you to decide:" in out
    assert "kcheck: --output DIR writes a new cluster for this intent instead" in out
    assert "gpu-without-device-plugin" in run("check", ".")[1]
    run("generate", "--from", ".", "--overwrite")
    assert "gpu-without-device-plugin" not in run("check", ".")[1]


def test_an_impossible_intent_adds_no_manifests_but_code_is_still_corrected(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("a2-highgpu-8g", "ct5lp-hightpu-4t"), "jobs.yaml": JOB})
    code, out = run("generate", "--from", ".", "--diff")
    assert "kcheck: no manifests are added: " in out
    assert "--output" not in out
    assert code in (0, 1)


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
def test_parts_can_be_added_to_and_removed_from_a_generated_cluster(cloud: str, write: Write) -> None:
    files = generate(intent.with_defaults(cloud, {"nodes": 20, **ALONE, "parts": []})).files
    write({path: data.decode() for path, data in files.items()})
    assert headers(run("generate", "--from", ".", "--diff")[1]) == set()
    mine = Path("outputs.tf").read_text() + "# mine\n"
    Path("outputs.tf").write_text(mine)
    assert run("generate", "--from", ".", "--monitoring", "--prepull", "--overwrite")[0] == 0
    more = {path.as_posix() for path in Path().rglob("*") if path.is_file()} - files.keys()
    assert {"kubernetes/monitoring.yaml", "kubernetes/prepull.yaml"} < more
    assert Path("outputs.tf").read_text() == mine, "what a part does not change keeps its edits"
    kept = Path("kubernetes/prepull.yaml")
    kept.write_text(kept.read_text() + "# mine\n")
    Path("none.yaml").write_text("parts: []\n")
    words = ("generate", "--from", ".", "--intent", "none.yaml")
    out = run(*words, "--diff")[1]
    assert "--- a/kubernetes/monitoring.yaml\n+++ /dev/null\n" in out
    assert "kubernetes/prepull.yaml: not part of this cluster" in out
    assert run(*words, "--overwrite")[0] == 0
    left = {path.as_posix() for path in Path().rglob("*") if path.is_file()} - {"none.yaml", kept.as_posix()}
    assert left == files.keys()
    assert {path for path in left if Path(path).read_bytes() != files[path]} == {"outputs.tf"}


def test_added_manifests_select_the_nodes_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, the device plugin selected a label of generated pools: it ran on no node, and check found nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'resource "aws_eks_cluster" "main" {\n  name = "ml"\n  version = "1.35"\n}\n\n'
        'resource "aws_eks_node_group" "gpu" {\n  cluster_name = aws_eks_cluster.main.name\n  node_group_name = "gpu"\n'
        '  instance_types = ["p5.48xlarge"]\n  subnet_ids = ["subnet-1"]\n\n'
        "  scaling_config {\n    min_size = 0\n    desired_size = 0\n    max_size = 4\n  }\n}\n"
    )
    (tmp_path / "job.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: ml}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n      containers: [{name: a, image: registry.example.com/a:1, "
        "resources: {limits: {nvidia.com/gpu: 8}}}]\n"
    )
    done = CliRunner().invoke(cli, ["generate", "--from", ".", "--diff"])
    assert "+        node.kubernetes.io/instance-type: p5.48xlarge" in done.output
    assert "training/pool" not in done.output
