"""Test jobs as people write them: reported mistakes, and cases left alone."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.text.values import known

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check

pytestmark = pytest.mark.medium

LARGE = Config(nodes={"": 1000})
CLUSTER = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: eu-west-1}
managedNodeGroups:
  - {name: gpu, instanceType: p5.48xlarge, minSize: 0, maxSize: 128}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  generateName: train-
spec:
  completionMode: Indexed
  completions: 16
  parallelism: 16
  template:
    spec:
      containers:
        - name: train
          image: quay.io/example/train:1
          command: [torchrun, train.py]
          resources: {limits: {RESOURCE: 8}}
      restartPolicy: Never
"""
NVIDIA = JOB.replace("RESOURCE", "nvidia.com/gpu")
PYTORCH = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 64
      restartPolicy: Never
      template:
        spec:
          restartPolicy: OnFailure
          containers:
            - name: pytorch
              image: quay.io/example/train:1
              command: [sh, -c, "COMMAND"]
              resources: {limits: {nvidia.com/gpu: 8}}
"""
TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 64
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: KIND
metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 1}
"""
MPI = """
apiVersion: kubeflow.org/VERSION
kind: MPIJob
metadata: {name: train}
spec:
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: a, image: quay.io/example/train:1, command: [mpirun, LAUNCH]}]}}
    Worker:
      replicas: 16
      template:
        spec: {containers: [{name: a, image: quay.io/example/train:1, resources: {limits: {nvidia.com/gpu: 8}}}]}
"""
LOCAL_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: NAME}
spec: {clusterQueue: gpus}
"""
CLUSTER_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  resourceGroups:
    - {coveredResources: [cpu], flavors: [{name: a, resources: [{name: cpu, nominalQuota: 9}]}]}
"""
QUEUED = NVIDIA.replace("  generateName: train-\n", "  name: train\n  labels: {kueue.x-k8s.io/queue-name: research}\n")


def found(result: Result) -> dict[str, str]:
    """Return the rules that found something, with their severities."""
    assert not result.bugs
    return {finding.rule: finding.severity.word for finding in result.findings}


def undecided(result: Result) -> set[str]:
    return {check.rule for check in result.undecided}


def test_a_kustomize_patch_is_not_judged_as_a_job(check: Check) -> None:
    """The patch changes only parts of a job, which is judged where it is complete."""
    patch = NVIDIA.replace("          image: quay.io/example/train:1\n", "")
    assert not found(check({"patch.yaml": patch}, LARGE))


def test_a_generated_name_is_in_the_message(check: Check) -> None:
    result = check({"job.yaml": NVIDIA}, LARGE)
    assert next(f.message for f in result.findings if f.rule == "gang-missing").startswith(
        "Job train- needs 16 pods at once"
    )


@pytest.mark.parametrize(
    ("gpus", "nodes", "severity"),
    [(8, 0, "warning"), (1, 0, "info"), (1, 1000, "warning"), (1, 20, "info"), (4, 20, "warning")],
)
def test_the_severity_of_a_missing_gang_depends_on_the_gpus_of_the_job(
    gpus: int, nodes: int, severity: str, check: Check
) -> None:
    job = NVIDIA.replace("nvidia.com/gpu: 8", f"nvidia.com/gpu: {gpus}")
    result = check({"job.yaml": job}, Config(nodes={"": nodes} if nodes else {}))
    assert found(result).get("gang-missing") == severity


@pytest.mark.parametrize(
    "place",
    [
        "schedulerName: kai-scheduler",
        "schedulingGroup: {podGroupName: train}",
        "workloadRef: {name: train}",
    ],
)
def test_annotations_on_pods_can_declare_a_gang(place: str, check: Check) -> None:
    text = NVIDIA.replace("      containers:\n", f"      {place}\n      containers:\n")
    assert "gang-missing" not in found(check({"job.yaml": text}, LARGE))


