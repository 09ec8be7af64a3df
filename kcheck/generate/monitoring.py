"""Size Prometheus for a cluster (series, shards, memory, disk) and build its dashboard."""

import json
from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from kcheck.config.numbers import machines
from kcheck.config.numbers.profiles import limits
from kcheck.config.numbers.reserved import GI
from kcheck.generate import recommended
from kcheck.generate.intent import Intent
from kcheck.generate.readme import WallDistance
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
    def samples(self) -> int:
        """Samples per second."""
        return self.series // self.interval

    @property
    def series_each(self) -> int:
        """Series of the largest shard, which reads kube-state-metrics."""
        return self.object_series + self.node_series // self.shards

    @property
    def room_for(self) -> int:
        """Series that fit into a shard's memory, including those of ended pods."""
        return self.memory * GI // self.series_bytes


def context(intent: Intent, target: int) -> dict[str, object]:
    """Return the template values of monitoring for a target."""
    state = _names("kube-state-metrics")
    return {
        "monitoring": monitoring(intent, target), "whole_memory": limits("any")["prometheus.memory_per_node"].number,
        "container_metrics": _names(_CADVISOR), "state_metrics": [*state, *STATE_METRICS], "gpu_metrics": _names(_DCGM),
    }  # fmt: skip


STATE_METRICS = (
    "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available", "kube_node_spec_unschedulable",
    "kube_node_status_capacity", "kube_node_status_condition", "kube_pod_container_status_waiting_reason",
    "kube_pod_status_unschedulable", "kube_resourcequota",
)  # fmt: skip
"""Metrics of kube-state-metrics that alerts and the dashboard need, beyond those of `kcheck usage`."""


def _names(family: str) -> list[str]:
    """List the metrics of a family that `kcheck usage` reads."""
    found = (one for name, one in metrics.families().items() if name.endswith(family))
    return sorted({name for one in found for entry in one["metrics"].values() for name in entry["names"]})


def monitoring(intent: Intent, target: int) -> Monitoring:
    """Size Prometheus for a target, with as few shards as fit their part of a system node."""
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
    """Estimate GiB for series, including those of recently ended pods."""
    return series * usual["monitor.series_bytes"] * usual["monitor.churn"] / GI


def _room(intent: Intent, usual: dict[str, int]) -> int:
    name = str(recommended.values(intent.cloud).get("system.machine", ""))
    memory = machines.memory(intent.cloud, name) if name else None
    return usual["monitor.room"] if memory is None else memory // GI * usual["monitor.share"] // 100


_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2
_FAR = 3
"""Walls beyond this multiple of the nodes are left out: they would flatten the graph."""

_CHANGES = 'apiserver_request_duration_seconds_bucket{verb=~"POST|PUT|PATCH|DELETE", subresource=""}'
_LEADER = '{replica_role!="follower"}'
"""Counts each job once, because both replicas of Kueue report the same jobs."""


