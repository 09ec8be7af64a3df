"""Hover text of a value, most important facts first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.editor.facts import facts_of
from kcheck.addons.editor.value_text import block, chain, is_known, is_whole, plain, unknown_parts
from kcheck.addons.editor.values_at import MOST
from kcheck.engine.judged import missing_input
from kcheck.model import Cluster, NodePool, PodRange, Subnet
from kcheck.report.escape import as_code, markdown, markdown_link
from kcheck.report.places import by_name
from kcheck.report.rule import url
from kcheck.report.word import type_name
from kcheck.text.text import grouped
from kcheck.text.units import as_text, clipped, counted, shown, singular, some
from kcheck.text.values import Known, Secret, Unknown, known, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Sized

    from kcheck.addons.editor.facts import Fact
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.values_at import Evaluated
    from kcheck.model import Thing
    from kcheck.scale.walls.model import Wall
    from kcheck.text.text import Span
    from kcheck.text.values import Value

_MOST_VALUES = 6
_MOST_FIELDS = 4
_MOST_THINGS = 3
_MOST_WALLS = 5
_MOST_FINDINGS = 6
_MOST_PLACES = 6
_WIDEST = 240
"""Characters of a limit's arithmetic."""


class Subject(NamedTuple):
    """Subject of a hover: name, place, values, and other places that belong to it."""

    title: str
    span: Span
    values: Sequence[Evaluated]
    spans: tuple[Span, ...]
    note: str = ""


def described(subject: Subject, snapshot: Snapshot) -> str:
    """Format everything known about a subject, most important first; empty if nothing."""
    facts = facts_of(snapshot)
    fields = [fact for span in subject.spans for fact in facts.fields(span)]
    secret = any(isinstance(one.value, Secret) for one in subject.values)
    parts = [
        "\n\n".join(_values(subject, fields, snapshot)), markdown(subject.note), "\n".join(_things(subject, snapshot)),
        "\n".join(_limits(facts.walls(subject.spans), snapshot)), "\n".join(_findings(subject, snapshot)),
        "\n".join(_fields(fields, subject)), "\n".join(_places(subject, snapshot, secret=secret)),
    ]  # fmt: skip
    if not any(parts[1:]) and not subject.values:
        return ""
    return "\n\n".join(filter(None, parts))


def knows(subject: Subject, snapshot: Snapshot) -> bool:
    """Whether the hover has more to show than the value."""
    facts = facts_of(snapshot)
    return any(facts.fields(span) or facts.findings(span) for span in subject.spans) or bool(facts.walls(subject.spans))


def _values(subject: Subject, fields: Sequence[Fact], snapshot: Snapshot) -> Iterator[str]:
    title = as_code(subject.title)
    groups = list(grouped(subject.values, lambda one: _key(one.value)).values())
    if not groups:
        yield f"**{title}**"
        return
    if len(groups) == 1:
        value = groups[0][0].value
        large = block(value)
        yield from (f"**{title}** =", large) if large else (f"**{title}** {_one(value, fields, snapshot)}",)
        return
    rows = [f"**{title}**"]
    for own in groups[:_MOST_VALUES]:
        names = list(dict.fromkeys(one.where for one in own if one.where))
        rows.append(f"- {some(list(map(as_code, names)), _MOST_THINGS)} {_one(own[0].value, (), snapshot)}")
    if len(groups) > _MOST_VALUES:
        least = "at least " if len(subject.values) == MOST else ""
        rows.append(f"- and {least}{counted(len(groups) - _MOST_VALUES, 'other value')}")
    yield "\n".join(rows)


def _key(value: Value[object]) -> str:
    return value.reason if isinstance(value, Unknown) and not is_known(value) else plain(value, 1000)


def _one(value: Value[object], fields: Sequence[Fact], snapshot: Snapshot) -> str:
    if isinstance(value, Secret):
        return f"is sensitive and not shown: {markdown(value.reason)}"
    if isinstance(value, Unknown):
        said = f"= {as_code(plain(value))}:" if is_known(value) else "is unknown:"
        return f"{said} {_reason(value, snapshot)}"
    if is_whole(value):
        return "is a whole resource or module"
    if (reason := unknown_parts(value)) is not None:
        return f"is unknown: {_reason(reason, snapshot)}"
    return f"= {as_code(plain(value))}{markdown(_in_unit(known(value), fields))}"


def _reason(value: Unknown, snapshot: Snapshot) -> str:
    missing = missing_input(value, snapshot.reading)
    remedy = f"; {missing.remedy}" if missing.remedy and missing.remedy not in value.reason else ""
    return markdown(value.reason + remedy)


def _in_unit(value: object, fields: Sequence[Fact]) -> str:
    """Return the unit of a number, or the number in its unit, to append to a value."""
    found = {(read, one.field.unit) for one in fields if type(read := known(one.value)) is int and one.field.unit}
    if len(found) != 1:
        return ""
    number, unit = found.pop()
    text = shown(number, unit)
    if number == value and text == f"{number:,}":
        return f" {unit if number != 1 else singular(f' {unit}').strip()}"
    return "" if text in (as_text(value), f"{number:,}") else f" ({text})"