@pytest.mark.parametrize(
    ("argument", "gangs"),
    [("--gang-scheduler-name=volcano", True), ("--gang-scheduler-name=", False), ("--gang-scheduler-name=none", False)],
)
def test_the_training_operator_can_make_every_job_a_gang(argument: str, gangs: bool, check: Check) -> None:
    operator = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: training-operator}\nspec:\n  template:\n    spec:\n"
        f"      containers: [{{name: a, image: quay.io/example/operator:1, args: [{argument}, --zap-log-level=2]}}]\n"
    )
    result = check({"job.yaml": PYTORCH, "operator.yaml": operator}, LARGE)
    assert ("gang-missing" in found(result)) != gangs


@pytest.mark.parametrize(
    ("runtime", "decided"),
    [("", False), (RUNTIME.replace("KIND", "TrainingRuntime"), False), (RUNTIME, True)],
    ids=["none", "another", "own"],
)
def test_the_runtime_supplies_missing_fields_of_a_train_job(runtime: str, decided: bool, check: Check) -> None:
    text = "---".join(part for part in (TRAINJOB, runtime.replace("KIND", "ClusterTrainingRuntime")) if part)
    result = check({"job.yaml": text}, LARGE)
    assert ("gang-missing" in found(result)) == decided
    assert ("gang-missing" in undecided(result)) != decided
    assert "missing-shared-memory" in undecided(result)  # its volumes are not read


def test_the_restart_policy_of_the_role_counts_and_not_the_policy_of_its_pods(check: Check) -> None:
    assert found(check({"job.yaml": PYTORCH}))["restart-policy-never-resumes"] == "warning"
    changed = PYTORCH.replace("restartPolicy: Never", "restartPolicy: ExitCode")
    assert "restart-policy-never-resumes" not in found(check({"job.yaml": changed}))


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("torchrun --nproc_per_node=16 train.py", "slots-do-not-match-gpus"),
        ("torchrun --nproc-per-node 4 train.py", "gpus-without-process"),
        ("torchrun --nproc_per_node=8 train.py", None),
        ("torchrun --nproc_per_node=$GPUS train.py", None),
        ("torchrun --nproc_per_node=gpu train.py", None),
        ("torchrun --nproc_per_node=² train.py", None),
        ("torchrun --nproc_per_node=4 a.py && torchrun --nproc_per_node=8 b.py", None),
    ],
)
def test_the_number_of_processes_comes_from_the_command(command: str, rule: str | None, check: Check) -> None:
    rules = found(check({"job.yaml": PYTORCH.replace("COMMAND", command)}))
    assert [name for name in ("slots-do-not-match-gpus", "gpus-without-process") if name in rules] == [rule] * bool(
        rule
    )


def test_accelerators_of_other_vendors_have_several_cores(check: Check) -> None:
    """An AWS Neuron card has two cores, each with a process of its own."""
    neuron = JOB.replace("RESOURCE", "aws.amazon.com/neuron").replace("torchrun,", "torchrun, --nproc_per_node=16,")
    assert "slots-do-not-match-gpus" not in found(check({"job.yaml": neuron}))


def test_the_number_of_processes_is_ignored_without_a_launcher(check: Check) -> None:
    text = PYTORCH.replace("COMMAND", "python train.py").replace("spec:\n  py", 'spec:\n  nprocPerNode: "16"\n  py')
    assert "slots-do-not-match-gpus" not in found(check({"job.yaml": text}))


@pytest.mark.parametrize(("launch", "fires"), [("train", True), ("'-npernode', '8', train", False)])
def test_the_default_of_one_slot_is_reported(launch: str, fires: bool, check: Check) -> None:
    text = MPI.replace("VERSION", "v2beta1").replace("LAUNCH", launch)
    assert ("gpus-without-process" in found(check({"job.yaml": text}))) == fires


def test_only_mpi_v2beta1_launchers_are_told_to_wait(check: Check) -> None:
    """v1 operators have no such field: their launchers wait in an init container."""
    for version, fires in (("v1", False), ("v2beta1", True)):
        text = MPI.replace("VERSION", version).replace("LAUNCH", "train")
        rules = found(check({"job.yaml": f"{CLUSTER}---{text}"}))
        assert rules.get("launcher-starts-too-early") == ("warning" if fires else None)


