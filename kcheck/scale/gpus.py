"""GPUs: sharing, claims (dynamic resource allocation) and device plugins."""

from kcheck.config.numbers import flags, machines
from kcheck.model import Autoscaler, Cluster, Container, PodTemplate, Sharing
from kcheck.scale.word_helpers import anyone, computed, may_count, runs
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.scale.world.pools import CONFIG
from kcheck.text.amount import Amount
from kcheck.text.need import NotKnown, first_unknown, if_set, need, or_unknown
from kcheck.text.regex import regex
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, known, mapped, number

_MIG = "nvidia.com/mig-"
_WHOLE = frozenset({"nvidia.com/gpu", "nvidia.com/gpu.shared"})


def ways(one: Sharing, world: World) -> Value[tuple[str, ...]]:
    """List how cards are divided: time slices, MPS, or MIG."""
    mig = any(name.startswith(_MIG) for name in one.names) or strategy(one, world) == "mixed"
    found = {"timeSlicing": bool(one.slices), "mps": bool(one.mps), "mig": mig}
    return computed(one, tuple(name for name, holds in found.items() if holds))


def strategy(thing: Sharing | Container, world: World) -> str | None:
    """Return the MIG strategy common to all configurations; else None."""
    near = world.deployed.beside(thing).sharings
    written = [one for one in near if isinstance(one.mig, Known)]
    given = {known(one.mig) for one in written if one.strategy_only} or {known(one.mig) for one in written}
    if not written:
        need(first_unknown(one.mig for one in near))
    return given.pop() if len(given) == 1 else None


def copies(one: Sharing, _world: World) -> Value[int]:
    """Return the fewest copies made of a GPU; null if none are made."""
    values = (*one.slices, *one.mps)
    certain = (value for value in values if isinstance(value, Known))
    fewest = min(certain, key=lambda value: value.value, default=None)
    return fewest or first_unknown(values) or computed(one, None)


def _chosen(template: PodTemplate, near: list[Sharing], world: World) -> list[Sharing]:
    """List the configurations that labels give to every pool of the pods."""
    names = [(known(pool.scheduling.labels) or {}).get(CONFIG) for pool in world.pools.fitting(template)]
    found = [one for one in near if one.id.rpartition("/")[2] in names]
    return found if None not in names and len(found) == len(set(names)) else []


@or_unknown
def of_pods(template: PodTemplate, world: World) -> Value[int]:
    """Count the shares per GPU that pods can get; null for whole GPUs."""
    if not any(known(one.gpu) in _WHOLE for one in template.containers):
        return computed(template, None)
    near = world.deployed.beside(template).sharings
    near = _chosen(template, near, world) or near
    of_pool = {one.pool: one for one in near if one.pool is not None}
    found = [one for one in near if one.pool is None and not one.strategy_only]
    if of_pool:
        pools = need(world.pools.candidates(template))
        if not pools or any(pool not in of_pool for pool, _ in pools):
            return computed(template, None)
        found = [of_pool[pool] for pool, _ in pools]
    counts = [known(copies(one, world)) for one in found if _WHOLE & set(one.names)]
    certain = [count for count in counts if count is not None]
    return computed(template, max(certain) if certain and len(certain) == len(found) else None)


def whole_cards(cluster: Cluster, world: World) -> Amount:
    """Count the pods with exactly one whole GPU, except those of jobs and DaemonSets."""
    found = [
        template
        for workload in world.deployed.on(cluster).workloads
        if not workload.batch and not workload.per_node
        for template in workload.templates
        if known(template.gpus) in (1, None) and may_count(template.gpus)
        if not template.shares and not _on_fractions(template, cluster, world)
    ]
    unknown = first_unknown(value for one in found for value in (one.count, one.gpus))
    least = sum(number(one.count, 0) for one in found if known(one.gpus))
    most = None if first_unknown(one.count for one in found) else sum(number(one.count, 0) for one in found)
    return Amount(least, most if unknown else least, unknown)


