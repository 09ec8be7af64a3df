"""Build recordings by hand, with numbers that a reader can verify."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from kcheck.config.config import Config
from kcheck.model import Inventory
from kcheck.scale.usage.recording import HOUR, VERSION, Container, Gpu, Hours, Node, Owner, Pod, Recording
from kcheck.scale.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGIN = int(datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC).timestamp())
DAY = 24 * HOUR
GIB = 1 << 30
P5 = {"node_kubernetes_io_instance_type": "p5.48xlarge", "eks_amazonaws_com_nodegroup": "gpu"}


def nowhere(**settings: object) -> World:
    """Return a world that has settings but no code."""
    return World(Inventory(), Config(**settings))  # type: ignore[arg-type]


def recording(pods: Sequence[Pod] = (), nodes: Sequence[Node] = (), *, days: float = 7, **rest: object) -> Recording:
    """Return a complete recording of some days."""
    seconds = int(days * DAY)
    times = {"begin": BEGIN, "end": BEGIN + seconds, "until": BEGIN + seconds, "step": 60, "interval": 30}
    return Recording(VERSION, **times, asked=seconds, pods=list(pods), nodes=list(nodes), **rest)  # type: ignore[arg-type]


def node(
    name: str, *, labels: dict[str, str] | None = None, gpus: int = 8, cores: int = 96, memory: int = 768,
    days: float = 7, provider: str = "aws:///eu-west-1a/i-0",
) -> Node:  # fmt: skip
    """Return a node that exists for some days from the beginning of the recording; memory in GiB."""
    allocatable = {"cpu": cores * 1000.0, "memory": float(memory * GIB)}
    if gpus:
        allocatable["nvidia_com_gpu"] = gpus
    seconds = int(days * DAY)
    last = BEGIN + seconds - 60
    return Node(name, P5 if labels is None else labels, provider, allocatable, BEGIN, last, seconds)


def pod(
    name: str, *, namespace: str = "ml", owners: Sequence[tuple[str, str]] = (("PyTorchJob", "train"),), node: str = "a",
    hours: int = 10, first: int = 0, gpus: int = 0, busy: int | None = None, cores: float = 1, used: float | None = 1,
    memory: float = 4, used_memory: float = 4, labels: dict[str, str] | None = None, created: int | None = None,
    scheduled: int | None = None, tensor: int | None = None, watts: int = 0,
) -> Pod:  # fmt: skip
    """Return a pod that ran for some whole hours, beginning with hour `first`.

    `busy`: use of each GPU in percent; `used` and `used_memory` (GiB): use of what the pod requests; None where that
    was not measured. `created` and `scheduled`: seconds after the beginning of the recording.
    """
    requests = {"cpu": cores * 1000, "memory": memory * GIB} | ({"nvidia_com_gpu": float(gpus)} if gpus else {})
    cards = [_card(f"GPU-{name}-{index}", hours, busy, tensor, watts) for index in range(gpus) if busy is not None]
    begin = BEGIN + first * HOUR
    return Pod(
        namespace, name, [Owner(*owner) for owner in owners], node, labels or {},
        created=None if created is None else BEGIN + created, scheduled=None if scheduled is None else BEGIN + scheduled,
        started=begin, ended=begin + hours * HOUR, first=begin, last=begin + hours * HOUR - 60, running=hours * HOUR,
        containers={"main": Container(requests=requests, gpus=cards)},
        hours=Hours(
            first, [None if used is None else round(used * 1000)] * hours,
            [None if used is None else round(used_memory * 1024)] * hours,
            [None if busy is None or not gpus else busy * gpus] * hours, [HOUR] * hours,
        ),
    )  # fmt: skip


def _card(name: str, hours: int, busy: int | None, tensor: int | None, watts: int) -> Gpu:
    samples = hours * 60
    return Gpu(
        name, "NVIDIA H100 80GB HBM3", busy={busy or 0: samples}, tensor={} if tensor is None else {tensor: samples},
        memory=20_000, memory_total=81_559, power=float(watts * samples), power_samples=samples if watts else 0,
    )  # fmt: skip
