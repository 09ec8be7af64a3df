"""Gang scheduling of jobs: starter of all pods, and their queue."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers import names
from kcheck.config.numbers.fields import Fields
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.workloads.scalars import absent, integer, scalar, text, written_map
from kcheck.model import NOTHING, PodTemplate, Workload
from kcheck.text import placeholders
from kcheck.text.need import first_unknown
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, number

KUEUE = "kueue.x-k8s.io/queue-name"
_OWN_LABELS = ("metadata", "labels")
_LABELS = {"batch/CronJob": ("spec", "jobTemplate", *_OWN_LABELS), "ray.io/RayCronJob": ()}
"""Kind -> path of the labels Kueue reads, if not the object's own; empty if its jobs get none."""

VOLCANO = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
NAMES = (
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "volcano.sh/group-name",
    "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name",
)  # fmt: skip
"""Labels and annotations that name a PodGroup."""

MARKS = (
    *NAMES, "pod-group.scheduling/name", "yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups",
    "kai.scheduler/queue", "runai/queue", "gang.scheduling.koordinator.sh/name", "ray.io/gang-scheduling-enabled",
    "ray.io/scheduler-name", "scheduling.run.ai/pod-group-name",
    "autoscaling.x-k8s.io/consume-provisioning-request", "autoscaling.x-k8s.io/provisioning-class-name",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request", "kueue.x-k8s.io/pod-group-name",
)  # fmt: skip
"""Labels and annotations by which a scheduler groups pods."""

_SUSPENDED = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))


def queue(
    item: Object, kind: str, labels: Value[dict[str, str]], annotations: Value[dict[str, str]], fields: Fields | None,
    found: tuple[PodTemplate, ...],
) -> tuple[Value[str], Value[str]]:  # fmt: skip
    """Return the queue of a job, and its system: kueue or volcano."""
    if isinstance(labels, Unknown):
        return labels, labels
    path = _LABELS.get(kind, _OWN_LABELS)
    own = (known(labels) or {}) | (known(written_map(item.root, *path)) or {}) if path else {}
    root = item.root
    if item.holder is not None:  # which waits in the queue as a whole
        root, path, own = item.holder, _OWN_LABELS, known(written_map(item.holder, *_OWN_LABELS)) or {}
    if KUEUE in own:
        node = yaml.get(root, *path)
        inner = yaml.get(node, KUEUE)
        place = Origin(((inner or node or root).span,), literal=isinstance(inner, yaml.Scalar))
        return _named(own[KUEUE], place), Known("kueue", place)
    others = (annotations, *(t.annotations for t in found), *(t.labels for t in found))
    marks = [own, *(known(mark) or {} for mark in others)]
    name = next((mark[key] for mark in marks for key in VOLCANO if key in mark), None)
    here = Origin((item.span,))
    if name is not None:
        return _named(name, here), Known("volcano", here)
    written: Value[str] = fields.text("queue") if fields is not None and fields.has("queue") else Unset(here)
    if isinstance(written, Unset):
        return _without_label(root, path, here), Unset(here)
    return written, Known("volcano", written.origin or here)


def _without_label(root: yaml.Target, path: tuple[str, ...], place: Origin) -> Unset:
    """Return Unset with the place where a queue label would be written."""
    return absent(root, *path, KUEUE) if path else Unset(place)


def _named(name: str, place: Origin) -> Value[str]:
    """Return a queue's name; Unknown if it contains a placeholder."""
    return placeholders.unknown([name], place) or Known(name, place)


class Native(Struct, frozen=True):
    """Settings of Kubernetes' own gang scheduling, and pods at once.

    `gang` is Unset if the PodGroup has the policy `basic`, None if nothing is set.
    """

    field: Value[str] = NOTHING
    gang: Value[str] | None = None
    least: Value[int] = NOTHING


