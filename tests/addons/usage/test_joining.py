"""Test how recorded pods are matched to workloads: by owners that operators set, else by names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.scale.usage.joining import Match, joined
from kcheck.scale.usage.recording import Container, Owner, Pod
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.values import known
from tests.addons.usage.recordings import recording

if TYPE_CHECKING:
    from tests.conftest import Write


def workload(kind: str, name: str, spec: str, *, api: str = "batch/v1", namespace: str | None = "ml") -> str:
    """Return the manifest of a workload; POD in its spec becomes a pod template with one container `main`."""
    template = "{spec: {containers: [{name: main, image: quay.io/a/b:1}]}}"
    space = f", namespace: {namespace}" if namespace else ""
    key = "generateName" if name.endswith("-") else "name"
    return (
        f"apiVersion: {api}\nkind: {kind}\nmetadata: {{{key}: {name}{space}}}\nspec: {spec.replace('POD', template)}\n"
    )


JOB = "{template: POD}"
JOBS = "{jobTemplate: {spec: {template: POD}}}"
ROLES = "{pytorchReplicaSpecs: {Master: {template: POD}, Worker: {replicas: 4, template: POD}}}"
RAY = "{headGroupSpec: {template: POD}, workerGroupSpecs: [{groupName: gpu, template: POD}]}"
CASES = {
    "Deployment by its ReplicaSet": (
        workload("Deployment", "api", JOB, api="apps/v1"), "api-7d9f8b6c5d-x2k9p", [("ReplicaSet", "api-7d9f8b6c5d")], "",
    ),
    "Deployment as recorded": (
        workload("Deployment", "api", JOB, api="apps/v1"), "api-7d9f8b6c5d-x2k9p",
        [("ReplicaSet", "api-7d9f8b6c5d"), ("Deployment", "api")], "",
    ),
    "StatefulSet": (workload("StatefulSet", "db", JOB, api="apps/v1"), "db-0", [("StatefulSet", "db")], ""),
    "Job with indices": (workload("Job", "shard", JOB), "shard-17-x2k9p", [("Job", "shard")], ""),
    "CronJob by the name of its Job": (
        workload("CronJob", "report", JOBS), "report-29400120-x2k9p", [("Job", "report-29400120")], "",
    ),
    "generateName": (workload("Job", "eval-", JOB), "eval-x7k2p-q9w8r", [("Job", "eval-x7k2p")], ""),
    "PyTorchJob, worker": (workload("PyTorchJob", "train", ROLES, api="kubeflow.org/v1"), "train-worker-3", [("PyTorchJob", "train")], "Worker"),
    "PyTorchJob, master": (workload("PyTorchJob", "train", ROLES, api="kubeflow.org/v1"), "train-master-0", [("PyTorchJob", "train")], "Master"),
    "RayJob by its cluster": (
        workload("RayJob", "tune", "{rayClusterSpec: " + RAY + "}", api="ray.io/v1"), "tune-raycluster-abcde-gpu-worker-x2k9p",
        [("RayCluster", "tune-raycluster-abcde")], "gpu",
    ),
    "RayJob, head": (
        workload("RayJob", "tune", "{rayClusterSpec: " + RAY + "}", api="ray.io/v1"), "tune-raycluster-abcde-head-x2k9p",
        [("RayCluster", "tune-raycluster-abcde")], "head",
    ),
    "JobSet": (
        workload("JobSet", "llm", "{replicatedJobs: [{name: workers, replicas: 2, template: {spec: {template: POD}}}]}", api="jobset.x-k8s.io/v1alpha2"),
        "llm-workers-1-0-x2k9p", [("Job", "llm-workers-1"), ("JobSet", "llm")], "workers",
    ),
    "JobSet that was not recorded": (
        workload("JobSet", "llm", "{replicatedJobs: [{name: workers, replicas: 2, template: {spec: {template: POD}}}]}", api="jobset.x-k8s.io/v1alpha2"),
        "llm-workers-1-0-x2k9p", [("Job", "llm-workers-1")], "workers",
    ),
    "MPIJob, launcher": (
        workload("MPIJob", "sum", "{mpiReplicaSpecs: {Launcher: {template: POD}, Worker: {template: POD}}}", api="kubeflow.org/v2beta1"),
        "sum-launcher-x2k9p", [("Job", "sum-launcher")], "Launcher",
    ),
    "Notebook": (workload("Notebook", "ana", JOB, api="kubeflow.org/v1"), "ana-0", [("StatefulSet", "ana")], ""),
    "kind that nobody described": (
        workload("Pipeline", "etl", "{stage: {template: POD}}", api="example.com/v1"), "etl-0", [("StatefulSet", "etl")], "",
    ),
    "pod alone": (workload("Pod", "debug", "{containers: [{name: main, image: quay.io/a/b:1}]}", api="v1"), "debug", [("", "")], ""),
    "no owners recorded, Deployment": (workload("Deployment", "api", JOB, api="apps/v1"), "api-7d9f8b6c5d-x2k9p", [], ""),
    "no owners recorded, role": (workload("PyTorchJob", "train", ROLES, api="kubeflow.org/v1"), "train-worker-3", [], "Worker"),
    "no owners recorded, CronJob": (workload("CronJob", "report", JOBS), "report-29400120-x2k9p", [], ""),
    "no namespace written": (workload("Job", "shard", JOB, namespace=None), "shard-x2k9p", [("Job", "shard")], ""),
}  # fmt: skip


def matched(write: Write, code: str | dict[str, str], *pods: Pod) -> tuple[World, list[Match]]:
    write({"a.yaml": code} if isinstance(code, str) else code)
    world = World(reader.read(Tree(["."]), Config()).inventory, Config())
    return world, joined(recording(pods), world).matches


def seen(name: str, owners: list[tuple[str, str]], *, namespace: str = "ml", container: str = "main") -> Pod:
    return Pod(namespace, name, [Owner(*one) for one in owners], containers={container: Container()})


@pytest.mark.parametrize("case", CASES)
def test_a_pod_finds_its_workload_and_role(case: str, write: Write) -> None:
    code, name, owners, role = CASES[case]
    world, (match,) = matched(write, code, seen(name, owners))
    assert match.workload is world.inventory.workloads[0]
    assert match.template is not None
    assert match.template.role == role
    assert match.job == (match.workload.kind, known(match.workload.name))


STRANGERS = {
    "other name": ("api-x2k9p", [("Job", "api")], "ml"),
    "other namespace": ("shard-x2k9p", [("Job", "shard")], "web"),
    "other kind": ("shard-0", [("StatefulSet", "shard")], "ml"),
    "name that only begins alike": ("sharding-x2k9p", [("Job", "sharding")], "ml"),
    "longer name": ("shard-all-x2k9p", [("Job", "shard-all")], "ml"),
    "owner that is known to be none": ("shard", [("", "")], "ml"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_pod_missing_in_the_code_has_no_workload(case: str, write: Write) -> None:
    name, owners, namespace = STRANGERS[case]
    write({"a.yaml": workload("Job", "shard", JOB)})
    world = World(reader.read(Tree(["."]), Config()).inventory, Config())
    found = joined(recording([seen(name, owners, namespace=namespace)]), world)
    assert found.matches[0].workload is None
    assert [(space, count) for space, _, count in found.strangers] == [(namespace, 1)]
    assert found.unseen == world.inventory.workloads


def test_the_longest_matching_name_wins(write: Write) -> None:
    code = workload("CronJob", "report", JOBS) + "---\n" + workload("CronJob", "report-daily", JOBS)
    _, matches = matched(write, code, seen("report-daily-29400120-x2k9p", [("Job", "report-daily-29400120")]))
    assert matches[0].job == ("CronJob", "report-daily")


def test_a_name_that_occurs_twice_in_the_code_gives_an_uncertain_match(write: Write) -> None:
    code = workload("Job", "shard", JOB)
    write({"one/a.yaml": code, "two/a.yaml": code})
    world = World(reader.read(Tree(["."]), Config()).inventory, Config())
    found = joined(recording([seen("shard-x2k9p", [("Job", "shard")])]), world)
    assert found.matches[0].workload is None
    assert found.matches[0].job == ("Job", "shard")
    assert [(one.what, one.why) for one in found.doubts] == [
        (
            "Job ml/shard",
            "the code has it 2 times (one/a.yaml:2, two/a.yaml:2); name the folder of the measured cluster alone",
        )
    ]
    assert found.unseen == []


def test_a_workload_with_the_namespace_written_is_preferred(write: Write) -> None:
    code = {"a.yaml": workload("Job", "shard", JOB), "b.yaml": workload("Job", "shard", JOB, namespace=None)}
    _, matches = matched(
        write, code, seen("shard-x2k9p", [("Job", "shard")]), seen("shard-y2k9p", [("Job", "shard")], namespace="web")
    )
    assert [match.workload.place.source.path for match in matches if match.workload] == ["a.yaml", "b.yaml"]


def test_container_names_decide_the_pod_template(write: Write) -> None:
    spec = "{mpiReplicaSpecs: {Launcher: {template: POD}, Worker: {template: {spec: {containers: [{name: other, image: quay.io/a/b:1}]}}}}}"
    _, matches = matched(
        write, workload("MPIJob", "sum", spec, api="kubeflow.org/v2beta1"),
        seen("sum-x", [("MPIJob", "sum")], container="other"), seen("sum-x", [("MPIJob", "sum")], container="istio-proxy"),
    )  # fmt: skip
    assert [match.template and match.template.role for match in matches] == ["Worker", None]


def test_runs_with_one_generated_name_count_as_one_job() -> None:
    pods = [
        seen(f"{name}-main", [("Workflow", name)]) for name in ("report-7nsbs", "report-8lzkg", "tune-x2k9p", "large")
    ]
    found = joined(recording(pods), None)
    assert [match.job[1] for match in found.matches] == ["report-", "report-", "tune-x2k9p", "large"]
    assert sorted(one[2] for one in found.strangers) == [1, 1, 2]


def test_pods_without_code_belong_to_their_outermost_owner() -> None:
    pods = [
        seen("report-29400120-x2k9p", [("Job", "report-29400120")]),
        seen("api-7d9f8b6c5d-x2k9p", []),
        seen("report-29400121-x2k9p", [("Job", "report-29400121"), ("CronJob", "report")]),
    ]
    found = joined(recording(pods), None)
    assert [match.job for match in found.matches] == [("CronJob", "report"), ("Pod", "api"), ("CronJob", "report")]
    assert [one[2] for one in found.strangers] == [2, 1]
