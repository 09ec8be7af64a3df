"""Test which pools take more nodes: pools that fit the jobs, else pools with accelerators, else autoscaled pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.scale import walls
from kcheck.scale.pools import filled
from kcheck.scale.simulate.scenario import Scenario, build_scenario
from kcheck.text.amount import Amount
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known

if TYPE_CHECKING:
    from kcheck.model import Cluster
    from kcheck.scale.world import World
    from tests.conftest import Write


CLUSTER = """\
resource "aws_eks_cluster" "main" {
  name = "train"
}
"""
POOL = """\
resource "aws_eks_node_group" "{name}" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "{name}"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["{machine}"]
  labels          = {{ pool = "{name}" }}

  scaling_config {{
    min_size     = {least}
    max_size     = {most}
    desired_size = {least}
  }}
}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  parallelism: {pods}
  template:
    spec:
      nodeSelector: {selector}
      containers:
        - name: main
          image: registry.example.com/train:1.4
          resources:
            limits: {limits}
"""
SYSTEM = POOL.format(name="system", machine="m7i.2xlarge", least=1, most=6)
CPU = POOL.format(name="cpu", machine="c7i.8xlarge", least=0, most=20)
GPU = POOL.format(name="gpu", machine="p5.48xlarge", least=0, most=8)
FIXED = POOL.format(name="fixed", machine="p5.48xlarge", least=4, most=4)


def job(limits: str = "{nvidia.com/gpu: 8}", selector: str = "{}", pods: int = 4) -> str:
    return JOB.format(name="train", limits=limits, selector=selector, pods=pods)


def read(write: Write, pools: str, manifest: str = "", nodes: int | None = None) -> tuple[World, Cluster]:
    write({"main.tf": CLUSTER + pools, **({"job.yaml": manifest} if manifest else {})})
    world = linter.run(Tree(["."]), Config(nodes={"": nodes} if nodes else {})).world
    return world, world.inventory.clusters[0]


@pytest.mark.parametrize(
    ("pools", "manifest", "expected"),
    [
        (SYSTEM + GPU, job(), ["gpu"]),
        (SYSTEM + FIXED, job(), ["fixed"]),
        (SYSTEM + FIXED + GPU, job(), ["gpu"]),  # the fixed one has no room to grow
        (SYSTEM + FIXED + GPU, job(selector="{pool: fixed}"), ["fixed"]),
        (SYSTEM + CPU + GPU, job("{cpu: 16}", pods=40), ["cpu"]),
        (SYSTEM + CPU + GPU, job("{cpu: 16}", "{pool: system}"), ["gpu"]),  # no pool takes it
        (SYSTEM + CPU + GPU, "", ["gpu"]),
        (SYSTEM + CPU, job("{cpu: 1}", pods=1), ["system", "cpu"]),  # nothing tells them apart
        (SYSTEM.replace("= 6", "= 1") + CPU, "", ["cpu"]),  # the fixed one has no room to grow
        (SYSTEM.replace("= 6", "= 1") + GPU, job("{cpu: 1}", "{pool: system}"), ["gpu"]),  # jobs of one node
    ],
)
def test_pools_that_fit_the_jobs_grow(pools: str, manifest: str, expected: list[str], write: Write) -> None:
    world, cluster = read(write, pools, manifest)
    assert [pool.display_name for pool in world.pools.growing_pools(cluster)] == expected


AKS = """\
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D8s_v5"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 6
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "cpu" {
  name                  = "cpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_D8s_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 20
}
"""


def test_the_system_pool_takes_no_share_of_the_work(write: Write) -> None:
    write({"main.tf": AKS})
    world = linter.run(Tree(["."]), Config(nodes={"": 1000})).world
    (cluster,) = world.inventory.clusters
    sizes = world.sizes.shares(cluster, 1000)
    assert {pool.display_name: sizes[pool.id] for pool in world.pools.of_cluster(cluster)} == {"system": 6, "cpu": 994}


def test_the_target_grows_the_pools_that_jobs_fit(write: Write) -> None:
    world, cluster = read(write, SYSTEM + FIXED, job(), nodes=1000)
    sizes = {pool.display_name: world.sizes.shares(cluster, 1000)[pool.id] for pool in world.pools.of_cluster(cluster)}
    assert sizes == {"system": 6, "fixed": 994}
    first = walls.find_walls(cluster, world)[0]
    assert (first.mechanism, first.number) == ("maximum", 10)
    assert first.place.line == ("main.tf", 26)  # max_size of the fixed pool


def test_a_run_uses_the_pools_that_take_its_pods(write: Write) -> None:
    world, cluster = read(write, SYSTEM + GPU, job(), nodes=1000)
    found = build_scenario(world, cluster)
    assert isinstance(found, Scenario)
    assert [(pool.name, pool.most) for pool in found.case.pools] == [("gpu", 994)]


def test_a_run_without_a_pool_for_its_pods_is_refused(write: Write) -> None:
    found = build_scenario(*read(write, SYSTEM + GPU, job("{nvidia.com/gpu: 16}")))
    assert found == (
        "aws_eks_cluster.main cannot run Job train: pool system lacks GPUs; pool gpu lacks 16 GPUs on one node"
    )


SHARED = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        resources: [{name: nvidia.com/gpu, replicas: 4}]
"""


