"""IPv4 ranges: their size, room in a network, wider ranges."""

from __future__ import annotations

from typing import NamedTuple


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
    if not text.isascii() or len(parts) != 4 or not all(part.isdigit() and int(part) < 256 for part in parts):
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


def around(network: Network, addresses: int) -> Network | None:
    """The smallest range around `network` with so many addresses; None if it would leave the private addresses."""
    prefix = network.prefix
    while prefix > 8 and 1 << (32 - prefix) < addresses:
        prefix -= 1
    bits = 32 - prefix
    wide = Network(network.first >> bits << bits, prefix)
    leaves = any(private.contains(network) and not private.contains(wide) for private in _PRIVATE)
    return None if leaves or wide.size < addresses else wide


def widened(network: Network, addresses: int, others: list[str]) -> str | None:
    """The same, unless it overlaps one of the others."""
    wide = around(network, addresses)
    taken = [parse_cidr(other) for other in others]
    if wide is None or any(other is None or other.overlaps(wide) for other in taken):
        return None
    return str(wide)


_BLOCKS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
_PRIVATE = tuple(filter(None, map(parse_cidr, _BLOCKS)))
"""What nobody has on the internet: RFC 1918, and RFC 6598 for those between."""
