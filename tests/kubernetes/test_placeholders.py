"""Test that placeholders are unknown values: in numbers, names, labels and parts of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.model import image_names
from kcheck.text import placeholders
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from tests.conftest import Check, Read


JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: ${NAME}
  labels: {kueue.x-k8s.io/queue-name: $QUEUE, tier: low}
spec:
  parallelism: $WORKERS
  backoffLimit: ${RETRIES:-4}
  template:
    spec:
      nodeSelector: {pool: "<your-pool>"}
      containers:
        - name: train
          image: ${REGISTRY}/train:latest
          command: [sh, -c, "run --nodes $WORKERS"]
          resources:
            limits: {nvidia.com/gpu: $GPU_PER_NODE, cpu: "{{ cpu }}"}
"""


def test_a_placeholder_is_a_missing_input(read: Read) -> None:
    (job,) = read({"train.yaml": JOB}).workloads
    template = job.templates[0]
    assert template.gpus == Unknown("`$GPU_PER_NODE` is a placeholder", template.gpus.origin)
    unknown = {value.reason for value in (job.pods, job.queue, template.cpu) if isinstance(value, Unknown)}
    assert {reason.split("`")[1] for reason in unknown} == {"$WORKERS", "$QUEUE", "{{ cpu }}"}
    assert isinstance(template.selection, Unknown)
    assert known(job.queue_system) == "kueue"
    assert "tier" in (known(job.labels) or {})
    assert job.id == "train.yaml:Job/${NAME}"


def test_a_placeholder_default_is_the_value_but_never_replaced_by_a_fix(read: Read) -> None:
    (job,) = read({"train.yaml": JOB}).workloads
    assert known(job.retries) == 4
    assert job.retries.origin is not None
    assert not job.retries.origin.literal


@pytest.mark.parametrize(
    "text",
    ["run --nodes $WORKERS", "echo <x> y", "a$1b", "price: 5$", "a#b", "100%", "$", "$(( 1 + 2 ))", "a < b > c"],
)
def test_text_for_shells_and_people_is_not_a_placeholder(text: str) -> None:
    assert not placeholders.first(text)


@pytest.mark.parametrize(
    ("image", "ending"),
    [
        ("${REGISTRY}/train:latest", ("latest", "")),
        ("$IMAGE:v1.2", ("v1.2", "")),
        ("${REGISTRY:-ghcr.io}/train:${TAG:-nightly}", ("nightly", "")),
        ("<registry>/train", ("", "")),
        ("${{ inputs.image }}@sha256:0a", ("", "sha256:0a")),
        *(
            (image, None)
            for image in ("$IMAGE", "${IMAGE}:${TAG}", "app-${ARCH}", "__IMAGE__", "{image}", "TRAIN_IMAGE")
        ),
    ],
)
def test_a_placeholder_before_a_tag_leaves_the_tag_known(image: str, ending: tuple[str, str] | None) -> None:
    assert image_names.ending(image) == (ending and image_names.Ending(*ending))


@pytest.mark.parametrize(
    ("image", "rules"),
    [
        ("${REGISTRY}/train:latest", {"moving-image-tag"}),
        ("${REGISTRY}/train:nightly", {"moving-image-tag"}),
        ("$IMAGE:v1.2", {"image-pulled-every-start"}),
        ("$IMAGE", set()),
    ],
)
def test_rules_on_tags_judge_the_known_part(image: str, rules: set[str], check: Check) -> None:
    job = JOB.replace("$WORKERS\n", "64\n").replace(
        "${REGISTRY}/train:latest", f"{image}\n          imagePullPolicy: Always"
    )
    result = check({"job.yaml": job}, Config(nodes={"": 200}))
    found = {finding.rule for finding in result.findings if finding.rule.startswith(("moving", "image-"))}
    assert found == rules


@pytest.mark.parametrize(("asked", "decided"), [("$GPU_PER_NODE", True), ("$OTHER", False), ("8", False)])
def test_equal_placeholders_have_equal_values(asked: str, decided: bool, check: Check) -> None:
    result = check({"job.yaml": f"{JOB}            requests: {{nvidia.com/gpu: {asked}}}\n"})
    rule = "gpu-request-not-equal-limit"
    assert rule not in [finding.rule for finding in result.findings]
    assert (rule not in [one.rule for one in result.undecided]) == decided


AUTOSCALER = """apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster-autoscaler}
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: ${REGISTRY}/cluster-autoscaler:v1.33.0
          args:
            - --max-nodes-total=${MAX_NODES}
            - --scan-interval=${SCAN:-30s}
            - --expander=least-waste
"""


def test_flags_with_placeholders_are_unknown(read: Read) -> None:
    (autoscaler,) = read({"ca.yaml": AUTOSCALER}).autoscalers
    assert isinstance(autoscaler.max_nodes, Unknown)
    assert autoscaler.max_nodes.reason == "`${MAX_NODES}` is a placeholder"
    assert known(autoscaler.scan_interval) == 30
    assert known(autoscaler.expander) == "least-waste"
    assert known(autoscaler.version) == "v1.33.0"


POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: "${POOL}"}
spec:
  limits: {nodes: "${MOST}"}
  template:
    spec:
      nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: a}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: ["$TYPE"]}
---
apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata: {name: a}
spec: {maxPods: "${PODS}"}
"""
AKS = 'resource "azurerm_kubernetes_cluster" "main" {\n  name = "a"\n  default_node_pool {\n    name = "a"\n  }\n}\n'


def test_karpenter_objects_with_placeholders_cause_no_bug(check: Check) -> None:
    assert not check({"pool.yaml": POOL, "main.tf": AKS}).bugs


TEMPLATE = """apiVersion: batch/v1
kind: Job
metadata:
  name: {{ name }}
spec:
  parallelism: {{ workers | default("8") }}
  backoffLimit: 5
  template:
    spec:
      containers:
        - name: train
          image: {{ registry }}/train:latest
          command: ["sh", "-c", "run {{ flags }}"]
"""


def test_a_template_without_logic_is_read_with_unknown_values(check: Check) -> None:
    result = check({"job.yaml": TEMPLATE})
    assert not result.bugs
    (job,) = result.world.inventory.workloads
    assert job.pods == Unknown('`{{ workers | default("8") }}` is a placeholder', job.pods.origin)
    assert known(job.retries) == 5
    assert [known(image.text) for image in job.images] == ["{{ registry }}/train:latest"]
    assert known(job.name) == "{{ name }}"
    assert "templated-manifests" not in [finding.rule for finding in result.findings]


@pytest.mark.parametrize(
    "line", ["{% if x %}", "{{- if .x }}", "{{ .Values.labels }}", '{{ include "a" . }}', "{{ all }}"]
)
def test_templates_with_logic_are_skipped_and_reported(line: str, check: Check) -> None:
    result = check({"job.yaml": f"{TEMPLATE}{line}\n"})
    assert result.world.inventory.workloads == []
    assert [finding.rule for finding in result.findings] == ["templated-manifests"]
