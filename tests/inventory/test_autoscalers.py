"""Test the cluster autoscaler as a workload: its flags in all spellings, its defaults by version, and fixes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.report import model
from kcheck.text.files import save
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Check, Write

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: autoscaler
spec:
  template:
    spec:
      containers:
        - name: main
          image: {image}
{lines}
"""
UPSTREAM = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1"


def lines(*flags: str, key: str = "command", quote: str = "") -> str:
    return f"          {key}:\n" + "\n".join(
        f"            - {quote}{flag}{quote}" for flag in ("./cluster-autoscaler", *flags)
    )


@pytest.fixture
def read(write: Write) -> Callable[..., dict[str, Any]]:
    def run(text: str, image: str = UPSTREAM) -> dict[str, Any]:
        write({"autoscaler.yaml": DEPLOYMENT.format(image=image, lines=text)})
        return model.collect(Tree(["."]), Config(nodes={"": 500}))

    return run


def value(data: dict[str, Any], name: str) -> Any:
    field = data["autoscalers"][0]["fields"][name]
    return field.get("value", field.get("unknown"))


@pytest.mark.parametrize(
    "text",
    [
        lines("--scale-down-unneeded-time=3m"),
        lines("--scale-down-unneeded-time=3m", key="args"),
        lines("-scale-down-unneeded-time=3m"),
        lines("--scale-down-unneeded-time", "3m"),
        lines("--v=4", "--scale-down-unneeded-time=3m0s", quote='"'),
        lines("--scale-down-unneeded-time=180s", quote="'"),
        "          command: [./cluster-autoscaler]\n          args: [--scale-down-unneeded-time=3m]",
    ],
)
def test_all_spellings_of_a_flag_are_read(text: str, read: Callable[..., dict[str, Any]]) -> None:
    assert value(read(text), "unneeded_time") == 180


@pytest.mark.parametrize(
    ("image", "expander"),
    [
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", "random"),
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0", "least-waste"),
        ("k8s.gcr.io/cluster-autoscaler:1.14.7", "random"),
        (
            "example.com:5000/mirror/cluster-autoscaler@sha256:0123",
            "the default of --expander depends on the version, which is not known",
        ),
    ],
)
def test_flag_defaults_depend_on_the_version(image: str, expander: str, read: Callable[..., dict[str, Any]]) -> None:
    data = read(lines(), image)
    assert value(data, "expander") == expander
    assert value(data, "bulk_delete") == 10
    assert value(data, "unneeded_time") == 600


@pytest.mark.parametrize(
    "image", ["nginx:1", "registry.k8s.io/autoscaling/vpa-recommender:1.0", "my-cluster-autoscaler-ui:2"]
)
def test_other_workloads_are_not_autoscalers(image: str, read: Callable[..., dict[str, Any]]) -> None:
    assert read(lines().replace("./cluster-autoscaler", "./main"), image)["autoscalers"] == []


def test_nonsense_flag_values_are_unknown(read: Callable[..., dict[str, Any]]) -> None:
    data = read(lines("--scale-down-unneeded-time=soon", "--max-empty-bulk-delete=x", "--scan-interval"))
    assert value(data, "unneeded_time") == "--scale-down-unneeded-time: `soon` is not a duration such as 10m or 30s"
    assert value(data, "bulk_delete") == "--max-empty-bulk-delete: `x` is not a whole number"
    assert "scan-interval" in value(data, "scan_interval")


def test_numbers_in_flags_are_read(read: Callable[..., dict[str, Any]]) -> None:
    data = read(
        lines(
            "--ok-total-unready-count=100",
            "--max-total-unready-percentage=33.5",
            "--max-scale-down-parallelism=40",
            "--max-empty-bulk-delete=7",
        )
    )
    assert (value(data, "max_unready_nodes"), value(data, "max_unready_percentage")) == (100, 33)
    assert value(data, "bulk_delete") == 40  # the newer flag


