"""Test readers of workloads: each kind with its pods, counts, GPUs, queue and policies.

A kind that is read wrongly would silence rules.
"""

from __future__ import annotations

import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.config.numbers import profiles
from kcheck.kubernetes.workloads.scalars import scaled_quantity
from kcheck.model import Toleration
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.units import quantity
from kcheck.text.values import Unknown, known, sure
from tests.conftest import indented, manifest, one_pod, requirement

if TYPE_CHECKING:
    from kcheck.model import Workload
    from tests.conftest import Read


POD = """
spec:
  priorityClassName: high
  nodeSelector: {pool: gpu}
  containers:
    - name: train
      image: quay.io/example/train:1
      resources:
        requests: {cpu: 500m, memory: 2Gi}
        limits: {nvidia.com/gpu: 8}
"""


def roles(*each: tuple[str, int]) -> str:
    """Return a map of replicas by role, as Kubeflow's jobs have it."""
    return "\n".join(
        f"    {role}:\n      replicas: {count}\n      template:\n        {indented(POD, 8)}" for role, count in each
    )


SPARK_POD = """
priorityClassName: high
nodeSelector: {pool: gpu}
coreRequest: 500m
memory: 2g
gpu: {name: nvidia.com/gpu, quantity: 8}
"""
NEWLINE = "\n"
SPARK = f"""image: quay.io/example/spark:1
  driver:
    {indented(SPARK_POD, 4)}
  executor:
    instances: 40
    {indented(SPARK_POD, 4)}
"""
TEMPLATE = f"template:\n    {indented(POD, 4)}"
KINDS: dict[str, tuple[str, dict[str, int]]] = {
    "Pod": (POD, {"": 1}),
    "ReplicationController": (f"spec:\n  replicas: 3\n  {TEMPLATE}", {"": 3}),
    **{
        f"{group}/{kind}": (f"spec:\n  replicas: 3\n  {TEMPLATE}", {"": 3})
        for group, kind in [
            ("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "ReplicaSet"),
            ("extensions", "Deployment"), ("extensions", "ReplicaSet"),
        ]
    },
    "apps/DaemonSet": (f"spec:\n  {TEMPLATE}", {"": 1}),
    "extensions/DaemonSet": (f"spec:\n  {TEMPLATE}", {"": 1}),
    "kubeflow.org/Notebook": (f"spec:\n  {TEMPLATE}", {"": 1}),
    "batch/Job": (f"spec:\n  parallelism: 4\n  {TEMPLATE}", {"": 4}),
    "batch/CronJob": (
        f"spec:\n  jobTemplate:\n    spec:\n      parallelism: 4\n      template:\n        {indented(POD, 8)}", {"": 4},
    ),
    "jobset.x-k8s.io/JobSet": (
        "spec:\n  replicatedJobs:\n"
        + "".join(
            f"    - name: {role}\n      replicas: 2\n      template:\n        spec:\n          parallelism: {count}\n"
            f"          template:\n            {indented(POD, 12)}\n"
            for role, count in (("driver", 1), ("workers", 4))
        ),
        {"driver": 2, "workers": 8},
    ),
    **{
        f"kubeflow.org/{kind}": (f"spec:\n  {field}:\n{roles(('Launcher', 1), ('Worker', 4))}", {"Launcher": 1, "Worker": 4})
        for kind, field in {
            "MPIJob": "mpiReplicaSpecs", "PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs",
            "XGBoostJob": "xgbReplicaSpecs", "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs",
        }.items()
    },
    "trainer.kubeflow.org/TrainJob": (
        ("spec:\n  trainer:\n    numNodes: 4\n    resourcesPerNode:\n"
        "      requests: {cpu: 500m, memory: 2Gi}\n      limits: {nvidia.com/gpu: 8}"),
        {"node": 4},
    ),
    "batch.volcano.sh/Job": (
        f"spec:\n  tasks:\n    - name: worker\n      replicas: 4\n      template:\n        {indented(POD, 8)}", {"worker": 4},
    ),
    "ray.io/RayCluster": (
        (f"spec:\n  headGroupSpec:\n    template:\n      {indented(POD, 6)}\n  workerGroupSpecs:\n    - groupName: gpu\n"
        f"      minReplicas: 2\n      numOfHosts: 3\n      template:\n        {indented(POD, 8)}"),
        {"head": 1, "gpu": 6},
    ),
    **{
        f"ray.io/{kind}": (
            (f"spec:\n  {field}:\n    headGroupSpec:\n      template:\n        {indented(POD, 8)}\n    workerGroupSpecs:\n"
            f"      - groupName: gpu\n        replicas: 5\n        template:\n          {indented(POD, 10)}"),
            {"head": 1, "gpu": 5},
        )
        for kind, field in {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}.items()
    },
    "ray.io/RayCronJob": (
        (f"spec:\n  schedule: 0 2 * * *\n  jobTemplate:\n    rayClusterSpec:\n      headGroupSpec:\n        template:\n          {indented(POD, 10)}\n"
        f"      workerGroupSpecs:\n        - groupName: gpu\n          replicas: 5\n          template:\n            {indented(POD, 12)}"),
        {"head": 1, "gpu": 5},
    ),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (
        (f"spec:\n  replicas: 2\n  leaderWorkerTemplate:\n    size: 4\n"
        f"    leaderTemplate:\n      {indented(POD, 6)}\n    workerTemplate:\n      {indented(POD, 6)}"),
        {"leader": 2, "worker": 6},
    ),
    "workloads.x-k8s.io/RoleBasedGroup": (
        (f"spec:\n  roles:\n    - name: router\n      replicas: 2\n      template:\n        {indented(POD, 8)}\n"
        f"    - name: prefill\n      replicas: 3\n      standalonePattern:\n        template:\n          {indented(POD, 10)}\n"
        f"    - name: decode\n      replicas: 2\n      leaderWorkerPattern:\n        size: 4\n        template:\n          {indented(POD, 10)}"),
        {"router": 2, "prefill": 3, "decode": 8},
    ),
    "serving.kserve.io/InferenceService": (
        ("spec:\n  predictor:\n    minReplicas: 2\n    maxReplicas: 5\n    priorityClassName: high\n    nodeSelector: {pool: gpu}\n    model:\n      image: quay.io/example/train:1\n"
        "      resources: {requests: {cpu: 500m, memory: 2Gi}, limits: {nvidia.com/gpu: 8}}"),
        {"predictor": 5},
    ),
    "elastic.iml.github.io/ElasticJob": (f"spec:\n  replicaSpecs:\n{roles(('ps', 2), ('worker', 4))}", {"ps": 2, "worker": 4}),
    "elastic.pytorch.org/ElasticJob": (f"spec:\n  maxReplicas: 16\n  replicaSpecs:\n{roles(('Worker', 4))}", {"Worker": 16}),
    "kai.alibabacloud.com/TrainingJob": (f"spec:\n  etReplicaSpecs:\n{roles(('worker', 4))}\n      maxReplicas: 9", {"worker": 9}),
    **{
        f"sparkoperator.k8s.io/{kind}": (
            f"spec:\n  {field}{SPARK.replace(NEWLINE, NEWLINE + '  ') if field else SPARK}", {"driver": 1, "executor": 40},
        )
        for kind, field in {"SparkApplication": "", "ScheduledSparkApplication": "template:\n    "}.items()
    },
}  # fmt: skip


def test_the_tests_cover_every_workload_kind() -> None:
    assert set(KINDS) == set(profiles.workloads())


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_every_kind_are_read(kind: str, read: Read) -> None:
    spec, counts = KINDS[kind]
    (workload,) = read({"one.yaml": manifest(kind, spec)}).workloads
    entry = profiles.workloads()[kind]
    assert workload.kind == kind.rpartition("/")[2]
    assert {one.role: known(one.count) for one in workload.templates} == counts
    assert known(workload.pods) == sum(counts.values())
    assert known(workload.gpus) == 8
    assert workload.batch == entry.get("batch", False)
    assert workload.per_node == entry.get("per_node", False)
    assert known(workload.rigid) == (entry.get("rigid") in (True, "fixed"))
    for template in workload.templates:
        assert (known(template.cpu), known(template.memory), known(template.gpus)) == (500, 2 << 30, 8)
        if kind != "trainer.kubeflow.org/TrainJob":  # its runtime has the rest
            assert [known(one.image) for one in template.containers] in (
                ["quay.io/example/train:1"],
                ["quay.io/example/spark:1"],
            )
            assert known(template.priority) == "high"
            assert known(template.selection) == ((requirement("pool", "gpu"),),)


WITHOUT_TEMPLATE = {
    "serving.kserve.io/InferenceService", "Pod", "trainer.kubeflow.org/TrainJob", "sparkoperator.k8s.io/SparkApplication",
    "sparkoperator.k8s.io/ScheduledSparkApplication",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_another_group_has_pods_of_unknown_role(kind: str, read: Read) -> None:
    spec, counts = KINDS[kind]
    found = read({"one.yaml": manifest(f"example.org/{kind.rpartition('/')[2]}", spec)}).workloads
    if kind in WITHOUT_TEMPLATE:
        assert not found
        return
    (workload,) = found
    assert len(workload.templates) == len(counts)
    assert not workload.batch
    assert not workload.per_node
    assert known(workload.gpus) == 8


JOB = """
spec:
  parallelism: 8
  completions: 2
  activeDeadlineSeconds: 3600
  ttlSecondsAfterFinished: 60
  template:
    spec:
      containers:
        - {name: a, image: a}
"""


def test_a_job_runs_no_more_pods_than_it_completes(read: Read) -> None:
    (job,) = read({"one.yaml": manifest("batch/Job", JOB)}).workloads
    assert known(job.pods) == 2
    assert (known(job.deadline), known(job.ttl), known(job.retries)) == (3600, 60, 6)


def test_workloads_in_a_list_are_read(read: Read) -> None:
    item = textwrap.indent(manifest("Pod", POD), "    ")
    text = f"apiVersion: v1\nkind: List\nitems:\n  -\n{item}  -\n{item.replace('name: train', 'name: other', 1)}"
    assert [known(one.name) for one in read({"one.yaml": text}).workloads] == ["train", "other"]


POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "kubeflow.org/PyTorchJob": (
        """
        spec:
          runPolicy:
            ttlSecondsAfterFinished: 60
            activeDeadlineSeconds: 7200
            backoffLimit: 1
            cleanPodPolicy: Running
            schedulingPolicy: {minAvailable: 3, queue: research, priorityClass: low}
          nprocPerNode: "4"
          pytorchReplicaSpecs: {}
        """,
        {
            "ttl": 60, "deadline": 7200, "retries": 1, "cleaning": "Running", "least": 3, "queue": "research",
            "queue_system": "volcano", "priority": "low", "processes": "4", "gang": "its scheduling policy",
        },
    ),
    "kubeflow.org/MPIJob": (
        "spec: {slotsPerWorker: 8, launcherCreationPolicy: WaitForWorkersReady, mpiReplicaSpecs: {}}",
        {"slots": 8, "launching": "WaitForWorkersReady", "cleaning": "None"},
    ),
    "batch.volcano.sh/Job": (
        "spec: {minAvailable: 2, maxRetry: 5, priorityClassName: high, tasks: []}",
        {"least": 2, "retries": 5, "priority": "high", "queue": "default", "queue_system": "volcano", "gang": "Volcano"},
    ),
    "ray.io/RayJob": (
        "spec: {shutdownAfterJobFinishes: true, ttlSecondsAfterFinished: 10}", {"shutdown": True, "ttl": 10},
    ),
    "ray.io/RayCronJob": (
        "spec: {schedule: 0 2 * * *, timeZone: Asia/Tokyo, suspend: true, jobTemplate: {shutdownAfterJobFinishes: true}}",
        {"schedule": "0 2 * * *", "time_zone": "Asia/Tokyo", "suspended": True, "shutdown": True, "gang": None},
    ),
    "jobset.x-k8s.io/JobSet": ("spec: {failurePolicy: {maxRestarts: 3}, replicatedJobs: []}", {"retries": 3}),
}  # fmt: skip


@pytest.mark.parametrize("kind", POLICIES)
def test_job_policies_are_read(kind: str, read: Read) -> None:
    spec, wanted = POLICIES[kind]
    text = manifest(kind, spec).replace("/v1\nkind: MPIJob", "/v2beta1\nkind: MPIJob")  # v1 has no such policy
    (job,) = read({"one.yaml": text}).workloads
    assert {name: known(getattr(job, name)) for name in wanted} == wanted


FIRST_MPI = """
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: train}
spec:
  SPEC
  backoffLimit: 2
  template:
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - {name: train, image: "quay.io/example/train:1", RESOURCES}
        - {name: logs, image: "quay.io/example/logs:1"}
"""
EIGHT = "resources: {limits: {nvidia.com/gpu: 8}}"


@pytest.mark.parametrize(
    ("spec", "resources", "workers", "gpus", "slots"),
    [
        ("gpus: 64\n  gpusPerNode: 8", "", 8, 8, 8),
        ("gpus: 4\n  gpusPerNode: 8", "", 1, 4, 4),
        ("processingUnits: 32\n  processingUnitsPerNode: 4\n  slotsPerWorker: 2", EIGHT, 8, 4, 2),
        ("processingUnits: 32\n  processingUnitsPerNode: 4\n  processingResourceType: cpu", "", 8, 0, 4),
        ("replicas: 16", EIGHT, 16, 8, 8),
        ("replicas: 16", "", 16, 0, 1),
        ("gpus: 64", "", None, None, None),  # a flag of the operator says how many a worker has
        ("gpus: 12\n  gpusPerNode: 8", "", None, None, None),  # which the operator refuses
        ('gpus: "{{ gpus }}"\n  gpusPerNode: 8', "", None, None, None),
    ],
)
def test_mpi_v1alpha1_jobs_have_one_template(
    spec: str, resources: str, workers: int | None, gpus: int | None, slots: int | None, read: Read
) -> None:
    text = FIRST_MPI.replace("SPEC", spec).replace("RESOURCES", resources or "tty: false")
    (job,) = read({"one.yaml": text}).workloads
    launcher, worker = job.templates
    assert (launcher.role, known(launcher.count), known(launcher.gpus)) == ("Launcher", 1, 0)
    assert (worker.role, known(worker.count), known(worker.gpus)) == ("Worker", workers, gpus)
    assert (known(job.slots), known(job.retries), known(job.cleaning)) == (slots, 2, "Running")
    assert [len(one.containers) for one in job.templates] == [2, 2]
    assert [len(known(one.tolerations) or ()) for one in job.templates] == [1, 1]


@pytest.mark.parametrize(
    ("meta", "queue", "system", "gang"),
    [
        ("name: a\nlabels: {kueue.x-k8s.io/queue-name: team}", "team", "kueue", "Kueue"),
        ("name: a\nannotations: {scheduling.volcano.sh/queue-name: team}", "team", "volcano", None),
        ("name: a\nlabels: {scheduling.x-k8s.io/pod-group: g}", None, None, "scheduling.x-k8s.io/pod-group"),
        ("name: a", None, None, None),
    ],
)
def test_queues_and_gangs_are_read(
    meta: str, queue: str | None, system: str | None, gang: str | None, read: Read
) -> None:
    (job,) = read({"one.yaml": manifest("batch/Job", JOB, meta=meta)}).workloads
    assert (known(job.queue), known(job.queue_system), known(job.gang)) == (queue, system, gang)


def test_a_job_whose_pods_connect_is_rigid(read: Read) -> None:
    spec = """
    spec:
      completionMode: Indexed
      parallelism: {pods}
      template:
        spec:
          {subdomain}
          containers:
            - {{name: a, image: a, command: [python]}}
    """
    cases = (("hostname: a", 2), ("subdomain: train", 2), ("subdomain: train", 1))
    texts = (textwrap.dedent(spec.format(subdomain=text, pods=pods)) for text, pods in cases)
    files = {f"{i}.yaml": manifest("batch/Job", text) for i, text in enumerate(texts)}
    assert [known(one.rigid) for one in read(files).workloads] == [False, True, False]


@pytest.mark.parametrize(("nodes", "rigid"), [("8:16", False), ("16:16", True), ("16", True)])
def test_torchrun_can_start_with_fewer_nodes(nodes: str, rigid: bool, read: Read) -> None:
    spec = f"""
    spec:
      completionMode: Indexed
      parallelism: 16
      template:
        spec:
          containers:
            - {{name: a, image: a, command: [torchrun], args: [--nnodes={nodes}, train.py]}}
    """
    (job,) = read({"one.yaml": manifest("batch/Job", textwrap.dedent(spec))}).workloads
    assert known(job.rigid) is rigid


@pytest.mark.parametrize(
    ("kind", "pods", "container", "rigid"),
    [
        ("apps/StatefulSet", "replicas: 4", "command: [torchrun, --nnodes=4, train.py]", True),
        ("apps/StatefulSet", "replicas: 4", 'command: [torchrun, --nnodes, "4", train.py]', True),
        ("apps/StatefulSet", "replicas: 4", "command: [torchrun, --nnodes=1, train.py]", False),
        ("apps/StatefulSet", "replicas: 4", "command: [torchrun, '--nnodes=2:4', train.py]", False),
        ("apps/StatefulSet", "replicas: 4", 'env: [{name: PET_NNODES, value: "4"}]', True),
        ("batch/Job", "parallelism: 4", 'env: [{name: WORLD_SIZE, value: "4"}]', True),
        ("batch/Job", "parallelism: 4", 'env: [{name: WORLD_SIZE, value: "3"}]', False),
        ("batch/Job", "parallelism: 1", "command: [torchrun, --nnodes=4, train.py]", False),
        ("apps/Deployment", "replicas: 4", "resources: {limits: {nvidia.com/gpu: 8}}\n          env: [{name: WORLD_SIZE, value: '8'}]", False),
        ("apps/Deployment", "replicas: 4", "resources: {limits: {nvidia.com/gpu: 8}}\n          env: [{name: WORLD_SIZE, value: '32'}]", True),
    ],
)  # fmt: skip
def test_pods_of_one_process_group_wait_for_each_other(
    kind: str, pods: str, container: str, rigid: bool, read: Read
) -> None:
    spec = f"spec:\n  {pods}\n  template:\n    spec:\n      containers:\n        - name: a\n          image: a\n          {container}"
    (workload,) = read({"one.yaml": manifest(kind, spec)}).workloads
    assert known(workload.rigid) is rigid


def rank(number: int, *, labels: str = "", env: str = "", folder: str = "") -> tuple[str, str]:
    """Return a file, as name and text, with a bare Pod that has GPUs."""
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: rank-{number}, labels: {{{labels}}}}}\nspec:\n  containers:\n"
    limits = "resources: {limits: {nvidia.com/gpu: 8}}"
    return (
        f"{folder}{number}.yaml",
        f"{head}    - name: a\n      image: a:{number}\n      env: [{env}]\n      {limits}\n",
    )


