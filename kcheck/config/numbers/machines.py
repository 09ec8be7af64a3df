"""Machine types of the clouds: their hardware, and the quotas they count against."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict

from kcheck.config.numbers import profiles
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator


class Machine(NamedTuple):
    """A machine type; None if unknown. GPUs are accelerators of any kind, `nvme` is GB of local disk."""

    vcpus: int | None
    gpus: int | None
    efa: int = 0
    nvme: int = 0


class Quota(NamedTuple):
    """An account quota: its code in the console, and what each node uses of it.

    `of` is what has such a quota: an account in a `region`, a `project` in all regions, or a `cluster`.
    """

    key: str
    code: str
    name: str
    counts: str
    of: str = "region"


class Price(NamedTuple):
    """The price of a node in thousandths of a US dollar per hour: the user's, else the list price.

    A price of a list has its `machine` and its `market`, on demand or spot.
    """

    mills: int
    machine: str = ""
    market: str = ""
    region: str = ""


_Sizes: TypeAlias = Literal["interfaces", "vcpus", "gpus", "efa", "nvme"]
"""The tables of sizes by family."""


class Tables(TypedDict, total=False):
    """What `instances.yaml` has: mostly lines of `type value` by family."""

    prefix: str
    interfaces: dict[str, str]
    vcpus: dict[str, str]
    gpus: dict[str, str]
    efa: dict[str, str]
    nvme: dict[str, str]
    accelerators: dict[str, str]
    local_ssds: dict[str, str]
    local_ssd_size: int
    families: dict[str, str]
    patterns: dict[str, list[str]]
    exceptions: dict[str, int]
    shared_core: dict[str, int]
    fractions: list[str]
    promotions: dict[str, str]
    temporary: dict[str, int]
    memory_per_vcpu: dict[str, list[str]]
    memory: dict[str, str]


@cache
def tables_of(cloud: str) -> Tables:
    """The tables of a cloud's machines."""
    data: Tables = profiles.load_own(cloud, "instances")
    return data


@cache
def machine(cloud: str, name: str) -> Machine | None:
    """A machine type of a cloud; None if it is unknown."""
    tables = tables_of(cloud)
    if "shared_core" in tables:
        found = _by_third_part(tables, name)
    elif "exceptions" in tables:
        found = _by_first_number(cloud, name)
    else:
        found = _by_size(cloud, name)
    return None if found is None or found.vcpus is None is found.gpus else found


def interfaces(cloud: str, name: str) -> tuple[int, int] | None:
    """Network interfaces of an instance, and IPv4 addresses of each; None if unknown."""
    found = _entry(cloud, "interfaces", name)
    if found is None:
        return None
    count, _, addresses = found.partition("x")
    return int(count), int(addresses)


def gpu_types(cloud: str) -> Iterator[tuple[str, str]]:
    """The machine types with GPUs of a cloud that names them family.size, each with its family."""
    tables = tables_of(cloud)
    prefix = tables.get("prefix", "")
    for family, line in tables.get("gpus", {}).items():
        for entry in line.split(", "):
            yield family, f"{prefix}{family}.{entry.partition(' ')[0]}"


def gpus(cloud: str, name: str) -> int | None:
    """GPUs of a machine; None if it has none or is unknown."""
    found = machine(cloud, name)
    return found.gpus if found else None


def has_fraction(cloud: str, name: str) -> bool:
    """Whether a machine has a part of a GPU, which its node offers as one."""
    return name.removeprefix("Standard_") in tables_of(cloud).get("fractions", ())


@cache
def memory(cloud: str, name: str) -> int | None:
    """Memory that a machine is sold with, in bytes; None if unknown."""
    found, tables = machine(cloud, name), tables_of(cloud)
    custom = _CUSTOM.search(name)
    if custom and "shared_core" in tables:
        return int(custom[2]) << 20
    if found is None or found.vcpus is None:
        return None
    key, entry = _spelling(tables, name)
    listed = value_in(tables.get("memory", {}).get(key, ""), entry)
    if listed is not None:
        return int(listed) << 20
    each = _memory_per_vcpu(cloud).get(key)
    return None if each is None else int(each * found.vcpus * 2**30)


def _spelling(tables: Tables, name: str) -> tuple[str, str]:
    """What the tables of memory call a type: the types like it, and the one."""
    if "shared_core" in tables:
        return re.sub(r"-\d+(?=-|$)", "", re.sub(r"-\d+[gt]\b", "-{n}", name)), name
    if "exceptions" in tables:
        size = _size(name)
        return _pattern(size), size
    family, _, size = name.removeprefix(tables.get("prefix", "")).rpartition(".")
    return family, size


@cache
def _memory_per_vcpu(cloud: str) -> dict[str, float]:
    groups = tables_of(cloud).get("memory_per_vcpu", {})
    return {key: float(each) for each, keys in groups.items() for key in keys}


def value_in(line: str, name: str) -> str | None:
    """The value of a type in a line of `type value` separated by commas."""
    return next((value for key, _, value in (entry.partition(" ") for entry in line.split(", ")) if key == name), None)


