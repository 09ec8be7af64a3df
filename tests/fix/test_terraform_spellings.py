"""Test every spelling of a field in Terraform: what a fix makes of it, byte for byte.

In the texts, `«old→new»` is what a fix replaces, `«→new»` what it adds; every other byte stays.
"""

from __future__ import annotations

import re
import subprocess
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kcheck.text.findings import Finding
    from tests.conftest import Write

pytestmark = pytest.mark.medium

Files = dict[str, str]

_MARK = re.compile("«(.*?)→(.*?)»", re.DOTALL)
FREE = '«"Free"→"Standard"»'
GIVEN = "given.tfvars"
"""A file that --var-file names, if a tree has it."""


def moved(lines: str, by: int) -> str:
    """Return lines at another indentation; a line end right after the opening quotes is not part of them."""
    return indent(dedent(lines.removeprefix("\n")).rstrip(" "), " " * by)


def aks(lines: str, more: str = "") -> str:
    """Return an AKS cluster whose control plane is too small for its 1,000 nodes."""
    return f"""\
resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
{lines}
  default_node_pool {{
    name       = "system"
    node_count = 3
  }}
}}
{more}"""


def tier(expression: str, more: str = "") -> str:
    """Return the cluster of `aks` with an expression as its tier."""
    return aks(f"  sku_tier = {expression}\n", more)


TYPED = 'variable "tier" {\n  type    = string\n  default = %s\n}\n'
SETTINGS = 'variable "settings" {\n  type    = object({ tier = optional(string, "Free"), size = number })\n%s}\n'

TIER: dict[str, str | Files] = {
    "literal": tier(FREE),
    "literal, comment": tier(f"{FREE} # cheap"),
    "null": tier('«null→"Standard"»'),
    "absent": aks('«→  sku_tier = "Standard"\n»').replace("name    ", "name«→    »", 1),
    "local": tier("local.tier", f"locals {{\n  tier = {FREE}\n}}\n"),
    "local of a local": tier("local.a", f"locals {{\n  a = local.b\n  b = {FREE}\n}}\n"),
    "member of a local": tier("local.aks.tier", f"locals {{\n  aks = {{\n    tier = {FREE}\n    size = 3\n  }}\n}}\n"),
    "element of a local": tier('local.tiers["main"]', f"locals {{\n  tiers = {{ main = {FREE}, more = \"Premium\" }}\n}}\n"),
    "quoted keys and colons": tier("local.aks.tier", f'locals {{\n  aks = {{ "tier" : {FREE}, "size" : 3 }}\n}}\n'),
    "keys with a space": tier('local.tiers["a b"]', f'locals {{\n  tiers = {{ "a b" = {FREE} }}\n}}\n'),
    "default": tier("var.tier", TYPED % FREE),
    "default of an object": tier(
        "var.settings.tier", f"variable \"settings\" {{\n  default = {{ tier = {FREE}, size = 3 }}\n}}\n"
    ),
    "default of a map": tier(
        'var.tiers["main"]', f"variable \"tiers\" {{\n  default = {{\n    main = {FREE}\n    more = \"Premium\"\n  }}\n}}\n"
    ),
    "optional with a default": tier(
        "var.settings.tier", SETTINGS % '  default = { size = 3«→, tier = "Standard"» }\n'
    ),
    "optional with a default, null": tier(
        "var.settings.tier", SETTINGS % '  default = { size = 3, tier = «null→"Standard"» }\n'
    ),
    "optional in a tfvars file": {
        "main.tf": tier("var.settings.tier", SETTINGS % ""),
        "terraform.tfvars": 'settings = {\n  size = 3«→\n  tier = "Standard"»\n}\n',
    },
    "tfvars": {"main.tf": tier("var.tier", TYPED % '"Free"'), "terraform.tfvars": f"tier = {FREE}\n"},
    "tfvars, no line end": {"main.tf": tier("var.tier", TYPED % '"Free"'), "terraform.tfvars": f"tier = {FREE}"},
    "tfvars, unaligned": {
        "main.tf": tier("var.tier", TYPED % '"Free"'), "terraform.tfvars": f"region = \"weu\"\ntier   =    {FREE}\n",
    },
    "tfvars that wins": {
        "main.tf": tier("var.tier", TYPED % '"Free"'), "terraform.tfvars": 'tier = "Premium"\n',
        "a.auto.tfvars": 'tier = "Standard"\n', "b.auto.tfvars": f"tier = {FREE}\n",
    },
    "tfvars that is named": {
        "main.tf": tier("var.tier", TYPED % '"Free"'), "z.auto.tfvars": 'tier = "Standard"\n', GIVEN: f"tier = {FREE}\n",
    },
    "tfvars in JSON": {
        "main.tf": tier("var.tier", TYPED % '"Free"'), "terraform.tfvars.json": f'{{\n  "tier": {FREE}\n}}\n',
    },
    "default of the branch": tier(
        'var.tier == null ? "Premium" : var.tier', TYPED % FREE
    ),
    "template of one part": tier('"${var.tier}"', TYPED % FREE),
    "parentheses": tier(f"({FREE})"),
    "coalesce": tier(f'coalesce(null, {FREE}, "Premium")'),
    "coalesce of a variable": tier(
        f'coalesce(var.tier, {FREE})', 'variable "tier" {\n  type    = string\n  default = null\n}\n'
    ),
    "try": tier(f'try(local.aks.tier, {FREE})', "locals {\n  aks = null\n}\n"),
    "try of an object": tier(
        'try(local.aks.tier, "Free")', 'locals {\n  aks = {\n    size = 3«→\n    tier = "Standard"»\n  }\n}\n'
    ),
    "lookup of a map": tier('lookup(local.tiers, "main", "Premium")', f"locals {{\n  tiers = {{ main = {FREE} }}\n}}\n"),
    "lookup's default": tier(
        'lookup(local.aks, "tier", "Free")', 'locals {\n  aks = {\n    size = 3«→\n    tier = "Standard"»\n  }\n}\n'
    ),
    "lookup's default of an empty map": tier(
        'lookup(local.aks, "tier", "Free")', 'locals {\n  aks = {«→\n    tier = "Standard"\n  »}\n}\n'
    ),
    "merge, in the defaults": tier(
        "merge(local.defaults, { size = 3 }).tier", f"locals {{\n  defaults = {{ tier = {FREE} }}\n}}\n"
    ),
    "merge, over the defaults": tier(
        f"merge(local.defaults, {{ tier = {FREE} }}).tier", "locals {\n  defaults = { tier = \"Premium\" }\n}\n"
    ),
    "tostring": tier(f"tostring({FREE})"),
    "element of a list": tier("local.tiers[1]", f'locals {{\n  tiers = ["Premium", {FREE}]\n}}\n'),
    "input of a module": {
        "main.tf": f'module "aks" {{\n  source = "./aks"\n  tier   = {FREE}\n}}\n',
        "aks/main.tf": tier("var.tier", TYPED % '"Free"'),
    },
    "absent input of a module": {
        "main.tf": 'module "aks" {\n  source = "./aks"\n}\n', "aks/main.tf": tier("var.tier", TYPED % FREE),
    },
    "default of a module's caller": {
        "main.tf": f'module "aks" {{\n  source = "./aks"\n  tier   = var.tier\n}}\n{TYPED % FREE}',
        "aks/main.tf": tier("var.tier", TYPED % '"Free"'),
    },
    "input of a module that is known": (
        f'module "aks" {{\n  source   = "Azure/aks/azurerm"\n  version  = "~> 10.0"\n  location = "weu"\n  sku_tier = {FREE}\n\n'
        "  network_plugin = \"azure\"\n}\n"
    ),
    "absent input of a module that is known": (
        'module "aks" {\n  source   = "Azure/aks/azurerm"\n  version  = "~> 10.0"\n  location = "weu"\n\n'
        '  network_plugin = "azure"«→\n  sku_tier       = "Standard"»\n}\n'
    ),
    "output of a module": {
        "main.tf": tier("module.names.tier", 'module "names" {\n  source = "./names"\n}\n'),
        "names/main.tf": f'output "tier" {{\n  value = {FREE}\n}}\n',
    },
    "null to a module that takes none": {
        "main.tf": 'module "aks" {\n  source = "./aks"\n  tier   = «null→"Standard"»\n}\n',
        "aks/main.tf": tier("var.tier", (TYPED % '"Free"').replace("\n}", "\n  nullable = false\n}")),
    },
    "JSON": {
        "main.tf.json": '{\n  "resource": {"azurerm_kubernetes_cluster": {"main": {\n    "name": "train",\n'
        f'    "sku_tier": {FREE},\n    "default_node_pool": {{"name": "system", "node_count": 3}}\n  }}}}}}\n}}\n',
    },
}  # fmt: skip


