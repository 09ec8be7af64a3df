"""Test Terragrunt: units with their inputs, includes, dependencies and functions, resolved as Terragrunt does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config, Environment
from kcheck.engine import linter
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.inventory.reading import Reading
    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """
variable "name" {}
variable "size" {}
variable "subnets" { default = [] }
variable "any" { default = null }
resource "aws_eks_cluster" "main" {
  name     = var.name
  role_arn = "arn:aws:iam::123456789012:role/eks"
  vpc_config { subnet_ids = var.subnets }
}
resource "aws_eks_node_group" "main" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = var.subnets
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = var.size
  }
}
"""
NETWORK = """
variable "cidrs" {}
resource "aws_vpc" "main" { cidr_block = "10.0.0.0/16" }
resource "aws_subnet" "main" {
  count      = length(var.cidrs)
  vpc_id     = aws_vpc.main.id
  cidr_block = var.cidrs[count.index]
}
output "subnets" { value = aws_subnet.main[*].id }
output "cidrs" { value = var.cidrs }
"""
MODULES = {"modules/eks/main.tf": CLUSTER, "modules/vpc/main.tf": NETWORK}
SOURCE = 'terraform {\n  source = "${get_repo_root()}/modules//eks"\n}\n'


def reading(content: Mapping[str, str], write: Write, path: str = ".") -> Reading:
    """Return what kcheck reads from a repository with Terragrunt."""
    write({".git/HEAD": "", **MODULES, **content})
    return reader.read(Tree([path]), Config())


def given(content: Mapping[str, str], write: Write, name: str = "any") -> object:
    """Return the value of an input of the only cluster, or the reason why it is unknown."""
    (root,) = (root for root in reading(content, write).roots if "aws_eks_cluster" in root.kinds())
    (module,) = (module for module in root.all() if "any" in module.configuration.variables)
    value = module.variable(name)
    assert isinstance(value, Known | Unknown)
    return value.reason if isinstance(value, Unknown) else value.value


def test_a_unit_is_a_root_module_with_its_inputs(write: Write) -> None:
    unit = 'terraform {\n  source = "../../../modules//eks"\n}\ninputs = {\n  name = "train"\n  size = 30\n}\n'
    found = reading({"live/prod/eks/terragrunt.hcl": unit, "live/dev/eks/terragrunt.hcl": unit}, write).inventory
    assert sorted(pool.id for pool in found.pools) == [
        "eks/live/dev/eks:module.eks.aws_eks_node_group.main", "eks/live/prod/eks:module.eks.aws_eks_node_group.main",
    ]  # fmt: skip
    size = found.pools[0].size.max_nodes
    assert isinstance(size, Known)
    assert size.value == 30
    assert size.origin.written.source.path.endswith("eks/terragrunt.hcl")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('basename(get_terragrunt_dir())', "eks"),
        ('get_path_from_repo_root()', "live/prod/eks"),
        ('get_path_to_repo_root()', "../../.."),
        ('path_relative_to_include("root")', "prod/eks"),
        ('path_relative_from_include("root")', "../.."),
        ('basename(get_parent_terragrunt_dir("root"))', "live"),
        ('basename(dirname(find_in_parent_folders("env.hcl")))', "prod"),
        ('find_in_parent_folders("nowhere.hcl", "none")', "none"),
        ('try(find_in_parent_folders("nowhere.hcl"), "tried")', "tried"),
        ('read_terragrunt_config(find_in_parent_folders("env.hcl")).locals.env', "prod"),
        ('read_terragrunt_config("nowhere.hcl", { locals = { env = "none" } }).locals.env', "none"),
        ('include.root.locals.path', "prod/eks"),
        ('include.root.inputs.own', "parent"),
        ('yamldecode(file(find_in_parent_folders("values.yaml"))).zone', "a"),
        ('jsondecode(read_tfvars_file("../common.tfvars")).zone', "b"),
        ('get_env("NOWHERE", "fallback")', "fallback"),
        ('get_env("NOWHERE")', "the environment variable NOWHERE is not read"),
        ('run_cmd("rm", "-rf", "/")', "run_cmd() is not run"),
        ('feature.many.value', "off"),
        ('dependency.nowhere.outputs.x', "dependency.nowhere.outputs.x is not known: there is no unit in live/prod/no"),
    ],
)  # fmt: skip
def test_terragrunt_functions_and_names_are_evaluated(
    expression: str, expected: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOWHERE", "never read")
    root = 'locals {\n  path = path_relative_to_include()\n}\ninputs = {\n  own = "parent"\n}\n'
    unit = f"""
