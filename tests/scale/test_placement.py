"""Test on which pools pods fit: by labels, taints, spot, GPUs and vCPUs; shared GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.scale import gpus, placement
from kcheck.scale.world import World
from kcheck.text.values import Unknown, Unset, known
from tests.conftest import indented, manifest, one_pod

if TYPE_CHECKING:
    from kcheck.model import NodePool
    from tests.conftest import Read


EKS = """
resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "pool" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "pool"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["g5.12xlarge"]
  capacity_type   = "{spot}"
  labels          = {{ pool = "gpu" }}

  taint {{
    key    = "{taint}"
    value  = "true"
    effect = "NO_SCHEDULE"
  }}

  scaling_config {{
    min_size     = 0
    max_size     = 8
    desired_size = 0
  }}
}}
"""
GKE = """
resource "google_container_cluster" "main" {{
  name     = "train"
  location = "us-central1"
}}

resource "google_container_node_pool" "pool" {{
  name    = "pool"
  cluster = google_container_cluster.main.name

  autoscaling {{
    max_node_count = 8
  }}

  node_config {{
    machine_type = "g2-standard-48"
    spot         = {spot}
    labels       = {{ pool = "gpu" }}

    guest_accelerator {{
      type  = "nvidia-l4"
      count = 4
    }}

    taint {{
      key    = "{taint}"
      value  = "true"
      effect = "NO_SCHEDULE"
    }}
  }}
}}
"""
AKS = """
resource "azurerm_kubernetes_cluster" "main" {{
  name = "train"
}}

resource "azurerm_kubernetes_cluster_node_pool" "pool" {{
  name                  = "pool"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_NC96ads_A100_v4"
  priority              = "{spot}"
  node_labels           = {{ pool = "gpu" }}
  node_taints           = ["{taint}=true:NoSchedule"]
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 8
}}
"""
ACK = """
resource "alicloud_cs_managed_kubernetes" "main" {{
  name = "train"
}}

