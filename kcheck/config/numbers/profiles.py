"""Limits and settings of each cloud, with unit, source, date and confidence."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert
from msgspec.structs import replace

from kcheck.config.numbers.clouds import folder, owners
from kcheck.text import bundled
from kcheck.text.bundled import PROFILES

if TYPE_CHECKING:  # the shapes of the files: nothing asks for them in a run, and making one takes 0.1 ms
    from collections.abc import Mapping
    from typing import NotRequired, TypedDict

    class FieldEntry(TypedDict):
        """A field: `path` has its spellings, `unset` names the setting used as default.

        `since`: first provider version with an attribute; `values_since`: first one with its values. `conflicts`:
        attributes that exclude it. `needs`: the `path` of an attribute that it requires, and how to set it.
        """

        path: str
        type: NotRequired[str]
        unset: NotRequired[str]
        since: NotRequired[dict[str, str]]
        values_since: NotRequired[str]
        conflicts: NotRequired[list[str]]
        say: NotRequired[str]
        needs: NotRequired[dict[str, str]]

    Growth = TypedDict("Growth", {"to": str, "from": str, "when": str, "role": str}, total=False)
    """Largest and smallest number of pods of an elastic role; all but `role` are paths."""

    class PodPlace(TypedDict, total=False):
        """Paths to the pod templates of a kind, as `workloads.yaml` explains."""

        at: str
        count: str
        most: str
        each: str
        list: str
        name: str
        times: str
        beside: str
        role: str
        open: bool
        shape: str
        grows: Growth

    class OtherClusters(TypedDict):
        """Resource types of clusters, judged or not, and their API groups."""

        judged: list[str]
        terraform: list[str]
        manifests: dict[str, list[str]]

    class WorkloadKind(TypedDict):
        """A kind that runs pods."""

        pods: list[PodPlace]
        makes: NotRequired[dict[str, str]]
        per_node: NotRequired[bool]
        batch: NotRequired[bool]
        rigid: NotRequired[bool | str]

    class Mechanism(TypedDict):
        """A kind of wall: its limits, its words, and how to move it."""

        what: str
        limits: list[str]
        inputs: list[str]
        move: str

    class Quota(TypedDict):
        """A quota of an account, as the head of `quotas.yaml` explains."""

        code: str
        name: str
        counts: str
        types: str
        market: str
        default: int | None
        note: NotRequired[str]
        of: NotRequired[str]

    class SkeletonEntry(TypedDict):
        """The skeleton for some versions of a published module."""

        file: str
        versions: str
        providers: dict[str, str]
        defaults: NotRequired[dict[str, object]]
        lacks: NotRequired[list[str]]

    class ModuleEntry(TypedDict):
        """A published module in `modules.yaml`."""

        repository: str
        declares: list[str]
        skeletons: list[SkeletonEntry]
        whole: NotRequired[bool]

    class KindEntry(TypedDict):
        """Signs of a module that creates objects of a kind."""

        words: list[str]
        arguments: list[str]

    class StandInEntry(TypedDict):
        """The stand-in of a module without code, from `unread.yaml`."""

        file: str
        provider: str
        cloud: list[str]
        words: list[str]
        partial: bool
        unlike: list[str]
        needs: list[list[str]]
        inputs: dict[str, list[str]]

    class UnreadModules(TypedDict):
        """Signs that identify modules without code."""

        ignored: list[str]
        handed: list[str]
        kinds: dict[str, KindEntry]
        stand_ins: list[StandInEntry]

    class Flag(TypedDict, total=False):
        """A flag; `flags.yaml` explains the keys."""

        type: str
        default: int | str | bool
        before: dict[int, int | str | bool]
        first: str | list[str]
        removed: str
        successor: str

    class FlagFile(TypedDict):
        """Flags of the cluster autoscaler, with the keys of `HEAD`."""

        fields: dict[str, list[str]]
        flags: dict[str, Flag]


class ProfileValue(Struct, frozen=True):
    """A number of a profile; `value` is None if it depends on the account.

    `code` requests a higher quota in the provider's console. `source_dated`: day of the newest source, or `unknown`.
    """

    key: str
    value: int | str | bool | None
    unit: str
    kind: str
    sources: tuple[str, ...]
    checked: str
    confidence: str
    scope: str = ""
    note: str = ""
    code: str = ""
    source_dated: str = "unknown"

    @property
    def seen(self) -> str:
        """Day of its newest source; if unknown, and for advice, the day it was checked."""
        return self.checked if self.source_dated == "unknown" or self.kind == "recommended" else self.source_dated

    @property
    def number(self) -> int:
        """The value as an integer."""
        if not isinstance(self.value, int):
            raise TypeError(f"{self.key} is {self.value!r}, no number")
        return self.value

    @property
    def text(self) -> str:
        """The value as a text."""
        if not isinstance(self.value, str):
            raise TypeError(f"{self.key} is {self.value!r}, not a string")
        return self.value


HEAD = ("sources", "checked", "source_dated", "confidence")
"""Keys in the head of a table that describe its sources."""


def provenance(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of `HEAD` of an entry or a table."""
    return {key: tuple(data[key]) if key == "sources" else data[key] for key in HEAD if key in data}


