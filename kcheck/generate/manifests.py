"""Template values of manifests: shares, tiers, queues, the sample job."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heapreplace
from ipaddress import ip_network
from math import ceil, lcm
from typing import NamedTuple

from kcheck.config.config import ConfigError
from kcheck.config.numbers import flags, profiles
from kcheck.config.numbers.profiles import limits
from kcheck.generate import jobs, monitoring, recommended
from kcheck.generate.intent import Intent
from kcheck.generate.pools import Pool
from kcheck.generate.ranges import Layout
from kcheck.scale import deletion
from kcheck.scale.deletion import batch_for
from kcheck.scale.usage.requests import cpu_text
from kcheck.text import units

CARD = "nvidia.com/gpu"
PROVISIONING = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
"""ProvisioningRequest class that gets all nodes of a job at once, from one pool or similar ones.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
"""


class Share(NamedTuple):
    """Guaranteed whole nodes of a team."""

    name: str
    percent: int
    nodes: int


class Tier(NamedTuple):
    """Priority class of a tier of jobs."""

    name: str
    number: int


class Flavor(NamedTuple):
    """Kueue flavor: nodes of a market and, on demand, with fast networking."""

    name: str
    market: str
    near: jobs.FastNeighbours | None
    nodes: int
    interfaces: int


class FlavorQuota(NamedTuple):
    """Quota of resources in a queue's flavor."""

    flavor: str
    resources: list[tuple[str, int | str]]


class Queue(NamedTuple):
    """Guaranteed quota of a team by flavor; without `team`, quota to lend."""

    name: str
    team: str
    amounts: list[FlavorQuota]


def context(intent: Intent, pools: list[Pool], layout: Layout, target: int) -> dict[str, object]:
    """Return the template values of all manifests; a cloud may override FLAGS."""
    usual = recommended.values(intent.cloud)
    fast, ready = jobs.interfaces(intent), _ready(intent, target)
    flavors, covered = _flavors(intent, pools, fast), [CARD if intent.gpus else "cpu"]
    covered += [fast.resource] if fast.number else []
    lowest, step = int(usual["priority.base"]), int(usual["priority.step"])
    return {
        "shares": shares(intent), "tiers": [Tier(name, lowest + i * step) for i, name in enumerate(intent.tiers)],
        "team_quotas": _quota(intent), "teams": "|".join(team.name for team in intent.teams),
        "taint": CARD if intent.gpus else str(usual["label.taint"]), "vcpus": jobs.vcpus(intent) or 0,
        "job": jobs.job(intent, pools), "memory_known": jobs.memory_left(intent) is not None, "flavors": flavors,
        "by_pool": jobs.by_pool(intent), "queues": _queues(intent, flavors, covered), "covered": covered,
        "deserved": [_deserved(intent, share.nodes) for share in shares(intent)],
        "ready_minutes": ready, "join_seconds": ready * 60,
        "dns_replicas": dns_replicas(intent),
        "dns_address": str(ip_network(layout.ranges["services"])[int(usual["network.dns"])]),
        **monitoring.context(intent, target), **_deletion(intent, target),
        "spot_pools": [pool for pool in pools if pool.spot],
        "on_demand_pools": [pool for pool in pools if not pool.spot], "efa_interfaces": jobs.efa(intent), "fast": fast,
        "karpenter": intent.autoscaler == "karpenter", "own_autoscaler": intent.autoscaler == "cluster-autoscaler",
        **FLAGS, "device_plugin": intent.gpus > 0,
        "provisioning_class": PROVISIONING if intent.autoscaler == "cluster-autoscaler" else "",
        "cache": intent.scheduler == "volcano" or not {"cache", "login", "samples"}.isdisjoint(intent.parts),
    }  # fmt: skip


def dns_replicas(intent: Intent) -> int:
    """Return the replicas of CoreDNS when all nodes are up."""
    usual = recommended.values(intent.cloud)
    return int(usual["dns.least"]) + ceil(intent.nodes / int(usual["dns.most"]))


FLAGS: dict[str, object] = profiles.load_own("any", "template_flags")
"""Defaults of the template values that a cloud may override."""


def autoscaler_chart(intent: Intent) -> str:
    """Return the autoscaler's chart version. Raises ConfigError if none fits."""
    found = flags.chart_of(intent.minor)
    if found is None:
        raise ConfigError(f"kubernetes: kcheck knows no chart of the cluster autoscaler for {intent.kubernetes}")
    return found


