"""Relations between objects: cluster, workload, neighbours, autoscaler."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from kcheck.inventory.clouds.registry import cloud
from kcheck.model import Autoscaler, Candidates, Cluster, Container, Inventory, PodTemplate, Thing, Workload
from kcheck.scale.world.memory import Memory, once
from kcheck.text.amount import amount_of
from kcheck.text.need import first_unknown, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Either, Known, Origin, Unset, Value, equals, known, mapped

_KINDS = ("workloads", "classes", "queues", "limits", "schedulers", "admissions", "sharings", "watchers", "definitions")
"""Kinds of things that rules compare with others applied together."""


class Deployments:
    """Deployed objects by cluster and workload."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def on(self, cluster: Cluster) -> Inventory:
        """Return the objects deployed to a cluster, as far as known."""
        return self._clusters[cluster.id]

    def workload(self, part: Thing) -> Workload:
        """Return the workload of a pod template or a container."""
        return part if type(part) is Workload else self._workload_of[part]

    def template(self, container: Container) -> PodTemplate:
        """Return the pods of a container."""
        return next(pods for pods in self.workload(container).templates if container in pods.containers)

    def scope(self, thing: Thing) -> str:
        """Return the scope of an object: its cluster, else its folder."""
        cluster = self._inventory.cluster_of.get(thing)
        return self.folder(thing) if cluster is None else cluster.id

    def folder(self, thing: Thing) -> str:
        """Return the folder of an object's kustomization or file."""
        return self._inventory.scope_of.get(thing) or os.path.dirname(thing.place.source.path)

    def beside(self, thing: Thing) -> Inventory:
        """Return the objects applied together with an object."""
        if isinstance(thing, PodTemplate | Container):
            thing = self.workload(thing)
        return self._scopes[self.scope(thing)]

    def in_scope(self, scope: str) -> Inventory:
        """Return the objects applied in a scope."""
        return self._scopes[scope]

    @or_unknown
    def device_resources(self, thing: Thing) -> Value[dict[str, str]]:
        """Return the resource that Kueue counts for each device class."""
        found = [one.counted_as for one in self.beside(thing).admissions]
        if not found:
            return Unset(Origin((thing.place,)))
        maps, origin = [need(one) for one in found], found[0].origin or Origin((thing.place,))
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


_AUTOSCALER = regex(r"(?:^|/)(cluster-autoscaler|karpenter)(?:$|[/:@-])")


def _tools_in(names: Iterable[Value[str]]) -> Iterator[str]:
    """Yield the names of autoscalers found in names of charts, images or objects."""
    return (match[1] for name in names if (match := _AUTOSCALER.search(known(name) or "")))


class Autoscaling(Memory):
    """Sources of a cluster's nodes: autoscalers, and pools of Karpenter."""

    def __init__(self, inventory: Inventory) -> None:
        super().__init__()
        self._inventory = inventory

    def autoscaler(self, cluster: Cluster) -> Autoscaler | None:
        """Return the autoscaler of a cluster's pools; None if none is in the code."""
        return next((one for one in self._inventory.autoscalers if known(one.cluster) is cluster), None)

    def beyond_pools(self, cluster: Cluster) -> bool:
        """Whether the cloud or Karpenter adds nodes besides the pools."""
        return bool(known(cluster.provisioned)) or (self.has_karpenter(cluster) and not self._is_limited(cluster))

    def has_karpenter(self, cluster: Cluster) -> bool:
        """Whether Karpenter is on a cluster, even beside another autoscaler."""
        others = () if cloud(cluster.cloud).grows_pools else self.installed(cluster)
        return "karpenter" in (known(self.tool(cluster)), *others)

    @once
    def _is_limited(self, cluster: Cluster) -> bool:
        """Whether all of a cluster's Karpenter NodePools are in the code, and have limits."""
        own = [one for one in self._inventory.pools if known(one.cluster) is cluster and equals(one.mode, "Karpenter")]
        return bool(own) and all(amount_of(one.size.max_nodes).high is not None for one in own)

    @once
    def tool(self, cluster: Cluster) -> Value[str]:
        """Return the autoscaler of a cluster; unset if there is none."""
        place = Origin((cluster.place,))
        if cloud(cluster.cloud).grows_pools:
            return cluster.grower if equals(cluster.grower, "karpenter") else Known(cluster.cloud, place)
        if not isinstance(cluster.provisioned, Known) or cluster.provisioned.value:
            return mapped(cluster.provisioned, lambda _: "auto-mode")
        if self.autoscaler(cluster) is not None:
            return Known("cluster-autoscaler", place)
        installed = next(iter(self.installed(cluster)), None)
        if installed is not None:
            return Known(installed, place)
        perhaps = (why for found, why in self._unplaced if cluster in found.clusters)
        names = (*self._installed[cluster.id], cluster.grower, *perhaps)
        return first_unknown(names) or Unset(place)

    def installed(self, cluster: Cluster) -> list[str]:
        """List the autoscalers that the code installs in a cluster, possibly several."""
        return [*self._tools.get(cluster.id, ()), *_tools_in((cluster.grower,))]

    @cached_property
    def _tools(self) -> dict[str, list[str]]:
        return {cluster: list(_tools_in(names)) for cluster, names in self._installed.items()}

    @cached_property
    def _installed(self) -> dict[str, list[Value[str]]]:
        result = defaultdict[str, list[Value[str]]](list)
        for thing, name in self._names():
            result[self._inventory.cluster_of[thing].id if thing in self._inventory.cluster_of else ""].append(name)
        return result

    def _names(self) -> Iterator[tuple[Thing, Value[str]]]:
        """Yield each add-on with its name, and each workload with the names of its images."""
        yield from ((addon, addon.name) for addon in self._inventory.addons)
        yield from ((one, image.text) for one in self._inventory.workloads for image in one.images)

    @cached_property
    def _unplaced(self) -> list[tuple[Candidates, Either]]:
        """Autoscalers whose cluster is unknown, with their candidate clusters."""
        homes, result = self._inventory.candidates_of, []
        for thing, name in self._names():
            match = _AUTOSCALER.search(known(name) or "") if thing in homes else None
            if match is not None:
                place, why = Origin((thing.place,)), f"the cluster of {match[1]} is not known: {homes[thing].reason}"
                either = Known(match[1], place), Known(None, place)
                result.append((homes[thing], Either(why, place, branches=either)))
        return result
