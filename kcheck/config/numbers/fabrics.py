"""The networks between GPUs that machine types have beside the ordinary one."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, TypedDict

from kcheck.config.numbers.profiles import load_own


class Fabric(NamedTuple):
    """The network between GPUs of a machine type: Gbit/s of each interface, and what a node has without them.

    Nodes of a job reach each other by it within what it `joins`: a pool, zone or region. Pods ask for it by `resource`,
    which may be an annotation that `annotations` matches; what matches `plugin` brings it, what matches `disabled` in
    a command or a variable switches it off. With `of_host`, pods on the network of the node have it too.
    """

    name: str
    machine: str
    interfaces: int
    each: int
    ordinary: int
    joins: str
    resource: str
    annotations: re.Pattern[str]
    plugin: re.Pattern[str]
    disabled: re.Pattern[str]
    of_host: bool

    @property
    def gbits(self) -> int:
        """What a node has with all interfaces."""
        return self.interfaces * self.each


class _Entry(TypedDict, total=False):
    """A fabric in `fabrics.yaml`, with its machine types."""

    joins: str
    resource: str
    annotations: str
    plugin: str
    disabled: str
    of_host: bool
    machines: dict[str, str]


@cache
def _by_machine(cloud: str) -> dict[str, Fabric]:
    entries: dict[str, _Entry] = load_own(cloud, "fabrics")
    return {machine: _fabric(name, machine, text, entry) for name, entry in entries.items()
            for machine, text in entry["machines"].items()}  # fmt: skip


def _fabric(name: str, machine: str, text: str, entry: _Entry) -> Fabric:
    """A fabric from an entry and its `interfaces x Gbit/s of each, Gbit/s without them`."""
    sizes, _, ordinary = text.partition(", ")
    interfaces, _, each = sizes.partition("x")
    return Fabric(
        name=name,
        machine=machine,
        interfaces=int(interfaces),
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
    """The fabric of a machine type; None if it has none that is known."""
    return _by_machine(cloud).get(machine.removeprefix("Standard_"))


@cache
def plugins(cloud: str) -> frozenset[re.Pattern[str]]:
    """What brings the fabrics of a cloud to pods, in names of charts and images."""
    return frozenset(one.plugin for one in _by_machine(cloud).values())
