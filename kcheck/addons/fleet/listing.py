"""Repositories of a fleet: folders, patterns, or a list."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from kcheck.addons.fleet.outcomes import Settings
from kcheck.addons.fleet.tables import UseRow
from kcheck.config import schemas
from kcheck.config.config import ConfigError, Written, nearest
from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.config.settings import environment
from kcheck.text.files import system
from kcheck.text.partly_known import plain
from kcheck.text.text import Source
from kcheck.text.values import DatumValue, Known

_MOST_BYTES = 20_000_000
"""Of a list."""
_UNITS = "vpc.address_units"


class Surroundings(Struct, frozen=True):
    """Names of limits that clusters share with other repositories; empty if not given."""

    account: str = ""
    region: str = ""
    network: str = ""
    egress: str = ""

    def over(self, other: Surroundings) -> Surroundings:
        """Fill missing names from another one."""
        return replace(other, **{name: text for name, text in asdict(self).items() if text})


class Repository(Struct, frozen=True):
    """A checkout. `name` is unique in the fleet, `folder` absolute.

    `surroundings` are by root module and environment; those under ("", "") apply to all others.
    """

    name: str
    folder: str
    owner: str = ""
    settings: Settings = Settings()
    surroundings: dict[tuple[str, str], Surroundings] = {}

    def around(self, root: str, environment: str) -> Surroundings:
        """Return the surroundings of a root module in an environment."""
        return self.surroundings.get((root, environment)) or self.surroundings.get(("", "")) or Surroundings()


class Stated(Struct, frozen=True):
    """Limits by account, region (empty: all others) and name, and shared ones.

    `egress` are public addresses, `networks` address units, `reservations` nodes.
    """

    accounts: dict[tuple[str, str], dict[str, int]] = {}
    egress: dict[str, int] = {}
    networks: dict[str, int] = {}
    reservations: dict[str, int] = {}

    def over(self, other: Stated) -> Stated:
        """Fill missing limits from another list."""
        both = (*other.accounts, *self.accounts)
        accounts = {key: other.accounts.get(key, {}) | self.accounts.get(key, {}) for key in both}
        return Stated(
            accounts, other.egress | self.egress, other.networks | self.networks, other.reservations | self.reservations
        )

    def of_account(self, account: str, region: str, use: UseRow) -> int | None:
        """Return an account's quota in a region, by its code or its name."""
        own = [self.accounts.get(key, {}) for key in ((account, region), (account, ""))] if account else []
        found = (table[name] for table in own for name in (use.key, use.limit_name) if name in table)
        return next(found, None)

    def of_key(self, kind: str, key: str) -> int | None:
        """Return the size of a named egress, network or reservation."""
        if kind == "docker-hub" and key in self.egress:
            return self.egress[key] * profiles.limits("any")["docker_hub.pulls"].number
        return {"address-units": self.networks, "reservation": self.reservations}.get(kind, {}).get(key)


class Fleet(NamedTuple):
    """Repositories, and the limits their clusters share according to the lists."""

    repositories: list[Repository]
    limits: Stated


def fleet(
    paths: Iterable[str], nodes: int | None = None, rules: Iterable[str] = (), module_dirs: Iterable[str] = ()
) -> Fleet:
    """Find the repositories of folders, patterns and lists, each once, in order.

    All have the same folders of rules and copies of modules; `nodes` is the target of those that have none. Raises
    ConfigError if a path leads to nothing, a list makes no sense, or two repositories have one name.
    """
    found: dict[str, Repository] = {}
    limits, target = Stated(), (str(nodes),) if nodes is not None else ()
    folders = {"rules": tuple(map(os.path.abspath, rules)), "module_dirs": tuple(map(os.path.abspath, module_dirs))}
    for path in paths:
        matched = _matched(path)
        if path.endswith((".yaml", ".yml")) and os.path.isfile(path):
            data = _list(path)
            matched, limits = _listed(path, plain(data)["repositories"]), _stated(data).over(limits)
        for one in matched:
            settings = replace(one.settings, nodes=one.settings.nodes or target, **folders)
            found[system.real_path(one.folder)] = replace(one, settings=settings)
    return Fleet(_named(list(found.values())), limits)