def native(item: Object, kind: str, specs: Iterable[yaml.Node], groups: dict[str, Object]) -> Native:
    """Read the gang from a Job (1.37), PodGroup (1.36) or Workload (1.35)."""
    gang_ = yaml.get(item.root, *_OF_JOB) if kind == "batch/Job" else None
    if gang_ is not None:
        own = _native("spec.scheduling", gang_)
        return replace(own, least=integer(gang_, "minCount"))
    for spec in specs:
        for name in ("schedulingGroup", "workloadRef"):
            node = yaml.get(spec, name)
            if node is None:
                continue
            group = groups.get(str(known(text(node, "podGroupName"))))
            if group is None or not group.api_version.startswith(_API):
                return _native(name, node)
            if yaml.get(group.root, *_POLICY, "basic") is not None:
                return replace(_native(name, node), gang=absent(group.root, *_POLICY, "gang"))
            return replace(_native(name, node), least=integer(group.root, *_POLICY, "gang", "minCount"))
    return Native()


_API = "scheduling.k8s.io/"
_OF_JOB = ("spec", "scheduling", "schedulingPolicy", "gang")
_POLICY = ("spec", "schedulingPolicy")
"""Paths of Kubernetes' own gangs: in a Job, in a PodGroup."""


def _native(field: str, node: yaml.Target) -> Native:
    value = Known(field, Origin((node.span,)))
    return Native(value, value)


def gang(
    item: Object, kind: str, own: tuple[Value[dict[str, str]], ...], found: tuple[PodTemplate, ...], system: Value[str],
    native: Native,
) -> Value[str]:  # fmt: skip
    """Name the gang scheduler of a job; Unset without one."""
    here = Origin((item.span,))
    if known(system) == "kueue":
        return Known("Kueue", here)
    if kind == "batch.volcano.sh/Job":
        return Known("Volcano", here)
    if native.gang is not None:
        return native.gang
    marks = [*own, *(mark for template in found for mark in (template.labels, template.annotations))]
    named = (key for mark in filter(None, map(known, marks)) for key in MARKS if key in mark)
    for starter in (*named, *filter(None, map(_starter, found))):
        return Known(starter, here)
    if _is_slice(item, kind, found):
        return Known("its slice of TPUs", here)
    policy = yaml.get(item.root, "spec", "runPolicy", "schedulingPolicy")  # of the training operator
    if policy is not None:
        return Known("its scheduling policy", Origin((policy.span,)))
    holders = [item.root, *filter(None, [item.holder])] if yaml.get(item.root, "spec", "schedule") is None else []
    if any(known(scalar(root, *path)) is True for root in holders for path in _SUSPENDED):
        return Unknown("the job is suspended, and nothing in the code starts it", here)
    if unknown := first_unknown((*marks, *(template.scheduler for template in found))):
        return unknown
    whole = (item.holder, _OWN_LABELS) if item.holder else (item.root, _LABELS.get(kind, _OWN_LABELS))
    return _without_label(*whole, here)


def _starter(template: PodTemplate) -> str:
    """Return what starts pods together, according to their template; empty if nothing."""
    if isinstance(template.scheduler, Known) and template.scheduler.value != "default-scheduler":
        return template.scheduler.value
    selected = {one.key for terms in known(template.selection) or () for one in terms}
    return "" if selected.isdisjoint(names.listed("queued")) else "queued provisioning"


def with_group(workload: Workload, groups: dict[str, Object]) -> Workload:
    """Set the minimum number of pods of a job from the PodGroup its pods name."""
    if not isinstance(workload.least, Unset) or not groups:
        return workload
    marks = [workload.labels, *(mark for one in workload.templates for mark in (one.labels, one.annotations))]
    names = (found[key] for mark in marks if (found := known(mark) or {}) for key in NAMES if key in found)
    group = groups.get(next(names, ""))
    return workload if group is None else replace(workload, least=integer(group.root, "spec", "minMember"))


def _is_slice(item: Object, kind: str, found: tuple[PodTemplate, ...]) -> bool:
    """Whether a job runs on one slice of TPUs, whose nodes come and go together."""
    if not any(known(one.gpu) in names.listed("slices") for template in found for one in template.containers):
        return False
    jobs = yaml.items(item.root, "spec", "replicatedJobs") if kind == "jobset.x-k8s.io/JobSet" else []
    return kind == "batch/Job" or (len(jobs) == 1 and number(integer(jobs[0], "replicas"), 1) == 1)
