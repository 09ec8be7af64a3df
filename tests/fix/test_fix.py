"""Test that fixes change a value where it is written, and no other byte."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.syntax.hcl import parse, trees
from kcheck.text.text import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

    from tests.conftest import Write

pytestmark = pytest.mark.medium

Writer = "Callable[[Mapping[str, str | bytes]], Path]"

CLUSTER = """\
resource "azurerm_kubernetes_cluster" "main" {{
  name     = "train"
{tier}
  default_node_pool {{
    name       = "system"
    node_count = 200
  }}
}}
"""
VARIABLE = 'variable "tier" {\n  type    = string\n  default = "Free"\n}\n'


def cluster(tier: str) -> str:
    return CLUSTER.format(tier=f"  sku_tier = {tier}\n" if tier else "")


def fixed(folder: Path, *, safeties: tuple[str, ...] = ("safe", "costs"), config: Config | None = None) -> list[str]:
    """Fix the working directory, and return the paths of the changed files."""
    outcome = fix.fix(["."], config or Config(), safeties=safeties)
    save.save(outcome.files)
    assert not outcome.refused
    return [file.path for file in outcome.files]


@pytest.mark.parametrize(
    ("files", "changed", "old", "new"),
    [
        pytest.param({"main.tf": cluster('"Free" # cheap')}, "main.tf", '"Free" # cheap', '"Standard" # cheap', id="literal"),
        pytest.param(
            {"main.tf": cluster("local.tier") + 'locals {\n  tier = "Free"\n}\n'}, "main.tf", '"Free"', '"Standard"', id="local"
        ),
        pytest.param(
            {"main.tf": cluster("var.tier"), "variables.tf": VARIABLE}, "variables.tf", '"Free"', '"Standard"', id="default"
        ),
        pytest.param(
            {"main.tf": cluster("var.tier"), "variables.tf": VARIABLE, "terraform.tfvars": 'tier   =   "Free"\n'},
            "terraform.tfvars", '"Free"', '"Standard"', id="tfvars",
        ),
        pytest.param(
            {
                "main.tf": cluster("var.tier"), "variables.tf": VARIABLE,
                "terraform.tfvars": 'tier = "Premium"\n', "z.auto.tfvars": 'tier = "Free"\n',
            },
            "z.auto.tfvars", '"Free"', '"Standard"', id="the tfvars that wins",
        ),
        pytest.param({"main.tf": cluster("null")}, "main.tf", "null", '"Standard"', id="null"),
        pytest.param({"main.tf": cluster("true ? \"Free\" : \"Standard\"")}, "main.tf", '"Free"', '"Standard"', id="branch"),
        pytest.param(
            {"main.tf": cluster("local.a.tier") + 'locals {\n  a = { tier = "Free", x = 1 }\n}\n'},
            "main.tf", '"Free"', '"Standard"', id="object",
        ),
        pytest.param(
            {"main.tf": cluster('"Free"').replace("\n", "\r\n").encode()}, "main.tf", '"Free"', '"Standard"', id="CRLF"
        ),
        pytest.param({"main.tf": b"\xef\xbb\xbf" + cluster('"Free"').encode()}, "main.tf", '"Free"', '"Standard"', id="BOM"),
        pytest.param({"main.tf": cluster('"Free"').rstrip("\n")}, "main.tf", '"Free"', '"Standard"', id="no final newline"),
    ],
)  # fmt: skip
def test_a_fix_changes_one_value_and_no_other_byte(
    files: dict[str, str | bytes], changed: str, old: str, new: str, write: Write
) -> None:
    folder = write(files)
    before = {name: (folder / name).read_bytes() for name in files}
    assert fixed(folder) == [changed]
    expected = {**before, changed: before[changed].replace(old.encode(), new.encode(), 1)}
    assert {name: (folder / name).read_bytes() for name in files} == expected
    assert fixed(folder) == []


def test_an_absent_attribute_is_added_after_its_siblings(write: Write) -> None:
    folder = write({"main.tf": cluster("")})
    fixed(folder)
    assert (
        (folder / "main.tf")
        .read_text()
        .startswith('resource "azurerm_kubernetes_cluster" "main" {\n  name     = "train"\n  sku_tier = "Standard"\n')
    )


AUTOSCALED = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name                 = "system"
    auto_scaling_enabled = true
    min_count            = 1
    max_count            = 900
  }
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        # lines that a comment introduces are about something else
        ("  name     = 1\n  location = 2\n\n  # identity\n  dns = 3\n", "  name     = 1\n  location = 2\n  sku_tier = \"Standard\"\n\n  # identity\n  dns = 3\n"),
        ("  # all of it\n  name = 1\n  dns  = 3\n", "  # all of it\n  name     = 1\n  dns      = 3\n  sku_tier = \"Standard\"\n"),
        ("  name = 1\n  # dns = 2\n  dns = 3\n", "  name = 1\n  # dns = 2\n  dns      = 3\n  sku_tier = \"Standard\"\n"),
        # who aligns nothing gets nothing aligned
        ("  name = 1\n  location = 2\n  dns_prefix = 3\n", "  name = 1\n  location = 2\n  dns_prefix = 3\n  sku_tier = \"Standard\"\n"),
        ("  name   = 1\n  dns    = 3\n", "  name   = 1\n  dns    = 3\n  sku_tier = \"Standard\"\n"),
        ("  name        = 1\n  dns         = 3\n", "  name        = 1\n  dns         = 3\n  sku_tier    = \"Standard\"\n"),
    ],
)  # fmt: skip
def test_an_absent_attribute_is_added_in_the_style_of_its_neighbours(before: str, after: str, write: Write) -> None:
    text = 'resource "azurerm_kubernetes_cluster" "a" {\nLINES\n  default_node_pool {\n    name = "a"\n  }\n}\n'
    write({"main.tf": text.replace("LINES", before)})
    (file,) = fix.fix(["."], Config(nodes={"": 500}), rules=("free-control-plane",)).files
    assert file.new.decode() == text.replace("LINES", after)


def test_an_absent_block_is_added_once_for_all_its_attributes(write: Write) -> None:
    folder = write({"main.tf": AUTOSCALED})
    assert fixed(folder) == ["main.tf"]
    assert (folder / "main.tf").read_text() == AUTOSCALED.removesuffix("}\n") + (
        "\n  auto_scaler_profile {\n"
        '    scale_down_delay_after_failure = "1m"\n'
        '    scale_down_unneeded            = "5m"\n'
        '    max_node_provisioning_time     = "10m"\n'
        "    empty_bulk_delete_max          = 100\n"
        "    max_unready_nodes              = 150\n"
        "  }\n}\n"
    )
    left = {finding.rule for finding in linter.run(Tree(["."]), Config()).findings}
    assert not left & {"idle-nodes-kept-long", "slow-node-deletion", "unready-tolerance-low"}


def test_a_block_made_by_a_dynamic_block_is_not_added(write: Write) -> None:
    """The block, absent in this call, may be present in another one, and two blocks are refused."""
    dynamic = """
  dynamic "auto_scaler_profile" {
    for_each = []
    content {
      max_unready_percentage = 45
    }
  }
