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
    `unpriced` ones; of `waste_unknown` clusters it is not known. Of the `unknown` clusters, no input is named for the
    `unexplained` ones.
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
    unexplained: int
    waste_least: float
    waste_most: float
    priced: int
    unpriced: int
    hours_least: float
    hours_most: float
    waste_unknown: int


class Before(Struct, frozen=True):
    """The run before; `is_older`: some repositories are compared with an older one, as it did not check them."""

    started: str
    version: str
    is_older: bool


class Changed(Struct, frozen=True):
    """A change since the last check of a repository, as the query `changes` has it."""

    change: str
    severity: str
    owner: str
    repository: str
    subject: str
    before: str
    now: str


class ChangeCount(Struct, frozen=True):
    """How many changes of a kind there are; `severity` is empty where they are not of findings."""

    change: str
    severity: str
    number: int


class Changes(NamedTuple):
    """What is different from the run before; `rows` are those of each kind of change."""

    before: Before
    counts: list[ChangeCount]
    rows: dict[str, Listed[Changed]]


class Stop(Struct, frozen=True):
    """A cluster that stops before its target, with the share of it that it reaches.

    A repository makes so many `clusters` alike; `place` is where the first of them is declared.
    """

    cluster: str
    environment: str
    repository: str
    owner: str
    reach: str
    share: float | None
    first_limit: str
    move: str
    clusters: int
    place: str


class FirstLimit(Struct, frozen=True):
    """A kind of limit that stops clusters first."""

    mechanism: str
    clusters: int


class Shared(Struct, frozen=True):
    """A limit that clusters share, as the query `shared` has it."""

    kind: str
    name: str
    account: str
    region: str
    needed: int | None
    needed_is_exact: bool
    available: int | None
    unit: str
    percent: float | None
    clusters: int
    takes_most: str
    note: str


class SharedNote(Struct, frozen=True):
    """What would decide whether shared limits are exceeded, and of how many."""

    note: str
    limits: int


class Money(Struct, frozen=True):
    """What one simulated run on each cluster of an owner, or of a repository, wastes, as the query `money` has it."""

    owner: str
    clusters: int
    wasted_dollars_at_least: float | None
    wasted_dollars_at_most: float | None
    unpriced_node_hours_at_least: float | None
    unpriced_node_hours_at_most: float | None
    clusters_with_dollars: int
    clusters_without_price: int
    clusters_unknown: int
    clusters_perhaps_counted_twice: int


class Missing(Struct, frozen=True):
    """An input that checks and clusters wait for, with a place where one of them is."""

    missing: str
    remedy: str
    clusters: int
    checks: int
    repositories: int
    example: str


class RuleCount(Struct, frozen=True):
    """The findings of a rule, as the query `rules` has them; `oldest` is the day when the first was first seen."""

    rule: str
    worst_severity: str
    findings: int
    repositories: int
    with_fix: int
    oldest: str
    oldest_days: int
    median_days: int


class Fixable(Struct, frozen=True):
    """How many findings fixes of a class would remove."""

    fix: str
    findings: int


class Point(Struct, frozen=True):
    """A run of a trend, as the query `trend` has it; `started` is in UTC, to the minute."""

    run: str
    started: str
    repositories: int
    clusters: int
    clusters_not_seen: int
    clusters_that_stop: int
    clusters_that_reach: int
    clusters_unknown: int
    errors: int
    warnings: int
    wasted_dollars_at_least: float | None
    wasted_dollars_at_most: float | None
    clusters_with_unknown_waste: int


class Totals(Struct, frozen=True):
    """What a run says of repositories that another one has checked, too."""

    repositories: int
    errors: int
    warnings: int
    stops: int
    unknown: int


class Trend(NamedTuple):
    """The last runs, the oldest first, and what the first and the last of them say of the same repositories."""

    points: list[Point]
    first: Totals | None = None
    last: Totals | None = None


class Check(Struct, frozen=True):
    """A repository that was not checked or in part, or whose check took long, as the query `repositories` has it."""

    status: str
    owner: str
    repository: str
    reason: str
    attempts: int
    seconds: float | None
    mebibytes: int | None
    files: int
    last_checked: str


class Overview(NamedTuple):
    """All that a report says of one run; `owner` is empty where it is of all."""

    owner: str
    now: Run
    changes: Changes | None
    stops: Listed[Stop]
    first_limits: list[FirstLimit]
    shared: Listed[Shared]
    shared_unknown: int
    shared_notes: Listed[SharedNote]
    money: Listed[Money]
    is_by_owner: bool
    missing: Listed[Missing]
    rules: Listed[RuleCount]
    fixable: list[Fixable]
    trend: Trend
    unchecked: Listed[Check]
    slow: Listed[Check]
