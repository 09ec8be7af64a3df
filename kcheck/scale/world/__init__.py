"""Inventory with everything computed from it: relations, sizes, numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property

from msgspec.structs import replace

from kcheck.config.config import Config
from kcheck.model import Candidates, Cluster, Input, Inventory, Thing
from kcheck.scale.world.memory import Memory, once
from kcheck.scale.world.numbers import Numbers
from kcheck.scale.world.pools import Pools
from kcheck.scale.world.relations import Autoscaling, Deployments
from kcheck.scale.world.sizes import Images, Sizes


class World(Memory):
    """Inventory with everything computed from it, by subject.

    `estimates` are simulated savings by word and autoscaler; at a first look, those of an earlier run stand in.
    """

    is_first_look = False

    def __init__(self, inventory: Inventory, config: Config, inputs: Iterable[Input] = ()) -> None:
        super().__init__()
        self.inventory = inventory
        self.config = config
        self.inputs = list(inputs)
        self.estimates: dict[tuple[str, str], object] = {}
        self.deployed = Deployments(inventory)
        self.autoscaling = Autoscaling(inventory)
        self.numbers = Numbers(config)
        self._fill_pools()
        self.images = Images(inventory, self.sizes, self.numbers)

    def _fill_pools(self) -> None:
        self.pools = Pools(self.inventory, self.deployed, self.autoscaling)
        self.sizes = Sizes(self.inventory, self.config, self.pools, self.autoscaling, self.numbers)

    @once
    def assuming(self, cluster: Cluster) -> World:
        """Copy this world as if all candidates of a cluster were on it."""
        homes = {thing: cluster for found, own in self._unplaced if cluster in found.clusters for thing in own}
        world = copy.copy(self)
        Memory.__init__(world)
        world.inventory = replace(self.inventory, cluster_of=self.inventory.cluster_of | homes)
        world._fill_pools()
        world.estimates = {}
        world.images = Images(self.inventory, world.sizes, self.numbers)
        return world

    @cached_property
    def _unplaced(self) -> list[tuple[Candidates, list[Thing]]]:
        """Objects that may be on several clusters, by their candidate clusters."""
        groups: dict[int, tuple[Candidates, list[Thing]]] = {}
        for thing, found in self.inventory.candidates_of.items():
            groups.setdefault(id(found), (found, []))[1].append(thing)
        return list(groups.values())

    @cached_property
    def root_modules(self) -> dict[str, Inventory]:
        """Clusters and networks created by each root module."""
        kinds = ("clusters", "networks", "subnets", "ranges", "reserved")
        return self.inventory.divided(kinds, lambda thing: thing.root)
