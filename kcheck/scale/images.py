"""Images: their tags, pulls from a registry, and copies elsewhere."""

from kcheck.config.numbers import names, tags
from kcheck.inventory.clouds import registry
from kcheck.model import Container, Image, Workload, image_names
from kcheck.model.image_names import Ending
from kcheck.scale import placement
from kcheck.scale.walls import egress
from kcheck.scale.word_helpers import computed, parsed
from kcheck.scale.world import World
from kcheck.text import placeholders
from kcheck.text.amount import Amount
from kcheck.text.need import need
from kcheck.text.regex import regex
from kcheck.text.values import Known, Unknown, Value, known, mapped, number


def ending(image: Value[str]) -> Value[Ending]:
    """Parse the tag and digest of an image."""
    if not isinstance(image, Known):
        return parsed(image, image_names.ending, "no image")
    found = image_names.ending(image.value)
    if found is not None:
        return Known(found, image.origin)
    text = placeholders.first(image.value) or image.value
    return Unknown(placeholders.reason(text), image.origin)


def owner(image: Image, world: World) -> Workload:
    """Find the workload that runs an image on most nodes."""
    return world.images.uses(image)[0][0]


def container(image: Image, world: World) -> Container:
    """Find the container that runs an image."""
    every = (one for template in owner(image, world).templates for one in template.containers)
    return need(next((one for one in every if one.id == image.id), Unknown("the chart gives the pull policy")))


def nodes(image: Image, world: World) -> Value[int] | Amount:
    """Count the nodes of the largest workload that runs an image."""
    found = world.images.nodes(image)
    least = max(number(world.sizes.of_workload(workload), 0) for workload, _ in world.images.uses(image))
    if isinstance(found, Unknown) and least:
        return Amount(least, None, found, found.origin)
    return found


def pulls(image: Image, world: World) -> Value[int] | Amount:
    """Count the Docker Hub pulls of fresh nodes through one address."""
    need(image.registry)
    workload, nodes = owner(image, world), world.images.nodes(image)
    addresses = max(1, number(egress.egress_addresses(workload, world), 1))
    found = egress.pulls_of(workload, world)
    if isinstance(nodes, Unknown):
        return Amount(max(1, egress.pulled(found, lambda _: 1)), None, nodes, nodes.origin)
    return mapped(nodes, lambda many: egress.pulled(found, lambda _: many) // addresses)


def replacement(image: Image, world: World) -> Value[str]:
    """Return the image's name on a mirror, cache or successor; else null."""
    if (known(image.text) or "").startswith((_FORMER, *_FIRST)):  # a mirror of what is frozen is frozen too
        return _successor(image)
    mirror = world.config.mirrors.get(known(image.registry) or "")
    reference = image_names.parse(known(image.text) or "")
    if mirror is not None and reference is not None:
        return computed(image, f"{mirror}/{reference.rest}")
    return computed(image, _cached(image, world))


def _cached(image: Image, world: World) -> str | None:
    """Return the image's name in a cache of its registry."""
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


def public_cache(image: Image, world: World) -> bool:
    """Whether nodes use a public cache of popular images before Docker Hub."""
    workload = owner(image, world)
    cluster = world.inventory.cluster_of.get(workload)
    if cluster is not None:
        return registry.cloud(cluster.cloud).caches_docker_hub
    domains = tuple(domain for one in registry.every() if one.caches_docker_hub for domain in one.label_domains)
    return any(placement.names(template, domains) for template in workload.templates)


def moving(image: Image, _world: World) -> Value[bool]:
    """Whether an image's tag moves to new builds; false with a digest."""
    return mapped(_ending(image), lambda own: not own.digest and tags.moves(own.tag))


def tag(image: Image, _world: World) -> Value[str]:
    """Return the tag of an image; null if not written."""
    found = _ending(image)
    return computed(image, found.value.tag or None) if isinstance(found, Known) else found


def _ending(image: Image) -> Value[Ending]:
    return Unknown(f"the chart gives the tag of {known(image.text)}") if image.untagged else ending(image.text)


def _successor(image: Image) -> Value[str]:
    """Return the image's name on a retired registry's successor, or null."""
    text, found = need(image.text), need(ending(image.text))
    if not image.untagged and found == Ending("", ""):
        return computed(image, None)  # images are there by their versions
    if text.startswith(_FORMER):
        return computed(image, _NOW + text.removeprefix(_FORMER))
    path = next((text.removeprefix(first) for first in _FIRST if text.startswith(first)), "")
    return computed(image, _NOW + path if _BUILD.sub("", path) in names.listed("project_images") else None)


_NOW = "registry.k8s.io/"
_FORMER = "k8s.gcr.io/"
"""Retired registry whose images, digests included, the new one serves itself."""

_FIRST = ("gcr.io/google-containers/", "gcr.io/google_containers/")
"""Google's first registry: its images of July 2020 were copied, others came later."""

_BUILD = regex(r"(?:-(?:amd64|arm|arm64|ppc64le|s390x))?(?::[\w.-]+)?\Z")
"""The end of an image's path that is not its name."""
