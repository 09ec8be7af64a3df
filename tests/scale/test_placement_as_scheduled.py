"""Test that pods fit where the scheduler puts them: one case for each thing that it counts, compares and tolerates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.scale import placement
from kcheck.text.values import Unknown, known
from tests.conftest import indented, manifest, one_pod

if TYPE_CHECKING:
    from tests.conftest import Read


GROUP = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: train, region: us-east-1}
managedNodeGroups:
  - {name: pool, instanceTypes: [%s], labels: {rank: "10", zone: x1}, taints: [%s]}
"""


def fit(spec: str, read: Read, *, types: str = "g5.12xlarge", taint: str = "") -> placement.Fit:
    """Return whether a pod fits the nodes of a group."""
    found = read({"group.yaml": GROUP % (types, taint), "pod.yaml": manifest("Pod", f"spec:\n  {indented(spec, 2)}")})
    return placement.fit(found.workloads[0].templates[0], found.pools[0])


def containers(*limits: str) -> str:
    """Return containers with the given limits."""
    found = (f"{{name: c{i}, image: a, resources: {{limits: {{{one}}}}}}}" for i, one in enumerate(limits))
    return f"containers: [{', '.join(found)}]"


# --- what pods ask for

INIT = "{name: %s, image: a, resources: {limits: {cpu: %s, nvidia.com/gpu: %s}}%s}"
SIDECAR = ", restartPolicy: Always"


@pytest.mark.parametrize(
    ("init", "cpus", "gpus"),
    [
        ([INIT % ("a", 5, 3, "")], 5, 3),
        ([INIT % ("a", 1, 1, SIDECAR)], 3, 3),
        ([INIT % ("a", 1, 1, SIDECAR), INIT % ("b", 2, 2, "")], 3, 3),
        ([INIT % ("a", 2, 2, ""), INIT % ("b", 1, 1, SIDECAR)], 3, 3),
        ([INIT % ("a", 1, 1, SIDECAR), INIT % ("b", 4, 3, "")], 5, 4),
    ],
)
def test_init_containers_run_before_and_sidecars_run_alongside(
    init: list[str], cpus: int, gpus: int, read: Read
) -> None:
    template = one_pod(f"initContainers: [{', '.join(init)}]\n{containers('cpu: 2, nvidia.com/gpu: 2')}", read)
    assert (known(template.cpu), known(template.gpus)) == (cpus * 1000, gpus)


def test_host_ports_of_sidecars_count(read: Read) -> None:
    init = "initContainers: [{name: a, image: a, ports: [{containerPort: 1, hostPort: 9}]%s}]\ncontainers: []"
    assert known(one_pod(init % SIDECAR, read).ports) == (9,)
    assert known(one_pod(init % "", read).ports) == ()


@pytest.mark.parametrize("count", ["4", "'4'", "4000m", "4e0", "0.004k"])
def test_gpu_counts_are_read_in_any_spelling(count: str, read: Read) -> None:
    assert known(one_pod(containers(f"nvidia.com/gpu: {count}"), read).gpus) == 4
    assert isinstance(one_pod(containers("nvidia.com/gpu: 500m"), read).gpus, Unknown)


@pytest.mark.parametrize(
    ("requests", "limits", "cpu"),
    [("", "cpu: 8", 3000), ("cpu: 4", "cpu: 8", 4000), ("", "memory: 8Gi", 3000)],
)
def test_a_pod_limit_is_not_a_request_if_containers_have_requests(
    requests: str, limits: str, cpu: int, read: Read
) -> None:
    whole = f"resources: {{requests: {{{requests}}}, limits: {{{limits}}}}}\n"
    assert known(one_pod(whole + containers("cpu: 1", "cpu: 2"), read).cpu) == cpu
    assert known(one_pod("resources: {limits: {cpu: 8}}\n" + containers(""), read).cpu) == 8000