MASTER = "{name: MASTER_ADDR, value: rank-0.ranks}, {name: WORLD_SIZE, value: '16'}"


@pytest.mark.parametrize(
    ("labels", "env", "name", "rigid", "gang"),
    [
        ("", MASTER, "rank-0", True, None),
        ("kueue.x-k8s.io/pod-group-name: ranks", "", "ranks", False, "kueue.x-k8s.io/pod-group-name"),
        ("scheduling.x-k8s.io/pod-group: ranks", MASTER, "ranks", True, "scheduling.x-k8s.io/pod-group"),
    ],
)
def test_bare_pods_of_a_group_are_one_job(
    labels: str, env: str, name: str, rigid: bool, gang: str | None, read: Read
) -> None:
    files = dict(rank(number, labels=labels, env=env) for number in range(2))
    other = rank(7, labels=labels, env=env, folder="other/")
    job, alone = read({**files, other[0]: other[1]}).workloads
    assert (job.kind, known(job.name), known(job.pods), known(job.rigid), known(job.gang)) == (
        "Pod group", name, 2, rigid, gang,
    )  # fmt: skip
    assert (job.batch, [known(image.text) for image in job.images], known(job.gpus)) == (True, ["a:0", "a:1"], 8)
    assert (alone.kind, known(alone.rigid)) == ("Pod", False)


