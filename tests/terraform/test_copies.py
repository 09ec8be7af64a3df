"""Test modules without a skeleton whose code is there: fetched, in a named folder, or in the repository."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config, ConfigError
from kcheck.engine import linter
from kcheck.report import model
from kcheck.terraform.copies import parse_address
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

MODULE = {
    "variables.tf": """
variable "cluster" {
  type = string
}
variable "most" {
  type    = number
  default = 4
}
variable "tier" {
  default = "STANDARD"
}
""",
    "main.tf": """
resource "aws_eks_cluster" "this" {
  name = var.cluster
}
module "nodes" {
  source = "./nodes"
  most   = var.most
  owner  = aws_eks_cluster.this.name
}
output "name" {
  value = aws_eks_cluster.this.name
}
""",
    "nodes/main.tf": """
variable "most" {}
variable "owner" {}
resource "aws_eks_node_group" "this" {
  cluster_name   = var.owner
  instance_types = ["p5.48xlarge"]
  subnet_ids     = ["subnet-1"]
  scaling_config {
    min_size     = 0
    desired_size = 1
    max_size     = var.most
  }
}
""",
}
CALL = """
module "training" {{
  source  = "{source}"
  cluster = "train"
  {more}
}}
"""

INSIDE = "eks/live:module.training.module.nodes.aws_eks_node_group.this"
ALONE = "eks/modules/eks:module.nodes.aws_eks_node_group.this"


def fetched(source: str, folder: str = ".terraform/modules/training") -> dict[str, str]:
    """Return the files that `terraform init` writes for a module."""
    rows = [{"Key": "", "Source": "", "Dir": "."}, {"Key": "training", "Source": source, "Dir": folder}]
    rows.append({"Key": "training.nodes", "Source": "./nodes", "Dir": f"{folder}/nodes"})
    return {".terraform/modules/modules.json": json.dumps({"Modules": rows})} | at(folder)


def at(folder: str) -> dict[str, str]:
    """Return the files of the module in a folder."""
    return {f"{folder}/{name}": text for name, text in MODULE.items()}


def sizes(config: Config | None = None) -> list[Any]:
    """Return the maxima of the pools in the working directory."""
    return [pool["fields"]["max_nodes"] for pool in model.collect(Tree(["."]), config or Config())["pools"]]


@pytest.mark.parametrize(
    ("source", "listed"),
    [
        ("acme/training/aws", "registry.terraform.io/acme/training/aws"),
        ("app.terraform.io/acme/training/aws", "app.terraform.io/acme/training/aws"),
        ("git::https://git.acme.example/modules/eks.git?ref=v1", "git::https://git.acme.example/modules/eks.git?ref=v1"),
        ("github.com/acme/eks", "git::https://github.com/acme/eks.git"),
        ("s3::https://s3.amazonaws.com/acme/eks.zip", "s3::https://s3.amazonaws.com/acme/eks.zip"),
    ],
)  # fmt: skip
def test_fetched_modules_are_read(source: str, listed: str, write: Write) -> None:
    write({"main.tf": CALL.format(source=source, more="most = 40")} | fetched(listed))
    assert [pool["value"] for pool in sizes()] == [40]


def test_findings_and_fixes_of_a_fetched_module_are_at_its_call(write: Write) -> None:
    write({"main.tf": CALL.format(source="acme/training/aws", more="")} | fetched("acme/training/aws"))
    assert sizes() == [{"value": 4, "default": True, "from": ["main.tf:2:1"]}]
    result = linter.run(Tree(["."]), Config(nodes={"": 5000}))
    assert not result.bugs
    assert result.findings
    for finding in result.findings:
        spans = [finding.span, *(related.span for related in finding.related), *finding.anchors]
        spans += [change.origin.written for change in (finding.fix.changes if finding.fix else ())]
        assert {span.source.path for span in spans} == {"main.tf"}


def test_a_module_copy_can_call_published_modules(write: Write) -> None:
    """The skeleton of a module that the copy calls reports its inputs at the copy's call."""
    inner = """
variable "cluster" {}
variable "most" {}
module "eks" {
  source                  = "terraform-aws-modules/eks/aws"
  version                 = "~> 20.0"
  cluster_name            = var.cluster
  eks_managed_node_groups = { gpu = { max_size = var.most }, cpu = {} }
}
"""
    rows = {"Modules": [{"Key": "training", "Source": "acme/training/aws", "Dir": ".terraform/modules/training"}]}
    write(
        {
            "main.tf": CALL.format(source="acme/training/aws", more="most = 7"),
            ".terraform/modules/modules.json": json.dumps(rows),
            ".terraform/modules/training/main.tf": inner,
        }
    )
    assert sizes() == [{"value": 3}, {"value": 7, "from": ["main.tf:5:10"]}]


