"""Test jobs that claim GPUs, and jobs that use Kubernetes' own gangs, beyond the examples of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.scale import placement
from kcheck.scale.world import World
from kcheck.text.findings import Severity
from kcheck.text.values import known
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check, Read


pytestmark = pytest.mark.medium

CLUSTER = """
resource "aws_eks_cluster" "main" {
  name    = "train"
  version = "1.36"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 32
    desired_size = 0
  }
}
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec:
  spec:
    devices:
      requests:
        - name: gpus
          exactly: {deviceClassName: gpu.nvidia.com, count: 8}
---
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {LABEL: research}
spec:
  completions: 64
  parallelism: 64
  template:
    spec:
      restartPolicy: Never
      resourceClaims:
        - {name: gpus, resourceClaimTemplateName: gpus}
      containers:
        - name: train
          image: quay.io/example/train:1
          resources:
            claims: [{name: gpus}]
"""
KARPENTER = """
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "karpenter"
  version = "VERSION"
  values  = [yamlencode({ settings = SETTINGS })]
}
"""
QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [RESOURCE]
      flavors:
        - name: default
          resources: [{name: RESOURCE, nominalQuota: 512}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: default}
spec: {clusterQueue: gpus}
---
"""
MAPPED = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  deviceClassMappings:
    - {name: example.com/gpu, deviceClassNames: [gpu.nvidia.com]}
---
"""
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train}
spec:
  schedulingPolicy: POLICY
---
"""
GANG = (
    JOB.replace("LABEL", "team")
    .replace("      resourceClaims:\n        - {name: gpus, resourceClaimTemplateName: gpus}\n", "      schedulingGroup: {podGroupName: train}\n")
    .replace("claims: [{name: gpus}]", "limits: {nvidia.com/gpu: 8}")
)  # fmt: skip
INDEXED = GANG.replace("spec:\n  completions", "spec:\n  completionMode: Indexed\n  completions").replace(
    "          image:", "          command: [torchrun, train.py]\n          image:"
)


def test_a_pool_too_small_for_claimed_gpus_is_reported(check: Check) -> None:
    """The pool is smaller than the job that claims its GPUs."""
    assert "pool-below-job" in names(check({"main.tf": CLUSTER, "job.yaml": CLAIM + JOB}))


def test_a_pod_that_claims_all_gpus_gets_a_node_of_its_own(read: Read) -> None:
    """allocationMode: All puts one pod on each node with GPUs, and none on others."""
    whole = CLAIM.replace("count: 8", "allocationMode: All")
    cpu = (
        CLUSTER.partition('resource "aws_eks_node_group"')[2]
        .replace('"gpu"', '"cpu"')
        .replace("p5.48xlarge", "m7i.48xlarge")
    )
    found = read({"main.tf": CLUSTER + 'resource "aws_eks_node_group"' + cpu, "job.yaml": whole + JOB})
    (template,) = found.workloads[0].templates
    world = World(found, Config())
    fits = {known(pool.name): placement.fit(template, pool).fits for pool in found.pools}
    assert fits == {"gpu": True, "cpu": False}
    gpu = next(pool for pool in found.pools if known(pool.name) == "gpu")
    most = world.pools.per_node(template, gpu)
    assert most is not None
    assert most.exact == 1


@pytest.mark.parametrize(
    ("version", "settings", "told"),
    [
        ("1.9.0", "{}", True),
        ("1.14.1", "{}", True),
        ("1.14.1", "{ ignoreDRARequests = false }", False),
        ("1.14.1", "{ ignoreDRARequests = true }", True),
        ("1.9.0", "{ ignoreDRARequests = false }", True),
    ],
)
def test_karpenter_ignores_claims_by_default(check: Check, version: str, settings: str, told: bool) -> None:
    """Karpenter adds nodes for claims since 1.14, if a flag enables it."""
    chart = KARPENTER.replace("VERSION", version).replace("SETTINGS", settings)
    pool = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {cpu: 10000}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
---
"""
    result = check({"main.tf": CLUSTER + chart, "job.yaml": pool + CLAIM + JOB})
    assert ("autoscaler-ignores-claims" in names(result)) is told


@pytest.mark.parametrize(
    ("configuration", "resource", "told"),
    [
        (MAPPED, "example.com/gpu", False),
        (MAPPED, "nvidia.com/gpu", True),
        (MAPPED.replace("gpu.nvidia.com", "other"), "example.com/gpu", True),
        ("", "nvidia.com/gpu", False),
    ],
)
def test_kueue_counts_claims_by_its_mappings(check: Check, configuration: str, resource: str, told: bool) -> None:
    """A claim's GPUs need a quota for the resource that their class maps to; without configuration that is unknown."""
    job = JOB.replace("LABEL", "kueue.x-k8s.io/queue-name").replace(
        "  name: train\n", "  name: train\n  namespace: default\n", 1
    )
    result = check({"main.tf": CLUSTER, "job.yaml": configuration + QUEUE.replace("RESOURCE", resource) + CLAIM + job})
    assert ("queue-ignores-gpus" in names(result)) is told


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("{gang: {minCount: 64}}", set()),
        ("{gang: {minCount: 16}}", {"gang-smaller-than-job"}),
        ("{basic: {}}", {"gang-missing"}),
    ],
)
def test_a_pod_group_gives_the_size_of_its_gang(check: Check, policy: str, told: set[str]) -> None:
    """The PodGroup of Kubernetes' own scheduler sets the size of its gang; the policy basic is no gang."""
    result = check({"main.tf": CLUSTER, "job.yaml": GROUP.replace("POLICY", policy) + INDEXED})
    assert {"gang-missing", "gang-smaller-than-job", "native-gang-ignored"} & {
        one.rule for one in result.findings if one.severity > Severity.INFO
    } == told


@pytest.mark.parametrize(("version", "severity"), [("1.35", "warning"), ("1.36", "info")])
def test_the_native_gang_of_a_job_needs_a_kubernetes_version(check: Check, version: str, severity: str) -> None:
    """schedulingGroup exists since 1.36, behind a feature gate that is off by default."""
    files = {
        "main.tf": CLUSTER.replace("1.36", version),
        "job.yaml": GROUP.replace("POLICY", "{gang: {minCount: 64}}") + INDEXED,
    }
    (found,) = (one for one in check(files).findings if one.rule == "native-gang-ignored")
    assert found.severity.name.lower() == severity


@pytest.mark.parametrize(("gates", "told"), [("GenericWorkload=true", False), ("GangScheduling=true", True)])
def test_feature_gates_are_read_from_a_self_managed_control_plane(check: Check, gates: str, told: bool) -> None:
    """kubeadm's configuration has the feature gates of its API server."""
    kubeadm = f"""
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: train
kubernetesVersion: v1.37.0
apiServer:
  extraArgs:
    - {{name: feature-gates, value: "{gates}"}}
---
"""
    result = check({"job.yaml": kubeadm + GROUP.replace("POLICY", "{gang: {minCount: 64}}") + INDEXED})
    assert ("native-gang-ignored" in names(result)) is told
