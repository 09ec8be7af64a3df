"""What fuzzing begins with: the examples of the rules, those of the repository, and some files that neither has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kcheck.engine import rules

ROOT = Path(__file__).resolve().parent.parent.parent
_LARGEST = 20_000
"""Bytes of a file that is worth to be mutated."""


class Sample(NamedTuple):
    """A folder of files, by name, and the target that they are checked for."""

    name: str
    files: dict[str, bytes]
    nodes: int | None = None


@cache
def samples() -> tuple[Sample, ...]:
    """All folders of the corpus, in one order."""
    found = [*_SMALL]
    for rule in rules.load():
        for example in rule.documentation.examples:
            for kind, files in (("bad", example.bad), ("good", example.good)):
                data = {name: text.encode() for name, text in files.items()}
                found.append(Sample(f"{rule.name}-{example.number}-{kind}", data, example.nodes))
    for folder in sorted((ROOT / "examples").iterdir()):
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size < _LARGEST]
        if paths:
            found.append(Sample(folder.name, {str(path.relative_to(folder)): path.read_bytes() for path in paths}))
    return tuple(sample for sample in found if sample.files)


@cache
def files(*suffixes: str) -> tuple[bytes, ...]:
    """The different files of the corpus whose names end so."""
    found = (data for sample in samples() for name, data in sample.files.items() if name.endswith(suffixes))
    return tuple(dict.fromkeys(found))


@cache
def words() -> tuple[bytes, ...]:
    """Short texts: expressions and messages of rules, and the values in files."""
    found = [text for rule in rules.load() for text in (rule.when, rule.problem, rule.at, rule.message) if text]
    values = (match[1].decode("utf-8", "replace") for data in files(".tf") for match in _VALUE.finditer(data))
    return tuple(dict.fromkeys(text.encode() for text in (*found, *values)))


def dictionary() -> str:
    """The words of the corpus, as libFuzzer reads them."""
    found = {word for data in files(".tf", ".yaml", ".json", ".hcl") for word in _WORD.findall(data)}
    return "".join(f'"{word.decode()}"\n' for word in sorted(found))


_VALUE = re.compile(rb"=[ \t]*(\S[^\n]*)")
_WORD = re.compile(rb"[A-Za-z_][\w./-]{2,40}")
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {team: a}}
spec:
  parallelism: 64
  completions: 64
  backoffLimit: 3
  template:
    spec:
      terminationGracePeriodSeconds: 30
      nodeSelector: {pool: gpu}
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: "docker.io/pytorch/pytorch:2.8.0"
          args: [--workers=8, "--timeout", 10m]
          resources: {requests: {cpu: 500m, memory: 1.5Gi}, limits: {nvidia.com/gpu: 8, memory: 64Gi}}
"""
_PLAN = """\
{"format_version": "1.2", "terraform_version": "1.9.0",
 "variables": {"nodes": {"value": 600}},
 "planned_values": {"root_module": {"resources": [
  {"address": "aws_eks_cluster.main", "mode": "managed", "type": "aws_eks_cluster", "name": "main",
   "provider_name": "registry.terraform.io/hashicorp/aws", "values": {"name": "main", "version": "1.33"}},
  {"address": "aws_eks_node_group.a[0]", "mode": "managed", "type": "aws_eks_node_group", "name": "a", "index": 0,
   "values": {"cluster_name": "main", "instance_types": ["p5.48xlarge"],
    "scaling_config": [{"max_size": 600, "min_size": 0, "desired_size": 1}]}}]}},
 "configuration": {"root_module": {"resources": [
  {"address": "aws_eks_cluster.main", "mode": "managed", "type": "aws_eks_cluster", "name": "main",
   "expressions": {"name": {"constant_value": "main"}}},
  {"address": "aws_eks_node_group.a", "mode": "managed", "type": "aws_eks_node_group", "name": "a",
   "expressions": {"cluster_name": {"references": ["aws_eks_cluster.main.name", "aws_eks_cluster.main"]}}}]}}}
"""
_EKS = """\
terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.0" }
  }
}
variable "nodes" {
  type    = number
  default = 600
}
locals {
  cidr  = "10.0.0.0/16"
  names = { for i in range(3) : "pool-${i}" => i * 2 }
  text  = <<-EOT
    ${join(", ", keys(local.names))}
  EOT
}
resource "aws_eks_cluster" "main" {
  name    = "main"
  version = "1.33"
  vpc_config {
    subnet_ids = aws_subnet.a[*].id
  }
}
resource "aws_subnet" "a" {
  count      = 2
  vpc_id     = "vpc-1"
  cidr_block = cidrsubnet(local.cidr, 4, count.index)
}
resource "aws_eks_node_group" "a" {
  for_each       = local.names
  cluster_name   = aws_eks_cluster.main.name
  node_role_arn  = "arn"
  subnet_ids     = aws_subnet.a[*].id
  instance_types = ["p5.48xlarge"]
  scaling_config {
    min_size     = 0
    desired_size = each.value
    max_size     = var.nodes > 10 ? var.nodes : 10
  }
}
"""
_STACK = """\
AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  Types: {Type: CommaDelimitedList, Default: "p5.48xlarge,p4d.24xlarge"}
  Nodes: {Type: Number, Default: 600}
Mappings:
  Sizes: {us-east-1: {least: 1}}
Conditions:
  Large: !Not [!Equals [!Ref Nodes, 0]]
Resources:
  Vpc:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: 10.0.0.0/16}
  Subnet:
    Type: AWS::EC2::Subnet
    Properties:
      VpcId: !Ref Vpc
      CidrBlock: !Select [0, !Cidr [!GetAtt Vpc.CidrBlock, 4, 12]]
      AvailabilityZone: !Select [0, {"Fn::GetAZs": ""}]
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      Name: !Sub "${AWS::StackName}-train"
      ResourcesVpcConfig: {SubnetIds: [!Ref Subnet, !ImportValue other-subnet]}
  Pool:
    Type: AWS::EKS::Nodegroup
    Condition: Large
    Properties:
      ClusterName: !Ref Cluster
      InstanceTypes: !If [Large, !Ref Types, [m5.large]]
      ScalingConfig: {MinSize: !FindInMap [Sizes, !Ref "AWS::Region", least], MaxSize: !Ref Nodes}
      Subnets: !Split [",", !Join [",", [!Ref Subnet]]]
Outputs:
  Id: {Value: !Ref Subnet, Export: {Name: !Sub "${AWS::StackName}-subnet"}}
"""
_SCRIPT = """\
#!/bin/bash
set -euo pipefail
export ZONE=us-central1-a TYPE="a3-highgpu-8g"
CLUSTER=${CLUSTER:-train}
NODES=700
gcloud beta container clusters create "$CLUSTER" --zone "$ZONE" --project=$(gcloud config get-value project) \\
  --release-channel=regular --num-nodes=1 --cluster-ipv4-cidr=10.4.0.0/14 --enable-autoscaling --max-nodes $NODES
gcloud container node-pools create gpu --cluster=${CLUSTER} --zone=$ZONE --spot --machine-type ${TYPE} \\
  --accelerator type=nvidia-h100-80gb,count=8,gpu-driver-version=latest --node-taints team=ml:NoSchedule \\
  --num-nodes ${NODES:-4} --disk-size 200GB
az aks create -g rg -n ml --node-count $COUNT --kubernetes-version 1.33 --zones 1 2 3 --tier standard
az aks nodepool add --cluster-name ml -g rg --name gpu -s Standard_ND96isr_H100_v5 \\
  --enable-cluster-autoscaler --min-count 0 --max-count 8 --priority Spot
eksctl create cluster --name=main --version 1.33 --nodes-max=`echo 600` --node-type p5.48xlarge --region 'us-west-2'
cat <<EOF | kubectl apply -f -
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {parallelism: 64, template: {spec: {containers: [{name: a, image: "a:$TAG"}]}}}
EOF
cat > cluster.yaml <<'EOF'
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: own, region: us-west-2}
managedNodeGroups: [{name: gpu, instanceType: p5.48xlarge, maxSize: 600}]
EOF
"""
_MAKEFILE = """\
NODES ?= 20
up:
\tgcloud container clusters create-auto train --region=us-central1
\t@az aks nodepool add --cluster-name ml -g rg --name gpu --node-count $(NODES) --max-pods 30
"""
_SMALL = (
    Sample(
        "scripts",
        {
            "up.sh": _SCRIPT.encode(),
            "kube.sh": b"#!/bin/sh\nkubeadm init --pod-network-cidr=10.244.0.0/16 --service-cidr 10.96.0.0/12\n",
            "Makefile": _MAKEFILE.encode(),
            "job.yaml": _JOB.encode(),
        },
        1000,
    ),
    Sample("stack", {"stack.yaml": _STACK.encode(), "job.yaml": _JOB.encode()}, 1000),
    Sample(
        "kustomize",
        {
            "base/kustomization.yaml": b"resources: [job.yaml]\ncommonLabels: {team: a}\nimages:\n  - {name: pytorch/pytorch, newTag: 2.9.0}\n",
            "base/job.yaml": _JOB.encode(),
            "overlays/prod/kustomization.yaml": b"""\
resources: [../../base]
namePrefix: prod-
namespace: prod
replicas: [{name: train, count: 5}]
patches:
  - target: {kind: Job, name: train}
    patch: |
      - op: replace
        path: /spec/parallelism
        value: 128
      - {op: add, path: /spec/template/spec/containers/0/env, value: [{name: A, value: "1"}]}
  - path: more.yaml
configMapGenerator: [{name: c, literals: [a=1], files: [x=more.yaml]}]
replacements:
  - source: {kind: Job, name: train, fieldPath: metadata.name}
    targets: [{select: {kind: Job}, fieldPaths: [metadata.labels.team], options: {create: true, delimiter: "-", index: 0}}]
""",
            "overlays/prod/more.yaml": b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {completions: 128}\n",
        },
    ),
    Sample("plan", {"plan.json": _PLAN.encode(), "job.yaml": _JOB.encode()}, 1000),
    Sample("eks", {"main.tf": _EKS.encode(), "terraform.tfvars": b"nodes = 700\n", "job.yaml": _JOB.encode()}, 1000),
    Sample(
        "settings",
        {
            "main.tf": _EKS.encode(),
            "kcheck.yaml": b"""\
nodes: 1000
price: 30
exclude: [old]
ignore: [image-pulled-always]
severity: {missing-requests: error}
limits: {eks.pool.quota: {value: 100, reason: asked}}
mirrors: {docker.io: mirror.example.com}
simulation: {node_start: 90s, failure_rate: 0.01}
clusters:
  - {root: ".", name: a, var_files: [a.tfvars], manifests: [jobs], nodes: 100, price: 55.04}
suppressions:
  - {rule: missing-requests, path: job.yaml, reason: known, expires: 2027-01-01}
per_path_ignores: {"jobs/*": [missing-requests]}
fail_on: warning
""",
            "a.tfvars": b'nodes = "70"\n',
            "jobs/job.yaml": _JOB.encode(),
        },
    ),
    Sample(
        "toml",
        {
            "pyproject.toml": b'[tool.kcheck]\nnodes = 100\nprice = 1.5\nselect = ["missing-requests"]\n\n[tool.kcheck.severity]\nmissing-requests = "error"\n',
            "main.tf": _EKS.encode(),
        },
    ),
    Sample(
        "terragrunt",
        {
            "root.hcl": b'locals {\n  region = "us-east-1"\n}\ninputs = {\n  nodes = 64\n}\n',
            "live/prod/terragrunt.hcl": b"""\
include "root" {
  path   = find_in_parent_folders("root.hcl")
  expose = true
}
terraform {
  source = "../../modules//eks"
}
locals {
  common = read_terragrunt_config("${get_terragrunt_dir()}/common.hcl", { locals = {} })
}
dependency "vpc" {
  config_path  = "../vpc"
  mock_outputs = { id = "vpc-1" }
}
inputs = merge(local.common.locals, { nodes = 600 })
""",
            "live/prod/common.hcl": b"locals {\n  a = 1\n}\n",
            "live/vpc/terragrunt.hcl": b'terraform {\n  source = "../../modules//vpc"\n}\n',
            "modules/eks/main.tf": _EKS.encode(),
            "modules/vpc/main.tf": b'output "id" {\n  value = "vpc-1"\n}\n',
        },
    ),
    Sample(
        "json",
        {
            "main.tf.json": b'{"resource": {"aws_eks_cluster": {"main": {"name": "${var.name}", "version": "1.33"}}},'
            b' "variable": {"name": {"default": "a"}}}',
            "a.auto.tfvars.json": b'{"name": "b"}',
            "job.json": b'{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": 8,'
            b' "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}}',
        },
    ),
    Sample(
        "chart",
        {
            "chart/Chart.yaml": b"apiVersion: v2\nname: a\nversion: 1.0.0\n",
            "chart/values.yaml": b"replicas: 3\nimage: {repository: a, tag: 1}\n",
            "chart/templates/job.yaml": b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: {{ .Values.replicas }}, template: {spec: {containers: [{name: a, image: {{ .Values.image.repository }}:1}]}}}\n",
            "main.tf": b'variable "tag" {}\nresource "helm_release" "a" {\n  name = "a"\n  chart = "./chart"\n'
            b"  values = [yamlencode({ replicas = 3, image = { repository = var.tag } })]\n"
            b'  set {\n    name = "image.tag"\n    value = var.tag\n  }\n}\n',
            "own.yaml": b"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
            b"spec: {source: {path: chart, helm: {valuesObject: {replicas: 4, image: {repository: b}}}}}\n",
            "argo.yaml": b"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: autoscaler}
spec:
  source:
    chart: cluster-autoscaler
    repoURL: https://kubernetes.github.io/autoscaler
    targetRevision: 9.37.0
    helm: {parameters: [{name: "extraArgs.scan-interval", value: 10s}], values: "extraArgs: {expander: least-waste}\\nreplicaCount: 2\\n"}
""",
        },
    ),
)
