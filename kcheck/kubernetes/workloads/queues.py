"""Scheduling of jobs: priority classes, queues, quotas, scheduler configurations."""

from collections.abc import Callable, Iterable, Iterator

from kcheck import model
from kcheck.config.numbers.names import NVIDIA
from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.objects import Object, embedded_documents
from kcheck.kubernetes.workloads import gpu_sharing, prometheus
from kcheck.kubernetes.workloads.jobs import identity
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
    written_map,
)
from kcheck.text import placeholders
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import as_text, seconds
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, first_set, known, mapped

LISTS = {
    model.PriorityClass: "classes", model.Queue: "queues", model.Quota: "limits", model.Namespace: "namespaces",
    model.Scheduler: "schedulers", model.Admission: "admissions", model.Sharing: "sharings",
    model.Watcher: "watchers", model.Monitor: "monitors",
}  # fmt: skip
"""Type -> list of the inventory."""

_EVERYWHERE = frozenset({"pods", "nodes", "events", "endpoints", "endpointslices", "*"})
"""Resources whose number grows with the nodes."""


def read(item: Object) -> Iterator[model.Thing]:
    """Yield the scheduling settings in an object."""
    group = item.api_version.rpartition("/")[0]
    maker = _MAKERS.get((group, item.kind))
    if maker is not None:
        yield from maker(item)


def _class(item: Object) -> Iterable[model.Thing]:
    kueue = item.kind == "WorkloadPriorityClass"
    preemption = model.NOTHING if kueue else text(item.root, "preemptionPolicy")
    yield model.PriorityClass(
        identity(item), item.span, kueue=kueue, name=text(item.root, "metadata", "name"),
        number=integer(item.root, "value"), default=boolean(item.root, "globalDefault"), preemption=preemption,
    )  # fmt: skip


def _queue(item: Object) -> Iterable[model.Thing]:
    name, namespace = text(item.root, "metadata", "name"), text(item.root, "metadata", "namespace")
    own = identity(item)
    if item.kind == "LocalQueue":
        target = text(item.root, "spec", "clusterQueue")
        yield model.Queue(own, item.span, item.kind, name, namespace, leads_to=target, api=item.api_version)
    elif item.kind == "Queue":
        yield model.Queue(
            own, item.span, item.kind, name, model.NOTHING, weight=integer(item.root, "spec", "weight"),
            quotas=_amounts(item, "capability"), guaranteed=_amounts(item, "deserved"), api=item.api_version,
        )  # fmt: skip
    elif item.kind == "Cohort":
        yield model.Queue(
            own, item.span, item.kind, name, model.NOTHING, cohort=_cohort(item), flavors=_flavors(item),
            api=item.api_version,
        )  # fmt: skip
    else:
        selector = yaml.get(item.root, "spec", "namespaceSelector")
        found: Value[str] = Known("", Origin((item.span,)))
        if isinstance(selector, yaml.Scalar):  # null, or no selector at all
            found = text(item.root, "spec", "namespaceSelector")
        yield model.Queue(
            own, item.span, item.kind, name, model.NOTHING, resources=_covered(item),
            selector=absent(item.root, "spec", "namespaceSelector") if selector is None else found,
            preemption=_preemption(item), cohort=_cohort(item), flavors=_flavors(item),
            guaranteed=mapped(_flavors(item), _nominal), api=item.api_version,
        )  # fmt: skip


def _preemption(item: Object) -> Value[str]:
    """Return a ClusterQueue's preemption policy for its own jobs."""
    found = text(item.root, "spec", "preemption", "withinClusterQueue")
    if isinstance(found, Unset) and isinstance(yaml.get(item.root, "spec", "preemption"), yaml.Mapping):
        return Known("Never", found.origin)
    return found


@or_unknown
def _covered(item: Object) -> Value[tuple[str, ...]]:
    groups = yaml.items(item.root, "spec", "resourceGroups")
    need(gap(item.root, "spec", "resourceGroups"))
    need(first_unknown(gap(group, "coveredResources") for group in groups))
    names = [name.text for group in groups for name in yaml.scalars(group, "coveredResources")]
    found = yaml.get(item.root, "spec", "resourceGroups")
    return Known(tuple(names), Origin(((found or item.root).span,)))


def _cohort(item: Object) -> Value[str]:
    """Return a ClusterQueue's cohort or a Cohort's parent."""
    name, old_name = ("parentName", "parent") if item.kind == "Cohort" else ("cohortName", "cohort")
    return first_set(text(item.root, "spec", name), text(item.root, "spec", old_name))


@or_unknown
def _flavors(item: Object) -> Value[tuple[model.FlavorQuota, ...]]:
    """Return the quotas of a ClusterQueue or Cohort by flavor."""
    here = Origin((item.span,))
    need(gap(item.root, "spec", "resourceGroups"))
    result = []
    for group in yaml.items(item.root, "spec", "resourceGroups"):
        for flavor in yaml.items(group, "flavors"):
            for resource in yaml.items(flavor, "resources"):
                name = text(resource, "name")
                amounts = [
                    scaled_quantity(resource, (key,), 1) for key in ("nominalQuota", "borrowingLimit", "lendingLimit")
                ]
                if not isinstance(name, Known) or any(isinstance(one, Unknown) for one in amounts):
                    return Unknown("one of its quotas is not known", here)
                nominal, borrowing, lending = map(known, amounts)
                own = str(known(text(flavor, "name")))
                result.append(model.FlavorQuota(own, name.value, nominal or 0, borrowing, lending))
    return Known(tuple(result), here)


