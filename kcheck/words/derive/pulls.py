"""Words of images: pulls from a registry, and the addresses they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.clouds.registry import cloud
from kcheck.model import image_names
from kcheck.numbers import tags
from kcheck.scale import downloads, images, placement
from kcheck.source.units import shown
from kcheck.source.values import Known, Unknown, Unset, Value, known, mapped, number, reason_of
from kcheck.words.derive.basics import computed

if TYPE_CHECKING:
    from kcheck.model import Image, Mirror, Workload
    from kcheck.scale.world import World


def owner(image: Image, world: World) -> Workload:
    """The workload that runs an image on most nodes."""
    return world.images.uses(image)[0][0]


def pulls(image: Image, world: World) -> Value[int]:
    """Pulls by fresh nodes through one public address."""
    workload = owner(image, world)
    addresses = max(1, number(downloads.egress_addresses(workload, world), 1))
    return mapped(world.images.nodes(image), lambda nodes: nodes * len(downloads.hub_images(workload)) // addresses)


def out_of_pulls_at(image: Image, world: World) -> Value[int]:
    """The node at which anonymous pulls run out."""
    workload = owner(image, world)
    addresses = downloads.egress_addresses(workload, world)
    pulls = world.numbers.limits("any")["docker_hub.pulls"].number
    return mapped(addresses, lambda count: pulls * count // max(1, len(downloads.hub_images(workload))) + 1)


_MANY = "an unknown number of"


def demand(image: Image, world: World) -> Value[str]:
    """What pulls an image, on how many nodes, and when the anonymous pulls run out."""
    who, way, workload = known(user(image, world)), known(egress(image, world)), owner(image, world)
    sum_, budget = pulls(image, world), world.numbers.limits("any")["docker_hub.pulls"].number
    counts = (world.images.nodes(image), sum_, out_of_pulls_at(image, world))
    nodes, total, last = (shown(found) if (found := known(count)) is not None else _MANY for count in counts)
    gone = "" if last == _MANY else f"the budget is gone at node {last}"
    if workload.release:
        return computed(image, f"{who} runs it on {nodes} nodes{f': through {way} {gone}' if gone else ''}")
    told = f"{who} pulls {len(downloads.hub_images(workload)):,} of its images on {nodes} nodes through {way}"
    left = budget - number(sum_, budget)
    if left > 0:
        return computed(
            image, f"{told}: {total} pulls, which leaves {left:,} for retries and for all else that these nodes pull"
        )
    sums = ", ".join(part for part in ("" if total == _MANY else f"{total} pulls", gone) if part)
    return computed(image, f"{told}: {sums}" if sums else told)


def egress(image: Image, world: World) -> Value[str]:
    """The public addresses of a workload's nodes, in words."""
    count = number(downloads.egress_addresses(owner(image, world), world), 1)
    return computed(image, "one public address" if count == 1 else f"{count} public addresses")


def user(image: Image, world: World) -> Value[str]:
    """Kind and name of the workload that runs an image on most nodes."""
    workload = owner(image, world)
    name = workload.name.value if isinstance(workload.name, Known) else "?"
    return computed(image, f"{workload.kind} {name}")


def others(image: Image, world: World) -> list[Image]:
    """The other places of an image in its file."""
    return [use for _, use in world.images.uses(image)[1:]]


def mirrored(image: Image, world: World) -> Value[str]:
    """The image on the mirror of its registry: that of the settings, else a cache in the code with a full name."""
    mirror = world.config.mirrors.get(known(image.registry) or "")
    reference = image_names.parse(known(image.text) or "")
    if mirror is not None and reference is not None:
        return computed(image, f"{mirror}/{reference.rest}")
    found = _cached(image, world)
    return computed(image, found[1] if found is not None and found[0].complete else None)


def cache(image: Image, world: World) -> Value[str]:
    """What the image is called in a cache that the code makes, and which that is; null without one."""
    found = _cached(image, world)
    return computed(image, f"{found[1]} ({found[0].address})" if found is not None else None)


def _cached(image: Image, world: World) -> tuple[Mirror, str] | None:
    """The cache of the image's registry that its cluster is nearest to, and its name there."""
    cluster = world.inventory.cluster_of.get(owner(image, world))
    reference = image_names.parse(known(image.text) or "")
    if cluster is None or reference is None:
        return None
    own = [m for m in world.inventory.mirrors if m.cloud == cluster.cloud and m.registry == reference.registry]
    for mirror in sorted(own, key=lambda one: one.root != cluster.root):
        path = mirror.path.removesuffix("*")
        if mirror.path.endswith("*") or not path:
            if reference.rest.startswith(path):
                return mirror, f"{mirror.prefix}/{reference.rest.removeprefix(path)}"
        elif reference.repository == path:
            return mirror, mirror.prefix + reference.rest.removeprefix(reference.repository)
    return None


