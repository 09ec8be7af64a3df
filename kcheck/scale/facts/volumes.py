"""Words of the volumes of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.text.values import mapped

if TYPE_CHECKING:
    from kcheck.model import PodTemplate, Volume
    from kcheck.scale.world import World
    from kcheck.text.values import Value


def names(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes of pods."""
    return mapped(template.volumes, lambda found: tuple(volume.name for volume in found))


def on_disk(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes on the disk of the node: emptyDir that is not in memory, and hostPath."""
    return mapped(template.volumes, lambda found: tuple(one.name for one in found if _is_on_disk(one)))


def in_memory(template: PodTemplate, _world: World) -> Value[tuple[str, ...]]:
    """The names of the volumes in memory."""
    return mapped(template.volumes, lambda found: tuple(one.name for one in found if one.memory))


def _is_on_disk(one: Volume) -> bool:
    return one.kind in ("emptyDir", "hostPath") and not one.memory
