"""Words of the volumes of pods, and where containers have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.source.values import Unknown, Value, known, mapped
from kcheck.words.derive.basics import anyone, computed

if TYPE_CHECKING:
    from kcheck.model import PodTemplate, Volume
    from kcheck.scale.world import World

_MEMORY = "/dev/shm"  # noqa: S108 - a path that pods mount
_NAME = "dshm"
_BARE = re.compile(r"(?:^|/)nvidia/cuda:[^@]*-base(?:-|@|$)")
"""What people call the volume that is mounted there."""


def names(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes of pods."""
    return mapped(template.volumes, lambda found: tuple(volume.name for volume in found))


def on_disk(template: PodTemplate, _world: World) -> Value[int]:
    """Volumes on the disk of the node: emptyDir that is not in memory, and hostPath."""
    return mapped(template.volumes, lambda found: sum(map(_is_on_disk, found)))


def _is_on_disk(one: Volume) -> bool:
    return one.kind in ("emptyDir", "hostPath") and not one.memory


def disk_names(template: PodTemplate, _world: World) -> Value[str]:
    """The names of these volumes, as an annotation lists them."""
    return mapped(template.volumes, lambda found: ",".join(one.name for one in found if _is_on_disk(one)))


def shared_memory(template: PodTemplate, _world: World) -> Value[bool]:
    """Whether more than the default 64 MiB of shared memory are mounted."""
    mounts = [
        mapped(one.mounts, lambda paths: _MEMORY in {p.rstrip("/") for p in paths}) for one in template.containers
    ]
    return anyone(template, [template.host_ipc, *mounts])


def bare_cuda(template: PodTemplate, _world: World) -> Value[bool]:
    """Whether all containers with GPUs have an image of CUDA's runtime alone, which has no NCCL and no framework."""
    images = [one.image for one in template.containers if known(one.gpu)]
    return computed(template, bool(images) and all(_BARE.search(known(image) or "") for image in images))


def for_memory(template: PodTemplate, _world: World) -> Value[str]:
    """The volume in memory that can be mounted at /dev/shm: one that is called so, else a new one.

    Null where the name of the new one is taken.
    """
    if isinstance(template.volumes, Unknown):
        return template.volumes
    volumes = known(template.volumes) or ()
    unused = next((one.name for one in volumes if one.memory and "shm" in one.name), _NAME)
    taken = any(one.name == unused and not one.memory for one in volumes)
    return computed(template, None if taken else unused)
