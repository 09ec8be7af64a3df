"""Test the networks between GPUs: what counts as enabled, what as requested, and which jobs need none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.numbers import fabrics, machines
from tests.conftest import indented, names

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check

pytestmark = pytest.mark.medium

OURS = {
    "fabric-not-enabled", "fabric-not-requested", "fabric-switched-off", "fabric-nodes-apart", "fabric-without-plugin",
    "job-across-fabrics",
}  # fmt: skip

EKS = """resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "gpu" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  capacity_type   = "CAPACITY_BLOCK"
{group}
  scaling_config {{
    min_size     = 0
    max_size     = 16
    desired_size = 0
  }}
}}
"""
TEMPLATE = """  launch_template {
    id = aws_launch_template.gpu.id
  }
"""
CARDS = """resource "aws_launch_template" "gpu" {{
  instance_type = "p5.48xlarge"

  dynamic "network_interfaces" {{
    for_each = range({count})

    content {{
      network_card_index = network_interfaces.value
      interface_type     = "efa"
    }}
  }}
}}
"""
AKS = """resource "azurerm_kubernetes_cluster" "train" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D16ds_v5"
    node_count = 3
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.train.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 16
}
"""
GKE = """resource "google_container_cluster" "train" {{
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1
}}

resource "google_container_node_pool" "gpu" {{
  name       = "gpu"
  cluster    = google_container_cluster.train.name
  node_count = 8

  placement_policy {{
    type = "COMPACT"
  }}
{network}
  node_config {{
    machine_type = "{machine}"
  }}
}}
"""
ACK = """resource "alicloud_cs_managed_kubernetes" "train" {{
  name         = "train"
  cluster_spec = "ack.pro.small"
  pod_cidr     = "172.16.0.0/16"
}}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {{
  node_pool_name = "gpu"
  cluster_id     = alicloud_cs_managed_kubernetes.train.id
  instance_types = ["{machine}"]

  scaling_config {{
    min_size = 0
    max_size = 16
  }}
}}
"""
ADDON = """resource "alicloud_cs_kubernetes_addon" "erdma" {
  cluster_id = alicloud_cs_managed_kubernetes.train.id
  name       = NAME
}
"""
CHART = """resource "helm_release" "erdma" {
  name  = "erdma"
  chart = "alibabacloud-erdma-controller"
}
"""
EKSCTL = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-east-1}
managedNodeGroups:
  - {name: gpu, instanceType: p5.48xlarge, minSize: 0, maxSize: 100, %s}
"""
JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
  labels: {{{labels}}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: &pod
        metadata:
          annotations: {{{annotations}}}
        spec:
          {spec}
          containers:
            - name: pytorch
              image: quay.io/example/train:1
              command: [torchrun, train.py]
              {container}
              resources:
                limits:
                  nvidia.com/gpu: {gpus}
                  {asked}
    Worker:
      replicas: {workers}
      template: *pod
"""


INDEPENDENT = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 8
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: quay.io/example/train:1
          command: [torchrun, --nnodes=NODES, train.py]
          resources: {limits: {nvidia.com/gpu: 8}}
"""


def job(
    workers: int = 7, gpus: int = 8, asked: str = "", spec: str = "", container: str = "", **more: str
) -> dict[str, str]:
    """Return the manifest of a job of some nodes; the other arguments go into its pods and containers."""
    found = {"annotations": "", "labels": ""} | more
    text = JOB.format(workers=workers, gpus=gpus, asked=asked, spec=spec, container=indented(container, 14), **found)
    return {"job.yaml": text}


def found(result: Result) -> set[str]:
    return OURS.intersection(names(result))


def undecided(result: Result) -> set[str]:
    return {check.rule for check in result.undecided} & OURS


def eks(types: str = "", cards: int | None = None) -> dict[str, str]:
    """Return a node group with some machine types, or with a launch template that has some EFA interfaces."""
    if cards is None:
        return {"main.tf": EKS.format(group=f"  instance_types  = [{types}]\n")}
    return {"main.tf": EKS.format(group=TEMPLATE) + CARDS.format(count=cards)}


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack"])
def test_machine_types_with_a_fabric_are_known(cloud: str) -> None:
    for name in fabrics._by_machine(cloud):
        one = fabrics.fabric(cloud, name)
        assert one is not None
        machine = machines.machine(cloud, one.machine)
        assert machine is not None
        assert machine.gpus
        assert cloud != "eks" or machine.efa == one.interfaces > 1
        assert one.ordinary < one.gbits or (cloud == "ack" and one.interfaces == 1)


@pytest.mark.parametrize(
    ("cards", "expected"), [(0, {"fabric-not-enabled"}), (1, {"fabric-not-enabled"}), (32, set[str]())]
)
def test_every_network_card_must_have_an_efa_interface(cards: int, expected: set[str], check: Check) -> None:
    result = check({**eks(cards=cards), **job(asked="vpc.amazonaws.com/efa: 32")})
    assert found(result) == expected
    said = [one.message for one in result.findings if one.rule == "fabric-not-enabled"]
    assert said == [f"Pool gpu enables {cards} of 32 EFA interfaces: 100 of 3,200 Gbit/s" for _ in expected]


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        (eks('"p5.48xlarge"') | job(), "warning"),
        (eks('"p5.48xlarge"') | job(workers=1), "warning"),
        (eks('"p5.48xlarge"') | job(workers=1, gpus=4), "info"),
        (eks('"p5.48xlarge"'), "warning"),
        (eks('"p5.48xlarge", "g6.48xlarge"') | job(), ""),
        (eks('"g5.48xlarge"') | job(), ""),
    ],
    ids=["several nodes", "two nodes", "one node", "large pool without workloads", "mixed machines", "one card"],
)
def test_jobs_over_several_nodes_and_large_pools_need_a_fabric(
    files: dict[str, str], severity: str, check: Check
) -> None:
    said = [
        one.severity.word
        for one in check(files).findings
        if one.severity is not None and one.rule == "fabric-not-enabled"
    ]
    assert said == ([severity] if severity else [])


