"""The inventory with what follows from it, by subject: who belongs to whom, sizes, numbers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kcheck.scale.autoscaling import Autoscaling
from kcheck.scale.caps import Caps
from kcheck.scale.deployments import Deployments
from kcheck.scale.images import Images
from kcheck.scale.memory import Memory
from kcheck.scale.numbers import Numbers
from kcheck.scale.pools import Pools
from kcheck.scale.sizes import Sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config.config import Config
    from kcheck.model import Input, Inventory


class World(Memory):
    """The inventory with what follows from it, by subject."""

    def __init__(self, inventory: Inventory, config: Config, inputs: Iterable[Input] = ()) -> None:
        super().__init__()
        self.inventory = inventory
        self.config = config
        self.inputs = list(inputs)
        self.deployed = Deployments(inventory)
        self.autoscaling = Autoscaling(inventory)
        self.pools = Pools(inventory, self.deployed, self.autoscaling)
        self.numbers = Numbers(config)
        self.caps = Caps(self.pools, self.autoscaling, self.numbers)
        self.sizes = Sizes(inventory, config, self.pools, self.autoscaling, self.caps)
        self.images = Images(inventory, self.sizes)

    def root_module(self, root: str) -> Inventory:
        """The clusters and networks that a root module makes."""
        return self._root_modules[root]

    @cached_property
    def _root_modules(self) -> dict[str, Inventory]:
        kinds = ("clusters", "networks", "subnets", "ranges", "reserved")
        return self.inventory.divided(kinds, lambda thing: thing.root)
