"""Test the targets of "go to definition"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.editor.definition import definition
from tests.addons.editor.trees import file, offset, shown, snapshot
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.conftest import Write


def targets(name: str, mark: str, within: str = "", folder: str = ".") -> list[str]:
    """Return the places, as FILE:LINE, to which "go to definition" leads from a mark in a file."""
    state = snapshot(folder)
    source = file(state, name)
    return [shown(span) for span in definition(state, source, offset(source, mark, within or mark))]


# --- Terraform

ROOT_MODULE = """\
variable "size" {}
variable "plain" {
  default = 1
}
locals {
  twice = var.size * 2
}
module "pool" {
  source = "./pool"
  nodes  = local.twice
}
data "x_y" "d" {}
resource "x_y" "r" {
  for_each = toset(["a"])
  name     = "n-${each.key}"
}
output "all" {
  value = [module.pool.count, x_y.r["a"].name, data.x_y.d.id, var.plain, [for one in local.list : one.a]]
}
"""
CHILD = """\
variable "nodes" {}
output "count" {
  value = var.nodes
}
"""


@pytest.fixture
def tree(write: Write) -> None:
    write({"main.tf": ROOT_MODULE, "pool/main.tf": CHILD, "terraform.tfvars": "# set\nsize = 3\n"})


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("name", "mark", "within", "found"),
    [
        ("main.tf", "var.size", "size", ["terraform.tfvars:2", "main.tf:1"]),
        ("main.tf", "var.size", "var", ["terraform.tfvars:2", "main.tf:1"]),
        ("main.tf", "var.plain", "plain", ["main.tf:2"]),
        ("main.tf", "local.twice", "twice", ["main.tf:6"]),
        ("main.tf", "module.pool.count", "pool", ["main.tf:8"]),
        ("main.tf", "module.pool.count", "count", ["main.tf:2", "main.tf:8"]),
        ("main.tf", 'x_y.r["a"].name', "name", ["main.tf:15", "main.tf:13"]),
        ("main.tf", 'x_y.r["a"].name', "x_y", ["main.tf:13"]),
        ("main.tf", "data.x_y.d.id", "id", ["main.tf:12"]),
        ("main.tf", "each.key", "key", ["main.tf:14"]),
        ("main.tf", "one.a", "one", ["main.tf:18"]),
        ("main.tf", '"./pool"', "pool", ["main.tf:1"]),
        ("main.tf", "nodes  =", "nodes", ["main.tf:1"]),
        ("main.tf", 'variable "size"', "size", ["terraform.tfvars:2"]),
        ("terraform.tfvars", "size = 3", "size", ["main.tf:1"]),
        ("pool/main.tf", "var.nodes", "nodes", ["main.tf:6", "main.tf:10", "main.tf:1"]),
        ("main.tf", "* 2", "2", []),
    ],
)
def test_the_definition_of_a_name_is_its_value_and_its_declaration(
    name: str, mark: str, within: str, found: list[str]
) -> None:
    assert targets(name, mark, within) == found


def test_a_file_that_a_function_reads_can_be_opened(write: Write) -> None:
    write({"main.tf": 'locals {\n  a = templatefile("t/user.tpl", {})\n}\n', "t/user.tpl": "x\n"})
    assert targets("main.tf", '"t/user.tpl"', "user") == ["user.tpl:1"]


def test_third_party_code_is_not_offered_as_a_definition() -> None:
    assert targets("eks.tf", "module.vpc.vpc_id", "vpc_id", str(ROOT / "examples" / "eks-training")) == ["vpc.tf:13"]


# --- YAML

POOLS = """\
resource "azurerm_kubernetes_cluster" "main" {
  name = "c"
  default_node_pool {
    name = "system"
  }
}
resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  node_labels = {
    other = "x"
    team  = "ml"
  }
  node_taints = ["sku=gpu:NoSchedule"]
}
resource "azurerm_kubernetes_cluster_node_pool" "cpu" {
  name                  = "cpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  node_labels           = { team = "web" }
}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: research
  labels:
    kueue.x-k8s.io/queue-name: fast
