"""Test pods of kinds that no table knows, of elastic jobs, and of workloads that a pod autoscaler scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import Unknown, Unset, known
from tests.conftest import indented, manifest, names

if TYPE_CHECKING:
    from tests.conftest import Check, Read


POD = "spec:\n  containers: [{name: main, image: quay.io/example/train:1, resources: {limits: {nvidia.com/gpu: 8}}}]"


def under(path: str, beside: str = "", pod: str = POD) -> str:
    """Return a spec that has a pod template at a path of keys, and `beside` next to the last key."""
    steps = path.split(".")
    lines = ["  " * i + f"{step}:" for i, step in enumerate(steps)]
    lines.insert(len(steps) - 1, "  " * (len(steps) - 1) + beside if beside else "")
    return "\n".join(filter(None, lines)) + "\n" + "  " * len(steps) + indented(pod, 2 * len(steps))


@pytest.mark.parametrize(
    ("path", "beside", "pods"),
    [
        ("spec.template", "replicas: 3", 3),
        ("spec.podTemplate", "parallelism: 3", 3),
        ("spec.worker.template", "replicas: 3", 3),
        ("spec.fooReplicaSpecs.Worker.template", "replicas: 3", 3),
        ("spec.workerTemplate", "maxReplicas: 9", None),
        ("spec.template", "", None),
        ("spec.podTemplate", "{replicas: 2, maxReplicas: 9}"[1:-1].replace(", ", "\n  "), 9),
    ],
)
def test_the_pod_template_of_an_unknown_kind_is_found(read: Read, path: str, beside: str, pods: int | None) -> None:
    (workload,) = read({"one.yaml": manifest("example.org/Thing", under(path, beside))}).workloads
    assert known(workload.pods) == pods
    assert known(workload.gpus) == 8
    assert not workload.batch
    assert [known(image.text) for image in workload.images] == ["quay.io/example/train:1"]


def test_an_unknown_pod_count_names_the_missing_field(read: Read) -> None:
    (workload,) = read({"one.yaml": manifest("example.org/Thing", under("spec.worker.template"))}).workloads
    assert isinstance(workload.pods, Unknown)
    assert "`spec.worker.replicas` is not set" in workload.pods.reason


def test_a_single_count_above_the_template_is_the_pod_count(read: Read) -> None:
    spec = under("spec.group.template") + "\n  replicas: 3"
    (workload,) = read({"one.yaml": manifest("example.org/Thing", spec)}).workloads
    assert known(workload.pods) == 3


def test_a_second_count_above_the_template_leaves_the_pod_count_unknown(read: Read) -> None:
    spec = under("spec.group.template", "replicas: 3") + "\n  size: 4"
    (workload,) = read({"one.yaml": manifest("example.org/Thing", spec)}).workloads
    assert known(workload.pods) is None


def test_roles_in_a_list_keep_their_names(read: Read) -> None:
    roles = "".join(
        f"    - name: {role}\n      replicas: {count}\n      template:\n        {indented(POD, 8)}\n"
        for role, count in (("prefill", 2), ("decode", 5))
    )
    (workload,) = read({"one.yaml": manifest("example.org/Thing", f"spec:\n  roles:\n{roles}")}).workloads
    assert {one.role: known(one.count) for one in workload.templates} == {"prefill": 2, "decode": 5}


NO_WORKLOADS = {
    "definition": manifest("apiextensions.k8s.io/CustomResourceDefinition", under("spec.template")),
    "configuration": manifest("ConfigMap", under("spec.template")),
    "policy": manifest("kyverno.io/ClusterPolicy", under("spec.template")),
    "constraint": manifest("constraints.gatekeeper.sh/K8sAllowed", under("spec.template")),
    "runtime": manifest("trainer.kubeflow.org/ClusterTrainingRuntime", under("spec.template")),
    "template alone": manifest("PodTemplate", f"template:\n  {indented(POD, 2)}"),
    "without image": manifest("example.org/Thing", under("spec.template", pod="spec: {containers: [{name: image}]}")),
    "without name": manifest("example.org/Thing", under("spec.template", pod="spec: {containers: [{image: a:1}]}")),
    "no template": manifest("example.org/Thing", under("spec.pattern")),
    "object within": manifest(
        "example.org/Thing",
        under(
            "spec.resource.template",
            pod=f"apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    {indented(POD, 4)}",
        ),
    ),
}


@pytest.mark.parametrize("text", NO_WORKLOADS.values(), ids=NO_WORKLOADS)
def test_objects_that_only_describe_pods_are_not_workloads(read: Read, text: str) -> None:
    assert not read({"one.yaml": text}).workloads


def test_app_wrappers_hold_whole_objects(read: Read) -> None:
    job = manifest("batch/Job", under("spec.template", "parallelism: 4"))
    spec = f"spec:\n  components:\n    - template:\n        {indented(job, 8)}"
    meta = "name: all\nlabels: {kueue.x-k8s.io/queue-name: research}"
    (workload,) = read({"one.yaml": manifest("workload.codeflare.dev/AppWrapper", spec, meta=meta)}).workloads
    assert (workload.kind, known(workload.pods)) == ("Job", 4)
    assert (known(workload.queue), known(workload.gang)) == ("research", "Kueue")
    assert workload.hooked


@pytest.mark.parametrize(("suspended", "known_gang"), [(True, False), (False, True)])
def test_a_suspended_app_wrapper_may_be_a_gang(suspended: bool, known_gang: bool, read: Read) -> None:
    job = manifest("batch/Job", under("spec.template", "parallelism: 4"))
    spec = f"spec:\n  suspend: {str(suspended).lower()}\n  components:\n    - template:\n        {indented(job, 8)}"
    (workload,) = read({"one.yaml": manifest("workload.codeflare.dev/AppWrapper", spec)}).workloads
    assert isinstance(workload.gang, Unset) is known_gang


@pytest.mark.parametrize("kind", ["WorkflowTemplate", "CronWorkflow"])
def test_manifests_of_argo_workflows_are_applied_as_they_are(kind: str, read: Read) -> None:
    job = manifest("batch/Job", under("spec.template", "parallelism: 4"), meta="name: {{workflow.name}}-train")
    inner = f"templates:\n  - name: train\n    resource:\n      manifest: |\n        {indented(job, 8)}"
    inner = f"workflowSpec:\n  {indented(inner, 2)}" if kind == "CronWorkflow" else inner
    meta = "name: all\nlabels: {kueue.x-k8s.io/queue-name: research}"
    text = manifest(f"argoproj.io/{kind}", f"spec:\n  {indented(inner, 2)}", meta=meta)
    (workload,) = read({"one.yaml": text}).workloads
    assert (workload.kind, known(workload.pods)) == ("Job", 4)
    assert isinstance(workload.queue, Unset)


def test_broken_objects_of_unknown_kinds_are_left_alone(read: Read) -> None:
    broken = "apiVersion: example.org/v1\nkind: Thing\nspec:\n  template: {containers: [{image: a\n   b: c"
    assert not read({"one.yaml": broken}).workloads


def test_rules_judge_pods_of_unknown_kinds(check: Check) -> None:
    text = manifest("example.org/Thing", under("spec.template", "replicas: 300")).replace(
        "quay.io/example/train:1", "busybox"
    )
    assert "docker-hub-image" in names(check({"one.yaml": text}))


def test_an_old_version_of_a_kind_has_its_pods_in_another_field(read: Read) -> None:
    (workload,) = read({"one.yaml": manifest("kubeflow.org/MPIJob", under("spec.template", "replicas: 4"))}).workloads
    assert (known(workload.pods), workload.batch) == (4, True)


# --- elastic jobs


def test_an_elastic_pytorch_job_counts_its_maximum_pods(read: Read) -> None:
    spec = under("spec.pytorchReplicaSpecs.Worker.template", "replicas: 2")
    (job,) = read(
        {"one.yaml": manifest("kubeflow.org/PyTorchJob", f"{spec}\n  elasticPolicy: {{maxReplicas: 64}}")}
    ).workloads
    assert (known(job.pods), known(job.rigid)) == (64, False)


RAY = f"""
spec:
  SCALING
  headGroupSpec:
    template:
      {indented(POD, 6)}
  workerGroupSpecs:
    - groupName: gpu
      replicas: 2
      minReplicas: 2
      MOST
      numOfHosts: 2
      template:
        {indented(POD, 8)}