def profile(text: str, more: str = "") -> str:
    """Return an AKS cluster whose autoscaler stops when 45 % of its nodes are not ready."""
    head = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name                 = "system"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 900
  }
"""
    return f"{head}{text}}}\n{more}"


def block(lines: str) -> str:
    """Return the cluster of `profile` with some lines in its `auto_scaler_profile`."""
    return profile(f"\n  auto_scaler_profile {{\n{moved(lines, 4)}  }}\n")


PROFILE: dict[str, str | Files] = {
    "literal": block("max_unready_percentage = «45→100»\n"),
    "quoted": block('max_unready_percentage = "«45→100»"\n'),
    "tonumber": block('max_unready_percentage = tonumber("«45→100»")\n'),
    "aligned": block(
        """
        max_unready_nodes«→     » = 3«→
        max_unready_percentage = 100»
        scan_interval    «→     » = "10s"
        """
    ),
    "not aligned": block(
        """
        max_unready_nodes   = 3«→
        max_unready_percentage = 100»
        scan_interval = "10s"
        """
    ),
    "aligned, with comments": block(
        """
        max_unready_nodes«→     » = 3«→
        max_unready_percentage = 100»
        scan_interval    «→     » = "10s"      # how often
        expander         «→     » = "priority" # which
        """
    ),
    "comment behind the value": block(
        """
        max_unready_percentage = «45 →100»   # stops there
        scan_interval          = "10s" # how often
        """
    ),
    "comment behind the value, not aligned": block(
        """
        max_unready_percentage = «45→100»       # stops there
        scan_interval          = "10s" # how often
        """
    ),
    "block between comments": block(
        """
        # as it comes
        expander«→              » = "priority"«→
        max_unready_percentage = 100»
        # no more
        """
    ),
    "empty block": block("").replace("{\n  }", "{«→\n    max_unready_percentage = 100»\n  }"),
    "block on one line": block("").replace("{\n  }", "{«→\n    max_unready_percentage = 100\n  »}"),
    "full block on one line": block("").replace(
        "{\n  }", '{« →\n    »expander«→              » = "priority"« →\n    max_unready_percentage = 100\n  »}'
    ),
    "absent block": profile("«→\n  auto_scaler_profile {\n    max_unready_percentage = 100\n  }\n»"),
    "attribute of a dynamic block": profile(
        """
  dynamic "auto_scaler_profile" {
    for_each = [1]
    content {
      max_unready_percentage = «45→100»
    }
  }
"""
    ),
    "absent attribute of a dynamic block": profile(
        """
  dynamic "auto_scaler_profile" {
    for_each = [1]
    content {
      expander«→              » = "priority"«→
      max_unready_percentage = 100»
    }
  }
