"""IPv4 ranges: their size, room in a network, wider ranges."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Network

_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
"""What nobody has on the internet: RFC 1918, and RFC 6598 for those between."""


@cache
def parse_cidr(text: str) -> IPv4Network | None:
    """An IPv4 range such as 10.0.0.0/16, its host bits cleared; None if the text is not one."""
    from ipaddress import IPv4Network  # runs without ranges do not pay for it

    if not text.partition("/")[2].isdecimal():  # a mask, or a single address
        return None
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def is_ipv6(text: str) -> bool:
    """Tell whether a text is an IPv6 range."""
    from ipaddress import IPv6Network

    try:
        return bool(IPv6Network(text, strict=False))
    except ValueError:
        return False


def is_private(cidr: str) -> bool:
    """Whether nobody has a range on the internet."""
    network = parse_cidr(cidr)
    return network is not None and any(network.subnet_of(one) for one in map(parse_cidr, _PRIVATE) if one is not None)


def usable_addresses(cidr: str, reserved: int) -> int | None:
    """Usable addresses of a subnet: all except those reserved by the cloud.

    Azure keeps 5 of every subnet (https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay):
    a /24 has 256 - 5 = 251.
    """
    network = parse_cidr(cidr)
    return None if network is None else max(0, network.num_addresses - reserved)


def sufficient_prefix(addresses: int, reserved: int) -> int:
    """Longest prefix with that many usable addresses."""
    return 32 - (addresses + reserved - 1).bit_length()


def free_block(networks: list[str], taken: list[str], prefix: int) -> str | None:
    """First free block of that size inside one of the networks; None if there is none."""
    from ipaddress import IPv4Network

    used = [network for network in map(parse_cidr, taken) if network is not None]
    if len(used) < len(taken):
        return None
    for outer in filter(None, map(parse_cidr, networks)):
        first = int(outer[0])
        while outer.prefixlen <= prefix and first <= int(outer[-1]):
            candidate = IPv4Network((first, prefix))
            clash = next((network for network in used if network.overlaps(candidate)), None)
            if clash is None:
                return str(candidate)
            first = int(max(candidate[-1], clash[-1])) + 1
    return None


def around(network: IPv4Network, addresses: int) -> IPv4Network | None:
    """The smallest range around `network` with that many addresses; None if it would leave the private addresses."""
    wide = network
    while wide.prefixlen > 8 and wide.num_addresses < addresses:
        wide = wide.supernet()
    leaves = any(network.subnet_of(own) and not wide.subnet_of(own) for own in filter(None, map(parse_cidr, _PRIVATE)))
    return None if leaves or wide.num_addresses < addresses else wide


def widened(network: IPv4Network, addresses: int, others: list[str]) -> str | None:
    """The same, unless it overlaps one of the others."""
    wide = around(network, addresses)
    taken = [parse_cidr(other) for other in others]
    if wide is None or any(other is None or other.overlaps(wide) for other in taken):
        return None
    return str(wide)


def with_newbits(network: IPv4Network, bits: int, more: int) -> IPv4Network | None:
    """The result of `cidrsubnet` with other new bits, if it gave `network` with `bits`; else None.

    The number of the subnet stays: https://developer.hashicorp.com/terraform/language/functions/cidrsubnet.
    """
    from ipaddress import IPv4Network

    base = network.prefixlen - bits
    if base < 0 or not 0 <= more <= 32 - base:
        return None
    outer = network.supernet(bits)
    number, size = (int(network[0]) - int(outer[0])) // network.num_addresses, outer.num_addresses >> more
    return IPv4Network((int(outer[0]) + number * size, base + more)) if number < 1 << more else None
