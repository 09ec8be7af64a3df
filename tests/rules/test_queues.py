"""Test queues in which jobs wait: named queues, default queues, and queues of other namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check


pytestmark = pytest.mark.medium

SPEC = """
completionMode: Indexed
completions: 64
parallelism: 64
MORE
template:
  spec:
    subdomain: train
    restartPolicy: Never
    containers:
      - name: train
        image: registry.example.com/train:1
        command: [torchrun, train.py]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def job(meta: str = "name: train, namespace: vision", more: str = "") -> str:
    spec = SPEC.replace("MORE", more).replace("\n", "\n  ")
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{{meta}}}\nspec:{spec}\n"


def cron(meta: str) -> str:
    spec = SPEC.replace("MORE", "").replace("\n", "\n      ")
    body = f'  schedule: "@daily"\n  jobTemplate:\n    metadata: {{{meta}}}\n    spec:{spec}\n'
    return f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: train}}\nspec:\n{body}"


def queue(name: str, namespace: str) -> str:
    meta = f"name: {name}, namespace: {namespace}"
    return f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{{meta}}}\nspec: {{clusterQueue: all}}\n"


NAMED = "name: train, namespace: vision, labels: {kueue.x-k8s.io/queue-name: research}"


@pytest.mark.parametrize(("name", "namespace", "told"), [("default", "vision", False), ("default", "speech", True)])
def test_the_default_queue_accepts_jobs_in_its_namespace(name: str, namespace: str, told: bool, check: Check) -> None:
    found = names(check({"job.yaml": job(), "queue.yaml": queue(name, namespace)}))
    assert ("gang-missing" in found) is told
    assert "queue-label-missing" not in found


@pytest.mark.parametrize(("namespace", "told"), [("vision", False), ("speech", True)])
def test_a_local_queue_serves_only_its_namespace(namespace: str, told: bool, check: Check) -> None:
    result = check({"job.yaml": job(NAMED), "queue.yaml": queue("research", namespace)})
    assert ("queue-missing" in names(result)) is told
    assert all(
        f.details[-2:] == ("A LocalQueue serves one namespace; the job is in vision", "Queues here: speech/research")
        for f in result.findings
        if f.rule == "queue-missing"
    )


def test_help_names_the_queues_of_the_namespace(check: Check) -> None:
    files = {"job.yaml": job(NAMED), "queue.yaml": f"{queue('research', 'speech')}---\n{queue('small', 'vision')}"}
    (found,) = (one for one in check(files).findings if one.rule == "queue-missing")
    assert found.help == "name a LocalQueue of its namespace: small"


QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a, namespace: vision}\nspec: {hard: {cpu: 8}}\n"
RANGE = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: SPACE}\nspec: {limits: []}\n"


def test_a_quota_without_limit_range_names_the_pods_it_refuses(check: Check) -> None:
    (found,) = (
        one for one in check({"job.yaml": job(), "quota.yaml": QUOTA}).findings if one.rule == "limit-range-missing"
    )
    assert found.details[-1] == "Job train has such a container"
    requests = job().replace("{limits: {", "{requests: {cpu: 1}, limits: {")
    (found,) = (
        one for one in check({"job.yaml": requests, "quota.yaml": QUOTA}).findings if one.rule == "limit-range-missing"
    )
    assert found.details == ("Pods with a container that has no requests are refused",)


@pytest.mark.parametrize(("space", "told"), [("vision", False), ("speech", True)])
def test_a_limit_range_applies_to_its_namespace(space: str, told: bool, check: Check) -> None:
    found = check({"quota.yaml": QUOTA, "range.yaml": RANGE.replace("SPACE", space)})
    assert ("limit-range-missing" in names(found)) is told


@pytest.mark.parametrize(("more", "told"), [("suspend: true", False), ("suspend: false", True)])
def test_checks_of_a_suspended_job_are_undecided(more: str, told: bool, check: Check) -> None:
    result = check({"job.yaml": job(more=more)})
    assert ("gang-missing" in names(result)) is told
    assert ("gang-missing" in {one.rule for one in result.undecided}) is not told


@pytest.mark.parametrize(("meta", "told"), [("", True), ("labels: {kueue.x-k8s.io/queue-name: research}", False)])
def test_jobs_of_a_cron_job_wait_in_a_queue_by_their_own_label(meta: str, told: bool, check: Check) -> None:
    assert ("gang-missing" in names(check({"job.yaml": cron(meta)}))) is told


@pytest.mark.parametrize("queued", [True, False])
def test_a_kueue_queue_counts_as_the_quota_of_its_jobs(queued: bool, check: Check) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: vision}\n"
    quota = (
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a, namespace: speech}\n"
        "spec: {hard: {requests.nvidia.com/gpu: 8}}\n"
    )
    files = {"space.yaml": space, "quota.yaml": quota, "job.yaml": job(NAMED) if queued else job()}
    found = check(files, Config())
    assert ("namespace-without-quota" in names(found)) is not queued