"""


@pytest.mark.parametrize(
    ("scaling", "most", "pods"),
    [
        ("enableInTreeAutoscaling: true", "maxReplicas: 50", 100),
        ("enableInTreeAutoscaling: true", "", None),
        ("enableInTreeAutoscaling: false", "maxReplicas: 50", 4),
        ("", "maxReplicas: 50", 4),
    ],
)
def test_ray_groups_grow_where_the_autoscaler_is_on(read: Read, scaling: str, most: str, pods: int | None) -> None:
    text = RAY.replace("SCALING", scaling).replace("MOST", most)
    (cluster,) = read({"one.yaml": manifest("ray.io/RayCluster", text)}).workloads
    assert {one.role: known(one.count) for one in cluster.templates} == {"head": 1, "gpu": pods}


@pytest.mark.parametrize(
    ("scaling", "most", "rigid"),
    [
        ("enableInTreeAutoscaling: true", "maxReplicas: 50", False),
        ("enableInTreeAutoscaling: true", "maxReplicas: 2", True),
        ("enableInTreeAutoscaling: false", "maxReplicas: 50", True),
    ],
)
def test_ray_jobs_of_fixed_size_wait_for_all_pods(read: Read, scaling: str, most: str, rigid: bool) -> None:
    spec = RAY.replace("SCALING", scaling).replace("MOST", most).replace("spec:", "rayClusterSpec:", 1).strip()
    text = manifest("ray.io/RayJob", f"spec:\n  {indented(spec, 2)}")
    (job,) = read({"one.yaml": text}).workloads
    assert known(job.rigid) is rigid


def test_spark_executors_grow_by_dynamic_allocation(read: Read) -> None:
    spec = "spec:\n  image: spark:3\n  driver: {}\n  executor: {instances: 2}\n  dynamicAllocation: {enabled: true, maxExecutors: 80}"
    (job,) = read({"one.yaml": manifest("sparkoperator.k8s.io/SparkApplication", spec)}).workloads
    assert {one.role: known(one.count) for one in job.templates} == {"driver": 1, "executor": 80}


def test_spark_pods_are_not_edited_in_place(check: Check) -> None:
    spec = "spec:\n  image: spark:3\n  driver: {}\n  executor: {instances: 2, gpu: {name: nvidia.com/gpu, quantity: 8}}"
    result = check({"one.yaml": manifest("sparkoperator.k8s.io/SparkApplication", spec)})
    assert not [finding for finding in result.findings if finding.fix is not None]


SCALED = "spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n  {most}"


@pytest.mark.parametrize(
    ("kind", "name", "most", "pods"),
    [
        ("autoscaling/HorizontalPodAutoscaler", "train", "maxReplicas: 40", 40),
        ("keda.sh/ScaledObject", "train", "maxReplicaCount: 40", 40),
        ("keda.sh/ScaledObject", "train", "minReplicaCount: 1", None),
        ("autoscaling/HorizontalPodAutoscaler", "other", "maxReplicas: 40", 2),
    ],
)
def test_scaled_deployments_count_their_maximum_pods(
    read: Read, kind: str, name: str, most: str, pods: int | None
) -> None:
    tree = {
        "one.yaml": manifest("apps/Deployment", under("spec.template", "replicas: 2")),
        "scaler.yaml": manifest(kind, SCALED.format(name=name, most=most), meta="name: scaler"),
    }
    (workload,) = read(tree).workloads
    assert known(workload.pods) == pods


def test_a_pod_autoscaler_in_another_folder_is_ignored(read: Read) -> None:
    tree = {
        "a/one.yaml": manifest("apps/Deployment", under("spec.template", "replicas: 2")),
        "b/scaler.yaml": manifest(
            "autoscaling/HorizontalPodAutoscaler", SCALED.format(name="train", most="maxReplicas: 40")
        ),
    }
    (workload,) = read(tree).workloads
    assert known(workload.pods) == 2


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        ("limits: {nvidia.com/gpu: null}", "`requests.nvidia.com/gpu` is not set in one.yaml:11"),
        (
            "limits: {nvidia.com/gpu: null}, requests: {nvidia.com/gpu: null}",
            "`nvidia.com/gpu` is null in one.yaml:11",
        ),
    ],
)
def test_missing_requests_have_a_name_and_a_place(check: Check, resources: str, why: str) -> None:
    spec = under("spec.pytorchReplicaSpecs.Worker.template", "replicas: 20")
    spec = spec.replace("limits: {nvidia.com/gpu: 8}", resources)
    result = check({"one.yaml": manifest("kubeflow.org/PyTorchJob", spec)})
    assert why in {reason for one in result.undecided for reason in one.missing}


def test_checks_of_a_pool_with_an_unknown_cluster_name_their_input(check: Check) -> None:
    pool = 'variable "cluster" {}\nresource "google_container_node_pool" "one" {\n  cluster = var.cluster\n  node_count = 3\n}\n'
    result = check({"main.tf": pool})
    assert all(one.missing for one in result.undecided)


def test_a_kubeflow_profile_gives_a_namespace_with_a_quota(read: Read) -> None:
    spec = "spec: {resourceQuotaSpec: {hard: {requests.nvidia.com/gpu: 8}}}"
    found = read({"one.yaml": manifest("kubeflow.org/Profile", spec, meta="name: vision")})
    assert [known(one.name) for one in found.namespaces] == ["vision"]
    assert [(known(one.namespace), known(one.hard)) for one in found.limits] == [
        ("vision", {"requests.nvidia.com/gpu": "8"})
    ]


def test_a_kubeflow_profile_without_a_quota_gives_a_namespace(read: Read) -> None:
    found = read({"one.yaml": manifest("kubeflow.org/Profile", "spec: {resourceQuotaSpec: {}}", meta="name: vision")})
    assert (len(found.namespaces), len(found.limits)) == (1, 0)