def covered(image: Image, world: World) -> Value[bool]:
    """Whether all nodes that pull an image ask a mirror of Docker Hub first, as their pools say."""
    return downloads.mirrored(owner(image, world), world)


def softened(image: Image, world: World) -> Value[bool]:
    """Whether the nodes ask a public cache before Docker Hub, which has the popular images."""
    workload = owner(image, world)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is not None:
        return computed(image, cloud(cluster.cloud).caches_docker_hub)
    return computed(image, any(placement.names(template, _GKE) for template in workload.templates))


_GKE = "google.com"


def official(image: Image, _world: World) -> Value[bool]:
    """Whether it is one of Docker's own images, which every cache of popular ones has."""
    reference = image_names.parse(known(image.text) or "")
    return computed(image, reference is not None and reference.repository.startswith("library/"))


def moving(image: Image, _world: World) -> Value[bool]:
    """Whether the tag of an image moves, or it has none."""
    if image.untagged:
        return Unknown(f"the chart gives the tag of {known(image.text)}")
    return mapped(images.ending(image.text), lambda ending: not ending.digest and tags.moves(ending.tag))


def tag(image: Image, _world: World) -> Value[str]:
    """The tag of an image: latest where none is written."""
    return mapped(images.ending(image.text), lambda ending: ending.tag or tags.LATEST)


def asks_always(image: Image, world: World) -> Value[bool]:
    """Whether each start of a container asks the registry: as its policy says, else by its tag."""
    every = (one for template in owner(image, world).templates for one in template.containers)
    policy = next((one.pull_policy for one in every if one.id == image.id), None)
    if policy is None:
        return Unknown("the chart gives the pull policy")
    if not isinstance(policy, Unset):
        return mapped(policy, lambda text: text == "Always")
    return mapped(tag(image, world), lambda text: text == tags.LATEST)


def bare(image: Image, _world: World) -> Value[bool]:
    """Whether an image has neither a tag nor a digest, and no chart gives it one."""
    reference = image_names.parse(known(image.text) or "")
    if reference is None:
        return Unknown(reason_of(image.registry))
    return computed(image, not (reference.tag or reference.digest or image.untagged))


def retired(image: Image, _world: World) -> Value[bool]:
    """Whether an image is on a former registry of Kubernetes."""
    return mapped(image.text, lambda text: text.startswith((_FORMER, *_FIRST)))


def successor(image: Image, _world: World) -> Value[str]:
    """The image on the registry that replaces a retired one; null where it is not known to be there."""
    text = known(image.text) or ""
    if text.startswith(_FORMER):
        return computed(image, _NOW + text.removeprefix(_FORMER))
    path = next((text.removeprefix(first) for first in _FIRST if text.startswith(first)), "")
    return computed(image, _NOW + path if _OF_KUBERNETES.fullmatch(path) else None)


_NOW = "registry.k8s.io/"
_FORMER = "k8s.gcr.io/"
"""Whose images the new one serves itself, digests included."""
_FIRST = ("gcr.io/google-containers/", "gcr.io/google_containers/")
"""The first registry, of Google: what was there in July 2020 was copied; Google has put more of its own there since."""
_OF_KUBERNETES = re.compile(
    r"(?:pause|etcd|coredns|hyperkube|conformance|busybox|echoserver|nginx-slim|addon-resizer|metrics-server|heapster"
    r"|cluster-autoscaler|cluster-proportional(?:-vertical)?-autoscaler|defaultbackend|exechealthz|fluentd-elasticsearch"
    r"|kube-(?:apiserver|controller-manager|scheduler|proxy|addon-manager|state-metrics|cross)"
    r"|kubernetes-dashboard(?:-init)?|k8s-dns-(?:kube-dns|dnsmasq-nanny|sidecar|node-cache)"
    r"|node-problem-detector|volume-nfs|serve_hostname|test-webserver)"
    r"(?:-(?:amd64|arm|arm64|ppc64le|s390x))?(?::[\w.-]+)?"
)
"""Images of the Kubernetes project, by name or tag: these have come from nowhere else since."""
