"""Test a cloud that kcheck/ does not know: it is read, checked, measured and generated like the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.engine import linter
from kcheck.generate.assembly import check_files, generate
from kcheck.generate.intent import with_defaults
from kcheck.inventory.clouds import registry
from kcheck.model.pods import Requirement
from kcheck.scale import placement, walls
from kcheck.text.files.tree import Tree
from kcheck.text.values import Known, known
from tests.inventory.clouds.toy import cloud as toy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Check, Read, Write

pytestmark = pytest.mark.medium


def register() -> None:
    CLOUDS["toy"] = str(Path(__file__).parent / "toy" / "profile")
    sys.modules["kcheck.inventory.clouds.toy.cloud"] = toy


def unregister() -> None:
    del CLOUDS["toy"], sys.modules["kcheck.inventory.clouds.toy.cloud"]
    registry.cloud.cache_clear()


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    register()
    yield
    unregister()


def code(pod_cidr: str) -> dict[str, str]:
    """Return a cluster whose nodes take a /24 each from a pod range."""
    return {
        "main.tf": (
            'resource "toy_cluster" "train" {\n  name     = "train"\n'
            f'  pod_cidr = "{pod_cidr}"\n}}\n'
            'resource "toy_pool" "gpu" {\n  cluster_id = toy_cluster.train.id\n  name       = "gpu"\n'
            '  machine    = "toy.gpu8"\n  size       = 5000\n'
            '  taints     = ["nvidia.com/gpu=true:NoSchedule"]\n}\n'
        )
    }


def run(*arguments: str) -> str:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout


def test_check_finds_a_small_range_of_the_toy_cloud(check: Check) -> None:
    (finding,) = check(code("10.0.0.0/20"), Config(nodes={"": 100})).findings
    assert finding.rule == "pod-range-too-small"
    assert "gpu: 100 nodes x 256 = 25,600 addresses" in finding.details
    assert finding.message == "Pod range 10.0.0.0/20 is full at 16 of 100 nodes"
    assert (finding.span.source.path, finding.span.begin.line, finding.span.text) == ("main.tf", 3, '"10.0.0.0/20"')


def test_check_accepts_a_sufficient_range_of_the_toy_cloud(check: Check) -> None:
    result = check(code("10.0.0.0/17"), Config(nodes={"": 100}))
    assert [pool.display_name for pool in result.world.inventory.pools] == ["gpu"]
    assert (result.findings, result.undecided) == ([], [])


def test_capacity_names_the_walls_of_the_toy_cloud(write: Write) -> None:
    write(code("10.0.0.0/20"))
    (cluster,) = json.loads(run("capacity", ".", "--nodes", "100", "--format", "json"))["clusters"]
    found: dict[str, dict[str, Any]] = {wall["mechanism"]: wall for wall in cluster["walls"]}
    assert (cluster["cloud"], cluster["target"], cluster["reaches"]) == ("toy", 100, 16)
    pods, limit = found["pod-range"], found["cluster-limit"]
    assert (pods["nodes"], pods["before_target"], pods["line"]) == (16, True, 3)
    assert pods["move"] == "a shorter prefix of pod_cidr"  # the cloud's own
    assert (limit["nodes"], limit["before_target"], limit["line"]) == (3000, False, 2)
    assert limit["move"] == "a second cluster"  # any cloud's


def test_a_plan_links_pools_to_their_cluster(write: Write) -> None:
    written = {"cluster": {"name": "train", "pod_cidr": "10.0.0.0/20"}, "pool": {"name": "gpu", "size": 5000}}
    parts = [{"address": f"toy_{kind}.a", "mode": "managed", "type": f"toy_{kind}", "name": "a"} for kind in written]
    resources = [part | {"values": values} for part, values in zip(parts, written.values(), strict=True)]
    after = {"address": "toy_pool.a", "change": {"after_unknown": {"cluster_id": True}}}
    expressions = {"cluster_id": {"references": ["toy_cluster.a.id", "toy_cluster.a"]}}
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": resources}},
        "resource_changes": [after],
        "configuration": {"root_module": {"resources": [part | {"expressions": expressions} for part in parts]}},
    }
    write({"plan.json": json.dumps(plan)})
    (pool,) = linter.run(Tree(["plan.json"]), Config()).world.inventory.pools
    assert isinstance(pool.cluster, Known)


def test_spot_labels_of_a_cloud_count_only_while_it_is_registered(read: Read) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: quay.io/a/b:1}]\n"
    (workload,) = read({"a.yaml": f"{pod}  nodeSelector: {{toy.example.com/spot: 'true'}}\n"}).workloads
    assert placement.asks_for_spot(workload.templates[0])
    unregister()
    without = placement.asks_for_spot(workload.templates[0])
    register()
    assert not without


def test_accelerators_of_a_cloud_count_only_while_it_is_registered(read: Read) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: quay.io/a/b:1\n"
    )
    files = {"a.yaml": f"{pod}    resources: {{limits: {{toy.example.com/card: 8}}}}\n"}
    assert known(read(files).workloads[0].gpus) == 8
    unregister()
    without = read(files).workloads[0].gpus
    register()
    assert known(without) == 0


def test_a_label_given_by_the_cloud_may_be_on_its_nodes(read: Read) -> None:
    (pool,) = read(code("10.0.0.0/20")).pools
    asked = [Requirement(f"{domain}/rack", "In", ("a",)) for domain in ("toy.example.com", "own.example.org")]
    assert [placement.meets(one, pool) for one in asked] == [None, False]


def test_machines_that_start_nodes_are_read(check: Check) -> None:
    (skipped,) = check(
        {"main.tf": 'resource "toy_machine" "a" {\n  boot = "kubeadm join 10.0.0.1:6443"\n}\n'}
    ).reading.skipped
    assert skipped.reason == "toy_machine.a starts nodes with kubeadm; their cluster is not read"


def test_a_baseline_recognizes_the_cluster_from_another_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    top = write({f"infra/{name}": text for name, text in code("10.0.0.0/20").items()})
    run("baseline", "infra", "--nodes", "100")
    monkeypatch.chdir(top / "infra")
    asked = ("check", ".", "--nodes", "100")
    assert "pod-range-too-small" in run(*asked)
    assert "pod-range-too-small" not in run(*asked, "--baseline-file", "../kcheck-baseline.json")


def test_generate_makes_a_cluster_that_reaches_the_intent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = generate(with_defaults("toy", {"nodes": 500}))
    assert (made.result.findings, made.result.undecided) == ([], [])
    (cluster,) = made.result.world.inventory.clusters
    numbers = {wall.mechanism: wall.number for wall in walls.find_walls(cluster, made.result.world)}
    assert numbers == {"maximum": 508, "pod-range": 1024, "cluster-limit": 3000}
    assert not any(wall.short for wall in walls.find_walls(cluster, made.result.world))
    main = made.files["main.tf"].replace(b"/14", b"/20")
    assert "pod-range-too-small" in {one.rule for one in check_files(made.files | {"main.tf": main}).findings}
