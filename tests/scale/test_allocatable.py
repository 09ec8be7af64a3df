"""Test the resources that nodes leave to pods: by cloud, kubelet configuration and DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers import machines
from kcheck.config.numbers.reserved import Node, taken
from kcheck.inventory.clouds import kubelet, registry
from kcheck.scale.allocatable import Room, rooms
from kcheck.scale.placement import Fit
from kcheck.scale.world import World
from kcheck.text.amount import Amount
from kcheck.text.values import Known, Origin, Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Read


MI, GI = 2**20, 2**30

EKS = """
resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "pool" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "pool"
  subnet_ids      = ["subnet-1"]
  instance_types  = {types}
  {more}

  scaling_config {{
    min_size     = 0
    max_size     = 8
    desired_size = 0
  }}
}}
"""


def node(cloud: str, name: str, pods: int | None = None, minor: int | None = None) -> Node:
    machine = machines.machine(cloud, name)
    assert machine is not None
    return Node(name, (machine.vcpus or 0) * 1000, machines.memory(cloud, name) or 0, pods, minor)


@pytest.mark.parametrize(
    ("cloud", "name", "left"),
    [
        # https://karpenter.sh/docs/reference/instance-types/
        ("eks", "t3.large", 1930), ("eks", "m5.xlarge", 3920), ("eks", "p5.48xlarge", 191_450),
        # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
        ("gke", "e2-standard-4", 3920), ("gke", "n2-highmem-16", 15_890), ("gke", "e2-medium", 940),
        # https://learn.microsoft.com/azure/aks/node-resource-reservations
        ("aks", "Standard_D2s_v3", 1900), ("aks", "Standard_D4s_v3", 3860), ("aks", "Standard_D8s_v3", 7820),
        ("aks", "Standard_D16s_v3", 15_740), ("aks", "Standard_D32s_v3", 31_580), ("aks", "Standard_D64s_v3", 63_260),
    ],
)  # fmt: skip
def test_reserved_cpu_is_as_documented(cloud: str, name: str, left: int) -> None:
    own = node(cloud, name)
    reserved = registry.cloud(cloud).reserved(own).cpu
    assert reserved.exact is not None
    assert own.cpu - reserved.exact == left


@pytest.mark.parametrize(
    ("cloud", "name", "pods", "minor", "least", "most"),
    [
        ("aks", "Standard_ND96isr_H100_v5", None, None, 740, 1060),  # the table ends with 64 cores
        ("ack", "ecs.g7.xlarge", None, None, 80, 100),
        # https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/resource-reservation-policy
        ("ack", "ecs.c7.large", None, 28, 70, 70),
        ("ack", "ecs.c7.8xlarge", None, 28, 150, 150),
        ("ack", "ecs.c7.32xlarge", None, 28, 390, 390),
        ("ack", "ecs.c7.32xlarge", None, 27, 2400, 2400),
        ("gke", "e2-standard-4", 256, None, 80, 480),
        ("selfmanaged", "m5.large", None, None, 0, 0),
    ],
)
def test_reserved_cpu_has_bounds(
    cloud: str, name: str, pods: int | None, minor: int | None, least: int, most: int
) -> None:
    own = Node(name, 8000, 0, pods, minor) if cloud == "selfmanaged" else node(cloud, name, pods, minor)
    assert registry.cloud(cloud).reserved(own).cpu == Amount(least, most)


@pytest.mark.parametrize(
    ("cloud", "name", "pods", "minor", "least", "most"),
    [
        ("eks", "t3.large", None, 33, 255 + 11 * 35, 255 + 11 * 35),
        ("eks", "t3.large", 110, 33, 255 + 11 * 35, 255 + 11 * 110),  # with prefix delegation
        ("gke", "n2-highmem-16", None, 33, 1024 + 819.2 + 819.2 + 6881.28, 1024 + 819.2 + 819.2 + 6881.28),
        ("gke", "a3-highgpu-8g", None, 36, 45_260.8, 45_260.8),
        ("gke", "a3-highgpu-8g", None, 37, 110 * 15, 45_260.8),  # at least by its pods, at most as before
        ("gke", "a3-highgpu-8g", 32, None, 32 * 15, 45_260.8),
        ("aks", "Standard_D2s_v3", 30, 29, 650 * 10**6 / MI, 650),
        ("aks", "Standard_D2s_v3", 30, 28, 1_858_986_910 / MI, 1_858_986_910 / MI),
        ("aks", "Standard_D2s_v3", 250, 30, 2048, 2048),  # a quarter of its memory
        ("ack", "ecs.c7.16xlarge", 210, 28, 2598 - 3 * 11, 2598),  # up to three pods on the network of the node
        ("ack", "ecs.c7.16xlarge", 64, 28, 255 + 64 * 11, 255 + 67 * 11),  # Flannel
        ("ack", "ecs.c7.16xlarge", None, 27, 9543, 9544),
        ("ack", "ecs.c7.large", 256, 28, 1024, 1024),  # a quarter of its memory
        ("ack", "ecs.c7.large", None, 28, 255, 255 + 15 * 11),
        ("ack", "ecs.c7.large", None, None, 255, 1024),
    ],
)
def test_reserved_memory_is_as_documented(
    cloud: str, name: str, pods: int | None, minor: int, least: float, most: float
) -> None:
    found = registry.cloud(cloud).reserved(node(cloud, name, pods, minor)).memory
    assert found.high is not None
    assert (found.low / MI, found.high / MI) == pytest.approx((least, most), abs=1)


def test_reservation_steps_are_rounded_down_one_by_one() -> None:
    assert taken("6% up to 1, 1% up to 2, 0.5% up to 4, 0.25% above", 5000, 1000) == 60 + 10 + 10 + 2
    assert taken("7.5%", 1000, 1) == 75
    assert taken("6% up to 1, 1% above", 0, 1000) == 0


def room(code: str, read: Read) -> Room:
    (pool,) = read({"main.tf": code}).pools
    (found,) = rooms(pool)
    return found


class TestKubelets:
    """Tests of reservations: those in the code override the kubelet's defaults."""

    def test_usual_reservations_apply_without_configuration(self, read: Read) -> None:
        found = room(EKS.format(types='["t3.large"]', more=""), read)
        assert (found.vcpus, found.memory) == (2, 8 * GI)
        assert found.cpu_left == Amount(1930, 1930)
        most = 8 * GI - (640 + 100) * MI
        assert found.memory_left == Amount(most - int(0.075 * 8 * GI), most)

    @pytest.mark.parametrize(
        ("name", "measured"),
        [("r5.xlarge", 32_123_604_992), ("r5.4xlarge", 130_451_771_392)],
    )
    def test_measured_nodes_lie_between_the_computed_bounds(self, name: str, measured: int, read: Read) -> None:
        left = room(EKS.format(types=f'["{name}"]', more=""), read).memory_left
        assert left.high is not None
        assert left.low <= measured <= left.high

    def test_an_unknown_launch_template_may_reserve_less(self, read: Read) -> None:
        more = "launch_template {\n    id      = var.template\n    version = 1\n  }"
        code = EKS.format(types='["t3.large"]', more=more) + 'variable "template" {}\n'
        assert room(code, read).cpu_left == Amount(1930, 2000)

    @pytest.mark.parametrize("image", ["CUSTOM", "WINDOWS_CORE_2022_x86_64"])
    def test_custom_images_may_reserve_less(self, image: str, read: Read) -> None:
        code = EKS.format(types='["t3.large"]', more=f'ami_type = "{image}"')
        assert room(code, read).cpu_left == Amount(1930, 2000)

    def test_nodes_of_ack_keep_what_alibaba_cloud_reserves(self, read: Read) -> None:
        code = """
        resource "alicloud_cs_managed_kubernetes" "main" {
          name = "train"
        }

        resource "alicloud_cs_kubernetes_node_pool" "pool" {
          cluster_id     = alicloud_cs_managed_kubernetes.main.id
          node_pool_name = "pool"
          instance_types = ["ecs.g7.xlarge"]

          kubelet_configuration {
            kube_reserved = {
              cpu = "250m"
            }
            system_reserved = {
              cpu = "1"
            }
          }
        }
        """
        assert room(code, read).cpu_left == Amount(2750, 2750)

    def test_eksctl_nodes_keep_what_their_kubelet_reserves(self, read: Read) -> None:
        text = """
        apiVersion: eksctl.io/v1alpha5
        kind: ClusterConfig
        metadata: {name: train, region: us-west-2}
        nodeGroups:
          - name: pool
            instanceType: m5a.xlarge
            kubeletExtraConfig:
              kubeReserved: {cpu: 300m, memory: 300Mi}
              systemReserved: {cpu: 300m, memory: 300Mi}
              evictionHard: {memory.available: 200Mi}
        """
        (pool,) = read({"cluster.yaml": text}).pools
        (found,) = rooms(pool)
        assert found.cpu_left == Amount(3400, 3400)  # as docs.aws.amazon.com/eks/latest/eksctl/customizing-the-kubelet
        assert found.memory_left.high == (16 * 1024 - 800) * MI

    @pytest.mark.parametrize(
        ("text", "cpu", "memory"),
        [
            ("--kubelet-extra-args '--kube-reserved=cpu=200m,memory=256Mi --max-pods=20'", "200m", "256Mi"),
            (
                "kubelet:\n  config:\n    kubeReserved:\n      cpu: '1'\n      memory: 2Gi\n    maxPods: 58\n",
                "1",
                "2Gi",
            ),
            ('"kubeReserved": {"cpu": "500m", "memory": "1Gi"}', "500m", "1Gi"),
        ],
    )
    def test_a_startup_script_can_set_the_reservations(self, text: str, cpu: str, memory: str) -> None:
        found = known(kubelet.in_text(Known(text, Origin(()))).kube_reserved) or {}
        assert (found.get("cpu"), found.get("memory")) == (cpu, memory)

    @pytest.mark.parametrize(
        "text", ['sed -i "s/x/kube-reserved=$RESERVED/" bootstrap.sh', "cp a.json kubelet-config.json"]
    )
    def test_a_startup_script_that_is_not_understood_leaves_reservations_unknown(self, text: str) -> None:
        assert isinstance(kubelet.in_text(Known(text, Origin(()))).kube_reserved, Unknown)

    @pytest.mark.parametrize("written", ["a lot", "-1", "1e999", ""])
    def test_nonsense_reservations_are_ignored(self, written: str, read: Read) -> None:
        more = "lifecycle {}\n  launch_template {\n    id = aws_launch_template.pool.id\n    version = 1\n  }"
        data = f"--kube-reserved=cpu={written} "
        code = (
            EKS.format(types='["t3.large"]', more=more)
            + f'resource "aws_launch_template" "pool" {{\n  user_data = "{data}"\n}}\n'
        )
        assert 0 <= room(code, read).cpu_left.low <= (room(code, read).cpu_left.high or 0) <= 2000


