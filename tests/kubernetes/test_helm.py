"""Test Helm: releases of Argo CD and Flux, chart folders, images in values, and charts that helm renders."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcheck.commands.cli import cli
from kcheck.config.config import Config
from kcheck.fix import fix
from kcheck.model import image_names
from kcheck.report import model
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES
from kcheck.text.files.tree import Tree
from kcheck.text.findings import Severity
from tests.conftest import names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conftest import Check, Write

    Read = Callable[..., dict[str, Any]]


@pytest.fixture
def read(write: Write) -> Read:
    """Return a function that writes files and collects the model kcheck reads from them."""

    def run(content: Mapping[str, str], config: Config | None = None) -> dict[str, Any]:
        write(content)
        return model.collect(Tree(["."]), config or Config())

    return run


def of(thing: dict[str, Any], field: str) -> Any:
    """Return the value of a field, or the reason why it is unknown."""
    found = thing["fields"][field]
    return found["unknown"] if "unknown" in found else found["value"]


def found_images(data: dict[str, Any]) -> dict[str, str]:
    """Return the registry of each image, or the reason why it is unknown."""
    return {of(image, "text"): of(image, "registry") for image in data["images"]}


def place(thing: dict[str, Any], field: str) -> str:
    """Return file and line of a field."""
    written: str = thing["fields"][field]["from"][0]
    return written.rpartition(":")[0]


APPLICATION = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: autoscaler}
spec:
  source:
    chart: cluster-autoscaler
    targetRevision: 9.50.1
    helm:
%s"""
HELM_RELEASE = """apiVersion: helm.toolkit.fluxcd.io/%s
kind: HelmRelease
metadata: {name: autoscaler}
spec:
  chart:
    spec:
      chart: cluster-autoscaler
      version: 9.50.1
%s"""
UNNEEDED = "scale-down-unneeded-time"
STYLES = {
    "values": (APPLICATION % f"      values: |\n        extraArgs:\n          {UNNEEDED}: 7m\n", 11),
    "stripped values": (APPLICATION % f"      values: |-\n\n        extraArgs:\n          {UNNEEDED}: 7m\n", 12),
    "values in quotes": (APPLICATION % f'      values: "extraArgs: {{{UNNEEDED}: 7m}}"\n', 9),
    "object": (APPLICATION % f"      valuesObject:\n        extraArgs:\n          {UNNEEDED}: 7m\n", 11),
    "parameter": (APPLICATION % f"      parameters:\n        - name: extraArgs.{UNNEEDED}\n          value: 7m\n", 11),
    "object before values": (
        APPLICATION % f"      values: 'extraArgs: {{{UNNEEDED}: 9m}}'\n      valuesObject: {{extraArgs: {{{UNNEEDED}: 7m}}}}\n",
        10,
    ),
    "flux": (HELM_RELEASE % ("v2", f"  values:\n    extraArgs:\n      {UNNEEDED}: 7m\n"), 11),
    "flux beta": (HELM_RELEASE % ("v2beta1", f"  values:\n    extraArgs:\n      {UNNEEDED}: 7m\n"), 11),
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_helm_release_values_are_read(style: str, read: Read) -> None:
    text, line = STYLES[style]
    (autoscaler,) = read({"apps/a.yaml": text})["autoscalers"]
    assert of(autoscaler, "unneeded_time") == 420
    assert place(autoscaler, "unneeded_time") == f"apps/a.yaml:{line}"


@pytest.mark.slow
def test_a_fix_edits_the_values_text_of_a_release(write: Write) -> None:
    text = STYLES["values"][0].replace("7m", "20m  # long")
    cluster = 'resource "aws_eks_cluster" "a" {\n  name = "a"\n}\nresource "aws_eks_node_group" "a" {\n'
    cluster += (
        "  cluster_name = aws_eks_cluster.a.name\n  scaling_config {\n    min_size = 0\n    max_size = 300\n  }\n}\n"
    )
    write({"main.tf": cluster, "a.yaml": text})
    outcome = fix.fix(["."], Config(), rules=("idle-nodes-kept-long",))
    ((_, _, _, new, *_),) = outcome.files
    assert new.decode() == text.replace("20m", "5m")


SOURCES = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: autoscaler}
spec:
  sources:
    - repoURL: https://github.com/example/fleet
      ref: here
    - chart: cluster-autoscaler
      helm:
        valueFiles: [$here/values/%s.yaml]