"""
    ),
    "value of a dynamic block": profile(
        """
  dynamic "auto_scaler_profile" {
    for_each = [{ unready = «45→100» }]
    content {
      max_unready_percentage = auto_scaler_profile.value.unready
    }
  }
"""
    ),
    "absent value of a dynamic block": profile(
        """
  dynamic "auto_scaler_profile" {
    for_each = [local.profile]
    iterator = one
    content {
      max_unready_percentage = lookup(one.value, "unready", 45)
    }
  }
""",
        'locals {\n  profile = {\n    expander = "random"«→\n    unready  = 100»\n  }\n}\n',
    ),
    "text of a variable": profile(
        "\n  auto_scaler_profile {\n    max_unready_percentage = var.unready\n  }\n",
        'variable "unready" {\n  type    = number\n  default = "«45→100»"\n}\n',
    ),
    "local": profile(
        "\n  auto_scaler_profile {\n    max_unready_percentage = local.unready\n  }\n",
        "locals {\n  unready = «45→100»\n}\n",
    ),
    "absent block in JSON": {
        "main.tf.json": """\
{
  "resource": {
    "azurerm_kubernetes_cluster": {
      "main": {
        "name": "train",
        "sku_tier": "Standard"«→,
        "auto_scaler_profile": {"max_unready_percentage": 100}»,
        "default_node_pool": {"name": "system", "auto_scaling_enabled": true, "min_count": 1, "max_count": 900}
      }
    }
  }
}
"""
    },
    "absent attribute in JSON": {
        "main.tf.json": """\
{
  "resource": [{"azurerm_kubernetes_cluster": {"main": [{
    "name": "train",
    "sku_tier": "Standard",
    "auto_scaler_profile": [{"expander": "priority"«→, "max_unready_percentage": 100»}],
    "default_node_pool": {"name": "system", "auto_scaling_enabled": true, "min_count": 1, "max_count": 900}
  }]}}]
}
"""
    },
    "input of a known module": """\
module "aks" {
  source                      = "Azure/aks/azurerm"
  version                     = "~> 10.0"
  location                    = "weu"
  sku_tier                    = "Standard"
  auto_scaler_profile_enabled = true
  enable_auto_scaling         = true
  agents_min_count            = 1
  agents_max_count            = 900

  auto_scaler_profile_max_unready_percentage = «45→100»
}
""",
    "absent input of a known module": """\
module "aks" {
  source                      «→               »= "Azure/aks/azurerm"
  version                     «→               »= "~> 10.0"
  location                    «→               »= "weu"
  sku_tier                    «→               »= "Standard"
  auto_scaler_profile_enabled «→               »= true«→
  auto_scaler_profile_max_unready_percentage = 100»
  enable_auto_scaling         «→               »= true
  agents_min_count            «→               »= 1
  agents_max_count            «→               »= 900
}
""",
}


def pools(count: str, entries: str, more: str = "", loop: str = "local.pools") -> str:
    """Return EKS node groups from one block with `for_each`; the one with GPUs keeps unused nodes."""
    return (
        f"""\
resource "aws_eks_cluster" "main" {{
  name = "train"
}}

resource "aws_eks_node_group" "each" {{
  for_each = {loop}

  cluster_name    = aws_eks_cluster.main.name
  node_group_name = each.key
  subnet_ids      = ["subnet-1"]
  instance_types  = [each.value.type]

  scaling_config {{
    min_size     = {count}
    max_size     = 20
    desired_size = 1
  }}
}}
"""
        + (f"locals {{\n  pools = {{\n{moved(entries, 4)}  }}\n}}\n" if entries else "")
        + more
    )


def groups(entries: str, version: str = "~> 21.0") -> str:
    """Return the node groups of a well-known module."""
    return f"""\
module "eks" {{
  source     = "terraform-aws-modules/eks/aws"
  version    = "{version}"
  name       = "main"
  subnet_ids = ["subnet-1"]

  eks_managed_node_groups = {{
{moved(entries, 4)}  }}
}}
"""


CPU = 'cpu = { type = "c6i.16xlarge", min = 2 }\n'
GKE = """\
module "gke" {
  source            = "terraform-google-modules/kubernetes-engine/google//modules/private-cluster"
  version           = "~> 36.0"
  name              = "train"
  project_id        = "p"
  region            = "us-central1"
  zones             = ["us-central1-a"]
  network           = "net"
  subnetwork        = "nodes"
  ip_range_pods     = "pods"
  ip_range_services = "services"