# --- what fits

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  parallelism: {count}
  template:
    spec:
      containers:
        - name: train
          image: registry.example.com/train:1
          resources: {{requests: {{{requests}}}}}
"""
AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      containers:
        - name: agent
          image: registry.example.com/agent:1
          resources: {requests: {cpu: 500m, memory: 1Gi}}
"""


def world(read: Read, types: str, requests: str, more: str = "", count: int = 10) -> World:
    files = {"main.tf": EKS.format(types=types, more=""), "job.yaml": JOB.format(requests=requests, count=count)}
    return World(read(files | ({"more.yaml": more} if more else {})), Config())


def fit(found: World) -> Fit:
    job = next(one for one in found.inventory.workloads if one.kind == "Job")
    return found.pools.fit(job.templates[0], found.inventory.pools[0])


@pytest.mark.parametrize(
    ("requests", "fits"),
    [
        ("cpu: 1930m", True), ("cpu: 1931m", False), ("cpu: 2", False),
        ("memory: 6Gi", True), ("memory: 7Gi", None), ("memory: 7500Mi", False), ("memory: 8Gi", False),
        ("cpu: 1, memory: 8Gi", False),
    ],
)  # fmt: skip
def test_pods_fit_the_resources_a_machine_leaves(requests: str, *, fits: bool | None, read: Read) -> None:
    assert fit(world(read, '["t3.large"]', requests)).fits is fits