"""


def test_values_files_are_read_in_place(read: Read) -> None:
    files = {".git/HEAD": "", "apps/a.yaml": SOURCES % "a", "values/a.yaml": f"extraArgs:\n  {UNNEEDED}: 7m\n"}
    (autoscaler,) = read(files)["autoscalers"]
    assert place(autoscaler, "unneeded_time") == "values/a.yaml:2"


@pytest.mark.parametrize("name", ["b", "../../outside", "https://example.com/x"])
def test_a_missing_values_file_is_reported_as_missing(name: str, read: Read) -> None:
    (autoscaler,) = read({".git/HEAD": "", "apps/a.yaml": SOURCES % name})["autoscalers"]
    assert "is missing" in of(autoscaler, "unneeded_time")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("  valuesFrom:\n    - {kind: ConfigMap, name: more}\n", "the values of ConfigMap more are not read"),
        (
            f"  valuesFrom:\n    - {{kind: Secret, name: s, targetPath: extraArgs.{UNNEEDED}}}\n",
            "the values of Secret s are not read",
        ),
        ("  postRenderers: [{}]\n", "`postRenderers` may change it"),
    ],
)
def test_values_that_flux_takes_from_elsewhere_are_unknown(more: str, reason: str, read: Read) -> None:
    (autoscaler,) = read({"a.yaml": HELM_RELEASE % ("v2", more)})["autoscalers"]
    assert of(autoscaler, "unneeded_time") == reason


def test_inline_values_override_values_from_elsewhere(read: Read) -> None:
    more = f"  valuesFrom:\n    - {{kind: ConfigMap, name: more}}\n  values: {{extraArgs: {{{UNNEEDED}: 7m}}}}\n"
    (autoscaler,) = read({"a.yaml": HELM_RELEASE % ("v2", more)})["autoscalers"]
    assert of(autoscaler, "unneeded_time") == 420


def test_placeholders_in_an_application_set_are_not_charts(read: Read) -> None:
    text = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  template:
    spec:
      source:
        chart: '{{chart}}'
        helm:
          valuesObject: {image: '{{image}}', other: {image: "busybox:1.37"}}
"""
    data = read({"a.yaml": text})
    assert found_images(data) == {"busybox:1.37": "docker.io"}
    assert of(data["images"][0], "workload") == "a.yaml:ApplicationSet/all"


UMBRELLA = {
    "Chart.yaml": """apiVersion: v2
name: platform
version: 1.0.0
dependencies:
  - {name: cluster-autoscaler, alias: scaler, version: 9.50.1, repository: https://example.com, condition: scaler.on}
""",
    "values.yaml": f"scaler:\n  extraArgs:\n    {UNNEEDED}: 7m\n",
}


def test_an_autoscaler_is_found_in_a_chart_dependency(read: Read) -> None:
    (autoscaler,) = read(UMBRELLA)["autoscalers"]
    assert of(autoscaler, "unneeded_time") == 420
    assert not read({"values.yaml": "scaler: {on: false}\n"})["autoscalers"]


def test_a_release_of_a_chart_in_the_tree_has_its_values(read: Read) -> None:
    application = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: platform}
spec:
  source:
    path: charts/platform
    helm: {valuesObject: {scaler: {extraArgs: {scan-interval: 30s}}}}
