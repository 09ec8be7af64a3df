"""What rules are about: the words of each subject, by the tables in `words/`, and the things of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kcheck.text.syntax.outlines  # noqa: F401 - places say by which keys they are written
from kcheck.engine.words.lazy_functions import basics, control_plane, fragmented, gpu_usage, limits, scaling, usage
from kcheck.engine.words.tables import autoscaling, clusters, costs, monitoring, networks, pods, queues
from kcheck.engine.words.tables import usage as usages
from kcheck.engine.words.tables.field import Field, plain
from kcheck.model import Autoscaler, Cluster, KarpenterPool, NodePool, PodRange, Subnet, Thing
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcheck.scale.world import World


SUBJECTS: dict[str, tuple[Field, ...]] = {
    **clusters.SUBJECTS,
    **networks.SUBJECTS,
    **autoscaling.SUBJECTS,
    **pods.SUBJECTS,
    **queues.SUBJECTS,
    **costs.SUBJECTS,
    **monitoring.SUBJECTS,
    **usages.SUBJECTS,
    "input": (
        plain("kind", "string", "unreadable, not-rendered, templates, chart, unused-suppression, forbidden-suppression ..."),
        plain("path", "string", "the file or folder"),
        plain("name", "string", "the rule that a suppression names, or the chart; empty for others"),
        plain("reason", "string", "why it cannot be read or rendered, or why a finding was accepted; empty for others"),
        plain("expires", "string", "the last day of a suppression in the settings; empty for others"),
        plain("count", "int", "how many templates there are", "templates"),
    ),
}  # fmt: skip
"""Subject -> its words. docs/words.md is printed from this table."""


_REACHED = ("bundle", "fabric", "quota_need", "retirement", "shortage", "start", "support", "tier")
PARTS = frozenset((*networks.PARTS, *costs.SUBJECTS, *_REACHED))
"""Subjects that are only reached from others: no rule is about them."""

_LISTS = {
    "cluster": "clusters", "pool": "pools", "subnet": "subnets", "pod_range": "ranges", "karpenter_pool": "karpenter",
    "priority_class": "classes", "queue": "queues", "kube_namespace": "namespaces", "scheduler": "schedulers",
    "admission": "admissions", "sharing": "sharings", "monitor": "monitors", "quota": "limits", "object": "objects", "resource": "resources",
}  # fmt: skip
"""Subject -> where the inventory keeps its things."""


def things(subject: str, world: World) -> Sequence[Thing]:
    """All subjects of one kind."""
    if subject in PARTS:
        return []
    inventory = world.inventory
    whole = [workload for workload in inventory.workloads if not workload.partial]
    match subject:
        case "wall":
            return limits.every(world) if inventory.clusters else []
        case "setting":
            return [one for cluster in inventory.clusters for one in control_plane.settings(cluster)]
        case "autoscaler":
            return [a for a in inventory.autoscalers if scaling.has_work(a, world)]
        case "flag":
            return [flag for autoscaler in inventory.autoscalers for flag in autoscaler.flags]
        case "workload":
            return whole
        case "template":
            return [template for workload in whole for template in workload.templates]
        case "container":
            return [c for workload in whole for template in workload.templates for c in template.containers]
        case "request" | "gpu_usage" | "fragment" if not world.config.usage.recording:
            return []
        case "request":
            return usage.requests(world)
        case "gpu_usage":
            return gpu_usage.gpus(world)
        case "fragment":
            return fragmented.fragmented(world)
        case "image":
            return [uses[0][1] for uses in world.images.every]
    return list(getattr(inventory, _LISTS[subject])) if subject in _LISTS else world.inputs


def cloud_of(thing: Thing, world: World) -> str:
    """The cloud whose limits hold for a thing; `any` where it is not known."""
    if isinstance(thing, Cluster | Subnet | PodRange):
        return thing.cloud
    owner = getattr(thing, "cluster", None)
    if isinstance(owner, Cluster):  # of a wall, or a setting
        return owner.cloud
    if isinstance(thing, NodePool | Autoscaler | KarpenterPool) or thing in world.inventory.cluster_of:
        cluster = known(basics.cluster_of(thing, world))
        return cluster.cloud if cluster else "any"
    return "any"


def word(subject: str, name: str) -> Field:
    """The field of a subject with that name.

    Raises:
        KeyError: there is no such word.
    """
    for field in SUBJECTS[subject]:
        if field.name == name:
            return field
    raise KeyError(f"{subject}.{name}")
