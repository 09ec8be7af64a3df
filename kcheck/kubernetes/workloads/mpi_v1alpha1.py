"""MPIJobs of v1alpha1, converted to the roles of later versions.

Its operator makes a launcher and the workers of one template:
https://github.com/kubeflow/mpi-operator/blob/v0.2.3/pkg/controllers/v1alpha1/mpi_job_controller.go, checked 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers.names import NVIDIA
from kcheck.kubernetes.patches import set_path
from kcheck.kubernetes.workloads import pods, scalars
from kcheck.kubernetes.workloads.scalars import integer, items
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Unknown, Unset, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Workload

VERSION = "kubeflow.org/v1alpha1"
_TOTALS = {"processingUnits": "processingUnitsPerNode", "gpus": "gpusPerNode"}
"""Key of the total of all workers -> key of the number per worker."""


class _Workers(Struct, frozen=True):
    """Number of workers, and GPUs or CPUs of each; None if only the template sets it."""

    number: yaml.Target | None
    units: yaml.Target | None
    resource: str = NVIDIA


def _is_first(item: Object) -> bool:
    return item.api_version == VERSION and item.kind == "MPIJob"


def kept(job: Workload, item: Object) -> Workload:
    """Mark the pods of a v1alpha1 MPIJob as fixed, since both roles have one template."""
    if not _is_first(item):
        return job
    return replace(job, templates=tuple(pods.fixed(one, f"{VERSION} has one template") for one in job.templates))


def by_roles(item: Object) -> Object:
    """Convert a v1alpha1 MPIJob to pods by role; return any other object as is."""
    spec, template = yaml.get(item.root, "spec"), yaml.get(item.root, "spec", "template")
    if not _is_first(item) or template is None or not isinstance(spec, yaml.Mapping):
        return item
    workers = _workers(spec)
    own = yaml.entries(spec)
    roles = {
        "Launcher": _role(template, None, _with(template, ("resources",), _launcher(spec))),
        "Worker": _role(template, workers.number, _with_units(template, workers)),
    }
    added: dict[str, yaml.Target] = {"mpiReplicaSpecs": _mapping(template, roles)}
    slots = workers.units or _limit(template, workers.resource)
    if "slotsPerWorker" not in own and slots is not None:
        added["slotsPerWorker"] = slots
    if "cleanPodPolicy" not in own:  # its operator always deletes them
        added["cleanPodPolicy"] = scalars.computed_at(spec, "Running")
    root = item.root
    for key, value in added.items():
        root = set_path(root, ("spec", key), value)
    return replace(item, root=root)


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
        node = scalars.computed_at(spec, unknown if isinstance(unknown, Unknown) else Unknown(f"`{total}` is not set"))
        return _Workers(node, node, resource)
    number, of_each = (1, whole) if whole < units else (whole // units, units)
    return _Workers(scalars.computed_at(spec, number), scalars.computed_at(spec, of_each), resource)


def _role(template: yaml.Target, number: yaml.Target | None, pod: yaml.Target) -> yaml.Target:
    return _mapping(template, {"replicas": number or scalars.computed_at(template, 1), "template": pod})


def _with_units(template: yaml.Target, workers: _Workers) -> yaml.Target:
    """Limit the first container of the workers, as the operator does."""
    if workers.units is None:
        return template
    return _with(template, ("resources", "limits", workers.resource), workers.units)


def _launcher(spec: yaml.Target) -> yaml.Target:
    """Return the resources of a launcher: the operator removes those of the template."""
    return yaml.get(spec, "launcherResources") or _mapping(
        spec, {"requests": _mapping(spec, {name: scalars.computed_at(spec, 0) for name in ("cpu", "memory")})}
    )


def _with(template: yaml.Target, path: tuple[str, ...], value: yaml.Target) -> yaml.Target:
    """Set a value at a path of the template's first container."""
    first, *others = items(template, "spec", "containers") or [template]
    if not isinstance(template, yaml.Mapping) or not isinstance(first, yaml.Mapping) or first is template:
        return template
    listed = yaml.Sequence(*first.span, None, (set_path(first, path, value), *others), flow=False)
    return set_path(template, ("spec", "containers"), listed)


def _limit(template: yaml.Target, resource: str) -> yaml.Target | None:
    return yaml.get(_first(template, "resources"), "limits", resource)


def _first(template: yaml.Target, key: str) -> yaml.Target | None:
    return next((yaml.get(one, key) for one in items(template, "spec", "containers")), None)


def _mapping(place: yaml.Target, entries: Mapping[str, yaml.Target]) -> yaml.Mapping:
    return scalars.mapping_at(place, [scalars.entry(place, key, value) for key, value in entries.items()])
