"""What a report on a fleet says, in words: sentences and tables, the same in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.verdict import states_text
from kcheck.source.units import between, counted, money, node_hours, readable, rough, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcheck.fleet.report.overview import (
        Changed,
        Changes,
        Compared,
        Listed,
        Money,
        Moved,
        Overview,
        RuleCount,
        Run,
        Shared,
        Stop,
        Trend,
        Unchecked,
    )

_MOST_NAMES = 3
"""Clusters or repositories that are named as examples."""
_MOST_SLOW = 5


class Column(NamedTuple):
    """A column of a table. Where a line is short, what `is_below` stands on lines of its own below the row."""

    title: str
    is_number: bool = False
    is_below: bool = False


class Table(NamedTuple):
    """Rows of cells; `left` more are listed by a query of `kcheck fleet query`."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    left: int = 0
    query: str = ""

    @property
    def more(self) -> str:
        """How many more rows there are."""
        return f"{self.left:,} more" if self.left else ""


class Part(NamedTuple):
    """A part of a report; `name` is what a link to it ends in."""

    title: str
    name: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()
    trend: Trend | None = None


class Report(NamedTuple):
    """The answer in one sentence, what it is of, what one must know of it, and the parts."""

    title: str
    about: str
    lines: Sequence[str]
    parts: Sequence[Part]


def report(found: Overview, most: int) -> Report:
    """What is said, with so many rows of each table."""
    now = found.now
    of = f" of {found.owner}" if found.owner else ""
    about = f"{counted(now.repositories, 'repository', 'repositories')}{of}, run {now.run} ({now.started} UTC)"
    unknown = _unknown(found, most)
    parts = [
        _changes(found, most), _stops(found, most), _shared(found, most), _money(found, most), unknown,
        _rules(found, most), _trend(found), _unchecked(found, most), _run(found),
    ]  # fmt: skip
    if 2 * now.unknown > now.clusters:
        parts.remove(unknown)
        parts.insert(0, unknown)
    return Report(title(now), about, list(_lines(now)), [part for part in parts if part is not None])


# --- the answer


def title(now: Run) -> str:
    """The answer in one sentence, without its full stop."""
    if now.clusters:
        return states_text(now.reaches, now.stops, now.unknown)
    of = counted(now.repositories, "repository", "repositories")
    return f"{of} could not be checked" if now.failed == now.repositories else f"No cluster was found in {of}"


def _lines(now: Run) -> Iterator[str]:
    """What one must know of the answer."""
    if now.clusters:
        yield waste_text(now)
    if now.failed and now.failed < now.repositories:
        yield f"{counted(now.failed, 'repository', 'repositories')} could not be checked; clusters there are not counted."
    if now.partly:
        yield f"{counted(now.partly, 'repository', 'repositories')} could be checked in part only."


def waste_text(now: Run) -> str:
    """What runs waste, and of how many clusters that is not known."""
    parts = []
    if now.priced:
        amount = _dollars(now.waste_least, now.waste_most)
        parts.append(f"One simulated run on each cluster wastes {amount} ({counted(now.priced, 'cluster')})")
    if now.unpriced:
        start = "" if parts else "One simulated run on each cluster wastes "
        hours = _hours(now.hours_least, now.hours_most)
        parts.append(f"{start}{hours} without a price ({counted(now.unpriced, 'cluster')}; give price: in the list)")
    if now.waste_unknown:
        start = "" if parts else "What a run wastes is "
        parts.append(f"{start}not known for {counted(now.waste_unknown, 'cluster')}")
    return f"{', '.join(parts)}." if parts else "No waste was found in any cluster."


def _dollars(least: float, most: float) -> str:
    """A sum of estimates: three digits of it say all that is known."""
    return between(*(money(1000 * rough(amount) if amount >= 1 else round(1000 * amount)) for amount in (least, most)))


def _hours(least: float, most: float) -> str:
    return between(
        *(node_hours(3600 * rough(hours) if hours >= 10 else round(3600 * hours)) for hours in (least, most))
    )


# --- what has changed


