"""The images of workloads, and how many nodes pull them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.source.values import Known, Value, known, number

if TYPE_CHECKING:
    from kcheck.model import Image, Inventory, Workload
    from kcheck.scale.sizes import Sizes

    Uses = list[tuple[Workload, Image]]


class Images:
    """The images of workloads, and how many nodes pull them."""

    def __init__(self, inventory: Inventory, sizes: Sizes) -> None:
        self._inventory = inventory
        self._sizes = sizes

    @cached_property
    def every(self) -> list[Uses]:
        """Every image of a cluster once, or of a file whose cluster is not known, with all its uses.

        The first is that on most nodes, those that sign in last.
        """
        found: dict[str, Uses] = defaultdict(list)
        for workload in self._inventory.workloads:
            cluster = self._inventory.cluster_of.get(workload)
            for image in workload.images:
                text = image.text.value if isinstance(image.text, Known) else image.id
                scope = cluster.id if cluster else image.place.source.path
                found[f"{scope}:{text}"].append((workload, image))
        for uses in found.values():
            uses.sort(key=lambda use: (bool(known(use[0].pull_secrets)), -number(self._sizes.of_workload(use[0]), 0)))
        return list(found.values())

    def uses(self, image: Image) -> Uses:
        """The workloads of the image's cluster, or file, that run it."""
        return self._uses[image]

    def nodes(self, image: Image) -> Value[int]:
        """Nodes that pull the image."""
        return self._sizes.of_workload(self.uses(image)[0][0])

    @cached_property
    def _uses(self) -> dict[Image, Uses]:
        return {image: uses for uses in self.every for _, image in uses}