resource "alicloud_cs_kubernetes_node_pool" "pool" {{
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "pool"
  instance_types = ["ecs.gn6i-c40g1.10xlarge"]
  spot_strategy  = "{spot}"

  labels {{
    key   = "pool"
    value = "gpu"
  }}

  taints {{
    key    = "{taint}"
    value  = "true"
    effect = "NoSchedule"
  }}

  scaling_config {{
    min_size = 0
    max_size = 8
  }}
}}
"""
KARPENTER = """
resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "kubectl_manifest" "pool" {{
  yaml_body = <<-EOT
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata:
      name: pool
    spec:
      template:
        metadata:
          labels:
            pool: gpu
        spec:
          taints:
            - {{key: "{taint}", value: "true", effect: NoSchedule}}
          requirements:
            - {{key: karpenter.sh/capacity-type, operator: In, values: ["{spot}"]}}
            - {{key: node.kubernetes.io/instance-type, operator: In, values: [g5.12xlarge]}}
            - {{key: example.org/team, operator: In, values: [a]}}
  EOT
}}
"""
CLOUDS = {
    "eks": (EKS, "SPOT", "ON_DEMAND", "eks.amazonaws.com/capacityType: SPOT"),
    "gke": (GKE, "true", "false", 'cloud.google.com/gke-spot: "true"'),
    "aks": (AKS, "Spot", "Regular", "kubernetes.azure.com/scalesetpriority: spot"),
    "ack": (ACK, "SpotAsPriceGo", "NoSpot", ""),
    "karpenter": (KARPENTER, "spot", "on-demand", ""),
}
CARDS = {"eks": 4, "gke": 4, "aks": 4, "ack": 1, "karpenter": 4}


class Pods:
    """Pods with some requests, as the text of their spec."""

    def __init__(self, cpu: int = 1, gpus: int = 0, tolerates: str = "dedicated", selector: str = "") -> None:
        cards = f"nvidia.com/gpu: {gpus}" if gpus else ""
        self.spec = (
            f"nodeSelector: {{{selector}}}\n"
            + (f"tolerations: [{{key: {tolerates}, operator: Exists}}]\n" if tolerates else "")
            + f"containers: [{{name: a, image: a, resources: {{requests: {{cpu: {cpu}}}, limits: {{{cards}}}}}}}]"
        )


def lands(cloud: str, pods: Pods, read: Read, *, spot: bool = False, taint: str = "dedicated") -> placement.Fit:
    code, on, off, _ = CLOUDS[cloud]
    text = manifest("Pod", f"spec:\n  {indented(pods.spec, 2)}")
    found = read({"main.tf": code.format(spot=on if spot else off, taint=taint), "pod.yaml": text})
    pool: NodePool = next(one for one in found.pools if known(one.name) == "pool")
    assert known(pool.market.spot) is spot
    (template,) = found.workloads[0].templates
    return placement.fit(template, pool)


@pytest.mark.parametrize("cloud", CLOUDS)
class TestFit:
    """Tests of pods on one pool of each cloud, with on-demand and spot nodes."""

    def test_pods_that_tolerate_the_taint_fit(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(gpus=1, selector="pool: gpu"), read) == placement.Fit(fits=True)

    def test_a_taint_keeps_pods_away(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(tolerates=""), read) == placement.Fit(fits=False, kind="taint", why="dedicated=true")

    def test_a_missing_label_keeps_pods_away(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(selector="pool: cpu"), read).why == "pool=cpu"
        assert lands(cloud, Pods(selector="disk: ssd"), read).fits is False

    def test_a_label_that_others_may_set_is_unknown(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(selector="nvidia.com/gpu.product: L4"), read).fits is None

    def test_pods_with_more_gpus_than_a_node_do_not_fit(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(gpus=CARDS[cloud]), read).fits is True
        assert lands(cloud, Pods(gpus=CARDS[cloud] + 1), read).why == f"{CARDS[cloud] + 1} GPUs on one node"

    def test_pods_with_more_vcpus_than_a_node_do_not_fit(self, cloud: str, read: Read) -> None:
        assert lands(cloud, Pods(cpu=39), read).fits is True
        assert lands(cloud, Pods(cpu=97), read) == placement.Fit(fits=False, kind="cpu", why="97 CPUs on one node")

    def test_spot_pools_accept_spot_pods(self, cloud: str, read: Read) -> None:
        selector = CLOUDS[cloud][3]
        if selector:
            assert lands(cloud, Pods(selector=selector), read).fits is False
        taint = "kubernetes.azure.com/scalesetpriority" if cloud == "aks" else "dedicated"
        fit = lands(cloud, Pods(selector=selector, tolerates=taint), read, spot=True, taint=taint)
        assert fit.fits is True

    def test_the_api_server_adds_the_gpu_toleration(self, cloud: str, read: Read) -> None:
        fit = lands(cloud, Pods(gpus=1, tolerates=""), read, taint="nvidia.com/gpu")
        assert fit.fits is (cloud != "ack")
        assert lands(cloud, Pods(tolerates=""), read, taint="nvidia.com/gpu").fits is False


def test_aks_adds_the_taint_of_spot_nodes_itself(read: Read) -> None:
    fit = lands("aks", Pods(), read, spot=True)
    assert fit == placement.Fit(fits=False, kind="taint", why="kubernetes.azure.com/scalesetpriority=spot")


def test_a_requirement_with_one_value_is_a_node_label(read: Read) -> None:
    assert lands("karpenter", Pods(selector="example.org/team: a"), read).fits is True
    assert lands("karpenter", Pods(selector="example.org/team: b"), read).fits is False


SPOT_TERMS = """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
        - matchExpressions: [{key: %s, operator: %s, values: %s}]
containers: []
"""


@pytest.mark.parametrize(
    ("key", "operator", "values", "asks"),
    [
        ("cloud.google.com/gke-spot", "Exists", "[]", True),
        ("karpenter.sh/capacity-type", "Exists", "[]", False),
        ("eks.amazonaws.com/capacityType", "In", "[SPOT]", True),
        ("eks.amazonaws.com/capacityType", "In", "[SPOT, ON_DEMAND]", False),
        ("pool", "In", "[gpu]", False),
    ],
)
def test_a_pod_selects_spot_only_if_all_terms_do(key: str, operator: str, values: str, asks: bool, read: Read) -> None:
    assert placement.asks_for_spot(one_pod(SPOT_TERMS % (key, operator, values), read)) is asks


def test_unknown_machine_types_may_have_any_number_of_gpus(read: Read) -> None:
    code = EKS.format(spot="ON_DEMAND", taint="dedicated").replace("g5.12xlarge", "p9.96xlarge")
    found = read({"main.tf": code, "pod.yaml": manifest("Pod", f"spec:\n  {indented(Pods(gpus=8).spec, 2)}")})
    assert placement.fit(found.workloads[0].templates[0], found.pools[0]).fits is None


def test_labels_of_groups_without_a_list_are_unknown(read: Read) -> None:
    code = """
    resource "aws_eks_cluster" "main" {
      name = "train"
    }

    resource "aws_autoscaling_group" "pool" {
      name                = "pool"
      max_size            = 8
      min_size            = 0
      vpc_zone_identifier = ["subnet-1"]

      mixed_instances_policy {
        instances_distribution {
          on_demand_percentage_above_base_capacity = 0
        }
        launch_template {
          launch_template_specification {
            launch_template_id = "lt-1"
          }
          override {
            instance_type = "g5.12xlarge"
          }
        }
      }

      tag {
        key                 = "kubernetes.io/cluster/train"
        value               = "owned"
        propagate_at_launch = true
      }
    }
    """
    found = read({"main.tf": code, "pod.yaml": manifest("Pod", "spec: {nodeSelector: {pool: gpu}, containers: []}")})
    assert isinstance(found.pools[0].scheduling.labels, Unknown)
    assert known(found.pools[0].market.spot) is True
    assert known(found.pools[0].machine.instance_types) == ("g5.12xlarge",)
    chosen = code.replace('instance_type = "g5.12xlarge"', "instance_requirements {\n}")
    assert isinstance(read({"main.tf": chosen}).pools[0].machine.instance_types, Unknown)
    assert placement.fit(found.workloads[0].templates[0], found.pools[0]).fits is None


# --- how cards are divided

PLUGIN = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: plugin
data:
  a: |
    version: v1
    sharing:
      timeSlicing:
        resources:
          - name: nvidia.com/gpu
            replicas: 4
  b: |
    version: v1
    flags:
      migStrategy: mixed
  c: |
    sharing: nothing of the kind
"""


