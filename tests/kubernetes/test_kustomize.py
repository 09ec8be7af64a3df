"""Test kustomizations: objects equal those of `kubectl kustomize`, and findings point to the written source."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.kubernetes import kustomize, objects
from kcheck.report import layout, model
from kcheck.text.files.tree import Tree
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.engine.linter import Result
    from tests.conftest import Check, Write

pytestmark = pytest.mark.medium

KINDS = objects.Kinds(
    frozenset({"Deployment", "DaemonSet", "CronJob", "Job", "Pod", "Service", "PriorityClass", "Trainer", "Namespace"})
)
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: web
          image: nginx:1.27
"""
GPU = """
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  template:
    spec:
      containers:
        - name: agent
          image: {image}
"""
AKS = """
resource "azurerm_kubernetes_cluster" "main" {
  name     = "%s"
  location = "westeurope"
  sku_tier = "Standard"
}
"""


def render(path: str = ".") -> kustomize.Rendering:
    return kustomize.read(Tree([path]), KINDS)


def plain(node: yaml.Node) -> Any:
    """Return a YAML tree as data without nulls and empty maps, of which Kustomize keeps some and drops others."""
    target = yaml.resolve(node)
    if isinstance(target, yaml.Mapping):
        found = {name: plain(entry.value) for name, entry in yaml.entries(target).items()}
        return {name: value for name, value in found.items() if value not in (None, {})}
    if isinstance(target, yaml.Sequence):
        return [plain(item) for item in target.items]
    if isinstance(target, yaml.Computed):
        return target.datum.value if isinstance(target.datum, Known) else "unknown"
    return yaml.value(target)


def labels(rendering: kustomize.Rendering) -> list[str]:
    """Return the objects of a rendering as SCOPE:KIND/NAME."""
    return sorted(
        f"{item.scope}:{item.kind}/{yaml.text(item.root, 'metadata', 'name')}" for item in rendering.manifests.objects
    )


def messages(result: Result) -> dict[str, list[str]]:
    """Return the findings by rule, each as place and message."""
    found: dict[str, list[str]] = {}
    for finding in result.findings:
        place = f"{finding.span.source.path}:{finding.span.begin.line}"
        found.setdefault(finding.rule, []).append(f"{place} {finding.message}")
    return found


def notes(result: Result) -> list[str]:
    """Return place and details of each finding about a kustomization that was not rendered."""
    found = [finding for finding in result.findings if finding.rule == "kustomization-not-rendered"]
    return [f"{one.span.source.path}:{one.span.begin.line} {' '.join(one.details)}" for one in found]


OVERLAYS = {
    "base/kustomization.yaml": "resources: [deployment.yaml]\n",
    "base/deployment.yaml": DEPLOYMENT,
    "blue/kustomization.yaml": "resources: [../base]\nnamespace: blue\n",
    "green/kustomization.yaml": "resources: [../base]\nnamespace: green\nreplicas: [{name: web, count: 900}]\n",
}