spec:
  template:
    spec:
      priorityClassName: high
      serviceAccountName: runner
      nodeSelector:
        team: ml
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: team, operator: In, values: [web, none]}
      tolerations:
      - {key: sku, value: gpu, effect: NoSchedule}
      containers:
      - name: main
        image: a/b:1
      volumes:
      - name: data
        persistentVolumeClaim: {claimName: data-claim}
"""
OBJECTS = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: fast, namespace: other}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: fast, namespace: research}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec:
  resourceGroups:
  - flavors:
    - name: spot-nodes
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: spot-nodes}
spec:
  nodeLabels: {team: ml}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: research}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-claim, namespace: research}
"""


@pytest.mark.parametrize(
    ("name", "mark", "within", "found"),
    [
        ("job.yaml", "team: ml", "ml", ["main.tf:12"]),
        ("job.yaml", "team: ml", "team", ["main.tf:12"]),
        ("job.yaml", "[web, none]", "web", ["main.tf:19"]),
        ("job.yaml", "key: sku", "sku", ["main.tf:14"]),
        ("job.yaml", "queue-name: fast", "fast", ["objects.yaml:7"]),
        ("job.yaml", "priorityClassName: high", "high", ["objects.yaml:26"]),
        ("job.yaml", "serviceAccountName: runner", "runner", ["objects.yaml:31"]),
        ("job.yaml", "claimName: data-claim", "data-claim", ["objects.yaml:35"]),
        ("objects.yaml", "clusterQueue: all", "all", ["objects.yaml:12"]),
        ("objects.yaml", "- name: spot-nodes", "spot", ["objects.yaml:20"]),
        ("objects.yaml", "nodeLabels: {team: ml}", "ml", ["main.tf:12"]),
        ("job.yaml", "image: a/b:1", "a/b", []),
    ],
)
def test_names_in_manifests_lead_to_pools_and_objects(
    write: Write, name: str, mark: str, within: str, found: list[str]
) -> None:
    write({"main.tf": POOLS, "job.yaml": JOB, "objects.yaml": OBJECTS})
    assert targets(name, mark, within) == found


def test_a_name_leads_to_the_nearest_object(write: Write) -> None:
    one = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 10\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: high}\n"
    write({"a/classes/one.yaml": one, "b/classes/two.yaml": one, "b/pods/pod.yaml": pod})
    assert targets("pod.yaml", "priorityClassName: high", "high") == ["two.yaml:3"]


def test_a_kustomization_leads_to_its_files_and_folders(write: Write) -> None:
    write(
        {
            "kustomization.yaml": "resources:\n- pod.yaml\n- base\nconfigMapGenerator:\n- name: c\n  files: [k=data.yaml]\n",
            "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n",
            "data.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: q}\n",
            "base/kustomization.yml": "resources: []\n",
        }
    )
    assert targets("kustomization.yaml", "- pod.yaml", "pod") == ["pod.yaml:1"]
    assert targets("kustomization.yaml", "- base", "base") == ["kustomization.yml:1"]
    assert targets("kustomization.yaml", "k=data.yaml", "data") == ["data.yaml:1"]


def test_an_alias_leads_to_its_anchor(write: Write) -> None:
    write({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: &big 600\n  y: *big\n"})
    assert targets("a.yaml", "*big") == ["a.yaml:5"]


def test_node_selectors_lead_to_the_labels_of_a_karpenter_pool(write: Write) -> None:
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: k}\nspec:\n  template:\n    metadata: {labels: {team: ml}}\n    spec:\n      taints: [{key: sku, value: gpu, effect: NoSchedule}]\n      requirements: []\n"
    write({"job.yaml": JOB, "pool.yaml": pool})
    assert targets("job.yaml", "team: ml", "ml") == ["pool.yaml:2"]
    assert targets("job.yaml", "key: sku", "sku") == ["pool.yaml:2"]
