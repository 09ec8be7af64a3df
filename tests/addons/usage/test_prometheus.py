"""Test a week in a real Prometheus, recorded, joined to its code, judged and billed: each number equals the truth."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kcheck.addons.usage.bill import bill
from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.scale.usage import recording
from kcheck.scale.usage.joining import joined
from kcheck.scale.usage.numbers import table
from kcheck.scale.usage.requests import cpu_text, memory_text, round_cpu, round_memory
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.values import known
from tests.addons.usage.week import code, standard
from tests.addons.usage.week.cluster import HOUR
from tests.addons.usage.week.comparing import Comparison
from tests.addons.usage.week.drawn import drawn
from tests.addons.usage.week.truth import jobs, percentile, truth
from tests.places import LONG

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kcheck.addons.usage.bill import Bill, By
    from kcheck.scale.usage.joining import Joined
    from kcheck.scale.usage.recording import Recording
    from tests.addons.usage.week.cluster import Week
    from tests.addons.usage.week.truth import JobTruth, PodTruth
    from tests.conftest import Write

    Recordings = Callable[[str, list[Week]], list[Path]]

SEEDS = range(8 if LONG else 2)
NEAR = 0.02
GENERATED = ("probe-", "report-")
"""Names that the API server completes for each run."""


@cache
def standard_week() -> Week:
    return standard.standard() if LONG else standard.standard(interval=120, facts=240)


@cache
def standard_truth() -> dict[tuple[str, str], PodTruth]:
    return truth(standard_week())


@cache
def standard_jobs() -> dict[tuple[str, tuple[str, str]], JobTruth]:
    return jobs(standard_truth())


@pytest.fixture(scope="module")
def path(recordings: Recordings) -> Path:
    return recordings("standard", [standard_week()])[0]


@pytest.fixture
def recorded(path: Path) -> Recording:
    return recording.read(str(path))


@pytest.fixture
def world(write: Write) -> World:
    """Return the world of the code that belongs to the standard week."""
    write(code.files())
    return World(reader.read(Tree(["."]), Config()).inventory, Config())


@pytest.fixture
def found(recorded: Recording, world: World) -> Joined:
    return joined(recorded, world)


def test_a_recording_of_the_standard_week_matches_the_truth(recorded: Recording) -> None:
    assert Comparison(standard_week(), standard_truth(), recorded).differences() == []
    assert not recorded.lacks


def test_recordings_of_random_weeks_match_the_truth(recordings: Recordings) -> None:
    """One Prometheus holds several clusters, as Thanos does; a matcher selects one."""
    several = [drawn(seed, 36 if LONG else 8) for seed in SEEDS]
    for week, path in zip(several, recordings("drawn", several), strict=True):
        recorded = recording.read(str(path))
        assert Comparison(week, truth(week), recorded).differences() == []
        assert [lack.what for lack in recorded.lacks] == ["gaps"]


def test_each_pod_finds_its_workload_in_the_code(found: Joined) -> None:
    pods = standard_truth()
    for match in found.matches:
        plan = pods[match.pod.namespace, match.pod.name].pod
        if plan.job[0] == "Workflow" or plan.namespace == "scratch":
            assert match.workload is None
        else:
            assert match.workload is not None, plan.name
            name = known(match.workload.name) or ""
            assert name == plan.job[1] or (name in GENERATED and plan.job[1].startswith(name))
            assert match.workload.kind == plan.job[0]
    assert {job for _, job, _ in found.strangers} >= {("StatefulSet", "redis"), ("Pod", "debug-shell")}
    assert {(one.kind, known(one.name)) for one in found.unseen} == set(code.NEVER)


def billed(found: Joined, world: World, by: By) -> Bill:
    return bill(found, world, by, {"experiment": ["experiment"], "owner": ["owner"], "team": ["team"]})


def test_the_bill_of_jobs_equals_the_truth(found: Joined, world: World) -> None:
    rows = {tuple(row.name.replace("/", " ").split()): row.amounts for row in billed(found, world, "job").rows}
    for (namespace, (kind, name)), job in standard_jobs().items():
        if name.startswith(GENERATED):
            continue  # runs of one generated name are one row
        amounts = rows[kind, namespace, name]
        assert amounts.gpu_hours == pytest.approx(job.gpu_hours, rel=NEAR)
        assert amounts.gpu_idle == pytest.approx(job.idle_gpu_hours, rel=NEAR, abs=0.01 * job.gpu_hours)
        asked, used = job.core_hours
        cores = sum(box.requests.get("cpu", 0) for one in job.pods for box in one.pod.containers)
        slack = cores * standard_week().interval / HOUR  # a scrape of each pod
        assert amounts.cpu_requested == pytest.approx(asked, rel=NEAR, abs=slack)
        assert amounts.cpu_used == pytest.approx(used, rel=NEAR, abs=0.01)
        if job.gpu_hours and kind != "RayCluster":
            assert amounts.paid == pytest.approx(sum(one.gpu_hours * _price(one) for one in job.pods), rel=NEAR)


def test_the_bill_equals_the_cost_of_the_nodes(found: Joined, world: World) -> None:
    week = standard_week()
    lasts = {node.name: (min(node.last, week.end) - max(node.first, week.begin)) / HOUR for node in week.nodes}
    total = billed(found, world, "team").total.amounts
    assert total.paid == pytest.approx(sum(lasts[node.name] * node.price for node in week.nodes), rel=0.005)


def _price(pod: PodTruth) -> float:
    """Return the price of a GPU-hour on the node of a pod, in dollars."""
    node = pod.pod.node
    assert node is not None
    assert node.gpus is not None
    return node.price / node.gpus.count


def test_jobs_are_ranked_by_idle_cost(found: Joined, world: World) -> None:
    names = [row.name for row in billed(found, world, "job").rows]
    true = {}
    for job in standard_jobs().values():
        if job.gpu_hours:
            true[job.job[1]] = job.idle_gpu_hours * max(_price(one) for one in job.pods if one.pod.gpus)
    ranked = sorted(true, key=lambda name: -true[name])
    assert [name for row in names for name in true if row.split("/")[-1].endswith(name)] == ranked


@pytest.mark.parametrize("by", ["team", "owner", "experiment", "namespace"])
def test_gpu_hours_are_summed_by_label(found: Joined, world: World, by: By) -> None:
    true: dict[str, float] = {}
    for one in standard_truth().values():
        spaces = standard_week().namespaces
        labels = {**spaces[one.pod.namespace], **one.pod.labels, "namespace": one.pod.namespace}
        name = labels.get(by, "(none)")
        true[name] = true.get(name, 0) + one.gpu_hours
    measured = {row.name: row.amounts.gpu_hours for row in billed(found, world, by).rows}
    assert measured == pytest.approx(true, rel=NEAR)


def test_waits_for_nodes_and_for_the_last_pod_of_a_gang_are_measured(found: Joined, world: World) -> None:
    rows = {row.name: row.amounts for row in billed(found, world, "experiment").rows}
    assert rows["finetune-8b"].queue_longest == pytest.approx(6 + 1 / 60, rel=NEAR)
    assert rows["pretrain-7b"].gang_gpu_hours == pytest.approx((10 + 5) * 8 / 60, rel=NEAR)


def check(path: Path, *rules: str) -> list[dict[str, Any]]:
    """Return the findings of some rules in the code, checked with the recording."""
    select = [word for rule in rules for word in ("--select", rule)]
    result = CliRunner().invoke(cli, ["check", ".", "--usage", str(path), "--format", "json", *select])
    assert result.exit_code in (0, 1), result.output
    findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return findings


@pytest.mark.usefixtures("world")
def test_idle_gpus_and_fragments_are_found_and_nothing_else(path: Path) -> None:
    idle = {finding["object"].split("/")[-2] for finding in check(path, "gpu-idle")}
    assert idle == {"segmenter", "notebook-ada"}
    (fragments,) = check(path, "pool-fragmented")
    assert fragments["object"].endswith("inference")
    assert fragments["details"][:2] == [
        "Pods waited for 6 h; 8 GPUs on 4 nodes were free meanwhile, on average",
        "Job finetune waited longest: a pod of it asks for 8 GPUs",
    ]


@pytest.mark.usefixtures("world")
def test_memory_limits_that_were_hit_or_nearly_hit_are_found(path: Path) -> None:
    near = {finding["object"].split("/")[-2]: finding for finding in check(path, "memory-limit-near-usage")}
    assert set(near) == {"index", "embedder"}
    assert "killed" in near["embedder"]["message"]


@pytest.mark.usefixtures("world")
def test_recommended_requests_follow_from_the_true_use(path: Path) -> None:
    """Each written number may differ from the true one only by the rounding that people use."""
    found = check(path, "requests-above-usage")
    assert len(found) > 5
    for finding in found:
        *_, box, resource = finding["object"].split("/")
        buffers = table()["tiers"]["highest" if box in ("api", "proxy", "index") else "standard"]
        pods = [one for one in standard_truth().values() if box in one.containers]
        if resource == "cpu":
            batch = pods[0].pod.job[0] not in ("Deployment", "StatefulSet", "DaemonSet")
            percent = buffers["cpu_percentile"]
            parts = [
                [one for pod in pods for one in pod.containers[box].cpu_of(starting=part)] for part in (True, False)
            ]
            samples = parts if batch else [parts[0] + parts[1]]
            used = max(percentile(one, percent) for one in samples if one) * (1 + buffers["cpu_buffer"] / 100)
            words = {cpu_text(round_cpu(used * share)) for share in (1 - NEAR, 1, 1 + NEAR)}
        else:
            used = max(max(pod.containers[box].memory) for pod in pods) * (1 + buffers["memory_buffer"] / 100)
            words = {memory_text(round_memory(used * share)) for share in (1 - NEAR, 1, 1 + NEAR)}
        assert any(finding["fix"]["title"] == f"set {resource}: {word}" for word in words), (finding["fix"], words)


@pytest.mark.usefixtures("world")
def test_requests_after_the_fix_equal_the_need(path: Path) -> None:
    rules = ("requests-above-usage", "requests-below-usage", "memory-limit-near-usage")
    select = [word for rule in rules for word in ("--select", rule)]
    assert check(path, *rules)
    result = CliRunner().invoke(cli, ["fix", ".", "--usage", str(path), "--unsafe-fixes", "--info", *select])
    assert result.exit_code in (0, 1), result.output
    assert check(path, *rules) == []