def test_an_unread_launch_template_leaves_the_fabric_undecided(check: Check) -> None:
    group = '  instance_types  = ["p5.48xlarge"]\n  launch_template {\n    id = "lt-1"\n  }\n'
    result = check({"main.tf": EKS.format(group=group), **job()})
    assert not found(result)
    assert "fabric-not-enabled" in undecided(result)


@pytest.mark.parametrize(
    ("nodes", "severity"), [("1:8", "warning"), ("8", "warning"), ("1", "info")], ids=["elastic", "eight", "alone"]
)
def test_the_nnodes_argument_of_torchrun_decides_whether_pods_communicate(
    nodes: str, severity: str, check: Check
) -> None:
    files = eks('"p5.48xlarge"') | {"job.yaml": INDEPENDENT.replace("NODES", nodes)}
    said = [one.severity for one in check(files).findings if one.rule == "fabric-not-enabled"]
    assert [one.word for one in said if one is not None] == [severity]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("efaEnabled: true", {"fabric-not-requested"}),
        ("efaEnabled: false", {"fabric-not-enabled"}),
        ("launchTemplate: {id: lt-1}", set[str]()),
    ],
)
def test_eksctl_creates_all_efa_interfaces_or_none(group: str, expected: set[str], check: Check) -> None:
    assert found(check({"cluster.yaml": EKSCTL % group, **job()})) == expected


@pytest.mark.parametrize(
    ("network", "machine", "expected"),
    [
        ("", "a3-megagpu-8g", {"fabric-not-enabled"}),
        ('  network_config {\n    accelerator_network_profile = "auto"\n  }\n', "a4-highgpu-8g", {"fabric-not-requested"}),
        ("", "a3-highgpu-4g", set[str]()),
    ],
)  # fmt: skip
def test_a_gke_pool_needs_a_network_per_interface(network: str, machine: str, expected: set[str], check: Check) -> None:
    gpus = 4 if machine.endswith("4g") else 8
    assert found(check({"main.tf": GKE.format(network=network, machine=machine), **job(gpus=gpus)})) == expected


@pytest.mark.parametrize(
    ("machine", "more", "asked", "expected"),
    [
        ("ecs.ebmgn8v.48xlarge", "", "aliyun/erdma: 1", {"fabric-not-enabled"}),
        ("ecs.ebmgn8v.48xlarge", ADDON.replace("NAME", '"ack-erdma-controller"'), "", {"fabric-not-requested"}),
        ("ecs.ebmgn8v.48xlarge", ADDON.replace("NAME", '"ack-erdma-controller"'), "aliyun/erdma: 1", set[str]()),
        ("ecs.ebmgn8v.48xlarge", CHART, "aliyun/erdma: 1", set[str]()),
        ("ecs.gn8v-8x.48xlarge", "", "", set[str]()),
    ],
    ids=["none", "not asked for", "asked for", "a chart", "one card"],
)
def test_an_addon_of_ack_gives_nodes_their_interfaces(
    machine: str, more: str, asked: str, expected: set[str], check: Check
) -> None:
    result = check({"main.tf": ACK.format(machine=machine) + more, **job(asked=asked)})
    assert found(result) == expected
    said = [one.message for one in result.findings if one.rule == "fabric-not-enabled"]
    assert said in ([], ["Pool gpu enables 0 of 2 eRDMA interfaces: 85 of 170 Gbit/s"])


