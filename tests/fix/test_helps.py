"""Test help texts: in the language of the file, and correct by a second run if they set an attribute."""

from __future__ import annotations

import contextlib
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

import kcheck
from kcheck.engine import rules
from tests.conftest import written
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kcheck.api import Project
    from kcheck.text.findings import Finding


class Case(NamedTuple):
    """A tree to check: its name, its files, and the flags of the run."""

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
    *(
        pytest.param(case, id=case.name, marks=pytest.mark.medium if number % 3 == 0 else pytest.mark.slow)
        for number, case in enumerate(_trees())
    ),
    *(pytest.param(case, id=case.name, marks=pytest.mark.slow) for case in _examples()),
]


class Checked(NamedTuple):
    """A tree and the findings in it."""

    case: Case
    project: Project
    findings: list[Finding]


@contextlib.contextmanager
def loaded(case: Case, folder: Path) -> Iterator[Project]:
    with contextlib.chdir(written(folder, case.files)):
        yield kcheck.load(".", nodes=case.nodes, price=case.price)


@pytest.fixture(scope="module", params=CASES)
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checked]:
    """Yield each tree after a check, which is shared by all tests."""
    with loaded(request.param, tmp_path_factory.mktemp("tree")) as project:
        found = project.check(info=True).findings
        yield Checked(request.param, project, [part for one in found for part in (one.parts or (one,)) if part.help])


# --- language

_SNAKE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


@cache
def attributes() -> frozenset[str]:
    """Return the attribute names of Terraform that profiles read, modules take as inputs, or templates write."""
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
    "maintenance_exclusion", "not_allowed",
}  # fmt: skip
"""Attributes that kcheck writes in help but never reads."""
NEITHER = {"gc_thresh3", "io_cluster", "autoscaler_node", "template_resources_rdma_ib"}
"""Names of kernel settings and of tags."""


def test_help_uses_the_words_of_the_file(checked: Checked) -> None:
    """Help names no word of kcheck as an attribute, and Terraform's attributes only in Terraform."""
    case, wrong = checked.case, []
    words = set(_SNAKE.findall(" ".join(text for text in case.files.values() if isinstance(text, str))))
    terraform = any(name.endswith((".tf", ".tf.json", ".tfvars", ".hcl", ".j2")) for name in case.files)
    for one in checked.findings:
        named = set(_SNAKE.findall(re.sub(r"https?://\S+|\w+\.(?:quota|limit)\S*", "", one.help)))
        allowed = words | NEITHER | (attributes() | OTHERS if terraform else set())
        wrong += [f"{one.rule}: {name} in `{one.help}`" for name in sorted(named - allowed)]
    assert wrong == []


# --- proof

_VALUE = r"(\"[^\"]*\"|[\w.-]+)(?:(?=[:;,.\n ]|$))"
_SETS = re.compile(rf"\b(?:set|add) ([a-z]\w*) = {_VALUE}(?: in (?:the )?(\w+_\w+))?")
_AND = re.compile(rf" and ([a-z]\w*) = {_VALUE}")
_THEN = re.compile(rf": \w+ needs it; add ([a-z]\w*) = {_VALUE}")
_INSTEAD = re.compile(rf" instead of ([a-z]\w*) = {_VALUE}")
_OF_ALL = re.compile(r" for the cluster and its pools, and (\w+) = (\[[^\]]*\])")
_BEFORE = re.compile(r" \(before version (\d+) of the EKS module, (\w+)\)")
"""The patterns from _AND on match text after a value in help, such as a second value."""


