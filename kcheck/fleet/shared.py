"""Limits that clusters of a whole fleet share: what all of them take at their targets, and how much there is."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kcheck.fleet.listing import Surroundings
from kcheck.fleet.tables import EVERYWHERE, IN_ACCOUNT, IN_REPOSITORY, SharedRow
from kcheck.source.units import counted, singular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.fleet.kept import Kept
    from kcheck.fleet.listing import Repository
    from kcheck.fleet.run import Ended
    from kcheck.fleet.stated import Stated
    from kcheck.fleet.tables import ClusterRow, UseRow

OVER, FITS, UNKNOWN = "over", "fits", "unknown"
_ORDER = {OVER: 0, UNKNOWN: 1, FITS: 2}
_IDS = frozenset({"address-units", "reservation"})
"""Kinds whose keys, where they mean the same everywhere, are of one account and region."""
_NOUNS = {"address-units": "network", "docker-hub": "way out", "reservation": "reservation"}
_MISSING = {
    "address-units": "network: of its repository or environment",
    "docker-hub": "egress: of its repository or environment",
    "reservation": "the reservation's id in its code",
}
_LISTS = {"address-units": "networks", "docker-hub": "egress", "reservation": "reservations"}
"""Where the list of a fleet says how much there is."""


class _Share(NamedTuple):
    """What a cluster takes of a shared limit. `identity` is empty where the cluster may not be told from others."""

    repository: str
    place: Surroundings
    identity: str
    use: UseRow

    @property
    def who(self) -> str:
        """The cluster, among those of all repositories."""
        return f"{self.repository}:{self.use.cluster}"


class _Group(NamedTuple):
    """What tells a shared limit from all others; `alone` is a cluster of which it is not known with whom it shares."""

    kind: str
    account: str
    region: str
    key: str
    alone: str


def of_run(ended: Iterable[Ended], kept: Kept, stated: Stated) -> list[SharedRow]:
    """The shared limits of the clusters of all repositories of a run, one outcome after the other."""
    return shared(
        (
            (one.repository, found.clusters, found.uses)
            for one in ended
            if one.outcome.status != "failed" and (found := kept.uses(one.repository.name)) is not None
        ),
        stated,
    )


def shared(
    found: Iterable[tuple[Repository, Sequence[ClusterRow], Sequence[UseRow]]], stated: Stated
) -> list[SharedRow]:
    """The shared limits of clusters: those that they are over first, then those of which this is not known."""
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
    """A cluster with the account and region that the list of the fleet says, in place of those of the code."""
    around = repository.around(row.root, row.environment)
    return replace(row, account=around.account or row.account, region=around.region or row.region)


def sentence(row: SharedRow) -> str:
    """What a limit is about that clusters are over."""
    quota = f"account {row.account or 'unknown'}, {row.region or 'region unknown'}: {row.key} ({row.name})"
    what = quota if row.kind == "quota" else f"{_NOUNS[row.kind]} {row.key or 'unknown'}"
    least = "" if row.is_exact else "at least "
    amount = singular(f" {row.unit}") if row.needed == 1 else f" {row.unit}"
    pulls = " from Docker Hub at once" if row.kind == "docker-hub" else ""
    limit = "quota" if row.kind in ("quota", "address-units") else "limit"
    return (
        f"{what} needs {least}{row.needed:,}{amount}{pulls} for {counted(len(row.clusters), 'cluster')}; "
        f"the {limit} is {row.limit:,}."
    )


def _share(use: UseRow, cluster: ClusterRow, repository: Repository) -> _Share:
    """A use with what the list says of its cluster."""
    said = repository.around(cluster.root, cluster.environment)
    if use.kind == "address-units" and said.network:
        use = replace(use, key=said.network, scope=EVERYWHERE)
    if use.kind == "docker-hub" and said.egress:
        use = replace(use, key=said.egress, scope=EVERYWHERE, limit=None)
    is_id = use.scope == EVERYWHERE and use.kind in _IDS
    is_one = cluster.is_named and (is_id or (cluster.account and cluster.region))
    identity = "/".join((cluster.cloud, cluster.account, cluster.region, cluster.group, cluster.name)) if is_one else ""
    place = Surroundings(cluster.account, cluster.region, said.network, said.egress)
    return _Share(repository.name, place, identity, use)


def _group(share: _Share) -> _Group:
    use, account, region = share.use, share.place.account, share.place.region
    if not use.key or (use.scope == IN_ACCOUNT and not (account and region)):
        return _Group(use.kind, account, region, use.key, share.who)
    if use.scope == IN_ACCOUNT:
        return _Group(use.kind, account, region, use.key, "")
    return _Group(use.kind, "", "", f"{share.repository}:{use.key}" if use.scope == IN_REPOSITORY else use.key, "")


def _row(group: _Group, shares: list[_Share], stated: Stated, outside: Counter[tuple[str, str]]) -> SharedRow:
    counting, copies = _distinct(shares)
    needed = sum(share.use.needed for share in counting)
    is_exact = all(share.use.is_exact for share in shares)
    least, most = _limits(group, shares, stated)
    state = OVER if most is not None and needed > most else UNKNOWN
    if state != OVER and least is not None and needed <= least and is_exact and not group.alone:
        state = FITS
    others = outside[group.kind, group.key] if not group.alone else 0
    first = counting[0].use
    return SharedRow(
        kind=group.kind,
        account=group.account or _common(share.place.account for share in shares),
        region=group.region or _common(share.place.region for share in shares),
        key=group.key,
        name=first.name,
        unit=first.unit,
        needed=needed,
        is_exact=is_exact,
        limit=most if state == OVER else least,
        state=state,
        clusters=tuple(share.who for share in counting),
        note="; ".join(_notes(group, counting, copies, others, (least, most) if state == UNKNOWN else None)),
    )


def _distinct(shares: list[_Share]) -> tuple[list[_Share], list[_Share]]:
    """The shares that count, the largest first, and those of the same clusters in copies, which do not."""
    ordered = sorted(shares, key=lambda share: (-share.use.needed, share.repository, share.use.cluster))
    counting: list[_Share] = []
    copies: list[_Share] = []
    seen: set[str] = set()
    for share in ordered:
        (copies if share.identity and share.identity in seen else counting).append(share)
        seen.add(share.identity)
    return counting, copies


def _limits(group: _Group, shares: list[_Share], stated: Stated) -> tuple[int | None, int | None]:
    """How much there is at least and at most: as the list says, else as the repositories do."""
    said = stated.of_key(group.kind, group.key)
    if said is not None:
        return said, said
    found = [stated.of_account(share.place.account, share.place.region, share.use.limit_name) for share in shares]
    numbers = [number for number in found if number is not None]
    numbers = numbers or [share.use.limit for share in shares if share.use.limit is not None]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def _common(texts: Iterable[str]) -> str:
    """The text that all are; empty if they differ."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


