"""Objects that pods name and need to start."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kcheck.kubernetes.objects import Object, value_of
from kcheck.kubernetes.workloads.scalars import absent, boolean, gap, listed, mapping, scalar, text
from kcheck.model import NOTHING, Definition, Reference, Requirement
from kcheck.text.need import first_unknown
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text
from kcheck.text.values import Known, Origin, Unknown, Value, known, mapped

_CLAIM, _CLASS, _VOLUME = "PersistentVolumeClaim", "StorageClass", "PersistentVolume"
BUDGET = "PodDisruptionBudget"
KINDS = frozenset({BUDGET, _CLAIM, "ConfigMap", "Secret", "ServiceAccount", _CLASS, _VOLUME})

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
        sources = [one for variable in yaml.items(container, "env") if (one := yaml.get(variable, "valueFrom"))]
        for key, kind in _MAPS.items():
            for one in sources:
                yield from _named(kind, yaml.get(one, f"{key}KeyRef"), "name")
            for one in yaml.items(container, "envFrom"):
                yield from _named(kind, yaml.get(one, f"{key}Ref"), "name")


def _named(kind: str, node: yaml.Target | None, key: str) -> Iterator[Reference]:
    """Yield the referenced object, unless it is optional."""
    name = yaml.get(node, key)
    if node is not None and isinstance(name, yaml.Scalar) and known(boolean(node, "optional")) is not True:
        yield Reference(kind, text(node, key))


def defined(item: Object, own: str) -> Iterator[Definition]:
    """Yield what an object defines: a name that pods use, or storage."""
    if item.kind not in KINDS:
        return
    name, namespace = (text(item.root, "metadata", key) for key in ("name", "namespace"))
    found = Definition(own, item.span, item.kind, name, namespace)
    if item.kind == _CLASS:
        waits = known(text(item.root, "volumeBindingMode")) == "WaitForFirstConsumer"
        nodes = node_terms(item.root, "allowedTopologies") if waits else NOTHING  # else its driver says who reaches it
        found = replace(found, storage=text(item.root, "provisioner"), nodes=nodes)
    elif item.kind == _VOLUME:
        found = replace(found, nodes=node_terms(item.root, "spec", "nodeAffinity", "required", "nodeSelectorTerms"))
    elif item.kind == BUDGET:
        least = mapped(scalar(item.root, "spec", "minAvailable"), as_text)
        found = replace(found, selector=mapping(item.root, "spec", "selector", "matchLabels"), min_available=least)
    elif item.kind == _CLAIM:
        spec = yaml.get(item.root, "spec") or item.root
        chosen = any(yaml.get(spec, key) is not None for key in ("volumeName", "selector"))
        storage, volume = text(spec, "storageClassName"), text(spec, "volumeName")
        found = replace(found, storage=storage, modes=_modes(spec), chosen=chosen, volume=volume)
    yield found


def _modes(spec: yaml.Target) -> Value[tuple[str, ...]]:
    """Return the access modes of a claim."""
    found = listed(spec, "accessModes", lambda one: text(one) if isinstance(one, yaml.Scalar) else NOTHING)
    unknown = first_unknown(known(found) or ())
    return unknown or mapped(found, lambda values: tuple(known(mode) or "?" for mode in values))


_HOST = "kubernetes.io/hostname"


def node_terms(
    node: yaml.Target, *path: str, base: tuple[Requirement, ...] = ()
) -> Value[tuple[tuple[Requirement, ...], ...]]:
    """Return node selector terms below a path, each with `base`."""
    unknown, written = gap(node, *path), yaml.get(node, *path)
    terms = []
    for term in yaml.items(node, *path):
        own = []
        for one in (
            one for key in ("matchExpressions", "matchFields", "matchLabelExpressions") for one in yaml.items(term, key)
        ):
            key, operator = known(text(one, "key")), known(text(one, "operator"))
            key = _HOST if key == "metadata.name" else key  # the name of a node, as its label nearly always has it
            values = [scalar_text(value) for value in yaml.items(one, "values")]
            if key is None or gap(one, "values") or None in values:
                return Unknown("part of the node affinity is not known", Origin((term.span,)))
            own.append(Requirement(str(key), str(operator or "In"), tuple(map(str, values))))
        terms.append((*base, *(own or [Requirement(_HOST, "In", ())])))  # no node meets an empty one
    if unknown is not None or written is None or not terms:
        return unknown or absent(node, *path)
    return Known(tuple(terms), Origin((written.span,)))


def scalar_text(node: yaml.Target) -> str | None:
    """Return a scalar as text; None if unknown or not a scalar."""
    value = value_of(node) if isinstance(node, yaml.Scalar) else None
    return as_text(value.value) if isinstance(value, Known) else None
