"""Test which file a fix edits: flags, chart values, overlays and bases of Kustomize."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from tests.fix.test_yaml_style import CONFIG, JOB, LABELLED, LOCAL_QUEUE, PULL, QUEUE, RETIRED, fixed, helped, job

if TYPE_CHECKING:
    from tests.conftest import Write


pytestmark = pytest.mark.medium

EXPANDER, UNREADY, REMOVED = "random-expander", "unready-tolerance-low", "removed-autoscaler-flag"

# --- flags of the cluster autoscaler

POOLS = """\
resource "aws_eks_cluster" "main" {
  name = "train"
}

resource "aws_eks_node_group" "large" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["m5.8xlarge"]
  scaling_config {
    min_size     = 0
    max_size     = 500
    desired_size = 0
  }
}

resource "aws_eks_node_group" "small" {
  cluster_name   = aws_eks_cluster.main.name
  instance_types = ["m5.large"]
  scaling_config {
    min_size     = 0
    max_size     = 100
    desired_size = 0
  }
}
"""
SCALER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cluster-autoscaler
spec:
  template:
    spec:
      containers:
        - name: autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0
"""
BOTH = (EXPANDER, UNREADY)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "before", "after"),
    [
        pytest.param(
            BOTH, "args:\n  - --expander=random # cheap\n  - --v=4\n  # the end",
            "args:\n  - --expander=least-waste # cheap\n  - --v=4\n  - --ok-total-unready-count=150\n  - --max-scale-down-parallelism=100\n  # the end",
            id="block",
        ),
        pytest.param(
            BOTH, "args:\n- --expander=random\nresources: {}",
            "args:\n- --expander=least-waste\n- --ok-total-unready-count=150\n- --max-scale-down-parallelism=100\nresources: {}", id="flat",
        ),
        pytest.param(
            BOTH, 'args:\n  - --expander\n  - random\n  - --v\n  - "4"',
            'args:\n  - --expander\n  - least-waste\n  - --v\n  - "4"\n  - --ok-total-unready-count\n  - "150"\n  - --max-scale-down-parallelism\n  - "100"', id="apart",
        ),
        pytest.param(
            BOTH, """args: ["--expander=random", '--v=4']""",
            """args: ["--expander=least-waste", '--v=4', '--ok-total-unready-count=150', '--max-scale-down-parallelism=100']""", id="flow",
        ),
        pytest.param(
            BOTH, 'args: [\n  "--expander=random",\n  "--v=4", # loud\n]',
            'args: [\n  "--expander=least-waste",\n  "--v=4", # loud\n  "--ok-total-unready-count=150",\n  "--max-scale-down-parallelism=100",\n]', id="lines",
        ),
        pytest.param(
            BOTH, "command:\n  - ./cluster-autoscaler\n  - --expander=random",
            "command:\n  - ./cluster-autoscaler\n  - --expander=least-waste\n  - --ok-total-unready-count=150\n  - --max-scale-down-parallelism=100", id="command",
        ),
        pytest.param(
            BOTH, "command: [./cluster-autoscaler]\nargs: [--expander=random]",
            "command: [./cluster-autoscaler]\nargs: [--expander=least-waste, --ok-total-unready-count=150, --max-scale-down-parallelism=100]", id="both",
        ),
        pytest.param(
            (EXPANDER,), "env:\n  - name: EXPANDER\n    value: random\nargs: [--expander=$(EXPANDER)]",
            "env:\n  - name: EXPANDER\n    value: least-waste\nargs: [--expander=$(EXPANDER)]", id="environment",
        ),
        pytest.param(
            (REMOVED,), "args:\n  - '--max-empty-bulk-delete=900' # many",
            "args:\n  - '--max-scale-down-parallelism=900' # many", id="name",
        ),
    ],
)  # fmt: skip
def test_autoscaler_flags_are_fixed_in_place(rules: tuple[str, ...], before: str, after: str, write: Write) -> None:
    old, new = (SCALER + indent(text, " " * 10) + "\n" for text in (before, after))
    folder = write({"main.tf": POOLS, "autoscaler.yaml": old})
    assert fixed(folder, ["autoscaler.yaml"], *rules) == {"autoscaler.yaml": new.encode()}


def test_no_arguments_are_added_to_an_image_with_its_own(write: Write) -> None:
    """Arguments replace those in the image, which kcheck does not know."""
    write({"main.tf": POOLS, "autoscaler.yaml": SCALER})
    assert helped((UNREADY,)) == {"there is no list of arguments to add to; add --ok-total-unready-count=150"}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("command: [sh, -c, './cluster-autoscaler --expander=random']", "the command is a shell script"),
        ("args: [--expander=$(EXPANDER)]", "`$(EXPANDER)` comes from the container's environment"),
        (
            "env: [{name: EXPANDER, valueFrom: {configMapKeyRef: {name: a, key: b}}}]\nargs: [--expander=$(EXPANDER)]",
            "`$(EXPANDER)` comes from the container's environment",
        ),
    ],
)
def test_unknown_autoscaler_flags_leave_the_rule_undecided(lines: str, why: str, write: Write) -> None:
    write({"main.tf": POOLS, "autoscaler.yaml": SCALER + indent(lines, " " * 10) + "\n"})
    result = linter.run(Tree(["."]), CONFIG)
    assert [check.missing for check in result.undecided if check.rule == EXPANDER] == [(why,)]
    assert not fix.fix(["."], CONFIG, safeties=SAFETIES, rules=(EXPANDER,)).files