def _on_fractions(template: PodTemplate, cluster: Cluster, world: World) -> bool:
    """Whether all pools that a pod may run on have machines with a part of a GPU."""
    types = [known(pool.machine.instance_types) or () for pool in world.pools.fitting(template)]
    fractions = machines.tables_of(cluster.cloud).get("fractions", ())
    whole = (names and all(name.removeprefix("Standard_") in fractions for name in names) for names in types)
    return bool(types) and all(whole)


def shared(cluster: Cluster, world: World) -> Value[bool]:
    """Whether anything shares GPUs: a configuration, or pods that request shares."""
    own = [one for one in world.inventory.sharings if world.inventory.cluster_of.get(one) is cluster]
    configured = any(one.slices or one.mps for one in own)
    parts = any(one.shares for workload in world.deployed.on(cluster).workloads for one in workload.templates)
    return Known(configured or parts, Origin((cluster.place,)))


_FLAG = "enable-dynamic-resource-allocation"


def resource(template: PodTemplate, _world: World) -> str | None:
    """Return the resource by which pods request GPUs; None without one."""
    asked = next((known(one.gpu) for one in template.containers if known(one.gpu)), None)
    return asked or next(iter(need(template.device_classes)), None)


def counted_as(template: PodTemplate, world: World) -> Value[str] | str | None:
    """Return the resource by which Kueue counts the GPUs of pods."""
    name = resource(template, world)
    if name is None or name not in need(template.device_classes):
        return name
    found = world.deployed.device_resources(template)
    if isinstance(found, Unset):
        return Unknown("the configuration of Kueue, which maps device classes to resources, is not in the code")
    return mapped(found, lambda own: own.get(name, name))


def ignored_by(template: PodTemplate, world: World) -> str | None:
    """Return the autoscaler that adds no nodes for pods' claims; else None."""
    cluster = world.inventory.cluster_of.get(world.deployed.workload(template))
    if cluster is None or not need(template.device_classes):
        return None
    name, own = if_set(world.autoscaling.tool(cluster)), world.autoscaling.autoscaler(cluster)
    if name == "auto-mode":
        return "EKS Auto Mode"
    if name == "karpenter":
        return _karpenter(cluster, world)
    return None if name is None or own is None else _autoscaler(own, world)


def _autoscaler(own: Autoscaler, world: World) -> str | None:
    from kcheck.scale import autoscaler  # with all that is simulated: only for a cluster

    written = next((one.value for one in own.flags if known(one.name) == _FLAG), None)
    version = autoscaler.minor(own, world)
    if written is not None and not isinstance(written, Known):
        raise NotKnown(Unknown(f"the value of --{_FLAG} is not known"))
    on = flags.default(_FLAG, if_set(version)) if written is None else written.value == "true"
    if on is None:
        raise NotKnown(Unknown("the version of the cluster autoscaler is not known"))
    return None if on else f"Cluster Autoscaler 1.{known(version) or '?'}"


def _karpenter(cluster: Cluster, world: World) -> str | None:
    from kcheck.scale import autoscaler

    own = next(iter(autoscaler.releases(cluster, world)), None)
    if own is None:
        why = "the release of Karpenter, which says whether it serves resource claims, is not in the code"
        raise NotKnown(Unknown(why))
    version, first = known(own.version), world.numbers.limits("any")["karpenter.claims"].text
    if autoscaler.is_older(version, first):
        return f"Karpenter {version}"
    return "Karpenter" if if_set(own.ignores_claims) is not False else None


PLUGIN = regex(r"nvidia-device-plugin|(?<!efa-)k8s-device-plugin|gpu-operator|neuron|dra-driver")
"""Names of charts, add-ons and images that make GPUs known to a cluster."""


@once
def device_plugin(cluster: Cluster, world: World) -> Value[bool]:
    """Whether the code installs a device plugin for GPUs; eksctl installs one itself."""
    if cluster.address.startswith("ClusterConfig/"):
        return computed(cluster, value=True)
    return anyone(cluster, runs(cluster, frozenset({PLUGIN}), world))