def test_bare_pods_without_a_group_are_separate_workloads(read: Read) -> None:
    assert [known(one.name) for one in read(dict(map(rank, range(2)))).workloads] == ["rank-0", "rank-1"]


@pytest.mark.parametrize(("replicas", "rigid"), [("replicas: 1", True), ("size: 4", True), ("replicas: 3", False)])
def test_each_replica_of_a_leader_worker_set_is_a_gang(replicas: str, rigid: bool, read: Read) -> None:
    kind = "leaderworkerset.x-k8s.io/LeaderWorkerSet"
    text = KINDS[kind][0].replace("replicas: 2", replicas)
    (workload,) = read({"one.yaml": manifest(kind, text)}).workloads
    assert known(workload.rigid) is rigid


def test_a_ray_job_on_another_cluster_is_only_its_submitter(read: Read) -> None:
    spec = f"spec:\n  clusterSelector: {{ray.io/cluster: big}}\n  submitterPodTemplate:\n    {indented(POD, 4)}"
    texts = (spec, "spec: {entrypoint: python train.py, clusterSelector: {ray.io/cluster: big}}")
    found = read({f"{i}.yaml": manifest("ray.io/RayJob", text) for i, text in enumerate(texts)}).workloads
    assert [(known(job.pods), known(job.rigid), job.partial) for job in found] == [(1, False, False), (0, False, False)]


