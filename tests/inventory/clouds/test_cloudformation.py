"""Test CloudFormation templates: resources, parameters and functions are read like those of Terraform."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Check, Read, Write

pytestmark = pytest.mark.medium

STACK = """\
Parameters:
  Version: {Type: String, Default: 1.29}
  Nodes: {Type: Number, Default: 200}
  Gpus: {Type: String, Default: "true"}
  Types: {Type: CommaDelimitedList, Default: "p5.48xlarge"}
  Owner: {Type: String}
Conditions:
  HasGpus: !And [!Equals [!Ref Gpus, "true"], !Not [!Equals [!Ref Nodes, 0]]]
Mappings:
  Ranges:
    Net: {Cidr: 10.0.0.0/20}
Resources:
  Network:
    Type: AWS::EC2::VPC
    Properties:
      CidrBlock: !FindInMap [Ranges, Net, Cidr]
      Tags: [{Key: Name, Value: !Sub "${AWS::StackName}-net"}]
  A:
    Type: AWS::EC2::Subnet
    Properties:
      VpcId: !Ref Network
      AvailabilityZone: !Select [0, !GetAZs ""]
      CidrBlock: !Select [0, !Cidr [!GetAtt Network.CidrBlock, 2, 8]]
  B:
    Type: AWS::EC2::Subnet
    Properties:
      VpcId: !Ref Network
      AvailabilityZone: !Select
        - 1
        - Fn::GetAZs: !Ref AWS::Region
      CidrBlock: !Select [1, !Cidr [!GetAtt Network.CidrBlock, 2, 8]]
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      Name: !Sub ["train-${Kind}", {Kind: !If [HasGpus, gpus, cpus]}]
      Version: !Ref Version
      RoleArn: !ImportValue role
      ResourcesVpcConfig:
        SubnetIds: [!Ref A, !Ref B]
  Pool:
    Type: AWS::EKS::Nodegroup
    Condition: HasGpus
    Properties:
      ClusterName: !Ref Cluster
      NodegroupName: !Join ["-", [gpus, !Select [1, !Split [".", "p5.48xlarge"]]]]
      InstanceTypes: !Ref Types
      Subnets:
        - !Ref A
        - !Ref B
      ScalingConfig: {MinSize: 0, DesiredSize: !Ref Nodes, MaxSize: !Ref Nodes}
      Labels: {role: gpus}
      Taints:
        - {Key: nvidia.com/gpu, Value: "true", Effect: NO_SCHEDULE}
      LaunchTemplate: {Id: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        BlockDeviceMappings:
          - DeviceName: /dev/xvda
            Ebs: {VolumeSize: 2000, VolumeType: gp3}
"""


class Loader(yaml.SafeLoader):
    """A YAML loader that reads `!Name argument` as `{Fn::Name: argument}`."""


def _function(loader: Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    value: Any = loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None
    if isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value.split(".") if name == "GetAtt" else value}


Loader.add_multi_constructor("!", _function)
AS_JSON = json.dumps(yaml.load(STACK, Loader), indent=1)  # noqa: S506


@pytest.mark.parametrize(("name", "text"), [("stack.yaml", STACK), ("stack.template", STACK), ("stack.json", AS_JSON)])
def test_a_template_is_a_cluster_with_pools_and_subnets(read: Read, name: str, text: str) -> None:
    inventory = read({name: text})
    (cluster,), (pool,) = inventory.clusters, inventory.pools
    assert (known(cluster.name), known(cluster.version)) == ("train-gpus", "1.29")
    assert known(pool.cluster) is cluster
    assert (known(pool.name), known(pool.size.max_nodes), known(pool.machine.disk_size)) == ("gpus-48xlarge", 200, 2000)
    assert known(pool.machine.instance_types) == ("p5.48xlarge",)
    assert known(pool.scheduling.taints) == ("nvidia.com/gpu=true:NO_SCHEDULE",)
    assert [known(one.cidr) for one in known(pool.addresses.subnets) or ()] == ["10.0.0.0/24", "10.0.1.0/24"]


def test_findings_are_at_the_lines_of_the_template(check: Check) -> None:
    found = check({"stack.yaml": STACK}).findings
    places = {(one.rule, one.span.begin.line) for one in found}
    assert {("unsupported-kubernetes", 2), ("subnet-too-small", 23), ("subnet-too-small", 31)} <= places


def test_an_imported_value_is_unknown_and_named(read: Read) -> None:
    (cluster,) = read({"stack.yaml": STACK.replace("Version: !Ref Version", "Version: !ImportValue version")}).clusters
    assert isinstance(cluster.version, Unknown)
    assert cluster.version.reason == "data.aws_cloudformation_export.version is read from the cloud"


@pytest.mark.parametrize(
    "call",
    [
        "!FindInMap [{Ref: A}, {Ref: B}, {Ref: C}]",
        "!Sub [{Ref: A}, {B: c}]",
        "!Sub []",
        "!If [{Ref: A}, 1, 2]",
        "!Condition {a: b}",
        "!GetAtt [{Ref: A}, b]",
    ],
)
def test_a_function_known_only_to_the_stack_is_unknown(read: Read, call: str) -> None:
    (cluster,) = read({"stack.yaml": STACK.replace("Version: !Ref Version", f"Version: {call}")}).clusters
    assert isinstance(cluster.version, Unknown)
    assert cluster.version.reason == f"{call[1:].partition(' ')[0]} is known to the stack only"


@pytest.mark.parametrize("call", ["!ImportValue version", "!GetAtt Network.State"])
def test_help_for_a_template_does_not_suggest_a_terraform_plan(check: Check, call: str) -> None:
    inputs = check({"stack.yaml": STACK.replace("Version: !Ref Version", f"Version: {call}")}).judged.inputs
    assert inputs
    assert not [one.remedy for one in inputs if "plan" in one.remedy]


def test_machines_of_a_cluster_in_another_stack_are_named(check: Check) -> None:
    key = 'Key: !Sub ["kubernetes.io/cluster/${Name}", {Name: !ImportValue train-cluster}]'
    group = f"    Properties:\n      MaxSize: 9\n      Tags:\n        - {key}\n          Value: owned\n"
    result = check({"nodes.yaml": f"Resources:\n  Nodes:\n    Type: AWS::AutoScaling::AutoScalingGroup\n{group}"})
    (skipped,) = [one for one in result.judged.skipped if one.what == "cluster not judged"]
    assert skipped.reason == "aws_autoscaling_group.Nodes"
    name = "${data.aws_cloudformation_export.train-cluster.value}"
    assert skipped.remedy == f"its tags name the cluster {name}, which is not read"


def test_a_parameter_without_default_is_a_missing_input(check: Check) -> None:
    result = check({"stack.yaml": STACK.replace("Default: 200", "Description: nodes")})
    assert "Nodes" in " ".join(one.reason for one in result.judged.inputs)


def test_a_pool_whose_condition_is_false_is_not_made(read: Read) -> None:
    assert not read({"stack.yaml": STACK.replace('Default: "true"', 'Default: "false"')}).pools


def test_fixes_write_no_terraform_into_templates(write: Write) -> None:
    write({"stack.yaml": STACK.replace("1.29", "1.33")})
    assert not fix.fix(["."], Config(), safeties=("safe", "costs", "unsafe")).files


CIDR, SUB = "!Select [0, !Cidr [{}, 1, 8]]", '!Sub ["${{a}}${{a}}", {{a: {}}}]'


@pytest.mark.parametrize(("form", "levels"), [(CIDR, 5), (CIDR, 40), (SUB, 40)])
def test_nested_functions_do_not_grow_without_bound(read: Read, form: str, levels: int) -> None:
    nested = "10.0.0.0/8"
    for _ in range(levels):
        nested = form.format(nested)
    text = STACK.replace("!Select [0, !Cidr [!GetAtt Network.CidrBlock, 2, 8]]", nested)
    subnets = read({"stack.yaml": text}).subnets
    assert (known(subnets[0].cidr) is None) is (levels == 40)


VPC = """\
Resources:
  Network: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Nodes: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Network, CidrBlock: 10.0.1.0/24}}
