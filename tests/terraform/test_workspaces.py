"""Test workspaces: the chosen one, and those that the code names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.console import evaluate
from kcheck.config.config import Config, Environment
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known, Unknown

if TYPE_CHECKING:
    from tests.conftest import Check, Write

GROUP = """
resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::123456789012:role/eks"
  vpc_config { subnet_ids = ["subnet-1", "subnet-2"] }
}
resource "aws_eks_node_group" "main" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = ["subnet-1"]
  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = SIZE
  }
}
"""


def maxima(config: Config | None = None) -> dict[str, int | str]:
    """Return the maximum of each environment's only pool, or the reason why it is unknown."""
    found = reader.read(Tree(["."]), config or Config()).inventory
    environments = {cluster.id: cluster.environment for cluster in found.clusters}
    result: dict[str, int | str] = {}
    for pool in found.pools:
        assert isinstance(pool.cluster, Known)
        size = pool.size.max_nodes
        assert isinstance(size, Known | Unknown)
        name = environments[pool.cluster.value.id]
        result[name] = size.value if isinstance(size, Known) else size.reason
    return result


MAP = "{ dev = { size = 3 }, prod = { size = 300 } }"


SHARED = (
    f"locals {{\n sizes = merge({{ default = {{ size = 1 }}, common = {{}} }}, {MAP})\n"
    ' one = merge(local.sizes["default"], local.sizes.common, local.sizes[terraform.workspace])\n}'
)


@pytest.mark.parametrize(
    ("size", "more", "expected"),
    [
        ("local.sizes[terraform.workspace].size", f"locals {{\n sizes = {MAP}\n}}", {"dev": 3, "prod": 300}),
        (
            "lookup(local.sizes, local.env).size",
            f'locals {{\n sizes = {MAP}\n env = "${{terraform.workspace}}"\n}}',
            {"dev": 3, "prod": 300},
        ),
        (  # only a default workspace stands for another
            "local.sizes[local.env].size",
            f'locals {{\n sizes = {MAP}\n env = terraform.workspace == "default" ? "dev" : terraform.workspace\n}}',
            {"dev": 3, "prod": 300},
        ),
        ('terraform.workspace == "prod" ? 300 : 3', "", {"default": 3, "prod": 300}),
        ('contains(["stage", "prod"], terraform.workspace) ? 300 : 3', "", {"default": 3, "prod": 300, "stage": 300}),
        ("lookup({ prod = 300 }, terraform.workspace, 3)", "", {"default": 3, "prod": 300}),
        (  # a map that lacks a workspace rules it out
            "local.sizes[terraform.workspace].size",
            f"locals {{\n sizes = {MAP}\n zone = {{ prod = 1 }}[terraform.workspace]\n}}",
            {"prod": 300},
        ),
        (
            "try(local.sizes[terraform.workspace].size, 7)",
            f"locals {{\n sizes = {MAP}\n}}",
            {"default": 7, "dev": 3, "prod": 300},
        ),
        (
            "lookup({ a = 1, b = 2, c = 3, d = 4 }, terraform.workspace, 5)", "",
            {"a": 1, "b": 2, "c": 3, "d": 4},
        ),
        (  # what all share is no workspace
            "local.one.size",
            SHARED,
            {"dev": 3, "prod": 300},
        ),
        (
            'yamldecode(file("${path.module}/env/${terraform.workspace}.yaml")).size',
            "",
            {"blue": 30, "green": 40},
        ),
    ],
)  # fmt: skip
def test_a_few_workspaces_are_each_judged(size: str, more: str, expected: dict[str, int], write: Write) -> None:
    write({"main.tf": GROUP.replace("SIZE", size) + more, "env/blue.yaml": "size: 30\n", "env/green.yaml": "size: 40"})
    assert maxima() == expected


BY_KEY = GROUP.replace("SIZE", "local.sizes[terraform.workspace]") + "locals {\n  sizes = { dev = 3, prod = 300 }\n}\n"


def test_only_a_chosen_workspace_is_judged(write: Write) -> None:
    write({"main.tf": BY_KEY})
    assert maxima(Config(workspace="prod")) == {"": 300}
    entries = (Environment(".", "live", workspace="prod"), Environment(".", "dev"))
    assert maxima(Config(environments=entries)) == {"live": 300, "dev": 3}
    assert evaluate("terraform.workspace", ".", Config(workspace="prod"))["value"] == "prod"
    assert evaluate("terraform.workspace", ".", Config())["reason"] == (
        "terraform.workspace has no value; set --workspace NAME (dev, prod)"
    )


def test_many_workspaces_are_named_and_not_judged(write: Write) -> None:
    many = ", ".join(f"w{number} = {number}" for number in range(5))
    write({"main.tf": BY_KEY.replace("dev = 3, prod = 300", many)})
    reason = "terraform.workspace has no value; set --workspace NAME (w0, w1, w2, w3, w4)"
    assert maxima() == {"": reason}


def test_workspace_names_in_names_and_tags_make_no_environments(write: Write) -> None:
    tagged = 'resource "aws_vpc" "main" {\n  tags = { env = terraform.workspace == "prod" ? "live" : "play" }\n}\n'
    named = GROUP.replace('"main"\n  role', '"main-${terraform.workspace}"\n  role')
    write({"main.tf": named.replace("SIZE", "3") + tagged})
    assert maxima() == {"": 3}


SIZED = 'variable "size" {}\n' + GROUP.replace("SIZE", "var.size").replace('"gpu"', '"gpu-${terraform.workspace}"')


@pytest.mark.parametrize("where", ["envs/{}.tfvars", "{}.tfvars", "envs/{}/terraform.tfvars", "../vars/{}.tfvars.json"])
def test_var_files_named_like_a_workspace_give_its_variables(where: str, write: Write) -> None:
    files = {}
    for name, size in {"dev": 3, "prod": 300}.items():
        path = f"infra/{where.format(name)}".replace("infra/../", "")
        files[path] = f'{{"size": {size}}}' if path.endswith("json") else f"size = {size}\n"
    write({"infra/main.tf": SIZED, "other/main.tf": "", "other/stage.tfvars": "size = 1\n"} | files)
    assert maxima() == {"dev": 3, "prod": 300}
    assert maxima(Config(workspace="prod")) == {"": 300}


def test_a_given_var_file_chooses_its_workspace(write: Write) -> None:
    more = 'variable "size" {}\nlocals {\n  live = terraform.workspace == "prod"\n}\n'
    write({"main.tf": GROUP.replace("SIZE", "local.live ? var.size : 2") + more, "envs/prod.tfvars": "size = 300\n"})
    assert maxima() == {"default": 2, "prod": 300}
    assert maxima(Config(var_files=("envs/prod.tfvars",))) == {"prod": 300}


def test_a_child_module_has_the_workspace_of_its_root(write: Write) -> None:
    write({"main.tf": 'module "eks" {\n  source = "./eks"\n}\n', "eks/main.tf": BY_KEY})
    assert maxima() == {"dev": 3, "prod": 300}


def test_a_finding_common_to_all_workspaces_is_reported_once(check: Check) -> None:
    result = check({"main.tf": BY_KEY.replace("desired_size = 0", "desired_size = 0\n  broken = {}")})
    spans = [(finding.rule, finding.span) for finding in result.findings]
    assert len(spans) == len(set(spans))
    assert any("@dev" in name for finding in result.findings for name in finding.objects)