def test_an_early_launcher_is_an_info_if_pools_are_unknown(check: Check) -> None:
    text = MPI.replace("VERSION", "v2beta1").replace("LAUNCH", "train")
    assert found(check({"job.yaml": text}))["launcher-starts-too-early"] == "info"


def test_idle_workers_cost_as_much_as_their_nodes(check: Check) -> None:
    text = MPI.replace("VERSION", "v2beta1").replace("LAUNCH", "train")
    result = check({"job.yaml": f"{CLUSTER}---{text}"}, Config(price=3000))
    finding = next(f for f in result.findings if f.rule == "idle-workers-after-launcher")
    assert finding.message == "MPIJob train ends, but its 16 Worker pods keep 128 GPUs"
    assert finding.details[1:] == ("That is 384 node-hours, $11,520, per day", "16 nodes at $30 per node-hour")


RAY = (
    "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: tune}\nspec:\n  shutdownAfterJobFinishes: true\n"
    "  rayClusterSpec:\n    workerGroupSpecs:\n      - groupName: gpu\n        replicas: 8\n        template:\n          spec:\n"
    "            containers: [{name: a, image: quay.io/example/ray:1, resources: {limits: {nvidia.com/gpu: 8}}}]\n"
)


def test_ray_needs_no_shared_memory_volume(check: Check) -> None:
    assert "missing-shared-memory" not in found(check({"job.yaml": RAY}))


@pytest.mark.parametrize(
    ("setting", "severity"),
    [
        ("ttlSecondsAfterFinished: 0", "warning"),
        ("shutdownAfterJobFinishes: true", None),
        ("deletionStrategy: {deletionRules: [{policy: DeleteCluster, condition: {jobStatus: SUCCEEDED}}]}", None),
        ("deletionStrategy: {deletionRules: [{policy: DeleteWorkers, condition: {jobStatus: FAILED}}]}", None),
        ("deletionStrategy: {deletionRules: [{policy: DeleteNone, condition: {jobStatus: SUCCEEDED}}]}", "warning"),
        ("deletionStrategy: {onSuccess: {policy: DeleteNone}, onFailure: {policy: DeleteNone}}", "warning"),
    ],
)
def test_a_ray_cluster_deleted_with_its_job_is_not_reported(setting: str, severity: str | None, check: Check) -> None:
    result = check({"job.yaml": RAY.replace("shutdownAfterJobFinishes: true", setting)})
    assert found(result).get("ray-cluster-outlives-job") == severity


def test_a_scheduled_ray_job_keeps_a_cluster_for_each_run(check: Check) -> None:
    head, _, spec = RAY.replace("  shutdownAfterJobFinishes: true\n", "").partition("spec:\n")
    text = f"{head.replace('RayJob', 'RayCronJob')}spec:\n  schedule: 0 2 * * *\n  jobTemplate:\n{indent(spec, '  ')}"
    result = check({"job.yaml": text})
    assert "RayCronJob tune keeps 64 GPUs after it ends" in [one.message for one in result.findings]


@pytest.mark.parametrize(("kind", "rule"), [("StatefulSet", "gang-missing"), ("LeaderWorkerSet", None)])
def test_serving_pods_of_one_model_can_be_a_gang(kind: str, rule: str | None, check: Check) -> None:
    of = {
        "StatefulSet": ("apps/v1", "replicas: 4, template: "),
        "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "leaderWorkerTemplate: {size: 4, workerTemplate: "),
    }
    version, spec = of[kind]
    pods = "{spec: {containers: [{name: a, image: 'quay.io/example/train:1', command: [torchrun, --nnodes=4], resources: {limits: {nvidia.com/gpu: 8}}}]}}"
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}{pods}{'}' * (spec.count('{') + 1)}\n"
    assert ("gang-missing" in found(check({"one.yaml": text}, LARGE))) == (rule is not None)