@pytest.mark.parametrize(
    ("types", "asked", "fits"),
    [
        ("g5.12xlarge", ["nvidia.com/gpu: 1"], True),
        ("g5.12xlarge", ["amd.com/gpu: 1"], False),
        ("g5.12xlarge", ["amd.com/gpu: 0m", "nvidia.com/gpu: 1"], True),
        ("g4ad.16xlarge", ["amd.com/gpu: 1"], True),
        ("g4ad.16xlarge", ["nvidia.com/gpu: 1"], False),
        ("trn1.32xlarge", ["aws.amazon.com/neurondevice: 16"], True),
        ("trn1.32xlarge", ["aws.amazon.com/neuron: 1", "nvidia.com/gpu: 1"], False),
    ],
)
def test_gpus_of_one_vendor_do_not_satisfy_another(types: str, asked: list[str], *, fits: bool, read: Read) -> None:
    assert fit(containers(*asked), read, types=types).fits is fits


def test_unknown_machine_types_may_have_any_gpus(read: Read) -> None:
    found = read({"group.yaml": GROUP % ("g5.12xlarge", ""), "pod.yaml": manifest("Pod", f"spec: {{{containers('amd.com/gpu: 1')}}}")})  # fmt: skip
    (pool,), (template,) = found.pools, found.workloads[0].templates
    unknown = replace(pool.machine, instance_types=Unknown("chosen by Karpenter"))
    assert placement.chooses(template, replace(pool, machine=unknown)).fits is True


# --- labels

TERMS = """
affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{}]}}}}}}
containers: []
"""


@pytest.mark.parametrize(
    ("key", "operator", "value", "fits"),
    [
        ("rank", "Gt", "9", True),
        ("rank", "Gt", "10", False),
        ("rank", "Lt", "11", True),
        ("rank", "Lt", "9", False),
        ("zone", "Gt", "0", False),
        ("absent", "Lt", "9", False),
        ("nvidia.com/gpu.count", "Gt", "2", None),
    ],
)
def test_label_requirements_compare_values_as_numbers(
    key: str, operator: str, value: str, *, fits: bool | None, read: Read
) -> None:
    found = fit(
        TERMS.format(f'{{matchExpressions: [{{key: {key}, operator: {operator}, values: ["{value}"]}}]}}'), read
    )
    assert found.fits is fits
    assert fits or f"{key} {'>' if operator == 'Gt' else '<'} {value}" in found.why


@pytest.mark.parametrize(("types", "fits"), [("g5.12xlarge", False), ("g5.12xlarge, g5.24xlarge", True)])
def test_other_machine_types_of_a_pool_may_still_fit(types: str, *, fits: bool, read: Read) -> None:
    excluded = "{key: node.kubernetes.io/instance-type, operator: NotIn, values: [g5.12xlarge]}"
    assert fit(TERMS.format(f"{{matchExpressions: [{excluded}]}}"), read, types=types).fits is fits


def test_no_node_matches_an_empty_affinity_term(read: Read) -> None:
    assert fit(TERMS.format("{}"), read).fits is False
    assert fit(TERMS.format("{}, {matchExpressions: [{key: rank, operator: Exists}]}"), read).fits is True


def test_node_names_are_unknown(read: Read) -> None:
    term = "{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}"
    assert fit(TERMS.format(term), read).fits is None


@pytest.mark.parametrize(("operator", "spread"), [("Exists", True), ("DoesNotExist", False)])
def test_pods_keep_away_from_pods_with_their_labels(operator: str, *, spread: bool, read: Read) -> None:
    term = f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchExpressions: [{{key: app, operator: {operator}}}]}}}}"
    rule = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    text = manifest("Pod", f"spec:\n  {rule}\n  containers: []", meta="name: train\nlabels: {app: train}")
    assert known(read({"pod.yaml": text}).workloads[0].templates[0].spread) is spread


# --- taints


@pytest.mark.parametrize(("effect", "fits"), [("NoSchedule", True), ("NoExecute", False)])
def test_eks_adds_the_toleration_for_any_extended_resource(effect: str, *, fits: bool, read: Read) -> None:
    taint = f"{{key: vpc.amazonaws.com/efa, value: a, effect: {effect}}}"
    assert fit(containers("vpc.amazonaws.com/efa: 1"), read, taint=taint).fits is fits
    assert fit(containers("nvidia.com/gpu: 1"), read, taint=taint).fits is False
