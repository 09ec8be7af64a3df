"""Test measured requests and limits that a fix writes at their source: manifests of every kind, and Terraform.

Texts are diffs: lines with `-` are before the fix, lines with `+` after it, and lines with a space both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.findings import SAFETIES
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcheck.fix.fix import Fixes
    from tests.conftest import Write


pytestmark = pytest.mark.medium

REQUESTS, LIMIT = "requests-not-measured", "limit-not-measured"
CONFIG = Config(rules=(str(ROOT / "tests" / "fix" / "requests"),), select=(REQUESTS, LIMIT))
"""Settings: each container should request 1500m and 3Gi, limited to 4Gi; a container named side, 2 cores."""


def side(diff: str, sign: str) -> str:
    """Return the text before (`-`) or after (`+`) a diff."""
    lines = diff.removeprefix("\n").splitlines(keepends=True)
    return "".join(line[1:] or line for line in lines if line[:1] in (sign, " ", "\n"))


def fixed(write: Write, files: Mapping[str, str], config: Config = CONFIG, paths: Sequence[str] = (".",)) -> Fixes:
    """Fix the files before the diffs; assert that they equal the files after them."""
    folder = write({name: side(diff, "-") for name, diff in files.items()})
    outcome = fix.fix(list(paths), config, safeties=SAFETIES)
    save.save(outcome.files)
    assert not outcome.refused
    for name, diff in files.items():
        assert (folder / name).read_text() == side(diff, "+"), name
    return outcome


POD = """\
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
   containers:
     - name: train
       image: registry.example.com/train:1
"""

STYLES = {
    "comment, plain": """
       resources:
         requests:
-          cpu: 4  # four
-          memory: 16Gi
+          cpu: 1500m  # four
+          memory: 3Gi
         limits:
           cpu: "8"
-          memory: 16Gi
+          memory: 4Gi
""",
    "quotes": """
       resources:
-        requests: {cpu: "4", memory: '16Gi'}
+        requests: {cpu: "1500m", memory: '3Gi'}
""",
    "bytes": """
       resources:
-        requests: {cpu: 3.5, memory: 17179869184}
+        requests: {cpu: 1500m, memory: 3Gi}
""",
    "one is absent": """
       resources:
         requests:
           ephemeral-storage: 1Gi
-          cpu: 4
+          cpu: 1500m
+          memory: 3Gi
""",
    "limits only": """
       resources:
+        requests:
+          cpu: 1500m
+          memory: 3Gi
         limits:
           nvidia.com/gpu: 8
-          memory: 8Gi
+          memory: 4Gi
""",
    "limits only, in braces": """
-      resources: {limits: {nvidia.com/gpu: 8}}
+      resources: {requests: {cpu: 1500m, memory: 3Gi}, limits: {nvidia.com/gpu: 8}}
""",
    "empty": """
-      resources: {}
+      resources:
+        requests:
+          cpu: 1500m
+          memory: 3Gi
       command: [train]
""",
    "null": """
       resources:
+        requests:
+          cpu: 1500m
+          memory: 3Gi
       command: [train]
""",
    "nothing": """
+      resources:
+        requests:
+          cpu: 1500m
+          memory: 3Gi
       env:
         - {name: A, value: b}
""",
    "an anchor that only this one uses": """
       resources:
-        requests: &same {cpu: 4, memory: 4Gi}
+        requests: &same {cpu: 1500m, memory: 3Gi}
       env:
         - {name: A, value: b}
""",
}


@pytest.mark.parametrize("container", STYLES.values(), ids=STYLES.keys())
def test_requests_are_written_in_the_style_of_the_others(container: str, write: Write) -> None:
    fixed(write, {"pod.yaml": POD + container.removeprefix("\n")})


@pytest.mark.parametrize(("old", "new"), [("4", "2"), ('"4"', '"2"'), ("'4'", "'2'"), ("500m", '"2"')])
def test_whole_cores_keep_their_quotes(old: str, new: str, write: Write) -> None:
    changed = f"-      resources: {{requests: {{cpu: {old}, memory: 3Gi}}}}\n+      resources: {{requests: {{cpu: {new}, memory: 3Gi}}}}\n"
    fixed(write, {"pod.yaml": POD.replace("- name: train", "- name: side") + changed})


def test_requests_are_written_into_a_json_list(write: Write) -> None:
    manifest = """
 {
   "apiVersion": "v1",
   "kind": "List",
   "items": [
     {
       "apiVersion": "v1",
       "kind": "Pod",
       "metadata": {"name": "train"},
       "spec": {
         "containers": [
           {
             "name": "side",
-            "image": "registry.example.com/train:1"
+            "image": "registry.example.com/train:1",
+            "resources": {
+              "requests": {
+                "cpu": "2",
+                "memory": "3Gi"
+              }
+            }
           },
-          {"name": "train", "image": "a/b:1", "resources": {"requests": {"cpu": 4, "memory": "8Gi"}}}
+          {"name": "train", "image": "a/b:1", "resources": {"requests": {"cpu": "1500m", "memory": "3Gi"}}}
         ]
       }
     }
   ]
 }
