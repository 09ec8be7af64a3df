"""Pod templates, roles and counts, by a table of kinds or by search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config.numbers import profiles
from kcheck.kubernetes.objects import Object, value_of
from kcheck.kubernetes.workloads import kubeflow, pods, scalars
from kcheck.kubernetes.workloads.scalars import boolean, integer, text, written
from kcheck.model import NOTHING, PodTemplate
from kcheck.text.need import need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import as_text
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, first_set, known


class Group(Struct, frozen=True):
    """Pods of a role: template, number, and defining line.

    `policies` is the path of the roles map in which the operator looks for restart policies. `absent` moves the span of
    missing fields, if the template replaces another form. `kept` are the pods left when it shrinks.
    """

    node: yaml.Target
    role: str
    number: Value[int]
    span: Span
    policies: tuple[str, ...] = ()
    absent: Callable[[Origin], Origin] | None = None
    kept: Value[int] = NOTHING

    def template(self, item: Object, own: str) -> PodTemplate:
        """Read the pod template of an object with an id."""
        found = pods.template(self.node, own, self.role, self.number, self.span)
        # the operator of such a job sets the policy of the role, whatever the pod says
        restart = text(item.root, *self.policies, self.role, "restartPolicy") if self.policies else NOTHING
        found = replace(found, kept=self.kept, restart=found.restart if isinstance(restart, Unset) else restart)
        return pods.with_places(found, self.absent) if self.absent is not None else found


def groups(item: Object, entry: profiles.WorkloadKind) -> list[Group]:
    """List an object's pods by the table of kinds, else every template in it."""
    return [one for place in entry["pods"] for one in _groups(item, place)] or _searched(item)


def is_fixed(item: Object, entry: profiles.WorkloadKind) -> bool:
    """Whether the number of pods stays the same while the object runs."""
    return not any(
        (most := _most(item, owner, place, role)) is not None
        and known(most) != (known(_number(owner, place["count"])) or 1)
        for place in entry["pods"]
        if "grows" in place and "count" in place
        for owner, role, _ in _owners(item, place)
    )


def steps(path: str) -> list[str]:
    """Split a path of the table into keys."""
    return path.split(".") if path else []


def spec(node: yaml.Target) -> yaml.Target | None:
    """Return the pod spec of a template; None if it is not a map."""
    found = yaml.get(node, "spec")
    return found if isinstance(found, yaml.Mapping) else None


def _groups(item: Object, place: profiles.PodPlace) -> Iterator[Group]:
    shape = _SHAPES.get(place.get("shape", ""))
    policies = tuple(steps(place["each"])) if "each" in place else ()
    for owner, role, span in _owners(item, place):
        node = yaml.get(owner, *steps(place["at"]))
        own = shape if yaml.get(node, "spec", "containers") is None else None
        if node is not None and own is not None:
            node = own.pod(node, item)
        if node is not None and spec(node) is not None:
            absent = own.absent if own is not None else None
            kept = NOTHING if _most(item, owner, place, role) is None else _least(owner, place)
            count = _count(item, owner, place, role, span)
            yield Group(node, role, count, span, policies=policies, absent=absent, kept=kept)


def _owners(item: Object, place: profiles.PodPlace) -> Iterator[tuple[yaml.Target, str, Span]]:
    """Yield the owners of templates: the object, or each role with its line."""
    if "each" in place:
        for role, entry in yaml.pairs(item.root, *steps(place["each"])).items():
            yield yaml.resolve(entry.value), role, entry.key.span
    elif "list" in place:
        for one in yaml.items(item.root, *steps(place["list"])):
            name = written(one, place["name"])
            yield one, str(known(name)), name.origin.written if isinstance(name, Known) else one.span
    else:
        yield item.root, place.get("role", ""), item.span


@or_unknown
def _count(item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str, span: Span) -> Value[int]:
    """Return the number of pods: one by default, unless the kind leaves it open."""
    written = [_number(owner, place[key]) for key in ("count", "times") if key in place]
    if place.get("open") and isinstance(written[0], Unset):
        return Unknown(f"`{place['count'].partition(' | ')[0]}` is not set", Origin((span,)))
    if written:
        written[0] = _most(item, owner, place, role) or written[0]
    numbers = [1 if isinstance(value, Unset) else need(value) for value in written]
    if numbers and yaml.get(owner, *steps(place.get("beside", "-"))) is not None:
        numbers[0] = max(0, numbers[0] - 1)
    product = prod(numbers)
    most = integer(owner, *steps(place["most"])) if "most" in place else NOTHING
    if not isinstance(most, Unset) and need(most) < product:
        return most
    return Known(product, (written[0].origin if written else None) or Origin((span,)))


