"""Test bad input, which is normal: a finding or an error with file and line, never a traceback."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.text.files.tree import Tree
from kcheck.text.values import known
from tests.conftest import names

if TYPE_CHECKING:
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

HEALTHY = 'resource "azurerm_kubernetes_cluster" "a" {\n  name = "a"\n\n  default_node_pool {\n    name       = "p"\n    node_count = 300\n  }\n}\n'


def test_a_broken_file_is_a_finding_and_the_rest_is_read(check: Check) -> None:
    result = check({"main.tf": HEALTHY, "broken.tf": 'resource "x" "y" {\n  a =\n}\n'})
    found = {finding.rule: finding for finding in result.findings}
    assert found["unreadable-file"].span.source.path == "broken.tf"
    assert found["unreadable-file"].span.begin.line == 2
    # a pool may be in what could not be read: there are at least as many nodes as are known
    assert found["free-control-plane"].severity.word == "error"
    assert "at least 300 nodes" in found["free-control-plane"].message


def test_variables_of_a_broken_file_are_unknown(check: Check) -> None:
    cluster = HEALTHY.replace('name = "a"\n', 'name     = "a"\n  sku_tier = var.tier\n', 1)
    result = check({"main.tf": cluster, "variables.tf": 'variable "tier" {\n  default = \n}\n'})
    assert "free-control-plane" not in names(result)
    reasons = [one.reason for one in result.judged.inputs]
    assert any("could not be read" in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("files", "rules"),
    [
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.x }}\n"}, ["templated-manifests"]),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: [\n"}, ["unreadable-file"]),
        ({"a.yaml": b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: \xff\n"}, ["unreadable-file"]),
        ({"a.tf": b'a = "\xff"\n'}, ["unreadable-file"]),
        ({"a.yaml": "on: [push\njobs: {{ broken\n"}, []),
        ({"a.yaml": ""}, []),
        ({"a.tf": ""}, []),
        ({"a.yaml": "- just\n- a list\n"}, []),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\n"}, []),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nspec: text\n"}, ["value-of-another-type"]),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers: {a: 1}\n"}, ["value-of-another-type"]),
        ({"a.yaml": "apiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: many\n  template: {spec: {containers: [{image: 3}]}}\n"},
         ["value-of-another-type", "missing-requests", "value-of-another-type"]),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nspec: &a\n  containers: [*a]\n"}, ["unreadable-file"]),
        ({"a.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: " + "[" * 20000 + "\n"}, ["unreadable-file"]),
        ({"a.tf": 'locals {\n  a = local.b\n  b = local.a\n}\nresource "azurerm_kubernetes_cluster" "a" {\n  name = local.a\n}\n'},
         ["unreadable-file"]),
        ({"a.tf": 'resource "azurerm_kubernetes_cluster" "a" {\n}\nresource "azurerm_kubernetes_cluster" "a" {\n}\n'}, []),
    ],
)  # fmt: skip
def test_strange_input_causes_no_bug(files: dict[str, str | bytes], rules: list[str], check: Check) -> None:
    result = check(files)
    assert not result.bugs
    notes = ("free-control-plane", "idle-nodes-kept-long", "delay-after-failure")  # of clusters of unknown size
    assert [name for name in names(result) if name not in notes] == rules


def test_yaml_bomb_is_harmless(check: Check) -> None:
    lines = ["apiVersion: v1", "kind: Pod", "a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    result = check({"a.yaml": "\n".join([*lines, "spec: {containers: *a11}"]) + "\n"})
    assert not result.bugs


def test_one_broken_document_does_not_hide_the_others(check: Check) -> None:
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: a, image: nginx}]\n"
    result = check({"a.yaml": f"{good}---\napiVersion: v1\nkind: Pod\nmetadata: [\n---\n{good}"})
    assert names(result) == ["unreadable-file"]
    assert len(result.world.inventory.workloads) == 2


def test_two_objects_with_one_name_are_both_read(check: Check) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: a, image: nginx}]\n"
    result = check({"a.yaml": f"{pod}---\n{pod}---\n{pod.replace('nginx', 'other')}"}, Config(nodes={"": 500}))
    assert not result.bugs
    assert len(result.world.inventory.workloads) == 3


def test_kinds_of_other_groups_are_not_workloads(check: Check) -> None:
    job = "apiVersion: example.com/v1alpha1\nkind: Job\nmetadata: {name: p}\nspec: {parallelism: 3}\n"
    assert not check({"a.yaml": job}).world.inventory.workloads


def test_circular_links_and_links_to_one_file_are_read_once(write: Write) -> None:
    folder = write({"one/main.tf": HEALTHY})
    os.symlink(folder / "one", folder / "one" / "again")
    os.symlink(folder / "one" / "main.tf", folder / "one" / "link.tf")
    run = CliRunner().invoke(cli, ["check", "."])
    assert run.output.count("free-control-plane:") == 1


def test_a_tree_without_relevant_files_is_reported_on_stderr(write: Write) -> None:
    write({"README.md": "hello", "main.tf": 'resource "x" "y" {\n}\n'})
    run = CliRunner().invoke(cli, ["check", "."])
    assert run.exit_code == 0
    assert run.stdout == ""
    assert "nothing relevant here" in run.stderr


@given(
    st.binary(max_size=200)
    | st.text('{}[]"=\n#${}<resource azurerm_kubernetes_cluster 1a', max_size=120).map(str.encode)
)
def test_any_bytes_as_terraform_cause_no_bug(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    run_on(tmp_path_factory, "main.tf", HEALTHY.encode() + data)


@given(st.binary(max_size=200) | st.text("{}[]&*a:- \n'\"|>!%#", max_size=120).map(str.encode))
def test_any_bytes_as_manifest_cause_no_bug(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    run_on(tmp_path_factory, "a.yaml", b"apiVersion: v1\nkind: Pod\n" + data)


def run_on(factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    path = factory.mktemp("any") / name
    path.write_bytes(data)
    arguments: list[Any] = ["check", str(path), "--fail-on", "never", "--info"]
    run = CliRunner().invoke(cli, arguments)
    assert run.exit_code == 0, run.output + repr(run.exception)


CYCLES = {
    "local.a": ("main.tf", "locals {\n  a = local.b\n  b = local.a\n}\n", "  name = local.a\n"),
    "azurerm_kubernetes_cluster.main.name": ("main.tf", "", "  name = azurerm_kubernetes_cluster.main.name\n"),
    "module.m.out": (
        "m/main.tf",
        'module "m" {\n  source = "./m"\n  in = module.m.out\n}\n',
        "  name = module.m.out\n",
    ),
    "module.me": ("main.tf", 'module "me" {\n  source = "./"\n}\n', '  name = "x"\n'),
}


@pytest.mark.parametrize("name", CYCLES)
def test_terraform_cycles_are_findings(name: str, write: Write) -> None:
    path, more, line = CYCLES[name]
    write(
        {
            "main.tf": f'{more}resource "azurerm_kubernetes_cluster" "main" {{\n{line}}}\n',
            "m/main.tf": 'variable "in" {}\noutput "out" {\n  value = var.in\n}\n',
        }
    )
    result = linter.run(Tree(["."]), Config())
    found = [f for f in result.findings if f.rule == "unreadable-file"]
    assert [(f.message, f.span.source.path) for f in found] == [(f"Cannot read this: {name} refers to itself", path)]
    assert not result.bugs


def test_outputs_that_only_look_like_a_cycle_are_evaluated(write: Write) -> None:
    write(
        {
            "main.tf": 'module "m" {\n  source = "./m"\n  in = module.m.constant\n}\nlocals {\n  x = module.m.out\n}\n'
            'resource "azurerm_kubernetes_cluster" "main" {\n  name = local.x\n}\n',
            "m/main.tf": 'variable "in" {}\noutput "out" {\n  value = var.in\n}\noutput "constant" {\n  value = "c"\n}\n',
        }
    )
    result = linter.run(Tree(["."]), Config())
    assert [f for f in result.findings if f.rule == "unreadable-file"] == []
    assert known(result.world.inventory.clusters[0].name) == "c"


@pytest.mark.parametrize(
    ("kind", "found"), [("Deployment", True), ("NodePool", True), ("DeploymentList", True), ("Gateway", False)]
)
def test_only_broken_objects_that_matter_are_reported(kind: str, found: bool, write: Write) -> None:
    write({"x.yaml": f"apiVersion: v1\nkind: {kind}\nspec:\n  -   name: a\n    b: 1\n"})
    result = linter.run(Tree(["."]), Config())
    assert [f.rule for f in result.findings] == (["unreadable-file"] if found else [])


@pytest.mark.parametrize(
    "cidr", ['""', '"10.0.0.0"', '"10.0.0.0/x"', '"${1}.0/24/"', '"fd00::/64"', "7", '"10.0.0.0/99"']
)
@pytest.mark.parametrize("size", ["1e90", "-1", "0.5", '"many"', "true"])
def test_nonsense_in_numbers_and_ranges_causes_no_bug(cidr: str, size: str, write: Write) -> None:
    write(
        {
            "main.tf": f"""
