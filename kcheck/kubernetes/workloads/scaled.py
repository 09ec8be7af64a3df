"""Scaled workloads: the most pods that a HorizontalPodAutoscaler or KEDA allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.workloads.scalars import integer, scalar
from kcheck.text.syntax import yaml
from kcheck.text.values import Origin, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.kubernetes.objects import Object
    from kcheck.model import Workload

_MOST = {"HorizontalPodAutoscaler": "maxReplicas", "ScaledObject": "maxReplicaCount"}
"""Kind -> the key of its spec that has the most pods."""
KINDS = frozenset(_MOST)

_Target = tuple[str, str, str, str]
"""Folder, namespace, kind and name of what is scaled."""


def targets(objects: Iterable[Object]) -> dict[_Target, Value[int]]:
    """The most pods of each workload that something scales."""
    found: dict[_Target, Value[int]] = {}
    for item in objects:
        if item.kind not in _MOST:
            continue
        key = _MOST[item.kind]
        name = known(scalar(item.root, "spec", "scaleTargetRef", "name"))
        kind = known(scalar(item.root, "spec", "scaleTargetRef", "kind")) or "Deployment"
        most = integer(item.root, "spec", key)
        if isinstance(most, Unset):
            own = known(scalar(item.root, "metadata", "name"))
            most = Unknown(f"`{key}` of {item.kind} {own} is not set", Origin((item.span,)))
        if yaml.get(item.root, "spec", "scaleTargetRef") is not None:
            found[item.folder, _namespace(item), str(kind), str(name)] = most
    return found


def with_most(workload: Workload, item: Object, found: dict[_Target, Value[int]]) -> Workload:
    """A workload with the pods allowed by an autoscaler in the same folder."""
    most = found.get((item.folder, _namespace(item), item.kind, str(known(workload.name)))) if found else None
    if most is None or len(workload.templates) != 1:
        return workload
    return replace(workload, pods=most, templates=(replace(workload.templates[0], count=most),))


def _namespace(item: Object) -> str:
    return str(known(scalar(item.root, "metadata", "namespace")) or "")