BEFORE = lines("--cloud-provider=aws", "--scale-down-unneeded-time=10m # no comment", quote='"')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            lines("--scale-down-unneeded-time=10m  # a comment", "--max-empty-bulk-delete", "10"),
            lines("--scale-down-unneeded-time=5m  # a comment", "--max-empty-bulk-delete", "50", "--scale-down-delay-after-failure=1m", "--max-node-provision-time=10m",
                  "--ok-total-unready-count=80"),
        ),
        (
            lines("--scan-interval=10s", key="args", quote='"'),
            lines("--scan-interval=10s", "--scale-down-delay-after-failure=1m", "--scale-down-unneeded-time=5m", "--max-node-provision-time=10m", "--max-scale-down-parallelism=50", "--ok-total-unready-count=80",
                  key="args", quote='"'),
        ),
        (
            "          command: [./cluster-autoscaler, --v=4] # all",
            "          command: [./cluster-autoscaler, --v=4, --scale-down-delay-after-failure=1m, --scale-down-unneeded-time=5m, --max-node-provision-time=10m, --max-scale-down-parallelism=50, --ok-total-unready-count=80] # all",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fixes_change_and_append_flags(before: str, after: str, newline: str, write: Write) -> None:
    def text(inner: str) -> bytes:
        return DEPLOYMENT.format(image=UPSTREAM, lines=inner).replace("\n", newline).encode()

    folder = write({"autoscaler.yaml": text(before)})
    outcome = fix.fix(["."], Config(nodes={"": 500}))
    assert not outcome.refused
    save.save(outcome.files)
    assert (Path(folder) / "autoscaler.yaml").read_bytes().decode() == text(after).decode()
    assert not fix.fix(["."], Config(nodes={"": 500})).files


# --- what else of the container counts


def test_flags_inside_a_shell_script_are_unknown(read: Callable[..., dict[str, Any]]) -> None:
    data = read('          command: [/bin/sh, -c, "./cluster-autoscaler --scale-down-unneeded-time=3m"]')
    assert value(data, "unneeded_time") == "the command is a shell script"
    assert data["flags"] == []


def test_flags_are_read_from_command_and_args(read: Callable[..., dict[str, Any]]) -> None:
    text = "          command: [./cluster-autoscaler, --max-nodes-total=7]\n          args: [--skip-nodes-with-system-pods=false]"
    data = read(text)
    assert (value(data, "max_nodes"), value(data, "skip_system_pods")) == (7, False)


@pytest.mark.parametrize(
    ("flag", "field", "wanted"),
    [
        ("--cores-total=0:9000", "max_cores", 9000),
        ("--cores-total=9000", "max_cores", "--cores-total: `9000` is not a minimum and a maximum such as 0:1000"),
        ("--kube-client-qps=33.5", "client_qps", 33),
        ("--expendable-pods-priority-cutoff=-100", "priority_cutoff", -100),
        ("--scale-down-enabled=F", "scale_down", False),
        ("--scale-down-enabled", "scale_down", True),
        (
            "--scale-down-enabled=no",
            "scale_down",
            "--scale-down-enabled: `no` is neither true nor false",
        ),
        (
            "--max-total-unready-percentage=1/0",
            "max_unready_percentage",
            "--max-total-unready-percentage: `1/0` is not a number",
        ),
    ],
)
def test_flags_are_converted_to_their_types(
    flag: str, field: str, wanted: Any, read: Callable[..., dict[str, Any]]
) -> None:
    assert value(read(lines(flag)), field) == wanted


@pytest.mark.parametrize(
    ("resources", "cpu"),
    [
        ("", None),
        ("{requests: {cpu: 100m}}", 100),
        ("{requests: {cpu: 1.5}}", 1500),
        ("{limits: {cpu: 2}}", 2000),
        ("{requests: {memory: 1Gi}}", None),
        ("{requests: {cpu: lots}}", "`lots` is not a quantity such as 500m or 2Gi"),
    ],
)
def test_the_cpu_request_of_the_autoscaler_is_read(
    resources: str, cpu: Any, read: Callable[..., dict[str, Any]]
) -> None:
    data = read(lines() + (f"\n          resources: {resources}" if resources else ""))
    assert value(data, "cpu") == cpu


def rules_of(findings: list[Any]) -> set[str]:
    return {finding.rule for finding in findings}


@pytest.mark.parametrize(
    ("flags", "nodes", "wanted"),
    [
        (("--max-scale-down-parallelism=50",), 1000, True),
        (("--max-scale-down-parallelism=100",), 1000, False),
        # 2,000 requests take 400 s at 5 a second: a batch that adds no more than that again is large enough
        (("--max-scale-down-parallelism=100",), 2000, False),
        (("--max-scale-down-parallelism=10",), 2000, True),
        (("--max-scale-down-parallelism=20", "--kube-client-qps=100"), 500, False),
        (("--max-scale-down-parallelism=100", "--scale-down-delay-after-delete=2m"), 1000, False),
    ],
)
def test_slow_node_deletion_is_reported(flags: tuple[str, ...], nodes: int, wanted: bool, write: Write) -> None:
    write({"autoscaler.yaml": DEPLOYMENT.format(image=UPSTREAM, lines=lines(*flags))})
    found = rules_of(linter.run(Tree(["."]), Config(nodes={"": nodes})).findings)
    assert ("slow-node-deletion" in found) == wanted


@pytest.mark.parametrize(
    ("flags", "nodes", "rule", "severity"),
    [
        ((), 20, "delay-after-failure", "INFO"),
        ((), 200, "delay-after-failure", "INFO"),
        (("--max-nodes-per-scaleup=100",), 90, "scale-up-slice-small", None),
        (("--max-nodes-per-scaleup=100",), 500, "scale-up-slice-small", "INFO"),
        (("--max-nodes-per-scaleup=100",), 501, "scale-up-slice-small", "WARNING"),
    ],
)
def test_autoscaler_flags_that_cost_little_are_an_info(
    flags: tuple[str, ...], nodes: int, rule: str, severity: str | None, write: Write
) -> None:
    write({"autoscaler.yaml": DEPLOYMENT.format(image=UPSTREAM, lines=lines(*flags))})
    found = {one.rule: one.severity.name for one in linter.run(Tree(["."]), Config(nodes={"": nodes})).findings}
    assert found.get(rule) == severity


PAUSE = "--scale-down-delay-after-delete"


@pytest.mark.parametrize(
    ("flags", "nodes", "headline", "fixed"),
    [
        (
            (f"{PAUSE}=2m",), 1000, "Deleting 1,000 nodes takes 203 min: a pause of 2 min after each batch",
            {f"{PAUSE}=10s", "--max-scale-down-parallelism=100"},
        ),
        (
            (f"{PAUSE}=2m", "--max-scale-down-parallelism=200"), 1000,
            "Deleting 1,000 nodes takes 13 min: a pause of 2 min after each batch", {f"{PAUSE}=10s"},
        ),
        ((f"{PAUSE}=0s", "--max-scale-down-parallelism=200"), 1000, None, set()),
        ((f"{PAUSE}=20s", "--max-scale-down-parallelism=200"), 1000, None, set()),
    ],
)  # fmt: skip
def test_a_pause_after_each_deletion_is_named(
    flags: tuple[str, ...], nodes: int, headline: str | None, fixed: set[str],
    write: Write,
) -> None:  # fmt: skip
    """The pause is the fault, not the batch, which is judged as if every loop deleted one."""
    folder = write({"autoscaler.yaml": DEPLOYMENT.format(image=UPSTREAM, lines=lines(*flags))})
    config = Config(nodes={"": nodes})
    found = [one.message for one in linter.run(Tree(["."]), config).findings if one.rule == "delay-after-delete"]
    assert found == [headline] * (headline is not None)
    save.save(fix.fix(["."], config, rules=("delay-after-delete", "slow-node-deletion")).files)
    code = (folder / "autoscaler.yaml").read_text()
    assert all(flag in code for flag in fixed)


@pytest.mark.parametrize("image", [f"{UPSTREAM.rpartition(':')[0]}:latest", "k8s.gcr.io/cluster-autoscaler:v1.24.0"])
def test_a_flag_unknown_to_the_autoscaler_version_is_not_added(image: str, write: Write) -> None:
    """An autoscaler with an unknown flag does not start."""
    write({"autoscaler.yaml": DEPLOYMENT.format(image=image, lines=lines("--max-nodes-total=9000"))})
    outcome = fix.fix(["."], Config(nodes={"": 3000}), rules=("deletion-limited-by-qps",))
    assert not outcome.files
    found = linter.run(Tree(["."]), Config(nodes={"": 3000})).findings
    (finding,) = [f for f in found if f.rule == "deletion-limited-by-qps"]
    assert finding.help == "set --kube-client-qps=50"


PROVISIONED = """
module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google"
  version = "~> 36.0"

  name       = "train"
  region     = "us-central1"
  node_pools = [{ name = "a", machine_type = "n2-standard-8"SIZE }]

  cluster_autoscaling = {
    enabled       = true
    max_cpu_cores = 48
    min_cpu_cores = 0
    max_memory_gb = 400
    min_memory_gb = 0
    gpu_resources = []
  }
}
"""


@pytest.mark.parametrize(
    ("size", "nodes", "severity"), [("", {}, None), (", max_count = 100", {}, "warning"), ("", {"": 300}, "error")]
)
def test_an_autoscaler_cap_is_compared_only_with_written_sizes(
    size: str, nodes: dict[str, int], severity: str | None, check: Check
) -> None:
    """The module's default of 100 nodes per zone is not a size that somebody chose."""
    found = check({"main.tf": PROVISIONED.replace("SIZE", size)}, Config(nodes=nodes)).findings
    assert {f.rule: f.severity.word for f in found}.get("auto-provisioning-limits-low") == severity


COMMANDS = {
    "command": (lines("--scan-interval=20s"), True),
    "args": (lines("--scan-interval=20s", key="args"), True),
    "flags only": (
        lines("--scan-interval=20s", "--node-group-auto-discovery=asg:tag=x", key="args").replace(
            "            - ./cluster-autoscaler\n", ""
        ),
        True,
    ),
    "path": (lines("--scan-interval=20s").replace("./cluster", "/usr/bin/cluster"), True),
    "other program": (lines("--scan-interval=20s").replace("./cluster-autoscaler", "./watcher"), False),
    "an argument": (lines("cluster-autoscaler").replace("./cluster-autoscaler", "./watcher"), False),
}


@pytest.mark.parametrize("image", ["mirror.example.com/tools/ca:1.5", "$IMAGE", "registry.example.com/x@sha256:0a"])
@pytest.mark.parametrize(("text", "is_one"), COMMANDS.values(), ids=COMMANDS)
def test_an_autoscaler_is_recognized_by_its_command(
    read: Callable[..., dict[str, Any]], image: str, text: str, is_one: bool
) -> None:
    data = read(text, image)
    assert bool(data["autoscalers"]) is is_one
    if is_one:
        assert value(data, "scan_interval") == 20


def test_an_autoscaler_is_found_in_a_shell_command(read: Callable[..., dict[str, Any]]) -> None:
    text = """          command: [/bin/sh, -c, "sleep 5 && exec ./cluster-autoscaler --v=4"]"""
    assert read(text, "$IMAGE")["autoscalers"]


def test_the_version_of_another_image_is_not_used(read: Callable[..., dict[str, Any]]) -> None:
    data = read(lines(), "mirror.example.com/tools/ca:1.5")
    assert "the autoscaler version in" in str(value(data, "version"))


IMAGES = {
    "registry.k8s.io/autoscaling/cluster-autoscaler-arm64:v1.33.0": 1,
    "cluster-autoscaler-kwok:dev": 1,
    "a.b/x/cluster-autoscaler:v1.37.0": 1,
    "a.b/vertical-cluster-autoscaler:1": 0,
    "a.b/cluster-autoscaler-exporter:1": 0,
}


@pytest.mark.parametrize("image", IMAGES)
def test_images_of_the_autoscaler_are_recognised(image: str, read: Callable[..., dict[str, Any]]) -> None:
    assert len(read("", image)["autoscalers"]) == IMAGES[image]
