"""Split training nodes into pools below every limit."""

from math import ceil
from typing import NamedTuple

from kcheck.config.numbers.profiles import limits
from kcheck.generate import recommended
from kcheck.generate.intent import Intent, label
from kcheck.generate.recommended import non_training_nodes
from kcheck.inventory.clouds.registry import cloud


class Pool(NamedTuple):
    """Node pool to generate; an on-demand one has one zone. `nodes` is its maximum."""

    name: str
    zones: tuple[str, ...]
    nodes: int
    spot: bool
    machines: tuple[str, ...]

    @property
    def machine(self) -> str:
        """First machine type."""
        return self.machines[0]


def split(intent: Intent) -> list[Pool]:
    """Split an intent into pools: on-demand ones by zone, spot ones over all zones.

    A job talks within a zone, so on-demand pools use no more zones than the usual job fits into whole.
    """
    spot = intent.spot_nodes
    rest = intent.nodes - spot
    used = max(1, min(len(intent.zones), rest // intent.job_nodes)) if rest else 0
    largest = _largest(intent)
    result = []
    for zone, nodes in zip(intent.zones, in_jobs(rest, used, intent.job_nodes if rest <= largest else 1), strict=False):
        for number, size in enumerate(_sizes(nodes, largest, intent, intent.job_nodes), 1):
            result.append(Pool(f"gpu-{label(zone)}{number}", (zone,), size, spot=False, machines=(intent.machine,)))
    for number, size in enumerate(_sizes(spot, largest, intent), 1):
        result.append(Pool(f"gpu-spot{number}", intent.zones, size, spot=True, machines=intent.machines))
    return result if intent.gpus else [pool._replace(name=pool.name.replace("gpu", "cpu")) for pool in result]


def _largest(intent: Intent) -> int:
    """Return the largest pool size: as recommended, or more if needed."""
    usual = recommended.values(intent.cloud)
    room = int(usual["pools.most"]) - len(intent.zones)  # each zone rounds up
    return max(int(usual["pools.nodes"]), ceil(intent.nodes / room))


def system_nodes(intent: Intent) -> int:
    """Return the maximum number of nodes that are not for training."""
    return non_training_nodes(intent.cloud, intent.nodes)


def system_parallel(intent: Intent) -> int:
    """Return how many system nodes an upgrade replaces at a time."""
    share, most = limits("any")["upgrade.share"].number, limits(intent.cloud).get("pool.parallel_upgrades")
    found = ceil(system_nodes(intent) * share / 100)
    return min(found, most.number) if most else found


def in_scale_set(intent: Intent) -> bool:
    """Whether pools are scale sets with a fast network inside."""
    return intent.autoscaler == "managed" and cloud(intent.cloud).joins_in_scale_set(intent.machine)


def _sizes(nodes: int, largest: int, intent: Intent, together: int = 1) -> list[int]:
    """List pool sizes: equal ones, or multiples of a job that must stay in one pool."""
    if not in_scale_set(intent):
        return evenly(nodes, _count(nodes, largest, intent))
    job = min(together, nodes)
    most = max(limits(intent.cloud)["pool.quota"].number, job)
    even = evenly(nodes, ceil(nodes / most))
    if not nodes or even[-1] >= job:
        return even
    full = most // job * job
    return [full] * (nodes // full) + [size for size in (nodes % full,) if size]


def _count(nodes: int, largest: int, intent: Intent) -> int:
    """Return the number of pools: few, so that the usual job fits into one."""
    rated = recommended.values(intent.cloud).get("pools.rated")
    most = int(rated or max(largest, limits("any")["large_pool.nodes"].number))
    return max(ceil(nodes / most), min(ceil(nodes / largest), max(1, nodes // intent.job_nodes)))


def in_jobs(total: int, parts: int, together: int) -> list[int]:
    """Split a total evenly, or into multiples of a job: 20 into 8, 8, 4."""
    even, jobs = evenly(total, parts), total // together
    if sum(part // together for part in even) == jobs:
        return even
    *rest, last = (number * together for number in evenly(jobs, parts))
    return [*rest, last + total % together]


def evenly(total: int, parts: int) -> list[int]:
    """Split a total into parts that differ by at most one; empty for 0."""
    return [] if not total else [total // parts + (i < total % parts) for i in range(parts)]