def load_own(cloud: str, name: str, document: int = 0) -> Any:
    """Load a bundled file of a cloud; empty if it has none."""
    path = os.path.join(folder(cloud), f"{name}.yaml")
    return bundled.load(path, document) if os.path.exists(path) else {}


def load_table(path: str) -> Any:
    """Load a bundled table without the keys of its head; empty if there is none."""
    data = bundled.load(path) if os.path.exists(path) else {}
    return {key: value for key, value in data.items() if key not in HEAD}


@cache
def row(line: str) -> dict[str, str]:
    """Parse a line of a table: `type value`, separated by commas."""
    return dict(entry.partition(" ")[::2] for entry in line.split(", "))


@cache
def limits(cloud: str) -> dict[str, ProfileValue]:
    """Map `group.name` to the limits of a cloud and those of every cloud."""
    own = _entries(cloud, "limits") | _quotas(cloud) if cloud != "any" else {}
    return _entries("any", "limits") | own


def _quotas(cloud: str) -> dict[str, ProfileValue]:
    """Return account quotas as limits, named `quota.<key>`."""
    return {
        f"quota.{key}": ProfileValue(
            f"quota.{key}", entry["default"], unit=f"{entry['counts']} of {entry['code']}", kind="quota",
            scope="account", note=entry.get("note", ""), **provenance(entry),
        )
        for key, entry in quotas(cloud).items()
    }  # fmt: skip


@cache
def settings(cloud: str) -> dict[str, ProfileValue]:
    """Return the defaults of a cloud or its provider, by `group.name`."""
    return _entries(cloud, "settings")


@cache
def recommended(cloud: str) -> dict[str, ProfileValue]:
    """Return the values that `generate` writes, by `group.name`."""
    return _entries(cloud, "settings", 1)


def entries(name: str) -> dict[str, ProfileValue]:
    """Find numbers by `limits[.<cloud>].<group>.<name>`; return them by full name.

    `settings[.<cloud>].<group>.<name>`, `generate...` (what `kcheck generate` writes) and `flags.<name>` work too.
    Without a cloud, the numbers of all clouds match. A number of every cloud has the cloud `any`.
    """
    table, _, rest = name.partition(".")
    if table == "flags":
        found = flag_entry(rest)
        return {name: found} if found else {}
    read = {"limits": limits, "settings": settings, "generate": recommended}.get(table)
    if read is None:
        return {}
    cloud, _, key = rest.partition(".")
    clouds, key = ((cloud,), key) if cloud in owners() else (owners(), rest)
    shared = read("any")
    return {
        f"{table}.{'any' if shared.get(key) == entry else owner}.{key}": entry
        for owner in clouds
        if (entry := read(owner).get(key))
    }


@cache
def flag_file() -> FlagFile:
    """Load the flags of the cluster autoscaler."""
    data: FlagFile = load_own("any", "flags")
    return data


def flag_entry(name: str) -> ProfileValue | None:
    """Return an autoscaler flag with its newest default; None for another name."""
    file = flag_file()
    found = file["flags"].get(name)
    if found is None:
        return None
    changes = "; ".join(f"{value} before 1.{minor}" for minor, value in found.get("before", {}).items())
    own = provenance(file)
    return ProfileValue(f"--{name}", found["default"], unit=found["type"], kind="default", note=changes, **own)


def table(cloud: str) -> dict[str, dict[str, FieldEntry]]:
    """Return the fields of resources and manifests: resource -> field -> place."""
    return _tables(cloud)[0]