CONFIGURATION = (
    "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nwaitForPodsReady: {enable: true, timeout: 2m}\n"
)
POOL = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 900
    desired_size = 0
  }
}
"""
CHART = """
resource "helm_release" "kueue" {
  name   = "kueue"
  chart  = "kueue"
  values = [yamlencode({ managerConfig = { controllerManagerConfigYaml = file("kueue.conf") } })]
}
"""
MAP = """
resource "kubernetes_config_map_v1" "kueue" {
  metadata {
    name = "kueue-manager-config"
  }
  data = {
    "controller_manager_config.yaml" = yamlencode({
      apiVersion = "config.kueue.x-k8s.io/v1beta1", kind = "Configuration", waitForPodsReady = { enable = true, timeout = "TIME" }
    })
  }
}
"""


@pytest.mark.parametrize(
    ("code", "told"), [(CHART, True), (MAP.replace("TIME", "2m"), True), (MAP.replace("TIME", "2h"), False)]
)
def test_kueue_is_configured_in_terraform(code: str, told: bool, check: Check) -> None:
    found = names(check({"main.tf": POOL + code, "kueue.conf": CONFIGURATION}))
    assert ("ready-timeout-short" in found) is told


VOLCANO = """
resource "helm_release" "volcano" {
  name   = "volcano"
  chart  = "volcano"
  values = [yamlencode({ custom = { scheduler_config_override = file("volcano.conf") } })]
}
"""
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 64
  tasks:
    - name: worker
      replicas: 64
      template:
        spec:
          containers: [{name: train, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""
TIERS = "tiers: [{plugins: [{name: gang}, {name: overcommit}]}]\n"


@pytest.mark.parametrize(("actions", "told"), [("enqueue, allocate", True), ("allocate, backfill", False)])
def test_volcano_is_configured_in_terraform(actions: str, told: bool, check: Check) -> None:
    conf = f'actions: "{actions}"\n{TIERS}'
    found = names(check({"main.tf": POOL + VOLCANO, "volcano.conf": conf, "job.yaml": JOB}))
    assert ("volcano-scale-from-zero" in found) is told


@pytest.mark.parametrize(("least", "told"), [(64, "512"), (13, "104"), (12, None)])
def test_volcano_counts_as_many_pods_as_the_gang_starts_with(least: int, told: str | None, check: Check) -> None:
    """10 nodes that always run have 80 GPUs; 80 x 1.2 = 96."""
    conf = f'actions: "enqueue, allocate"\n{TIERS}'
    job = JOB.replace("minAvailable: 64", f"minAvailable: {least}")
    pool = POOL.replace("min_size     = 0", "min_size     = 10")
    found = check({"main.tf": pool + VOLCANO, "volcano.conf": conf, "job.yaml": job})
    texts = [one.message for one in found.findings if one.rule == "volcano-scale-from-zero"]
    assert texts == (
        [f"Volcano never starts Job train: it waits for {told} GPUs, and Volcano admits 96"] if told else []
    )


@pytest.mark.parametrize(
    ("plugins", "jobs", "told"),
    [
        ("gang, proportion, drf", 2, set()),
        ("proportion, drf", 2, {"volcano-starts-jobs-in-parts"}),
        ("gang, priority", 1, set()),
        ("gang, priority", 2, {"volcano-shares-nothing"}),
        ("gang, capacity", 2, set()),  # which cap nobody in a queue; none of these jobs is elastic
    ],
)
def test_missing_plugins_of_volcano_are_reported(plugins: str, jobs: int, told: set[str], check: Check) -> None:
    listed = ", ".join(f"{{name: {name}}}" for name in plugins.split(", "))
    conf = f'actions: "allocate, backfill"\ntiers: [{{plugins: [{listed}]}}]\n'
    files = {f"job-{i}.yaml": JOB.replace("name: train}", f"name: train-{i}}}", 1) for i in range(jobs)}
    found = names(check({"main.tf": POOL + VOLCANO, "volcano.conf": conf, **files}))
    assert {"volcano-starts-jobs-in-parts", "volcano-shares-nothing"}.intersection(found) == told


def test_the_agent_scheduler_of_volcano_schedules_no_jobs(check: Check) -> None:
    conf = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-agent-scheduler-configmap}\n"
        'data:\n  agent-scheduler.conf: |\n    actions: "allocate"\n    tiers: [{plugins: [{name: predicates}]}]\n'
    )
    found = names(check({"main.tf": POOL, "conf.yaml": conf, "job.yaml": JOB}))
    assert not {"volcano-does-not-pack", "volcano-starts-jobs-in-parts"}.intersection(found)


@pytest.mark.parametrize(
    ("quota", "more", "told"),
    [(128, "", []), (129, "", ["128 at most"]), (129, "\n  cluster_autoscaling {\n    enabled = true\n  }", [])],
)
def test_quota_above_the_size_of_the_pools_is_reported(quota: int, more: str, told: list[str], check: Check) -> None:
    """Where node auto-provisioning adds pools, the size of the cluster is unknown."""
    terraform = f"""
resource "google_container_cluster" "train" {{
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1{more}
}}
resource "google_container_node_pool" "gpu" {{
  name    = "gpu"
  cluster = google_container_cluster.train.name
  autoscaling {{
    max_node_count = 16
  }}
  node_config {{
    machine_type = "a3-highgpu-8g"
  }}
}}
"""
    queues = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: train}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu, vpc.amazonaws.com/efa]
      flavors:
        - name: any
          resources: [{{name: nvidia.com/gpu, nominalQuota: {quota}}}, {{name: vpc.amazonaws.com/efa, nominalQuota: 512}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: train, namespace: train}}
spec: {{clusterQueue: train}}
"""
    result = check({"main.tf": terraform, "queues.yaml": queues})
    found = [one.message for one in result.findings if one.rule == "queue-above-cluster"]
    assert [message[-11:] for message in found] == told
