"""Test skeletons of published modules: valid HCL, complete, and read as a person would read the call."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.config.numbers import profiles
from kcheck.engine import linter
from kcheck.report import model
from kcheck.report.layout import plain
from kcheck.terraform import missing_modules
from kcheck.terraform.configuration import Configuration
from kcheck.text import versions
from kcheck.text.bundled import PROFILES
from kcheck.text.files.tree import Tree
from kcheck.text.values import known
from tests.places import TESTS
from tests.whole.test_examples import golden

if TYPE_CHECKING:
    from tests.conftest import Check, Read, Write

CASES = TESTS / "cases" / "modules"
WRITTEN = sorted(str(path.relative_to(PROFILES)) for path in Path(PROFILES).glob("*/modules/*/*.tf"))
FILES = [path for path in WRITTEN if not path.endswith("/all.tf")]
ROWS = [
    pytest.param(source, row, id=f"{source}-{row['versions']}")
    for source, entry in profiles.modules().items()
    for row in entry["skeletons"]
]


def test_every_skeleton_file_is_listed_and_every_listed_file_exists() -> None:
    named = {row["file"] for entry in profiles.modules().values() for row in entry["skeletons"]}
    assert named | {row["file"] for row in profiles.unread_modules()["stand_ins"]} == set(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("path", WRITTEN)
def test_skeletons_are_formatted_like_terraform_fmt(path: str, terraform: str) -> None:
    run = subprocess.run(
        [terraform, "fmt", "-check", "-diff", os.path.join(PROFILES, path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", FILES)
def test_a_skeleton_declares_every_name_it_uses(path: str) -> None:
    """Every reference resolves: no call leaves an evaluation error in the fields."""
    configuration = missing_modules.load(path)
    assert not configuration.problems
    assert configuration.resources or configuration.outputs
    for block in configuration.variables.values():
        assert "type" in block.body.attributes
    own = Path(PROFILES, path)
    text = "".join(file.read_text() for file in (own, own.with_name("all.tf")) if file.exists())
    for name in configuration.variables:
        assert f"var.{name}" in text, f"{name} is declared for nothing"
    for name in configuration.locals:
        assert f"local.{name}" in text, f"{name} is declared for nothing"


@pytest.mark.parametrize(("source", "row"), ROWS)
def test_skeleton_versions_and_defaults_are_valid(source: str, row: dict[str, object]) -> None:
    found = versions.parse(str(row["versions"]))
    assert found is not None
    assert found.low < found.high < versions.ANY.high, "a version that nobody has seen is not known"
    configuration = missing_modules.load(str(row["file"]))
    defaults = row.get("defaults", {})
    assert isinstance(defaults, dict)
    assert defaults.keys() <= configuration.variables.keys(), source
    lacks = row.get("lacks", [])
    assert isinstance(lacks, list)
    assert set(lacks) <= configuration.variables.keys(), source


@pytest.mark.medium
def test_fixes_write_no_argument_missing_in_the_module_version(write: Write) -> None:
    """Kubenet's successor needs an argument that the module has since 7.5."""
    call = 'module "aks" {\n  source  = "Azure/aks/azurerm"\n  version = "%s"\n  prefix  = "x"\n  resource_group_name = "x"\n}\n'

    def fixes(version: str) -> list[bool]:
        write({"main.tf": call % version})
        found = linter.run(Tree(["."]), Config()).findings
        return [finding.fix is not None for finding in found if finding.rule == "kubenet-retiring"]

    assert (fixes("9.1.0"), fixes("6.8.0")) == ([True], [False])


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_the_model_of_a_module_call_equals_its_golden_file(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / case)
    golden(f"modules/{case}.txt", plain(model.as_text(model.collect(Tree(["."]), Config()))))


@pytest.mark.slow
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
        ("github.com/aws-ia/terraform-aws-eks-blueprints?ref=v4.21.0/modules/kubernetes-addons", "", "", "", "does not know the module"),
        ("terraform-aws-modules/eks/aws", "~> 11.0", "", "", "version ~> 11.0 of the module"),
        ("terraform-aws-modules/eks/aws", "~> 99.0", "", "", "version ~> 99.0 of the module"),
        ("somebody/eks/aws", "~> 1.0", "", "", "does not know the module somebody/eks/aws"),
        ("git::ssh://git@example.com/eks.git", "", "", "", "does not know the module git::ssh://git@example.com/eks.git"),
    ],
)  # fmt: skip
def test_the_module_version_is_found(
    source: str, version: str, inputs: str, lock: str, chosen: str, write: Write
) -> None:
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
        picked = missing_modules.find(source, version, given, lambda: {"aws": lock} if lock else {})
        assert isinstance(picked, Configuration)
        assert picked.folder == f"eks/modules/eks/{chosen}.tf"
    else:
        found = missing_modules.find(source, version, {"subnet_ids"}, dict)
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
def test_version_constraints_are_parsed(
    constraint: str, inside: versions.Version, outside: versions.Version | None
) -> None:
    found = versions.parse(constraint)
    assert found is not None
    assert found.low <= inside < found.high
    assert outside is None or not found.low <= outside < found.high


