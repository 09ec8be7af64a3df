"""Transformations of a kustomization: names, namespaces, labels, images, replicas."""

import re

from kcheck.kubernetes.kustomization import Resource
from kcheck.kubernetes.objects import unknown_scalar
from kcheck.kubernetes.patches import items_of, rebuild, replace_at, set_path
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Known, Origin

CLUSTER_WIDE = frozenset({
    "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
    "ComponentStatus", "CustomResourceDefinition", "FlowSchema", "IngressClass", "MutatingWebhookConfiguration",
    "Namespace", "Node", "PersistentVolume", "PodSecurityPolicy", "PriorityClass", "PriorityLevelConfiguration",
    "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "StorageClass", "SubjectAccessReview",
    "TokenReview", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration", "VolumeAttachment",
})  # fmt: skip
"""Built-in kinds without a namespace; Kustomize assumes that unknown kinds have one."""

_NEVER_RENAMED = frozenset({"CustomResourceDefinition", "APIService", "Namespace"})
_SCALED = frozenset({"Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"})
_REFERENCES = {"PriorityClass": "priorityClassName"}
"""Kind -> field of pods that refers to it; rules use no other name that Kustomize updates."""

_SPEC = ("spec", "template")
_TEMPLATES = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job"), _SPEC),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
}
_TERMS = ("requiredDuringSchedulingIgnoredDuringExecution", "*", "labelSelector", "matchLabels")
_WEIGHTED = ("preferredDuringSchedulingIgnoredDuringExecution", "*", "podAffinityTerm", "labelSelector", "matchLabels")
_SPREAD = [
    ("topologySpreadConstraints", "*", "labelSelector", "matchLabels"),
    *(("affinity", kind, *terms) for kind in ("podAffinity", "podAntiAffinity") for terms in (_TERMS, _WEIGHTED)),
]
"""Selectors in pod specs; they get labels only where they are written."""

_SELECTORS = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"), ("spec", "selector", "matchLabels")),
    **dict.fromkeys(("Service", "ReplicationController"), ("spec", "selector")),
}


def apply_transformers(resources: list[Resource], root: yaml.Mapping) -> list[Resource]:
    """Apply a kustomization's fields that change all objects, in Kustomize's order."""
    namespace = yaml.get(root, "namespace")
    if isinstance(namespace, yaml.Scalar) and namespace.text:
        resources = [_in_namespace(resource, namespace) for resource in resources]
    resources = _with_affixes(resources, yaml.get(root, "namePrefix"), yaml.get(root, "nameSuffix"))
    for labels, templates, selectors in _labels(root):
        resources = [_with_labels(resource, labels, templates, selectors) for resource in resources]
    annotations = yaml.get(root, "commonAnnotations")
    if isinstance(annotations, yaml.Mapping):
        resources = [
            one.changed(_with_pairs_at(one.item.root, _metadata_paths(one.item.kind, "annotations"), annotations))
            for one in resources
        ]
    return resources


def _in_namespace(resource: Resource, namespace: yaml.Scalar) -> Resource:
    if resource.item.kind == "Namespace":
        return resource.renamed(set_path(resource.item.root, ("metadata", "name"), namespace))
    if resource.item.kind in CLUSTER_WIDE:
        return resource
    return resource.renamed(set_path(resource.item.root, ("metadata", "namespace"), namespace))


def _with_affixes(resources: list[Resource], prefix: yaml.Target | None, suffix: yaml.Target | None) -> list[Resource]:
    written = [node for node in (prefix, suffix) if isinstance(node, yaml.Scalar) and node.text]
    if not written:
        return resources
    result = []
    renamed: dict[tuple[str, str], yaml.Scalar] = {}
    for resource in resources:
        name = yaml.get(resource.item.root, "metadata", "name")
        if not isinstance(name, yaml.Scalar) or resource.item.kind in _NEVER_RENAMED:
            result.append(resource)
            continue
        parts = (yaml.text(prefix), name.text, yaml.text(suffix))
        called = composed_text("".join(parts), name.span, *(node.span for node in written))
        result.append(resource.renamed(set_path(resource.item.root, ("metadata", "name"), called)))
        field = _REFERENCES.get(resource.item.kind)
        if field:
            renamed[field, name.text] = called
    return [_with_new_references(resource, renamed) for resource in result] if renamed else result