include "root" {{
  path   = find_in_parent_folders("root.hcl")
  expose = true
}}
feature "many" {{ default = "off" }}
dependency "nowhere" {{
  config_path  = "../no"
  mock_outputs = {{ x = "mocked" }}
}}
{SOURCE}
inputs = {{
  name = "train"
  size = 3
  any  = {expression}
}}
"""
    files = {
        "live/root.hcl": root,
        "live/prod/env.hcl": 'locals {\n  env = "prod"\n}\n',
        "live/values.yaml": "zone: a\n",
        "live/prod/common.tfvars": 'zone = "b"\n',
        "live/prod/eks/terragrunt.hcl": unit,
    }
    assert given(files, write) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("", {"b": 3}),
        ('merge_strategy = "shallow"', {"b": 3}),
        ('merge_strategy = "deep"', {"a": 1, "b": 3, "list": [1, 2]}),
        ('merge_strategy = "no_merge"', {"b": 3}),
    ],
)
def test_terragrunt_includes_are_merged(strategy: str, expected: dict[str, object], write: Write) -> None:
    lists = "list = [2]" if "deep" in strategy else ""
    unit = f"""
include {{
  path = find_in_parent_folders()
  {strategy}
}}
terraform {{ source = "../modules/eks" }}
inputs = {{
  any  = {{
    b = 3
    {lists}
  }}
}}
"""
    root = 'skip = true\ninputs = {\n  name = "train"\n  size = 7\n  any = { a = 1, b = 2, list = [1] }\n}\n'
    files = {"terragrunt.hcl": root, "eks/terragrunt.hcl": unit}
    found = given(files, write)
    assert isinstance(found, dict)
    plain = {key: [one.value for one in item.value] if key == "list" else item.value for key, item in found.items()}
    assert plain == expected
    size = given(files, write, "size")
    assert size == ("var.eks.size has no value" if "no_merge" in strategy else 7) or "no_merge" in strategy


def test_the_last_include_overrides_and_can_set_the_module(write: Write) -> None:
    unit = """
include "root" { path = find_in_parent_folders("root.hcl") }
include "env" { path = "${get_terragrunt_dir()}/../_envcommon/eks.hcl" }
"""
    files = {
        "root.hcl": 'inputs = {\n  any = "root"\n  name = "root"\n}\n',
        "_envcommon/eks.hcl": f'{SOURCE}\ninputs = {{\n  any = "env"\n  size = 3\n}}\n',
        "eks/terragrunt.hcl": unit,
    }
    assert given(files, write) == "env"
    assert given(files, write, "name") == "root"


EKS = f"""
{SOURCE}
dependency "vpc" {{
  config_path  = "../vpc"
  mock_outputs = {{ subnets = ["subnet-1"], cidrs = ["1.2.3.0/24"] }}
}}
inputs = {{
  name    = "train"
  size    = 30
  subnets = dependency.vpc.outputs.subnets
  any     = dependency.vpc.outputs.cidrs[0]
}}
"""
VPC = """
terraform { source = "../../modules/vpc" }
inputs = { cidrs = ["10.0.1.0/24", "10.0.2.0/24"] }
"""


@pytest.mark.parametrize("path", [".", "live/eks", "live/eks/terragrunt.hcl"])
def test_a_terragrunt_dependency_is_followed(path: str, write: Write) -> None:
    files = {"live/eks/terragrunt.hcl": EKS, "live/vpc/terragrunt.hcl": VPC}
    found = reading(files, write, path).inventory
    (pool,) = found.pools
    assert pool.id == "eks/live:module.eks.aws_eks_node_group.main"
    subnets = pool.addresses.subnets
    assert isinstance(subnets, Known)
    assert [subnet.cidr.value for subnet in subnets.value if isinstance(subnet.cidr, Known)] == [
        "10.0.1.0/24", "10.0.2.0/24",
    ]  # fmt: skip


def test_mock_outputs_are_not_used_as_values(write: Write) -> None:
    lost = VPC.replace("../../modules/vpc", "git::https://git.example.com/vpc.git")
    files = {"live/eks/terragrunt.hcl": EKS, "live/vpc/terragrunt.hcl": lost}
    assert given(files, write) == "dependency.vpc.outputs.cidrs is only known after apply of live/vpc"


def test_circular_dependencies_of_units_are_stopped(write: Write) -> None:
    vpc = VPC.replace('["10.0.1.0/24", "10.0.2.0/24"]', "dependency.eks.outputs.x") + (
        'dependency "eks" {\n  config_path = "../eks"\n}\n'
    )
    assert reading({"live/eks/terragrunt.hcl": EKS, "live/vpc/terragrunt.hcl": vpc}, write).inventory.clusters


def test_terragrunt_files_that_read_each_other_are_stopped(write: Write) -> None:
    one = 'locals {\n  x = read_terragrunt_config("OTHER.hcl").locals.x\n}\n'
    unit = SOURCE + 'inputs = {\n  name = "a"\n  any = read_terragrunt_config("a.hcl").locals.x\n}\n'
    files = {"a.hcl": one.replace("OTHER", "b"), "b.hcl": one.replace("OTHER", "a")}
    assert given({f"eks/{name}": text for name, text in {**files, "terragrunt.hcl": unit}.items()}, write) == (
        "local.x refers to itself"
    )


@pytest.mark.parametrize(
    "source",
    [
        "tfr:///terraform-aws-modules/eks/aws?version=20.8.4",
        "tfr://registry.terraform.io/terraform-aws-modules/eks/aws?version=20.8.4",
        "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=v20.8.4",
        "git::git@github.com:terraform-aws-modules/terraform-aws-eks.git?ref=v20.8.4",
    ],
)
def test_a_unit_may_use_a_published_module(source: str, write: Write) -> None:
    unit = f"""
