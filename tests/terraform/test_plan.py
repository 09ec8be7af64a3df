"""Test plans in JSON: they give the same model as the code, and print only values in findings."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from tests.conftest import Write

pytestmark = pytest.mark.medium

CODE = """
variable "vpc" {
  default = "x"
}
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "private" {
  count      = 2
  vpc_id     = aws_vpc.main.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}
module "eks" {
  source  = "./eks"
  subnets = aws_subnet.private[*].id
}
resource "helm_release" "ca" {
  name   = "ca"
  chart  = "cluster-autoscaler"
  values = ["extraArgs:\\n  scale-down-unneeded-time: 20m\\n"]
}
"""
MODULE = """
variable "subnets" {}
resource "aws_eks_cluster" "this" {
  name = "train"
}
resource "aws_eks_node_group" "this" {
  for_each        = { gpu = 300 }
  cluster_name    = aws_eks_cluster.this.name
  node_group_name = each.key
  subnet_ids      = var.subnets
  instance_types  = ["m5.large"]
  scaling_config {
    desired_size = 0
    min_size     = 0
    max_size     = each.value
  }
}
"""


def resource(address: str, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    kind, _, name = (
        address.rpartition("]")[0].rpartition("[")[0].rpartition(".") if "[" in address else address.rpartition(".")
    )
    found = {"address": address, "mode": "managed", "type": kind.rpartition(".")[2], "name": name}
    return {**found, **more, "values": values, "sensitive_values": {}}


def plan(**changes: Any) -> dict[str, Any]:
    """Return Terraform's plan for the code above, before anything exists."""
    subnets = [
        resource(f"aws_subnet.private[{i}]", {"cidr_block": f"10.0.{i}.0/24", "tags": None}, index=i) for i in (0, 1)
    ]
    text = f"extraArgs:\n  scale-down-unneeded-time: 20m\n{changes.get('more', '')}"
    release = {"chart": "cluster-autoscaler", "name": "ca", "set": [], "set_sensitive": [], "values": [text]}
    root = [resource("aws_vpc.main", {"cidr_block": "10.0.0.0/16"}), *subnets, resource("helm_release.ca", release)]
    group = {
        "cluster_name": "train", "node_group_name": "gpu", "instance_types": ["m5.large"], "capacity_type": None,
        "scaling_config": [{"desired_size": 0, "max_size": 300, "min_size": 0}], "launch_template": [],
    }  # fmt: skip
    group |= changes.get("group", {})
    inner = [
        resource("module.eks.aws_eks_cluster.this", {"name": "train", "version": None}),
        resource('module.eks.aws_eks_node_group.this["gpu"]', group, index="gpu"),
    ]
    unknown = {"id": True, "subnet_ids": "subnet_ids" not in group}
    return {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "variables": {"token": {"value": "hunter2"}},
        "planned_values": {
            "outputs": {"secret": {"sensitive": True, "value": "hunter2"}},
            "root_module": {"resources": root, "child_modules": [{"address": "module.eks", "resources": inner}]},
        },
        "resource_changes": [
            *({"address": r["address"], "change": {"actions": ["create"], "after_unknown": {"id": True, "vpc_id": True}}} for r in root),
            {"address": inner[0]["address"], "change": {"after_unknown": {"id": True}}},
            {
                "address": inner[1]["address"],
                "change": {"after_unknown": unknown, "after_sensitive": changes.get("sensitive", {})},
            },
        ],
        "configuration": {
            "root_module": {
                "resources": [
                    {
                        "address": "aws_subnet.private", "mode": "managed", "type": "aws_subnet", "name": "private",
                        "expressions": {"vpc_id": {"references": ["aws_vpc.main.id", "aws_vpc.main"]}},
                    },
                ],
                "module_calls": {
                    "eks": {
                        "expressions": {"subnets": {"references": ["aws_subnet.private"]}},
                        "module": {
                            "resources": [
                                {
                                    "address": "aws_eks_node_group.this", "mode": "managed",
                                    "type": "aws_eks_node_group", "name": "this",
                                    "expressions": {
                                        "cluster_name": {"references": ["aws_eks_cluster.this.name", "aws_eks_cluster.this"]},
                                        "subnet_ids": {"references": ["var.subnets"]},
                                    },
                                }
                            ]
                        },
                    }
                },
            }
        },
    }  # fmt: skip


def check(path: str) -> linter.Result:
    return linter.run(Tree([path]), Config())


