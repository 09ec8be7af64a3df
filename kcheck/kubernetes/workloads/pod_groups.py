"""Bare Pods that form one job: a scheduler's group, or torch ranks."""

import os
from collections.abc import Hashable, Iterator

from msgspec.structs import replace

from kcheck.kubernetes.workloads import gangs, jobs
from kcheck.model import Inventory, Workload
from kcheck.text.need import first_unknown, total
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, first_set, known

_MASTER = regex(r"\bMASTER_ADDR (\S+)")
"""Variable of torch with the host of rank 0: https://docs.pytorch.org/docs/stable/distributed.html"""
_GROUP_NAMES = (*gangs.NAMES, "kueue.x-k8s.io/pod-group-name")
"""Labels and annotations that name the group of a Pod: https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/"""


def join(inventory: Inventory) -> None:
    """Replace the bare Pods of a group by one workload, at the place of the first."""
    groups: dict[Hashable, list[Workload]] = {}
    for one in inventory.workloads:
        bare = one.kind == "Pod" and one not in inventory.cluster_of
        groups.setdefault(_group(one) if bare else one, []).append(one)
    inventory.workloads = [pods[0] if len(pods) == 1 else _joined(pods, inventory) for pods in groups.values()]


def _group(pod: Workload) -> Hashable:
    """Return the folder, namespace and name of a Pod's group, or of itself."""
    name = _label(pod) or next(_masters(pod), None)
    scope, path = pod.id.partition(":")[0], pod.place.source.path
    return pod if name is None else (os.path.dirname(path) if scope == path else scope, known(pod.namespace), name)


def _label(pod: Workload) -> str | None:
    marks = [known(mark) or {} for mark in (pod.labels, *(one.annotations for one in pod.templates))]
    return next((mark[key] for mark in marks for key in _GROUP_NAMES if key in mark), None)


def _masters(pod: Workload) -> Iterator[str]:
    words = [container.text for one in pod.templates for container in one.containers]
    return (match[1] for text in words if not jobs.ELASTIC.search(text) and (match := _MASTER.search(text)))


def _joined(pods: list[Workload], inventory: Inventory) -> Workload:
    """Combine Pods into a job; with a torch master, they need each other."""
    first, here = pods[0], Origin((pods[0].place,))
    templates = tuple(template for one in pods for template in one.templates)
    count, gpus, label = total([one.count for one in templates], here), [one.gpus for one in pods], _label(first)
    unknown = first_unknown(gpus)
    job = replace(
        first, kind="Pod group", name=first.name if label is None else Known(label, here), batch=True,
        images=tuple(image for one in pods for image in one.images), templates=templates,
        pods=count,
        gpus=unknown or max(gpus, key=lambda one: known(one) or 0),
        rigid=Known(any(True for one in pods for _ in _masters(one)), here),
        gang=first_set(*(one.gang for one in pods), first.gang),
    )  # fmt: skip
    if first in inventory.scope_of:
        inventory.scope_of[job] = inventory.scope_of[first]
    return job