def test_any_of_several_machine_types_may_be_started(read: Read) -> None:
    both = '["t3.large", "t3.xlarge"]'
    assert fit(world(read, both, "cpu: 1")).fits is True
    assert fit(world(read, both, "cpu: 2")).fits is None
    assert fit(world(read, both, "cpu: 4")) == Fit(fits=False, kind="cpu", why="4 CPUs on one node")


class TestDaemonSets:
    """Tests of DaemonSets, which take resources on each node that runs them."""

    def test_requests_of_daemon_sets_reduce_the_room(self, read: Read) -> None:
        assert fit(world(read, '["t3.large"]', "cpu: 1500m")).fits is True
        assert fit(world(read, '["t3.large"]', "cpu: 1500m", AGENT)).fits is False
        assert fit(world(read, '["t3.large"]', "cpu: 1400m", AGENT)).fits is True
        assert fit(world(read, '["t3.large"]', "memory: 7Gi", AGENT)).why == "7 GiB of memory on one node"

    def test_daemon_sets_of_one_of_two_environments_count(self, read: Read) -> None:
        twice = f"{AGENT}---{AGENT.replace('500m', '700m')}"
        assert fit(world(read, '["t3.large"]', "cpu: 1300m", twice)).fits is None  # 1430m, or 1230m
        assert fit(world(read, '["t3.large"]', "cpu: 1431m", twice)).fits is False

    def test_daemon_sets_on_other_nodes_do_not_count(self, read: Read) -> None:
        elsewhere = AGENT.replace("      containers", "      nodeSelector: {disk: ssd}\n      containers")
        assert fit(world(read, '["t3.large"]', "cpu: 1900m", elsewhere)).fits is True
        perhaps = elsewhere.replace("disk: ssd", "nvidia.com/gpu.present: 'true'")
        assert fit(world(read, '["t3.large"]', "cpu: 1900m", perhaps)).fits is None

    def test_a_daemon_set_does_not_reduce_its_own_room(self, read: Read) -> None:
        found = world(read, '["t3.large"]', "cpu: 1", AGENT.replace("500m", "1900m"))
        agent = next(one for one in found.inventory.workloads if one.per_node)
        assert found.pools.fit(agent.templates[0], found.inventory.pools[0]).fits is True


