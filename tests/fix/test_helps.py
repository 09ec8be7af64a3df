"""Help for people: in the language of the file, and proved by a second run where it gives an attribute and a value."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

import kcheck
from kcheck.engine import rules
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcheck.api import Project
    from kcheck.text.findings import Finding
    from tests.conftest import Write

UNPROVED = {
    "autoscaler-starved": "of the requests and of the limits",
    "balanced-autoscaling-profile": "in a map that the module call has to have whole",
    "delay-after-failure": "in a block that a module makes only when another input is set",
    "extended-support-price": "in a map whose name depends on the version of the EKS module",
    "fabric-nodes-apart": "of the EKS module, or of a launch template that the code may lack",
    "fabric-not-enabled": "of the EKS module, or of a launch template that the code may lack",
    "idle-nodes-kept-long": "in a block that a module makes only when another input is set",
    "late-machine-awaited": "in a block that a module makes only when another input is set",
    "pod-range-too-small": "together with network_plugin",
    "preemptible-nodes": "in place of preemptible",
    "slow-node-deletion": "in a block that a module makes only when another input is set",
    "slow-upgrades": "together with max_unavailable",
    "unready-tolerance-low": "in a block that a module makes only when another input is set",
    "zonal-control-plane": "together with node_locations, of the cluster and of its pools",
}
"""Rules whose help a test cannot follow alone, and why: there it only proves that no wall is lower. Only to be shorter."""


class Case(NamedTuple):
    """A tree: its name, its files, and the flags of its run."""

    name: str
    files: dict[str, str | bytes]
    nodes: int | dict[str, int] | None = None
    price: float | None = None


def _of_folder(folder: Path, nodes: dict[str, int] | None = None) -> Case:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "walls.yaml"]
    return Case(folder.name, {str(path.relative_to(folder)): _content(path) for path in found}, nodes)


def _content(path: Path) -> str | bytes:
    return path.read_bytes() if path.suffix == ".gz" else path.read_text()


def _trees() -> Iterator[Case]:
    for folder in sorted((ROOT / "examples").iterdir()):
        if folder.is_dir() and folder.name != "own-rules":
            yield _of_folder(folder)
    for file in sorted((ROOT / "tests/cases/walls").glob("*/*/walls.yaml")):
        given = yaml.safe_load(file.read_text())["arguments"][1:]
        yield _of_folder(file.parent, {str(one).rpartition("=")[0]: int(str(one).rpartition("=")[2]) for one in given})


def _examples() -> Iterator[Case]:
    for rule in rules.load():
        for number, one in enumerate(rule.documentation.examples):
            if one.bad:
                yield Case(f"{rule.name}-{number}", dict(one.bad), one.nodes, float(one.price) if one.price else None)


CASES = [
    *(pytest.param(case, id=case.name, marks=pytest.mark.medium) for case in _trees()),
    *(pytest.param(case, id=case.name, marks=pytest.mark.slow) for case in _examples()),
]


def load(case: Case, write: Write) -> Project:
    write(dict(case.files))
    return kcheck.load(".", nodes=case.nodes, price=case.price)


def findings_of(project: Project) -> list[Finding]:
    found = project.check(info=True).findings
    return [part for one in found for part in (one.parts or (one,)) if part.help]


# --- language

_SNAKE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


@cache
def attributes() -> frozenset[str]:
    """Names in Terraform: what the profiles read, the inputs of modules, and what skeletons write."""
    found: set[str] = set()
    for table in ROOT.glob("profiles/*/terraform.yaml"):
        for line in table.read_text().splitlines():
            found.update(
                *(part.split(".") for part in re.findall(r"path: ([\w.]+)", line)),
                _SNAKE.findall(line.partition(":")[0]),
            )
    for skeleton in (*ROOT.glob("profiles/*/modules/**/*.tf"), *ROOT.glob("profiles/*/templates/**/*.j2")):
        found.update(_SNAKE.findall(skeleton.read_text()))
    return frozenset(found)


OTHERS = {
    "additional_node_network_configs", "enable_multi_networking", "eni_tag_filter", "alicloud_cs_kubernetes_addon",
    "maintenance_exclusion", "not_allowed", "aws_ec2_subnet_cidr_reservation",
}  # fmt: skip
"""Attributes that kcheck names and does not read."""
NEITHER = {"gc_thresh3", "io_cluster", "autoscaler_node", "template_resources_rdma_ib"}
"""Names of the kernel, and of tags."""


@pytest.mark.parametrize("case", CASES)
def test_help_speaks_the_language_of_the_file(case: Case, write: Write) -> None:
    """A help names no word of kcheck as if it were an attribute, and Terraform's only where there is Terraform."""
    project, wrong = load(case, write), []
    words = set(_SNAKE.findall(" ".join(text for text in case.files.values() if isinstance(text, str))))
    terraform = any(name.endswith((".tf", ".tf.json", ".tfvars", ".hcl", ".j2")) for name in case.files)
    for one in findings_of(project):
        named = set(_SNAKE.findall(re.sub(r"https?://\S+|\w+\.(?:quota|limit)\S*", "", one.help)))
        allowed = words | NEITHER | (attributes() | OTHERS if terraform else set())
        wrong += [f"{one.rule}: {name} in `{one.help}`" for name in sorted(named - allowed)]
    assert wrong == []


