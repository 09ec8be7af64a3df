"""Turn simulated runs into recordings: events and tables as a real run would leave them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kcheck.scale.simulate.model import NEVER
from kcheck.scale.simulate.run import _Simulation

if TYPE_CHECKING:
    from kcheck.scale.simulate.model import Case
    from kcheck.scale.simulate.nodes import Node

_BEGIN = 1_795_000_000


def simulated(case: Case) -> _Simulation:
    """Run a simulation to its end and return it with its nodes."""
    run = _Simulation(case)
    run.run()
    return run


def start(node: Node) -> float:
    """Return when the pod of a node began to work."""
    return node.ready + sum(node.spent[phase] for phase in ("pull", "turn", "wait"))


def as_events(run: _Simulation, *, new_api: bool = False) -> str:
    """Return the events of a run as `kubectl get events` prints them, in core/v1 or events.k8s.io/v1."""
    items: list[dict[str, object]] = []

    def add(time: float, reason: str, kind: str, name: str, message: str, source: str) -> None:
        if time == NEVER:
            return
        about = {"kind": kind, "name": name, "namespace": "default" if kind == "Pod" else ""}
        moment = datetime.fromtimestamp(_BEGIN + int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        common = {"metadata": {"name": f"{name}.{len(items):x}"}, "reason": reason, "type": "Normal"}
        if new_api:
            items.append({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", **common, "regarding": about, "note": message,
                "deprecatedFirstTimestamp": moment, "deprecatedSource": {"component": source}, "eventTime": None,
            })  # fmt: skip
        else:
            items.append({
                "apiVersion": "v1", "kind": "Event", **common, "involvedObject": about, "message": message, "count": 1,
                "firstTimestamp": moment, "lastTimestamp": moment, "eventTime": None, "source": {"component": source},
            })  # fmt: skip

    size, grown = 0, 0
    for event in run.events:
        if event.what == "scale-up":
            text = f"pod triggered scale-up: [{{{event.pool} {size}->{size + event.nodes} (max: 1000)}}]"
            for _ in range(event.nodes):
                add(event.time, "TriggeredScaleUp", "Pod", f"work-{grown}", text, "cluster-autoscaler")
                grown += 1
            size += event.nodes
    for i, node in enumerate(run.fleet.nodes):
        name, pod = f"ip-10-0-{i >> 8}-{i & 255}.ec2.internal", f"work-{i}"
        answered = node.gone - run.cloud.delete_latency
        add(
            node.registered,
            "RegisteredNode",
            "Node",
            name,
            f"Node {name} event: Registered Node {name} in Controller",
            "node-controller",
        )
        add(node.ready, "NodeReady", "Node", name, f"Node {name} status is now: NodeReady", "kubelet")
        add(node.ready, "Scheduled", "Pod", pod, f"Successfully assigned default/{pod} to {name}", "default-scheduler")
        pull = f"{run.cloud.pull:g}s"
        text = f'Successfully pulled image "registry.example.com/work:1" in {pull} ({pull} including waiting). Image size: 1 bytes.'
        add(node.ready + run.cloud.pull, "Pulled", "Pod", pod, text, "kubelet")
        add(start(node), "Started", "Pod", pod, "Started container work", "kubelet")
        add(
            node.tainted,
            "ScaleDown",
            "Node",
            name,
            "marked the node as toBeDeleted/unschedulable",
            "cluster-autoscaler",
        )
        add(answered, "ScaleDown", "Node", name, "nodes removed by cluster autoscaler", "cluster-autoscaler")
        add(
            node.gone,
            "DeletingNode",
            "Node",
            name,
            f"Deleting node {name} because it does not exist in the cloud provider",
            "cloud-node-lifecycle-controller",
        )
        add(
            node.gone + 2,
            "RemovingNode",
            "Node",
            name,
            f"Node {name} event: Removing Node {name} from Controller",
            "node-controller",
        )
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4)


def as_answer(run: _Simulation, step: int = 15) -> str:
    """Return Prometheus' reply about a run, with samples `step` seconds apart."""
    cloud, nodes = run.cloud, run.fleet.nodes
    end = max(node.gone for node in nodes)
    series: dict[tuple[tuple[str, str], ...], list[list[object]]] = {}
    for time in range(0, int(end) + 120, step):
        ready = sum(node.ready <= time < node.gone for node in nodes)
        young = sum(node.launched <= time < node.ready for node in nodes)
        idle = sum(start(node) + node.spent["work"] <= time < node.gone for node in nodes)
        loops = [point for point in run.timeline if point.time <= time]
        work = sum(cloud.loop + cloud.loop_per_node * _registered(run, point.time) for point in loops)
        work += sum(9 for event in run.events if event.time <= time)  # loops that do something take longer
        down = sum(node.gone - cloud.delete_latency <= time for node in nodes)
        values = {
            ("function_duration_seconds_count", "function", "main"): len(loops),
            ("function_duration_seconds_sum", "function", "main"): work,
            ("function_duration_seconds_sum", "function", "scaleUp"): 1000,
            ("scaled_up_nodes_total", "", ""): sum(
                e.nodes for e in run.events if e.what == "scale-up" and e.time <= time
            ),
            ("nodes_count", "state", "ready"): ready,
            ("nodes_count", "state", "notStarted"): young,
            ("unneeded_nodes_count", "", ""): idle,
        }
        if down:
            values["scaled_down_nodes_total", "reason", "empty"] = down
        for (name, label, value), number in values.items():
            key = (("__name__", f"cluster_autoscaler_{name}"), *([(label, value)] if label else []))
            series.setdefault(key, []).append([_BEGIN + time, f"{number}"])
    result = [{"metric": dict(key), "values": points} for key, points in series.items()]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def _registered(run: _Simulation, time: float) -> int:
    return sum(node.registered <= time < node.gone for node in run.fleet.nodes)


def as_table(run: _Simulation) -> str:
    """Return the nodes of a run as CSV, one node a row."""
    lines = [
        "# one row a node",
        "launched,registered,ready,pod_bound,pod_running,pod_succeeded,delete_asked,delete_answered,gone",
    ]
    for node in run.fleet.nodes:
        times = (
            node.launched, node.registered, node.ready, node.ready, start(node),
            start(node) + node.spent["work"],
            node.tainted + run.case.settings.taint_delay, node.gone - run.cloud.delete_latency, node.gone,
        )  # fmt: skip
        lines.append(",".join("" if time == NEVER else f"{time:.1f}" for time in times))
    return "\n".join(lines) + "\n"
