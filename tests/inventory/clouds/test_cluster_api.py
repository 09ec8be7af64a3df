"""Test objects of Cluster API: self-managed clusters, clusters of a class, and clusters that a cloud manages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Check, Write

CLUSTER = """\
apiVersion: cluster.x-k8s.io/{version}
kind: Cluster
metadata: {{name: train, namespace: default}}
spec:
  clusterNetwork:
    pods: {{cidrBlocks: [10.64.0.0/16, "fd00::/48"]}}
    services: {{cidrBlocks: [10.96.0.0/12]}}
  controlPlaneRef:
    kind: {control}
    name: train-plane
"""
PLANE = """\
---
apiVersion: controlplane.cluster.x-k8s.io/{version}
kind: KubeadmControlPlane
metadata: {{name: train-plane}}
spec:
  replicas: 3
  version: v1.33.1
  kubeadmConfigSpec:
    clusterConfiguration:
      etcd: {{local: {{dataDir: /mnt/nvme/etcd}}}}
      controllerManager:
        extraArgs:
          {arguments}
"""
POOL = """\
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: {kind}
metadata:
  name: gpu
  {annotations}
spec:
  clusterName: train
  replicas: 40
  template:
    spec:
      clusterName: train
      infrastructureRef: {{kind: {machines}, name: gpu}}
"""
MACHINES = """\
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: gpu}
spec:
  template:
    spec:
      instanceType: p4d.24xlarge
      rootVolume: {size: 500, type: gp3}
"""
BOUNDS = """annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "600"
"""


def own(arguments: str = "node-cidr-mask-size: '25'", annotations: str = "", version: str = "v1beta1") -> str:
    plane = PLANE.format(version=version, arguments=arguments)
    pool = POOL.format(kind="MachineDeployment", annotations=annotations, machines="AWSMachineTemplate")
    return CLUSTER.format(version=version, control="KubeadmControlPlane") + plane + pool + MACHINES


def managed(provider: str, plane: str, pool: str) -> str:
    """Return a cluster whose control plane a cloud manages."""
    objects = [("controlplane", "ControlPlane", "train-plane", plane), ("infrastructure", "MachinePool", "gpu", pool)]
    text = CLUSTER.format(version="v1beta1", control=f"{provider}ManagedControlPlane")
    text += POOL.format(kind="MachinePool", annotations="", machines=f"{provider}ManagedMachinePool")
    for group, kind, name, spec in objects:
        head = f"apiVersion: {group}.cluster.x-k8s.io/v1beta1\nkind: {provider}Managed{kind}\n"
        text += f"---\n{head}metadata: {{name: {name}}}\nspec: {spec}\n"
    return text


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(**files: str) -> dict[str, Any]:
        write({name.replace("__", "/") + ".yaml": text for name, text in files.items()})
        return model.collect(Tree(["."]), Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def test_a_self_managed_cluster_api_cluster_is_read(read: Callable[..., dict[str, Any]]) -> None:
    data = read(a=own())
    (cluster,), (pods,), (plane, gpu) = data["clusters"], data["pod_ranges"], data["pools"]
    assert cluster["id"] == "selfmanaged/a.yaml:Cluster/train"
    assert [of(cluster, name) for name in ("name", "version", "service_cidr", "target")] == [
        "train", "v1.33.1", "10.96.0.0/12", 43,
    ]  # fmt: skip
    assert "/mnt/nvme/etcd" in [of(one, "text") for one in data["settings"]]
    assert (of(pods, "cidr"), of(pods, "addresses_per_node")) == ("10.64.0.0/16", 128)
    assert (of(plane, "max_nodes"), of(gpu, "max_nodes"), of(gpu, "autoscaled")) == (3, 40, False)
    assert (of(gpu, "instance_types"), of(gpu, "gpu"), of(gpu, "disk_size")) == (["p4d.24xlarge"], True, 500)


def test_annotations_set_the_bounds_of_the_autoscaler(check: Check) -> None:
    found = {one.rule: one for one in check({"a.yaml": own(annotations=BOUNDS)}).findings if one.severity}
    assert "gpu: 600 + 1 surge nodes x 128 = 76,928 addresses" in found["pod-range-too-small"].details
    assert "etcd-not-on-ssd" not in found


@pytest.mark.parametrize(
    ("version", "arguments", "added"),
    [
        ("v1beta1", "profiling: 'false'", "kube-api-qps: "),
        ("v1beta2", "- {name: profiling, value: 'false'}", "name: kube-api-qps"),
    ],
)
def test_fixes_are_written_as_the_api_version_requires(
    version: str, arguments: str, added: str, write: Callable[..., Path]
) -> None:
    write({"a.yaml": own(arguments, version=version)})
    select = ("controller-manager-qps-default",)
    (file,) = fix.fix(["."], Config(nodes={"": 1200}, select=select), safeties=("costs",)).files
    assert added in file.new.decode()


def test_a_network_plugin_may_give_pods_addresses(read: Callable[..., dict[str, Any]]) -> None:
    assert not read(a=own("allocate-node-cidrs: 'false'"))["pod_ranges"]


def test_pools_of_a_cluster_class_are_read(read: Callable[..., dict[str, Any]]) -> None:
    text = CLUSTER.format(version="v1beta1", control="x").partition("  controlPlaneRef")[0]
    text += """\
  topology:
    class: gpu-cluster
    version: v1.32.0
    controlPlane: {replicas: 3}
    workers:
      machineDeployments:
        - {class: gpu, name: gpu, replicas: 64}
