"""Test that fixes of manifests keep the style of the file and change nothing else."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.fix import fix
from kcheck.text.files import save
from kcheck.text.files.tree import Tree
from kcheck.text.findings import SAFETIES
from tests.conftest import indented

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kcheck.text.findings import Finding
    from tests.conftest import Write


pytestmark = pytest.mark.medium

TTL, DNS, PULL, QUEUE = "job-never-cleaned", "host-network-dns", "image-pulled-every-start", "queue-label-missing"
RETIRED, KARPENTER = "retired-registry", "karpenter-disrupts-training"
CONFIG = Config(nodes={"": 1000})


def found(rules: tuple[str, ...], config: Config, paths: list[str]) -> list[Finding]:
    """Return the findings of some rules."""
    result = linter.run(Tree(paths, exclude=config.exclude), config)
    assert not result.bugs
    return [finding for finding in result.findings if finding.rule in rules]


def fixed(folder: Path, names: Iterable[str], *rules: str, config: Config = CONFIG) -> dict[str, bytes]:
    """Return the files after all findings of some rules were fixed; assert that a second check finds none."""
    outcome = fix.fix(["."], config, safeties=SAFETIES, rules=rules)
    assert {finding.rule for finding in outcome.fixed} == set(rules)
    assert not outcome.refused
    save.save(outcome.files)
    assert not found(rules, config, ["."])
    return {name: (folder / name).read_bytes() for name in names}


def helped(rules: tuple[str, ...], *, config: Config = CONFIG, paths: tuple[str, ...] = (".",)) -> set[str]:
    """Return the help of findings that have no fix; assert that nothing is written."""
    findings = found(rules, config, list(paths))
    assert all(finding.fix is None for finding in findings)
    assert not fix.fix(list(paths), config, safeties=SAFETIES, rules=rules).files
    return {finding.help for finding in findings}


# --- places of new keys

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  completions: 16
  parallelism: 16
  {more}
  template:
    spec:
      containers:
        - name: train
          image: registry.example.com/train:1.4
"""


def job(more: str, text: str = JOB) -> str:
    """Return the Job with some lines before its template."""
    return text.replace("  {more}\n", indent(dedent(more).strip("\n") + "\n", "  ") if more else "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "ttlSecondsAfterFinished: 86400", id="scalars before the big nested key"),
        pytest.param("ttlSecondsAfterFinished:", "ttlSecondsAfterFinished: 86400", id="null"),
        pytest.param("ttlSecondsAfterFinished: ~ # keep", "ttlSecondsAfterFinished: 86400 # keep", id="tilde"),
        pytest.param("ttlSecondsAfterFinished: # keep", "ttlSecondsAfterFinished: 86400 # keep", id="comment"),
        pytest.param("ttlSecondsAfterFinished: null", "ttlSecondsAfterFinished: 86400", id="null as a word"),
        pytest.param("# the pods", "ttlSecondsAfterFinished: 86400\n# the pods", id="comment of the next key"),
        pytest.param(
            "backoffLimit: 3 # few\n\n# the pods", "backoffLimit: 3 # few\nttlSecondsAfterFinished: 86400\n\n# the pods",
            id="comment behind, empty line",
        ),
        pytest.param(
            "'suspend': false", "'suspend': false\nttlSecondsAfterFinished: 86400", id="quoted neighbour",
        ),
        pytest.param(
            "podFailurePolicy:\n  rules:\n    - action: Ignore\n      onPodConditions: [{type: DisruptionTarget}]",
            None, id="behind the last scalar, not behind what is nested",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "", "\n\n\n", "\n# the end\n"])
def test_new_scalars_keep_the_style(
    before: str, after: str | None, newline: str, mark: str, end: str, write: Write
) -> None:
    if after is None:
        after = f"ttlSecondsAfterFinished: 86400\n{before}"
    old, new = ((mark + job(text).rstrip("\n") + end).replace("\n", newline) for text in (before, after))
    folder = write({"job.yaml": old})
    assert fixed(folder, ["job.yaml"], TTL) == {"job.yaml": new.encode()}


