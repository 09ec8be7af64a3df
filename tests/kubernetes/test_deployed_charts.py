"""Test charts in the tree that something in the tree deploys: they are rendered with the values of each release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.kubernetes import helm_commands
from kcheck.text.values import Known, Unknown, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.model import Workload
    from tests.conftest import Check

CHART = "apiVersion: v2\nname: train\nversion: 1.0.0\n"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}"}
spec:
  parallelism: {{ .Values.nodes }}
  template:
    spec:
      containers:
        - name: a
          image: {{ .Values.image }}
"""
TRAIN = {
    "train/Chart.yaml": CHART,
    "train/values.yaml": "image: ''\nnodes: 2\n",
    "train/templates/job.yaml": JOB,
}
VALUES = "image: registry.example/train:1\nnodes: 250\n"
ARGO = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s}\nspec: {source: {path: train, helm: {%s}}}\n"


def helm_release(*arguments: str) -> str:
    lines = "".join(f"  {line}\n" for line in ('name  = "big"', 'chart = "./train"', *arguments))
    return f'variable "tag" {{}}\nresource "helm_release" "a" {{\n{lines}}}\n'


SET = 'set {\n    name  = "%s"\n    value = %s\n  }'
RELEASES = {
    "Terraform, a file": {"main.tf": helm_release('values = [file("prod.yaml")]'), "prod.yaml": VALUES},
    "Terraform, set": {"main.tf": helm_release(SET % ("nodes", "250"), SET % ("image", '"registry.example/train:1"'))},
    "Argo CD": {"a.yaml": ARGO % ("big", "valueFiles: [prod.yaml]"), "train/prod.yaml": VALUES},
    "Argo CD, a chart called otherwise": {
        "a.yaml": ARGO % ("big", "valuesObject: {image: 'registry.example/train:1', nodes: 250}"),
        "train/Chart.yaml": CHART.replace("name: train", "name: other"),
    },
    "Flux": {
        "a.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: big}\nspec:\n"
        "  chart: {spec: {chart: train, sourceRef: {kind: GitRepository, name: a}}}\n"
        "  values: {image: 'registry.example/train:1', nodes: 250}\n"
    },
    "a guide, from the top": {
        "docs/big/README.md": "```\nhelm install -f $HERE/prod.yaml \\\n  $USER-run \\\n  $REPO_ROOT/train\n```\n",
        "docs/big/prod.yaml": VALUES,
    },
    "a guide, from its folder": {
        "docs/README.md": "Run `helm upgrade --install big ../train/ --values=../prod.yaml --set-string 'a=1,b=2'`.\n",
        "prod.yaml": VALUES,
    },
    "a script": {
        "run.sh": "helm template big ./train --set nodes=250,image=registry.example/train:1 | kubectl apply -f -\n"
    },
}


def jobs_of(check: Check, files: Mapping[str, str]) -> list[Workload]:
    return [one for one in check(dict(files)).world.inventory.workloads if one.kind == "Job"]


def jobs(check: Check, files: Mapping[str, str]) -> list[Workload]:
    return jobs_of(check, {**TRAIN, **files})


@pytest.mark.parametrize("files", RELEASES.values(), ids=RELEASES)
def test_a_deployed_chart_is_rendered_with_the_values_of_its_release(files: dict[str, str], check: Check) -> None:
    (job,) = jobs(check, files)
    assert isinstance(job.pods, Known)
    assert job.pods.value == 250
    assert [str(known(image.text)) for image in job.images] == ["registry.example/train:1"]
    assert not check({**TRAIN, **files}).judged.skipped


