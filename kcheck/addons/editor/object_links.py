"""Targets of references in manifests: pools, named objects, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kcheck.addons.editor.snapshot import Snapshot
from kcheck.addons.editor.values_at import code_of
from kcheck.model import KarpenterPool, NodePool, Requirement, Toleration
from kcheck.model.queues import KUEUE_PRIORITY
from kcheck.scale import placement
from kcheck.text.files.tree import KUSTOMIZATIONS, MANIFESTS
from kcheck.text.syntax import yaml
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Source, Span, leading
from kcheck.text.values import Known, Value, known

_BY_KEY: dict[str, tuple[str, ...]] = {
    "priorityClassName": ("PriorityClass",), KUEUE_PRIORITY: ("WorkloadPriorityClass",),
    "kueue.x-k8s.io/queue-name": ("LocalQueue",), "clusterQueue": ("ClusterQueue",), "cohort": ("Cohort",),
    "cohortName": ("Cohort",), "queue": ("Queue", "LocalQueue"), "queueName": ("LocalQueue", "Queue"),
    "scheduling.volcano.sh/queue-name": ("Queue",), "admissionChecks": ("AdmissionCheck",),
    "topologyName": ("Topology",),
    "serviceAccountName": ("ServiceAccount",), "serviceAccount": ("ServiceAccount",), "namespace": ("Namespace",),
    "runtimeClassName": ("RuntimeClass",), "storageClassName": ("StorageClass",), "serviceName": ("Service",),
    "claimName": ("PersistentVolumeClaim",), "volumeName": ("PersistentVolume",), "secretName": ("Secret",),
    "resourceClaimTemplateName": ("ResourceClaimTemplate",), "resourceClaimName": ("ResourceClaim",),
    "deviceClassName": ("DeviceClass",), "ingressClassName": ("IngressClass",), "schedulerConfig": ("ConfigMap",),
}  # fmt: skip
"""Kinds of objects that a key's value names."""
_BY_PARENT = {
    "flavors": "ResourceFlavor", "configMap": "ConfigMap", "configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret", "secretKeyRef": "Secret", "imagePullSecrets": "Secret", "localQueueRef": "LocalQueue",
}  # fmt: skip
"""Kinds of objects that `name` below a key names."""
_LABELS = ("nodeSelector", "nodeLabels")
"""Keys of node label maps: in pods, and in Kueue's flavors."""
_INSTANCE = "instance-type"


def of_yaml(snapshot: Snapshot, source: Source, offset: int) -> Iterator[Span]:
    """Yield the places referenced by the code at an offset."""
    is_kustomization = os.path.basename(source.path) in KUSTOMIZATIONS
    place = steps_to(source, offset) if is_kustomization or source.path.endswith(MANIFESTS) else None
    if place is None or not place.steps:
        return
    value = place.nodes[-1]
    if isinstance(value, yaml.Alias) and not place.on_key:
        yield value.target.span
        return
    if is_kustomization:
        yield from _files(snapshot, source, yaml.resolve(value))
    yield from _pools(snapshot, source, place)
    scalar = place.value
    if isinstance(scalar, yaml.Scalar) and scalar.text:
        yield from _objects(snapshot, place, scalar.text)


def _files(snapshot: Snapshot, source: Source, value: yaml.Target) -> Iterator[Span]:
    """Yield the file that a kustomization names, or the one in that folder."""
    if not isinstance(value, yaml.Scalar) or not value.text or "\0" in value.text:
        return
    folder = os.path.dirname(snapshot.real_path(source))
    real = os.path.normpath(os.path.join(folder, value.text.rpartition("=")[2]))
    for path in (real, *(os.path.join(real, name) for name in KUSTOMIZATIONS)):
        found = snapshot.source(path)
        if found is not None:
            yield found.span(0, 0)
            return


# --- pools


