"""Test images over many manifests: counted once per cluster, with mirrors and caches that the code makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.report import text
from kcheck.report.formats import Report
from kcheck.scale.walls import find_walls

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from kcheck.scale.walls.model import Wall
    from kcheck.text.findings import Finding
    from tests.conftest import Check


pytestmark = pytest.mark.medium

JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  parallelism: {pods}
  template:
    spec:
      containers:
        - name: main
          image: {image}
"""
AKS = """resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    node_count = 400
  }
}
"""
GKE = """resource "google_container_cluster" "main" {{
  name     = "train"
  location = "us-central1-a"

  private_cluster_config {{
    enable_private_nodes = true
  }}
}}

resource "google_container_node_pool" "cpu" {{
  name    = "cpu"
  cluster = google_container_cluster.main.name

  autoscaling {{
    total_min_node_count = 0
    total_max_node_count = 400
  }}

  node_config {{
    machine_type = "n2-standard-32"
{config}  }}
}}
"""
ACK = """resource "alicloud_cs_managed_kubernetes" "main" {{
  name         = "train"
  cluster_spec = "ack.pro.small"
}}

resource "alicloud_cs_kubernetes_node_pool" "cpu" {{
  node_pool_name = "cpu"
  cluster_id     = alicloud_cs_managed_kubernetes.main.id
  instance_types = ["ecs.g7.16xlarge"]

  scaling_config {{
    min_size = 0
    max_size = 400
  }}
{config}}}
"""
EKS = """resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_launch_template" "cpu" {{
  user_data = base64encode({data})
}}

resource "aws_eks_node_group" "cpu" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "cpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["c6i.16xlarge"]

  launch_template {{
    id      = aws_launch_template.cpu.id
    version = "1"
  }}

  scaling_config {{
    min_size     = 0
    max_size     = 400
    desired_size = 0
  }}
}}
"""


def job(image: str, name: str = "train", pods: int = 400) -> str:
    return JOB.format(image=image, name=name, pods=pods)


def walls_of(result: Result) -> list[Wall]:
    return [wall for cluster in result.world.inventory.clusters for wall in find_walls(cluster, result.world)]


def hub(result: Result) -> list[Finding]:
    assert not result.bugs
    return [finding for finding in result.findings if finding.rule == "docker-hub-image"]


def test_an_image_is_reported_once_per_cluster_with_all_places(check: Check) -> None:
    files = {f"team{i}.yaml": job("ubuntu:24.04", f"job{i}", 300 + i) for i in range(9)}
    result = check({"main.tf": AKS, **files})
    (finding,) = hub(result)
    assert finding.span.source.path == "team8.yaml"
    assert len(finding.related) == 8
    report = text.render(Report(result))
    assert report.count("image: ubuntu:24.04\n") == 4
    assert "   = and 5 more places\n" in report


def test_each_file_has_a_finding_if_there_is_no_cluster(check: Check) -> None:
    assert len(hub(check({f"team{i}.yaml": job("ubuntu:24.04", f"job{i}") for i in range(3)}))) == 3


def test_a_workload_with_credentials_does_not_hide_others(check: Check) -> None:
    secret = job("ubuntu:24.04", "big", 400) + "      imagePullSecrets: [{name: hub}]\n"
    (finding,) = hub(check({"main.tf": AKS, "a.yaml": secret, "b.yaml": job("ubuntu:24.04", "small", 200)}))
    assert finding.message.startswith("Job small needs 200 anonymous Docker Hub pulls")


@pytest.mark.slow
def test_gke_nodes_use_a_public_cache_first(check: Check) -> None:
    (finding,) = hub(check({"main.tf": GKE.format(config=""), "job.yaml": job("ubuntu:24.04")}))
    assert finding.severity.word == "info"  # Docker's own images are there for sure
    (finding,) = hub(check({"main.tf": GKE.format(config=""), "job.yaml": job("acme/train:1")}))
    assert finding.severity.word == "warning"
    assert "GKE nodes ask mirror.gcr.io first; images it has cached do not count" in finding.details


HOSTS = """    containerd_config {
      registry_hosts {
        server = "https://%s"

        hosts {
          host = "https://mirror.example.com"
        }
      }
    }
"""
MIRRORS = """
  containerd_config {
    registry_mirrors = ["https://mirror.example.com"]
  }
"""
TOML = '"mkdir -p /etc/containerd/certs.d/%s; ./join"'


@pytest.mark.parametrize(
    ("cluster", "found"),
    [
        (GKE.format(config=HOSTS % "registry-1.docker.io"), 0),
        (GKE.format(config=HOSTS % "quay.io"), 1),
        (ACK.format(config=MIRRORS), 0),
        (ACK.format(config=""), 1),
        (EKS.format(data=TOML % "docker.io"), 0),
        (EKS.format(data=TOML % "quay.io"), 1),
    ],
)
def test_a_mirror_on_the_nodes_covers_every_image(cluster: str, found: int, check: Check) -> None:
    assert len(hub(check({"main.tf": cluster, "job.yaml": job("ubuntu:24.04")}))) == found


