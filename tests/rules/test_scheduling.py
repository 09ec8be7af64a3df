"""Test nodes, priorities and quotas of jobs, against existing pools and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from tests.conftest import names

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check


pytestmark = pytest.mark.medium

POOL = """resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "gpu" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  taint {{
    key    = "{taint}"
    value  = "true"
    effect = "NO_SCHEDULE"
  }}

  scaling_config {{
    min_size     = 0
    max_size     = 32
    desired_size = 0
  }}
}}
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: train
{labels}spec:
  parallelism: {pods}
  template:
    spec:
{spec}      containers:
        - name: main
          image: registry.example.com/train:1.4
{more}          resources:
            limits:
              nvidia.com/gpu: {gpus}
"""


def job(pods: int = 8, gpus: int = 8, spec: str = "", more: str = "", labels: str = "") -> str:
    return JOB.format(pods=pods, gpus=gpus, spec=spec, more=more, labels=labels)


def found(result: Result) -> dict[str, str]:
    assert not result.bugs
    return {finding.rule: finding.severity.word for finding in result.findings}


@pytest.mark.parametrize(
    ("taint", "refused"),
    [("dedicated", True), ("nvidia.com/gpu", False), ("node.cilium.io/agent-not-ready", False)],
)
def test_taints_named_like_a_resource_are_tolerated_automatically(taint: str, refused: bool, check: Check) -> None:
    """EKS enables ExtendedResourceToleration; taints of starting nodes disappear."""
    assert (
        "gpu-without-toleration" in found(check({"main.tf": POOL.format(taint=taint), "job.yaml": job()}))
    ) == refused


def test_kueue_flavors_add_tolerations(check: Check) -> None:
    queued = job(labels="  labels:\n    kueue.x-k8s.io/queue-name: team\n")
    assert "gpu-without-toleration" not in found(check({"main.tf": POOL.format(taint="dedicated"), "job.yaml": queued}))


PORT = "          ports:\n            - containerPort: 29500\n"
HOST = "      hostNetwork: true\n"


@pytest.mark.parametrize(
    ("pods", "gpus", "more", "severity"),
    [
        (64, 4, PORT, "warning"),  # more pods than nodes
        (16, 4, PORT, "warning"),  # a node would take two
        (16, 8, PORT, None),  # a node is full anyway
        (64, 4, "", None),  # nothing declared
    ],
)
def test_conflicting_host_ports_are_reported(
    pods: int, gpus: int, more: str, severity: str | None, check: Check
) -> None:
    files = {"main.tf": POOL.format(taint="nvidia.com/gpu"), "job.yaml": job(pods, gpus, HOST, more)}
    assert found(check(files)).get("host-network-port-clash") == severity


@pytest.mark.parametrize(("gpus", "severity"), [(8, "info"), (4, "warning")])
def test_a_port_conflict_is_an_info_for_rdma_jobs_that_fill_nodes(gpus: int, severity: str, check: Check) -> None:
    text = job(64, gpus, HOST, PORT) + "              vpc.amazonaws.com/efa: 4\n"
    files = {"main.tf": POOL.format(taint="nvidia.com/gpu"), "job.yaml": text}
    assert found(check(files))["host-network-port-clash"] == severity
    assert "job-does-not-fill-node" not in found(check(files))  # the port is why


KARPENTER = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu-karpenter}
spec:
  limits: {nvidia.com/gpu: 256}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
"""


@pytest.mark.parametrize(("own", "expected"), [
    ("", [["karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict"]]),
    ("karpenter.sh/do-not-disrupt: 'true'", [["cluster-autoscaler.kubernetes.io/safe-to-evict"]]),
    ("karpenter.sh/do-not-disrupt: 'true', cluster-autoscaler.kubernetes.io/safe-to-evict: 'false'", []),
])  # fmt: skip
def test_the_fix_adds_each_annotation_that_keeps_an_evictable_job(
    own: str, expected: list[list[str]], check: Check
) -> None:
    text = job(
        16,
        2,
        "      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n",
        "          command: [torchrun]\n",
    )
    text = text.replace(
        "  template:\n", f"  completionMode: Indexed\n  template:\n    metadata: {{annotations: {{{own}}}}}\n"
    )
    files = {"main.tf": POOL.format(taint="nvidia.com/gpu"), "pool.yaml": KARPENTER, "job.yaml": text}
    fixes = [one.fix for one in check(files).findings if one.rule == "training-pod-evictable"]
    assert [[change.key for change in fix.changes] for fix in fixes if fix is not None] == expected


