"""Test withheld fixes: a person must look first, so the finding stays and its help says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.text.findings import Finding
    from tests.conftest import Check


pytestmark = pytest.mark.medium

LARGE = Config(nodes={"": 1000})


def only(rule: str, check: Check, files: Mapping[str, str], config: Config = LARGE) -> Finding:
    """Return the only finding of a rule."""
    (found,) = (finding for finding in check(files, config).findings if finding.rule == rule)
    return found


# --- Karpenter

NODE_POOL = """
apiVersion: karpenter.sh/VERSION
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {cpu: 9600}
  disruption:
    consolidationPolicy: POLICY
    expireAfter: Never
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
"""


def test_when_empty_is_not_written_alone_before_v1(check: Check) -> None:
    pool = NODE_POOL.replace("VERSION", "v1beta1").replace("POLICY", "WhenUnderutilized")
    found = only(
        "karpenter-disrupts-training", check, {"pool.yaml": pool, "job.yaml": GPU_JOB.replace("SELECTION", "")}
    )
    assert found.fix is None
    assert "set consolidateAfter together with WhenEmpty (karpenter.sh/v1beta1 requires it)" in found.help


PACKING = NODE_POOL.replace("VERSION", "v1").replace("POLICY", "WhenEmptyOrUnderutilized")
GPU_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      SELECTION
      containers: [{name: train, image: "quay.io/example/train:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""


@pytest.mark.parametrize(
    "selection",
    ["priorityClassName: low", "nodeSelector: {karpenter.sh/nodepool: gpu}", "tolerations: [{operator: Exists}]"],
)
def test_when_empty_is_written_in_v1(check: Check, selection: str) -> None:
    files = {"pool.yaml": PACKING, "job.yaml": GPU_JOB.replace("SELECTION", selection)}
    assert only("karpenter-disrupts-training", check, files).fix is not None


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"job.yaml": GPU_JOB.replace("SELECTION", "nodeSelector: {karpenter.sh/nodepool: other}")},
        {"job.yaml": GPU_JOB.replace("SELECTION", "").replace("nvidia.com/gpu: 8", "cpu: 8")},
        {"chat.yaml": GPU_JOB.replace("SELECTION", "").replace("batch/v1", "apps/v1").replace("Job", "Deployment")},
    ],
)
def test_a_pool_without_a_training_job_keeps_its_consolidation(check: Check, files: dict[str, str]) -> None:
    found = only("karpenter-disrupts-training", check, {"pool.yaml": PACKING, **files})
    assert found.fix is None
    assert "no GPU job in this code can run there" in found.help


def test_a_taint_keeps_training_jobs_from_a_pool(check: Check) -> None:
    pool = PACKING.replace("requirements:", "taints: [{key: team, value: a, effect: NoSchedule}]\n      requirements:")
    files = {"pool.yaml": pool, "job.yaml": GPU_JOB.replace("SELECTION", "")}
    assert only("karpenter-disrupts-training", check, files).fix is None


# --- jobs that nothing removes

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 16
  template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
JOB_SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  volumeClaimPolicies:
    - templates: [{metadata: {name: checkpoints}}]POLICY
  replicatedJobs:
    - name: worker
      replicas: 8
      template:
        spec:
          template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
VOLCANO = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 8
  schedulerName: volcano
  volumes:
    - {mountPath: /checkpoints, CLAIM}
  tasks:
    - name: worker
      replicas: 8
      template: {spec: {restartPolicy: Never, containers: [{name: train, image: "quay.io/example/train:1"}]}}
"""
SCRATCH = "{name: ck, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Ti}}}}}}"
APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: training}
spec:
  source: {repoURL: "https://example.com/train.git", path: PATH}
  syncPolicy: {automated: {selfHeal: HEAL}}