  node_pools = [
    {
      name         = "gpu"
      machine_type = "a3-highgpu-8g"
%s    },
  ]
}
"""
LOOKUP = 'lookup(each.value, "min", 1)'
OPTIONAL = 'variable "pools" {\n  type = map(object({ type = string, min = optional(number, 1) }))\n%s}\n'

MINIMUM: dict[str, str | Files] = {
    "each.value": pools("each.value.min", f'{CPU}gpu = {{ type = "p5.48xlarge", min = «1→0» }}\n'),
    "each.value, quoted": pools("each.value.min", f'{CPU}gpu = {{ type = "p5.48xlarge", min = "«1→0»" }}\n'),
    "each.value, lines": pools("each.value.min", f'{CPU}gpu = {{\n  type = "p5.48xlarge"\n  min  = «1→0»\n}}\n'),
    "each.key": pools(
        'local.sizes[each.key]', f'{CPU}gpu = {{ type = "p5.48xlarge" }}\n', "locals {\n  sizes = { cpu = 2, gpu = «1→0» }\n}\n"
    ),
    "each.key, absent": pools(
        'lookup(local.sizes, each.key, 1)', f'{CPU}gpu = {{ type = "p5.48xlarge" }}\n', "locals {\n  sizes = { cpu = 2«→, gpu = 0» }\n}\n"
    ),
    "branch of a key": pools(
        'each.key == "gpu" ? «1→0» : 2', f'{CPU}gpu = {{ type = "p5.48xlarge" }}\n'
    ),
    "branch of an entry": pools(
        "each.value.spot ? 2 : each.value.min", 'cpu = { type = "c6i.16xlarge", spot = true, min = 2 }\ngpu = { type = "p5.48xlarge", spot = false, min = «1→0» }\n'
    ),
    "lookup": pools(LOOKUP, f'{CPU}gpu = {{\n  type = "p5.48xlarge"«→\n  min  = 0»\n}}\n'),
    "lookup, one line": pools(LOOKUP, f'{CPU}gpu = {{ type = "p5.48xlarge"«→, min = 0» }}\n'),
    "lookup, colons and commas": pools(
        LOOKUP, f'{CPU}gpu = {{\n  "type" : "p5.48xlarge",«→\n  "min" : 0,»\n}}\n'
    ),
    "lookup, commas": pools(LOOKUP, f'{CPU}gpu = {{\n  type = "p5.48xlarge",«→\n  min  = 0,»\n}}\n'),
    "lookup, last without a comma": pools(
        LOOKUP, f'{CPU}gpu = {{\n  name = "gpu",\n  type = "p5.48xlarge"«→,\n  min  = 0»\n}}\n'
    ),
    "lookup, present": pools(LOOKUP, f'{CPU}gpu = {{ type = "p5.48xlarge", min = «2→0» }}\n'),
    "try": pools("try(each.value.min, 1)", f'{CPU}gpu = {{ type = "p5.48xlarge"«→, min = 0» }}\n'),
    "try, nested": pools(
        "try(each.value.scaling.min, 1)", f'{CPU.replace("min = 2", "scaling = { min = 2 }")}gpu = {{\n  type = "p5.48xlarge"«→\n\n  scaling = {{\n    min = 0\n  }}»\n}}\n',
    ),
    "merge of defaults": pools(
        "merge(local.defaults, each.value).min",
        f'{CPU}gpu = {{ type = "p5.48xlarge", min = «3→0» }}\n', "locals {\n  defaults = { min = 1 }\n}\n",
    ),
    "merge of what is absent": pools(
        "try(merge(local.defaults, each.value).min, 1)",
        f'{CPU}gpu = {{ type = "p5.48xlarge"«→, min = 0» }}\n', "locals {\n  defaults = { disk = 1 }\n}\n",
    ),
    "merge in an entry": pools(
        "each.value.min", f'{CPU}gpu = merge(local.defaults, {{ type = "p5.48xlarge", min = «3→0» }})\n', "locals {\n  defaults = { min = 1 }\n}\n",
    ),
    "loop over entries": pools(
        "each.value.min", f'{CPU}gpu = {{ type = "p5.48xlarge", min = «1→0» }}\n',
        loop="{ for name, pool in local.pools : name => pool if pool.type != null }",
    ),
    "loop that fills in": pools(
        "each.value.min", f'{CPU}gpu = {{ type = "p5.48xlarge", min = «1→0» }}\n',
        loop="{ for name, pool in local.pools : name => merge({ min = 2 }, pool) }",
    ),
    "optional": pools("each.value.min", "", loop="var.pools") + OPTIONAL % """\
  default = {
    cpu = { type = "c6i.16xlarge", min = 2 }
    gpu = { type = "p5.48xlarge"«→, min = 0» }
  }
""",
    "optional in a tfvars file": {
        "main.tf": pools("each.value.min", "", loop="var.pools") + OPTIONAL % "",
        "terraform.tfvars": """\
