"""Write the code of the standard week: a cluster in Terraform, and manifests of all pods but the strangers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from tests.addons.usage.week import standard
from tests.addons.usage.week.cluster import GIB, GPU, MIB

if TYPE_CHECKING:
    from pathlib import Path

    from tests.addons.usage.week.cluster import Container

POOLS = {
    "general": ("m6i.4xlarge", 4, 4, 8),
    "train": ("p5.48xlarge", 0, 0, 3),
    "research": ("p4de.24xlarge", 1, 1, 1),
    "inference": ("g5.48xlarge", 4, 4, 4),
}
"""Node groups: name -> machine type, and least, desired and most nodes."""
TYPES = {name: found[0] for name, found in POOLS.items()}
MAIN = """\
terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "nodes" {
  vpc_id            = aws_vpc.main.id
  availability_zone = "us-east-1a"
  cidr_block        = "10.0.0.0/18"
}

resource "aws_eks_cluster" "main" {
  name     = "ml"
  role_arn = "arn:aws:iam::123456789012:role/cluster"
  version  = "1.35"

  vpc_config {
    subnet_ids = [aws_subnet.nodes.id]
  }
}
"""
POOL = """
resource "aws_eks_node_group" "{name}" {{
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "{name}"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["{type}"]

  scaling_config {{
    min_size     = {least}
    desired_size = {desired}
    max_size     = {most}
  }}
}}
"""
Object = dict[str, Any]
NEVER = (("CronJob", "monthly-report"), ("Deployment", "old-api"))
"""Workloads in the code that never ran."""


def files() -> dict[str, str]:
    """Return the Terraform and manifests that declare the standard week, by path."""
    pools = [
        POOL.format(name=name, type=machine, least=least, desired=desired, most=most)
        for name, (machine, least, desired, most) in POOLS.items()
    ]
    texts = {
        f"manifests/{name}.yaml": yaml.safe_dump_all(objects, sort_keys=False) for name, objects in manifests().items()
    }
    return {"main.tf": "".join([MAIN, *pools]), **texts}


def write(folder: Path) -> None:
    """Write the code of the standard week into a folder."""
    (folder / "manifests").mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text)


def manifests() -> dict[str, list[Object]]:
    """Return the objects of each namespace."""
    found = {name: [_namespace(name, team)] for name, team in standard.TEAMS.items()}
    found["search"] += _search()
    found["vision"] += _vision()
    found["language"] += _language()
    classes = [("production", 100_000), ("research", 1000)]
    agent = _template([standard.AGENT], {}, tolerations=[{"operator": "Exists"}])
    found["platform"] = [
        *(_priority_class(name, value) for name, value in classes),
        _object("apps/v1", "DaemonSet", "monitoring/agent", _selected("agent", agent)),
    ]
    return found


def amount(resource: str, value: float) -> str:
    """Return a quantity as people write it."""
    if resource == "cpu":
        return f"{value:g}" if value == int(value) else f"{round(value * 1000)}m"
    if resource == "memory":
        return f"{value / GIB:g}Gi" if value % GIB == 0 else f"{value / MIB:g}Mi"
    return f"{value:g}"


def _search() -> list[Object]:
    grace = {"team": "search", "owner": "grace"}
    production = {"priorityClassName": "production"}
    report = {**_template([standard.REPORT], {"team": "search"}, pool="general")["spec"]["containers"][0]}
    return [
        _deployment("search/api", [standard.API, standard.PROXY], 4, grace, pool="general", **production),
        _deployment("search/index", [standard.INDEX], 2, grace, pool="general", **production),
        _deployment("search/embedder", [standard.EMBEDDER], 1, {"team": "search"}, pool="general"),
        _deployment("search/old-api", [standard.API], 0, {"team": "search"}, pool="general"),
        {
            **_object("batch/v1", "Job", "search/", {"template": _once([standard.PROBE], {"team": "search"}, pool="general")}),
            "metadata": {"generateName": "probe-", "namespace": "search"},
        },
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "report-", "namespace": "search"},
            "spec": {"entrypoint": "render", "templates": [{"name": "render", "metadata": {"labels": {"team": "search"}}, "container": report}]},
        },
    ]  # fmt: skip


def _vision() -> list[Object]:
    team = {"team": "vision"}
    ada = {**team, "owner": "ada"}
    notebook = _template([standard.NOTEBOOK], ada, pool="research")
    workers = _once([standard.CONTRASTIVE], {**team, "owner": "grace", "experiment": "contrastive"}, pool="research")
    jobs = [{"name": "workers", "template": {"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": workers}}}]  # fmt: skip
    return [
        _deployment("vision/ocr", [standard.OCR], 4, team, pool="inference"),
        _deployment("vision/caption", [standard.CAPTION], 2, team, pool="inference"),
        _deployment("vision/detect", [standard.DETECT], 3, team, pool="inference"),
        _object("batch/v1", "Job", "vision/segmenter", {"template": _once([standard.SEGMENTER], {**ada, "experiment": "segment-v2"}, pool="research")}),
        _object("apps/v1", "StatefulSet", "vision/notebook-ada", {"serviceName": "notebook-ada", "replicas": 1, **_selected("notebook-ada", notebook)}),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet", "vision/contrastive", {"replicatedJobs": jobs}),
    ]  # fmt: skip


def _language() -> list[Object]:
    linus = {"team": "language", "owner": "linus"}
    margaret = {"team": "language", "owner": "margaret"}
    tuning = {**margaret, "experiment": "tuning"}
    pretrain = _once(
        [standard.PRETRAIN], {**linus, "experiment": "pretrain-7b"}, pool="train", priorityClassName="research"
    )
    finetune = _once(
        [standard.FINETUNE], {**linus, "experiment": "finetune-8b"}, pool="inference", priorityClassName="research"
    )
    evaluate = {"spec": {"template": _once([standard.EVALUATE], margaret, pool="general")}}
    tokenize = {
        "completionMode": "Indexed",
        "completions": 24,
        "parallelism": 4,
        "template": _once([standard.TOKENIZE], margaret, pool="general"),
    }
    ray = {
        "headGroupSpec": {"rayStartParams": {}, "template": _template([standard.RAY_HEAD], tuning, pool="general")},
        "workerGroupSpecs": [
            {"groupName": "gpu", "replicas": 2, "rayStartParams": {}, "template": _template([standard.RAY_WORKER], tuning, pool="research")}
        ],
    }  # fmt: skip
    return [
        _object(
            "kubeflow.org/v1", "PyTorchJob", "language/pretrain",
            {"pytorchReplicaSpecs": {role: {"replicas": count, "template": pretrain} for role, count in (("Master", 1), ("Worker", 2))}},
        ),
        _object("batch/v1", "Job", "language/finetune", {"template": finetune}),
        _object("batch/v1", "Job", "language/tokenize", tokenize),
        _object("batch/v1", "CronJob", "language/evaluate", {"schedule": "10 * * * *", "jobTemplate": evaluate}),
        _object("batch/v1", "CronJob", "language/monthly-report", {"schedule": "0 5 1 * *", "jobTemplate": evaluate}),
        _object("ray.io/v1", "RayCluster", "language/tuning", ray),
    ]  # fmt: skip


def _priority_class(name: str, value: int) -> Object:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _namespace(name: str, team: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}}


def _object(version: str, kind: str, where: str, spec: Object) -> Object:
    namespace, _, name = where.partition("/")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _deployment(where: str, boxes: list[Container], replicas: int, labels: dict[str, str], **more: Any) -> Object:
    name = where.partition("/")[2]
    return _object("apps/v1", "Deployment", where, {"replicas": replicas, **_selected(name, _template(boxes, labels, **more))})  # fmt: skip


def _selected(app: str, template: Object) -> Object:
    """Return selector and template of a workload, joined by a label `app`."""
    labels = {"app": app, **template.get("metadata", {}).get("labels", {})}
    return {"selector": {"matchLabels": {"app": app}}, "template": {**template, "metadata": {"labels": labels}}}


def _once(boxes: list[Container], labels: dict[str, str], **more: Any) -> Object:
    return _template(boxes, labels, restartPolicy="Never", **more)


def _template(boxes: list[Container], labels: dict[str, str], *, pool: str = "", **more: Any) -> Object:
    """Return a pod template; GPUs are written under `limits` only, as most people do."""
    containers = []
    for box in boxes:
        requests = {key: amount(key, value) for key, value in box.requests.items() if key != GPU}
        limits = {key.replace("nvidia_com_gpu", "nvidia.com/gpu"): amount(key, value) for key, value in box.limits.items()}  # fmt: skip
        resources = {"requests": requests, **({"limits": limits} if limits else {})}
        containers.append({"name": box.name, "image": f"registry.example.com/{box.name}:1", "resources": resources})
    chosen = {"nodeSelector": {"node.kubernetes.io/instance-type": TYPES[pool]}} if pool else {}
    metadata = {"metadata": {"labels": labels}} if labels else {}
    return {**metadata, "spec": {**more, **chosen, "containers": containers}}
