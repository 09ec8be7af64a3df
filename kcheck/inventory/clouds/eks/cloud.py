"""EKS: the behaviour of its clusters."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.fields import Fields
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, taken
from kcheck.inventory.clouds.cloud import Cloud, Label, Limit, Reference
from kcheck.text.amount import Amount, exactly
from kcheck.text.files.configurations import CLOUDFORMATION
from kcheck.text.values import Known, Origin, Unknown, Unset, Value, equals, known, mapped, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.kubernetes.objects import Object
    from kcheck.model import Cluster, Cni, Inventory, Mirror, NodePool
    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance


class Eks(Cloud):
    """Amazon Elastic Kubernetes Service."""

    name = "eks"
    reservation = "aws_ec2_capacity_reservation"
    reservation_ids = r"cr-[0-9a-f]+|arn:.+"
    resources = ("aws_eks_", "eksctl_cluster")
    beside = ("aws_vpc", "aws_subnet", "aws_autoscaling_group", "awscc_sagemaker_cluster")
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
    blueprints = (CLOUDFORMATION, "cloudformation")

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
        minimum, warm_ips = known(cni.minimum_ips), known(cni.warm_ips)
        if known(cni.prefix_delegation):
            size = profiles.limits(self.name)["cni.prefix_size"].number
            if warm_ips is None and minimum is None:
                return prefix_addresses(pods, number(cni.warm_prefixes, 0), size)
            return prefix_addresses(max(minimum or 0, pods + (warm_ips or 0)), 0, size)
        if warm_ips is None and minimum is None:
            return interface_addresses(interfaces, addresses, pods, number(cni.warm_interfaces, 0))
        return warm_addresses(interfaces, addresses, pods, warm_ips or 0, minimum or 0)

    def interfaces_held(self, pods: int, addresses: int, warm: int, most: int) -> int:
        """Count the attached interfaces of network card 0, `warm` of them spare.

        https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
        """
        return min(ceil(pods / (addresses - 1)) + warm, most)

    def fabric_interfaces(self, pool: NodePool, most: int) -> Value[int]:
        """Count the EFA interfaces of a node; Karpenter adds them on request."""
        written = pool.machine.efa
        if not isinstance(written, Unset):
            return mapped(written, lambda kinds: min(len(kinds), most))
        if equals(pool.mode, "Karpenter"):
            return Known(most, Origin((pool.place,)))
        return Unknown(f"the network interfaces of {pool.display_name} are not read", Origin((pool.place,)))

    def reserved(self, node: Node) -> Reserved:
        """Estimate reserved resources by vCPUs, and by possible pods."""
        from kcheck.config.numbers import machines  # the tables of all types

        limits = profiles.limits(self.name)
        cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
        interfaces = machines.interfaces(self.name, node.machine)
        counts = [max_pods(*interfaces)] if interfaces else []
        counts += [node.pods] if node.pods is not None else []
        base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
        most = (base + each * max(counts)) * MI if counts else None
        return Reserved(exactly(cpu), Amount((base + each * min(counts, default=0)) * MI, most), eviction())


def interface_addresses(interfaces: int, addresses: int, pods: int, warm: int) -> int:
    """Count the addresses a node holds in whole interfaces, `warm` spare.

    `interfaces` is how many the instance can have, `addresses` how many each has, its own included:
    (ceil(pods / (addresses - 1)) + warm) x addresses, at most all.
    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
    """
    return min(ceil(pods / (addresses - 1)) + warm, interfaces) * addresses


def warm_addresses(interfaces: int, addresses: int, pods: int, warm: int, minimum: int) -> int:
    """Count the addresses an EKS node holds with WARM_IP_TARGET or MINIMUM_IP_TARGET.

    max(minimum, pods + warm) for pods, and one for each interface they need.
    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
    """
    secondary = min(max(minimum, pods + warm), interfaces * (addresses - 1))
    return secondary + max(1, ceil(secondary / (addresses - 1)))


def prefix_addresses(pods: int, warm: int, size: int) -> int:
    """Count the addresses a node holds with prefix delegation, `warm` spare.

    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/prefix-and-ip-target.md
    """
    return 1 + size * (ceil(pods / size) + warm)


def max_pods(interfaces: int, addresses: int, *, custom: bool = False, each: int = 1) -> int:
    """Return maximum pods with the VPC CNI: interfaces x (addresses - 1) + 2.

    With custom networking the first interface serves no pods; with prefix delegation every address stands for `each`.
    `interfaces` are those of network card 0.
    https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go
    """
    return (interfaces - int(custom)) * (addresses - 1) * each + 2


def managed_pods(formula: int, vcpus: int, small: int, large: int, many: int) -> int:
    """Return maximum pods in a managed group: `small`, or `large` from `many` vCPUs.

    https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html: 110 below 30 vCPUs, 250
    from there on.
    """
    return min(formula, small if vcpus < many else large)


CLOUD = Eks()
