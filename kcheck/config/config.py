"""The user's settings: targets, environments, rules, numbers. Made from flags and `kcheck.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kcheck.text.control_characters import visible
from kcheck.text.errors import Error
from kcheck.text.units import whole_number

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from kcheck.text.files.boundary import Boundary
    from kcheck.text.text import Span


MOST_NODES = 10**9
_MOST_CENTS = 10**8


class ConfigError(Error):
    """Wrong use: the error and its remedy, in one line."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text))


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
    """A finding accepted in the settings, in some files or everywhere, optionally until a date."""

    rule: str
    path: str
    reason: str
    expires: datetime.date | None
    place: Span


class RunRequest(Struct, frozen=True):
    """What is asked of simulated runs: seconds of work of each pod, MiB of images that a new node pulls.

    With `jobs` every cluster is for jobs, whatever its code says: somebody asks how one would run. Without `savings` no
    finding says what its fix would save of a run: nobody reads it, and it takes most of the time.
    """

    duration: float | None = None
    image: float | None = None
    jobs: bool = False
    savings: bool = True


class Tier(Struct, frozen=True):
    """A tier of workloads: which they are, and how their requests follow from what was used, in percent.

    Those with one of its priority classes, or with all of its labels; what is None is as in the standard tier.
    """

    name: str
    classes: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    cpu_percentile: float | None = None
    cpu_buffer: float | None = None
    memory_buffer: float | None = None


class Usage(Struct, frozen=True):
    """What was measured, and how it is used. `labels` say whose pods are, by owner, team and experiment."""

    recording: str = ""
    window: str = ""
    tiers: tuple[Tier, ...] = ()
    labels: dict[str, tuple[str, ...]] = {}


class Config(Struct, frozen=True):
    """The effective settings of one run. All paths are relative to the working directory.

    `nodes` maps a cluster's name or address to the number of nodes it is to reach; the key "" holds for
    every cluster. `price` is what one node costs, in US cents an hour. `places` says where each setting comes from.
    `workspace` is the one of Terraform, for environments without one of their own. `variables` are texts from the
    command line; `env_vars` says that TF_VAR_* of the environment count. `render` is helm where charts are to be
    rendered, with the files of `helm_values`. `per_path_ignores` maps patterns of paths to rules and groups; nothing
    silences those that are `not_ignorable`. `baseline` is the file of what was known before.
    `module_dirs` are folders with copies of modules that others publish. `simulation` maps measured delays to
    durations, rates and shares as they are written. Nothing is read outside the `boundary`; without one, that of the
    paths of the run. Charts are not rendered where that is `refused`, as only settings of the repository ask for it.
    Those that are rendered for a fix are `traced`: helm says from which values requests and limits come.
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
        """The files and folders that it names, each with its setting."""
        yield from self.files()
        for one in self.environments:
            yield from (("clusters", path) for path in (one.root, *one.manifests))

    def files(self) -> Iterator[tuple[str, str]]:
        """Those that are read beside the tree."""
        for name, value in (
            ("var_files", self.var_files), ("module_dirs", self.module_dirs), ("rules", self.rules),
            ("helm_values", self.helm_values), ("baseline", (self.baseline,) if self.baseline else ()),
            ("usage", (self.usage.recording,) if self.usage.recording else ()),
        ):  # fmt: skip
            yield from ((name, path) for path in value)
        for one in self.environments:
            yield from (("clusters", path) for path in one.var_files)

    def environment(self, root: str, name: str) -> Environment | None:
        """The environment of that name for a root module."""
        return next((e for e in self.environments if e.root == root and e.name == name), None)


def parse_nodes(values: tuple[str, ...]) -> dict[str, int]:
    """Read `--nodes [CLUSTER=]N`, given any number of times.

    Raises:
        ConfigError: N is not a positive whole number.
    """
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
    """Read `--var NAME=VALUE`, given any number of times.

    Raises:
        ConfigError: there is no `=`.
    """
    result = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--var {value}: give a name and a value, such as --var size=100")
        result[name.strip()] = text
    return result


def parse_price(value: str | None) -> int | None:
    """Parse `--price`, in US dollars per node-hour, as cents.

    Raises:
        ConfigError: it is not a positive number.
    """
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
    """A hint at the name that was meant, or at all of them."""
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"did you mean {close[0]}?"
    return "known are " + ", ".join(names) if len(names) <= 30 else "see the documentation for the known names"
