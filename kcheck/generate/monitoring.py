"""Size Prometheus for a cluster (series, shards, memory, disk)."""

from math import ceil
from typing import NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.reserved import GI
from kcheck.generate import recommended
from kcheck.generate.intent import Intent
from kcheck.scale.usage import metrics

_DAY = 86400
_CADVISOR = "cadvisor"
_DCGM = "DCGM exporter"


class Monitoring(NamedTuple):
    """Size of Prometheus for a cluster; memory and disk in GiB, `interval` in seconds.

    `node_series` are those of a node's own exporters, `object_series` those of kube-state-metrics.
    """

    node_series: int
    object_series: int
    per_node: int
    per_object: int
    interval: int
    shards: int
    memory: int
    disk: int
    machine_memory: int
    state_memory: int
    series_bytes: int

    @property
    def series(self) -> int:
        """Total number of series."""
        return self.node_series + self.object_series

    @property
    def rate(self) -> str:
        """Range of a rate query that contains several samples."""
        return f"{max(5, self.interval * 5 // 60)}m"

    @property
    def series_each(self) -> int:
        """Series of the largest shard, the one with kube-state-metrics."""
        return self.object_series + self.node_series // self.shards

    @property
    def room_for(self) -> int:
        """Number of series that fit into a shard's memory, including those of ended pods."""
        return self.memory * GI // self.series_bytes


def context(intent: Intent, target: int) -> dict[str, object]:
    """Return the template values of monitoring for a target."""
    state, made = _names("kube-state-metrics"), monitoring(intent, target)
    return {
        "monitoring": made, "samples": made.series // made.interval, "container_metrics": _names(_CADVISOR),
        "state_metrics": [*state, *STATE_METRICS], "gpu_metrics": _names(_DCGM),
    }  # fmt: skip


STATE_METRICS = (
    "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available", "kube_node_spec_unschedulable",
    "kube_node_status_capacity", "kube_node_status_condition", "kube_pod_container_status_waiting_reason",
    "kube_pod_status_unschedulable", "kube_resourcequota",
)  # fmt: skip
"""Metrics of kube-state-metrics that alerts and the dashboard need, beyond those of `kcheck usage`."""


def _names(family: str) -> list[str]:
    """List the metrics of a family that `kcheck usage` reads."""
    found = (one for name, one in metrics.table()["families"].items() if name.endswith(family))
    return sorted({name for one in found for entry in one["metrics"].values() for name in entry["names"]})


def monitoring(intent: Intent, target: int) -> Monitoring:
    """Size Prometheus for a target, with as few shards as fit."""
    usual = {key: int(value) for key, value in recommended.values(intent.cloud).items()
             if key.startswith("monitor.") and isinstance(value, int)}  # fmt: skip
    per_node = usual["monitor.node_series"] + intent.gpus * usual["monitor.gpu_series"]
    per_object = usual["monitor.state_series"] + usual["monitor.pods"] * usual["monitor.pod_series"]
    node_series, object_series = target * per_node, target * per_object
    interval = usual["monitor.interval_large" if target > usual["monitor.large"] else "monitor.interval"]
    room, objects = _room(intent, usual), _memory_for_series(object_series, usual)
    shards = ceil(_memory_for_series(node_series, usual) / (max(room, 2 * objects) - objects))
    each = object_series + node_series / shards
    disk = each / interval * usual["monitor.days"] * _DAY * usual["monitor.sample_bytes"] / GI
    return Monitoring(
        node_series, object_series, per_node, per_object, interval, shards,
        memory=max(usual["monitor.least"], ceil(_memory_for_series(each, usual))),
        disk=max(usual["monitor.disk_least"], ceil(disk * (100 + usual["monitor.spare"]) / 1000) * 10),
        machine_memory=room,
        state_memory=max(1, ceil(target * usual["monitor.state_memory"] / 1024)),
        series_bytes=usual["monitor.series_bytes"],
    )  # fmt: skip


def _memory_for_series(series: float, usual: dict[str, int]) -> float:
    """Estimate GiB for series, including those of recently ended pods."""
    return series * usual["monitor.series_bytes"] * usual["monitor.churn"] / GI


def _room(intent: Intent, usual: dict[str, int]) -> int:
    name = str(recommended.values(intent.cloud).get("system.machine", ""))
    memory = machines.memory(intent.cloud, name) if name else None
    return usual["monitor.room"] if memory is None else memory // GI * usual["monitor.share"] // 100
