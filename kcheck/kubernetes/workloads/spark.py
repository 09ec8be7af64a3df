"""The driver and the executors of Spark applications, as pods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.kubernetes.workloads import pods
from kcheck.kubernetes.workloads.scalars import items
from kcheck.source.regex import regex
from kcheck.syntax import yaml

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
_DEFAULTS = {"cpu": "1", "memory": "1Gi"}
"""What a driver or an executor asks for where nothing is written (spark.driver.cores, spark.driver.memory ...)."""


def pod(node: yaml.Target, item: Object) -> yaml.Target:
    """The template of the pods that the operator makes for a driver or an executor.

    https://github.com/kubeflow/spark-operator/blob/master/docs/api-docs.md, checked 2026-11-22.
    """
    own = _entries(node)
    whole = _entries(yaml.get(item.root, "spec", "template") or yaml.get(item.root, "spec"))
    both = {key: entry for key, entry in whole.items() if key in _OF_POD or key in _OF_CONTAINER} | own
    container = [both[key] for key in _OF_CONTAINER if key in both]
    container.append(pods.entry(node, "name", pods.scalar_at(node, "spark")))
    container.append(pods.entry(node, "resources", _resources(node, own)))
    found = [pods.mapping_at(node, container), *items(node, "sidecars")]
    extra = [pods.entry(both[key].key, name, both[key].value) for key, name in _OF_POD.items() if key in both]
    metadata = [own[key] for key in ("labels", "annotations") if key in own]
    return pods.of_containers(node, found, extra, metadata)


def _resources(node: yaml.Target, own: dict[str, yaml.Pair]) -> yaml.Target:
    """Resources of a driver or executor: cores and memory by default, and GPUs."""
    requests, limits = [], []
    cores = own.get("coreRequest") or own.get("cores")
    requests.append(pods.entry(node, "cpu", cores.value if cores else pods.scalar_at(node, _DEFAULTS["cpu"])))
    requests.append(pods.entry(node, "memory", _memory(node, own.get("memory"))))
    if "coreLimit" in own:
        limits.append(pods.entry(node, "cpu", own["coreLimit"].value))
    name, quantity = yaml.get(node, "gpu", "name"), yaml.get(node, "gpu", "quantity")
    if isinstance(name, yaml.Scalar) and quantity is not None:
        limits.append(pods.entry(name, name.text, quantity))
    sides = {"requests": requests, "limits": limits}
    return pods.mapping_at(node, [pods.entry(node, key, pods.mapping_at(node, own)) for key, own in sides.items()])


def _memory(node: yaml.Target, written: yaml.Pair | None) -> yaml.Target:
    """Memory as a quantity: to a JVM, 512m are MiB."""
    value = yaml.resolve(written.value) if written else pods.scalar_at(node, _DEFAULTS["memory"])
    match = _MEMORY.fullmatch(value.text) if isinstance(value, yaml.Scalar) else None
    return pods.scalar_at(value, f"{match[1]}{match[2].upper()}i") if match else value


def _entries(node: yaml.Target | None) -> dict[str, yaml.Pair]:
    return yaml.entries(node) if isinstance(node, yaml.Mapping) else {}
