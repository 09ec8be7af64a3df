"""GPUs: how they are shared, claimed (dynamic resource allocation) and made known to the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import flags, machines
from kcheck.scale import karpenter
from kcheck.scale.autoscaler import minor
from kcheck.scale.basics import anyone, computed
from kcheck.scale.world.pools import CONFIG
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped, number

if TYPE_CHECKING:
    from kcheck.model import Autoscaler, Cluster, Container, PodTemplate, Sharing
    from kcheck.scale.world import World

_MIG = "nvidia.com/mig-"
_WHOLE = frozenset({"nvidia.com/gpu", "nvidia.com/gpu.shared"})


def ways(one: Sharing, world: World) -> Value[tuple[str, ...]]:
    """How cards are divided: by time slices, by MPS, by MIG with slices of their own names (strategy mixed)."""
    mig = any(name.startswith(_MIG) for name in one.names) or strategy(one, world) == "mixed"
    found = {"timeSlicing": bool(one.slices), "mps": bool(one.mps), "mig": mig}
    return computed(one, tuple(name for name, holds in found.items() if holds))


def strategy(thing: Sharing | Container, world: World) -> str | None:
    """The MIG strategy that everything which is applied together agrees on; what the operator says goes first."""
    written = [one for one in world.deployed.beside(thing).sharings if isinstance(one.mig, Known)]
    given = {known(one.mig) for one in written if one.strategy_only} or {known(one.mig) for one in written}
    return given.pop() if len(given) == 1 else None


def copies(one: Sharing, _world: World) -> Value[int]:
    """The fewest copies that it makes of a card; null where it makes none."""
    found = [value for value in (*one.slices, *one.mps) if isinstance(value, Known)]
    unknown = next((value for value in (*one.slices, *one.mps) if isinstance(value, Unknown)), None)
    fewest = min(found, key=lambda value: value.value, default=None)
    if fewest is not None:
        return Known(fewest.value, fewest.origin)
    return unknown or computed(one, None)


def _chosen(template: PodTemplate, near: list[Sharing], world: World) -> list[Sharing]:
    """The configurations that the nodes of all pools take on which pods land, by a label of theirs; else none."""
    pools = world.pools.candidates(template)
    names = [
        (known(pool.scheduling.labels) or {}).get(CONFIG) for pool, _ in (() if isinstance(pools, Unknown) else pools)
    ]
    found = [one for one in near if one.id.rpartition("/")[2] in names]
    return found if None not in names and len(found) == len(set(names)) else []


def of_pods(template: PodTemplate, world: World) -> Value[int]:
    """Copies that are made of each card that pods can get; null where they get whole ones, or may."""
    if not any(known(one.gpu) in _WHOLE for one in template.containers):
        return computed(template, None)
    near = world.deployed.beside(template).sharings
    chosen = _chosen(template, near, world)
    if chosen:
        near = chosen
    of_pool = {one.pool: one for one in near if one.pool is not None}
    found = [one for one in near if one.pool is None and not one.strategy_only]
    if of_pool:
        pools = world.pools.candidates(template)
        if isinstance(pools, Unknown):
            return pools
        if not pools or any(pool not in of_pool for pool, _ in pools):
            return computed(template, None)
        found = [of_pool[pool] for pool, _ in pools]
    counts = [known(copies(one, world)) for one in found]
    whole = any(count is None for count in counts) or not all(_WHOLE & set(one.names) for one in found)
    return computed(template, None if whole or not counts else max(number(copies(one, world), 0) for one in found))


def whole_cards(cluster: Cluster, world: World) -> Value[int]:
    """Pods that run for ever with one whole GPU each, of different workloads."""
    found = [
        template
        for workload in world.deployed.on(cluster).workloads
        if not workload.batch and not workload.per_node
        for template in workload.templates
        if known(template.gpus) == 1 and not template.shares and not _on_fractions(template, cluster, world)
    ]
    unknown = next((one.count for one in found if isinstance(one.count, Unknown)), None)
    return unknown or computed(cluster, sum(number(one.count, 0) for one in found))


def _on_fractions(template: PodTemplate, cluster: Cluster, world: World) -> bool:
    """Whether all pools that a pod may run on have machines with a part of a GPU."""
    pools = world.pools.candidates(template)
    if isinstance(pools, Unknown):
        return False

    types = [known(pool.machine.instance_types) or () for pool, _ in pools]
    return bool(types) and all(
        names and all(machines.has_fraction(cluster.cloud, name) for name in names) for names in types
    )


def shared(cluster: Cluster, world: World) -> Value[bool]:
    """Whether anything shares cards: a configuration, or pods that ask for parts."""
    own = [one for one in world.inventory.sharings if world.inventory.cluster_of.get(one) is cluster]
    configured = any(one.slices or one.mps for one in own)
    parts = any(one.shares for workload in world.deployed.on(cluster).workloads for one in workload.templates)
    return Known(configured or parts, Origin((cluster.place,)))


_FLAG = "enable-dynamic-resource-allocation"


def resource(template: PodTemplate, _world: World) -> Value[str]:
    """The resource, or the class of devices, by which pods ask for GPUs; null without."""
    asked = next((known(one.gpu) for one in template.containers if known(one.gpu)), None)
    return computed(template, asked or next(iter(template.device_classes), None))


def unseen(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The claims of pods that no container of theirs uses."""
    used = {name for one in template.containers for name in one.claims}
    return computed(template, tuple(one.name for one in known(template.claims) or () if one.name not in used))