@pytest.mark.parametrize(
    ("folder", "severity"),
    [("team", "error"), (".", "error"), ("other", None), ("team/jobs/deep", None)],
)
def test_a_queue_missing_next_to_other_queues_is_reported(folder: str, severity: str | None, check: Check) -> None:
    """In a repository of examples, queues of other examples do not matter."""
    files = {"team/jobs/job.yaml": QUEUED, f"{folder}/queue.yaml": LOCAL_QUEUE.replace("NAME", "production")}
    assert found(check(files)).get("queue-missing") == severity


def test_a_queue_in_the_file_of_its_jobs_does_not_concern_other_jobs(check: Check) -> None:
    queue = LOCAL_QUEUE.replace("NAME", "production")
    own = QUEUED.replace("name: train", "name: other")
    files = {"a.yaml": QUEUED, "b.yaml": f"{queue}---\n{own}"}
    assert found(check(files))["queue-missing"] == "error"
    assert "queue-missing" not in found(check(files | {"b.yaml": files["b.yaml"].replace("research", "production")}))


def test_a_queue_without_gpus_is_reported_only_for_its_own_jobs(check: Check) -> None:
    queues = f"{CLUSTER_QUEUE}---{LOCAL_QUEUE.replace('NAME', 'research')}"
    own = check({"a/queues.yaml": queues, "a/jobs/job.yaml": QUEUED})
    assert found(own)["queue-ignores-gpus"] == "error"
    details = next(f.details for f in own.findings if f.rule == "queue-ignores-gpus")
    assert details == ("Job train requests nvidia.com/gpu and is never admitted", "coveredResources has cpu")


def test_queues_of_another_example_are_ignored(check: Check) -> None:
    queues = f"{CLUSTER_QUEUE}---{LOCAL_QUEUE.replace('NAME', 'research')}"
    files = {"a/queues.yaml": queues, "b/queues.yaml": queues.replace("cpu", "nvidia.com/gpu"), "b/job.yaml": QUEUED}
    assert "queue-ignores-gpus" not in found(check(files))


def test_a_cluster_queue_that_only_lends_needs_no_namespaces(check: Check) -> None:
    assert "queue-matches-nothing" not in found(check({"queue.yaml": CLUSTER_QUEUE, "job.yaml": NVIDIA}))
    queues = f"{CLUSTER_QUEUE}---{LOCAL_QUEUE.replace('NAME', 'research')}"
    assert found(check({"queue.yaml": queues, "job.yaml": NVIDIA}))["queue-matches-nothing"] == "error"


def test_an_invalid_namespace_selector_causes_no_bug(check: Check) -> None:
    text = f"{CLUSTER_QUEUE}  namespaceSelector: 1.5\n---{LOCAL_QUEUE.replace('NAME', 'research')}"
    assert "queue-matches-nothing" in undecided(check({"queue.yaml": text}))


def test_kueue_can_manage_jobs_without_a_queue_label(check: Check) -> None:
    configuration = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n"
    files = {"queue.yaml": LOCAL_QUEUE.replace("NAME", "research"), "job.yaml": NVIDIA}
    assert "queue-label-missing" in found(check(files))
    assert "gang-missing" not in found(check(files, LARGE))  # the queue makes a gang of it, too
    assert "queue-label-missing" not in found(check({**files, "kueue.yaml": configuration}))