Outputs:
  Nodes:
    Value: !Ref Nodes
    Export:
      Name: !Sub "${AWS::StackName}-Nodes"
  Loop: {Value: !ImportValue x-Loop, Export: {Name: !Sub "${AWS::StackName}-Loop"}}
"""
TRAIN = """\
Parameters:
  Network: {Type: String}
  Loop: {Type: String, Default: a}
Resources:
  Cluster:
    Type: AWS::EKS::Cluster
    Properties: {Name: train, Version: "1.36", ResourcesVpcConfig: {SubnetIds: [!ImportValue x-Loop]}}
  Pool:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: !Ref Cluster
      Subnets:
        - Fn::ImportValue: !Sub "${Network}-Nodes"
      ScalingConfig: {MaxSize: 8}
"""


def test_templates_are_joined_by_exported_values(read: Read) -> None:
    (pool,) = read({"vpc.yaml": VPC, "train.yaml": TRAIN}).pools
    assert [known(one.cidr) for one in known(pool.addresses.subnets) or ()] == ["10.0.1.0/24"]


@pytest.mark.parametrize("more", ["Parameters: {Loop: {Type: String, Default: b}}\n", ""])
def test_templates_with_differing_export_names_are_not_joined(read: Read, more: str) -> None:
    other = VPC if more else VPC.replace("Network", "Pool")
    (pool,) = read({"vpc.yaml": more + other, "train.yaml": TRAIN}).pools
    assert isinstance(pool.addresses.subnets, Unknown)