def _notes(
    group: _Group,
    counting: list[_Share],
    copies: list[_Share],
    others: int,
    limits: tuple[int | None, int | None] | None,
) -> Iterator[str]:
    """What would decide it, where it is unknown (with what is known of its `limits`), and what was not counted."""
    use, place = counting[0].use, counting[0].place
    if limits is not None:
        if group.alone and use.scope == IN_ACCOUNT:
            gaps = [name for name, text in (("account:", place.account), ("region:", place.region)) if not text]
            yield f"not added to others: write {' and '.join(gaps)} of its repository or environment into the list"
        elif group.alone:
            yield f"not added to others: write {_MISSING[use.kind]}"
        (least, most), where = limits, _where(group, counting[0])
        if least is None:
            yield f"the limit is not known: write {where} into the list"
        elif least != most:
            yield f"repositories give limits from {least:,} to {most:,}: write {where} into the list"
        if not all(share.use.is_exact for share in counting):
            yield "some of its clusters may need more, as parts of their code are not known"
    if copies:
        yield f"the same cluster in copies counts once: {', '.join(share.who for share in copies[:3])}" + (
            f" and {len(copies) - 3:,} more" if len(copies) > 3 else ""
        )
    if others:
        yield f"{counted(others, 'cluster')} of an unknown account or region may take of it, too"


def _where(group: _Group, share: _Share) -> str:
    """What the list says a limit by."""
    if group.kind == "quota":
        account, region = share.place.account or "...", share.place.region or "..."
        return f'accounts: [{{account: "{account}", region: {region}, limits: {{{share.use.limit_name}: N}}}}]'
    return f"{_LISTS[group.kind]}: {{{group.key or 'NAME'}: N}}"
