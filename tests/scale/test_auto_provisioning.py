"""Test jobs that request more accelerators than node auto-provisioning may add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.scale.autoscaler import overrun
from kcheck.scale.world import World
from kcheck.text.need import or_none

if TYPE_CHECKING:
    from tests.conftest import Read

CLUSTER = """\
resource "google_container_cluster" "main" {{
  name               = "train"
  location           = "us-central1-a"
  initial_node_count = 1
  cluster_autoscaling {{
    enabled = true
    resource_limits {{
      resource_type = "cpu"
      maximum       = 10000
    }}
{limits}
  }}
}}
"""
LIMIT = '    resource_limits {{\n      resource_type = "{kind}"\n      maximum       = {most}\n    }}\n'
H100, L4 = LIMIT.format(kind="nvidia-h100-80gb", most=128), LIMIT.format(kind="nvidia-l4", most=16)
POOL = """\
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.main.name
  autoscaling {
    max_node_count = 4
  }
  node_config {
    machine_type = "a3-highgpu-8g"
  }
}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  parallelism: {pods}
  template:
    spec:
      nodeSelector: {selector}
      containers: [{{name: main, image: example.com/train:1, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]
"""
ON_H100 = "{cloud.google.com/gke-accelerator: nvidia-h100-80gb}"


@pytest.mark.parametrize(
    ("limits", "selector", "pods", "expected"),
    [
        pytest.param(H100 + L4, ON_H100, 16, None, id="as-many-as-allowed"),
        pytest.param(H100 + L4, ON_H100, 17, ("nvidia-h100-80gb", 136, 128), id="more"),
        pytest.param(H100, "{}", 17, ("nvidia-h100-80gb", 136, 128), id="the-only-kind"),
        pytest.param(H100 + L4, "{}", 17, None, id="which-kind-is-not-known"),
        pytest.param(L4, ON_H100, 1, ("nvidia-h100-80gb", 8, 0), id="a-kind-without-limit"),
        pytest.param(LIMIT.format(kind="nvidia-h100-80gb", most="var.most"), ON_H100, 17, None, id="an-unknown-limit"),
    ],
)
def test_accelerators_above_the_provisioning_limit_are_reported(
    limits: str, selector: str, pods: int, expected: tuple[str, int, int] | None, read: Read
) -> None:
    files = {"main.tf": CLUSTER.format(limits=limits), "job.yaml": JOB.format(selector=selector, pods=pods)}
    found = read(files)
    beyond = or_none(overrun)(found.autoscalers[0], World(found, Config()))
    assert (beyond and (beyond.resource, beyond.asked, beyond.most)) == expected


def test_pods_that_an_existing_pool_may_take_are_left_out(read: Read) -> None:
    found = read({"main.tf": CLUSTER.format(limits=H100) + POOL, "job.yaml": JOB.format(selector="{}", pods=17)})
    assert or_none(overrun)(found.autoscalers[0], World(found, Config())) is None
