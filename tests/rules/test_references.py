"""Test objects that pods refer to by name, beside objects of similar names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.scale.misspelled_names import nearly_same

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from tests.conftest import Check


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      SPEC
      containers:
        - name: train
          image: registry.example.com/train:1
          CONTAINER
"""
CLAIM = "volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]"
ENV = "env: [{name: TOKEN, valueFrom: {KINDKeyRef: {name: NAME, key: token}}}]"
FROM = "envFrom: [{KINDRef: {name: NAME}}]"


def job(spec: str = "", container: str = "") -> str:
    return JOB.replace("SPEC", spec).replace("CONTAINER", container)


def defined(kind: str, name: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}{more}}}\n"


def told(result: Result) -> list[tuple[str, str]]:
    assert not result.bugs
    found = [one for one in result.findings if one.rule == "named-object-missing"]
    return [(one.severity.word, one.message.rpartition(" names ")[2].partition(",")[0]) for one in found]


@pytest.mark.parametrize(
    ("kind", "name", "named", "severity"),
    [
        ("PersistentVolumeClaim", "checkpoints", job(CLAIM.replace("NAME", "checkpoint")), "error"),
        ("ServiceAccount", "trainer", job("serviceAccountName: trainer-sa"), "error"),
        ("ConfigMap", "settings", job(container=FROM.replace("KIND", "configMap").replace("NAME", "setting")), "warning"),
        ("Secret", "hf-token", job(container=ENV.replace("KIND", "secret").replace("NAME", "hf-tokens")), "warning"),
        ("Secret", "hf-token", job("volumes: [{name: t, secret: {secretName: hftoken}}]"), "warning"),
        ("ConfigMap", "settings", job("volumes: [{name: t, projected: {sources: [{configMap: {name: setings}}]}}]"), "warning"),
    ],
)  # fmt: skip
@pytest.mark.medium
def test_a_misspelt_name_of_an_object_is_reported(
    kind: str, name: str, named: str, severity: str, check: Check
) -> None:
    found = told(check({"object.yaml": defined(kind, name), "job.yaml": named}))
    assert [(one, text.split()[0]) for one, text in found] == [(severity, kind)]


@pytest.mark.medium
def test_a_missing_claim_next_to_a_defined_one_is_a_warning(check: Check) -> None:
    files = {
        "claim.yaml": defined("PersistentVolumeClaim", "imagenet"),
        "job.yaml": job(CLAIM.replace("NAME", "resnet")),
    }
    result = check(files)
    assert told(result) == [("warning", "PersistentVolumeClaim resnet")]
    (found,) = (one for one in result.findings if one.rule == "named-object-missing")
    assert found.fix is None
    assert "Its folder defines PersistentVolumeClaim imagenet" in found.details
    assert told(check({**files, "job.yaml": job(CLAIM.replace("NAME", "APPNAME"))})) == []  # to be replaced


WRONG = job(CLAIM.replace("NAME", "checkpoint"))
GOOD = defined("PersistentVolumeClaim", "checkpoints")


@pytest.mark.parametrize(
    "files",
    [
        {"claim.yaml": GOOD, "job.yaml": WRONG, "elsewhere/claim.yaml": GOOD.replace("checkpoints", "checkpoint")},
        {"claim.yaml": GOOD.replace("}", ", namespace: a}"), "job.yaml": WRONG},
        {"a/claim.yaml": GOOD, "b/job.yaml": WRONG},
        {"claim.yaml": GOOD.replace("name:", "generateName:"), "job.yaml": WRONG},
        {"claim.yaml": GOOD, "job.yaml": WRONG.replace("claimName: checkpoint", "claimName: $CLAIM")},
        {"claim.yaml": GOOD, "job.yaml": WRONG, "kustomization.yaml": "resources: [claim.yaml, job.yaml]\n"},
        {"jobs/claim.yaml": GOOD, "jobs/job.yaml": WRONG, "Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n"},
        {"claim.yaml": GOOD, "job.yaml": WRONG, "made/claim.yaml": "{{ range .x }}\nkind: Job\napiVersion: batch/v1\n{{ end }}\n"},
        {"account.yaml": defined("ServiceAccount", "defaults"), "job.yaml": job("serviceAccountName: default")},
        {"m.yaml": defined("ConfigMap", "settings"), "job.yaml": job(container="envFrom: [{configMapRef: {name: setting, optional: true}}]")},
    ],
)  # fmt: skip
@pytest.mark.medium
def test_names_possibly_defined_elsewhere_are_not_reported(files: dict[str, str], check: Check) -> None:
    assert told(check(files)) == []


