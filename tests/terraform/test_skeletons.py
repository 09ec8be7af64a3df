"""Skeletons of published modules: valid HCL, complete, and read as a person would read the call."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.files.tree import Tree
from kcheck.numbers import profiles
from kcheck.report import model
from kcheck.source import versions
from kcheck.source.bundled import PROFILES
from kcheck.terraform import registry
from kcheck.terraform.configuration import Configuration
from tests.places import TESTS
from tests.whole.test_examples import golden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CASES = TESTS / "cases" / "modules"
FILES = sorted(str(path.relative_to(PROFILES)) for path in Path(PROFILES).glob("*/modules/*/*.tf"))
ROWS = [
    pytest.param(source, row, id=f"{source}-{row['versions']}")
    for source, entry in profiles.modules().items()
    for row in entry["skeletons"]
]


def test_every_skeleton_is_named_and_every_name_is_one() -> None:
    named = {row["file"] for entry in profiles.modules().values() for row in entry["skeletons"]}
    assert named | {row["file"] for row in profiles.unread_modules()["stand_ins"]} == set(FILES)


@pytest.mark.parametrize("path", FILES)
def test_skeleton_is_what_terraform_would_write(path: str, terraform: str) -> None:
    run = subprocess.run(
        [terraform, "fmt", "-check", "-diff", os.path.join(PROFILES, path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", FILES)
def test_skeleton_declares_what_it_uses(path: str) -> None:
    """Every reference leads somewhere: whatever a call says, no evaluation error is left in the fields."""
    configuration = registry.load(path)
    assert not configuration.problems
    assert configuration.resources or configuration.outputs
    for block in configuration.variables.values():
        assert "type" in block.body.attributes
    text = Path(PROFILES, path).read_text()
    for name in configuration.variables:
        assert f"var.{name}" in text, f"{name} is declared for nothing"
    for name in configuration.locals:
        assert f"local.{name}" in text, f"{name} is declared for nothing"


@pytest.mark.parametrize(("source", "row"), ROWS)
def test_versions_and_defaults_make_sense(source: str, row: dict[str, object]) -> None:
    found = versions.parse(str(row["versions"]))
    assert found is not None
    assert found.low < found.high < versions.ANY.high, "a version that nobody has seen is not known"
    configuration = registry.load(str(row["file"]))
    defaults = row.get("defaults", {})
    assert isinstance(defaults, dict)
    assert defaults.keys() <= configuration.variables.keys(), source
    lacks = row.get("lacks", [])
    assert isinstance(lacks, list)
    assert set(lacks) <= configuration.variables.keys(), source


def test_no_fix_writes_what_a_version_lacks(write: Callable[[Mapping[str, str]], Path]) -> None:
    """Kubenet's successor needs an argument that the module has from 7.5 on."""
    call = 'module "aks" {\n  source  = "Azure/aks/azurerm"\n  version = "%s"\n  prefix  = "x"\n  resource_group_name = "x"\n}\n'

    def fixes(version: str) -> list[bool]:
        write({"main.tf": call % version})
        found = linter.run(Tree(["."]), Config()).findings
        return [finding.fix is not None for finding in found if finding.rule == "kubenet-retiring"]

    assert (fixes("9.1.0"), fixes("6.8.0")) == ([True], [False])


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_model_of_a_call(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / case)
    golden(f"modules/{case}.txt", model.as_text(model.collect(Tree(["."]), Config())))


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_nothing_is_ever_reported_in_a_skeleton(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / case)
    result = linter.run(Tree(["."]), Config(nodes={"": 5000}))
    assert not result.bugs
    for finding in result.findings:
        spans = [finding.span, *(related.span for related in finding.related), *finding.anchors]
        spans += [change.origin.written for change in (finding.fix.changes if finding.fix else ())]
        assert not any(span.source.bundled for span in spans)


CALL = """
module "eks" {{
  source  = "{source}"
{lines}
  {inputs}
  subnet_ids = ["subnet-1"]
  eks_managed_node_groups = {{ a = {{}} }}
}}
"""


