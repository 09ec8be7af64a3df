"""Find `kcheck.yaml` or `[tool.kcheck]`, validate it, and make a Config."""

from __future__ import annotations

import datetime
import os
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict

from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import Accepted, Config, ConfigError, Environment, Tier, Usage
from kcheck.config.locations import TABLE, find_file
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, around, remedy
from kcheck.text.files.disk import Disk, TooLargeError
from kcheck.text.partly_known import possible, wrap
from kcheck.text.scalars import to_number
from kcheck.text.syntax.scan import toml_key_line, toml_table
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.text.files.boundary import Boundary
    from kcheck.text.values import DatumValue


def load(paths: Iterable[str], named: str | None = None, disk: Disk | None = None) -> Config:
    """The settings of the file that is closest to the paths, upwards; the defaults if there is none.

    Raises:
        ConfigError: as for `load_file`.
    """
    given = tuple(paths)
    disk = disk or Disk()
    found = named or find_file(given, disk)
    if found is None:
        return Config()
    return load_file(found, disk, disk.boundary or around(given or (".",)), is_named=named is not None)


def load_file(found: str, disk: Disk, boundary: Boundary, *, is_named: bool) -> Config:
    """The settings of a file, which is the user's own if it `is_named` by the command line and outside the boundary.

    Raises:
        ConfigError: the file cannot be read, says something that no setting takes, or names what is outside.
    """
    disk = Disk(disk.overlay, boundary.widened([found]))
    if disk.is_outside(found):
        raise ConfigError(f"{found}: it leads out of the repository, and is not read")
    try:
        content = disk.read(found)
    except TooLargeError as error:
        raise ConfigError(f"{found}: too large for a settings file") from error
    if content is None:
        raise ConfigError(f"{found}: no such file, or it cannot be read")
    source = Source(os.path.relpath(found).replace(os.sep, "/"), content)
    data = _toml(source) if found.endswith(".toml") else schemas.document(source)
    schemas.check(data, "settings", "setting", "the settings")
    config = _config(data, os.path.dirname(found))
    folder = os.path.dirname(system.real_path(found))
    paths_outside = [(name, path) for name, path in config.paths() if not boundary.holds(system.real_path(path))]
    if not is_named or boundary.holds(folder):  # not the user's own settings: they run nothing, and lead nowhere else
        config = replace(config, render_refused=bool(config.render))
        own = boundary if boundary.holds(folder) else around([folder])
        for name, path in paths_outside:
            if not own.holds(system.real_path(path)):
                place = config.places.get(name, found)
                raise ConfigError(f"{place}: {name}: {path} is {REASON}; {remedy(path)}")
    return replace(config, boundary=boundary.widened(path for _, path in paths_outside))


# --- reading


def _toml(source: Source) -> Known[DatumValue]:
    import tomllib

    try:
        data = tomllib.loads(source.data.decode("utf-8"), parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source.path}: not TOML: {error}") from error
    start = toml_table(source.data, TABLE) or 0
    end = source.data.find(b"\n", start)
    table = Origin((source.span(start, end if end >= 0 else len(source.data)),))
    settings = data.get("tool", {}).get("kcheck", {})
    if not isinstance(settings, dict):
        raise ConfigError(f"{source.path}: [tool.kcheck] must be a table")
    # TOML allows dashes where YAML has underscores; the library tells no places, so keys are looked for
    parts = {
        name.replace("-", "_"): wrap(_text_days(value), Origin((line,)) if line else table)
        for name, value in settings.items()
        for line in (toml_key_line(source, TABLE, name, start),)
    }
    return Known(parts, table)


def _finite(text: str) -> Fraction:
    try:
        return Fraction(to_number(text.replace("_", "")))
    except ValueError:
        raise ValueError(f"`{text}` is not a number that kcheck reads") from None


