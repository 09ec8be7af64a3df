"""A Grafana dashboard of the walls of a cluster, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.generate.intent import Intent
    from kcheck.generate.monitoring import Monitoring
    from kcheck.generate.readme import WallDistance

_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2
_FAR = 3
"""Walls beyond that many times the nodes are left out: they would flatten the graph."""

_CHANGES = 'apiserver_request_duration_seconds_bucket{verb=~"POST|PUT|PATCH|DELETE", subresource=""}'
_LEADER = '{replica_role!="follower"}'
"""Both replicas of Kueue count the same jobs."""


class Panel(NamedTuple):
    """A graph: title, unit of Grafana, and queries with their legends."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]


def dashboard(intent: Intent, context: Mapping[str, object]) -> str:
    """The dashboard of a cluster, of what the template values of its README say it has."""
    document = {
        "title": f"{intent.name}: how far it scales",
        "uid": "scale",
        "tags": ["training"],
        "timezone": "utc",
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(one, i) for i, one in enumerate(panels(intent, context))],
    }
    return json.dumps(document, indent=1)


def panels(intent: Intent, context: Mapping[str, object]) -> list[Panel]:
    """The graphs of a cluster."""
    own: Monitoring = context["monitoring"]  # type: ignore[assignment]
    walls: list[WallDistance] = context["walls"]  # type: ignore[assignment]
    rate = f"[{_minutes(own)}m]"
    return [
        Panel("Nodes, and the walls", "short", (
            ("count(kube_node_info)", "nodes"),
            *((f"vector({wall.nodes})", wall.what) for wall in walls if wall.nodes <= _FAR * intent.nodes),
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


def _minutes(own: Monitoring) -> int:
    """Minutes that hold some samples."""
    return max(5, own.interval * 5 // 60)


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
    """What GPUs do, and their errors where they are counted."""
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
    """Jobs that wait and run, by queue."""
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
    """A graph at its place, two in a row."""
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