FLOW = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"
IN_ONE_LINE = (
    "template: {spec: {containers: [{name: a, image: 'registry.example.com/train:1.4'}], restartPolicy: Never}}"
)
NEW = "ttlSecondsAfterFinished: 86400"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            f"spec: {{completions: 16, parallelism: 16, {IN_ONE_LINE}}}\n",
            f"spec: {{completions: 16, parallelism: 16, {NEW}, {IN_ONE_LINE}}}\n", id="one line",
        ),
        pytest.param(
            f"spec: {{\n  completions: 16,\n  parallelism: 16,\n  {IN_ONE_LINE},\n}}\n",
            f"spec: {{\n  completions: 16,\n  parallelism: 16,\n  {NEW},\n  {IN_ONE_LINE},\n}}\n", id="several lines",
        ),
        pytest.param(
            f"spec: {{{IN_ONE_LINE},\n       completions: 16,\n       parallelism: 16}}\n",
            f"spec: {{{IN_ONE_LINE},\n       completions: 16,\n       parallelism: 16,\n       {NEW}}}\n",
            id="several lines, last",
        ),
        pytest.param(
            f"spec: {{\n\t{IN_ONE_LINE},\n\tcompletions: 16,\n\tparallelism: 16 # all\n}}\n",
            f"spec: {{\n\t{IN_ONE_LINE},\n\tcompletions: 16,\n\tparallelism: 16, # all\n\t{NEW}\n}}\n",
            id="tabs, comment of the last",
        ),
        pytest.param(
            f"spec: {{\n  {IN_ONE_LINE},\n  completions: 16,\n  parallelism: 16, # all\n}}\n",
            f"spec: {{\n  {IN_ONE_LINE},\n  completions: 16,\n  parallelism: 16, # all\n  {NEW},\n}}\n",
            id="comma and comment of the last",
        ),
        pytest.param(
            f"spec: {{\n  completions: 16,\n  parallelism: 16, # all\n  {IN_ONE_LINE}\n}}\n",
            f"spec: {{\n  completions: 16,\n  parallelism: 16, # all\n  {NEW},\n  {IN_ONE_LINE}\n}}\n",
            id="comment in between",
        ),
    ],
)  # fmt: skip
def test_new_members_keep_flow_style(before: str, after: str, write: Write) -> None:
    folder = write({"job.yaml": FLOW + before})
    assert fixed(folder, ["job.yaml"], TTL) == {"job.yaml": (FLOW + after).encode()}


JSON = """\
{
  "apiVersion": "batch/v1",
  "kind": "Job",
  "metadata": {
    "name": "train",
    "namespace": "ml"LABELS
  },
  "spec": {
    "completions": 16,
    "parallelism": 16,TTL
    "template": {
      "spec": {
        "containers": [
          {
            "name": "train",
            "image": "registry.example.com/train:1.4",
            "resources": {
              "limits": {
                "nvidia.com/gpu": 8
              }
            }
          }
        ]
      }
    }
  }
}
"""
LOCAL_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: gpu
  namespace: ml
spec:
  clusterQueue: gpu
"""


def as_json(labels: str, ttl: str, tabs: bool) -> str:
    text = JSON.replace("LABELS", labels).replace("TTL", ttl)
    return text.replace("  ", "\t") if tabs else text


@pytest.mark.parametrize("tabs", [False, True], ids=["blanks", "tabs"])
def test_new_json_members_get_lines_of_their_own_if_neighbors_have_them(tabs: bool, write: Write) -> None:
    """New nested maps get lines of their own if all others have them."""
    folder = write({"job.json": as_json("", "", tabs), "queue.yaml": LOCAL_QUEUE})
    labels = ',\n    "labels": {\n      "kueue.x-k8s.io/queue-name": "gpu"\n    }'
    new = as_json(labels, '\n    "ttlSecondsAfterFinished": 86400,', tabs)
    assert fixed(folder, ["job.json"], TTL, QUEUE) == {"job.json": new.encode()}


LABELLED = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: ml
  {more}
spec:
  parallelism: 16
  template:
    spec:
      containers:
        - name: train
          image: registry.example.com/train:1.4
          resources: {limits: {nvidia.com/gpu: 8}}
"""
LABEL = "kueue.x-k8s.io/queue-name: gpu"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", f"labels:\n  {LABEL}", id="no labels"),
        pytest.param("labels:", f"labels:\n  {LABEL}", id="nothing"),
        pytest.param("labels: {}", f"labels:\n  {LABEL}", id="empty"),
        pytest.param("labels: {  }", f"labels:\n  {LABEL}", id="empty with blanks"),
        pytest.param("labels: null", f"labels:\n  {LABEL}", id="null"),
        pytest.param("labels: ~ # none", f"labels: # none\n  {LABEL}", id="tilde, comment"),
        pytest.param("labels:\n  # none yet", f"labels:\n  {LABEL}\n  # none yet", id="comment below"),
        pytest.param("labels: {app: train}", f"labels: {{app: train, {LABEL}}}", id="flow"),
        pytest.param("labels: {\n  app: train\n}", f"labels: {{\n  app: train,\n  {LABEL}\n}}", id="flow, lines"),
        pytest.param("labels:\n    app: train", f"labels:\n    app: train\n    {LABEL}", id="deep"),
        pytest.param(
            "labels:\n  'app': 'train'", "labels:\n  'app': 'train'\n  'kueue.x-k8s.io/queue-name': 'gpu'", id="quotes"
        ),
        pytest.param(
            'labels:\n  app: "train" # ours\n  # that is all',
            'labels:\n  app: "train" # ours\n  kueue.x-k8s.io/queue-name: "gpu"\n  # that is all', id="comments",
        ),
        pytest.param(
            "annotations:\n  note: |\n    app: no label\n    # no comment",
            f"labels:\n  {LABEL}\nannotations:\n  note: |\n    app: no label\n    # no comment", id="text",
        ),
    ],
)  # fmt: skip
def test_new_keys_fit_parents_that_are_absent_or_null_or_present(before: str, after: str, write: Write) -> None:
    folder = write({"job.yaml": job(before, LABELLED), "queue.yaml": LOCAL_QUEUE})
    assert fixed(folder, ["job.yaml"], QUEUE) == {"job.yaml": job(after, LABELLED).encode()}


