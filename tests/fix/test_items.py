"""Test fixes that add items to lists: written lists, absent lists, and other things of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from kcheck.text.findings import Finding
    from tests.conftest import Write

pytestmark = pytest.mark.medium


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  completions: 16
  parallelism: 16
  template:
    spec:
{pod}      containers:
      - name: train
        image: quay.io/example/train:1
        command: [torchrun, train.py]
        resources:
          limits: {{nvidia.com/gpu: 8}}
{container}      - name: sidecar
        image: quay.io/example/sidecar:1
"""
MOUNTS = """\
        volumeMounts:
        - name: {name}
          mountPath: /dev/shm
"""
VOLUMES = """\
      volumes:
      - name: dshm
        emptyDir:
          medium: Memory
"""


def mended(rule: str, name: str, **config: object) -> str:
    """Return a file after the fixes of one rule; assert that a second run fixes nothing more."""
    settings = Config(**config)  # type: ignore[arg-type]
    outcome = fix.fix(["."], settings, safeties=("safe", "costs", "unsafe"), rules=(rule,))
    assert not outcome.refused
    save.save(outcome.files)
    assert not fix.fix(["."], settings, safeties=("safe", "costs", "unsafe"), rules=(rule,)).files
    with open(name, encoding="utf-8") as file:
        return file.read()


def found(rule: str, **config: object) -> list[Finding]:
    result = linter.run(Tree(["."]), Config(**config))  # type: ignore[arg-type]
    return [finding for finding in result.findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(("", ""), ("", MOUNTS.format(name="dshm"), VOLUMES), id="absent"),
        pytest.param(
            ("      volumes:\n      - name: data\n        emptyDir: {}\n", "        volumeMounts: [{name: data, mountPath: /data}]\n"),
            (
                "      volumes:\n      - name: data\n        emptyDir: {}\n      - name: dshm\n        emptyDir:\n          medium: Memory\n",
                "        volumeMounts: [{name: data, mountPath: /data}, {name: dshm, mountPath: /dev/shm}]\n",
                "",
            ),
            id="written",
        ),
        pytest.param(
            ("      volumes: []\n", "        volumeMounts:\n"),
            (VOLUMES, "        volumeMounts:\n" + MOUNTS.format(name="dshm").partition("\n")[2], ""),
            id="empty",
        ),
        pytest.param(
            ("      volumes:\n      - {name: my-shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}\n", ""),
            ("      volumes:\n      - {name: my-shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}\n", MOUNTS.format(name="my-shm"), ""),
            id="there and not mounted",
        ),
    ],
)  # fmt: skip
def test_shared_memory_is_mounted(write: Write, before: tuple[str, str], after: tuple[str, str, str]) -> None:
    write({"job.yaml": JOB.format(pod=before[0], container=before[1])})
    assert mended("missing-shared-memory", "job.yaml") == JOB.format(pod=after[0], container=after[1]) + after[2]


def test_lines_added_above_a_comment_that_suppresses_nothing_bring_no_new_finding(write: Write) -> None:
    ignored = "---\n# kcheck: ignore[gpu-pool-untainted] once\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    write({"job.yaml": JOB.format(pod="", container="") + ignored})
    assert found("unused-suppression")
    assert [one.path for one in fix.fix(["."], Config(), rules=("missing-shared-memory",)).files] == ["job.yaml"]


def test_an_existing_disk_volume_of_that_name_is_left_alone(write: Write) -> None:
    write({"job.yaml": JOB.format(pod="      volumes:\n      - name: dshm\n        emptyDir: {}\n", container="")})
    (finding,) = found("missing-shared-memory")
    assert finding.fix is None


def test_list_items_written_as_terraform_blocks_are_left_to_a_person(write: Write) -> None:
    write(
        {
            "main.tf": """\
resource "kubernetes_job_v1" "train" {
  metadata {
    name = "train"
  }

  spec {
    template {
      spec {
        container {
          name    = "train"
          image   = "quay.io/example/train:1"
          command = ["torchrun", "train.py"]

          resources {
            limits = {
              "nvidia.com/gpu" = "8"
            }
          }
        }
      }
    }
  }
}
"""
        }
    )
    (finding,) = found("missing-shared-memory")
    assert finding.fix is None
    assert "add {name: dshm, emptyDir: {medium: Memory}} to volumes" in finding.help


def pool(name: str, *taints: str) -> str:
    """Return a GPU node group of eksctl with some taints."""
    texts = "".join(f"      - {taint}\n" for taint in taints)
    return f"""\
  - name: {name}
    instanceType: p5.48xlarge
    minSize: 0
    maxSize: 32
    taints:
{texts}"""


CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: train
  region: eu-west-1
managedNodeGroups:
"""
TEAM = "{key: team, value: vision, effect: NoSchedule}"
TOLERATION = """\
      tolerations:
      - key: team
        operator: Equal
        value: vision
        effect: NoSchedule
"""


@pytest.mark.parametrize(
    ("before", "taint", "after", "end"),
    [
        pytest.param("", TEAM, "", TOLERATION, id="absent"),
        pytest.param("", "{key: team, effect: NoExecute}", "", "      tolerations:\n      - key: team\n        operator: Exists\n        effect: NoExecute\n", id="no value"),
        pytest.param(
            "      tolerations:\n      - key: nvidia.com/gpu\n        operator: Exists\n", TEAM,
            "      tolerations:\n      - key: nvidia.com/gpu\n        operator: Exists\n" + TOLERATION.partition("\n")[2], "",
            id="written",
        ),
        pytest.param(
            "      tolerations: [{operator: Exists, key: nvidia.com/gpu}] # all\n", TEAM,
            "      tolerations: [{operator: Exists, key: nvidia.com/gpu}, {key: team, operator: Equal, value: vision, effect: NoSchedule}] # all\n",
            "", id="braces",
        ),
    ],
)  # fmt: skip
def test_a_toleration_is_added_for_the_only_taint(write: Write, before: str, taint: str, after: str, end: str) -> None:
    write({"cluster.yaml": CLUSTER + pool("gpu", taint), "job.yaml": JOB.format(pod=before, container="")})
    assert mended("gpu-without-toleration", "job.yaml") == JOB.format(pod=after, container="") + end


@pytest.mark.parametrize(
    "pools",
    [
        pytest.param([pool("a", TEAM, "{key: dedicated, effect: NoSchedule}")], id="two taints of one pool"),
        pytest.param([pool("a", TEAM), pool("b", "{key: team, value: speech, effect: NoSchedule}")], id="one of two"),
    ],
)
def test_several_possible_taints_are_left_to_a_person(write: Write, pools: list[str]) -> None:
    write({"cluster.yaml": CLUSTER + "".join(pools), "job.yaml": JOB.format(pod="", container="")})
    (finding,) = found("gpu-without-toleration")
    assert finding.fix is None


EKS = """\
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "system" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "system"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["m5.large"]

  scaling_config {
    min_size     = 2
    max_size     = 3
    desired_size = 2
  }
}

resource "aws_eks_node_group" "gpu" {
  for_each        = local.groups
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = each.key
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 8
    desired_size = 0
  }

  dynamic "taint" {
    for_each = FOR_EACH

    content {
      key    = taint.value.key
      value  = taint.value["value"]
      effect = lookup(taint.value, "effect", "NO_SCHEDULE")
    }
  }
}

locals {
  groups = {
    gpu = GROUP
  }
}
"""
AKS = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D8s_v5"
    node_count = 3
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "SIZE"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 8
TAINTS}
"""
ACK = """\
resource "alicloud_cs_managed_kubernetes" "main" {
  name        = "train"
  vswitch_ids = ["vsw-a"]
}

resource "alicloud_cs_kubernetes_node_pool" "system" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "system"
  vswitch_ids    = ["vsw-a"]
  instance_types = ["ecs.g7.xlarge"]
  desired_size   = 3
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "gpu"
  vswitch_ids    = ["vsw-a"]
  instance_types = ["ecs.gn7i-c32g1.8xlarge"]

  scaling_config {
    min_size = 0
    max_size = 8
  }
TAINTS}
"""
EKS_MODULE = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> VERSION"

  name       = "train"
  subnet_ids = ["subnet-1"]

  eks_managed_node_groups = {
    system = {
      instance_types = ["m5.large"]
      min_size       = 2
      max_size       = 3
    }
    gpu = {
      instance_types = ["p5.48xlarge"]
      min_size       = 0
      max_size       = 8
TAINTS    }
  }
}
"""
MEMBER = """\

      taints = {
        gpu = {
          key    = "nvidia.com/gpu"
          value  = "true"
          effect = "NO_SCHEDULE"
        }
      }