@pytest.mark.parametrize(
    "modules",
    [
        '{"Modules":[{"Key":"training","Source":"other/module/aws","Dir":".terraform/modules/training"}]}',  # stale
        '{"Modules":[{"Key":"training","Source":"acme/training/aws","Dir":"../outside"}]}',
        '{"Modules":[{"Key":"training","Source":"acme/training/aws","Dir":3}, null, 7]}',
        '{"Modules": 5}',
        "[]",
        "[" * 100_000,
        "no json",
    ],
)
def test_stale_module_copies_and_copies_outside_are_not_read(modules: str, write: Write) -> None:
    files = fetched("acme/training/aws") | {".terraform/modules/modules.json": modules}
    top = write({f"in/{name}": text for name, text in files.items()} | at("outside") | {"in/.git/HEAD": ""})
    (top / "in" / "main.tf").write_text(CALL.format(source="acme/training/aws", more=""))
    assert not model.collect(Tree(["in"]), Config())["pools"]


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("acme/training/aws", "acme/training/aws"),
        ("acme/training/aws", "registry.terraform.io/acme/training/aws"),
        ("acme/training/aws", "terraform-aws-training"),
        ("acme/big/aws//modules/training", "acme/big/aws/modules/training"),
        ("git::https://git.acme.example/modules/eks.git//training?ref=v1", "git.acme.example/modules/eks/training"),
        ("git@github.com:acme/eks.git", "acme/eks"),
        ("git::ssh://git@git.acme.example:22/acme/eks.git", "eks"),
        ("s3::https://s3.amazonaws.com/acme/eks.zip", "training"),  # the name of the call
        ("../../not-here", "training"),
    ],
)
def test_module_copies_in_a_named_folder_are_read(source: str, folder: str, write: Write) -> None:
    write({"infra/main.tf": CALL.format(source=source, more="most = 9")} | at(f"copies/{folder}"))
    data = model.collect(Tree(["."]), Config(module_dirs=("copies",)))
    assert [pool["fields"]["max_nodes"] for pool in data["pools"]] == [{"value": 9, "from": ["infra/main.tf:5:10"]}]


def test_the_folder_of_module_copies_can_be_set_in_the_settings(write: Write) -> None:
    write(
        {"infra/main.tf": CALL.format(source="acme/training/aws", more="most = 9")}
        | {"kcheck.yaml": "module_dirs: [copies]\n"}
        | at("copies/training")
    )
    assert 'module_dirs: ["copies"]' in CliRunner().invoke(cli, ["config"]).output
    assert "max_nodes" in CliRunner().invoke(cli, ["show", "infra"]).output
    assert CliRunner().invoke(cli, ["show", "--module-dir", "nowhere"]).exit_code == 2
    with pytest.raises(ConfigError, match="no such folder"):
        model.collect(Tree(["."]), Config(module_dirs=("nowhere",)))


@pytest.mark.parametrize(
    ("source", "origin", "read"),
    [
        ("git::https://github.com/acme/platform.git//modules/eks?ref=v1.2.0", "git@github.com:acme/platform.git", True),
        ("github.com/acme/platform//modules/eks", "https://github.com/Acme/Platform", True),
        ("acme/platform/aws//modules/eks", "https://github.com/acme/terraform-aws-platform", True),
        ("git::https://github.com/acme/platform.git//modules/eks", "https://github.com/acme/other.git", False),
        ("git::https://github.com/acme/platform.git//modules/eks", "", True),  # nothing says that it is another one
        ("git::https://github.com/acme/platform.git//modules/eks/../../../x", "", False),
        ("acme/platform/aws//modules/vpc", "", False),
    ],
)
def test_a_module_in_the_same_repository_is_read_from_the_tree(
    source: str, origin: str, read: bool, write: Write
) -> None:
    remote = f'[core]\n\tbare = false\n[remote "origin"]\n\tfetch = x\n\turl = {origin}\n' if origin else ""
    write(
        {"live/main.tf": CALL.format(source=source, more="most = 11"), ".git/config": remote, ".git/HEAD": ""}
        | at("modules/eks")
    )
    data = model.collect(Tree(["."]), Config())
    assert [pool["id"] for pool in data["pools"]] == [INSIDE if read else ALONE]