terraform {{
  source = "{source}"
}}
inputs = {{
  cluster_name = "train"
  eks_managed_node_groups = {{ gpu = {{ max_size = 300, instance_types = ["p5.48xlarge"] }} }}
}}
"""
    write({".git/HEAD": "", "eks/terragrunt.hcl": unit})
    (pool,) = reader.read(Tree(["."]), Config()).inventory.pools
    assert isinstance(pool.size.max_nodes, Known)
    assert pool.size.max_nodes.value == 300
    assert pool.place.source.path == "eks/terragrunt.hcl"


def test_roots_of_terragrunt_units_are_read_once(write: Write) -> None:
    here = CLUSTER.replace('variable "any" { default = null }', "")
    files = {"live/eks/terragrunt.hcl": 'inputs = { name = "a", size = 3 }\n', "live/eks/main.tf": here}
    roots = [root.configuration.folder for root in reading(files, write).roots]
    assert sorted(roots) == ["live/eks", "modules/eks", "modules/vpc"]


def test_settings_and_flags_override_terragrunt_inputs(write: Write) -> None:
    files = {"eks/terragrunt.hcl": SOURCE + 'inputs = { name = "a", size = 3 }\n', "eks/more.tfvars": "size = 5\n"}
    write({".git/HEAD": "", **MODULES, **files})
    flagged = reader.read(Tree(["."]), Config(variables={"size": "7"})).inventory.pools[0].size.max_nodes
    assert isinstance(flagged, Known)
    assert flagged.value == 7
    named = (Environment("eks", "live", ("eks/more.tfvars",), nodes=40),)
    (cluster,) = reader.read(Tree(["."]), Config(environments=named)).inventory.clusters
    assert cluster.environment == "live"


def test_var_files_passed_by_terragrunt_are_read(write: Write) -> None:
    unit = """
terraform {
  source = "../modules/eks"
  extra_arguments "more" {
    commands           = ["plan"]
    optional_var_files = ["${get_terragrunt_dir()}/more.tfvars", "nowhere.tfvars"]
  }
}
inputs = { name = "a", size = 3 }
"""
    assert given({"eks/terragrunt.hcl": unit, "eks/more.tfvars": "size = 5\n"}, write, "size") == 5


def test_terragrunt_reads_nothing_outside_the_repository(write: Write) -> None:
    unit = SOURCE + 'inputs = {\n  name = "a"\n  any = try(read_terragrunt_config("../../out.hcl").locals.x, "no")\n}\n'
    write({"out.hcl": 'locals {\n  x = "seen"\n}\n'})
    files = {f"repo/{path}": text for path, text in {**MODULES, "eks/terragrunt.hcl": unit, ".git/HEAD": ""}.items()}
    write(files)
    (root,) = (root for root in reader.read(Tree(["repo"]), Config()).roots if "aws_eks_cluster" in root.kinds())
    (module,) = (module for module in root.all() if "any" in module.configuration.variables)
    value = module.variable("any")
    assert isinstance(value, Known)
    assert value.value == "no"


def test_a_value_is_fixed_in_the_unit(write: Write) -> None:
    vpc = """
