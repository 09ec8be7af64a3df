"""Limits that clusters of a fleet share: demand and supply."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.addons.fleet.listing import Repository, Stated, Surroundings
from kcheck.addons.fleet.outcomes import FAILED, Kept
from kcheck.addons.fleet.run import Ended
from kcheck.addons.fleet.tables import EVERYWHERE, IN_ACCOUNT, IN_REGION, IN_REPOSITORY, ClusterRow, SharedRow, UseRow
from kcheck.text.units import counted, singular, some

OVER, FITS, UNKNOWN = "over", "fits", "unknown"
_ORDER = {OVER: 0, UNKNOWN: 1, FITS: 2}
_IDS = frozenset({"address-units", "reservation"})
"""Kinds whose keys, where they mean the same everywhere, are of one account and region."""
_NOUNS = {"address-units": "network", "docker-hub": "public address of", "reservation": "reservation"}
_MISSING = {
    "address-units": "network: of its repository or environment into the list",
    "docker-hub": "egress: of its repository or environment into the list",
    "reservation": "the id of its reservation into its code",
}
_MOST_NAMES = 3
_LISTS = {"address-units": "networks", "docker-hub": "egress", "reservation": "reservations"}
"""Where the list of a fleet says how much there is."""


class _Share(NamedTuple):
    """A cluster's share of a limit; without `identity`, it may be a copy."""

    repository: str
    place: Surroundings
    identity: str
    use: UseRow

    @property
    def who(self) -> str:
        """Return a name that is unique in the fleet."""
        return f"{self.repository}:{self.use.cluster}"


class _Group(NamedTuple):
    """Identity of a shared limit; `alone` names a cluster if others are unknown."""

    kind: str
    account: str
    region: str
    key: str
    alone: str


def of_run(ended: Iterable[Ended], kept: Kept, stated: Stated) -> list[SharedRow]:
    """List the shared limits of all clusters of a run."""
    last = ((one.repository, kept.outcome(one.repository.name)) for one in ended if one.outcome.status != FAILED)
    return shared(((one, found.rows.clusters, found.rows.uses) for one, found in last if found and found.rows), stated)


def shared(
    found: Iterable[tuple[Repository, Sequence[ClusterRow], Sequence[UseRow]]], stated: Stated
) -> list[SharedRow]:
    """List the shared limits of clusters: exceeded ones first, then undecided ones."""
    groups: dict[_Group, list[_Share]] = defaultdict(list)
    for repository, clusters, uses in found:
        by_id = {one.cluster: placed(one, repository) for one in clusters}
        for use in uses:
            share = _share(use, by_id[use.cluster], repository)
            groups[_group(share)].append(share)
    outside = Counter((group.kind, group.key) for group in groups if group.kind == "quota" and group.alone)
    rows = [_row(group, shares, stated, outside) for group, shares in groups.items()]
    return sorted(rows, key=lambda row: (_ORDER[row.state], row.kind, row.account, row.region, row.key, row.clusters))


def placed(row: ClusterRow, repository: Repository) -> ClusterRow:
    """Replace the account and region of a cluster by those in the list."""
    around = repository.around(row.root, row.environment)
    return replace(row, account=around.account or row.account, region=around.region or row.region)


def sentence(row: SharedRow) -> str:
    """Format which limit is exceeded, and by how much."""
    where = ", ".join(text for text in (f"account {row.account or 'unknown'}", row.region) if text)
    quota = f"{where}: {row.key} ({row.name})"
    what = quota if row.kind == "quota" else f"{_NOUNS[row.kind]} {row.key or 'unknown'}"
    least = "" if row.is_exact else "at least "
    amount = singular(f" {row.unit}") if row.needed == 1 else f" {row.unit}"
    pulls = " from Docker Hub at once" if row.kind == "docker-hub" else ""
    limit = "quota" if row.kind in ("quota", "address-units") else "limit"
    return (
        f"{what} needs {least}{row.needed:,}{amount}{pulls} for {counted(len(row.clusters), 'cluster')}; "
        f"the {limit} is {row.available:,}."
    )


def _share(use: UseRow, cluster: ClusterRow, repository: Repository) -> _Share:
    """Add the list's data on its cluster to a use."""
    said = repository.around(cluster.root, cluster.environment)
    if use.kind == "address-units" and said.network:
        use = replace(use, key=said.network, scope=EVERYWHERE)
    if use.kind == "docker-hub" and said.egress:
        use = replace(use, key=said.egress, scope=EVERYWHERE, available=None)
    is_id = use.scope == EVERYWHERE and use.kind in _IDS
    is_one = cluster.is_named and (is_id or (cluster.account and cluster.region))
    names = (cluster.cloud, cluster.account, cluster.region, cluster.resource_group, cluster.name)
    identity = "/".join(names) if is_one else ""
    place = Surroundings(cluster.account, cluster.region, said.network, said.egress)
    return _Share(repository.name, place, identity, use)


