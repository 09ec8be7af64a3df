"""The driver and the executors of Spark applications, as pods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.objects import value_of
from kcheck.kubernetes.workloads import equivalents
from kcheck.kubernetes.workloads.scalars import items
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.units import as_text
from kcheck.text.values import Known, Missing, Origin, Unknown, Unset

if TYPE_CHECKING:
    from kcheck.kubernetes.objects import Object

_OF_POD = {
    name: name
    for name in (
        "affinity", "nodeSelector", "tolerations", "hostNetwork", "schedulerName", "priorityClassName",
        "terminationGracePeriodSeconds", "initContainers", "imagePullSecrets", "volumes",
    )
} | {"serviceAccount": "serviceAccountName"}  # fmt: skip
"""Key of a driver or an executor, or of the application for both -> what a pod calls it."""
_OF_CONTAINER = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts")
_MEMORY = regex(r"([0-9]+)([kmgtp])b?", re.IGNORECASE)
_WHY = "memory is the heap, spelt like 3g, to which Spark adds memoryOverhead"
_CORES, _HEAP = 1, "1Gi"
"""What a driver or an executor has where nothing is written (spark.driver.cores, spark.driver.memory ...)."""


def pod(node: yaml.Target, item: Object) -> yaml.Target:
    """The template of the pods that the operator makes for a driver or an executor.

    https://github.com/kubeflow/spark-operator/blob/master/docs/api-docs.md, checked 2026-11-22.
    """
    own = _entries(node)
    whole = _entries(yaml.get(item.root, "spec", "template") or yaml.get(item.root, "spec"))
    both = {key: entry for key, entry in whole.items() if key in _OF_POD or key in _OF_CONTAINER} | own
    container = [both[key] for key in _OF_CONTAINER if key in both]
    container.append(equivalents.entry(node, "name", equivalents.scalar_at(node, "spark")))
    container.append(equivalents.entry(node, "resources", _resources(node, own)))
    found = [equivalents.mapping_at(node, container), *items(node, "sidecars")]
    extra = [equivalents.entry(both[key].key, name, both[key].value) for key, name in _OF_POD.items() if key in both]
    metadata = [own[key] for key in ("labels", "annotations") if key in own]
    return equivalents.of_containers(node, found, extra, metadata)


def _resources(node: yaml.Target, own: dict[str, yaml.Pair]) -> yaml.Target:
    """Resources of a driver or executor: cores and memory by default, and GPUs."""
    limits = [equivalents.entry(node, "cpu", _cpu(node, own, "coreLimit"))]
    requests = [
        equivalents.entry(node, "cpu", _cpu(node, own, "coreRequest")),
        equivalents.entry(node, "memory", _memory(node, own)),
    ]
    name, quantity = yaml.get(node, "gpu", "name"), yaml.get(node, "gpu", "quantity")
    if isinstance(name, yaml.Scalar) and quantity is not None:
        limits.append(equivalents.entry(name, name.text, quantity))
    sides = {"requests": requests, "limits": limits}
    return equivalents.mapping_at(
        node, [equivalents.entry(node, key, equivalents.mapping_at(node, own)) for key, own in sides.items()]
    )


def absent(origin: Origin) -> Origin:
    """Where goes what the pods lack: there is no template of them, but keys for their CPU."""
    missing = origin.missing
    own = missing is not None and missing.path in (("coreRequest",), ("coreLimit",))
    return origin if own or origin.why else replace(origin, why="SparkApplication has no pod template")


def _cpu(node: yaml.Target, own: dict[str, yaml.Pair], key: str) -> yaml.Target:
    """CPU by a key of its own. Requests are by default the cores, which also say how many tasks run at once."""
    if key in own:
        return yaml.resolve(own[key].value)
    cores = yaml.resolve(own["cores"].value) if "cores" in own and key == "coreRequest" else node
    value = value_of(cores) if isinstance(cores, yaml.Scalar) else Unset(node.span)
    if isinstance(value, Unknown):
        return equivalents.computed_at(cores, value)
    usual = _CORES if key == "coreRequest" else None
    origin = Origin((cores.span,), missing=Missing(node.span, (key,)))
    return equivalents.computed_at(cores, value.value if isinstance(value, Known) else usual, origin)


def _memory(node: yaml.Target, own: dict[str, yaml.Pair]) -> yaml.Target:
    """Memory as a quantity: to a JVM, 512m are MiB."""
    if "memory" not in own:
        return equivalents.computed_at(
            node, _HEAP, Origin((node.span,), missing=Missing(node.span, ("memory",)), why=_WHY)
        )
    written = yaml.resolve(own["memory"].value)
    value = value_of(written) if isinstance(written, yaml.Scalar) else None
    if not isinstance(value, Known):
        return written
    match = _MEMORY.fullmatch(as_text(value.value))
    quantity = f"{match[1]}{match[2].upper()}i" if match else value.value
    return equivalents.computed_at(written, quantity, replace(value.origin, why=_WHY))


def _entries(node: yaml.Target | None) -> dict[str, yaml.Pair]:
    return yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
