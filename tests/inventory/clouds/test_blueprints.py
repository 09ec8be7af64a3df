"""Test blueprints of the Cluster Toolkit: modules that are called by folder and use each other's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

BLUEPRINT = """\
blueprint_name: train
vars:
  deployment_name: train
  region: europe-west4
  {variables}
deployment_groups:
- group: primary
  modules:
  - id: net
    source: modules/network/vpc
    settings:
      network_address_range: 10.16.0.0/12
      subnetwork_name: $(vars.deployment_name)-nodes
      secondary_ranges_list:
      - subnetwork_name: $(vars.deployment_name)-nodes
        ranges:
        - {{range_name: pods, ip_cidr_range: 10.128.0.0/16}}
        - {{range_name: services, ip_cidr_range: 10.96.0.0/20}}
  - id: cluster
    source: modules/scheduler/gke-cluster
    use: [net]
  - id: gpu-pool
    source: modules/compute/gke-node-pool
    use: [cluster]
    settings:
      zones: [europe-west4-a]
      machine_type: a3-highgpu-8g
      {settings}
"""
SLURM = """\
blueprint_name: slurm
vars: {deployment_name: slurm, region: europe-west4}
deployment_groups:
- group: primary
  modules:
  - {id: net, source: modules/network/vpc}
  - {id: nodes, source: community/modules/compute/schedmd-slurm-gcp-v6-nodeset, use: [net]}
