"""Settings of a run, from flags and `kcheck.yaml`."""

import datetime
import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from kcheck.text.control_characters import visible
from kcheck.text.errors import Error
from kcheck.text.files.boundary import Boundary, contains_path, repository
from kcheck.text.text import Span
from kcheck.text.units import whole_number

MOST_NODES = 10**9
_MOST_CENTS = 10**8
Written = dict[str, Any]
"""A part of a file, which fits its schema."""


class ConfigError(Error):
    """Usage errors and remedies, a line each; `rest` are settings without them."""

    def __init__(self, *lines: str, rest: "Config | None" = None) -> None:
        self.lines, self.rest = tuple(sorted(map(visible, lines), key=_place)), rest
        super().__init__("\n".join(self.lines))


def _place(text: str) -> tuple[str, int]:
    """Return the file and line of a mistake; those without one come first."""
    path, line, *_ = *text.split(":", 2), ""
    return (path, int(line)) if line.isdecimal() else ("", 0)


class Environment(Struct, frozen=True):
    """A root module with its variables. `price` is in US cents per node-hour."""

    root: str
    name: str = ""
    var_files: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    nodes: int | None = None
    price: int | None = None
    workspace: str = ""
    simulation: dict[str, str | float] = {}


class Accepted(Struct, frozen=True):
    """A finding accepted in the settings, optionally for some files or until a date."""

    rule: str
    path: str
    reason: str
    expires: datetime.date | None
    place: Span


class RunRequest(Struct, frozen=True):
    """Inputs of simulated runs: seconds of work, MiB of images.

    `jobs` treats every cluster as one for jobs, whatever its code says. Without `savings`, findings do not state what
    their fix saves in a run, which takes most of the time.
    """

    duration: float | None = None
    image: float | None = None
    jobs: bool = False
    savings: bool = True


class Tier(Struct, frozen=True):
    """A tier of workloads, and how requests follow from usage, in percent.

    A workload is in it with one of its `classes`, or with all of its `labels`. None means as in the standard tier.
    """

    name: str
    classes: tuple[str, ...] = field(default=(), name="priority_classes")
    labels: dict[str, str] = {}
    cpu_percentile: float | None = None
    cpu_buffer: float | None = None
    memory_buffer: float | None = None


class Usage(Struct, frozen=True):
    """Measured usage, and the pod labels for owner, team and experiment."""

    recording: str = ""
    window: str = ""
    tiers: tuple[Tier, ...] = ()
    labels: dict[str, tuple[str, ...]] = {}