WIDE_JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
    name: train
    namespace: ml
MOREspec:
    parallelism: 16
    template:
        spec:
            containers: [{name: a, image: registry.example.com/a:1, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_new_lines_use_the_indentation_of_the_file(write: Write) -> None:
    old, new = (WIDE_JOB.replace("MORE", more) for more in ("", f"    labels:\n        {LABEL}\n"))
    folder = write({"job.yaml": old, "queue.yaml": LOCAL_QUEUE})
    assert fixed(folder, ["job.yaml"], QUEUE) == {"job.yaml": new.encode()}


def test_every_document_and_list_item_gets_its_own_fix(write: Write) -> None:
    """Each object gets its own fix, wherever it stands."""
    one = job("", JOB)
    listed = (
        "apiVersion: v1\nkind: List\nitems:\n  - "
        + indented(one, 4)
        + "\n- ".replace("- ", "  - ")
        + indented(one.replace("name: train", "name: eval"), 4)
        + "\n"
    )
    text = (
        f"# first\n---\n{one}...\n---\n# second\n{one.replace('name: train', 'name: tune')}---\n{listed}\n# the end\n"
    )
    folder = write({"jobs.yaml": text})
    new = text.replace("parallelism: 16\n  template", f"parallelism: 16\n  {NEW}\n  template")
    new = new.replace("parallelism: 16\n      template", f"parallelism: 16\n      {NEW}\n      template")
    assert new.count(NEW) == 4
    assert fixed(folder, ["jobs.yaml"], TTL) == {"jobs.yaml": new.encode()}


# --- the order of keys, by kind

REPLICAS = """\
    {role}:
      replicas: {count}
      template:
        spec:
          containers:
            - name: train
              image: registry.example.com/train:1.4
              resources:
                limits:
                  nvidia.com/gpu: 8
"""


def replicas(role: str, count: int) -> str:
    return REPLICAS.format(role=role, count=count)


def kubeflow(kind: str, roles: str, spec: str = "") -> str:
    version = "v2beta1" if kind == "MPIJob" else "v1"
    name = {"MPIJob": "mpiReplicaSpecs", "PyTorchJob": "pytorchReplicaSpecs"}[kind]
    return (
        f"apiVersion: kubeflow.org/{version}\nkind: {kind}\nmetadata:\n  name: train\nspec:\n{spec}  {name}:\n{roles}"
    )


PYTORCH = replicas("Master", 1) + replicas("Worker", 15)
MPI = replicas("Launcher", 1).partition("              resources")[0] + replicas("Worker", 16)
MPI_RULES = (TTL, "idle-workers-after-launcher", "launcher-starts-too-early")
RUN_POLICY = "  runPolicy:\n    cleanPodPolicy: Running\n    ttlSecondsAfterFinished: 86400\n"
LAUNCHING = "  launcherCreationPolicy: WaitForWorkersReady\n"


@pytest.mark.parametrize(
    ("kind", "roles", "rules", "before", "after"),
    [
        ("PyTorchJob", PYTORCH, (TTL,), "", f"  runPolicy:\n    {NEW}\n"),
        ("PyTorchJob", PYTORCH, (TTL,), "  runPolicy:\n", f"  runPolicy:\n    {NEW}\n"),
        ("PyTorchJob", PYTORCH, (TTL,), "  runPolicy: {}\n", f"  runPolicy:\n    {NEW}\n"),
        (
            "PyTorchJob", PYTORCH, (TTL,), "  runPolicy:\n    backoffLimit: 3\n    schedulingPolicy:\n      queue: a\n",
            f"  runPolicy:\n    backoffLimit: 3\n    {NEW}\n    schedulingPolicy:\n      queue: a\n",
        ),
        ("MPIJob", MPI, MPI_RULES, "", LAUNCHING + RUN_POLICY),
        ("MPIJob", MPI, MPI_RULES, "  runPolicy:\n    cleanPodPolicy: None\n", LAUNCHING + RUN_POLICY),
        (
            "MPIJob", MPI, MPI_RULES, "  slotsPerWorker: 8\n  runPolicy: {cleanPodPolicy: None}\n",
            f"  slotsPerWorker: 8\n{LAUNCHING}  runPolicy: {{cleanPodPolicy: Running, {NEW}}}\n",
        ),
        (
            "PyTorchJob", replicas("Worker", 16).replace("spec:\n", "spec:\n          hostNetwork: true\n"), (DNS,), "",
            replicas("Worker", 16).replace(
                "spec:\n", "spec:\n          hostNetwork: true\n          dnsPolicy: ClusterFirstWithHostNet\n"
            ),
        ),
    ],
)  # fmt: skip
def test_new_keys_of_kubeflow_jobs_keep_the_usual_order(
    kind: str, roles: str, rules: tuple[str, ...], before: str, after: str, write: Write
) -> None:
    folder = write({"job.yaml": kubeflow(kind, roles, before)})
    new = kubeflow(kind, after) if DNS in rules else kubeflow(kind, roles, after)
    assert fixed(folder, ["job.yaml"], *rules) == {"job.yaml": new.encode()}


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
{disruption}  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}}
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: [p5.48xlarge]
---
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  template: {{spec: {{containers: [{{name: train, image: "a:1", resources: {{limits: {{nvidia.com/gpu: 8}}}}}}]}}}}
"""


@pytest.mark.parametrize(
    ("name", "rule", "before", "after"),
    [
        (
            "JobSet", TTL,
            """\
            apiVersion: jobset.x-k8s.io/v1alpha2
            kind: JobSet
            metadata:
              name: train
            spec:
              # the workers
              replicatedJobs:
              - name: worker
                template:
                  spec:
                    parallelism: 16
                    template:
                      spec:
                        containers:
                        - name: train
                          image: registry.example.com/train:1.4
            """,
            "spec:\n  ttlSecondsAfterFinished: 86400\n  # the workers\n",
        ),
        (
            "Ray", "ray-cluster-outlives-job",
            """\
            apiVersion: ray.io/v1
            kind: RayJob
            metadata: {name: tune}
            spec:
              entrypoint: >-
                python
                tune.py
              rayClusterSpec:
                workerGroupSpecs:
                - groupName: gpu
                  replicas: 4
                  template:
                    spec:
                      containers:
                      - name: ray
                        image: registry.example.com/ray:2.9
                        resources: {limits: {nvidia.com/gpu: 8}}
            """,
            "spec:\n  shutdownAfterJobFinishes: true\n  entrypoint: >-\n",
        ),
        (
            "Volcano", "gang-smaller-than-job",
            """\
            apiVersion: batch.volcano.sh/v1alpha1
            kind: Job
            metadata:
              name: train
            spec:
              schedulerName: volcano
              minAvailable: 3 # of 16
              tasks:
              - name: worker
                replicas: 16
                template:
                  spec:
                    containers:
                    - name: train
                      image: registry.example.com/train:1.4
                      resources: {limits: {nvidia.com/gpu: 8}}
            """,
            "spec:\n  schedulerName: volcano\n  minAvailable: 16 # of 16\n",
        ),
        ("Karpenter", KARPENTER, POOL.format(disruption="  disruption:\n    consolidateAfter: 1m\n"),
         "spec:\n  disruption:\n    consolidateAfter: 1m\n    consolidationPolicy: WhenEmpty\n"),
        ("Karpenter, flow", KARPENTER, POOL.format(disruption="  disruption: {consolidateAfter: 1m}\n"),
         "spec:\n  disruption: {consolidateAfter: 1m, consolidationPolicy: WhenEmpty}\n"),
    ],
)  # fmt: skip
def test_new_keys_of_other_kinds_keep_the_usual_order(
    name: str, rule: str, before: str, after: str, write: Write
) -> None:
    """`after` is the expected beginning of the spec; everything below it stays."""
    before = dedent(before)
    folder = write({f"{name}.yaml": before})
    (new,) = fixed(folder, [f"{name}.yaml"], rule).values()
    head = before[: before.index("spec:\n")] + after
    assert new.decode().startswith(head)
    rest = new.decode()[len(head) :]
    assert rest
    assert before.endswith(rest)
    assert len(new) == len(before) + len(after) - len(before[before.index("spec:\n") : -len(rest)])


def test_a_pool_without_a_disruption_block_is_left_to_a_person(write: Write) -> None:
    """The API requires a second field in the block, whose value only a person can choose."""
    write({"pool.yaml": POOL.format(disruption="")})
    why = "its disruption needs consolidateAfter too; add spec.disruption.consolidationPolicy: WhenEmpty"
    assert helped((KARPENTER,)) == {why}


# --- anchors, aliases and merges

ITEMS = "apiVersion: v1\nkind: List\nitems:\n"
ITEM = """\
- apiVersion: batch/v1
  kind: Job
  metadata:
    name: {name}
  spec:
    parallelism: 64
    completions: 64
    template:
      spec:
        containers:
        - name: train
          image: registry.example.com/train:{tag}
          imagePullPolicy: {pull}
