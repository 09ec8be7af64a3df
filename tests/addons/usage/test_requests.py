"""Test findings on requests, limits and GPUs with a recording: tiers, exclusions and bad recordings."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kcheck.commands.cli import cli
from kcheck.config.config import Config, ConfigError, Tier, Usage
from kcheck.engine import linter
from kcheck.scale.usage.recording import HOUR, Container, Gpu, Lack, Owner, Pod, as_bytes
from kcheck.text.files.tree import Tree
from tests.addons.usage.recordings import GIB, recording

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from kcheck.scale.usage.recording import Recording
    from tests.conftest import Write


CLASSES = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: prod}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: trial}
value: -10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 10
globalDefault: true
"""


def job(resources: str, *, priority: str = "", labels: str = "", kind: str = "Job", api: str = "batch/v1") -> str:
    own = f"priorityClassName: {priority}, " if priority else ""
    marks = f"metadata: {{labels: {{{labels}}}}}, " if labels else ""
    return (
        f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: sum, namespace: ml}}\nspec:\n  template: {{{marks}spec: {{{own}"
        f"containers: [{{name: main, image: quay.io/a/b:1, resources: {resources}}}]}}}}\n"
    )


def ran(main: Container, *, hours: float = 10, kind: str = "Job") -> Recording:
    """Return a recording of one pod that ran for some hours."""
    return recording(
        [Pod("ml", "sum-x2k9p", [Owner(kind, "sum")], running=int(hours * HOUR), containers={"main": main})]
    )


STEADY = Container(cpu={1000: 900, 2000: 89, 4000: 11}, memory={4 * GIB: 1000}, memory_peak=4 * GIB)
"""A container that uses one core up to the 90th percentile, two up to the 98th, and four at most."""


def checked(write: Write, code: str, found: Recording, **usage: object) -> Result:
    write({"a.yaml": code, "usage.json.gz": as_bytes(found)})
    config = Config(usage=Usage("usage.json.gz", **usage))  # type: ignore[arg-type]
    return linter.run(Tree(["."]), config)


def told(result: Result) -> list[tuple[str, str]]:
    """Return the findings of the usage and GPU rules, each with the title of its fix."""
    found = [one for one in result.findings if one.rule.endswith("-usage") or one.rule.startswith("gpu-")]
    return sorted((one.rule, one.fix.title if one.fix else "") for one in found)


@pytest.mark.parametrize(
    ("priority", "labels", "tiers", "cpu", "memory"),
    [
        ("", "", (), "2300m", "4800Mi"),
        ("prod", "", (), "4800m", "5Gi"),
        ("trial", "", (), "1050m", "4.5Gi"),
        ("", "", (Tier("standard", cpu_percentile=100, cpu_buffer=0),), "4", "4800Mi"),
        ("prod", "", (Tier("mine", ("pr*",), cpu_buffer=0, memory_buffer=100),), "2", "8Gi"),
        ("", "traffic: main", (Tier("mine", (), {"traffic": "main"}, cpu_percentile=50, cpu_buffer=0),), "1", "4800Mi"),
        ("", "traffic: main", (Tier("mine", (), {"traffic": "side"}, cpu_percentile=50, cpu_buffer=0),), "2300m", "4800Mi"),
    ],
    ids=["standard", "highest", "lowest", "standard changed", "by class", "by label", "other label"],
)  # fmt: skip
def test_needed_requests_depend_on_the_tier(
    write: Write, priority: str, labels: str, tiers: tuple[Tier, ...], cpu: str, memory: str
) -> None:
    code = f"{CLASSES}---\n{job('{requests: {cpu: 32, memory: 64Gi}}', priority=priority, labels=labels)}"
    result = checked(write, code, ran(STEADY), tiers=tiers)
    assert told(result) == [
        ("requests-above-usage", f"set cpu: {cpu}"),
        ("requests-above-usage", f"set memory: {memory}"),
    ]


def test_a_single_priority_class_does_not_count_as_the_highest_tier(write: Write) -> None:
    """Any pod may have the only priority class."""
    code = CLASSES.split("---", maxsplit=1)[0].replace("value: 1000", "value: 1000\nglobalDefault: true")
    result = checked(write, f"{code}---\n{job('{requests: {cpu: 32}}', priority='prod')}", ran(STEADY))
    assert ("requests-above-usage", "set cpu: 2300m") in told(result)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("{requests: {cpu: 3, memory: 5Gi}}", []),
        ("{requests: {cpu: 32, memory: 5Gi}, limits: {cpu: 32}}", [("requests-above-usage", "set cpu: 4600m")]),
        ("{requests: {memory: 5Gi}, limits: {cpu: 32}}", [("requests-above-usage", "add cpu: 2300m")]),
        ("{requests: {cpu: 1, memory: 5Gi}}", [("requests-below-usage", "set cpu: 2300m")]),
        ("{requests: {cpu: 3, memory: 5Gi}, limits: {memory: 100Gi}}", []),
        ("{requests: {cpu: 3, memory: 2Gi}, limits: {memory: 4608Mi}}", [("requests-below-usage", "set memory: 4800Mi, set memory: 5400Mi")]),
        ("{requests: {cpu: 3, memory: 2Gi}, limits: {memory: 4200Mi}}", [("memory-limit-near-usage", "set memory: 5400Mi")]),
        ("{requests: {cpu: 3}}", [("requests-below-usage", "add memory: 4800Mi")]),
        ("{requests: {cpu: 2350m, memory: 4700Mi}}", []),
    ],
    ids=["enough", "equal limit", "limit alone", "too little CPU", "large limit", "limit below the need", "limit near the peak", "no request", "little to gain"],
)  # fmt: skip
def test_requests_and_limits_are_compared_with_measured_use(
    write: Write, resources: str, expected: list[tuple[str, str]]
) -> None:
    assert told(checked(write, job(resources), ran(STEADY))) == expected


def test_a_small_unused_request_is_only_an_info(write: Write) -> None:
    main = Container(cpu={90: 1000}, memory={GIB: 1000}, memory_peak=GIB)
    for cpu, word in (("300m", "info"), ("900m", "warning")):
        result = checked(write, job(f"{{requests: {{cpu: {cpu}, memory: 1200Mi}}}}"), ran(main))
        assert [one.severity.word for one in result.findings if one.rule == "requests-above-usage"] == [word]


def test_a_finding_says_where_its_fix_is_unsafe() -> None:
    run = CliRunner().invoke(cli, ["explain", "requests-above-usage"])
    assert "// its fix is unsafe where" in run.output
    assert "costs: the bill or the behaviour changes; or unsafe, as said below" in run.output


def test_equal_findings_at_one_place_get_the_less_safe_class(write: Write) -> None:
    """Two containers get their request from one anchor; for one of them it equals the limit."""
    code = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sum, namespace: ml}\nspec: {template: {spec: {containers: [\n"
        "  {name: main, image: quay.io/a/b:1, resources: {requests: {cpu: &cpu 32}}},\n"
        "  {name: side, image: quay.io/a/b:1, resources: {requests: {cpu: *cpu}, limits: {cpu: 32}}}]}}}\n"
    )
    steady = Container(cpu={4000: 1000}, memory={GIB: 1000}, memory_peak=GIB)
    pod = Pod("ml", "sum-x", [Owner("Job", "sum")], running=36_000, containers={"main": steady, "side": steady})
    result = checked(write, code, recording([pod]))
    found = [one for one in result.findings if one.rule == "requests-above-usage"]
    assert [(one.fix.safety, one.fix.title) for one in found if one.fix] == [("unsafe", "set cpu: 4600m")]


def test_lowering_cpu_is_safer_than_lowering_memory(write: Write) -> None:
    """With less memory the next run may be killed.

    With less CPU it is only slower, unless nothing is left above the request.
    """
    result = checked(write, job("{requests: {cpu: 32, memory: 64Gi}}"), ran(STEADY))
    assert {one.fix.title: one.fix.safety for one in result.findings if one.fix and one.rule == "requests-above-usage"} == {
        "set cpu: 2300m": "costs", "set memory: 4800Mi": "unsafe",
    }  # fmt: skip
    result = checked(write, job("{requests: {cpu: 32}, limits: {cpu: 32}}"), ran(STEADY))
    assert [one.fix.safety for one in result.findings if one.fix and one.rule == "requests-above-usage"] == ["unsafe"]


@pytest.mark.parametrize(
    ("kind", "hours", "judged"),
    [("Job", 0.4, False), ("Job", 0.6, True), ("Deployment", 20, False), ("Deployment", 30, True)],
)
def test_workloads_measured_too_briefly_are_not_judged(write: Write, kind: str, hours: float, judged: bool) -> None:
    api = "apps/v1" if kind == "Deployment" else "batch/v1"
    result = checked(write, job("{requests: {cpu: 32}}", kind=kind, api=api), ran(STEADY, hours=hours, kind=kind))
    assert bool(told(result)) == judged
    usage = result.judged.usage
    assert usage is not None
    assert (usage.measured, usage.briefly, usage.unseen) == ((1, 0, 0) if judged else (0, 1, 0))


def test_a_memory_limit_at_which_a_container_was_killed_is_raised(write: Write) -> None:
    main = Container(cpu={1000: 600}, memory={2 * GIB: 600}, memory_peak=2 * GIB, kills=2, killed=4 * GIB)
    result = checked(write, job("{requests: {cpu: 1200m, memory: 4Gi}, limits: {memory: 4Gi}}"), ran(main))
    assert told(result) == [("memory-limit-near-usage", "set memory: 5800Mi")]
    raised = checked(write, job("{requests: {cpu: 1200m, memory: 6Gi}, limits: {memory: 6Gi}}"), ran(main))
    assert told(raised) == []


def test_requests_set_by_a_limit_range_are_left_alone(write: Write) -> None:
    limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: ml}\nspec: {limits: [{type: Container, defaultRequest: {cpu: 1, memory: 1Gi}}]}\n"
    assert told(checked(write, f"{limits}---\n{job('{}')}", ran(STEADY))) == []


def cards(
    busy: dict[int, int], *, memory: int = 60_000, count: int = 1, model: str = "NVIDIA H100 80GB HBM3"
) -> Container:
    return Container(gpus=[Gpu(f"GPU-{i}", model, busy=busy, memory=memory, memory_total=81_559) for i in range(count)])


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        (cards({0: 540, 90: 60}), "gpu-idle"),
        (cards({80: 600}), ""),
        (cards({30: 600}, memory=9000), "gpu-memory-idle"),
        (cards({30: 600}, memory=9000, model="NVIDIA L4"), "gpu-memory-idle"),
        (cards({30: 600}, memory=75_000), ""),
        (cards({}), ""),
    ],
    ids=["idle", "busy", "a slice is enough", "copies are enough", "full memory", "not measured"],
)
def test_idle_gpus_are_reported(write: Write, main: Container, expected: str) -> None:
    result = checked(write, job("{limits: {nvidia.com/gpu: 1}}"), ran(main))
    assert [rule for rule, _ in told(result) if rule.endswith("idle")] == ([expected] if expected else [])