def _changes(found: Overview, most: int) -> Part:
    changes = found.changes
    if changes is None:
        line = "This is the first run" + (f" with repositories of {found.owner}" if found.owner else "")
        return Part("Changes", "changes", [f"{line}; the next one says what has changed."])
    lines = [_changed_text(changes), *_compared(changes.compared, found.now, changes.before)]
    tables = [
        _table("Clusters", _MOVED, map(_moved, changes.moved.rows), changes.moved, most, "changes"),
        _table("New findings", _CHANGED, map(_changed, changes.new.rows), changes.new, most, "changes"),
        _table("Findings that are gone", _CHANGED, map(_changed, changes.gone.rows), changes.gone, most, "changes"),
    ]
    return Part(f"Changes since {changes.before.started} UTC", "changes", lines, tables)


def _changed_text(changes: Changes) -> str:
    clusters, findings = changes.clusters, changes.findings
    parts = [
        _some(clusters.worse, "cluster", "worse"), _some(clusters.better, "cluster", "better"),
        _some(clusters.decided, "cluster", "known now"), _some(clusters.undecided, "cluster", "not known any more"),
        _some(clusters.added, "cluster", "new"), _some(clusters.removed, "cluster", "gone"),
        _severities("new", findings.new_errors, findings.new_warnings, findings.new_infos),
        _severities("gone", findings.gone_errors, findings.gone_warnings, findings.gone_infos),
    ]  # fmt: skip
    said = "; ".join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}." if said else "No cluster and no finding has changed."


def _some(number: int, word: str, what: str) -> str:
    return f"{counted(number, word)} {what}" if number else ""


def _severities(what: str, errors: int, warnings: int, infos: int) -> str:
    """How many findings of each severity are new, or gone: 3 errors and 1 info new."""
    words = [
        counted(number, word) for number, word in ((errors, "error"), (warnings, "warning"), (infos, "info")) if number
    ]
    return f"{_and(words)} {what}" if words else ""


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _compared(compared: Compared, now: Run, before: Run) -> Iterator[str]:
    """What the comparison leaves out, and what else may have changed."""
    reasons = [
        f"{compared.excluded:,} failed or {'was' if compared.excluded == 1 else 'were'} checked in part in one of the runs",
        f"{compared.added:,} {'is' if compared.added == 1 else 'are'} new in the list",
        f"{compared.removed:,} {'is' if compared.removed == 1 else 'are'} no longer in it",
    ]
    left = [reason for reason in reasons if not reason.startswith("0 ")]
    if left:
        total = compared.excluded + compared.added + compared.removed
        yield f"Not compared: {counted(total, 'repository', 'repositories')}; {', '.join(left)}."
    if now.version != before.version:
        yield f"kcheck is {now.version} now and was {before.version}: part of this may be its rules, not the code."


_MOVED = (
    Column("change"), Column("cluster"), Column("owner"), Column("repository"), Column("before"), Column("now"),
    Column("first limit", is_below=True), Column("to move it", is_below=True),
)  # fmt: skip
_WORDS = {"decided": "known now", "added": "new"}


def _moved(one: Moved) -> Sequence[str]:
    change = _WORDS.get(one.change, one.change)
    before = one.before or "-"
    return change, _cluster(one), one.owner, one.repository, before, one.now, one.first_limit, one.move


_CHANGED = (Column("severity"), Column("rule"), Column("where"), Column("finding", is_below=True))


def _changed(one: Changed) -> Sequence[str]:
    return one.severity, one.rule, f"{one.repository}: {one.path}:{one.line}", one.message


# --- clusters and limits


def _cluster(one: Moved | Stop) -> str:
    return f"{one.cluster} ({one.environment})" if one.environment else one.cluster


_STOPS = (
    Column("share", is_number=True), Column("reaches"), Column("cluster"), Column("owner"), Column("repository"),
    Column("first limit", is_below=True), Column("to move it", is_below=True), Column("declared at", is_below=True),
)  # fmt: skip


def _stops(found: Overview, most: int) -> Part:
    now, stops = found.now, found.stops
    lines = []
    if not stops.total:
        rest = f"; how far {now.unknown:,} get is not known" if now.unknown else ""
        lines.append(f"No cluster is known to stop before its target{rest}.")
    table = _table("Clusters", _STOPS, map(_stop, stops.rows), stops, most, "clusters-by-reach")
    return Part("Clusters that break first", "first", lines, [table])


def _stop(one: Stop) -> Sequence[str]:
    share = "?" if one.share is None else f"{int(100 * one.share)} %"
    place = f"{one.path}:{one.line}"
    return share, one.reach, _cluster(one), one.owner, one.repository, one.first_limit, one.move, place


