"""Pod templates and their containers."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from kcheck import model
from kcheck.config.numbers import names
from kcheck.kubernetes.objects import value_of
from kcheck.kubernetes.workloads import references
from kcheck.kubernetes.workloads.scalars import (
    absent,
    boolean,
    gap,
    integer,
    listed,
    mapping,
    scalar,
    scaled_quantity,
    text,
    written,
    written_map,
)
from kcheck.text import placeholders
from kcheck.text.need import first_unknown, if_set, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import as_text, quantity
from kcheck.text.values import (
    Known,
    Origin,
    Unknown,
    Unset,
    Value,
    equals,
    first_set,
    known,
    mapped,
    reason_of,
    with_origin,
)

T = TypeVar("T", model.PodTemplate, model.Container)

_GROUPS = ("initContainers", "containers", "ephemeralContainers")
STARTERS = regex(
    r"\b(torchrun|mpirun|mpiexec|horovodrun|deepspeed|accelerate launch|torch\.distributed|colossalai run)\b"
)
RDMA = regex(r"rdma|/efa$|/hca|/ib$|infiniband|roce|/mlnx|sriov", re.IGNORECASE)
_HOST = "kubernetes.io/hostname"


def template(item: yaml.Target, owner: str, role: str, count: Value[int], place: Span) -> model.PodTemplate:
    """Read the pod template at a node: its `metadata` and `spec`."""
    identity = f"{owner}/{role}" if role else owner
    spec = yaml.get(item, "spec") or item
    nodes = list(containers(spec))
    found = tuple(container(node, group, identity, i) for i, (group, node) in enumerate(nodes))
    shared = [_request(spec, "cpu", 1000), _request(spec, "memory", 1)]
    labels = written_map(item, "metadata", "labels")
    cards, here = [_cards_of(one) for one in found], Origin((place,))
    spread, apart = _apart(spec, labels)
    return model.PodTemplate(
        identity, place, role=role, count=count, cpu=_of_pod(spec, "cpu", shared[0], found, here),
        memory=_of_pod(spec, "memory", shared[1], found, here),
        gpus=_needed(found, cards, next((one.origin for one in cards if one.origin and one.origin.spans), here)),
        shares=any(isinstance(one.gpu, Known) and one.gpu.value not in names.cards() for one in found),
        priority=text(spec, "priorityClassName"), scheduler=text(spec, "schedulerName"), labels=labels,
        annotations=written_map(item, "metadata", "annotations"), selection=_selection(spec),
        tolerations=_tolerations(spec), spread=spread, host_network=boolean(spec, "hostNetwork"),
        host_ipc=boolean(spec, "hostIPC"), dns_policy=text(spec, "dnsPolicy"), restart=text(spec, "restartPolicy"),
        grace=integer(spec, "terminationGracePeriodSeconds"), account=text(spec, "serviceAccountName"),
        ports=_ports(spec, nodes), volumes=listed(spec, "volumes", _volume), subdomain=text(spec, "subdomain"),
        containers=found, safe_to_evict=_mark(item, model.STAY), do_not_disrupt=_mark(item, model.UNDISTURBED),
        movable_volumes=_mark(item, model.LOCAL), asks_as_one=not all(isinstance(value, Unset) for value in shared),
        claims=listed(spec, "resourceClaims", _claim), node_devices=_node_devices(spec, nodes),
        packed_by=_packed_by(item, spec, labels), apart=apart, topology=_topology(item), devices=_devices(spec, nodes),
        device_classes=Known((), here),
        references=tuple(references.of_pod(spec, [node for _, node in nodes])),
    )  # fmt: skip


def fixed(one: model.PodTemplate, why: str) -> model.PodTemplate:
    """Record why no field can be added to a template."""
    return with_places(one, lambda origin: replace(origin, why=why))


def with_places(one: model.PodTemplate, place: Callable[[Origin], Origin]) -> model.PodTemplate:
    """Move the spans of all missing fields of a template."""
    return replace(_placed(one, place), containers=tuple(_placed(container, place) for container in one.containers))


def _placed(one: T, place: Callable[[Origin], Origin]) -> T:
    found = {name: getattr(one, name) for name in one.__struct_fields__}
    changed: dict[str, object] = {
        name: with_origin(value, place(value.origin))
        for name, value in found.items()
        if isinstance(value, Known | Unset) and value.origin.missing is not None
    }
    return replace(one, **changed)


def containers(spec: yaml.Node | None) -> Iterator[tuple[str, yaml.Target]]:
    """Yield the containers of a pod spec, init containers first."""
    for group in _GROUPS:
        for node in yaml.items(spec, group):
            sidecar = group == "initContainers" and known(text(node, "restartPolicy")) == "Always"
            yield "containers" if sidecar else group, node


def container(node: yaml.Target, group: str, owner: str, at: int) -> model.Container:
    """Read one container."""
    name = written(node, "name")
    resource = next(filter(_is_gpu, _resources(node)), "")
    request, limit = _cards(node, resource or names.NVIDIA)
    named, words = dict.fromkeys(_resources(node)), _words(node)
    extended = (name for name in named if "/" in name and not _is_gpu(name))
    return model.Container(
        f"{owner}/{known(name) or at}", node.span if not isinstance(name, Known) else name.origin.written, name=name,
        init=group == "initContainers", image=_image_name(node), pull_policy=text(node, "imagePullPolicy"),
        restart=text(node, "restartPolicy"),
        cpu_request=scaled_quantity(node, ("resources", "requests", "cpu"), 1000),
        memory_request=scaled_quantity(node, ("resources", "requests", "memory"), 1),
        cpu_limit=scaled_quantity(node, ("resources", "limits", "cpu"), 1000),
        memory_limit=scaled_quantity(node, ("resources", "limits", "memory"), 1),
        gpu=Known(resource, Origin((node.span,))) if resource else absent(node, "resources", "limits", names.NVIDIA),
        gpu_request=request, gpu_limit=limit, rdma=any(RDMA.search(one) for one in named),
        mounts=listed(node, "volumeMounts", lambda mount: str(known(text(mount, "mountPath"))).rstrip("/")),
        starters=tuple(dict.fromkeys(STARTERS.findall(words))), text=words,
        claims=tuple(str(known(text(one, "name"))) for one in yaml.items(node, "resources", "claims")),
        extended=tuple((name, first_set(*reversed(_cards(node, name)))) for name in extended),
    )  # fmt: skip


def _cards(node: yaml.Target, resource: str) -> list[Value[str]]:
    """Return GPU request and limit of a container; equal placeholders are equal."""
    paths = [("resources", side, resource) for side in ("requests", "limits")]
    found = [written(node, *path) for path in paths]
    same = known(found[0]) is not None and known(found[0]) == known(found[1])
    if same or all(isinstance(one, Unset) for one in found):
        return found
    return [mapped(scalar(node, *path), as_text) for path in paths]


def _image_name(node: yaml.Target) -> Value[str]:
    """Return the image of a container; a placeholder hides only its own part."""
    found = written(node, "image")
    return found if placeholders.first(known(found) or "") else text(node, "image")


def image(one: model.Container) -> model.Image | None:
    """Return the image of a container; None if unknown or never pulled."""
    if not isinstance(one.image, Known) or equals(one.pull_policy, "Never"):
        return None
    reference = model.image_names.parse(one.image.value)
    registry: Value[str] = (
        Known(reference.registry, one.image.origin)
        if reference
        else Unknown(placeholders.reason(placeholders.first(one.image.value) or one.image.value), one.image.origin)
    )
    return model.Image(one.id, one.image.origin.written, str(known(one.name)), one.image, registry)


def _mark(item: yaml.Target, key: str) -> Value[str]:
    return mapped(scalar(item, "metadata", "annotations", key), as_text)


def _words(node: yaml.Target) -> str:
    """Join a container's command and variables into one text."""
    parts = [part.text for key in ("command", "args") for part in yaml.scalars(node, key)]
    for variable in yaml.items(node, "env"):
        named = (yaml.get(variable, key) for key in ("name", "value"))
        parts += [part.text for part in named if isinstance(part, yaml.Scalar)]
    return " ".join(parts)