def test_an_unknown_addon_leaves_the_fabric_undecided(check: Check) -> None:
    unknown = ADDON.replace("NAME", "var.addon") + 'variable "addon" {}\n'
    result = check({"main.tf": ACK.format(machine="ecs.ebmgn8v.48xlarge") + unknown, **job(asked="aliyun/erdma: 1")})
    assert not found(result)
    assert "fabric-not-enabled" in undecided(result)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (job(), {"fabric-not-requested"}),
        (job(workers=1, gpus=4), set[str]()),
        (job(asked="rdma/shared_ib: 1"), set[str]()),
        (job(container="securityContext: {privileged: true}"), set[str]()),
        (job(spec="volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]"), set[str]()),
        (job(annotations="k8s.v1.cni.cncf.io/networks: aks-infiniband"), set[str]()),
        (job(container='env: [{name: NCCL_IB_DISABLE, value: "1"}]'), {"fabric-switched-off"}),
        (job(container="env: [{name: NCCL_NET, value: Socket}]"), {"fabric-switched-off"}),
        (job(spec="hostNetwork: true"), {"fabric-not-requested"}),
    ],
    ids=["nothing", "one node", "resource", "privileged", "devices", "multus", "no ib", "sockets", "host network"],
)
def test_pods_get_infiniband_by_resource_or_privilege(files: dict[str, str], expected: set[str], check: Check) -> None:
    assert found(check({"main.tf": AKS, **files})) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (job(asked="rdma/ib: 8"), {"job-across-fabrics"}),
        (job(asked="rdma/ib: 8", spec="nodeSelector: {kubernetes.azure.com/agentpool: gpub}"), set[str]()),
        (job(asked="rdma/ib: 8", labels="kueue.x-k8s.io/queue-name: research"), set[str]()),
    ],
    ids=["anywhere", "selected", "queued"],
)
def test_a_job_over_two_aks_pools_has_no_infiniband_between_them(
    more: dict[str, str], expected: set[str], check: Check
) -> None:
    second = AKS[AKS.index('resource "azurerm_kubernetes_cluster_node_pool"') :]
    second = second.replace('"gpu"', '"gpub"')
    assert found(check({"main.tf": AKS + second, **more})) == expected


JOBSET = """apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations: {ANNOTATIONS}
spec:
  replicatedJobs:
    - name: workers
      template:
        spec:
          parallelism: 8
          completions: 8
          template:
            METADATA
            spec:
              SPEC
              containers:
                - name: train
                  image: quay.io/example/train:1
                  resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
"""
ZONES = """resource "aws_subnet" "nodes" {
  for_each = { a = "10.0.0.0/20", b = "10.0.16.0/20" }

  vpc_id            = "vpc-1"
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
}
"""
KEPT = "metadata: {annotations: {kueue.x-k8s.io/podset-HOW-topology: topology.kubernetes.io/zone}}"
PACKED = "alpha.jobset.sigs.k8s.io/exclusive-topology: topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("annotations", "spec", "expected"),
    [
        ("", "", {"job-across-fabrics"}),
        (PACKED, "", set[str]()),
        ("", "nodeSelector: {topology.kubernetes.io/zone: us-east-1b}", set[str]()),
        ("", KEPT.replace("HOW", "required"), set[str]()),
        ("", KEPT.replace("HOW", "preferred"), set[str]()),
        ("", KEPT.replace("HOW", "unconstrained"), {"job-across-fabrics"}),
    ],
    ids=["anywhere", "exclusive", "selected", "required", "preferred", "unconstrained"],
)
def test_a_job_over_two_zones_has_no_efa_between_them(
    annotations: str, spec: str, expected: set[str], check: Check
) -> None:
    group = eks(cards=32)["main.tf"].replace(
        '"aws_eks_node_group" "gpu" {', '"aws_eks_node_group" "gpu" {\n  for_each = aws_subnet.nodes'
    )
    group = group.replace('["subnet-1"]', "[each.value.id]").replace('"gpu"\n', '"gpu-${each.key}"\n')
    place = "METADATA" if spec.startswith("metadata") else "SPEC"
    files = {"main.tf": group + ZONES, "job.yaml": JOBSET.replace("ANNOTATIONS", annotations).replace(place, spec)}
    files["job.yaml"] = files["job.yaml"].replace("METADATA", "").replace("SPEC", "")
    assert found(check(files)) == expected


@pytest.mark.parametrize(
    ("selected", "gpus", "expected"),
    [
        ("node.kubernetes.io/instance-type: ml.p5.48xlarge", 8, "ask for EFA: 100 of 3,200"),
        ("cloud.google.com/gke-accelerator: nvidia-b200", 8, "ask for GPUDirect RDMA: 200 of 3,200"),
        ("cloud.google.com/gke-accelerator: nvidia-h100-80gb", 1, ""),
        ("node.kubernetes.io/instance-type: g5.xlarge", 1, ""),
    ],
)
def test_machines_that_pods_select_tell_the_fabric_without_a_cluster(
    selected: str, gpus: int, expected: str, check: Check
) -> None:
    manifest = f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          nodeSelector: {{{selected}}}
          containers:
            - name: pytorch
              image: registry.example.com/train:1
              command: [torchrun, --nnodes=4, train.py]
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
    said = [one.message for one in check({"job.yaml": manifest}).findings if one.rule == "fabric-not-requested"]
    assert [expected in one for one in said] == ([True] if expected else [])