def test_a_pod_that_moved_to_another_gpu_held_one_gpu_at_a_time(write: Write) -> None:
    main = cards({0: 300}, count=2)
    main.requests = {"nvidia_com_gpu": 1}
    result = checked(write, job("{limits: {nvidia.com/gpu: 1}}"), ran(main))
    assert [one.message for one in result.findings if one.rule == "gpu-idle"] == [
        "Job sum held GPUs for 10 GPU-hours and used 0% of them"
    ]


def test_gpus_are_not_judged_when_the_job_no_longer_requests_any(write: Write) -> None:
    assert told(checked(write, job("{requests: {cpu: 1}}"), ran(cards({0: 600})))) == []


def test_check_prints_the_measured_time_and_pods(write: Write) -> None:
    found = ran(STEADY)
    found.lacks = [Lack("gpu", "no DCGM exporter; install it")]
    others = [job("{requests: {cpu: 1}}").replace("name: sum", f'name: "{name}"') for name in ("other", "${NAME}")]
    code = [job("{requests: {cpu: 3, memory: 5Gi}}"), *others]
    write({"a.yaml": "---\n".join(code), "usage.json.gz": as_bytes(found)})
    run = CliRunner().invoke(cli, ["check", "--usage", "usage.json.gz"])
    said = "1 of 3 workloads measured, 1 without a known name, 1 never seen running; `kcheck usage --from usage.json.gz` lists"
    assert said in run.output
    assert "not measured: gpu: no DCGM exporter; install it" in run.output