resource "azurerm_subnet" "a" {{
  name             = "a"
  address_prefixes = [{cidr}]
}}
resource "azurerm_kubernetes_cluster" "main" {{
  name = "main"
  default_node_pool {{
    name           = "d"
    node_count     = {size}
    vnet_subnet_id = azurerm_subnet.a.id
  }}
}}
"""
        }
    )
    assert not linter.run(Tree(["."]), Config()).bugs


@pytest.mark.parametrize("number", ["18446744073709551615", "9223372036854775807", "1" + "0" * 80])
def test_impossible_numbers_cause_no_bug(number: str, write: Write) -> None:
    write(
        {
            "x.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n"
            f"  replicas: {number}\n  template:\n    spec:\n      containers:\n        - name: a\n"
            "          image: x/cluster-autoscaler:v1.30.0\n"
            f"          args: [--max-empty-bulk-delete={number}, --scan-interval={number}h]\n",
            "main.tf": f'resource "kubernetes_deployment" "x" {{\n  spec {{\n    replicas = {number}\n  }}\n}}\n',
        }
    )
    assert not linter.run(Tree(["."]), Config()).bugs


@pytest.mark.parametrize("count", ["500m", "-1", "{a: b}", "null", "'8'", "99999999999999999999"])
def test_an_invalid_pod_count_causes_no_bug(count: str, check: Check) -> None:
    """The pods of the Job are placed on a cluster."""
    cluster = HEALTHY + (
        'resource "azurerm_kubernetes_cluster_node_pool" "gpu" {\n  name                  = "gpu"\n'
        "  kubernetes_cluster_id = azurerm_kubernetes_cluster.a.id\n"
        '  vm_size               = "Standard_ND96isr_H100_v5"\n  node_count            = 300\n}\n'
    )
    job = (
        f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: train}}\nspec: {{pytorchReplicaSpecs: {{Worker: {{replicas: {count}, "
        "template: {spec: {containers: [{name: a, image: a.io/b:1, resources: {limits: {nvidia.com/gpu: 3}}}]}}}}}\n"
    )
    assert not check({"main.tf": cluster, "job.yaml": job}, Config(nodes={"": 500})).bugs


@pytest.mark.parametrize(("name", "copies"), [("job.yaml", 250), (os.fsdecode(b"\xffjob.yaml"), 1)])
def test_what_a_condition_cannot_hold_is_undecided_and_no_bug(name: str, copies: int, check: Check) -> None:
    container = "        - {name: main, image: a/b:1, command: [torchrun, train.py]}\n"
    head = "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      containers:\n"
    result = check({name: head + container * copies})
    assert result.bugs == []
    assert copies == 1 or any("too many parts" in one.reason for one in result.judged.inputs)