"""


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param(AKS.replace("SIZE", "Standard_ND96isr_H100_v5"), "", '  node_taints           = ["nvidia.com/gpu=true:NoSchedule"]\n', id="texts"),
        pytest.param(AKS.replace("SIZE", "Standard_ND96isr_H100_v5"), "  node_taints = []\n", '  node_taints = ["nvidia.com/gpu=true:NoSchedule"]\n', id="no texts"),
        pytest.param(ACK, "", '\n  taints {\n    key    = "nvidia.com/gpu"\n    value  = "true"\n    effect = "NoSchedule"\n  }\n', id="block"),
        pytest.param(EKS_MODULE.replace("VERSION", "21.0"), "", MEMBER, id="map of a module"),
        pytest.param(EKS_MODULE.replace("VERSION", "20.0"), "", MEMBER, id="map of an older module"),
    ],
)  # fmt: skip
def test_gpu_pools_get_a_taint(write: Write, text: str, before: str, after: str) -> None:
    write({"main.tf": text.replace("TAINTS", before)})
    assert mended("gpu-pool-untainted", "main.tf") == text.replace("TAINTS", after)


@pytest.mark.parametrize(
    ("for_each", "before", "after"),
    [
        pytest.param(
            "try(each.value.taints, [])", "{ size = 8 }",
            '{\n      size = 8\n\n      taints = [\n        {\n          key    = "nvidia.com/gpu"\n          value  = "true"\n'
            '          effect = "NO_SCHEDULE"\n        },\n      ]\n    }', id="absent list",
        ),
        pytest.param(
            "each.value.taints", "{ taints = [] }",
            '{ taints = [{ key = "nvidia.com/gpu", value = "true", effect = "NO_SCHEDULE" }] }', id="empty list",
        ),
        pytest.param(
            "each.value.taints", "{\n      taints = {}\n    }",
            '{\n      taints = {\n        gpu = {\n          key    = "nvidia.com/gpu"\n          value  = "true"\n'
            '          effect = "NO_SCHEDULE"\n        }\n      }\n    }', id="empty map",
        ),
    ],
)  # fmt: skip
def test_the_taint_goes_into_the_source_of_a_dynamic_block(
    write: Write, for_each: str, before: str, after: str
) -> None:
    text = EKS.replace("FOR_EACH", for_each)
    write({"main.tf": text.replace("GROUP", before)})
    assert mended("gpu-pool-untainted", "main.tf") == text.replace("GROUP", after)


def test_no_taint_is_written_next_to_a_dynamic_block(write: Write) -> None:
    text = EKS.replace("FOR_EACH", "each.value.taints").replace("GROUP", "{ taints = [] }")
    write({"main.tf": text.replace('taint.value["value"]', '"true"')})
    (finding,) = found("gpu-pool-untainted")
    assert finding.fix is None


def test_amd_gpus_get_no_nvidia_taint(write: Write) -> None:
    write({"main.tf": AKS.replace("SIZE", "Standard_ND96isr_MI300X_v5").replace("TAINTS", "")})
    (finding,) = found("gpu-pool-untainted")
    assert finding.fix is None


ADDONS = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> VERSION"

  name       = "train"
  subnet_ids = ["subnet-1"]

  INPUT = {
    coredns = {DNS}
    vpc-cni = {}
  }

  eks_managed_node_groups = {
    gpu = {
      instance_types = ["p5.48xlarge"]
      min_size       = 0
      max_size       = 400
    }
  }
}
"""
SCALING = """\
        autoScaling = {
          enabled     = true
          minReplicas = 2
          maxReplicas = 25
        }
"""


@pytest.mark.parametrize(("version", "name"), [("20.0", "cluster_addons"), ("21.0", "addons")])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", f"\n      configuration_values = jsonencode({{\n{SCALING}      }})\n    ", id="empty"),
        pytest.param(
            "\n      most_recent = true\n    ",
            f"\n      most_recent = true\n\n      configuration_values = jsonencode({{\n{SCALING}      }})\n    ", id="absent",
        ),
        pytest.param(
            "\n      configuration_values = jsonencode({\n        tolerations = []\n      })\n    ",
            f"\n      configuration_values = jsonencode({{\n        tolerations = []\n\n{SCALING}      }})\n    ", id="encoded",
        ),
    ],
)  # fmt: skip
def test_the_coredns_addon_gets_autoscaling(write: Write, version: str, name: str, before: str, after: str) -> None:
    text = ADDONS.replace("VERSION", version).replace("INPUT", name)
    write({"main.tf": text.replace("DNS", before)})
    assert mended("dns-not-scaled", "main.tf") == text.replace("DNS", after)