@pytest.mark.parametrize(
    ("annotation", "packed", "topology"),
    [
        ("podset-required-topology: block", "block", "block"),
        ("podset-preferred-topology: block", None, "block"),
        ("podset-slice-required-topology: rack", None, "rack"),
        ('podset-unconstrained-topology: "true"', None, None),
        ("podset-group-name: all", None, None),
    ],
)
def test_kueue_topology_annotations_are_read(
    annotation: str, packed: str | None, topology: str | None, read: Read
) -> None:
    meta = f"name: a\nannotations: {{kueue.x-k8s.io/{annotation}}}"
    (workload,) = read({"one.yaml": manifest("Pod", POD, meta=meta)}).workloads
    (pods,) = workload.templates
    assert (known(pods.packed_by), known(pods.topology)) == (packed, topology)


# --- Terraform

HCL = """
variable "workers" { type = number }
variable "selector" { type = map(string) }

resource "kubernetes_manifest" "job" {
  manifest = {
    apiVersion = "kubeflow.org/v1"
    kind       = "PyTorchJob"
    metadata   = { name = "train" }
    spec = {
      pytorchReplicaSpecs = {
        Master = { template = { spec = { containers = [{
          name = "a", image = "a", resources = { requests = { cpu = 0.5 }, limits = { "nvidia.com/gpu" = 8 } }
        }] } } }
        Worker = {
          replicas = var.workers
          template = { spec = { nodeSelector = var.selector, containers = [] } }
        }
      }
    }
  }
}

resource "kubernetes_job" "job" {
  metadata { name = "typed" }
  spec {
    parallelism   = 3
    backoff_limit = 2
    template {
      metadata {}
      spec {
        node_selector = { pool = "gpu" }
        toleration {
          key      = "nvidia.com/gpu"
          operator = "Exists"
        }
        container {
          name  = "a"
          image = "a"
          resources {
            limits = { "nvidia.com/gpu" = 4, cpu = "1500m" }
          }
        }
      }
    }
  }
}
"""


