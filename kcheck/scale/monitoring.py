"""Prometheus servers and the memory they need, and exporters of GPU metrics."""

from kcheck.model import Cluster, Monitor
from kcheck.scale.word_helpers import anyone, computed, runs
from kcheck.scale.world import World
from kcheck.text.need import need
from kcheck.text.regex import regex
from kcheck.text.values import Unset, Value, known, mapped

_MIB = 1 << 20
_GPU_METRICS = regex(
    r"dcgm|gpu-operator|gpu[-_]exporter|nvidia[-_](?:gpu-)?metrics|cloudwatch-observability|arms-prometheus"
    r"|neuron-monitor|datadog|dynatrace|newrelic"
)
"""Names of charts, add-ons and images that export the metrics of GPUs, or may."""


def scrapes(monitor: Monitor, world: World) -> Value[bool]:
    """Whether a server scrapes its cluster's nodes."""
    if not isinstance(monitor.scrapes, Unset):
        return monitor.scrapes
    account, space = known(monitor.account), known(monitor.namespace)
    roles = [one for one in world.deployed.beside(monitor).watchers if {"nodes", "*"} & {*need(one.resources)}]
    own = (pair for one in roles for pair in one.accounts)
    return computed(monitor, any(name == account and space in (of, None) for of, name in own))


def memory_needed(monitor: Monitor, world: World) -> int:
    """Return the bytes of memory that each shard of a server needs."""
    each = world.numbers.limits("any")["prometheus.memory_per_node"].number * _MIB
    nodes, parts = need(world.sizes.around(monitor)), need(shards(monitor, world))
    return -(-nodes * each // max(1, parts))


def shards(monitor: Monitor, _world: World) -> Value[int]:
    """Count the shards of a server; 1 if unset."""
    return computed(monitor, 1) if isinstance(monitor.shards, Unset) else monitor.shards


def gpu_metrics(cluster: Cluster, world: World) -> Value[bool]:
    """Whether the code of a cluster exports its GPU metrics, or may do so."""
    listed = mapped(cluster.monitored, lambda parts: "DCGM" in parts)
    return anyone(cluster, [*runs(cluster, frozenset({_GPU_METRICS}), world), listed])
