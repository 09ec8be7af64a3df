"""Runtimes of TrainJobs: the fields that a job leaves to them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from kcheck.kubernetes.workloads import equivalents
from kcheck.kubernetes.workloads.scalars import items, written
from kcheck.text.syntax import yaml
from kcheck.text.text import leading
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.objects import Object
    from kcheck.model import PodTemplate, Workload

USER = "trainer.kubeflow.org/TrainJob"
KINDS = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})


Runtimes: TypeAlias = "dict[tuple[str, str], list[Object]]"
"""Runtimes by kind and name: several clusters may each have one."""


def by_name(objects: Iterable[Object]) -> Runtimes:
    """The runtimes among some objects."""
    result: Runtimes = defaultdict(list)
    for item in objects:
        if item.kind in KINDS:
            result[item.kind, str(known(written(item.root, "metadata", "name")))].append(item)
    return result


def completed(item: Object, runtimes: Runtimes) -> Object:
    """A TrainJob with the pods of its runtime in place of its trainer, if they are read; any other object as it is.

    https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/apis/trainer/v1alpha1/trainjob_types.go
    """
    trainer, runtime = yaml.get(item.root, "spec", "trainer"), _runtime(item, runtimes)
    if item.kind != "TrainJob" or runtime is None or not isinstance(trainer, yaml.Mapping):
        return item
    template = next((yaml.get(one, "template", "spec", "template") for one in _trained(runtime)), None)
    containers = yaml.get(template, "spec", "containers")
    if template is None or not isinstance(containers, yaml.Sequence):
        return item
    found = [_overlaid(yaml.resolve(one), trainer) for one in containers.items]
    listed = yaml.Sequence(*containers.span, None, tuple(found), flow=False)
    whole = _changed(template, {"spec": _changed(yaml.get(template, "spec"), {"containers": listed})})
    kept = {key: yaml.resolve(entry.value) for key, entry in yaml.entries(trainer).items() if key not in _OF_CONTAINER}
    spec = _changed(yaml.get(item.root, "spec"), {"trainer": _changed(whole, kept)})
    return replace(item, root=_changed(item.root, {"spec": spec}))


_OF_CONTAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resourcesPerNode": "resources"}
"""Field of a trainer -> that of its container."""
_STEP, _TRAINS, _CONTAINER = "trainer.kubeflow.org/trainjob-ancestor-step", "trainer", "node"
"""The label and the container of what trains: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/constants/constants.go"""


def _runtime(item: Object, runtimes: Runtimes) -> Object | None:
    """The runtime that a TrainJob names, the one that lies closest to it."""
    kind = str(known(written(item.root, "spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    found = runtimes.get((kind, str(known(written(item.root, "spec", "runtimeRef", "name")))), [])
    own = item.span.source.path.split("/")
    return max(found, key=lambda one: leading(own, one.span.source.path.split("/")), default=None)


def _trained(runtime: Object) -> Iterator[yaml.Target]:
    """The job of a runtime that trains."""
    for one in items(runtime.root, "spec", "template", "spec", "replicatedJobs"):
        if known(written(one, "template", "metadata", "labels", _STEP)) == _TRAINS:
            yield one


def _overlaid(container: yaml.Target, trainer: yaml.Mapping) -> yaml.Target:
    """A container of a runtime with what the trainer says otherwise; variables are added."""
    if known(written(container, "name")) != _CONTAINER:
        return container
    own = yaml.entries(trainer)
    added = {name: yaml.resolve(own[key].value) for key, name in _OF_CONTAINER.items() if key in own}
    base, env = yaml.get(container, "env"), added.get("env")
    if isinstance(base, yaml.Sequence) and isinstance(env, yaml.Sequence):
        added["env"] = yaml.Sequence(*env.span, None, (*base.items, *env.items), flow=False)
    return _changed(container, added)


def _changed(node: yaml.Target | None, added: dict[str, yaml.Target]) -> yaml.Target:
    """A map with other entries."""
    if not isinstance(node, yaml.Mapping):
        raise TypeError(f"no map: {node}")
    kept = [entry for key, entry in yaml.entries(node).items() if key not in added]
    return equivalents.mapping_at(node, [*kept, *(equivalents.entry(node, key, value) for key, value in added.items())])


def with_runtime(workload: Workload, item: Object, runtimes: Runtimes) -> Workload:
    """A TrainJob with its runtime's settings; unread settings are unknown, not absent."""
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
    """The pods of a TrainJob: of these it says the container alone."""
    return replace(
        template, labels=why, annotations=why, selection=why, tolerations=why, volumes=why, host_ipc=why, grace=why,
        restart=why, safe_to_evict=why, do_not_disrupt=why, node_devices=why, packed_by=why,
    )  # fmt: skip
