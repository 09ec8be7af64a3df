"""Test GPUs that services hold at any load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.scale import pods
from kcheck.scale.world import World
from kcheck.text.need import or_none
from kcheck.text.values import known

if TYPE_CHECKING:
    from tests.conftest import Read

CONTAINERS = "containers: [{name: main, image: example.com/serve:1, resources: {limits: {nvidia.com/gpu: 8}}}]"
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: serve}}
spec: {{replicas: 4, template: {{spec: {{{CONTAINERS}}}}}}}
"""
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: serve}}
spec: {{scaleTargetRef: {{kind: Deployment, name: serve}}, maxReplicas: 10, {least}}}
"""
KEDA = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{name: serve}}
spec: {{scaleTargetRef: {{name: serve}}, maxReplicaCount: 10, {least}triggers: [{{type: cron, metadata: {{desiredReplicas: "{clock}"}}}}]}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: serve}}
spec:
  enableInTreeAutoscaling: {scales}
  workerGroupSpecs: [{{groupName: gpu, replicas: 3, {least}maxReplicas: 9, template: {{spec: {{CONTAINERS}}}}}}]
""".replace("CONTAINERS", CONTAINERS.replace("{", "{{").replace("}", "}}"))
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: serve}}
spec: {{predictor: {{{least}maxReplicas: 8, model: {{modelFormat: {{name: vllm}}, resources: {{limits: {{nvidia.com/gpu: 8}}}}}}}}}}
"""


@pytest.mark.parametrize(
    ("manifests", "most", "held"),
    [
        pytest.param([DEPLOYMENT], 4, 32, id="nothing-scales-it"),
        pytest.param([DEPLOYMENT, HPA.format(least="minReplicas: 3")], 10, 24, id="least-of-an-autoscaler"),
        pytest.param([DEPLOYMENT, HPA.format(least="")], 10, 8, id="one-is-the-usual-least"),
        pytest.param([DEPLOYMENT, KEDA.format(least="", clock=6)], 10, 48, id="by-the-clock"),
        pytest.param([DEPLOYMENT, KEDA.format(least="minReplicaCount: 7, ", clock=6)], 10, 56, id="more-than-by-the-clock"),
        pytest.param([RAY.format(scales="false", least="")], 3, 24, id="ray-of-fixed-size"),
        pytest.param([RAY.format(scales="true", least="")], 9, 0, id="ray-that-shrinks"),
        pytest.param([RAY.format(scales="true", least="minReplicas: 2, ")], 9, 16, id="ray-that-keeps-some"),
        pytest.param([KSERVE.format(least="minReplicas: 4, ")], 8, 32, id="kserve"),
        pytest.param([KSERVE.format(least="")], 8, 8, id="kserve-keeps-one"),
        pytest.param([DEPLOYMENT.replace("apps/v1", "batch/v1").replace("Deployment", "Job")], 1, 0, id="a-job-ends"),
    ],
)  # fmt: skip
def test_services_hold_the_gpus_of_their_minimum_replicas(
    manifests: list[str], most: int, held: int, read: Read
) -> None:
    found = read({"serve.yaml": "---\n".join(manifests)})
    (workload,) = found.workloads
    (template,) = [one for one in workload.templates if known(one.gpus)]
    assert known(template.count) == most
    assert or_none(pods.held)(template, World(found, Config())) == held


def test_the_image_of_a_model_comes_from_its_runtime(read: Read) -> None:
    (workload,) = read({"serve.yaml": KSERVE.format(least="")}).workloads
    (container,) = workload.templates[0].containers
    assert not workload.partial
    assert known(container.image) is None
    own = KSERVE.format(least="").replace("model: {", "model: {image: example.com/vllm:1, ")
    assert known(read({"serve.yaml": own}).workloads[0].templates[0].containers[0].image) == "example.com/vllm:1"


def test_a_model_on_several_nodes_has_workers_next_to_its_predictor(read: Read) -> None:
    parts = "minReplicas: 1, workerSpec: {pipelineParallelSize: 3, containers: [{name: worker}]}, "
    text = KSERVE.format(least=parts).replace("}}\n", "}, transformer: {containers: [{name: main, image: a:1}]}}\n")
    (workload,) = read({"serve.yaml": text}).workloads
    assert {one.role: known(one.count) for one in workload.templates} == {"predictor": 8, "transformer": 1, "worker": 2}