"""


def items(*pulls: str, tag: str = "1.4") -> str:
    made = (ITEM.format(name=f"job-{i}", pull=pull, tag=tag if i else "1.4") for i, pull in enumerate(pulls))
    return ITEMS + "".join(made)


MERGED = """\
x-trainer: &trainer
  image: registry.example.com/train:1.4
  imagePullPolicy: {pull} # as always
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: 64
  completions: 64
  template:
    spec:
      containers:
      - name: a
        <<: *trainer
      - <<: *trainer
        name: b
{more}"""
OWN = "        imagePullPolicy: IfNotPresent\n"


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        pytest.param(PULL, items("&pull Always", "*pull"), items("&pull IfNotPresent", "*pull"), id="all want it"),
        pytest.param(PULL, items('&pull "Always"'), items('&pull "IfNotPresent"'), id="nobody else"),
        pytest.param(PULL, MERGED.format(pull="Always", more=""), MERGED.format(pull="IfNotPresent", more=""), id="merged"),
        pytest.param(
            PULL, MERGED.format(pull="Always", more=OWN), MERGED.format(pull="IfNotPresent", more=OWN), id="overridden"
        ),
        pytest.param(
            RETIRED, "x-image: &image k8s.gcr.io/pause:3.5\n" + job("", JOB.replace("registry.example.com/train:1.4", "*image")),
            "x-image: &image registry.k8s.io/pause:3.5\n" + job("", JOB.replace("registry.example.com/train:1.4", "*image")),
            id="extension",
        ),
        pytest.param(
            TTL, job("", "x-spec: &spec\n  backoffLimit: 1\n" + JOB.replace("spec:\n  comp", "spec:\n  <<: *spec\n  comp")),
            job(NEW, "x-spec: &spec\n  backoffLimit: 1\n" + JOB.replace("spec:\n  comp", "spec:\n  <<: *spec\n  comp")),
            id="absent from both",
        ),
    ],
)  # fmt: skip
def test_an_anchor_is_edited_if_all_its_users_need_it(rule: str, before: str, after: str, write: Write) -> None:
    folder = write({"a.yaml": before})
    assert fixed(folder, ["a.yaml"], rule) == {"a.yaml": after.encode()}


SPEC = """\
- apiVersion: kubeflow.org/v1
  kind: PyTorchJob
  metadata:
    name: {name}
  spec:
    pytorchReplicaSpecs:
      Worker:
        replicas: {count}
        template:
          spec: {spec}