def _nominal(flavors: tuple[model.FlavorQuota, ...]) -> dict[str, int]:
    """Sum nominal quotas by resource over all flavors."""
    result: dict[str, int] = {}
    for one in flavors:
        result[one.resource] = result.get(one.resource, 0) + one.nominal
    return result


def _amounts(item: Object, key: str) -> Value[dict[str, int]]:
    """Return amounts of a Volcano queue: `capability` or `deserved`."""
    found = mapping(item.root, "spec", key)
    if not isinstance(found, Known):
        return found
    result = {name: scaled_quantity(item.root, ("spec", key, name), 1) for name in found.value}
    if not all(isinstance(one, Known) for one in result.values()):
        return Unknown("one of its quotas is not known", found.origin)
    return Known({name: one.value for name, one in result.items() if isinstance(one, Known)}, found.origin)


def _limit_range(item: Object) -> Iterable[model.Thing]:
    """Yield a LimitRange with container limits; others set no defaults."""
    found = yaml.items(item.root, "spec", "limits")
    if not found or any(known(text(one, "type")) in ("Container", None) for one in found):
        yield from _quota(item)


def _quota(item: Object) -> Iterable[model.Thing]:
    hard = mapping(item.root, "spec", "hard")
    yield model.Quota(identity(item), item.span, item.kind, text(item.root, "metadata", "namespace"), hard)


def _profile(item: Object) -> Iterable[model.Thing]:
    """Yield the namespace that a Kubeflow profile creates, and its quota."""
    yield from _namespace(item)
    if isinstance(yaml.get(item.root, "spec", "resourceQuotaSpec", "hard"), yaml.Mapping):
        hard = mapping(item.root, "spec", "resourceQuotaSpec", "hard")
        yield model.Quota(identity(item), item.span, "ResourceQuota", text(item.root, "metadata", "name"), hard)


def _namespace(item: Object) -> Iterable[model.Thing]:
    labels = written_map(item.root, "metadata", "labels")
    yield model.Namespace(identity(item), item.span, text(item.root, "metadata", "name"), labels)


def of_release(release: Release) -> Iterator[model.Admission | model.Scheduler]:
    """Yield the Kueue or Volcano scheduler configuration in chart values."""
    chart = str(known(release.chart))
    node = yaml.get(release.values, *_VALUES[chart]) if chart in _VALUES else None
    root = next(embedded_documents(node), None) if isinstance(node, yaml.Scalar) else node
    if node is not None and root is not None:
        own = f"{release.place.source.path}:{release.address}"
        yield _admission(root, node.span, own) if chart == "kueue" else _scheduler(root, node.span, own)


_VALUES = {
    "kueue": ("managerConfig", "controllerManagerConfigYaml"),
    "volcano": ("custom", "scheduler_config_override"),
}
"""Chart -> path of the configuration text in its values."""


def _admission(root: yaml.Target, place: Span, own: str) -> model.Admission:
    wait = yaml.get(root, "waitForPodsReady")
    timeout: Value[int] = model.NOTHING
    if wait is not None and known(scalar(wait, "enable")) is not False:
        timeout = _seconds(wait, "timeout")
    return model.Admission(own, place, timeout, boolean(root, "manageJobsWithoutQueueName"), _counted_as(root, place))


def _counted_as(root: yaml.Target, place: Span) -> Value[dict[str, str]]:
    found = yaml.items(root, "resources", "deviceClassMappings")
    named = ((yaml.scalars(one, "deviceClassNames"), known(text(one, "name")) or "") for one in found)
    own = {node.text: name for nodes, name in named for node in nodes}
    return gap(root, "resources", "deviceClassMappings") or Known(own, Origin((place,)))


def _seconds(node: yaml.Target, name: str) -> Value[int]:
    value = text(node, name)
    if not isinstance(value, Known):
        return value
    try:
        return Known(seconds(value.value), value.origin)
    except ValueError as error:
        return Unknown(f"`{name}`: {error}", value.origin)


def _settings(item: Object) -> Iterable[model.Thing]:
    """Yield configurations of schedulers and device plugins in a ConfigMap."""
    for name, entry in yaml.pairs(item.root, "data").items():
        node = yaml.resolve(entry.value)
        if isinstance(node, yaml.Scalar) and not any(mark in node.text for mark in _SETTING_MARKS):
            continue
        own = f"{identity(item)}/{name}"
        root = next(embedded_documents(node), None) if isinstance(node, yaml.Scalar) else node  # Terraform's yamlencode
        if root is None:
            continue
        if yaml.get(root, "actions") is not None and yaml.get(root, "tiers") is not None and _AGENTS not in name:
            yield _scheduler(root, item.span, own)
        if gpu_sharing.is_device_plugin_config(root):
            yield gpu_sharing.of_configuration(root, node.span, own)
        if known(text(root, "kind")) == "Configuration" and "kueue" in str(known(text(root, "apiVersion"))):
            yield _admission(root, item.span, own)