def _entry(cloud: str, table: _Sizes, name: str) -> str | None:
    """The value of a machine type in a table of `instances.yaml`: one line per family."""
    family, _, size = name.removeprefix("ecs.").rpartition(".")
    return value_in(tables_of(cloud).get(table, {}).get(family, ""), size) or None


def _by_size(cloud: str, name: str) -> Machine:
    """Of Amazon and Alibaba Cloud: family.size."""

    def number(table: _Sizes) -> int | None:
        text = _entry(cloud, table, name)
        return None if text is None else int(text)

    return Machine(number("vcpus"), number("gpus"), number("efa") or 0, number("nvme") or 0)


_CUSTOM = regex(r"(?:^|-)custom-(\d{1,9})-(\d{1,9})")
"""A type of Google with the vCPUs and MiB that its user chose."""


def _by_third_part(tables: Tables, name: str) -> Machine:
    """Of Google: the third part of the name, or one of the tables."""
    listed = _listed(tables["accelerators"], name)
    if listed is not None:
        return listed
    if name in tables["shared_core"]:
        return Machine(tables["shared_core"][name], None)
    match = _CUSTOM.search(name) or re.fullmatch(r"\w+-(?:[a-z]\w*-)?(\d{1,9})(?:-\w+){0,2}", name)
    return Machine(int(match[1]) if match else None, None)


def _by_first_number(cloud: str, name: str) -> Machine:
    """Of Azure: the first number of the name, but for some old sizes."""
    tables, size = tables_of(cloud), _size(name)
    listed = _listed(tables["families"], size)
    if listed is not None:
        return listed
    if size in tables["exceptions"]:
        return Machine(tables["exceptions"][size], None)
    match = re.match(r"[A-Z]+(\d{1,9})", size)
    return Machine(int(match[1]) if match and family(cloud, name) else None, None)


def _listed(tables: dict[str, str], name: str) -> Machine | None:
    """A type in tables of `type vcpusxgpus`."""
    value = next((found for line in tables.values() if (found := value_in(line, name)) is not None), None)
    if value is None:
        return None
    vcpus, _, gpus = value.partition("x")
    return Machine(int(vcpus) if vcpus else None, int(gpus) if gpus else None)


_PROMOTION = "_Promo"


def _size(name: str) -> str:
    """A size of Azure as the tables call it: a promotion as the size that it is."""
    return name.removeprefix("Standard_").removesuffix(_PROMOTION)


def _pattern(size: str) -> str:
    """A size of Azure with {n} for its vCPUs."""
    return re.sub(r"\d+(?:-\d+)?", "{n}", size, count=1)


@cache
def family(cloud: str, name: str) -> str | None:
    """The quota family of a machine type, on Azure; None if it is unknown."""
    tables, size = tables_of(cloud), _size(name)
    promotion = re.match(r"[A-Z]+", size) if name.endswith(_PROMOTION) else None
    if promotion is not None:
        return tables["promotions"].get(promotion[0])
    for key, line in tables["families"].items():
        if any(entry.partition(" ")[0] == size for entry in line.split(", ")):
            return key
    pattern = _pattern(size)
    for key, patterns in tables["patterns"].items():
        if pattern in patterns or pattern in [text.replace("{n}-{m}", "{n}") for text in patterns]:
            return key
    return None


def families(cloud: str) -> frozenset[str]:
    """The quota families of all machine types, on Azure."""
    tables = tables_of(cloud)
    return frozenset((*tables["promotions"].values(), *tables["families"], *tables["patterns"]))


@cache
def price(cloud: str, name: str, *, spot: bool, attached: tuple[int | None, str] = (0, "")) -> Price | None:
    """The list price of a machine with its `attached` accelerators; None if not listed.

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
        own = _prices(cloud, market).get(name.removeprefix("Standard_").removeprefix("ecs.").lower())
        if own is not None:
            return Price(own[0] + added, machine, market, own[1])
    return None


@cache
def _prices(cloud: str, market: str) -> dict[str, tuple[int, str]]:
    """List prices with their regions by machine type in lower case: Azure takes any."""
    own = profiles.prices(cloud)
    found: dict[str, tuple[int, str]] = {}
    for table in (*own.elsewhere, own) if own is not None else ():
        for group in (table.spot if market == "spot" else table.on_demand).values():
            found |= {name.lower(): (price, table.region) for name, price in group.items()}
    return found


def quotas(cloud: str, name: str, *, spot: bool) -> list[Quota]:
    """The quotas of an account that nodes of a machine type count against."""
    market = "spot" if spot else "on-demand"
    result = []
    for key, entry in profiles.quotas(cloud).items():
        if entry["market"] in ("any", market) and re.search(entry["types"], name):
            code, title = entry["code"], entry["name"]
            if "{family}" in code:
                own = family(cloud, name)
                if own is None:
                    continue
                code, title = own, title.format(family=own)
            result.append(Quota(key, code, title, entry["counts"], entry.get("of", "region")))
    return result
