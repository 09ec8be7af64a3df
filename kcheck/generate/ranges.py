"""Choose address ranges inside the allowed network, apart from all ranges in use."""

from collections.abc import Mapping
from typing import NamedTuple

from kcheck.text.ip_ranges import free_block, parse_cidr, sufficient_prefix
from kcheck.text.text import grouped

PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Private ranges of RFC 1918."""


class Slot(NamedTuple):
    """Needed range, with a fixed `prefix` or one from the capacity model.

    Slots of a `network` are side by side in its range; one without is a range of its own. `routed` ones stay within the
    allowed network. `most` is the shortest prefix that the cloud accepts, `least` the longest that is useful.
    """

    name: str
    network: str = ""
    prefix: int | None = None
    routed: bool = True
    least: int = 28
    most: int = 8

    @property
    def group(self) -> str:
        """Name of the block that contains it."""
        return self.network or self.name


class Layout(NamedTuple):
    """Ranges of all slots and networks, by name, for a number of training nodes."""

    ranges: dict[str, str]
    networks: dict[str, str]
    nodes: int = 0


class NoRoomError(Exception):
    """Raised when ranges do not fit: the largest one wanted, and where."""


def draft(slots: list[Slot]) -> Layout:
    """Return oversized ranges, for a first run of the capacity model."""
    found = {slot.name: f"{10 + i}.0.0.0/8" for i, slot in enumerate(slots)}
    return Layout(found, {slot.network: "10.0.0.0/8" for slot in slots if slot.network})


def layout(slots: list[Slot], needed: Mapping[str, int], reserved: int, within: str, in_use: tuple[str, ...]) -> Layout:
    """Choose ranges for the needed addresses, largest first to leave no gaps.

    Raises NoRoomError if a range does not fit.
    """
    prefixes = {slot.name: _prefix(slot, needed, reserved) for slot in slots}
    for slot in slots:
        if prefixes[slot.name] < slot.most:
            raise NoRoomError(f"{slot.name} needs a /{prefixes[slot.name]}, but the largest possible is a /{slot.most}")
    taken, outer = [*in_use], {}
    groups = grouped(slots, lambda slot: slot.group)
    sizes = {
        group: sufficient_prefix(sum(1 << (32 - prefixes[slot.name]) for slot in own), 0)
        for group, own in groups.items()
    }
    for slot in sorted((own[0] for own in groups.values()), key=lambda one: (not one.routed, sizes[one.group])):
        allowed, size = within if slot.routed else "", sizes[slot.group]
        avoided = taken if slot.routed or not within else [*taken, within]
        block = free_block([allowed] if allowed else list(PRIVATE), avoided, size)
        if block is None:
            where = f"{allowed} has no" if allowed else "no private range has a"
            raise NoRoomError(f"{slot.group} needs a /{size}, and {where} free block of that size")
        outer[slot.group] = block
        taken.append(block)
    inner: dict[str, str] = {}
    for slot in sorted(slots, key=lambda one: prefixes[one.name]):
        block = free_block([outer[slot.group]], list(inner.values()), prefixes[slot.name])
        if block is None:  # powers of two, the largest first, leave no gaps
            raise AssertionError(f"no room for {slot.name} in {outer[slot.group]}")
        inner[slot.name] = block
    networks = {slot.network: outer[slot.network] for slot in slots if slot.network}
    return Layout({slot.name: inner[slot.name] for slot in slots}, networks)


def _prefix(slot: Slot, needed: Mapping[str, int], reserved: int) -> int:
    if slot.prefix is not None:
        return slot.prefix
    return min(slot.least, sufficient_prefix(needed[slot.name], reserved))


def parts(block: str, prefix: int, used: list[str]) -> list[str]:
    """List the blocks of this prefix in a larger block that overlap the used ranges."""
    whole = parse_cidr(block)
    if whole is None or whole.prefixlen >= prefix:
        return [block]
    inner = [network for network in map(parse_cidr, used) if network]
    every = whole.subnets(new_prefix=prefix)
    return [str(part) for part in every if any(part.overlaps(network) for network in inner)]
