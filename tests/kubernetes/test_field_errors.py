"""Test fields of kinds, compared with profiles/any/fields.json, and that table itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from tests.conftest import Read

TABLE = json.loads((ROOT / "profiles" / "any" / "fields.json").read_text())
PLAIN = {"string", "integer", "number", "boolean", "scalar", "any"}
POD = "containers: [{name: train, image: registry.example.com/train:1.4}]"


def job(spec: str, pod: str = POD) -> dict[str, str]:
    return {
        "job.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train}}\nspec: {{{spec}, template: {{spec: {{{pod}}}}}}}\n"
    }


def said(read: Read, files: dict[str, str]) -> list[tuple[str, str | None, str | None]]:
    """Return the path of each field error, with the wanted type and the field that was probably meant."""
    return [(one.path, one.wanted, one.meant) for one in read(files).field_errors]


def test_every_type_of_a_field_is_in_the_table() -> None:
    named = {type_ for fields in TABLE["types"].values() for type_ in fields.values()}
    bare = {type_.strip("[]{}") for type_ in named}
    assert bare <= TABLE["types"].keys() | PLAIN
    assert {type_ for type_, _ in TABLE["kinds"].values()} <= TABLE["types"].keys()


@pytest.mark.parametrize(
    ("spec", "path", "meant"),
    [
        ("paralelism: 3", "spec.paralelism", "spec.parallelism"),
        ("nodeSelector: {a: b}", "spec.nodeSelector", "spec.template.spec.nodeSelector"),
        ("image: train", "spec.image", "spec.template.spec.containers[].image"),
        ("whatever: 1", "spec.whatever", None),
    ],
)
def test_an_unknown_field_is_reported_with_the_likely_field(
    read: Read, spec: str, path: str, meant: str | None
) -> None:
    assert said(read, job(spec)) == [(path, None, meant)]


def test_a_field_indented_too_far_is_matched_to_its_parent(read: Read) -> None:
    found = said(read, job("parallelism: 2", f"{POD}, metadata: {{}}, backoffLimit: 0"))
    assert [meant for *_, meant in found] == ["spec.template.metadata", "spec.backoffLimit"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("parallelism: three", "a whole number"),
        ('parallelism: "3"', "a whole number"),
        ("parallelism: [3]", "a whole number"),
        ("parallelism: 1.5", "a whole number"),
        ("suspend: 1", "a boolean"),
        ("podFailurePolicy: none", "a map"),
        ("podFailurePolicy: {rules: {}}", "a list"),
        ("managedBy: 5", "a text"),
        ("selector: {matchLabels: {app: 3}}", "a text"),
    ],
)
def test_a_value_of_another_type_is_found(read: Read, spec: str, wanted: str) -> None:
    assert [one for _, one, _ in said(read, job(spec))] == [wanted]


def test_fields_of_each_release_of_the_trainer_that_may_be_installed_are_known(read: Read) -> None:
    spec = "runtimeRef: {name: torch}, trainer: {numProcPerNode: auto}"
    older = "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]"
    newer = "runtimePatches: []"
    for field in (older, newer):
        text = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: a}}\nspec: {{{spec}, {field}}}\n"
        assert said(read, {"job.yaml": text}) == []
    wrong = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: a}}\nspec: {{{spec}, podOverrides: []}}\n"
    (found,) = read({"job.yaml": wrong}).field_errors
    assert (found.path, found.release) == ("spec.podOverrides", "TrainJob in trainer v2.0.0 to v2.3.0")


@pytest.mark.parametrize(
    ("kind", "spec", "release"),
    [
        (
            "jobset.x-k8s.io/v1alpha2 JobSet",
            "activeDeadlineSeconds: 3600, scheduling: {replicatedJobs: [{targetReplicatedJobs: [worker]}]}",
            "jobset v0.12.0 to v0.13.0",
        ),
        (
            "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet",
            "leaderWorkerTemplate: {workerTemplate: {}}, scheduling: {gang: {}}",
            "lws v0.10.0 to v0.11.1",
        ),
        (
            "karpenter.k8s.aws/v1 EC2NodeClass",
            "kubelet: {topologyManagerPolicy: restricted}, enclaveOptions: {enabled: true}",
            "karpenter-provider-aws v1.15.2",
        ),
        ("ray.io/v1 RayCluster", "networkPolicy: {mode: DenyAll}, tlsOptions: {enabled: true}", "kuberay v1.7.0"),
    ],
)
def test_fields_of_the_newest_release_are_known(read: Read, kind: str, spec: str, release: str) -> None:
    api, _, name = kind.partition(" ")
    head = f"apiVersion: {api}\nkind: {name}\nmetadata: {{name: a}}\n"
    assert said(read, {"a.yaml": f"{head}spec: {{{spec}}}\n"}) == []
    (found,) = read({"a.yaml": f"{head}spec: {{whatever: 1}}\n"}).field_errors
    assert found.release == f"{name} in {release}"


def test_quoting_is_suggested_unless_a_tag_makes_the_value_a_number(read: Read) -> None:
    found = [read(job(f"managedBy: {value}")).field_errors[0].right for value in ("5", "!!int 5")]
    assert found == ["5", None]


@pytest.mark.parametrize(
    "spec",
    [
        "parallelism: 3.0",  # JSON has one kind of number
        "managedBy: {controller-name}",  # a placeholder
        "managedBy: [YOUR_CONTROLLER]",
        "parallelism: null",
        "parallelism: NUM_NODES",  # a script replaces it
        "parallelism: $WORKERS",
        'parallelism: "{{ workers }}"',
        "managedBy: on",  # a boolean for kubectl, a text for kustomize
        "$patch: replace",  # a directive of kustomize
        '"<key>": 1',
    ],
)
def test_accepted_spellings_and_placeholders_are_not_errors(read: Read, spec: str) -> None:
    assert said(read, job(spec)) == []


def test_quantities_and_ports_can_be_numbers_or_text(read: Read) -> None:
    pod = "containers: [{name: a, image: a:1, resources: {limits: {cpu: 4, memory: 4Gi}, requests: {cpu: 0.5}}}]"
    assert said(read, job("parallelism: 2", pod)) == []


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_each_version_of_a_kind_has_its_own_fields(read: Read, version: str) -> None:
    text = f"apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: a}}\nspec: {{cohort: team}}\n"
    assert len(said(read, {"queue.yaml": text})) == (version == "v1beta2")


@pytest.mark.parametrize("header", ["apiVersion: batch/v2\nkind: Job", "apiVersion: example.com/v1\nkind: Deployment"])
def test_an_undescribed_kind_or_version_is_not_judged(read: Read, header: str) -> None:
    assert said(read, {"a.yaml": f"{header}\nmetadata: {{name: a}}\nspec: {{whatever: 1}}\n"}) == []


def test_objects_of_terraform_resources_are_checked_by_terraform(read: Read) -> None:
    code = 'resource "kubernetes_pod_v1" "a" {\n  count = 2\n  metadata {\n    name = "a"\n  }\n  spec {\n    container {\n      name = "a"\n      image = "a:1"\n    }\n  }\n}\n'
    assert said(read, {"main.tf": code}) == []


def test_manifests_inside_terraform_code_are_judged(read: Read) -> None:
    code = 'resource "kubectl_manifest" "a" {\n  yaml_body = <<-EOT\n    apiVersion: v1\n    kind: Pod\n    metadata: {name: a}\n    spec: {containres: []}\n  EOT\n}\n'
    assert said(read, {"main.tf": code}) == [("spec.containres", None, "spec.containers")]


def test_results_of_jsonencode_and_yamlencode_count_as_strings(read: Read) -> None:
    config = "yamlencode({ pools = [{ addresses = [data.docker_network.kind.x] }] })"
    kind = 'apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" }'
    body = f"yamlencode({{ {kind}, data = {{ config = {config}, list = jsonencode([1]) }} }})"
    code = f'resource "kubectl_manifest" "a" {{\n  yaml_body = {body}\n}}\ndata "docker_network" "kind" {{}}\n'
    assert not read({"main.tf": code}).field_errors
    assert read({"main.tf": code.replace("data = {", "dat = {")}).field_errors


def test_a_mistake_repeated_by_aliases_is_reported_once(read: Read) -> None:
    pod = "containers: [{name: a, image: a:1, env: &env [{name: A, value: 1}]}, {name: b, image: a:1, env: *env}]"
    assert said(read, job("parallelism: 2", pod)) == [("spec.template.spec.containers[0].env[0].value", "a text", None)]


def test_the_section_of_sops_is_not_an_error(read: Read) -> None:
    files = job("parallelism: 2")
    files["job.yaml"] += "sops: {mac: 'ENC[AES256_GCM,data:a=,iv:b=,tag:c=,type:str]'}\n"
    assert said(read, files) == []
