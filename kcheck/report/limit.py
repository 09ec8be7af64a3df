"""Pages and tables of limits: value, sources, users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product, starmap

from kcheck.config.numbers import dates, profiles, retirements
from kcheck.config.numbers.clouds import owners
from kcheck.config.numbers.dates import TABLE, Dated
from kcheck.config.numbers.profiles import ProfileValue
from kcheck.engine import rule_words, rules
from kcheck.engine.rule import Rule, source_entries
from kcheck.report import page
from kcheck.report.escape import json_text
from kcheck.report.layout import Column, Table, Text
from kcheck.report.page import Block, Facts, Line, Name, Part, Point, Prose, Title
from kcheck.report.places import by_name
from kcheck.scale import money, walls
from kcheck.scale.world import World
from kcheck.text.findings import Finding
from kcheck.text.units import shown

INDEX = "docs/limits.md"
_FOLDER = "docs/limits"
_KINDS = {
    "hard": "hard: nobody can raise it",
    "quota": "quota: it can be raised; kcheck.yaml says so under `limits:`",
    "recommended": "recommended: advice, the vendor's or ours; kcheck.yaml can say otherwise under `limits:`",
    "default": "default: what holds where nothing is written",
}


def page_path(name: str) -> str:
    """Return the site's page of a number, such as that of limits.eks.pool.quota."""
    table, _, rest = name.partition(".")
    cloud, _, key = rest.partition(".")
    if table == "flags":
        return f"{INDEX}#--{rest}"
    if table == "settings":
        return f"{_FOLDER}/{cloud}/defaults.md#{page.anchor(key)}"
    if key.startswith("quota."):
        return f"{_FOLDER}/{cloud}/quotas.md#{page.anchor(key)}"
    if table == "retirements":
        return f"{_FOLDER}/{cloud}/retirements.md#{page.anchor(key)}"
    return f"{_FOLDER}/{cloud}/{key}.md"


def link(name: str, place: Callable[[str], str] = page_path) -> Name:
    """Return a number's short name, linked to its page or another `place`."""
    return Name(f"--{name.partition('.')[2]}" if name.startswith("flags.") else name.partition(".")[2], place(name))


def names() -> dict[str, ProfileValue]:
    """Map full names such as limits.eks.pool.quota to all numbers."""
    return {one.name: one.entry for one in dates.entries()}


def meant(text: str) -> dict[str, ProfileValue]:
    """Find numbers by a full or short name, such as pool.quota."""
    whole = profiles.entries(text) or retirements.entries(text)
    return whole or {
        **profiles.entries(f"limits.{text}"),
        **profiles.entries(f"settings.{text}"),
        **retirements.entries(f"retirements.{text}"),
    }


def point(name: str, entry: ProfileValue) -> Point:
    """Format a number as a list item with its sources, for the page of a rule."""
    told = f" = {value(entry)} ({entry.kind}, checked {entry.checked}, confidence {entry.confidence})"
    return Point((link(name), told), (*entry.sources, *([entry.note] if entry.note else [])))


def blocks(name: str, entry: ProfileValue, *, level: int = 1) -> Iterator[Block]:
    """Yield the page of a number; with `level` above 1, a chapter of a page."""
    text = link(name).text
    yield Title(text) if level == 1 else Part(text if level < 2 else entry.key, level)
    own = quota(name)
    rows: list[tuple[str, Line]] = [("code", (Name(own["code"]),)), ("name", (own["name"],))] if own else []
    rows += [("value", (value(entry),)), ("kind", (_KINDS[entry.kind],))]
    rows += [("scope", (entry.scope,))] if entry.scope else []
    rows += [("checked", (f"{entry.checked}, newest source {entry.source_dated}, confidence {entry.confidence}",))]
    yield Facts(tuple(rows))
    if entry.note:
        yield Prose(entry.note[0].upper() + entry.note[1:].rstrip(".") + ".")
    yield Part("Sources", level + 1) if level == 1 else Prose("Sources:")
    yield from (Point((source,)) for source in entry.sources)
    found = ((Name(one.name, f"{page.RULES}/{one.name}.md"), f": {one.summary}") for one in users().get(name, ()))
    if points := [*_walls(name), *map(Point, found)]:
        yield Part("Used by", level + 1) if level == 1 else Prose("Used by:")
        yield from points


def as_text(name: str, entry: ProfileValue) -> Text:
    """Return the page for a terminal."""
    return page.as_text([*blocks(name, entry), Prose(f"More: {page.HOME}/{INDEX}#{link(name).text}")])


def quota(name: str) -> profiles.Quota | None:
    """Return a quota's code and name in the console; None for other numbers."""
    cloud, _, key = name.partition(".")[2].partition(".quota.")
    return profiles.quotas(cloud).get(key) if key else None