# --- values of charts

ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: autoscaler
spec:
  source:
    repoURL: https://kubernetes.github.io/autoscaler
    chart: cluster-autoscaler
    targetRevision: 9.37.0
    helm:
"""
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: autoscaler
spec:
  chart:
    spec:
      chart: cluster-autoscaler
      version: 9.37.0
"""
UMBRELLA = """\
apiVersion: v2
name: platform
version: 1.0.0
dependencies:
  - name: cluster-autoscaler
    alias: scaler
    version: 9.37.0
    repository: https://kubernetes.github.io/autoscaler
"""
ARGO_CHART = ARGO.replace("chart: cluster-autoscaler", "path: charts/platform")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "place"),
    [
        pytest.param({"a.yaml": ARGO + "      valuesObject:\n        extraArgs:\n          expander: random\n"}, "a.yaml", id="valuesObject"),
        pytest.param({"a.yaml": ARGO + "      valuesObject: {extraArgs: {expander: 'random'}}\n"}, "a.yaml", id="flow"),
        pytest.param(
            {"a.yaml": ARGO + "      values: |\n        # ours\n        extraArgs:\n            expander: random # x\n"}, "a.yaml", id="values"
        ),
        pytest.param({"a.yaml": ARGO + "      values: |-\n        extraArgs:\n          expander: random"}, "a.yaml", id="stripped values"),
        pytest.param({"a.yaml": ARGO + "      parameters:\n        - {name: extraArgs.expander, value: random}\n"}, "a.yaml", id="parameters"),
        pytest.param(
            {
                "a.yaml": ARGO_CHART + "      valueFiles: [large.yaml]\n", "charts/platform/Chart.yaml": UMBRELLA,
                "charts/platform/values.yaml": "scaler:\n  extraArgs:\n    expander: priority\n",
                "charts/platform/large.yaml": "scaler:\n  extraArgs:\n    expander: random\n",
            },
            "charts/platform/large.yaml", id="the values file that wins",
        ),
        pytest.param({"a.yaml": FLUX + "  values:\n    extraArgs:\n      expander: random\n"}, "a.yaml", id="Flux"),
        pytest.param(
            {"platform/Chart.yaml": UMBRELLA, "platform/values.yaml": 'scaler:\n  extraArgs:\n    expander: "random"\n'},
            "platform/values.yaml", id="values of a chart",
        ),
    ],
)  # fmt: skip
def test_chart_values_are_fixed_in_their_file(files: dict[str, str], place: str, write: Write) -> None:
    folder = write({"main.tf": POOLS, **files})
    expected = {name: text.encode() for name, text in files.items()}
    expected[place] = expected[place].replace(b"random", b"least-waste")
    assert fixed(folder, files, EXPANDER) == expected


def test_templates_of_a_chart_are_left_alone(write: Write) -> None:
    chart = "apiVersion: v2\nname: jobs\nversion: 1.0.0\n"
    template = job("", JOB).replace("name: train\nspec", "name: {{ .Release.Name }}\nspec")
    write({"jobs/Chart.yaml": chart, "jobs/templates/job.yaml": template, "jobs/values.yaml": "pull: Always\n"})
    assert not fix.fix(["."], CONFIG, safeties=SAFETIES).files


@pytest.mark.parametrize("mark", ["{{ name }}", "{% if large %}\n  backoffLimit: 1\n  {% endif %}"])
def test_templates_of_other_engines_are_left_alone(mark: str, write: Write) -> None:
    write({"job.yaml": job(mark if "%" in mark else f"backoffLimit: {mark}")})
    assert not fix.fix(["."], CONFIG, safeties=SAFETIES).files


# --- Kustomize

BASE = job("", JOB) + "          imagePullPolicy: Always\n"
PATCH = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      containers:
        - name: train
          imagePullPolicy: Always
"""
JSON_PATCH = """\
- op: replace
  path: /spec/template/spec/containers/0/imagePullPolicy
  value: Always