def counted_as(template: PodTemplate, world: World) -> Value[str]:
    """The resource by which Kueue counts the GPUs of pods: of claims by its configuration; null without GPUs."""
    asked = resource(template, world)
    name = known(asked)
    if name is None or name not in template.device_classes:
        return asked
    found = world.deployed.device_resources(template)
    if isinstance(found, Unset):
        return Unknown("the configuration of Kueue, which maps device classes to resources, is not in the code")
    return mapped(found, lambda own: own.get(name, name))


def ignored_by(template: PodTemplate, world: World) -> Value[str]:
    """The autoscaler of their cluster that adds no nodes for claims; null where it does, or there is none."""
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    if cluster is None or not template.device_classes:
        return computed(template, None)
    found = world.autoscaling.tool(cluster)
    if isinstance(found, Unknown):
        return found
    name, own = known(found), world.autoscaling.autoscaler(cluster)
    if name == "auto-mode":
        return computed(template, "EKS Auto Mode")
    if name == "karpenter":
        return _karpenter(template, cluster, world)
    return computed(template, None) if name is None or own is None else _autoscaler(template, own, world)


def _autoscaler(template: PodTemplate, own: Autoscaler, world: World) -> Value[str]:
    written = next((one.value for one in own.flags if known(one.name) == _FLAG), None)
    version = minor(own, world)
    if written is not None and not isinstance(written, Known):
        return Unknown(f"the value of --{_FLAG} is not known")
    if written is None and isinstance(version, Unknown):
        return version
    on = equals(written, "true") if written is not None else flags.default(_FLAG, known(version))
    if on is None:
        return Unknown("the version of the cluster autoscaler is not known")
    return computed(template, None if on else f"Cluster Autoscaler 1.{known(version) or '?'}")


def _karpenter(template: PodTemplate, cluster: Cluster, world: World) -> Value[str]:
    own = next(iter(karpenter.releases(cluster, world)), None)
    if own is None:
        return Unknown("the release of Karpenter, which says whether it serves resource claims, is not in the code")
    version, first = known(own.version), world.numbers.limits("any")["karpenter.claims"].text
    if karpenter.is_older(version, first):
        return computed(template, f"Karpenter {version}")
    ignores = own.ignores_claims
    if isinstance(ignores, Unknown):
        return ignores
    return computed(template, "Karpenter" if known(ignores) is not False else None)


PLUGIN = regex(r"nvidia-device-plugin|(?<!efa-)k8s-device-plugin|gpu-operator|neuron|dra-driver")
"""What makes GPUs known to a cluster: by the name of a chart, an add-on or an image."""


def device_plugin(cluster: Cluster, world: World) -> Value[bool]:
    """Whether a device plugin for GPUs is installed by the same code; eksctl installs one by itself."""
    if cluster.address.startswith("ClusterConfig/"):
        return computed(cluster, value=True)
    names = [addon.name for addon in world.deployed.on(cluster).addons]
    names += [image.text for workload in world.deployed.on(cluster).workloads for image in workload.images]
    return anyone(cluster, (mapped(name, lambda text: bool(PLUGIN.search(text))) for name in names))
