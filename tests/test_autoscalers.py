"""The cluster autoscaler as a workload: its flags in all spellings, its defaults by version, and fixes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcheck import fix
from kcheck.config import Config
from kcheck.files import Tree
from kcheck.report import model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
def read(write: Callable[[Mapping[str, str]], Path]) -> Callable[..., dict[str, Any]]:
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
def test_spellings(text: str, read: Callable[..., dict[str, Any]]) -> None:
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
def test_defaults_of_the_version(image: str, expander: str, read: Callable[..., dict[str, Any]]) -> None:
    data = read(lines(), image)
    assert value(data, "expander") == expander
    assert value(data, "bulk_delete") == 10
    assert value(data, "unneeded_time") == 600


@pytest.mark.parametrize(
    "image", ["nginx:1", "registry.k8s.io/autoscaling/vpa-recommender:1.0", "my-cluster-autoscaler-ui:2"]
)
def test_other_workloads(image: str, read: Callable[..., dict[str, Any]]) -> None:
    assert read(lines(), image)["autoscalers"] == []


def test_nonsense_is_unknown(read: Callable[..., dict[str, Any]]) -> None:
    data = read(lines("--scale-down-unneeded-time=soon", "--max-empty-bulk-delete=x", "--scan-interval"))
    assert value(data, "unneeded_time") == "--scale-down-unneeded-time: `soon` is not a duration such as 10m or 30s"
    assert value(data, "bulk_delete") == "--max-empty-bulk-delete: `x` is not a whole number"
    assert "scan-interval" in value(data, "scan_interval")


def test_numbers_of_the_flags(read: Callable[..., dict[str, Any]]) -> None:
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
            lines("--scale-down-unneeded-time=5m  # a comment", "--max-empty-bulk-delete", "50", "--scale-down-delay-after-failure=1m", "--max-total-unready-percentage=100"),
        ),
        (
            lines("--scan-interval=10s", key="args", quote='"'),
            lines("--scan-interval=10s", "--scale-down-delay-after-failure=1m", "--scale-down-unneeded-time=5m", "--max-scale-down-parallelism=50", "--max-total-unready-percentage=100",
                  key="args", quote='"'),
        ),
        (
            "          command: [./cluster-autoscaler, --v=4] # all",
            "          command: [./cluster-autoscaler, --v=4, --scale-down-delay-after-failure=1m, --scale-down-unneeded-time=5m, --max-scale-down-parallelism=50, --max-total-unready-percentage=100] # all",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fixes_change_and_append_flags(
    before: str, after: str, newline: str, write: Callable[[Mapping[str, str | bytes]], Path]
) -> None:
    def text(inner: str) -> bytes:
        return DEPLOYMENT.format(image=UPSTREAM, lines=inner).replace("\n", newline).encode()

    folder = write({"autoscaler.yaml": text(before)})
    outcome = fix.fix(["."], Config(nodes={"": 500}))
    assert not outcome.refused
    for real, (_, _, new) in outcome.files.items():
        fix.write(real, new)
    assert (Path(folder) / "autoscaler.yaml").read_bytes().decode() == text(after).decode()
    assert not fix.fix(["."], Config(nodes={"": 500})).files
