"""Test that Prometheus is sized by the nodes and keeps the series that alerts and the dashboard query.

promtool parses the queries if it is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcheck.config.numbers.clouds import CLOUDS
from kcheck.generate import intent, monitoring
from kcheck.generate.assembly import Output, generate

VARIANTS = [(cloud, scheduler) for cloud in CLOUDS for scheduler in ("kueue", "volcano", "none")]
ALERTS = Path(__file__).with_name("alerts.yaml")
OF_OTHERS = r"apiserver_|awscni_|cluster_autoscaler_|coredns_|etcd_|karpenter_|kueue_|prometheus_|volcano_"
"""Metrics of exporters that are kept whole, or as named in the values."""


@cache
def made(cloud: str, scheduler: str = "kueue", nodes: int = 100) -> Output:
    return generate(intent.with_defaults(cloud, {"nodes": nodes, "scheduler": scheduler}))


def sized(cloud: str, nodes: int) -> monitoring.Monitoring:
    return monitoring.monitoring(intent.with_defaults(cloud, {"nodes": nodes}), nodes)


def values(output: Output) -> Any:
    return yaml.safe_load(output.files["values/monitoring.yaml"])


def rules(output: Output) -> list[dict[str, Any]]:
    document = yaml.safe_load(output.files["kubernetes/monitoring.yaml"])
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def graphs(output: Output) -> list[dict[str, Any]]:
    document = yaml.safe_load(output.files["kubernetes/dashboard.yaml"])
    panels: list[dict[str, Any]] = json.loads(document["data"]["scale.json"])["panels"]
    return panels


def queries(output: Output) -> list[str]:
    return [rule["expr"] for rule in rules(output)] + [
        target["expr"] for panel in graphs(output) for target in panel["targets"]
    ]


def test_no_query_uses_metrics_that_gke_lacks() -> None:
    output = made("gke")
    absent = r"coredns_|DCGM_FI_DEV_(XID_ERRORS|ROW_REMAP_FAILURE)"
    assert not [query for query in queries(output) if re.search(absent, query)]
    assert not re.search(absent.replace("FI_", "FI_.*"), output.files["kubernetes/gpu-metrics.yaml"].decode())
    assert values(output)["coreDns"] == {"enabled": False}
    assert "NVRM: Xid" in output.files["README.md"].decode()


@pytest.mark.parametrize("cloud", CLOUDS)
def test_prometheus_memory_and_disk_grow_with_the_nodes(cloud: str) -> None:
    small, large = sized(cloud, 1000), sized(cloud, 5000)
    assert large.series == 5 * small.series
    assert small.shards == 1
    assert large.memory * large.shards > 3 * small.memory
    assert large.disk * large.shards > 2 * small.disk
    assert all(one.memory <= one.machine_memory for one in (small, large))


def test_each_prometheus_shard_fits_on_a_system_node() -> None:
    assert sized("eks", 5000).shards == 2
    largest = sized("gke", 15000)
    assert largest.shards == 2
    assert largest.memory > largest.machine_memory
    assert "give Prometheus a larger one" in made("gke", nodes=15000).files["README.md"].decode()


def test_the_chart_values_have_the_computed_sizes() -> None:
    output = generate(intent.with_defaults("eks", {"nodes": 5000}))
    spec, own = values(output)["prometheus"]["prometheusSpec"], sized("eks", 5053)
    assert spec["shards"] == own.shards
    assert spec["resources"]["requests"]["memory"] == f"{own.memory}Gi"
    assert len(values(output)["grafana"]["additionalDataSources"]) == own.shards - 1
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]["resources"]
    assert claim["requests"]["storage"] == f"{own.disk}Gi"


@pytest.mark.parametrize(("cloud", "scheduler"), VARIANTS)
def test_the_metrics_used_by_queries_are_kept(cloud: str, scheduler: str) -> None:
    output = made(cloud, scheduler)
    kept = set(values(output)["kube-state-metrics"]["metricAllowlist"])
    named = {
        name for query in queries(output) for name in re.findall(r"\b(?:[a-z]+_[a-z_]+|DCGM_\w+)\b(?=[{\[ )]|$)", query)
    }
    named = {name for name in named if not re.match(OF_OTHERS, name) and name not in ("sum_by", "count_by")}
    state = {name for name in named if name.startswith("kube_")}
    assert state
    assert state <= kept
    gpus = output.files.get("kubernetes/gpu-metrics.yaml", b"").decode()
    assert all(name in gpus or name.split("_", 3)[3] in gpus for name in named if name.startswith("DCGM_"))


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_dashboard_shows_the_near_walls(cloud: str) -> None:
    output = made(cloud, nodes=400)
    legends = {target["legendFormat"]: target["expr"] for target in graphs(output)[0]["targets"]}
    near = [wall for wall in output.facts.walls if (wall.number or 0) <= 3 * 400]
    assert near
    assert all(legends[wall.what] == f"vector({wall.number})" for wall in near)
    places = [tuple(panel["gridPos"].values()) for panel in graphs(output)]
    assert len(places) == len(set(places))


@pytest.fixture
def promtool() -> str:
    folders = os.pathsep.join((os.environ.get("KCHECK_LINTERS", ""), os.environ.get("PATH", "")))
    found = shutil.which("promtool", path=folders)
    if found is None:
        pytest.skip("promtool is not installed")
    return found


def test_alerts_fire_when_they_should(promtool: str, tmp_path: Path) -> None:
    rule_file, cases = tmp_path / "rules.yaml", tmp_path / "cases.yaml"
    rule_file.write_text(yaml.safe_dump({"groups": [{"name": "alerts", "rules": rules(made("eks"))}]}))
    cases.write_text(f"rule_files: [{rule_file}]\n{ALERTS.read_text()}")
    done = subprocess.run([promtool, "test", "rules", str(cases)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


LOST = """
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'kube_node_status_condition{node="a", condition="Ready", status="unknown"}', values: 1x20}
      - {series: 'kube_node_status_condition{node="b", condition="Ready", status="unknown"}', values: 0x20}
    promql_expr_test:
      - expr: count by (alertname, node) (ALERTS{alertstate="firing"})
        eval_time: 15m
        exp_samples:
          - {labels: '{alertname="NodeLost", node="a"}', value: 1}
