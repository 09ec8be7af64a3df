"""Prometheus by the size of the cluster: series, shards, memory and disk, with the arithmetic."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits
from kcheck.config.numbers.reserved import GI
from kcheck.generate import recommended
from kcheck.scale.usage import metrics

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent

_DAY = 86400
_CADVISOR = "cadvisor"
_DCGM = "DCGM exporter"


class Monitoring(NamedTuple):
    """What Prometheus holds of a cluster, and what it takes; memory and disk in GiB, `interval` in seconds.

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
        """All series at once."""
        return self.node_series + self.object_series

    @property
    def samples(self) -> int:
        """Samples a second."""
        return self.series // self.interval

    @property
    def fits(self) -> bool:
        """Whether a system node has room for one of the Prometheus pods."""
        return self.memory <= self.machine_memory

    @property
    def series_each(self) -> int:
        """Series of the Prometheus that reads kube-state-metrics, the largest of the shards."""
        return self.object_series + self.node_series // self.shards

    @property
    def room_for(self) -> int:
        """Series that the memory of a Prometheus holds, those of pods that ended among them."""
        return self.memory * GI // self.series_bytes

    @property
    def number_of_shards(self) -> list[int]:
        """The shards after the first one, which have a number in their name."""
        return list(range(1, self.shards))


def context(intent: Intent, target: int) -> dict[str, object]:
    """Template values of the monitoring for that many nodes."""
    state = _names("kube-state-metrics")
    return {
        "monitoring": monitoring(intent, target),
        "whole_memory": limits("any")["prometheus.memory_per_node"].number,
        "container_metrics": _names(_CADVISOR),
        "state_metrics": [*state, *STATE_METRICS],
        "gpu_metrics": _names(_DCGM),
    }


STATE_METRICS = (
    "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available", "kube_node_spec_unschedulable",
    "kube_node_status_capacity", "kube_node_status_condition", "kube_pod_container_status_waiting_reason",
    "kube_pod_status_unschedulable", "kube_resourcequota",
)  # fmt: skip
"""Metrics of kube-state-metrics that alerts and the dashboard ask for, beside those of `kcheck usage`."""


def _names(family: str) -> list[str]:
    """The metrics of a family that `kcheck usage` reads."""
    found = (one for name, one in metrics.families().items() if name.endswith(family))
    return sorted({name for one in found for entry in one["metrics"].values() for name in entry["names"]})


def monitoring(intent: Intent, target: int) -> Monitoring:
    """Prometheus for that many nodes: as few shards as keep each within its part of a system node."""
    usual = {key: int(value) for key, value in recommended.values(intent.cloud).items()
             if key.startswith("monitor.") and isinstance(value, int)}  # fmt: skip
    per_node = usual["monitor.node_series"] + intent.gpus * usual["monitor.gpu_series"]
    per_object = usual["monitor.state_series"] + usual["monitor.pods"] * usual["monitor.pod_series"]
    node_series, object_series = target * per_node, target * per_object
    interval = usual["monitor.interval_large" if target > usual["monitor.large"] else "monitor.interval"]
    room, objects = _room(intent, usual), _memory(object_series, usual)
    shards = ceil(_memory(node_series, usual) / (max(room, 2 * objects) - objects))
    each = object_series + node_series / shards
    disk = each / interval * usual["monitor.days"] * _DAY * usual["monitor.sample_bytes"] / GI
    return Monitoring(
        node_series, object_series, per_node, per_object, interval, shards,
        memory=max(usual["monitor.least"], ceil(_memory(each, usual))),
        disk=max(usual["monitor.disk_least"], ceil(disk * (100 + usual["monitor.spare"]) / 1000) * 10),
        machine_memory=room,
        state_memory=max(1, ceil(target * usual["monitor.state_memory"] / 1024)),
        series_bytes=usual["monitor.series_bytes"],
    )  # fmt: skip


def _memory(series: float, usual: dict[str, int]) -> float:
    """GiB for some series, with those of pods that ended a while ago."""
    return series * usual["monitor.series_bytes"] * usual["monitor.churn"] / GI


def _room(intent: Intent, usual: dict[str, int]) -> int:
    """GiB of a system node for Prometheus."""
    name = str(recommended.values(intent.cloud).get("system.machine", ""))
    memory = machines.memory(intent.cloud, name) if name else None
    return usual["monitor.room"] if memory is None else memory // GI * usual["monitor.share"] // 100