def test_unknown_parts_of_terraform_workloads_stay_unknown(read: Read) -> None:
    by_name: dict[Any, Workload] = {known(one.name): one for one in read({"main.tf": HCL}).workloads}
    master, worker = by_name["train"].templates
    assert (known(master.count), known(master.gpus), known(master.cpu)) == (1, 8, 500)
    assert isinstance(worker.count, Unknown)
    assert isinstance(worker.selection, Unknown)
    assert isinstance(by_name["train"].pods, Unknown)
    (typed,) = by_name["typed"].templates
    assert (known(typed.count), known(typed.gpus), known(typed.cpu)) == (3, 4, 1500)
    assert known(by_name["typed"].retries) == 2
    assert known(typed.tolerations) == (Toleration("nvidia.com/gpu", "Exists", "", ""),)


# --- pods


def test_limits_are_the_requests_where_only_limits_are_written(read: Read) -> None:
    template = one_pod(
        """
        initContainers:
          - {name: big, image: a, resources: {requests: {cpu: 3, memory: 1Gi}}}
        containers:
          - {name: a, image: a, resources: {limits: {cpu: 1500m, memory: 512Mi}}}
          - {name: b, image: a, resources: {requests: {cpu: 0.25, memory: 3e9}, limits: {cpu: 8}}}
        """,
        read,
    )
    assert known(template.cpu) == 3000
    assert known(template.memory) == 512 * 2**20 + 3 * 10**9


