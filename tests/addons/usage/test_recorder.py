"""Test recordings of a Prometheus with few series: each number is computed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.addons.usage.http import Access, HttpError
from kcheck.addons.usage.prometheus import Prometheus
from kcheck.addons.usage.recorder import Question, Recorder
from kcheck.scale.usage.recording import HOUR, NOBODY, Lack, Owner, QueueWait, as_bytes, decoded
from tests.addons.usage.fake_prometheus import FakePrometheus, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.scale.usage.recording import Pod, Recording

BEGIN = 1_790_000_000 // HOUR * HOUR
END = BEGIN + 4 * HOUR
WHOLE = range(BEGIN - 600, END + 1, 60)
GIB = 1 << 30
A = {"namespace": "ml", "pod": "a"}
MAIN = {**A, "container": "main"}
CARD = {"gpu": "0", "UUID": "GPU-0", "modelName": "NVIDIA H100"}


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with serving(FakePrometheus()) as server:
        yield server


def recorded(
    fake: FakePrometheus, *, step: int = 60, window: int = 4 * HOUR, matchers: tuple[str, ...] = ()
) -> Recording:
    """Return a complete recording of the last `window` seconds, four hours by default."""
    recorder = Recorder.new(Prometheus(Access(fake.url)), Question(window, step, END, matchers))
    recorder.run(lambda _: None, lambda: None)
    assert recorder.recording.is_whole
    return recorder.recording


def only(recording: Recording) -> Pod:
    [pod] = recording.pods
    return pod


def runs(fake: FakePrometheus, times: range = WHOLE, cores: float = 0.5, size: float = GIB, **labels: str) -> None:
    """Add a container whose use of CPU and memory is constant."""
    fake.add("container_memory_working_set_bytes", times, size, **(MAIN | labels))
    fake.add("container_cpu_usage_seconds_total", times, lambda at: (at - times.start) * cores, **(MAIN | labels))


def test_a_container_running_all_the_time_is_recorded(fake: FakePrometheus) -> None:
    runs(fake)
    pod = only(recorded(fake))
    assert (pod.namespace, pod.name, pod.running, pod.first, pod.last) == ("ml", "a", 4 * HOUR, BEGIN, END - 60)
    main = pod.containers["main"]
    assert (main.cpu, main.starting, main.memory) == ({500: 240}, {}, {1_080_000_000: 240})
    assert main.memory_peak == GIB
    assert (pod.hours.first, pod.hours.cpu, pod.hours.memory) == (0, [500] * 4, [1024] * 4)
    assert (pod.hours.seconds, pod.hours.busy) == ([HOUR] * 4, [None] * 4)


def test_a_run_inside_the_recording_has_its_own_start_and_end(fake: FakePrometheus) -> None:
    """The run lasts half an hour from 1:45, so it is in two hours.

    Its first quarter of an hour is its start-up.
    """
    begin = BEGIN + HOUR + 2700
    runs(fake, range(begin + 30, begin + 1800, 60), cores=2)
    runs(fake, pod="agent", cores=0.1)
    pod = recorded(fake).pods[0]
    main = pod.containers["main"]
    assert (pod.running, pod.first, pod.last) == (1800, begin, begin + 1740)
    assert (pod.hours.first, pod.hours.seconds) == (1, [900, 900])
    assert (sum(main.starting.values()), sum(main.cpu.values())) == (14, 15)  # the first scrape gives no rate
    assert main.starting | main.cpu == {2000: 15}


def test_a_pod_started_before_the_recording_keeps_the_rest_of_its_start_phase(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_start_time", WHOLE, BEGIN - 600, **A)
    main = only(recorded(fake)).containers["main"]
    assert (main.starting, main.cpu) == ({500: 4}, {500: 236})  # the 15 minutes end at minute 5


def test_pod_sums_and_replica_pairs_are_not_counted_twice(fake: FakePrometheus) -> None:
    for replica in ("a", "b"):
        runs(fake, prometheus_replica=replica)
    runs(fake, container="proxy", cores=0.25, size=GIB / 4)
    runs(fake, container="POD", cores=9)
    fake.add("container_memory_working_set_bytes", WHOLE, 99 * GIB, **A)  # of the whole pod
    pod = only(recorded(fake))
    assert set(pod.containers) == {"main", "proxy"}
    assert (pod.running, pod.hours.cpu, pod.hours.memory) == (4 * HOUR, [750] * 4, [1280] * 4)


def test_an_outage_does_not_count_as_running_time(fake: FakePrometheus) -> None:
    runs(fake, range(WHOLE.start, BEGIN + HOUR, 60))
    runs(fake, range(BEGIN + 2 * HOUR, END + 1, 60))
    recording = recorded(fake)
    assert recording.gaps == [(BEGIN + HOUR - 60, BEGIN + 2 * HOUR - 60)]
    assert only(recording).running == 3 * HOUR
    assert only(recording).hours.seconds == [HOUR - 60, 60, HOUR, HOUR]
    assert Lack("gaps", "nothing was scraped for 60 min in 1 gap; that time is left out") in recording.lacks


@pytest.mark.parametrize(("scraped", "step"), [(60, 60), (30, 60), (15, 60), (120, 60), (300, 60), (60, 300)])
def test_running_time_does_not_depend_on_the_scrape_interval(fake: FakePrometheus, scraped: int, step: int) -> None:
    """Running time is exact to one scrape interval or step, whichever is longer; scrapes come at second 7."""
    begin = BEGIN + 3000
    runs(fake, range(begin + 7, begin + 6000, scraped))
    runs(fake, range(WHOLE.start, END + 1, scraped), pod="agent")
    recording = recorded(fake, step=step)
    assert recording.interval == scraped
    assert abs(recording.pods[0].running - 6000) <= max(scraped, step)
    assert recording.pods[1].running == 4 * HOUR


def test_a_peak_between_two_steps_is_seen(fake: FakePrometheus) -> None:
    times = range(WHOLE.start, END + 1, 15)
    runs(fake, times, size=0)
    fake.add("container_memory_working_set_bytes", times, lambda at: 5 * GIB if at == BEGIN + 630 + 15 else GIB, **MAIN)
    main = only(recorded(fake)).containers["main"]
    assert (main.memory_peak, main.memory) == (5 * GIB, {1_080_000_000: 239, 5_400_000_000: 1})


def test_owners_and_labels_and_times_are_recorded(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_info", WHOLE, 1, **A, node="n1", priority_class="high", instance="x")
    fake.add("kube_pod_owner", WHOLE, 1, **A, owner_kind="ReplicaSet", owner_name="a-1", owner_is_controller="true")
    fake.add(
        "kube_replicaset_owner", WHOLE, 1, namespace="ml", replicaset="a-1", owner_kind="Deployment", owner_name="a"
    )
    fake.add("kube_pod_labels", WHOLE, 1, **A, label_team="vision", label_app_kubernetes_io_name="a", uid="u")
    fake.add("kube_namespace_labels", WHOLE, 1, namespace="ml", label_team="ml")
    fake.add("kube_pod_created", WHOLE, BEGIN - 90, **A)
    fake.add("kube_pod_status_scheduled_time", WHOLE, BEGIN - 80, **A)
    fake.add("kube_pod_start_time", WHOLE, BEGIN - 70, **A)
    recording = recorded(fake)
    pod = only(recording)
    assert pod.owners == [Owner("ReplicaSet", "a-1"), Owner("Deployment", "a")]
    assert (pod.node, pod.priority) == ("n1", "high")
    assert pod.labels == {"team": "vision", "app_kubernetes_io_name": "a"}
    assert recording.namespaces == {"ml": {"team": "ml"}}
    assert (pod.created, pod.scheduled, pod.started, pod.ended) == (BEGIN - 90, BEGIN - 80, BEGIN - 70, None)


def test_a_pod_without_an_owner_is_recorded_as_such(fake: FakePrometheus) -> None:
    """Otherwise the pod's name would suggest an owner."""
    runs(fake)
    fake.add("kube_pod_owner", WHOLE, 1, **A, owner_kind="<none>", owner_name="<none>", owner_is_controller="<none>")
    assert only(recorded(fake)).owners == [NOBODY]


