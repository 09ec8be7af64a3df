"""Kubernetes objects in Terraform as YAML trees with places."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from kcheck.kubernetes.objects import Object, objects_in
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance
from kcheck.text.keys import MapName
from kcheck.text.regex import regex
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.text import Span
from kcheck.text.units import decimal_number
from kcheck.text.values import Datum, Known, Missing, Origin, Piece, Record, Unknown, encoded, pieces_of
from kcheck.text.yaml_nodes import Stated

_MANIFESTS = {"kubernetes_manifest": "manifest", "kubectl_manifest": "yaml_body", "k8s_manifest": "content"}
"""Resource type -> argument that holds an object."""

_TYPED = {
    "pod": ("v1", "Pod"), "deployment": ("apps/v1", "Deployment"), "daemonset": ("apps/v1", "DaemonSet"),
    "daemon_set": ("apps/v1", "DaemonSet"), "stateful_set": ("apps/v1", "StatefulSet"),
    "replication_controller": ("v1", "ReplicationController"), "job": ("batch/v1", "Job"),
    "cron_job": ("batch/v1", "CronJob"), "priority_class": ("scheduling.k8s.io/v1", "PriorityClass"),
    "resource_quota": ("v1", "ResourceQuota"), "limit_range": ("v1", "LimitRange"), "namespace": ("v1", "Namespace"),
    "config_map": ("v1", "ConfigMap"), "service_account": ("v1", "ServiceAccount"),
    "persistent_volume_claim": ("v1", "PersistentVolumeClaim"), "secret": ("v1", "Secret"),
    "pod_disruption_budget": ("policy/v1", "PodDisruptionBudget"),
}  # fmt: skip
_LISTS = {
    "container": "containers", "init_container": "initContainers", "volume": "volumes", "volume_mount": "volumeMounts",
    "toleration": "tolerations", "env": "env", "env_from": "envFrom", "port": "ports",
    "image_pull_secrets": "imagePullSecrets", "image_pull_secret": "imagePullSecrets", "limit": "limits",
}  # fmt: skip
"""Nested blocks that are items of a list -> name of the list."""

_RESOURCE = regex(r"kubernetes_(\w+?)(?:_v\d\w*)?")
_UNDERSCORE = regex(r"_([a-z])")
_SNAKE = regex(r"[A-Z]+")


def read(root: Module, kinds: set[str]) -> Iterator[tuple[Object, Instance]]:
    """Yield the objects of a root module with their resources of some `kinds`."""
    for kind in sorted(kinds):
        if kind in _MANIFESTS:
            for instance in root.instances(kind):
                datum = instance.entry(_MANIFESTS[kind])
                yield from _objects_in(datum, instance) if datum is not None else ()
        match = _RESOURCE.fullmatch(kind)
        typed = _TYPED.get(match[1]) if match else None
        if typed is not None:
            for instance in root.instances(kind):
                yield Object(typed[1], typed[0], _mapping(instance), instance.span), instance


def in_arguments(calls: Iterable[tuple[Instance, list[str]]]) -> Iterator[tuple[Object, Instance]]:
    """Yield the objects in arguments of unread modules, to a depth of 6."""
    for instance, names in calls:
        for part in (part for name in names for part in _objects_within(instance.attribute(name), _DEPTH)):
            yield from _objects_in(part, instance)


_DEPTH = 6


def _objects_within(datum: Datum, depth: int) -> Iterator[Datum]:
    """Yield parts of a value that look like objects: a map or text with an apiVersion."""
    value = datum.value if isinstance(datum, Known) else None
    text = value if isinstance(value, str) else "".join(piece.text for piece in pieces_of(datum))
    if "apiVersion" in (value if isinstance(value, dict) else text) or encoded(datum) is not None:
        yield datum
    elif depth and isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _objects_within(part, depth - 1)


def _objects_in(datum: Datum, instance: Instance) -> Iterator[tuple[Object, Instance]]:
    for document in documents(datum, instance.span):
        yield from ((found, instance) for found in objects_in(document))


def _mapping(record: Record) -> yaml.Mapping:
    entries: list[yaml.Pair] = []
    place = record.span
    for name in record.names():
        datum = record.entry(name)
        if datum is None or _is_nested(name, datum):
            entries.append(yaml.Pair(_key(_LISTS.get(name) or _camel(name), place), _nested(record, name, place)))
        else:
            entries.append(yaml.Pair(_key(_camel(name), place), tree(datum, place)))
    return Stated(*place, None, tuple(entries), flow=False, absent=lambda path: _absent(record, path))


_MAPS = frozenset({"annotations", "labels", "match_labels", "node_selector", "requests", "limits"})
"""Attributes whose value is a map with user-defined keys."""
_ITEMS = frozenset(_LISTS.values()) - _MAPS


def _absent(record: Record, path: tuple[str, ...]) -> Origin:
    """Return where a missing field would be written."""
    found: list[str] = []
    for step in path:
        if found and found[-1] in _MAPS:
            return record.absent((*found[:-1], MapName(found[-1]), *path[len(found) :]))
        if step in _ITEMS:
            return Origin((record.span,), missing=Missing(record.span, path))
        found.append(_SNAKE.sub(lambda match: f"_{match[0].lower()}", step))
    return record.absent(tuple(found))


def _is_nested(name: str, datum: Datum) -> bool:
    """Whether an attribute stands for nested blocks: a list of objects, as in plans."""
    value = datum.value if isinstance(datum, Known) else None
    first = value[0] if isinstance(value, tuple) and value else None
    return name in _LISTS or (isinstance(first, Known) and isinstance(first.value, dict))


def _nested(record: Record, kind: str, place: Span) -> yaml.Target:
    blocks = record.blocks(kind)
    if isinstance(blocks, Unknown):
        return computed_scalar(blocks, place)
    if kind in _LISTS:
        return yaml.Sequence(*place, None, tuple(map(_mapping, blocks.value)), flow=False)
    return _mapping(blocks.value[0]) if blocks.value else computed_scalar(Known(None, Origin((place,))), place)


def _key(name: str, place: Span) -> yaml.Scalar:
    return yaml.Scalar(*place, None, name, "double", None)


def _camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


# --- values as trees


def tree(datum: Datum, place: Span) -> yaml.Target:
    """Convert a value to a tree; parts without a span get `place`."""
    inner = encoded(datum)
    if inner is not None:
        return tree(inner, place)
    spans = datum.origin.spans if datum.origin else ()
    span = next((span for span in spans if not span.source.bundled), place)
    value = datum.value if isinstance(datum, Known) else None
    if isinstance(value, dict):
        entries = tuple(yaml.Pair(_key(str(key), span), tree(item, span)) for key, item in value.items())
        return yaml.Mapping(*span, None, entries, flow=False)
    if isinstance(value, tuple):
        return yaml.Sequence(*span, None, tuple(tree(item, span) for item in value), flow=False)
    return computed_scalar(datum, span)


def computed_scalar(datum: Datum, span: Span) -> yaml.Computed:
    """Build a scalar whose value was computed elsewhere."""
    if isinstance(datum, Unknown):
        return yaml.Computed(*span, None, "", "double", None, datum)
    value: object = datum.value
    if isinstance(value, str):
        return yaml.Computed(*span, None, str(value), "double", None, datum)
    if isinstance(value, Fraction):
        value = decimal_number(value)
    if not isinstance(value, int | float | None):
        return computed_scalar(Unknown("a whole resource is not a YAML value", datum.origin), span)
    return yaml.Computed(*span, None, _plain(value), "plain", None, datum)


def _plain(value: float | None) -> str:
    try:
        return yaml.literal(value)
    except ValueError:
        return str(value)


def documents(datum: Datum, place: Span) -> Iterator[yaml.Target]:
    """Yield the YAML documents in a value: those of a string, or an object as one."""
    value = datum.value if isinstance(datum, Known) else None
    if encoded(datum) is not None or isinstance(value, dict):
        yield tree(datum, place)
        return
    pieces = pieces_of(datum)
    if not pieces and isinstance(value, str):
        span = datum.origin.written if datum.origin and datum.origin.spans else place
        pieces = (Piece(str(value), span),)
    if not pieces:
        return
    yield from embedded_yaml.documents(pieces)
