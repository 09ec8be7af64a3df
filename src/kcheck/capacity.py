"""The arithmetic of scale: addresses, spread of nodes over pools, pulls, deletion. Pure functions of whole numbers."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcheck.model import Surge


class Network(NamedTuple):
    """An IPv4 range as whole numbers: first address and length of the prefix."""

    first: int
    prefix: int

    @property
    def size(self) -> int:
        """How many addresses the range has."""
        return 1 << (32 - self.prefix)

    @property
    def last(self) -> int:
        """The last address of the range."""
        return self.first + self.size - 1

    def __str__(self) -> str:
        return ".".join(str(self.first >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{self.prefix}"

    def overlaps(self, other: Network) -> bool:
        """Whether the two ranges share an address."""
        return self.first <= other.last and other.first <= self.last

    def contains(self, other: Network) -> bool:
        """Whether all of the other range lies in this one."""
        return self.first <= other.first and other.last <= self.last


def parse_cidr(text: str) -> Network | None:
    """An IPv4 range such as 10.0.0.0/16, its host bits cleared; None if the text is not one."""
    address, _, prefix = text.partition("/")
    parts = address.split(".")
    if len(parts) != 4 or not all(part.isdigit() and int(part) < 256 for part in parts):
        return None
    if not prefix.isdigit() or int(prefix) > 32:
        return None
    number = 0
    for part in parts:
        number = number << 8 | int(part)
    bits = 32 - int(prefix)
    return Network(number >> bits << bits, int(prefix))


def usable_addresses(cidr: str, reserved: int) -> int | None:
    """Addresses of a subnet that nodes and pods can have: all but those the cloud keeps.

    Azure keeps 5 of every subnet (https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay):
    a /24 has 256 - 5 = 251.
    """
    network = parse_cidr(cidr)
    return None if network is None else max(0, network.size - reserved)


def surge_nodes(surge: Surge, nodes: int) -> int:
    """How many nodes an upgrade adds to a pool of that many: a number or a percentage, rounded up, within bounds.

    A pool without nodes has none to replace.

    https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling,
    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    """
    if not nodes:
        return 0
    wanted = max(surge.least, surge.nodes, ceil(nodes * surge.percent / 100))
    return wanted if surge.most is None else min(wanted, surge.most)


class Demand(NamedTuple):
    """What one pool takes from a range: `per_node` addresses for each of its nodes and surge nodes.

    A pool in several subnets, one a zone, is spread evenly over them: `subnets` is their number. `by_default` says that
    nobody wrote its size.
    """

    pool: str
    nodes: int
    surge: Surge
    per_node: int
    subnets: int = 1
    by_default: bool = False

    def addresses(self, nodes: int) -> int:
        """Addresses needed when the pool has that many nodes: (nodes + surge) / subnets x per_node.

        https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning: 50 nodes and one for surge
        with 30 pods each need 51 x 31 = 1,581.
        """
        return ceil((nodes + surge_nodes(self.surge, nodes)) / self.subnets) * self.per_node


def addresses_needed(demands: list[Demand]) -> int:
    """Addresses that all pools of a subnet need at their sizes, surge included."""
    return sum(demand.addresses(demand.nodes) for demand in demands)


def full_at(demands: list[Demand], usable: int) -> int:
    """The number of nodes at which the subnet is full, when its pools grow in proportion to their sizes."""
    total = sum(demand.nodes for demand in demands)

    def share(nodes: int) -> list[int]:
        return [nodes * demand.nodes // total for demand in demands]

    def fits(nodes: int) -> bool:
        return sum(d.addresses(n) for d, n in zip(demands, share(nodes), strict=True)) <= usable

    low, high = 0, total
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return sum(share(low)) if total else 0


def sufficient_prefix(addresses: int, reserved: int) -> int:
    """The longest prefix whose range has that many usable addresses."""
    return 32 - (addresses + reserved - 1).bit_length()


def free_block(networks: list[str], taken: list[str], prefix: int) -> str | None:
    """The first block of that size inside one of the networks that overlaps nothing taken; None if there is none."""
    used = [network for network in map(parse_cidr, taken) if network is not None]
    if len(used) < len(taken):
        return None
    for outer in filter(None, map(parse_cidr, networks)):
        step = 1 << (32 - prefix)
        candidate = Network(outer.first, prefix)
        while outer.prefix <= prefix and outer.contains(candidate):
            clash = next((network for network in used if network.overlaps(candidate)), None)
            if clash is None:
                return str(candidate)
            first = max(candidate.first + step, -(-(clash.last + 1) // step) * step)
            candidate = Network(first, prefix)
    return None


def spread(maxima: list[int], growable: list[bool], target: int) -> list[int]:
    """Nodes of each pool when the cluster reaches `target`.

    Above the sum of the maxima, growable pools share the excess in proportion to their maxima (all pools, if
    none can grow); below it, growable pools shrink in proportion and fixed ones keep their size.
    """
    total = sum(maxima)
    if target == total or not maxima:
        return list(maxima)
    flags = growable if any(growable) else [True] * len(maxima)
    fixed = sum(size for size, grows in zip(maxima, flags, strict=True) if not grows)
    weights = [size if grows else 0 for size, grows in zip(maxima, flags, strict=True)]
    if not sum(weights):
        weights = [int(grows) for grows in flags]
    shares = _proportional(weights, max(0, target - fixed))
    return [share if grows else size for size, grows, share in zip(maxima, flags, shares, strict=True)]


def _proportional(weights: list[int], amount: int) -> list[int]:
    """Whole shares of an amount, the largest remainders rounded up."""
    whole = sum(weights)
    shares = [amount * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(amount * weights[i] % whole), i))
    for i in order[: amount - sum(shares)]:
        shares[i] += 1
    return shares


def deletion_time(nodes: int, batch: int, scan_interval: int, client_qps: int) -> int:
    """Seconds the cluster autoscaler needs at least to delete that many empty nodes.

    It deletes `batch` nodes a loop; a loop takes the scan interval, and one API request a node for the taint,
    `client_qps` a second. So the rate is batch / (scan_interval + batch / client_qps) nodes a second, an upper
    bound: core/static_autoscaler.go and core/scaledown/actuation/actuator.go of kubernetes/autoscaler. What
    the cloud takes to delete comes on top.
    """
    return ceil(nodes * (scan_interval * client_qps + batch) / (batch * client_qps))


def batch_for(nodes: int, seconds: int, scan_interval: int, client_qps: int) -> int | None:
    """The smallest round batch with which `deletion_time` stays within `seconds`; None if none does.

    Round means 1, 2 or 5 times a power of ten, as people write it.
    """
    magnitude = 10
    while magnitude <= max(10, nodes):
        for step in (1, 2, 5):
            batch = magnitude * step
            if deletion_time(nodes, batch, scan_interval, client_qps) <= seconds:
                return batch
        magnitude *= 10
    return None


def widened(network: Network, addresses: int, others: list[str]) -> str | None:
    """The smallest range around `network` with so many addresses; None if it overlaps one of the others."""
    prefix = network.prefix
    while prefix > 8 and 1 << (32 - prefix) < addresses:
        prefix -= 1
    bits = 32 - prefix
    wide = Network(network.first >> bits << bits, prefix)
    taken = [parse_cidr(other) for other in others]
    if any(other is None or other.overlaps(wide) for other in taken) or wide.size < addresses:
        return None
    return str(wide)


def pod_block(max_pods: int) -> int:
    """The prefix of the block that GKE gives a node: the smallest with twice as many addresses as pods, at least /28.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 110 pods take a /24.
    """
    return min(28, 32 - (2 * max_pods - 1).bit_length())


def interface_addresses(interfaces: int, addresses: int, pods: int, warm: int) -> int:
    """Addresses of its subnet that an EKS node holds: whole interfaces, `warm` of them in reserve.

    `interfaces` is how many the instance can have, `addresses` how many each has, its own included:
    (ceil(pods / (addresses - 1)) + warm) x addresses, at most all.
    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
    """
    return min(ceil(pods / (addresses - 1)) + warm, interfaces) * addresses


def warm_addresses(interfaces: int, addresses: int, pods: int, warm: int, minimum: int) -> int:
    """Addresses that an EKS node holds with WARM_IP_TARGET or MINIMUM_IP_TARGET.

    max(minimum, pods + warm) for pods, and one for each interface they need.
    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md
    """
    secondary = min(max(minimum, pods + warm), interfaces * (addresses - 1))
    return secondary + max(1, ceil(secondary / (addresses - 1)))


def prefix_addresses(pods: int, warm: int, size: int) -> int:
    """Addresses that an EKS node holds with prefix delegation: its own, and blocks of `size`, `warm` in reserve.

    https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/prefix-and-ip-target.md
    """
    return 1 + size * (ceil(pods / size) + warm)