def _number(owner: yaml.Target, spellings: str) -> Value[int]:
    """Return the number at the first existing path of several, separated by ` | `."""
    found = [integer(owner, *steps(path)) for path in spellings.split(" | ")]
    return first_set(*found, found[0])


def _most(item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str) -> Value[int] | None:
    """Return the maximum pods of an elastic role; None if it is not elastic."""
    growth = place.get("grows")
    if growth is None or growth.get("role", role) != role:
        return None
    if "when" in growth:
        on = boolean(item.root, *steps(growth["when"]))
        if not known(on):
            return on if isinstance(on, Unknown) else None
    whole = growth["to"].startswith("/")
    most = integer(item.root if whole else owner, *steps(growth["to"].removeprefix("/")))
    if not isinstance(most, Unset):
        return most
    why = f"`{growth['to'].removeprefix('/')}` is not set"
    return Unknown(why, Origin((owner.span,))) if "when" in growth else None


def _least(owner: yaml.Target, place: profiles.PodPlace) -> Value[int]:
    """Return the minimum pods of an elastic role."""
    path = place["grows"].get("from")
    found = _number(owner, path or place["count"])
    return Known(0 if path else 1, Origin((owner.span,))) if isinstance(found, Unset) else found


def _trainer(node: yaml.Target, item: Object) -> yaml.Target:
    """Build the pod of a TrainJob with an unread runtime, from its container settings."""
    own = yaml.pairs(node)
    entries = [entry for key, entry in own.items() if key not in ("resourcesPerNode", "numNodes")]
    resources = own.get("resourcesPerNode")
    if resources is not None:
        entries.append(scalars.entry(resources.key, "resources", resources.value))
    entries.append(scalars.entry(node, "name", scalars.scalar_at(node, kubeflow.NODE)))
    return kubeflow.patched(scalars.of_containers(node, [scalars.mapping_at(node, entries)]), item)


def _of_trainer(origin: Origin) -> Origin:
    """Move the span of missing resources to `resourcesPerNode` of a trainer."""
    missing = origin.missing
    if missing is None or missing.path[:1] != ("resources",):
        return origin
    return replace(origin, missing=replace(missing, path=("resourcesPerNode", *missing.path[1:])))


class _Shape(Struct, frozen=True):
    """Converts another form to a pod template, and moves the spans of missing fields."""

    pod: Callable[[yaml.Target, Object], yaml.Target]
    absent: Callable[[Origin], Origin] | None = None


_OF_POD = {
    name: name
    for name in (
        "affinity", "nodeSelector", "tolerations", "hostNetwork", "schedulerName", "priorityClassName",
        "terminationGracePeriodSeconds", "initContainers", "imagePullSecrets", "volumes",
    )
} | {"serviceAccount": "serviceAccountName"}  # fmt: skip
"""Key of a driver, executor or application -> key in a pod."""
_OF_CONTAINER = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts")
_MEMORY = regex(r"([0-9]+)([kmgtp])b?", re.IGNORECASE)
_WHY = "memory is the heap, spelt like 3g, to which Spark adds memoryOverhead"
_CORES, _HEAP = 1, "1Gi"
"""Defaults of a driver or an executor (spark.driver.cores, spark.driver.memory ...)."""


def _spark_pod(node: yaml.Target, item: Object) -> yaml.Target:
    """Build the pod template the operator creates for a driver or an executor.

    https://github.com/kubeflow/spark-operator/blob/master/docs/api-docs.md, checked 2026-11-22.
    """
    own = yaml.pairs(node)
    whole = yaml.pairs(yaml.get(item.root, "spec", "template") or yaml.get(item.root, "spec"))
    both = {key: entry for key, entry in whole.items() if key in _OF_POD or key in _OF_CONTAINER} | own
    container = [both[key] for key in _OF_CONTAINER if key in both]
    container.append(scalars.entry(node, "name", scalars.scalar_at(node, "spark")))
    container.append(scalars.entry(node, "resources", _spark_resources(node, own)))
    found = [scalars.mapping_at(node, container), *yaml.items(node, "sidecars")]
    extra = [scalars.entry(both[key].key, name, both[key].value) for key, name in _OF_POD.items() if key in both]
    metadata = [own[key] for key in ("labels", "annotations") if key in own]
    return scalars.of_containers(node, found, extra, metadata)


