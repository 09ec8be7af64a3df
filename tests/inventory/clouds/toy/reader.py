"""Read toy resources as clusters and node pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.reader import Reader, gpu_of, read_all, resolve_reference, unresolved_reference
from kcheck.model import Cluster, NodePool, PodRange, Surge
from kcheck.model.pools import Addresses, Machine, Scheduling, Size, Upgrade
from kcheck.text.values import Known, Origin, Unset, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.config.numbers.fields import Fields
    from kcheck.model import Inventory
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.values import Value

CLOUD = "toy"
CLUSTER = "toy_cluster"
POOL = "toy_pool"


def read(roots: Iterable[Module], inventory: Inventory) -> None:
    """Add the toy clusters of root modules to the inventory."""
    read_all([_Toy(root) for root in roots], inventory)


class _Toy(Reader):
    """A reader of one root module of the toy cloud, which has no networks."""

    def __init__(self, root: Module) -> None:
        super().__init__(CLOUD, root, (POOL,))

    def networks(self) -> None:
        return

    def subnets(self) -> None:
        return

    def clusters(self) -> None:
        for instance in self.root.instances(CLUSTER):
            fields = self.fields(CLUSTER, instance)
            cluster = Cluster(
                self.identity(instance.address), instance.span, CLOUD, instance.address, self.folder, self.gap,
                name=fields.text("name"), environment=self.root.environment, version=fields.text("version"),
                service_cidr=fields.text("service_cidr"),
            )  # fmt: skip
            self.found.clusters.append(cluster)
            self.ranges[cluster.id] = PodRange(
                f"{cluster.id}/pods", instance.span, CLOUD, instance.address, self.folder, self.gap, name=cluster.name,
                cidr=fields.text("pod_cidr"), block=fields.number("node_mask"),
            )  # fmt: skip
            self.found.ranges.append(self.ranges[cluster.id])

    def pools(self) -> None:
        for instance in self.pool_instances[POOL]:
            fields = self.fields(POOL, instance)
            owner = resolve_reference(fields.raw("cluster"), self.by_reference(Cluster, CLUSTER))
            cluster = owner if owner is not None else unresolved_reference(fields.text("cluster"), "cluster")
            self.found.pools.append(self._pool(instance, fields, cluster))

    def _pool(self, instance: Instance, fields: Fields, cluster: Value[Cluster]) -> NodePool:
        place = Origin((instance.span,))
        found = known(cluster)
        types, number = mapped(fields.text("machine"), lambda name: (name,)), fields.number("size")
        is_system = equals(fields.text("name"), "system")
        return NodePool(
            self.identity(instance.address), instance.span, instance.address, cluster, fields.text("name"), self.folder,
            size=Size(Known(not is_system, place), number if is_system else Known(0, place), number),
            upgrade=Upgrade(Known(Surge(), place)),
            machine=Machine(instance_types=types, gpu=gpu_of(self.cloud, types)),
            addresses=Addresses(
                subnets=Unset(place),
                pods_take_addresses=Known(value=False, origin=place),
                pod_range=Known(self.ranges[found.id], place) if found else Unset(place),
            ),
            scheduling=fields.record_of(Scheduling),
        )  # fmt: skip