def _is_gpu(name: str) -> bool:
    return name in names.cards() or bool(names.pattern("shares").match(name))


def _resources(node: yaml.Target) -> Iterator[str]:
    for side in ("limits", "requests"):
        yield from yaml.pairs(node, "resources", side)


def _claim(one: yaml.Target) -> model.Claim:
    shared = known(written(one, "resourceClaimName"))
    source = shared or known(written(one, "resourceClaimTemplateName"))
    return model.Claim(str(known(text(one, "name"))), str(source or "?"), shared is not None)


def _devices(spec: yaml.Target, nodes: list[tuple[str, yaml.Target]]) -> Value[bool]:
    """Whether a pod requests devices: by resource or by claim."""
    found = [node for _, node in nodes]
    claims = yaml.get(spec, "resourceClaims") is not None
    if claims or any("/" in name for node in (*found, spec) for name in _resources(node)):
        return Known(value=True, origin=Origin((spec.span,)))
    whole = (yaml.get(node, "resources", *side) for node in found for side in ((), ("limits",), ("requests",)))
    values = (value_of(one) for one in whole if isinstance(one, yaml.Scalar))
    return first_unknown(values) or gap(spec, "resourceClaims") or Known(value=False, origin=Origin((spec.span,)))


def _request(node: yaml.Target, resource: str, times: int) -> Value[int]:
    """Return the request of a whole pod; the limit is the default."""
    request, limit = (scaled_quantity(node, ("resources", side, resource), times) for side in ("requests", "limits"))
    return first_set(request, limit, request)


