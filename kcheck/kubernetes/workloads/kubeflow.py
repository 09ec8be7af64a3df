"""Kubeflow's TrainJobs with fields from runtimes, and old MPIJobs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers.names import NVIDIA
from kcheck.kubernetes.objects import Object
from kcheck.kubernetes.patches import items_of, merged_template, set_path
from kcheck.kubernetes.workloads import pods, scalars
from kcheck.kubernetes.workloads.scalars import integer, written
from kcheck.model import PodTemplate, Workload
from kcheck.text.syntax import yaml
from kcheck.text.text import leading
from kcheck.text.values import AtLeast, Known, Origin, Unknown, Unset, Value, known

USER = "trainer.kubeflow.org/TrainJob"
KINDS = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})


Runtimes: TypeAlias = "dict[tuple[str, str], list[Object]]"
"""Runtimes by kind and name: several clusters may each have one."""


def by_name(objects: Iterable[Object]) -> Runtimes:
    """Return the runtimes among some objects."""
    result: Runtimes = defaultdict(list)
    for item in objects:
        if item.kind in KINDS:
            result[item.kind, str(known(written(item.root, "metadata", "name")))].append(item)
    return result


def completed(item: Object, runtimes: Runtimes) -> Object:
    """Replace the trainer of a TrainJob by its runtime's pods, if known.

    https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/apis/trainer/v1alpha1/trainjob_types.go
    """
    trainer, runtime = yaml.get(item.root, "spec", "trainer"), _runtime(item, runtimes)
    if item.kind != "TrainJob" or runtime is None or not isinstance(trainer, yaml.Mapping):
        return item
    jobs = yaml.items(runtime.root, "spec", "template", "spec", "replicatedJobs")
    trained = (one for one in jobs if known(written(one, "template", "metadata", "labels", _STEP)) == _TRAINS)
    job = next(trained, None)
    template = yaml.get(job, "template", "spec", "template")
    containers = yaml.get(template, "spec", "containers")
    if job is None or not isinstance(template, yaml.Mapping) or not isinstance(containers, yaml.Sequence):
        return item
    template = patched(template, item, str(known(written(job, "name"))))
    found = [_overlaid(one, trainer) for one in yaml.items(template, "spec", "containers")]
    template = set_path(template, ("spec", "containers"), items_of(containers, found))
    for key, entry in yaml.entries(trainer).items():
        if key not in _OF_CONTAINER:
            template = set_path(template, (key,), yaml.resolve(entry.value))
    return replace(item, root=set_path(item.root, ("spec", "trainer"), template))


_OF_CONTAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resourcesPerNode": "resources"}
"""Field of a trainer -> field of its container."""
_STEP, _TRAINS, NODE = "trainer.kubeflow.org/trainjob-ancestor-step", "trainer", "node"
"""Label, job and container of the training step:
https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/constants/constants.go
"""


def patched(template: yaml.Mapping, item: Object, job: str = NODE) -> yaml.Mapping:
    """Apply a TrainJob's overrides to the pod template of its runtime's job.

    https://github.com/kubeflow/trainer/blob/v2.2.0/pkg/runtime/core/trainingruntime.go
    """
    for patch in _patches(item, job):
        template = merged_template(template, patch) if isinstance(patch, yaml.Mapping) else template
    return template


def _patches(item: Object, job: str) -> Iterator[yaml.Target | None]:
    """Yield the patches of a job's pods, of any release of Trainer."""
    for key in ("podSpecOverrides", "podTemplateOverrides"):
        for one in yaml.items(item.root, "spec", key):
            if any(known(written(target, "name")) == job for target in yaml.items(one, "targetJobs")):
                of_pod = scalars.mapping_at(one, [scalars.entry(one, "spec", one)])
                yield of_pod if key == "podSpecOverrides" else one
    for one in yaml.items(item.root, "spec", "runtimePatches"):
        for inner in yaml.items(one, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            if known(written(inner, "name")) == job:
                yield yaml.get(inner, "template", "spec", "template")


def _runtime(item: Object, runtimes: Runtimes) -> Object | None:
    """Return the runtime that a TrainJob names, the nearest if there are several."""
    kind = str(known(written(item.root, "spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    found = runtimes.get((kind, str(known(written(item.root, "spec", "runtimeRef", "name")))), [])
    own = item.span.source.path.split("/")
    return max(found, key=lambda one: leading(own, one.span.source.path.split("/")), default=None)


def _overlaid(container: yaml.Target, trainer: yaml.Mapping) -> yaml.Target:
    """Override a runtime's container with the trainer's settings."""
    if not isinstance(container, yaml.Mapping) or known(written(container, "name")) != NODE:
        return container
    own = yaml.entries(trainer)
    added = {name: yaml.resolve(own[key].value) for key, name in _OF_CONTAINER.items() if key in own}
    base, env = yaml.get(container, "env"), added.get("env")
    if isinstance(base, yaml.Sequence) and isinstance(env, yaml.Sequence):
        added["env"] = yaml.Sequence(*env.span, None, (*base.items, *env.items), flow=False)
    for name, value in added.items():
        container = set_path(container, (name,), value)
    return container


def with_runtime(workload: Workload, item: Object, runtimes: Runtimes) -> Workload:
    """Add the settings of a TrainJob's runtime, unknown if it was not read."""
    name, runtime = str(known(written(item.root, "spec", "runtimeRef", "name"))), _runtime(item, runtimes)
    why = Unknown(f"the runtime {name} of TrainJob {known(workload.name) or '?'} sets it", Origin((item.span,)))
    gang = workload.gang if not isinstance(workload.gang, Unset) else why if runtime is None else _gang(runtime, item)
    if runtime is not None and yaml.get(item.root, "spec", "trainer", "spec") is not None:
        return replace(workload, gang=gang)
    return replace(workload, gang=gang, templates=tuple(_completed(one, why) for one in workload.templates))


def _gang(runtime: Object, item: Object) -> Value[str]:
    policy = yaml.get(runtime.root, "spec", "podGroupPolicy")
    return Known("its runtime's podGroupPolicy", Origin((policy.span,))) if policy else Unset(Origin((item.span,)))


def _completed(template: PodTemplate, why: Unknown) -> PodTemplate:
    """Mark what an unread runtime may set or extend in a TrainJob's pods."""
    found = [(name, getattr(template, name)) for name in (*_REPLACED, *_EXTENDED)]
    whole = {name: value if known(value) else why for name, value in found if name in _REPLACED}
    parts = {name: AtLeast(why.reason, value.origin, part=known(value)) for name, value in found if name in _EXTENDED}
    return replace(template, **whole, **parts, host_ipc=why, restart=why, node_devices=why)


_REPLACED = ("tolerations", "grace", "safe_to_evict", "do_not_disrupt", "packed_by", "topology")
_EXTENDED = ("labels", "annotations", "selection", "volumes")
"""Fields that a runtime may add to; a patch replaces those of `_REPLACED`."""


# --- MPIJobs of v1alpha1

_FIRST_MPI = "kubeflow.org/v1alpha1"
"""Version whose operator makes a launcher and the workers of one template, checked 2026-11-22:
https://github.com/kubeflow/mpi-operator/blob/v0.2.3/pkg/controllers/v1alpha1/mpi_job_controller.go
"""
_TOTALS = {"processingUnits": "processingUnitsPerNode", "gpus": "gpusPerNode"}
"""Key of the total of all workers -> key of the number per worker."""


class _Workers(Struct, frozen=True):
    """Number of workers, and GPUs or CPUs of each; None if only the template sets it."""

    number: yaml.Target | None
    units: yaml.Target | None
    resource: str = NVIDIA


def _is_first_mpi(item: Object) -> bool:
    return item.api_version == _FIRST_MPI and item.kind == "MPIJob"


def kept(job: Workload, item: Object) -> Workload:
    """Mark the pods of a v1alpha1 MPIJob as fixed, since both roles have one template."""
    if not _is_first_mpi(item):
        return job
    return replace(job, templates=tuple(pods.fixed(one, f"{_FIRST_MPI} has one template") for one in job.templates))


def by_roles(item: Object) -> Object:
    """Convert a v1alpha1 MPIJob to pods by role; return any other object as is."""
    spec, template = yaml.get(item.root, "spec"), yaml.get(item.root, "spec", "template")
    if not _is_first_mpi(item) or template is None or not isinstance(spec, yaml.Mapping):
        return item
    workers = _workers(spec)
    own = yaml.entries(spec)
    worker, limits = template, ("resources", "limits", workers.resource)
    if workers.units is not None:  # the operator limits the first container
        worker = _with(template, limits, workers.units)
    none = _mapping(spec, {name: scalars.computed_at(spec, 0) for name in ("cpu", "memory")})
    # the operator removes the resources of the template from a launcher
    launcher = yaml.get(spec, "launcherResources") or _mapping(spec, {"requests": none})
    roles = {
        "Launcher": _role(template, None, _with(template, ("resources",), launcher)),
        "Worker": _role(template, workers.number, worker),
    }
    added: dict[str, yaml.Target] = {"mpiReplicaSpecs": _mapping(template, roles)}
    slots = workers.units or yaml.get(next(iter(yaml.items(template, "spec", "containers")), None), *limits)
    if "slotsPerWorker" not in own and slots is not None:
        added["slotsPerWorker"] = slots
    if "cleanPodPolicy" not in own:  # its operator always deletes them
        added["cleanPodPolicy"] = scalars.computed_at(spec, "Running")
    root = item.root
    for key, value in added.items():
        root = set_path(root, ("spec", key), value)
    return replace(item, root=root)


def _workers(spec: yaml.Mapping) -> _Workers:
    resource = "cpu" if yaml.text(spec, "processingResourceType") == "cpu" else NVIDIA
    total, each = next((pair for pair in _TOTALS.items() if yaml.get(spec, pair[0]) is not None), ("", ""))
    if not total:
        return _Workers(yaml.get(spec, "replicas"), None, resource)
    all_, one = integer(spec, total), integer(spec, each)
    if isinstance(one, Unset):  # which is 1 by default, and 8 in the manifests of its release
        one = Unknown(f"`{each}` is not set, and a flag of the operator says how many GPUs a worker has", one.origin)
    unknown = next((value for value in (all_, one) if not isinstance(value, Known)), None)
    units, whole = known(one) or 1, known(all_) or 0
    if unknown is None and whole > units and whole % units:
        unknown = Unknown(f"`{total}: {whole}` is not a multiple of `{each}: {units}`", all_.origin)
    if unknown is not None:
        node = scalars.computed_at(spec, unknown if isinstance(unknown, Unknown) else Unknown(f"`{total}` is not set"))
        return _Workers(node, node, resource)
    number, of_each = (1, whole) if whole < units else (whole // units, units)
    return _Workers(scalars.computed_at(spec, number), scalars.computed_at(spec, of_each), resource)


def _role(template: yaml.Target, number: yaml.Target | None, pod: yaml.Target) -> yaml.Target:
    return _mapping(template, {"replicas": number or scalars.computed_at(template, 1), "template": pod})


def _with(template: yaml.Target, path: tuple[str, ...], value: yaml.Target) -> yaml.Target:
    """Set a value at a path of the template's first container."""
    first, *others = yaml.items(template, "spec", "containers") or [template]
    if not isinstance(template, yaml.Mapping) or not isinstance(first, yaml.Mapping) or first is template:
        return template
    listed = yaml.Sequence(*first.span, None, (set_path(first, path, value), *others), flow=False)
    return set_path(template, ("spec", "containers"), listed)


def _mapping(place: yaml.Target, entries: Mapping[str, yaml.Target]) -> yaml.Mapping:
    return scalars.mapping_at(place, [scalars.entry(place, key, value) for key, value in entries.items()])