"""
APPLICATION_SET = """
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: teams}
spec:
  generators:
    - git: {repoURL: "https://example.com/train.git", directories: [{path: teams/*}]}
  template:
    spec:
      source: {repoURL: "https://example.com/train.git", path: "{{path}}"}
      syncPolicy: {automated: {selfHeal: true}}
"""
FLUX = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: training}
spec: {interval: 10m, path: ./jobs}
"""


@pytest.mark.parametrize(
    ("job", "key"),
    [
        (JOB_SET.replace("POLICY", ""), "volumeClaimPolicies"),
        (JOB_SET.replace("POLICY", "\n      retentionPolicy: {whenDeleted: Delete}"), "volumeClaimPolicies"),
        (VOLCANO.replace("CLAIM", "volumeClaim: {accessModes: [ReadWriteMany]}"), "volumes"),
        (JOB.replace("Never, ", f"Never, volumes: [{SCRATCH}], "), "ephemeral volumeClaimTemplates"),
        (
            VOLCANO.replace("CLAIM", "volumeClaimName: old").replace("Never, ", f"Never, volumes: [{SCRATCH}], "),
            "ephemeral volumeClaimTemplates",
        ),
    ],
)
def test_a_job_whose_volumes_would_be_deleted_gets_no_time_to_live(check: Check, job: str, key: str) -> None:
    found = only("job-never-cleaned", check, {"job.yaml": job})
    assert found.fix is None
    assert f"the volumes of {key}, which are deleted with the job" in found.help


@pytest.mark.parametrize(
    "job",
    [
        JOB_SET.replace("POLICY", "\n      retentionPolicy: {whenDeleted: Retain}"),
        VOLCANO.replace("CLAIM", "volumeClaimName: checkpoints"),
    ],
)
def test_a_job_whose_volumes_stay_gets_a_time_to_live(check: Check, job: str) -> None:
    assert only("job-never-cleaned", check, {"job.yaml": job}).fix is not None


@pytest.mark.parametrize(
    ("sync", "path", "name"),
    [
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "true"), "jobs/train.yaml", "Application training"),
        (APPLICATION.replace("PATH", ".").replace("HEAL", "true"), "train.yaml", "Application training"),
        (APPLICATION_SET, "teams/vision/train.yaml", "ApplicationSet teams"),
        (FLUX, "jobs/big/train.yaml", "Kustomization training"),
    ],
)
def test_a_job_that_argo_cd_recreates_gets_no_time_to_live(check: Check, sync: str, path: str, name: str) -> None:
    found = only("job-never-cleaned", check, {"apps/app.yaml": sync, path: JOB})
    assert found.fix is None
    assert f"take the job out of {name}" in found.help


@pytest.mark.parametrize(
    ("sync", "path"),
    [
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "false"), "jobs/train.yaml"),
        (APPLICATION.replace("PATH", "jobs").replace("HEAL", "true"), "jobs-by-hand/train.yaml"),
        (APPLICATION_SET, "train.yaml"),
    ],
)
def test_a_job_outside_the_folder_of_argo_cd_gets_a_time_to_live(check: Check, sync: str, path: str) -> None:
    assert only("job-never-cleaned", check, {"apps/app.yaml": sync, path: JOB}).fix is not None


def test_a_job_in_the_base_of_an_argo_cd_kustomization_gets_no_time_to_live(check: Check) -> None:
    files = {
        "apps/app.yaml": APPLICATION.replace("PATH", "overlays/live").replace("HEAL", "true"),
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "base/job.yaml": JOB,
        "overlays/live/kustomization.yaml": "resources: [../../base]\n",
    }
    assert "take the job out of" in only("job-never-cleaned", check, files).help


def test_a_job_that_terraform_recreates_gets_no_time_to_live(check: Check) -> None:
    code = """
    resource "kubernetes_job_v1" "train" {
      metadata {
        name = "train"
      }
      spec {
        parallelism = 16
        template {
          metadata {}
          spec {
            restart_policy = "Never"
            container {
              name  = "train"
              image = "quay.io/example/train:1"
            }
          }
        }
      }
    }
    """
    assert "take the job out of Terraform" in only("job-never-cleaned", check, {"main.tf": code}).help


# --- ranges of pods

GKE = """
resource "google_compute_network" "main" {
  name                    = "train"
  auto_create_subnetworks = AUTO
}
resource "google_compute_subnetwork" "nodes" {
  name          = "nodes"
  network       = google_compute_network.main.id
  region        = "europe-west4"
  ip_cidr_range = "10.0.0.0/20"
  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.16.0.0/18"
  }
  MORE
}
OTHERS
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "europe-west4"
  node_locations           = ["europe-west4-a"]
  subnetwork               = google_compute_subnetwork.nodes.id
  remove_default_node_pool = true
  initial_node_count       = 1
  ip_allocation_policy {
    cluster_secondary_range_name = "pods"
  }
  PLANE
}
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name
  autoscaling {
    max_node_count = 1000
  }
}
"""


def gke(more: str = "", others: str = "", plane: str = "", auto: str = "false") -> dict[str, str]:
    code = GKE.replace("MORE", more).replace("OTHERS", others).replace("PLANE", plane).replace("AUTO", auto)
    return {"main.tf": code}


@pytest.mark.slow
def test_a_pod_range_grows_where_there_is_room(check: Check) -> None:
    (change,) = only("pod-range-too-small", check, gke()).fix.changes  # type: ignore[union-attr]
    assert change.value == "10.16.0.0/14"


SECOND = 'secondary_ip_range {\n range_name = "NAME"\n ip_cidr_range = RANGE\n}\n'
SUBNET = """
resource "google_compute_subnetwork" "other" {
  name          = "other"
  network       = google_compute_network.main.id
  ip_cidr_range = "10.2.0.0/20"
  %s
}
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            gke(SECOND.replace("RANGE", '"10.17.0.0/20"')),
            "a secondary range of google_compute_subnetwork.nodes (10.17.0.0/20)",
        ),
        (
            gke(SECOND.replace("RANGE", "var.unknown")),
            "a secondary range of google_compute_subnetwork.nodes (its range is not known)",
        ),
        (
            gke(others=SUBNET % SECOND.replace("RANGE", '"10.18.0.0/20"')),
            "a secondary range of google_compute_subnetwork.other (10.18.0.0/20)",
        ),
        (
            gke(others=(SUBNET % "").replace("10.2.", "10.19.")),
            "the subnet google_compute_subnetwork.other (10.19.0.0/20)",
        ),
        (
            gke(plane='private_cluster_config {\nmaster_ipv4_cidr_block = "10.18.0.0/28"\n}'),
            "the control plane of google_container_cluster.train (10.18.0.0/28)",
        ),
    ],
    ids=["second", "unknown", "elsewhere", "primary", "plane"],
)
def test_a_pod_range_does_not_grow_over_other_ranges(check: Check, files: dict[str, str], told: str) -> None:
    found = only("pod-range-too-small", check, files)
    assert found.fix is None
    assert told in found.help
    assert found.help.startswith("choose a range for 256,256 addresses that overlaps nothing; ")


def test_a_pod_range_does_not_grow_over_automatic_subnets_of_google(check: Check) -> None:
    files = {"main.tf": gke(auto="true")["main.tf"].replace("10.16.0.0", "10.131.0.0")}
    assert "the subnets of google_compute_network.main (10.128.0.0/9)" in only("pod-range-too-small", check, files).help


def test_a_pod_range_stays_inside_private_addresses(check: Check) -> None:
    files = {"main.tf": gke()["main.tf"].replace("10.16.0.0", "192.168.64.0")}
    found = only("pod-range-too-small", check, files)
    assert found.fix is None
    assert "the end of the private addresses (RFC 1918) is in the way of a wider 192.168.64.0/18" in found.help


def test_ranges_of_a_module_block_growth_even_without_a_cluster(check: Check) -> None:
    code = """
    module "network" {
      source       = "terraform-google-modules/network/google"
      version      = "~> 9.0"
      network_name = "train"
      subnets      = [{ subnet_name = "nodes", subnet_ip = "10.0.0.0/20", subnet_region = "europe-west4" }]
      secondary_ranges = {
        nodes = [
          { range_name = "pods", ip_cidr_range = "10.16.0.0/18" },
          { range_name = "old", ip_cidr_range = "10.17.0.0/20" },
        ]
      }
    }
    """
    main = gke()["main.tf"]
    code += main[main.index('resource "google_container_cluster"') :]
    files = {"main.tf": code.replace("google_compute_subnetwork.nodes.id", "module.network.subnets_names[0]")}
    found = only("pod-range-too-small", check, files)
    assert found.fix is None
    assert "10.17.0.0/20" in found.help


AKS = """
variable "subnet" {}
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"
  default_node_pool {
    name           = "system"
    node_count     = 900
    vm_size        = "Standard_D4s_v5"
    SUBNET
  }
  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "10.244.0.0/16"
    service_cidr        = "SERVICES"
  }
}
"""


@pytest.mark.parametrize(
    ("services", "subnet", "told"),
    [
        ("10.246.0.0/16", "", "the services' range of azurerm_kubernetes_cluster.main (10.246.0.0/16)"),
        ("10.0.0.0/16", "vnet_subnet_id = var.subnet", "the network of system (its range is not known)"),
        ("10.0.0.0/16", "", ""),
    ],
)
def test_an_aks_pod_range_does_not_grow_over_services_and_networks(
    check: Check, services: str, subnet: str, told: str
) -> None:
    files = {"main.tf": AKS.replace("SERVICES", services).replace("SUBNET", subnet)}
    found = only("pod-range-too-small", check, files)
    assert (found.fix is None) == bool(told)
    assert told in found.help


ACK = """
resource "alicloud_vpc" "main" {
  vpc_name   = "train"
  cidr_block = "10.0.0.0/12"
}
resource "alicloud_vswitch" "nodes" {
  vpc_id     = alicloud_vpc.main.id
  cidr_block = "10.0.0.0/16"
  zone_id    = "cn-beijing-h"
}
resource "alicloud_cs_managed_kubernetes" "main" {
  name         = "train"
  cluster_spec = "ack.pro.small"
  vswitch_ids  = [alicloud_vswitch.nodes.id]
  pod_cidr     = "10.POD.0.0/18"
  SERVICES
}
resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  node_pool_name = "gpu"
  vswitch_ids    = [alicloud_vswitch.nodes.id]
  instance_types = ["ecs.gn7i-c8g1.2xlarge"]
  scaling_config {
    min_size = 0
    max_size = 600
  }
}
"""


@pytest.mark.parametrize(
    ("pod", "services", "told"),
    [
        ("32", 'service_cidr = "172.21.0.0/20"', ""),
        ("32", "", "the services' range of alicloud_cs_managed_kubernetes.main (its range is not known)"),
        ("32", 'service_cidr = "10.33.0.0/20"', "(10.33.0.0/20) is in the way"),
        ("16", 'service_cidr = "10.18.0.0/20"', "(10.18.0.0/20) is in the way"),
    ],
)
def test_an_ack_pod_range_does_not_grow_over_services(check: Check, pod: str, services: str, told: str) -> None:
    found = only("pod-range-too-small", check, {"main.tf": ACK.replace("POD", pod).replace("SERVICES", services)})
    assert (found.fix is None) == bool(told)
    assert told in found.help


def test_a_kubeadm_pod_range_does_not_grow_over_services(check: Check) -> None:
    kubeadm = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking: {podSubnet: 10.100.0.0/18}
"""
    found = only("pod-range-too-small", check, {"kubeadm.yaml": kubeadm})
    assert found.fix is None
    assert "the services' range of ClusterConfiguration/kubernetes (10.96.0.0/12)" in found.help


# --- shared memory

TRAINING = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 16
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: quay.io/example/train:1
          command: [torchrun, train.py]
          resources: {limits: {nvidia.com/gpu: 8}}
      volumes:
        - {name: NAME, KIND}
"""


@pytest.mark.parametrize("kind", ["emptyDir: {}", "hostPath: {path: /dev/shm}", "nfs: {server: a, path: /b}"])
def test_an_existing_volume_named_like_shared_memory_prevents_the_fix(check: Check, kind: str) -> None:
    found = only("missing-shared-memory", check, {"job.yaml": TRAINING.replace("NAME", "dshm").replace("KIND", kind)})
    assert found.fix is None
    assert "a volume named dshm exists, but may not be one" in found.help


def test_a_volume_of_another_name_does_not_prevent_the_fix(check: Check) -> None:
    job = TRAINING.replace("NAME", "data").replace("KIND", "emptyDir: {}")
    assert only("missing-shared-memory", check, {"job.yaml": job}).fix is not None


# --- the words of the code

KUBEADM = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: train\n"


def test_help_names_the_kubelet_setting(check: Check) -> None:
    found = only("serial-image-pulls", check, {"kubeadm.yaml": KUBEADM})
    assert found.fix is None
    assert found.help == "no KubeletConfiguration is in its folder; add serializeImagePulls: false"


def test_help_names_the_autoscaler_profile(check: Check) -> None:
    code = GKE_MODULE.replace("TYPE", "NO_RESERVATION").replace("min_count = 1", "min_count = 1, max_count = 300")
    found = only("balanced-autoscaling-profile", check, {"main.tf": code})
    assert found.fix is None
    assert (
        'set autoscaling_profile = "OPTIMIZE_UTILIZATION" in the cluster_autoscaling of the module call' in found.help
    )


# --- upgrades of machines that are scarce

SCARCE = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1"
  remove_default_node_pool = true
  initial_node_count       = 1
}
resource "google_container_node_pool" "pool" {
  name    = "pool"
  cluster = google_container_cluster.train.name
  autoscaling {
    total_min_node_count = 100
    total_max_node_count = 800
  }
  node_config {
    machine_type = MACHINE
    KIND
  }
  MORE
}
"""
SURGE = "upgrade_settings {\n    max_surge = %s\n  }"
NONE_ADDED = {"max_surge": 0, "max_unavailable": 20}


def upgraded(found: Finding) -> dict[str, object]:
    """Return the values a fix writes, by the attribute's name in the model."""
    return {change.name: change.value for change in found.fix.changes} if found.fix else {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "kind", "more", "written"),
    [
        ("a3-highgpu-8g", "", "", NONE_ADDED),
        ("a3-highgpu-8g", "", SURGE % "1", NONE_ADDED),
        ("n2-standard-8", "spot = true", "", NONE_ADDED),
        ("n2-standard-8", "flex_start = true", "", NONE_ADDED),
        ("n2-standard-8", "", "queued_provisioning {\n    enabled = true\n  }", NONE_ADDED),
        ("n2-standard-8", 'reservation_affinity {\n consume_reservation_type = "ANY_RESERVATION"\n}', "", NONE_ADDED),
        ("a3-highgpu-8g", "", SURGE % "2", {}),
        ("a3-highgpu-8g", "", SURGE % "0\n max_unavailable = 1", {"parallel_upgrades": 20}),
        ("n2-standard-8", "", "", {"parallel_upgrades": 20}),
    ],
)
def test_faster_upgrades_add_no_scarce_machines(
    check: Check, machine: str, kind: str, more: str, written: dict[str, object]
) -> None:
    code = SCARCE.replace("MACHINE", f'"{machine}"').replace("KIND", kind).replace("MORE", more)
    found = only("slow-upgrades", check, {"main.tf": code})
    assert upgraded(found) == written
    assert written or "max_surge = 0 and max_unavailable = 20" in found.help


def test_no_number_is_written_for_a_pool_of_gpus_that_may_be_small(check: Check) -> None:
    """GKE accepts no percentage: 20 nodes at a time would be all nodes of a pool of 20."""
    code = SCARCE.replace("MACHINE", '"a3-highgpu-8g"').replace("KIND", "").replace("MORE", "")
    assert upgraded(only("slow-upgrades", check, {"main.tf": code})) == NONE_ADDED
    found = only("slow-upgrades", check, {"main.tf": code.replace("node_count = 100", "node_count = 0")})
    assert upgraded(found) == {}
    assert "where the pool is usually that large" in found.help


@pytest.mark.parametrize(("nodes", "severity"), [(60, "info"), (800, "warning")])
def test_slow_upgrades_of_smaller_pools_are_an_info(check: Check, nodes: int, severity: str) -> None:
    code = SCARCE.replace("MACHINE", '"n2-standard-8"').replace("KIND", "").replace("MORE", "")
    found = only("slow-upgrades", check, {"main.tf": code.replace("800", str(nodes))}, Config())
    assert found.severity.word == severity
    assert found.message == f"Upgrade of pool pool takes {nodes} rounds for {nodes} nodes"
    assert found.details == ("It replaces 1 node at a time; each round drains, replaces and boots them",)


def test_a_module_default_is_not_changed_for_one_pool(check: Check) -> None:
    variable = 'variable "surge" {\n  type    = number\n  default = 1\n}\n'
    code = SCARCE.replace("MACHINE", '"n2-standard-8"').replace("KIND", "").replace("MORE", SURGE % "var.surge")
    assert only("slow-upgrades", check, {"main.tf": variable + code}).fix is not None
    call = 'module "train" {\n  source = "./train"\n}\n'
    found = only("slow-upgrades", check, {"main.tf": call, "train/main.tf": variable + code})
    assert found.fix is None
    assert "where the module of this pool is called" in found.help


# --- zones of Google

ZONAL = """
variable "zones" {
  type    = list(string)
  default = ["us-central1-a"]
}
locals {
  zone   = "us-central1-a"
  places = { train = { location = "us-central1-a" } }
}
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = OWN
  remove_default_node_pool = true
  initial_node_count       = 1
}
resource "google_container_node_pool" "cpu" {
  name     = "cpu"
  location = POOL
  cluster  = google_container_cluster.train.name
  autoscaling {
    max_node_count = 800
  }
}
"""
LITERAL = '"us-central1-a"'


@pytest.mark.parametrize(
    ("own", "pool", "told"),
    [
        (LITERAL, LITERAL, ""),
        (LITERAL, "null", ""),
        ("one(var.zones)", "null", 'set location = "us-central1"'),
        ("var.zones[0]", "null", 'set location = "us-central1"'),
        ("element(var.zones, 0)", "null", 'set location = "us-central1"'),
        ("local.zone", "null", 'set location = "us-central1"'),
        ("local.places.train.location", "null", 'set location = "us-central1"'),
        (f'true ? {LITERAL} : "us-central1"', "null", 'set location = "us-central1"'),
        (LITERAL, "one(var.zones)", 'set location = "us-central1" for the cluster and its pools'),
    ],
)
def test_a_zone_with_other_possible_users_is_left_to_a_person(check: Check, own: str, pool: str, told: str) -> None:
    found = only("zonal-control-plane", check, {"main.tf": ZONAL.replace("OWN", own).replace("POOL", pool)})
    assert (found.fix is None) == bool(told)
    assert told in found.help
    if found.fix:
        assert "add us-central1-a to node_locations" in found.fix.title


def test_help_names_the_module_input_for_a_regional_cluster(check: Check) -> None:
    code = GKE_MODULE.replace('region     = "europe-west4"', 'regional = false\nzones = ["europe-west4-a"]')
    found = only("zonal-control-plane", check, {"main.tf": code.replace("TYPE", "NO_RESERVATION")})
    assert found.fix is None
    assert 'set regional = true and region = "europe-west4"' in found.help


# --- network policies of Azure

POLICY = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"
  default_node_pool {
    name       = "system"
    node_count = 400
    SUBNET
  }
  network_profile {
    network_plugin = "azure"
    network_policy = "azure"
    MODE
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "other" {
  name                  = "other"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_D4s_v5"
  node_count            = 3
  OTHER
}
"""
POLICY_MODULE = """
module "aks" {
  source         = "Azure/aks/azurerm"
  version        = "~> 10.0"
  agents_count   = 400
  sku_tier       = "Standard"
  network_plugin = "azure"
  network_policy = "azure"
  MODE
  node_pools = {
    other = { name = "other", vm_size = "Standard_D4s_v5", node_count = 3, OTHER }
  }
}
"""
OVERLAY = 'network_plugin_mode = "overlay"'
PODS = "pod_subnet_id = azurerm_subnet.pods.id"


@pytest.mark.parametrize(
    ("code", "mode", "subnet", "other", "fixed"),
    [
        (POLICY, OVERLAY, "", "", True),
        (POLICY, "", "", "", False),
        (POLICY, "", PODS, "", False),
        (POLICY, "", PODS, PODS, True),
        (POLICY, OVERLAY, "", 'os_type = "Windows"', False),
        (POLICY, OVERLAY, "", 'os_type = "Linux"', True),
        (POLICY_MODULE, OVERLAY, "", "", True),
        (POLICY_MODULE, OVERLAY, "", 'os_type = "Windows"', False),
        (POLICY_MODULE, "", "", "", False),
    ],
)
def test_cilium_needs_overlay_or_pod_subnets_and_linux(
    check: Check, code: str, mode: str, subnet: str, other: str, *, fixed: bool
) -> None:
    code = code.replace("MODE", mode).replace("SUBNET", subnet).replace("OTHER", other)
    subnets = (
        'resource "azurerm_subnet" "pods" {\n  name             = "pods"\n  address_prefixes = ["10.0.0.0/9"]\n}\n'
    )
    found = only("network-policy-manager-limit", check, {"main.tf": subnets + code})
    assert (found.fix is not None) == fixed
    assert fixed or "Linux nodes only" in found.help


# --- NAT gateways

VPC = """
variable "names" {}
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "~> 5.0"
  cidr               = "10.0.0.0/8"
  azs                = ["eu-west-1a", "eu-west-1b"]
  private_subnets    = ["10.0.0.0/12", "10.16.0.0/12"]
  enable_nat_gateway = true
  single_nat_gateway = true
  MORE
}
resource "aws_eks_cluster" "train" {
  name = "train"
}
resource "aws_eks_node_group" "cpu" {
  cluster_name   = aws_eks_cluster.train.name
  subnet_ids     = module.vpc.private_subnets
  instance_types = ["m5.large"]
  scaling_config {
    min_size     = 0
    max_size     = 1000
    desired_size = 0
  }
}
"""
PUBLIC = 'public_subnets = ["10.32.0.0/24", "10.32.1.0/24"]'


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", "one entry for each of azs"),
        ('public_subnets = ["10.32.0.0/24"]', "one entry for each of azs"),
        ("public_subnets = var.names", "one entry for each of azs"),
        (f'{PUBLIC}\nreuse_nat_ips = true\nexternal_nat_ip_ids = ["eipalloc-1"]', "one entry for each of azs"),
        (f"{PUBLIC}\nreuse_nat_ips = true\nexternal_nat_ip_ids = var.names", "one entry for each of azs"),
        (PUBLIC, ""),
        (f'{PUBLIC}\nreuse_nat_ips = true\nexternal_nat_ip_ids = ["eipalloc-1", "eipalloc-2"]', ""),
    ],
)
def test_a_gateway_per_zone_needs_public_subnets_and_addresses(check: Check, more: str, told: str) -> None:
    found = only("single-nat-gateway", check, {"main.tf": VPC.replace("MORE", more)})
    assert (found.fix is None) == bool(told)
    assert told in found.help


def test_help_names_the_module_input_for_gateways(check: Check) -> None:
    code = VPC.replace("MORE", f"{PUBLIC}\none_nat_gateway_per_az = 1 > 2")
    found = only("single-nat-gateway", check, {"main.tf": code})
    assert found.fix is None
    assert "add one_nat_gateway_per_az = true" in found.help


# --- CoreDNS

ADDON = """
resource "aws_eks_cluster" "train" {
  name = "train"
}
resource "aws_eks_addon" "dns" {
  cluster_name         = aws_eks_cluster.train.name
  addon_name           = "coredns"
  configuration_values = SETTINGS
}
resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.train.name
  instance_types = ["p5.48xlarge"]
  scaling_config {
    min_size     = 0
    max_size     = 1000
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize("name", ["fargate", "Fargate"])
def test_coredns_on_fargate_gets_no_autoscaling(check: Check, name: str) -> None:
    code = ADDON.replace("SETTINGS", f'jsonencode({{\n    computeType = "{name}"\n  }})')
    found = only("dns-not-scaled", check, {"main.tf": code})
    assert found.fix is None
    assert "once a Fargate profile may run" in found.help


def test_coredns_on_nodes_gets_autoscaling(check: Check) -> None:
    code = ADDON.replace("SETTINGS", 'jsonencode({\n    computeType = "ec2"\n  })')
    assert only("dns-not-scaled", check, {"main.tf": code}).fix is not None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('"{\\"replicaCount\\": 2}"', "configuration_values is not a jsonencode() of an object"),
        ("jsonencode({ autoScaling = { enabled = false } })", "configuration_values has autoScaling already"),
    ],
)
def test_help_names_the_key_that_scales_coredns(check: Check, settings: str, told: str) -> None:
    found = only("dns-not-scaled", check, {"main.tf": ADDON.replace("SETTINGS", settings)})
    assert found.fix is None
    assert f"{told}; add autoScaling: {{enabled: true" in found.help
    assert "dns_scaling" not in found.help


# --- images

POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: "%s"}]}\n'
DIGEST = f"@sha256:{'ab' * 32}"


@pytest.mark.parametrize(
    ("image", "now"),
    [
        ("gcr.io/google_containers/pause-amd64:3.1", "registry.k8s.io/pause-amd64:3.1"),
        ("gcr.io/google-containers/kube-proxy:v1.17.0", "registry.k8s.io/kube-proxy:v1.17.0"),
        (f"k8s.gcr.io/nvidia-gpu-device-plugin{DIGEST}", f"registry.k8s.io/nvidia-gpu-device-plugin{DIGEST}"),
    ],
)
def test_kubernetes_images_get_the_new_registry(check: Check, image: str, now: str) -> None:
    (change,) = only("retired-registry", check, {"pod.yaml": POD % image}).fix.changes  # type: ignore[union-attr]
    assert change.value == now


@pytest.mark.parametrize(
    "image",
    [
        "gcr.io/google-containers/toolbox:20201104-00",
        "gcr.io/google-containers/startup-script:v2",
        f"gcr.io/google_containers/pause{DIGEST}",
    ],
)
def test_images_that_may_not_exist_in_the_new_registry_keep_their_name(check: Check, image: str) -> None:
    found = only("retired-registry", check, {"pod.yaml": POD % image})
    assert found.fix is None
    assert "pull it from registry.k8s.io to check that it exists" in found.help


@pytest.mark.parametrize("registry", ["gcr.io/google_containers", "gcr.io/google-containers", "k8s.gcr.io"])
def test_an_image_without_a_tag_is_not_moved_to_a_registry_that_requires_tags(check: Check, registry: str) -> None:
    found = only("retired-registry", check, {"pod.yaml": POD % f"{registry}/pause"})
    assert found.fix is None
    assert "add a tag" in found.help


# --- variables with conditions of their own

TIER = """
variable "tier" {
  type    = string
  default = "Free"
  validation {
    condition     = CONDITION
    error_message = "No."
  }
}
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = var.tier
  default_node_pool {
    name       = "system"
    node_count = 300
  }
}
"""


@pytest.mark.parametrize("condition", ['contains(["Free", "Paid"], var.tier)', 'var.tier != "Standard"'])
@pytest.mark.parametrize("more", [{}, {"terraform.tfvars": 'tier = "Free"\n'}], ids=["default", "tfvars"])
def test_a_value_that_its_variable_refuses_is_not_written(check: Check, condition: str, more: dict[str, str]) -> None:
    found = only("free-control-plane", check, {"main.tf": TIER.replace("CONDITION", condition), **more})
    assert found.fix is None
    where = 'tier = "Standard"' if more else 'default = "Standard" in variable "tier"'
    assert found.help == f'validation of var.tier refuses "Standard"; change it or upgrade the module, then set {where}'


@pytest.mark.parametrize("condition", ['contains(["Free", "Standard"], var.tier)', "var.tier != var.other", "oops("])
def test_a_value_that_its_variable_takes_or_may_take_is_written(check: Check, condition: str) -> None:
    code = TIER.replace("CONDITION", condition) + 'variable "other" {}\n'
    result = check({"main.tf": code}, LARGE)
    assert [f.fix is None for f in result.findings if f.rule == "free-control-plane"] in ([False], [])


def test_a_validation_in_a_called_module_prevents_a_fix_at_its_call(check: Check) -> None:
    module = TIER.replace("CONDITION", 'contains(["Free"], var.tier)')
    main = 'module "cluster" {\n  source = "./cluster"\n  tier   = "Free"\n}\n'
    found = only("free-control-plane", check, {"main.tf": main, "cluster/main.tf": module})
    assert "validation of var.tier of module.cluster refuses" in found.help


def test_a_validation_judges_a_part_of_a_variable_with_the_others(check: Check) -> None:
    code = """
    variable "clusters" {
      type    = map(object({ tier = optional(string, "Free"), nodes = number }))
      default = { train = { nodes = 300 } }
      validation {
        condition     = alltrue([for c in values(var.clusters) : c.tier == "Free" || c.nodes < 10])
        error_message = "No."
      }
    }
    resource "azurerm_kubernetes_cluster" "main" {
      for_each = var.clusters
      name     = each.key
      sku_tier = each.value.tier
      default_node_pool {
        name       = "system"
        node_count = each.value.nodes
      }
    }
    """
    assert "validation of var.clusters refuses" in only("free-control-plane", check, {"main.tf": code}).help


# --- images of nodes

EKS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}
resource "aws_launch_template" "gpu" {
  name = "gpu"
  TEMPLATE
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2_x86_64_GPU"
  instance_types  = ["p5.48xlarge"]
  LAUNCH
  scaling_config {
    min_size = 2
    max_size = 8
  }
}
"""
LAUNCH = "launch_template {\n    id      = ID\n    version = 1\n  }"
MODULE = """
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "VERSION"
  CLUSTER_name               = "train"
  subnet_ids = ["subnet-1"]
  eks_managed_node_groups = {
    gpu = {
      ami_type       = "AL2_x86_64_GPU"
      instance_types = ["p5.48xlarge"]
      min_size       = 2
      max_size       = 8
      MORE
    }
  }
}
"""
GROUP_MODULE = """
resource "aws_eks_cluster" "main" {
  name = "train"
}
module "gpu" {
  source         = "terraform-aws-modules/eks/aws//modules/eks-managed-node-group"
  version        = "VERSION"
  name           = "gpu"
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = ["subnet-1"]
  ami_type       = "AL2_x86_64_GPU"
  instance_types = ["p5.48xlarge"]
  min_size       = 2
  max_size       = 8
  MORE
}
"""
EKSCTL = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: eu-west-1}
managedNodeGroups:
  - name: gpu
    amiFamily: AmazonLinux2
    instanceType: p5.48xlarge
    minSize: 2
    maxSize: 8
    MORE
"""


def eks(template: str = "", id_: str = "aws_launch_template.gpu.id") -> dict[str, str]:
    return {"main.tf": EKS.replace("TEMPLATE", template).replace("LAUNCH", LAUNCH.replace("ID", id_))}


def module(version: str, more: str = "") -> dict[str, str]:
    prefix = "" if version == "~> 21.0" else "cluster_"
    return {"main.tf": MODULE.replace("VERSION", version).replace("CLUSTER_", prefix).replace("MORE", more)}


def group_module(version: str, more: str = "") -> dict[str, str]:
    return {"main.tf": GROUP_MODULE.replace("VERSION", version).replace("MORE", more)}


def eksctl(more: str = "") -> dict[str, str]:
    return {"cluster.yaml": EKSCTL.replace("MORE", more)}


BOOTS = [
    eks('user_data = base64encode("#!/bin/bash")'),
    eks("user_data = data.cloudinit_config.gpu.rendered"),
    eks(id_="var.template"),
    module("~> 19.0", 'pre_bootstrap_user_data = "sysctl -w net.core.somaxconn=4096"'),
    module("~> 20.0", 'bootstrap_extra_args = "--kubelet-extra-args --max-pods=110"'),
    module("~> 20.0", "enable_bootstrap_user_data = true"),
    module("~> 21.0", 'user_data_template_path = "boot.tpl"'),
    group_module("~> 20.0", 'post_bootstrap_user_data = "echo done"'),
    group_module("~> 21.0", "enable_bootstrap_user_data = true"),
    eksctl("preBootstrapCommands: [sysctl -p]"),
    eksctl("overrideBootstrapCommand: /etc/eks/bootstrap.sh train"),
    eksctl("launchTemplate: {id: lt-1}"),
]
PLAIN = [
    eks('instance_type = "p5.48xlarge"'),
    module("~> 19.0"),
    module("~> 21.0"),
    group_module("~> 20.0"),
    group_module("~> 21.0"),
    eksctl("kubeletExtraConfig: {maxPods: 110}"),
]


@pytest.mark.parametrize("files", BOOTS)
def test_a_node_image_is_not_changed_under_a_startup_script_for_another_image(
    check: Check, files: dict[str, str]
) -> None:
    found = only("retired-node-image", check, files)
    assert found.fix is None
    assert "a NodeConfig for nodeadm" in found.help


@pytest.mark.parametrize("files", PLAIN)
def test_a_node_image_is_changed_where_no_startup_script_depends_on_it(check: Check, files: dict[str, str]) -> None:
    assert only("retired-node-image", check, files).fix is not None


# --- nodes that are paid for anyway

TARGET = '{ capacity_reservation_target = { capacity_reservation_id = "cr-1" } }'
RESERVED = [
    eks("capacity_reservation_specification {\ncapacity_reservation_target {\ncapacity_reservation_id = R\n}\n}"),
    eks('instance_market_options {\nmarket_type = "capacity-block"\n}'),
    {"main.tf": eks()["main.tf"].replace("ami_type ", 'capacity_type = "CAPACITY_BLOCK"\n  ami_type ')},
    module("~> 20.0", f"capacity_reservation_specification = {TARGET}"),
    module("~> 21.0", f"capacity_reservation_specification = {TARGET}"),
    module("~> 20.0", 'instance_market_options = { market_type = "capacity-block" }'),
    module("~> 21.0", 'instance_market_options = { market_type = "capacity-block" }'),
    group_module("~> 20.0", f"capacity_reservation_specification = {TARGET}"),
    group_module("~> 21.0", 'instance_market_options = { market_type = "capacity-block" }'),
    eksctl("capacityReservation: {capacityReservationTarget: {capacityReservationID: cr-1}}"),
    eksctl("instanceMarketOptions: {marketType: capacity-block}"),
]
RESERVED[0]["main.tf"] = RESERVED[0]["main.tf"].replace("= R\n", "= aws_ec2_capacity_reservation.gpu.id\n")


def wastes(check: Check, files: Mapping[str, str]) -> bool:
    return "gpu-pool-never-empty" in {finding.rule for finding in check(files, LARGE).findings}


SUBSCRIBED = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name        = "train"
  vswitch_ids = ["vsw-1"]
}
resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id           = alicloud_cs_managed_kubernetes.main.id
  node_pool_name       = "gpu"
  instance_types       = ["ecs.gn7i-c32g1.8xlarge"]
  instance_charge_type = "CHARGE"
  scaling_config {
    min_size = 1
    max_size = 40
  }
}
"""


@pytest.mark.parametrize(("charge", "told"), [("PostPaid", True), ("PrePaid", False)])
def test_idle_subscription_nodes_are_not_reported_as_waste(check: Check, charge: str, *, told: bool) -> None:
    files = {"main.tf": SUBSCRIBED.replace("CHARGE", charge)}
    assert wastes(check, files) is told
    if told:
        assert only("gpu-pool-never-empty", check, files).message == "GPU pool gpu keeps 1 node when no job runs"


@pytest.mark.parametrize("files", RESERVED)
def test_idle_reserved_machines_of_aws_are_not_reported_as_waste(check: Check, files: dict[str, str]) -> None:
    assert not wastes(check, files)


@pytest.mark.parametrize("files", PLAIN)
def test_idle_unreserved_machines_of_aws_are_reported_as_waste(check: Check, files: dict[str, str]) -> None:
    assert wastes(check, files)


GKE_POOL = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "europe-west4"
  remove_default_node_pool = true
  initial_node_count       = 1
}
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name
  autoscaling {
    min_node_count = 1
    max_node_count = 8
  }
  node_config {
    machine_type = "a3-highgpu-8g"
    reservation_affinity {
      consume_reservation_type = "TYPE"
    }
  }
}
"""
GKE_MODULE = """
module "gke" {
  source     = "terraform-google-modules/kubernetes-engine/google"
  version    = "~> 36.0"
  name       = "train"
  region     = "europe-west4"
  node_pools = [{ name = "gpu", machine_type = "a3-highgpu-8g", min_count = 1, consume_reservation_type = "TYPE" }]
}
"""
AKS_POOL = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  default_node_pool {
    name = "system"
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 1
  max_count             = 8
  RESERVED
}
"""
AKS_MODULE = """
module "aks" {
  source  = "Azure/aks/azurerm"
  version = "~> 10.0"
  node_pools = {
    gpu = {
      name                = "gpu"
      vm_size             = "Standard_ND96isr_H100_v5"
      enable_auto_scaling = true
      min_count           = 1
      max_count           = 8
      RESERVED
    }
  }
}
"""
OF_GROUP = "capacity_reservation_group_id = azurerm_capacity_reservation_group.gpu.id"


@pytest.mark.parametrize("code", [GKE_POOL, GKE_MODULE])
@pytest.mark.parametrize(("kind", "paid"), [("SPECIFIC_RESERVATION", True), ("NO_RESERVATION", False)])
def test_idle_reserved_machines_of_google_are_not_reported_as_waste(
    check: Check, code: str, kind: str, *, paid: bool
) -> None:
    assert wastes(check, {"main.tf": code.replace("TYPE", kind)}) != paid


@pytest.mark.slow
@pytest.mark.parametrize("code", [AKS_POOL, AKS_MODULE])
@pytest.mark.parametrize("more", [OF_GROUP, ""])
def test_idle_reserved_machines_of_azure_are_not_reported_as_waste(check: Check, code: str, more: str) -> None:
    assert wastes(check, {"main.tf": code.replace("RESERVED", more)}) == (not more)


# --- providers of old

PIN = 'terraform {\n  required_providers {\n    PROVIDER = { source = "hashicorp/PROVIDER", version = "VERSION" }\n  }\n}\n'
BLOCK_PIN = 'provider "PROVIDER" {\n  version = "VERSION"\n}\n'
SHORT_PIN = 'terraform {\n  required_providers {\n    PROVIDER = "VERSION"\n  }\n}\n'
AZURE = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  TIER
  default_node_pool {
    name                = "system"
    enable_auto_scaling = true
    min_count           = 1
    max_count           = 300
  }
}
"""


def pinned(version: str, tier: str = "", pin: str = PIN) -> dict[str, str]:
    return {"main.tf": pin.replace("PROVIDER", "azurerm").replace("VERSION", version) + AZURE.replace("TIER", tier)}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (pinned("~> 2.46"), "azurerm is pinned below 3.0, which may not have sku_tier"),
        (pinned("~> 2.46", pin=BLOCK_PIN), "azurerm is pinned below 3.0"),
        (pinned("=1.44.0", pin=SHORT_PIN), "azurerm is pinned below 3.0"),
        (pinned("~> 3.40.0"), "azurerm is pinned below 3.46, which has other values"),
        (pinned("~> 3.40.0", 'sku_tier = "Free"'), "azurerm is pinned below 3.46, which has other values"),
        (pinned(">= 2.0, < 3.0", 'sku_tier = "Free"'), "azurerm is pinned below 3.46"),
        (pinned("~> 3.46.0"), ""),
        (pinned("~> 3.0"), ""),
        (pinned(">= 2.0"), ""),
        (pinned("~> 4.0"), ""),
        ({"main.tf": AZURE.replace("TIER", "")}, ""),
    ],
)
def test_a_fix_writes_nothing_an_old_provider_may_not_know(check: Check, files: dict[str, str], told: str) -> None:
    found = only("free-control-plane", check, files)
    assert (found.fix is None) == bool(told)
    assert told in found.help


def test_the_locked_version_of_a_provider_decides(check: Check) -> None:
    lock = (
        'provider "registry.terraform.io/hashicorp/azurerm" {\n  version     = "VERSION"\n  constraints = ">= 2.0"\n}\n'
    )
    for version, fixed in (("2.99.0", False), ("3.117.0", True)):
        files = {**pinned(">= 2.0"), ".terraform.lock.hcl": lock.replace("VERSION", version)}
        assert (only("free-control-plane", check, files).fix is not None) == fixed


def test_a_provider_pin_in_a_module_counts_for_its_root(check: Check) -> None:
    files = {
        "main.tf": AZURE.replace("TIER", "") + 'module "other" {\n  source = "./other"\n}\n',
        "other/versions.tf": PIN.replace("PROVIDER", "azurerm").replace("VERSION", "~> 2.0"),
    }
    assert "azurerm is pinned below 3.0" in only("free-control-plane", check, files).help


def test_an_absent_block_is_not_added_to_an_old_provider(check: Check) -> None:
    found = only("idle-nodes-kept-long", check, pinned("~> 1.40", pin=BLOCK_PIN))
    assert found.fix is None
    assert "azurerm is pinned below 3.0" in found.help


def test_a_written_value_is_fixed_with_an_old_provider(check: Check) -> None:
    code = GKE_POOL.replace("TYPE", "NO_RESERVATION")
    pin = PIN.replace("PROVIDER", "google").replace("VERSION", "~> 3.90")
    assert only("gpu-pool-never-empty", check, {"main.tf": pin + code}).fix is not None


@pytest.mark.parametrize(
    ("version", "spelling"),
    [
        ("~> 3.100.0", "ebpf_data_plane"),
        ("~> 3.108.0", "network_data_plane"),
        ("~> 4.0", "network_data_plane"),
        (">= 3.0", "network_"),
    ],
)
def test_an_absent_attribute_is_spelled_as_the_pinned_provider_does(
    write: Callable[[Mapping[str, str]], object], version: str, spelling: str
) -> None:
    profile = 'sku_tier = "Standard"\n  network_profile {\n    network_plugin      = "azure"\n    network_plugin_mode = "overlay"\n  }'
    write(pinned(version, profile))
    (cluster,) = reader.read(Tree(["."]), Config()).inventory.clusters
    assert cluster.data_plane.origin is not None
    assert cluster.data_plane.origin.missing is not None
    assert cluster.data_plane.origin.missing.path[-1].startswith(spelling)


# --- disks and zones

DISK = """
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1-a"
  remove_default_node_pool = true
  initial_node_count       = 1
}
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = google_container_cluster.train.name
  autoscaling {
    max_node_count = 200
  }
  node_config {
    machine_type = MACHINE
    disk_type    = "pd-standard"
  }
}
"""
ACK_DISK = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name = "train"
}
resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id           = alicloud_cs_managed_kubernetes.main.id
  node_pool_name       = "gpu"
  instance_types       = [MACHINE]
  system_disk_category = "cloud_efficiency"
  scaling_config {
    min_size = 0
    max_size = 600
  }
}
"""


@pytest.mark.parametrize(
    ("code", "machine", "fixed"),
    [
        (DISK, '"n2-standard-8"', True),
        (DISK, '"a3-highgpu-8g"', True),
        (DISK, '"n4-standard-8"', False),
        (DISK, '"c4a-standard-8"', False),
        (DISK, '"a3-ultragpu-8g"', False),
        (DISK, "var.machine", False),
        (ACK_DISK, '"ecs.gn7i-c8g1.2xlarge"', True),
        (ACK_DISK, '"ecs.gn5-c8g1.2xlarge"', False),
    ],
)
def test_a_boot_disk_is_written_only_if_the_machine_supports_it(
    check: Check, code: str, machine: str, *, fixed: bool
) -> None:
    found = only("slow-boot-disk", check, {"main.tf": code.replace("MACHINE", machine) + 'variable "machine" {}\n'})
    assert (found.fix is not None) == fixed
    assert fixed or "choose a disk type" in found.help


@pytest.mark.parametrize("policy", ["", 'placement_policy {\n    type = "COMPACT"\n  }'])
def test_spreading_over_zones_is_withheld_from_a_compact_pool(check: Check, policy: str) -> None:
    code = GKE_POOL.replace("TYPE", "NO_RESERVATION").replace(
        "  node_config {", f"  {policy}\n  node_config {{\n    spot = true"
    )
    found = only("spot-location-policy", check, {"main.tf": code})
    assert (found.fix is None) == bool(policy)
    assert not policy or "the placement policy (COMPACT)" in found.help


# --- what the provider refuses beside something else

OUTBOUND = """
resource "azurerm_public_ip" "out" {
  count = 3
}

resource "azurerm_kubernetes_cluster" "c" {
  name     = "c"
  sku_tier = "Standard"

  default_node_pool {
    name       = "p"
    node_count = 400
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "100.64.0.0/12"

    load_balancer_profile {
      outbound_ip_address_ids  = azurerm_public_ip.out[*].id
      outbound_ports_allocated = 1000
    }
  }
}
"""


def test_help_asks_for_more_public_addresses_in_a_list(check: Check) -> None:
    found = only("snat-ports-exhausted", check, {"main.tf": OUTBOUND}, Config())
    assert found.fix is None
    assert found.help.startswith("add public addresses to outbound_ip_address_ids until there are 7")


NAMED_SERVICES = """
resource "google_container_cluster" "c" {
  name                     = "c"
  location                 = "us-central1"
  remove_default_node_pool = true
  initial_node_count       = 1

  ip_allocation_policy {
    services_secondary_range_name = "services"
    SIZE
  }
}

resource "google_container_node_pool" "p" {
  name       = "p"
  cluster    = google_container_cluster.c.name
  node_count = 500
}
"""


def test_attribute_is_not_added_next_to_a_conflicting_one(check: Check) -> None:
    code = NAMED_SERVICES.replace("SIZE", "")
    found = only("pod-range-too-small", check, {"main.tf": code}, Config())
    assert found.fix is None
    assert found.help.startswith("remove services_secondary_range_name first: it excludes cluster_ipv4_cidr_block; ")


def test_help_names_the_attributes_that_a_missing_block_needs(check: Check) -> None:
    code = OUTBOUND[: OUTBOUND.index("  network_profile")] + "}\n"
    found = only("pod-range-too-small", check, {"main.tf": code}, Config())
    assert found.fix is None
    assert found.help.startswith('set network_plugin = "azure" in network_profile and network_plugin_mode = "overlay"')
    assert ": pod_cidr needs it; add pod_cidr = " in found.help


def test_an_attribute_is_not_added_beside_a_computed_one_that_it_depends_on(check: Check) -> None:
    code = OUTBOUND.replace('= "azure"', '= var.overlay ? "azure" : "kubenet"').replace(
        "100.64.0.0/12", "10.244.0.0/16"
    )
    code = (
        code.replace('    pod_cidr            = "10.244.0.0/16"\n', "") + 'variable "overlay" {\n  default = true\n}\n'
    )
    found = only("pod-range-too-small", check, {"main.tf": code}, Config())
    assert found.fix is None
    assert found.help.startswith(
        "network_plugin is computed, and pod_cidr may not suit all its values; add pod_cidr = "
    )


def test_a_job_with_the_flat_fields_of_the_archived_operator_gets_no_run_policy(check: Check) -> None:
    roles = (
        "pytorchReplicaSpecs: {Worker: {replicas: 4, template: {spec: {containers: [{name: pytorch, image: 'a:1'}]}}}}"
    )
    job = f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec:\n  FLAT\n  {roles}\n"
    flat, nested = (
        only("job-never-cleaned", check, {"job.yaml": job.replace("FLAT", own)}, Config())
        for own in ("cleanPodPolicy: None", "runPolicy: {cleanPodPolicy: None}")
    )
    assert flat.fix is None
    assert flat.help.startswith("move cleanPodPolicy, backoffLimit and the deadline from spec into runPolicy first")
    assert nested.fix is not None


def test_nothing_is_added_to_a_resource_without_settings(check: Check) -> None:
    stub = 'resource "azurerm_kubernetes_cluster" "c" {\n  # imported\n  lifecycle {\n    ignore_changes = [tags]\n  }\n}\n'
    found = only("free-control-plane", check, {"main.tf": stub})
    assert found.fix is None
    assert found.help.startswith("Not fixed: the resource has no settings in the code\n")


def test_a_pool_of_aks_is_not_filled_so_that_an_upgrade_has_no_room(check: Check) -> None:
    pool = "name = 'p'\n    auto_scaling_enabled = true\n    min_count = 1\n    max_count = 100\n".replace("'", '"')
    code = f'resource "azurerm_kubernetes_cluster" "c" {{\n  sku_tier = "Standard"\n  default_node_pool {{\n    {pool}  }}\n}}\n'
    found = only("pool-ends-below-target", check, {"main.tf": code})
    assert found.fix is None
    assert found.help.startswith("add a pool: one of AKS holds 1,000 nodes with the 100 that an upgrade adds")
    assert only("pool-ends-below-target", check, {"main.tf": code}, Config(nodes={"": 200})).fix is not None


# --- values that nobody would read

TYPED = """
variable "pools" {
  type = list(object({
    name      = string
    OPTIONAL
  }))
}

resource "google_container_cluster" "main" {
  name     = "train"
  location = "us-central1"
}

resource "google_container_node_pool" "gpu" {
  for_each = { for one in var.pools : one.name => one }
  name     = each.key
  cluster  = google_container_cluster.main.name

  autoscaling {
    min_node_count = lookup(each.value, "min_count", 1)
    max_node_count = 20
  }

  node_config {
    machine_type = "g2-standard-24"
  }
}
"""


@pytest.mark.parametrize(("optional", "fixed"), [("", False), ("min_count = optional(number, 1)", True)])
def test_an_attribute_dropped_by_the_type_of_a_variable_is_not_written(
    check: Check, optional: str, *, fixed: bool
) -> None:
    files = {"main.tf": TYPED.replace("OPTIONAL", optional), "terraform.tfvars": 'pools = [{ name = "gpu" }]\n'}
    found = only("gpu-pool-never-empty", check, files)
    assert (found.fix is not None) is fixed
    assert ("the variable's type must have the attribute, too; add min_count = 0" in found.help) is not fixed


def test_a_text_field_read_by_an_expression_is_not_renamed(check: Check) -> None:
    """A fix would replace the expression by the right name."""
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: serve}\nspec:\n  ports: [{port: 80, target-port: 80}]\n"
    manifest = 'resource "kubernetes_manifest" "serve" {\n  for_each = toset([file("serve.tpl")])\n  manifest = yamldecode(each.value)\n}\n'
    found = only("unknown-field", check, {"main.tf": manifest, "serve.tpl": text})
    assert found.fix is None
    assert found.help == "correct the name or its indentation, or remove it"


def test_help_asks_to_raise_the_reservation_with_the_pool(check: Check) -> None:
    cluster = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-east-1, version: "1.36"}
managedNodeGroups:
  - name: gpu
    instanceType: p5.48xlarge
    minSize: 0
    maxSize: 10
    capacityReservation:
      capacityReservationTarget: {capacityReservationID: cr-0123456789abcdef0}
"""
    found = only("pool-ends-below-target", check, {"cluster.yaml": cluster})
    assert found.fix is None
    assert "reserve more machines first: those of pool gpu come from" in found.help


@pytest.mark.parametrize(
    ("module", "fixed"),
    [
        ('source = "cloudposse/eks-node-group/aws"\n  version = "2.4.0"\n  cluster_name = aws_eks_cluster.a.name\n  ami_type = "AL2_x86_64"', False),
        ('source = "cloudposse/eks-node-group/aws"\n  version = "3.1.0"\n  cluster_name = aws_eks_cluster.a.name\n  ami_type = "AL2_x86_64"', True),
        ('source = "terraform-aws-modules/eks/aws"\n  version = "17.23.0"\n  node_groups_defaults = { ami_type = "AL2_x86_64" }\n  node_groups = { a = {} }', False),
        ('source = "terraform-aws-modules/eks/aws"\n  version = "17.23.0"\n  node_groups = { a = { ami_type = "AL2_x86_64" } }', False),
    ],
)  # fmt: skip
def test_an_image_that_a_module_does_not_know_is_not_written(module: str, fixed: bool, check: Check) -> None:
    common = (
        'subnet_ids = ["subnet-1"]\n  min_size = 0\n  max_size = 2\n  desired_size = 0'
        if "cloudposse" in module
        else ""
    )
    cluster = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\n'
    found = only("retired-node-image", check, {"main.tf": f'{cluster}module "a" {{\n  {module}\n  {common}\n}}\n'})
    assert (found.fix is not None) is fixed
    assert ("upgrade the module, then set ami_type" in found.help) is not fixed


MPI = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: tune}
spec:
  runPolicy:
    cleanPodPolicy: None COMMENT
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: a, image: quay.io/example/mpi:2}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: a, image: quay.io/example/mpi:2, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("# keep cluster alive to inspect results", "keep cluster alive to inspect results"),
        ("# CI workaround", "CI workaround"),
        ("# Keep them", "Keep them"),
        ("", ""),
        ("# see below", ""),
        ("# renovate: some mark of a tool", ""),
        ("# cleanPodPolicy is None by default", ""),
        ("# the value of the chart", ""),
    ],
)
def test_a_value_with_a_reason_in_a_comment_stays(comment: str, reason: str, check: Check) -> None:
    found = only("idle-workers-after-launcher", check, {"job.yaml": MPI.replace("COMMENT", comment)})
    assert (found.fix is None) is bool(reason)
    if reason:
        assert found.help.splitlines() == [
            f"Not fixed: a comment gives the reason for the value: {reason}",
            "set cleanPodPolicy: Running if that no longer holds",
        ]


def test_a_value_with_a_reason_where_it_is_used_stays(check: Check) -> None:
    code = SMALL_GROUP.replace("max_size     = 60", "max_size     = var.most # all that we reserved") + MOST
    found = only("pool-ends-below-target", check, {"main.tf": code}, Config(nodes={"": 100}))
    assert found.help.startswith("Not fixed: a comment gives the reason for the value: all that we reserved\n")


MOST = 'variable "most" {\n  default = 60\n}\n'


@pytest.mark.parametrize(
    ("above", "reason"),
    [
        ("    # keep it, because we look at the results\n", "keep it, because we look at the results"),
        (
            "    # keep pods:\n    # the pod policy should be none\n    backoffLimit: 1\n",
            "the pod policy should be none",
        ),
        ("    # No shutdown by default - simplifies debugging\n", "No shutdown by default - simplifies debugging"),
        ("    # left on for simplicity\n", "left on for simplicity"),
        ("    # the retries should be few\n    backoffLimit: 1\n", ""),
        ("    # the pod policy should be none\n\n", ""),
        ("    # whether its cluster goes\n", ""),
    ],
)
def test_a_value_with_a_reason_above_it_stays(above: str, reason: str, check: Check) -> None:
    text = MPI.replace("COMMENT", "").replace("    clean", f"{above}    clean")
    found = only("idle-workers-after-launcher", check, {"job.yaml": text})
    assert (found.fix is None) is bool(reason)
    assert not reason or f"a comment gives the reason for the value: {reason}" in found.help


SMALL_GROUP = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "jobs" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["c6i.16xlarge"]

  scaling_config {
    min_size     = 0
    max_size     = 60
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("  scaling_config {", "  # To be deleted when empty\n  scaling_config {", True),
        ("    max_size", "    # deprecated, see the other group\n    max_size", True),
        ("  scaling_config {", "  # sizes of the group\n  scaling_config {", False),
        ("    min_size", "    # a deprecated size\n    min_size", False),
    ],
)
def test_what_a_comment_says_is_to_go_is_not_changed(before: str, after: str, kept: bool, check: Check) -> None:
    code = SMALL_GROUP.replace(before, after, 1)
    found = only("pool-ends-below-target", check, {"main.tf": code}, Config(nodes={"": 450}))
    assert (found.fix is None) is kept


DESCRIBED = """
variable "most" {
  default     = 60
  description = <<-EOT
  Largest size of the group.

  Defaults to 60REST
  EOT
}
"""


@pytest.mark.parametrize(("rest", "kept"), [(", as that is what we pay for.", True), (".", False), ("", False)])
def test_a_default_with_a_reason_in_its_description_stays(rest: str, kept: bool, check: Check) -> None:
    code = SMALL_GROUP.replace("= 60", "= var.most") + DESCRIBED.replace("REST", rest)
    found = only("pool-ends-below-target", check, {"main.tf": code}, Config(nodes={"": 450}))
    assert (found.fix is None) is kept
    if kept:
        assert "its description gives the reason for the default: as that is what we pay for." in found.help
    else:
        assert [(one.span.text, one.text) for one in edit.edits(found.changes)] == [("60", "450")] * 2


def test_a_default_below_a_description_is_changed_once(check: Check) -> None:
    variable = 'variable "most" {\n  description = "Largest size"\n  default = 60\n}\n'
    code = SMALL_GROUP.replace("= 60", "= var.most") + variable
    found = only("pool-ends-below-target", check, {"main.tf": code}, Config(nodes={"": 450}))
    assert [(one.span.text, one.text) for one in edit.edits(found.changes)] == [("60", "450")]


@pytest.mark.parametrize(("nodes", "fixed"), [(450, True), (451, False)])
def test_no_maximum_above_the_quota_is_written(nodes: int, fixed: bool, check: Check) -> None:
    found = only("pool-ends-below-target", check, {"main.tf": SMALL_GROUP}, Config(nodes={"": nodes}))
    assert (found.fix is not None) is fixed
    assert fixed or "a managed node group holds 450 nodes until then" in found.help


def test_the_fix_for_aks_upgrades_writes_a_percentage(check: Check) -> None:
    """A number that suits the target would be too many nodes for the present pool."""
    code = """
resource "azurerm_kubernetes_cluster" "main" {
  name               = "train"
  sku_tier           = "Standard"
  kubernetes_version = "1.29"

  default_node_pool {
    name       = "system"
    min_count  = 1
    max_count  = 3

    auto_scaling_enabled = true
    upgrade_settings {
      max_surge = "1"
    }
  }
}
"""
    found = only("slow-upgrades", check, {"main.tf": code}, Config(nodes={"": 150}))
    assert found.fix is not None
    assert found.fix.title == 'set max_surge = "10%"'


@pytest.mark.parametrize(("most", "fixed"), [(150, True), (3, False)])
def test_the_fix_for_gke_upgrades_depends_on_the_pool_size(most: int, fixed: bool, check: Check) -> None:
    code = f"""
resource "google_container_cluster" "main" {{
  name     = "train"
  location = "us-central1-a"
}}

resource "google_container_node_pool" "jobs" {{
  name    = "jobs"
  cluster = google_container_cluster.main.name

  autoscaling {{
    max_node_count = {most}
  }}

  node_config {{
    machine_type = "n2-standard-8"
  }}
}}
"""
    found = only("slow-upgrades", check, {"main.tf": code}, Config(nodes={"": 900}))
    assert (found.fix is not None) is fixed
    assert fixed or "today it ends at 3" in found.help


def test_a_small_eks_group_gets_no_fixed_upgrade_number(check: Check) -> None:
    update = "  update_config {\n    max_unavailable = 1\n  }\n"
    group = SMALL_GROUP.replace("  scaling_config", f"{update}\n  scaling_config")
    found = only("slow-upgrades", check, {"main.tf": group}, Config(nodes={"": 450}))
    assert found.fix is None
    assert "today it ends at 60" in found.help


def test_a_fix_writes_no_function_call_into_a_variable_default(check: Check) -> None:
    code = """
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "~> 21.0"
  name               = "main"
  kubernetes_version = "1.36"
  subnet_ids         = ["subnet-1"]
  addons             = { coredns = var.coredns_options }

  eks_managed_node_groups = {
    default = { max_size = 300, instance_types = ["m6i.large"] }
  }
}

variable "coredns_options" {
  type    = any
  default = {}
}
"""
    found = only("dns-not-scaled", check, {"main.tf": code}, Config())
    assert found.fix is None
    assert found.help.startswith("the default of a variable takes no jsonencode(...); add autoScaling")
    (written,) = (one for one in check({"main.tf": code.replace("var.coredns_options", "{}")}, Config()).findings
                  if one.rule == "dns-not-scaled")  # fmt: skip
    assert written.fix is not None


GROWING = """
resource "google_container_cluster" "main" {
  name              = "train"
  location          = "us-central1-a"
  cluster_ipv4_cidr = "CIDR"
}

resource "google_container_node_pool" "main" {
  name    = "main"
  cluster = google_container_cluster.main.name

  autoscaling {
    min_node_count = 0
    max_node_count = 16
  }

  node_config {
    machine_type = "MACHINE"
  }
  MORE
}
"""
SLICE = 'placement_policy {\n    type         = "COMPACT"\n    tpu_topology = "TOPOLOGY"\n  }'


@pytest.mark.parametrize(
    ("cidr", "machine", "topology", "told"),
    [
        ("10.0.0.0/19", "e2-standard-8", "", "widen 10.0.0.0/19 first, which is full at 31 of 1,000 nodes; then set a maximum of 1,000"),
        ("10.0.0.0/12", "e2-standard-8", "", ""),
        ("10.0.0.0/12", "ct5lp-hightpu-4t", "4x16", "add pools of 16 nodes: pool main is one TPU slice of 4x16, which gets no more"),
        ("10.0.0.0/12", "ct5lp-hightpu-4t", "2x4", "add pools of 16 nodes"),
        ("10.0.0.0/12", "ct5lp-hightpu-8t", "2x4", ""),
        ("10.0.0.0/12", "ct5lp-hightpu-4t", "2x2", ""),
    ],
)  # fmt: skip
def test_a_pool_maximum_grows_only_if_its_nodes_can_start(
    cidr: str, machine: str, topology: str, told: str, check: Check
) -> None:
    text = GROWING.replace("CIDR", cidr).replace("MACHINE", machine)
    text = text.replace("MORE", SLICE.replace("TOPOLOGY", topology) if topology else "")
    found = only("pool-ends-below-target", check, {"main.tf": text})
    assert (found.fix is None) is bool(told)
    assert told in found.help


@pytest.mark.parametrize(("chart", "scaled"), [("cluster-autoscaler", True), ("prometheus", False)])
def test_a_pool_minimum_stays_if_nothing_removes_nodes(chart: str, scaled: bool, check: Check) -> None:
    group = EKS_GROUP.replace("LINE", "").replace("min_size     = 0", "min_size     = 1")
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    release = 'resource "helm_release" "a" {\n  name = "a"\n  chart = "NAME"\n  repository = "https://example.com/charts"\n}\n'
    found = only("gpu-pool-never-empty", check, {"main.tf": cluster + group + release.replace("NAME", chart)})
    assert (found.fix is not None) is scaled
    assert ("or install an autoscaler" in found.help) is not scaled


@pytest.mark.parametrize("off", ["# taints = [", "// taints {", "  #taints = [{"])
def test_attributes_that_are_commented_out_are_not_added(off: str, check: Check) -> None:
    cluster = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    group = EKS_GROUP.replace("LINE", off.replace("taints", "taint"))
    found = only("gpu-pool-untainted", check, {"main.tf": cluster + group})
    assert found.fix is None
    assert "the author has commented taint out here" in found.help
    assert only("gpu-pool-untainted", check, {"main.tf": cluster + EKS_GROUP.replace("LINE", "# no key")}).fix


def test_a_group_with_its_own_bootstrap_script_gets_no_terraform_argument(check: Check) -> None:
    groups = '{\n  gpu = { instance_type = "g5.xlarge", max_size = 2 }\n  }'
    pools = "eks_managed_node_groups = { system = { min_size = 2, max_size = 2 } }"
    module = f"""module "eks" {{
  source                   = "terraform-aws-modules/eks/aws"
  version                  = "~> 20.8"
  cluster_name             = "train"
  self_managed_node_groups = {groups}
  {pools}
}}
"""
    found = only("gpu-pool-untainted", check, {"main.tf": module})
    assert found.fix is None
    assert "--register-with-taints" in found.help


EKS_GROUP = """
resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["g5.xlarge"]
  LINE
  scaling_config {
    min_size     = 0
    max_size     = 2
    desired_size = 0
  }
}
resource "aws_eks_node_group" "system" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["m5.large"]
  scaling_config {
    min_size     = 2
    max_size     = 2
    desired_size = 2
  }
}
"""


GROUP = """
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "a" {
  vpc_id            = aws_vpc.main.id
  cidr_block        = "10.0.0.0/PREFIX"
  availability_zone = "us-east-1a"
}

resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "a" {
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = [aws_subnet.a.id]
  instance_types = ["m6i.large"]

  scaling_config {
    min_size     = 0
    max_size     = 1000
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize(("prefix", "fixed"), [("24", False), ("17", True)])
def test_a_larger_surge_needs_a_wider_subnet_first(prefix: str, fixed: bool, check: Check) -> None:
    """100 surge nodes with 20 addresses each would fill a /24 before the first node."""
    found = only("slow-upgrades", check, {"main.tf": GROUP.replace("PREFIX", prefix)})
    assert (found.fix is not None) == fixed
    assert fixed or found.help.startswith("widen 10.0.0.0/24 first, which is full at 10 of 1,000 nodes")


BASIC = """
resource "alicloud_cs_managed_kubernetes" "main" {
  name         = "train"
  cluster_spec = "SPEC"
}

resource "alicloud_cs_kubernetes_node_pool" "gpu" {
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  instance_types = ["ecs.g6.xlarge"]

  scaling_config {
    min_size = 0
    max_size = 10
  }
}
"""
FREE = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "SPEC"

  default_node_pool {
    name                 = "system"
    vm_size              = "Standard_D8s_v5"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 10
  }
}
"""


@pytest.mark.parametrize(
    ("code", "small", "large", "nodes"),
    [
        (BASIC, "ack.standard", "ack.pro.small", 100),
        (FREE, "Free", "Standard", 1200),
    ],
)
def test_a_larger_maximum_needs_the_larger_edition_first(
    code: str, small: str, large: str, nodes: int, check: Check
) -> None:
    config = Config(nodes={"": nodes})
    found = only("pool-ends-below-target", check, {"main.tf": code.replace("SPEC", small)}, config)
    assert found.fix is None
    assert f'= "{large}" first' in found.help
    found = only("pool-ends-below-target", check, {"main.tf": code.replace("SPEC", large)}, config)
    assert "first: " not in (found.help or "")


# --- taints

EKSCTL = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-east-1, version: "1.35"}
managedNodeGroups:
  - name: gpu
    instanceType: p5.48xlarge
    desiredCapacity: 8
    efaEnabled: EFA
  - name: system
    instanceType: m6i.large
    desiredCapacity: 2
"""


def test_nodes_with_efa_are_not_tainted_by_a_fix(check: Check) -> None:
    """The EFA device plugin tolerates no GPU taint, so jobs would wait for interfaces that no node offers."""
    assert only("gpu-pool-untainted", check, {"a.yaml": EKSCTL.replace("EFA", "false")}).fix is not None
    found = only("gpu-pool-untainted", check, {"a.yaml": EKSCTL.replace("efaEnabled: EFA", "efaEnabled: true")})
    assert found.fix is None
    assert "its toleration to the EFA device plugin" in found.help


# --- modules that kcheck knows in outline

ADDONS = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "cpu" {
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = ["subnet-1"]
  instance_types = ["m6i.large"]

  scaling_config {
    min_size     = 0
    max_size     = 600
    desired_size = 0
  }
}

module "addons" {
  source  = "aws-ia/eks-blueprints-addons/aws"
  version = "~> 1.16"

  cluster_name              = aws_eks_cluster.main.name
  cluster_version           = "1.35"
  enable_cluster_autoscaler = true
}
"""


def test_nobody_is_sent_to_kchecks_own_outline_of_a_module(check: Check) -> None:
    found = only("delay-after-failure", check, {"main.tf": ADDONS})
    assert found.fix is None
    assert found.help.startswith("add extraArgs.scale-down-delay-after-failure: 1m in the module call, if")


# --- sizes that a target does not reach

FIXED = """
resource "google_container_cluster" "main" {
  name = "train"
}

resource "google_container_node_pool" "cpu" {
  cluster    = google_container_cluster.main.name
  node_count = 4

  node_config {
    machine_type = "n2-standard-8"
    disk_type    = "pd-standard"
  }
}
"""


def test_disks_are_not_changed_for_nodes_that_a_pool_cannot_have(check: Check) -> None:
    found = only("slow-boot-disk", check, {"main.tf": FIXED})
    assert (found.fix, found.help) == (None, "raise its maximum of 4 first: today's nodes do not need it")
    size = "autoscaling {\n    total_max_node_count = 1000\n  }"
    assert only("slow-boot-disk", check, {"main.tf": FIXED.replace("node_count = 4", size)}).fix is not None


INSTANCES = """
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "awscc_sagemaker_cluster" "main" {
  orchestrator = {
    eks = {
      cluster_arn = aws_eks_cluster.main.arn
    }
  }
  instance_groups = [{
    instance_group_name = "gpu"
    instance_type       = "ml.p5.48xlarge"
    instance_count      = 2
  }]
}
"""


def test_a_count_that_starts_all_nodes_is_not_raised_to_the_target(check: Check) -> None:
    found = only("pool-ends-below-target", check, {"main.tf": INSTANCES}, Config(nodes={"": 200}))
    assert found.fix is None
    assert "a fixed size starts all nodes" in found.help


# --- not worth it at this size, or too much for a quota


def test_a_small_cluster_keeps_its_control_plane(check: Check) -> None:
    code = ZONAL.replace("OWN", LITERAL).replace("POOL", LITERAL).replace("800", "8")
    found = only("zonal-control-plane", check, {"main.tf": code}, Config())
    assert found.fix is None
    assert "not worth another cluster" in found.help


ONE_GATEWAY = """
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "~> 6.0"
  cidr               = "10.0.0.0/16"
  azs                = ["eu-west-1a", "eu-west-1b"]
  private_subnets    = ["10.0.0.0/19", "10.0.32.0/19"]
  public_subnets     = ["10.0.96.0/24", "10.0.97.0/24"]
  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source     = "terraform-aws-modules/eks/aws"
  version    = "~> 21.0"
  name       = "train"
  subnet_ids = module.vpc.private_subnets

  eks_managed_node_groups = {
    jobs = { instance_types = ["c6i.16xlarge"], min_size = 0, SIZE }
  }
}

resource "helm_release" "autoscaler" {
  name       = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
}
"""


@pytest.mark.parametrize(("nodes", "fixed"), [(100, False), (101, True)])
def test_few_nodes_share_one_nat_gateway(nodes: int, fixed: bool, check: Check) -> None:
    code = ONE_GATEWAY.replace("SIZE", f"max_size = {nodes}")
    found = only("single-nat-gateway", check, {"main.tf": code}, Config())
    assert (found.fix is not None) is fixed
    assert fixed or "each further gateway costs its hours" in found.help


@pytest.mark.parametrize(("nodes", "fixed"), [(450, True), (451, False)])
def test_no_maximum_above_the_quota_replaces_a_default(nodes: int, fixed: bool, check: Check) -> None:
    code = ONE_GATEWAY.replace(", SIZE", "")
    found = only("pool-capped-by-default", check, {"main.tf": code}, Config(nodes={"": nodes}))
    assert (found.fix is not None) is fixed
    assert fixed or "request a higher quota first" in found.help


PULLED = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 64
  template:
    spec:
      containers: [{name: train, image: "registry.example.com/train:TAG", imagePullPolicy: Always}]
"""


@pytest.mark.parametrize(
    ("tag", "fixed"),
    [
        ("1.4", True),
        ("v2.8.0-cuda12", True),
        ("42", True),
        ("run-2026-11-30", True),
        ("gpu-4f9e2d1", True),
        ("efa-main-02-13", False),
        ("gpu-2", False),
        ("prod", False),
    ],
)
def test_only_tags_that_stay_are_not_asked_for_again(tag: str, fixed: bool, check: Check) -> None:
    found = [one for one in check({"job.yaml": PULLED.replace("TAG", tag)}, Config()).findings if one.fix]
    assert ("image-pulled-every-start" in [one.rule for one in found]) is fixed


# --- ranges that are not free

BESIDE = """
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

locals {
  network = "10.0.0.0/16"
  nodes   = "10.0.0.0/24"
  others  = "OTHERS"
}

resource "aws_subnet" "nodes" {
  vpc_id     = aws_vpc.main.id
  cidr_block = local.nodes
}

resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "jobs" {
  cluster_name   = aws_eks_cluster.main.name
  subnet_ids     = [aws_subnet.nodes.id]
  instance_types = ["m5.large"]

  scaling_config {
    min_size     = 0
    max_size     = 30
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize(("others", "fixed"), [("10.0.1.0/24", False), ("10.0.128.0/24", True)])
def test_a_range_written_beside_the_old_one_is_not_taken(others: str, fixed: bool, check: Check) -> None:
    found = only("subnet-too-small", check, {"main.tf": BESIDE.replace("OTHERS", others)}, Config())
    assert (found.fix is not None) is fixed
    assert fixed or "overlaps 10.0.1.0/24, which is written beside 10.0.0.0/24" in found.help


MOVED = """
module "vpc" {
  source          = "terraform-aws-modules/vpc/aws"
  version         = "~> 6.0"
  cidr            = "10.10.0.0/16"
  azs             = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
  private_subnets = ["10.10.8.0/21", "10.10.16.0/21", "10.10.24.0/21"]
  public_subnets  = ["10.10.128.0/21", "10.10.136.0/21", "10.10.144.0/21"]
}

module "eks" {
  source     = "terraform-aws-modules/eks/aws"
  version    = "~> 21.0"
  name       = "train"
  subnet_ids = module.vpc.private_subnets

  eks_managed_node_groups = {
    jobs = { instance_types = ["m5.large"], min_size = 0, max_size = SIZE }
  }
}
"""


@pytest.mark.parametrize(("nodes", "fixed"), [(900, True), (1500, False)])
def test_no_range_is_taken_that_the_same_apply_destroys(nodes: int, fixed: bool, check: Check) -> None:
    found = only("subnet-too-small", check, {"main.tf": MOVED.replace("SIZE", str(nodes))}, Config())
    assert (found.fix is not None) is fixed


@pytest.mark.parametrize(
    ("beside", "fixed"), [("service_cidr = var.services", False), ('service_cidr = "10.0.0.0/16"', True)]
)
def test_no_value_is_written_where_variables_give_the_like(beside: str, fixed: bool, check: Check) -> None:
    code = f"""
variable "services" {{
  default = "10.0.0.0/16"
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
  location = "westeurope"
  sku_tier = "Standard"

  default_node_pool {{
    name       = "system"
    vm_size    = "Standard_D4s_v5"
    node_count = 300
  }}

  network_profile {{
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    {beside}
  }}
}}
"""
    found = only("pod-range-too-small", check, {"main.tf": code}, Config())
    assert (found.fix is not None) is fixed
    assert fixed or "a variable gives service_cidr here" in found.help