"""
    fixed(write, {"pods.json": manifest})


# --- kinds without a template of pods

TRAIN_JOB = """
 apiVersion: trainer.kubeflow.org/v1alpha1
 kind: TrainJob
 metadata: {name: tune}
 spec:
   trainer:
     image: registry.example.com/train:1
     numNodes: 4
"""


def test_a_trainjob_gets_requests_under_its_resources_per_node(write: Write) -> None:
    added = """\
+    resourcesPerNode:
+      requests:
+        cpu: 1500m
+        memory: 3Gi
"""
    fixed(write, {"job.yaml": TRAIN_JOB + added})
    changed = """\
     resourcesPerNode:
+      requests:
+        cpu: 1500m
+        memory: 3Gi
       limits:
         nvidia.com/gpu: 8
-        memory: 8Gi
+        memory: 4Gi
"""
    fixed(write, {"job.yaml": TRAIN_JOB + changed})


SPARK = """
 apiVersion: sparkoperator.k8s.io/v1beta2
 kind: SparkApplication
 metadata: {name: etl}
 spec:
   image: registry.example.com/spark:4
   driver:
     cores: 1
"""
CPU = Config(rules=CONFIG.rules, select=("cpu-not-measured",))


def test_a_spark_executor_gets_a_core_request_and_keeps_its_cores(write: Write) -> None:
    executor = """\
+    coreRequest: 1500m
   executor:
     instances: 8
     cores: 4
-    coreRequest: "4"
+    coreRequest: "1500m"
     coreLimit: 4000m
     memory: 8g
"""
    fixed(write, {"job.yaml": SPARK + executor}, CPU)


@pytest.mark.parametrize("driver", ["", "     memory: 8g\n", "     memory: 8192\n"])
def test_the_heap_of_spark_is_left_alone(driver: str, write: Write) -> None:
    outcome = fixed(write, {"job.yaml": SPARK + driver})
    (left,) = outcome.remaining
    assert left.help.startswith("memory is the heap, spelt like 3g, to which Spark adds memoryOverhead; ")


# --- Terraform

TYPED = """
 resource "kubernetes_job_v1" "train" {
   metadata {
     name = "train"
   }
   spec {
     template {
       metadata {}
       spec {
         container {
           name  = "train"
           image = "registry.example.com/train:1"
%s
         }
       }
     }
   }
 }
"""
TYPES = {
    "both": """
           resources {
             requests = {
-              cpu    = "4"
-              memory = "8Gi"
+              cpu    = "1500m"
+              memory = "3Gi"
             }
             limits = {
-              memory = "8Gi"
+              memory = "4Gi"
             }
           }
""",
    "one is absent": """
           resources {
             requests = {
-              cpu = 4
+              cpu    = "1500m"
+              memory = "3Gi"
             }
           }
""",
    "limits only": """
           resources {
             limits = {
               "nvidia.com/gpu" = 8
             }
+            requests = {
+              cpu    = "1500m"
+              memory = "3Gi"
+            }
           }
""",
    "limits only, apart": """
           resources {
             claims = {
               name = "a"
             }

             limits = {
               "nvidia.com/gpu" = 8
             }
+
+            requests = {
+              cpu    = "1500m"
+              memory = "3Gi"
+            }
           }
""",
    "empty": """
-          resources {}
+          resources {
+            requests = {
+              cpu    = "1500m"
+              memory = "3Gi"
+            }
+          }
""",
    "nothing": """
+
+          resources {
+            requests = {
+              cpu    = "1500m"
+              memory = "3Gi"
+            }
+          }
""",
}


@pytest.mark.parametrize("container", TYPES.values(), ids=TYPES.keys())
def test_requests_are_added_to_resources_of_terraform(container: str, write: Write) -> None:
    fixed(write, {"main.tf": TYPED % container.strip("\n")})


def test_requests_from_variables_and_locals_are_fixed_at_their_value(write: Write) -> None:
    container = """
           resources {
             requests = {
               cpu    = var.cpu
               memory = local.sizes.memory
             }
           }
"""
    more = """
 variable "cpu" {}
 locals {
-  sizes = { memory = "8Gi" }
+  sizes = { memory = "3Gi" }
 }
"""
    given = '-cpu = "4"\n+cpu = "1500m"\n'
    fixed(write, {"main.tf": TYPED % container.strip("\n") + more.removeprefix("\n"), "terraform.tfvars": given})
