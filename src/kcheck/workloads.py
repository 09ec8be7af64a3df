"""Kubernetes objects to workloads: everything that has a pod spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcheck import images
from kcheck.kubernetes.objects import value_of
from kcheck.model import Image, Service, Workload
from kcheck.syntax import yaml
from kcheck.values import Known, Missing, Origin, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.objects import Object

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")

# kind -> (path of the pod spec, path of the number of pods)
POD_SPECS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Pod": (("spec",), ()),
    "PodTemplate": (("template", "spec"), ()),
    "Deployment": (("spec", "template", "spec"), ("spec", "replicas")),
    "StatefulSet": (("spec", "template", "spec"), ("spec", "replicas")),
    "ReplicaSet": (("spec", "template", "spec"), ("spec", "replicas")),
    "ReplicationController": (("spec", "template", "spec"), ("spec", "replicas")),
    "DaemonSet": (("spec", "template", "spec"), ()),
    "Job": (("spec", "template", "spec"), ("spec", "parallelism")),
    "CronJob": (("spec", "jobTemplate", "spec", "template", "spec"), ("spec", "jobTemplate", "spec", "parallelism")),
}


GROUPS = frozenset({"", "apps", "batch", "extensions"})
"""API groups of these kinds; others have kinds of the same names, such as Volcano's Job."""


def read(objects: Iterable[Object]) -> Iterator[Workload]:
    """The workloads among the objects."""
    for item in objects:
        group = item.api_version.rpartition("/")[0]
        if item.kind in POD_SPECS and group in GROUPS:
            yield _workload(item)


def _workload(item: Object) -> Workload:
    pods_path = POD_SPECS[item.kind][1]
    name, namespace = scalar(item.root, "metadata", "name"), scalar(item.root, "metadata", "namespace")
    own = identity(item)
    spec = pod_spec(item)
    pods: Value[Any] = scalar(item.root, *pods_path) if pods_path else Known(1, Origin((item.span,)))
    if isinstance(pods, Unset):
        pods = Known(1, pods.origin)
    elif isinstance(pods, Known) and (not isinstance(pods.value, int) or isinstance(pods.value, bool)):
        pods = Unknown(f"`{'.'.join(pods_path)}` is not a number", pods.origin)
    secrets = yaml.get(spec, "imagePullSecrets") if spec is not None else None
    origin = Origin((secrets.span if secrets is not None else item.span,))
    return Workload(
        own,
        item.span,
        item.kind,
        namespace,
        name,
        item.kind == "DaemonSet",
        pods,
        _gpus(spec, item),
        Known(isinstance(secrets, yaml.Sequence) and bool(secrets.items), origin),
        tuple(_images(spec, own)),
    )


def identity(item: Object) -> str:
    """What people and machines call an object: its file, kind, namespace and name."""
    name, namespace = known(scalar(item.root, "metadata", "name")), known(scalar(item.root, "metadata", "namespace"))
    space = "" if namespace is None else f"{namespace}/"
    return f"{item.span.source.path}:{item.kind}/{space}{'?' if name is None else name}"


def services(objects: Iterable[Object]) -> Iterator[Service]:
    """The Services of some objects: how many ports those of load balancers have, and which take an address."""
    for item in objects:
        if item.kind != "Service" or item.api_version != "v1":
            continue
        name = scalar(item.root, "metadata", "name")
        kind, address = known(scalar(item.root, "spec", "type")), known(scalar(item.root, "spec", "clusterIP"))
        ports = yaml.get(item.root, "spec", "ports")
        count = len(ports.items) if isinstance(ports, yaml.Sequence) and kind == "LoadBalancer" else 0
        own = f"{item.span.source.path}:Service/{known(name) or '?'}"
        yield Service(own, item.span, name, count, address != "None" and kind != "ExternalName")


def pod_spec(item: Object) -> yaml.Target | None:
    """The pod spec of an object; None if its kind runs no pods."""
    group = item.api_version.rpartition("/")[0]
    if item.kind not in POD_SPECS or group not in GROUPS:
        return None
    return yaml.get(item.root, *POD_SPECS[item.kind][0])


def containers(spec: yaml.Node | None) -> Iterator[yaml.Node]:
    """The containers of a pod spec, init containers included."""
    return (container for _, container in _containers(spec))


def _containers(spec: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    for group in _CONTAINERS:
        found = yaml.get(spec, group) if spec is not None else None
        if isinstance(found, yaml.Sequence):
            for container in found.items:
                yield group, container


def _images(spec: yaml.Node | None, owner: str) -> Iterator[Image]:
    for i, (_, container) in enumerate(_containers(spec)):
        text = scalar(container, "image")
        if not isinstance(text, Known) or not isinstance(text.value, str):
            continue
        name = scalar(container, "name")
        label = str(name.value) if isinstance(name, Known) else str(i)
        reference = images.parse(text.value)
        registry: Value[str] = (
            Known(reference.registry, text.origin)
            if reference
            else Unknown(f"`{text.value}` stands for an image that is filled in later", text.origin)
        )
        yield Image(f"{owner}/{label}", text.origin.written, label, text, registry)


def _gpus(spec: yaml.Node | None, item: Object) -> Value[int]:
    """GPUs of one pod: what its containers' limits ask for."""
    total = 0
    place = item.span
    for group, container in _containers(spec):
        for resource in _GPUS if group == "containers" else ():
            count = scalar(container, "resources", "limits", resource)
            if isinstance(count, Known):
                text = str(count.value)
                if not text.isdigit():
                    return Unknown(f"`{resource}: {text}` is not a whole number", count.origin)
                total += int(text)
                place = count.origin.written
    return Known(total, Origin((place,)))


def scalar(node: yaml.Node, *path: str) -> Value[Any]:
    """The scalar at a path below a node, with its place; Unset with the place where it would be written."""
    found = yaml.get(node, *path)
    if isinstance(found, yaml.Scalar):
        return value_of(found)
    if found is None:
        container, rest = node, path
        while rest:
            inner = yaml.get(container, rest[0])
            if inner is None:
                break
            container, rest = inner, rest[1:]
        return Unset(Origin((container.span,), missing=Missing(container.span, rest)))
    return Unknown(f"`{'.'.join(path)}` is not a single value", Origin((found.span,)))
