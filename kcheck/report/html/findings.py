"""The findings of a page, by rule: each with its code, where it comes from, and its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.report.fingerprint import fingerprints
from kcheck.report.html import document
from kcheck.report.html.code import excerpt, fix_lines
from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.report.text import ALSO, place_text, related_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from kcheck.engine.rule import Rule
    from kcheck.report.formats import Report
    from kcheck.report.html.code import Changed, Line
    from kcheck.text.findings import Finding

MOST = 2_000
_MOST_CHARACTERS = 8_000_000
"""Findings of a page, the worst first, and the characters that they take."""
_MOST_PLACES, _MOST_DETAILS, _MOST_OTHERS = 12, 30, 12


class Place(NamedTuple):
    """Another place of a finding, with its code and what it is there for."""

    place: str
    code: str
    note: str


class Card(NamedTuple):
    """A finding as it is shown. `others` are objects that have it, too; `clusters` are the numbers of its clusters."""

    name: str
    rule: str
    severity: str
    waste: bool
    message: str
    place: str
    path: str
    clusters: str
    thing: str
    details: list[str]
    others: list[str]
    more_others: int
    code: list[Line]
    places: list[Place]
    more_places: int
    help: list[str]
    fix: str
    safety: str
    changes: list[Changed]


class Group(NamedTuple):
    """The findings of a rule; `left` of them have no room on the page."""

    rule: str
    summary: str
    address: str
    severity: str
    cards: list[Markup]
    number: int
    left: int


def groups(report: Report, of_clusters: Sequence[Sequence[int]]) -> Iterator[Group]:
    """The findings by rule, the worst rules first; of too many, the worst findings."""
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
        yield _group(rules[name], own)


def _group(rule: Rule, own: list[tuple[Finding, Markup | None]]) -> Group:
    cards = [card for _, card in own if card is not None]
    return Group(
        rule=rule.name,
        summary=rule.summary,
        address=url(rule),
        severity=own[0][0].severity.word,
        cards=cards,
        number=len(own),
        left=len(own) - len(cards),
    )


def _card(finding: Finding, fingerprint: str, numbers: Sequence[int]) -> Card:
    source, begin = finding.span.source, finding.span.begin
    own = f"{finding.object.partition(':')[0]}:"
    others = [
        one.message.removeprefix(ALSO).removeprefix(own) for one in finding.related if one.message.startswith(ALSO)
    ]
    places = [one for one in finding.related if not one.message.startswith(ALSO)]
    return Card(
        name=f"f-{fingerprint[:12]}",
        rule=finding.rule,
        severity=finding.severity.word,
        waste=finding.waste,
        message=finding.message,
        place=f"{source.path}:{begin.line}:{begin.column}",
        path=source.path,
        clusters=" ".join(map(str, numbers)),
        thing=finding.object.rpartition(f"{source.path}:")[2] if source.private else "",
        details=list(finding.details[:_MOST_DETAILS]),
        others=others[:_MOST_OTHERS],
        more_others=max(0, len(others) - _MOST_OTHERS),
        code=excerpt(finding.span),
        places=[Place(place_text(one.span), *related_code(one)) for one in places[:_MOST_PLACES]],
        more_places=max(0, len(places) - _MOST_PLACES),
        help=finding.help.splitlines(),
        fix=finding.fix.title if finding.fix is not None else "",
        safety=finding.fix.safety if finding.fix is not None else "",
        changes=fix_lines(finding) if finding.fix is not None else [],
    )
