"""Test `kcheck simulate --record`: delays from events, metrics and node tables; invalid recordings."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kcheck.addons.calibration import measures, read
from kcheck.addons.calibration.model import CalibrationError
from kcheck.commands.cli import cli
from kcheck.config import schemas
from kcheck.scale.simulate import parameters
from kcheck.scale.simulate.model import Case, Cloud, Job, Pool, Settings
from kcheck.scale.simulate.parameters import FIELDS
from kcheck.text.text import Source
from kcheck.text.units import exact_seconds
from tests.addons.calibration.recordings import as_answer, as_events, as_table, simulated
from tests.places import ROOT

if TYPE_CHECKING:
    from kcheck.scale.simulate.run import _Simulation
    from tests.conftest import Write

RUNS = ROOT / "tests" / "cases" / "runs"
NAMES = ("1.36-defaults-200", "1.36-unneeded1m-batch10-200", "1.36-unneeded1m-batch100-200")
FLAGS = {
    "1.36-defaults-200": (),
    "1.36-unneeded1m-batch10-200": ("--scale-down-unneeded-time=1m", "--scale-down-delay-after-add=1m"),
    "1.36-unneeded1m-batch100-200": (
        "--scale-down-unneeded-time=1m", "--scale-down-delay-after-add=1m", "--max-scale-down-parallelism=100",
    ),
}  # fmt: skip
TREE = """
resource "aws_eks_cluster" "train" {
  name     = "train"
  version  = "1.36"
  role_arn = "arn:aws:iam::123456789012:role/eks"
  vpc_config {
    subnet_ids = ["subnet-1"]
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.train.name
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["p4d.24xlarge"]
  scaling_config {
    min_size     = 0
    max_size     = 200
    desired_size = 0
  }
}
"""
AUTOSCALER = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster-autoscaler, namespace: kube-system}
spec:
  selector: {matchLabels: {app: cluster-autoscaler}}
  template:
    metadata: {labels: {app: cluster-autoscaler}}
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1
          command: [./cluster-autoscaler, --cloud-provider=aws, FLAGS]
"""
WORK = """
apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  completions: 200
  parallelism: 200
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: work
          image: registry.example.com/work:1
          resources: {limits: {nvidia.com/gpu: 8}}
"""


def recorded(text: str, loops: str | None = None) -> dict[str, float]:
    """Return the delays measured from a recording, as its `simulation` section would set them."""
    recording = read.read_text(text, loops)
    found = yaml.safe_load(measures.as_section([recording], measures.measures(recording)))["simulation"]
    return {name: float(exact_seconds(value)) if isinstance(value, str) else value for name, value in found.items()}


def record(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["simulate", "--record", *arguments], input=stdin)
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


@cache
def cloud() -> Cloud:
    """Return a cloud whose delays all differ from those of the profiles."""
    eks = parameters.cloud_parameters("eks", parameters.loop_times(36)[1])
    return replace(
        eks, boot=95, boot_sigma=0.05, stragglers=0, lost=0, launch_rate=4, pod_rate=1.5, pull=22, delete_call=1.2,
        delete_latency=70, loop=0.4, loop_per_node=0.006, loop_sigma=0,
    )  # fmt: skip


@cache
def course() -> _Simulation:
    settings = Settings(minor=36, unneeded_time=60, delay_after_add=60, bulk_delete=40)
    return simulated(Case((Pool("gpu", 400),), Job(400, 300, gpu=True), settings, cloud(), seed=4))


def of_cloud(*names: str, within: float = 0.05) -> dict[str, object]:
    """Return the delays that a recording of this cloud should give, each within 5 % or `within`."""
    return {name: pytest.approx(getattr(cloud(), FIELDS[name]), rel=within) for name in names}


# --- recorded runs


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_give_back_the_delays_of_their_simulated_cloud(name: str) -> None:
    loops = (RUNS / f"{name}.loops.csv").read_text()
    found = recorded((RUNS / f"{name}.csv").read_text(), loops)
    assert found["boot"] == pytest.approx(60, rel=0.02)
    assert found["launch_rate"] == pytest.approx(5, rel=0.02)
    assert found["delete_call"] == pytest.approx(0.5, rel=0.02)
    assert found["delete_latency"] == pytest.approx(60, rel=0.02)
    assert found["stragglers"] == found["never_ready"] == found["slow_deletes"] == 0
    assert found["loop"] < 0.1, "an empty cluster takes no time"
    assert 0.6 < found["loop"] + 200 * found["loop_per_node"] < 1.3, "busy loops; those of empty nodes take longer"


@pytest.mark.parametrize("name", NAMES)
def test_simulating_the_recorded_delays_repeats_the_recorded_run(name: str, write: Write) -> None:
    rows = [line.split(",") for line in (RUNS / f"{name}.csv").read_text().splitlines() if line[0].isdigit()]
    total = max(float(row[8]) for row in rows)
    hours = sum(float(row[8]) - float(row[0]) for row in rows) / 3600
    code, text, _ = record(str(RUNS / f"{name}.csv"))
    assert code == 0
    flags = ", ".join(f'"{flag}"' for flag in FLAGS[name])
    autoscaler = AUTOSCALER.replace("FLAGS", flags).replace(", ]", "]")
    write({"main.tf": TREE, "job.yaml": WORK, "autoscaler.yaml": autoscaler, "kcheck.yaml": text})
    result = CliRunner().invoke(cli, ["simulate", "--duration", "60s", "--format", "json"])
    (run,) = json.loads(result.stdout)["runs"]
    assert (run["nodes"], run["finished"]) == (200, True)
    assert run["total"] == pytest.approx(total, rel=0.15)
    assert run["node_hours"] == pytest.approx(hours, rel=0.15)


def test_idle_and_busy_loops_are_measured_separately() -> None:
    table = "launched,registered,ready,pod_bound,pod_running,pod_succeeded,delete_asked,delete_answered,gone\n"
    table += "".join(f"{i},30,60,60,61,200,{330 + i},{331 + i},400\n" for i in range(20))
    starts = [-20, -9.9, 0.2, 1, 2, *(80 + 11 * i for i in range(10)), *(200 + 13 * i for i in range(10)), 332, 360]
    after = [410 + 10.1 * i for i in range(6)]
    loops = "start\n" + "\n".join(map(str, [*starts, *after]))
    found = recorded(table, loops)
    assert found["loop"] == pytest.approx(0.1)
    assert found["loop"] + 20 * found["loop_per_node"] == pytest.approx(1), "not the 3 s of loops with empty nodes"
    quick = "# cluster-autoscaler --scan-interval=5s\n" + table
    assert recorded(quick, loops)["loop"] == pytest.approx(5.1)


def test_a_cluster_of_one_size_gives_one_loop_time() -> None:
    table = "launched,registered,ready\n" + "".join(f"{i},30,60\n" for i in range(20))
    loops = "start\n" + "\n".join(str(70 + 11.5 * i) for i in range(9))
    found = recorded(table, loops)
    recording = read.read_text(table, loops)
    assert "marked empty nodes" not in measures.as_section([recording], measures.measures(recording)), (
        "no pods are known"
    )
    assert found["loop"] == pytest.approx(1.5)
    assert "loop_per_node" not in found


# --- simulated runs come back


@pytest.mark.medium
@pytest.mark.parametrize("new_api", [False, True])
def test_the_events_of_a_run_give_its_delays(new_api: bool) -> None:
    found = recorded(as_events(course(), new_api=new_api))
    names = ("boot", "launch_rate", "pod_start_rate", "image_pull", "delete_call", "delete_latency")
    assert {name: found[name] for name in names} == of_cloud(*names)
    assert found["stragglers"] == found["slow_deletes"] == 0
    assert not {"loop", "boot_spread", "never_ready"} & set(found), "no event says"


def test_the_table_of_a_run_gives_its_delays() -> None:
    found = recorded(as_table(course()))
    names = ("boot", "launch_rate", "pod_start_rate", "image_pull", "delete_call", "delete_latency")
    assert {name: found[name] for name in names} == of_cloud(*names)
    assert found["boot_spread"] == pytest.approx(2 * 95 * 0.05 * 1.2816, rel=0.1)


@pytest.mark.slow
def test_the_metrics_of_a_run_give_its_delays() -> None:
    found = recorded(as_answer(course(), step=5))
    loops, others = ("loop", "loop_per_node"), ("boot", "delete_latency", "launch_rate")
    assert {name: found[name] for name in loops} == of_cloud(*loops)
    assert {name: found[name] for name in others} == of_cloud(*others, within=0.1), "samples are 5 s apart"
    assert "delete_call" not in found


@pytest.mark.medium
def test_widely_spaced_samples_give_no_boot_time() -> None:
    text = as_answer(course(), step=60)
    recording = read.read_text(text)
    printed = measures.as_section([recording], measures.measures(recording))
    assert "boot" not in recorded(text)
    assert "# boot not found: about " in printed
    assert "but times are only exact to 60 s" in printed


@pytest.mark.slow
def test_a_stream_of_events_is_one_recording() -> None:
    """`kubectl get events --watch` prints documents; with --output-watch-events, each is inside of another."""
    items = json.loads(as_events(course()))["items"]
    whole = recorded(as_events(course()))
    assert recorded("\n".join(json.dumps(item, indent=1) for item in items)) == whole
    watched = "\n".join(json.dumps({"type": "ADDED", "object": item}) for item in [*items, *items[::7]])
    assert recorded(watched) == whole


# --- single measures


def event(second: int, reason: str, name: str, message: str = "", kind: str = "Node") -> dict[str, object]:
    return {
        "kind": "Event", "reason": reason, "message": message, "firstTimestamp": f"2026-11-22T10:{second // 60:02}:{second % 60:02}Z",
        "involvedObject": {"kind": kind, "name": name},
    }  # fmt: skip


def listed(*items: dict[str, object]) -> str:
    return json.dumps({"kind": "List", "items": items})


def test_a_scale_up_reported_by_many_pods_counts_once() -> None:
    grown = "pod triggered scale-up: [{eks-gpu-9ac 0->2 (max: 8)}]"
    items = [event(10, "TriggeredScaleUp", f"p{i}", grown, "Pod") for i in range(2)]
    items.append(
        event(
            10,
            "ScaledUpGroup",
            "cluster-autoscaler-status",
            "Scale-up: setting group eks-gpu-9ac size to 2 instead of 0 (max: 8)",
            "ConfigMap",
        )
    )
    items.append(event(900, "TriggeredScaleUp", "p9", grown, "Pod"))
    items += [event(50, "RegisteredNode", f"n{i}") for i in range(2)] + [
        event(60, "NodeReady", f"n{i}") for i in range(2)
    ]
    recording = read.read_text(listed(*items))
    assert len(recording.requests) == 4, "two of each time"
    assert recorded(listed(*items))["boot"] == pytest.approx(50)


@pytest.mark.slow
def test_each_delay_comes_from_the_first_file_that_has_it(write: Write) -> None:
    write({"events.json": as_events(course()), "metrics.json": as_answer(course(), step=15), "snapshot.txt": HISTOGRAM})
    code, out, _ = record("events.json", "--record", "metrics.json", "--record", "snapshot.txt")
    assert code == 0
    found = yaml.safe_load(out)["simulation"]
    alone = yaml.safe_load(record("events.json")[1])["simulation"]
    assert {name: found[name] for name in alone} == alone
    assert exact_seconds(found["loop_per_node"]) == pytest.approx(0.006, rel=0.05)
    assert "events of 400 nodes and " in out
    assert "loop not found" not in out
    found = yaml.safe_load(record("snapshot.txt", "--record", "metrics.json")[1])["simulation"]
    assert found["loop"] == "750ms"
    assert "loop_per_node" not in found, "of another loop"


def test_nodes_registered_again_after_a_controller_restart_are_not_new() -> None:
    items = [event(10, "TriggeredScaleUp", "p", "pod triggered scale-up: [{gpu 3->4 (max: 8)}]", "Pod")]
    items += [event(20, "RegisteredNode", f"old{i}") for i in range(30)]
    items += [event(60, "RegisteredNode", "new"), event(100, "NodeReady", "new")]
    found = recorded(listed(*items))
    assert found["boot"] == pytest.approx(90)
    assert "launch_rate" not in found


def test_machines_that_never_joined_do_not_make_later_machines_slow() -> None:
    items = []
    for begin, new in ((0, 30), (3400, 33)):
        items.append(
            event(
                begin, "TriggeredScaleUp", "p", f"pod triggered scale-up: [{{gpu {new - 30}->{new} (max: 99)}}]", "Pod"
            )
        )
        for i in range(30 if begin else 27):
            items += [
                event(begin + 40 + i, "RegisteredNode", f"n{begin}-{i}"),
                event(begin + 60 + i, "NodeReady", f"n{begin}-{i}"),
            ]
    found = recorded(listed(*items))
    assert found["boot"] == pytest.approx(60, abs=2)
    assert "stragglers" not in found, "none of 57"


def test_the_rate_of_several_pools_is_not_mistaken_for_the_rate_of_one_pool() -> None:
    grown = "pod triggered scale-up: [{a 0->20 (max: 20)} {b 0->20 (max: 20)}]"
    items = [event(0, "TriggeredScaleUp", "p", grown, "Pod")]
    items += [event(60 + i // 2, "RegisteredNode", f"n{i}") for i in range(40)]
    items += [event(90 + i // 2, "NodeReady", f"n{i}") for i in range(40)]
    recording = read.read_text(listed(*items))
    (rate,) = (one for one in measures.measures(recording) if one.name == "launch_rate")
    assert rate.value is None
    assert "of 2 pools" in rate.note


def test_calls_answered_at_the_same_time_count_as_one_call() -> None:
    rows = "".join(f",,,{100 * (i // 10)},{100 * (i // 10) + 16},{100 * (i // 10) + 60}\n" for i in range(40))
    found = recorded("launched,registered,ready,delete_asked,delete_answered,gone\n" + rows)
    assert found["delete_call"] == pytest.approx(16)
    assert found["delete_latency"] == pytest.approx(44)


def test_slow_and_missing_nodes_are_given_as_shares() -> None:
    rows = [f"{i},{i + 100},,,{i + 50}" for i in range(90)] + [f"{i},{i + 340},,,{i + 800}" for i in range(10)]
    rows += [f"{i},,,," for i in range(100)]
    found = recorded("launched,ready,delete_asked,delete_answered,gone\n" + "\n".join(rows))
    assert (found["boot"], found["stragglers"], found["straggler_delay"]) == (100, 0.1, 240)
    assert found["never_ready"] == 0.5
    rows = [f"0,{i},{i + 50}" for i in range(90)] + [f"0,{i},{i + 800}" for i in range(10)]
    found = recorded("launched,delete_answered,gone\n" + "\n".join(rows))
    assert (found["delete_latency"], found["slow_deletes"], found["slow_delete_latency"]) == (50, 0.1, 800)


def test_a_few_nodes_do_not_prove_that_no_node_is_slow() -> None:
    found = recorded("launched,ready,delete_answered,gone\n" + "0,60,100,160\n" * 99)
    assert {name for name, value in found.items() if value == 0} == {"boot_spread"}
    found = recorded("launched,ready,delete_answered,gone\n" + "0,60,100,160\n" * 100)
    assert found["stragglers"] == found["never_ready"] == found["slow_deletes"] == 0


def test_pods_that_waited_for_no_node_are_not_counted() -> None:
    items = []
    for i in range(20):
        items.append(event(i, "FailedScheduling", f"p{i}", "0/3 nodes are available", "Pod"))
        items.append(event(100 + i, "Scheduled", f"p{i}", "", "Pod"))
        text = 'Successfully pulled image "r.example.com/a:1" in 8.25s (12.5s including waiting). Image size: 9 bytes.'
        items.append(event(113 + i, "Pulled", f"p{i}", text, "Pod"))
        items.append(event(113 + 2 * i, "Started", f"p{i}", "", "Pod"))
        items.append(event(20, "Pulled", f"daemon{i}", text.replace("12.5", "99"), "Pod"))
    found = recorded(listed(*items))
    assert found["image_pull"] == 12.5
    assert found["pod_start_rate"] == pytest.approx(0.5)


HISTOGRAM = """# HELP cluster_autoscaler_function_duration_seconds [ALPHA] Time taken by various parts of CA main loop.
# TYPE cluster_autoscaler_function_duration_seconds histogram
cluster_autoscaler_function_duration_seconds_bucket{function="main",le="0.5"} 20
cluster_autoscaler_function_duration_seconds_bucket{function="main",le="1"} 80
cluster_autoscaler_function_duration_seconds_bucket{function="main",le="+Inf"} 100
cluster_autoscaler_function_duration_seconds_sum{function="main"} 500
cluster_autoscaler_function_duration_seconds_count{function="main"} 100
cluster_autoscaler_function_duration_seconds_sum{function="scaleUp"} 9e9
cluster_autoscaler_nodes_count{state="ready"} 40
cluster_autoscaler_scaled_up_nodes_total NaN
"""


def test_a_snapshot_of_metrics_gives_the_median_loop() -> None:
    assert recorded(HISTOGRAM) == {"loop": 0.75}
    assert recorded("\n".join(line for line in HISTOGRAM.splitlines() if "bucket" not in line)) == {"loop": 5}
    recording = read.read_text(HISTOGRAM)
    assert "does not say which of them had nothing to do" in measures.as_section(
        [recording], measures.measures(recording)
    )


# --- what is printed, and what is refused


def test_the_printed_section_names_the_source_of_each_delay(write: Write) -> None:
    write({"run.csv": (RUNS / f"{NAMES[0]}.csv").read_text()})
    code, out, err = record("run.csv")
    assert (code, err) == (0, "")
    assert (
        "  # launch to Ready: median of 200 nodes; 60.1 s to 60.7 s from the 10th to the 90th percentile\n  boot: 60.2s\n"
        in out
    )
    assert "  # loop not found: no table of loops, NAME.loops.csv, beside NAME.csv\n" in out
    write({"run.loops.csv": (RUNS / f"{NAMES[0]}.loops.csv").read_text()})
    assert "\n  loop: " in record("run.csv")[1]
    assert record("-", stdin=(RUNS / f"{NAMES[0]}.csv").read_text())[1] == out
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "standard input: empty; expected `kubectl get events -A -o json`, metrics"),
        ("hello\n", "standard input: expected `kubectl get events -A -o json`"),
        (b"\xff\xfe\x00", "not text; expected"),
        ('{"items": [\n', "line 2: not JSON; expected"),
        ("{}", "JSON without events of nodes or pods; expected"),
        ("[1, 2]", "JSON without events"),
        ('{"kind": "List", "items": 7}', "JSON without events"),
        ('{"kind": "PodList", "items": [{"kind": "Pod"}]}', "JSON without events"),
        ("[" * 100_000, "not JSON; expected"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON; expected"),
        ('{"status": "error", "error": "parse error"}', "Prometheus answered parse error"),
        ('{"status": "success", "data": {"result": 7}}', "Prometheus answered without a result"),
        ('{"status": "success", "data": {"result": []}}', "no delay found in metrics of the autoscaler: "),
        ("launched,ready\n1,2\n3,soon\n", "line 3: expected seconds, not soon"),
        ("launched,ready\n5,1\n", "no delay found in a table of 1 node: -4 is not a plausible value"),
        ("launched,ready\n1,nan\n", "line 2: expected seconds, not nan"),
        ("# a\n\nlaunched,ready\n1,2,3\n", "line 4: expected 2 columns as in the first row, not 3"),
        ("launched,ready\n", "no delay found in a table of 0 nodes: "),
        (json.dumps({"items": [{"reason": "NodeReady", "involvedObject": {}, "firstTimestamp": "noon"}]}), "JSON without events"),
    ],
)  # fmt: skip
def test_input_that_is_not_a_recording_is_refused(text: str | bytes, told: str) -> None:
    code, out, err = record("-", stdin=text)
    assert (code, out) == (2, "")
    assert told in err


def test_files_that_cannot_be_read_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write({"run.csv": "launched\n1\n", "run.loops.csv": "begin\n1\n"})
    assert "missing.json: no such file, or it cannot be read" in record("missing.json")[2]
    assert "no such file, or it cannot be read" in record(str(folder))[2]
    assert "run.csv: the table of loops needs a column start" in record("run.csv")[2]
    assert "--record reads FILE alone; leave out PATH" in record("run.csv", ".")[2]
    monkeypatch.setattr(read, "MOST_BYTES", 5)
    assert record("run.csv")[0] == 2
    monkeypatch.setattr(read, "MOST_BYTES", 5_000_000)
    assert "more than 5 MB; record fewer namespaces or less time" in record("-", stdin=" " * 5_000_001)[2]
    monkeypatch.setattr(read, "_MOST_PARTS", 10)
    monkeypatch.setattr(read, "_MOST_LINES", 2)
    assert "more than 2 lines; record fewer nodes or less time" in record("-", stdin="launched\n1\n2\n")[2]
    assert "too many parts" in record("-", stdin="[" + "[]," * 20 + "1]")[2]


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "Node", "Pod", "ScaleDown", "2026-11-22T10:00:00Z", "+Inf"])
    | st.sampled_from(["pod triggered scale-up: [{a 0->9999999 (max: 3)}]", "cluster_autoscaler_nodes_count", "main"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from([
            "items", "reason", "message", "involvedObject", "firstTimestamp", "eventTime", "kind", "name", "status", "data", "result",
            "metric", "values", "value", "__name__", "function", "object",
        ]), inner, max_size=5,
    ),
    max_leaves=30,
)  # fmt: skip


@pytest.mark.medium
@given(
    _JUNK.map(json.dumps)
    | st.text('launched,ready\n0123456789.-"# {}[]:e')
    | st.text("0123.,-\n").map("launched,ready,gone\n".__add__)
)
def test_any_text_is_either_recorded_or_refused(text: str) -> None:
    try:
        recording = read.read_text(text, "start\n1\n12\n")
        printed = measures.as_section([recording], measures.measures(recording))
    except CalibrationError:
        return
    schemas.check(schemas.document(Source("a.yaml", printed.encode())), "settings", "setting", "the settings")
