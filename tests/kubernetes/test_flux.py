"""Test values that Flux and kustomizations pass: to charts from ConfigMaps and files, to manifests by substitution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.text.files.tree import Tree
from kcheck.text.values import Unknown, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcheck.model import Autoscaler
    from tests.conftest import Read, Write


IDLE = "extraArgs: {scale-down-unneeded-time: 7m}\n"
RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: autoscaler}
spec:
  chart: {spec: {chart: cluster-autoscaler, version: 9.46.0, sourceRef: {kind: HelmRepository, name: a}}}
  valuesFrom:
    - {kind: ConfigMap, name: values%s}
"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: values}
data:
  values.yaml: |
    extraArgs:
      scale-down-unneeded-time: 7m
  other: 7m
"""
GENERATED = {
    "kustomization.yaml": "resources: [release.yaml]\nconfigMapGenerator:\n- {name: values, files: [%s]}\n",
    "ca.yaml": IDLE,
}


@pytest.fixture
def autoscaler(write: Write) -> Callable[[Mapping[str, str]], Autoscaler]:
    """Return a function that writes files and reads their only autoscaler."""

    def read(content: Mapping[str, str]) -> Autoscaler:
        write({".git/HEAD": "", **content})
        (found,) = reader.read(Tree(["."]), Config()).inventory.autoscalers
        return found

    return read


@pytest.mark.parametrize(
    "files",
    [
        {"release.yaml": RELEASE % "", "map.yaml": CONFIG_MAP},
        {"release.yaml": RELEASE % ", valuesKey: other, targetPath: extraArgs.scale-down-unneeded-time", "b/map.yaml": CONFIG_MAP},
        {"release.yaml": RELEASE % "", **GENERATED, "kustomization.yaml": GENERATED["kustomization.yaml"] % "values.yaml=ca.yaml"},
        {"release.yaml": RELEASE % ", valuesKey: ca.yaml", **GENERATED, "kustomization.yaml": GENERATED["kustomization.yaml"] % "ca.yaml"},
    ],
)  # fmt: skip
def test_values_are_read_from_a_config_map_in_the_tree(
    files: dict[str, str], autoscaler: Callable[[Mapping[str, str]], Autoscaler]
) -> None:
    assert known(autoscaler(files).unneeded_time) == 420


def test_the_nearest_of_several_config_maps_is_used(
    autoscaler: Callable[[Mapping[str, str]], Autoscaler],
) -> None:
    files = {
        "prod/release.yaml": RELEASE % "",
        "stage/map.yaml": CONFIG_MAP.replace("7m", "9m"),
        "prod/map.yaml": CONFIG_MAP,
    }
    assert known(autoscaler(files).unneeded_time) == 420
    unclear = autoscaler({"prod/other.yaml": CONFIG_MAP.replace("7m", "8m")}).unneeded_time
    assert unclear == Unknown("the values of ConfigMap values are not read", unclear.origin)


REPOSITORY = """apiVersion: source.toolkit.fluxcd.io/v1
kind: %s
metadata: {name: ca}
spec: %s
"""


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("OCIRepository", "{url: oci://ghcr.io/example/charts/cluster-autoscaler, ref: {tag: 9.46.0}}"),
        ("HelmChart", "{chart: cluster-autoscaler, version: 9.46.0}"),
    ],
)
def test_a_chart_in_another_flux_object_is_found(
    kind: str, spec: str, autoscaler: Callable[[Mapping[str, str]], Autoscaler]
) -> None:
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n"
    release += f"  chartRef: {{kind: {kind}, name: ca}}\n  values:\n    {IDLE}"
    found = autoscaler({"a/release.yaml": release, "a/repository.yaml": REPOSITORY % (kind, spec)})
    assert (known(found.unneeded_time), known(found.version)) == (420, "1.32")


