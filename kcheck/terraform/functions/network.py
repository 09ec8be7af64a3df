"""Functions of IP networks; addresses are parsed and printed like Go's."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from kcheck.terraform.functions.signature import Table, integer, number, settled, text
from kcheck.text.data_types import STRING, list_of
from kcheck.text.ip_ranges import prefix_of
from kcheck.text.need import NotKnown, first_unknown, need
from kcheck.text.partly_known import name_in_code
from kcheck.text.scalars import EvaluationError
from kcheck.text.values import Known, Origin, Subnetwork, Unknown, Unplaced, reason_of

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from kcheck.terraform.budget import Budget
    from kcheck.text.values import Datum

    Network: TypeAlias = IPv4Network | IPv6Network

TABLE = Table()


def _parse(cidr: str) -> Network:
    """Parse a CIDR such as "10.0.0.0/16"; raise EvaluationError for anything else."""
    from ipaddress import ip_network  # most code calls none of these functions

    host, _, length = cidr.partition("/")
    head, colon, last = host.rpartition(":")
    if "." in last:  # 010 is 10
        last = ".".join(part.lstrip("0") or part[:1] for part in last.split("."))
    if length.isdecimal() and "%" not in host:  # no mask, no zone
        with suppress(ValueError):
            return ip_network(f"{head}{colon}{last}/{length}", strict=False)
    raise EvaluationError(f"invalid CIDR address: {cidr}")


def _block(network: Network, start: int, prefix: int) -> str:
    first = network[start - int(network[0])]
    mapped = getattr(first, "ipv4_mapped", None)
    return f"{mapped}/{prefix - 96}" if mapped else f"{first}/{prefix}"


def _range(datum: Datum) -> str:
    """Read the text of a CIDR, or raise EvaluationError if empty or null."""
    value = settled(datum)
    if value is None or value == "":
        raise EvaluationError(f"{name_in_code(datum.origin, 'a range')} is {'null' if value is None else 'empty'}")
    return text(datum)


def _sized(datum: Datum) -> str | Unplaced:
    """Read the text of a CIDR; if its address is unknown, only the prefix length."""
    length = prefix_of(datum) if isinstance(datum, Unknown) else None
    return _range(datum) if length is None else Unplaced(reason_of(datum), length=length)


def _placed(datum: Datum) -> Known[int]:
    return Known(integer(datum), datum.origin or Origin(()))


_STEPS = 20
"""Budget steps to parse and print an address."""


@TABLE.function(_sized, _placed, lambda one: one if isinstance(one, Unknown) else integer(one), counted=True)
def _cidrsubnet(cidr: str | Unplaced, placed: Known[int], number: int | Unknown, budget: Budget) -> Datum:
    budget.spend(_STEPS)
    network, newbits = _parse(f"0.0.0.0/{cidr.length}" if isinstance(cidr, Unplaced) else cidr), placed.value
    prefix, bits = network.prefixlen + newbits, network.max_prefixlen
    if prefix > bits:
        raise EvaluationError(f"insufficient address space to extend prefix of {network.prefixlen} by {newbits}")
    if newbits < 0 or (isinstance(number, int) and number < 0):
        raise NotKnown(Unknown("a block outside of its range is not computed"))
    if missing := first_unknown((cidr, number)):
        return Unplaced(missing.reason, Origin(()), length=prefix) if network.version == 4 else missing
    at = need(number)
    if at >= 1 << newbits:
        raise EvaluationError(f"prefix extension of {newbits} does not accommodate a subnet numbered {at}")
    text = _block(network, int(network[0]) + (at << (bits - prefix)), prefix)
    return Subnetwork(text, Origin(()), newbits=placed)


@TABLE.function(_sized, rest=integer, gives=list_of(STRING), counted=True)
def _cidrsubnets(cidr: str | Unplaced, *newbits: int, budget: Budget) -> list[str] | list[Unplaced]:
    budget.spend(_STEPS * len(newbits))
    if isinstance(cidr, Unplaced):
        return [Unplaced(cidr.reason, Origin(()), length=cidr.length + bits) for bits in newbits]
    network = _parse(cidr)
    at = int(network[0])
    result = []
    for extension in newbits:
        prefix = network.prefixlen + extension
        if not 1 <= extension <= 32:
            raise EvaluationError("a prefix must be extended by 1 to 32 bits")
        size = 1 << max(0, network.max_prefixlen - prefix)
        start = -(-at // size) * size
        at = start + size
        fits = prefix <= network.max_prefixlen and at - 1 <= int(network[-1]) and int(network[0])
        if not fits or getattr(network[start - int(network[0])], "ipv4_mapped", None):
            raise EvaluationError(f"not enough remaining address space for a subnet with a prefix of {prefix} bits")
        result.append(_block(network, start, prefix))
    return result


@TABLE.function(_range, number, counted=True)
def _cidrhost(cidr: str, number: int, budget: Budget) -> str:
    budget.spend(_STEPS)
    network = _parse(cidr)
    try:
        found = network[number]
        if number and getattr(network[0], "ipv4_mapped", None):  # Terraform counts in the first 32 bits of IPv6
            found = type(found)(int(network[0]) | (int(found) - int(network[0])) << 96)
        return str(getattr(found, "ipv4_mapped", None) or found)  # IPv4 in IPv6 becomes IPv4
    except (IndexError, ValueError):  # a fraction is no index
        raise EvaluationError(f"prefix of {network.prefixlen} does not accommodate a host numbered {number}") from None


@TABLE.function(_range)
def _cidrnetmask(cidr: str) -> str:
    network = _parse(cidr)
    if network.version != 4 and network[0].ipv4_mapped is None:
        raise EvaluationError(f"IPv6 addresses cannot have a netmask: {cidr}")
    return str(network.netmask)
