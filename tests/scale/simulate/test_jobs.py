"""Test the jobs of a tree that run at the same time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.scale.simulate import scenario
from kcheck.scale.simulate.model import Queue
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """
resource "google_container_cluster" "train" {
  name = "train"
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name

  node_config {
    machine_type = "a2-highgpu-8g"
    spot         = SPOT
  }

  autoscaling {
    min_node_count = 0
    max_node_count = 100
  }
}
"""


def job(name: str, pods: int, extra: str = "", labels: str = "{}") -> str:
    return f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  namespace: team
  labels: {labels}
spec:
  completions: {pods}
  parallelism: {pods}
  template:
    spec:
      restartPolicy: Never
{extra}
      containers:
        - name: train
          image: registry.example.com/train:1
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""


def cron(name: str, pods: int, schedule: str, suspended: str = "false") -> str:
    spec = job(name, pods).partition("spec:")[2].replace("\n", "\n    ")
    return f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: {name}, namespace: team}}
spec:
  schedule: "{schedule}"
  suspend: {suspended}
  jobTemplate:
    spec:{spec}
"""


QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpus}
spec:
COHORT
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - name: a100
          resources: [{name: nvidia.com/gpu, nominalQuota: 160}]
        - name: a100-spot
          resources: [{name: nvidia.com/gpu, nominalQuota: 80}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team, namespace: team}
