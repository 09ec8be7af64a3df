"""Machine types of the clouds: hardware, prices, quotas."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from msgspec import Struct

from kcheck.config.numbers import profiles
from kcheck.config.numbers.profiles import row
from kcheck.text.regex import regex


class Machine(Struct, frozen=True):
    """A machine type; `gpus` are accelerators, `nvme` GB of disk, None is unknown."""

    vcpus: int | None
    gpus: int | None
    efa: int = 0
    nvme: int = 0


class Quota(Struct, frozen=True):
    """An account quota: its code in the console, and what it counts of a node.

    `of` is its scope: an account in a `region`, a `project` in all regions, or a `cluster`.
    """

    key: str
    code: str
    name: str
    counts: str
    of: str = "region"


class Price(NamedTuple):
    """Price of a node in thousandths of a US dollar per hour.

    A list price has a `machine` and a `market`, on demand or spot. Its `region` names that of the machine, too, where
    the list is of another one.
    """

    mills: int
    machine: str = ""
    market: str = ""
    region: str = ""

    def cost(self, nodes: int, hours: int) -> int:
        """Return the cost of nodes in whole US dollars."""
        return round(self.mills * nodes * hours / 1000)


_Sizes: TypeAlias = Literal["interfaces", "vcpus", "gpus", "efa", "nvme"]


class Tables(TypedDict, total=False):
    """Contents of `instances.yaml`: mostly lines of `type value` by family."""

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
    partitions: dict[str, int]
    promotions: dict[str, str]
    temporary: dict[str, int]
    memory_per_vcpu: dict[str, list[str]]
    memory: dict[str, str]


@cache
def tables_of(cloud: str) -> Tables:
    """Load the machine tables of a cloud."""
    data: Tables = profiles.load_own(cloud, "instances")
    return data


@cache
def machine(cloud: str, name: str) -> Machine | None:
    """Find a machine type of a cloud; None if unknown."""
    tables = tables_of(cloud)
    if "shared_core" in tables:
        found = _by_third_part(tables, name)
    elif "exceptions" in tables:
        found = _by_first_number(cloud, name)
    else:
        found = _by_size(cloud, name)
    return None if found is None or found.vcpus is None is found.gpus else found


def interfaces(cloud: str, name: str) -> tuple[int, int] | None:
    """Return a machine type's interfaces, and the IPv4 addresses on each."""
    found = _entry(cloud, "interfaces", name)
    if found is None:
        return None
    count, _, addresses = found.partition("x")
    return int(count), int(addresses)


def gpu_types(cloud: str) -> Iterator[tuple[str, str]]:
    """Yield family and name of each GPU machine type of Amazon or Alibaba Cloud."""
    tables = tables_of(cloud)
    prefix = tables.get("prefix", "")
    for family, line in tables.get("gpus", {}).items():
        yield from ((family, f"{prefix}{family}.{size}") for size in row(line))


def has_accelerator(cloud: str, instance_type: str) -> bool:
    """Whether machines of a type have GPUs or other accelerators."""
    return re.search(str(profiles.settings(cloud)["pool.gpu_types"].value), instance_type) is not None


def gpus(cloud: str, name: str) -> int | None:
    """Count the GPUs of a machine; None if it has none or is unknown."""
    found = machine(cloud, name)
    return found.gpus if found else None


def accelerator(cloud: str, name: str) -> str | None:
    """Return the name of the GPUs of Google's machine type; None without any."""
    listed = tables_of(cloud)["accelerators"].items()
    return next((kind for kind, line in listed if kind.startswith("nvidia-") and name in row(line)), None)


def cpu(cloud: str, name: str) -> int | None:
    """Return the vCPUs of a machine in millicores; None if unknown."""
    found = machine(cloud, name)
    return found.vcpus * 1000 if found and found.vcpus else None


@cache
def memory(cloud: str, name: str) -> int | None:
    """Return the nominal memory of a machine in bytes; None if unknown."""
    found, tables = machine(cloud, name), tables_of(cloud)
    custom = _CUSTOM.search(name)
    if custom and "shared_core" in tables:
        return int(custom[2]) << 20
    if found is None or found.vcpus is None:
        return None
    key, entry = _spelling(tables, name)
    listed = row(tables.get("memory", {}).get(key, "")).get(entry)
    if listed is not None:
        return int(listed) << 20
    each = _memory_per_vcpu(cloud).get(key)
    return None if each is None else int(each * found.vcpus * 2**30)