def test_gpu_slices_are_not_counted_as_gpus(read: Read) -> None:
    template = one_pod("containers: [{name: a, image: a, resources: {limits: {nvidia.com/mig-1g.5gb: 2}}}]", read)
    assert (known(template.gpus), template.shares) == (0, True)


def test_amounts_that_are_not_numbers_are_unknown(read: Read) -> None:
    template = one_pod(
        'containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: "0.5", cpu: lots}}}]', read
    )
    assert isinstance(template.gpus, Unknown)
    assert isinstance(template.cpu, Unknown)


def test_affinity_with_several_terms_is_read_as_alternatives(read: Read) -> None:
    template = one_pod(
        """
        nodeSelector: {disk: ssd}
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions:
                    - {key: pool, operator: In, values: [a, b]}
                    - {key: spot, operator: DoesNotExist}
                - matchExpressions:
                    - {key: gpus, operator: Gt, values: ["3"]}
        containers: []
        """,
        read,
    )
    ssd = requirement("disk", "ssd")
    assert known(template.selection) == (
        (ssd, requirement("pool", "a", "b"), requirement("spot", operator="DoesNotExist")),
        (ssd, requirement("gpus", "3", operator="Gt")),
    )


def test_ports_and_anti_affinity_and_shared_memory_are_read(read: Read) -> None:
    template = one_pod(
        """
        hostNetwork: true
        affinity:
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              - {topologyKey: kubernetes.io/hostname, labelSelector: {}}
        volumes:
          - {name: shm, emptyDir: {medium: Memory}}
          - {name: data, persistentVolumeClaim: {claimName: data}}
        containers:
          - {name: a, image: a, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]}
        """,
        read,
    )
    assert (known(template.spread), known(template.host_network), known(template.ports)) == (True, True, (80, 81))
    assert [(one.kind, known(one.medium)) for one in known(template.volumes) or ()] == [
        ("emptyDir", "Memory"),
        ("persistentVolumeClaim", None),
    ]


