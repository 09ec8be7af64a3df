"""Test measured requests and limits that a fix writes into the values of charts, which helm renders.

Texts are diffs: lines with `-` are before the fix, lines with `+` after it, and lines with a space both.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.kubernetes import marked_values
from kcheck.text.files.tree import Tree
from tests.fix.test_requests import CONFIG, fixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.kubernetes.objects import Object
    from tests.conftest import Write


pytestmark = pytest.mark.medium

CHART = " apiVersion: v2\n name: train\n version: 1.0.0\n"
RENDER = replace(CONFIG, render="helm")


def template(container: str) -> str:
    """Return the template of a Job with some lines in its container."""
    return f""" apiVersion: batch/v1
 kind: Job
 metadata:
   name: train
 spec:
   template:
     spec:
       containers:
         - name: train
           image: registry.example.com/train:1
{container}"""


def chart(container: str, values: str, **more: str) -> dict[str, str]:
    """Return the files of a chart: the template of a Job, and its values."""
    files = {"Chart.yaml": CHART, "templates/job.yaml": template(container), "values.yaml": values}
    return {f"train/{name}": text for name, text in files.items()} | more


SCALARS = """\
           resources:
             requests:
               cpu: {{ .Values.train.cpu }}
               memory: "{{ .Values.train.memory }}"
"""
WHOLE = """\
           resources: {{- toYaml .Values.train.resources | nindent 12 }}
"""

PLACES = {
    "single values": (
        SCALARS,
        """
 train:
-  cpu: 4  # of each
-  memory: 16Gi
+  cpu: 1500m  # of each
+  memory: 3Gi
""",
    ),
    "a whole map": (
        WHOLE,
        """
 train:
   resources:
     requests:
-      cpu: 4
-      memory: 16Gi
+      cpu: 1500m
+      memory: 3Gi
     limits:
       nvidia.com/gpu: 8
-      memory: 16Gi
+      memory: 4Gi
""",
    ),
    "a map without requests": (
        WHOLE,
        """
 train:
   resources:
+    requests:
+      cpu: 1500m
+      memory: 3Gi
     limits: {nvidia.com/gpu: 8}
""",
    ),
    "an empty map": (
        WHOLE,
        """
 train:
-  resources: {}
+  resources:
+    requests:
+      cpu: 1500m
+      memory: 3Gi
""",
    ),
    "a part of a map": (
        SCALARS.replace("train.", "train.resources.requests."),
        """
 train:
   resources:
     requests:
-      cpu: "4"
-      memory: 16Gi
+      cpu: "1500m"
+      memory: 3Gi
""",
    ),
}


@pytest.mark.slow
@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(("container", "values"), PLACES.values(), ids=PLACES.keys())
def test_requests_are_fixed_in_the_values_of_a_chart(container: str, values: str, write: Write) -> None:
    fixed(write, chart(container, values), RENDER)


@pytest.mark.usefixtures("helm")
def test_requests_go_into_the_values_override_with_the_other_settings(write: Write) -> None:
    values = " train:\n   resources:\n     requests: {cpu: 4, memory: 16Gi}\n"
    given = """
 train:
   resources:
     requests:
