"""IPv4 ranges: their size, free blocks, larger ranges."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kcheck.text.regex import regex
from kcheck.text.values import Unplaced, Unrendered

if TYPE_CHECKING:
    from ipaddress import IPv4Network

    from kcheck.text.values import Value

_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
"""Ranges that are not routed on the internet: RFC 1918 and RFC 6598."""

_PREFIX = regex(r"/(\d{1,2})$")


@cache
def parse_cidr(text: str) -> IPv4Network | None:
    """Parse an IPv4 range and clear its host bits; None if it is not one."""
    from ipaddress import IPv4Network  # runs without ranges do not pay for it

    if not text.partition("/")[2].isdecimal():  # a mask, or a single address
        return None
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def range_of(text: str) -> IPv4Network | None:
    """Parse a range; of a mere prefix such as `/14`, the cloud picks the address."""
    return parse_cidr(f"10.0.0.0{text}" if text.startswith("/") else text)


def prefix_of(cidr: Value[object]) -> int | None:
    """Return the prefix length of an IPv4 range with an unknown address."""
    if isinstance(cidr, Unplaced):
        return cidr.length
    pieces = cidr.pieces if isinstance(cidr, Unrendered) else ()
    found = _PREFIX.search(pieces[-1].text) if pieces and not any(":" in one.text for one in pieces) else None
    return int(found[1]) if found else None


def is_ipv6(text: str) -> bool:
    """Whether a text is an IPv6 range."""
    from ipaddress import IPv6Network

    try:
        return bool(IPv6Network(text, strict=False))
    except ValueError:
        return False


def is_private(cidr: str) -> bool:
    """Whether a range is private: not routed on the internet."""
    network = parse_cidr(cidr)
    return network is not None and any(network.subnet_of(one) for one in map(parse_cidr, _PRIVATE) if one is not None)


def usable_addresses(cidr: str, reserved: int) -> int | None:
    """Count the usable addresses of a subnet; None if it is no range.

    Azure keeps 5 of every subnet (https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay): a /24 has
    256 - 5 = 251.
    """
    network = range_of(cidr)
    return None if network is None else max(0, network.num_addresses - reserved)


def sufficient_prefix(addresses: int, reserved: int) -> int:
    """Return the longest prefix with that many usable addresses."""
    return 32 - (addresses + reserved - 1).bit_length()


def free_block(networks: list[str], taken: list[str], prefix: int) -> str | None:
    """Find the first free block with a prefix length; None if there is none."""
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
    """Return the smallest private range around `network`; else None."""
    wide = network
    while wide.prefixlen > 8 and wide.num_addresses < addresses:
        wide = wide.supernet()
    return wide if is_private(str(wide)) and wide.num_addresses >= addresses else None


def widened(network: IPv4Network, addresses: int, others: list[str]) -> str | None:
    """Return the range of `around` as text; None if it overlaps one of the others."""
    wide = around(network, addresses)
    taken = [parse_cidr(other) for other in others]
    if wide is None or any(other is None or other.overlaps(wide) for other in taken):
        return None
    return str(wide)


def with_newbits(network: IPv4Network, bits: int, more: int) -> IPv4Network | None:
    """Return the result of `cidrsubnet` with other new bits; else None.

    The number of the subnet stays: https://developer.hashicorp.com/terraform/language/functions/cidrsubnet.
    """
    from ipaddress import IPv4Network

    base = network.prefixlen - bits
    if base < 0 or not 0 <= more <= 32 - base:
        return None
    outer = network.supernet(bits)
    number, size = (int(network[0]) - int(outer[0])) // network.num_addresses, outer.num_addresses >> more
    return IPv4Network((int(outer[0]) + number * size, base + more)) if number < 1 << more else None
