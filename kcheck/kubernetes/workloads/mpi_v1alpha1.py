"""MPIJobs of the first version of their API, v1alpha1, written as those of the later ones: by roles.

Its operator makes a launcher and the workers of one template:
https://github.com/kubeflow/mpi-operator/blob/v0.2.3/pkg/controllers/v1alpha1/mpi_job_controller.go, checked 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers.names import NVIDIA
from kcheck.kubernetes.workloads import equivalents, pods
from kcheck.kubernetes.workloads.scalars import integer, items
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Unknown, Unset, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Workload

VERSION = "kubeflow.org/v1alpha1"
_TOTALS = {"processingUnits": "processingUnitsPerNode", "gpus": "gpusPerNode"}
"""What all workers have together -> what each of them has."""


class _Workers(Struct, frozen=True):
    """The number of workers, and how many GPUs or CPUs each has; None where the template alone says it."""

    number: yaml.Target | None
    units: yaml.Target | None
    resource: str = NVIDIA


def _is_first(item: Object) -> bool:
    return item.api_version == VERSION and item.kind == "MPIJob"


def kept(job: Workload, item: Object) -> Workload:
    """The workload of an object, to whose pods nothing can be added where both roles have one template."""
    if not _is_first(item):
        return job
    return replace(job, templates=tuple(pods.fixed(one, f"{VERSION} has one template") for one in job.templates))


def by_roles(item: Object) -> Object:
    """An MPIJob with its pods by roles; any other object as it is."""
    spec, template = yaml.get(item.root, "spec"), yaml.get(item.root, "spec", "template")
    if not _is_first(item) or template is None or not isinstance(spec, yaml.Mapping):
        return item
    workers = _workers(spec)
    own = yaml.entries(spec)
    roles = {
        "Launcher": _role(
            template, None, _with_resources(template, yaml.get(spec, "launcherResources") or _none(spec))
        ),
        "Worker": _role(template, workers.number, _with_units(template, workers)),
    }
    added: dict[str, yaml.Target] = {"mpiReplicaSpecs": _mapping(template, roles)}
    slots = workers.units or _limit(template, workers.resource)
    if "slotsPerWorker" not in own and slots is not None:
        added["slotsPerWorker"] = slots
    if "cleanPodPolicy" not in own:  # its operator always deletes them
        added["cleanPodPolicy"] = equivalents.computed_at(spec, "Running")
    return replace(item, root=_changed(item.root, {"spec": _changed(spec, added, spec)}, spec))


def _workers(spec: yaml.Mapping) -> _Workers:
    kind = yaml.get(spec, "processingResourceType")
    resource = "cpu" if isinstance(kind, yaml.Scalar) and kind.text == "cpu" else NVIDIA
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
        node = equivalents.computed_at(
            spec, unknown if isinstance(unknown, Unknown) else Unknown(f"`{total}` is not set")
        )
        return _Workers(node, node, resource)
    number, of_each = (1, whole) if whole < units else (whole // units, units)
    return _Workers(equivalents.computed_at(spec, number), equivalents.computed_at(spec, of_each), resource)


def _role(template: yaml.Target, number: yaml.Target | None, pod: yaml.Target) -> yaml.Target:
    """The pods of a role; without a number, one."""
    return _mapping(template, {"replicas": number or equivalents.computed_at(template, 1), "template": pod})


def _with_units(template: yaml.Target, workers: _Workers) -> yaml.Target:
    """The template of the workers: the operator limits the first container."""
    if workers.units is None:
        return template
    resources = _first(template, "resources")
    limits = _changed(yaml.get(resources, "limits"), {workers.resource: workers.units}, template)
    return _with_resources(template, _changed(resources, {"limits": limits}, template))


def _none(spec: yaml.Target) -> yaml.Target:
    """The resources of a launcher: the operator takes away what the template asks for."""
    return _mapping(
        spec, {"requests": _mapping(spec, {name: equivalents.computed_at(spec, 0) for name in ("cpu", "memory")})}
    )


def _with_resources(template: yaml.Target, resources: yaml.Target) -> yaml.Target:
    """The template with other resources for its first container."""
    found, spec = items(template, "spec", "containers"), yaml.get(template, "spec")
    first = next(iter(found), None)
    if not isinstance(first, yaml.Mapping) or spec is None:
        return template
    changed = _changed(first, {"resources": resources}, first)
    listed = yaml.Sequence(*first.span, None, (changed, *found[1:]), flow=False)
    return _changed(template, {"spec": _changed(spec, {"containers": listed}, spec)}, spec)


def _limit(template: yaml.Target, resource: str) -> yaml.Target | None:
    return yaml.get(_first(template, "resources"), "limits", resource)


def _first(template: yaml.Target, key: str) -> yaml.Target | None:
    """A part of the first container."""
    return next((yaml.get(one, key) for one in items(template, "spec", "containers")), None)


def _changed(node: yaml.Target | None, added: Mapping[str, yaml.Target], place: yaml.Target) -> yaml.Mapping:
    """A map with other entries; `place` is that of one which is not there."""
    own = yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
    here = node or place
    kept = [entry for key, entry in own.items() if key not in added]
    return equivalents.mapping_at(here, [*kept, *(equivalents.entry(here, key, value) for key, value in added.items())])


def _mapping(place: yaml.Target, entries: Mapping[str, yaml.Target]) -> yaml.Mapping:
    return equivalents.mapping_at(place, [equivalents.entry(place, key, value) for key, value in entries.items()])
