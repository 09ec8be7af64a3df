"""The trees whose first limits were worked out by hand: what kcheck says of them, and the tables of their README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from kcheck.commands.cli import cli

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases" / "walls"
TREES = sorted(path.parent for path in CASES.glob("*/*/walls.yaml"))
CLOUDS = {"eks": "EKS", "gke": "GKE", "aks": "AKS", "ack": "ACK", "selfmanaged": "Other clusters"}


def name(tree: Path) -> str:
    """Return the name of a tree, such as eks/custom-networking."""
    return f"{tree.parent.name}/{tree.name}"


def by_hand(tree: Path) -> dict[str, Any]:
    """Read the calculation of a tree."""
    read: dict[str, Any] = yaml.safe_load((tree / "walls.yaml").read_text())
    return read


def printed(tree: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """Run `capacity` on a tree and return its cluster."""
    run = CliRunner().invoke(cli, ["capacity", str(tree), *expected["arguments"], "--format", "json"])
    clusters: list[dict[str, Any]] = json.loads(run.stdout)["clusters"]
    nothing: dict[str, Any] = {"target": None, "reaches": None, "walls": [], "summary": ""}
    return next((one for one in clusters if expected.get("cluster") in (None, one["name"])), nothing)


def walls(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the walls that code decides: not the quotas of an account."""
    return [one for one in cluster["walls"] if one["mechanism"] != "quota"]


def agrees(wall: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a wall is at the number of nodes worked out by hand, or within its bounds."""
    low, high = expected["nodes"] if isinstance(expected["nodes"], list) else [expected["nodes"]] * 2
    if wall["mechanism"] != expected["mechanism"] or wall["at_least"] is None:
        return False
    return low <= wall["at_least"] and (high is None or (wall["at_most"] is not None and wall["at_most"] <= high))


def unnamed(cluster: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the inputs that decide the first limit and that kcheck does not name."""
    unknown = [one["arithmetic"] for one in walls(cluster) if one["nodes"] is None]
    text = " ".join([cluster["summary"], *unknown])
    return [one for one in expected["not_known"] if one not in text]


def is_first_limit_right(tree: Path) -> bool:
    """Whether kcheck's first limit is the one worked out by hand, or names what it depends on."""
    expected = by_hand(tree)
    cluster = printed(tree, expected)
    if expected["not_known"]:
        return cluster["reaches"] is None and not unnamed(cluster, expected)
    first = next((one for one in walls(cluster) if one["at_least"] is not None), None)
    return first is not None and agrees(first, expected["walls"][0])


def nodes(wall: dict[str, Any]) -> str:
    """Write the number of nodes of a limit, or its bounds."""
    low, high = wall["nodes"] if isinstance(wall["nodes"], list) else [wall["nodes"]] * 2
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def link(source: str, cloud: str) -> str:
    """Write a source as a link: a page, or a file of the benchmark."""
    label = source.partition("#")[0].rstrip("/").rpartition("/")[2]
    return f"[{label}]({source if ':' in source else f'{cloud}/{source}'})"


def row(tree: Path) -> str:
    """Write the line of a tree: its first limit, or the lowest known one and what the first depends on."""
    expected, cloud = by_hand(tree), tree.parent.name
    first = expected["walls"][0]
    limit = f"{nodes(first)} ({first['mechanism']})"
    if expected["not_known"]:
        limit = f"not known: {', '.join(f'`{one}`' for one in expected['not_known'])}; at most {limit}"
    target = "not known" if expected["target"] is None else f"{expected['target']:,}"
    arithmetic = first["arithmetic"].replace("|", r"\|")
    sources = " ".join(link(one, cloud) for one in first["source"].split())
    return f"| [{tree.name}]({name(tree)}) | {target} | {limit} | {first['of']}: {arithmetic} | {sources} |\n"


def tables() -> str:
    """Write a table for each cloud."""
    head = "| tree | target | first limit | arithmetic | source |\n|---|---|---|---|---|\n"
    parts = []
    for cloud, title in CLOUDS.items():
        rows = [row(tree) for tree in TREES if tree.parent.name == cloud]
        parts.append(f"\n### {title}: {len(rows)} trees\n\n{head}{''.join(rows)}")
    return "".join(parts) + "\n"
