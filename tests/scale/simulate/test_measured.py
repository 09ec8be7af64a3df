"""Test measured delays in kcheck.yaml: which parameters of a run they replace, and how the output names them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from kcheck.config import settings
from kcheck.config.config import RunRequest
from kcheck.inventory import reader
from kcheck.scale.simulate import parameters, scenario
from kcheck.scale.simulate.nodes import Provider
from kcheck.scale.simulate.parameters import FIELDS, shown_seconds
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from tests.places import ROOT
from tests.scale.simulate.test_command import CLUSTER, JOB, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.scale.simulate.scenario import Scenario
    from tests.conftest import Write

TWO = """clusters:
  - {root: a, simulation: {loop: 2s}}
  - {root: b}
simulation: {boot: 90s, loop: 1s}
"""


def scenarios(write: Write, files: Mapping[str, str], **asked: Any) -> list[Scenario]:
    write(files)
    config = replace(settings.load(["."]), run=RunRequest(**asked))
    world = World(reader.read(Tree(["."]), config).inventory, config)
    found = [scenario.build_scenario(world, cluster) for cluster in world.inventory.clusters]
    return [one for one in found if not isinstance(one, str)]


def test_every_delay_replaces_a_parameter(write: Write) -> None:
    keys = json.loads((ROOT / "profiles" / "settings.schema.json").read_text())["$defs"]["simulation"]["properties"]
    assert set(keys) == set(FIELDS)
    text = (
        "simulation: {boot: 1m35s, stragglers: 0.02, straggler_delay: 90s, never_ready: 0, launch_rate: 7.5, "
        "pod_start_rate: 3, image_pull: 12s, delete_call: 500ms, delete_latency: 70s, slow_deletes: 0.1, "
        "slow_delete_latency: 10m, spot_interruptions: 0.02, loop: 250ms, loop_per_node: 2.5ms}\n"
    )
    (one,) = scenarios(write, {"kcheck.yaml": text, "main.tf": CLUSTER})
    cloud = one.case.cloud
    assert (cloud.boot, cloud.stragglers, cloud.straggler_mean, cloud.lost) == (95, 0.02, 90, 0)
    assert (cloud.launch_rate, cloud.pod_rate, cloud.pull) == (7.5, 3, 12)
    assert (cloud.delete_call, cloud.delete_latency, cloud.late, cloud.delete_tail) == (0.5, 70, 0.1, 600)
    assert (cloud.loop, cloud.loop_per_node, cloud.interruptions) == (0.25, 0.0025, 0.02)


def test_unmeasured_delays_come_from_the_profile(write: Write) -> None:
    (one,) = scenarios(write, {"kcheck.yaml": "simulation: {boot: 95s}\n", "main.tf": CLUSTER})
    profile = parameters.cloud_parameters("aks", parameters.loop_times(33)[1])
    assert one.case.cloud.boot == 95
    assert one.case.cloud.delete_latency == profile.delete_latency
    assert one.delays.quick == parameters.loop_times(33)[0], "the loop is still a range"


def test_a_measured_loop_time_has_no_range(write: Write) -> None:
    (one,) = scenarios(write, {"kcheck.yaml": "simulation: {loop: 500ms}\n", "main.tf": CLUSTER})
    assert one.delays.quick is None
    assert (one.case.cloud.loop, one.case.cloud.loop_per_node) == (0.5, 0)


def test_each_cluster_can_have_its_own_measured_delays(write: Write) -> None:
    found = scenarios(write, {"kcheck.yaml": TWO, "a/main.tf": CLUSTER, "b/main.tf": CLUSTER})
    assert [(one.cluster.root, one.case.cloud.boot, one.case.cloud.loop) for one in found] == [
        ("a", 90, 2),
        ("b", 90, 1),
    ]


def test_the_spread_of_boot_times_is_between_the_outer_tenths(write: Write) -> None:
    text = "simulation: {boot: 100s, boot_spread: 40s, stragglers: 0, never_ready: 0}\n"
    (one,) = scenarios(write, {"kcheck.yaml": text, "main.tf": CLUSTER})
    provider = Provider(one.case.cloud, seed=1)
    boots = sorted(boot for boot in (provider.boot() for _ in range(5000)) if boot is not None)
    assert boots[4500] - boots[500] == pytest.approx(40, rel=0.05)
    assert boots[2500] == pytest.approx(100, rel=0.02)


def test_the_given_image_size_overrides_a_measured_pull(write: Write) -> None:
    (one,) = scenarios(write, {"kcheck.yaml": "simulation: {image_pull: 12s}\n", "main.tf": CLUSTER}, image=1000)
    assert one.case.cloud.pull == 1000 / parameters.parameters("aks")["bandwidth"].value


@pytest.mark.medium
def test_output_lists_measured_and_assumed_delays(write: Write) -> None:
    text = "# measured in May\nsimulation: {boot: 95s, launch_rate: 5, stragglers: 0.015, delete_call: 500ms}\n"
    write({"kcheck.yaml": text, "main.tf": CLUSTER, "job.yaml": JOB})
    out = run(".")[1]
    assert "  measured: boot 95 s, stragglers 1.5%, launch rate 5/s, delete call 500 ms (kcheck.yaml:2)" in out
    assert "  not measured: pod start rate, delete latency, loop; docs/simulate.md says" in out
    assert "A model of" not in out
    told = json.loads(run(".", "--format", "json")[1])
    assert told["runs"][0]["measured"] == ["boot 95 s", "stragglers 1.5%", "launch rate 5/s", "delete call 500 ms"]


@pytest.mark.medium
def test_runs_with_extreme_delays_end(write: Write) -> None:
    for text in ("{loop: 0s, boot: 0s, boot_spread: 0s, launch_rate: 1000000}", "{loop: 999999h, launch_rate: 0.001}"):
        write({"kcheck.yaml": f"simulation: {text}\n", "main.tf": CLUSTER, "job.yaml": JOB})
        code, _, err = run(".")
        assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (0.0125, "12.5 ms"), (60.25, "60.2 s"), (1800, "1,800 s"), (7, "7 s")]
)
def test_times_are_printed_in_short_form(seconds: float, text: str) -> None:
    assert shown_seconds(seconds) == text