def _text_days(value: object) -> object:
    """TOML's days as text, as YAML has them."""
    if isinstance(value, dict):
        return {key: _text_days(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_text_days(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


# --- making


class _Cluster(TypedDict, total=False):
    """An entry of `clusters`."""

    root: str
    name: str
    var_files: list[str]
    manifests: list[str]
    nodes: int
    price: Fraction
    workspace: str
    simulation: dict[str, str | Fraction]


class _Limit(TypedDict):
    """A number of `limits`."""

    value: int


class _Tier(TypedDict, total=False):
    """A tier of `usage`."""

    priority_classes: list[str]
    labels: dict[str, str]
    cpu_percentile: Fraction
    cpu_buffer: Fraction
    memory_buffer: Fraction


class _Usage(TypedDict, total=False):
    """What was measured, and how it is used."""

    recording: str
    window: str
    tiers: dict[str, _Tier]
    labels: dict[str, list[str]]


class _Settings(TypedDict, total=False):
    """The contents of a settings file, as in `settings.schema.json`."""

    nodes: int
    price: Fraction
    workspace: str
    var_files: list[str]
    module_dirs: list[str]
    clusters: list[_Cluster]
    exclude: list[str]
    select: list[str]
    ignore: list[str]
    per_path_ignores: dict[str, list[str]]
    not_ignorable: list[str]
    severity: dict[str, str]
    limits: dict[str, _Limit]
    mirrors: dict[str, str]
    simulation: dict[str, str | Fraction]
    usage: _Usage
    rules: list[str]
    baseline: str
    render: str
    helm_values: list[str]
    fail_on: str


def _config(data: Known[DatumValue], folder: str) -> Config:
    values: _Settings = plain(data)
    members = data.value if isinstance(data.value, dict) else {}
    places = {name: member.origin.written.location for name, member in members.items() if member.origin}

    def near(path: str) -> str:
        return os.path.normpath(os.path.join(folder, path)).replace(os.sep, "/")

    def paths(written: list[str] | None) -> tuple[str, ...]:
        return tuple(map(near, written or ()))

    nodes, price = values.get("nodes"), values.get("price")
    environments = []
    for table in values.get("clusters", ()):
        files, own = paths(table.get("var_files")), table.get("price")
        workspace = table.get("workspace", "")
        label = table.get("name") or (os.path.basename(files[-1]).partition(".")[0] if files else workspace)
        cents = None if own is None else round(own * 100)
        environment = Environment(
            near(table["root"]), label, files, paths(table.get("manifests")),
            nodes=table.get("nodes"), price=cents, workspace=workspace, simulation=_simulation(table),
        )  # fmt: skip
        environments.append(environment)
    for one in environments:
        if sum((one.root, one.name) == (other.root, other.name) for other in environments) > 1:
            raise ConfigError(f"{places['clusters']}: clusters: two entries for {one.root} need different names")
    suppressions = possible(members.get("suppressions"))
    accepted = [_accepted(item, near) for item in suppressions if isinstance(item, Known)]
    per_path = {near(path): tuple(names) for path, names in values.get("per_path_ignores", {}).items()}
    baseline = values.get("baseline")
    return Config(
        nodes={"": nodes} if nodes else {},
        workspace=values.get("workspace", ""),
        var_files=paths(values.get("var_files")),
        price=None if price is None else round(price * 100),
        environments=tuple(environments),
        exclude=paths(values.get("exclude")),
        select=tuple(values.get("select", ())),
        ignore=tuple(values.get("ignore", ())),
        per_path_ignores=per_path,
        not_ignorable=tuple(values.get("not_ignorable", ())),
        severity=values.get("severity", {}),
        limits=_limits(values.get("limits", {})),
        mirrors={registry: mirror.rstrip("/") for registry, mirror in values.get("mirrors", {}).items()},
        rules=paths(values.get("rules")),
        accepted=tuple(accepted),
        baseline=near(baseline) if baseline else "",
        render=values.get("render", ""),
        helm_values=paths(values.get("helm_values")),
        fail_on=values.get("fail_on", "warning"),
        module_dirs=paths(values.get("module_dirs")),
        simulation=_simulation(values),
        usage=_usage(values.get("usage", {}), near),
        places=places,
    )


def _simulation(table: _Settings | _Cluster) -> dict[str, str | float]:
    """The measured delays of all clusters, or of one."""
    written = table.get("simulation", {})
    return {name: value if isinstance(value, str) else float(value) for name, value in written.items()}


def _usage(table: _Usage, near: Callable[[str], str]) -> Usage:
    """What was measured, and how it is used."""
    recording = table.get("recording")
    tiers = (
        Tier(
            name,
            tuple(one.get("priority_classes", ())),
            one.get("labels", {}),
            cpu_percentile=_percent(one.get("cpu_percentile")),
            cpu_buffer=_percent(one.get("cpu_buffer")),
            memory_buffer=_percent(one.get("memory_buffer")),
        )
        for name, one in table.get("tiers", {}).items()
    )
    labels = {name: tuple(found) for name, found in table.get("labels", {}).items()}
    return Usage(near(recording) if recording else "", table.get("window", ""), tuple(tiers), labels)


def _percent(written: Fraction | None) -> float | None:
    return None if written is None else float(written)


def _limits(table: dict[str, _Limit]) -> dict[str, int]:
    """The numbers by `<cloud>.<group>.<name>`: one without a cloud is that of each cloud which has it."""
    from kcheck.config.numbers import profiles  # few raise a limit
    from kcheck.config.numbers.clouds import owners

    found: dict[str, int] = {}
    own: dict[str, int] = {}
    for written, limit in table.items():
        name = written.removeprefix("limits.")
        if name.partition(".")[0] in owners():
            own[name] = limit["value"]
        else:
            names = profiles.entries(f"limits.{name}") or [f"limits.{name}"]
            found |= {full.removeprefix("limits."): limit["value"] for full in names}
    return found | own


def _accepted(item: Known[DatumValue], near: Callable[[str], str]) -> Accepted:
    table = plain(item)
    place = item.origin.written
    expires = table.get("expires")
    try:
        day = datetime.date.fromisoformat(expires) if expires else None
    except ValueError as error:
        raise ConfigError(f"{place.location}: suppressions: {expires} is not a date") from error
    path = near(table["path"]) if "path" in table else ""
    return Accepted(table["rule"], path, table["reason"], day, place)
