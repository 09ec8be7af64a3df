"""Volumes that a single node can mount, but pods on several nodes use."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from kcheck.config.numbers import names
from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Definition, PodTemplate, Workload
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text.need import first_unknown, need
from kcheck.text.text import grouped
from kcheck.text.units import counted
from kcheck.text.values import Unset, Value, equals, known, number, sure

_CLAIM = "PersistentVolumeClaim"
_ONE_POD = "ReadWriteOncePod"
_SINGLE = frozenset({"ReadWriteOnce", _ONE_POD})
_HOST = "kubernetes.io/hostname"
_GPUS, _MOST_GPUS = 8, 16
"""GPUs of nearly all large machines, and of the largest ones (a2-megagpu-16g)."""


class Split(Struct, frozen=True):
    """Claim that one node or pod can mount, although several do."""

    name: Annotated[Value[str], "the name of the claim", "", "never null"]
    modes: Annotated[Value[tuple[str, ...]], "its access modes", "", "never null"]
    mode: Annotated[str, "ReadWriteOnce or ReadWriteOncePod"]
    where: Annotated[str, "where the pods mount it: on 16 nodes, in 16 pods"]
    sure: Annotated[bool, "whether it is a disk for sure, and no machine holds all of the pods"]
    cloud: Annotated[str, "the cloud of the cluster: eks, gke, aks, ack, selfmanaged; any where it is not known"]


def split_claim(workload: Workload, world: World) -> Split | None:
    """Find the single-node claim that pods mount on several nodes; else None."""
    users: dict[str, list[PodTemplate]] = {}
    for template in workload.templates:
        for name in dict.fromkeys(known(one.name) for one in template.references if one.kind == _CLAIM):
            users.setdefault(name or "", []).append(template)
    for name, templates in users.items():
        found = _split(name, templates, workload, world) if name else None
        if found is not None:
            return found
    named = (one.name for template in workload.templates for one in template.references if one.kind == _CLAIM)
    return need(first_unknown(named)) if known(workload.pods) != 1 else None


def _split(name: str, templates: list[PodTemplate], workload: Workload, world: World) -> Split | None:
    claims = _claims(name, workload, world)
    modes = {mode for one in claims for mode in need(one.modes) or ("",)}
    if not modes or not modes <= _SINGLE or any(one.chosen for one in claims):
        return None
    one_pod = modes == {_ONE_POD}
    disks = one_pod or _on_disks(claims, workload, world)
    if disks is False:
        return None
    if one_pod:
        most, sure = sum(need(one.count) for one in templates), True
    else:
        most, sure = _fewest_nodes(templates, workload, world)
    if most <= 1:
        return None
    cluster = world.inventory.cluster_of.get(workload)
    return Split(
        name=next(one.name for one in templates[0].references if one.kind == _CLAIM and known(one.name) == name),
        modes=claims[0].modes,
        mode=_ONE_POD if one_pod else "ReadWriteOnce",
        where=f"in {counted(most, 'pod')}" if one_pod else f"on {counted(most, 'node')}",
        sure=sure and disks is True,
        cloud=cluster.cloud if cluster else "any",
    )


@once
def _definitions(scope: str, world: World) -> dict[tuple[str, str | None], list[Definition]]:
    return grouped(world.deployed.in_scope(scope).definitions, lambda one: (one.kind, known(one.name)))


def _claims(name: str, workload: Workload, world: World) -> list[Definition]:
    """List the claims with a name in a workload's namespace."""
    space, every = known(workload.namespace), _definitions(world.deployed.scope(workload), world)
    found = [one for one in every.get((_CLAIM, name), []) if known(one.namespace) == space]
    near = [one for one in found if world.deployed.folder(one) == world.deployed.folder(workload)]
    if not found:
        need(first_unknown(one.name for one in every.get((_CLAIM, None), [])))
    return near or (found if space is not None else [])


def _on_disks(claims: list[Definition], workload: Workload, world: World) -> bool | None:
    """Whether claims are disks, which one node mounts at a time; None if unknown."""
    found = [_on_disk(one, workload, world) for one in claims]
    return False if False in found else None if None in found else True


def _on_disk(claim: Definition, workload: Workload, world: World) -> bool | None:
    classes = [one for one in world.deployed.beside(claim).definitions if one.kind == "StorageClass"]
    written = known(claim.storage)
    if isinstance(claim.storage, Unset):
        cluster = world.inventory.cluster_of.get(workload)
        others = any(_kind(known(one.storage) or "") is not True for one in classes)
        return True if cluster is not None and cloud(cluster.cloud).has_disks and not others else None
    own = next((known(one.storage) for one in classes if known(one.name) == written), written)
    return _kind(own or "")


def _kind(storage: str) -> bool | None:
    """Whether a provisioner, or a common class name, creates disks; None if unknown."""
    if names.pattern("file_systems", re.IGNORECASE).search(storage):
        return False
    return True if names.pattern("disks", re.IGNORECASE).search(storage) else None


def _fewest_nodes(templates: list[PodTemplate], workload: Workload, world: World) -> tuple[int, bool]:
    """Return the fewest nodes for these pods, and whether several are certain."""
    if workload.per_node:
        return need(world.sizes.of_workload(workload)), True
    counts = [need(one.count) for one in templates]
    if any(_pinned(one) for one in templates):
        return 0, False
    gpus = sum(count * number(one.gpus, 0) for one, count in zip(templates, counts, strict=True))
    pools = [pool for one in templates for pool in world.pools.fitting(one)]
    largest = max((number(pool.machine.gpus, 0) for pool in pools), default=0)
    least = [(-(-gpus // (largest or _GPUS)), bool(largest) or gpus > _MOST_GPUS)]
    for one, count in zip(templates, counts, strict=True):
        each = _most_per_node(one, world)
        if each is not None:
            least.append((-(-count // each), True))
    if max(nodes for nodes, _ in least) <= 1 < sum(counts):
        need(first_unknown(one.gpus for one in templates))
    return max(nodes for nodes, _ in least), any(sure and nodes > 1 for nodes, sure in least)


def _most_per_node(template: PodTemplate, world: World) -> int | None:
    """Return the most pods that share a node; None if unknown."""
    if known(template.spread) or template.all_cards or known(template.ports):
        return 1
    found = [world.pools.per_node(template, pool) for pool in world.pools.fitting(template)]
    most = [one.high for one in found if one is not None and one.high]
    return max(most) if most and len(most) == len(found) else None


def _pinned(template: PodTemplate) -> bool:
    """Whether affinity or a node name puts all pods on one node."""
    named = any(one.key == _HOST for term in sure(template.selection) or () for one in term)
    return named or equals(template.packed_by, _HOST)
