"""Workloads of Kubernetes objects, with settings of related objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.record import MappingRecord
from kcheck.kubernetes.workloads import devices, gangs, kubeflow, places, pods
from kcheck.kubernetes.workloads.scalars import gap, integer, scalar, text, written, written_map
from kcheck.model import NOTHING, PodTemplate, Service, Workload
from kcheck.text import placeholders
from kcheck.text.need import first_unknown, need, or_unknown, total
from kcheck.text.partly_known import may_equal
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text, whole_number
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, first_set, known, mapped

T = TypeVar("T")

_Scaled = tuple[str, str, str, str]
"""Folder, namespace, kind and name of a scaled object."""

ALONE = frozenset(name.rpartition("/")[2] for name in profiles.workloads()) | {"Service"}
"""Kinds that run pods or lead to them, and that no other object needs."""
_BOUNDS = {
    "HorizontalPodAutoscaler": ("maxReplicas", "minReplicas", 1),
    "ScaledObject": ("maxReplicaCount", "minReplicaCount", 0),
}  # fmt: skip
"""Kind of a scaler -> keys of its maximum and its minimum in the spec, and the usual minimum."""
_ACCOUNT = "ServiceAccount"
_DEFAULT_ACCOUNT = "default"
KINDS = ALONE | kubeflow.KINDS | _BOUNDS.keys() | devices.KINDS | {"PodGroup", _ACCOUNT}
"""Kinds that run pods, and those that configure them."""


def kind_of(item: Object) -> str:
    """Return the kind of an object with its API group: `batch/Job`, `Pod`."""
    group = item.api_version.rpartition("/")[0]
    return f"{group}/{item.kind}" if group else item.kind


class Workloads:
    """Workloads among some objects, with settings from other objects."""

    def __init__(self, objects: list[Object]) -> None:
        groups = (one for one in objects if one.kind == "PodGroup")
        self._groups = {str(known(written(one.root, "metadata", "name"))): one for one in groups}
        self._devices = devices.Devices(objects)
        self._runtimes = kubeflow.by_name(objects)
        self._signed = _with_secrets(objects)
        self._grown = _scaled(objects)

    def of(self, item: Object) -> Workload | None:
        """Return the workload of an object; None if it has no pods."""
        kinds, kind = profiles.workloads(), kind_of(item)
        if kind not in kinds and next(places.found(item), None) is None:
            return None
        complete = kubeflow.completed(kubeflow.by_roles(item), self._runtimes)
        workload = _workload(complete, kind, kinds.get(kind, places.UNKNOWN), self._groups, self._devices)
        workload = kubeflow.kept(gangs.with_group(workload, self._groups), item)
        workload = _with_most(_signed_in(workload, item, self._signed), item, self._grown)
        return kubeflow.with_runtime(workload, complete, self._runtimes) if kind == kubeflow.USER else workload


def identity(item: Object) -> str:
    """Return the identity of an object: its file, kind, namespace and name."""
    name, namespace = (known(written(item.root, "metadata", key)) for key in ("name", "namespace"))
    space = f"{namespace}/" if namespace is not None else ""
    return f"{item.owner_path}:{item.kind}/{space}{name if name is not None else '?'}"


def _workload(
    item: Object, kind: str, entry: profiles.WorkloadKind, pod_groups: dict[str, Object], claimed: devices.Devices
) -> Workload:
    own = identity(item)
    groups = places.groups(item, entry)
    made = (_packed(claimed.given(group.template(item, own), item), item) for group in groups)
    found = tuple(_driven(one, item, kind) for one in made)
    specs = [spec for group in groups if (spec := places.spec(group.node))]
    labels, annotations = (written_map(item.root, "metadata", key) for key in ("labels", "annotations"))
    batch, per_node = entry.get("batch", False), entry.get("per_node", False)
    secrets = next((node for spec in specs if (node := yaml.get(spec, "imagePullSecrets")) is not None), None)
    origin = Origin((secrets.span if secrets is not None else item.span,))
    fields = _fields(item, kind)
    queue, system = gangs.queue(item, kind, labels, annotations, fields, found)
    native = gangs.native(item, kind, specs, pod_groups)
    marks = known(annotations) or {}
    make: Callable[..., Workload] = Workload
    if fields is not None:
        make = partial(fields.record_of, Workload)  # type: ignore[call-arg] # all are given below
    return make(
        own, item.span, item.kind, namespace=text(item.root, "metadata", "namespace"), name=_name(item),
        per_node=per_node, pods=_pods(found, item), gpus=_most([template.gpus for template in found], item),
        pull_secrets=Known(isinstance(secrets, yaml.Sequence) and bool(secrets.items), origin),
        images=tuple(image for template in found for one in template.containers if (image := pods.image(one))),
        templates=found, labels=labels, batch=batch, rigid=_rigid(item, kind, found, entry),
        gang=gangs.gang(item, kind, (labels, annotations), found, system, native), native_gang=native.field,
        queue=queue, queue_system=system, priority=_priority(fields, found, item),
        shutdown=_shutdown(fields, kind, item), deadline=_deadline(fields, kind, item, specs),
        least=native.least if native.gang is not None else _field(Fields.number, fields, "least"),
        launching=_field(Fields.text, fields, "launching") if item.api_version.endswith("/v2beta1") else NOTHING,
        spares_disruptions=_spares(item, kind), release=False, group=kind.rpartition("/")[0], api=item.api_version,
        hooked=item.holder is not None or any("/hook" in key for key in marks), shrinks=_SHRINKS in marks,
        partial=_partial(found, kind), disposed=_disposed(item, kind, found),
    )  # fmt: skip


_SHRINKS = "kueue.x-k8s.io/job-min-parallelism"
"""Kueue's annotation with the fewest pods of a Job that it may admit."""
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""JobSet's annotation with a label; each of its jobs gets a domain of that label alone."""