@pytest.mark.parametrize(
    ("requests", "each", "nodes"),
    [
        ("cpu: 500m", Amount(3, 3), 4),
        ("cpu: 1", Amount(1, 1), 10),  # two would need what the system keeps
        ("memory: 3700Mi", Amount(1, 2), 10),
        ("{}", None, 10),
    ],
)
def test_the_pods_per_node_limit_is_counted(requests: str, each: Amount | None, nodes: int, read: Read) -> None:
    found = world(read, '["t3.large"]', requests.strip("{}"))
    (template,) = found.inventory.workloads[0].templates
    assert found.pools.per_node(template, found.inventory.pools[0]) == each
    assert found.pools.nodes_for(template, found.inventory.pools[0]) == nodes


def test_karpenter_chooses_a_machine_that_is_large_enough(read: Read) -> None:
    pool = """
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: pool}
    spec:
      template:
        spec:
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.large, t3.2xlarge]}
    """
    code = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    found = {}
    for cpu in ("6", "8", "9"):
        files = {"main.tf": code, "pool.yaml": pool, "job.yaml": JOB.format(requests=f"cpu: {cpu}", count=1)}
        found[cpu] = fit(World(read(files), Config())).fits
    assert found == {"6": True, "8": None, "9": False}  # what its nodes reserve is up to a class that is not here