# --- proof

_SETS = re.compile(r"\b(?:set|add) ([a-z]\w*) = (\"[^\"]*\"|[\w.-]+)(?:(?=[;,.\n ]|$))(?: in (?:the )?(\w+_\w+))?")


def applied(finding: Finding, texts: dict[str, str | bytes]) -> dict[str, str | bytes] | None:
    """Write what a help says into the block of its finding; None where it gives no attribute and value."""
    match, path = _SETS.search(finding.help), finding.span.source.path.removeprefix("./")
    text = texts.get(path)
    if match is None or not path.endswith(".tf") or not isinstance(text, str):
        return None
    lines = text.splitlines()
    first = last = finding.span.begin.line - 1
    while first and not re.match(r"\S.*\{$", lines[first]):
        first -= 1
    while last < len(lines) - 1 and lines[last] != "}":
        last += 1
    written = re.compile(rf"(\s+){match[1]}(\s*)=.*")
    at = next((i for i in range(first, last) if written.match(lines[i])), None)
    within = next((i for i in range(first, last) if match[3] and lines[i].strip() == f"{match[3]} {{"), None)
    if at is None and match[3] and within is None and match[3] in attributes():
        equals = "= " if lines[first].startswith("module") else ""
        lines.insert(first + 1, f"  {match[3]} {equals}{{\n    {match[1]} = {match[2]}\n  }}")
    elif at is None:
        lines.insert((within or first) + 1, f"  {match[1]} = {match[2]}")
    else:
        lines[at] = written.sub(
            rf"\1{match[1]}\2= {match[2]}".replace("\\1", r"\g<1>").replace("\\2", r"\g<2>"), lines[at]
        )
    return {**texts, path: "\n".join(lines) + "\n"}


def reached(project: Project) -> dict[str, int]:
    """Map each cluster to its lowest wall, the target where none is lower."""
    found = {}
    for cluster in project.inventory.clusters:
        walls = [one for one in project.capacity(cluster) if one.kind != "recommended" and one.nodes and one.short]
        found[cluster.id] = min((one.nodes.low for one in walls if one.nodes), default=1 << 30)
    return found


@pytest.mark.parametrize("case", CASES)
def test_help_that_is_followed_lowers_no_wall(case: Case, write: Write) -> None:
    project = load(case, write)
    before, missing = reached(project), []
    for one in findings_of(project):
        texts = applied(one, case.files)
        if texts is None:
            continue
        again = load(case._replace(files=texts), write)
        after = reached(again)
        missing += [
            f"{one.rule}: {name} falls to {after[name]}" for name in before if after.get(name, 0) < before[name]
        ]
        same = {(other.rule, other.object) for other in again.check(info=True).findings}
        if (one.rule, one.object) in same and one.rule not in UNPROVED:
            missing.append(f"{one.rule} still holds after `{one.help}`")
    assert missing == []