@pytest.mark.slow
@pytest.mark.parametrize("indent", [None, 2])
def test_a_plan_gives_the_same_model_as_its_code(indent: int | None, write: Write) -> None:
    write({"code/main.tf": CODE, "code/eks/main.tf": MODULE, "plan.json": json.dumps(plan(), indent=indent)})

    def values(path: str) -> dict[str, Any]:
        data = model.collect(Tree([path]), Config())
        result = {}
        for subject in ("clusters", "pools", "subnets", "autoscalers"):
            for thing in data[subject]:
                for name, field in thing["fields"].items():
                    if name == "sufficient_cidr":
                        continue  # in code, what `cidrsubnet` gives with other new bits comes first
                    key = thing["id"].replace(f"{path}:", "").replace("code/main.tf:", "").replace("code:", "")
                    value = json.dumps(field.get("value", "unknown"))
                    value = value.replace(f"{path}:", "").replace("code/main.tf:", "")
                    result[f"{key} {name}"] = value
        return result

    assert values("plan.json") == values("code")
    # in the code one expression gives both ranges, so it is one finding
    wanted = {(f.rule, f.message) for f in check("code").findings}
    assert {(f.rule, f.message.replace("10.0.1.0", "10.0.0.0")) for f in check("plan.json").findings} == wanted


def test_nothing_unrelated_to_a_finding_is_printed_from_a_plan(write: Write) -> None:
    write({"plan.json": json.dumps(plan(group={"labels": {"password": "hunter2"}}, more="password: hunter2\n"))})
    for arguments in (["check"], ["check", "--format", "json"], ["check", "--show-undecided", "--info"]):
        output = CliRunner().invoke(cli, [*arguments, "plan.json"]).output
        assert "subnet-too-small" in output
        assert "hunter2" not in output
        assert "planned_values" not in output
    text = CliRunner().invoke(cli, ["check", "plan.json"]).output
    assert '   | "10.0.0.0/24"\n   = aws_subnet.private[0]\n' in text
    assert "fix (" not in text  # a plan is not edited


def test_sensitive_plan_values_are_not_read(write: Write) -> None:
    sensitive = {"scaling_config": [{"max_size": True}], "instance_types": True}
    write({"plan.json": json.dumps(plan(sensitive=sensitive))})
    (pool,) = model.collect(Tree(["plan.json"]), Config())["pools"]
    for name in ("max_nodes", "instance_types"):
        assert pool["fields"][name]["unknown"].endswith("is sensitive")
    assert pool["fields"]["min_nodes"]["value"] == 0


def test_ids_of_existing_resources_link_resources(write: Write) -> None:
    data = plan(group={"subnet_ids": ["subnet-b"]})
    for i, name in enumerate("ab"):
        data["planned_values"]["root_module"]["resources"][1 + i]["values"]["id"] = f"subnet-{name}"
    write({"plan.json": json.dumps(data)})
    (pool,) = model.collect(Tree(["plan.json"]), Config())["pools"]
    assert pool["fields"]["subnets"]["value"] == ["eks/plan.json:aws_subnet.private[1]"]


def test_a_choice_missing_in_the_plan_is_unknown(write: Write) -> None:
    data = plan()
    module = data["configuration"]["root_module"]["module_calls"]["eks"]["module"]
    group = module["resources"][0]
    group["expressions"]["subnet_ids"]["references"] = ["each.value.subnet_ids", "each.value", "var.subnets"]
    group["for_each_expression"] = {"references": ["var.groups"]}
    calls = data["configuration"]["root_module"]["module_calls"]["eks"]["expressions"]
    write({"plan.json": json.dumps(data)})
    assert len(model.collect(Tree(["plan.json"]), Config())["pools"][0]["fields"]["subnets"]["value"]) == 2
    calls["groups"] = {"references": ["aws_subnet.private[0].id", "aws_subnet.private[0]", "aws_subnet.private"]}
    write({"plan.json": json.dumps(data)})
    assert "unknown" in model.collect(Tree(["plan.json"]), Config())["pools"][0]["fields"]["subnets"]


GKE = """
variable "zones" {
  default = null
}
resource "google_container_cluster" "train" {
  name                     = "train"
  location                 = "us-central1"
  initial_node_count       = 1
  remove_default_node_pool = true
  node_locations           = var.zones
}
resource "google_container_node_pool" "gpu" {
  for_each   = { gpu = 3 }
  name       = each.key
  cluster    = google_container_cluster.train.name
  location   = "us-central1"
  node_count = each.value
  node_config {
    machine_type = "a3-highgpu-8g"
  }
}
"""


def gke(module: str = "") -> dict[str, Any]:
    """Return Terraform's plan for the GKE code; values that the provider chooses are unknown in it."""
    cluster = {"name": "train", "location": "us-central1", "initial_node_count": 1, "remove_default_node_pool": True}
    pool = {"name": "gpu", "cluster": "train", "location": "us-central1", "node_count": 3, "autoscaling": []}
    pool["node_config"] = [{"machine_type": "a3-highgpu-8g", "spot": False}]
    chosen = ("node_pool", "cluster_autoscaling", "cluster_ipv4_cidr", "default_max_pods_per_node", "subnetwork")
    machine = {"disk_size_gb": True, "guest_accelerator": True, "taint": True}
    changes: dict[str, dict[str, Any]] = {
        "google_container_cluster.train": dict.fromkeys((*chosen, "node_locations", "id"), True),
        'google_container_node_pool.gpu["gpu"]': {
            "node_locations": True, "max_pods_per_node": True, "upgrade_settings": True, "node_config": [machine],
        },
    }  # fmt: skip
    written: dict[str, dict[str, Any]] = {
        "cluster": {"node_locations": {"references": ["var.zones"]}},
        "node_pool": {
            "cluster": {"references": ["google_container_cluster.train.name", "google_container_cluster.train"]},
            "node_count": {"references": ["each.value"]},
            "node_config": [{"machine_type": {"constant_value": "a3-highgpu-8g"}}],
        },
    }
    resources = [resource(a, v) for a, v in zip(changes, (cluster, pool), strict=True)]
    code = [
        {
            **{key: r[key] for key in ("mode", "type", "name")},
            "expressions": written[r["type"].removeprefix("google_container_")],
        }
        for r in resources
    ]
    code[1]["for_each_expression"] = {}
    return {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": resources}},
        "resource_changes": [{"address": a, "change": {"after_unknown": unknown}} for a, unknown in changes.items()],
        "configuration": {"root_module": {"resources": code}},
    }