def _of_pod(
    spec: yaml.Target, name: str, own: Value[int], found: tuple[model.Container, ...], at: Origin
) -> Value[int]:
    """Return the request of a pod: its own, its containers', or its limit."""
    values: list[Value[int]] = [getattr(one, name) for one in found]
    asked = [Known(0, value.origin) if isinstance(value, Unset) else value for value in values]
    limit = isinstance(written(spec, "resources", "requests", name), Unset)
    outdone = limit and not all(isinstance(value, Unset) for value in values)
    return _needed(found, asked, at) if outdone or isinstance(own, Unset) else own


@or_unknown
def _needed(found: tuple[model.Container, ...], values: Iterable[Value[int]], origin: Origin) -> Value[int]:
    """Return a pod's request, also for init containers with sidecars."""
    together = most = 0
    for one, amount in zip(found, [need(value) for value in values], strict=True):
        most = max(most, together + amount)
        together += 0 if one.init else amount
    return Known(most, origin)


def _cards_of(one: model.Container) -> Value[int]:
    """Return the whole GPUs in a container's limit or else request."""
    if not isinstance(one.gpu, Known) or one.gpu.value not in names.cards():
        return Known(0, model.NOTHING.origin)
    value = first_set(one.gpu_limit, one.gpu_request)
    missing = placeholders.of_number(known(value) or "")
    if isinstance(value, Known) and missing:
        return Unknown(placeholders.reason(missing), value.origin)
    if isinstance(value, Known) and _count(value.value) is None:
        return Unknown(f"`{one.gpu.value}: {value.value}` is not a whole number", value.origin)
    return mapped(value, lambda text: _count(text) or 0)


def _count(text: str) -> int | None:
    """Parse a quantity; None if it is not a whole number."""
    try:
        found = quantity(text)
    except ValueError:
        return None
    return int(found) if found.denominator == 1 and found >= 0 else None


def _selection(spec: yaml.Target) -> Value[tuple[tuple[model.Requirement, ...], ...]]:
    """Return the node requirements of a pod: selector and required affinity."""
    selector = mapping(spec, "nodeSelector")
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    if isinstance(selector, Unknown):
        return Unknown(reason_of(selector), selector.origin)
    if missing := placeholders.unknown((known(selector) or {}).values(), selector.origin):
        return missing
    base = tuple(model.Requirement(key, "In", (value,)) for key, value in (known(selector) or {}).items())
    found = references.node_terms(spec, *path, base=base)
    return Known((base,), selector.origin) if isinstance(found, Unset) else found


@or_unknown
def _tolerations(spec: yaml.Target) -> Value[tuple[model.Toleration, ...]]:
    need(gap(spec, "tolerations"))
    result = []
    for one in yaml.items(spec, "tolerations"):
        key, operator, value, effect = (if_set(text(one, key)) or "" for key in ("key", "operator", "value", "effect"))
        if missing := placeholders.unknown((key, operator, value), Origin((one.span,))):
            return missing
        result.append(model.Toleration(key, operator or "Equal", value, effect))
    found = yaml.get(spec, "tolerations")
    return Known(tuple(result), Origin((found.span,)) if found is not None else absent(spec, "tolerations").origin)


