"""What InfiniBand on AKS needs beside its pools: the topology of the machine, and storage as fast as the job."""

from __future__ import annotations

import os
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from kcheck.config.numbers.clouds import folder
from kcheck.generate import jobs, recommended
from kcheck.text import bundled
from kcheck.text.units import GIB_IN_TIB

if TYPE_CHECKING:
    from kcheck.generate.intent import Intent

_PREFIX = "Standard_"


class Pair(NamedTuple):
    """The PCI domains of a GPU and of the card that is near it."""

    gpu: str
    card: str


class Bridge(NamedTuple):
    """A PCIe bridge with its pairs; bridges are numbered over all processors, from 1 on."""

    number: int
    pairs: list[Pair]


class Processor(NamedTuple):
    """A NUMA node: the mask of its processors, and its bridges."""

    affinity: str
    bridges: list[Bridge]


class Topology(NamedTuple):
    """The topology of a machine as NCCL reads it; `link` is the speed of PCIe."""

    vendor: str
    family: int
    model: int
    link: str
    processors: list[Processor]


class Condition(NamedTuple):
    """A label that nodes have once something is done, and why others wait for it."""

    label: str
    value: str
    reason: str


class _Processor(TypedDict):
    vendor: str
    family: int
    model: int


class _Cpu(TypedDict):
    affinity: str
    bridges: list[list[str]]


class _Topology(TypedDict):
    machines: list[str]
    processor: _Processor
    link: str
    cpus: list[_Cpu]


class _File(TypedDict):
    topologies: list[_Topology]


class Lustre(NamedTuple):
    """A file system: TiB, its MB/s and those that the usual job wants, and its zone."""

    capacity: int
    speed: int
    wanted: int
    zone: str


def topology(machine: str) -> Topology | None:
    """The topology of a VM size; None where the machine shows it, or none is published."""
    data: _File = bundled.load(os.path.join(folder("aks"), "topologies.yaml"))
    name = machine.removeprefix(_PREFIX)
    found = next((one for one in data["topologies"] if name in one["machines"]), None)
    if found is None:
        return None
    processors, number = [], 0
    for cpu in found["cpus"]:
        bridges = []
        for number, pairs in enumerate(cpu["bridges"], number + 1):  # noqa: B020 - goes on where the last one ended
            bridges.append(Bridge(number, [Pair(*pair.split(" ")) for pair in pairs]))
        processors.append(Processor(cpu["affinity"], bridges))
    of = found["processor"]
    return Topology(of["vendor"], of["family"], of["model"], found["link"], processors)


def driver(intent: Intent) -> Condition | None:
    """What the network operator labels nodes with when the driver of their InfiniBand is loaded."""
    if not jobs.interfaces(intent).number:
        return None
    label = recommended.values("aks")["infiniband.loaded"]
    return Condition(str(label), "false", recommended.reasons("aks")["infiniband.loaded"])


def lustre(intent: Intent) -> Lustre | None:
    """The file system for checkpoints over InfiniBand: fast enough for a job of GPUs, with room for all claims."""
    if not intent.gpus or not jobs.by_pool(intent):
        return None
    usual = recommended.values(intent.cloud)
    speed, step, most = (int(usual[f"lustre.{key}"]) for key in ("speed", "step", "most"))
    wanted = intent.job_nodes * int(usual["lustre.write"])
    claims = ceil(len(intent.teams) * int(usual["storage.size"]) / GIB_IN_TIB)
    capacity = min(most, step * ceil(max(wanted / speed, claims) / step))
    return Lustre(capacity, capacity * speed, wanted, intent.zones[0])