spec: {clusterQueue: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 1000
"""
QUEUED = "{kueue.x-k8s.io/queue-name: team}"
URGENT = "{kueue.x-k8s.io/queue-name: team, kueue.x-k8s.io/priority-class: urgent}"


def found(write: Write, *manifests: str, spot: bool = False) -> scenario.Scenario:
    write({"main.tf": CLUSTER.replace("SPOT", str(spot).lower()), "jobs.yaml": "---".join(manifests)})
    world = World(reader.read(Tree(["."]), Config()).inventory, Config())
    one = scenario.build_scenario(world, world.inventory.clusters[0])
    assert isinstance(one, scenario.Scenario)
    return one


def test_cron_jobs_with_one_schedule_start_together(write: Write) -> None:
    one = found(
        write,
        job("big", 30),
        cron("a", 20, "0 2 * * *"),
        cron("b", 15, "0  2 * * *"),
        cron("c", 25, "0 3 * * *"),
        cron("d", 90, "0 2 * * *", suspended="true"),
    )
    assert [(each.name, each.pods) for each in one.case.jobs] == [("a", 20), ("b", 15)]
    assert "2 CronJobs start together (0 2 * * *)" in one.assumed


def test_the_largest_job_is_run_if_it_exceeds_the_jobs_that_start_together(write: Write) -> None:
    one = found(write, job("big", 50), cron("a", 20, "0 2 * * *"), cron("b", 15, "0 2 * * *"))
    assert [(each.name, each.pods) for each in one.case.jobs] == [("big", 50)]


def test_jobs_in_a_queue_share_its_quota(write: Write) -> None:
    jobs = (job("a", 20, labels=QUEUED), job("b", 15, labels=URGENT), job("elsewhere", 22))
    one = found(write, QUEUE.replace("COHORT\n", ""), *jobs)
    assert [(each.name, each.pods, each.queue, each.priority) for each in one.case.jobs] == [
        ("a", 20, "gpus", 0),
        ("b", 15, "gpus", 1000),
    ]
    assert one.case.queues == (Queue("gpus", 30),), "240 GPUs are 30 nodes of 8"
    assert "the 2 jobs of the queue gpus are submitted together" in one.assumed


def test_claimed_gpus_count_against_the_quota_of_their_mapped_resource(write: Write) -> None:
    """A quota of a resource that stands for a device class limits jobs that claim such devices."""
    claim = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus, namespace: team}
spec: {spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}]}}}
---
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources: {deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [gpu.nvidia.com]}]}
"""
    own = "      resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]\n"
    jobs = [
        job(name, pods, own, labels=QUEUED).replace("limits: {nvidia.com/gpu: 8}", "claims: [{name: gpus}]")
        for name, pods in (("a", 20), ("b", 15))
    ]
    queue = QUEUE.replace("COHORT\n", "").replace("nvidia.com/gpu", "example.com/gpu")
    one = found(write, queue, claim, *jobs)
    assert [(each.name, each.queue) for each in one.case.jobs] == [("a", "gpus"), ("b", "gpus")]
    assert one.case.queues == (Queue("gpus", 30),)


def test_a_job_larger_than_its_quota_is_refused(write: Write) -> None:
    manifests = [QUEUE.replace("COHORT\n", ""), job("a", 31, labels=QUEUED), job("b", 15, labels=QUEUED)]
    write({"main.tf": CLUSTER.replace("SPOT", "false"), "jobs.yaml": "---".join(manifests)})
    done = CliRunner().invoke(cli, ["simulate", "."])
    assert "cannot run Job a: it needs 248 nvidia.com/gpu, ClusterQueue gpus gives 160" in done.stderr


def test_a_queue_that_can_borrow_limits_nothing(write: Write) -> None:
    jobs = (job("a", 20, labels=QUEUED), job("b", 15, labels=QUEUED))
    one = found(write, QUEUE.replace("COHORT", "  cohort: all"), *jobs)
    assert [each.name for each in one.case.jobs] == ["a"]
    assert one.case.queues == ()


def test_the_capability_of_a_volcano_queue_is_its_limit(write: Write) -> None:
    queue = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {capability: {nvidia.com/gpu: 80}}
"""
    vcjob = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: NAME, namespace: team}
spec:
  queue: research
  minAvailable: 8
  tasks:
    - name: worker
      replicas: 8
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: train
              image: registry.example.com/train:1
              resources: {limits: {nvidia.com/gpu: 8}}
"""
    one = found(write, queue, vcjob.replace("NAME", "a"), vcjob.replace("NAME", "b"))
    assert one.case.queues == (Queue("research", 10),)
    assert [(each.name, each.gang) for each in one.case.jobs] == [("a", True), ("b", True)]


def test_a_run_of_any_size_is_bounded(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("SPOT", "false"), "jobs.yaml": job("a", 2_000_000_000)})
    result = CliRunner().invoke(cli, ["simulate", "."])
    assert result.exit_code == 0
    assert "2,000,000,000 nodes, more than 100,000; set --nodes N" in result.stderr
    assert CliRunner().invoke(cli, ["check", "."]).exit_code in (0, 1)


def test_the_simulation_output_names_every_job(write: Write) -> None:
    found(write, QUEUE.replace("COHORT\n", ""), job("a", 20, labels=QUEUED), job("b", 15, labels=URGENT))
    out = CliRunner().invoke(cli, ["simulate", "."]).stdout
    assert "2 jobs on 35 nodes, 10 min of work" in out
    lines = [line.split() for line in out.splitlines() if line.startswith(("  a: ", "  b: "))]
    assert [line[:3] for line in lines] == [["a:", "20", "nodes,"], ["b:", "15", "nodes,"]]
    assert float(lines[0][4]) > float(lines[1][4]) + 5, "the urgent one is first, the other one waits for its nodes"
    told = json.loads(CliRunner().invoke(cli, ["simulate", ".", "--format", "json"]).stdout)
    assert [one["name"] for one in told["runs"][0]["jobs"]] == ["a", "b"]


def test_spot_machines_are_reclaimed_in_a_run(write: Write) -> None:
    assert found(write, job("a", 20), spot=True).case.pools[0].spot
    write({"kcheck.yaml": "simulation: {spot_interruptions: 1}\n"})
    out = CliRunner().invoke(cli, ["simulate", ".", "--duration", "1h"]).stdout
    assert "taken away: " in out
    assert "of work done again" in out