def _group(share: _Share) -> _Group:
    use, account = share.use, share.place.account
    region = share.place.region if use.scope != IN_ACCOUNT else ""
    if not use.key or _gaps(share):
        return _Group(use.kind, account, region, use.key, share.who)
    if use.scope in (IN_ACCOUNT, IN_REGION):
        return _Group(use.kind, account, region, use.key, "")
    return _Group(use.kind, "", "", f"{share.repository}:{use.key}" if use.scope == IN_REPOSITORY else use.key, "")


def _gaps(share: _Share) -> list[str]:
    """List the keys missing in the list that are needed to add a use to others."""
    needed = {IN_ACCOUNT: ("account",), IN_REGION: ("account", "region")}.get(share.use.scope, ())
    return [f"{name}:" for name in needed if not getattr(share.place, name)]


def _row(group: _Group, shares: list[_Share], stated: Stated, outside: Counter[tuple[str, str]]) -> SharedRow:
    counting, copies = _distinct(shares)
    needed = sum(share.use.needed for share in counting)
    is_exact = all(share.use.is_exact for share in shares)
    least, most = _limits(group, shares, stated)
    state = OVER if most is not None and needed > most else UNKNOWN
    if state != OVER and least is not None and needed <= least and is_exact and not group.alone:
        state = FITS
    others = outside[group.kind, group.key] if not group.alone else 0
    doubts = _doubts(counting[0], group.key, (least, most), is_exact=is_exact) if state == UNKNOWN else ()
    first = counting[0].use
    return SharedRow(
        kind=group.kind, account=group.account or _common(share.place.account for share in shares),
        region=group.region or ("" if first.scope == IN_ACCOUNT else _common(one.place.region for one in shares)),
        key=group.key, name=first.name, unit=first.unit, needed=needed, is_exact=is_exact,
        available=most if state == OVER else least, state=state, clusters=tuple(share.who for share in counting),
        note="; ".join((*doubts, *_remarks(copies, others))),
    )  # fmt: skip


def _distinct(shares: list[_Share]) -> tuple[list[_Share], list[_Share]]:
    """Split shares into those that count, and those of copied clusters."""
    ordered = sorted(shares, key=lambda one: (-one.use.needed, one.repository, one.use.cluster, one.use.is_exact))
    counting: list[_Share] = []
    copies: list[_Share] = []
    seen: set[str] = set()
    for share in ordered:
        (copies if share.identity and share.identity in seen else counting).append(share)
        seen.add(share.identity)
    return counting, copies


def _limits(group: _Group, shares: list[_Share], stated: Stated) -> tuple[int | None, int | None]:
    """Return the lower and upper bound of a supply."""
    said = stated.of_key(group.kind, group.key)
    if said is not None:
        return said, said
    found = [stated.of_account(one.place.account, one.place.region, one.use) for one in shares]
    numbers = [number for number in found if number is not None]
    numbers = numbers or [share.use.available for share in shares if share.use.available is not None]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def _common(texts: Iterable[str]) -> str:
    """Return the text if all are equal; else empty."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


def _doubts(share: _Share, key: str, limits: tuple[int | None, int | None], *, is_exact: bool) -> Iterator[str]:
    """Yield entries to add to the list, so that kcheck knows whether a limit holds."""
    (least, most), where = limits, _where(share, key)
    if not share.use.key:
        yield f"not added to others: write {_MISSING[share.use.kind]}"
    elif gaps := _gaps(share):
        yield f"not added to others: write {' and '.join(gaps)} of its repository or environment into the list"
    if least is None:
        yield f"the limit is not known: write {where} into the list"
    elif least != most:
        yield f"repositories give limits from {least:,} to {most:,}: write {where} into the list"
    if not is_exact:
        yield "some clusters may need more, as parts of their code are not known"


def _remarks(copies: list[_Share], others: int) -> Iterator[str]:
    """Name what a sum leaves out: copies, and clusters that may not share it."""
    if copies:
        names = some([share.who for share in copies], _MOST_NAMES)
        yield f"the same cluster in copies counts once: {names}"
    if others:
        yield f"{counted(others, 'cluster')} of an unknown account or region may take of it, too"


def _where(share: _Share, key: str) -> str:
    """Return where a limit is written in the list."""
    use, place = share.use, share.place
    if use.kind != "quota":
        return f"{_LISTS[use.kind]}: {{{key or 'NAME'}: N}}"
    region = f" region: {place.region or '...'}," if use.scope == IN_REGION else ""
    return f'accounts: [{{account: "{place.account or "..."}",{region} limits: {{{use.key}: N}}}}]'
