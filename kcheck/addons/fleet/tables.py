"""Tables of a fleet's runs: a struct per row, columns with meanings.

`docs/fleet.schema.json` and the columns of the Parquet and DuckDB files are made from here. Every table but `runs`
begins with the column `run` and, if a row is of one repository, `repository`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

VERSION = 1
"""Of these tables: additive changes keep it."""


def _is(meaning: str) -> Meta:
    return Meta(description=meaning)


_PATH = _is("where it is declared, from the top of the repository")
_LINE = _is("the line there, from 1")
_CLUSTER = _is("the cluster, as in clusters.cluster; empty where it is of none, or of several")


class RunRow(Struct, frozen=True):
    """A run of `kcheck fleet`."""

    run: Annotated[str, _is("its id, which is later than those of all before: when it began, as 20261123T200500Z")]
    started: Annotated[str, Meta(description="when it began, in UTC", extra_json_schema={"format": "date-time"})]
    seconds: Annotated[float, _is("how long it took")]
    version: Annotated[str, _is("of kcheck")]
    engine: Annotated[str, _is("local, or the address of a scheduler")]
    workers: Annotated[int, _is("repositories that were checked at a time")]
    repositories: Annotated[int, _is("how many the list has")]
    unchanged: Annotated[int, _is("how many of them were taken from the run before")]
    failed: Annotated[int, _is("how many could not be checked")]


class RepositoryRow(Struct, frozen=True):
    """A repository of a run, checked or not."""

    owner: Annotated[str, _is("the team, as the list says; empty if it does not")]
    path: Annotated[str, _is("the folder of the checkout")]
    status: Annotated[str, _is("checked, partly (its time was over), or failed")]
    reason: Annotated[str, _is("why it is not checked; empty if it is")]
    is_unchanged: Annotated[bool, _is("whether its rows are of an earlier run, as nothing in it has changed")]
    revision: Annotated[str, _is("the commit that is checked out, if there is a repository of git")]
    seconds: Annotated[float, _is("how long its check took")]
    cpu_seconds: Annotated[float, _is("processor time of its check")]
    memory: Annotated[int, _is("the most memory that its check had, in bytes")]
    files: Annotated[int, _is("files that were read")]
    attempts: Annotated[int, _is("how often it was tried")]
    errors: Annotated[int, _is("findings of severity error")]
    warnings: Annotated[int, _is("findings of severity warning")]
    infos: Annotated[int, _is("findings of severity info")]
    undecided: Annotated[int, _is("checks without an answer")]
    suppressed: Annotated[int, _is("findings that the repository silences")]


class ClusterRow(Struct, frozen=True):
    """A cluster, its largest size, and the waste of a run on it."""

    cluster: Annotated[str, _is("its id in the repository")]
    name: Annotated[str, _is("what people call it")]
    is_named: Annotated[bool, _is("whether that is its name in the cloud; else it is its address in the code")]
    cloud: Annotated[str, _is("eks, gke, aks, ack or selfmanaged")]
    root: Annotated[str, _is("the root module that makes it")]
    environment: Annotated[str, _is("the environment of the settings that it is of; empty if there is none")]
    account: Annotated[str, _is("account, project or subscription; empty if it is not known")]
    region: Annotated[str, _is("the region; empty if it is not known")]
    resource_group: Annotated[
        str, _is("what its name is unique in, beside these: a resource group (AKS), a location (GKE)")
    ]
    path: Annotated[str, _PATH]
    line: Annotated[int, _LINE]
    target: Annotated[int | None, _is("nodes that are asked for, or that its pools may have; null if not known")]
    state: Annotated[str, _is("stops (before its target), reaches (it), or unknown")]
    reaches: Annotated[int | None, _is("nodes that it reaches; null if not known")]
    reach: Annotated[str, _is("the same as text, with bounds where there is no number")]
    first_limit: Annotated[str, _is("the limit that it hits first; empty if none is known")]
    first_limit_at: Annotated[int | None, _is("nodes at which it hits that")]
    move: Annotated[str, _is("how to move that limit; empty if it is not before the target")]
    is_judged: Annotated[bool, _is("whether its pools and the number of its nodes are known")]
    missing: Annotated[str, _is("the input that is missing where it is not judged, or its reach is unknown")]
    remedy: Annotated[str, _is("how to give that input")]
    waste_state: Annotated[str, _is("known, nothing (found), unpriced (only node-hours are known) or unknown")]
    waste_least: Annotated[float | None, _is("dollars that a simulated run wastes at least")]
    waste_most: Annotated[float | None, _is("dollars that it wastes at most")]
    waste_hours_least: Annotated[float | None, _is("node-hours that a simulated run wastes at least")]
    waste_hours_most: Annotated[float | None, _is("node-hours that it wastes at most")]
    waste_note: Annotated[str, _is("what that rests on, or why it is not known")]
    errors: Annotated[int, _is("findings of severity error that are about it")]
    warnings: Annotated[int, _is("findings of severity warning that are about it")]
    summary: Annotated[str, _is("how far it gets, in one sentence")]


class LimitRow(Struct, frozen=True):
    """A limit of a cluster, as `kcheck capacity` prints it."""

    cluster: Annotated[str, _is("the cluster, as in clusters.cluster")]
    mechanism: Annotated[str, _is("what kind of limit it is")]
    scope: Annotated[str, _is("what of the cluster hits it")]
    nodes: Annotated[int | None, _is("nodes of the cluster when it hits the limit; null if not known exactly")]
    at_least: Annotated[int | None, _is("the lower bound of that")]
    at_most: Annotated[int | None, _is("the upper bound of that")]
    before_target: Annotated[bool | None, _is("whether that is before the target; null if not known")]
    kind: Annotated[str, _is("hard, quota or recommended")]
    arithmetic: Annotated[str, _is("how the number is worked out, or why it cannot be")]
    move: Annotated[str, _is("how to move it")]
    path: Annotated[str, _PATH]
    line: Annotated[int, _LINE]
    source: Annotated[str, _is("where the limit is documented")]


class FindingRow(Struct, frozen=True):
    """A finding of a run."""

    fingerprint: Annotated[str, _is("what it is known by in other runs; survives moved lines and changed numbers")]
    rule: Annotated[str, _is("the rule that found it")]
    severity: Annotated[str, _is("error, warning or info")]
    waste: Annotated[bool, _is("whether it is about money")]
    message: Annotated[str, _is("the headline")]
    path: Annotated[str, _PATH]
    line: Annotated[int, _LINE]
    object: Annotated[str, _is("the object that it is about")]
    clusters: Annotated[tuple[str, ...], _is("the clusters that it is about, as in clusters.cluster")]
    fix: Annotated[str, _is("the fix: safe, costs or unsafe; empty if a person must change it")]


class UndecidedRow(Struct, frozen=True):
    """A check without a decision: one row for each missing input."""

    rule: Annotated[str, _is("the rule")]
    object: Annotated[str, _is("the object that is not judged")]
    path: Annotated[str, _PATH]
    line: Annotated[int, _LINE]
    missing: Annotated[str, _is("the input that is not known")]
    remedy: Annotated[str, _is("how to give it, where that is known")]


EVERYWHERE, IN_ACCOUNT, IN_REGION, IN_REPOSITORY = "everywhere", "account", "region", "repository"
"""Where the key of a shared limit means the same; a `region` is one of an account."""


class UseRow(Struct, frozen=True):
    """Share of a common limit that a cluster takes at its target."""

    cluster: Annotated[str, _CLUSTER]
    kind: Annotated[str, _is("quota, address-units, docker-hub or reservation")]
    key: Annotated[str, _is("which one: code of a quota, network, egress, reservation; empty: unknown")]
    scope: Annotated[str, _is("where the key means the same: everywhere, account, region (of one), or repository")]
    name: Annotated[str, _is("what people call it")]
    unit: Annotated[str, _is("what is counted")]
    needed: Annotated[int, _is("how much the cluster takes, at least")]
    is_exact: Annotated[bool, _is("whether it cannot be more")]
    available: Annotated[int | None, _is("how much there is, as far as the repository or kcheck knows")]
    limit_name: Annotated[str, _is("what `limits` in kcheck.yaml call that number; empty if they have no name for it")]
    path: Annotated[str, _PATH]
    line: Annotated[int, _LINE]


class SharedRow(Struct, frozen=True):
    """A limit that clusters of the fleet share, with their total use."""

    kind: Annotated[str, _is("quota, address-units, docker-hub or reservation")]
    account: Annotated[str, _is("account, project or subscription; empty if it is not known")]
    region: Annotated[str, _is("the region; empty if it is not known, or does not matter")]
    key: Annotated[str, _is("which one, as in uses.key")]
    name: Annotated[str, _is("what people call it")]
    unit: Annotated[str, _is("what is counted")]
    needed: Annotated[int, _is("how much all take at their targets, at least")]
    is_exact: Annotated[bool, _is("whether it cannot be more")]
    available: Annotated[int | None, _is("how much there is; null if not known")]
    state: Annotated[str, _is("over, fits, or unknown")]
    clusters: Annotated[tuple[str, ...], _is("who takes of it, as repository:cluster, the most first")]
    note: Annotated[str, _is("what would decide it, where it is unknown")]


class Table(NamedTuple):
    """A table; its own columns come after `run` and `repository`."""

    row: type[Struct]
    of_repository: bool = True


TABLES = {
    "runs": Table(RunRow, of_repository=False), "repositories": Table(RepositoryRow), "clusters": Table(ClusterRow),
    "limits": Table(LimitRow), "findings": Table(FindingRow), "undecided": Table(UndecidedRow), "uses": Table(UseRow),
    "shared_limits": Table(SharedRow, of_repository=False),
}  # fmt: skip


class Rows(Struct, frozen=True):
    """Rows from the check of one repository, by table, and their counts."""

    clusters: list[ClusterRow] = []
    limits: list[LimitRow] = []
    findings: list[FindingRow] = []
    undecided: list[UndecidedRow] = []
    uses: list[UseRow] = []
    suppressed: int = 0