@pytest.mark.medium
def test_secrets_in_use_are_not_suggested_for_other_names(check: Check) -> None:
    used = job(container=FROM.replace("KIND", "secret").replace("NAME", "hf-token"))
    other = used.replace("hf-token", "hf-tokens").replace("name: train}", "name: eval}")
    files = {"secret.yaml": defined("Secret", "hf-token"), "a.yaml": other}
    assert len(told(check(files))) == 1
    assert told(check({**files, "b.yaml": used})) == []


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("checkpoints", "checkpoint-pvc", True),
        ("train-data", "data-train", True),
        ("traindata", "train-data", True),
        ("train-cfg", "train-config", True),
        ("train-checkpoint", "train-ckpt", True),
        ("train-cfg", "train-scripts", False),
        ("app-data", "app-database", False),
        ("data-a", "data-b", False),
        ("data-1", "data-2", False),
        ("data-east", "data-west", False),
        ("data-dev", "data-prod", False),
        ("train", "train-logs", False),
    ],
)
def test_nearly_equal_names_are_recognized(left: str, right: str, same: bool) -> None:
    assert nearly_same(left, right) is same


# --- budgets

BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: serve, namespace: a}
spec:
  maxUnavailable: 1
  selector: SELECTOR
"""
SERVE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: a}
spec:
  template:
    metadata: {labels: {app: serve, tier: gpu}}
    spec: {containers: [{name: serve, image: "quay.io/example/serve:1"}]}
"""
SERVER = BUDGET.replace("SELECTOR", "{matchLabels: {app: server}}")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("{matchLabels: {app: server}}", True),
        ("{matchLabels: {name: serve}}", True),
        ("{matchLabels: {app: serve, tier: cpu}}", True),
        ("{matchLabels: {app: serve}}", False),
        ("{matchLabels: {app: database}}", False),  # of pods elsewhere
        ("{matchExpressions: [{key: app, operator: Exists}]}", False),
        ("{}", False),
    ],
)
def test_budget_that_selects_nothing_is_reported(selector: str, found: bool, check: Check) -> None:
    result = check({"budget.yaml": BUDGET.replace("SELECTOR", selector), "serve.yaml": SERVE})
    assert ("budget-selects-nothing" in {one.rule for one in result.findings}) is found


@pytest.mark.parametrize(
    "files",
    [
        {"a/budget.yaml": SERVER, "b/serve.yaml": SERVE},
        {"budget.yaml": SERVER, "serve.yaml": SERVE.replace("namespace: a", "namespace: b")},
        {"budget.yaml": SERVER, "serve.yaml": SERVE.replace("kind: Deployment", "kind: ReplicaSet")},
        {"budget.yaml": SERVER, "serve.yaml": SERVE, "server.yaml": SERVE.replace("serve,", "server,")},
        {"budget.yaml": SERVER, "serve.yaml": SERVE, "chart/Chart.yaml": "name: a\nversion: 1.0.0\napiVersion: v2\n"},
    ],
    ids=["folder", "namespace", "owned", "selected", "chart"],
)
def test_a_budget_whose_pods_may_be_outside_the_code_is_not_judged(files: dict[str, str], check: Check) -> None:
    assert "budget-selects-nothing" not in {one.rule for one in check(files).findings}


KEEPS = BUDGET.replace("SELECTOR", "{matchLabels: {app: serve}}").replace("maxUnavailable: 1", "minAvailable: LEAST")
THREE = SERVE.replace("spec:\n  template", "spec:\n  replicas: 3\n  template")
JOBS = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: a}
spec:
  replicatedJobs:
    - name: workers
      replicas: 2
      template:
        spec:
          parallelism: 2
          completions: 2
          template:
            metadata: {labels: {app: serve}}
            spec: {restartPolicy: Never, containers: [{name: serve, image: registry.example.com/serve:1}]}
"""
SCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: serve, namespace: a}
spec: {minReplicas: LEAST, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: serve}}
"""


@pytest.mark.parametrize(
    ("least", "pods", "found"),
    [
        ("3", THREE, True), ("4", THREE, True), ("2", THREE, False), ("67%", THREE, True), ("66%", THREE, False),
        ("99%", THREE, True), ("100%", THREE, False), ("4", JOBS, True), ("3", JOBS, False),
        ("3", THREE.replace("namespace: a", "namespace: b"), False),
        ("3", f"{THREE}---\n{THREE.replace('name: serve,', 'name: more,')}", False),
        ("3", f"{THREE}---\n{SCALER.replace('LEAST', '4')}", False),
        ("3", f"{THREE}---\n{SCALER.replace('LEAST', '3')}", True),
    ],
)  # fmt: skip
def test_a_budget_that_protects_every_pod_is_reported(least: str, pods: str, found: bool, check: Check) -> None:
    result = check({"serve.yaml": f"{KEEPS.replace('LEAST', least)}---\n{pods}"})
    rules = {one.rule for one in result.findings}
    assert ("budget-keeps-every-pod" in rules) is found
    assert ("budget-allows-no-eviction" in rules) is (least == "100%")


def test_a_budget_of_an_unknown_number_of_pods_is_undecided(check: Check) -> None:
    unknown = THREE.replace("replicas: 3", "replicas: ${REPLICAS}")
    result = check({"serve.yaml": f"{KEEPS.replace('LEAST', '3')}---\n{unknown}"})
    assert "budget-keeps-every-pod" in {one.rule for one in result.undecided}