"""
    files = {f"charts/platform/{name}": text for name, text in UMBRELLA.items()}
    (autoscaler,) = read({".git/HEAD": "", "apps/a.yaml": application, **files})["autoscalers"]
    assert (of(autoscaler, "unneeded_time"), of(autoscaler, "scan_interval")) == (420, 30)
    release = 'resource "helm_release" "a" {\n  name  = "a"\n  chart = "./charts/platform"\n}\n'
    (autoscaler,) = read({"apps/a.yaml": "", "main.tf": release})["autoscalers"]
    assert of(autoscaler, "unneeded_time") == 420


CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: 2.0.0\n"
IMAGES = {
    "a text": ("image: nginx:1.29", {"nginx:1.29": "docker.io"}),
    "another registry": ("image: quay.io/a/b:1", {"quay.io/a/b:1": "quay.io"}),
    "parts": ("image: {registry: ghcr.io, repository: a/b, tag: 1.10}", {"ghcr.io/a/b:1.10": "ghcr.io"}),
    "a digest": ("image: {repository: a/b, digest: 'sha256:00'}", {"a/b@sha256:00": "docker.io"}),
    "the chart's version": ("image: {repository: a/b, tag: ''}", {"a/b": "docker.io"}),
    "no image": ("image: {}\ntag: x", {}),
    "null": ("image: ~\nworker: {image: {repository: ~, tag: 1}}", {}),
    "code": ("repository: https://github.com/a/b.git\ntag: v1", {}),
    "git": ("git: {repository: a/b, tag: v1}", {}),
    "a chart": ("chart: {repository: example/charts, tag: v1}", {}),
    "a placeholder": ("image: {repository: '${IMAGE}', tag: TAG}\nworkerImage: <image>", {}),
    "not used": ("proxy: {enabled: false, image: 'nginx:1.29'}", {}),
    "policy": ("imagePullPolicy: Always\nimageRenderer: {size: 1}\nimageGallery: big", {}),
    "a text beside its tag": ("image: a/b\ntag: '3'", {"a/b:3": "docker.io"}),
    "of a part": ("webhook: {repository: a/b, tag: '3', pullPolicy: Always}", {"a/b:3": "docker.io"}),
    "named": ("hub: {image: {name: quay.io/a/hub, tag: '4'}}", {"quay.io/a/hub:4": "quay.io"}),
    "registry and image": ("image: {registry: quay.io, image: a/b, tag: '3'}", {"quay.io/a/b:3": "quay.io"}),
    "image in a repository": ("repository: nvcr.io/nvidia\nimage: driver\nversion: '5'", {"nvcr.io/nvidia/driver:5": "nvcr.io"}),
    "split": ("initImageName: busybox\ninitImageTag: stable", {"busybox:stable": "docker.io"}),
    "snakes": ("basic: {image_registry: quay.io, c_image_name: a/c, image_tag_version: v1}", {"quay.io/a/c:v1": "quay.io"}),
    "no split image": ("imageName: gallery", {}),
    "containers": ("extra:\n  - {name: a, image: busybox}", {"busybox": "docker.io"}),
    "global": ("global: {imageRegistry: quay.io}\nimage: {repository: a/b, tag: '3'}", {"quay.io/a/b:3": "quay.io"}),
    "prefix": ("global: {imagePrefix: quay.io/x}\nimage: a/b\ntag: '3'", {"quay.io/x/a/b:3": "quay.io"}),
    "global against own": (
        "global: {imageRegistry: quay.io}\nimage: {registry: docker.io, repository: a/b, tag: '3'}",
        {"a/b:3": "the registry of a/b in the chart is not known"},
    ),
    "global against a whole text": (
        "global: {imageRegistry: quay.io}\nimage: a/b:3",
        {"a/b:3": "the registry of a/b:3 in the chart is not known"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("style", IMAGES)
def test_the_images_of_a_chart_are_found(style: str, read: Read) -> None:
    values, expected = IMAGES[style]
    assert found_images(read({"Chart.yaml": CHART, "values.yaml": values + "\n"})) == expected


def test_a_tag_set_by_the_chart_is_not_latest(read: Read) -> None:
    (image,) = read({"Chart.yaml": CHART, "values.yaml": "image: {repository: a/b, tag: ''}\n"})["images"]
    assert of(image, "moving") == "the chart gives the tag of a/b"


def test_yaml_aliases_are_visited_once(read: Read) -> None:
    bomb = "a0: &a0 {image: 'busybox:1.37'}\n"
    bomb += "".join(f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 9))
    assert len(read({"Chart.yaml": CHART, "values.yaml": bomb})["images"]) == 1


KEYS = st.sampled_from(
    ["image", "repository", "registry", "tag", "digest", "name", "enabled", "global", "imageName", "initImage", "x"]
)
LEAVES = st.sampled_from(["", "a/b", "quay.io/a:1", "${x}", "{{ x }}", "https://a/b.git", ":", "@", "é"])
VALUES = st.recursive(
    LEAVES | st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.medium
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES, VALUES, st.booleans())
def test_no_values_cause_a_bug(under: object, over: object, whole: bool) -> None:
    from kcheck.kubernetes.helm_releases import Release, path_of
    from kcheck.kubernetes.images import workload
    from kcheck.text.syntax import yaml
    from kcheck.text.text import Source
    from kcheck.text.values import Known, Origin

    sources = [Source("values.yaml", json.dumps({"top": part}).encode()) for part in (under, over)]
    trees = tuple(document.root for source in sources for document in yaml.documents(source) if document.root)
    name = Known("web", Origin(()))
    sets = {path_of("top.image.tag"): trees[0], path_of("top.x[2].y"): trees[1]}
    release = Release("web", sources[0].span(0, 0), name, name, trees, sets if whole else {}, whole=whole)
    found = workload(release)
    for image in found.images if found else ():
        assert isinstance(image.text, Known)
        assert image_names.parse(image.text.value) is not None
        assert "://" not in image.text.value


def test_list_items_set_by_flags_keep_their_order() -> None:
    from kcheck.kubernetes.helm_releases import Overlay, _laid
    from kcheck.text.syntax import yaml
    from kcheck.text.text import Source

    source = Source("values.yaml", "".join(f"- {i}\n" for i in range(12)).encode())
    (document,) = yaml.documents(source)
    overlay: Overlay = {}
    for i, item in enumerate(getattr(document.root, "items", ())):
        overlay[i] = item
    laid = _laid(None, overlay)
    assert [yaml.text(laid, i) for i in range(12)] == [str(i) for i in range(12)]


PART = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)


@pytest.mark.medium
@given(
    st.sampled_from(["", "quay.io", "docker.io", "localhost:5000", "registry.example.com/team"]),
    st.lists(PART, min_size=1, max_size=3).map("/".join),
    st.from_regex(r"[a-z0-9][a-z0-9.-]{0,8}", fullmatch=True),
)
def test_joined_image_names_parse_back(registry: str, repository: str, tag: str) -> None:
    from kcheck.kubernetes.helm_releases import Release
    from kcheck.kubernetes.images import workload
    from kcheck.text.syntax import yaml
    from kcheck.text.text import Source
    from kcheck.text.values import Known, Origin

    text = f"image: {{registry: '{registry}', repository: '{repository}', tag: '{tag}'}}\n"
    source = Source("values.yaml", text.encode())
    (document,) = yaml.documents(source)
    assert document.root is not None
    name = Known("web", Origin(()))
    release = Release("web", source.span(0, 0), name, name, (document.root,), whole=True)
    found = workload(release)
    assert found is not None
    (image,) = found.images
    assert isinstance(image.text, Known)
    reference = image_names.parse(image.text.value)
    assert reference == image_names.parse(f"{registry}/{repository}:{tag}".removeprefix("/"))
    assert reference is not None
    assert (reference.tag, isinstance(image.registry, Known)) == (tag, True)
    assert image.place.text.strip("'") == repository


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("image: {tag: '3'}", {}),
        ("image: {repository: a/b, tag: '3'}", {"a/b:3": "docker.io"}),
        ("image: {repository: a/b}", {"a/b": "the chart web may set the registry of a/b"}),
        ("image: {repository: quay.io/a/b}", {"quay.io/a/b": "quay.io"}),
    ],
)
def test_defaults_of_a_remote_chart_are_not_guessed(values: str, expected: dict[str, str], read: Read) -> None:
    text = APPLICATION.replace("cluster-autoscaler", "web") % f"      valuesObject: {{{values}}}\n"
    assert found_images(read({"a.yaml": text})) == expected


VOLCANO = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: volcano}
spec:
  source:
    chart: volcano
    helm: {valuesObject: %s}
"""


