"""HTML page of `kcheck check`: verdicts, findings, what was not judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kcheck.report import capacity
from kcheck.report.cluster_summary import STATES, Savings, Waste, owners, reach_of, states_text
from kcheck.report.html import capacity_page, document
from kcheck.report.html.code import excerpt, fix_lines
from kcheck.report.html.document import Head, Section
from kcheck.report.limit import age_lines
from kcheck.report.places import by_name, fingerprints
from kcheck.report.rule import CLASSES, url
from kcheck.report.text import ALSO, closing, judged_lines, other_objects, related_code, sorted_checks
from kcheck.scale import money, walls
from kcheck.text.findings import SAFETIES, Finding, Severity
from kcheck.text.units import counted, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from kcheck.engine.judged import MissingInput
    from kcheck.engine.rule import Rule
    from kcheck.model import Cluster
    from kcheck.report.formats import Report
    from kcheck.scale.walls.model import Wall
    from kcheck.scale.world import World

_MOST_ROWS = 200
"""Rows per table of the section "Not judged"."""
_MOST_FOLDERS = 60
_MOST_RULES = 8


def render(report: Report) -> str:
    """Render the report as a page of bounded size, the same for the same code."""
    result = report.result
    of_clusters = owners(report.findings, result.world)
    found = list(_verdicts(report, of_clusters))
    by_rule = list(_groups(report, of_clusters))
    worst = sorted(found, key=lambda one: list(STATES).index(one.state))
    head = document.markup(
        "check.html", verdicts=worst, rows=list(map(_row, worst)), bugs=result.bugs, numbers=list(_numbers(report)),
        late=result.judged.skipped[0].reason if result.is_late else "",
    )  # fmt: skip
    limits = document.markup("clusters.html", verdicts=worst, most=_MOST_OPEN)
    sections = [Section("Limits", limits, "limits")] if found else []
    sections.append(Section("Findings", _findings(report, by_rule, found), "findings"))
    sections.append(Section("Not judged", _not_judged(report), "not-judged"))
    footer = (report.command_line, *age_lines(result.world, report.findings))
    return document.page(Head(_title(found, report), "", head), sections, footer, is_filtered=True)


def _title(found: Sequence[Verdict], report: Report) -> str:
    states = Counter(one.state for one in found)
    if len(found) == 1:
        one = found[0]
        if one.reach == "not known":
            return f"How far {one.name} gets is not known"
        return f"{one.name} reaches {f'its target, {one.target}' if one.state == 'reaches' else one.reach}"
    if found:
        return states_text(states["reaches"], states["stops"], states["unknown"])
    counts = Counter(finding.severity for finding in report.findings)
    words = [counted(counts[one], one.word) for one in reversed(Severity) if counts[one]]
    return ", ".join(words) or (
        "Nothing found" if report.result.judged.is_complete else "Nothing found in what was checked"
    )


def _row(one: Verdict) -> tuple[Markup | str, ...]:
    cluster, state = (document.markup(f"{name}.html", one=one) for name in ("cluster", "state"))
    return (
        cluster,
        state,
        one.reach,
        one.first.what if one.first else "none is known",
        one.waste.amount,
        one.idle.partition(": ")[0],
    )


def _numbers(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the headline numbers: number, label, and severity ("" if none)."""
    result = report.result
    counts = Counter(finding.severity for finding in result.findings)
    for severity in reversed(Severity):
        is_shown = severity >= report.least
        if counts[severity] or severity is not Severity.INFO:
            word = counted(counts[severity], severity.word).partition(" ")[2]
            yield f"{counts[severity]:,}", word if is_shown else f"{word} hidden (--info)", severity.word
    fixes = sum(finding.fix is not None for finding in report.findings)
    undecided = counted(len(result.undecided), "undecided check").partition(" ")[2]
    others = ((fixes, "with a fix"), (len(result.undecided), undecided), (result.suppressed, "suppressed"))
    for number, text in (*others, (result.known, "already known")):
        if number:
            yield f"{number:,}", text, ""


def _findings(report: Report, by_rule: Sequence[Group], found: Sequence[Verdict]) -> Markup:
    findings = report.findings
    counts = Counter(finding.severity for finding in findings)
    classes = {finding.fix.safety for finding in findings if finding.fix is not None}
    left = sum(group.left for group in by_rule)
    return document.markup(
        "findings.html", severities=[(one.word, counts[one]) for one in reversed(Severity) if counts[one]],
        groups=by_rule, clusters=[(one.number, one.name) for one in found] if len(found) > 1 else [],
        folders=_folders(report), waste=sum(finding.waste for finding in findings), count=len(findings) - left,
        shown=counted(len(findings) - left, "finding"), left=left, summary=next(closing(report)),
        classes=[CLASSES[safety] for safety in SAFETIES if safety in classes],
    )  # fmt: skip


def _folders(report: Report) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for finding in report.findings:
        steps = finding.span.source.path.split("/")[:-1]
        counts.update("/".join(steps[:depth]) for depth in range(1, min(len(steps), 2) + 1))
    chosen = sorted(name for name, _ in counts.most_common(_MOST_FOLDERS))
    return [(name, counts[name]) for name in chosen]


def _not_judged(report: Report) -> Markup:
    result = report.result
    judged = result.judged
    return document.markup(
        "not_judged.html", lines=list(judged_lines(result, listed=False)),
        inputs=[_input(one) for one in judged.inputs[:_MOST_ROWS]], more_inputs=max(0, len(judged.inputs) - _MOST_ROWS),
        skipped=judged.skipped[:_MOST_ROWS], more_skipped=max(0, len(judged.skipped) - _MOST_ROWS),
        undecided=sorted_checks(result)[:_MOST_ROWS] if report.show_undecided else [], count=len(result.undecided),
        undecided_text=f"{counted(len(result.undecided), 'check')} undecided",
    )  # fmt: skip