def applied(finding: Finding, texts: dict[str, str | bytes]) -> dict[str, str | bytes] | None:
    """Return the files after the block of a finding follows its help; None if the help sets no attribute."""
    match, path = _SETS.search(finding.help), finding.span.source.path.removeprefix("./")
    text = texts.get(path)
    if match is None or not path.endswith(".tf") or not isinstance(text, str):
        return None
    if every := _OF_ALL.match(finding.help, match.end()):
        return of_cluster_and_pools(texts, {match[1]: match[2], every[1]: every[2]})
    lines = text.splitlines()
    first = last = finding.span.begin.line - 1
    if match[3] is None and lines[last].endswith(" = {"):  # a group in a map of a module
        return {**texts, path: "\n".join([*lines[: last + 1], f"{match[1]} = {match[2]}", *lines[last + 1 :]]) + "\n"}
    if inline := re.match(r"(\s*\{ .*?)( \},?)$", lines[last]):  # a pool in a list of a module
        second = _AND.match(finding.help, match.end())
        more = f", {match[1]} = {match[2]}" + (f", {second[1]} = {second[2]}" if second else "")
        lines[last] = inline[1] + more + inline[2]
        return {**texts, path: "\n".join(lines) + "\n"}
    while first and not re.match(r"\S.*\{$", lines[first]):
        first -= 1
    while last < len(lines) - 1 and lines[last] != "}":
        last += 1
    block = lines[first:last]
    within, older = match[3], _BEFORE.match(finding.help, match.end())
    version = re.search(r'\n +version += "[^"\d]*(\d+)', "\n".join(block))
    if older and version and block[0].startswith("module") and int(version[1]) < int(older[1]):
        within = older[2]
    write_into(block, match[1], match[2], within)
    if second := _AND.match(finding.help, match.end()):
        write_into(block, second[1], second[2], match[3])
    if third := _THEN.search(finding.help, match.end()):
        write_into(block, third[1], third[2], match[3])
    if other := _INSTEAD.match(finding.help, match.end()):
        block = [line for line in block if not re.match(rf" +{other[1]} += {other[2]}$", line)]
    return {**texts, path: "\n".join([*lines[:first], *block, *lines[last:]]) + "\n"}


def of_cluster_and_pools(texts: dict[str, str | bytes], values: dict[str, str]) -> dict[str, str | bytes]:
    """Write the first value into each cluster and pool that has its attribute, and the other values into clusters."""
    found, (name, *_) = dict(texts), values
    for path, text in texts.items():
        for block in re.findall(r'^resource "google_container_\w+" .*?^}$', str(text), re.DOTALL | re.MULTILINE):
            lines = block.splitlines()
            for one in values if "google_container_cluster" in lines[0] else [name]:
                if one != name or any(re.match(rf" +{name} +=", line) for line in lines):
                    write_into(lines, one, values[one], None)
            found[path] = str(found[path]).replace(block, "\n".join(lines))
    return found


def write_into(block: list[str], name: str, value: str, parent: str | None) -> None:
    """Write an attribute into a block of Terraform, or into a nested block or map of it."""
    written = re.compile(rf"(\s+){name}(\s*)=.*")
    at = next((i for i, line in enumerate(block) if written.match(line)), None)
    within = next((i for i, line in enumerate(block) if parent and line.strip() == f"{parent} {{"), None)
    if at is not None:
        block[at] = written.sub(rf"\g<1>{name}\g<2>= {value}", block[at])
    elif parent and within is None and parent in attributes():
        equals = "= " if block[0].startswith("module") else ""
        block.insert(1, f"  {parent} {equals}{{\n    {name} = {value}\n  }}")
    else:
        block.insert((within or 0) + 1, f"  {name} = {value}")


def reached(project: Project) -> dict[str, int]:
    """Return the lowest limit of each cluster in nodes; a very large number if it reaches its target."""
    found = {}
    for cluster in project.inventory.clusters:
        walls = [
            one
            for one in project.capacity(cluster)
            if one.kind != "recommended" and not one.nodes.is_open and one.short
        ]
        found[cluster.id] = min((one.nodes.low for one in walls if one.nodes), default=1 << 30)
    return found


def test_following_the_help_lowers_no_wall(checked: Checked, tmp_path: Path) -> None:
    before, missing = reached(checked.project), []
    for one in checked.findings:
        texts = applied(one, checked.case.files)
        if texts is None:
            continue
        with loaded(checked.case._replace(files=texts), tmp_path) as again:
            after, findings = reached(again), again.check(info=True).findings
        missing += [
            f"{one.rule}: {name} falls to {after[name]}" for name in before if after.get(name, 0) < before[name]
        ]
        same = {(other.rule, other.object) for other in findings}
        if (one.rule, one.object) in same:
            missing.append(f"{one.rule} still holds after `{one.help}`")
    assert missing == []
