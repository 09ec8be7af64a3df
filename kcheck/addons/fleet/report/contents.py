"""Contents of a fleet report: headline, changes, and all other parts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from kcheck.addons.fleet.report.layout import Part, Report, dollars, hours, number, repositories, table, time
from kcheck.addons.fleet.report.numbers import Numbers, Row, asked, own
from kcheck.config.numbers import profiles
from kcheck.report.cluster_summary import states_text
from kcheck.report.html.document import Number
from kcheck.text.units import counted, listed

_MOST_SLOW, _MOST_NOTES, _MOST_RUNS = 5, 5, 12


def contents(folder: str, owner: str, run: str, most: int) -> Report:
    """Report on a run with at most `most` rows per table.

    Raises ConfigError if there is no such run, or no such owner; ResultsError if there are no tables, or they cannot be
    read.
    """
    with asked(folder, owner, run) as found:
        now = found.now
        unknown = _unknown_part(found, most)
        others = [
            _changes_part(found, most), _stops_part(found, most), _shared_part(found, most), _money_part(found, most),
            unknown, _rules_part(found, most), *_trend_part(found), _unchecked_part(found, most), _run_part(found),
        ]  # fmt: skip
    if 2 * now.unknown > now.clusters:
        others = [unknown, *(part for part in others if part is not unknown)]
    of = f" of {owner}" if owner else ""
    about = f"kcheck fleet: {repositories(now.repositories)}{of}, run {now.run} ({now.started} UTC)"
    return Report(_title(now), about, list(_lines(now)), list(_numbers(found)), others)


def _title(now: Row) -> str:
    """Format the headline, without a full stop."""
    if now.clusters:
        return states_text(now.reaches, now.stops, now.unknown)
    of = repositories(now.repositories)
    return f"{of} could not be checked" if now.failed == now.repositories else f"No cluster was found in {of}"


def _lines(now: Row) -> Iterator[str]:
    """List the sentences below the headline."""
    if now.clusters:
        yield _waste(now)
    if 0 < now.failed < now.repositories:
        yield f"Not counted: clusters of {repositories(now.failed)} that could not be checked."
    if now.partly:
        yield f"{repositories(now.partly)} could be checked in part only."


def _waste(now: Row) -> str:
    """Format the waste of runs, and the number of clusters for which it is unknown."""
    said = []
    if now.priced:
        said.append(f"{dollars(now.waste_least, now.waste_most)} ({counted(now.priced, 'cluster')} with a price)")
    if now.unpriced:
        said.append(f"{hours(now.hours_least, now.hours_most)} on {counted(now.unpriced, 'cluster')} without a price")
    begin = "One simulated run on each cluster wastes" if said else "What a run wastes is"
    if now.waste_unknown:
        said.append(f"not known for {counted(now.waste_unknown, 'cluster')}")
    nothing = now.clusters - now.priced - now.unpriced - now.waste_unknown
    if said and nothing:
        said.append(f"nothing found on {counted(nothing, 'cluster')}")
    return f"{begin} {'; '.join(said)}." if said else "No waste was found in any cluster."


def _numbers(found: Numbers) -> Iterator[Number]:
    """List the key figures."""
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
_CLUSTER = "change, cluster, owner, repository, before, now"
_FINDING = "severity, rule, repository, >finding"


def _changes_part(found: Numbers, most: int) -> Part:
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
    """Format how many clusters, findings and repositories have changed, and how."""
    said: dict[str, list[str]] = {"cluster": [], "finding": [], "repository": []}
    for (change, severity), count in Counter((one.change, one.severity) for one in changes).items():
        what, _, how = change.partition(" ")
        words = repositories(count) if what == "repository" else counted(count, severity or what)
        said.setdefault(what, []).append(f"{words} {how}")
    each = "; ".join(", ".join(words) for words in said.values() if words)
    return f"{each}." if each else "No cluster and no finding has changed."


def _cluster(one: Row) -> Sequence[str]:
    return one.change.removeprefix("cluster "), one.subject, one.owner, one.repository, one.before, one.now


def _finding(one: Row) -> Sequence[str]:
    return one.severity, one.subject, one.repository, one.now or one.before


# --- clusters and limits

_STOPS = "repository, #reached, nodes, #clusters, cluster, owner, >first limit, >to move it, >declared at"


def _stops_part(found: Numbers, most: int) -> Part:
    """List the clusters that stop before their target, the worst first."""
    now = found.now
    if now.stops:
        kinds = [f"{_called(one.mechanism)} ({one.clusters:,})" for one in found.rows(own("first-limits"))]
        lines = [f"What stops them first: {', '.join(kinds)}."] if kinds else []
    else:
        rest = f"; how far {now.unknown:,} get is not known" if now.unknown else ""
        lines = [f"No cluster is known to stop before its target{rest}."]
    shown = table("Clusters", _STOPS, found.rows(own("stops")), _stop, most, "reach")
    return Part("Clusters that break first", "first", lines, [shown])


def _called(mechanism: str) -> str:
    """Return the name of a kind of limit, as reported where it is unknown."""
    found = profiles.mechanisms().get(mechanism)
    return found["what"] if found is not None else mechanism


def _stop(one: Row) -> Sequence[str]:
    share = "?" if one.share is None else f"{int(100 * one.share)} %"
    name = f"{one.cluster} in {one.environment}" if one.environment else one.cluster
    place = f"{one.place}{f' and {one.clusters - 1:,} more like it' if one.clusters > 1 else ''}"
    count = number(one.clusters) if one.clusters > 1 else ""
    return one.repository, share, one.reach, count, name, one.owner, one.first_limit, one.move, place


_SHARED = "#of there is, limit, account, region, #needed, #there is, #clusters, >who takes most, >note"


def _shared_part(found: Numbers, most: int) -> Part:
    """List the shared limits that are exceeded when all clusters reach their targets."""
    over = found.rows("FROM query_shared WHERE state = 'over'")
    undecided = found.rows("FROM query_shared WHERE state = 'unknown'")
    exceeded = f"{counted(len(over), 'limit')} would be exceeded if all clusters reached their targets."
    lines = [exceeded if over else "No limit that clusters share is known to be exceeded."]
    if undecided:
        lines.append(f"Whether {counted(len(undecided), 'shared limit')} would be is not known.")
    shown = table("Exceeded", _SHARED, over, _over, most, "shared")
    decide = table(
        "What would decide the others", "#limits, what would decide them", found.rows(own("shared-notes")),
        lambda one: (f"{one.limits:,}", one.note), min(most, _MOST_NOTES), "shared",
    )  # fmt: skip
    return Part("Shared limits that are exceeded", "shared", lines, [shown, decide])


def _over(one: Row) -> Sequence[str]:
    percent = "" if one.percent is None else f"{one.percent:,.0f} %"
    needed = "?" if one.needed is None else f"{'' if one.needed_is_exact else 'at least '}{one.needed:,} {one.unit}"
    available = "" if one.available is None else f"{one.available:,}"
    count = f"{one.clusters:,}"
    return percent, one.name or one.kind, one.account, one.region, needed, available, count, one.takes_most, one.note


# --- money, and what is not known


def _money_part(found: Numbers, most: int) -> Part:
    """Sum the waste of runs by owner, or by repository if there are no owners."""
    by, rows = "owner" if found.is_by_owner else "repository", found.rows(own("money"))
    titles = f"{by}, #clusters, #wasted per run, #without a price, #clusters not known, #perhaps counted twice"
    if rows:
        lines = ["Sums of one simulated run on each cluster; a cluster whose waste is not known is in no sum."]
    else:
        lines = ["No waste was found in any cluster."] if found.now.clusters else ["There are no clusters."]
    if found.now.unpriced:
        lines.append("Where node-hours have no price, give one: price: in the list, or in kcheck.yaml.")
    if any(one.clusters_perhaps_counted_twice for one in rows):
        lines.append("Clusters of one account, region and name in several places may be one, counted more than once.")
    shown = table("Money", titles, rows, _money, most, "money")
    return Part(f"Money by {by}", "money", lines, [shown])


def _money(one: Row) -> Sequence[str]:
    amount = dollars(one.wasted_dollars_at_least or 0, one.wasted_dollars_at_most or 0)
    unpriced = hours(one.unpriced_node_hours_at_least or 0, one.unpriced_node_hours_at_most or 0)
    return (
        one.owner or "(no owner)", f"{one.clusters:,}", amount if one.clusters_with_dollars else "not known",
        unpriced if one.clusters_without_price else "", number(one.clusters_unknown),
        number(one.clusters_perhaps_counted_twice),
    )  # fmt: skip


_MISSING = "#clusters, #checks, #repositories, input, >how to give it, >where"


def _unknown_part(found: Numbers, most: int) -> Part:
    """List the missing inputs that would decide most clusters and checks."""
    now = found.now
    lines = []
    if now.unknown:
        verb = "gets" if now.unknown == 1 else "get"
        lines.append(f"How far {now.unknown:,} of {counted(now.clusters, 'cluster')} {verb} is not known.")
    elif now.clusters:
        lines.append("How far each cluster gets is known.")
    if now.undecided:
        lines.append(f"{counted(now.undecided, 'check')} {'waits' if now.undecided == 1 else 'wait'} for an input.")
    if now.unexplained:
        lines.append(f"No input is named for {counted(now.unexplained, 'cluster')}: kcheck capacity there says why.")
    shown = table("Inputs", _MISSING, found.rows(own("inputs")), _missing, most, "undecided")
    return Part("Inputs that would decide most", "unknown", lines, [shown])


def _missing(one: Row) -> Sequence[str]:
    more = f" and {repositories(one.repositories - 1)} more" if one.repositories > 1 else ""
    counts = (number(one.clusters), number(one.checks), f"{one.repositories:,}")
    return *counts, one.missing, one.remedy, f"{one.example}{more}"


# --- rules, and runs over time

_RULES = "rule, severity, #findings, #repositories, #with a fix, #days there (median), oldest seen first"


def _rules_part(found: Numbers, most: int) -> Part:
    """List the rules with most errors and warnings, and the age of these."""
    now, fixable, has_past = found.now, found.rows(own("fixable")), found.before is not None
    if not now.errors and not now.warnings:
        lines = ["No errors and no warnings."]
    else:
        infos = f"; {counted(now.infos, 'info')} not counted here" if now.infos else ""
        lines = [f"{counted(now.errors, 'error')} and {counted(now.warnings, 'warning')}{infos}."]
    if fixable:
        total = sum(one.findings for one in fixable)
        classes = listed([f"{one.findings:,} ({one.fix})" for one in fixable])
        lines.append(f"kcheck fix has fixes for {counted(total, 'finding')} of all severities: {classes}.")
    shown = table("Rules", _RULES, found.rows(own("rules")), partial(_rule, has_past=has_past), most, "rules")
    return Part("Rules", "rules", lines, [shown])


def _rule(one: Row, *, has_past: bool) -> Sequence[str]:
    counts = (f"{one.findings:,}", f"{one.repositories:,}", number(one.with_fix))
    return one.rule, one.worst_severity, *counts, *((f"{one.median_days:,}", one.oldest) if has_past else ("", ""))


_TREND = (
    "run (UTC), #repos, #clusters, #not seen, #stop, #not known, #errors, #warnings, #wasted per run, #waste not known"
)


def _trend_part(found: Numbers) -> Iterator[Part]:
    """Compare the last runs, if there are several."""
    points = found.rows(own("points"))[-_MOST_RUNS:]
    if len(points) == 1:
        return
    lines = []
    found.set(first=points[0].run)
    if len(totals := found.rows(own("totals"))) == 2:
        first, last = totals
        pairs = (
            ("clusters that stop", first.stops, last.stops), ("clusters not known", first.unknown, last.unknown),
            ("errors", first.errors, last.errors), ("warnings", first.warnings, last.warnings),
        )  # fmt: skip
        each = ", ".join(f"{name} {before:,} then and {now:,} now" for name, before, now in pairs if before != now)
        same = f"{repositories(last.repositories)} checked on {points[0].started} and now"
        lines.append(f"In {same}: {each or 'as many clusters stop, and as many errors and warnings'}.")
    if any(one.clusters_not_seen for one in points):
        lines.append("Not seen: clusters of repositories that the run could not check, as of their last check.")
    is_daily = len({one.started[:10] for one in points}) == len(points)
    shown = table("Runs", _TREND, points, partial(_point, is_daily=is_daily), len(points), "trend")
    yield Part("Trend", "trend", lines, [shown], points)


def _point(one: Row, *, is_daily: bool) -> Sequence[str]:
    least, most = one.wasted_dollars_at_least or 0, one.wasted_dollars_at_most or 0
    is_known = most or not one.clusters_with_unknown_waste
    return (
        one.started[:10] if is_daily else one.started, f"{one.repositories:,}", f"{one.clusters:,}",
        number(one.clusters_not_seen),
        f"{one.clusters_that_stop:,}", f"{one.clusters_unknown:,}", f"{one.errors:,}", f"{one.warnings:,}",
        dollars(least, most) if is_known else "not known", number(one.clusters_with_unknown_waste),
    )  # fmt: skip


# --- the run

_UNCHECKED = "repository, owner, status, last checked, >reason"


def _unchecked_part(found: Numbers, most: int) -> Part:
    """List the repositories that were not checked, or only in part, and why."""
    rows, total = found.rows("FROM query_repositories WHERE status <> 'checked'"), found.now.repositories
    every = "The repository was" if total == 1 else f"All {total:,} repositories were"
    lines = [] if rows else [f"{every} checked."]
    shown = table("Repositories", _UNCHECKED, rows, _unchecked, most, "repositories")
    return Part("Repositories that could not be checked", "unchecked", lines, [shown])


def _unchecked(one: Row) -> Sequence[str]:
    status = "in part" if one.status == "partly" else one.status
    reason = f"{one.reason}{f' (tried {one.attempts} times)' if one.attempts > 1 else ''}"
    run = one.last_checked  # or words that say that there is none
    day = f"{run[:4]}-{run[4:6]}-{run[6:8]}" if run[:8].isdecimal() else run
    return one.repository, one.owner, status, day, reason


def _run_part(found: Numbers) -> Part:
    """Format the duration of the run, and its slowest repositories."""
    now = found.now
    by = f"{counted(now.workers, 'worker')} ({now.engine})"
    lines = [f"The run took {time(now.seconds)} with {by}, kcheck {now.version}."]
    if now.unchanged:
        of = f"{repositories(now.repositories)}{f' of {found.owner}' if found.owner else ''}"
        lines.append(f"Taken over from an earlier run, as nothing there has changed: {now.unchanged:,} of {of}.")
    slow = found.rows(f"FROM query_repositories WHERE status = 'checked' AND seconds IS NOT NULL LIMIT {_MOST_SLOW}")
    titles = "repository, #time, #memory, #files"
    shown = table("Slowest when last checked", titles, slow, _slow, len(slow), "repositories")
    return Part("How the run went", "run", lines, [shown])


def _slow(one: Row) -> Sequence[str]:
    return one.repository, time(one.seconds), f"{one.mebibytes or 0:,} MiB", f"{one.files:,}"
