"""Test GPUs by dynamic resource allocation: claims, templates and device classes count as GPUs, and place pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.text.values import Known, Unknown, known
from tests.conftest import indented

if TYPE_CHECKING:
    from kcheck.model import PodTemplate
    from tests.conftest import Read


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      resourceClaims:
        - {name: gpus, resourceClaimTemplateName: gpus}
      containers:
        - name: train
          image: quay.io/example/train:1
          resources:
            claims: [{name: gpus}]
"""


def claim(request: str, api: str = "v1", name: str = "gpus") -> str:
    """Return a ResourceClaimTemplate with one request."""
    return f"""
apiVersion: resource.k8s.io/{api}
kind: ResourceClaimTemplate
metadata: {{name: {name}}}
spec:
  spec:
    devices:
      requests:
        - name: gpus
          {indented(request, 10)}
"""


def device_class(name: str, expression: str, more: str = "") -> str:
    """Return a DeviceClass that selects devices by an expression."""
    return f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: {name}}}
spec:
  {more}
  selectors:
    - cel: {{expression: "{expression}"}}
"""


def pods(read: Read, *documents: str) -> PodTemplate:
    """Return the pod template of the only workload in a manifest."""
    (workload,) = read({"job.yaml": "\n---\n".join(documents)}).workloads
    return workload.templates[0]


EXACT = "exactly: {deviceClassName: gpu.nvidia.com, count: 8}"


@pytest.mark.parametrize(
    ("request_", "api", "gpus"),
    [
        (EXACT, "v1", 8),
        ("exactly: {deviceClassName: gpu.nvidia.com}", "v1", 1),
        ("deviceClassName: gpu.nvidia.com\ncount: 2", "v1beta1", 2),
        ("firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: 4}, {name: b, deviceClassName: gpu.amd.com, count: 4}]", "v1", 4),
        ("exactly: {deviceClassName: gpu.nvidia.com, count: 8, adminAccess: true}", "v1", 0),
        ("exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}", "v1", 0),
        ("exactly: {deviceClassName: mrdma.google.com, allocationMode: All}", "v1", 0),
        ("exactly: {deviceClassName: mig.nvidia.com}", "v1", 0),
    ],
)  # fmt: skip
def test_device_claims_count_gpus(read: Read, request_: str, api: str, gpus: int) -> None:
    """Each request of a claim counts its devices; only whole cards are GPUs."""
    assert known(pods(read, claim(request_, api), JOB).gpus) == gpus


def test_claimed_gpu_slices_count_as_shared_gpus(read: Read) -> None:
    """A slice of a card is not a GPU, and counts as shared."""
    found = pods(read, claim("exactly: {deviceClassName: mig.nvidia.com}"), JOB)
    assert (known(found.gpus), found.shares) == (0, True)


@pytest.mark.parametrize(
    ("documents", "reason"),
    [
        ((), "ResourceClaimTemplate gpus is not in the code"),
        ((claim("exactly: {deviceClassName: fast}"),), "DeviceClass fast is not in the code, or selects no driver that is known"),
        ((claim("exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}"),), "claim gpus takes all devices of a node"),
        ((claim(EXACT), claim(EXACT.replace("8", "4"))), "the ResourceClaimTemplates gpus in the code differ"),
        ((claim("firstAvailable: [{deviceClassName: gpu.nvidia.com, count: 4}, {deviceClassName: gpu.amd.com}]"),),
         "the alternatives of claim gpus have different numbers of devices"),
    ],
)  # fmt: skip
def test_an_unknown_gpu_count_of_a_claim_has_a_reason(read: Read, documents: tuple[str, ...], reason: str) -> None:
    """A claim that does not say how many GPUs it has leaves the number unknown, with the reason."""
    gpus = pods(read, *documents, JOB).gpus
    assert isinstance(gpus, Unknown)
    assert gpus.reason == reason


def test_custom_device_classes_are_recognized_by_their_driver(read: Read) -> None:
    """A custom class counts by the driver that its selectors name."""
    own = device_class("fast", "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'")
    asked = claim("exactly: {deviceClassName: fast, count: 8}")
    found = pods(read, own, asked, JOB)
    assert (known(found.gpus), known(found.device_classes)) == (8, ("fast",))


def test_resources_mapped_to_a_device_class_count_as_gpus(read: Read) -> None:
    """GPUs are a resource that a class names in extendedResourceName, and the implicit resource of each class."""
    own = device_class("fast", "device.driver == 'gpu.nvidia.com'", "extendedResourceName: example.com/h100")
    asked = JOB.replace("claims: [{name: gpus}]", "limits: {example.com/h100: 8}").replace(
        "      resourceClaims:\n        - {name: gpus, resourceClaimTemplateName: gpus}\n", ""
    )
    assert known(pods(read, own, asked).gpus) == 8
    implicit = asked.replace("example.com/h100", "deviceclass.resource.kubernetes.io/gpu.nvidia.com")
    assert known(pods(read, implicit).gpus) == 8
    assert known(pods(read, asked).gpus) == 0


def test_one_resource_claim_is_shared_by_all_pods(read: Read) -> None:
    """A ResourceClaim is allocated once: a single pod holds its GPUs, several pods share them."""
    shared = JOB.replace("resourceClaimTemplateName", "resourceClaimName")
    text = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
      - name: gpus
        exactly: {deviceClassName: gpu.nvidia.com, count: 8}
"""
    found = pods(read, text, shared)
    assert isinstance(found.gpus, Unknown)
    assert isinstance(found.shared_claim, Known)
    alone = shared.replace("parallelism: 4", "parallelism: 1").replace("completions: 4", "completions: 1")
    assert known(pods(read, text, alone).gpus) == 8


def test_claims_in_the_same_folder_are_preferred(read: Read) -> None:
    """Two overlays may have a claim of the same name; each job gets the one in its folder."""
    files = {
        "a/job.yaml": claim(EXACT) + "\n---\n" + JOB,
        "b/job.yaml": claim(EXACT.replace("8", "4")) + "\n---\n" + JOB.replace("train}", "tune}"),
    }
    found = {str(known(one.name)): known(one.gpus) for one in read(files).workloads}
    assert found == {"train": 8, "tune": 4}


def test_claims_on_other_devices_do_not_hide_gpus(read: Read) -> None:
    """Pods that request GPUs from a device plugin may claim channels, network interfaces, or unknown devices."""
    asked = JOB.replace("claims: [{name: gpus}]", "limits: {nvidia.com/gpu: 8}")
    assert known(pods(read, asked).gpus) == 8
    domain = "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: nccl}\nspec:\n  channel: {resourceClaimTemplate: {name: gpus}}\n"
    assert known(pods(read, domain, JOB).gpus) == 0


def test_claims_can_be_network_interfaces_of_a_fabric(read: Read) -> None:
    """A claim on network interfaces counts as one; a claim outside of the code is unknown."""
    asked = JOB.replace("claims: [{name: gpus}]", "claims: [{name: gpus}]\n            limits: {nvidia.com/gpu: 8}")
    request = "exactly: {deviceClassName: mrdma.google.com, allocationMode: All}"
    assert known(pods(read, claim(request), asked).claims_fabric)
    assert isinstance(pods(read, asked).claims_fabric, Unknown)
    assert not known(pods(read, claim(EXACT), JOB).claims_fabric)