"""
    data = read(a=text)
    assert [(of(pool, "name"), of(pool, "max_nodes")) for pool in data["pools"]] == [("control plane", 3), ("gpu", 64)]
    assert "gpu-cluster" in of(data["pools"][1], "instance_types")
    assert of(data["clusters"][0], "version") == "v1.32.0"


@pytest.mark.parametrize(
    ("provider", "plane", "pool", "wanted"),
    [
        (
            "AWS",
            "{eksClusterName: big, region: eu-west-1, version: v1.31}",
            "{instanceType: p5.48xlarge, scaling: {minSize: 0, maxSize: 120}}",
            ("eks", "big", "eu-west-1", ["p5.48xlarge"], 120),
        ),
        (
            "Azure",
            "{location: westeurope, version: v1.31.2, networkPlugin: azure, networkPluginMode: overlay}",
            "{mode: User, sku: Standard_ND96asr_v4}",
            ("aks", "train-plane", "westeurope", ["Standard_ND96asr_v4"], 40),
        ),
        (
            "GCP",
            "{location: europe-west4, clusterName: big}",
            "{machineType: a3-highgpu-8g}",
            ("gke", "big", "europe-west4", ["a3-highgpu-8g"], 40),
        ),
    ],
)
def test_control_planes_run_by_a_cloud_are_read(
    provider: str, plane: str, pool: str, wanted: object, read: Callable[..., dict[str, Any]]
) -> None:
    data = read(a=managed(provider, plane, pool))
    (cluster,), (gpu,) = data["clusters"], data["pools"]
    found = [of(cluster, name) for name in ("cloud", "name", "location")]
    assert (*found, of(gpu, "instance_types"), of(gpu, "max_nodes")) == wanted
    assert len(data["pod_ranges"]) == (provider == "Azure")


def test_clusters_in_one_folder_are_separate(read: Callable[..., dict[str, Any]]) -> None:
    data = read(a=own(), b=own())
    assert [len(of(cluster, "pools")) for cluster in data["clusters"]] == [2, 2]


@pytest.mark.parametrize("control", ["RKE2ControlPlane", "KubeadmControlPlane"])
def test_missing_objects_are_named(control: str, read: Callable[..., dict[str, Any]]) -> None:
    pool = POOL.format(kind="MachineDeployment", annotations="", machines="MetalMachineTemplate")
    data = read(a=CLUSTER.format(version="v1beta1", control=control) + pool)
    assert control in of(data["pools"][0], "max_nodes")
    assert "MetalMachineTemplate is not read" in of(data["pools"][1], "instance_types")


def test_clusters_of_other_api_groups_are_ignored(read: Callable[..., dict[str, Any]]) -> None:
    assert not read(a="apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: a}\nspec: {instances: 3}\n")[
        "clusters"
    ]


def test_capacity_prints_the_limits_of_a_cluster_api_cluster(write: Callable[..., Path]) -> None:
    write({"a.yaml": own()})
    text = CliRunner().invoke(cli, ["capacity", "--nodes", "600"]).output
    assert "511  ####" in text  # 512 blocks, one of them of a machine that replaces another
    assert "reaches 43 of the 600 nodes you ask for; the first wall is the written maximum" in text


BARE = """\
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: gpu}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs:
            - name: node-labels
              value: pool=gpu,zone={{ ds.meta_data.zone }},node.kubernetes.io/instance-type=MACHINE
          taints:
            - {key: nvidia.com/gpu, value: "true", effect: NoSchedule}
      files:
        - path: /etc/sysctl.d/99-own.conf
          content: |
            net.ipv4.neigh.default.gc_thresh3 = 4096
        - path: /etc/containerd/certs.d/docker.io/hosts.toml
          content: server = "https://registry-1.docker.io"
        - path: /etc/kubernetes/patches/kubeletconfiguration0+merge.yaml
          content: |
            maxPods: 64
            serializeImagePulls: false