def _packed(template: PodTemplate, item: Object) -> PodTemplate:
    """Set the domain that a job's pods must share."""
    domain = text(item.root, "metadata", "annotations", _EXCLUSIVE)
    tree = yaml.get(item.root, "spec", "networkTopology") if item.kind == "Job" else None
    if tree is not None:
        domain = Known("networkTopology", Origin((tree.span,)))
    return template if isinstance(domain, Unset) else replace(template, packed_by=domain)


def _driven(template: PodTemplate, item: Object, kind: str) -> PodTemplate:
    """Add the command and runtime environment of a Ray job to its containers."""
    spec = yaml.get(item.root, *_RAY_JOBS[kind]) if kind in _RAY_JOBS else None
    words = "\n".join(yaml.text(spec, key) for key in ("entrypoint", "runtimeEnvYAML")) if spec else ""
    given = (replace(one, text=f"{one.text}\n{words}") for one in template.containers)
    return replace(template, containers=tuple(given)) if words else template


_JOBS = {"batch/Job": ("spec",), "batch/CronJob": ("spec", "jobTemplate", "spec")}
_RAY_JOBS = {"ray.io/RayJob": ("spec",), "ray.io/RayCronJob": ("spec", "jobTemplate")}
"""Kind -> path of the spec of its Jobs or RayJobs."""


def _name(item: Object) -> Value[str]:
    """Return the name of an object, or the prefix of its generated name."""
    own, begin = (written(item.root, "metadata", key) for key in ("name", "generateName"))
    return begin if isinstance(own, Unset) and isinstance(begin, Known) else own


def _partial(found: tuple[PodTemplate, ...], kind: str) -> bool:
    """Whether a manifest is a patch: no container has an image."""
    if kind == kubeflow.USER or kind in _RAY_JOBS:
        return False
    return all(isinstance(one.image, Unset) for template in found for one in template.containers)