def test_the_controlling_owner_reference_counts_as_owner(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_owner", WHOLE, 1, **A, owner_kind="Queue", owner_name="q", owner_is_controller="false")
    fake.add("kube_pod_owner", WHOLE, 1, **A, owner_kind="Job", owner_name="j", owner_is_controller="true")
    fake.add("kube_job_owner", WHOLE, 1, namespace="ml", job_name="j", owner_kind="<none>", owner_name="<none>")
    assert only(recorded(fake)).owners == [Owner("Job", "j")]


def test_requests_and_limits_are_recorded(fake: FakePrometheus) -> None:
    runs(fake)
    for resource, value in (("cpu", 2), ("memory", GIB), ("nvidia_com_gpu", 1)):
        fake.add("kube_pod_container_resource_requests", WHOLE, value, **MAIN, resource=resource)
    fake.add("kube_pod_container_resource_limits", WHOLE, 2 * GIB, **MAIN, resource="memory")
    main = only(recorded(fake)).containers["main"]
    assert main.requests == {"cpu": 2000, "memory": GIB, "nvidia_com_gpu": 1}
    assert main.limits == {"memory": 2 * GIB}


def test_restarts_and_kills_are_counted(fake: FakePrometheus) -> None:
    """Three of five restarts come before the recording; the last two are OOM kills."""
    runs(fake)
    fake.add("kube_pod_container_resource_limits", WHOLE, GIB, **MAIN, resource="memory")
    fake.add(
        "kube_pod_container_status_restarts_total", WHOLE, lambda at: 3 + (at > BEGIN + 600) + (at > END - HOUR), **MAIN
    )
    late = range(BEGIN + 600, END + 1, 60)
    fake.add("kube_pod_container_status_last_terminated_reason", late, 1, **MAIN, reason="OOMKilled")
    main = only(recorded(fake)).containers["main"]
    assert (main.restarts, main.kills, main.killed) == (2, 2, GIB)


def test_a_kill_before_the_recording_is_not_counted(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_container_status_restarts_total", WHOLE, 3, **MAIN)
    fake.add("kube_pod_container_status_last_terminated_reason", WHOLE, 1, **MAIN, reason="OOMKilled")
    main = only(recorded(fake)).containers["main"]
    assert (main.restarts, main.kills, main.killed) == (0, 0, 0)


def test_a_kill_before_the_first_scrape_is_not_counted(fake: FakePrometheus) -> None:
    """Data begins inside of the window, and kube-state-metrics is scraped some seconds after the kubelet."""
    runs(fake, range(BEGIN + 60, END + 1, 60))
    late = range(BEGIN + 97, END + 1, 60)
    fake.add("kube_pod_container_status_restarts_total", late, lambda at: 3 + (at > END - HOUR), **MAIN)
    fake.add("kube_pod_container_status_last_terminated_reason", late, 1, **MAIN, reason="OOMKilled")
    main = only(recorded(fake)).containers["main"]
    assert (main.restarts, main.kills) == (1, 1)


@pytest.mark.parametrize("interval", [180, 240])
def test_a_waiting_pod_is_seen_even_by_rare_scrapes(fake: FakePrometheus, interval: int) -> None:
    """Ten minutes hold three samples if scrapes are four minutes apart; that does not mean one every 200 seconds."""
    runs(fake)
    scrapes = range(BEGIN - 3631, END + 1, interval)
    fake.add("kube_pod_status_phase", scrapes, lambda at: BEGIN - 60 < at < BEGIN + 7140, **A, phase="Pending")
    assert only(recorded(fake)).waiting == pytest.approx(7200, abs=interval)


def test_the_waiting_time_of_a_pod_is_recorded(fake: FakePrometheus) -> None:
    runs(fake, pod="other")
    fake.add("kube_pod_status_phase", range(BEGIN + 30, BEGIN + 1800, 60), 1, **A, phase="Pending")
    fake.add("kube_pod_status_phase", WHOLE, 0, **{**A, "pod": "other"}, phase="Pending")
    fake.add("kube_pod_status_phase", WHOLE, 1, **{**A, "pod": "other"}, phase="Running")
    waits, other = recorded(fake).pods
    assert (waits.name, waits.waiting, waits.pending, waits.running) == ("a", 1800, BEGIN + 1740, 0)
    assert other.waiting == 0


def test_pods_that_had_ended_before_are_left_out(fake: FakePrometheus) -> None:
    runs(fake)
    for name, created in (("old", BEGIN - 9000), ("new", BEGIN + 9000)):
        fake.add("kube_pod_created", WHOLE, created, namespace="ml", pod=name)
    assert [pod.name for pod in recorded(fake).pods] == ["a", "new"]


def test_a_pod_that_is_created_again_has_not_ended(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_completion_time", WHOLE, BEGIN + 600, **A)
    fake.add("kube_pod_created", WHOLE, BEGIN - 600, **A, uid="1")
    fake.add("kube_pod_created", WHOLE, BEGIN + 900, **A, uid="2")
    pod = only(recorded(fake))
    assert (pod.ended, pod.created) == (None, BEGIN - 600)


OWN: tuple[dict[str, str], ...] = (
    {},
    {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x", "container": "exporter"},
)


@pytest.mark.parametrize("own", OWN, ids=("honored", "exported"))
def test_gpu_metrics_are_read_under_honored_and_renamed_labels(fake: FakePrometheus, own: dict[str, str]) -> None:
    """With honorLabels, a GPU's labels are those of its pod; without, those are renamed. An idle GPU has no pod."""
    runs(fake)
    labels = CARD | (MAIN if not own else own | {f"exported_{name}": value for name, value in MAIN.items()})
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, lambda at: 100 if at % 120 else 50, **labels)
    fake.add("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", WHOLE, 0.25, **labels)
    fake.add("DCGM_FI_DEV_FB_USED", WHOLE, lambda at: 70_000 if at == BEGIN + 600 else 20_000, **labels)
    fake.add("DCGM_FI_DEV_FB_FREE", WHOLE, lambda at: 10_000 if at == BEGIN + 600 else 60_000, **labels)
    fake.add("DCGM_FI_DEV_POWER_USAGE", WHOLE, 350.5, **labels)
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, 0, **CARD | {"UUID": "GPU-1"} | own)
    recording = recorded(fake)
    pod = only(recording)
    [card] = pod.containers["main"].gpus
    assert (card.id, card.model, card.profile) == ("GPU-0", "NVIDIA H100", "")
    assert (card.busy, card.tensor) == ({50: 120, 100: 120}, {25: 240})
    assert (card.memory, card.memory_total) == (70_000, 80_000)
    assert (card.power, card.power_samples) == (350.5 * 240, 240)
    assert pod.hours.busy == [75] * 4
    assert not any(lack.what in ("gpu", "tensor") for lack in recording.lacks)


def test_gpu_slices_are_busy_by_their_engine_metric(fake: FakePrometheus) -> None:
    runs(fake)
    for number, active in (("7", 0.5), ("8", 1)):
        part = CARD | MAIN | {"GPU_I_ID": number, "GPU_I_PROFILE": "1g.10gb"}
        fake.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", WHOLE, active, **part)
    fake.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", WHOLE, 0.9, **CARD | MAIN | {"UUID": "GPU-1"})
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, 90, **CARD | MAIN | {"UUID": "GPU-1", "pod": "b"})
    recording = recorded(fake)
    cards = {card.id: (card.profile, card.busy) for card in recording.pods[0].containers["main"].gpus}
    assert cards == {"GPU-0/7": ("1g.10gb", {50: 240}), "GPU-0/8": ("1g.10gb", {100: 240})}
    assert recording.pods[0].hours.busy == [150] * 4


def test_gpu_metrics_alone_show_that_a_pod_runs(fake: FakePrometheus) -> None:
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, 80, **CARD, **MAIN)
    recording = recorded(fake)
    assert (only(recording).running, only(recording).hours.busy) == (4 * HOUR, [80] * 4)
    assert {"cpu", "memory", "owners", "requests", "tensor"} <= {lack.what for lack in recording.lacks}