def _pools(snapshot: Snapshot, source: Source, place: YamlPlace) -> Iterator[Span]:
    """Yield where pools carry the label or taint that pods select or tolerate."""
    wanted = _requirement(place)
    tolerated = _toleration(place)
    if wanted is None and tolerated is None:
        return
    inventory = snapshot.world.inventory
    homes = {cluster for thing, cluster in inventory.cluster_of.items() if thing.place.source is source}
    found: list[Span] = []
    for pool in inventory.pools:
        if homes and known(pool.cluster) not in homes:
            continue
        if wanted is not None and placement.meets(wanted, pool):
            found.append(_label_place(snapshot, pool, wanted.key))
        elif tolerated is not None and any(placement.tolerates(tolerated, taint) for taint in placement.taints(pool)):
            found.append(_written(pool.scheduling.taints) or pool.place)
    found += [pool.place for pool in inventory.karpenter if _of_karpenter(pool, wanted, tolerated)]
    yield from _nearest(found, source)


def _of_karpenter(pool: KarpenterPool, wanted: Requirement | None, tolerated: Toleration | None) -> bool:
    labels = known(pool.labels) or {}
    if wanted is not None:
        return wanted.key in labels and (not wanted.values or labels[wanted.key] in wanted.values)
    return tolerated is not None and any(placement.tolerates(tolerated, taint) for taint in known(pool.taints) or ())


def _requirement(place: YamlPlace) -> Requirement | None:
    keys = place.keys
    value = place.value
    if keys[-2:-1] and keys[-2] in _LABELS and isinstance(value, yaml.Scalar):
        return Requirement(keys[-1], "In", (value.text,))
    if "matchExpressions" not in keys or not {"nodeSelectorTerms", "preference", "nodeAffinity"} & set(keys):
        return None
    item = place.mapping()
    key, values = yaml.text(item, "key"), tuple(one.text for one in yaml.scalars(item, "values"))
    return Requirement(key, yaml.text(item, "operator") or "In", values) if key else None


def _toleration(place: YamlPlace) -> Toleration | None:
    if not {"tolerations", "nodeTaints"} & set(place.keys):
        return None
    item = place.mapping()
    key, operator, value, effect = (yaml.text(item, name) for name in ("key", "operator", "value", "effect"))
    return Toleration(key, operator or "Equal", value, effect) if key else None


def _label_place(snapshot: Snapshot, pool: NodePool, key: str) -> Span:
    if key in (known(pool.scheduling.labels) or {}):
        written = _written(pool.scheduling.labels)
        return pool.place if written is None else _member(snapshot, written, key) or written
    types = _written(pool.machine.instance_types) if key.endswith(_INSTANCE) else None
    return types or pool.place


def _written(value: Value[object]) -> Span | None:
    """Return where a value is written in the user's code."""
    if not isinstance(value, Known) or value.origin.missing is not None or not value.origin.spans:
        return None
    span = value.origin.written
    return None if span.source.bundled else span


def _member(snapshot: Snapshot, span: Span, key: str) -> Span | None:
    place = code_of(snapshot).place(span.source, span.start)
    for expression in place.path if place is not None else ():
        if isinstance(expression, nodes.Object) and expression.span == span:
            for name, value in expression.entries:
                if isinstance(name, nodes.Literal) and name.value == key:
                    return span.source.span(name.span.start, value.span.end)
    return None


# --- objects


def _objects(snapshot: Snapshot, place: YamlPlace, name: str) -> Iterator[Span]:
    kinds = _kinds(place)
    if not kinds:
        return
    namespace = yaml.text(place.root, "metadata", "namespace")
    found = [span for source in snapshot.tree.manifests for span in _declared(source, kinds, name, namespace)]
    yield from _nearest(found, place.root.source) or _in_model(snapshot, kinds, name)


def _nearest(found: list[Span], source: Source) -> list[Span]:
    """List the spans that share most folders with a file."""
    shared = [leading(source.path.split("/")[:-1], span.source.path.split("/")[:-1]) for span in found]
    return [span for span, number in zip(found, shared, strict=True) if number == max(shared)]


def _in_model(snapshot: Snapshot, kinds: tuple[str, ...], name: str) -> Iterator[Span]:
    """Yield queues and priority classes that are not declared in manifests."""
    inventory = snapshot.world.inventory
    for queue in inventory.queues:
        if queue.kind in kinds and known(queue.name) == name:
            yield queue.place
    for one in inventory.classes:
        if ("WorkloadPriorityClass" if one.kueue else "PriorityClass") in kinds and known(one.name) == name:
            yield one.place


