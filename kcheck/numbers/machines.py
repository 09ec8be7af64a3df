"""Machine types of the clouds: what one machine has, and the quotas that it counts against."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from kcheck.numbers import profiles
from kcheck.source.bundled import PROFILES


class Machine(NamedTuple):
    """What one machine has; None where it is not known. GPUs are accelerators of any kind, `nvme` GB of local disk."""

    vcpus: int | None
    gpus: int | None
    efa: int = 0
    nvme: int = 0


class Quota(NamedTuple):
    """A quota of an account: the code that its console knows, and what of each node counts against it."""

    key: str
    code: str
    name: str
    counts: str


class Price(NamedTuple):
    """What a node costs, in thousandths of a US dollar an hour: as the user says, else as the list of a region does.

    A price of a list has its `machine` and its `market`, on demand or spot.
    """

    mills: int
    machine: str = ""
    market: str = ""
    region: str = ""


_Sizes: TypeAlias = Literal["interfaces", "vcpus", "gpus", "efa", "nvme"]
"""The tables of sizes by family."""


class _Tables(TypedDict, total=False):
    """What `instances.yaml` has: mostly lines of `type value` by family."""

    interfaces: dict[str, str]
    vcpus: dict[str, str]
    gpus: dict[str, str]
    efa: dict[str, str]
    nvme: dict[str, str]
    accelerators: dict[str, str]
    local_ssds: dict[str, str]
    families: dict[str, str]
    patterns: dict[str, list[str]]
    exceptions: dict[str, int]
    shared_core: dict[str, int]


@cache
def _tables(cloud: str) -> _Tables:
    path = os.path.join(PROFILES, cloud, "instances.yaml")
    data: _Tables = profiles.load_yaml(path) if os.path.exists(path) else {}
    return data


@cache
def machine(cloud: str, name: str) -> Machine | None:
    """A machine type of a cloud; None if it is not known."""
    read = {"eks": _sized, "ack": _sized, "gke": _gce, "aks": _azure}.get(cloud)
    found = read(cloud, name) if read else None
    return None if found is None or found.vcpus is None else found


def interfaces(cloud: str, name: str) -> tuple[int, int] | None:
    """Network interfaces of an instance and IPv4 addresses of each; None if the type is not known."""
    found = _entry(cloud, "interfaces", name)
    if found is None:
        return None
    count, _, addresses = found.partition("x")
    return int(count), int(addresses)


def gpus(cloud: str, name: str) -> int | None:
    """GPUs of a machine; None if it has none or is not known."""
    found = machine(cloud, name)
    return found.gpus if found else None


def accelerator(name: str) -> str | None:
    """What Google calls the GPUs of a machine; None if it has none of its own, or TPUs, or is not known."""
    for kind, line in _tables("gke")["accelerators"].items():
        if kind.startswith("nvidia-") and _in(line, name) is not None:
            return kind
    return None


def local_ssds(name: str) -> int:
    """Local SSDs that a machine of Google has from the start."""
    return next((int(found) for line in _tables("gke")["local_ssds"].values() if (found := _in(line, name))), 0)


def _in(line: str, name: str) -> str | None:
    """The value of a type in a line of `type value` separated by commas."""
    return next((value for key, _, value in (entry.partition(" ") for entry in line.split(", ")) if key == name), None)


def _entry(cloud: str, table: _Sizes, name: str) -> str | None:
    """What a table of `instances.yaml` says of a type: a line a family, `size value` separated by commas."""
    family, _, size = name.removeprefix("ecs.").rpartition(".")
    return _in(_tables(cloud).get(table, {}).get(family, ""), size) or None


def _sized(cloud: str, name: str) -> Machine:
    """Of Amazon and Alibaba Cloud: family.size."""

    def number(table: _Sizes) -> int | None:
        text = _entry(cloud, table, name)
        return None if text is None else int(text)

    return Machine(number("vcpus"), number("gpus"), number("efa") or 0, number("nvme") or 0)


def _gce(cloud: str, name: str) -> Machine:
    """Of Google: the third part of the name, or one of the tables."""
    tables = _tables(cloud)
    listed = _listed(tables["accelerators"], name)
    if listed is not None:
        return listed
    if name in tables["shared_core"]:
        return Machine(tables["shared_core"][name], None)
    match = re.search(r"(?:^|-)custom-(\d+)-\d+", name) or re.fullmatch(r"\w+-[a-z]\w*-(\d+)(?:-\w+)?", name)
    return Machine(int(match[1]) if match else None, None)


def _azure(cloud: str, name: str) -> Machine:
    """Of Azure: the first number of the name, but for some old sizes."""
    tables, size = _tables(cloud), name.removeprefix("Standard_")
    listed = _listed(tables["families"], size)
    if listed is not None:
        return listed
    if size in tables["exceptions"]:
        return Machine(tables["exceptions"][size], None)
    match = re.match(r"[A-Z]+(\d+)", size)
    return Machine(int(match[1]) if match and family(name) else None, None)


def _listed(tables: dict[str, str], name: str) -> Machine | None:
    """A type in tables of `type vcpusxgpus`."""
    value = next((found for line in tables.values() if (found := _in(line, name)) is not None), None)
    if value is None:
        return None
    vcpus, _, gpus = value.partition("x")
    return Machine(int(vcpus), int(gpus) if gpus else None)


_SIZE = re.compile(r"(?:standard_)?([a-z]+)\d+(?:-\d+)?([a-z]*)(?:_(?!v\d)\w+?)?(?:_v(\d+))?")
_WITH_DISKS = ("n", "l", "h")
_LAST_WITH_DISKS = 3


def ephemeral(name: str, vcpus: int) -> bool | None:
    """Whether an Azure VM size has a disk of its own that AKS's boot disk fits on; None if its name does not tell.

    It needs premium storage, `s`, and a local disk or cache: up to version 3 all have one, later those with a `d`,
    and machines with GPUs. Those of others are too small below some vCPUs.
    """
    match, found = _SIZE.fullmatch(name.lower()), machine("aks", name)
    if match is None:
        return None
    kind, features, version = match[1], match[2], int(match[3] or 1)
    local = kind.startswith(_WITH_DISKS) or "d" in features or version <= _LAST_WITH_DISKS
    if not local or kind.startswith("b") or ("s" not in features and kind not in ("ds", "gs")):
        return False
    if kind.startswith(_WITH_DISKS):
        return True
    return None if found is None or found.vcpus is None else found.vcpus >= vcpus


def fabric(name: str) -> bool:
    """Whether an Azure VM size has InfiniBand, which joins the machines of one scale set: `r` for RDMA in its name.

    https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
    """
    match = _SIZE.fullmatch(name.lower())
    return match is not None and match[1].startswith(("n", "h")) and "r" in match[2]


@cache
def family(name: str) -> str | None:
    """The quota family of an Azure VM size; None if it is not known."""
    tables, size = _tables("aks"), name.removeprefix("Standard_")
    for key, line in tables["families"].items():
        if any(entry.partition(" ")[0] == size for entry in line.split(", ")):
            return key
    pattern = re.sub(r"\d+(?:-\d+)?", "{n}", size, count=1)
    for key, patterns in tables["patterns"].items():
        if pattern in patterns or pattern in [text.replace("{n}-{m}", "{n}") for text in patterns]:
            return key
    return None


@cache
def price(cloud: str, name: str, *, spot: bool, attached: tuple[int | None, str] = (0, "")) -> Price | None:
    """The list price of a machine with what is `attached` to it, some of an accelerator; None if it is not listed.

    Spot machines cost what they do on demand where the list has no price of spot.
    """
    table, (count, accelerator) = profiles.prices(cloud), attached
    if table is None:
        return None
    machine, added, markets = name, 0, ["spot", "on demand"] if spot else ["on demand"]
    if count != 0 and gpus(cloud, name) is None:  # billed beside the machine
        if count is None or accelerator not in table.accelerators:
            return None
        machine, added = f"{name} with {count} {accelerator}", count * table.accelerators[accelerator]
        markets = ["on demand"]
    for market in markets:
        own = _prices(cloud, market).get(name.removeprefix("Standard_").lower())
        if own is not None:
            return Price(own + added, machine, market, table.region)
    return None


@cache
def _prices(cloud: str, market: str) -> dict[str, int]:
    """The list prices of a cloud by machine type in lower case: Azure takes any."""
    table = profiles.prices(cloud)
    groups = () if table is None else (table.spot if market == "spot" else table.on_demand).values()
    return {name.lower(): price for group in groups for name, price in group.items()}


def quotas(cloud: str, name: str, *, spot: bool) -> list[Quota]:
    """The quotas of an account that nodes of a machine type count against."""
    market = "spot" if spot else "on-demand"
    result = []
    for key, entry in profiles.quotas(cloud).items():
        if entry["market"] in ("any", market) and re.search(entry["types"], name):
            code, title = entry["code"], entry["name"]
            if "{family}" in code:
                own = family(name)
                if own is None:
                    continue
                code, title = own, title.format(family=own)
            result.append(Quota(key, code, title, entry["counts"]))
    return result