pools = {
  cpu = {
    type = "c6i.16xlarge"
    min  = 2
  }
  gpu = {
    type = "p5.48xlarge"«→
    min  = 0»
  }
}
""",
    },
    "optional in JSON, absent": {
        "main.tf": pools("each.value.min", "", loop="var.pools") + OPTIONAL % "",
        "terraform.tfvars.json": '{"pools": {\n  "cpu": {"type": "c6i.16xlarge", "min": 2},\n  "gpu": {\n    "type": "p5.48xlarge"«→,\n    "min": 0»\n  }\n}}\n',
    },
    "optional in JSON": {
        "main.tf": pools("each.value.min", "", loop="var.pools") + OPTIONAL % "",
        "terraform.tfvars.json": '{\n  "pools": {\n    "cpu": {"type": "c6i.16xlarge", "min": 2},\n    "gpu": {"type": "p5.48xlarge", "min": «1→0»}\n  }\n}\n',
    },
    "file of pools": {
        "main.tf": pools("each.value.min", "", 'locals {\n  pools = yamldecode(file("pools.yaml"))\n}\n'),
        "pools.yaml": "cpu: {type: c6i.16xlarge, min: 2}\ngpu:\n  type: p5.48xlarge\n  min: «1→0» # warm\n",
    },
    "file of pools, absent": {
        "main.tf": pools(LOOKUP, "", 'locals {\n  pools = yamldecode(file("pools.yaml"))\n}\n'),
        "pools.yaml": "cpu: {type: c6i.16xlarge, min: 2}\ngpu:\n  type: p5.48xlarge«→\n  min: 0»\n",
    },
    "file of pools in JSON": {
        "main.tf": pools("each.value.min", "", 'locals {\n  pools = jsondecode(file("pools.json"))\n}\n'),
        "pools.json": '{"cpu": {"type": "c6i.16xlarge", "min": 2}, "gpu": {"type": "p5.48xlarge", "min": «1→0»}}\n',
    },
    "heredoc of pools": pools(
        "each.value.min", "",
        "locals {\n  pools = yamldecode(<<-EOT\n    cpu: {type: c6i.16xlarge, min: 2}\n    gpu: {type: p5.48xlarge, min: «1→0»}\n  EOT\n  )\n}\n",
    ),
    "module, present": groups('gpu = {\n  instance_types = ["p5.48xlarge"]\n  min_size       = «2→0»\n  max_size       = 9\n}\n'),
    "module, absent": groups('gpu = {\n  instance_types = ["p5.48xlarge"]\n  max_size       = 9«→\n  min_size       = 0»\n}\n'),
    "module, one line": groups('gpu = { instance_types = ["p5.48xlarge"]«→, min_size = 0» }\n'),
    "module, tabs": groups('gpu = {\n\tinstance_types = ["p5.48xlarge"]\n\tmax_size       = 9«→\n\tmin_size       = 0»\n}\n'),
    "module, older": groups('gpu = {\n  instance_types = ["p5.48xlarge"]\n  max_size       = 9«→\n  min_size       = 0»\n}\n', "~> 20.0"),
    "list of a module, present": GKE % "      min_count    = «1→0»\n      max_count    = 9\n",
    "list of a module, absent": GKE % "      max_count    = 9«→\n      min_count    = 0»\n",
    "list of a module, quoted": GKE % '      min_count    = "«1→0»"\n      max_count    = "9"\n',
}  # fmt: skip


FLAG = "scale-down-unneeded-time"
AUTOSCALED = """\
resource "aws_eks_cluster" "main" {
  name = "main"
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    desired_size = 0
    min_size     = 0
    max_size     = 400
  }
}
"""


def release(lines: str, more: str = "") -> str:
    """Return an autoscaler, installed by Helm, that keeps idle nodes for 20 minutes."""
    return f"""\
{AUTOSCALED}
resource "helm_release" "autoscaler" {{
  name       = "autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"

{moved(lines, 2)}}}
{more}"""


VALUES = f"extraArgs:\n  {FLAG}: «20m→5m»\n"

RELEASE: dict[str, str | Files] = {
    "set block": release(f'set {{\n  name  = "extraArgs.{FLAG}"\n  value = «"20m"→"5m"»\n}}\n'),
    "set list": release(f'set = [\n  {{ name = "extraArgs.{FLAG}", value = «"20m"→"5m"» }},\n]\n'),
    "set list, lines": release(f'set = [\n  {{\n    name  = "extraArgs.{FLAG}"\n    value = «"20m"→"5m"»\n  }},\n]\n'),
    "set block, absent": release(
        f'set {{\n  name  = "extraArgs.v"\n  value = 4\n}}«→\n\nset {{\n  name  = "extraArgs.{FLAG}"\n  value = "5m"\n}}»\n'
    ),
    "set list, absent": release(
        f'set = [\n  {{ name = "extraArgs.v", value = 4 }},«→\n  {{ name = "extraArgs.{FLAG}", value = "5m" }},»\n]\n'
    ),
    "heredoc, null": release(f'values = [<<-EOT\n  extraArgs:\n    {FLAG}: «null→"5m"»\n  EOT\n]\n'),
    "heredoc, absent with its map": release(
        f"values = [<<-EOT\n  replicaCount: 1«→\n  extraArgs:\n    {FLAG}: 5m»\n  EOT\n]\n"
    ),
    "set block of a variable": release(
        f'set {{\n  name  = "extraArgs.{FLAG}"\n  value = var.idle\n}}\n', 'variable "idle" {\n  default = «"20m"→"5m"»\n}\n'
    ),
    "dynamic set block": release(
        f"""
        dynamic "set" {{
          for_each = {{ "{FLAG}" = «"20m"→"5m"», "v" = "4" }}
          content {{
            name  = "extraArgs.${{set.key}}"
            value = set.value
          }}
        }}
        """
    ),
    "heredoc": release(f"values = [<<-EOT\n  extraArgs:\n    {FLAG}: «20m→5m»\n  EOT\n]\n"),
    "heredoc, flow style": release(f"values = [<<-EOT\n  extraArgs: {{{FLAG}: «20m→5m», v: 4}}\n  EOT\n]\n"),
    "heredoc, single quotes": release(f"values = [<<-EOT\n  extraArgs:\n    {FLAG}: «'20m'→'5m'» # why\n  EOT\n]\n"),
    "heredoc, absent": release(f"values = [<<-EOT\n  extraArgs:\n    v: 4«→\n    {FLAG}: 5m»\n  EOT\n]\n"),
    "heredoc at the left": release("values = [<<EOT\nextraArgs:\n  v: 4\nEOT\n]\n").replace(
        "  extraArgs:\n    v: 4\n  EOT", f"extraArgs:\n  v: 4«→\n  {FLAG}: 5m»\nEOT"
    ),
    "heredoc, filled in": release(
        f"values = [<<-EOT\n  extraArgs:\n    {FLAG}: ${{var.idle}}\n  EOT\n]\n", 'variable "idle" {\n  default = «"20m"→"5m"»\n}\n'
    ),
    "yamlencode": release(f'values = [yamlencode({{ extraArgs = {{ "{FLAG}" = «"20m"→"5m"» }} }})]\n'),
    "yamlencode, absent": release(
        f'values = [yamlencode({{\n  extraArgs = {{\n    "v" = 4«→\n    "{FLAG}" = "5m"»\n  }}\n}})]\n'
    ).replace('"v" = ', f'"v"«→{" " * (len(FLAG) - 1)}» = '),
    "yamlencode, absent with its map": release(
        f'values = [yamlencode({{\n  replicaCount = 1«→\n\n  extraArgs = {{\n    {FLAG} = "5m"\n  }}»\n}})]\n'
    ),
    "yamlencode of a local": release(
        "values = [yamlencode(local.values)]\n", f'locals {{\n  values = {{ extraArgs = {{ {FLAG} = «"20m"→"5m"» }} }}\n}}\n'
    ),
    "jsonencode": release(f'values = [jsonencode({{ extraArgs : {{ "{FLAG}" : «"20m"→"5m"» }} }})]\n'),
    "file": {"main.tf": release('values = [file("values.yaml")]\n'), "values.yaml": VALUES},
    "file of the module": {"main.tf": release('values = [file("${path.module}/values.yaml")]\n'), "values.yaml": VALUES},
    "file, absent": {
        "main.tf": release('values = [file("values.yaml")]\n'), "values.yaml": f"extraArgs:\n  v: 4«→\n  {FLAG}: 5m»\n",
    },
    "templatefile": {
        "main.tf": release('values = [templatefile("values.yaml", { v = 4 })]\n'),
        "values.yaml": f"extraArgs:\n  v: ${{v}}\n  {FLAG}: «20m→5m»\n",
    },
    "templatefile, filled in": {
        "main.tf": release('values = [templatefile("values.tftpl", { idle = «"20m"→"5m"» })]\n'),
        "values.tftpl": f"extraArgs:\n  {FLAG}: ${{idle}}\n",
    },
    "last values": {
        "main.tf": release(f'values = [file("values.yaml"), yamlencode({{ extraArgs = {{ {FLAG} = «"20m"→"5m"» }} }})]\n'),
        "values.yaml": f"extraArgs:\n  {FLAG}: 1m\n",
    },
    "set over values": {
        "main.tf": release(
            f'values = [file("values.yaml")]\n\nset {{\n  name  = "extraArgs.{FLAG}"\n  value = «"20m"→"5m"»\n}}\n'
        ),
        "values.yaml": f"extraArgs:\n  {FLAG}: 1m\n",
    },
}  # fmt: skip


TRAINING = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 64
      template:
        spec:
          hostNetwork: true
%s          containers:
            - name: pytorch
              image: registry.example.com/train:1.4
              resources: {limits: {nvidia.com/gpu: 8}}
"""
OBJECT = """\
resource "kubernetes_manifest" "train" {
  manifest = {
    apiVersion = "kubeflow.org/v1"
    kind       = "PyTorchJob"
    metadata   = { name = "train" }
    spec = {
      pytorchReplicaSpecs = {
        Worker = {
          replicas = 64
          template = {
            spec = {
              hostNetwork = true
%s              containers = [{
                name      = "pytorch"
                image     = "registry.example.com/train:1.4"
                resources = { limits = { "nvidia.com/gpu" = 8 } }
              }]
            }
          }
        }
      }
    }
  }
}
"""
JOB = """\
resource "kubernetes_job_v1" "train" {
  metadata {
    name = "train"
  }

  spec {
    completion_mode = "Indexed"
    parallelism     = 64
    completions     = 64

    template {
      metadata {}

      spec {
        host_network = true
%s
        container {
          name    = "train"
          image   = "registry.example.com/train:1.4"
          command = ["torchrun", "train.py"]

          resources {
            limits = { "nvidia.com/gpu" = 8 }
          }
        }
      }
    }
  }
}
"""
DEFAULT = "dnsPolicy: «ClusterFirst→ClusterFirstWithHostNet»\n"
ABSENT = "dnsPolicy: ClusterFirstWithHostNet"
FIRST = '«"ClusterFirst"→"ClusterFirstWithHostNet"»'