def _disposed(item: Object, kind: str, found: tuple[PodTemplate, ...]) -> Value[str]:
    """Return the field whose volumes are deleted with a job; Unset if there is none."""
    for template in found:
        if isinstance(template.volumes, Unknown):
            return template.volumes
        if any(volume.kind == _EPHEMERAL for volume in known(template.volumes) or ()):
            return Known("ephemeral volumeClaimTemplates", template.volumes.origin)  # which belong to the pods
    key = _CLAIMS.get(kind, "")
    if key and (unknown := gap(item.root, "spec", key)):
        return unknown
    for one in yaml.items(item.root, "spec", key) if key else ():
        made = kind == "jobset.x-k8s.io/JobSet" or yaml.get(one, "volumeClaim") is not None
        if made and known(text(one, "retentionPolicy", "whenDeleted")) != "Retain":
            return Known(key, Origin((one.span,)))
    return Unset(Origin((item.span,)))


_EPHEMERAL = "ephemeral"
"""Kind of a volume with a separate claim for each pod."""


_CLAIMS = {"jobset.x-k8s.io/JobSet": "volumeClaimPolicies", "batch.volcano.sh/Job": "volumes"}
"""Kind of a job that may create volumes -> key of the list in its spec."""


def _deadline(fields: Fields | None, kind: str, item: Object, specs: Iterable[yaml.Target]) -> Value[int]:
    """Return the deadline of a job: its own, its first Job's, or its first pod's."""
    own = _field(Fields.number, fields, "deadline")
    jobs = [one for one in yaml.items(item.root, "spec", "replicatedJobs") if kind == "jobset.x-k8s.io/JobSet"]
    inner = [integer(one, "template", "spec", "activeDeadlineSeconds") for one in jobs]
    of_pods = [integer(spec, "activeDeadlineSeconds") for spec in specs]
    return first_set(own, *inner, *of_pods, *(inner[:1] or [own]))


def _shutdown(fields: Fields | None, kind: str, item: Object) -> Value[bool]:
    """Whether a job's Ray cluster is deleted when the job ends."""
    own = yaml.get(item.root, *_RAY_JOBS[kind], "deletionStrategy") if kind in _RAY_JOBS else None
    if own is None:
        return _field(Fields.flag, fields, "shutdown")
    rules = [*yaml.items(own, "deletionRules"), yaml.get(own, "onSuccess"), yaml.get(own, "onFailure")]
    policies = {yaml.text(rule, "policy") for rule in rules if rule is not None}
    return Known(policies != {"DeleteNone"}, Origin((own.span,)))


def _fields(item: Object, kind: str) -> Fields | None:
    """Return the settings of a job by its API version; None without a table."""
    names = (f"{kind}.{item.api_version.rpartition('/')[2]}", kind)
    name = next((one for one in names if one in profiles.table("any")), None)
    return Fields("any", name, MappingRecord(item.root, item.span)) if name is not None else None


def _field(read: Callable[[Fields, str], Value[T]], fields: Fields | None, name: str) -> Value[T]:
    """Read a field of a job; Unset if its kind has no such field."""
    return read(fields, name) if fields is not None and fields.has(name) else NOTHING


def _priority(fields: Fields | None, found: tuple[PodTemplate, ...], item: Object) -> Value[str]:
    values = [template.priority for template in found]
    here = (values[0].origin if values else None) or Origin((item.span,))
    return first_set(_field(Fields.text, fields, "priority"), *values, Unset(here))


def _pods(found: tuple[PodTemplate, ...], item: Object) -> Value[int]:
    if len(found) == 1:
        return found[0].count
    return total([template.count for template in found], Origin((item.span,)))


def _most(values: list[Value[int]], item: Object) -> Value[int]:
    """Return the largest of some numbers; Unknown if any of them is."""
    unknown = first_unknown(values)
    numbers = [value for value in values if isinstance(value, Known)]
    return unknown or max(numbers, key=lambda value: value.value, default=Known(0, Origin((item.span,))))