@pytest.mark.parametrize(("taken", "walls"), [("quay.io", 1), ("registry-1.docker.io", 0)])
def test_a_mirror_removes_the_wall_of_image_pulls(taken: str, walls: int, check: Check) -> None:
    files = {"main.tf": GKE.format(config=HOSTS % taken), "job.yaml": job("ubuntu:24.04")}
    found = [wall for wall in walls_of(check(files)) if wall.mechanism == "docker-hub"]
    assert len(found) == walls


ECR = """
resource "aws_ecr_pull_through_cache_rule" "hub" {
  ecr_repository_prefix = "hub"
  upstream_registry_url = "registry-1.docker.io"
}
"""
REMOTE = """
resource "google_artifact_registry_repository" "hub" {{
  location      = "us-central1"
  {project}repository_id = "hub"
  format        = "DOCKER"
  mode          = "REMOTE_REPOSITORY"

  remote_repository_config {{
    docker_repository {{
      public_repository = "DOCKER_HUB"
    }}
  }}
}}
"""
ONE = """
resource "azurerm_container_registry" "main" {
  name = "trainimages"
}

resource "azurerm_container_registry_cache_rule" "ubuntu" {
  name                  = "ubuntu"
  container_registry_id = azurerm_container_registry.main.id
  source_repo           = "docker.io/library/ubuntu"
  target_repo           = "base/ubuntu"
}
"""


@pytest.mark.parametrize(
    ("cluster", "name", "fixed"),
    [
        (
            EKS.format(data='""') + ECR,
            "<account>.dkr.ecr.<region>.amazonaws.com/hub/library/ubuntu:24.04",
            False,
        ),
        (
            GKE.format(config="") + REMOTE.format(project=""),
            "us-central1-docker.pkg.dev/<project>/hub/library/ubuntu:24.04",
            False,
        ),
        (
            GKE.format(config="") + REMOTE.format(project='project = "train-1"\n  '),
            "us-central1-docker.pkg.dev/train-1/hub/library/ubuntu:24.04",
            True,
        ),
        (
            AKS + ONE,
            "trainimages.azurecr.io/base/ubuntu:24.04",
            True,
        ),
    ],
)
def test_a_cache_in_the_code_is_used_if_its_name_is_known(cluster: str, name: str, fixed: bool, check: Check) -> None:
    (finding,) = hub(check({"main.tf": cluster, "job.yaml": job("ubuntu:24.04")}))
    assert (finding.fix is not None) == fixed
    told = finding.fix.title if finding.fix else finding.help
    assert name in told


def test_a_cache_of_one_image_does_not_cover_others(check: Check) -> None:
    (finding,) = hub(check({"main.tf": AKS + ONE, "job.yaml": job("debian:13")}))
    assert (finding.fix, "trainimages" in finding.help) == (None, False)


@pytest.mark.parametrize(
    ("pods", "nodes", "found"), [(64, {}, ["warning"]), (1, {"": 200}, []), (4, {}, ["info"]), (4, {"": 10}, ["info"])]
)
def test_the_severity_of_a_moving_tag_depends_on_the_size(
    pods: int, nodes: dict[str, int], found: list[str], check: Check
) -> None:
    result = check({"job.yaml": job("registry.example.com/train", pods=pods)}, Config(nodes=nodes))
    assert [f.severity.word for f in result.findings if f.rule == "moving-image-tag"] == found


@pytest.mark.parametrize(
    ("tag", "policy", "said"),
    [
        ("latest", "", "Each start of a container asks the registry for the build of the day"),
        ("nightly", "", "Nodes that have an older build keep it"),
        (
            "nightly",
            "\n          imagePullPolicy: Always",
            "Each start of a container asks the registry for the build of the day",
        ),
    ],
)
def test_only_latest_is_pulled_at_every_start_without_a_policy(tag: str, policy: str, said: str, check: Check) -> None:
    result = check({"job.yaml": job(f"registry.example.com/train:{tag}{policy}", pods=64)})
    (finding,) = [finding for finding in result.findings if finding.rule == "moving-image-tag"]
    assert said in finding.details


@pytest.mark.parametrize(("small", "users", "undecided"), [(2, [], True), (300, ["Job small"], False)])
def test_a_small_user_of_an_image_does_not_hide_one_of_unknown_scale(
    small: int, users: list[str], undecided: bool, check: Check
) -> None:
    files = {"a.yaml": job("ubuntu:24.04", "small", small), "b.yaml": job("ubuntu:24.04", "unknown")}
    files["b.yaml"] = files["b.yaml"].replace("parallelism: 400", "parallelism: $WORKERS")
    result = check({"main.tf": AKS, **files})
    assert [finding.message.partition(" needs ")[0] for finding in hub(result)] == users
    assert ("docker-hub-image" in {one.rule for one in result.undecided}) is undecided