def values(path: str) -> dict[str, Any]:
    """Return the fields of the model read from a path, without their places."""
    data = model.collect(Tree([path]), Config())
    return {
        f"{subject} {name}": json.dumps(field.get("value", "unknown")).replace("plan.json:", "").replace("code:", "")
        for subject in ("clusters", "pools", "pod_ranges")
        for thing in data[subject]
        for name, field in thing["fields"].items()
        if name != "location_form"  # how code is written, which a plan does not say
    }


def test_plan_values_chosen_by_the_provider_count_as_defaults(write: Write) -> None:
    write({"code/main.tf": GKE, "plan.json": json.dumps(gke())})
    found = values("plan.json")
    assert found == values("code")
    assert found["pools max_nodes"] == "9"
    assert found["pools max_pods"] == "110"
    assert "unknown" not in found.values()


@pytest.mark.parametrize(
    "reference",
    ["data.google_compute_zones.all.names", "local.zones", "module.zones.names", "each.value", "google_x.y.zones"],
)
def test_plan_values_computed_at_apply_are_unknown(reference: str, write: Write) -> None:
    data = gke()
    pool = data["configuration"]["root_module"]["resources"][1]
    pool["expressions"]["max_pods_per_node"] = {"references": [reference]}
    pool["for_each_expression"] = {"references": ["data.x.y"]}
    write({"plan.json": json.dumps(data)})
    assert values("plan.json")["pools max_pods"] == '"unknown"'


def test_a_null_from_the_caller_means_the_provider_default(write: Write) -> None:
    data = gke()
    root = data["configuration"]["root_module"]
    root["resources"][1]["expressions"]["max_pods_per_node"] = {"references": ["module.sizes.pods"]}
    sizes: dict[str, Any] = {"module": {"outputs": {"pods": {"expression": {"references": ["var.pods"]}}}}}
    root["module_calls"] = {"sizes": sizes}
    for call, expected in (({}, "110"), ({"pods": {"references": ["google_x.y.pods"]}}, '"unknown"')):
        sizes["expressions"] = call
        write({"plan.json": json.dumps(data)})
        assert values("plan.json")["pools max_pods"] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "this is no plan"),
        ("[1]", "cannot be read"),
        ("{", "this is no plan"),
        ('{"format_version": "1.2", "planned_values": {"root_module": {"resources": [1]}}}', "cannot be read"),
        ('{"format_version": "1.2", "planned_values": {"root_module": [', "cannot be read"),
        ("\xff", "this is no plan"),
    ],
)
def test_invalid_plan_json_is_an_unreadable_plan(text: str, message: str, write: Write) -> None:
    write({"plan.json": text})
    (finding,) = check("plan.json").findings
    assert finding.rule == "unreadable-file"
    assert "plan" in finding.message


WRONG: list[Any] = [[], ["x"], [None], "x", 1, True, {"references": "x"}, {"references": ["var.x", "module.a", 1]}]


def test_a_helm_release_in_a_plan_without_a_cluster_is_read(write: Write) -> None:
    found = plan()
    found["planned_values"]["root_module"]["child_modules"] = []
    write({"plan.json": json.dumps(found)})
    assert not check("plan.json").bugs


@pytest.mark.slow
@given(found=st.sampled_from(["eks", "gke"]).map(lambda cloud: plan() if cloud == "eks" else gke()), data=st.data())
def test_a_plan_of_another_shape_is_read_or_refused(found: dict[str, Any], data: st.DataObject) -> None:
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        for key in part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
            places.append((part, key))
            walk(part[key])

    walk(found)
    part, key = data.draw(st.sampled_from(places))
    part[key] = data.draw(st.sampled_from([None, *WRONG]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(found))
        assert not check(str(path)).bugs
        model.collect(Tree([str(path)]), Config())


def test_a_binary_plan_is_explained(write: Write) -> None:
    (write({}) / "tfplan").write_bytes(b"PK\x03\x04...")
    run = CliRunner().invoke(cli, ["check", "tfplan"])
    assert run.exit_code == 2
    assert "terraform show -json tfplan > plan.json" in run.output
