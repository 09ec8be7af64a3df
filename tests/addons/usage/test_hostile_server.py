"""Test that any reply of a server gives a readable recording, or an error with the reason."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from kcheck.addons.usage.http import Access, Server
from kcheck.addons.usage.prometheus import Prometheus
from kcheck.addons.usage.recorder import Question, Recorder
from kcheck.scale.usage.recording import HOUR, RecordingError, as_bytes, decoded
from tests.addons.usage.fake_prometheus import FakePrometheus, Reply, Request, serving
from tests.places import LONG

if TYPE_CHECKING:
    from collections.abc import Iterator

END = 1_790_000_000 // HOUR * HOUR
TIMES = range(END - 3 * HOUR, END + 1, 300)
POD = {"namespace": "ml", "pod": "a", "container": "main"}
ODD = ["NaN", "+Inf", "-Inf", "-1", "1e308", "9" * 30, "0", "", "x", "0x10", "1_0"]
LABELS = ["", "\x00", "\u202e", "<none>", "NaN", "a" * 5000, "::error::x"]


@pytest.fixture(scope="module")
def fake() -> Iterator[FakePrometheus]:
    """Yield a server that has a few samples of every metric the recorder asks for."""
    fake = FakePrometheus()
    for name in ("container_memory_working_set_bytes", "kube_pod_container_status_restarts_total", "kube_node_info",
                 "kube_pod_info", "kube_pod_labels", "kube_pod_created", "kube_pod_completion_time", "kube_job_owner",
                 "kube_namespace_labels"):  # fmt: skip
        fake.add(name, TIMES, 5, **POD, node="n", label_a="b", job_name="a", cluster_queue="q")
    fake.add("container_cpu_usage_seconds_total", TIMES, float, **POD)
    fake.add("kube_pod_owner", TIMES, 1, **POD, owner_kind="Job", owner_name="a", owner_is_controller="true")
    fake.add("kube_pod_status_phase", TIMES, 1, **POD, phase="Pending")
    fake.add("kube_pod_container_resource_requests", TIMES, 1, **POD, resource="cpu")
    for name in ("DEV_GPU_UTIL", "PROF_GR_ENGINE_ACTIVE", "DEV_FB_USED", "DEV_FB_FREE", "DEV_POWER_USAGE"):
        fake.add(f"DCGM_FI_{name}", TIMES, 1, **POD, UUID="GPU-0", GPU_I_PROFILE="1g")
    fake.add("kueue_admission_wait_time_seconds_count", TIMES, float, cluster_queue="q")
    for bound in ("1", "+Inf"):
        fake.add("kueue_admission_wait_time_seconds_bucket", TIMES, float, cluster_queue="q", le=bound)
    with serving(fake) as server:
        yield server


def twisted(text: str, draw: random.Random) -> str:
    """Return a reply with random faults: other labels, other numbers, missing parts."""
    answer = json.loads(text)
    for series in answer["data"]["result"]:
        if draw.random() < 0.2:
            series["metric"][draw.choice([*series["metric"], "pod"])] = draw.choice(LABELS)
        if draw.random() < 0.2 and series["metric"]:
            del series["metric"][draw.choice(list(series["metric"]))]
        points = series.get("values") or [series["value"]]
        if draw.random() < 0.3:
            draw.choice(points)[draw.random() < 0.8] = draw.choice(ODD[:7])
        if draw.random() < 0.1:
            draw.shuffle(points)
        if draw.random() < 0.05:
            points.clear()
    if draw.random() < 0.1:
        answer["data"]["result"] *= 2
    changed = json.dumps(answer)
    if draw.random() < 0.02:
        changed = changed.replace('"1', f'"{draw.choice(ODD)}', 1)
    return changed[: draw.randrange(len(changed))] if draw.random() < 0.01 else changed


@pytest.mark.parametrize("seed", range(400 if LONG else 25))
def test_an_odd_answer_of_the_server_causes_no_bug(fake: FakePrometheus, seed: int) -> None:
    draw = random.Random(seed)

    def odd(request: Request) -> Reply:
        body = json.dumps({"data": {"result": fake.results(request)}})
        return Reply(200, twisted(body, draw).encode("utf-8", "surrogatepass"))

    fake.reply = odd if seed else lambda _: None
    prometheus = Prometheus(Access(fake.url), Server(Access(fake.url), lambda _: None))
    with suppress(RecordingError):
        recorder = Recorder.new(prometheus, Question(2 * HOUR, 300, END))
        recorder.run(lambda _: None, lambda: None)
        assert decoded(as_bytes(recorder.recording), "x") == recorder.recording
        assert seed or (recorder.recording.pods[0].running, len(recorder.recording.waits)) == (2 * HOUR, 1)
