"""Objects that pods name and cannot start without: claims, ConfigMaps, Secrets and service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.workloads.scalars import boolean, listed, text
from kcheck.model import Definition, Reference
from kcheck.text.syntax import yaml
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.objects import Object

_CLAIM, _CLASS = "PersistentVolumeClaim", "StorageClass"
KINDS = frozenset({_CLAIM, "ConfigMap", "Secret", "ServiceAccount", _CLASS})

ALONE = KINDS - {"ConfigMap", "ServiceAccount"}
"""Kinds that no other object needs."""

_MAPS = {"configMap": "ConfigMap", "secret": "Secret"}
_IN_VOLUMES = {"persistentVolumeClaim": (_CLAIM, "claimName"), "secret": ("Secret", "secretName"),
               "configMap": ("ConfigMap", "name")}  # fmt: skip
"""Key of a volume -> kind of the object behind it, and key of its name."""


def of_pod(spec: yaml.Target, containers: Iterable[yaml.Target]) -> Iterator[Reference]:
    """Yield the objects that a pod spec names, except optional ones."""
    yield from _named("ServiceAccount", spec, "serviceAccountName")
    for volume in yaml.items(spec, "volumes"):
        for key, (kind, name) in _IN_VOLUMES.items():
            yield from _named(kind, yaml.get(volume, key), name)
        for source in yaml.items(volume, "projected", "sources"):
            for key, kind in _MAPS.items():
                yield from _named(kind, yaml.get(source, key), "name")
    for container in containers:
        for key, kind in _MAPS.items():
            for one in yaml.items(container, "env"):
                yield from _named(kind, yaml.get(one, "valueFrom", f"{key}KeyRef"), "name")
            for one in yaml.items(container, "envFrom"):
                yield from _named(kind, yaml.get(one, f"{key}Ref"), "name")


def _named(kind: str, node: yaml.Target | None, key: str) -> Iterator[Reference]:
    """Yield the object that a node names, unless it is optional."""
    name = yaml.get(node, key)
    if node is not None and isinstance(name, yaml.Scalar) and known(boolean(node, "optional")) is not True:
        yield Reference(kind, text(node, key))


def defined(item: Object, own: str) -> Iterator[Definition]:
    """Yield what an object defines: a name for pods, or the storage of their claims."""
    if item.kind not in KINDS:
        return
    name, namespace = (text(item.root, "metadata", key) for key in ("name", "namespace"))
    found = Definition(own, item.span, item.kind, name, namespace)
    if item.kind == _CLASS:
        found = replace(found, storage=text(item.root, "provisioner"))
    elif item.kind == _CLAIM:
        spec = yaml.get(item.root, "spec") or item.root
        found = replace(
            found,
            storage=text(spec, "storageClassName"),
            modes=listed(spec, "accessModes", lambda one: one.text if isinstance(one, yaml.Scalar) else "?"),
            chosen=any(yaml.get(spec, key) is not None for key in ("volumeName", "selector")),
        )
    yield found
