"""Test that a real scheduler puts pods where kcheck says they fit; KCHECK_UPDATE=1 stores its verdicts."""

from __future__ import annotations

import os
import time
from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING

import pytest

from tests.apiserver import server
from tests.scale.drawn_pods import STORED, Case, Cases, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.apiserver.client import Client, Object
    from tests.apiserver.server import Programs, Server
    from tests.conftest import Read
    from tests.scale.drawn_pods import Node

NAMESPACE = "scheduled"
SCHEDULED_WITHIN = 300
"""Seconds in which all pods must be scheduled; 30 are usual."""


def make_node(client: Client, node: Node) -> None:
    """Create a ready node; the server adds a taint to nodes that are not ready."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    status = {"capacity": node.resources, "allocatable": node.resources, "conditions": [ready]}
    made = client.create({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": node.labels}, "status": status,
    })  # fmt: skip
    assert made.taken, made.message
    made.body["spec"]["taints"] = node.taints
    assert client.replace(made.body).taken


def make_pods(client: Client, case: Case, node: Node) -> None:
    """Create the pods of a case for one of its nodes, whose own resource they request."""
    for copy in range(case.copies):
        pod: Object = deepcopy(case.pod)
        pod["metadata"]["name"] = f"{node.name}-{copy}"
        pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("limits", {})[node.own_resource] = "1"
        body = manifest(pod).encode()
        path = f"/api/v1/namespaces/{NAMESPACE}/pods?fieldValidation=Strict"
        made = client.ask("POST", path, body, **{"Content-Type": "application/yaml"})
        assert made.taken, f"{made.message}\n{case.text}"


def placed(client: Client) -> Counter[str]:
    """Return how many pods each node got, once all pods are scheduled or refused."""
    last = time.monotonic() + SCHEDULED_WITHIN
    while time.monotonic() < last:
        pods = client.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").body["items"]
        if all("nodeName" in one["spec"] or refused(one) for one in pods):
            return Counter(one["spec"]["nodeName"] for one in pods if "nodeName" in one["spec"])
        time.sleep(1)
    raise TimeoutError("the scheduler does not judge all pods")


def refused(pod: Object) -> bool:
    """Return whether the scheduler found no node for a pod."""
    return any(one.get("reason") == "Unschedulable" for one in pod["status"].get("conditions", ()))


def disagreements(cases: Cases, counts: Counter[str]) -> Iterator[str]:
    for one in cases.all:
        said = cases.disagreement(one, [counts[node.name] for node in cases.nodes(one)])
        if said:
            yield said


def test_kcheck_agrees_with_the_scheduler(client: Client, programs: Programs, api: Server, read: Read) -> None:
    if not programs.scheduler:
        pytest.skip("KCHECK_SCHEDULER names no kube-scheduler")
    cases = Cases(read)
    client.have_namespace(NAMESPACE)
    for case in cases.all:
        for node in cases.nodes(case):
            make_node(client, node)
            make_pods(client, case, node)
    with server.scheduling(programs.scheduler, api):  # it judges no pod before it knows all nodes
        counts = placed(client)
    lines = [
        " ".join([one.name, one.digest, *(str(counts[node.name]) for node in cases.nodes(one))]) for one in cases.all
    ]
    if os.environ.get("KCHECK_UPDATE"):
        STORED.write_text("".join(f"{line}\n" for line in lines))
    wrong = list(disagreements(cases, counts))
    assert not wrong, "\n".join(wrong[:5])
    assert lines == STORED.read_text().splitlines()