@pytest.mark.parametrize(("mode", "fits"), [("default", True), ("cgpu", False), ("disabled", None)])
def test_a_pod_with_a_whole_gpu_fits_by_the_scheduling_mode_of_ack(mode: str, *, fits: bool | None, read: Read) -> None:
    code = ACK.format(spot="NoSpot", taint="dedicated").replace(
        '"pool"\n    value = "gpu"', f'"ack.node.gpu.schedule"\n    value = "{mode}"'
    )
    found = read({"main.tf": code, "pod.yaml": manifest("Pod", f"spec:\n  {indented(Pods(gpus=1).spec, 2)}")})
    assert placement.fit(found.workloads[0].templates[0], found.pools[0]).fits is fits


def test_the_gpu_operator_sets_the_mig_strategy(read: Read) -> None:
    policy = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {mig: {strategy: %s}}\n"
    mps = PLUGIN.replace("timeSlicing", "mps").replace("migStrategy: mixed", "migStrategy: none")
    for strategy, refused in (("mixed", True), ("single", False)):
        found = read({"plugin.yaml": mps, "policy.yaml": policy % strategy})
        one = next(one for one in found.sharings if one.mps)
        assert ("mig" in (known(gpus.ways(one, World(found, Config()))) or ())) is refused


def test_device_plugin_configurations_decide_gpu_sharing(read: Read) -> None:
    found = read({"plugin.yaml": PLUGIN}).sharings
    assert [([known(copies) for copies in one.slices], known(one.mig), one.names) for one in found] == [
        ([4], None, ("nvidia.com/gpu",)),
        ([], "mixed", ()),
    ]
    assert found[0].place.text.startswith("|")


def test_gpu_sharing_on_gke_belongs_to_its_pool(read: Read) -> None:
    sharing = 'count = 4\n      gpu_sharing_config {\n        gpu_sharing_strategy = "MPS"\n        max_shared_clients_per_gpu = 8\n      }'
    found = read({"main.tf": GKE.format(spot="false", taint="a").replace("count = 4", sharing)})
    (one,) = found.sharings
    assert (one.pool, one.slices, [known(copies) for copies in one.mps]) == (found.pools[-1], (), [8])
    assert found.cluster_of[one] is found.clusters[0]


@pytest.mark.parametrize(
    ("size", "sharing", "copies"),
    [
        ("1g.5gb", "", 7),
        ("3g.40gb", "", 2),
        ("2g.20gb", 'gpu_sharing_strategy = "TIME_SHARING"\n        max_shared_clients_per_gpu = 4', 12),
        ("8g.1gb", "", None),
    ],
)
def test_gpu_partitions_on_gke_count_as_gpus(size: str, sharing: str, copies: int | None, read: Read) -> None:
    block = f"gpu_sharing_config {{\n        {sharing}\n      }}" if sharing else ""
    text = f'count = 4\n      gpu_partition_size = "{size}"\n      {block}'
    (one,) = read({"main.tf": GKE.format(spot="false", taint="a").replace("count = 4", text)}).sharings
    assert [known(each) for each in one.slices] == [copies]


def test_pods_that_ask_for_gpu_slices_get_them(read: Read) -> None:
    pod = manifest("Pod", f"spec:\n  {indented(Pods(gpus=2).spec, 2)}")
    whole = PLUGIN.replace("migStrategy: mixed", "failOnInitError: true")
    sliced = PLUGIN.replace("version: v1\n    flags", "flags")
    for text, copies in ((sliced, 4), (whole, None)):
        found = read({"plugin.yaml": text, "pod.yaml": pod})
        value = gpus.of_pods(found.workloads[0].templates[0], World(found, Config()))
        assert (known(value), isinstance(value, Unset)) == (copies, copies is None)