def test_volcano_overcommit_is_an_error_when_written_and_a_warning_by_default(check: Check) -> None:
    job = (
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\nspec:\n  tasks:\n    - name: worker\n"
        "      replicas: 16\n      template:\n        spec:\n"
        "          containers: [{name: a, image: quay.io/example/a:1, resources: {limits: {nvidia.com/gpu: 8}}}]\n"
    )
    conf = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: overcommit\n'
    conf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano}\ndata:\n  volcano.conf: |\n" + indent(
        conf, " " * 4
    )
    rule = "volcano-scale-from-zero"
    assert found(check({"all.yaml": f"{CLUSTER}---\n{job}"}))[rule] == "warning"
    assert found(check({"all.yaml": f"{CLUSTER}---\n{job}", "volcano.yaml": conf}))[rule] == "error"
    warm = CLUSTER.replace("minSize: 0", "minSize: 14")  # 112 GPUs, 134 with Volcano's factor
    assert rule not in found(check({"all.yaml": f"{warm}---\n{job}", "volcano.yaml": conf}))
    assert rule not in found(check({"all.yaml": job, "volcano.yaml": conf}))


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("  activeDeadlineSeconds: 900\n", False),
        ("  template:\n    spec:\n      activeDeadlineSeconds: 900\n", False),
        ("", True),
    ],
)
def test_a_deadline_of_the_job_or_of_its_pods_counts(field: str, told: bool, check: Check) -> None:
    text = (
        NVIDIA.replace("  template:\n    spec:\n", field)
        if "template" in field
        else NVIDIA.replace("spec:\n", f"spec:\n{field}", 1)
    )
    assert ("job-without-deadline" in found(check({"job.yaml": text}))) == told


@pytest.mark.parametrize(("least", "told"), [(4, True), (16, False)])
def test_the_pod_group_gives_the_number_of_pods_that_start_together(least: int, told: bool, check: Check) -> None:
    group = f"apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {{name: a}}\nspec: {{minMember: {least}}}\n"
    labelled = "  template:\n    metadata: {labels: {scheduling.x-k8s.io/pod-group: a}}\n"
    job = NVIDIA.replace("  template:\n", labelled)
    result = check({"job.yaml": f"{group}---{job}"}, LARGE)
    assert ("gang-smaller-than-job" in found(result)) == told
    assert "gang-missing" not in found(result)


@pytest.mark.parametrize(("pods", "severity"), [(6, None), (7, "info"), (51, "warning")])
def test_few_retries_of_a_small_job_are_an_info(pods: int, severity: str | None, check: Check) -> None:
    text = NVIDIA.replace("16", str(pods))
    assert found(check({"job.yaml": text}, LARGE)).get("retries-run-out") == severity


def test_a_server_that_runs_as_a_job_needs_no_deadline(check: Check) -> None:
    assert "job-without-deadline" not in found(check({"job.yaml": NVIDIA.replace("train.py", "serve, --port=1")}))


@pytest.mark.parametrize(("replicas", "told"), [(1, False), (2, True)])
def test_a_tpu_slice_needs_no_gang(replicas: int, told: bool, check: Check) -> None:
    text = JOB.replace("RESOURCE", "google.com/tpu")
    assert "gang-missing" not in found(check({"job.yaml": text}, LARGE))
    inner = indent(text.partition("spec:\n")[2], " " * 8)
    jobset = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n  replicatedJobs:\n"
        f"    - name: slice\n      replicas: {replicas}\n      template:\n        spec:\n{inner}"
    )
    assert ("gang-missing" in found(check({"job.yaml": jobset}, LARGE))) == told


@pytest.mark.parametrize(
    ("mark", "told"), [("helm.sh/hook: post-install", False), ("argocd.argoproj.io/hook: Sync", False), ("a: b", True)]
)
def test_only_jobs_that_are_no_hooks_need_a_ttl(mark: str, told: bool, check: Check) -> None:
    text = NVIDIA.replace("  generateName", f"  annotations: {{{mark}}}\n  generateName")
    assert ("job-never-cleaned" in found(check({"job.yaml": text}))) == told