class Config(Struct, frozen=True):
    """Effective settings of a run. All paths are relative to the working directory.

    `nodes`: target by cluster name or address; the key "" is for every cluster. `price`: US cents per node-hour.
    `places`: where each setting comes from. `workspace`: Terraform's, for environments without their own. `variables`:
    texts from the command line. `env_vars`: whether TF_VAR_* of the environment count. `render`: helm if charts are to
    be rendered, with the files of `helm_values`. `per_path_ignores`: rules and groups by path pattern. `not_ignorable`:
    rules that nothing silences. `baseline`: file of known findings. `module_dirs`: folders with copies of published
    modules. `simulation`: durations, rates and shares of measured delays, as written. `boundary`: limit of what is
    read; by default that of the run's paths. `render_refused`: charts are not rendered, as only settings of the
    repository ask for it. `traced`: helm shows which values set requests and limits, for a fix.
    """

    nodes: dict[str, int] = {}
    var_files: tuple[str, ...] = ()
    price: int | None = None
    workspace: str = ""
    environments: tuple[Environment, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_path_ignores: dict[str, tuple[str, ...]] = {}
    not_ignorable: tuple[str, ...] = ()
    severity: dict[str, str] = {}
    limits: dict[str, int] = {}
    mirrors: dict[str, str] = {}
    rules: tuple[str, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    baseline: str = ""
    render: str = ""
    helm_values: tuple[str, ...] = ()
    fail_on: str = "warning"
    places: dict[str, str] = {}
    variables: dict[str, str] = {}
    env_vars: bool = False
    module_dirs: tuple[str, ...] = ()
    usage: Usage = Usage()
    run: RunRequest = RunRequest()
    simulation: dict[str, str | float] = {}
    boundary: Boundary | None = None
    render_refused: bool = False
    traced: bool = False

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the files and folders in the settings, each after the name of its setting."""
        yield from self.files()
        for one in self.environments:
            yield from (("clusters", path) for path in (one.root, *one.manifests))

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the paths read in addition to the tree, with the setting's name."""
        for name, value in (
            ("var_files", self.var_files), ("module_dirs", self.module_dirs), ("rules", self.rules),
            ("helm_values", self.helm_values), ("baseline", (self.baseline,) if self.baseline else ()),
            ("usage", (self.usage.recording,) if self.usage.recording else ()),
        ):  # fmt: skip
            yield from ((name, path) for path in value)
        for one in self.environments:
            yield from (("clusters", path) for path in one.var_files)

    def environment(self, root: str, name: str) -> Environment | None:
        """Find the environment of a root module by name."""
        return next((e for e in self.environments if e.root == root and e.name == name), None)


def parse_nodes(values: tuple[str, ...]) -> dict[str, int]:
    """Read `--nodes [CLUSTER=]N`. Raises ConfigError for a wrong number."""
    result: dict[str, int] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        found = whole_number(number.replace(",", "").replace("_", "")) or 0
        if not 0 < found <= MOST_NODES:
            raise ConfigError(
                f"--nodes {value}: N must be a whole number from 1 to {MOST_NODES:,}, such as --nodes 1000"
            )
        result[name] = found
    return result


def parse_variables(values: tuple[str, ...]) -> dict[str, str]:
    """Read `--var NAME=VALUE`. Raises ConfigError without `=`."""
    result = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--var {value}: give a name and a value, such as --var size=100")
        result[name.strip()] = text
    return result


def parse_price(value: str | None) -> int | None:
    """Parse `--price` in US dollars per node-hour. Raises ConfigError if not above 0."""
    if value is None:
        return None
    try:
        cents = round(float(value.removeprefix("$")) * 100)
    except (ValueError, OverflowError):
        cents = 0
    if not 0 < cents <= _MOST_CENTS:
        raise ConfigError(f"--price {value}: give US dollars per node-hour, such as --price 30")
    return cents


def nearest(name: str, names: tuple[str, ...]) -> str:
    """Suggest the closest known name, else all known names."""
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"did you mean {close[0]}?"
    return "known are " + ", ".join(names) if len(names) <= 30 else "`kcheck rules` and `kcheck limits` list the names"


VARIABLE = "KCHECK_TODAY"
"""Environment variable with the date to judge by, so that a run can be repeated."""


def today() -> datetime.date:
    """Return KCHECK_TODAY, else today in UTC. Raises ConfigError if it is no date."""
    text = os.environ.get(VARIABLE)
    try:
        return datetime.date.fromisoformat(text) if text else datetime.datetime.now(datetime.UTC).date()
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}={text}: give a day, such as {VARIABLE}=2026-11-22") from error


def has_come(day: datetime.date) -> bool:
    """Whether a date has come."""
    return today() >= day


def days_since(day: datetime.date) -> int:
    """Count the days since a date, including that day; zero or less before it."""
    return (today() - day).days + 1


def find_program(name: str, flag: str) -> str:
    """Return the absolute path of a program.

    Windows searches the working directory before the PATH, and so does a PATH with a relative folder. Raises
    ConfigError if it is not on the PATH, or is in the repository being checked.
    """
    import shutil  # with zlib, bz2 and lzma

    found = shutil.which(name)
    if found is None:
        raise ConfigError(f"{flag} needs {name}, which is not installed, or not on the PATH")
    top = repository(".")
    if not os.path.isabs(found) or (top and any(contains_path(top, path) for path in (os.path.dirname(found), found))):
        raise ConfigError(f"{flag}: {found} is in the checked repository; put {name} from elsewhere on the PATH")
    return found
