"""Events of a cluster, from `kubectl get events -A -o json`.

Sources: the autoscaler (TriggeredScaleUp on pods, ScaledUpGroup on its status, ScaleDown on nodes when tainted and
again when the cloud has accepted the deletion), the node controller (RegisteredNode, RemovingNode), the cloud's
controller (DeletingNode), the kubelet (NodeReady, Pulled, Started) and the scheduler (Scheduled).
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from kcheck.addons.calibration.model import NodeTimes, Pod, Recording
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import counted, exact_seconds

REASONS = frozenset((
    "TriggeredScaleUp", "ScaledUpGroup", "ScaleDown", "RegisteredNode", "NodeReady", "DeletingNode", "RemovingNode",
    "Scheduled", "FailedScheduling", "Pulled", "Started",
))  # fmt: skip
_GREW = regex(r"\{(?P<pool>\S+) (?P<old>\d{1,7})->(?P<new>\d{1,7})[ }]")
_SET = regex(r"setting group (?P<pool>\S+) size to (?P<new>\d{1,7}) instead of (?P<old>\d{1,7})\b")
_PULLED = regex(r"^Successfully pulled image \S+ in (?P<alone>[\d.a-zµ]+)(?: \((?P<all>[\d.a-zµ]+) including)?")
_SAME = 120
"""Seconds within which equal growth of a pool is the same request, reported on another pod."""

_LONGEST = 1024
"""Maximum message length that the API server allows."""

_MOST_NODES = 100_000


class Event(NamedTuple):
    """An event of an object; `time` in seconds."""

    time: float
    reason: str
    kind: str
    name: str
    text: str


def shrunk(data: dict[str, object]) -> object:
    """Convert JSON of a relevant event to an Event, of other events to None."""
    about = data.get("involvedObject", data.get("regarding"))
    reason = data.get("reason")
    if not isinstance(about, dict) or not isinstance(reason, str):
        return data
    time = _time(data)
    if reason not in REASONS or time is None:
        return None
    text = str(data.get("message", data.get("note", "")))[:_LONGEST]
    kind, name = str(about.get("kind")), str(about.get("name"))
    return Event(time, reason, kind, name if kind == "Node" else f"{about.get('namespace')}/{name}", text)


def _time(data: dict[str, object]) -> float | None:
    """Return when an event was first seen, in seconds; None if unknown."""
    texts = (data.get(key) for key in ("eventTime", "firstTimestamp", "deprecatedFirstTimestamp"))
    text = next((text for text in texts if isinstance(text, str) and text), "")
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return None


def read_events(events: Iterable[Event]) -> Recording:
    """Convert events to the nodes and pods of a run."""
    ordered = sorted(set(events))  # --watch prints one that changes again
    by_kind = grouped(ordered, lambda event: event.kind)
    growths = list(_growths(ordered))
    of_nodes = by_kind.get("Node", [])
    nodes = _nodes(of_nodes)
    pods, pulls = _pods(by_kind.get("Pod", []))
    found = Recording(
        f"{counted(len(ordered), 'event')} of {counted(len(nodes), 'node')}", nodes, pods=pods, pulls=pulls
    )
    found.requests = [time for time, _, number in growths for _ in range(number)]
    found.pools = len({pool for _, pool, _ in growths})
    found.step = 1 if all(event.time.is_integer() for event in of_nodes) else 0.001
    found.why = {
        "boot": "no TriggeredScaleUp event says when nodes were asked for",
        "boot_spread": "events do not say when each machine was launched",
        "loop": "no event says; record the autoscaler's metrics",
        "delete_call": "events say when nodes are tainted, not when the calls begin, and no calls followed each other",
        "delete_latency": "no node has both events, ScaleDown (removed by cluster autoscaler) and DeletingNode",
        "image_pull": "no Pulled event of a pod that had to wait for a node",
        "pod_start_rate": "fewer than 10 pods that had to wait for a node have a Started event",
    }
    return found


def _growths(events: list[Event]) -> Iterator[tuple[float, str, int]]:
    seen: dict[tuple[str, int, int], float] = {}
    left = _MOST_NODES
    for event in events:
        pattern = {"TriggeredScaleUp": _GREW, "ScaledUpGroup": _SET}.get(event.reason)
        for match in pattern.finditer(event.text) if pattern else ():
            key = match["pool"], int(match["old"]), int(match["new"])
            if 0 < key[2] - key[1] <= left and event.time - seen.get(key, -_SAME) >= _SAME:
                seen[key] = event.time
                left -= key[2] - key[1]
                yield event.time, key[0], key[2] - key[1]


def _nodes(events: list[Event]) -> list[NodeTimes]:
    """Collect the times of each node: first registration and readiness, last deletion."""
    nodes: dict[str, NodeTimes] = {}
    removed: dict[str, float] = {}
    for event in events:
        node = nodes.setdefault(event.name, NodeTimes())
        if event.reason == "RegisteredNode" and node.registered is None:
            node.registered = event.time
        elif event.reason == "NodeReady" and node.ready is None:
            node.ready = event.time
        elif event.reason == "ScaleDown" and event.text.startswith("marked"):
            node.asked = event.time
        elif event.reason == "ScaleDown" and "removed by" in event.text:
            node.answered = event.time
        elif event.reason == "DeletingNode":
            node.gone = event.time
        elif event.reason == "RemovingNode":
            removed[event.name] = event.time
    for name, time in removed.items():
        nodes[name].gone = time if nodes[name].gone is None else nodes[name].gone
    for node in nodes.values():
        if node.registered is None or node.ready is None or node.ready < node.registered:
            node.registered = node.ready = None  # a controller or a kubelet that started again
    return list(nodes.values())


def _pods(events: list[Event]) -> tuple[list[Pod], list[float]]:
    """Return the pods that waited for a node, and the total pull time of each."""
    waited = {event.name for event in events if event.reason in ("FailedScheduling", "TriggeredScaleUp")}
    bound: dict[str, float] = {}
    started: dict[str, float] = {}
    pulls: dict[str, float] = {}
    for event in events:
        if event.name not in waited:
            continue
        if event.reason == "Scheduled":
            bound.setdefault(event.name, event.time)
        elif event.reason == "Started":
            started.setdefault(event.name, event.time)
        elif event.reason == "Pulled" and (match := _PULLED.match(event.text)):
            with suppress(ValueError, OverflowError):  # no duration, or one below a millisecond
                pulls[event.name] = pulls.get(event.name, 0) + float(exact_seconds(match["all"] or match["alone"]))
    return [Pod(bound[name], started[name]) for name in bound if name in started], list(pulls.values())