@pytest.mark.medium
@given(
    st.integers(0, 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "E2"]),
    st.sampled_from([1, 1000]),
)
def test_quantities_are_rounded_up(number: int, suffix: str, times: int) -> None:
    text = f"{number}{suffix}"
    (document,) = yaml.documents(Source("a.yaml", f'cpu: "{text}"'.encode()))
    assert document.root is not None
    found = known(scaled_quantity(document.root, ("cpu",), times))
    exact = quantity(text) * times
    assert isinstance(found, int)
    assert exact <= found < exact + 1


@pytest.mark.medium
@given(st.text(max_size=8))
def test_every_text_is_a_quantity_or_is_refused(text: str) -> None:
    try:
        number = quantity(text)
    except ValueError:
        return
    assert isinstance(number, Fraction)


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: whole}
spec:
  template:
    spec:
      replicatedJobs:
        - name: dataset
          template: {spec: {template: {spec: {containers: [{name: other, image: other:1}]}}}}
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
                spec:
                  nodeSelector: {pool: gpu}
                  containers:
                    - name: node
                      image: train:0
                      env: [{name: A, value: a}]
                      resources: {requests: {cpu: 4, memory: 8Gi}, limits: {nvidia.com/gpu: 8}}
                    - {name: beside, image: beside:1, resources: {requests: {cpu: 1, memory: 1Gi}}}
"""
TRAIN_JOB = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: one}
spec:
  runtimeRef: {kind: TrainingRuntime, name: whole}
  trainer: {image: "train:1", numNodes: 4, numProcPerNode: 8, command: [torchrun], env: [{name: B, value: b}]}
"""


def test_a_trainjob_has_the_pods_of_its_runtime(read: Read) -> None:
    (job,) = read({"one.yaml": RUNTIME + TRAIN_JOB}).workloads
    (pods,) = job.templates
    assert (known(pods.count), known(pods.cpu), known(pods.memory), known(pods.gpus)) == (4, 5000, 9 << 30, 8)
    assert [known(one.image) for one in pods.containers] == ["train:1", "beside:1"]
    assert known(pods.selection) == ((requirement("pool", "gpu"),),)
    assert known(pods.safe_to_evict) == "false"
    assert known(job.processes) == "8"