_SHARED = (
    Column("limit"), Column("account"), Column("region"), Column("needed", is_number=True),
    Column("there is", is_number=True), Column("clusters", is_below=True), Column("note", is_below=True),
)  # fmt: skip


def _shared(found: Overview, most: int) -> Part:
    shared, unknown = found.shared, found.shared_unknown
    lines = []
    if not shared.total:
        lines.append("No limit that clusters share is known to be exceeded.")
    if unknown:
        lines.append(f"Whether {counted(unknown, 'more shared limit')} hold{'s' * (unknown == 1)} is not known.")
    table = _table("Limits", _SHARED, map(_shared_row, shared.rows), shared, most, "shared-limits")
    return Part("Shared limits that are exceeded", "shared", lines, [table])


def _shared_row(one: Shared) -> Sequence[str]:
    name = f"{one.name} ({one.key})" if one.key and one.key not in one.name else one.name
    needed = f"{'' if one.is_exact else 'at least '}{one.needed:,} {one.unit}"
    limit = "?" if one.limit is None else f"{one.limit:,}"
    return name, one.account, one.region, needed, limit, _names(one.clusters, len(one.clusters)), one.note


def _names(names: Sequence[str], total: int) -> str:
    """The first of some names, and how many more there are."""
    shown = names[:_MOST_NAMES]
    return ", ".join(shown) + (f" and {total - len(shown):,} more" if total > len(shown) else "")


# --- money, and what is not known


def _money(found: Overview, most: int) -> Part:
    by = "owner" if found.is_by_owner else "repository"
    columns = (
        Column(by), Column("clusters", is_number=True), Column("wasted per run", is_number=True),
        Column("without a price", is_number=True), Column("clusters not known", is_number=True),
    )  # fmt: skip
    lines = (
        [] if found.money.total else ["No waste was found in any cluster."] if found.now.clusters else ["No cluster."]
    )
    if found.money.total:
        lines = ["Sums over one simulated run on each cluster; clusters that are not known are in no sum."]
    table = _table("Money", columns, map(_money_row, found.money.rows), found.money, most, "money-by-owner")
    return Part(f"Money by {by}", "money", lines, [table])


def _money_row(one: Money) -> Sequence[str]:
    amount = _dollars(one.waste_least, one.waste_most) if one.priced else "not known"
    hours = _hours(one.hours_least, one.hours_most) if one.unpriced else ""
    return one.name or "(no owner)", f"{one.clusters:,}", amount, hours, f"{one.unknown:,}" if one.unknown else ""


_MISSING = (
    Column("clusters", is_number=True), Column("input"), Column("repositories"),
    Column("how to give it", is_below=True),
)  # fmt: skip


def _unknown(found: Overview, most: int) -> Part:
    now = found.now
    lines = []
    if now.unknown:
        verb = "gets" if now.unknown == 1 else "get"
        lines.append(f"How far {now.unknown:,} of {counted(now.clusters, 'cluster')} {verb} is not known for want of:")
    elif now.clusters:
        lines.append("How far each cluster gets is known.")
    if now.undecided:
        lines.append(f"{counted(now.undecided, 'single check')} of all repositories wait for an input, too.")
    rows = [
        (f"{one.clusters:,}", one.missing or "(no input named)", _names(one.names, one.repositories), one.remedy)
        for one in found.missing.rows
    ]
    return Part("Not known", "unknown", lines, [_table("Inputs", _MISSING, rows, found.missing, most, "undecided")])


# --- rules, and runs over time


def _rules(found: Overview, most: int) -> Part:
    now, is_first = found.now, found.changes is None
    columns = (
        Column("rule"), Column("severity"), Column("findings", is_number=True), Column("repositories", is_number=True),
        Column("new", is_number=True), Column("30 days and older", is_number=True), Column("fixable", is_number=True),
        Column("there since"),
    )  # fmt: skip
    if not found.rules.total:
        return Part("Rules", "rules", ["No errors and no warnings."])
    infos = f"; {counted(now.infos, 'info')} not counted here" if now.infos else ""
    said = f"{_and([counted(now.errors, 'error'), counted(now.warnings, 'warning')])}{infos}."
    fixes = sum(one.fixable for one in found.rules.rows)
    lines = [said, *([f"`kcheck fix` has a fix for {fixes:,} of them."] if fixes else [])]
    rows = (_rule(one, is_first) for one in found.rules.rows)
    return Part("Rules", "rules", lines, [_table("Rules", columns, rows, found.rules, most, "rules-by-age")])


