"""Which repositories a fleet has: folders, patterns of folders, or a file that lists them and says whose they are."""

from __future__ import annotations

import glob
import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from kcheck.addons.fleet.declared_limits import Stated, stated
from kcheck.addons.fleet.task import Settings
from kcheck.config import schemas
from kcheck.config.config import ConfigError, Environment
from kcheck.text.files import system
from kcheck.text.text import Source
from kcheck.text.values import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from kcheck.text.values import DatumValue, Known

_MOST_BYTES = 20_000_000
"""Of a list."""


class Surroundings(Struct, frozen=True):
    """What clusters share with those of other repositories: names that mean the same everywhere; empty if not said."""

    account: str = ""
    region: str = ""
    network: str = ""
    egress: str = ""

    def over(self, other: Surroundings) -> Surroundings:
        """These, with what another one says where they say nothing."""
        return Surroundings(
            self.account or other.account, self.region or other.region, self.network or other.network,
            self.egress or other.egress,
        )  # fmt: skip


class Repository(Struct, frozen=True):
    """A checkout. `name` is its own in the fleet, `folder` absolute.

    `surroundings` are those of its environments, by root module and name; those under ("", "") are of the rest.
    """

    name: str
    folder: str
    owner: str = ""
    settings: Settings = Settings()
    surroundings: dict[tuple[str, str], Surroundings] = {}

    def around(self, root: str, environment: str) -> Surroundings:
        """What is said of the clusters of a root module in an environment."""
        return self.surroundings.get((root, environment)) or self.surroundings.get(("", "")) or Surroundings()


class _Environment(TypedDict, total=False):
    root: str
    name: str
    var_files: list[str]
    manifests: list[str]
    nodes: int
    price: Fraction
    workspace: str
    account: str
    region: str
    network: str
    egress: str


class _Entry(TypedDict, total=False):
    path: str
    name: str
    owner: str
    roots: list[str]
    nodes: int
    price: Fraction
    var_files: list[str]
    account: str
    region: str
    network: str
    egress: str
    environments: list[_Environment]


class Fleet(NamedTuple):
    """Repositories, and what lists say of the limits that their clusters share."""

    repositories: list[Repository]
    limits: Stated


class Common(NamedTuple):
    """What holds for all repositories: the target where none has its own, folders of rules and copies of modules."""

    nodes: int | None = None
    rules: tuple[str, ...] = ()
    module_dirs: tuple[str, ...] = ()

    def of(self, settings: Settings) -> Settings:
        """The settings of a repository with these."""
        return replace(
            settings,
            nodes=settings.nodes or ((str(self.nodes),) if self.nodes is not None else ()),
            rules=tuple(map(os.path.abspath, self.rules)),
            module_dirs=tuple(map(os.path.abspath, self.module_dirs)),
        )


def fleet(paths: Iterable[str], common: Common | None = None) -> Fleet:
    """The repositories of folders, patterns and lists, each once, in order.

    Raises:
        ConfigError: a path leads to nothing, a list makes no sense, or two repositories have one name.
    """
    found: dict[str, Repository] = {}
    limits = Stated()
    for path in paths:
        matched = _matched(path)
        if path.endswith((".yaml", ".yml")) and os.path.isfile(path):
            data = _list(path)
            matched, limits = _listed(path, data), stated(data).over(limits)
        for one in matched:
            found[system.real_path(one.folder)] = (
                one if common is None else replace(one, settings=common.of(one.settings))
            )
    return Fleet(_named(list(found.values())), limits)


def _matched(path: str) -> Iterator[Repository]:
    """The folders of a path or a pattern, without names.

    Raises:
        ConfigError: there is none.
    """
    folders = [path] if os.path.isdir(path) else sorted(filter(os.path.isdir, glob.iglob(path)))
    if not folders:
        raise ConfigError(f"{path}: no such folder, list (.yaml), or pattern of folders")
    for folder in folders:
        yield Repository("", os.path.abspath(folder))


def _list(path: str) -> Known[DatumValue]:
    """What a list says.

    Raises:
        ConfigError: it makes no sense.
    """
    try:
        source = Source(path, system.head(path, _MOST_BYTES))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    data = schemas.document(source)
    schemas.check(data, "fleet", "key", "the list of a fleet")
    return data


def _listed(path: str, data: Known[DatumValue]) -> Iterator[Repository]:
    """The repositories of a list.

    Raises:
        ConfigError: it makes no sense.
    """
    entries: list[_Entry] = plain(data)["repositories"]
    if not entries:
        raise ConfigError(f"{path}: it lists no repository")
    for entry in entries:
        matched = list(_matched(os.path.join(os.path.dirname(path), entry["path"])))
        if len(matched) > 1 and "name" in entry:
            raise ConfigError(f"{path}: {entry['path']} is {len(matched)} folders; name: is for one")
        for one in matched:
            yield _entry(one, entry)


def _entry(one: Repository, entry: _Entry) -> Repository:
    environments = tuple(map(_environment, entry.get("environments", ())))
    settings = Settings(
        roots=tuple(entry.get("roots", ())),
        nodes=(str(entry["nodes"]),) if "nodes" in entry else (),
        price=str(float(entry["price"])) if "price" in entry else "",
        var_files=tuple(entry.get("var_files", ())),
        environments=environments,
    )
    own = _surroundings(entry)
    around = {("", ""): own}
    for made, written in zip(environments, entry.get("environments", ()), strict=True):
        around[made.root, made.name] = _surroundings(written).over(own)
    return replace(
        one, name=entry.get("name", ""), owner=entry.get("owner", ""), settings=settings, surroundings=around
    )


def _environment(written: _Environment) -> Environment:
    files, price = tuple(written.get("var_files", ())), written.get("price")
    return Environment(
        os.path.normpath(written["root"]),
        written.get("name") or (os.path.basename(files[-1]).partition(".")[0] if files else ""),
        files,
        tuple(written.get("manifests", ())),
        nodes=written.get("nodes"),
        price=None if price is None else round(price * 100),
        workspace=written.get("workspace", ""),
    )


def _surroundings(written: _Entry | _Environment) -> Surroundings:
    return Surroundings(
        written.get("account", ""), written.get("region", ""), written.get("network", ""), written.get("egress", "")
    )


def _named(found: list[Repository]) -> list[Repository]:
    """The repositories, each with a name: as much of the end of its path as no other one has.

    Raises:
        ConfigError: two have one name.
    """
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
            raise ConfigError(f"{seen[one.name]} and {one.folder} are both called {one.name}; give one a name:")
    return named
