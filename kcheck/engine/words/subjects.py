"""Subjects of rules: their words, and their objects in an inventory."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module

from kcheck.engine.words.tables.field import Field, annotated
from kcheck.model import Autoscaler, Cluster, Input, KarpenterPool, NodePool, PodRange, Subnet, Thing
from kcheck.scale import word_helpers
from kcheck.scale.world import World
from kcheck.text.values import known

_TABLES = {
    "clusters": (
        "cluster", "retirement", "tier", "support", "quota_need", "fabric", "setting", "pool", "monitor",
        "cost", "saving", "rate", "start", "subnet", "pod_range", "share", "wall", "autoscaler", "flag",
        "karpenter_pool",
    ),
    "pods": ("workload", "template", "excess", "split", "barred", "misnomer", "field_error", "budget", "refusal", "shortage", "container", "image"),
    "queues": (
        "priority_class", "bundle", "queue", "kube_namespace", "quota", "scheduler", "admission", "sharing",
    ),
    "usage": ("request", "gpu_usage", "fragment"),
}  # fmt: skip
"""Module in `tables/` -> its subjects."""


class _Subjects(Mapping[str, tuple[Field, ...]]):
    """Words by subject; each table is imported on first use."""

    def __init__(self) -> None:
        self._table_of = {subject: table for table, subjects in _TABLES.items() for subject in subjects}
        self._words: dict[str, tuple[Field, ...]] = {"input": annotated(Input)}

    def __getitem__(self, subject: str) -> tuple[Field, ...]:
        if subject not in self._words:
            table = import_module(f"kcheck.engine.words.tables.{self._table_of[subject]}")
            self._words.update(table.SUBJECTS)
        return self._words[subject]

    def __contains__(self, subject: object) -> bool:
        return subject in self._table_of or subject in self._words

    def __iter__(self) -> Iterator[str]:
        return iter((*self._table_of, "input"))

    def __len__(self) -> int:
        return len(self._table_of) + 1


SUBJECTS = _Subjects()
"""Subject -> its words. docs/words.md is printed from this table."""

PARTS = frozenset({
    "barred", "excess", "share", "cost", "saving", "rate", "bundle", "fabric", "misnomer", "quota_need", "refusal", "retirement", "shortage", "split", "start", "support",
    "tier",
})  # fmt: skip
"""Subjects that are only fields of others: no rule is about them."""

MISTAKES = frozenset({"field_error"})
"""Subjects whose things are mistakes: there are fewer of them after a fix."""

_LISTS = {
    "cluster": "clusters", "pool": "pools", "pod_range": "ranges", "karpenter_pool": "karpenter",
    "priority_class": "classes", "queue": "queues", "kube_namespace": "namespaces", "scheduler": "schedulers",
    "admission": "admissions", "sharing": "sharings", "monitor": "monitors", "quota": "limits", "field_error": "field_errors", "object": "objects", "resource": "resources",
}  # fmt: skip
"""Subject -> field of the inventory with its things."""


def things(subject: str, world: World) -> Sequence[Thing]:
    """List the objects of a subject."""
    inventory = world.inventory
    if subject in _LISTS:
        return list(getattr(inventory, _LISTS[subject]))
    whole = [workload for workload in inventory.workloads if not workload.partial]
    match subject:
        case "flag":
            return [flag for autoscaler in inventory.autoscalers for flag in autoscaler.flags]
        case "subnet":
            return [*inventory.subnets, *(one.subnet for one in world.pools.outside.values())]
        case "workload":
            return whole
        case "template":
            return [template for workload in whole for template in workload.templates]
        case "container":
            return [c for workload in whole for template in workload.templates for c in template.containers]
        case "image":
            return [uses[0][1] for uses in world.images.every]
        case "input":
            return world.inputs
        case "budget":
            return [one for one in inventory.definitions if one.kind == "PodDisruptionBudget"]
    return _computed(subject, world)


def _computed(subject: str, world: World) -> Sequence[Thing]:
    """List computed objects of a subject, importing their code if needed."""
    inventory, recording = world.inventory, world.config.usage.recording
    match subject:
        case "wall" if inventory.clusters:
            from kcheck.scale import walls

            return [wall for cluster in inventory.clusters for wall in walls.find_walls(cluster, world)]
        case "setting" if inventory.clusters:
            from kcheck.scale import control_plane

            return [one for cluster in inventory.clusters for one in control_plane.settings(cluster)]
        case "autoscaler" if inventory.autoscalers:
            from kcheck.scale.autoscaler import has_work

            return [one for one in inventory.autoscalers if has_work(one, world)]
        case "request" | "gpu_usage" | "fragment" if recording:
            from kcheck.scale.usage import fragments, gpus, requests

            if subject == "request":
                return requests.requests(world)
            return gpus.gpus(world) if subject == "gpu_usage" else fragments.fragmented(world)
    return []


def cloud_of(thing: Thing, world: World) -> str:
    """Return the cloud whose limits apply to an object; `any` if unknown."""
    if isinstance(thing, Cluster | Subnet | PodRange):
        return thing.cloud
    owner = getattr(thing, "cluster", None)
    if isinstance(owner, Cluster):  # of a wall, or a setting
        return owner.cloud
    if isinstance(thing, NodePool | Autoscaler | KarpenterPool) or thing in world.inventory.cluster_of:
        cluster = known(word_helpers.cluster_of(thing, world))
        return cluster.cloud if cluster else "any"
    return "any"


@cache
def words(subject: str) -> dict[str, Field]:
    """Map names to the fields of a subject."""
    return {field.name: field for field in SUBJECTS[subject]}
