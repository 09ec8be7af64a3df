"""Choose address ranges inside the allowed network, apart from all ranges in use."""

from collections.abc import Mapping
from typing import NamedTuple

from kcheck.text.ip_ranges import free_block, parse_cidr, sufficient_prefix

PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Private ranges of RFC 1918."""


class Slot(NamedTuple):
    """Needed range, with a fixed `prefix` or one from the capacity model.

    Slots of one `network` lie side by side in its range; a slot without network is a range of its own. `routed` slots
    stay within the allowed network, others only must not overlap it. `most` is the shortest prefix that the cloud
    accepts, `least` the longest that is useful.
    """

    name: str
    network: str = ""
    prefix: int | None = None
    routed: bool = True
    least: int = 28
    most: int = 8


class Layout(NamedTuple):
    """Ranges of all slots and networks, by name."""

    ranges: dict[str, str]
    networks: dict[str, str]


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
    taken = [*in_use]
    outer = {}
    groups = sorted({slot.network or slot.name: slot for slot in slots}.items(), key=lambda item: not item[1].routed)
    sizes = {
        group: sufficient_prefix(sum(1 << (32 - prefixes[s.name]) for s in slots if (s.network or s.name) == group), 0)
        for group, _ in groups
    }
    for group, slot in sorted(groups, key=lambda item: (not item[1].routed, sizes[item[0]])):
        room = [within] if within and slot.routed else list(PRIVATE)
        block = free_block(room, taken if slot.routed else [*taken, *filter(None, [within])], sizes[group])
        if block is None:
            where = (
                f"{within} has no free block of that size"
                if within and slot.routed
                else "no private range has a free block of that size"
            )
            raise NoRoomError(f"{group} needs a /{sizes[group]}, and {where}")
        outer[group] = block
        taken.append(block)
    inner: dict[str, str] = {}
    for slot in sorted(slots, key=lambda one: prefixes[one.name]):
        group = slot.network or slot.name
        block = free_block([outer[group]], list(inner.values()), prefixes[slot.name])
        if block is None:  # powers of two, the largest first, leave no gaps
            raise AssertionError(f"no room for {slot.name} in {outer[group]}")
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
