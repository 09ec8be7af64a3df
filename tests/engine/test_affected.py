"""Test that a run limited to changed files finds the same in their objects as a full run."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import bench_growth
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.engine.affected import narrow
from kcheck.engine.linter import Linter
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.text.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.text.findings import Finding
    from tests.conftest import Write

pytestmark = pytest.mark.medium

Seen: TypeAlias = "set[tuple[str, str, int, str, str]]"

ROOTS = ("infra/a", "infra/b")
POOL = bench_growth.pool("gpu", more="").replace("max_count = 10", "max_count = var.most")
DATA = 'data "azurerm_kubernetes_cluster" "main" {\n  name = "main"\n}\n'
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: scaler}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  maxReplicas: {}
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [{}], storageClassName: fast, resources: {{requests: {{storage: 1Gi}}}}}}
"""
USER = "      volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n"


def job(number: int, *, kind: str = "Job", queue: str = "", more: str = "") -> str:
    """Return a Job with a number of pods, or a workload of another kind with the same pod template."""
    labels = f"{{{bench_growth.QUEUE}: {queue}}}" if queue else "{}"
    text = bench_growth.job(number, more=more).replace("labels: {}", f"labels: {labels}")
    text = text.replace("parallelism: 4\n  completions: 4", f"parallelism: {number}\n  completions: {number}")
    return text if kind == "Job" else text.replace("batch/v1\nkind: Job", f"apps/v1\nkind: {kind}")


def patch(number: int) -> str:
    """Return a patch of the Job of that number, which may not exist."""
    return job(number).partition("  template:")[0]


def code(data: str, *, has_cluster: bool) -> str:
    """Return the Terraform of a root module, with a cluster or without one."""
    return f'variable "most" {{}}\n{bench_growth.cluster() + POOL if has_cluster else ""}{data}'


SETTINGS = "clusters:\n- {root: infra/a, manifests: [jobs]}\n- {root: infra/b}\n"
"""Settings that put the manifests in jobs/ on the first cluster."""
JOBS = tuple(f"jobs/{i}.yaml" for i in range(3))

numbers = st.sampled_from((1, 4, 40, 400))
manifests = st.one_of(
    st.builds(job, numbers),
    st.builds(job, numbers, more=st.just(USER)),
    st.builds(job, numbers, queue=st.just("q")),
    st.builds(job, numbers, kind=st.just("DaemonSet")),
    st.builds(SCALER.format, numbers),
    st.builds(CLAIM.format, st.sampled_from(("ReadWriteOnce", "ReadWriteMany"))),
    st.builds(lambda i: "---".join(bench_growth.QUEUED.format(i=i, job="").split("---")[1:]), st.integers(0, 2)),
    st.builds("# kcheck: ignore[image-tag-moves] pinned\n{}".format, st.builds(job, numbers)),
)
roots = st.tuples(numbers, st.sampled_from(("", DATA)), st.booleans())


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Draw roots with clusters or data about other clusters, and manifests beside them, some in kustomizations."""
    files = {}
    for folder in draw(st.lists(st.sampled_from(ROOTS), unique=True)):
        most, data, has_cluster = draw(roots)
        files[f"{folder}/main.tf"] = code(data, has_cluster=has_cluster)
        files[f"{folder}/terraform.tfvars"] = f"most = {most}\n"
    for i, text in enumerate(draw(st.lists(manifests, min_size=1, max_size=6))):
        files[f"{draw(st.sampled_from(('jobs', 'base', 'infra/a/jobs')))}/{i}.yaml"] = text
    base, is_kustomized = [path[5:] for path in files if path.startswith("base/")], draw(st.booleans())
    if base and is_kustomized:
        files["base/kustomization.yaml"] = f"resources: [{', '.join(base)}]\n"
        files["over/kustomization.yaml"] = "resources: [../base]\nnamePrefix: x-\npatches: [{path: patch.yaml}]\n"
        files["over/patch.yaml"] = draw(st.builds(patch, numbers))
    return files


def checked(folder: Path, files: Mapping[str, str], changed: tuple[str, ...] = ()) -> tuple[Seen, set[str]]:
    """Check some files; return the findings, unmerged, and the ids of the objects that the run judged."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    linter = Linter(Tree([str(folder)]), Config())
    if changed:
        narrow(linter, [str(folder / path) for path in changed])
    result = linter.result()
    every = (thing for subject in SUBJECTS for thing in things(subject, linter.world))
    return set(seen(result.findings, folder)), {thing.id for thing in every if linter.holds(thing)}