"""


def bare(machine: str = "dgx-h100", config: str = "gpu", annotations: str = "") -> str:
    pool = POOL.format(kind="MachineDeployment", annotations=annotations, machines="Metal3MachineTemplate")
    bootstrap = f"      bootstrap: {{configRef: {{kind: KubeadmConfigTemplate, name: {config}}}}}\n"
    plane = PLANE.format(version="v1beta2", arguments="- {name: node-cidr-mask-size, value: '25'}")
    return (
        CLUSTER.format(version="v1beta2", control="KubeadmControlPlane")
        + plane
        + pool
        + bootstrap
        + BARE.replace("MACHINE", machine)
    )


def test_bare_metal_machines_are_read_from_their_templates(read: Callable[..., dict[str, Any]]) -> None:
    data = read(a=bare())
    (_, gpu) = data["pools"]
    fields = ("instance_types", "gpus", "taints", "neighbours")
    assert [of(gpu, name) for name in fields] == [
        ["dgx-h100"], 8, ["nvidia.com/gpu=true:NoSchedule"], 4096,
    ]  # fmt: skip


def test_machines_of_unknown_models_are_not_guessed(read: Callable[..., dict[str, Any]]) -> None:
    (_, gpu) = read(a=bare("own-box"))["pools"]
    assert [of(gpu, name) for name in ("instance_types", "gpus")] == [None, None]
    data = read(a=bare(config="elsewhere"))
    assert [of(data["pools"][1], name) for name in ("instance_types", "neighbours")] == [None, None]


def test_a_kubelet_patch_decides_how_images_are_pulled(write: Write) -> None:
    def missing(text: str) -> list[str]:
        write({"a.yaml": text})
        result = linter.run(Tree(["."]), Config(nodes={"": 500}))
        assert "serial-image-pulls" not in {found.rule for found in result.findings}
        return [why for check in result.undecided if check.rule == "serial-image-pulls" for why in check.missing]

    assert missing(bare()) == []
    assert missing(bare(config="elsewhere")) == ["the kubelets' configuration is in patches or in the image"]


def test_self_owned_idle_machines_are_not_reported_as_waste(write: Write) -> None:
    write({"a.yaml": bare(annotations=BOUNDS)})
    result = linter.run(Tree(["."]), Config())
    assert "gpu-pool-never-empty" not in {found.rule for found in result.findings}