"""


def test_each_lost_selfmanaged_node_fires_an_alert(promtool: str, tmp_path: Path) -> None:
    rule_file, cases = tmp_path / "rules.yaml", tmp_path / "cases.yaml"
    rule_file.write_text(yaml.safe_dump({"groups": [{"name": "alerts", "rules": rules(made("selfmanaged"))}]}))
    cases.write_text(f"rule_files: [{rule_file}]\n{LOST}")
    done = subprocess.run([promtool, "test", "rules", str(cases)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [rule for rule in rules(made("gke")) if rule["alert"] == "NodeLost"]


@pytest.mark.parametrize(("cloud", "scheduler"), VARIANTS)
def test_promtool_accepts_every_query(cloud: str, scheduler: str, promtool: str, tmp_path: Path) -> None:
    output = made(cloud, scheduler)
    graphed = [{"record": f"graph:{i}", "expr": query} for i, query in enumerate(queries(output))]
    alerts = {"name": "alerts", "rules": rules(output)}
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [alerts, {"name": "graphs", "rules": graphed}]}))
    done = subprocess.run([promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("cloud", CLOUDS)
def test_log_collection_sends_no_requests_to_the_api_server(cloud: str) -> None:
    found = yaml.safe_load(made(cloud).files["values/logs.yaml"])
    assert found["rbac"]["create"] is False
    assert found["serviceAccount"]["automountServiceAccountToken"] is False
    assert "Name kubernetes" not in found["config"]["filters"]


# --- what is read at all


READ_BY = {
    "cluster_autoscaler_": "cluster-autoscaler",
    "karpenter_": "karpenter",
    "awscni_": "aws-node",
    "volcano_": "volcano-controller",
}
"""Metrics for which no chart has a monitor -> the monitor that we add."""


@pytest.mark.parametrize(
    ("cloud", "scheduler", "autoscaler"),
    [("eks", "kueue", "cluster-autoscaler"), ("eks", "none", "karpenter"), ("aks", "kueue", "karpenter"),
     ("selfmanaged", "volcano", "none"), ("gke", "volcano", "managed"), ("ack", "kueue", "managed")],
)  # fmt: skip
def test_alerts_use_only_metrics_that_are_scraped(cloud: str, scheduler: str, autoscaler: str) -> None:
    wanted = {"nodes": 100, "scheduler": scheduler, "autoscaler": autoscaler, "job": {"nodes": 1}}
    output = generate(intent.with_defaults(cloud, wanted))
    documents = yaml.safe_load_all(output.files.get("kubernetes/monitors.yaml", b""))
    kept: dict[str, str] = {}
    for monitor in filter(None, documents):
        (endpoint,) = next(
            monitor["spec"][key] for key in ("endpoints", "podMetricsEndpoints") if key in monitor["spec"]
        )
        kept[monitor["metadata"]["name"]] = endpoint["metricRelabelings"][0]["regex"]
    for query in queries(output):
        for name in re.findall(r"\b(?:cluster_autoscaler|karpenter|awscni|volcano)_\w+", query):
            reader = next(one for prefix, one in READ_BY.items() if name.startswith(prefix))
            assert re.fullmatch(kept[reader], name), query


def test_an_autoscaler_in_another_cluster_has_no_alerts() -> None:
    wanted = {"nodes": 100, "installer": "cluster-api", "autoscaler": "cluster-autoscaler"}
    output = generate(intent.with_defaults("selfmanaged", wanted))
    assert not any("cluster_autoscaler_" in query for query in queries(output))


def test_no_alert_fires_forever_or_never() -> None:
    """CoreDNS labels the zone of its server block, the root zone; shards and followers see only a part."""
    for cloud in CLOUDS:
        for query in queries(made(cloud)):
            assert "absent(" not in query
            assert 'zone="cluster.local."' not in query
            assert "kueue_" not in query or "kueue_evicted" in query or 'replica_role!="follower"' in query
    assert "DNSSlow" not in {rule["alert"] for rule in rules(made("gke"))}  # Cloud DNS answers there
    own = {rule["alert"] for rule in rules(made("selfmanaged"))}
    assert not own & {"ClusterNearTarget", "ClusterAtTarget"}  # own machines are all there, always
    assert {"ClusterNearTarget", "ControllerDown", "MetricsMissing"} <= {rule["alert"] for rule in rules(made("eks"))}


def test_small_clusters_have_room_for_many_extra_series() -> None:
    """The control plane alone has more series than the nodes of a small cluster."""
    own = sized("eks", 10)
    assert own.room_for > 100 * own.series
    (rule,) = (rule for rule in rules(made("eks", nodes=10)) if rule["alert"] == "PrometheusNearlyFull")
    assert f"> {own.room_for} *" in rule["expr"]
    large = sized("eks", 5000)
    assert large.series_each < large.series
    assert large.room_for >= 2 * large.series_each


def test_buckets_are_dropped_as_prometheus_writes_them() -> None:
    """Prometheus 3 reads le="2" as 2.0."""
    found = values(made("eks"))["kubeApiServer"]["serviceMonitor"]["metricRelabelings"][1]["regex"]
    name = "apiserver_request_duration_seconds_bucket;"
    assert all(re.fullmatch(found, name + le) for le in ("0.2", "2.0", "3", "50.0"))
    assert not any(re.fullmatch(found, name + le) for le in ("0.1", "1.0", "5.0", "10.0", "+Inf"))


def test_prometheus_gets_a_persistent_disk() -> None:
    for cloud in CLOUDS:
        claim = values(made(cloud))["prometheus"]["prometheusSpec"]["storageSpec"]["volumeClaimTemplate"]["spec"]
        assert int(claim["resources"]["requests"]["storage"].removesuffix("Gi")) >= 20
        assert ("storageClassName" in claim) == (cloud == "ack")
    assert "aws-ebs-csi-driver" in made("eks").files["cluster.tf"].decode()
    assert "a default StorageClass" in made("selfmanaged").files["README.md"].decode()


def test_idle_gpu_metrics_are_not_attributed_to_the_exporter_pod() -> None:
    documents = list(yaml.safe_load_all(made("eks").files["kubernetes/gpu-metrics.yaml"]))
    (endpoint,) = documents[-1]["spec"]["podMetricsEndpoints"]
    assert {"action": "labeldrop", "regex": "pod|namespace|container"} in endpoint["relabelings"]


def test_targets_that_do_not_answer_are_not_scraped() -> None:
    """A target that is always down would keep the alert MetricsMissing firing."""
    assert values(made("gke"))["coreDns"] == {"enabled": False}
    assert "coreDns" not in values(made("eks"))
