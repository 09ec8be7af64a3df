"""Registry of clouds by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from kcheck.config.numbers.clouds import CLOUDS
from kcheck.text.text import Skipped, Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.inventory.clouds.cloud import Cloud
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Inventory

UNJUDGED = "cluster not judged"
"""Heading under which a cluster that kcheck only names is skipped."""
PROVIDER_KINDS = ("ManagedControlPlane", "ManagedMachinePool", "MachineTemplate")
"""Suffixes of a Cluster API provider's kinds."""
_JUDGED = "kcheck judges EKS, GKE, AKS, ACK, kubeadm, k3s, RKE, Talos, OpenShift, kops, Kubespray and Cluster API"


@cache
def cloud(name: str) -> Cloud:
    """Return the cloud with a name."""
    found: Cloud = import_module(f"kcheck.inventory.clouds.{name}.cloud").CLOUD
    return found


def every() -> Iterator[Cloud]:
    """Iterate over all clouds."""
    return map(cloud, CLOUDS)


def read_objects(objects: list[Object], inventory: Inventory, kernel: Iterable[Source] = ()) -> None:
    """Read clusters declared as objects, with the kernel settings of their nodes."""
    kinds = {item.kind for item in objects}
    for cloud in every():
        if not kinds.isdisjoint(cloud.objects):
            cloud.read_objects(objects, inventory)
            cloud.read_kernel(kernel, inventory)


def unjudged(place: Span, name: str, why: str = _JUDGED) -> Skipped:
    """Report a cluster that is not judged."""
    return Skipped(place.source.path, name, place.begin.line, why, what=UNJUDGED)


def cluster_families() -> tuple[str, ...]:
    """List prefixes of resource types that only clusters use."""
    return tuple(begin for cloud in every() for begin in cloud.resources if begin.endswith("_"))


def cluster_api_kinds() -> frozenset[str]:
    """Return the kinds of objects that `cluster_api` reads."""
    own = ("Cluster", "KubeadmControlPlane", "KubeadmConfigTemplate", "MachineDeployment", "MachinePool")
    return frozenset((*own, *(cloud.provider + end for cloud in every() if cloud.provider for end in PROVIDER_KINDS)))


_ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_labels() -> set[str]:
    """Return the node labels for zones, of Kubernetes and of any cloud."""
    return {*_ZONE, *(label for cloud in every() for label in cloud.zone_labels)}