@or_unknown
def _rigid(item: Object, kind: str, found: tuple[PodTemplate, ...], entry: profiles.WorkloadKind) -> Value[bool]:
    """Whether the pods of a job need each other."""
    place, pods_ = Origin((item.span,)), known(_pods(found, item))
    fixed = any(_FIXED.search(one.text) for template in found for one in template.containers)
    if (not fixed and yaml.get(item.root, "spec", "elasticPolicy") is not None) or pods_ in (0, 1):
        return Known(value=False, origin=place)
    if any(ELASTIC.search(one.text) for template in found for one in template.containers):
        return Known(value=False, origin=place)
    need(gap(item.root, "spec"))
    if entry.get("rigid") in (True, "fixed"):
        return Known(value=entry["rigid"] is True or places.is_fixed(item, entry), origin=place)
    if isinstance(path := entry.get("rigid"), str):
        groups = integer(item.root, *places.steps(path))
        return Known(value=True, origin=place) if isinstance(groups, Unset) else mapped(groups, lambda one: one == 1)
    spec = _JOBS.get(kind, ())
    if any(_waits(one, pods_) for one in found):
        return Known(value=True, origin=place)
    mode = text(item.root, *spec, "completionMode") if spec else Unset(place)
    meets = any(isinstance(one.subdomain, Known) or any(c.starters for c in one.containers) for one in found)
    programs = (container.text.split(" ")[0] for one in found for container in one.containers)
    unnamed = placeholders.unknown(programs, place)
    if not may_equal(mode, "Indexed") or not (meets or unnamed):
        return Known(value=False, origin=place)
    need(mode)
    return unnamed if unnamed and not meets else Known(value=True, origin=place)


def _waits(one: PodTemplate, pods_: int | None) -> bool:
    """Whether torchrun needs several nodes, by its arguments or world size."""
    text, gpus = " ".join(container.text for container in one.containers), known(one.gpus)
    if _NODES.search(text) or pods_ is None or gpus is None:
        return _NODES.search(text) is not None
    return any(size > max(gpus, 1) and size % pods_ == 0 for size in map(int, _WORLD.findall(text)))


_NODES = regex(r"(?:--nnodes[= ]+|\b(?:PET_)?NNODES )(?:[2-9]|1[0-9])")
_FIXED = regex(r"--nnodes[= ]+[^\s:]+(?:\s|$)")
_WORLD = regex(r"\bWORLD_SIZE ([0-9]{1,6})\b")
"""Arguments and variables of torch for several nodes and for all processes:
https://docs.pytorch.org/docs/stable/elastic/run.html,
https://github.com/kubeflow/trainer/blob/v2.2.0/pkg/constants/constants.go
"""
ELASTIC = regex(r"--nnodes[= ](?P<least>[0-9]{1,6}):(?!(?P=least)(?![0-9]))[0-9]")
"""torchrun argument that allows a start with fewer nodes than the maximum."""


def _spares(item: Object, kind: str) -> Value[bool]:
    """Whether a Job does not count evicted or preempted pods as failures."""
    path = _JOBS.get(kind)
    if path is None:
        return NOTHING
    for rule in yaml.items(item.root, *path, "podFailurePolicy", "rules"):
        types = [known(text(condition, "type")) for condition in yaml.items(rule, "onPodConditions")]
        if known(text(rule, "action")) == "Ignore" and "DisruptionTarget" in types:
            return Known(value=True, origin=Origin((rule.span,)))
    return Known(value=False, origin=Origin((item.span,)))


def services(item: Object) -> Iterator[Service]:
    """Yield the Service in an object, and whether it takes an address."""
    if item.kind != "Service" or item.api_version != "v1":
        return
    kind, address = text(item.root, "spec", "type"), known(scalar(item.root, "spec", "clusterIP"))
    ports = len(yaml.items(item.root, "spec", "ports"))
    count = mapped(kind, lambda one: ports if one == "LoadBalancer" else 0)
    name = mapped(scalar(item.root, "metadata", "name"), as_text)
    own = f"{item.owner_path}:Service/{known(name) or '?'}"
    yield Service(own, item.span, name, count, address != "None" and known(kind) != "ExternalName")