_AGENTS = "agent-scheduler"
"""Volcano's scheduler of single pods, which schedules no jobs."""


def _scheduler(root: yaml.Target, place: Span, own: str) -> model.Scheduler:
    actions = text(root, "actions")
    names = mapped(actions, lambda value: tuple(name.strip() for name in value.split(",") if name.strip()))
    plugins: dict[str, dict[str, str]] = {}
    last: Value[tuple[str, ...]] = Unset(Origin((root.span,), why="no tier is there to add it to"))
    packed: Value[str] = model.NOTHING
    weight: Value[int] = model.NOTHING
    for tier in yaml.items(root, "tiers"):
        for plugin in yaml.items(tier, "plugins"):
            found = mapping(plugin, "arguments")
            if isinstance(found, Unknown):
                return model.Scheduler(own, place, names, found)
            name = str(known(text(plugin, "name")))
            plugins[name] = known(found) or {}
            if name == "binpack":
                packed = mapped(scalar(plugin, "arguments", "binpack.resources"), as_text)
                weight = integer(plugin, "arguments", f"binpack.resources.{NVIDIA}")
        last = listed(tier, "plugins", lambda plugin: str(known(text(plugin, "name"))))
    return model.Scheduler(
        own, place, actions=names, plugins=Known(plugins, Origin((root.span,))), last=last, packed=packed, weight=weight
    )


def watchers(objects: list[Object]) -> Iterator[model.Watcher]:
    """Yield roles by which daemons on every node read many objects."""
    accounts: dict[str, list[tuple[str, str]]] = {}
    for item in objects:
        if item.kind == "ClusterRoleBinding" and known(scalar(item.root, "roleRef", "kind")) == "ClusterRole":
            role = str(known(scalar(item.root, "roleRef", "name")))
            for subject in yaml.items(item.root, "subjects"):
                if known(scalar(subject, "kind")) == "ServiceAccount":
                    own = (str(known(scalar(subject, "namespace")) or ""), str(known(scalar(subject, "name"))))
                    accounts.setdefault(role, []).append(own)
    for item in objects:
        name = text(item.root, "metadata", "name")
        if item.kind == "ClusterRole" and isinstance(name, Known) and name.value in accounts:
            read = _read_everywhere(item)
            if isinstance(read, Unknown) or read.value:
                yield model.Watcher(identity(item), item.span, name, read, tuple(accounts[name.value]))


def _read_everywhere(item: Object) -> Known[tuple[str, ...]] | Unknown:
    """Return the resources of all nodes that a role lists or watches."""
    found: list[str] = []
    for rule in yaml.items(item.root, "rules"):
        verbs, resources = ([one.text for one in yaml.scalars(rule, key)] for key in ("verbs", "resources"))
        if {"list", "watch", "*"}.intersection(verbs):
            found += resources
    sure = tuple(dict.fromkeys(name for name in found if name in _EVERYWHERE))
    missing = placeholders.unknown(found, Origin((item.span,))) if not sure else None
    return missing or Known(sure, Origin((item.span,)))


_SETTING_MARKS = (
    *(f"{name}{quote}:" for name in ("tiers", "sharing", "flags") for quote in ("", '"', "'")),
    "waitForPodsReady", "manageJobsWithoutQueueName", "deviceClassMappings",
)  # fmt: skip
_MAKERS: dict[tuple[str, str], Callable[[Object], Iterable[model.Thing]]] = {
    ("scheduling.k8s.io", "PriorityClass"): _class,
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): _class,
    ("kueue.x-k8s.io", "ClusterQueue"): _queue,
    ("kueue.x-k8s.io", "LocalQueue"): _queue,
    ("kueue.x-k8s.io", "Cohort"): _queue,
    ("scheduling.volcano.sh", "Queue"): _queue,
    ("config.kueue.x-k8s.io", "Configuration"): lambda item: [_admission(item.root, item.span, identity(item))],
    ("", "ResourceQuota"): _quota,
    ("", "LimitRange"): _limit_range,
    ("", "Namespace"): _namespace,
    ("kubeflow.org", "Profile"): _profile,
    ("", "ConfigMap"): _settings,
    ("nvidia.com", "ClusterPolicy"): gpu_sharing.of_policy,
    ("monitoring.coreos.com", "Prometheus"): prometheus.of_object,
    ("apps", "Deployment"): prometheus.of_workload,
    ("apps", "StatefulSet"): prometheus.of_workload,
}
MARKS = {
    "ConfigMap": tuple(map(str.encode, _SETTING_MARKS)),
    "ClusterRole": (b"list", b"watch", b"*"),
    "ServiceAccount": (b"imagePullSecrets",),
}
"""Kind -> marks of which a document must have one to be read."""

KINDS = frozenset(kind for _, kind in _MAKERS) | {"ClusterRole", "ClusterRoleBinding"}
"""Kinds read here."""
