"""The images of workloads, and how many nodes pull them."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.text.values import Known, Value, known, number

if TYPE_CHECKING:
    from kcheck.model import Image, Inventory, Workload
    from kcheck.scale.world.numbers import Numbers
    from kcheck.scale.world.sizes import Sizes

    Uses = list[tuple[Workload, Image]]


class Images:
    """The images of workloads, and how many nodes pull them."""

    def __init__(self, inventory: Inventory, sizes: Sizes, numbers: Numbers) -> None:
        self._inventory = inventory
        self._sizes = sizes
        self._numbers = numbers

    @cached_property
    def every(self) -> list[Uses]:
        """Each image of a cluster, or of a file without a known cluster, with its uses.

        The first is that on most nodes, those that sign in last. One on an unknown number of nodes comes behind those
        on that many that it matters, and before all others.
        """
        matters = self._numbers.limits("any")["docker_hub.stalled_at"].number

        def order(use: tuple[Workload, Image]) -> tuple[bool, int, bool]:
            workload, nodes = use[0], self._sizes.of_workload(use[0])
            return bool(known(workload.pull_secrets)), -number(nodes, matters), isinstance(nodes, Known)

        found: dict[str, Uses] = defaultdict(list)
        for workload in self._inventory.workloads:
            cluster = self._inventory.cluster_of.get(workload)
            for image in workload.images:
                text = image.text.value if isinstance(image.text, Known) else image.id
                scope = cluster.id if cluster else image.place.source.path
                found[f"{scope}:{text}"].append((workload, image))
        for uses in found.values():
            uses.sort(key=order)
        return list(found.values())

    def uses(self, image: Image) -> Uses:
        """The workloads of the image's cluster, or file, that run it."""
        return self._uses[image]

    def nodes(self, image: Image) -> Value[int]:
        """Nodes that pull the image."""
        return self._sizes.of_workload(self.uses(image)[0][0])

    def least_nodes(self, image: Image) -> int:
        """The most nodes that one of its workloads is known to be on."""
        return max(number(self._sizes.of_workload(workload), 0) for workload, _ in self.uses(image))

    @cached_property
    def _uses(self) -> dict[Image, Uses]:
        return {image: uses for uses in self.every for _, image in uses}
