"""Images: their tags, pulls from a registry, and copies elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers import tags
from kcheck.inventory.clouds import registry
from kcheck.model import image_names
from kcheck.model.image_names import Ending
from kcheck.scale import egress, placement
from kcheck.scale.basics import computed
from kcheck.text import placeholders
from kcheck.text.interval import Bounded, Interval
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Value, known, mapped, number

if TYPE_CHECKING:
    from kcheck.model import Image, Workload

    Uses = list[tuple[Workload, Image]]
    from kcheck.model import Container, Image, Workload
    from kcheck.scale.world import World


def ending(image: Value[str]) -> Value[Ending]:
    """Tag and digest of an image."""
    if not isinstance(image, Known):
        return image
    found = image_names.ending(image.value)
    if found is not None:
        return Known(found, image.origin)
    text = placeholders.first(image.value) or image.value
    return Unknown(placeholders.reason(text), image.origin)


def owner(image: Image, world: World) -> Workload:
    """The workload that runs an image on most nodes."""
    return world.images.uses(image)[0][0]


def workload(image: Image, world: World) -> Value[Workload]:
    """The same as a value."""
    return computed(image, owner(image, world))


def container(image: Image, world: World) -> Value[Container]:
    """The container of an image."""
    every = (one for template in owner(image, world).templates for one in template.containers)
    found = next((one for one in every if one.id == image.id), None)
    return Unknown("the chart gives the pull policy") if found is None else computed(image, found)


def nodes(image: Image, world: World) -> Value[int]:
    """Nodes of the workload that runs an image on most nodes; at least those of another one with it."""
    found, least = world.images.nodes(image), world.images.least_nodes(image)
    if isinstance(found, Unknown) and least:
        return Bounded(found.reason, found.origin, bounds=Interval(least, None))
    return found


def pulls(image: Image, world: World) -> Value[int]:
    """Pulls by fresh nodes from Docker Hub through one public address."""
    workload = owner(image, world)
    addresses = max(1, number(egress.egress_addresses(workload, world), 1))
    found = egress.pulls_of(workload, world)
    return mapped(world.images.nodes(image), lambda nodes: egress.pulled(found, lambda _: nodes) // addresses)


def others(image: Image, world: World) -> list[Image]:
    """The other places of an image in its file."""
    return [use for _, use in world.images.uses(image)[1:]]


def replacement(image: Image, world: World) -> Value[str]:
    """What the image is called on a mirror, in a cache that the code makes, or on the successor of its registry."""
    if (known(image.text) or "").startswith((_FORMER, *_FIRST)):  # a mirror of what is frozen is frozen too
        return _successor(image)
    mirror = world.config.mirrors.get(known(image.registry) or "")
    reference = image_names.parse(known(image.text) or "")
    if mirror is not None and reference is not None:
        return computed(image, f"{mirror}/{reference.rest}")
    return computed(image, _cached(image, world))


def _cached(image: Image, world: World) -> str | None:
    """The image's name in the cache of its registry that its cluster is nearest to."""
    cluster = world.inventory.cluster_of.get(owner(image, world))
    reference = image_names.parse(known(image.text) or "")
    if cluster is None or reference is None:
        return None
    own = [m for m in world.inventory.mirrors if m.cloud == cluster.cloud and m.registry == reference.registry]
    for mirror in sorted(own, key=lambda one: one.root != cluster.root):
        path = mirror.path.removesuffix("*")
        if mirror.path.endswith("*") or not path:
            if reference.rest.startswith(path):
                return f"{mirror.prefix}/{reference.rest.removeprefix(path)}"
        elif reference.repository == path:
            return mirror.prefix + reference.rest.removeprefix(reference.repository)
    return None


def mirrored(image: Image, world: World) -> Value[bool]:
    """Whether all nodes that pull an image ask a mirror of Docker Hub first, as their pools say."""
    return egress.mirrored(owner(image, world), world)


def public_cache(image: Image, world: World) -> Value[bool]:
    """Whether the nodes ask a public cache before Docker Hub, which has the popular images."""
    workload = owner(image, world)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is not None:
        return computed(image, registry.cloud(cluster.cloud).caches_docker_hub)
    domains = tuple(domain for one in registry.every() if one.caches_docker_hub for domain in one.label_domains)
    return computed(image, any(placement.names(template, domains) for template in workload.templates))


def moving(image: Image, _world: World) -> Value[bool]:
    """Whether the tag of an image moves, or it has none."""
    if image.untagged:
        return Unknown(f"the chart gives the tag of {known(image.text)}")
    return mapped(ending(image.text), lambda own: not own.digest and tags.moves(own.tag))


def tag(image: Image, _world: World) -> Value[str]:
    """The tag of an image; null where none is written."""
    if image.untagged:
        return Unknown(f"the chart gives the tag of {known(image.text)}")
    found = ending(image.text)
    return computed(image, found.value.tag or None) if isinstance(found, Known) else found


def _successor(image: Image) -> Value[str]:
    """The image on the registry that replaces a retired one; null where it is not known to be there."""
    text, found = known(image.text) or "", ending(image.text)
    if isinstance(found, Unknown):
        return found
    if not image.untagged and known(found) == Ending("", ""):
        return computed(image, None)  # images are there by their versions
    if text.startswith(_FORMER):
        return computed(image, _NOW + text.removeprefix(_FORMER))
    path = next((text.removeprefix(first) for first in _FIRST if text.startswith(first)), "")
    return computed(image, _NOW + path if _OF_KUBERNETES.fullmatch(path) else None)


_NOW = "registry.k8s.io/"
_FORMER = "k8s.gcr.io/"
"""Whose images the new one serves itself, digests included."""

_FIRST = ("gcr.io/google-containers/", "gcr.io/google_containers/")
"""The first registry, of Google: what was there in July 2020 was copied; Google has put more of its own there since."""

_OF_KUBERNETES = regex(
    r"(?:pause|etcd|coredns|hyperkube|conformance|busybox|echoserver|nginx-slim|addon-resizer|metrics-server|heapster"
    r"|cluster-autoscaler|cluster-proportional(?:-vertical)?-autoscaler|defaultbackend|exechealthz|fluentd-elasticsearch"
    r"|kube-(?:apiserver|controller-manager|scheduler|proxy|addon-manager|state-metrics|cross)"
    r"|kubernetes-dashboard(?:-init)?|k8s-dns-(?:kube-dns|dnsmasq-nanny|sidecar|node-cache)"
    r"|node-problem-detector|volume-nfs|serve_hostname|test-webserver)"
    r"(?:-(?:amd64|arm|arm64|ppc64le|s390x))?(?::[\w.-]+)?"
)
"""Images of the Kubernetes project, by name or tag: these have come from nowhere else since."""