SPREAD = """      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: {{app: {app}}}
"""


@pytest.mark.parametrize(("app", "spread"), [("train", True), ("cache", False)])
def test_anti_affinity_to_other_pods_does_not_spread_a_job(app: str, spread: bool, check: Check) -> None:
    text = job(400, spec=SPREAD.format(app=app)).replace(
        "  template:\n", "  template:\n    metadata: {labels: {app: train}}\n"
    )
    assert ("hostname-anti-affinity-at-scale" in found(check({"job.yaml": text}))) == spread


CLASS = """apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: {name}}}
value: {value}
{more}"""
RELEASE = """
resource "helm_release" "priorities" {
  name  = "priorities"
  chart = "priorities"
}
"""


def test_a_missing_priority_class_may_come_from_a_helm_release(check: Check) -> None:
    files = {
        "job.yaml": job(spec="      priorityClassName: high\n"),
        "class.yaml": CLASS.format(name="low", value=1, more=""),
    }
    pool = POOL.format(taint="nvidia.com/gpu")
    assert found(check({"main.tf": pool, **files}))["unknown-priority-class"] == "error"
    assert found(check({"main.tf": pool + RELEASE, **files}))["unknown-priority-class"] == "info"


@pytest.mark.parametrize(("named", "default"), [("low", ""), ("", "globalDefault: true\n")])
def test_a_job_without_a_priority_class_has_the_default_class(named: str, default: str, check: Check) -> None:
    spec = f"      priorityClassName: {named}\n" if named else ""
    classes = CLASS.format(name="low", value=1, more=default) + "---\n" + CLASS.format(name="high", value=9, more="")
    result = check({"job.yaml": job(spec=spec), "classes.yaml": classes})
    details = next(f.details for f in result.findings if f.rule == "preempted-without-checkpoint")
    assert details[0] == "Pods above its class low (1) may stop it"


def test_a_job_with_one_gpu_has_singular_messages(check: Check) -> None:
    classes = (
        CLASS.format(name="low", value=1, more="globalDefault: true\n")
        + "---\n"
        + CLASS.format(name="high", value=9, more="")
    )
    result = check({"job.yaml": job(1, 1), "classes.yaml": classes})
    details = next(f.details for f in result.findings if f.rule == "preempted-without-checkpoint")
    assert details[-1].endswith("each stop loses all work of 1 GPU")


def test_workloads_without_a_namespace_are_not_in_an_unknown_namespace(check: Check) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: '${SPACE}'}\n"
    result = check({"job.yaml": job(), "space.yaml": space})
    assert "namespace-without-quota" not in {*found(result), *(one.rule for one in result.undecided)}


def test_a_class_that_never_preempts_causes_no_preemption_finding(check: Check) -> None:
    never = CLASS.format(name="high", value=9, more="preemptionPolicy: Never\n")
    classes = CLASS.format(name="low", value=1, more="globalDefault: true\n") + "---\n" + never
    assert "preempted-without-checkpoint" not in found(check({"job.yaml": job(), "classes.yaml": classes}))


@pytest.mark.parametrize(("folder", "severity"), [("a", "error"), ("b", "warning")])
def test_two_default_classes_are_an_error_in_one_overlay_else_a_warning(
    folder: str, severity: str, check: Check
) -> None:
    one, two = (CLASS.format(name=name, value=1, more="globalDefault: true\n") for name in ("one", "two"))
    files = {"main.tf": POOL.format(taint="nvidia.com/gpu"), "a/one.yaml": one, f"{folder}/two.yaml": two}
    assert found(check(files))["two-default-priorities"] == severity