terraform {
  source = "tfr:///terraform-aws-modules/vpc/aws?version=5.0.0"
}
inputs = {
  name            = "net"
  cidr            = "10.0.0.0/16"
  azs             = ["a", "b"]
  private_subnets = ["10.0.0.0/20", "10.0.16.0/20"]
  public_subnets  = ["10.0.32.0/24", "10.0.33.0/24"]

  enable_nat_gateway = true
  single_nat_gateway = true
}
"""
    eks = (
        EKS.replace("30", "300")
        .replace("outputs.subnets\n", "outputs.private_subnets\n")
        .replace("outputs.cidrs[0]", "outputs.vpc_id")
    )
    folder = write({".git/HEAD": "", **MODULES, "live/vpc/terragrunt.hcl": vpc, "live/eks/terragrunt.hcl": eks})
    output = CliRunner().invoke(cli, ["fix", ".", "--select", "single-nat-gateway"]).output
    fixed = (folder / "live/vpc/terragrunt.hcl").read_text()
    old = "  enable_nat_gateway = true\n  single_nat_gateway = true\n"
    new = "  enable_nat_gateway     = true\n  single_nat_gateway     = false\n  one_nat_gateway_per_az = true\n"
    assert fixed == vpc.replace(old, new), output


def test_units_of_a_terragrunt_stack_are_read(write: Write) -> None:
    stack = """
locals {
  size = 30
}
unit "eks" {
  source = "../../units/eks"
  path   = "eks"
  values = {
    name = "train"
    size = local.size
  }
}
unit "vpc" {
  source = "../../units//vpc"
  path   = "vpc"
}
unit "lost" {
  source = "git::https://git.example.com/catalog.git//units/gpu?ref=v1"
  path   = "lost"
}
stack "inner" {
  source = "../../stacks/inner"
  path   = "inner"
  values = { name = "second" }
}
"""
    eks = EKS.replace('"train"', "values.name").replace("30", "try(values.size, 2)")
    vpc = VPC.replace("../../modules/vpc", "${get_repo_root()}/modules/vpc")
    inner = """