def test_a_trainjob_overrides_its_runtime(read: Read) -> None:
    own = "numNodes: 4, resourcesPerNode: {requests: {cpu: 2, memory: 4Gi}}"
    (job,) = read({"one.yaml": RUNTIME + TRAIN_JOB.replace("numNodes: 4", own)}).workloads
    (pods,) = job.templates
    assert (known(pods.cpu), known(pods.memory), known(pods.gpus)) == (3000, 5 << 30, 0)


def test_a_trainjob_uses_the_runtime_in_its_folder(read: Read) -> None:
    other = RUNTIME.replace("cpu: 4,", "cpu: 64,")
    files = {"a/runtime.yaml": RUNTIME, "a/job.yaml": TRAIN_JOB, "b/runtime.yaml": other, "b/job.yaml": TRAIN_JOB}
    found = {job.place.source.path: known(job.templates[0].cpu) for job in read(files).workloads}
    assert [cpu for path, cpu in sorted(found.items()) if "job" in path] == [5000, 65000]


def overridden(form: str, target: str = "node") -> str:
    """Return a TrainJob with overrides, in the form that one release of the trainer uses."""
    spec = """\
nodeSelector: {zone: a}
tolerations: [{operator: Exists}]
terminationGracePeriodSeconds: 60
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
containers: [{name: node, volumeMounts: [{name: data, mountPath: /data}]}]
"""
    note = "metadata: {annotations: {karpenter.sh/do-not-disrupt: 'true'}}"
    targets = f"targetJobs: [{{name: {target}}}]"
    pods = f"{note}\nspec:\n  {indented(spec, 2)}"
    text = {
        "podSpecOverrides": f"- {targets}\n  {indented(spec, 2)}",
        "podTemplateOverrides": f"- {targets}\n  {indented(pods, 2)}",
        "runtimePatches": (
            "- manager: example.org/me\n  trainingRuntimeSpec:\n    template:\n      spec:\n        replicatedJobs:\n"
            f"          - name: {target}\n            template: {{spec: {{template: PODS}}}}"
        ).replace(
            "{spec: {template: PODS}}",
            f"\n              spec:\n                template:\n                  {indented(pods, 18)}",
        ),
    }[form]
    return f"{TRAIN_JOB}  {form}:\n    {indented(text, 4)}\n"


FORMS = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")


@pytest.mark.parametrize("form", FORMS)
def test_a_trainjob_patches_its_runtime(form: str, read: Read) -> None:
    (job,) = read({"one.yaml": RUNTIME + overridden(form)}).workloads
    (pods,) = job.templates
    assert known(pods.selection) == ((requirement("pool", "gpu"), requirement("zone", "a")),)
    assert known(pods.tolerations) == (Toleration("", "Exists", "", ""),)
    assert known(pods.grace) == 60
    assert [known(one.image) for one in pods.containers] == ["train:1", "beside:1"]
    assert [known(one.mounts) for one in pods.containers] == [("/data",), ()]
    assert known(pods.safe_to_evict) == "false"
    assert known(pods.do_not_disrupt) == (None if form == "podSpecOverrides" else "true")


@pytest.mark.parametrize("form", FORMS)
def test_a_trainjob_patches_another_job(form: str, read: Read) -> None:
    (job,) = read({"one.yaml": RUNTIME + overridden(form, "dataset")}).workloads
    assert known(job.templates[0].selection) == ((requirement("pool", "gpu"),),)


@pytest.mark.parametrize("form", FORMS)
def test_patches_of_a_trainjob_are_known_without_its_runtime(form: str, read: Read) -> None:
    (job,) = read({"one.yaml": overridden(form)}).workloads
    (pods,) = job.templates
    assert isinstance(pods.selection, Unknown)
    assert sure(pods.selection) == ((requirement("zone", "a"),),)
    assert known(pods.tolerations) == (Toleration("", "Exists", "", ""),)
    assert [one.kind for one in sure(pods.volumes) or ()] == ["persistentVolumeClaim"]
    assert [(known(one.image), known(one.mounts)) for one in pods.containers] == [("train:1", ("/data",))]
    assert isinstance(pods.safe_to_evict, Unknown)


def test_a_trainjob_without_its_runtime_has_unknown_pods(read: Read) -> None:
    (job,) = read({"one.yaml": RUNTIME.replace("name: whole", "name: other") + TRAIN_JOB}).workloads
    assert isinstance(job.templates[0].selection, Unknown)
