"""Runtimes of TrainJobs: fields that a job leaves to them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from kcheck.kubernetes.patches import items_of, merged_template, set_path
from kcheck.kubernetes.workloads import scalars
from kcheck.kubernetes.workloads.scalars import items, written
from kcheck.text.syntax import yaml
from kcheck.text.text import leading
from kcheck.text.values import AtLeast, Known, Origin, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.objects import Object
    from kcheck.model import PodTemplate, Workload

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
    """Replace the trainer of a TrainJob by its runtime's pods, if known; return any other object as is.

    https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/apis/trainer/v1alpha1/trainjob_types.go
    """
    trainer, runtime = yaml.get(item.root, "spec", "trainer"), _runtime(item, runtimes)
    if item.kind != "TrainJob" or runtime is None or not isinstance(trainer, yaml.Mapping):
        return item
    job = next(_trained(runtime), None)
    template = yaml.get(job, "template", "spec", "template")
    containers = yaml.get(template, "spec", "containers")
    if job is None or not isinstance(template, yaml.Mapping) or not isinstance(containers, yaml.Sequence):
        return item
    template = patched(template, item, str(known(written(job, "name"))))
    found = [_overlaid(one, trainer) for one in items(template, "spec", "containers")]
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
    """Yield the patches of a job's pods: of Trainer 2.0, of 2.1, and of later releases."""
    for key in ("podSpecOverrides", "podTemplateOverrides"):
        for one in items(item.root, "spec", key):
            if any(known(written(target, "name")) == job for target in items(one, "targetJobs")):
                of_pod = scalars.mapping_at(one, [scalars.entry(one, "spec", one)])
                yield of_pod if key == "podSpecOverrides" else one
    for one in items(item.root, "spec", "runtimePatches"):
        for inner in items(one, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            if known(written(inner, "name")) == job:
                yield yaml.get(inner, "template", "spec", "template")


def _runtime(item: Object, runtimes: Runtimes) -> Object | None:
    """Return the runtime that a TrainJob names, the nearest if there are several."""
    kind = str(known(written(item.root, "spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    found = runtimes.get((kind, str(known(written(item.root, "spec", "runtimeRef", "name")))), [])
    own = item.span.source.path.split("/")
    return max(found, key=lambda one: leading(own, one.span.source.path.split("/")), default=None)


def _trained(runtime: Object) -> Iterator[yaml.Target]:
    for one in items(runtime.root, "spec", "template", "spec", "replicatedJobs"):
        if known(written(one, "template", "metadata", "labels", _STEP)) == _TRAINS:
            yield one


def _overlaid(container: yaml.Target, trainer: yaml.Mapping) -> yaml.Target:
    """Override a runtime's container with the trainer's settings; environment variables are added."""
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
    """Add the settings of a TrainJob's runtime; if it is not read, they are unknown, not absent."""
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
