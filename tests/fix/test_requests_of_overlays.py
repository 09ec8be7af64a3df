"""Test requests measured in one cluster, which a fix writes for this cluster only, and values with several users.

Texts are diffs: lines with `-` are before the fix, lines with `+` after it, and lines with a space both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.fix.test_requests import CONFIG, POD, TYPED, fixed

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

ONE = replace(CONFIG, select=("train-not-measured",))
"""Settings: workloads named train should request 1500m and 3Gi; all others are correct."""

BASE = """
 apiVersion: batch/v1
 kind: Job
 metadata:
   name: train
 spec:
   template:
     spec:
       containers:
         - name: main
           image: registry.example.com/train:1
           resources:
             requests:
               cpu: 4
               memory: 8Gi
"""
PATCH = """
 apiVersion: batch/v1
 kind: Job
 metadata:
   name: train
 spec:
   template:
     spec:
       containers:
         - name: main
"""


def overlays(prod: str, **more: str) -> dict[str, str]:
    """Return a Kustomize base, an overlay that only renames it, and an overlay that changes it."""
    return {
        "base/kustomization.yaml": " resources: [job.yaml]\n",
        "base/job.yaml": BASE,
        "dev/kustomization.yaml": " resources: [../base]\n namePrefix: dev-\n",
        "prod/kustomization.yaml": " resources: [../base]\n" + prod,
        **{f"prod/{name}.yaml": text for name, text in more.items()},
    }


PATCHES = {
    "its requests": """\
           resources:
             requests:
-              cpu: 16
+              cpu: 1500m
+              memory: 3Gi
""",
    "its limits": """\
           resources:
+            requests:
+              cpu: 1500m
+              memory: 3Gi
             limits:
               nvidia.com/gpu: 8
""",
    "something else of it": """\
+          resources:
+            requests:
+              cpu: 1500m
+              memory: 3Gi
           env:
             - {name: A, value: b}
""",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES.keys())
def test_requests_go_into_the_patch_of_one_overlay_and_not_the_shared_base(patch: str, write: Write) -> None:
    fixed(write, overlays(" patches: [{path: patch.yaml}]\n", patch=PATCH + patch), ONE)


def test_requests_are_written_into_an_inline_patch(write: Write) -> None:
    inline = """\
 patches:
   - target: {kind: Job}
     patch: |-
       apiVersion: batch/v1
       kind: Job
       metadata:
         name: any
       spec:
         template:
           spec:
             containers:
               - name: main
                 resources:
                   requests:
-                    cpu: 16
+                    cpu: 1500m
+                    memory: 3Gi
"""
    fixed(write, overlays(inline), ONE)


def test_a_base_outside_the_given_paths_stays(write: Write) -> None:
    """`kcheck fix prod` may write to prod only."""
    patch = PATCH + PATCHES["its requests"]
    fixed(write, overlays(" patches: [{path: patch.yaml}]\n", patch=patch), ONE, ["prod"])


def test_the_later_of_two_patches_gets_the_requests(write: Write) -> None:
    first = PATCH + "           resources: {requests: {memory: 64Gi}}\n"
    changed = """\
           resources:
             requests:
-              cpu: 16
+              cpu: 1500m
+              memory: 3Gi
"""
    files = overlays(" patches: [{path: first.yaml}, {path: second.yaml}]\n", first=first, second=PATCH + changed)
    files["dev/kustomization.yaml"] += " patches: [{path: ../prod/first.yaml}]\n"
    fixed(write, files, ONE)


def test_the_base_of_a_single_overlay_is_changed(write: Write) -> None:
    files = overlays("")
    del files["dev/kustomization.yaml"]
    files["base/job.yaml"] = BASE.replace("               cpu: 4\n               memory: 8Gi\n", "-              cpu: 4\n-              memory: 8Gi\n+              cpu: 1500m\n+              memory: 3Gi\n")  # fmt: skip
    fixed(write, files, ONE)


@pytest.mark.parametrize(
    "prod", ["", " patches:\n   - target: {kind: Job}\n     patch: '[{op: test, path: /kind, value: Job}]'\n"]
)
def test_help_asks_for_a_patch_if_none_changes_the_container(prod: str, write: Write) -> None:
    (left,) = fixed(write, overlays(prod), ONE).remaining
    assert (
        left.help
        == "Not fixed: cpu also sets Job/dev-train/main in dev, which is fine with it\nset cpu: 1500m in a patch of prod"
    )


# --- one value for several


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (
            "       resources: &all {requests: {cpu: 4, memory: 3Gi}}\n     - name: side\n       image: registry.example.com/train:1\n       resources: *all\n",
            "Not fixed: cpu also sets Pod/train/train, which should be 1500m\nuse a value of its own for this container",
        ),
        (
            "       resources: {requests: &all {cpu: 4, memory: 3Gi}, limits: *all}\n",
            "Not fixed: cpu also sets cpu limit of Pod/train/train, which is fine with it\nuse a value of its own for this container",
        ),
    ],
)  # fmt: skip
def test_a_value_that_other_containers_need_is_not_changed(resources: str, text: str, write: Write) -> None:
    outcome = fixed(write, {"pod.yaml": POD + resources}, replace(CONFIG, select=("requests-not-measured",)))
    assert text in {finding.help for finding in outcome.remaining}


def test_a_variable_shared_by_request_and_limit_is_not_changed(write: Write) -> None:
    container = """
           resources {
             requests = { cpu = "1500m", memory = var.memory }
             limits   = { memory = var.memory }
           }
"""
    variable = ' variable "memory" {\n   default = "8Gi"\n }\n'
    config = replace(CONFIG, select=("requests-not-measured",))
    (left,) = fixed(write, {"main.tf": TYPED % container.strip("\n") + variable}, config).remaining
    assert left.help.startswith("Not fixed: var.memory also sets memory limit of Job/train/train, which is fine")