def oldest(cloud: str) -> dict[str, str]:
    """Return the oldest version of each provider that the tables cover."""
    return _tables(cloud)[1]


@cache
def _tables(cloud: str) -> tuple[dict[str, dict[str, FieldEntry]], dict[str, str]]:
    fields: dict[str, dict[str, FieldEntry]] = {}
    oldest: dict[str, str] = {}
    for name in ("terraform.yaml", "manifests.yaml"):
        path = os.path.join(folder(cloud), name)
        data = load_table(path)
        oldest |= data.pop("providers", {})
        fields |= data
    return fields, oldest


@cache
def workloads() -> dict[str, WorkloadKind]:
    """Return where each kind has its pods, by `group/Kind`."""
    data: dict[str, WorkloadKind] = load_table(os.path.join(PROFILES, "workloads.yaml"))
    return data


@cache
def mechanisms() -> dict[str, Mechanism]:
    """Return the kinds of walls: names, limits, and how to move them."""
    data: dict[str, Mechanism] = bundled.load(os.path.join(PROFILES, "mechanisms.yaml"))
    return data


def move(mechanism: str, cloud: str) -> str:
    """Return how to move a wall on a cloud."""
    return _moves(cloud).get(mechanism) or mechanisms()[mechanism]["move"]


@cache
def _moves(cloud: str) -> dict[str, str]:
    data: dict[str, str] = load_own(cloud, "moves")
    return data


@cache
def quotas(cloud: str) -> dict[str, Quota]:
    """Return the account quotas of a cloud."""
    data: dict[str, Quota] = load_own(cloud, "quotas")
    return data


class Prices(Struct, frozen=True):
    """List prices of one region in thousandths of a US dollar per hour.

    `accelerators`: those billed separately from the machine. `elsewhere`: tables of other regions, for types that this
    one does not sell. `currency`: that of the list; `rate`: its units per dollar.
    """

    region: str
    on_demand: dict[str, dict[str, int]]
    spot: dict[str, dict[str, int]]
    accelerators: dict[str, int]
    elsewhere: tuple[Prices, ...]
    currency: str
    rate: float


@cache
def prices(cloud: str) -> Prices | None:
    """Load the list prices of a cloud; None if there is no table."""
    data, others = load_own(cloud, "prices"), []
    if not data:
        return None
    rate = data.get("rate", 1)
    found = Prices(
        region=data["region"], on_demand=_grouped(data["on_demand"], rate), spot=_grouped(data.get("spot", {}), rate),
        accelerators=data.get("accelerators", {}), elsewhere=(), currency=data.get("currency", "USD"), rate=rate,
    )  # fmt: skip
    for region, tables in data.get("elsewhere", {}).items():
        on_demand, spot = (_grouped(tables.get(market, {}), rate) for market in ("on_demand", "spot"))
        others.append(replace(found, region=region, on_demand=on_demand, spot=spot, accelerators={}))
    return replace(found, elsewhere=tuple(others))


def _grouped(lines: dict[str, str], rate: float) -> dict[str, dict[str, int]]:
    """Parse lines of `type price` into thousandths of a dollar."""
    rows = {group: row(line).items() for group, line in lines.items()}
    return {group: {name: round(int(price) / rate) for name, price in prices} for group, prices in rows.items()}


@cache
def modules() -> dict[str, ModuleEntry]:
    """Return the published modules with skeletons, by source in the registry."""
    data: dict[str, ModuleEntry] = load_table(os.path.join(PROFILES, "modules.yaml"))
    return data


@cache
def unread_modules() -> UnreadModules:
    """Return the words and arguments that identify modules without code."""
    data: UnreadModules = bundled.load(os.path.join(PROFILES, "unread.yaml"))
    return data


@cache
def other_clusters() -> OtherClusters:
    """Return the types and kinds of clusters that kcheck names but does not judge."""
    data: OtherClusters = bundled.load(os.path.join(PROFILES, "other_clusters.yaml"))
    return data


def _entries(cloud: str, name: str, document: int = 0) -> dict[str, ProfileValue]:
    return {
        (key := f"{group}.{member}"): convert({"key": key, **fields}, ProfileValue)
        for group, members in load_own(cloud, name, document).items()
        for member, fields in members.items()
    }