def _with_new_references(resource: Resource, renamed: dict[tuple[str, str], yaml.Scalar]) -> Resource:
    def visit(name: str, node: yaml.Target) -> yaml.Target | None:
        return renamed.get((name, node.text)) if isinstance(node, yaml.Scalar) else None

    return resource.changed(rebuild(resource.item.root, visit))


def composed_text(value: str, *spans: Span) -> yaml.Computed:
    """Build a text joined from several spans, the most relevant one first."""
    return yaml.Computed(*spans[0], None, value, "double", None, Known(value, Origin(tuple(dict.fromkeys(spans)))))


# --- labels


def _labels(root: yaml.Mapping) -> list[tuple[yaml.Mapping, bool, bool]]:
    """Return the labels of all objects, and whether pods get them, too."""
    result = []
    common = yaml.get(root, "commonLabels")
    for entry in yaml.items(root, "labels"):
        pairs = yaml.get(entry, "pairs")
        if isinstance(pairs, yaml.Mapping):
            selectors = yaml.text(entry, "includeSelectors") == "true"
            result.append((pairs, selectors or yaml.text(entry, "includeTemplates") == "true", selectors))
    if isinstance(common, yaml.Mapping):
        result.append((common, True, True))
    return result


def _with_labels(resource: Resource, labels: yaml.Mapping, templates: bool, selectors: bool) -> Resource:
    kind = resource.item.kind
    paths = _metadata_paths(kind if templates else "", "labels")
    if selectors and kind in _SELECTORS:
        paths.append(_SELECTORS[kind])
    root = _with_pairs_at(resource.item.root, paths, labels)

    def merged(node: yaml.Target) -> yaml.Target:
        return _with_pairs_at(node, [()], labels) if isinstance(node, yaml.Mapping) else node

    if selectors and kind in _TEMPLATES:
        for path in _SPREAD:
            root = replace_at(root, (*_TEMPLATES[kind], "spec", *path), merged)
    return resource.changed(root)


def _metadata_paths(kind: str, name: str) -> list[tuple[str, ...]]:
    """Return the paths of labels or annotations in an object and its templates."""
    template = _TEMPLATES.get(kind)
    holders = [(), *([template] if template else []), *([template[:2]] if template and len(template) > 2 else [])]
    return [(*holder, "metadata", name) for holder in holders]


def _with_pairs_at(root: yaml.Mapping, paths: list[tuple[str, ...]], pairs: yaml.Mapping) -> yaml.Mapping:
    for path in paths:
        for name, entry in yaml.entries(pairs).items():
            root = set_path(root, (*path, name), yaml.resolve(entry.value))
    return root


# --- images and replicas

_IMAGE = regex(r"(?P<name>.*?)(?::(?P<tag>[\w.{}-]*))?(?:@(?P<digest>.*))?", re.DOTALL)
_CONTAINERS = frozenset({"containers", "initContainers"})


def with_images(resources: list[Resource], images: list[yaml.Mapping]) -> list[Resource]:
    """Set the container images that a kustomization chooses."""
    by_name = {yaml.text(image, "name"): image for image in images}
    if not by_name:
        return resources

    def visit(name: str, node: yaml.Target) -> yaml.Target | None:
        if name not in _CONTAINERS or not isinstance(node, yaml.Sequence):
            return None
        items = [_with_image(yaml.resolve(item), by_name) for item in node.items]
        same = all(new is yaml.resolve(old) for new, old in zip(items, node.items, strict=True))
        return None if same else items_of(node, items)

    return [
        resource
        if resource.item.kind == "CustomResourceDefinition"
        else resource.changed(rebuild(resource.item.root, visit))
        for resource in resources
    ]