def _spark_resources(node: yaml.Target, own: dict[str, yaml.Pair]) -> yaml.Target:
    limits = [scalars.entry(node, "cpu", _spark_cpu(node, own, "coreLimit"))]
    requests = [
        scalars.entry(node, "cpu", _spark_cpu(node, own, "coreRequest")),
        scalars.entry(node, "memory", _spark_memory(node, own)),
    ]
    name, quantity = yaml.get(node, "gpu", "name"), yaml.get(node, "gpu", "quantity")
    if isinstance(name, yaml.Scalar) and quantity is not None:
        limits.append(scalars.entry(name, name.text, quantity))
    sides = {"requests": requests, "limits": limits}
    return scalars.mapping_at(
        node, [scalars.entry(node, key, scalars.mapping_at(node, own)) for key, own in sides.items()]
    )


def _of_spark(origin: Origin) -> Origin:
    """Mark missing fields as not writable, except CPU, as there is no pod template."""
    missing = origin.missing
    own = missing is not None and missing.path in (("coreRequest",), ("coreLimit",))
    return origin if own or origin.why else replace(origin, why="SparkApplication has no pod template")


def _spark_cpu(node: yaml.Target, own: dict[str, yaml.Pair], key: str) -> yaml.Target:
    """Return CPU by its own key; requests default to `cores`."""
    if key in own:
        return yaml.resolve(own[key].value)
    cores = yaml.resolve(own["cores"].value) if "cores" in own and key == "coreRequest" else node
    value = value_of(cores) if isinstance(cores, yaml.Scalar) else Unset(node.span)
    if isinstance(value, Unknown):
        return scalars.computed_at(cores, value)
    usual = _CORES if key == "coreRequest" else None
    origin = Origin((cores.span,), missing=Missing(node.span, (key,)))
    return scalars.computed_at(cores, value.value if isinstance(value, Known) else usual, origin)


def _spark_memory(node: yaml.Target, own: dict[str, yaml.Pair]) -> yaml.Target:
    """Convert JVM memory to a quantity: 512m are MiB."""
    if "memory" not in own:
        return scalars.computed_at(node, _HEAP, Origin((node.span,), missing=Missing(node.span, ("memory",)), why=_WHY))
    written = yaml.resolve(own["memory"].value)
    value = value_of(written) if isinstance(written, yaml.Scalar) else None
    if not isinstance(value, Known):
        return written
    match = _MEMORY.fullmatch(as_text(value.value))
    quantity = f"{match[1]}{match[2].upper()}i" if match else value.value
    return scalars.computed_at(written, quantity, replace(value.origin, why=_WHY))


_MODELS = (
    "model", "huggingface", "lightgbm", "onnx", "paddle", "pmml", "pytorch", "sklearn", "tensorflow", "triton",
    "xgboost",
)  # fmt: skip
"""Keys of a component of KServe with the container of a model server."""


def _component(node: yaml.Target, _item: Object) -> yaml.Target:
    """Build the pod template of a KServe component."""
    own = yaml.pairs(node)
    models = [_with_image(yaml.resolve(own[key].value)) for key in _MODELS if key in own]
    spec = [entry for key, entry in own.items() if key not in (*_MODELS, "containers")]
    return scalars.of_containers(node, [*models, *yaml.items(node, "containers")], spec)


def _with_image(node: yaml.Target) -> yaml.Target:
    """Return the container of a model, or of its ServingRuntime."""
    own = yaml.pairs(node)
    image = scalars.computed_at(node, Unknown("the image is that of a ServingRuntime", Origin((node.span,))))
    return node if "image" in own else scalars.mapping_at(node, [*own.values(), scalars.entry(node, "image", image)])


_SHAPES = {
    "trainer": _Shape(_trainer, _of_trainer), "spark": _Shape(_spark_pod, _of_spark),
    "component": _Shape(_component),
}  # fmt: skip
"""Forms other than pod templates."""


# --- unknown kinds

UNKNOWN: profiles.WorkloadKind = {"pods": []}
"""Table entry of a kind that is not in the table: every pod template is a workload of unknown role."""

MARKS = (b"emplate", b"containers", b"image")
"""Marks in the text of an object with a pod template."""

NEVER = frozenset({
    "AdmissionReview", "ClusterTrainingRuntime", "ConfigMap", "CustomResourceDefinition", "Secret", "Template",
    "TrainingRuntime",
})  # fmt: skip
"""Kinds that describe pods but run none."""