def test_a_chart_with_known_docker_hub_images_is_reported(read: Read, check: Check) -> None:
    hub = read({"a.yaml": VOLCANO % "{}"})
    assert set(found_images(hub)) == {
        "docker.io/volcanosh/vc-controller-manager", "docker.io/volcanosh/vc-scheduler", "docker.io/volcanosh/vc-webhook-manager",
    }  # fmt: skip
    undecided = {one.object for one in check({}).undecided if one.rule == "docker-hub-image"}
    assert len(undecided) == 3  # on how many nodes its pods are is not in the code
    mirrored = check({}, Config(mirrors={"docker.io": "registry.example.com/hub"})).findings
    first = next(one for one in mirrored if one.rule == "docker-hub-image")
    assert (first.severity, first.span.begin.line) == (Severity.INFO, 2)
    assert first.message == (
        "Application volcano needs at least 1 anonymous Docker Hub pull; 100 in 6 hours are allowed"
    )


@pytest.mark.parametrize(
    "values",
    ["{basic: {image_registry: registry.example.com}}", "{basic: {image_pull_secret: hub}}", "'{{values}}'"],
)
def test_overridden_images_of_a_release_give_no_finding(values: str, check: Check) -> None:
    assert "docker-hub-image" not in names(check({"a.yaml": VOLCANO % values}))