-      cpu: 30
+      cpu: 1500m
+      memory: 3Gi
"""
    plain = chart(SCALARS.replace("train.", "train.resources.requests."), values, **{"prod.yaml": given})
    merged = replace(RENDER, helm_values=("prod.yaml",))
    fixed(write, plain, merged)


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("container", "values", "text"),
    [
        pytest.param(
            SCALARS + '           args: ["-Xmx{{ .Values.train.memory }}"]\n',
            " train: {cpu: 4, memory: 16Gi}\n",
            "the chart uses the value train.memory for more than this; set memory: 3Gi",
            id="used for more",
        ),
        pytest.param(
            SCALARS.replace("train.cpu }}", "train.cores }}000m"),
            " train: {cores: 4, memory: 16Gi}\n",
            "set cpu_request: 1500m; `cpu: {{ .Values.train.cores }}000m` gives it now",
            id="computed",
        ),
        pytest.param(
            SCALARS.replace("{{ .Values.train.cpu }}", "4"), " train: {memory: 16Gi}\n",
            "set cpu_request: 1500m; `cpu: 4` gives it now", id="written in the template",
        ),
    ],
)  # fmt: skip
def test_help_says_why_a_chart_value_is_not_changed(container: str, values: str, text: str, write: Write) -> None:
    (left,) = fixed(write, chart(container, values), RENDER).remaining
    assert left.help == text


@pytest.mark.usefixtures("helm")
def test_helm_runs_again_only_for_fixes(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({name: text.replace("\n ", "\n")[1:] for name, text in chart(WHOLE, " train: {resources: {}}\n").items()})
    asked: list[str] = []

    def traced(_values: object, output: str, objects: list[Object], _again: object) -> list[Object]:
        asked.append(output)
        return objects

    monkeypatch.setattr(marked_values, "traced", traced)
    linter.run(Tree(["."]), RENDER)
    assert not asked
    fix.fix(["."], RENDER)
    assert asked


@pytest.mark.slow
@pytest.mark.usefixtures("helm")
def test_a_chart_that_refuses_new_values_keeps_marked_values_only(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chart may have a schema that refuses new values: a fix then changes written values only."""
    render = marked_values.traced

    def refusing(values: object, output: str, objects: object, again: Callable[[str], str | None]) -> object:
        return render(values, output, objects, lambda text: None if "Mi" in text else again(text))  # type: ignore[arg-type]

    monkeypatch.setattr(marked_values, "traced", refusing)
    values = """
 train:
   resources:
     requests:
-      cpu: 4
+      cpu: 1500m
"""
    fixed(write, chart(WHOLE, values), replace(RENDER, select=("cpu-not-measured",)))


# --- the real helm

HELPER = """\
 {{- define "train.resources" -}}
 resources:
 {{ toYaml . | indent 2 }}
 {{- end -}}
"""
REAL = {
    "include": '           {{- include "train.resources" .Values.train.resources | nindent 10 }}\n',
    "with": "           {{- with .Values.train.resources }}\n           resources: {{- toYaml . | nindent 12 }}\n           {{- end }}\n",
    "tpl": "           resources: {{- tpl (toYaml .Values.train.resources) . | nindent 12 }}\n",
    "default": "           resources: {{- default dict .Values.train.resources | toYaml | nindent 12 }}\n",
}


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
@pytest.mark.parametrize("container", REAL.values(), ids=REAL.keys())
def test_requests_are_fixed_in_a_map_that_a_template_copies(container: str, write: Write) -> None:
    values = """
 train:
   resources:
+    requests:
+      cpu: 1500m
+      memory: 3Gi
     limits:
       nvidia.com/gpu: 8
-      memory: 16Gi
+      memory: 4Gi
"""
    fixed(write, {**chart(container, values), "train/templates/_helpers.tpl": HELPER}, RENDER)


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
def test_list_items_in_a_chart_are_fixed_in_their_own_values(write: Write) -> None:
    values = """
 workers:
   - name: a
     resources:
-      requests: {cpu: "8", memory: 3Gi}
+      requests: {cpu: "1500m", memory: 3Gi}
   - name: b
     resources: {requests: {cpu: 1500m, memory: 3Gi}}
"""
    pods = template("           resources: {{- toYaml .resources | nindent 12 }}\n").replace(
        "name: train\n", "name: {{ .name }}\n", 1
    )
    files = chart("", values)
    files["train/templates/job.yaml"] = f" {{{{- range .Values.workers }}}}\n ---\n{pods} {{{{- end }}}}\n"
    fixed(write, files, RENDER)


@pytest.mark.usefixtures("helm")
def test_values_with_too_many_aliases_are_not_marked(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marked_values, "MOST_VALUES", 500)
    lines = [" train: {cpu: 4, memory: 16Gi}", " a0: &a0 {x: 1}"]
    lines += [f" a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 9)]
    (left,) = fixed(write, chart(SCALARS, "".join(f"{line}\n" for line in lines)), RENDER).remaining
    assert left.help == "set cpu_request: 1500m; `cpu: {{ .Values.train.cpu }}` gives it now"
