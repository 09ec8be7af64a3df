"""Arithmetic of EKS nodes: addresses and interfaces of the VPC CNI, and reserved resources."""

from __future__ import annotations

from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from kcheck.config.numbers import profiles
from kcheck.config.numbers.reserved import MI, Node, Reserved, eviction, exactly, taken
from kcheck.text.interval import Interval
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.values import known, number

if TYPE_CHECKING:
    from ipaddress import IPv4Network

    from kcheck.model import Cni


def interface_addresses(interfaces: int, addresses: int, pods: int, warm: int) -> int:
    """Count the subnet addresses an EKS node holds: whole interfaces, `warm` of them spare.

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
    """Count the addresses an EKS node holds with prefix delegation: its own, and blocks, `warm` of them spare.

    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/prefix-and-ip-target.md
    """
    return 1 + size * (ceil(pods / size) + warm)


def max_pods(interfaces: int, addresses: int, *, custom: bool = False, each: int = 1) -> int:
    """Return maximum pods with the VPC CNI: interfaces x (addresses - 1) + 2 on the host network.

    With custom networking the first interface serves no pods; with prefix delegation every address stands for `each`.
    `interfaces` are those of network card 0.
    https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/eni_max_pods.go
    """
    return (interfaces - int(custom)) * (addresses - 1) * each + 2


def managed_pods(formula: int, vcpus: int, small: int, large: int, many: int) -> int:
    """Return maximum pods in a managed group: at most `small`, or `large` from `many` vCPUs on.

    https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html: 110 below 30 vCPUs, 250
    from there on.
    """
    return min(formula, small if vcpus < many else large)


def interfaces_held(pods: int, addresses: int, warm: int, most: int) -> int:
    """Count the attached interfaces of network card 0 for a number of pods, `warm` of them spare.

    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
    """
    return min(ceil(pods / (addresses - 1)) + warm, most)


def eksctl_blocks(cidr: str, zones: int) -> list[IPv4Network]:
    """List the subnets eksctl makes: public ones by zone, then private ones; none if it refuses.

    The blocks are equal: two for each of `eksctl.few_zones`, or of `eksctl.most_zones` if there are more zones.
    """
    network, settings = parse_cidr(cidr), profiles.settings("eks")
    few, most = settings["eksctl.few_zones"].number, settings["eksctl.most_zones"].number
    bits = (2 * (few if zones <= few else most) - 1).bit_length()
    if network is None or not 0 < zones <= most or network.prefixlen + bits > 32:
        return []
    return list(islice(network.subnets(bits), 2 * zones))


def held(cni: Cni, interfaces: int, addresses: int, pods: int = 1) -> int:
    """Count the addresses a node of an instance type holds for a number of pods."""
    minimum, warm_ips = known(cni.minimum_ips), known(cni.warm_ips)
    if known(cni.prefix_delegation):
        size = profiles.limits("eks")["cni.prefix_size"].number
        if warm_ips is None and minimum is None:
            return prefix_addresses(pods, number(cni.warm_prefixes, 0), size)
        return prefix_addresses(max(minimum or 0, pods + (warm_ips or 0)), 0, size)
    if warm_ips is None and minimum is None:
        return interface_addresses(interfaces, addresses, pods, number(cni.warm_interfaces, 0))
    return warm_addresses(interfaces, addresses, pods, warm_ips or 0, minimum or 0)


def reserved(node: Node) -> Reserved:
    """Estimate reserved resources by vCPUs, and by the pods that its interfaces or settings allow."""
    from kcheck.config.numbers import machines  # the tables of all types

    limits = profiles.limits("eks")
    cpu = taken(limits["reserved.cpu"].text, node.cpu, 1000)
    interfaces = machines.interfaces("eks", node.machine)
    counts = [max_pods(*interfaces)] if interfaces else []
    counts += [node.pods] if node.pods is not None else []
    base, each = limits["reserved.memory"].number, limits["reserved.memory_of_pod"].number
    most = (base + each * max(counts)) * MI if counts else None
    return Reserved(exactly(cpu), Interval((base + each * min(counts, default=0)) * MI, most), eviction())