def seen(findings: list[Finding], folder: Path) -> Iterator[tuple[str, str, int, str, str]]:
    """Yield the visible parts of findings, unmerged."""
    for finding in findings:
        for one in finding.parts or (finding,):
            yield one.rule, one.object, one.span.start, one.message, one.fix.title if one.fix else one.help


@given(st.data(), trees())
def test_a_partial_run_judges_objects_as_a_whole_run_does(data: st.DataObject, files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        changed = data.draw(st.lists(st.sampled_from(sorted(files)), unique=True, min_size=1))
        whole, _ = checked(folder, files)
        part, judged = checked(folder, {}, tuple(changed))
        assert part == {one for one in whole if one[1] in judged}


def other(path: str, text: str) -> st.SearchStrategy[str]:
    """Return a strategy for another text of a file in such a tree, which removes no object."""
    if path.endswith("main.tf"):
        return roots.map(lambda one: code(one[1], has_cluster=one[2]))
    if path.endswith(".tfvars"):
        return numbers.map("most = {}\n".format)
    if path.endswith("patch.yaml"):
        return st.builds(patch, numbers)
    return (
        st.just("resources: []\n")
        if path.endswith("kustomization.yaml")
        else st.one_of(
            manifests.map(lambda more: f"{text}---\n{more}"),
            numbers.map(lambda number: re.sub(r"(parallelism|maxReplicas|nominalQuota): \d+", rf"\1: {number}", text)),
        )
    )


@given(st.data(), trees())
def test_a_partial_run_finds_all_that_a_commit_causes(data: st.DataObject, files: dict[str, str]) -> None:
    path = data.draw(st.sampled_from(sorted(files)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before, _ = checked(folder, files)
        after, _ = checked(folder, {path: data.draw(other(path, files[path]))})
        part, _ = checked(folder, {}, (path,))
        told = {one[:2] for one in before}
        assert {one for one in after if one[:2] not in told} <= part


@pytest.mark.parametrize(
    ("changed", "found", "judged"),
    [
        (("jobs/0.yaml",), {"jobs/0.yaml", "infra/a/main.tf"}, "1 cluster, 2 pools, 1 workload checked."),
        (("jobs/2.yaml",), {*JOBS, "infra/a/main.tf"}, "1 cluster, 2 pools, 3 workloads checked."),
        (("infra/a/terraform.tfvars",), {*JOBS, "infra/a/main.tf"}, "1 cluster, 2 pools, 3 workloads checked."),
        (("infra/b/terraform.tfvars",), {"infra/b/main.tf"}, "1 cluster, 2 pools checked."),
        (("kcheck.yaml",), {*JOBS, "infra/a/main.tf", "infra/b/main.tf"}, "2 clusters, 4 pools, 3 workloads checked."),
    ],
)
def test_the_hook_reports_findings_that_a_commit_can_change(
    changed: tuple[str, ...], found: set[str], judged: str, write: Write
) -> None:
    files = {
        f"{root}/{name}": text
        for root in ROOTS
        for name, text in (("main.tf", code("", has_cluster=True)), ("terraform.tfvars", "most = 4\n"))
    }
    jobs = {f"jobs/{i}.yaml": job(i) for i in range(2)}
    write({**files, **jobs, "jobs/2.yaml": job(2, kind="DaemonSet"), "kcheck.yaml": SETTINGS})
    result = CliRunner().invoke(cli, ["check", "--hook", "--output-file", "json=found.json", "--", *changed])
    assert {one["path"] for one in json.loads(Path("found.json").read_text())["findings"]} == found
    assert judged in result.output