def _spelling(tables: Tables, name: str) -> tuple[str, str]:
    """Return the keys of a type in the memory tables: of types like it, and its own."""
    if "shared_core" in tables:
        return re.sub(r"-\d+(?=-|$)", "", re.sub(r"-\d+[gt]\b", "-{n}", name)), name
    if "exceptions" in tables:
        size = _size(name)
        return _pattern(size), size
    return _by_family(name)


def _by_family(name: str) -> tuple[str, str]:
    """Split a type of Amazon or Alibaba Cloud into family and size."""
    family, _, size = name.removeprefix("ecs.").removeprefix("ml.").rpartition(".")
    return family, size


@cache
def _memory_per_vcpu(cloud: str) -> dict[str, float]:
    groups = tables_of(cloud).get("memory_per_vcpu", {})
    return {key: float(each) for each, keys in groups.items() for key in keys}


def _entry(cloud: str, table: _Sizes, name: str) -> str | None:
    """Return the value of a machine type in a table of `instances.yaml`."""
    family, size = _by_family(name)
    return row(tables_of(cloud).get(table, {}).get(family, "")).get(size) or None


def _by_size(cloud: str, name: str) -> Machine:
    """Read a type of Amazon or Alibaba Cloud: family.size."""

    def number(table: _Sizes) -> int | None:
        text = _entry(cloud, table, name)
        return None if text is None else int(text)

    return Machine(number("vcpus"), number("gpus"), number("efa") or 0, number("nvme") or 0)


_CUSTOM = regex(r"(?:^|-)custom-(\d{1,9})-(\d{1,9})")
"""A Google type with vCPUs and MiB chosen by the user."""


def _by_third_part(tables: Tables, name: str) -> Machine:
    """Read a Google type: vCPUs are the third part of the name, or in a table."""
    listed = _listed(tables["accelerators"], name)
    if listed is not None:
        return listed
    if name in tables["shared_core"]:
        return Machine(tables["shared_core"][name], None)
    match = _CUSTOM.search(name) or re.fullmatch(r"\w+-(?:[a-z]\w*-)?(\d{1,9})(?:-\w+){0,2}", name)
    return Machine(int(match[1]) if match else None, None)


def _by_first_number(cloud: str, name: str) -> Machine:
    """Read an Azure type, whose name has its vCPUs first."""
    tables, size = tables_of(cloud), _size(name)
    listed = _listed(tables["families"], size)
    if listed is not None:
        return listed
    if size in tables["exceptions"]:
        return Machine(tables["exceptions"][size], None)
    match = re.match(r"[A-Z]+(\d{1,9})", size)
    return Machine(int(match[1]) if match and family(cloud, name) else None, None)


def _listed(tables: dict[str, str], name: str) -> Machine | None:
    """Find a type in tables of `type vcpusxgpus`."""
    value = next((found for line in tables.values() if (found := row(line).get(name)) is not None), None)
    if value is None:
        return None
    vcpus, _, gpus = value.partition("x")
    return Machine(int(vcpus) if vcpus else None, int(gpus) if gpus else None)


_PROMOTION = "_Promo"


def _size(name: str) -> str:
    """Return an Azure size as in the tables, without the suffix of a promotion."""
    return name.removeprefix("Standard_").removesuffix(_PROMOTION)


def _pattern(size: str) -> str:
    """Replace the vCPUs of an Azure size by {n}."""
    return re.sub(r"\d+(?:-\d+)?", "{n}", size, count=1)


@cache
def family(cloud: str, name: str) -> str | None:
    """Return the quota family of an Azure machine type; None if unknown."""
    tables, size = tables_of(cloud), _size(name)
    promotion = re.match(r"[A-Z]+", size) if name.endswith(_PROMOTION) else None
    if promotion is not None:
        return tables["promotions"].get(promotion[0])
    for key, line in tables["families"].items():
        if size in row(line):
            return key
    pattern = _pattern(size)
    for key, patterns in tables["patterns"].items():
        if pattern in patterns or pattern in [text.replace("{n}-{m}", "{n}") for text in patterns]:
            return key
    return None