QUOTA = """apiVersion: v1
kind: ResourceQuota
metadata: {{name: quota{namespace}}}
spec:
  hard: {{{hard}}}
"""
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: vision}\n"


@pytest.mark.parametrize(
    ("quota", "severity"),
    [
        (QUOTA.format(namespace=", namespace: speech", hard="requests.cpu: 100"), "warning"),
        (QUOTA.format(namespace=", namespace: driver", hard="pods: 100"), "info"),
        (QUOTA.format(namespace="", hard="requests.cpu: 100"), None),  # kustomize may put it there
        ("", "info"),
    ],
)
def test_a_missing_quota_is_a_warning_if_other_teams_have_one(quota: str, severity: str | None, check: Check) -> None:
    mine = job().replace("  name: train\n", "  name: train\n  namespace: vision\n")
    files = {"job.yaml": mine, "space.yaml": SPACE, **({"quota.yaml": quota} if quota else {})}
    assert found(check(files)).get("namespace-without-quota") == severity


@pytest.mark.parametrize(
    ("key", "told"),
    [("requests.memory", True), ("requests.google.com/tpu", False), ("requests.nvidia.com/mig-1g.10gb", False)],
)
def test_quotas_count_accelerators_by_any_name(key: str, told: bool, check: Check) -> None:
    quota = QUOTA.format(namespace=", namespace: vision", hard=f"requests.cpu: 100, {key}: 8")
    mine = job().replace("  name: train\n", "  name: train\n  namespace: vision\n")
    assert ("quota-without-gpus" in found(check({"job.yaml": mine, "quota.yaml": quota}))) == told


@pytest.mark.parametrize("key", ["limits.nvidia.com/gpu", "nvidia.com/gpu"])
def test_quotas_count_gpus_by_requests_only(key: str, check: Check) -> None:
    quota = QUOTA.format(namespace=", namespace: vision", hard=f"{key}: 8")
    assert found(check({"job.yaml": job(), "quota.yaml": quota}))["gpu-quota-never-counts"] == "error"


def test_sleeping_and_init_containers_need_no_requests(check: Check) -> None:
    agent = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n  template:\n    spec:\n"
    agent += "      containers: [{name: agent, image: registry.example.com/agent:1}]\n"
    assert found(check({"agent.yaml": agent}, Config(nodes={"": 1000})))["missing-requests"] == "info"
    once = agent.replace("      containers", "      initContainers")
    assert "missing-requests" not in found(check({"agent.yaml": once}, Config(nodes={"": 1000})))
    for keeper in ("registry.k8s.io/pause:3.10", "registry.example.com/agent:1, command: [sleep, infinity]"):
        idle = agent.replace("registry.example.com/agent:1", keeper)
        assert "missing-requests" not in found(check({"agent.yaml": idle}, Config(nodes={"": 1000})))


AGENT = """apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  template:
    spec:
{spec}      containers:
        - name: agent
          image: docker.io/example/agent:1.4
"""


@pytest.mark.parametrize(
    ("spec", "severity"),
    [
        ("", "error"),
        (
            "      nodeSelector:\n        cloud.google.com/gke-accelerator: nvidia-h100-80gb\n",
            None,
        ),  # on how many nodes is not known
        ("      tolerations:\n        - {key: google.com/tpu, operator: Exists}\n", "warning"),
        ("      nodeSelector:\n        example.com/cache: worker\n", None),
        ("      nodeSelector:\n        node-role.kubernetes.io/control-plane: ''\n", None),
    ],
)
def test_docker_hub_severity_depends_on_where_agents_run(spec: str, severity: str, check: Check) -> None:
    result = found(check({"agent.yaml": AGENT.format(spec=spec)}, Config(nodes={"": 1000})))
    assert result.get("docker-hub-image") == severity


