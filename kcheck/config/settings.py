"""Find `kcheck.yaml` or `[tool.kcheck]`, validate it, and make a Config."""

import datetime
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from msgspec import convert
from msgspec.structs import replace

from kcheck.config import schemas
from kcheck.config.config import Accepted, Config, ConfigError, Environment, Usage, Written
from kcheck.config.locations import TABLE, find_file
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, Boundary, around, remedy
from kcheck.text.files.disk import Disk, TooLargeError
from kcheck.text.partly_known import plain, possible, wrap
from kcheck.text.scalars import to_number
from kcheck.text.syntax.scan import toml_key_line, toml_table
from kcheck.text.text import Source
from kcheck.text.values import DatumValue, Known, Origin


def load(paths: Iterable[str], named: str | None = None, disk: Disk | None = None) -> Config:
    """Load the nearest settings file above the paths, or defaults.

    Raises ConfigError as for `load_file`.
    """
    given = tuple(paths)
    disk = disk or Disk()
    found = named or find_file(given, disk)
    if found is None:
        return Config()
    return load_file(found, disk, disk.boundary or around(given or (".",)), is_named=named is not None)


def load_file(found: str, disk: Disk, boundary: Boundary, *, is_named: bool) -> Config:
    """Load a settings file; `is_named` ones may be outside the boundary.

    Other settings render no charts, and cannot name paths outside. Raises ConfigError if the file cannot be read, or
    with all mistakes in it: invalid settings, missing paths, paths outside.
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
    data, wrong = schemas.right(data, "settings", "setting", "the settings")
    config = _config(data, os.path.dirname(found))
    folder = os.path.dirname(system.real_path(found))
    paths_outside = [(name, path) for name, path in config.paths() if not boundary.holds(system.real_path(path))]
    own = boundary.widened(path for _, path in paths_outside)
    if not is_named or boundary.holds(folder):  # not the user's own settings: they run nothing, and lead nowhere else
        config = replace(config, render_refused=bool(config.render))
        own = boundary if boundary.holds(folder) else around([folder])
    named = list(_mistakes(config, Disk(disk.overlay, own)))
    if mistakes := [*wrong, *(f"{config.places.get(name, found)}: {name}: {text}" for name, text in named)]:
        raise ConfigError(*mistakes, rest=None if any(name == "rules" for name, _ in named) else config)
    return replace(config, boundary=boundary.widened(path for _, path in paths_outside))


def _mistakes(config: Config, disk: Disk) -> Iterator[tuple[str, str]]:
    """Yield clusters with one name, and paths that lead outside, or nowhere."""
    roots = Counter((one.root, one.name) for one in config.environments)
    yield from (("clusters", f"two entries for {root} need different names") for (root, _), n in roots.items() if n > 1)
    patterns = (pattern for one in config.environments for pattern in one.manifests)
    later = {config.baseline, config.usage.recording, *patterns}
    for name, path in dict.fromkeys(config.paths()):
        if disk.is_outside(path):
            yield name, f"{path} is {REASON}; {remedy(path)}"
        elif path not in later and not (disk.is_file(path) or disk.is_folder(path)):
            yield name, f"there is no {path}"


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
    """Convert TOML's dates to text, as in YAML."""
    if isinstance(value, dict):
        return {key: _text_days(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_text_days(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


# --- making


_FILES = {"var_files", "module_dirs", "exclude", "rules", "helm_values"}
"""Settings that are lists of paths."""


def _config(data: Known[DatumValue], folder: str) -> Config:
    values: Written = plain(data)
    members = data.value if isinstance(data.value, dict) else {}
    places = {name: member.origin.written.location for name, member in members.items() if member.origin}

    def near(path: str) -> str:
        return os.path.normpath(os.path.join(folder, path)).replace(os.sep, "/")

    made = {
        **{name: list(map(near, values[name])) for name in _FILES & values.keys()},
        "nodes": {"": values["nodes"]} if values.get("nodes") else {}, "price": _cents(values.get("price")),
        "environments": [environment(table, near) for table in values.get("clusters", ())],
        "limits": _limits(values.get("limits", {})),
        "per_path_ignores": {near(path): names for path, names in values.get("per_path_ignores", {}).items()},
        "mirrors": {registry: mirror.rstrip("/") for registry, mirror in values.get("mirrors", {}).items()},
        "accepted": [_accepted(one, near) for one in possible(members.get("suppressions")) if isinstance(one, Known)],
        "baseline": near(values["baseline"]) if values.get("baseline") else "",
        "simulation": _floats(values.get("simulation", {})), "usage": _usage(values.get("usage", {}), near),
        "places": places,
    }  # fmt: skip
    return convert({**values, **made}, Config)


def environment(table: Written, near: Callable[[str], str]) -> Environment:
    """Build an environment from its settings; `near` resolves its paths."""
    files, workspace = list(map(near, table.get("var_files", ()))), table.get("workspace", "")
    name = table.get("name") or (os.path.basename(files[-1]).partition(".")[0] if files else workspace)
    made = {
        "root": near(table["root"]), "name": name, "var_files": files, "price": _cents(table.get("price")),
        "manifests": list(map(near, table.get("manifests", ()))), "simulation": _floats(table.get("simulation", {})),
    }  # fmt: skip
    return convert({**table, **made}, Environment)


def _cents(dollars: Fraction | None) -> int | None:
    return None if dollars is None else round(dollars * 100)


def _floats(table: Written) -> Written:
    return {name: float(value) if isinstance(value, int | Fraction) else value for name, value in table.items()}


def _usage(table: Written, near: Callable[[str], str]) -> Usage:
    recording = table.get("recording")
    tiers = [{"name": name, **_floats(one)} for name, one in table.get("tiers", {}).items()]
    return convert({**table, "recording": near(recording) if recording else "", "tiers": tiers}, Usage)


def _limits(table: dict[str, dict[str, int]]) -> dict[str, int]:
    """Read limits by `<cloud>.<group>.<name>`; the cloud may be left out."""
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
    day = datetime.date.fromisoformat(expires) if expires else None
    path = near(table["path"]) if "path" in table else ""
    return Accepted(table["rule"], path, table["reason"], day, place)
