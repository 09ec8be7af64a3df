"""The answer of a report on a fleet, and what has changed since the run before."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kcheck.addons.fleet.report import parts
from kcheck.addons.fleet.report.layout import Column, Part, Report, dollars, hours, repositories, table
from kcheck.addons.fleet.report.numbers import asked
from kcheck.report.html.document import Number
from kcheck.report.verdict import states_text
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcheck.addons.fleet.report.numbers import Numbers, Row


def contents(folder: str, owner: str, run: str, most: int) -> Report:
    """Say what a run has found, with so many rows of each table; where most is not known, that comes first.

    Raises:
        ConfigError: there is no such run, or no such owner.
        ResultsError: there are no tables, or they cannot be read.
    """
    with asked(folder, owner, run) as found:
        now = found.now
        unknown = parts.unknown(found, most)
        others = [
            _changes(found, most), parts.stops(found, most), parts.shared(found, most), parts.money(found, most),
            unknown, parts.rules(found, most), *parts.trend(found), parts.unchecked(found, most), parts.run(found),
        ]  # fmt: skip
    if 2 * now.unknown > now.clusters:
        others = [unknown, *(part for part in others if part is not unknown)]
    of = f" of {owner}" if owner else ""
    about = f"kcheck fleet: {repositories(now.repositories)}{of}, run {now.run} ({now.started} UTC)"
    return Report(_title(now), about, list(_lines(now)), list(_numbers(found)), others)


def _title(now: Row) -> str:
    """The answer in one sentence, without its full stop."""
    if now.clusters:
        return states_text(now.reaches, now.stops, now.unknown)
    of = repositories(now.repositories)
    return f"{of} could not be checked" if now.failed == now.repositories else f"No cluster was found in {of}"


def _lines(now: Row) -> Iterator[str]:
    """What one must know of the answer."""
    if now.clusters:
        yield _waste(now)
    if 0 < now.failed < now.repositories:
        yield f"Not counted: clusters of {repositories(now.failed)} that could not be checked."
    if now.partly:
        yield f"{repositories(now.partly)} could be checked in part only."


def _waste(now: Row) -> str:
    """What runs waste, and of how many clusters that is not known."""
    said = []
    if now.priced:
        amount = dollars(now.waste_least, now.waste_most)
        said.append(
            f"One simulated run on each cluster wastes {amount} ({counted(now.priced, 'cluster')} with a price)"
        )
    if now.unpriced:
        begin = "" if said else "One simulated run on each cluster wastes "
        amount = hours(now.hours_least, now.hours_most)
        said.append(f"{begin}{amount} on {counted(now.unpriced, 'cluster')} without a price")
    if now.waste_unknown:
        begin = "" if said else "What a run wastes is "
        said.append(f"{begin}not known for {counted(now.waste_unknown, 'cluster')}")
    nothing = now.clusters - now.priced - now.unpriced - now.waste_unknown
    if said and nothing:
        said.append(f"nothing found on {counted(nothing, 'cluster')}")
    return f"{'; '.join(said)}." if said else "No waste was found in any cluster."


def _numbers(found: Numbers) -> Iterator[Number]:
    """What a reader must see first."""
    now = found.now
    if now.clusters:
        stops = "stops" if now.stops == 1 else "stop"
        yield Number(f"{now.stops:,}", f"{stops} before the target", is_bad=now.stops > 0)
        yield Number(f"{now.reaches:,}", f"{'reaches' if now.reaches == 1 else 'reach'} the target")
        yield Number(f"{now.unknown:,}", "not known how far")
    if now.priced:
        yield Number(dollars(now.waste_least, now.waste_most), "wasted by one run on each cluster", is_bad=True)
    yield Number(f"{now.errors:,}", f"{'error' if now.errors == 1 else 'errors'} in {repositories(now.repositories)}")
    if found.before is not None:
        new = sum((one.change, one.severity) == (_NEW, "error") for one in found.changes)
        yield Number(f"{new:,}", "of them new")
    if now.failed:
        yield Number(f"{now.failed:,}", "not checked", is_bad=True)


# --- changes

_NEW, _GONE = "finding new", "finding gone"
_CLUSTERS = ("cluster worse", "cluster not known now", "cluster better")
_CLUSTER = (
    Column("change"), Column("cluster"), Column("owner"), Column("repository"), Column("before"), Column("now"),
)  # fmt: skip
_FINDING = (Column("severity"), Column("rule"), Column("repository"), Column("finding", is_below=True))


def _changes(found: Numbers, most: int) -> Part:
    changes, before = found.changes, found.before
    if before is None:
        begin = f"This is the first run with repositories of {found.owner}" if found.owner else "This is the first run"
        return Part("Changes", "changes", [f"{begin}; the next one says what has changed."])
    lines = [_summary(changes)]
    if before.is_older:
        lines.append("A repository that was not fully checked then is compared with its last full check.")
    if any(one.change == "repository not fully checked" for one in changes):
        lines.append("What is not fully checked now may be there still: nothing of it counts as gone.")
    if found.now.version != before.version:
        was = before.version
        lines.append(f"kcheck {was} was updated to {found.now.version}: some changes may come from its rules.")
    clusters = [one for change in _CLUSTERS for one in changes if one.change == change]
    tables = [table("Clusters", _CLUSTER, clusters, _cluster, most, "changes")]
    for title, change in (("New findings", _NEW), ("Gone", _GONE)):
        findings = [one for one in changes if one.change == change and one.severity != "info"]
        tables.append(table(title, _FINDING, findings, _finding, most, "changes"))
    return Part(f"Changes since {before.started} UTC", "changes", lines, tables)


def _summary(changes: Sequence[Row]) -> str:
    """How many clusters, findings and repositories have changed, and how."""
    said: dict[str, list[str]] = {"cluster": [], "finding": [], "repository": []}
    for (change, severity), number in Counter((one.change, one.severity) for one in changes).items():
        what, _, how = change.partition(" ")
        words = repositories(number) if what == "repository" else counted(number, severity or what)
        said.setdefault(what, []).append(f"{words} {how}")
    each = "; ".join(", ".join(words) for words in said.values() if words)
    return f"{each}." if each else "No cluster and no finding has changed."


def _cluster(one: Row) -> Sequence[str]:
    return one.change.removeprefix("cluster "), one.subject, one.owner, one.repository, one.before, one.now


def _finding(one: Row) -> Sequence[str]:
    return one.severity, one.subject, one.repository, one.now or one.before
