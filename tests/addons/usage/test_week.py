"""Test generated weeks: their truth is consistent and equals what a Prometheus returns."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import urllib.parse
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import known
from tests.addons.usage import server
from tests.addons.usage.week import code, standard
from tests.addons.usage.week.cluster import HOUR
from tests.addons.usage.week.drawn import drawn
from tests.addons.usage.week.truth import jobs, mean, percentile, truth
from tests.places import LONG, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.addons.usage.week.cluster import Week
    from tests.conftest import Read

SEEDS = range(40 if LONG else 4)


@pytest.fixture(scope="module")
def week() -> Week:
    return standard.standard(days=1)


def test_standard_week_has_its_specified_totals() -> None:
    week = standard.standard()
    pods = truth(week)
    assert len(pods) == len(week.pods) > 200
    found = jobs(pods)
    api = next(pod for pod in pods.values() if pod.pod.job == ("Deployment", "api"))
    assert standard.API.requests["cpu"] == pytest.approx(8 * mean(api.containers["api"].cpu) / 1000, rel=0.05)
    pretrain = found["language", ("PyTorchJob", "pretrain")]
    assert pretrain.utilisation == pytest.approx(92, abs=0.5)
    first = pretrain.pods[0].containers["pytorch"]
    assert (percentile(first.cpu_of(starting=True), 50), round(percentile(first.cpu_of(starting=False), 50), -3)) == (
        60_000,
        12_000,
    )
    segmenter = found["vision", ("Job", "segmenter")]
    assert segmenter.gpu_hours == pytest.approx(400, abs=1)
    assert segmenter.idle_gpu_hours == pytest.approx(0.97 * 400, rel=0.01)
    finetune = found["language", ("Job", "finetune")].pods[0]
    assert finetune.waiting == 6 * HOUR + 180
    assert [len(found["language", job].pods) for job in (("CronJob", "evaluate"), ("Job", "tokenize"))] == [168, 24]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_week_is_repeatable(seed: int) -> None:
    first, second = truth(drawn(seed)), truth(drawn(seed))
    assert len(first) > 100
    assert {key: (one.running, one.waiting, one.gpu_hours) for key, one in first.items()} == {
        key: (one.running, one.waiting, one.gpu_hours) for key, one in second.items()
    }


def test_the_example_is_the_code_of_the_standard_week() -> None:
    """`scripts/prometheus --week --code examples/usage` writes the example; its recording is of the standard week."""
    for name, text in code.files().items():
        assert (ROOT / "examples/usage" / name).read_text() == text


def test_the_code_has_the_workloads_of_the_standard_week(read: Read) -> None:
    found = read(code.files())
    assert {known(pool.name) for pool in found.pools} == {node.pool for node in standard.standard().nodes}
    kinds = {(one.kind, known(one.name)) for one in found.workloads}
    seen = {pod.job for pod in standard.standard().pods if pod.namespace != "scratch"}
    assert {job for job in seen if not job[1].startswith(("report-", "probe-"))} <= kinds
    assert set(code.NEVER) <= kinds - seen


@pytest.fixture(scope="module")
def url(programs: server.Programs, blocks: Callable[[str, list[Week]], Path], week: Week) -> Iterator[str]:
    with server.running(programs, blocks("one-day", [week])) as address:
        yield address


def answers(url: str, query: str, at: int) -> list[tuple[dict[str, str], float]]:
    """Return the series of an instant query, each with its value."""
    with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)) as connection:
        connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": query, "time": at}))
        found = json.loads(connection.getresponse().read())
    return [(one["metric"], float(one["value"][1])) for one in found["data"]["result"]]


def test_a_real_prometheus_returns_the_truth(url: str, week: Week) -> None:
    pods = truth(week)
    seen = {
        (labels["namespace"], labels["pod"])
        for labels, _ in answers(url, "count by (namespace, pod) (count_over_time(kube_pod_info[1d]))", week.end)
    }
    assert seen == set(pods)
    query = 'max by (pod) (max_over_time(container_memory_working_set_bytes{container="index"}[1d]))'
    for labels, value in answers(url, query, week.end):
        assert value == pytest.approx(max(pods["search", labels["pod"]].containers["index"].memory), rel=0.001)
    query = 'max by (pod) (rate(container_cpu_usage_seconds_total{container="api"}[23h]))'
    cores = {labels["pod"]: value for labels, value in answers(url, query, week.end)}
    assert len(cores) == 4
    for name, value in cores.items():
        assert value == pytest.approx(mean(pods["search", name].containers["api"].cpu) / 1000, rel=0.01)
    busy = answers(url, 'avg_over_time(DCGM_FI_DEV_GPU_UTIL{exported_pod="notebook-ada-0"}[1d])', week.end)
    assert [(labels["pod"], value) for labels, value in busy] == [("nvidia-dcgm-exporter-rch-0", 1)]


def test_the_script_names_missing_programs(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "prometheus", "--week"],
        check=False, capture_output=True, text=True, env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.startswith("prometheus and promtool must be in PATH")


@pytest.mark.usefixtures("programs")
def test_the_script_serves_samples_until_it_is_stopped(tmp_path: Path) -> None:
    samples = tmp_path / "samples.txt"
    samples.write_text(f'up{{job="a"}} 1 {standard.END}\n# EOF\n')
    command = [sys.executable, str(ROOT / "scripts" / "prometheus"), str(samples)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            assert [(labels["job"], value) for labels, value in answers(url, "up", standard.END)] == [("a", 1)]
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
    with pytest.raises(ConnectionError):
        answers(url, "up", standard.END)


def test_an_invalid_metrics_file_gives_no_blocks(programs: server.Programs, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("no samples {{{\n# EOF\n")
    with pytest.raises(server.NotStartedError, match=r"bad\.txt"):
        server.make_blocks(programs, [tmp_path / "bad.txt"], tmp_path / "blocks")