def _fields(fields: Sequence[Fact], subject: Subject) -> Iterator[str]:
    """Yield the fields of the model that have the value."""
    plain_values = [known(one.value) for one in subject.values if isinstance(one.value, Known)]
    is_choice = not plain_values or any(isinstance(value, bool) or value in ("true", "false") for value in plain_values)
    kept = (fact for fact in fields if is_choice or not isinstance(known(fact.value), bool))
    groups = grouped(kept, lambda fact: (fact.subject, fact.field.name))
    for (kind, name), own in list(groups.items())[:_MOST_FIELDS]:
        things = list(dict.fromkeys(thing_name(fact.thing) for fact in own))
        of = f" of {some(list(map(as_code, things)), _MOST_THINGS)}"
        field = own[0].field
        of += f" ({', '.join(filter(None, (type_name(field), field.unit)))})"
        yield f"- {as_code(f'{kind}.{name}')}{of}: {markdown(field.meaning)}"
    yield from _more(groups, _MOST_FIELDS, "field")


def _things(subject: Subject, snapshot: Snapshot) -> Iterator[str]:
    sizes = snapshot.world.sizes
    wholes = (one.value.origin for one in subject.values if is_whole(one.value))
    spans = dict.fromkeys((subject.span, *(origin.written for origin in wholes if origin is not None and origin.spans)))
    found = [one for span in spans for one in facts_of(snapshot).declared(span)]
    for kind, thing in found[:_MOST_FIELDS]:
        name = f"{kind.replace('_', ' ')} {as_code(thing_name(thing))}"
        if isinstance(thing, Cluster):
            yield f"- {name}: target {_nodes(sizes.target(thing))}"
        elif isinstance(thing, NodePool):
            yield f"- {name}: {_nodes(sizes.of_pool(thing))} at the target of its cluster"
        elif isinstance(thing, Subnet | PodRange) and (wall := facts_of(snapshot).full(thing)) is not None:
            of = f" of {facts_of(snapshot).aim(wall)}" if wall.short else ""
            full = markdown(wall.arithmetic) if wall.nodes.is_open else f"full at {wall.nodes}{of} nodes"
            yield f"- {name}: {full}"
        else:
            yield f"- {name}"


def _nodes(value: Value[int]) -> str:
    return counted(value.value, "node") if isinstance(value, Known) else f"unknown, {markdown(reason_of(value))}"


def thing_name(thing: Thing) -> str:
    """Return the display name of an object of the model."""
    name = getattr(thing, "name", None)
    found = known(name) if isinstance(name, Known) else None
    return str(found) if found else str(getattr(thing, "address", "") or thing.id.rpartition(":")[2])


def _limits(walls: Sequence[Wall], snapshot: Snapshot) -> Iterator[str]:
    """Yield the limits that depend on the value, with similar ones on one line."""
    alike = grouped(
        walls, lambda one: one if one.nodes.is_open else (one.cluster, one.mechanism, one.nodes.low, one.nodes.high)
    )
    if alike:
        yield "**Limits**"
    for first, *others in list(alike.values())[:_MOST_WALLS]:
        yield f"- {wall_line(first, snapshot)}{f'; {len(others)} more like it' if others else ''}"
    yield from (f"{more}, which `kcheck capacity` lists" for more in _more(alike, _MOST_WALLS, "limit"))


def wall_line(wall: Wall, snapshot: Snapshot) -> str:
    """Format a limit on one line: nodes, target, and arithmetic."""
    aim = facts_of(snapshot).aim(wall)
    what = wall.what.removesuffix(" of the cluster") if wall.scope == "the cluster" else wall.what
    what += f" of cluster {thing_name(wall.cluster)}" if wall.scope == "the cluster" else ""
    arithmetic = clipped(wall.arithmetic, _WIDEST)
    if wall.nodes.is_open:
        return f"{markdown(what)}: {markdown(arithmetic)}"
    of = f" of {aim}" if wall.short else ""
    target = f" (target {aim})" if not wall.short and aim.exact is not None else ""
    return f"**{wall.nodes}{of} nodes**{target}: {markdown(what)}; {markdown(arithmetic)}"


def _findings(subject: Subject, snapshot: Snapshot) -> Iterator[str]:
    facts, spans = facts_of(snapshot), dict.fromkeys((*subject.spans, subject.span))
    found = list({id(one): one for span in spans for one in facts.findings(span)}.values())
    pages = {name: url(rule) for name, rule in by_name(snapshot.world).items()} if found else {}
    if found:
        yield "**Findings**"
    for one in found[:_MOST_FINDINGS]:
        yield f"- {one.severity.word} {markdown_link(one.rule, pages.get(one.rule, ''))}: {markdown(one.message)}"
    yield from _more(found, _MOST_FINDINGS, "finding")


def _places(subject: Subject, snapshot: Snapshot, *, secret: bool) -> Iterator[str]:
    """Yield the places the value comes from, if there are others than the subject."""
    origins = (one.value.origin for one in subject.values)
    spans = dict.fromkeys(span for origin in origins if origin is not None for span in origin.spans)
    here = (subject.span.source, subject.span.begin.line)
    lines = {(span.source, span.begin.line): span for span in spans if not span.source.bundled}
    others = [span for line, span in lines.items() if line != here]
    if not others:
        return
    yield "**From**"
    yield from (f"- {line}" for line in chain(others[:_MOST_PLACES], snapshot, secret=secret))
    yield from _more(others, _MOST_PLACES, "place")


def _more(every: Sized, most: int, what: str) -> Iterator[str]:
    """Count the items that are not listed."""
    if len(every) > most:
        yield f"- and {counted(len(every) - most, f'more {what}')}"