"""


def blueprint(settings: str = "static_node_count: 200", variables: str = "nodes: 200") -> str:
    return BLUEPRINT.format(settings=settings, variables=variables)


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(files: Mapping[str, str], config: Config | None = None) -> dict[str, Any]:
        write(dict(files))
        return model.collect(Tree(["."]), config or Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def gpus(data: dict[str, Any]) -> dict[str, Any]:
    """Return the GPU pool."""
    return next(pool for pool in data["pools"] if "gpu-pool" in pool["id"])


def test_blueprint_modules_use_outputs_of_other_modules(read: Callable[..., dict[str, Any]]) -> None:
    data = read({"a.yaml": blueprint()})
    (cluster,), (subnet,), (pods,) = data["clusters"], data["subnets"], data["pod_ranges"]
    assert (of(cluster, "name"), of(cluster, "location"), of(cluster, "target")) == ("train", "europe-west4", 210)
    assert (of(subnet, "cidr"), of(subnet, "name")) == ("10.16.0.0/27", "train-nodes")
    assert (of(pods, "cidr"), of(cluster, "service_cidr")) == ("10.128.0.0/16", "10.96.0.0/20")
    assert of(gpus(data), "instance_types") == ["a3-highgpu-8g"]
    assert of(gpus(data), "subnets") == [subnet["id"]]


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ("static_node_count: $(vars.nodes)", 24),
        ("static_node_count: ((2 * var.nodes))", 48),
        ("static_node_count: $(vars.nodes + 1)", 25),
        ("autoscaling_total_max_nodes: 30", 30),
        ("{}", 1000),
        ("static_node_count: $(vars.none)", "none"),
        ("static_node_count: $(other.count)", "other"),
    ],
)
def test_pool_sizes_of_blueprints_are_read(
    settings: str, nodes: int | str, read: Callable[..., dict[str, Any]]
) -> None:
    text = blueprint(settings, "nodes: 24").replace("      {}\n", "")
    found = of(gpus(read({"a.yaml": text})), "max_nodes")
    assert found == nodes if isinstance(nodes, int) else nodes in str(found)


def test_findings_and_fixes_are_in_the_blueprint(check: Check) -> None:
    text = blueprint("static_node_count: 300")
    found = {one.rule: one for one in check({"a.yaml": text}).findings if one.severity > Severity.INFO}
    assert set(found) == {
        "gpu-pool-of-fixed-size", "max-pods-wastes-addresses", "pod-range-too-small", "snat-ports-exhausted",
        "subnet-too-small",
    }  # fmt: skip
    assert text.splitlines()[found["pod-range-too-small"].span.begin.line - 1].endswith("10.128.0.0/16}")
    assert "set id" not in found["subnet-too-small"].help
    outcome = fix.fix(["."], Config(select=("pod-range-too-small",)), safeties=("unsafe",))
    (new,) = [file.new.decode() for file in outcome.files]
    assert new == text.replace("10.128.0.0/16", "10.128.0.0/15")


def test_absent_fields_are_written_into_the_settings(check: Check) -> None:
    before, settings, after = blueprint("static_node_count: 300").partition("    settings:\n      zones")
    globals_ = "nodes: 0\n  machine_type: a3-highgpu-8g\n  static_node_count: 300\n  zones: [europe-west4-a]"
    for text in (before + settings + after, before.replace("nodes: 200", globals_)):
        check({"a.yaml": text})
        outcome = fix.fix(["."], Config(select=("max-pods-wastes-addresses",)), safeties=("unsafe",))
        (new,) = [file.new.decode() for file in outcome.files]
        assert "max_pods_per_node: 32" in new.rpartition("    settings:\n      ")[2]


def test_upgrade_settings_are_not_written_without_the_strategy_that_the_module_wants(check: Check) -> None:
    assert "slow-upgrades" in {one.rule for one in check({"a.yaml": blueprint("static_node_count: 800")}).findings}
    assert not fix.fix(["."], Config(select=("slow-upgrades",)), safeties=("costs",)).files


def test_values_come_from_the_deployment_file_next_to_the_blueprint(read: Callable[..., dict[str, Any]]) -> None:
    text = blueprint("static_node_count: $(vars.nodes)", "nodes:")
    deployment = "vars:\n  deployment_name: blue\n  nodes: 12\n"
    assert "var.nodes" in of(gpus(read({"a.yaml": text})), "max_nodes")
    data = read({"a.yaml": text, "a-deployment.yaml": deployment})
    assert (of(gpus(data), "max_nodes"), of(data["clusters"][0], "name")) == (12, "blue")


def test_a_missing_input_is_placed_at_its_line_in_the_blueprint(write: Write) -> None:
    text = blueprint("static_node_count: $(vars.nodes)", "nodes:")
    other = 'variable "nodes" {}\nresource "null_resource" "a" {\n  count = var.nodes\n}\n'
    write({"modules/pool/main.tf": other, "train/a.yaml": text})
    shown = CliRunner().invoke(cli, ["show", "--undecided"]).output
    assert "var.nodes has no value\n  train/a.yaml:5  nodes:\n  set it with --var nodes=VALUE\n" in shown


def test_a_word_in_capitals_is_a_placeholder(read: Callable[..., dict[str, Any]]) -> None:
    text = blueprint("static_node_count: $(vars.nodes)", "nodes: NODE_COUNT")
    assert of(gpus(read({"a.yaml": text})), "max_nodes") == "`NODE_COUNT` is a placeholder"


def test_a_pool_in_one_unknown_zone_counts_as_one_zone(read: Callable[..., dict[str, Any]]) -> None:
    text = blueprint("static_node_count: 4", "zone:").replace("[europe-west4-a]", "[$(vars.zone)]")
    assert of(gpus(read({"a.yaml": text})), "max_nodes") == 4


def test_given_variables_set_empty_blueprint_vars_to_a_blueprint(read: Callable[..., dict[str, Any]]) -> None:
    text = blueprint("static_node_count: $(vars.nodes)", "nodes:")
    assert of(gpus(read({"a.yaml": text}, Config(variables={"nodes": "7"}))), "max_nodes") == 7


def test_blueprints_in_one_folder_are_separate_clusters(read: Callable[..., dict[str, Any]]) -> None:
    data = read({"a.yaml": blueprint(), "b.yaml": blueprint(), "slurm.yaml": SLURM})
    assert [cluster["id"].partition(":")[0] for cluster in data["clusters"]] == ["gke/.@a", "gke/.@b"]


@pytest.mark.parametrize(
    "text", [SLURM, "blueprint_name: x\ndeployment_groups: [\n", "blueprint_name: x\ndeployment_groups: 3\n"]
)
def test_other_yaml_files_are_not_blueprints(text: str, read: Callable[..., dict[str, Any]]) -> None:
    assert not read({"a.yaml": text})["clusters"]


def test_capacity_prints_the_limits_of_a_blueprint(write: Callable[..., Path]) -> None:
    write({"a.yaml": blueprint()})
    assert "256  ####" in CliRunner().invoke(cli, ["capacity", "a.yaml", "--nodes", "400"]).output


@pytest.mark.parametrize(("networks", "found"), [("4", False), ("1", True)])
def test_additional_networks_come_from_the_module_that_creates_them(networks: str, found: bool, check: Check) -> None:
    """`additional_networks` once had no value, so a check of the GPUs' network cards was undecided."""
    rails = f"  - {{id: rails, source: modules/network/multivpc, settings: {{network_count: {networks}}}}}\n  - id: gpu-pool\n"
    source = blueprint().replace("  - id: gpu-pool\n", rails).replace("use: [cluster]", "use: [cluster, rails]")
    result = check({"train.yaml": source})
    assert not [one for one in result.undecided if one.rule == "fabric-not-enabled"]
    assert ("fabric-not-enabled" in {one.rule for one in result.findings}) is found
