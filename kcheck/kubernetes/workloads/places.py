"""Pod templates, roles and counts by the table of kinds; pods made by operators such as Spark's."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.objects import value_of
from kcheck.kubernetes.workloads import pods, runtimes, scalars
from kcheck.kubernetes.workloads.scalars import boolean, integer, items, text, written
from kcheck.model import NOTHING
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset, Value, all_known, known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcheck.config.numbers import profiles
    from kcheck.kubernetes.objects import Object
    from kcheck.model import PodTemplate
    from kcheck.text.text import Span


class Group(Struct, frozen=True):
    """Pods of a role: template, number, and defining line.

    `policies` is the path of the roles map in which the operator looks for restart policies. `absent` moves the place
    of missing fields, if the template stands for something in another form.
    """

    node: yaml.Target
    role: str
    number: Value[int]
    span: Span
    policies: tuple[str, ...] = ()
    absent: Callable[[Origin], Origin] | None = None

    def template(self, item: Object, own: str) -> PodTemplate:
        """Read the pod template of an object with an id."""
        found = pods.template(self.node, own, self.role, self.number, self.span)
        # the operator of such a job sets the policy of the role, whatever the pod says
        restart = text(item.root, *self.policies, self.role, "restartPolicy") if self.policies else NOTHING
        found = found if isinstance(restart, Unset) else replace(found, restart=restart)
        return pods.with_places(found, self.absent) if self.absent is not None else found


def groups(item: Object, entry: profiles.WorkloadKind) -> Iterator[Group]:
    """Yield the pods of an object, by the table of kinds."""
    for place in entry["pods"]:
        yield from _groups(item, place)


def is_fixed(item: Object, entry: profiles.WorkloadKind) -> bool:
    """Whether the number of pods stays the same while the object runs."""
    return not any(
        _grows(_number(owner, place["count"]), item, owner, place, role)
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
    """Yield the pods at a place of the table."""
    shape = _SHAPES.get(place.get("shape", ""))
    policies = tuple(steps(place["each"])) if "each" in place else ()
    for owner, role, span in _owners(item, place):
        node = yaml.get(owner, *steps(place["at"]))
        own = shape if yaml.get(node, "spec", "containers") is None else None
        if node is not None and own is not None:
            node = own.pod(node, item)
        if node is not None and spec(node) is not None:
            absent = own.absent if own is not None else None
            yield Group(node, role, _count(item, owner, place, role, span), span, policies, absent)


def _owners(item: Object, place: profiles.PodPlace) -> Iterator[tuple[yaml.Target, str, Span]]:
    """Yield the owners of templates: the object, or each role with its line."""
    if "each" in place:
        roles = yaml.get(item.root, *steps(place["each"]))
        for role, entry in (yaml.entries(roles) if isinstance(roles, yaml.Mapping) else {}).items():
            yield yaml.resolve(entry.value), role, entry.key.span
    elif "list" in place:
        for one in items(item.root, *steps(place["list"])):
            name = written(one, place["name"])
            yield one, str(known(name)), name.origin.written if isinstance(name, Known) else one.span
    else:
        yield item.root, place.get("role", ""), item.span


def _count(item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str, span: Span) -> Value[int]:
    """Return the number of pods: one by default, unless the kind leaves it open."""
    written = [_number(owner, place[key]) for key in ("count", "times") if key in place]
    if place.get("open") and isinstance(written[0], Unset):
        return Unknown(f"`{place['count'].partition(' | ')[0]}` is not set", Origin((span,)))
    if written:
        written[0] = _grown(written[0], item, owner, place, role)
    numbers = all_known(Known(1, value.origin) if isinstance(value, Unset) else value for value in written)
    if isinstance(numbers, Unknown):
        return numbers
    if numbers and yaml.get(owner, *steps(place.get("beside", "-"))) is not None:
        numbers[0] = max(0, numbers[0] - 1)
    product = prod(numbers)
    most = integer(owner, *steps(place["most"])) if "most" in place else NOTHING
    if isinstance(most, Unknown):
        return most
    if isinstance(most, Known) and most.value < product:
        return most
    return Known(product, (written[0].origin if written else None) or Origin((span,)))


def _number(owner: yaml.Target, spellings: str) -> Value[int]:
    """Return the number at the first of the ` | `-separated paths where one is written."""
    found = [integer(owner, *steps(path)) for path in spellings.split(" | ")]
    return next((value for value in found if not isinstance(value, Unset)), found[0])


def _grown(count: Value[int], item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str) -> Value[int]:
    """Return the maximum that an elastic job grows to, else its count."""
    most = _most(item, owner, place, role)
    return most if most is not None and not isinstance(most, Unset) else count


def _grows(count: Value[int], item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str) -> bool:
    """Whether the number of pods may differ from the written one."""
    most = _most(item, owner, place, role)
    return most is not None and not isinstance(most, Unset) and known(most) != (known(count) or 1)


def _most(item: Object, owner: yaml.Target, place: profiles.PodPlace, role: str) -> Value[int] | None:
    """Return the maximum pods of a role; Unset if not written, None if not elastic."""
    growth = place.get("grows")
    if growth is None or growth.get("role", role) != role:
        return None
    if "when" in growth:
        on = boolean(item.root, *steps(growth["when"]))
        if not known(on):
            return on if isinstance(on, Unknown) else None
    whole = growth["to"].startswith("/")
    most = integer(item.root if whole else owner, *steps(growth["to"].removeprefix("/")))
    if "when" in growth and isinstance(most, Unset):
        return Unknown(f"`{growth['to'].removeprefix('/')}` is not set", Origin((owner.span,)))
    return most


def _trainer(node: yaml.Target, item: Object) -> yaml.Target:
    """Build the pod of a TrainJob with an unread runtime, from its container settings."""
    own = yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
    entries = [entry for key, entry in own.items() if key not in ("resourcesPerNode", "numNodes")]
    resources = own.get("resourcesPerNode")
    if resources is not None:
        entries.append(scalars.entry(resources.key, "resources", resources.value))
    entries.append(scalars.entry(node, "name", scalars.scalar_at(node, runtimes.NODE)))
    return runtimes.patched(scalars.of_containers(node, [scalars.mapping_at(node, entries)]), item)


def _of_trainer(origin: Origin) -> Origin:
    """Move the place of missing resources to `resourcesPerNode` of a trainer."""
    missing = origin.missing
    if missing is None or missing.path[:1] != ("resources",):
        return origin
    return replace(origin, missing=replace(missing, path=("resourcesPerNode", *missing.path[1:])))


class _Shape(NamedTuple):
    """Converter of another form to a pod template, and mover of the places of missing fields."""

    pod: Callable[[yaml.Target, Object], yaml.Target]
    absent: Callable[[Origin], Origin]


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
    """Build the pod template that the operator makes for a driver or an executor.

    https://github.com/kubeflow/spark-operator/blob/master/docs/api-docs.md, checked 2026-11-22.
    """
    own = _entries(node)
    whole = _entries(yaml.get(item.root, "spec", "template") or yaml.get(item.root, "spec"))
    both = {key: entry for key, entry in whole.items() if key in _OF_POD or key in _OF_CONTAINER} | own
    container = [both[key] for key in _OF_CONTAINER if key in both]
    container.append(scalars.entry(node, "name", scalars.scalar_at(node, "spark")))
    container.append(scalars.entry(node, "resources", _spark_resources(node, own)))
    found = [scalars.mapping_at(node, container), *items(node, "sidecars")]
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
    """Mark missing fields as having no place, except for CPU, as there is no pod template."""
    missing = origin.missing
    own = missing is not None and missing.path in (("coreRequest",), ("coreLimit",))
    return origin if own or origin.why else replace(origin, why="SparkApplication has no pod template")


def _spark_cpu(node: yaml.Target, own: dict[str, yaml.Pair], key: str) -> yaml.Target:
    """Return CPU by its own key. Requests default to `cores`, which also set how many tasks run at once."""
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


def _entries(node: yaml.Target | None) -> dict[str, yaml.Pair]:
    return yaml.entries(node) if isinstance(node, yaml.Mapping) else {}


_SHAPES = {"trainer": _Shape(_trainer, _of_trainer), "spark": _Shape(_spark_pod, _of_spark)}
"""Forms other than pod templates."""
