"""Parts of a cluster that a small one begins without: their files and flags."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL = 32
"""Most training nodes of a cluster that begins small: less than a team of people looks after."""

ALONE: dict[str, object] = {"scheduler": "none", "teams": [{"name": "training", "share": 100}], "tiers": ["normal"]}
"""Fields of an intent for a single team, whose jobs no queue holds."""


class Part(NamedTuple):
    """Part of a generated cluster: what it adds, and patterns of its files."""

    adds: str
    files: tuple[str, ...]


PARTS = {
    "monitoring": Part(
        "Prometheus with alerts and a dashboard, and logs",
        (
            "kubernetes/dashboard.yaml", "kubernetes/monitor*.yaml", "kubernetes/gpu-metrics.yaml",
            "values/monitoring.yaml", "values/logs.yaml",
        ),
    ),
    "storage": Part(
        "a file system for checkpoints, which all nodes write to and which outlives a job",
        ("kubernetes/storage*.yaml", "kubernetes/checkpoints.yaml", "values/volumes.yaml"),
    ),
    "dns": Part("a DNS cache on each node, and DNS that grows with the cluster", ("kubernetes/*dns.yaml",)),
    "prepull": Part("images that are on a node before a job needs them", ("kubernetes/prepull.yaml",)),
    "samples": Part("an MPIJob and a TrainJob for a queue to start", ("jobs/mpi.yaml", "jobs/trainjob.yaml")),
    "quotas": Part("code that requests the quotas", ("quotas.tf", "quotas.sh")),
    "login": Part("a login for the cache of Docker Hub, where it can do without", ()),
    "tests": Part("tests of the Terraform code, and what other linters report", ("tests/*", "other-linters.md")),
}  # fmt: skip
"""Parts by the name of their flag."""


def is_wanted(path: str, parts: tuple[str, ...]) -> bool:
    """Whether a file belongs to one of these parts, or to none that can be left out."""
    owner = next((name for name, part in PARTS.items() if any(fnmatch(path, one) for one in part.files)), None)
    return owner is None or owner in parts


def small(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields with which a small cluster begins; empty for a larger one."""
    nodes = given.get("nodes")
    return {**ALONE, "parts": []} if isinstance(nodes, int) and nodes <= SMALL else {}


def grown(given: Mapping[str, object], teams: str, parts: list[str]) -> dict[str, object]:
    """Add teams, by their names, and parts to the fields of an intent."""
    fields = dict(given)
    if teams:
        names = teams.split(",")
        fields = {name: value for name, value in fields.items() if ALONE.get(name) != value}
        fields["teams"] = [{"name": name, "share": 100 // len(names)} for name in names]
    if parts:
        there = [*map(str, have), *parts] if isinstance(have := fields.get("parts"), list) else PARTS
        fields["parts"] = [name for name in PARTS if name in there]
    return fields
