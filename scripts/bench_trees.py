"""The synthetic trees that `scripts/bench` measures kcheck on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MANIFESTS, FILES = 2000, 200
ROOTS, SHARED = 200, 40
KINDS = ("Deployment", "Job", "DaemonSet", "ConfigMap")
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: one
spec:
  containers:
    - name: a
      image: quay.io/a/b:1
"""


def synthetic(folder: Path, times: int = 1) -> None:
    """2,000 manifests and 200 Terraform files, or a multiple: roots of twenty files each."""
    for i in range(MANIFESTS * times):
        path = folder / "deploy" / f"team{i % 40}" / f"app{i}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest(KINDS[i % 4], i))
    for root in range(FILES * times // 20):
        base = folder / "infra" / f"root{root}"
        base.mkdir(parents=True, exist_ok=True)
        (base / "main.tf").write_text(cluster(root))
        for i in range(19):
            (base / f"pool{i}.tf").write_text(pool(i, root))
    (folder / "mkdocs.yml").write_text("site_name: x\n")


def one_cluster(folder: Path, size: int = 3000) -> None:
    """3,000 manifests beside one root with a cluster of 20 pools."""
    for i in range(size):
        path = folder / "deploy" / f"team{i % 40}" / f"app{i}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest(KINDS[i % 4], i))
    (folder / "infra").mkdir()
    (folder / "infra" / "main.tf").write_text(cluster(0))
    for i in range(19):
        (folder / "infra" / f"pool{i}.tf").write_text(pool(i, 0))


def modular(folder: Path) -> None:
    """200 root modules that call 40 shared modules each: 8,000 calls, 200 clusters."""
    for i in range(SHARED):
        module = folder / "modules" / f"m{i}"
        module.mkdir(parents=True)
        variables = "".join(f'variable "v{j}" {{\n  type    = string\n  default = "x{j}"\n}}\n' for j in range(8))
        (module / "variables.tf").write_text(f'{variables}variable "cidr" {{}}\nvariable "network" {{}}\n')
        (module / "main.tf").write_text(MODULE)
    for i in range(ROOTS):
        root = folder / "roots" / f"r{i}"
        root.mkdir(parents=True)
        calls = "".join(
            f'module "m{j}" {{\n  source  = "../../modules/m{j}"\n  network = azurerm_virtual_network.main.name\n'
            f'  cidr    = cidrsubnet("10.{i}.0.0/16", 8, {j})\n  v0      = "r{i}"\n}}\n'
            for j in range(SHARED)
        )
        (root / "main.tf").write_text(cluster(i) + calls)


MODULE = """\
locals {
  name = "${var.v0}-${var.v1}"
  tags = merge({ a = var.v2 }, { b = var.v3 })
}

resource "azurerm_subnet" "main" {
  name                 = local.name
  virtual_network_name = var.network
  address_prefixes     = [var.cidr]
}

resource "azurerm_storage_account" "main" {
  name = local.name
  tags = local.tags
}

output "id" {
  value = azurerm_subnet.main.id
}
"""


def plan(folder: Path) -> None:
    """A plan of 16 MB, nearly all of it policies that no rule looks at."""
    folder.mkdir()
    with (folder / "plan.json").open(
        "w"
    ) as file:  # piece by piece: what this process holds would count for those it starts
        file.write('{"format_version": "1.2", "planned_values": {"root_module": {"resources": [')
        for i in range(8000):
            name = {"address": f"aws_iam_policy.p[{i}]", "mode": "managed", "type": "aws_iam_policy", "name": "p"}
            file.write(json.dumps({**name, "index": i, "values": {"policy": "x" * 2000}}) + ",")
        cluster = {"address": "aws_eks_cluster.main", "mode": "managed", "type": "aws_eks_cluster", "name": "main"}
        file.write(json.dumps({**cluster, "values": {"name": "main"}}) + "]}}}")


def manifest(kind: str, i: int) -> str:
    """One object of the kind."""
    version = {"Job": "batch/v1", "ConfigMap": "v1"}.get(kind, "apps/v1")
    labels = f"{{team: t{i % 40}, tier: '{i % 3}'}}"
    head = f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: app{i}\n  labels: {labels}\n"
    if kind == "ConfigMap":
        return head + "data:\n  config.yaml: |\n" + "".join(f"    key{j}: value{j}\n" for j in range(30))
    size = {"Job": f"  parallelism: {i % 50 + 1}\n", "Deployment": f"  replicas: {i % 5 + 1}\n"}.get(kind, "")
    env = "".join(f"            - {{name: VAR_{j}, value: '{j}'}}\n" for j in range(8))
    image = ("quay.io/a/b:1", "nginx:1.29", "team/app:2")[i % 3]
    return (
        f"{head}spec:\n{size}  template:\n    metadata: {{labels: {{app: app{i}}}}}\n    spec:\n      containers:\n"
        f"        - name: main\n          image: {image}\n          env:\n{env}"
        "          resources:\n            requests: {cpu: 500m, memory: 1Gi}\n            limits: {memory: 2Gi}\n"
    )


def cluster(root: int) -> str:
    """A cluster with its network."""
    return f"""\
variable "gpu_nodes" {{
  type    = number
  default = {20 + root}
}}

locals {{
  cidrs = [for i in range(19) : cidrsubnet("10.{root}.0.0/16", 5, i)]
}}

resource "azurerm_virtual_network" "main" {{
  name          = "vnet"
  address_space = ["10.{root}.0.0/16"]
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train{root}"
  sku_tier = "Standard"

  default_node_pool {{
    name       = "system"
    node_count = 3
  }}

  network_profile {{
    network_plugin = "azure"
  }}

  auto_scaler_profile {{
    scale_down_unneeded = "10m"
  }}
}}
"""


def pool(i: int, root: int) -> str:
    """A pool with its subnet."""
    return f"""\
resource "azurerm_subnet" "pool{i}" {{
  name                 = "pool{i}"
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = [local.cidrs[{i}]]
}}

resource "azurerm_kubernetes_cluster_node_pool" "pool{i}" {{
  name                  = "pool{i}"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vnet_subnet_id        = azurerm_subnet.pool{i}.id
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = var.gpu_nodes + {root}
  vm_size               = "Standard_ND96isr_H100_v5"
}}
"""


def one(folder: Path) -> None:
    """A folder with one manifest."""
    folder.mkdir()
    (folder / "pod.yaml").write_text(POD)
