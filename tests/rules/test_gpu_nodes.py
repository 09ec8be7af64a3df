"""Test pods on GPU nodes: which ones select such nodes, and whether they request the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import indented, manifest, names
from tests.rules.test_scheduling import POOL

if TYPE_CHECKING:
    from tests.conftest import Check


pytestmark = pytest.mark.medium

SPEC = """
spec:
  template:
    spec:
      NODES
      containers:
        - {name: main, image: "registry.example.com/train:1.4", RESOURCES}
      restartPolicy: Never
"""
NONE = "resources: {requests: {cpu: 8}}"
POOL_LABEL = "nodeSelector: {eks.amazonaws.com/nodegroup: gpu}"
TOLERATED = f"{POOL_LABEL}\ntolerations: [{{key: dedicated, operator: Exists}}]"


def pods(kind: str, nodes: str, resources: str = NONE) -> str:
    return manifest(kind, SPEC.replace("NODES", indented(nodes, 6)).replace("RESOURCES", resources))


def affinity(*terms: str) -> str:
    listed = ", ".join(f"{{matchExpressions: [{{key: {key}, operator: Exists}}]}}" for key in terms)
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}"
    return f"affinity: {{nodeAffinity: {{{required}}}}}"


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ("nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}", True),
        ("nodeSelector: {aliyun.accelerator/nvidia_name: NVIDIA-A10}", True),
        ("nodeSelector: {kubernetes.azure.com/accelerator: nvidia}", True),
        ("nodeSelector: {nvidia.com/gpu.present: 'false'}", False),
        ("nodeSelector: {node.kubernetes.io/instance-type: Standard_NC24ads_A100_v4}", True),
        ("nodeSelector: {node.kubernetes.io/instance-type: m5.xlarge}", False),
        (affinity("cloud.google.com/gke-accelerator", "nvidia.com/gpu.count"), True),
        (affinity("cloud.google.com/gke-accelerator", "example.com/large"), False),  # either of both
    ],
)
def test_labels_found_only_on_gpu_nodes_select_gpu_nodes(nodes: str, told: bool, check: Check) -> None:
    found = names(check({"pods.yaml": pods("apps/Deployment", nodes)}))
    assert ("gpu-node-without-request" in found) is told


@pytest.mark.parametrize(
    ("kind", "nodes", "told"),
    [
        ("batch/Job", TOLERATED, True),
        ("apps/Deployment", TOLERATED, False),  # which may use what is left of the node
        ("apps/DaemonSet", "nodeSelector: {nvidia.com/gpu.present: 'true'}", False),
        ("batch/Job", "tolerations: [{key: dedicated, operator: Exists}]", False),
    ],
)
def test_pods_that_fit_only_gpu_pools_select_gpu_nodes(kind: str, nodes: str, told: bool, check: Check) -> None:
    files = {"main.tf": POOL.format(taint="dedicated"), "pods.yaml": pods(kind, nodes)}
    assert ("gpu-node-without-request" in names(check(files))) is told


@pytest.mark.parametrize(
    "resources",
    [
        "resources: {limits: {nvidia.com/gpu: 1}}",
        "resources: {limits: {nvidia.com/gpumem: 4000}}",
        "resources: {requests: {aliyun.com/gpu-mem: 4}}",
        "resources: {limits: {nvidia.com/mig-1g.10gb: 1}}",
    ],
)
def test_whole_gpus_and_gpu_slices_are_gpu_requests(resources: str, check: Check) -> None:
    found = names(check({"pods.yaml": pods("batch/Job", "nodeSelector: {nvidia.com/gpu.present: 'true'}", resources)}))
    assert "gpu-node-without-request" not in found


@pytest.mark.parametrize("more", ["resourceClaims: [{name: gpu, resourceClaimTemplateName: h100}]", "hostname: a"])
def test_device_claims_are_gpu_requests(more: str, check: Check) -> None:
    nodes = f"nodeSelector: {{nvidia.com/gpu.present: 'true'}}\n{more}"
    found = names(check({"pods.yaml": pods("batch/Job", nodes)}))
    assert ("gpu-node-without-request" in found) is ("Claims" not in more)


def test_templated_resources_leave_the_check_undecided(check: Check) -> None:
    nodes = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}"
    result = check({"pods.yaml": pods("batch/Job", nodes, 'resources: "{{ resources }}"')})
    assert "gpu-node-without-request" not in names(result)
    assert "gpu-node-without-request" in {one.rule for one in result.undecided}


HOST = """
spec:
  parallelism: PODS
  template:
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      containers:
        - name: main
          image: registry.example.com/train:1.4
          command: [sh, -c, "COMMAND"]
          resources: {requests: {cpu: 2, memory: 8Gi}, limits: {LIMITS}}
      restartPolicy: Never
