"""What the manifests are filled with, whatever the cloud: shares of teams, tiers, the sample job."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck import machines, units
from kcheck.capacity.deletion import batch_for
from kcheck.generate import recommended
from kcheck.profiles import flag_default, limits

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent
    from kcheck.generate.pools import Pool


class Share(NamedTuple):
    """What a team always gets, in whole nodes."""

    name: str
    percent: int
    nodes: int


def context(intent: Intent, pools: list[Pool]) -> dict[str, Any]:
    """What all manifests are filled with."""
    usual = recommended.values(intent.cloud)
    machine = machines.machine(intent.cloud, intent.machine)
    return {
        "shares": _shares(intent),
        "taint": "nvidia.com/gpu" if intent.gpus else str(usual["label.taint"]),
        "dns_replicas": int(usual["dns.least"]) + ceil(intent.nodes / int(usual["dns.most"])),
        "vcpus": (machine.vcpus if machine else None) or 0,
        **_deletion(intent.nodes, int(usual["autoscaler.burst"])),
        "spot_pools": [pool for pool in pools if pool.spot],
        "on_demand_pools": [pool for pool in pools if not pool.spot],
    }


def _deletion(target: int, burst: int) -> dict[str, int]:
    """How the autoscaler deletes all nodes in time: so many at once, with so many requests a second and in a burst."""
    goal = limits("any")["autoscaler.deletion_time"].number
    qps = limits("any")["autoscaler.client_qps_of_bursts"].number
    scan = units.seconds(str(flag_default("scan-interval", None)))
    while (batch := batch_for(target, goal, scan, qps)) is None:
        qps *= 2
    return {"deletion_batch": batch, "client_qps": qps, "client_burst": burst * qps}


def _shares(intent: Intent) -> list[Share]:
    """The nodes of each team; where the shares are all of them, so are the nodes."""
    found = [Share(team.name, team.share, intent.nodes * team.share // 100) for team in intent.teams]
    if sum(team.share for team in intent.teams) == 100:
        left = intent.nodes - sum(share.nodes for share in found)
        found = [share._replace(nodes=share.nodes + (i < left)) for i, share in enumerate(found)]
    return found