def pod_spec(item: Object) -> yaml.Target | None:
    """Return the only pod spec of an object; None if it has none or several."""
    entry = profiles.workloads().get(kind_of(item))
    place = entry["pods"][0] if entry else {}
    if "at" not in place or {"each", "list", "shape"} & set(place):
        return None
    node = yaml.get(item.root, *places.steps(place["at"]))
    return yaml.get(node, "spec") if node is not None else None


def containers(spec: yaml.Node | None) -> Iterator[yaml.Node]:
    """Iterate over the containers of a pod spec, including init containers."""
    return (container for _, container in pods.containers(spec))


def _with_secrets(objects: Iterable[Object]) -> dict[str, list[Object]]:
    """Return service accounts with pull secrets, by name."""
    result: dict[str, list[Object]] = {}
    for item in objects:
        if item.kind == _ACCOUNT and yaml.items(item.root, "imagePullSecrets"):
            result.setdefault(str(known(written(item.root, "metadata", "name"))), []).append(item)
    return result


def _signed_in(workload: Workload, item: Object, accounts: dict[str, list[Object]]) -> Workload:
    """Add the pull secrets of a workload's service account."""
    if not accounts or not workload.templates or known(workload.pull_secrets) is not False:
        return workload
    for template in workload.templates:
        name = known(template.account) or _DEFAULT_ACCOUNT
        account = next((one for one in accounts.get(name, []) if _serves(one, item, workload, name)), None)
        if account is not None:
            return replace(workload, pull_secrets=Known(value=True, origin=Origin((account.span,))))
    return workload


def _serves(account: Object, item: Object, workload: Workload, name: str) -> bool:
    """Whether a workload may use a service account."""
    spaces = known(written(account.root, "metadata", "namespace")), known(workload.namespace)
    return (None in spaces or spaces[0] == spaces[1]) and (name != _DEFAULT_ACCOUNT or account.folder == item.folder)


def _scaled(objects: Iterable[Object]) -> dict[_Scaled, tuple[Value[int], Value[int]]]:
    """Return the maximum and minimum pods of autoscaled workloads."""
    found: dict[_Scaled, tuple[Value[int], Value[int]]] = {}
    for item in objects:
        if item.kind not in _BOUNDS:
            continue
        key, least_key, usual = _BOUNDS[item.kind]
        name = known(scalar(item.root, "spec", "scaleTargetRef", "name"))
        kind = known(scalar(item.root, "spec", "scaleTargetRef", "kind")) or "Deployment"
        most, here = integer(item.root, "spec", key), Origin((item.span,))
        if isinstance(most, Unset):
            own = known(scalar(item.root, "metadata", "name"))
            most = Unknown(f"`{key}` of {item.kind} {own} is not set", here)
        least = integer(item.root, "spec", least_key)
        by_clock = (yaml.text(one, "metadata", "desiredReplicas") for one in yaml.items(item.root, "spec", "triggers"))
        most_by_clock = max((whole_number(text) or 0 for text in by_clock), default=0)
        least = Known(usual, here) if isinstance(least, Unset) else least
        if isinstance(least, Known) and most_by_clock > least.value:
            least = Known(most_by_clock, here)
        if yaml.get(item.root, "spec", "scaleTargetRef") is not None:
            found[item.folder, _namespace(item), str(kind), str(name)] = most, least
    return found


def _with_most(workload: Workload, item: Object, found: dict[_Scaled, tuple[Value[int], Value[int]]]) -> Workload:
    """Set the bounds on the pods of a workload that an autoscaler scales."""
    bounds = found.get((item.folder, _namespace(item), item.kind, str(known(workload.name)))) if found else None
    if bounds is None or len(workload.templates) != 1:
        return workload
    most, least = bounds
    return replace(workload, pods=most, templates=(replace(workload.templates[0], count=most, kept=least),))


def _namespace(item: Object) -> str:
    return str(known(scalar(item.root, "metadata", "namespace")) or "")