@pytest.mark.parametrize("constraint", ["main", "", "~> x", "1.2.3.4.5", "latest, 1.0"])
def test_malformed_version_constraints_are_refused(constraint: str) -> None:
    assert versions.parse(constraint) is None


COPY = {
    "examples/full/main.tf": 'module "eks" {\n  source = "../.."\n  name = "x"\n  eks_managed_node_groups = { a = {} }\n}\n',
    "main.tf": 'resource "aws_eks_cluster" "this" {\n  name = "not the skeleton\'s"\n}\n',
    "variables.tf": "".join(
        f'variable "{name}" {{\n  default = null\n}}\n'
        for name in ("name", "eks_managed_node_groups", "self_managed_node_groups", "fargate_profiles", "create_kms_key")
    ),
}  # fmt: skip


def test_a_call_of_the_local_module_itself_uses_the_skeleton(write: Write) -> None:
    write(COPY)
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["x"]
    assert [pool["fields"]["max_nodes"] for pool in data["pools"]] == [
        {"value": 3, "default": True, "from": ["examples/full/main.tf:4:35"]}
    ]


def test_a_folder_that_calls_the_module_is_not_a_copy_of_it(write: Write) -> None:
    wrapper = 'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  name = "inner"\n  eks_managed_node_groups = { b = {} }\n}\n'
    write(COPY | {"main.tf": wrapper})
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["inner"]


def test_a_folder_that_differs_from_the_module_is_read_itself(write: Write) -> None:
    other = COPY["variables.tf"].replace("create_kms_key", "something_else")
    write(COPY | {"variables.tf": other})
    data = model.collect(Tree(["."]), Config())
    assert [cluster["fields"]["name"]["value"] for cluster in data["clusters"]] == ["not the skeleton's"]


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(path.parent.name for path in CASES.glob("*/main.tf")))
def test_a_downloaded_module_copy_does_not_replace_the_skeleton(case: str, write: Write) -> None:
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


VERSIONS = {
    "eks": """
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "%s"
  cluster_name    = "train"
  cluster_version = "1.34"
  subnet_ids      = ["subnet-1"]

  eks_managed_node_groups = { gpu = { max_size = 600 } }
}
""",
    "node-group": """
module "gpu" {
  source       = "terraform-aws-modules/eks/aws//modules/eks-managed-node-group"
  version      = "%s"
  cluster_name = "train"
  name         = "gpu"
  max_size     = 600
}
""",
    "gke": """
module "gke" {
  source            = "terraform-google-modules/kubernetes-engine/google"
  version           = "%s"
  name              = "train"
  region            = "us-central1"
  network           = "shared"
  subnetwork        = "nodes"
  ip_range_pods     = "pods"
  ip_range_services = "services"

  node_pools = [{
    name             = "gpu"
    machine_type     = "c3-standard-8"
    placement_policy = "COMPACT"
    KEY              = true
  }]
}
""",
}


def _pool(write: Write, code: str) -> dict[str, object]:
    """Return the fields of the only pool, without their places."""
    write({"main.tf": code})
    pools = model.collect(Tree(["."]), Config())["pools"]
    (fields,) = (pool["fields"] for pool in pools if pool["fields"]["name"].get("value") == "gpu")
    return {name: field.get("value") for name, field in fields.items()}


@pytest.mark.parametrize("module", ["eks", "node-group"])
def test_eks_module_18_replaces_one_node_at_a_time(module: str, write: Write) -> None:
    """Since 19.0 the default is a third of the nodes; EKS accepts at most 100."""
    found = [
        _pool(write, VERSIONS[module] % version)["parallel_upgrades"] for version in ("18.31.2", "19.0.0", "20.37.2")
    ]
    assert found == [1, 100, 100]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("version", "key", "scarce"),
    [
        ("30.3.0", "queued_provisioning", False),
        ("31.0.0", "queued_provisioning", True),
        ("37.1.0", "flex_start", False),
        ("38.0.0", "flex_start", True),
    ],
)
def test_pool_keys_of_the_gke_module_depend_on_its_version(
    *, version: str, key: str, scarce: bool, write: Write
) -> None:
    fields = _pool(write, (VERSIONS["gke"] % version).replace("KEY", key))
    assert (fields["scarce_surge"], fields["together"]) == (scarce, "COMPACT")