def test_overridden_images_of_a_scheduler_chart_are_those_of_its_values(read: Read) -> None:
    own = "{repository: registry.example.com/scheduler}"
    values = f"{{image: {own}, admissionController: {{image: {own}}}, web: {{image: {own}}}}}"
    assert set(found_images(read({"a.yaml": VOLCANO.replace("volcano", "yunikorn") % values}))) == {
        "registry.example.com/scheduler"
    }


def test_charts_in_the_table_have_sources() -> None:
    table = bundled.load(os.path.join(PROFILES, "any", "charts.yaml"))
    for chart in table.values():
        assert set(chart) <= {"sources", "checked", "source_dated", "confidence", "note", "values", "major", "minors"}
        assert all(source.startswith("https://") for source in chart["sources"])
        assert str(chart["checked"]) >= "2026-11-21"
        assert chart["confidence"] in ("high", "medium")


def test_an_image_is_reported_once_with_the_place_of_its_repository(check: Check) -> None:
    values = "a:\n  image:\n    tag: '1'\n    repository: a/b\nb: {image: 'a/b:1'}\n"
    mirrors = Config(mirrors={"docker.io": "registry.example.com/hub"})
    (finding,) = check({"Chart.yaml": CHART, "values.yaml": values}, mirrors).findings
    assert (finding.rule, finding.severity) == ("docker-hub-image", Severity.INFO)
    assert (finding.span.source.path, finding.span.begin.line, finding.span.text) == ("values.yaml", 4, "a/b")
    assert finding.message.startswith("Chart web needs ")


def test_a_mirror_is_written_only_into_whole_image_names(write: Write) -> None:
    write({"Chart.yaml": CHART, "values.yaml": "a: {image: 'a/b:1'}\nb: {image: {repository: c/d, tag: '1'}}\n"})
    outcome = fix.fix(["."], Config(mirrors={"docker.io": "example.com/hub"}), safeties=("unsafe",))
    ((_, _, _, new, *_),) = outcome.files
    assert new == b"a: {image: 'example.com/hub/a/b:1'}\nb: {image: {repository: c/d, tag: '1'}}\n"
    assert outcome.result is not None
    (left,) = outcome.result.findings
    assert left.help == "set image.repository: example.com/hub/c/d:1"


JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
spec:
  parallelism: {{ .Values.nodes }}
  template:
    spec:
      containers:
        - name: main
          image: "{{ .Values.image }}"
        - name: side
          image: busybox:1.37
        - name: last
          image: {{ .Values.hub.repository }}:{{ .Values.hub.tag }}