def test_a_job_of_unknown_scale_makes_the_wall_of_pulls_uncertain(check: Check) -> None:
    unknown = job("debian:13", "unknown").replace("parallelism: 400", "parallelism: $WORKERS")
    found = {}
    for name, more in (("known", {}), ("unknown", {"b.yaml": unknown})):
        files = {"main.tf": AKS, "a.yaml": job("ubuntu:24.04", "big", 400), **more}
        walls = walls_of(check(files))
        found[name] = [wall.nodes.low for wall in walls if wall.mechanism == "docker-hub" and wall.nodes]
    assert found["known"] > found["unknown"]


def test_a_user_of_known_scale_is_reported_next_to_an_unknown_one(check: Check) -> None:
    unknown = job("registry.example.com/train:edge", "unknown").replace("parallelism: 400", "parallelism: $WORKERS")
    result = check({"main.tf": AKS, "a.yaml": job("registry.example.com/train:edge", "small", 4), "b.yaml": unknown})
    (finding,) = [finding for finding in result.findings if finding.rule == "moving-image-tag"]
    assert finding.details[0].startswith("registry.example.com/train:edge runs on at least 4 nodes;")


def test_a_web_service_with_latest_is_not_reported(check: Check) -> None:
    web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n  template:\n    spec:\n"
    web += "      containers: [{name: web, image: registry.example.com/web}]\n"
    result = check({"web.yaml": web}, Config(nodes={"": 1000}))
    assert "moving-image-tag" not in {finding.rule for finding in result.findings}


@pytest.mark.parametrize("image", ["gcr.io/my-project/pause:3.2", "registry.k8s.io/pause:3.6"])
def test_images_without_a_successor_have_no_finding(image: str, check: Check) -> None:
    result = check({"job.yaml": job(image)})
    assert "retired-registry" not in {finding.rule for finding in result.findings}


AGENT = """apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  template:
    spec:
      {spec}
      containers: [{{name: agent, image: ubuntu:24.04}}]
"""
ELSEWHERE = """affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: virtual, operator: DoesNotExist}]}]"""
MIXED = (
    AKS
    + """
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 200
  node_labels           = { team = "vision" }
  node_taints           = ["sku=gpu:NoSchedule"]
}
"""
)


@pytest.mark.parametrize(
    ("spec", "severity", "words"),
    [
        ("nodeSelector: {kubernetes.io/os: linux}", "error", "needs 1,000 anonymous Docker Hub pulls"),
        (ELSEWHERE, "error", "needs 1,000 anonymous Docker Hub pulls"),
    ],
)
def test_a_daemon_set_is_only_where_its_labels_are(spec: str, severity: str, words: str, check: Check) -> None:
    (finding,) = hub(check({"agent.yaml": AGENT.format(spec=spec)}, Config(nodes={"": 1000})))
    assert finding.severity.word == severity
    assert words in finding.message


def test_the_pulls_of_a_daemon_set_on_unknown_nodes_are_undecided(check: Check) -> None:
    agent = AGENT.format(spec="nodeSelector: {kubernetes.io/os: linux, team: vision}")
    result = check({"agent.yaml": agent}, Config(nodes={"": 1000}))
    assert hub(result) == []
    assert "docker-hub-image" in {one.rule for one in result.undecided}


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ("tolerations: [{operator: Exists}]", "600"),
        ("hostPID: true", "400"),
        ("nodeSelector: {kubernetes.io/os: linux, team: vision}\n      tolerations: [{operator: Exists}]", "200"),
    ],
)
def test_a_daemon_set_is_on_the_pools_that_take_it(spec: str, nodes: str, check: Check) -> None:
    (finding,) = hub(check({"main.tf": MIXED, "agent.yaml": AGENT.format(spec=spec)}))
    assert f"It is pulled on {nodes} nodes" in finding.details


def test_an_image_that_is_never_pulled_is_left_alone(check: Check) -> None:
    text = AGENT.format(spec="hostPID: true").replace("ubuntu:24.04", "installer, imagePullPolicy: Never")
    found = {finding.rule for finding in check({"agent.yaml": text}, Config(nodes={"": 1000})).findings}
    assert not found & {"docker-hub-image", "moving-image-tag"}


def test_the_remaining_pulls_are_in_the_details(check: Check) -> None:
    (finding,) = hub(check({"job.yaml": job("ubuntu:24.04", pods=65)}))
    assert finding.message == "Job train needs 65 anonymous Docker Hub pulls; 100 in 6 hours are allowed"
    assert "Retries and other images of these nodes share the remaining 35 pulls" in finding.details


ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\nimagePullSecrets: {secrets}\n"


@pytest.mark.parametrize(
    ("account", "secrets", "told"),
    [("train", "[{name: hub}]", False), ("train", "[]", True), ("other", "[{name: hub}]", True)],
)
def test_service_accounts_add_pull_secrets(account: str, secrets: str, told: bool, check: Check) -> None:
    text = JOB.format(name="train", pods=400, image="example/train:1")
    text = text.replace("    spec:\n", "    spec:\n      serviceAccountName: train\n")
    files = {"job.yaml": text, "accounts/a.yaml": ACCOUNT.format(name=account, secrets=secrets)}
    found = check(files, Config(nodes={"": 400})).findings
    assert any(finding.rule == "docker-hub-image" for finding in found) is told