def workloads(write: Write, files: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the workloads and images in some files by id, each field with its value and places."""
    write(files)
    text = layout.plain(model.as_text(model.collect(Tree(["."]), Config())))
    found: dict[str, dict[str, str]] = {}
    for block in text.split("\n\n"):
        head, *lines = block.strip().splitlines()
        if head.startswith(("workload ", "image ")):
            found[head.split("  ")[0]] = dict(line.strip().split(" = ", 1) for line in lines if " = " in line)
    return found


def test_two_overlays_of_one_base_are_rendered(write: Write) -> None:
    found = workloads(write, OVERLAYS)
    blue, green = found["workload blue:Deployment/blue/web"], found["workload green:Deployment/green/web"]
    assert blue["pods"] == "2  (base/deployment.yaml:7:13)"
    assert green["pods"] == "900  (green/kustomization.yaml:3:31)"
    assert blue["namespace"] == "blue  (blue/kustomization.yaml:2:12)"
    assert not any("base" in name for name in found)


@pytest.mark.slow
def test_one_cause_in_a_base_gives_one_finding(check: Check) -> None:
    files = {**OVERLAYS, "base/deployment.yaml": GPU.format(image="nginx:1.27"), "main.tf": AKS % "train"}
    result = check(files, Config(nodes={"": 1000}))
    (found,) = [finding for finding in result.findings if finding.rule == "docker-hub-image"]
    assert (found.span.source.path, found.span.begin.line) == ("base/deployment.yaml", 11)
    assert found.object == "blue:DaemonSet/blue/agent/agent"


def test_an_overlay_belongs_to_the_cluster_next_to_it(check: Check) -> None:
    files = {**OVERLAYS, "blue/main.tf": AKS % "blue", "green/main.tf": AKS % "green"}
    inventory = check(files).world.inventory
    assert {thing.id: cluster.root for thing, cluster in inventory.cluster_of.items()} == {
        "blue:Deployment/blue/web": "blue",
        "green:Deployment/green/web": "green",
    }


def test_files_of_a_kustomization_are_not_separate_manifests(write: Write) -> None:
    files = {
        "kustomization.yaml": (
            "resources: [deployment.yaml]\npatches: [{path: more.yaml}]\nconfigMapGenerator: [{name: a, files: [job.yaml]}]\n"
        ),
        "deployment.yaml": DEPLOYMENT,
        "more.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 3"),
        "job.yaml": DEPLOYMENT.replace("name: web", "name: inside-a-config-map"),
        "alone.yaml": DEPLOYMENT.replace("name: web", "name: alone"),
    }
    found = workloads(write, files)
    assert sorted(name for name in found if name.startswith("workload")) == [
        "workload .:Deployment/web",
        "workload alone.yaml:Deployment/alone",
    ]
    assert found["workload .:Deployment/web"]["pods"] == "3  (more.yaml:7:13)"


def test_a_deleted_object_is_not_judged(check: Check) -> None:
    patch = "    apiVersion: apps/v1\n    kind: DaemonSet\n    metadata:\n      name: agent\n    $patch: delete\n"
    files = {
        "main.tf": AKS % "train",
        "k/kustomization.yaml": f"resources: [a.yaml]\npatches:\n- patch: |\n{patch}",
        "k/a.yaml": GPU.format(image="nginx:1.27"),
    }
    result = check(files, Config(nodes={"": 1000}))
    assert "docker-hub-image" not in messages(result)
    files["k/kustomization.yaml"] = "resources: [a.yaml]\n"
    assert "docker-hub-image" in messages(check(files, Config(nodes={"": 1000})))


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("newTag: '9'", "nginx:9  (deployment.yaml:12:18 <- kustomization.yaml:2:32)"),
        ("newName: quay.io/a/nginx", "quay.io/a/nginx:1.27  (kustomization.yaml:2:33 <- deployment.yaml:12:18)"),
        ("digest: sha256:ab", "nginx@sha256:ab  (deployment.yaml:12:18 <- kustomization.yaml:2:32)"),
    ],
)
def test_images_point_to_the_value_that_decides_them(entry: str, value: str, write: Write) -> None:
    text = f"resources: [deployment.yaml]\nimages: [{{name: nginx, {entry}}}]\n"
    found = workloads(write, {"kustomization.yaml": text, "deployment.yaml": DEPLOYMENT})
    assert found["image .:Deployment/web/web"]["text"] == value


AUTOSCALER = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.31.0
          command:
            - ./cluster-autoscaler
            - --max-empty-bulk-delete=10
"""
COMMAND = """resources: [autoscaler.yaml]
patches:
- target: {kind: Deployment}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/command/-
      value: --scale-down-unneeded-time=2h
    - op: remove
      path: /spec/template/spec/containers/0/command/1
"""


def test_values_in_an_inline_patch_are_fixed_there(write: Write) -> None:
    write({"kustomization.yaml": COMMAND, "autoscaler.yaml": AUTOSCALER})
    (autoscaler,) = linter.run(Tree(["."]), Config()).world.inventory.autoscalers
    (flag,) = autoscaler.flags  # an operation took the other one away
    assert isinstance(flag.value, Known)
    assert flag.value.origin.literal
    written = flag.value.origin.written
    assert (written.source.path, written.begin.line, written.text) == ("kustomization.yaml", 7, "2h")


def test_a_fix_writes_to_the_patch_that_gives_the_value(write: Write) -> None:
    image = "    spec:\n      template:\n        spec:\n          containers:\n          - name: agent\n            image: nginx:2\n"
    head = "    apiVersion: apps/v1\n    kind: DaemonSet\n    metadata: {name: agent}\n"
    text = f"resources: [a.yaml]\npatches:\n- patch: |\n{head}{image}"
    write({"kustomization.yaml": text, "a.yaml": GPU.format(image="quay.io/a/b:1"), "main.tf": AKS % "a"})
    config = Config(nodes={"": 1000}, mirrors={"docker.io": "mirror.example.com/hub"})
    outcome = fix.fix(["."], config, safeties=("unsafe",))
    (new,) = [file.new for file in outcome.files]
    assert new.decode() == text.replace("image: nginx:2", "image: mirror.example.com/hub/library/nginx:2")


# --- what is not rendered


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("resources: [a.yaml, 'https://example.com/x.yaml']", "1 `https://example.com/x.yaml` is remote"),
        ("resources: [a.yaml, 'github.com/a/b//c?ref=v1']", "1 `github.com/a/b//c?ref=v1` is remote"),
        ("resources: [a.yaml, b.yaml]", "1 `b.yaml` does not exist"),
        ("resources: [a.yaml]\ncomponents: [none]", "2 `none` does not exist"),
        ("resources: [a.yaml]\npatches: [{path: p.yaml}]", "2 `p.yaml` does not exist"),
        ("resources: [a.yaml]\nhelmCharts: [{name: a}]", "2 `helmCharts` needs Helm"),
        ("resources: [a.yaml]\ntransformers: [t.yaml]", "2 plugins in `transformers` are not run"),
        ("resources: [a.yaml, a.yaml]", "1 Deployment/web exists twice"),
        (
            "resources: [a.yaml]\npatches: [{target: {name: '(a+)+'}, patch: '[]'}]",
            "2 a patch does not fit: kcheck does not read the pattern `(a+)+`",
        ),
        (
            "resources: [a.yaml]\npatches: [{target: {name: web}, patch: '[{op: remove, path: /spec/x}]'}]",
            "2 a patch does not fit: there is no `/spec/x`",
        ),
        (
            "resources: [a.yaml]\npatches:\n- patch: |\n    {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}",
            "3 a patch is for Deployment/b, which does not exist",
        ),
    ],
)  # fmt: skip
def test_parts_that_cannot_be_rendered_are_named_as_skipped(text: str, note: str, check: Check) -> None:
    result = check({"kustomization.yaml": text, "a.yaml": DEPLOYMENT})
    assert notes(result) == [f"kustomization.yaml:{note}"]
    assert [workload.id for workload in result.world.inventory.workloads] == [".:Deployment/web"]


