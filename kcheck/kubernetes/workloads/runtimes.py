"""Runtimes of TrainJobs: the fields that a job leaves to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.workloads.scalars import written
from kcheck.source.values import Known, Origin, Unknown, Unset, Value, known
from kcheck.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.model import PodTemplate, Workload

USER = "trainer.kubeflow.org/TrainJob"
KINDS = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})


def by_name(objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    """The runtimes among some objects, by kind and name."""
    found = (item for item in objects if item.kind in KINDS)
    return {(item.kind, str(known(written(item.root, "metadata", "name")))): item for item in found}


def with_runtime(workload: Workload, item: Object, runtimes: dict[tuple[str, str], Object]) -> Workload:
    """A TrainJob with its runtime's settings; unread settings are unknown, not absent."""
    name = str(known(written(item.root, "spec", "runtimeRef", "name")))
    kind = str(known(written(item.root, "spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    runtime = runtimes.get((kind, name))
    why = Unknown(f"the runtime {name} of TrainJob {known(workload.name) or '?'} sets it", Origin((item.span,)))
    gang = workload.gang if not isinstance(workload.gang, Unset) else why if runtime is None else _gang(runtime, item)
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