CHARTS = """helmCharts:
  - name: cluster-autoscaler
    version: 9.46.0
    repo: https://kubernetes.github.io/autoscaler
%s
"""
INLINE = "    valuesInline: {extraArgs: {scale-down-unneeded-time: 7m}}"


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        (INLINE, {}),
        ("    valuesFile: ca.yaml", {"ca.yaml": IDLE}),
        ("    additionalValuesFiles: [ca.yaml]", {"ca.yaml": IDLE}),
        (f"    valuesFile: ca.yaml\n{INLINE}", {"ca.yaml": IDLE.replace("7m", "9m")}),
        (f"    valuesMerge: merge\n    valuesFile: ca.yaml\n{INLINE.replace('7m', '9m')}", {"ca.yaml": IDLE}),
        (
            f"    valuesMerge: replace\n    valuesFile: ca.yaml\n{INLINE}",
            {"ca.yaml": "extraArgs: {scan-interval: 5s}\n"},
        ),
    ],
)
def test_charts_of_a_kustomization_are_read(
    lines: str, files: dict[str, str], autoscaler: Callable[[Mapping[str, str]], Autoscaler]
) -> None:
    found = autoscaler({"kustomization.yaml": CHARTS % lines, **files})
    assert known(found.unneeded_time) == 420
    assert known(found.version) == "1.32"
    assert known(found.scan_interval) == 10


def test_a_chart_next_to_its_kustomization_keeps_its_own_values(read: Read) -> None:
    chart = {
        "charts/web/Chart.yaml": "name: web\nversion: 1.0.0\n",
        "charts/web/values.yaml": "image: {repository: a/b, tag: '1'}\n",
    }
    text = "helmCharts:\n- name: web\n  valuesInline: {image: {tag: nightly}}\n"
    (workload,) = read({"kustomization.yaml": text, **chart}).workloads
    assert [known(image.text) for image in workload.images] == ["a/b:nightly"]


FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s}
spec:
  path: ./apps
  postBuild:
%s
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: "${NAME}"}
spec:
  parallelism: ${WORKERS}
  completions: ${TOTAL:-128}
  template:
    spec:
      containers:
        - name: train
          image: ${REGISTRY}/train:${TAG:=nightly}
"""
GIVEN = "    substitute: {WORKERS: '64', REGISTRY: registry.example.com, NAME: train}"


@pytest.mark.parametrize("folder", ["apps", "apps/deeper"])
@pytest.mark.parametrize("kustomized", [False, True])
def test_flux_fills_variables_into_the_manifests_of_its_folder(folder: str, kustomized: bool, read: Read) -> None:
    more = {f"{folder}/kustomization.yaml": "resources: [job.yaml]\n"} if kustomized else {}
    flux = {".git/HEAD": "", "clusters/a.yaml": FLUX % ("apps", GIVEN)}
    (job,) = read({**flux, f"{folder}/job.yaml": JOB, **more}).workloads
    assert known(job.pods) == 64
    assert known(job.name) == "train"
    assert [known(image.text) for image in job.images] == ["registry.example.com/train:nightly"]
    assert job.pods.origin is not None
    assert not job.pods.origin.literal
    assert job.pods.origin.written.source.path == "clusters/a.yaml"


def test_flux_takes_values_from_config_maps(read: Read) -> None:
    given = "    substituteFrom: [{kind: ConfigMap, name: values}, {kind: Secret, name: keys}]"
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values}\ndata: {WORKERS: '64'}\n"
    files = {
        ".git/HEAD": "",
        "clusters/a.yaml": FLUX % ("apps", given),
        "clusters/map.yaml": config_map,
        "apps/job.yaml": JOB,
    }
    (job,) = read(files).workloads
    assert known(job.pods) == 64
    assert [known(image.text) for image in job.images] == ["${REGISTRY}/train:nightly"]


def test_values_that_kustomizations_disagree_on_are_unknown(read: Read) -> None:
    other = GIVEN.replace("64", "32")
    flux = {".git/HEAD": "", "a.yaml": FLUX % ("a", GIVEN), "b.yaml": FLUX % ("b", other)}
    (job,) = read({**flux, "apps/job.yaml": JOB}).workloads
    assert job.pods == Unknown("`${WORKERS}` is a placeholder", job.pods.origin)
    assert [known(image.registry) for image in job.images] == ["registry.example.com"]