def _kinds(place: YamlPlace) -> tuple[str, ...]:
    keys = place.keys
    if keys[:1] == ("metadata",) and keys != ("metadata", "namespace") and "labels" not in keys:
        return ()
    if keys[-1] in _BY_KEY:
        return _BY_KEY[keys[-1]]
    if keys[-1] != "name":
        return ()
    if len(keys) > 1 and keys[-2] in _BY_PARENT:
        return (_BY_PARENT[keys[-2]],)
    item = next((node for node in reversed(place.nodes[1:-1]) if isinstance(node, yaml.Mapping)), None)
    kind = yaml.text(item, "kind")
    return (kind,) if kind else ()


def _declared(source: Source, kinds: tuple[str, ...], name: str, namespace: str) -> Iterator[Span]:

    def may_hold(data: bytes) -> bool:
        return name.encode() in data and any(kind.encode() in data for kind in kinds)

    for document in yaml.documents(source, may_hold) if may_hold(source.data) else ():
        for item in _items(document.root):
            own, where = yaml.get(item, "metadata", "name"), yaml.get(item, "metadata", "namespace")
            elsewhere = isinstance(where, yaml.Scalar) and namespace and where.text != namespace
            if yaml.text(item, "kind") in kinds and isinstance(own, yaml.Scalar) and own.text == name and not elsewhere:
                yield own.span


def _items(root: yaml.Target | None) -> Iterator[yaml.Node]:
    """Yield the objects of a document: the items of a list, or the document itself."""
    found = yaml.get(root, "items") if root is not None and yaml.get(root, "kind") is not None else None
    yield from found.items if isinstance(found, yaml.Sequence) else (root,) if root is not None else ()


class YamlPlace(NamedTuple):
    """A key or value in YAML, with keys and indexes from the document's top.

    `scalar` is the scalar written there, None at an alias. `nodes` are the enclosing collections, outermost first, and
    last the value, also for a key.
    """

    root: yaml.Target
    steps: tuple[str | int, ...]
    nodes: tuple[yaml.Node, ...]
    scalar: yaml.Scalar | None
    on_key: bool = False

    @property
    def value(self) -> yaml.Target:
        """Value at the keys, with aliases resolved."""
        return yaml.resolve(self.nodes[-1])

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys without indexes."""
        return tuple(step for step in self.steps if isinstance(step, str))

    def mapping(self) -> yaml.Mapping | None:
        """Return the innermost map at the place."""
        return next((node for node in reversed(self.nodes) if isinstance(node, yaml.Mapping)), None)


@lru_cache(maxsize=4)  # an editor asks several things of a file
def _documents(source: Source) -> tuple[yaml.Document, ...]:
    return tuple(yaml.documents(source))


def steps_to(source: Source, offset: int) -> YamlPlace | None:
    """Find the key or value at an offset; None without one."""
    for document in _documents(source):
        if document.root is not None and document.span.start <= offset < document.span.end:
            return _in(document.root, document.root, offset, (), ())
    return None


def _in(
    root: yaml.Target, node: yaml.Node, offset: int, steps: tuple[str | int, ...], above: tuple[yaml.Node, ...]
) -> YamlPlace | None:
    if not node.start <= offset < node.end:
        return None
    path = (*above, node)
    if isinstance(node, yaml.Scalar | yaml.Alias):
        return YamlPlace(root, steps, path, node if isinstance(node, yaml.Scalar) else None)
    parts: Iterable[tuple[str | int, yaml.Node]] = enumerate(node.items) if isinstance(node, yaml.Sequence) else ()
    if isinstance(node, yaml.Mapping):
        key = next((one for one in node.entries if one.key.start <= offset < one.key.end), None)
        if key is not None:
            return YamlPlace(root, (*steps, key.key.text), (*path, key.value), key.key, on_key=True)
        parts = ((entry.key.text, entry.value) for entry in node.entries)
    found = (_in(root, part, offset, (*steps, step), path) for step, part in parts)
    return next(filter(None, found), None)