unit "eks" {
  source = "../../units/eks"
  path   = "eks"
  values = { name = values.name }
}
"""
    files = {
        "live/prod/terragrunt.stack.hcl": stack,
        "units/eks/terragrunt.hcl": eks,
        "units/vpc/terragrunt.hcl": vpc,
        "units/unused/terragrunt.hcl": eks,
        "stacks/inner/terragrunt.stack.hcl": inner.replace("../../units", "${get_repo_root()}/units"),
    }
    found = reading(files, write)
    pools = {pool.id: pool.size.max_nodes for pool in found.inventory.pools if "stack" in pool.id}
    sizes = {name: size.value for name, size in pools.items() if isinstance(size, Known)}
    assert sizes == {
        "eks/live/prod/.terragrunt-stack:module.eks.aws_eks_node_group.main": 30,
        "eks/live/prod/.terragrunt-stack/inner/.terragrunt-stack/eks:module.eks.aws_eks_node_group.main": 2,
    }
    template, skipped = sorted(found.skipped, key=lambda one: one.line)
    assert (template.path, template.reason.partition(",")[0]) == (
        "units/unused/terragrunt.hcl", "it is a template for stacks outside the repository",
    )  # fmt: skip
    assert (skipped.path, skipped.line) == ("live/prod/terragrunt.stack.hcl", 17)
    assert skipped.reason == "the source of lost was not read; it may create clusters"
    assert skipped.remedy == "terragrunt stack generate, then kcheck check live/prod/.terragrunt-stack"


def test_a_config_that_reads_itself_is_stopped(write: Write) -> None:
    lines = [
        f'  {name} = read_terragrunt_config("terragrunt.hcl").inputs.{name}' for name in ("any", "name", "size", "x")
    ]
    head = 'include "a" { path = path_relative_to_include("a") }\ndependency "b" { config_path = dependency.b.outputs.x }\n'
    unit = head + SOURCE + "inputs = {\n" + "\n".join(lines) + "\n}\n"
    assert given({"eks/terragrunt.hcl": unit}, write) == "inputs refers to itself"


@pytest.mark.parametrize(
    "unit",
    [
        'terraform {\n  source = "\\u0000"\n}\ninputs = {\n  any = find_in_parent_folders("\\u0000")\n}\n',
        'terraform {\n  source = "../../../../../../etc"\n}\ninputs = {\n  any = file("/etc/passwd")\n}\n',
        'terraform {}\nterraform {}\ninputs = null\nlocals = 3\ninclude "x" {}\ndependency {}\n',
        SOURCE + "inputs = merge(local.x, dependency.a.outputs)\nlocals {\n  x = merge(local.x, {})\n}\n",
        SOURCE + 'dependency "a" {\n  config_path = "."\n}\ninputs = {\n  any = dependency.a.outputs.x\n}\n',
        "inputs = " + "[" * 2000 + "]" * 2000,
    ],
)
def test_hostile_units_cause_no_bug(unit: str, write: Write) -> None:
    stack = 'unit "a" {\n  source = "."\n  path   = "../../.."\n}\nstack "b" {\n  source = "."\n  path   = "."\n}\nunit {}\n'
    write({".git/HEAD": "", **MODULES, "eks/terragrunt.hcl": unit, "stack/terragrunt.stack.hcl": stack})
    assert linter.run(Tree(["."]), Config()).bugs == []


PROVIDER = """
generate "provider" {
  path      = "provider.tf"
  if_exists = "overwrite_terragrunt"
  contents  = <<-EOF
    provider "aws" {
      region              = "${local.region}"
      allowed_account_ids = ["444455556666"]
    }
    provider "aws" {
      alias  = "far"
      region = "ap-south-1"
    }
  EOF
}
"""


def regions(content: Mapping[str, str], write: Write) -> dict[str, str]:
    clusters = reading(content, write).inventory.clusters
    return {one.address: one.region.value if isinstance(one.region, Known) else "?" for one in clusters}


def test_generated_providers_of_each_unit_are_read(write: Write) -> None:
    inputs = 'inputs = {\n  name = "a"\n  size = 1\n}\n'
    unit = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n' + SOURCE + inputs
    root = (
        'locals {\n  region = read_terragrunt_config(find_in_parent_folders("region.hcl")).locals.region\n}\n'
        + PROVIDER
    )
    region = 'locals {\n  region = "%s"\n}\n'
    near = unit + 'dependency "far" {\n  config_path = "../far/eks"\n}\n'  # which makes both one root module
    files = {
        "root.hcl": root, "region.hcl": region % "us-east-1", "near/terragrunt.hcl": near,
        "far/region.hcl": region % "eu-west-1", "far/eks/terragrunt.hcl": unit,
    }  # fmt: skip
    found = regions(files, write)
    assert found == {
        "module.near.aws_eks_cluster.main": "us-east-1", "module.far-eks.aws_eks_cluster.main": "eu-west-1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "region"),
    [
        ("", "", "us-east-1"),
        ("${local.region}", '${get_env("AWS_REGION")}', "?"),
        ("contents  =", "content  =", "?"),
    ],
)
def test_a_generated_provider_is_read(old: str, new: str, region: str, write: Write) -> None:
    unit = 'locals {\n  region = "us-east-1"\n}\n' + SOURCE + PROVIDER + 'inputs = {\n  name = "a"\n  size = 1\n}\n'
    assert list(regions({"eks/terragrunt.hcl": unit.replace(old, new)}, write).values()) == [region]


def test_a_module_can_require_another_generated_provider(write: Write) -> None:
    unit = 'locals {\n  region = "us-east-1"\n}\n' + SOURCE + PROVIDER + 'inputs = {\n  name = "a"\n  size = 1\n}\n'
    module = CLUSTER.replace("var.name\n", "var.name\n  provider = aws.far\n", 1)
    assert list(regions({"eks/terragrunt.hcl": unit, "modules/eks/main.tf": module}, write).values()) == ["ap-south-1"]