def test_azure_sizes_have_gpus(check: Check) -> None:
    """Requests of pods decide where they land only if the GPUs of the nodes are known."""
    terraform = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  default_node_pool {
    name                 = "gpu"
    vm_size              = "Standard_ND96isr_H100_v5"
    auto_scaling_enabled = true
    min_count            = 0
    max_count            = 100
  }
}
"""
    result = check({"main.tf": terraform, "job.yaml": NVIDIA})
    assert [known(pool.machine.gpus) for pool in result.world.inventory.pools] == [8]
    assert found(result)["gang-missing"] == "warning"


@pytest.mark.parametrize("nodes", [0, 16, 1000])
def test_a_pool_that_holds_its_job_is_large_enough_at_any_target(nodes: int, check: Check) -> None:
    """A smaller target says nothing about the size of the pool."""
    text = NVIDIA.replace("16", "128")
    result = check({"all.yaml": f"{CLUSTER}---{text}"}, Config(nodes={"": nodes} if nodes else {}))
    assert "pool-below-job" not in found(result)


@pytest.mark.parametrize(("pods", "told"), [(128, False), (200, True)])
def test_several_pools_together_can_hold_a_job(pods: int, told: bool, check: Check) -> None:
    """Pods of a job go to any pool that accepts them."""
    terraform = """
resource "azurerm_kubernetes_cluster" "main" {
  name = "train"
  default_node_pool {
    name       = "system"
    vm_size    = "Standard_D4s_v5"
    node_count = 3
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "gpu" {
  count                 = 2
  name                  = "gpu${count.index}"
  kubernetes_cluster_id = azurerm_kubernetes_cluster.main.id
  vm_size               = "Standard_ND96isr_H100_v5"
  auto_scaling_enabled  = true
  min_count             = 0
  max_count             = 84
}
"""
    result = check({"main.tf": terraform, "job.yaml": NVIDIA.replace("16", str(pods))})
    assert ("pool-below-job" in found(result)) == told


def test_the_finding_names_the_job_without_room(check: Check) -> None:
    """A larger job has room in another pool, whose nodes have fewer GPUs."""
    other = "  - {name: small, instanceType: g5.12xlarge, minSize: 0, maxSize: 128}\n"
    jobs = [
        NVIDIA.replace("generateName: train-", f"name: {name}").replace("16", pods).replace(": 8}", f": {gpus}}}")
        for name, pods, gpus in (("wide", "128", "1"), ("tall", "10", "8"))
    ]
    result = check({"all.yaml": "---".join([CLUSTER.replace("128}", "8}") + other, *jobs])})
    (finding,) = (finding for finding in result.findings if finding.rule == "pool-below-job")
    assert finding.message == "Job tall needs 10 nodes; pool gpu ends at 8"
    assert finding.details[0] == "10 pods with 8 GPUs each fill 10 nodes"


@pytest.mark.parametrize(("workers", "nodes"), [(15, 2), (16, 3)])
def test_master_and_worker_can_share_a_node(workers: int, nodes: int, check: Check) -> None:
    """Pods of two templates fill the GPUs of one node."""
    master = PYTORCH[PYTORCH.index("    Worker") :].replace("Worker", "Master").replace("64", "1")
    text = (PYTORCH.replace("64", str(workers)) + master).replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 1")
    for most in (nodes, nodes - 1):
        result = check({"all.yaml": CLUSTER.replace("128", str(most)) + "---" + text})
        told = [finding.message for finding in result.findings if finding.rule == "pool-below-job"]
        assert told == [f"PyTorchJob train needs {nodes} nodes; pool gpu ends at {most}"] * (most < nodes)


LAUNCHED = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: mpirun, image: "quay.io/example/train:1"}]}}
    Worker:
      replicas: 16
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists}]
          containers: [{name: a, image: "quay.io/example/train:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_a_launcher_kept_off_the_gpu_pool_does_not_hide_its_workers(check: Check) -> None:
    """The launcher runs on another pool; the workers' pool is too small all the same."""
    tainted = CLUSTER.replace("128}", "8, taints: [{key: nvidia.com/gpu, effect: NoSchedule}]}")
    (finding,) = (
        one for one in check({"all.yaml": f"{tainted}---{LAUNCHED}"}).findings if one.rule == "pool-below-job"
    )
    assert finding.message == "MPIJob train needs 16 nodes; pool gpu ends at 8"
    assert finding.details[0] == "16 pods with 8 GPUs each fill 16 nodes"


IGNORED = (
    "backoffLimit: 0\n  podFailurePolicy:\n    rules:\n"
    "      - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}\n  completions: 16"
)


@pytest.mark.parametrize(("lines", "spared"), [("backoffLimit: 0\n  completions: 16", False), (IGNORED, True)])
def test_a_job_without_retries_can_ignore_evicted_pods(lines: str, spared: bool, check: Check) -> None:
    result = check({"job.yaml": NVIDIA.replace("completions: 16", lines)})
    (found,) = (one for one in result.findings if one.rule == "restart-policy-never-resumes")
    assert ("Its podFailurePolicy ignores evicted pods, so only failing pods end it" in found.details) is spared


def test_pods_with_anti_affinity_take_one_node_each(check: Check) -> None:
    apart = "{labelSelector: {matchLabels: {job: train}}, topologyKey: kubernetes.io/hostname}"
    affinity = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{apart}]}}}}"
    text = NVIDIA.replace(": 8}", ": 1}").replace(
        "    spec:\n", f"    metadata: {{labels: {{job: train}}}}\n    spec:\n      {affinity}\n"
    )
    told = check({"all.yaml": f"{CLUSTER.replace('128', '8')}---{text}"}).findings
    messages = [one.message for one in told if one.rule == "pool-below-job"]
    assert messages == ["Job train- needs 16 nodes; pool gpu ends at 8"]