@pytest.mark.parametrize(("taint", "told"), [("nvidia.com/gpu", None), ("example.com/none", None), ("", "error")])
def test_agents_run_on_nodes_whose_taints_they_tolerate(taint: str, told: str | None, check: Check) -> None:
    pool = (
        POOL.format(taint=taint)
        if taint
        else POOL.format(taint="x")
        .replace("  taint {", "  labels = {}\n  /*")
        .replace('"NO_SCHEDULE"\n  }', '"NO_SCHEDULE"\n  } */')
    )
    result = found(check({"main.tf": pool, "agent.yaml": AGENT.format(spec="")}, Config(nodes={"": 1000})))
    assert result.get("docker-hub-image") == told


QUEUED = "  labels: {kueue.x-k8s.io/queue-name: team}\n"


@pytest.mark.parametrize(
    ("pods", "gpus", "labels", "told"), [(1, 0, "", False), (8, 0, "", True), (1, 8, "", True), (8, 8, QUEUED, False)]
)
def test_a_small_or_queued_job_needs_no_namespace_quota(
    pods: int, gpus: int, labels: str, told: bool, check: Check
) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: vision\n---\n"
    text = job(pods, gpus, labels=labels).replace("  name: train\n", "  name: train\n  namespace: vision\n")
    assert ("namespace-without-quota" in found(check({"job.yaml": space + text}))) == told


def test_one_priority_class_needs_no_default(check: Check) -> None:
    one = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: critical}\nvalue: 1000\n"
    assert "default-priority-missing" not in found(check({"class.yaml": one}))


DNS = """
resource "aws_eks_addon" "dns" {{
  cluster_name         = aws_eks_cluster.main.name
  addon_name           = "coredns"
  configuration_values = jsonencode({values})
}}
"""
CACHE = """
resource "helm_release" "cache" {
  name  = "cache"
  chart = "node-local-dns"
}
"""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", True),
        (DNS.format(values="{ replicaCount = 4 }"), True),
        (DNS.format(values="{ replicaCount = 63 }"), False),
        (DNS.format(values="{ autoScaling = { enabled = true } }"), False),
        (CACHE, False),
    ],
)
def test_dns_without_autoscaling_is_reported(more: str, told: bool, check: Check) -> None:
    result = check({"main.tf": POOL.format(taint="nvidia.com/gpu") + more}, Config(nodes={"": 1000}))
    assert ("dns-not-scaled" in found(result)) == told


def test_dns_of_a_small_cluster_is_not_reported(check: Check) -> None:
    assert "dns-not-scaled" not in found(check({"main.tf": POOL.format(taint="nvidia.com/gpu")}))


def test_manifests_without_a_cluster_wait_for_no_pools(check: Check) -> None:
    assert not [one.rule for one in check({"job.yaml": job()}).undecided]


GANG = """apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: probe, namespace: {namespace}}}
spec:
  minAvailable: {pods}
  tasks:
    - replicas: {pods}
      template:
        spec:
          hostNetwork: true
          containers: [{{name: probe, image: registry.example.com/probe:1}}]
---
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
"""


@pytest.mark.parametrize(
    ("pods", "namespace", "rules"),
    [
        (8, "vision", {"host-network-dns", "job-never-cleaned", "namespace-without-quota"}),
        (1, "volcano-system", set()),  # it meets nobody, does not pile up, and is an operator's
    ],
)
def test_a_job_of_one_pod_gets_no_findings_for_many_pods(
    pods: int, namespace: str, rules: set[str], check: Check
) -> None:
    names = set(found(check({"job.yaml": GANG.format(pods=pods, namespace=namespace)})))
    assert names & {"host-network-dns", "job-never-cleaned", "namespace-without-quota"} == rules


@pytest.mark.parametrize(("pods", "told"), [(2, True), (1, False)])
def test_a_missing_tier_label_on_a_single_pod_is_not_reported(pods: int, told: bool, check: Check) -> None:
    result = check({"job.yaml": job(pods)}, Config(nodes={"": 1000}))
    assert ("tier-not-visible" in found(result)) == told