def test_a_folder_whose_inputs_do_not_fit_the_call_is_not_used(write: Write) -> None:
    call = CALL.format(source="acme/platform/aws//modules/eks", more="vpc = 3")
    write({"live/main.tf": call, ".git/HEAD": ""} | at("modules/eks"))
    assert [pool["id"] for pool in model.collect(Tree(["."]), Config())["pools"]] == [ALONE]


def test_module_copies_that_call_each_other_are_stopped(write: Write) -> None:
    loop = 'module "a" {\n  source = "acme/a/aws"\n}\nmodule "b" {\n  source = "acme/b/aws"\n}\n'
    write({"main.tf": loop, "copies/acme/a/aws/main.tf": loop, "copies/acme/b/aws/main.tf": loop})
    result = linter.run(Tree(["."]), Config(module_dirs=("copies",)))
    assert not result.bugs
    assert not result.findings


def test_links_out_of_a_module_copy_are_not_followed(write: Write) -> None:
    """A link to the copy itself is no deeper module, and targets outside of the copy are not read."""
    inner = (
        'module "again" {\n  source = "./again"\n}\nmodule "out" {\n  source = "./out"\n}\n' + MODULE["nodes/main.tf"]
    )
    call = 'module "training" {\n  source = "acme/training/aws"\n  most = 3\n  owner = "a"\n}\n'
    top = write({"in/main.tf": call, "copies/training/main.tf": inner} | at("elsewhere"))
    for name, target in (("again", "."), ("out", "../../elsewhere"), ("more.tf", "../../elsewhere/main.tf")):
        (top / "copies" / "training" / name).symlink_to(target)
    data = model.collect(Tree(["in"]), Config(module_dirs=("copies",)))
    assert [pool["id"] for pool in data["pools"]] == ["eks/in:module.training.aws_eks_node_group.this"]
    assert not data["clusters"]


def test_folders_with_only_linked_files_are_not_separate_roots(write: Write) -> None:
    pool = MODULE["nodes/main.tf"]
    top = write({"main.tf": "", "region/east/pool.tf": pool, "region/west/pool.tf": pool, "west/own.tf": ""})
    (top / "pool.tf").symlink_to("region/east/pool.tf")
    (top / "west" / "pool.tf").symlink_to("../region/west/pool.tf")
    pools = [pool["id"] for pool in model.collect(Tree(["."]), Config())["pools"]]
    assert pools == ["eks/aws_eks_node_group.this", "eks/west:aws_eks_node_group.this"]


@pytest.mark.parametrize(
    ("source", "host", "path", "repository", "folder"),
    [
        ("acme/eks/aws", "registry.terraform.io", "acme/eks/aws", "acme/terraform-aws-eks", ""),
        ("app.example.io/acme/eks/aws//x/y", "app.example.io", "acme/eks/aws", "acme/terraform-aws-eks", "x/y"),
        ("github.com/acme/eks//x?ref=1", "github.com", "acme/eks", "acme/eks", "x"),
        ("github.com/acme/eks?ref=v1/modules/x", "github.com", "acme/eks", "acme/eks", "modules/x"),
        ("github.com/acme/eks/modules/x?ref=v1", "github.com", "acme/eks", "acme/eks", "modules/x"),
        ("git@github.com:acme/eks.git", "github.com", "acme/eks", "acme/eks", ""),
        ("git::https://a.example/g/sub/eks.git//x", "a.example", "g/sub/eks", "g/sub/eks", "x"),
        ("git::ssh://git@a.example:7999/g/eks.git?ref=2", "a.example", "g/eks", "g/eks", ""),
    ],
)
def test_module_addresses_are_parsed(source: str, host: str, path: str, repository: str, folder: str) -> None:
    assert parse_address(source) == (host, path, repository, folder)


@pytest.mark.parametrize("source", ["./x", "../x", "s3::https:x", "", "eks", "a/b", "C:/x/y"])
def test_other_sources_are_not_registry_addresses(source: str) -> None:
    assert parse_address(source) is None