@pytest.mark.parametrize(
    ("pods", "nodes", "severity"), [(8, 0, "info"), (9, 0, "warning"), (33, 0, "warning"), (8, 1000, "warning")]
)
def test_a_job_of_few_pods_with_many_gpus_is_graded_by_gpus(pods: int, nodes: int, severity: str, check: Check) -> None:
    """One fault that ends 72 GPUs costs more than one that ends a few."""
    text = NVIDIA.replace("16", str(pods)).replace("  completions", "  backoffLimit: 0\n  completions")
    assert (
        found(check({"job.yaml": text}, Config(nodes={"": nodes} if nodes else {})))["restart-policy-never-resumes"]
        == severity
    )


@pytest.mark.parametrize(("label", "fires"), [("lane", True), ("topology.kubernetes.io/zone", False)])
def test_a_node_selector_decides_even_if_the_runtime_is_unread(label: str, fires: bool, check: Check) -> None:
    override = f"  podTemplateOverrides: [{{targetJobs: [{{name: node}}], spec: {{nodeSelector: {{{label}: a}}}}}}]\n"
    result = check({"job.yaml": f"{CLUSTER}---{TRAINJOB}{override}"})
    assert ("pod-matches-no-pool" in found(result)) == fires


def test_the_environment_of_a_ray_job_names_its_bucket(check: Check) -> None:
    manifest = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: tune}
spec:
  entrypoint: python tune.py
  shutdownAfterJobFinishes: true
  runtimeEnvYAML: |
    env_vars:
      RUN: OUT
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: registry.example.com/ray:2.52.0}]}}
    workerGroupSpecs:
      - groupName: gpus
        replicas: 12
        template:
          spec:
            containers:
              - name: worker
                image: registry.example.com/ray:2.52.0
                resources: {limits: {nvidia.com/gpu: 8}}
"""
    found = [
        {one.rule for one in check({"job.yaml": manifest.replace("OUT", out)}).findings} & {"nothing-outlives-job"}
        for out in ("s3://example-runs/tune", "/home/ray/tune")
    ]
    assert found == [set(), {"nothing-outlives-job"}]


def test_startup_taints_for_gpus_make_a_gpu_pool(check: Check) -> None:
    manifest = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: example.com, kind: NodeClass, name: gpu}
      startupTaints: [{key: KEY, value: not-ready, effect: NoSchedule}]
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [gpu-h100-sxm-1gpu]}]
  limits: {cpu: 1000}
"""
    found = [
        {one.rule for one in check({"pool.yaml": manifest.replace("KEY", key)}).findings}
        for key in ("nvidia.com/gpu", "node.cilium.io/agent-not-ready")
    ]
    assert ["karpenter-gpus-untainted" in one for one in found] == [True, False]