EXPRESSION = """      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchExpressions:
                  - {{key: app, operator: {operator}, values: [serve]}}
"""
LABELLED = "  template:\n    metadata:\n      labels:\n        app: train\n"


@pytest.mark.parametrize(("operator", "spread"), [("In", False), ("NotIn", True)])
def test_anti_affinity_expressions_can_exclude_the_own_pods(operator: str, spread: bool, check: Check) -> None:
    text = job(pods=600, spec=EXPRESSION.format(operator=operator)).replace("  template:\n", LABELLED)
    assert ("hostname-anti-affinity-at-scale" in names(check({"job.yaml": text}))) is spread


IN_TERRAFORM = """
resource "kubernetes_priority_class_v1" "high" {
  metadata {
    name = "train-high"
  }
  value = 1000
}

resource "kubernetes_resource_quota_v1" "vision" {
  metadata {
    name      = "all"
    namespace = "vision"
  }
  spec {
    hard = { "requests.cpu" = "100", "nvidia.com/gpu" = "8" }
  }
}

resource "kubernetes_limit_range" "vision" {
  metadata {
    name      = "all"
    namespace = "vision"
  }
  spec {
    limit {
      type    = "Container"
      default = { cpu = "1" }
    }
  }
}
"""


def test_priority_classes_and_quotas_in_terraform_are_read(check: Check) -> None:
    text = job(spec="      priorityClassName: train-high\n", labels="  namespace: vision\n")
    found = names(check({"main.tf": POOL.format(taint="nvidia.com/gpu") + IN_TERRAFORM, "job.yaml": text}))
    assert "unknown-priority-class" not in found
    assert "limit-range-missing" not in found
    assert "gpu-quota-never-counts" in found


SERVICE = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: vision}}
spec:
  replicas: 200
  template:
    spec:
      {spec}
      containers: [{{name: web, image: registry.example.com/web:1}}]
"""
RANGE = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: vision}\nspec: {limits: [%s]}\n"


@pytest.mark.parametrize(
    ("spec", "limits", "told"),
    [
        ("restartPolicy: Always", "", True),
        ("resources: {requests: {cpu: 1, memory: 1Gi}}", "", False),
        ("restartPolicy: Always", "{type: Container, defaultRequest: {cpu: 1}}", False),
        ("restartPolicy: Always", "{type: PersistentVolumeClaim, max: {storage: 1Gi}}", True),
    ],
)
def test_requests_come_from_containers_and_pods_and_limit_ranges(
    spec: str, limits: str, told: bool, check: Check
) -> None:
    files = {"web.yaml": SERVICE.format(spec=spec)} | ({"range.yaml": RANGE % limits} if limits else {})
    assert ("missing-requests" in names(check(files))) is told


@pytest.mark.parametrize(
    ("types", "cpu", "told"),
    [
        ("p4d.24xlarge", 96, True), ("p4d.24xlarge", 95, False), ("p4d.24xlarge, p5.48xlarge", 96, False),
        ("p4d.24xlarge, p5.48xlarge", 192, True), ("p4d.24xlarge, own.type", 192, False), ("a3-highgpu-8g", 208, True),
    ],
)  # fmt: skip
def test_the_largest_named_machine_must_have_room_for_the_pods(types: str, cpu: int, told: bool, check: Check) -> None:
    chosen = f"{{key: node.kubernetes.io/instance-type, operator: In, values: [{types}]}}"
    text = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  template:
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{chosen}]}}]}}
      containers:
        - {{name: wait, image: "registry.example.com/wait:1"}}
        - name: train
          image: registry.example.com/train:1
          resources: {{limits: {{cpu: {cpu}, memory: 100Gi, nvidia.com/gpu: 8}}}}
      restartPolicy: Never
"""
    result = [one for one in check({"job.yaml": text}).findings if one.rule == "pod-takes-whole-machine"]
    assert [one.span.line for one in result] == [("job.yaml", 15)] * told