@pytest.mark.parametrize(
    "text",
    [
        "resources: [a.yaml]\nconfigMapGenerator: [{name: a, literals: [x=y]}]\ngeneratorOptions: {labels: {a: b}}",
        "resources: [a.yaml]\nopenapi: {path: schema.json}\nbuildMetadata: [originAnnotations]\nsortOptions: {order: fifo}",
        "resources: [a.yaml]\npatches: [{target: {kind: Ingress, name: a}, path: none.yaml}]",
        "resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Ingress, metadata: {name: elsewhere}}'}]",
        "resources: [a.yaml]\nvars: [{name: UNUSED, objref: {kind: Service, name: a, apiVersion: v1}}]",
        "resources: [a.yaml]\nreplacements: [{targets: [{select: {kind: Ingress}, fieldPaths: [data.x]}]}]",
    ],
)
def test_parts_that_affect_no_check_are_not_named(text: str, check: Check) -> None:
    assert not notes(check({"kustomization.yaml": text, "a.yaml": DEPLOYMENT}))


def test_values_set_by_replacements_and_vars_are_unknown(check: Check) -> None:
    image = "spec.template.spec.containers.[name=web].image"
    text = f"resources: [a.yaml]\nreplacements: [{{targets: [{{select: {{name: web}}, fieldPaths: ['{image}']}}]}}]\n"
    result = check({"kustomization.yaml": text, "a.yaml": DEPLOYMENT})
    assert notes(result) == ["kustomization.yaml:2 `replacements` are not evaluated, so their results are unknown"]
    assert not result.world.inventory.workloads[0].images
    text = "resources: [a.yaml]\nvars: [{name: COUNT}]\n"
    result = check({"kustomization.yaml": text, "a.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: $(COUNT)")})
    (workload,) = result.world.inventory.workloads
    assert not isinstance(workload.pods, Known)
    assert notes(result) == ["kustomization.yaml:2 `vars` are not evaluated, so their results are unknown"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resources: [a.yaml\n", "1 Cannot read this: this bracket is not closed"),
        ("resources: a.yaml\n", "1 Cannot read this: `resources` must be a list"),
        ("- a.yaml\n", "1 Cannot read this: a kustomization must be a map"),
        ("resources: [a.yaml]\npatches:\n- patch: |\n    kind: Deployment\n    apiVersion: [\n", "6 "),
    ],
)
def test_a_broken_kustomization_is_an_error(text: str, message: str, check: Check) -> None:
    result = check({"kustomization.yaml": text, "a.yaml": DEPLOYMENT})
    (found,) = messages(result)["unreadable-file"]
    assert found.startswith(f"kustomization.yaml:{message}")
    assert len(result.world.inventory.workloads) == 1  # as a plain manifest, or without the patch