def families(cloud: str) -> frozenset[str]:
    """Return the quota families of all Azure machine types."""
    tables = tables_of(cloud)
    return frozenset((*tables["promotions"].values(), *tables["families"], *tables["patterns"]))


@cache
def price(
    cloud: str, name: str, *, spot: bool, attached: tuple[int | None, str] = (0, ""), region: str = ""
) -> Price | None:
    """Find a machine's list price with `attached` accelerators; None if unlisted.

    Without a spot price in the list, spot machines cost as much as on demand, and their market says so.
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
        own = _prices(cloud, market, region).get(name.removeprefix("Standard_").removeprefix("ecs.").lower())
        if own is not None:
            unlisted = spot and market != "spot"
            where = own[1] if region in ("", own[1]) else f"{own[1]} for {region}"
            return Price(own[0] + added, machine, "on demand, no spot price known" if unlisted else market, where)
    return None


@cache
def _prices(cloud: str, market: str, region: str) -> dict[str, tuple[int, str]]:
    """Map machine types to list prices, those of near regions first.

    Names are in lower case, since Azure accepts any case.
    """
    own = profiles.prices(cloud)
    found: dict[str, tuple[int, str]] = {}
    tables = (*own.elsewhere, own) if own is not None else ()
    for table in sorted(tables, key=lambda one: (one.region == region, one.region[:6] == region[:6], one is own)):
        for group in (table.spot if market == "spot" else table.on_demand).values():
            found |= {name.lower(): (price, table.region) for name, price in group.items()}
    return found


def quotas(cloud: str, name: str, *, spot: bool, accelerator: str = "") -> list[Quota]:
    """List the account quotas that nodes of a machine type count against."""
    market, kind = "spot" if spot else "on-demand", f"{name} {accelerator}".rstrip()
    result = []
    for key, entry in profiles.quotas(cloud).items():
        if entry["market"] in ("any", market) and re.search(entry["types"], kind):
            code, title = entry["code"], entry["name"]
            if "{family}" in code:
                own = family(cloud, name)
                if own is None:
                    continue
                code, title = own, title.format(family=own)
            result.append(Quota(key, code, title, entry["counts"], entry.get("of", "region")))
    return result


# --- machine types of other clouds that do the same work


class Equivalent(NamedTuple):
    """A machine type, and what it shares with another: `8 x H100 80 GB`."""

    machine: str
    common: str


class _Equivalents(TypedDict):
    gpus: dict[str, dict[str, str]]
    general: dict[str, str]


@cache
def _equivalents() -> _Equivalents:
    data: _Equivalents = profiles.load_own("any", "equivalents")
    return data


def equivalent(cloud: str, name: str, other: str) -> Equivalent | None:
    """Find another cloud's machine type with the same GPUs or enough vCPUs."""
    found = machine(cloud, name)
    if found is None:
        return None
    if found.gpus:
        return _with_gpus(cloud, name, found.gpus, other)
    types = _equivalents()["general"].get(other, "").split()
    sizes = [(one.vcpus, kind) for kind in types if (one := machine(other, kind)) and one.vcpus]
    fitting = [(vcpus, kind) for vcpus, kind in sizes if vcpus >= (found.vcpus or vcpus + 1)]
    return Equivalent(min(fitting)[1], f"{min(fitting)[0]} vCPUs") if fitting else None


def _with_gpus(cloud: str, name: str, count: int, other: str) -> Equivalent | None:
    own = model(cloud, name)
    types = _equivalents()["gpus"][own].get(other, "").split() if own else []
    first = next((kind for kind in types if gpus(other, kind) == count), None)
    return Equivalent(first, f"{count} x {own}") if first else None


def model(cloud: str, name: str) -> str | None:
    """Return the GPU model of a machine; None if it is not in the tables."""
    every = _equivalents()["gpus"].items()
    return next((own for own, types in every if name in types.get(cloud, "").split()), None)