"""
POD = "&pod\n            hostNetwork: true\n            containers:\n            - {name: a, image: registry.example.com/a:1}"


@pytest.mark.parametrize("other", [16, 1])
def test_an_anchored_map_gets_a_key_if_all_its_users_need_it(other: int, write: Write) -> None:
    text = ITEMS + SPEC.format(name="a", count=16, spec=POD) + SPEC.format(name="b", count=other, spec="*pod")
    folder = write({"a.yaml": text})
    if other == 1:  # a job of one pod has nobody to look up
        (why,) = helped((DNS,))
        assert (
            why
            == "Not fixed: dnsPolicy would also be set for PyTorchJob/b/Worker, which is fine with it\nuse a value of its own for this template"
        )
        return
    new = text.replace("hostNetwork: true\n", "hostNetwork: true\n            dnsPolicy: ClusterFirstWithHostNet\n")
    assert fixed(folder, ["a.yaml"], DNS) == {"a.yaml": new.encode()}


@pytest.mark.parametrize(
    ("text", "rule", "why"),
    [
        pytest.param(
            items("&pull Always", "*pull", tag="latest"), PULL,
            "Not fixed: imagePullPolicy also sets Job/job-1/train, which is fine with it\nuse a value of its own for this container", id="value",
        ),
        pytest.param(
            job("", JOB.replace("registry.example.com/train:1.4", "&i k8s.gcr.io/pause:3.5\n          env: [{name: A, value: *i}]")),
            RETIRED, "Not fixed: `&i` is used 2 times, and 1 of them should change\nuse a value of its own for this image", id="what kcheck knows nothing of",
        ),
    ],
)  # fmt: skip
def test_an_anchor_is_kept_if_one_of_its_users_is_fine_with_it(text: str, rule: str, why: str, write: Write) -> None:
    write({"a.yaml": text})
    assert helped((rule,)) == {why}


# --- items of lists, by a rule of one's own

RULE = """\
summary: Job pulls without the company's secret
severity: warning
subject: object
when: object.kind == "Job"
problem: >-
  !has(object.spec.template.spec.imagePullSecrets) || object.spec.template.spec.imagePullSecrets.all(s, s.name != "hub")