def _walls(name: str) -> Iterator[Point]:
    """Yield the walls of `kcheck capacity` that a limit causes."""
    table, cloud, key = (*name.split(".", 2), "")[:3]
    for mechanism_name, mechanism in profiles.mechanisms().items():
        if table == "limits" and key in mechanism["limits"]:
            told = f": {mechanism['what']}. To move it: {profiles.move(mechanism_name, cloud)}"
            yield Point((Name("kcheck capacity", "docs/commands.md#kcheck-capacity"), told))


@cache
def users() -> Mapping[str, list[Rule]]:
    """Map each number to the rules that use it, in their sources or conditions."""
    found: dict[str, list[Rule]] = {}
    for rule in rules.load():
        named = {name for name, entry in rule.entries().items() if entry}
        for path in rule_words.limits(rule):
            own = profiles.entries(path).keys()
            named |= set(own) if not named.intersection(own) else set()  # else the rule is for those it names
        for one in named:
            found.setdefault(one, []).append(rule)
    return found


_WIDEST = 40


def value(entry: ProfileValue) -> str:
    """Format a value with its unit."""
    if entry.value is None:
        return "differs by account"
    if isinstance(entry.value, bool) or not isinstance(entry.value, int):
        return shown(entry.value) or "nothing"
    return f"{shown(entry.value, 'mills')} per hour" if entry.unit == "mills" else f"{shown(entry.value)} {entry.unit}"


def table(found: Sequence[Dated]) -> list[Table]:
    """Return one line per number: name, value, kind, days, first source."""
    rows = [(name, _short(own), own.kind, own.checked, own.source_dated, _source(own)) for name, _, own in found]
    titles = map(Column, ("name", "value", "kind", "checked", "newest source", "source"))
    return [Table(list(titles), rows)] if rows else []


def _short(entry: ProfileValue) -> str:
    text = "-" if entry.kind == TABLE else value(entry)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _source(entry: ProfileValue) -> str:
    more = len(entry.sources) - 1
    return entry.sources[0] + (f" (+{more})" if more else "")


def table_as_json(found: Sequence[Dated]) -> str:
    """Format numbers as JSON with all sources; null for quotas that differ by account."""
    entries = [
        {
            "name": one.name, "cloud": one.cloud, "value": one.entry.value, "unit": one.entry.unit,
            "kind": one.entry.kind, "checked": one.entry.checked, "source_dated": one.entry.source_dated,
            "confidence": one.entry.confidence, "sources": list(one.entry.sources),
        }
        for one in found
    ]  # fmt: skip
    return json_text({"version": 1, "numbers": entries}, indent=1)


def age_lines(world: World, findings: Sequence[Finding] = (), *tables: str, has_walls: bool = True) -> list[str]:
    """List a line about old numbers, and one about an old release."""
    clouds = {"any", *(one.cloud for one in world.inventory.clusters)}
    keys = {*_sources(world, findings), *(f"tables.{name}" for name in tables)}
    for cluster in world.inventory.clusters if has_walls else ():
        bill = money.month(cluster, world)
        limits = {*bill.prices, *(one.limit for one in walls.find_walls(cluster, world))}
        keys |= {f"limits.{cluster.cloud}.{name}" for name in limits}
        keys |= {"tables.prices"} if world.config.price is None and bill.lines else set()
    own = [Dated(name, name.split(".")[1], one) for key in keys for name, one in source_entries(key).items() if one]
    found = [one for one in own if one.cloud in clouds and one.name.removeprefix("limits.") not in world.config.limits]
    names = (key.removeprefix("tables.") for key in keys if key.startswith("tables."))
    found += filter(None, starmap(dates.table, product(clouds, names)))
    return list(dates.old(found))


def _sources(world: World, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield sources and limits of rules behind findings, except those of details."""
    own = by_name(world)
    for rule in {one.rule: own[one.rule] for one in findings if one.rule in own}.values():
        texts = [(one.steps[0] in ("details", "help"), one.text) for one in rule_words.texts(rule)]
        decided, told = (" ".join(text for late, text in texts if late is said) for said in (False, True))
        limits, spoken = (re.findall(r"limits\.[\w.]+", words) for words in (decided, told))
        late = {f"limits.{cloud}{one[6:]}" for one in {*spoken} - {*limits} for cloud in owners()}
        yield from (*limits, *(name for name in rule.sources if name not in late))
        yield from ["tables.versions"] if "cluster.support" in decided else []
    if world.config.price is None and any("$" in text for one in findings for text in (one.message, *one.details)):
        yield "tables.prices"