@pytest.mark.parametrize(
    ("source", "version", "inputs", "lock", "chosen"),
    [
        ("terraform-aws-modules/eks/aws", "~> 20.0", "", "", "18"),
        ("terraform-aws-modules/eks/aws", "21.3.1", "", "", "21"),
        ("terraform-aws-modules/eks/aws", ">= 20.0", "", "5.80.0", "18"),  # the lock file decides
        ("terraform-aws-modules/eks/aws", ">= 20.0", "", "6.10.0", "21"),
        ("terraform-aws-modules/eks/aws", ">= 20.0", 'cluster_name = "x"', "", "18"),  # the inputs decide
        ("terraform-aws-modules/eks/aws", ">= 20.0", 'name = "x"', "", "21"),
        ("terraform-aws-modules/eks/aws", "", 'cluster_name = "x"', "", "18"),
        ("terraform-aws-modules/eks/aws", "", "", "", "21"),  # the newest
        ("registry.terraform.io/terraform-aws-modules/eks/aws", "~> 21.0", "", "", "21"),
        ("git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=v20.8.3", "", "", "", "18"),
        ("github.com/terraform-aws-modules/terraform-aws-eks?depth=1&ref=v21.0.0", "", "", "", "21"),
        ("git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=main", "", 'name = "x"', "", "21"),
        ("terraform-aws-modules/eks/aws", "~> 11.0", "", "", "version ~> 11.0 of the module"),
        ("terraform-aws-modules/eks/aws", "~> 99.0", "", "", "version ~> 99.0 of the module"),
        ("somebody/eks/aws", "~> 1.0", "", "", "does not know the module somebody/eks/aws"),
        ("git::ssh://git@example.com/eks.git", "", "", "", "does not know the module git::ssh://git@example.com/eks.git"),
    ],
)  # fmt: skip
def test_version_is_found(
    source: str, version: str, inputs: str, lock: str, chosen: str, write: Callable[[Mapping[str, str]], Path],
) -> None:  # fmt: skip
    lines = f'  version = "{version}"' if version else ""
    files = {"main.tf": CALL.format(source=source, lines=lines, inputs=inputs)}
    if lock:
        files[".terraform.lock.hcl"] = (
            f'provider "registry.terraform.io/hashicorp/aws" {{\n  version     = "{lock}"\n  constraints = ">= 5.0"\n}}\n'
        )
    write(files)
    data = model.collect(Tree(["."]), Config())
    if chosen.isdigit():
        assert [pool["fields"]["max_nodes"]["value"] for pool in data["pools"]] == [3]
        given = {"subnet_ids", *inputs.split()[:1]}
        picked = registry.find(source, version, given, lambda: {"aws": lock} if lock else {})
        assert isinstance(picked, Configuration)
        assert picked.folder == f"eks/modules/eks/{chosen}.tf"
    else:
        found = registry.find(source, version, {"subnet_ids"}, dict)
        assert chosen in str(found)
        assert not data["clusters"]


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        ("~> 20.8", (20, 9, 0), (21, 0, 0)),
        ("~> 20", (21, 0, 0), (19, 9, 9)),
        ("~> 20.8.1", (20, 8, 5), (20, 9, 0)),
        (">= 5.0, < 6.0", (5, 99, 1), (6, 0, 0)),
        ("> 5.0", (5, 0, 1), (5, 0, 0)),
        ("<= 5.1", (5, 1, 0), (5, 1, 1)),
        ("= 1.2.3", (1, 2, 3), (1, 2, 4)),
        ("1.2.3", (1, 2, 3), (1, 2, 2)),
        ("!= 1.2.3", (1, 2, 4), None),
        ("v21.0.0-rc1", (21, 0, 0), (21, 0, 1)),
    ],
)
def test_constraints(constraint: str, inside: versions.Version, outside: versions.Version | None) -> None:
    found = versions.parse(constraint)
    assert found is not None
    assert found.low <= inside < found.high
    assert outside is None or not found.low <= outside < found.high


@pytest.mark.parametrize("constraint", ["main", "", "~> x", "1.2.3.4.5", "latest, 1.0"])
def test_what_is_no_constraint(constraint: str) -> None:
    assert versions.parse(constraint) is None


COPY = {
    "examples/full/main.tf": 'module "eks" {\n  source = "../.."\n  name = "x"\n  eks_managed_node_groups = { a = {} }\n}\n',
    "main.tf": 'resource "aws_eks_cluster" "this" {\n  name = "not the skeleton\'s"\n}\n',
    "variables.tf": "".join(
        f'variable "{name}" {{\n  default = null\n}}\n'
        for name in ("name", "eks_managed_node_groups", "self_managed_node_groups", "fargate_profiles", "create_kms_key")
    ),
}  # fmt: skip


def test_a_folder_that_is_the_module_takes_the_skeleton(write: Callable[[Mapping[str, str]], Path]) -> None:
    write(COPY)
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["x"]
    assert [pool["fields"]["max_nodes"] for pool in data["pools"]] == [
        {"value": 3, "default": True, "from": ["examples/full/main.tf:4:35"]}
    ]


def test_a_folder_that_calls_the_module_is_no_copy(write: Callable[[Mapping[str, str]], Path]) -> None:
    wrapper = 'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  name = "inner"\n  eks_managed_node_groups = { b = {} }\n}\n'
    write(COPY | {"main.tf": wrapper})
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["inner"]


def test_a_folder_that_is_not_quite_the_module_is_read(write: Callable[[Mapping[str, str]], Path]) -> None:
    other = COPY["variables.tf"].replace("create_kms_key", "something_else")
    write(COPY | {"variables.tf": other})
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["not the skeleton's"]


@pytest.mark.parametrize("case", sorted(path.parent.name for path in CASES.glob("*/main.tf")))
def test_a_downloaded_copy_changes_nothing(case: str, write: Callable[[Mapping[str, str]], Path]) -> None:
    text = (CASES / case / "main.tf").read_text()
    write({"main.tf": text})
    before = model.as_json(model.collect(Tree(["."]), Config()))
    found = [finding.message for finding in linter.run(Tree(["."]), Config()).findings]
    wrong = 'resource "aws_eks_cluster" "this" {\n  name = "downloaded"\n}\n'
    write(
        {
            ".terraform/modules/modules.json": '{"Modules":[{"Key":"eks","Source":"x","Version":"1.0.0","Dir":".terraform/modules/eks"}]}',
            ".terraform/modules/eks/main.tf": wrong,
            ".terraform/modules/gke/main.tf": wrong,
        }
    )  # fmt: skip
    assert model.as_json(model.collect(Tree(["."]), Config())) == before
    assert [finding.message for finding in linter.run(Tree(["."]), Config()).findings] == found
