"""Words of dynamic resource allocation: what pods claim, and who adds nodes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import flags
from kcheck.scale.facts.basics import computed
from kcheck.text.values import Known, Unknown, Unset, Value, equals, known, mapped

if TYPE_CHECKING:
    from kcheck.model import Autoscaler, Cluster, PodTemplate
    from kcheck.scale.world import World

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
    from kcheck.scale.facts.scaling import minor

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
    from kcheck.scale.facts import karpenter

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