def _input(one: MissingInput) -> tuple[Markup | str, ...]:
    place = document.markup("place.html", place=one.place.location) if one.place is not None else ""
    return one.reason, f"{one.checks:,}", place, one.remedy, some(sorted(one.rules), _MOST_RULES)


MOST = 2_000
_MOST_CHARACTERS = 8_000_000
"""Limits of a page: findings (`MOST`, the worst first), and the characters of their cards."""
_MOST_PLACES, _MOST_DETAILS, _MOST_OTHERS = 12, 30, 12


class Group(NamedTuple):
    """Findings of a rule; only some may have room on the page."""

    rule: Rule
    address: str
    severity: str
    cards: list[Markup]
    number: int

    @property
    def left(self) -> int:
        """Number of findings without a card."""
        return self.number - len(self.cards)


def _groups(report: Report, of_clusters: Sequence[Sequence[int]]) -> Iterator[Group]:
    """Yield findings by rule, the worst rules first."""
    rules = by_name(report.result.world)
    named = zip(fingerprints(report.findings), of_clusters, strict=True)
    ordered = sorted(named, key=lambda one: -one[0][0].severity)
    found: dict[str, list[tuple[Finding, Markup | None]]] = {}
    room = _MOST_CHARACTERS
    for number, ((finding, fingerprint), numbers) in enumerate(ordered):
        card = None
        if number < MOST and room > 0:
            card = document.markup("finding.html", card=_card(finding, fingerprint, numbers))
            room -= len(card)
        found.setdefault(finding.rule, []).append((finding, card))
    for name, own in sorted(found.items(), key=lambda item: (-item[1][0][0].severity, -len(item[1]), item[0])):
        cards = [card for _, card in own if card is not None]
        yield Group(rules[name], url(rules[name]), own[0][0].severity.word, cards, len(own))


def _card(finding: Finding, fingerprint: str, numbers: Sequence[int]) -> dict[str, object]:
    """Return a finding for the page, with `others` and its `clusters`."""
    source, others, fix = finding.span.source, other_objects(finding), finding.fix
    places = [one for one in finding.related if not one.note.startswith(ALSO)]
    codes = [(one.span.location, *related_code(one)) for one in places[:_MOST_PLACES]]
    return {
        "name": f"f-{fingerprint[:12]}", "rule": finding.rule, "severity": finding.severity.word,
        "waste": finding.waste, "message": finding.message, "place": finding.span.exact_location, "path": source.path,
        "clusters": " ".join(map(str, numbers)),
        "thing": finding.object.rpartition(f"{source.path}:")[2] if source.private else "",
        "details": list(finding.details[:_MOST_DETAILS]), "others": others[:_MOST_OTHERS],
        "more_others": max(0, len(others) - _MOST_OTHERS), "code": excerpt(finding.span),
        "places": [{"place": place, "code": code, "note": note} for place, code, note in codes],
        "more_places": max(0, len(places) - _MOST_PLACES), "help": finding.help.splitlines(),
        "fix": fix.title if fix is not None else "", "safety": fix.safety if fix is not None else "",
        "changes": fix_lines(finding) if fix is not None else [],
    }  # fmt: skip


_MOST_OPEN, _MOST_BODIES = 3, 60
"""Clusters whose limits are shown unfolded, and clusters that show limits at all."""


class Verdict(NamedTuple):
    """Summary of a cluster; `state` is a key of `STATES`."""

    number: int
    name: str
    cloud: str
    place: str
    state: str
    reach: str
    target: str
    heading: str
    first: Wall | None
    waste: Waste
    idle: str
    others: int
    limits: Markup | str
    note: str

    @property
    def sign(self) -> str:
        """State as text for people."""
        return STATES[self.state]


def _verdicts(report: Report, of_clusters: Sequence[Sequence[int]]) -> Iterator[Verdict]:
    """Yield a verdict per cluster, in code order."""
    result, world = report.result, report.result.world
    why = {one.cluster.id: one.input for one in result.judged.not_judged}
    lost, folded = Savings(result), len(world.inventory.clusters) <= _MOST_OPEN
    names = Counter(cluster.display_name for cluster in world.inventory.clusters)
    for number, cluster in enumerate(world.inventory.clusters, 1):
        own = [finding for finding, numbers in zip(report.findings, of_clusters, strict=True) if number in numbers]
        state, reach = reach_of(cluster, world)
        target = world.sizes.wanted_amount(cluster).exact
        name = cluster.display_name
        root = f" in {cluster.root}" if names[name] > 1 else ""
        yield Verdict(
            number=number, name=f"{name}{root}", cloud=cluster.cloud, place=cluster.place.location, state=state,
            reach=reach, target="" if target is None else counted(target, "node"),
            heading=f"{capacity.heading(cluster, world)}{root}", first=walls.first(cluster, world),
            waste=lost.waste(cluster, own), idle=capacity.month_text(money.month(cluster, world, idle=True)),
            others=sum(finding.waste and finding.rule not in lost.words for finding in own),
            limits=capacity_page.body(cluster, world, folded=folded) if number <= _MOST_BODIES else "",
            note=_note(cluster, world, None if state != "unknown" else why.get(cluster.id)),
        )  # fmt: skip


def _note(cluster: Cluster, world: World, missing: MissingInput | None) -> str:
    """Explain the source of the target, or the input that would decide it."""
    if missing is not None:
        return "; ".join(filter(None, (missing.reason, missing.remedy)))
    if world.sizes.wanted_amount(cluster).exact is None:
        return ""
    return f"target: {'the number asked for' if world.sizes.requested(cluster) else 'the maxima of its pools'}"