def test_addon_settings_written_as_text_are_left_to_a_person(write: Write) -> None:
    text = ADDONS.replace("VERSION", "21.0").replace("INPUT", "addons")
    write({"main.tf": text.replace("DNS", ' configuration_values = "{\\"replicaCount\\": 2}" ')})
    (finding,) = found("dns-not-scaled")
    assert finding.fix is None
    assert "add autoScaling: {enabled: true, minReplicas: 2, maxReplicas: 25}" in finding.help


def test_aligned_lines_are_realigned_when_one_becomes_several(write: Write) -> None:
    text = ADDONS.replace("VERSION", "21.0").replace("INPUT", "addons")
    both = "    coredns    = {}\n    kube-proxy = {}\n    x          = {}\n"
    write({"main.tf": text.replace("    coredns = {DNS}\n    vpc-cni = {}\n", both)})
    after = f"    coredns = {{\n      configuration_values = jsonencode({{\n{SCALING}      }})\n    }}\n"
    rest = "    kube-proxy = {}\n    x          = {}\n"
    assert mended("dns-not-scaled", "main.tf") == text.replace("    coredns = {DNS}\n    vpc-cni = {}\n", after + rest)


KUBEADM = """\
apiVersion: kubeadm.k8s.io/VERSION
kind: ClusterConfiguration
clusterName: train
networking:
  podSubnet: 10.0.0.0/12
"""
PAIRS = """\
    - name: kube-api-qps
      value: "100"
    - name: kube-api-burst
      value: "200"
"""


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        pytest.param(
            "v1beta3", "controllerManager:\n  extraArgs:\n    bind-address: 0.0.0.0\n",
            'controllerManager:\n  extraArgs:\n    bind-address: 0.0.0.0\n    kube-api-qps: "100"\n    kube-api-burst: "200"\n', id="map",
        ),
        pytest.param(
            "v1beta3", "controllerManager:\n  extraArgs: {}\n",
            'controllerManager:\n  extraArgs:\n    kube-api-qps: "100"\n    kube-api-burst: "200"\n', id="empty map",
        ),
        pytest.param(
            "v1beta4", "controllerManager:\n  extraArgs:\n    - name: bind-address\n      value: 0.0.0.0\n",
            f"controllerManager:\n  extraArgs:\n    - name: bind-address\n      value: 0.0.0.0\n{PAIRS}", id="list",
        ),
        pytest.param(
            "v1beta4", 'controllerManager:\n  extraArgs:\n    - name: kube-api-qps\n      value: "50"\n',
            f"controllerManager:\n  extraArgs:\n{PAIRS}", id="one of two",
        ),
        pytest.param(
            "v1beta4", "controllerManager:\n  extraArgs: []\n",
            "controllerManager:\n  extraArgs:\n" + PAIRS.replace("\n  ", "\n")[2:], id="empty list",
        ),
    ],
)  # fmt: skip
def test_kubeadm_arguments_are_written_as_a_map_or_a_list(write: Write, version: str, before: str, after: str) -> None:
    head = KUBEADM.replace("VERSION", version)
    write({"kubeadm.yaml": head + before})
    assert mended("controller-manager-qps-default", "kubeadm.yaml", nodes={"": 1200}) == head + after


def test_flags_of_a_static_pod_are_added_after_the_others(write: Write) -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata:
  name: kube-apiserver
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-apiserver
    - --service-cluster-ip-range=10.96.0.0/12
    - --max-requests-inflight=3000
FLAG    image: registry.k8s.io/kube-apiserver:v1.33.1
    name: kube-apiserver
"""
    write({"kube-apiserver.yaml": text.replace("FLAG", "")})
    fixed = mended("apiserver-inflight-default", "kube-apiserver.yaml", nodes={"": 1200})
    assert fixed == text.replace("FLAG", "    - --max-mutating-requests-inflight=500\n")


def test_the_pods_per_node_are_written_to_the_pool(write: Write) -> None:
    text = """\
resource "google_container_cluster" "train" {
  name                      = "train"
  location                  = "us-central1-a"
  default_max_pods_per_node = 110
}

resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name

  autoscaling {
    max_node_count = 200
  }

  node_config {
    machine_type = "a3-highgpu-8g"
  }
}
"""
    write({"main.tf": text})
    (finding,) = found("max-pods-wastes-addresses")
    assert finding.fix is None
    assert finding.help == "set default_max_pods_per_node = 32; `110` gives it now"


CONF = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: volcano-scheduler-configmap
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
      - name: priority
      - name: gang
    - plugins:
      - name: nodeorder
BINPACK---
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "      - name: binpack\n        arguments:\n          binpack.resources: rdma/hca\n",
            "      - name: binpack\n        arguments:\n          binpack.resources: \"rdma/hca, nvidia.com/gpu\"\n"
            "          binpack.resources.nvidia.com/gpu: 10\n", id="other resources",
        ),
        pytest.param(
            "      - name: binpack\n        arguments:\n          binpack.weight: 5\n          binpack.resources.nvidia.com/gpu: 3\n",
            "      - name: binpack\n        arguments:\n          binpack.weight: 5\n          binpack.resources.nvidia.com/gpu: 3\n"
            "          binpack.resources: nvidia.com/gpu\n", id="no resources",
        ),
        pytest.param(
            "", "      - name: binpack\n        arguments:\n          binpack.resources: nvidia.com/gpu\n"
            "          binpack.resources.nvidia.com/gpu: 10\n", id="no binpack",
        ),
    ],
)  # fmt: skip
def test_volcano_packs_gpus(write: Write, before: str, after: str) -> None:
    cluster = CLUSTER + pool("gpu", TEAM)
    write({"volcano.yaml": CONF.replace("BINPACK", before) + cluster})
    assert mended("volcano-does-not-pack", "volcano.yaml") == CONF.replace("BINPACK", after) + cluster


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "          resources: {}\n", '          resources:\n            requests:\n              cpu: "1"\n', id="empty"
        ),
        pytest.param(
            "          resources: {requests: {cpu: 100m}, limits: {cpu: 500m, memory: 1Gi}}\n",
            '          resources: {requests: {cpu: "1"}, limits: {cpu: "1", memory: 1Gi}}\n', id="limited",
        ),
        pytest.param(
            "          resources:\n            limits:\n              cpu: 500m\n",
            '          resources:\n            limits:\n              cpu: "1"\n', id="limit alone",
        ),
    ],
)  # fmt: skip
def test_the_autoscaler_gets_one_cpu(write: Write, before: str, after: str) -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1
          command: [./cluster-autoscaler, --cloud-provider=aws]
"""
    write({"autoscaler.yaml": text + before})
    assert mended("autoscaler-starved", "autoscaler.yaml", nodes={"": 1000}) == text + after


def test_a_number_for_batches_of_nodes_comes_with_the_batch(write: Write) -> None:
    text = """\
resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  location           = "westeurope"
  sku_tier           = "Standard"
  kubernetes_version = "1.35"
  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D4s_v5"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 900
  }
  auto_scaler_profile {
    scan_interval = "10s"
NEW  }
}
"""
    write({"main.tf": text.replace("NEW", "")})
    after = '    scan_interval         = "10s"\n    max_unready_nodes     = 150\n    empty_bulk_delete_max = 100\n'
    assert mended("unready-tolerance-low", "main.tf") == text.replace('    scan_interval = "10s"\nNEW', after)


POOL = """\

resource "google_container_node_pool" "gpu" {
  name     = "gpu"
  cluster  = google_container_cluster.train.name
  location = PLACE

  autoscaling {
    max_node_count = 800
  }
}
"""


@pytest.mark.parametrize(
    ("place", "zones", "moved", "kept"),
    [
        pytest.param('"us-central1-a"', [], '"us-central1"', '["us-central1-a"]', id="literal"),
        pytest.param(
            "google_container_cluster.train.location", ["us-central1-b"], "google_container_cluster.train.location",
            '["us-central1-b", "us-central1-a"]', id="reference",
        ),
    ],
)  # fmt: skip
def test_a_zonal_cluster_becomes_a_regional_one_with_the_same_nodes(
    write: Write, place: str, zones: list[str], moved: str, kept: str
) -> None:
    head = 'resource "google_container_cluster" "train" {\n  name           = "train"\n'
    before = f'{head}  location       = "us-central1-a"\n'
    if zones:
        before += f'  node_locations = ["{zones[0]}"]\n'
    else:
        before = before.replace("name           =", "name     =").replace("location       =", "location =")
    write({"main.tf": f"{before}}}\n" + POOL.replace("PLACE", place)})
    after = f'{head}  location       = "us-central1"\n  node_locations = {kept}\n}}\n'
    assert mended("zonal-control-plane", "main.tf") == after + POOL.replace("PLACE", moved)


def test_a_zone_variable_with_other_possible_users_is_not_changed(write: Write) -> None:
    head = 'variable "zone" {\n  default = "us-central1-a"\n}\n\n'
    cluster = 'resource "google_container_cluster" "train" {\n  name     = "train"\n  location = var.zone\n}\n'
    write({"main.tf": head + cluster + POOL.replace("PLACE", "var.zone")})
    (finding,) = found("zonal-control-plane")
    assert finding.fix is None
