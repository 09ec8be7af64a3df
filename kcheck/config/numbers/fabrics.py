"""Networks between GPUs that machine types have in addition to the ordinary one."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, TypedDict

from msgspec import Struct

from kcheck.config.numbers.profiles import load_own


class Fabric(Struct, frozen=True):
    """Network between GPUs of a machine type. `each` is Gbit/s per interface.

    `annotations` matches keys of annotations by which pods ask for it. `plugin`: matches charts and images that provide
    it. `disabled`: matches a command or variable that turns it off. `of_host`: whether pods on the host network have it
    too.
    """

    name: Annotated[str, "EFA, InfiniBand, GPUDirect-TCPX ..."]
    machine: Annotated[str, "the machine type"]
    interfaces: Annotated[int, "interfaces of a node for it"]
    gbits: Annotated[int, "Gbit/s that a node has with all of them"]
    ordinary: Annotated[int, "Gbit/s that a node has without them"]
    resource: Annotated[str, "resource or annotation by which pods ask for it"]
    joins: Annotated[str, "what nodes must share to reach each other by it: pool, zone or region"]
    each: int
    annotations: re.Pattern[str]
    plugin: re.Pattern[str]
    disabled: re.Pattern[str]
    of_host: bool


class _Entry(TypedDict, total=False):
    joins: str
    resource: str
    annotations: str
    plugin: str
    disabled: str
    of_host: bool
    machines: dict[str, str]
    cards: dict[str, str]


@cache
def _by_machine(cloud: str) -> dict[str, Fabric]:
    entries: dict[str, _Entry] = load_own(cloud, "fabrics")
    found = {machine: _fabric(name, machine, text, entry) for name, entry in entries.items()
             for machine, text in entry["machines"].items()}  # fmt: skip
    return found | {card: found[own] for entry in entries.values() for card, own in entry.get("cards", {}).items()}


def _fabric(name: str, machine: str, text: str, entry: _Entry) -> Fabric:
    """Parse an entry; `text` is `interfaces x Gbit/s of each, Gbit/s without them`."""
    sizes, _, ordinary = text.partition(", ")
    interfaces, _, each = sizes.partition("x")
    return Fabric(
        name=name,
        machine=machine,
        interfaces=int(interfaces),
        gbits=int(interfaces) * int(each),
        each=int(each),
        ordinary=int(ordinary),
        joins=entry["joins"],
        resource=entry["resource"],
        annotations=re.compile(entry.get("annotations", "(?!)")),
        plugin=re.compile(entry["plugin"]),
        disabled=re.compile(entry["disabled"]),
        of_host=entry.get("of_host", False),
    )


def fabric(cloud: str, machine: str) -> Fabric | None:
    """Return the fabric of a machine type, or of all machines with a card."""
    return _by_machine(cloud).get(machine.removeprefix("Standard_").removeprefix("ml."))


@cache
def plugins(cloud: str) -> frozenset[re.Pattern[str]]:
    """Return patterns of the charts and images that provide a cloud's fabrics."""
    return frozenset(one.plugin for one in _by_machine(cloud).values())