WHOLE = as_bytes(ran(STEADY))
BAD = {
    "missing": (None, "usage.json.gz: No such file or directory"),
    "empty": (b"", "not a recording of kcheck usage record"),
    "cut off": (WHOLE[:-20], "usage.json.gz: incomplete; copy it again, or record it again with kcheck usage record"),
    "damaged": (WHOLE[:40] + b"\0\0\0\0" + WHOLE[44:], "usage.json.gz: damaged"),
    "something else": (gzip.compress(b"hello"), "not a recording of kcheck usage record"),
    "other JSON": (b'{"kind": "Pod"}', "not a recording of kcheck usage record"),
    "other version": (b'{"version": 99}', "a recording of version 99, but this kcheck reads 1"),
    "times": (b'{"version": 1, "begin": 5, "end": 5, "until": 5, "step": 60, "interval": 60, "asked": 5}', "its times make no sense"),
    "not finished": (b'{"version": 1, "begin": 0, "end": 9, "until": 5, "step": 1, "interval": 1, "asked": 9}', "was not finished; run the same"),
    "deep": (b'{"version": 1, "pods": ' + b"[" * 100_000, "not a recording of kcheck usage record"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_recordings_are_refused(write: Write, case: str) -> None:
    data, message = BAD[case]
    write({"a.yaml": job("{}")} | ({} if data is None else {"usage.json.gz": data}))
    for command in (["check"], ["fix", "--diff"], ["baseline"]):
        run = CliRunner().invoke(cli, [*command, "--usage", "usage.json.gz"])
        assert run.exit_code == 2, run.output
        assert message in run.output
        assert "Traceback" not in run.output


def test_a_decompression_bomb_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcheck.scale.usage.recording.LARGEST", 1 << 20)
    write({"usage.json.gz": gzip.compress(b" " * (2 << 20))})
    with pytest.raises(ConfigError, match="larger than"):
        linter.run(Tree(["."]), Config(usage=Usage("usage.json.gz")))