def _apart(spec: yaml.Target, labels: Value[dict[str, str]]) -> tuple[Value[bool], Value[str]]:
    """Whether anti-affinity puts each pod on its own node; else its domain label."""
    path = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    unknown = gap(spec, *path)
    if unknown is not None:
        return unknown, unknown
    keys = [text(term, "topologyKey") for term in yaml.items(spec, *path) if _selects(term, labels)]
    host = next((key for key in keys if known(key) == _HOST), None)
    unknown = None if host else first_unknown(keys)
    other = next((key for key in keys if isinstance(key, Known) and key.value != _HOST), absent(spec, *path))
    return unknown or Known(host is not None, host.origin if host and host.origin else Origin((spec.span,))), other


_TOPOLOGIES = tuple(f"kueue.x-k8s.io/podset-{how}-topology" for how in ("required", "preferred", "slice-required"))
"""Annotations with which Kueue keeps pods, or slices of them, in one domain of a label:
https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/apis/kueue/v1beta2/topology_types.go
"""


def _topology(item: yaml.Target) -> Value[str]:
    found = [_mark(item, key) for key in _TOPOLOGIES]
    return first_set(*found, found[0])


@or_unknown
def _packed_by(item: yaml.Target, spec: yaml.Target, labels: Value[dict[str, str]]) -> Value[str]:
    """Return the label of a domain all pods must share."""
    required = _mark(item, _TOPOLOGIES[0])
    if not isinstance(required, Unset):
        return required
    path = ("affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    need(gap(spec, *path))
    for term in yaml.items(spec, *path):
        if _selects(term, labels):
            return text(term, "topologyKey")
    return absent(spec, *path)


def _node_devices(spec: yaml.Target, nodes: list[tuple[str, yaml.Target]]) -> Value[bool]:
    """Whether a container sees the devices of its node, such as /dev/infiniband."""
    paths = [known(text(volume, "hostPath", "path")) or "" for volume in yaml.items(spec, "volumes")]
    seen = any(path.rstrip("/") in ("/dev", "/dev/infiniband") for path in paths)
    seen = seen or any(known(boolean(node, "securityContext", "privileged")) for _, node in nodes)
    return Known(value=seen, origin=Origin((spec.span,)))


def _selects(term: yaml.Target, labels: Value[dict[str, str]]) -> bool:
    """Whether an affinity term may match pods with these labels."""
    wanted, own = known(mapping(term, "labelSelector", "matchLabels")) or {}, known(labels) or {}
    if any(own.get(key, value) != value and not placeholders.first(own[key]) for key, value in wanted.items()):
        return False  # an operator may add a label that does not exist
    for one in yaml.items(term, "labelSelector", "matchExpressions"):
        mine = own.get(str(known(text(one, "key"))))
        values = [references.scalar_text(value) for value in yaml.items(one, "values")]
        operator = str(known(text(one, "operator")))
        sure = mine is not None and operator in _WITHIN and None not in values and not gap(one, "values")
        if sure and (mine in values) is not _WITHIN[operator]:
            return False
    return True


_WITHIN = {"In": True, "NotIn": False, "DoesNotExist": True}
"""Operator -> whether an existing label must be one of the values; DoesNotExist has none."""


def _ports(spec: yaml.Target, nodes: list[tuple[str, yaml.Target]]) -> Value[tuple[int, ...]]:
    """Return the known node ports of a pod, all with hostNetwork."""
    host = boolean(spec, "hostNetwork")
    own = (node for group, node in nodes if group != "initContainers")
    declared = [port for node in own for port in yaml.items(node, "ports")]
    keys = ("hostPort", "containerPort") if known(host) else ("hostPort",)
    found = [first_set(*(integer(port, key) for key in keys)) for port in declared]
    sure = tuple(number for one in found if (number := known(one)))
    missing = first_unknown((*found, host)) if declared and not sure else None
    return missing or Known(sure, Origin((spec.span,)))


def _volume(one: yaml.Target) -> model.Volume:
    keys = [key for key in yaml.pairs(one) if key != "name"]
    kind, medium = keys[0] if keys else "emptyDir", text(one, "emptyDir", "medium")
    path = str(known(text(one, "hostPath", "path")) or "")
    sized = yaml.get(one, "emptyDir", "sizeLimit") is not None
    return model.Volume(str(known(text(one, "name"))), kind, medium, path, sized)