"""
    text = cluster('"Standard"').replace(
        "node_count = 200", "min_count = 3\n    max_count = 200\n    auto_scaling_enabled = true"
    )
    folder = write(
        {"a/main.tf": text, "b/main.tf": text.replace("  default_node_pool", f"{dynamic}  default_node_pool")}
    )
    fixed(folder)
    assert "auto_scaler_profile {" in (folder / "a" / "main.tf").read_text()
    assert "auto_scaler_profile {" not in (folder / "b" / "main.tf").read_text()


def test_a_computed_value_is_named_but_not_changed(write: Write) -> None:
    folder = write({"main.tf": cluster('"${local.a}ee"') + 'locals {\n  a = "Fr"\n}\n'})
    before = (folder / "main.tf").read_bytes()
    assert fixed(folder) == []
    assert (folder / "main.tf").read_bytes() == before
    finding = linter.run(Tree(["."]), Config()).findings[0]
    assert finding.fix is None
    assert finding.help == 'set sku_tier = "Standard"; `"${local.a}ee"` gives it now'


def test_a_shared_value_is_changed_only_if_all_users_agree(write: Write) -> None:
    small = cluster("var.tier").replace('"main"', '"dev"').replace("200", "3")
    large = cluster("var.tier").replace('"main"', '"more"')
    folder = write({"main.tf": cluster("var.tier") + VARIABLE, "small.tf": small})
    assert fixed(folder) == []
    found = linter.run(Tree(["."]), Config()).findings
    finding = next(finding for finding in found if finding.rule == "free-control-plane")
    assert "var.tier also sets azurerm_kubernetes_cluster.dev, which is fine with it" in finding.help
    (folder / "small.tf").write_text(large)
    assert fixed(folder) == ["main.tf"]


KUBENET = """\
resource "azurerm_kubernetes_cluster" "main" {
  name     = "train"
  sku_tier = "Standard"

  default_node_pool {
    name       = "system"
    node_count = 3
  }

  network_profile {
    network_plugin = "kubenet"
  }
}
"""


def test_unsafe_fixes_need_their_flag(write: Write) -> None:
    folder = write({"main.tf": KUBENET})
    outcome = fix.fix(["."], Config())
    assert not outcome.files
    assert [finding.rule for finding in outcome.held_back] == ["kubenet-retiring"]
    assert fixed(folder, safeties=("unsafe",)) == ["main.tf"]


def test_a_fix_that_changes_no_finding_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": cluster('"Free"')})
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits", lambda changes: [Edit(c.origin.written, '("Free")') for c in changes]
    )
    outcome = fix.fix(["."], Config())
    assert not outcome.files
    assert [(refused.reason, refused.bug) for refused in outcome.refused] == [(fix.INEFFECTIVE, False)]


def test_a_fix_that_breaks_the_syntax_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"main.tf": cluster('"Free"')})
    monkeypatch.setattr(
        "kcheck.text.syntax.edit.edits", lambda changes: [Edit(c.origin.written, '"Standard') for c in changes]
    )
    outcome = fix.fix(["."], Config())
    assert not outcome.files
    assert [refused.bug for refused in outcome.refused] == [True]


def test_git_apply_accepts_the_printed_diff(write: Write) -> None:
    files: dict[str, str | bytes] = {
        "infra/main.tf": cluster("var.tier").rstrip("\n"),
        "infra/variables.tf": VARIABLE.replace("\n", "\r\n").encode(),
        "infra/more.tf": AUTOSCALED.replace('"main"', '"more"').rstrip("\n"),
    }
    folder = write(files)
    subprocess.run(["git", "init", "-q"], check=True, cwd=folder)
    outcome = fix.fix(["infra"], Config())
    diff = "".join(save.diff(file).text for file in outcome.files).encode("utf-8", "surrogateescape")
    subprocess.run(["git", "apply", "-"], input=diff, check=True, cwd=folder)
    for file in outcome.files:
        assert (folder / file.path).read_bytes() == file.new
    assert len(outcome.files) == 2
    assert not [f for f in linter.run(Tree(["infra"]), Config()).findings if f.fix and f.fix.safety != "unsafe"]


def test_a_fix_refused_because_of_another_finding_is_explained(write: Write) -> None:
    write(
        {
            "main.tf": b"""