@pytest.mark.parametrize(("gpus", "fits"), [(8, True), (9, None), (32, None), (33, False)])
def test_shared_gpus_count_as_several_slots(gpus: int, fits: bool | None, write: Write) -> None:
    """The configuration may belong to other nodes, so the number lies between both cases."""
    world, _ = read(write, GPU, job(f"{{nvidia.com/gpu: {gpus}}}") + SHARED)
    (template,) = world.inventory.workloads[0].templates
    assert world.pools.fit(template, world.inventory.pools[0]).fits is fits


NODEPOOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  {limits}
  template:
    spec:
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: [p5.48xlarge]
"""


@pytest.mark.parametrize(("limits", "most"), [("limits: {nvidia.com/gpu: 80}", 16), ("weight: 1", None)])
def test_karpenter_limits_are_pool_maxima(limits: str, most: int | None, write: Write) -> None:
    world, cluster = read(write, SYSTEM, NODEPOOL.format(limits=limits))
    target = world.sizes.target(cluster)
    assert (target.value if isinstance(target, Known) else None) == most


RELEASE = """\
resource "helm_release" "gpu" {{
  name  = "gpu"
  chart = "{chart}"
  values = [<<-Y
    devicePlugin: {{config: {{default: "{default}", data: {{any: {{version: v1, sharing: {sharing}}}, other: {{version: v1, sharing: {{}}}}}}}}}}
    config: {{map: {{any: {{version: v1, sharing: {sharing}}}}}}}
  Y
  ]
}}
"""
SLICES = "{timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
SLICES_OF_MIG = "{mps: {resources: [{name: nvidia.com/mig-1g.10gb, replicas: 4}]}}"


@pytest.mark.parametrize(
    ("chart", "default", "sharing", "slots"),
    [
        ("gpu-operator", "any", SLICES, (32, 32)),
        ("gpu-operator", "other", SLICES, (8, 8)),
        ("gpu-operator", "", SLICES, (8, 32)),  # nodes choose one by a label that is not in the code
        ("gpu-operator", "any", SLICES_OF_MIG, (8, 8)),
        ("nvidia-device-plugin", "", SLICES, (32, 32)),  # its only configuration
        ("nvidia-device-plugin", "", f"{SLICES}}}, default: {{version: v1, sharing: {{}}", (8, 8)),  # by its name
    ],
)
def test_the_default_configuration_of_a_chart_applies_to_all_nodes(
    chart: str, default: str, sharing: str, slots: tuple[int, int], write: Write
) -> None:
    release = RELEASE.format(chart=chart, default=default, sharing=sharing)
    world, _ = read(write, GPU + release, job("{nvidia.com/gpu: 1}"))
    assert world.pools.slots(world.inventory.pools[0]) == Amount(*slots)


def test_a_job_on_slices_needs_fewer_nodes(write: Write) -> None:
    release = RELEASE.format(chart="gpu-operator", default="any", sharing=SLICES)
    world, _ = read(write, GPU + release, job("{nvidia.com/gpu: 1}", pods=65))
    (template,) = world.inventory.workloads[0].templates
    assert filled(template, world.inventory.pools[0], world) == 3


POLICY = """\
---
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: policy}
spec: {devicePlugin: {config: {name: %s, default: %s}}}
"""
CHOOSES = """\
resource "helm_release" "gpu" {
  name   = "gpu"
  chart  = "gpu-operator"
  values = ["devicePlugin: {config: {name: plugin, default: any}}"]
}
"""


@pytest.mark.parametrize(
    ("code", "policy", "slots"),
    [
        ("", POLICY % ("plugin", "any"), (32, 32)),
        ("", POLICY % ("plugin", "other"), (8, 32)),  # there is none of that name: nobody knows what is meant
        (CHOOSES, "", (32, 32)),
    ],
)
def test_the_gpu_operator_sets_the_configuration_of_all_nodes(
    code: str, policy: str, slots: tuple[int, int], write: Write
) -> None:
    world, _ = read(write, GPU + code, job("{nvidia.com/gpu: 1}") + SHARED + policy)
    assert world.pools.slots(world.inventory.pools[0]) == Amount(*slots)