def test_kustomizations_of_other_tools_are_left_alone(check: Check) -> None:
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ./apps, patches: x}\n"
    result = check({"kustomization.yaml": flux, "a.yaml": DEPLOYMENT})
    assert not result.findings
    assert [workload.id for workload in result.world.inventory.workloads] == ["a.yaml:Deployment/web"]


# --- trees that nobody should write


def test_a_circular_kustomization_is_an_error(check: Check) -> None:
    files = {"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}
    assert messages(check(files)) == {
        "unreadable-file": [
            "b/kustomization.yaml:1 Cannot read this: `../a` leads back to a: the kustomizations are circular"
        ]
    }
    assert "unreadable-file" in messages(check({"c/kustomization.yaml": "components: ['.']\n"}))


@pytest.mark.slow
def test_kustomizations_that_multiply_are_stopped(check: Check) -> None:
    files = {"0/kustomization.yaml": "resources: [a.yaml]\n", "0/a.yaml": DEPLOYMENT}
    for level in range(1, 40):
        for side in "xy":
            below = [f"../../{level - 1}/{s}" for s in "xy"] if level > 1 else ["../../0"]
            files[f"{level}/{side}/kustomization.yaml"] = f"resources: {below}\nnamePrefix: {side}-\n".replace("'", "")
    assert notes(check(files))  # of 2 ** 39 paths


def test_a_long_chain_of_kustomizations_is_stopped(check: Check) -> None:
    files = {f"{i}/kustomization.yaml": f"resources: [../{i + 1}]\n" for i in range(300)}
    assert any("nested too deeply" in note for note in notes(check(files)))


def test_a_patch_of_a_generated_config_map_leaves_nothing_unread(check: Check) -> None:
    files = {
        "kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator: [{name: env, literals: [a=b]}]\npatches: [{path: p.yaml}]\n",
        "a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
        "p.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: env}\ndata: {a: c}\n",
    }
    assert check(files).reading.gaps == []


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "PersistentVolumeClaim"])
def test_broken_objects_of_irrelevant_kinds_in_a_kustomization_are_not_reported(kind: str, check: Check) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\ndata: [\n"
    assert check({"a.yaml": text}).findings == []


def test_nested_aliases_in_a_patch_are_stopped(check: Check) -> None:
    lines = [f"    x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 12)]
    bomb = "\n".join(
        ["    apiVersion: apps/v1", "    kind: Deployment", "    metadata: {name: web}", "    x0: &x0 [a]", *lines]
    )
    files = {"kustomization.yaml": f"resources: [a.yaml]\npatches:\n- patch: |\n{bomb}\n", "a.yaml": DEPLOYMENT}
    result = check(files)
    told = [finding.message for finding in result.findings] + notes(result)
    assert any("aliases stand for more than 20,000 values" in text for text in told)


def test_a_base_outside_the_given_path_is_read(write: Write) -> None:
    write(OVERLAYS)
    for path in ("blue", "blue/kustomization.yaml"):
        assert labels(render(path)) == ["blue:Deployment/web"]


def test_symbolic_links_are_followed(write: Write) -> None:
    root = write({"elsewhere/a.yaml": DEPLOYMENT, "k/kustomization.yaml": "resources: [a.yaml, loop]\n"})
    (root / "k/a.yaml").symlink_to(root / "elsewhere/a.yaml")
    (root / "k/loop").symlink_to(root / "k")
    rendering = render("k")
    assert labels(rendering) == ["k:Deployment/web"]
    assert "circular" in rendering.manifests.problems[0].message


def test_documents_of_irrelevant_kinds_are_never_parsed(write: Write) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: [[[}\n"
    text = "resources: [a.yaml]\npatches: [{path: p.yaml}, {path: q.yaml, target: {kind: ConfigMap}}]\n"
    write({"kustomization.yaml": text, "a.yaml": f"{config_map}---{DEPLOYMENT}", "p.yaml": config_map, "q.yaml": "[[}"})
    rendering = render()
    assert labels(rendering) == [".:Deployment/web"]
    assert not rendering.manifests.problems


# --- the same as kubectl


POD = "spec: {template: {spec: %s}}"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
TRAINER = (
    "apiVersion: example.com/v1\nkind: Trainer\nmetadata: {name: t}\nspec: {containers: [{name: a, x: 1}], m: {a: 1}}\n"
)
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: init, image: "docker.io/a/init:1"}]
      containers:
        - {name: web, image: "nginx:1.27", args: [a, b], env: [{name: A, value: "1"}, {name: B, value: "2"}]}
        - {name: side, image: "quay.io/a/side@sha256:12"}
      volumes: [{name: data, emptyDir: {}}, {name: cache, emptyDir: {}}]
      tolerations: [{key: gpu, operator: Exists}]
"""
CASES: dict[str, dict[str, str]] = {
    "names": {"kustomization.yaml": "resources: [web.yaml, more.yaml]\nnamePrefix: a-\nnameSuffix: -z\nnamespace: ml\n",
        "more.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: x}\nspec: {priorityClassName: high, containers: []}\n---\n"
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"},
    "labels": {"kustomization.yaml": "resources: [web.yaml, s.yaml]\ncommonLabels: {team: ml}\ncommonAnnotations: {a: b}\n"
        "labels: [{pairs: {x: b}}, {pairs: {z: w}, includeTemplates: true}]\n",
        "s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n---\n"
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {spec: {template: {spec: {}}}}}\n"},
    "images": {"kustomization.yaml": "resources: [web.yaml, t.yaml]\nimages: [{name: nginx, newTag: '9'}, {name: quay.io/a/side, "
        "newName: b}, {name: docker.io/a/init, newName: c/d, newTag: v1, digest: 'sha256:1'}, {name: none, newTag: x}]\n",
        "t.yaml": "apiVersion: example.com/v1\nkind: Trainer\nmetadata: {name: t}\nspec: {a: [{containers: [{image: 'nginx:1'}]}]}\n"},
    "replicas": {"kustomization.yaml": "resources: [b]\nnamePrefix: x-\nreplicas: [{name: web, count: 7}]\n",
        "b/kustomization.yaml": "resources: [../web.yaml]\nnamePrefix: y-\n"},
    "merge": {"kustomization.yaml": "resources: [web.yaml]\npatches: [{path: p.yaml}]\n",
        "p.yaml": PATCH + POD % "{containers: [{name: new, image: x}, {name: web, env: [{name: B, value: '3'}, {name: C}], "
        "args: [c]}], volumes: [{name: data, $patch: delete}], tolerations: [{key: other}], hostNetwork: true}"},
    "directives": {"kustomization.yaml": "resources: [web.yaml]\npatchesStrategicMerge: [p.yaml]\n",
        "p.yaml": PATCH + POD % "{containers: [{$patch: replace}, {name: only, image: x}], volumes: null, nodeSelector: {a: null, b: c}}"},
    "replace": {"kustomization.yaml": "resources: [web.yaml]\npatches: [{path: p.yaml}]\n",
        "p.yaml": PATCH + "spec: {template: {$patch: replace, spec: {containers: [{name: a, image: b}]}}}\n"},
    "delete": {"kustomization.yaml": "resources: [web.yaml, t.yaml]\npatches: [{path: p.yaml}]\n", "t.yaml": TRAINER,
        "p.yaml": PATCH + "$patch: delete\n"},
    "custom": {"kustomization.yaml": "resources: [t.yaml]\npatches: [{path: p.yaml}]\n", "t.yaml": TRAINER,
        "p.yaml": TRAINER.replace("{name: a, x: 1}", "{name: b}").replace("m: {a: 1}", "m: {b: 2}")},
    "target": {"kustomization.yaml": "resources: [web.yaml, t.yaml]\npatches: [{path: p.yaml, target: {kind: Deploy.*, labelSelector: "
        "'tier in (front, back),!x'}}, {path: p.yaml, target: {name: we}}, {path: q.yaml, target: {group: apps, version: v1}}]\n",
        "t.yaml": TRAINER, "p.yaml": "apiVersion: v1\nkind: Any\nmetadata: {name: any, labels: {p: q}}\n",
        "q.yaml": "- {op: replace, path: /spec/replicas, value: 5}\n"},
    "json": {"kustomization.yaml": "resources: [web.yaml]\npatchesJson6902: [{target: {group: apps, version: v1, kind: Deployment, "
        "name: web}, path: p.json}]\n", "p.json": '[{"op": "add", "path": "/metadata/annotations", "value": {"a/b": "c"}}, '
        '{"op": "replace", "path": "/metadata/annotations/a~1b", "value": "d"}, {"op": "test", "path": "/spec/replicas", "value": 2}, '
        '{"op": "remove", "path": "/spec/template/spec/volumes/0"}, {"op": "add", "path": '
        '"/spec/template/spec/containers/0/args/1", "value": "x"}, {"op": "copy", "from": "/spec/replicas", "path": "/spec/min"}, '
        '{"op": "move", "from": "/spec/template/spec/tolerations", "path": "/spec/moved"}]'},
    "inline": {"kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: add\n"
        "      path: /spec/template/spec/tolerations/-\n      value: {key: z}\n- patch: >\n    {apiVersion: apps/v1, kind: Deployment,\n"
        "    metadata: {name: web}, spec: {replicas: 4}}\n- patch: \"{apiVersion: apps/v1, kind: Deployment, metadata: "
        "{name: web}, spec: {paused: true}}\"\n"},
    "component": {"kustomization.yaml": "resources: [web.yaml]\nnamePrefix: a-\ncomponents: [c, d]\n",
        "c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [t.yaml]\npatches: "
        "[{target: {kind: Deployment}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 9}]'}]\n", "c/t.yaml": TRAINER,
        "d/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -d\n"},
    "lists": {"kustomization.yaml": "resources: [l.yaml, j.json]\n", "l.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, "
        "kind: Pod, metadata: {name: p}, spec: {containers: []}}\n",
        "j.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": {"x": [1]}}'},
    "local": {"kustomization.yaml": "resources: [web.yaml, l.yaml]\n", "l.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p, "
        "annotations: {config.kubernetes.io/local-config: 'true'}}\n"},
    "bases": {"kustomization.yaml": "bases: [b]\nresources: [t.yaml]\npatches: [{path: p.yaml}]\n", "t.yaml": TRAINER,
        "b/kustomization.yml": "resources: [../web.yaml]\nnamespace: below\nnamePrefix: b-\n", "p.yaml": PATCH + "spec: {replicas: 8}\n"},
    "spread": {"kustomization.yaml": "resources: [web.yaml]\ncommonLabels: {a: b}\npatches: [{path: p.yaml}]\n",
        "p.yaml": PATCH + POD % "{topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: "
        "{matchLabels: {app: web}}}]}"},
}  # fmt: skip


def by_name(items: Iterator[objects.Object] | list[objects.Object]) -> dict[tuple[str, str, str], Any]:
    """Return objects as data, by kind, namespace and name."""
    result = {}
    for item in items:
        data = plain(item.root)
        result[item.kind, data["metadata"].get("namespace", ""), data["metadata"]["name"]] = data
    return result


@pytest.fixture
def kubectl() -> str:
    """Return the path of kubectl; skip the test if it is not installed."""
    path = shutil.which("kubectl")
    if path is None:
        pytest.skip("kubectl is not installed")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_kcheck_renders_kustomizations_as_kubectl_does(case: str, write: Write, kubectl: str) -> None:
    write({"web.yaml": WEB, **CASES[case]})
    command = [kubectl, "kustomize", "--load-restrictor", "LoadRestrictionsNone", "."]
    run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    expected = by_name(objects.read([Source("expected.yaml", run.stdout)], KINDS).objects)
    rendering = render("kustomization.yaml")
    assert not rendering.gaps
    assert by_name(rendering.manifests.objects) == expected
    assert expected