def yaml_body(text: str, opening: str = "<<-YAML", by: int = 4) -> str:
    return f'resource "kubectl_manifest" "train" {{\n  yaml_body = {opening}\n{moved(text, by)}  YAML\n}}\n'


POD: dict[str, str | Files] = {
    "object": OBJECT % f"              dnsPolicy   = {FIRST}\n",
    "object, absent": OBJECT % '«→              dnsPolicy   = "ClusterFirstWithHostNet"\n»',
    "object of a variable": OBJECT % "              dnsPolicy   = var.dns\n" + f'\nvariable "dns" {{\n  default = {FIRST}\n}}\n',
    "heredoc": yaml_body(TRAINING % f"          {DEFAULT}"),
    "heredoc, absent": yaml_body(TRAINING % f"«→          {ABSENT}\n»").replace("»", "»", 1),
    "heredoc at the left": yaml_body(TRAINING % f"          {DEFAULT}", "<<YAML", 0).replace("  YAML", "YAML"),
    "heredoc, filled in": yaml_body(TRAINING % "          dnsPolicy: ${var.dns}\n") + f'\nvariable "dns" {{\n  default = {FIRST}\n}}\n',
    "yamlencode": (OBJECT % f"              dnsPolicy   = {FIRST}\n").replace("kubernetes_manifest", "kubectl_manifest").replace(
        "manifest = {", "yaml_body = yamlencode({").replace("\n  }\n}\n", "\n  })\n}\n"),
    "yamldecode of a file": {
        "main.tf": 'resource "kubernetes_manifest" "train" {\n  manifest = yamldecode(file("train.yml"))\n}\n',
        "train.yml": TRAINING % f"          {DEFAULT}",
    },
    "file, absent": {
        "main.tf": 'resource "kubectl_manifest" "train" {\n  yaml_body = file("train.yml")\n}\n',
        "train.yml": TRAINING % f"«→          {ABSENT}\n»",
    },
    "templatefile": {
        "main.tf": 'resource "kubectl_manifest" "train" {\n  yaml_body = templatefile("train.tftpl", { nodes = 64 })\n}\n',
        "train.tftpl": (TRAINING % f"          {DEFAULT}").replace("64", "${nodes}"),
    },
    "templatefile, absent": {
        "main.tf": 'resource "kubectl_manifest" "train" {\n  yaml_body = templatefile("train.tftpl", { nodes = 64 })\n}\n',
        "train.tftpl": (TRAINING % f"«→          {ABSENT}\n»").replace("64", "${nodes}"),
    },
    "typed": JOB % f"        dns_policy   = {FIRST}\n",
    "typed, absent": JOB % '«→        dns_policy   = "ClusterFirstWithHostNet"\n»',
    "typed, of a variable": JOB % "        dns_policy   = var.dns\n" + f'\nvariable "dns" {{\n  default = {FIRST}\n}}\n',
}  # fmt: skip