def test_gpus_of_other_vendors_are_recorded(fake: FakePrometheus) -> None:
    runs(fake)
    labels = {"gpu_id": "0", "serial_number": "S1", "card_model": "MI300X", **MAIN}
    fake.add("gpu_gfx_activity", WHOLE, 40, **labels)
    fake.add("gpu_used_vram", WHOLE, 100, **labels)
    fake.add("gpu_free_vram", WHOLE, 900, **labels)
    [card] = only(recorded(fake)).containers["main"].gpus
    assert (card.id, card.model, card.busy, card.memory_total) == ("S1", "MI300X", {40: 240}, 1000)


def test_placeholder_numbers_of_dcgm_are_ignored(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, 80, **CARD, **MAIN)
    fake.add("DCGM_FI_DEV_FB_USED", WHOLE, 9223372036854775794, **CARD, **MAIN)
    fake.add("DCGM_FI_DEV_POWER_USAGE", WHOLE, 2147483632, **CARD, **MAIN)
    [card] = only(recorded(fake)).containers["main"].gpus
    assert (card.memory, card.memory_total, card.power) == (0, 0, 0)


def test_nodes_are_recorded(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_node_info", range(BEGIN + 1800, END - HOUR, 60), 1, node="n1", provider_id="aws:///a/i-1")
    fake.add("kube_node_labels", WHOLE, 1, node="n1", label_topology_kubernetes_io_zone="a")
    fake.add("kube_node_status_allocatable", WHOLE, 8, node="n1", resource="cpu")
    fake.add("kube_node_status_allocatable", WHOLE, 8, node="n1", resource="nvidia_com_gpu")
    [node] = recorded(fake).nodes
    assert (node.name, node.provider, node.labels) == ("n1", "aws:///a/i-1", {"topology_kubernetes_io_zone": "a"})
    assert node.allocatable == {"cpu": 8000, "nvidia_com_gpu": 8}
    assert (node.seconds, node.first, node.last) == (3 * HOUR - 1800, BEGIN + 1740, END - HOUR - 120)


def test_waiting_times_of_queues_are_recorded(fake: FakePrometheus) -> None:
    """Nine of ten workloads wait up to 5 s, one up to 10 s: the 95th percentile is halfway between."""
    runs(fake)
    name, queue = "kueue_admission_wait_time_seconds", {"cluster_queue": "gpu"}
    fake.add(f"{name}_count", WHOLE, lambda at: 10 * (at > BEGIN + 900), **queue)
    fake.add(f"{name}_sum", WHOLE, lambda at: 30 * (at > BEGIN + 900), **queue)
    fake.add(f"{name}_bucket", WHOLE, lambda at: 9 * (at > BEGIN + 900), **queue, le="5")
    fake.add(f"{name}_bucket", WHOLE, lambda at: 10 * (at > BEGIN + 900), **queue, le="10")
    fake.add(f"{name}_bucket", WHOLE, lambda at: 10 * (at > BEGIN + 900), **queue, le="+Inf")
    assert recorded(fake).waits == [QueueWait("Kueue", "gpu", "admission", 10, 3, 7.5)]


def test_a_recording_shorter_than_requested_says_so(fake: FakePrometheus) -> None:
    runs(fake, range(BEGIN + HOUR + 30, END + 1, 60))
    recording = recorded(fake)
    assert (recording.begin, recording.asked) == (BEGIN + HOUR, 4 * HOUR)
    assert only(recording).hours.seconds == [HOUR] * 3
    assert [lack.why for lack in recording.lacks if lack.what == "window"] == [
        "the Prometheus has 0.12 of 0.17 days; raise its retention"
    ]


def test_missing_metrics_are_reported_with_a_remedy(fake: FakePrometheus) -> None:
    runs(fake)
    fake.add("kube_pod_info", WHOLE, 1, **A)
    fake.warnings = ["a store is down"]
    lacks = {lack.what: lack.why for lack in recorded(fake).lacks}
    assert lacks["owners"] == "no kube_pod_owner; install kube-state-metrics and scrape it"
    assert lacks["labels"] == "no kube_pod_labels; run kube-state-metrics with --metric-labels-allowlist=pods=[*]"
    assert lacks["gpu"] == "no DCGM_FI_DEV_GPU_UTIL; install dcgm-exporter (NVIDIA's GPU operator has it) and scrape it"
    assert lacks["answers"] == "a store is down"


def test_gpu_nodes_without_an_exporter_are_reported(fake: FakePrometheus) -> None:
    for name in ("a", "b"):
        runs(fake, pod=name)
        fake.add("kube_pod_info", WHOLE, 1, namespace="ml", pod=name, node=f"node-{name}")
        fake.add("kube_pod_container_resource_requests", WHOLE, 1, **MAIN | {"pod": name}, resource="nvidia_com_gpu")
    fake.add("DCGM_FI_DEV_GPU_UTIL", WHOLE, 80, **CARD, **MAIN)
    lacks = [lack.why for lack in recorded(fake).lacks if lack.what == "gpu"]
    assert lacks == ["no GPU metrics from 1 of 2 nodes with GPUs (node-b); install the exporter there"]


def test_label_matchers_are_in_every_query(fake: FakePrometheus) -> None:
    runs(fake, cluster="prod")
    runs(fake, cluster="test", pod="b")
    recording = recorded(fake, matchers=('cluster="prod"',))
    assert only(recording).name == "a"
    assert recording.matchers == ['cluster="prod"']
    assert all('cluster="prod"' in one.form["query"] for one in fake.asked)
    with pytest.raises(HttpError, match='no metrics of containers or GPUs in this time with cluster="dev"'):
        recorded(fake, matchers=('cluster="dev"',))


def test_a_recording_without_metrics_is_an_error(fake: FakePrometheus) -> None:
    with pytest.raises(HttpError, match="no metrics of containers or GPUs in this time; scrape /metrics/cadvisor"):
        recorded(fake)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1, 1e300])
def test_values_that_are_not_numbers_are_ignored(fake: FakePrometheus, odd: float) -> None:
    fake.add("container_memory_working_set_bytes", WHOLE, lambda at: odd if at % 120 else GIB, **MAIN)
    fake.add("container_memory_working_set_bytes", WHOLE, odd, **MAIN | {"container": "odd"})
    for name in ("kube_pod_created", "kube_node_info", "kube_pod_container_status_restarts_total"):
        fake.add(name, WHOLE, odd, **MAIN, node="n")
    fake.add("kube_pod_container_resource_requests", WHOLE, odd, **MAIN, resource="cpu")
    recording = recorded(fake)
    pod = only(recording)
    assert (pod.running, set(pod.containers), pod.created) == (2 * HOUR, {"main"}, None)
    assert decoded(as_bytes(recording), "a") == recording