at: object.spec.template.spec.imagePullSecrets
message: "{object.metadata.name} pulls without the secret"
fix: {safety: safe, changes: [{append: object.spec.template.spec.imagePullSecrets, to: "{'name': 'hub'}"}]}
---
why: |
  It is asked for.
examples:
  - file: job.yaml
    bad: &bad |
      {apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {}}}}
    good: |
      {apiVersion: v1, kind: Pod, metadata: {name: a}}
"""
PODS = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      {more}\n      containers:\n      - name: a\n        image: b\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("imagePullSecrets: []", "imagePullSecrets:\n- name: hub", id="empty"),
        pytest.param("imagePullSecrets: # none", "imagePullSecrets: # none\n- name: hub", id="null"),
        pytest.param(
            "imagePullSecrets:\n- name: a # ours\n# the end", "imagePullSecrets:\n- name: a # ours\n- name: hub\n# the end", id="flat"
        ),
        pytest.param(
            'imagePullSecrets:\n  - name: "a"', 'imagePullSecrets:\n  - name: "a"\n  - name: "hub"', id="deep, quotes"
        ),
        pytest.param("imagePullSecrets: [{name: a}]", "imagePullSecrets: [{name: a}, {name: hub}]", id="flow"),
        pytest.param(
            "imagePullSecrets: [\n  {name: a}, # ours\n]", "imagePullSecrets: [\n  {name: a}, # ours\n  {name: hub},\n]", id="lines"
        ),
        pytest.param(
            "imagePullSecrets: [\n  {name: a} # ours\n]", "imagePullSecrets: [\n  {name: a}, # ours\n  {name: hub}\n]", id="comment"
        ),
    ],
)  # fmt: skip
def test_new_items_keep_the_style_of_the_list(before: str, after: str, write: Write) -> None:
    old, new = (PODS.replace("      {more}\n", indent(text, " " * 6) + "\n") for text in (before, after))
    folder = write({"job.yaml": old, "own/images/no-secret.yaml": RULE})
    config = Config(rules=("own",), exclude=("own",))
    assert fixed(folder, ["job.yaml"], "no-secret", config=config) == {"job.yaml": new.encode()}


def test_a_new_list_is_added_at_the_end(write: Write) -> None:
    old = PODS.replace("      {more}\n", "")
    folder = write({"job.yaml": old, "own/images/no-secret.yaml": RULE})
    config = Config(rules=("own",), exclude=("own",))
    new = f"{old}      imagePullSecrets:\n      - name: hub\n"
    assert fixed(folder, ["job.yaml"], "no-secret", config=config) == {"job.yaml": new.encode()}