class Panel(NamedTuple):
    """Graph of a dashboard: title, Grafana unit, and queries with legends."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]


def dashboard(intent: Intent, context: Mapping[str, object]) -> str:
    """Build the Grafana dashboard of a cluster as JSON, from the template values of its README."""
    document = {
        "title": f"{intent.name}: how far it scales",
        "uid": "scale",
        "tags": ["training"],
        "timezone": "utc",
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(one, i) for i, one in enumerate(_panels(intent, context))],
    }
    return json.dumps(document, indent=1)


def _panels(intent: Intent, context: Mapping[str, object]) -> list[Panel]:
    own: Monitoring = context["monitoring"]  # type: ignore[assignment]
    walls: list[WallDistance] = context["walls"]  # type: ignore[assignment]
    rate = f"[{max(5, own.interval * 5 // 60)}m]"  # which holds some samples
    return [
        Panel("Nodes, and the walls", "short", (
            ("count(kube_node_info)", "nodes"),
            *((f"vector({one.number})", one.what) for one, _ in walls if (one.number or 0) <= _FAR * intent.nodes),
        )),
        Panel("Nodes not ready or cordoned", "short", (
            ('sum(kube_node_status_condition{condition="Ready", status="true"} == bool 0)', "not ready"),
            ("sum(kube_node_spec_unschedulable)", "cordoned"),
        )),
        Panel("Pending pods", "short", (
            ('sum by (namespace) (kube_pod_status_phase{phase="Pending"}) > 0', "pending: {{namespace}}"),
            ("sum by (namespace) (kube_pod_status_unschedulable) > 0", "unschedulable: {{namespace}}"),
            ('sum(kube_pod_container_status_waiting_reason{reason=~"ErrImagePull|ImagePullBackOff"})', "no image"),
        )),
        Panel("Pod IP addresses", "short", _addresses(context)),
        Panel("API server: 99th percentile of writes", "s", (
            (f"histogram_quantile(0.99, sum by (verb, le) (rate({_CHANGES}{rate})))", "{{verb}}"),
        )),
        Panel("API server: most frequent requests", "reqps", (
            (f"topk(8, sum by (verb, resource) (rate(apiserver_request_total{rate})))", "{{verb}} {{resource}}"),
        )),
        Panel("Size of etcd", "bytes", _etcd(context)),
        Panel("Most numerous objects in etcd", "short", (
            ("topk(8, max by (resource) (apiserver_storage_objects))", "{{resource}}"),
        )),
        *(_of_gpus(errors=bool(context["gpu_errors"])) if intent.gpus else ()),
        *_queue(intent.scheduler),
        Panel("Series in memory of Prometheus", "short", (
            ("max by (pod) (prometheus_tsdb_head_series)", "{{pod}}"),
            (f"vector({own.series_each})", "expected with all nodes"),
            (f"vector({own.room_for})", "room in its memory"),
        )),
    ]  # fmt: skip


def _addresses(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    pods = ('count(kube_pod_info{host_network="false"})', "pods with an address of their own")
    if not context["vpc_cni"]:
        return (pods,)
    taken = ("sum(awscni_assigned_ip_addresses)", "used by pods"), ("sum(awscni_total_ip_addresses)", "held by nodes")
    return (pods, *taken)


def _etcd(context: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    if not context["own_etcd"]:
        return (("max(apiserver_storage_size_bytes)", "size"),)
    return (
        ("max by (instance) (etcd_mvcc_db_total_size_in_bytes)", "{{instance}}"),
        ("min(etcd_server_quota_backend_bytes)", "quota: read-only from there on"),
    )


def _of_gpus(*, errors: bool) -> tuple[Panel, ...]:
    asked = 'sum(kube_pod_container_resource_requests{resource="nvidia_com_gpu"})'
    return (
        Panel("GPUs requested", "short", (
            (asked, "requested"), ('sum(kube_node_status_allocatable{resource="nvidia_com_gpu"})', "allocatable"),
        )),
        Panel("Utilization of GPUs that pods have", "percent", (
            ('avg(DCGM_FI_DEV_GPU_UTIL{pod!=""})', "busy"),
            ('100 * avg(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{pod!=""})', "tensor cores"),
            ('100 * avg(DCGM_FI_DEV_FB_USED{pod!=""} / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE))', "memory"),
        )),
        *((Panel("GPUs with errors", "short", (
            ("count by (node) (DCGM_FI_DEV_XID_ERRORS > 0)", "has had an XID error: {{node}}"),
            ("count by (node) (DCGM_FI_DEV_ROW_REMAP_FAILURE > 0)", "to be replaced: {{node}}"),
        )),) if errors else ()),
    )  # fmt: skip


def _queue(scheduler: str) -> tuple[Panel, ...]:
    if scheduler == "kueue":
        waiting = (f"sum by (cluster_queue) (kueue_pending_workloads{_LEADER})", "waiting: {{cluster_queue}}")
        running = (f"sum by (cluster_queue) (kueue_admitted_active_workloads{_LEADER})", "running: {{cluster_queue}}")
    elif scheduler == "volcano":
        waiting = ("sum by (queue_name) (volcano_queue_pod_group_pending_count)", "waiting: {{queue_name}}")
        running = ("sum by (queue_name) (volcano_queue_pod_group_running_count)", "running: {{queue_name}}")
    else:
        return ()
    return (Panel("Jobs by queue", "short", (waiting, running)),)


def _panel(one: Panel, i: int) -> dict[str, object]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": i + 1,
        "type": "timeseries",
        "title": one.title,
        "datasource": source,
        "gridPos": {"x": i % _COLUMNS * _WIDTH, "y": i // _COLUMNS * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": one.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + j), "datasource": source, "expr": query, "legendFormat": legend}
            for j, (query, legend) in enumerate(one.queries)
        ],
    }