_API_GROUPS = (
    "admission.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "kyverno.io", "gatekeeper.sh",
    "kustomize.config.k8s.io", "policies.kubewarden.io",
)  # fmt: skip
"""API groups that describe pods but run none, with their subgroups."""
_COUNTS = ("replicas", "parallelism")
_SCALED = frozenset({*_COUNTS, "completions", "size", "groupSize", "numOfHosts", "minReplicas", "maxReplicas"})
"""Keys of counts beside a template."""
_DEPTH = 12


class _Found(Struct, frozen=True):
    """A template, its map, and the maps around it that have counts."""

    key: str
    node: yaml.Mapping
    owner: yaml.Mapping
    path: tuple[str, ...]
    name: str
    span: Span
    scaled: tuple[yaml.Mapping, ...]


def _searched(item: Object) -> list[Group]:
    """List the pods of an object of an unknown kind, with roles."""
    result: list[Group] = []
    for one in found(item):
        role = one.name
        if any(other.role == role for other in result):
            role = ".".join((*one.path, one.key))
        result.append(Group(one.node, role, _count_of(one), one.span))
    return [replace(result[0], role="")] if len(result) == 1 else result


def found(item: Object) -> Iterator[_Found]:
    """Yield the pod templates of an object of an unknown kind."""
    group = item.api_version.rpartition("/")[0]
    if item.kind in NEVER or group.endswith(_API_GROUPS):
        return
    root = yaml.get(item.root, "spec")
    if isinstance(root, yaml.Mapping):
        yield from _within(root, ("spec",), "", set(), ())


def _within(
    node: yaml.Mapping | yaml.Sequence,
    path: tuple[str, ...],
    name: str,
    seen: set[yaml.Target],
    scaled: tuple[yaml.Mapping, ...],
) -> Iterator[_Found]:
    """Yield the templates below a node; `name` is the name of their role."""
    if node in seen or len(path) > _DEPTH:
        return
    seen.add(node)
    if isinstance(node, yaml.Sequence):
        for i, child in enumerate(map(yaml.resolve, node.items)):
            if isinstance(child, yaml.Mapping):
                label = known(text(child, "name")) or f"{name}{i}"
                yield from _within(child, (*path, str(i)), label, seen, scaled)
        return
    own = yaml.entries(node)
    if len(path) > 1 and "apiVersion" in own and "kind" in own:
        return  # an object of its own
    scaled = scaled if _SCALED.isdisjoint(own) else (*scaled, node)
    for key, entry in own.items():
        child = yaml.resolve(entry.value)
        if isinstance(child, yaml.Mapping) and key.lower().endswith("template") and _is_pod(child):
            role = key[: -len("template")] or name
            yield _Found(key, child, node, path, name=role, span=entry.key.span, scaled=scaled)
        elif isinstance(child, yaml.Mapping | yaml.Sequence) and key != "status":
            inner = name if key in ("template", "spec") else key
            yield from _within(child, (*path, key), inner, seen, scaled)


def _is_pod(node: yaml.Mapping) -> bool:
    """Whether a template is for pods: all its containers have a name and an image."""
    containers = yaml.get(node, "spec", "containers")
    return (
        isinstance(containers, yaml.Sequence)
        and bool(containers.items)
        and all(_is_written(one, "name") and _is_written(one, "image") for one in containers.items)
    )


def _is_written(node: yaml.Node, key: str) -> bool:
    found = yaml.get(node, key)
    return isinstance(found, yaml.Scalar) and (isinstance(found, yaml.Computed) or bool(found.text))


def _count_of(one: _Found) -> Value[int]:
    """Return the number of pods: the only count on the path to their template."""
    if len(one.scaled) > 1:
        return Unknown(f"the number of pods of `{'.'.join((*one.path, one.key))}` is not known", Origin((one.span,)))
    owner = one.scaled[0] if one.scaled else one.owner
    most = integer(owner, "maxReplicas")
    counts = [integer(owner, key) for key in _COUNTS]
    count = next((value for value in counts if not isinstance(value, Unset)), None)
    if count is None or not _SCALED.isdisjoint(yaml.entries(owner).keys() - {*_COUNTS, "minReplicas", "maxReplicas"}):
        where = f"{one.span.source.path}:{one.span.begin.line}"
        return Unknown(f"`{'.'.join((*one.path, _COUNTS[0]))}` is not set in {where}", Origin((one.span,)))
    elastic = isinstance(most, Unknown) or (isinstance(most, Known) and (known(count) or 0) < most.value)
    return most if elastic else count
