"""Functions of IP networks, with whole numbers: importing `ipaddress` would cost more than all of them."""

from __future__ import annotations

from typing import NamedTuple

from kcheck.source.scalars import EvaluationError
from kcheck.terraform.functions.signature import Table, integer, text

TABLE = Table()


class Network(NamedTuple):
    """A block of addresses: of 32 or 128 bits, from `address`, which has no bits set beyond `prefix`."""

    bits: int
    address: int
    prefix: int

    def __str__(self) -> str:
        if self.bits == 128 and _mapped(self.address) and self.prefix >= 96:
            return f"{dotted(self.address)}/{self.prefix - 96}"
        return f"{show(self.bits, self.address)}/{self.prefix}"


def parse(cidr: str) -> Network:
    """The network that a text like "10.0.0.0/16" names.

    Raises:
        EvaluationError: it names none.
    """
    host, slash, length = cidr.partition("/")
    bits, address = (128, _six(host)) if ":" in host else (32, _four(host))
    valid = slash and length.isascii() and length.isdecimal() and len(length) < 4
    if address is None or not valid or int(length) > bits:
        raise EvaluationError(f"invalid CIDR address: {cidr}")
    prefix = int(length)
    return Network(bits, address >> (bits - prefix) << (bits - prefix), prefix)


def _four(host: str) -> int | None:
    parts = host.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    result = 0
    for part in parts:
        if len(part) > 5 or int(part) > 255:
            return None
        result = result << 8 | int(part)
    return result


def _six(host: str) -> int | None:
    head, _, last = host.rpartition(":")
    if "." in last:  # the last 32 bits may be written as an IPv4 address
        four = _four(last)
        if four is None:
            return None
        host = f"{head}:{four >> 16:x}:{four & 0xFFFF:x}"
    left, gap, right = host.partition("::")
    before = left.split(":") if left else []
    after = right.split(":") if right else []
    zeros = 8 - len(before) - len(after)
    if (zeros < 1) if gap else (zeros != 0):
        return None
    result = 0
    for group in [*before, *["0"] * zeros, *after]:
        if not 1 <= len(group) <= 4 or not all(letter in "0123456789abcdefABCDEF" for letter in group):
            return None
        result = result << 16 | int(group, 16)
    return result


def dotted(address: int) -> str:
    """The last 32 bits as an IPv4 address."""
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def _mapped(address: int) -> bool:
    return address >> 32 == 0xFFFF


def show(bits: int, address: int) -> str:
    """An address as Go prints it: IPv6 with the longest run of zero groups left out."""
    if bits == 32 or _mapped(address):
        return dotted(address)
    groups = [address >> shift & 0xFFFF for shift in range(112, -1, -16)]
    best, length, start = 0, 0, 0
    for at in range(9):
        if at == 8 or groups[at]:
            if at - start > length:
                best, length = start, at - start
            start = at + 1
    if length < 2:
        return ":".join(f"{group:x}" for group in groups)
    left, right = groups[:best], groups[best + length :]
    return ":".join(f"{group:x}" for group in left) + "::" + ":".join(f"{group:x}" for group in right)


@TABLE.function(text, integer, integer)
def _cidrsubnet(cidr: str, newbits: int, number: int) -> str:
    network = parse(cidr)
    prefix = network.prefix + newbits
    if prefix > network.bits:
        raise EvaluationError(f"insufficient address space to extend prefix of {network.prefix} by {newbits}")
    if prefix < 0 or not 0 <= number < 1 << max(newbits, 0):
        raise EvaluationError(f"prefix extension of {newbits} does not accommodate a subnet numbered {number}")
    return str(Network(network.bits, network.address | number << (network.bits - prefix), prefix))


@TABLE.function(text, rest=integer)
def _cidrsubnets(cidr: str, *newbits: int) -> list[str]:
    network = parse(cidr)
    end = network.address + (1 << (network.bits - network.prefix))
    at = network.address
    result = []
    for extension in newbits:
        prefix = network.prefix + extension
        if not 1 <= extension <= 32:
            raise EvaluationError("a prefix must be extended by 1 to 32 bits")
        if prefix > network.bits:
            raise EvaluationError(f"not enough remaining address space for a subnet with a prefix of {prefix} bits")
        size = 1 << (network.bits - prefix)
        start = -(-at // size) * size
        at = start + size
        if at > end:
            raise EvaluationError(f"not enough remaining address space for a subnet with a prefix of {prefix} bits")
        result.append(str(Network(network.bits, start, prefix)))
    return result


@TABLE.function(text, integer)
def _cidrhost(cidr: str, number: int) -> str:
    network = parse(cidr)
    size = 1 << (network.bits - network.prefix)
    host = number + size if number < 0 else number
    if not 0 <= host < size:
        raise EvaluationError(f"prefix of {network.prefix} does not accommodate a host numbered {number}")
    return show(network.bits, network.address | host)


@TABLE.function(text)
def _cidrnetmask(cidr: str) -> str:
    network = parse(cidr)
    if network.bits != 32:
        raise EvaluationError(f"IPv6 addresses cannot have a netmask: {cidr}")
    return dotted((1 << 32) - (1 << (32 - network.prefix)))