module "eks" {
  source     = "terraform-aws-modules/eks/aws"
  version    = "~> 21.0"
  name       = "main"
  subnet_ids = ["subnet-1"]
  eks_managed_node_groups = {
    default = {}
    own     = { max_size = 30 }
  }
}
"""
        }
    )
    outcome = fix.fix(["."], Config(nodes={"": 1000}, ignore=("pool-ends-below-target",)))
    (refused,) = outcome.refused
    assert refused.finding.rule == "pool-capped-by-default"
    assert refused.reason.startswith("then pool-over-quota would be found: Node group default grows to")
    assert not refused.bug


RULE = """\
summary: A number of retries
severity: warning
subject: workload
problem: workload.retries == {retries}
at: workload.retries
message: "Job {{workload.name}} tries {retries} times"
sources: ["https://example.com/retries"]
{fix}"""
RETRIES = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: job{number}}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: quay.io/team/app:1}}]
"""


def test_copies_of_an_object_with_a_refused_fix_are_tried_in_halves(write: Write) -> None:
    fixed = 'fix: {set: workload.retries, to: "3", safety: safe}\n'
    own = {"none": RULE.format(retries=0, fix=fixed), "odd": RULE.format(retries=3, fix="")}
    write({f"rules/own/{name}-retries.yaml": text.encode() for name, text in own.items()})
    write({f"jobs/{number}.yaml": RETRIES.format(number=number).encode() for number in range(32)})
    told: list[str] = []
    outcome = fix.fix(["jobs"], Config(rules=("rules",)), rules=("none-retries",), tell=told.append)
    why = [f"then odd-retries would be found: Job job{number} tries 3 times" for number in range(32)]
    assert sorted(refused.reason for refused in outcome.refused) == sorted(why)
    assert len({text.partition(":")[0] for text in told}) <= 14  # a check for each half, not for each of the 32


def test_a_fix_above_a_broken_block_is_written(write: Write) -> None:
    write(
        {
            "main.tf": b"""
resource "azurerm_kubernetes_cluster" "main" {
  name = "main"

  default_node_pool {
    name       = "d"
    node_count = 300
  }
}

variable "x" {
  default = 1 type = number
}
"""
        }
    )
    outcome = fix.fix(["."], Config(), rules=("free-control-plane",))
    assert [finding.rule for finding in outcome.fixed] == ["free-control-plane"]
    assert outcome.refused == []


