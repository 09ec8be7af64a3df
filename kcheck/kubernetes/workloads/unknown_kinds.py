"""Pods of unknown kinds: every pod template is a workload of unknown role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.workloads.places import Group
from kcheck.kubernetes.workloads.scalars import integer, text
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.config.numbers import profiles
    from kcheck.kubernetes.objects import Object
    from kcheck.text.text import Span

KIND: profiles.WorkloadKind = {"pods": []}
"""Table entry of such a kind."""

MARKS = (b"emplate", b"containers", b"image")
"""Marks in the text of an object with a pod template."""

NEVER = frozenset({
    "AdmissionReview", "ClusterTrainingRuntime", "ConfigMap", "CustomResourceDefinition", "Secret", "Template",
    "TrainingRuntime",
})  # fmt: skip
"""Kinds that describe pods but run none."""

_GROUPS = (
    "admission.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io", "kyverno.io", "gatekeeper.sh",
    "kustomize.config.k8s.io", "policies.kubewarden.io",
)  # fmt: skip
"""API groups that describe pods but run none, with their subgroups."""
_COUNTS = ("replicas", "parallelism")
_SCALED = frozenset({*_COUNTS, "completions", "size", "groupSize", "numOfHosts", "minReplicas", "maxReplicas"})
"""Keys of counts beside a template."""
_DEPTH = 12


class _Found(Struct, frozen=True):
    """A template, its map, and the enclosing maps with counts."""

    key: str
    node: yaml.Mapping
    owner: yaml.Mapping
    path: tuple[str, ...]
    name: str
    span: Span
    scaled: tuple[yaml.Mapping, ...]


def has_pods(item: Object) -> bool:
    """Whether an object of an unknown kind has a pod template."""
    return next(_found(item), None) is not None


def groups(item: Object) -> list[Group]:
    """List the pods of an object of an unknown kind."""
    result: list[Group] = []
    for one in _found(item):
        role = one.name
        if any(other.role == role for other in result):
            role = ".".join((*one.path, one.key))
        result.append(Group(one.node, role, _count(one), one.span))
    return [replace(result[0], role="")] if len(result) == 1 else result


def _found(item: Object) -> Iterator[_Found]:
    group = item.api_version.rpartition("/")[0]
    if item.kind in NEVER or group.endswith(_GROUPS):
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
    """Yield the templates below a node; `name` is that of their role."""
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
    """Whether a template is one of pods: all its containers have a name and an image."""
    containers = yaml.get(node, "spec", "containers")
    return (
        isinstance(containers, yaml.Sequence)
        and bool(containers.items)
        and all(_text(one, "name") and _text(one, "image") for one in containers.items)
    )


def _text(node: yaml.Node, key: str) -> bool:
    found = yaml.get(node, key)
    return isinstance(found, yaml.Scalar) and (isinstance(found, yaml.Computed) or bool(found.text))


def _count(one: _Found) -> Value[int]:
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