def apportioned(totals: Iterable[int], percents: Sequence[int]) -> list[list[int]]:
    """Split each total into whole parts by `percents`.

    Each unit goes to the part furthest below its percent (Webster's method), so more units never shrink a part.
    The percentage left of a hundred becomes an additional last part.
    """
    rest = 100 - sum(percents)
    weights = [*percents, rest] if rest > 0 else percents
    steps = [lcm(*weights) // weight for weight in weights]
    heap = [(step, i) for i, step in enumerate(steps)]
    heapify(heap)
    found = []
    for total in totals:
        parts = [0] * len(weights)
        for _ in range(total):
            used, i = heap[0]
            parts[i] += 1
            heapreplace(heap, (used + 2 * steps[i], i))
        found.append(parts)
    return found


def apportioned_in_jobs(totals: Sequence[int], percents: Sequence[int], together: int) -> list[list[int]]:
    """Split nodes of flavors in whole jobs of `together` nodes where better.

    Kueue preempts others' jobs only for a job that fits into its team's part of a flavor:
    https://kueue.sigs.k8s.io/docs/concepts/preemption/#classic-preemption
    """
    by_percent = apportioned(totals, percents)
    left, jobs_of = [sum(parts) for parts in zip(*by_percent, strict=True)], [0] * len(percents)
    in_jobs = []
    for total in totals:
        parts = [0] * len(left)
        for _ in range(total // together):
            able = [i for i in range(len(percents)) if left[i] >= together]
            if able:
                i = min(able, key=lambda i: (2 * jobs_of[i] + 1) / percents[i])
                jobs_of[i] += 1
                parts[i] += together
                left[i] -= together
        in_jobs.append(parts)
    for total, parts in zip(totals, in_jobs, strict=True):
        for i in range(len(left)):
            rest = min(left[i], total - sum(parts))
            parts[i] += rest
            left[i] -= rest
    fit = sum(part // together for parts in by_percent for part in parts[: len(percents)])
    return in_jobs if sum(jobs_of) > fit else by_percent


def shares(intent: Intent) -> list[Share]:
    """List the guaranteed nodes of each team."""
    (parts,) = apportioned([intent.nodes], [team.share for team in intent.teams])
    return [Share(team.name, team.share, part) for team, part in zip(intent.teams, parts, strict=False)]


class Quota(NamedTuple):
    """Quota of a team's namespace, memory in GiB; `cpu` is 0 for unknown machines."""

    name: str
    nodes: int
    gpus: int
    cpu: int
    memory: int
    pods: int


def _quota(intent: Intent) -> list[Quota]:
    """List namespace quotas: the team's share, or all nodes with queues."""
    usual, vcpus = recommended.values(intent.cloud), jobs.vcpus(intent) or 0
    result = []
    for share in shares(intent):
        nodes = share.nodes if intent.scheduler == "none" else intent.nodes
        cpu = nodes * vcpus
        memory, pods = cpu * int(usual["team.memory"]), nodes * int(usual["team.pods"])
        result.append(Quota(share.name, nodes, nodes * intent.gpus, cpu, memory, pods))
    return result


def _deletion(intent: Intent, target: int) -> dict[str, int]:
    """Return autoscaler settings that delete all training nodes in time."""
    burst = int(recommended.values(intent.cloud)["autoscaler.burst"])
    goal = limits("any")["autoscaler.deletion_time"].number
    qps = limits("any")["autoscaler.client_qps_of_bursts"].number
    scan = units.seconds(str(flags.default("scan-interval", None)))
    while (batch := batch_for(intent.nodes, goal, scan, qps)) is None:
        qps *= 2
    share = deletion.percentage(len(intent.zones))
    return {
        "deletion_batch": batch, "client_qps": qps, "client_burst": burst * qps,
        "unready_percentage": share, "unready_nodes": deletion.tolerated(target, batch, share),
    }  # fmt: skip


# --- queues


def _flavors(intent: Intent, pools: list[Pool], fast: jobs.Interfaces) -> list[Flavor]:
    """List on-demand flavors by zone or pool, so that a job stays in one, then spot."""
    found: dict[jobs.FastNeighbours, int] = {}
    for pool in pools:
        if not pool.spot:
            near = jobs.fast_neighbours(intent, pool)
            found[near] = found.get(near, 0) + pool.nodes
    own = [Flavor(f"on-demand-{near.name}", "on-demand", near, nodes, fast.number) for near, nodes in found.items()]
    spot = sum(pool.nodes for pool in pools if pool.spot)
    return [*own, Flavor("spot", "spot", None, spot, fast.number if fast.on_spot else 0)] if spot else own


def _queues(intent: Intent, flavors: list[Flavor], covered: list[str]) -> list[Queue]:
    """List one queue per team, and one that lends the nodes without a team."""
    names = [*((team.name, team.name) for team in intent.teams), ("shared", "")]
    each = intent.gpus * 1000 or jobs.millicores(intent)  # thousandths of GPUs, or of CPUs
    totals, percents = [flavor.nodes for flavor in flavors], [team.share for team in intent.teams]
    parts = apportioned_in_jobs(totals, percents, intent.job_nodes)
    result = []
    for (name, team), own in zip(names, zip(*parts, strict=True), strict=False):
        amounts = [
            FlavorQuota(
                flavor.name, list(zip(covered, [cpu_text(nodes * each), nodes * flavor.interfaces], strict=False))
            )
            for flavor, nodes in zip(flavors, own, strict=True)
        ]
        result.append(Queue(name, team, amounts))
    return result


def _deserved(intent: Intent, nodes: int) -> list[tuple[str, int | str]]:
    """List the deserved resources of a Volcano queue.

    An unnamed resource counts as zero, so pods that use it could be stopped.
    """
    usual = recommended.values(intent.cloud)
    most = nodes * (jobs.vcpus(intent) or limits("any")["autoscaler.cores_of_node"].number)
    memory = ("memory", f"{most * int(usual['team.memory'])}Gi")
    if intent.gpus:
        found = jobs.interfaces(intent)
        fast = [(found.resource, nodes * found.number)] if found.number else []
        return [(CARD, nodes * intent.gpus), *fast, ("cpu", most), memory]
    return [("cpu", cpu_text(nodes * jobs.millicores(intent))), memory]


def _ready(intent: Intent, target: int) -> int:
    """Return Kueue's ready timeout in minutes: node start plus image pulls."""
    usual = recommended.values(intent.cloud)
    seconds = target * limits("any")["scale_up.seconds"].number / 1000
    return max(int(usual["queue.ready"]), ceil(seconds / 60)) + int(usual["queue.images"])