@pytest.mark.slow
def test_no_fix_is_written_on_a_broken_line(write: Write) -> None:
    write(
        {
            "main.tf": b"""
module "aks" {
  source         = "Azure/aks/azurerm"
  version        = "~> 10.0"
  network_plugin = "azure"
  agents_count   = 3ools = {
    gpu = {
      name         = "gpu"
      vm_size      = "Standard_ND96asr_v4"
      node_count   = 300
    }
  }
}
"""
        }
    )
    outcome = fix.fix(["."], Config(nodes={"": 1200}), rules=("free-control-plane",))
    assert outcome.files == []
    (found,) = (one for one in outcome.remaining if one.rule == "free-control-plane")
    assert found.help == "main.tf:6 cannot be read; fix that first"


SURGE = """\
summary: Upgrades take one node at a time
severity: warning
subject: pool
when: pool.autoscaled
problem: pool.max_surge == 1
at: pool.max_surge
message: "Pool {pool.name} is upgraded one by one"
fix: {set: pool.max_surge, to: "100", safety: safe}
sources: ["https://example.com/surge"]
"""
FULL = """\
resource "google_compute_subnetwork" "nodes" {
  ip_cidr_range = "10.0.0.0/24"
  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = "10.64.0.0/12"
  }
}
resource "google_container_cluster" "main" {
  name       = "train"
  subnetwork = google_compute_subnetwork.nodes.id
  ip_allocation_policy {
    cluster_secondary_range_name = "pods"
  }
}
resource "google_container_node_pool" "cpu" {
  name    = "cpu"
  cluster = google_container_cluster.main.name
  autoscaling {
    total_min_node_count = 1
    total_max_node_count = 400
  }
  upgrade_settings {
    max_surge       = 1
    max_unavailable = 0
  }
}
"""


def test_a_fix_that_lowers_the_first_wall_is_refused(write: Write) -> None:
    """252 addresses hold 251 nodes and one surge node, or 152 nodes and a hundred surge nodes."""
    write({"rules/own/one-by-one.yaml": SURGE.encode(), "infra/main.tf": FULL.encode()})
    outcome = fix.fix(["infra"], Config(rules=("rules",)), rules=("one-by-one",))
    (refused,) = outcome.refused
    assert (refused.reason, refused.bug) == (
        "train would meet the address space of subnet google_compute_subnetwork.nodes at 152 nodes, not at 251",
        False,
    )
    write({"infra/main.tf": FULL.replace("/24", "/22").encode()})
    assert [one.rule for one in fix.fix(["infra"], Config(rules=("rules",)), rules=("one-by-one",)).fixed] == [
        "one-by-one"
    ]


KEPT = """
resource "google_container_cluster" "main" {
  name = "train"
  cluster_autoscaling {
    enabled = true
    resource_limits {
      resource_type = "cpu"
      maximum       = 16
    }
  }
}
resource "google_container_node_pool" "gpu" {
  cluster = google_container_cluster.main.id
  autoscaling {
    total_min_node_count = 2
    total_max_node_count = 2
  }
  node_config {
    machine_type = "g2-standard-4"
  }
}
resource "google_container_node_pool" "cpu" {
  cluster = google_container_cluster.main.id
  autoscaling {
    total_min_node_count = 1
    total_max_node_count = 4
  }
  node_config {
    machine_type = "n2-standard-8"
  }
}
"""


def test_a_lower_minimum_brings_no_limit_nearer(write: Write) -> None:
    """The same number of nodes is then another mix of pools, which uses other quotas."""
    write({"main.tf": KEPT.encode()})
    outcome = fix.fix(["."], Config(), rules=("gpu-pool-never-empty",))
    assert [one.rule for one in outcome.fixed] == ["gpu-pool-never-empty"]


def test_a_text_that_replaces_null_is_quoted_in_the_title(write: Write) -> None:
    write({"main.tf": cluster("null").encode()})
    (finding,) = fix.fix(["."], Config()).fixed
    assert finding.fix is not None
    assert finding.fix.title == 'set sku_tier = "Standard"'


def test_a_run_parses_only_files_that_fixes_changed(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"variables.tf": VARIABLE, "modules/m/main.tf": 'output "x" {\n  value = 1\n}\n'}
    write({"main.tf": cluster("var.tier") + 'module "m" {\n  source = "./modules/m"\n}\n', **files})
    found: list[bytes] = []

    def parsed(data: bytes) -> Node:
        found.append(data)
        return trees.parsed(data)

    monkeypatch.setattr(parse, "parsed", parsed)
    outcome = fix.fix(["."], Config())
    assert [file.path for file in outcome.files] == ["variables.tf"]
    read = {path.read_bytes() for path in Path().rglob("*.tf")}
    assert sorted(data for data in found if data in {*read, outcome.files[0].new}) == sorted(
        {*read, outcome.files[0].new}
    )
