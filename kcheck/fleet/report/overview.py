"""The numbers of a report on a fleet: a struct for each question, nothing in words."""

from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

_T = TypeVar("_T", bound=Struct)


class Listed(NamedTuple, Generic[_T]):
    """The first rows of a list, and how many there are."""

    rows: list[_T]
    total: int


class Run(Struct, frozen=True):
    """A run, with what it says of the repositories that are asked for; `started` is in UTC, to the minute.

    Money is what one simulated run on each cluster wastes: dollars of the `priced` clusters, node-hours of the
    `unpriced` ones; of `waste_unknown` clusters it is not known.
    """

    run: str
    started: str
    seconds: float
    version: str
    engine: str
    workers: int
    repositories: int
    unchanged: int
    failed: int
    partly: int
    errors: int
    warnings: int
    infos: int
    undecided: int
    clusters: int
    reaches: int
    stops: int
    unknown: int
    waste_least: float
    waste_most: float
    priced: int
    unpriced: int
    hours_least: float
    hours_most: float
    waste_unknown: int


class Compared(Struct, frozen=True):
    """Repositories of two runs: those that both have checked, and others, which say nothing of changes.

    `excluded` failed or were checked in part in one of them; `added` and `removed` are in the list of one only.
    """

    same: int
    excluded: int
    added: int
    removed: int


class ChangedFindings(Struct, frozen=True):
    """How many findings are new, and how many are gone."""

    new_errors: int
    new_warnings: int
    new_infos: int
    gone_errors: int
    gone_warnings: int
    gone_infos: int


class ChangedClusters(Struct, frozen=True):
    """How many clusters get less far or farther, in shares of their targets; `decided` ones were not known before."""

    worse: int
    better: int
    decided: int
    undecided: int
    added: int
    removed: int


class Moved(Struct, frozen=True):
    """A cluster that changed: worse, better, or decided or added, if it stops before its target."""

    change: str
    cluster: str
    environment: str
    repository: str
    owner: str
    before: str | None
    now: str
    first_limit: str
    move: str


class Changed(Struct, frozen=True):
    """A finding that is new, or gone."""

    severity: str
    rule: str
    message: str
    repository: str
    path: str
    line: int


class Changes(NamedTuple):
    """What is different from the run before."""

    before: Run
    compared: Compared
    findings: ChangedFindings
    clusters: ChangedClusters
    moved: Listed[Moved]
    new: Listed[Changed]
    gone: Listed[Changed]


class Stop(Struct, frozen=True):
    """A cluster that stops before its target, and the share of it that it reaches."""

    cluster: str
    environment: str
    cloud: str
    repository: str
    owner: str
    reach: str
    share: float | None
    first_limit: str
    move: str
    path: str
    line: int


class Shared(Struct, frozen=True):
    """A limit that clusters share, and of which they need more than there is."""

    kind: str
    account: str
    region: str
    key: str
    name: str
    unit: str
    needed: int
    is_exact: bool
    limit: int | None
    clusters: list[str]
    note: str


class Money(Struct, frozen=True):
    """What one simulated run on each cluster of an owner or of a repository wastes, counted as for a run."""

    name: str
    clusters: int
    waste_least: float
    waste_most: float
    priced: int
    unpriced: int
    hours_least: float
    hours_most: float
    nothing: int
    unknown: int


class Missing(Struct, frozen=True):
    """An input without which it is not known how far clusters get; `names` are the first of its repositories."""

    missing: str
    remedy: str
    clusters: int
    repositories: int
    names: list[str]


class RuleCount(Struct, frozen=True):
    """The findings of a rule. `old` ones were first seen 30 days ago, or earlier; `since` is when the first was.

    `is_since_first`: that was when its repository was first checked, so it is perhaps older.
    """

    rule: str
    severity: str
    findings: int
    repositories: int
    new: int
    fixable: int
    old: int
    since: str
    is_since_first: bool


class Totals(Struct, frozen=True):
    """What a run says of repositories that another one has checked, too."""

    repositories: int
    errors: int
    warnings: int
    stops: int
    unknown: int


class Trend(NamedTuple):
    """The last runs, the oldest first, and what the first and the last of them say of the same repositories."""

    runs: list[Run]
    first: Totals | None = None
    last: Totals | None = None


class Unchecked(Struct, frozen=True):
    """A repository that was not checked, or in part."""

    repository: str
    owner: str
    status: str
    reason: str
    attempts: int


class Slow(Struct, frozen=True):
    """A repository whose check took long: seconds, and the most bytes that it had."""

    repository: str
    seconds: float
    memory: int
    files: int


class Overview(NamedTuple):
    """All that a report says of one run; `owner` is empty where it is of all."""

    owner: str
    now: Run
    changes: Changes | None
    stops: Listed[Stop]
    shared: Listed[Shared]
    shared_unknown: int
    money: Listed[Money]
    is_by_owner: bool
    missing: Listed[Missing]
    rules: Listed[RuleCount]
    trend: Trend
    unchecked: Listed[Unchecked]
    slow: Listed[Slow]
