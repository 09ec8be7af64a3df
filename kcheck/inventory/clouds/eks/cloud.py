"""EKS: the behaviour of its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds.cloud import Cloud, Label, Limit, Reference
from kcheck.inventory.clouds.eks import nodes as arithmetic
from kcheck.text.values import Known, Origin, Unknown, Unset, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.config.numbers.reserved import Node, Reserved
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Cluster, Cni, Inventory, Mirror, NodePool
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.values import Value


class Eks(Cloud):
    """Amazon Elastic Kubernetes Service."""

    name = "eks"
    reservation = "aws_ec2_capacity_reservation"
    reservation_ids = r"cr-[0-9a-f]+|arn:.+"
    resources = ("aws_eks_",)
    beside = ("aws_vpc", "aws_subnet", "aws_autoscaling_group")
    objects = ("ClusterConfig",)
    provider = "AWS"
    references = (
        Reference("subnet_ids", ("aws_subnet",), many=True),
        Reference("vpc_zone_identifier", ("aws_subnet",), many=True),
        Reference("vpc_id", ("aws_vpc",)),
        Reference("cluster_name", ("aws_eks_cluster",)),
        Reference("id", ("aws_launch_template",)),
    )
    node_class = "EC2NodeClass"
    cache = "aws_ecr_pull_through_cache_rule"
    autoscaler_provider = "aws"
    label_domains = ("amazonaws.com", "karpenter.k8s.aws", "eksctl.io")
    zone_labels = ("topology.ebs.csi.aws.com/zone",)
    pool_labels = ("eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name")
    node_ids = "aws://"
    gpu_labels = (
        "k8s.amazonaws.com/accelerator", "eks.amazonaws.com/instance-gpu-", "karpenter.k8s.aws/instance-gpu-",
        "eks.amazonaws.com/instance-accelerator-", "karpenter.k8s.aws/instance-accelerator-",
    )  # fmt: skip
    spot_label = Label("eks.amazonaws.com/capacityType", "SPOT", "ON_DEMAND")
    admits_asked_resources = True  # since 1.19: https://github.com/aws/containers-roadmap/issues/739
    grows_pools = False
    extended_plan = "EXTENDED"

    def read(self, roots: Sequence[Module], inventory: Inventory) -> None:
        """Read the clusters of root modules."""
        from kcheck.inventory.clouds.eks import reader

        reader.read(roots, inventory)

    def read_objects(self, objects: Iterable[Object], inventory: Inventory) -> None:
        """Read eksctl configurations."""
        from kcheck.inventory.clouds.eks import eksctl

        eksctl.read(objects, inventory)

    def registry_cache(self, root: Module, instance: Instance) -> Mirror | None:
        """Read a pull-through cache rule of ECR."""
        fields = Fields(self.name, self.cache, instance)
        prefix = known(fields.text("prefix")) or "<prefix>"
        parts = ("<account>.dkr.ecr.<region>.amazonaws.com", None if prefix == "ROOT" else prefix)
        return self.mirror(root, instance, known(fields.text("upstream")), "", parts)

    def limits(self, cluster: Cluster, numbers: Mapping[str, ProfileValue]) -> Iterator[Limit]:  # noqa: ARG002
        """Yield the limit of a cluster."""
        yield Limit("cluster-limit", "cluster.nodes", cluster.name, "the most that AWS allows, on request")

    def node_addresses(self, cni: Cni, interfaces: int, addresses: int, pods: int) -> int:
        """Count the addresses a node with the VPC CNI holds."""
        return arithmetic.held(cni, interfaces, addresses, pods)

    def interfaces_held(self, pods: int, addresses: int, warm: int, most: int) -> int:
        """Count the interfaces of network card 0 that a node with the VPC CNI has attached."""
        return arithmetic.interfaces_held(pods, addresses, warm, most)

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Count the EFA interfaces of a node; Karpenter adds them for pods that ask for EFA."""
        written = pool.machine.efa
        if not isinstance(written, Unset):
            return mapped(written, lambda kinds: min(len(kinds), most))
        if equals(pool.mode, "Karpenter"):
            return Known(most, Origin((pool.place,)))
        return Unknown(f"the network interfaces of {pool.display_name} are not read", Origin((pool.place,)))

    def reserved(self, node: Node) -> Reserved:
        """Estimate the CPU and memory that EKS AMIs reserve on a node."""
        return arithmetic.reserved(node)


CLOUD = Eks()
