"""Test `kcheck simulate`: what it reads from a tree, what it prints, and what fixes would save."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kcheck.commands.cli import cli
from kcheck.config.config import Config, RunRequest
from kcheck.inventory import reader
from kcheck.report import simulation
from kcheck.report.layout import plain
from kcheck.scale.simulate import parameters, results, scenario
from kcheck.scale.world import World
from kcheck.text.amount import Amount
from kcheck.text.files.tree import Tree
from tests.output_schemas import check_all_fields
from tests.places import ROOT, load_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.conftest import Write

pytestmark = pytest.mark.medium

CLUSTER = """
resource "azurerm_kubernetes_cluster" "train" {
  name               = "train"
  kubernetes_version = "1.33"
  sku_tier           = "Standard"

  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D4s_v5"
    node_count = 3
  }

  network_profile {
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    pod_cidr            = "10.128.0.0/9"
  }

  auto_scaler_profile {
    scale_down_unneeded = "5m"
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  name                  = "gpu"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.train.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 200
}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: 128
  parallelism: 128
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1
          resources: {limits: {nvidia.com/gpu: 4}}
"""
WITHOUT_INFINIBAND = "Standard_ND96isr_H100_v5", "Standard_NC96ads_A100_v4"
"""A machine type and its replacement.

Scale sets with InfiniBand have at most 100 machines; the replacement has four GPUs and no such limit.
"""


def found(write: Write, files: Mapping[str, str], nodes: int | None = None, **asked: Any) -> scenario.Scenario:
    write(files)
    config = Config(nodes={"": nodes} if nodes else {}, run=RunRequest(**asked))
    world = World(reader.read(Tree(["."]), config).inventory, config)
    one = scenario.build_scenario(world, world.inventory.clusters[0])
    assert isinstance(one, scenario.Scenario)
    return one


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["simulate", *arguments])
    return result.exit_code, result.stdout, result.stderr


# --- out of a tree


def test_job_size_pools_and_flags_are_read_from_code(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER, "job.yaml": JOB}, duration=1200)
    case = one.case
    assert case.job.pods == 64, "two pods of four GPUs fill a node"
    assert case.job.duration == 1200
    assert [(pool.name, pool.most) for pool in case.pools] == [("gpu", 200)]
    assert (case.settings.minor, case.settings.unneeded_time, case.settings.bulk_delete) == (33, 300, 10)
    assert case.cloud == parameters.cloud_parameters("aks", parameters.loop_times(33)[1])
    assert one.wall is None


def test_a_simulation_without_a_job_runs_one_pod_per_gpu_node(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER})
    assert one.case.job.pods == 200
    assert "the code has no job: 200 pods, one per node" in one.assumed


def test_pools_grow_when_more_nodes_are_requested_than_they_have(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER}, nodes=500)
    assert (one.case.job.pods, one.case.pools[0].most) == (497, 497)  # the others are the system's
    assert "gpu, of at most 200 nodes, assumed to have room for 497" in one.assumed
    assert not any("at most" in text for text in found(write, {"main.tf": CLUSTER}, nodes=150).assumed)


def test_the_pull_time_depends_on_the_image_size(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER}, image=20 * 1024)
    assert one.case.cloud.pull == 20 * 1024 / parameters.parameters("aks")["bandwidth"].value


def test_the_run_stops_at_a_wall_and_continues_without_it(write: Write) -> None:
    narrow = CLUSTER.replace("10.128.0.0/9", "10.128.0.0/18")
    one = found(write, {"main.tf": narrow, "job.yaml": JOB.replace("128", "400")})
    assert one.wall is not None
    assert (
        one.case.ceiling == one.wall.number == 58
    )  # 64 blocks of a /24, of which an upgrade of the larger pool wants a tenth
    outcome = results.run_scenario(one)
    assert max(point.target for point in outcome.middle.timeline) + one.case.system_nodes <= 58
    assert outcome.without_wall is not None
    assert max(point.target for point in outcome.without_wall.middle.timeline) == 200
    code, out, _ = run(".")
    assert code == 0
    assert "pod range" in out
    assert "without that:" in out


def test_a_wall_with_only_an_upper_bound_is_reported(write: Write) -> None:
    narrow = CLUSTER.replace("10.128.0.0/9", "10.128.0.0/18")
    one = found(write, {"main.tf": narrow, "job.yaml": JOB.replace("128", "400")})
    assert one.wall is not None
    wall = replace(one.wall, nodes=Amount(0, 58))
    assert wall.number is None
    told = simulation.stop_reasons(results.run_scenario(replace(one, wall=wall)))
    assert "pod range of pools system and gpu, at 58 nodes" in next(told)


def test_the_docker_hub_limit_bounds_the_nodes_that_pull(write: Write) -> None:
    one = found(
        write,
        {
            "main.tf": CLUSTER.replace(*WITHOUT_INFINIBAND),
            "job.yaml": JOB.replace("registry.example.com/train", "pytorch/pytorch").replace("128", "200"),
        },
    )
    assert one.case.pulls == 100
    outcome = results.run_scenario(one)
    assert outcome.middle.summary.last_start > 6 * 3600
    assert results.deciding_factors(outcome)["pull"] == "the registry's pull limit"
    assert outcome.without_wall is not None
    assert outcome.without_wall.middle.summary.last_start < 3600
    out = run(".")[1]
    assert " pods on ready nodes wait: Docker Hub serves 100 fresh nodes in 6 hours without an account" in out


def test_pods_without_an_image_at_the_deadline_never_start(write: Write) -> None:
    job = JOB.replace("registry.example.com/train", "pytorch/pytorch").replace("128", "200")
    write(
        {
            "main.tf": CLUSTER.replace(*WITHOUT_INFINIBAND),
            "job.yaml": job.replace("  template:", "  activeDeadlineSeconds: 7200\n  template:", 1),
        }
    )
    lines = run(".")[1].splitlines()
    assert lines[:2] == [
        "train: Job on 200 nodes, 10 min of work: fails at its deadline of 120 min",
        "  100 of 200 pods end; the rest waits for the registry's pull limit",
    ]
    assert lines[3].startswith("  of that idle: ")
    assert lines[4].startswith("  100 pods on ready nodes wait: Docker Hub")
    [one] = json.loads(run(".", "--format", "json")[1])["runs"]
    assert (one["finished"], one["failed"], one["refused"]) == (False, 100, 100)
    assert one["beyond"]["finished"]


def test_autoscaler_flags_come_from_the_autoscaler_manifest(write: Write) -> None:
    example = ROOT / "examples" / "generated" / "eks"
    files = {path.relative_to(example).as_posix(): path.read_text() for path in example.rglob("*") if path.is_file()}
    settings = found(write, files).case.settings
    assert (settings.minor, settings.unneeded_time, settings.new_pod_delay, settings.balance) == (35, 60, 30, True)
    assert (settings.client_qps, settings.client_burst, settings.eager) == (50, 100, True)


def test_a_flag_in_the_values_of_a_chart_has_its_name(write: Write) -> None:
    """The value in a chart has no key of its own: "idle until it may go: 1 min (values.yaml:35)"."""
    example = ROOT / "examples" / "generated" / "eks"
    files = {path.relative_to(example).as_posix(): path.read_text() for path in example.rglob("*") if path.is_file()}
    why = results.deciding_factors(results.run_scenario(found(write, files)))
    assert why["idle"].startswith("scale-down-unneeded-time 1 min (values/cluster-autoscaler.yaml:")


def test_boolean_and_duration_and_count_flags_are_read(write: Write) -> None:
    example = ROOT / "examples" / "generated" / "eks"
    files = {path.relative_to(example).as_posix(): path.read_text() for path in example.rglob("*") if path.is_file()}
    values = "values/cluster-autoscaler.yaml"
    flags = "frequent-loops-enabled: true\n  parallel-drain: false\n  node-delete-delay-after-taint: 7s\n"
    files[values] = re.sub(
        r"(?m)^extraArgs:\n", rf"extraArgs:\n  {flags}  max-bulk-soft-taint-count: 12\n", files[values]
    )
    settings = found(write, files).case.settings
    assert (settings.frequent_loops, settings.parallel_drain) == (True, False)
    assert (settings.taint_delay, settings.soft_taints) == (7, 12)
    files[values] = files[values].replace("taint: 7s", "taint: seven")
    assumed = found(write, files).assumed
    assert "not known, default assumed: --node-delete-delay-after-taint" in assumed


# --- what is printed


def test_the_simulation_text_fits_a_terminal(write: Write) -> None:
    write({"main.tf": CLUSTER, "job.yaml": JOB})
    code, out, err = run(".")
    assert (code, err) == (0, "")
    drawn = [line for line in out.splitlines() if "|" in line]
    assert len(drawn) == 12
    assert max(map(len, drawn)) <= 80
    assert "train: Job on 64 nodes, 10 min of work: about " in out
    assert "times the work itself" in out


@pytest.mark.slow
def test_simulation_json_has_every_field_of_its_schema(write: Write) -> None:
    write({"main.tf": CLUSTER.replace("10.128.0.0/9", "10.128.0.0/20"), "job.yaml": JOB})
    stopped = json.loads(run(".", "--format", "json")[1])
    write({"main.tf": CLUSTER.replace('"5m"', '"30m"'), "job.yaml": JOB})
    told = json.loads(run(".", "--format", "json", "--what-if")[1])
    check_all_fields("simulation", stopped, told)
    (one,) = told["runs"]
    assert one["nodes"] == 64
    assert one["finished"]
    assert sum(one["phases"].values()) == pytest.approx(one["node_hours"] * 3600, rel=0.01)
    assert sum(one["phase_dollars"].values()) == pytest.approx(one["dollars"], abs=0.05)
    assert one["timeline"][-1]["busy"] == 0
    assert set(one["binding"]) == set(one["phases"])
    assert [saving["rules"] for saving in one["what_if"]]


def test_nodes_that_stay_after_the_work_are_reported(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER, "job.yaml": JOB})
    case = replace(one.case, settings=replace(one.case.settings, bulk_delete=1), horizon=3600)
    outcome = results.run_scenario(replace(one, case=case))
    text = plain(simulation.as_text(outcome))
    assert "nodes are still there after 1 h" in text
    assert "to be deleted" in text
    assert "never done" not in text


def test_a_gang_waits_for_the_machine_that_never_joins(write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER, "job.yaml": JOB})
    job, cloud = replace(one.case.job, gang=True), replace(one.case.cloud, lost=0.05, stragglers=0)
    outcome = results.run_scenario(replace(one, case=replace(one.case, job=job, cloud=cloud)))
    assert "never joins is abandoned by max-node-provision-time 15 min" in results.deciding_factors(outcome)["wait"]
    cloud = replace(cloud, lost=0, stragglers=0.05, straggler_mean=1_000, boot=60)
    outcome = results.run_scenario(replace(one, case=replace(one.case, job=job, cloud=cloud)))
    assert "all wait for the last node" in results.deciding_factors(outcome)["wait"]


@pytest.mark.parametrize(
    ("version", "flag"), [("1.24", "max-empty-bulk-delete"), ("1.33", "max-scale-down-parallelism")]
)
def test_deletion_batches_are_named_by_the_flag_of_the_version(version: str, flag: str, write: Write) -> None:
    one = found(write, {"main.tf": CLUSTER.replace("1.33", version)})
    outcome = results.run_scenario(one)
    assert results.deciding_factors(outcome)["queue"].startswith(f"{flag} 10, a batch about every ")


def test_idle_and_starting_nodes_cost_money(write: Write) -> None:
    outcome = results.run_scenario(found(write, {"main.tf": CLUSTER, "job.yaml": JOB}))
    parts = {name: outcome.part(phases) for name, phases in results.PARTS.items()}
    assert outcome.dollars is not None
    assert sum(part.dollars.least for part in parts.values() if part.dollars) <= outcome.dollars.least + 0.01
    assert sum(part.node_hours.most for part in parts.values()) >= outcome.node_hours.most - 0.01
    assert parts["idle"].node_hours.least > parts["work"].node_hours.most > 10
    line = next(line for line in run(".")[1].splitlines() if line.startswith("  of that idle: "))
    assert re.fullmatch(
        r"  of that idle: [\d.]+( to [\d.]+)? node-hours, \$[\d,]+( to \$[\d,]+)?; "
        r"starting and waiting: [\d.]+( to [\d.]+)? node-hours, \$[\d,]+( to \$[\d,]+)?",
        line,
    )


@pytest.mark.slow
def test_what_if_names_fixes_that_the_fix_command_accepts(write: Write) -> None:
    write({"main.tf": CLUSTER.replace('"5m"', '"30m"'), "job.yaml": JOB.replace("128", "400")})
    code, out, _ = run(".", "--what-if")
    assert code == 0
    rows = {line.split()[0]: float(line.split()[1]) for line in out.splitlines() if line.startswith("  idle-nodes-")}
    assert rows["idle-nodes-kept-long"] > 20
    command = next(line for line in out.splitlines() if line.startswith("  kcheck fix ")).split()[2:]
    fixed = CliRunner().invoke(cli, ["fix", *command])
    assert fixed.exit_code in (0, 1)
    assert "scale_down_unneeded" in fixed.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--duration", "soon"), "soon is not a duration"),
        (("--duration", "-5m"), "-5m is not a duration"),
        (("--image-size", "big"), "big is not a size"),
        (("missing",), "missing: no such file or folder"),
    ],
)
def test_wrong_options_exit_with_2_and_say_why(arguments: tuple[str, ...], told: str, write: Write) -> None:
    write({"main.tf": CLUSTER})
    code, _, err = run(*arguments)
    assert code == 2
    assert told in err


def test_nodes_outside_known_pools_form_one_pool(write: Write) -> None:
    bare = 'resource "aws_eks_cluster" "main" {\n  name = "train"\n}\n'
    write({"main.tf": bare})
    code, out, err = run(".")
    assert (code, out) == (0, "")
    assert "set --nodes N to run a job on N nodes" in err
    code, out, _ = run(".", "--nodes", "300", "--price", "30")
    assert code == 0
    assert "one pool of 300 nodes" in out
    assert "at $30 per node-hour" in out


def test_nothing_to_simulate_is_reported(write: Write) -> None:
    write({"job.yaml": JOB})
    code, out, err = run(".")
    assert (code, out) == (0, "")
    assert "no cluster here can be simulated" in err


# --- the parameters


@pytest.mark.parametrize("cloud", ["eks", "gke", "aks", "ack", "selfmanaged"])
def test_parameters_are_within_their_bounds_and_name_a_source(cloud: str) -> None:
    for one in parameters.parameters(cloud).values():
        assert one.least <= one.value <= one.most, one.name
        assert one.kind in ("documented", "fitted", "guess"), one.name
        assert one.note, one.name
        assert bool(one.sources) == (one.kind == "documented"), one.name


@pytest.mark.slow
@pytest.mark.parametrize(("table", "columns"), [("table", (5,)), ("recorded_table", (4, 6))])
def test_published_and_recorded_runs_are_matched_within_15_percent(table: str, columns: tuple[int, ...]) -> None:
    lines = getattr(load_script("calibrate"), table)()
    assert "\n".join(lines) in (ROOT / "docs" / "simulate.md").read_text(), "scripts/calibrate --write"
    assert len(lines) > 4
    for line in lines[2:]:
        for column in columns:
            for off in line.split("|")[column].split(","):
                assert abs(float(off.strip().removesuffix("%"))) <= 15, line


def test_the_model_repeats_the_small_deletion_batches_of_recorded_runs() -> None:
    """Batches of 10 arrive as 10, 7, 3 ...: deletions in progress count, and productive loops have no pause."""
    module = load_script("calibrate")
    settings, rows = module.recorded_runs()["1.36-unneeded1m-batch10-200"]
    events = module.recorded_again(settings, len(rows), parameters.loop_times(36)[1])[0].events
    sizes = [event.nodes for event in events if event.what == "scale-down"]
    recorded = Counter(row["delete_asked"] for row in rows)
    assert len(recorded) / 2 <= len(sizes) <= len(recorded) * 2
    assert max(sizes) == 10
    assert len([size for size in sizes if size < 10]) > len(sizes) / 2