def _matched(path: str) -> Iterator[Repository]:
    """List the folders that match a path or pattern; they have no names yet."""
    folders = [path] if os.path.isdir(path) else sorted(filter(os.path.isdir, glob.iglob(path)))
    if not folders:
        raise ConfigError(f"{path}: no such folder, list (.yaml), or pattern of folders")
    for folder in folders:
        yield Repository("", os.path.abspath(folder))


def _list(path: str) -> Known[DatumValue]:
    """Read a list."""
    try:
        source = Source(path, system.head(path, _MOST_BYTES))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    data = schemas.document(source)
    schemas.check(data, "fleet", "key", "the list of a fleet")
    return data


def _listed(path: str, entries: list[Written]) -> Iterator[Repository]:
    """Find the repositories in a list."""
    if not entries:
        raise ConfigError(f"{path}: the list has no repositories")
    for entry in entries:
        matched = list(_matched(os.path.join(os.path.dirname(path), entry["path"])))
        if len(matched) > 1 and "name" in entry:
            raise ConfigError(f"{path}: {entry['path']} matches {len(matched)} folders; name: needs one folder")
        for one in matched:
            yield _entry(one.folder, entry)


def _entry(folder: str, entry: Written) -> Repository:
    written = entry.get("environments", ())
    environments, own = tuple(environment(one, os.path.normpath) for one in written), convert(entry, Surroundings)
    settings = Settings(
        roots=tuple(entry.get("roots", ())), nodes=(str(entry["nodes"]),) if "nodes" in entry else (),
        price=str(float(entry["price"])) if "price" in entry else "", var_files=tuple(entry.get("var_files", ())),
        environments=environments,
    )  # fmt: skip
    around = {
        (made.root, made.name): convert(one, Surroundings).over(own)
        for made, one in zip(environments, written, strict=True)
    }
    return Repository(entry.get("name", ""), folder, entry.get("owner", ""), settings, {("", ""): own, **around})


def _named(found: list[Repository]) -> list[Repository]:
    """Name each repository by the shortest unique end of its path."""
    steps = 1
    left = [one for one in found if not one.name]
    names: dict[str, str] = {}
    while left:
        ends = {one.folder: "/".join(one.folder.replace(os.sep, "/").split("/")[-steps:]) for one in left}
        taken = Counter(ends.values())
        names |= {folder: end for folder, end in ends.items() if taken[end] == 1}
        left = [one for one in left if one.folder not in names]
        steps += 1
    named = [one if one.name else replace(one, name=names[one.folder]) for one in found]
    seen: dict[str, str] = {}
    for one in named:
        if seen.setdefault(one.name, one.folder) != one.folder:
            raise ConfigError(f"{seen[one.name]} and {one.folder} are both called {one.name}; set name: for one")
    return named


def _stated(data: Known[DatumValue]) -> Stated:
    """Return the shared limits in a list."""
    written: Written = plain(data)
    accounts: dict[tuple[str, str], dict[str, int]] = {}
    listed = written.get("accounts", [])
    names = _names() if listed else {}
    for i, one in enumerate(listed):
        own = accounts.setdefault((one["account"], one.get("region", "")), {})
        for name, number in one["limits"].items():
            if name not in names:
                hint = nearest(name, tuple(sorted(names)))
                place = dict(schemas.nodes_of(data))["accounts", i, "limits", name].origin.written
                raise ConfigError(f"{place.location}: accounts: no quota is called {name}; {hint}")
            own |= dict.fromkeys(names[name], number)
    return Stated(accounts, *(written.get(name, {}) for name in ("egress", "networks", "reservations")))


def _names() -> dict[str, list[str]]:
    """Map names of shared limits, as in kcheck.yaml or by quota code, to their keys."""
    found: dict[str, list[str]] = {}
    for cloud in CLOUDS:
        codes = {
            f"quota.{key}": one["code"] for key, one in profiles.quotas(cloud).items() if one.get("of") != "cluster"
        }
        codes |= {_UNITS: profiles.limits(cloud)[_UNITS].code} if _UNITS in profiles.limits(cloud) else {}
        for key, code in codes.items():
            for name in (f"{cloud}.{key}", key, code):
                found.setdefault(name, []).append(f"{cloud}.{key}")
            found |= {name: [name] for name in machines.families(cloud)} if "{family}" in code else {}
    return {name: keys for name, keys in found.items() if name and "{" not in name}