def _rule(one: RuleCount, is_first: bool) -> Sequence[str]:
    numbers = (f"{one.findings:,}", f"{one.repositories:,}")
    fixable = f"{one.fixable:,}" if one.fixable else ""
    if is_first:
        return one.rule, one.severity, *numbers, "", "", fixable, ""
    since = f"{one.since}{' or before' if one.is_since_first else ''}"
    return one.rule, one.severity, *numbers, f"{one.new:,}", f"{one.old:,}", fixable, since


_TREND = (
    Column("run (UTC)"), Column("repositories", is_number=True), Column("failed", is_number=True),
    Column("clusters", is_number=True), Column("stop", is_number=True), Column("not known", is_number=True),
    Column("errors", is_number=True), Column("warnings", is_number=True), Column("wasted per run", is_number=True),
)  # fmt: skip


def _trend(found: Overview) -> Part | None:
    runs, first, last = found.trend
    if len(runs) == 1:
        return None
    lines = []
    if first is not None and last is not None:
        pairs = (
            ("clusters that stop", first.stops, last.stops), ("not known", first.unknown, last.unknown),
            ("errors", first.errors, last.errors), ("warnings", first.warnings, last.warnings),
        )  # fmt: skip
        each = ", ".join(f"{name} {before:,} -> {now:,}" for name, before, now in pairs)
        of = counted(last.repositories, "repository", "repositories")
        lines.append(f"{runs[0].started} to {runs[-1].started}, in {of} that both runs checked: {each}.")
    rows = [
        (
            one.started, f"{one.repositories:,}", f"{one.failed:,}", f"{one.clusters:,}", f"{one.stops:,}",
            f"{one.unknown:,}", f"{one.errors:,}", f"{one.warnings:,}",
            _dollars(one.waste_least, one.waste_most) if one.priced else "not known" if one.waste_unknown else "",
        )
        for one in runs
    ]  # fmt: skip
    return Part("Trend", "trend", lines, [Table("Runs", _TREND, rows)], found.trend)


# --- the run


_UNCHECKED = (Column("repository"), Column("owner"), Column("status"), Column("reason", is_below=True))


def _unchecked(found: Overview, most: int) -> Part:
    title = "Repositories that were not checked"
    unchecked = found.unchecked
    lines = [] if unchecked.total else [f"None: {_all(found.now.repositories)} checked."]
    table = _table("Repositories", _UNCHECKED, map(_unchecked_row, unchecked.rows), unchecked, most, "failed-or-slow")
    return Part(title, "unchecked", lines, [table])


def _all(number: int) -> str:
    return "the repository was" if number == 1 else f"all {number:,} repositories were"


def _unchecked_row(one: Unchecked) -> Sequence[str]:
    status = {"partly": "in part"}.get(one.status, one.status)
    return one.repository, one.owner, status, f"{one.reason}{f' (tried {one.attempts} times)' * (one.attempts > 1)}"


def _run(found: Overview) -> Part:
    now = found.now
    of = f"{counted(now.repositories, 'repository', 'repositories')}{f' of {found.owner}' if found.owner else ''}"
    lines = [
        f"The run took {_seconds(now.seconds)} with {counted(now.workers, 'worker')} ({now.engine}).",
        f"Of {of}, {now.unchanged:,} had not changed since an earlier run and were not checked again.",
    ]
    columns = (Column("repository"), *(Column(name, is_number=True) for name in ("time", "memory", "files")))
    rows = [
        (one.repository, _seconds(one.seconds), f"{size(one.memory)}B", f"{one.files:,}") for one in found.slow.rows
    ]
    table = _table("Slowest", columns, rows, found.slow, min(most, _MOST_SLOW), "failed-or-slow")
    return Part("How the run went", "run", lines, [table])


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else readable(round(seconds))


def _table(
    title: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], listed: Listed[Any], most: int, query: str
) -> Table:
    """A table of the first rows, without columns that are empty in all of them."""
    shown = list(rows)[:most]
    filled = [at for at in range(len(columns)) if any(row[at] for row in shown)]
    kept = [[row[at] for at in filled] for row in shown]
    return Table(title, [columns[at] for at in filled], kept, listed.total - len(shown), query)
