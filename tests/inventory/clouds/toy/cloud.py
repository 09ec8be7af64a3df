"""Define the toy cloud: its resources, labels and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.inventory.clouds.cloud import Cloud, Limit, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.model import Cluster


class Toy(Cloud):
    """A minimal cloud: a cluster has one pod range, and its pools can scale from zero."""

    name = "toy"
    resources = ("toy_",)
    references = (Reference("cluster_id", ("toy_cluster",)),)
    spot_labels = ("toy.example.com/spot",)
    label_domains = ("toy.example.com",)
    generator = "tests.inventory.clouds.toy.generator"

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:
        yield Limit("cluster-limit", "cluster.nodes", cluster.name, numbers["cluster.nodes"].note)


CLOUD = Toy()