@pytest.mark.parametrize(
    ("version", "folder", "reserved"),
    [("34.0.0", "private-cluster", True), ("35.0.0", "private-cluster", False), ("44.2.0", "safer-cluster", True)],
)
def test_the_control_plane_range_depends_on_the_module_version(
    *, version: str, folder: str, reserved: bool, read: Read
) -> None:
    """Modules for private clusters used 10.0.0.0/28 before 35, and safer-cluster still does."""
    found = read({"main.tf": (VERSIONS["gke"] % version).replace('/google"', f'/google//modules/{folder}"')})
    assert ("10.0.0.0/28" in {known(one.cidr) for one in found.reserved}) == reserved


@pytest.mark.parametrize(("version", "copies"), [("30.3.0", []), ("31.0.0", [4]), ("44.2.0", [4])])
def test_gpu_sharing_of_the_gke_module_depends_on_its_version(version: str, copies: list[int], read: Read) -> None:
    keys = 'accelerator_count = 1\n    accelerator_type = "nvidia-tesla-t4"\n    gpu_sharing_strategy = "TIME_SHARING"'
    code = (VERSIONS["gke"] % version).replace("KEY              = true", f"{keys}\n    max_shared_clients_per_gpu = 4")
    assert [known(one) for sharing in read({"main.tf": code}).sharings for one in sharing.slices] == copies


def test_no_fix_writes_image_streaming_where_the_gke_module_lacks_it() -> None:
    """Of the modules that are not beta, 35.0 was the first with enable_gcfs."""

    def lacks(version: str, folder: str = "") -> bool:
        found = missing_modules.find(f"terraform-google-modules/kubernetes-engine/google{folder}", version, set(), dict)
        assert isinstance(found, Configuration)
        return "enable_gcfs" in found.lacks

    assert [lacks("34.0.0"), lacks("35.0.0"), lacks("34.0.0", "//modules/beta-private-cluster")] == [True, False, False]


AVM = """
module "aks" {
  source  = "Azure/avm-res-containerservice-managedcluster/azurerm"
  version = "0.8.1"
  name    = "train"

  agent_pools = {
    gpu = { name = "gpu", vm_size = "Standard_ND96isr_H100_v5", max_count = 400, min_count = 0, enable_auto_scaling = true }
  }
}
"""


@pytest.mark.medium
def test_aks_uses_ephemeral_boot_disks_by_default_with_the_avm_module(check: Check) -> None:
    """The module uses azapi, which leaves an absent type to AKS; azurerm would write Managed."""
    assert "slow-boot-disk" not in {finding.rule for finding in check({"main.tf": AVM}).findings}
    slow = AVM.replace("max_count", 'os_disk_type = "Managed", max_count')
    assert "slow-boot-disk" in {finding.rule for finding in check({"main.tf": slow}).findings}


@pytest.mark.parametrize(
    ("mode", "addresses"),
    [(None, 16), ("DynamicIndividual", 16), ("StaticBlock", 112)],  # 110 pods take seven blocks of 16
)
def test_static_pod_address_blocks_are_counted(mode: str | None, addresses: int, read: Read) -> None:
    subnets = "pod_subnet_id = azurerm_subnet.pods.id, max_pods = 110"
    subnets += f', pod_ip_allocation_mode = "{mode}"' if mode else ""
    code = 'resource "azurerm_subnet" "pods" {\n  name = "pods"\n  address_prefixes = ["10.0.0.0/12"]\n}\n'
    pools = read({"main.tf": code + AVM.replace("max_count", f"{subnets}, max_count")}).pools
    assert [known(pool.addresses.pod_addresses) for pool in pools if known(pool.name) == "gpu"] == [(addresses,) * 2]


VPC = """
module "vpc" {
  source          = "terraform-aws-modules/vpc/aws"
  version         = "%s"
  private_subnets = ["10.0.0.0/20"]
}

resource "aws_eks_cluster" "train" {
  name = "train"
  vpc_config {
    subnet_ids = module.vpc.private_subnets
  }
}
"""


def test_the_default_range_of_the_vpc_module_depends_on_its_version(read: Read) -> None:
    """Before 4.0 the default was a range that AWS refuses."""
    found = [read({"main.tf": VPC % version}).networks for version in ("3.19.0", "4.0.0", "6.6.0")]
    assert [known(one.cidrs) for (one,) in found] == [("0.0.0.0/0",), ("10.0.0.0/16",), ("10.0.0.0/16",)]
