"""Write a repository in which names, paths, comments and values attack whatever shows the output."""

from __future__ import annotations

import json

ACTS = "\x1b[35;7m\x1b]0;owned\x07\x9b2J\x00\x7f\r\n::error::owned\n  ::add-mask::e\r##[error]owned ##vso[task.setvariable]"
"""Sequences on which terminals and CI runners act."""
UNSEEN = "\u202e\u2066\u200b\u200d\u2028\ufeff\U000e0041\u0085"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)> [l](https://evil.example) ![i](//evil.example) @team #1 `c` | ]]> & $x$"
EVIL = f"{ACTS}{UNSEEN}{MARKUP}%0A::error::owned"
_NAME = EVIL.replace("\x00", "")
PATH = _NAME.replace("/", "\u2044")[:90]
"""A hostile name of a file or folder."""

_HCL = json.dumps(_NAME).replace("${", "$${").replace("\\udb40\\udc41", "\\U000e0041")
_YAML = _HCL
_YAML_COMMENT = "".join(one for one in _NAME if one.isprintable() or one in "\u202e\u2066\u200b\u200d")
_COMMENT = _NAME.replace("\n", " ").replace("\r", " ")

CLUSTER = f"""\
# {_COMMENT}
variable "most" {{
  description = {_HCL}
  type        = number
}}

resource "azurerm_subnet" "nodes" {{
  name             = {_HCL} # {_COMMENT}
  address_prefixes = ["10.0.0.0/22"]
}}

resource "azurerm_kubernetes_cluster" "main" {{
  name     = {_HCL} # {_COMMENT}
  sku_tier = "Free" # {_COMMENT}

  default_node_pool {{
    name           = {_HCL}
    node_count     = 5000
    vnet_subnet_id = azurerm_subnet.nodes.id
    node_labels    = {{ {_HCL} = {_HCL} }}
  }}
  auto_scaler_profile {{
    scale_down_unneeded = "30m" # {_COMMENT}
    expander            = {_HCL}
  }}
}}

resource "azurerm_kubernetes_cluster_node_pool" "more" {{
  name                  = {_HCL}
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vnet_subnet_id        = azurerm_subnet.nodes.id
  vm_size               = "Standard_ND96asr_v4"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = var.most
  node_taints           = [{_HCL}]
}}

module "unread" {{
  source = {_HCL}
  nodes  = var.most
}}
"""
EKS = f"""\
resource "aws_eks_cluster" "eks" {{
  name = {_HCL}
  vpc_config {{
    subnet_ids = [aws_subnet.a.id]
  }}
}}

resource "aws_subnet" "a" {{
  cidr_block = "10.1.0.0/24"
  tags       = {{ Name = {_HCL} }}
}}

resource "aws_eks_node_group" "gpu" {{
  cluster_name    = aws_eks_cluster.eks.name
  node_group_name = {_HCL}
  instance_types  = ["p4d.24xlarge"]
  subnet_ids      = [aws_subnet.a.id]
  scaling_config {{
    desired_size = 1
    max_size     = 900
    min_size     = 1
  }}
}}
"""
MANIFEST = f"""\
# {_YAML_COMMENT}
apiVersion: batch/v1
kind: Job
metadata:
  name: {_YAML}
  namespace: {_YAML}
  labels: {{{_YAML}: {_YAML}}}
spec:
  parallelism: 700
  completions: 700
  template:
    metadata:
      annotations: {{{_YAML}: {_YAML}}}
    spec:
      nodeSelector: {{{_YAML}: {_YAML}}}
      priorityClassName: {_YAML}
      containers:
        - name: {_YAML}
          image: {_YAML}
          args: [{_YAML}]
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
        - name: more
          image: docker.io/owned/{_YAML.strip('"')[:3]}:latest
          imagePullPolicy: Always
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: cluster-autoscaler, namespace: kube-system}}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0
          command: [./cluster-autoscaler, --max-nodes-total=400, "--{_YAML.strip('"')}=1"]
"""
RULE = f"""\
summary: {_YAML}
severity: error
subject: workload
problem: workload.name != ""
at: workload.name
message: {_YAML.replace("{", "").replace("}", "")}
details: ["{{workload.name}}"]
help: {_YAML.replace("{", "").replace("}", "")}
---
why: {_YAML}
examples:
  - file: a.yaml
    bad: {_YAML}
"""
SETTINGS = f"""\
rules: [policy]
severity: {{slow-upgrades: info}}
suppressions:
  - {{rule: moving-image-tag, path: {_YAML}, reason: {_YAML}}}
"""
_HOUR, _LAST = 3600, 7 * 24 * 3600
_POD = {
    "namespace": EVIL, "name": EVIL, "owners": [{"kind": EVIL, "name": EVIL}], "node": EVIL, "labels": {EVIL: EVIL, "owner": EVIL},
    "created": _HOUR, "scheduled": 2 * _HOUR, "first": 2 * _HOUR, "last": 4 * _HOUR, "running": 2 * _HOUR,
    "containers": {EVIL: {"requests": {"cpu": 1, "nvidia_com_gpu": 1, EVIL: 1}, "gpus": [{"id": EVIL, "model": EVIL, "busy": {"5": 9}}]}},
    "hours": {"first": 2, "cpu": [1, 2], "memory": [3, 4], "busy": [5, 6], "seconds": [_HOUR, _HOUR]},
}  # fmt: skip
_TYPE = "node_kubernetes_io_instance_type"
_NODES: list[dict[str, object]] = [
    {
        "name": EVIL,
        "labels": {_TYPE: "p5.48xlarge"},
        "provider": "aws:///a",
        "allocatable": {"nvidia_com_gpu": 8, EVIL: 1},
        "seconds": _LAST,
    },
    {"name": "b", "labels": {EVIL: EVIL, _TYPE: EVIL}, "provider": EVIL, "seconds": _LAST},
]
RECORDING = {
    "version": 1, "begin": 1, "end": 1 + _LAST, "until": 1 + _LAST, "step": 60, "interval": 30, "asked": 2 * _LAST, "source": EVIL, "matchers": [EVIL],
    "pods": [_POD, _POD | {"name": "b", "labels": {}}], "nodes": _NODES, "namespaces": {EVIL: {EVIL: EVIL}},
    "waits": [{"system": EVIL, "queue": EVIL, "what": EVIL, "count": 2, "mean": 3, "high": 4}], "lacks": [{"what": EVIL, "why": EVIL}],
}  # fmt: skip
TREE = {
    "main.tf": CLUSTER,
    "eks/main.tf": EKS,
    f"{PATH}/jobs {PATH[:30]}.yaml": MANIFEST,
    f"{PATH}/{PATH[:50]}.tf": 'resource "azurerm_subnet" "a" {\n  name =\n}\n',
    "broken.yaml": "apiVersion: v1\nkind: Pod\nx: \x1b[35;7m\n",
    "policy/own/bad-thing.yaml": RULE,
    "wrong/own/bad-thing.yaml": f"summary: a\n{_YAML}: 1\nseverity: {_YAML}\n",
    "kcheck.yaml": SETTINGS,
    "wrong.yaml": f"{_YAML}: {_YAML}\n",
    "wrong.json": json.dumps({"version": EVIL, "findings": []}),
    "nodes.csv": f"launched,ready,{_COMMENT.replace(',', '')}\n0,30,1\n1,40,1\n",
    "usage.json": json.dumps(RECORDING),
    "wrong.csv": f"launched,ready\n0,{_COMMENT.replace(',', '')}\n",
}
