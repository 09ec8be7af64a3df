"""Deployed things: their cluster, their workload, and their neighbours."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.model import Container, PodTemplate, Workload
from kcheck.text.values import Known, Origin, Unknown, Unset, all_known

if TYPE_CHECKING:
    from kcheck.model import Cluster, Inventory, Thing
    from kcheck.text.values import Value

_KINDS = ("workloads", "classes", "queues", "limits", "schedulers", "admissions", "sharings", "watchers")
"""What rules compare with what is applied beside it."""


class Deployments:
    """Deployed things by cluster and workload."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def on(self, cluster: Cluster) -> Inventory:
        """The things deployed to a cluster, as far as known."""
        return self._clusters[cluster.id]

    def workload(self, part: Thing) -> Workload:
        """The workload that a pod template or a container is part of."""
        return part if isinstance(part, Workload) else self._workload_of[part]

    def scope(self, thing: Thing) -> str:
        """The scope of a thing: its cluster, else the folder of its kustomization or file."""
        cluster = self._inventory.cluster_of.get(thing)
        if cluster is not None:
            return cluster.id
        return self._inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)

    def beside(self, thing: Thing) -> Inventory:
        """The things applied together with a thing."""
        if isinstance(thing, PodTemplate | Container):
            thing = self.workload(thing)
        return self._scopes[self.scope(thing)]

    def device_resources(self, thing: Thing) -> Value[dict[str, str]]:
        """The resource by which Kueue counts each device class, as its configuration beside a thing says."""
        found = [one.counted_as for one in self.beside(thing).admissions]
        origin = found[0].origin if found and found[0].origin else Origin((thing.place,))
        maps = all_known(found)
        if isinstance(maps, Unknown) or not found:
            return maps if isinstance(maps, Unknown) else Unset(origin)
        return Known({name: resource for own in reversed(maps) for name, resource in own.items()}, origin)

    @cached_property
    def _clusters(self) -> dict[str, Inventory]:
        cluster_of = self._inventory.cluster_of
        return self._inventory.divided(
            ("workloads", "services", "addons"), lambda thing: cluster_of[thing].id if thing in cluster_of else ""
        )

    @cached_property
    def _workload_of(self) -> dict[Thing, Workload]:
        found: dict[Thing, Workload] = {}
        for workload in self._inventory.workloads:
            for template in workload.templates:
                found[template] = workload
                found.update(dict.fromkeys(template.containers, workload))
        return found

    @cached_property
    def _scopes(self) -> dict[str, Inventory]:
        return self._inventory.divided(_KINDS, self.scope)