def sides(tree: str | Files, change: Callable[[str], str | bytes] = str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the files of a tree before and after a fix."""
    files = {"main.tf": tree} if isinstance(tree, str) else tree
    both = []
    for side in (r"\1", r"\2"):
        texts = {name: change(_MARK.sub(side, text)) for name, text in files.items()}
        both.append({name: text if isinstance(text, bytes) else text.encode() for name, text in texts.items()})
    return both[0], both[1]


def found(config: Config) -> dict[tuple[str, str], Finding]:
    return {(finding.rule, finding.object): finding for finding in linter.run(Tree(["."]), config).findings}


OWN = (str(ROOT / "tests" / "fix" / "rules"),)
"""A rule that sets one attribute of a nested block; it gives no real advice."""


def settings(files: Mapping[str, object]) -> Config:
    return Config(nodes={"": 1000}, var_files=(GIVEN,) if GIVEN in files else (), rules=OWN)


def check(rule: str, before: dict[str, bytes], after: dict[str, bytes], folder: Path) -> None:
    """Assert that the fix of a rule turns one tree into the other.

    Afterwards the rule must be silent, and nothing new found.
    """
    config = settings(before)
    old = found(config)
    assert rule in {name for name, _ in old}
    outcome = fix.fix(["."], config, safeties=SAFETIES, rules=(rule,))
    save.save(outcome.files)
    assert {name: (folder / name).read_bytes().decode() for name in before} == {n: t.decode() for n, t in after.items()}
    assert not outcome.refused
    left = found(config)
    assert rule not in {name for name, _ in left}
    assert left.keys() < old.keys()


TABLES = {
    "free-control-plane": TIER,
    "pauses-early": PROFILE,
    "gpu-pool-never-empty": MINIMUM,
    "idle-nodes-kept-long": RELEASE,
    "host-network-dns": POD,
}
NAMES = [(rule, name) for rule, trees in TABLES.items() for name in trees]
CHOSEN = {re.split("[ ,]", name)[0]: (rule, name) for rule, name in reversed(NAMES)}
"""The first spelling of each kind (a literal, a local, a default, ...), which scripts/test runs."""
SPELLINGS = [
    pytest.param(
        rule, tree, id=f"{rule}: {name}",
        marks=pytest.mark.medium if (rule, name) in CHOSEN.values() else pytest.mark.slow,
    )
    for rule, trees in TABLES.items()
    for name, tree in trees.items()
]  # fmt: skip


@pytest.mark.parametrize(("rule", "tree"), SPELLINGS)
def test_a_fix_keeps_the_spelling_of_the_code(rule: str, tree: str | Files, write: Write) -> None:
    before, after = sides(tree)
    check(rule, before, after, write(before))


def test_terraform_fmt_accepts_fixed_files_it_accepted_before(terraform: str, tmp_path: Path) -> None:
    def refused(number: int) -> set[str]:
        top = tmp_path / str(number)
        for place, tree in enumerate(tree for trees in TABLES.values() for tree in trees.values()):
            for name, data in sides(tree)[number].items():
                path = top / str(place) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        run = subprocess.run(
            [terraform, "fmt", "-check", "-recursive", "."], cwd=top, capture_output=True, text=True, check=False
        )
        assert run.returncode in (0, 3), run.stderr
        return set(run.stdout.split())

    before = refused(0)
    assert len(before) < len(SPELLINGS) / 2
    assert refused(1) <= before


def tabs(text: str) -> str:
    return re.sub(r"(?m)^( {2})+", lambda match: "\t" * (len(match[0]) // 2), text)


def wide(text: str) -> str:
    return re.sub(r"(?m)^ +", lambda match: match[0] * 2, text)


STYLES: dict[str, Callable[[str], str | bytes]] = {
    "Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "no line end": lambda text: text.removesuffix("\n"),
    "tabs": tabs,
    "four spaces": wide,
}


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("free-control-plane", "absent"),
        ("free-control-plane", "optional in a tfvars file"),
        ("pauses-early", "absent block"),
        ("pauses-early", "empty block"),
        ("pauses-early", "block on one line"),
        ("pauses-early", "aligned, with comments"),
        ("pauses-early", "absent attribute of a dynamic block"),
        ("gpu-pool-never-empty", "try, nested"),
        ("gpu-pool-never-empty", "lookup, commas"),
        ("gpu-pool-never-empty", "lookup, colons and commas"),
        ("gpu-pool-never-empty", "list of a module, absent"),
        ("idle-nodes-kept-long", "set block, absent"),
        ("idle-nodes-kept-long", "set list, absent"),
        ("host-network-dns", "object, absent"),
    ],
)
def test_fixes_keep_the_style_of_the_code(rule: str, name: str, style: str, write: Write) -> None:
    before, after = sides(TABLES[rule][name], STYLES[style])
    check(rule, before, after, write(before))


PLAN = """\
{"format_version": "1.2", "terraform_version": "1.9.0", "resource_changes": [], "configuration": {"root_module": {}},
 "planned_values": {"root_module": {"resources": [{"address": "azurerm_kubernetes_cluster.main", "mode": "managed",
  "type": "azurerm_kubernetes_cluster", "name": "main", "provider_name": "registry.terraform.io/hashicorp/azurerm",
  "values": {"name": "train", "sku_tier": "Free", "default_node_pool": [{"name": "system", "node_count": 3}]}}]}}}
"""
NO_EDIT: dict[str, tuple[str, str | Files, str]] = {
    "part of a text": (
        "free-control-plane", tier('"${local.a}ee"', 'locals {\n  a = "Fr"\n}\n'),
        'set sku_tier = "Standard"; `"${local.a}ee"` gives it now',
    ),
    "function": ("free-control-plane", tier('title("free")'), 'set sku_tier = "Standard"; `title("free")` gives it now'),
    "key in a loop": (
        "free-control-plane", tier('[for tier, size in { Free = "small" } : tier][0]'),
        'a key gives it; set Free = "Standard"',
    ),
    "key of a dynamic block": (
        "pauses-early", profile(
            """
  dynamic "auto_scaler_profile" {
    for_each = { "45" = "%" }
    content {
      max_unready_percentage = auto_scaler_profile.key
    }
  }
"""
        ), "a key gives it; set 45 = 100",
    ),
    "part of a list": (
        "free-control-plane", tier('split(",", "Free,Premium")[0]'),
        'set sku_tier = "Standard"; `split(",", "Free,Premium")` gives it now',
    ),
    "branch that somebody chose": (
        "free-control-plane", tier('var.x ? "Standard" : "Free"', 'variable "x" {\n  default = false\n}\n'),
        'set sku_tier = "Standard"; `var.x ? "Standard" : "Free"` gives it now',
    ),
    "both branches": (
        "free-control-plane", tier('var.x ? "Free" : "Free"', 'variable "x" {}\n'),
        'set sku_tier = "Standard"; `var.x ? "Free" : "Free"` gives it now',
    ),
    "sum": (
        "gpu-pool-never-empty", pools("each.value.min", 'gpu = { type = "p5.48xlarge", min = 1 + 1 }\n'),
        "set min = 0; `1 + 1` gives it now",
    ),
    "loop": (
        "gpu-pool-never-empty",
        pools("each.value.min", 'gpu = "p5.48xlarge"\n', loop="{ for k, v in local.pools : k => { type = v, min = length(k) } }"),
        "set min = 0; `length(k)` gives it now",
    ),
    "map that a function makes": (
        "gpu-pool-never-empty", pools('lookup(zipmap(["cpu"], [2]), each.key, 1)', 'gpu = { type = "p5.48xlarge" }\n'),
        "kcheck cannot add gpu at main.tf:14; add gpu = 0",
    ),
    "literal of all pools": (
        "gpu-pool-never-empty", pools("1", f'{CPU}gpu = {{ type = "p5.48xlarge" }}\n'),
        'Not fixed: min_size also sets aws_eks_node_group.each["cpu"], which is fine with it\nuse a value of its own for this pool',
    ),
    "defaults of all pools": (
        "gpu-pool-never-empty",
        pools("merge(local.defaults, each.value).min", f'{CPU.replace(", min = 2", "")}gpu = {{ type = "p5.48xlarge" }}\n', "locals {\n  defaults = { min = 1 }\n}\n"),
        'Not fixed: min also sets aws_eks_node_group.each["cpu"], which is fine with it\nuse a value of its own for this pool',
    ),
    "dynamic block that is off": (
        "pauses-early",
        profile('\n  dynamic "auto_scaler_profile" {\n    for_each = []\n    content {\n      max_unready_percentage = 45\n    }\n  }\n'),
        'set max_unready_percentage = 100; `dynamic "auto_scaler_profile"` gives it now',
    ),
    "release without values": (
        "idle-nodes-kept-long", release(""),
        f"the release has no values to add to; add {FLAG}: 5m",
    ),
    "release with a list that is made": (
        "idle-nodes-kept-long", release('set = concat([{ name = "extraArgs.v", value = 4 }], [])\n'),
        f"kcheck cannot add extraArgs.{FLAG} at main.tf:23; add extraArgs.scale-down-unneeded-time: 5m",
    ),
    "release with a dynamic block": (
        "idle-nodes-kept-long",
        release('dynamic "set" {\n  for_each = { v = 4 }\n  content {\n    name  = "extraArgs.${set.key}"\n    value = set.value\n  }\n}\n'),
        f"the release has no values to add to; add {FLAG}: 5m",
    ),
    "code of others": (
        "free-control-plane",
        {"main.tf": 'module "aks" {\n  source = "./vendor/aks"\n}\n', "vendor/aks/main.tf": tier('"Free"')},
        'sku_tier is written in vendor/aks/main.tf, which is third-party code; set sku_tier = "Standard" there',
    ),
    "plan": (
        "free-control-plane", {"plan.json": PLAN},
        'in the code that plan.json was made from, set sku_tier = "Standard"',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "tree", "text"), NO_EDIT.values(), ids=NO_EDIT.keys())
def test_edits_left_to_a_person_have_help_and_no_fix(rule: str, tree: str | Files, text: str, write: Write) -> None:
    before, _ = sides(tree)
    write(before)
    paths = ["plan.json"] if "plan.json" in before else ["."]
    config = settings(before)
    (finding,) = [one for one in linter.run(Tree(paths), config).findings if one.rule == rule]
    assert (finding.fix, finding.help) == (None, text)
    assert not fix.fix(paths, config, safeties=SAFETIES, rules=(rule,)).files


def test_a_value_from_the_command_line_is_named(write: Write) -> None:
    write({"main.tf": tier("var.tier", TYPED % '"Premium"').encode()})
    config = Config(nodes={"": 1000}, variables={"tier": "Free"})
    (finding,) = [one for one in linter.run(Tree(["."]), config).findings if one.rule == "free-control-plane"]
    assert (finding.span.source.path, finding.fix) == ("--var tier", None)
    assert finding.help == "set --var tier=Standard"