"""
WIDE = "  - op: replace\n    path: /spec/parallelism\n    value: 64\n  - op: replace\n    path: /spec/completions\n    value: 64\n"


def kustomization(*resources: str, more: str = "") -> str:
    return "resources:\n" + "".join(f"  - {name}\n" for name in resources) + more


def overlays(base: str = BASE, **more: str) -> dict[str, str]:
    """Return a Kustomize base and one overlay per argument.

    Each overlay scales the Job up and adds the given text to its kustomization.
    """
    wide = "patches:\n- target: {kind: Job}\n  patch: |\n" + indent(WIDE, "  ")
    files = {"base/kustomization.yaml": kustomization("job.yaml"), "base/job.yaml": base}
    for name, text in more.items():
        files[f"{name}/kustomization.yaml"] = kustomization("../base", more=f"nameSuffix: -{name}\n{wide}{text}")
    return files


@pytest.mark.parametrize(
    ("files", "place"),
    [
        pytest.param(overlays(prod=""), "base/job.yaml", id="one overlay"),
        pytest.param(overlays(prod="", dev=""), "base/job.yaml", id="two overlays"),
        pytest.param(
            overlays(BASE.replace("Always", "IfNotPresent"), prod="- path: pull.yaml\n") | {"prod/pull.yaml": PATCH},
            "prod/pull.yaml", id="patch in a file",
        ),
        pytest.param(
            overlays(BASE.replace("Always", "IfNotPresent"), prod="- patch: |-\n" + indent(PATCH, "    ")),
            "prod/kustomization.yaml", id="patch",
        ),
        pytest.param(
            overlays(BASE.replace("Always", "IfNotPresent"), prod="- target: {kind: Job}\n  patch: |-\n" + indent(JSON_PATCH, "    ")),
            "prod/kustomization.yaml", id="JSON patch",
        ),
        pytest.param(
            overlays(BASE.replace("Always", "IfNotPresent"), prod="- {path: pull.json, target: {kind: Job}}\n")
            | {"prod/pull.json": '[{"op": "replace", "path": "/spec/template/spec/containers/0/imagePullPolicy", "value": "Always"}]'},
            "prod/pull.json", id="JSON patch in JSON",
        ),
    ],
)  # fmt: skip
def test_kustomized_values_are_fixed_in_their_file(files: dict[str, str], place: str, write: Write) -> None:
    folder = write(files)
    expected = {name: text.encode() for name, text in files.items()}
    expected[place] = expected[place].replace(b"Always", b"IfNotPresent")
    assert fixed(folder, files, PULL) == expected


def test_a_base_is_kept_if_another_overlay_is_fine_with_it(write: Write) -> None:
    moving = "images:\n- name: registry.example.com/train\n  newTag: latest\n"
    write(overlays(prod="", dev=moving))
    assert helped((PULL,)) == {
        "Not fixed: imagePullPolicy also sets Job/train-dev/train in dev, which is fine with it\nset imagePullPolicy: IfNotPresent in a patch of prod"
    }


def test_a_base_outside_the_given_paths_is_not_changed(write: Write) -> None:
    write(overlays(prod=""))
    assert helped((PULL,), paths=("prod",)) == {
        "imagePullPolicy is written in base/job.yaml, outside the given paths; set imagePullPolicy: IfNotPresent there"
    }


OLD = BASE.replace("registry.example.com/train:1.4", "k8s.gcr.io/pause:3.5")
TAG = 'images:\n- name: k8s.gcr.io/pause\n  newTag: "3.6"\n'


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            overlays(OLD, prod=TAG),
            "it is put together from base/job.yaml:12 and prod/kustomization.yaml:15; set image: registry.k8s.io/pause:3.6",
        ),
        (
            overlays(prod=TAG.replace("k8s.gcr.io/pause", "registry.example.com/train\n  newName: k8s.gcr.io/pause")),
            "it is put together from prod/kustomization.yaml:15 and base/job.yaml:12 and prod/kustomization.yaml:16; set newName: registry.k8s.io/pause:3.6",
        ),
    ],
)
def test_help_names_the_images_entry_of_a_kustomization(files: dict[str, str], why: str, write: Write) -> None:
    write(files)
    assert helped((RETIRED,)) == {why}


def test_labels_added_by_a_kustomization_cannot_be_edited(write: Write) -> None:
    """The labels of the base are written nowhere."""
    common = {
        "base/kustomization.yaml": kustomization("job.yaml", "queue.yaml", more="commonLabels:\n  team: vision\n")
    }
    write(common | {"base/job.yaml": job("", LABELLED), "base/queue.yaml": LOCAL_QUEUE})
    (why,) = helped((QUEUE,))
    assert why.startswith("kcheck cannot add kueue.x-k8s.io/queue-name at base/kustomization.yaml:5")


# --- kubeadm

KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: train
networking:
  podSubnet: 10.244.0.0/16
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
{more}"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "serializeImagePulls: false\n"),
        ("serializeImagePulls: true # slow\n", "serializeImagePulls: false # slow\n"),
        ("evictionHard:\n  memory.available: 5%\n", None),
    ],
)
def test_kubelet_settings_are_fixed_in_their_file(before: str, after: str | None, write: Write) -> None:
    if after is None:
        after = f"serializeImagePulls: false\n{before}"
    folder = write({"kubeadm.yaml": KUBEADM.format(more=before)})
    assert fixed(folder, ["kubeadm.yaml"], "serial-image-pulls") == {
        "kubeadm.yaml": KUBEADM.format(more=after).encode()
    }
