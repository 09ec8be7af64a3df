"""Write the series of NVIDIA's DCGM exporter about the GPUs of a week."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.addons.usage.week.measured import exporter, sampled

if TYPE_CHECKING:
    from tests.addons.usage.week.cluster import Container, Machine, Node, Pod, Week
    from tests.addons.usage.week.measured import Clock
    from tests.addons.usage.week.openmetrics import Writer

RESERVED = 500
"""MiB of each GPU that the driver reserves."""


def write_gpus(writer: Writer, week: Week) -> None:
    """Write the series of all GPUs of all nodes.

    A GPU without a pod is idle and has no labels of a pod.
    """
    users: dict[str, dict[int, list[tuple[Pod, Container]]]] = {}
    for pod in sorted(week.pods, key=lambda one: one.started or 0):
        if pod.node is None or pod.started is None:
            continue
        for box in pod.containers:
            for slot in pod.slots.get(box.name, []):
                users.setdefault(pod.node.name, {}).setdefault(slot, []).append((pod, box))
    for node in week.nodes:
        if node.gpus is None:
            continue
        ticks = exporter(week, node)
        for slot in range(node.gpus.count):
            free = node.first
            for pod, box in users.get(node.name, {}).get(slot, []):
                _idle(writer, node, slot, ticks, (free, pod.started or 0))
                _busy(writer, node, (pod, box), slot, ticks)
                free = pod.ended or week.end
            _idle(writer, node, slot, ticks, (free, node.last))


def labels_of(node: Node, machine: Machine, slot: int) -> dict[str, str]:
    """Return the labels of a GPU or MIG slice, without those of a pod."""
    per = machine.slices
    number = slot // per
    found = {
        "gpu": str(number),
        "UUID": uuid(node, machine, slot),
        "device": f"nvidia{number}",
        "modelName": machine.model,
        "Hostname": node.name,
        "job": "nvidia-dcgm-exporter",
    }
    if machine.mig:
        found |= {"GPU_I_PROFILE": machine.mig, "GPU_I_ID": str(7 + slot % per)}
    return found


def uuid(node: Node, machine: Machine, slot: int) -> str:
    """Return the UUID of the GPU that a slot belongs to."""
    return f"GPU-{node.name}-{slot // machine.slices}"


def _exporters(node: Node) -> dict[str, str]:
    """Return the labels of the DCGM exporter's own pod, kept by a scrape that does not honor labels."""
    own = {"namespace": "gpu-operator", "pod": f"nvidia-dcgm-exporter-{node.name[-5:]}", "container": "nvidia-dcgm-exporter"}  # fmt: skip
    return own if node.exported else {}


def _idle(writer: Writer, node: Node, slot: int, ticks: Clock, span: tuple[int, int]) -> None:
    machine = node.gpus
    if machine is None or span[0] >= span[1]:
        return
    labels = {**labels_of(node, machine, slot), **_exporters(node)}
    values = {"DEV_FB_USED": 0, "DEV_FB_FREE": machine.memory - RESERVED, "DEV_POWER_USAGE": 70}
    if not machine.mig:
        values["DEV_GPU_UTIL"] = 0
    if node.profiling:
        values |= {"PROF_GR_ENGINE_ACTIVE": 0, "PROF_PIPE_TENSOR_ACTIVE": 0}
    for name, value in values.items():
        writer.constant(f"DCGM_FI_{name}", labels, ticks, (*span, value))


def _busy(writer: Writer, node: Node, user: tuple[Pod, Container], slot: int, ticks: Clock) -> None:
    pod, box = user
    machine = node.gpus
    if machine is None or box.gpu is None or pod.started is None:
        return
    prefix = "exported_" if node.exported else ""
    whose = {f"{prefix}namespace": pod.namespace, f"{prefix}pod": pod.name, f"{prefix}container": box.name}
    labels = {**labels_of(node, machine, slot), **_exporters(node), **whose}
    first, last = ticks.span(pod.started, pod.ended)
    times = ticks.times[first:last]
    busy = sampled(box.gpu.busy, pod.started, times)
    used = [round(value) for value in sampled(box.gpu.memory, pod.started, times)]
    values: dict[str, list[float]] = {
        "DEV_FB_USED": list(used),
        "DEV_FB_FREE": [machine.memory - RESERVED - value for value in used],
        "DEV_POWER_USAGE": sampled(box.gpu.power, pod.started, times),
    }
    if not machine.mig:
        values["DEV_GPU_UTIL"] = [round(value) for value in busy]
    if node.profiling:
        values["PROF_GR_ENGINE_ACTIVE"] = [value / 100 for value in busy]
        values["PROF_PIPE_TENSOR_ACTIVE"] = [value / 100 for value in sampled(box.gpu.tensor, pod.started, times)]
    for name, series in values.items():
        writer.varying(f"DCGM_FI_{name}", labels, ticks, first, series)