"""
TRAIN = {
    "train/Chart.yaml": "apiVersion: v2\nname: train\nversion: 1.0.0\n",
    "train/values.yaml": "nodes: 250\nimage: pytorch/pytorch:2.5\nhub: {repository: a/b, tag: c}\n",
    "train/templates/job.yaml": JOB,
    "train/templates/more/job.yaml": JOB.replace("Release.Name", "Values.other"),
}


def test_a_chart_and_its_subcharts_give_one_note(check: Check) -> None:
    below = {"train/charts/sub/Chart.yaml": CHART, "train/charts/sub/templates/job.yaml": JOB}
    found = [f for f in check({**TRAIN, **below, "other/job.yaml": JOB}).findings if f.rule != "docker-hub-image"]
    assert [(f.rule, f.span.source.path, f.message) for f in found] == [
        ("templated-manifests", "other/job.yaml", "Skipped 1 template of manifests"),
        (
            "unrendered-chart",
            "train/Chart.yaml",
            "Skipped 3 templates of chart train",
        ),
    ]


@pytest.mark.parametrize("path", ["train/values.yaml", "train/templates/more/job.yaml", "train/Chart.yaml"])
def test_naming_a_file_of_a_chart_selects_the_chart(path: str, write: Write) -> None:
    write(TRAIN)
    data = model.collect(Tree([path]), Config())
    assert set(found_images(data)) == {"pytorch/pytorch:2.5", "a/b:c", "busybox:1.37"}


@pytest.mark.parametrize(
    "content",
    [
        {"Chart.yaml": ""},
        {"Chart.yaml": "- a\n", "values.yaml": "x: 1\n"},
        {"Chart.yaml": "name: [1]\ndependencies: {a: 1}\n", "values.yaml": "- image: a/b:1\n"},
        {"Chart.yaml": "name: {{ x }}\n", "values.yaml": "image: {{ cookiecutter.image }}\n"},
        {"Chart.yaml": CHART, "values.yaml": b"image: \xff\n"},
        {"Chart.yaml": CHART + "dependencies: [{name: web}, {alias: x}, 3]\n", "values.yaml": "web: &a {web: *b}\n"},
        {"a.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: [1]\n"},
        {"a.yaml": SOURCES.replace("[$here/values/%s.yaml]", "{a: 1}")},
        {"a.yaml": APPLICATION % "      parameters: [1, {name: 'a..[x]'}, {name: 'b[3].c', value: {}}]\n"},
        {"a.yaml": HELM_RELEASE % ("v2", "  valuesFrom: [3, {targetPath: ''}]\n  values: text\n")},
        {"a.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"},
    ],
)
def test_nonsense_in_charts_causes_no_bug(content: dict[str, str | bytes], check: Check) -> None:
    assert not check(content).bugs


# --- rendering

RENDER = Config(render="helm", nodes={"": 400})
ONE = {name: text for name, text in TRAIN.items() if "more" not in name}


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_rendered_manifests_point_at_templates_and_values(check: Check) -> None:
    found = [f for f in check(ONE, RENDER).findings if f.rule == "docker-hub-image"]
    assert [(f.span.source.path, f.span.begin.line, f.span.text) for f in found] == [
        ("train/templates/job.yaml", 13, "image: busybox:1.37"),  # as it stands there
        ("train/values.yaml", 2, "pytorch/pytorch:2.5"),  # of one
    ]
    assert [place.span.begin.line for place in found[0].related if place.message.startswith("also ")] == [15]  # of two
    assert all(f.message.startswith("Job train needs 750 anonymous Docker Hub pulls") for f in found)
    assert all("It is pulled on 250 nodes, and so are other images of the pod" in f.details for f in found)
    assert {f.severity for f in found} == {Severity.ERROR}


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_rendered_manifests_are_never_edited(write: Write) -> None:
    write(ONE)
    config = Config(render="helm", nodes={"": 400}, mirrors={"docker.io": "example.com/hub"})
    outcome = fix.fix(["."], config, safeties=("safe", "costs", "unsafe"))
    assert (outcome.files, outcome.refused) == ([], [])


@pytest.mark.slow
@pytest.mark.usefixtures("helm")
def test_the_diff_base_renders_its_own_version_of_charts(write: Write, git: Callable[..., str]) -> None:
    write(
        {
            **ONE,
            "kcheck.yaml": "render: helm\nnodes: 400\nhelm_values: [own.yaml]\n",
            "own.yaml": "image: quay.io/a/b:1\n",
        }
    )
    job = JOB.replace("busybox:1.37\n", "busybox:1.37\n          resources: {limits: {nvidia.com/gpu: 8}}\n")
    write({"train/templates/job.yaml": job.replace("spec:\n", "spec:\n  activeDeadlineSeconds: 3600\n", 1)})
    git("add", "-A")
    git("commit", "-qm", "x")

    def new() -> list[tuple[str, str]]:
        run = CliRunner().invoke(cli, ["check", "--diff-base", "HEAD", "--format", "json", "--render", "helm"])
        return [(item["rule"], item["path"]) for item in json.loads(run.stdout)["findings"]]

    assert new() == []
    write({"train/templates/job.yaml": job})
    assert ("job-without-deadline", "train/templates/job.yaml") in new()
    git("commit", "-qam", "x")
    assert new() == []
    write({"own.yaml": "{}\n"})
    assert new() == [("docker-hub-image", "train/values.yaml")]


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_a_duplicate_line_is_placed_in_its_template_file(check: Check) -> None:
    job = JOB.replace("{{ .Values.hub.repository }}:{{ .Values.hub.tag }}", "busybox:1.37")
    found = [
        f for f in check({**ONE, "train/templates/job.yaml": job}, RENDER).findings if "busybox" in "".join(f.details)
    ]
    assert [(f.span.source.path, f.span.begin.line) for f in found] == [("train/templates/job.yaml", 1)]


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_a_further_values_file_wins_over_the_chart(check: Check) -> None:
    config = Config(render="helm", nodes={"": 400}, helm_values=("prod.yaml",))
    result = check({**ONE, "prod.yaml": "nodes: 60\nimage: quay.io/a/b:1\n"}, config)
    details = [text for f in result.findings for text in f.details]
    assert "It is pulled on 60 nodes, and so are other images of the pod" in details
    assert not any("pytorch" in text for text in details)


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"train/values.yaml": "fail: image is required\n"},
            "chart train could not be rendered: Error: execution error at (train/templates/job.yaml:1:3): image is required",
        ),
        (
            {"train/Chart.yaml": ONE["train/Chart.yaml"] + "dependencies: [{name: redis, version: 1.0.0}]\n"},
            "its dependency redis is not in charts/: run `helm dependency build`; kcheck downloads nothing",
        ),
        (
            {"train/templates/job.yaml": JOB + "x: [\n"},
            "as helm renders it: a value that begins like this needs quotes",
        ),
    ],
)
def test_errors_of_helm_are_findings(content: dict[str, str], message: str, check: Check) -> None:
    result = check({**ONE, **content}, RENDER)
    (found,) = [f for f in result.findings if f.severity == Severity.ERROR]
    assert (found.rule, message in found.message) == ("unreadable-file", True)
    assert not [w for w in result.world.inventory.workloads if w.kind == "Job"]


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_a_slow_helm_is_stopped(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcheck.kubernetes.render.TIMEOUT", 1)
    result = check({**ONE, "train/values.yaml": "sleep: 5\n"}, RENDER)
    (found,) = [f for f in result.findings if f.rule == "unreadable-file"]
    assert "the chart train could not be rendered: helm template took more than 1 s" in found.message


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_a_line_with_many_template_actions_is_matched_quickly(check: Check) -> None:
    many = "name: " + "{{ .Values.hub.tag }}-" * 40 + "x\n"
    files = {
        "train/templates/job.yaml": f"{JOB}{{{{ .Values.long }}}}\n{many}",
        "train/values.yaml": f"{ONE['train/values.yaml']}long: 'name: {'c-' * 60}'\n",
    }
    assert not check({**ONE, **files}, RENDER).bugs  # a search of all ways to split the line would never end


def test_rendering_without_helm_is_a_usage_error(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ONE)
    monkeypatch.setenv("PATH", "")
    run = CliRunner().invoke(cli, ["check", ".", "--render", "helm"])
    assert run.exit_code == 2
    assert "--render helm needs helm, which is not installed" in run.output


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--helm-values", "x.yaml"], "--helm-values needs --render helm"),
        (["--render", "helm", "--helm-values", "x.yaml"], "--helm-values x.yaml: no such file"),
        (["--render", "jinja"], "'jinja' is not 'helm'"),
    ],
)
def test_invalid_helm_flags_are_refused(flags: list[str], message: str, write: Write) -> None:
    write(ONE)
    run = CliRunner().invoke(cli, ["check", ".", *flags])
    assert run.exit_code == 2
    assert message in run.output


@pytest.mark.medium
@pytest.mark.usefixtures("helm")
def test_helm_settings_apply_but_only_the_command_line_runs_helm(write: Write) -> None:
    write({**ONE, "kcheck.yaml": "render: helm\nhelm_values: [more.yaml]\n", "more.yaml": "nodes: 123\n"})
    alone = CliRunner().invoke(cli, ["check", "."]).output
    assert "not read: kcheck.yaml:1: settings of a repository do not run helm; --render helm does\n" in alone
    run = CliRunner().invoke(cli, ["show", ".", "--render", "helm"])
    shown = CliRunner().invoke(cli, ["config", "."]).output
    assert 'render: "helm"  # kcheck.yaml:1\nhelm_values: ["more.yaml"]  # kcheck.yaml:2\n' in shown
    assert "pods = 123  (more.yaml:1:8 <- train/templates/job.yaml:6" in run.output


def test_helm_never_runs_unless_requested(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("something was run"))
    job = JOB.replace(".Release.Name", "randAlpha 5")
    assert "unrendered-chart" in names(check({**TRAIN, "train/templates/job.yaml": job}))


def test_findings_with_the_real_helm_have_places_in_templates_and_values(check: Check) -> None:
    if shutil.which("helm") is None:
        pytest.skip("helm is not installed")
    found = [f for f in check(ONE, RENDER).findings if f.rule == "docker-hub-image"]
    assert [(f.span.source.path, f.span.begin.line) for f in found] == [
        ("train/templates/job.yaml", 13), ("train/values.yaml", 2),
    ]  # fmt: skip