"""
UNNEEDED = "host-network-without-need"


@pytest.mark.parametrize(
    ("pods_", "command", "limits", "severity"),
    [
        (16, "torchrun --master_port=29500 a.py", "nvidia.com/gpu: 4", "warning"),
        (16, "MASTER_PORT=29500 python a.py", "nvidia.com/gpu: 4", "warning"),
        (16, "torchrun --rdzv_endpoint=host:29400 a.py", "nvidia.com/gpu: 4", "warning"),
        (16, "python a.py", "nvidia.com/gpu: 4", "info"),
        (16, "python a.py", "nvidia.com/gpu: 8", None),  # which has the node for itself
        (16, "python a.py", "nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 16", None),
        (16, "NCCL_SOCKET_IFNAME=eth0 python a.py", "nvidia.com/gpu: 4", None),
        (1, "torchrun --master_port=29500 a.py", "nvidia.com/gpu: 4", None),
        (16, "serve --port 8080", "memory: 8Gi", "warning"),
    ],
)
def test_unneeded_host_network_is_reported(
    pods_: int, command: str, limits: str, severity: str | None, check: Check
) -> None:
    spec = HOST.replace("PODS", str(pods_)).replace("COMMAND", command).replace("LIMITS", limits)
    files = {"main.tf": POOL.format(taint="nvidia.com/gpu")}
    spec = spec.replace("restartPolicy", "tolerations: [{operator: Exists}]\n      restartPolicy")
    result = check({**files, "job.yaml": manifest("batch/Job", spec)})
    assert {one.rule: one.severity.word for one in result.findings}.get(UNNEEDED) == severity


@pytest.mark.parametrize(("limits", "told"), [("memory: 8Gi", True), ("google.com/tpu: 4", False)])
def test_without_pools_only_pods_without_gpus_share_nodes(limits: str, told: bool, check: Check) -> None:
    spec = HOST.replace("PODS", "8").replace("COMMAND", "python a.py").replace("LIMITS", limits)
    assert (UNNEEDED in names(check({"job.yaml": manifest("batch/Job", spec)}))) is told


FILLER = """
spec:
  replicas: 4
  template:
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - {name: main, image: "registry.example.com/serve:1", resources: {requests: {cpu: CPU}, limits: {nvidia.com/gpu: GPUS}}}
"""


@pytest.mark.parametrize(
    ("cpu", "gpus", "severity", "detail"),
    [
        (4, 2, "info", "Deployment train fits the rest"),
        (4, 4, "warning", "No other workload in this code fits the rest"),
        (150, 1, "warning", "No other workload in this code fits the rest"),
    ],
)
def test_small_services_use_the_rest_of_a_node(cpu: int, gpus: int, severity: str, detail: str, check: Check) -> None:
    spec = HOST.replace("PODS", "64").replace("COMMAND", "python a.py").replace("cpu: 2", "cpu: 48")
    spec = spec.replace("LIMITS", "nvidia.com/gpu: 3").replace(
        "restart", "tolerations: [{operator: Exists}]\n      restart"
    )
    serve = FILLER.replace("CPU", str(cpu)).replace("GPUS", str(gpus))
    files = {"job.yaml": manifest("batch/Job", spec), "serve.yaml": manifest("apps/Deployment", serve)}
    result = check({"main.tf": POOL.format(taint="nvidia.com/gpu"), **files})
    (found,) = (one for one in result.findings if one.rule == "job-does-not-fill-node")
    assert found.severity.word == severity
    assert detail in found.details


def test_messages_name_the_kind_of_accelerator(check: Check) -> None:
    idle = pods("batch/Job", "", "command: [sleep, infinity], resources: {limits: {google.com/tpu: 4}}")
    messages = [one.message for one in check({"pods.yaml": idle}).findings if one.rule == "gpus-held-without-work"]
    assert messages == ["Job train holds 4 TPUs with `sleep infinity`"]


VOLCANO = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 3
  tasks:
    - name: master
      replicas: 1
      template: {spec: {containers: [{name: a, image: "registry.example.com/a:1", command: [sh, -c, "LAUNCH"]}]}}
    - name: worker
      replicas: 2
      template:
        spec:
          containers:
            - name: a
              image: registry.example.com/a:1
              command: [sh, -c, "/usr/sbin/sshd -D"]
              resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(("launch", "idle"), [("mpiexec --host $HOSTS python a.py", False), ("python a.py", True)])
def test_workers_that_a_launcher_drives_are_not_idle(launch: str, check: Check, *, idle: bool) -> None:
    found = check({"job.yaml": VOLCANO.replace("LAUNCH", launch)}).findings
    assert ("gpus-held-without-work" in {one.rule for one in found}) is idle


@pytest.mark.parametrize("command", ['["/usr/sbin/sshd", "-D"]', '["tini", "--", "service", "ssh", "start", "-D"]'])
def test_an_interactive_server_holds_its_gpus(command: str, check: Check) -> None:
    held = pods("apps/Deployment", "", f"command: {command}, resources: {{limits: {{nvidia.com/gpu: 4}}}}")
    assert "gpus-held-without-work" in names(check({"pods.yaml": held}))


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: train}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: "registry.example.com/ray:1"}]}}}
  workerGroupSpecs:
    - groupName: gpu
      replicas: 2
      minReplicas: 2
      maxReplicas: 2
      rayStartParams: {}
      template: {spec: {containers: [{name: ray, image: "registry.example.com/ray:1", resources: {limits: {RESOURCE: 16}}}]}}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: tune}
spec:
  entrypoint: python a.py
  clusterSelector: {ray.io/cluster: train}
  submitterPodTemplate:
    spec:
      nodeSelector: {node.kubernetes.io/instance-type: MACHINE}
      restartPolicy: Never
      containers: [{name: submit, image: "registry.example.com/ray:1"}]
"""


def test_a_ray_submitter_needs_no_gpu(check: Check) -> None:
    files = {"ray.yaml": RAY.replace("RESOURCE", "aws.amazon.com/neuron").replace("MACHINE", "trn1.32xlarge")}
    result = check(files)
    assert "gpu-node-without-request" not in names(result)
    (held,) = (one for one in result.findings if one.rule == "gpus-held-day-and-night")
    assert held.help.startswith("set enableInTreeAutoscaling: true and minReplicas: 0")


@pytest.mark.parametrize(
    ("machine", "resource", "gpus"),
    [("trn1.32xlarge", "aws.amazon.com/neuron", False), ("p5.48xlarge", "nvidia.com/gpu", True)],
)
def test_help_names_the_gpu_resource_of_the_machine_type(machine: str, resource: str, gpus: bool, check: Check) -> None:
    files = {"pods.yaml": pods("batch/Job", f"nodeSelector: {{node.kubernetes.io/instance-type: {machine}}}")}
    (found,) = (one for one in check(files).findings if one.rule == "gpu-node-without-request")
    assert f"({resource})" in found.help
    assert any("NVIDIA's defaults" in one for one in found.details) is gpus