def _with_image(container: yaml.Target, by_name: dict[str, yaml.Mapping]) -> yaml.Target:
    old = yaml.get(container, "image")
    match = _IMAGE.fullmatch(old.text) if isinstance(old, yaml.Scalar) else None
    entry = by_name.get(match["name"]) if match else None
    if match is None or entry is None or not isinstance(old, yaml.Scalar) or not isinstance(container, yaml.Mapping):
        return container
    name, tag, digest, suffix = (yaml.get(entry, field) for field in ("newName", "newTag", "digest", "tagSuffix"))
    label = f":{match['tag']}" if match["tag"] else ""
    seal = f"@{match['digest']}" if match["digest"] else ""
    if yaml.text(tag) or yaml.text(digest):
        label = f":{yaml.text(tag)}" if yaml.text(tag) else ""
        seal = f"@{yaml.text(digest)}" if yaml.text(digest) else ""
    elif yaml.text(suffix):
        label, seal = f"{label}{yaml.text(suffix)}", ""
    given = [node.span for node in (name, tag, digest, suffix) if node is not None and yaml.text(node)]
    if not given:
        return container
    value = f"{yaml.text(name) or match['name']}{label}{seal}"
    # the first place is that of the registry
    places = [*given[:1], old.span, *given[1:]] if yaml.text(name) else [old.span, *given]
    if isinstance(name, yaml.Scalar) and value == name.text:
        return set_path(container, ("image",), name)
    return set_path(container, ("image",), composed_text(value, *places))


def with_replicas(resources: list[Resource], replicas: list[yaml.Mapping]) -> list[Resource]:
    """Set the replicas that a kustomization chooses."""
    counts = {yaml.text(entry, "name"): yaml.get(entry, "count") for entry in replicas}
    result = []
    for resource in resources:
        found = [counts[own.name] for own in resource.names if own.name in counts]
        if found and found[0] is not None and resource.item.kind in _SCALED:
            resource = resource.changed(set_path(resource.item.root, ("spec", "replicas"), found[0]))  # noqa: PLW2901
        result.append(resource)
    return result


# --- what is unknown

_VARIABLE = regex(r"\$\(([\w.-]+)\)")


_NONE: frozenset[str] = frozenset()


class Variables:
    """Names in `$(...)` below nodes, cached for shared nodes."""

    def __init__(self) -> None:
        self._found: dict[yaml.Target, frozenset[str]] = {}

    def below(self, node: yaml.Node) -> frozenset[str]:
        """Return the names below a node."""
        target = yaml.resolve(node)
        if isinstance(target, yaml.Scalar):
            return frozenset(_VARIABLE.findall(target.text)) if "$(" in target.text else _NONE
        if target not in self._found:
            inner = target.items if isinstance(target, yaml.Sequence) else [entry.value for entry in target.entries]
            self._found[target] = _NONE.union(*map(self.below, inner))
        return self._found[target]


def with_variables(
    resources: list[Resource], names: frozenset[str], variables: Variables
) -> tuple[list[Resource], set[str]]:
    """Make texts that use a kustomization's `vars` unknown, and return the used names."""
    used: set[str] = set()
    if not names:
        return resources, used

    def visit(_: str, node: yaml.Target) -> yaml.Target | None:
        found = names.intersection(_VARIABLE.findall(node.text)) if isinstance(node, yaml.Scalar) else None
        if not found:
            return None
        used.update(found)
        return unknown_scalar("`vars` of a kustomization set the value", node.span)

    def changed(resource: Resource) -> Resource:
        root = resource.item.root
        return resource if names.isdisjoint(variables.below(root)) else resource.changed(rebuild(root, visit))

    return list(map(changed, resources)), used