COMMANDS = {
    "a values file that is not there": "helm install big train -f /tmp/mine.yaml",
    "no values": "helm install big train",
    "another chart": "helm install big example/train --set nodes=250,image=a:1",
    "a condition of a text that only the user has": "helm install big train --set image=a:1,nodes=$NODES",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_chart_is_not_rendered_by_a_command_without_its_values(command: str, check: Check) -> None:
    files = {
        "README.md": f"`{command}`\n",
        "train/templates/a.yaml": "{{ if gt (int .Values.nodes) 2 }}a: b{{ end }}\n",
    }
    assert jobs(check, files) == []
    assert [one.what for one in check({**TRAIN, **files}).judged.skipped] == ["not read"]


def test_commands_in_copied_folders_are_not_read(check: Check) -> None:
    assert jobs(check, {"node_modules/a/README.md": "helm install a train --set image=a:1,nodes=8\n"}) == []


def test_no_guide_is_searched_where_charts_have_their_values(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helm_commands, "commands", lambda _: pytest.fail("the repository is searched"))
    (job,) = jobs(check, {"train/values.yaml": VALUES, "README.md": "helm install a train --set nodes=8\n"})
    assert known(job.pods) == 250


def test_the_first_command_that_gives_a_chart_its_values_counts(check: Check) -> None:
    guide = "helm install a train --set nodes=4\nhelm install b train --set image=a:1,nodes=8\nhelm install c train --set image=a:1,nodes=9\n"
    (job,) = jobs(check, {"README.md": guide})
    assert known(job.pods) == 8


def test_a_text_of_a_command_that_only_the_user_has_is_unknown(check: Check) -> None:
    (job,) = jobs(check, {"README.md": "helm install a train --set image=$IMAGE,nodes=8\n"})
    assert isinstance(job.images[0].registry, Unknown)


def test_an_unknown_release_value_is_a_missing_input(check: Check) -> None:
    image = SET % ("image", '"registry.example/train:${var.tag}"')
    files = {"main.tf": helm_release(image, SET % ("nodes", "length(var.tag)"))}
    (job,) = jobs(check, files)
    assert isinstance(job.pods, Unknown)
    assert job.pods.reason == "var.tag has no value"


def test_an_unknown_value_rendered_as_yaml_stays_unknown(check: Check) -> None:
    template = JOB.replace(".Values.nodes", "toYaml .Values.a.b")
    release = helm_release(SET % ("a.b", "var.tag"), SET % ("image", '"a"'))
    (job,) = jobs(check, {"train/templates/job.yaml": template, "main.tf": release})
    assert isinstance(job.pods, Unknown)
    assert job.pods.reason == "var.tag has no value"


CONDITION = {"train/templates/job.yaml": JOB + "{{ if .Values.tag }}  suspend: true\n{{ end }}"}
REFUSED = {
    "it uses a text that is not known as a condition": {**CONDITION, "main.tf": helm_release(SET % ("tag", "var.tag"))},
    "the values file prod.yaml is missing": {"a.yaml": ARGO % ("big", "valueFiles: [prod.yaml]")},
    "its own values name no image": {"a.yaml": ARGO % ("big", "valuesObject: {nodes: 3}")},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_release_that_is_not_rendered_is_named_with_the_reason(reason: str, check: Check) -> None:
    (one,) = check({**TRAIN, **REFUSED[reason]}).judged.skipped
    assert one.reason.endswith(f"the chart train was not rendered: {reason}")


def test_each_release_of_a_chart_has_its_own_objects(check: Check) -> None:
    values = "valuesObject: {image: a, nodes: 250}"
    found = jobs(check, {"a.yaml": ARGO % ("one", values), "b.yaml": ARGO % ("two", values)})
    assert sorted(str(known(one.name)) for one in found) == ["one", "two"]


def test_a_chart_that_deploys_itself_is_read_once(check: Check) -> None:
    application = ARGO % ("big", "valuesObject: {image: a, nodes: 250}")
    found = jobs(check, {"a.yaml": application, "train/templates/app.yaml": application + "# {{ .Values.nodes }}\n"})
    assert len(found) == 1


# --- charts below charts/

UMBRELLA = {
    "platform/Chart.yaml": "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n"
    "- {name: train, alias: job, condition: job.enabled}\n",
    "platform/values.yaml": "global: {image: 'registry.example/train:1'}\njob: {nodes: 250, enabled: true}\n",
    "platform/charts/common/Chart.yaml": "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n",
    "platform/charts/common/templates/_image.tpl": '{{ define "common.image" }}{{ .Values.global.image }}{{ end }}',
    **{
        f"platform/charts/{path}": text.replace("{{ .Values.image }}", '{{ include "common.image" . }}')
        for path, text in TRAIN.items()
    },
}


def test_subcharts_get_their_part_of_the_parent_values(check: Check) -> None:
    (job,) = jobs_of(check, UMBRELLA)
    assert known(job.pods) == 250
    assert [str(known(image.text)) for image in job.images] == ["registry.example/train:1"]


def test_a_release_sets_values_of_subcharts(check: Check) -> None:
    application = ARGO.replace("path: train", "path: platform") % ("big", "valuesObject: {job: {nodes: 64}}")
    (job,) = jobs_of(check, {**UMBRELLA, "a.yaml": application})
    assert (known(job.name), known(job.pods)) == ("big", 64)


def test_a_subchart_with_a_false_condition_is_left_out(check: Check) -> None:
    values = UMBRELLA["platform/values.yaml"].replace("true", "false")
    assert not jobs_of(check, {**UMBRELLA, "platform/values.yaml": values})


def test_an_unrendered_subchart_is_named_with_its_place(check: Check) -> None:
    template = UMBRELLA["platform/charts/train/templates/job.yaml"] + "a: {{ randAlpha 5 }}\n"
    result = check({**UMBRELLA, "platform/charts/train/templates/job.yaml": template})
    (one,) = result.judged.skipped
    assert one.path == "platform/charts/train/templates/job.yaml"
    assert one.reason == "the chart platform was not rendered: it uses randAlpha"


def test_a_missing_chart_is_named(check: Check) -> None:
    files = {path: text for path, text in UMBRELLA.items() if "charts/train" not in path}
    result = check({**files, "platform/templates/job.yaml": JOB.replace("{{ .Values.image }}", "a")})
    (one,) = result.judged.skipped
    assert one.reason == "the chart platform was not rendered: it uses charts that are not in charts/"
