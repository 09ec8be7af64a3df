"""A number of the profiles as a page: its value, where it comes from, and what uses it; many as a table."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from kcheck.config.numbers import dates, flags, machines, profiles, retirements
from kcheck.config.numbers.clouds import owners
from kcheck.config.numbers.dates import TABLE
from kcheck.engine import rule_words, rules
from kcheck.report import page
from kcheck.report.escape import json_text
from kcheck.report.page import Facts, Name, Part, Point, Prose, Title
from kcheck.text.units import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kcheck.config.numbers.dates import Dated
    from kcheck.config.numbers.profiles import ProfileValue
    from kcheck.engine.rule import Rule
    from kcheck.report.page import Block, Line

INDEX = "docs/limits.md"
_FOLDER = "docs/limits"
_KINDS = {
    "hard": "hard: nobody can raise it",
    "quota": "quota: it can be raised; kcheck.yaml says so under `limits:`",
    "recommended": "recommended: advice, the vendor's or ours; kcheck.yaml can say otherwise under `limits:`",
    "default": "default: what holds where nothing is written",
}


def page_path(name: str) -> str:
    """Return the page of a number in the site, such as that of limits.eks.pool.quota."""
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


def file_path(name: str) -> str:
    """Return the file of a number, from the root of the project."""
    table, _, rest = name.partition(".")
    cloud, _, key = rest.partition(".")
    if table == "flags":
        return "profiles/any/flags.yaml"
    return f"profiles/{cloud}/{'quotas' if key.startswith('quota.') else table}.yaml"


def link(name: str, place: Callable[[str], str] = page_path) -> Name:
    """Return the name of a number as people write it, eks.pool.quota, with its page or another `place`."""
    return Name(f"--{name.partition('.')[2]}" if name.startswith("flags.") else name.partition(".")[2], place(name))


def names() -> dict[str, ProfileValue]:
    """All limits, quotas, defaults and retirements, by names such as limits.eks.pool.quota."""
    return {one.name: one.entry for one in dates.entries()}


def meant(text: str) -> dict[str, ProfileValue]:
    """The numbers that a person means by a name, by full name: pool.quota, eks.pool.quota, limits.eks.pool.quota."""
    whole = profiles.entries(text) or retirements.entries(text)
    return whole or {
        **profiles.entries(f"limits.{text}"),
        **profiles.entries(f"settings.{text}"),
        **retirements.entries(f"retirements.{text}"),
    }


def point(name: str, entry: ProfileValue) -> Point:
    """A number in the list of those that a rule rests on."""
    told = f" = {_value(entry)} ({entry.kind}, checked {entry.checked}, confidence {entry.confidence})"
    return Point((link(name), told), (*entry.sources, *([entry.note] if entry.note else [])))


def blocks(name: str, entry: ProfileValue, *, level: int = 1) -> Iterator[Block]:
    """The page of a number; of a `level` of more than 1 as a chapter of one."""
    text = link(name).text
    yield Title(text) if level == 1 else Part(text if level < 2 else entry.key, level)
    quota = _quota(name)
    rows: list[tuple[str, Line]] = [("code", (Name(quota["code"]),)), ("name", (quota["name"],))] if quota else []
    rows += [("value", (_value(entry),)), ("kind", (_KINDS[entry.kind],))]
    rows += [("scope", (entry.scope,))] if entry.scope else []
    rows += [("checked", (f"{entry.checked}, confidence {entry.confidence}",))]
    yield Facts(tuple(rows))
    if entry.note:
        yield Prose(entry.note[0].upper() + entry.note[1:].rstrip(".") + ".")
    yield Part("Sources", level + 1) if level == 1 else Prose("Sources:")
    yield from (Point((source,)) for source in entry.sources)
    users = [*_walls(name), *_rules(name)]
    if users:
        yield Part("Used by", level + 1) if level == 1 else Prose("Used by:")
        yield from users


def as_text(name: str, entry: ProfileValue) -> str:
    """The page for a terminal."""
    return page.as_text([*blocks(name, entry), Prose(f"More: {page.HOME}/{INDEX}#{link(name).text}")])


def _quota(name: str) -> profiles.Quota | None:
    """What a provider's console knows of a quota."""
    cloud, _, key = name.partition(".")[2].partition(".quota.")
    return profiles.quotas(cloud).get(key) if key else None


def _walls(name: str) -> Iterator[Point]:
    """The walls of `kcheck capacity` that a limit makes."""
    table, _, rest = name.partition(".")
    cloud, _, key = rest.partition(".")
    if table != "limits":
        return
    for mechanism_name, mechanism in profiles.mechanisms().items():
        if key in mechanism["limits"]:
            yield Point(
                (
                    Name("kcheck capacity", "docs/commands.md#kcheck-capacity"),
                    f": {mechanism['what']}. To move it: {profiles.move(mechanism_name, cloud)}",
                )
            )


def _rules(name: str) -> Iterator[Point]:
    for rule in _users().get(name, ()):
        yield Point((Name(rule.name, f"{page.RULES}/{rule.name}.md"), f": {rule.summary}"))


@cache
def _users() -> Mapping[str, list[Rule]]:
    """Which of kcheck's rules use which number: by name among their sources, or in their conditions."""
    found: dict[str, list[Rule]] = {}
    for rule in rules.load():
        named = {name for name, entry in rule.entries().items() if entry}
        for path in rule_words.limits(rule):
            own = profiles.entries(path).keys()
            named |= set(own) if not named.intersection(own) else set()  # else the rule is for those it names
        for one in named:
            found.setdefault(one, []).append(rule)
    return found


# --- pages with many


def pages() -> dict[str, str]:
    """Return the pages of numbers in the site, by their paths."""
    found: dict[str, list[Block]] = {}
    for name, entry in names().items():
        path = page_path(name).partition("#")[0]
        single = path.endswith(f"/{entry.key}.md")
        if not single and path not in found:
            found[path] = list(_head(path))
        found.setdefault(path, []).extend(blocks(name, entry, level=1 if single else 2))
    return {path: page.as_markdown(own, path) for path, own in found.items()}


def _head(path: str) -> Iterator[Block]:
    cloud = path.split("/")[-2]
    if path.endswith("quotas.md"):
        yield Title(f"Quotas of an account: {cloud}")
        yield Prose(
            "`kcheck capacity` says how much of each the target needs, by the code that one types into the provider's\n"
            "console. Where kcheck.yaml gives your number under `limits:`, it is a wall like any other."
        )
    elif path.endswith("retirements.md"):
        yield Title(f"Retirements: {cloud}")
        yield Prose("What the cloud retires: the day from which it is not supported, and what happens then.")
    else:
        yield Title(f"Defaults: {cloud}")
        yield Prose("What the cloud, its Terraform provider or Kubernetes uses where nothing is written.")
    yield Point((Name("All numbers", INDEX, code=False),))


def _flags() -> str:
    """Return the chapter of docs/limits.md about the flags of the cluster autoscaler."""
    entries = [entry for name in flags.flags() if (entry := profiles.flag_entry(name))]
    rows = []
    for entry in entries:
        flag = entry.key.removeprefix("--")
        own = flags.flags()[flag]
        first, removed = own.get("first", ""), own.get("removed", "")
        since = first if isinstance(first, str) else ", ".join(first)
        default = shown(entry.value) + (f" ({entry.note})" if entry.note else "")
        name = f"flags.{flag}"
        rows.append([_marked(name), entry.unit, page.escaped(default), since, removed, _links(_users().get(name, ()))])
    head = ("flag", "type", "default", "since", "removed in", "used by")
    return (
        "\n## Flags of the cluster autoscaler\n\n"
        f"Defaults of 1.37, read from the [source]({entries[0].sources[0]}) on {entries[0].checked}; they are in "
        f"[profiles/any/flags.yaml](../profiles/any/flags.yaml).\n\n{page.table(head, rows)}"
    )


def _marked(name: str, place: Callable[[str], str] | None = None) -> str:
    """Return the name of a number for a table, which a link can lead to, with a link to a place."""
    own = link(name, place or str)
    return f'<a id="{own.text}"></a>' + page.link(own if place else Name(own.text), INDEX)


def _links(users: Iterable[Rule]) -> str:
    return ", ".join(page.link(Name(one.name, page.rule_file(one)), INDEX) for one in users)


def index(place: Callable[[str], str] = file_path) -> str:
    """Return docs/limits.md: all numbers by cloud, with links to their files, or to another `place`."""
    oldest = min(one.entry.checked for one in dates.numbers())
    head = (
        "# The numbers\n\nPrinted from `profiles/`. Each has its source, and the day it was last checked; "
        f"the oldest was checked on {oldest}.\n`kcheck limits --older-than 180d` lists what is due, "
        "and `kcheck explain eks.pool.quota` prints one number.\n"
        "*hard* cannot be raised, *quota* can, *recommended* is advice, *default* holds where nothing is written.\n"
        "The file of a number has also its scope and notes.\n"
    )
    parts = [head]
    every = names()
    for cloud in owners():
        rows = []
        for name, entry in every.items():
            if name.split(".")[1] == cloud:
                quota = _quota(name)
                amount = page.escaped(_value(entry)) + (f" (`{quota['code']}`)" if quota else "")
                sources = " ".join(f"[{number}]({source})" for number, source in enumerate(entry.sources, 1))
                dated = (entry.kind, entry.checked, entry.confidence, sources)
                rows.append([_marked(name, place), amount, *dated, _links(_users().get(name, ()))])
        title = "On every cloud" if cloud == "any" else cloud
        columns = ("number", "value", "kind", "checked", "confidence", "sources", "used by")
        parts.append(f"\n## {title}\n\n{page.table(columns, rows)}{_prices(cloud)}")
    return "".join([*parts, _flags()])


def _prices(cloud: str) -> str:
    """The list prices of a cloud, spot behind a slash."""
    table = profiles.prices(cloud)
    if table is None:
        return ""

    links = " ".join(f"[{i}]({url})" for i, url in enumerate(table.sources, 1))
    rows = []
    for own in (table, *table.elsewhere):
        for group, types in own.on_demand.items():
            if any(machines.gpus(cloud, name) for name in types):
                spot = own.spot.get(group, {})
                each = (
                    f"{n} {mills / 1000:g}" + (f" / {spot[n] / 1000:g}" if n in spot else "")
                    for n, mills in types.items()
                )
                rows.append([group if own is table else f"{group} ({own.region})", ", ".join(each)])
    if table.accelerators:
        added = ", ".join(f"{name} {mills / 1000:g}" for name, mills in table.accelerators.items())
        rows.append(["each attached accelerator", added])
    markets = " on demand" if not table.spot else ", on demand / spot"
    markets += "" if table.currency == "USD" else f", converted at {table.rate:g} {table.currency} a dollar"
    return (
        f"\n### Prices: {cloud}\n\n"
        f"List prices of {table.region} in US dollars per node-hour{markets}, as of {table.dated}, "
        f"checked {table.checked}, confidence {table.confidence}: {links}. "
        "`--price` and `price:` in kcheck.yaml go first.\n\n"
        f"{page.table(('accelerators', 'machine types'), rows)}\nThe others are in `profiles/{cloud}/prices.yaml`.\n"
    )


_WIDEST = 40
"""Characters of a value; a longer one ends with three dots."""


def _value(entry: ProfileValue) -> str:
    """A value with its unit, in words."""
    if entry.value is None:
        return "differs by account"
    if isinstance(entry.value, bool) or not isinstance(entry.value, int):
        return shown(entry.value) or "nothing"
    return f"{shown(entry.value, 'mills')} per hour" if entry.unit == "mills" else f"{shown(entry.value)} {entry.unit}"


def table(found: Sequence[Dated]) -> str:
    """One line a number: name, value, kind, the day it was checked, its first source."""
    rows = [(one.name, _short(one.entry), one.entry.kind, one.entry.checked, _source(one.entry)) for one in found]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    padded = [[cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)] for row in rows]
    return "".join(f"{'  '.join(row)}\n" for row in padded)


def _short(entry: ProfileValue) -> str:
    text = "-" if entry.kind == TABLE else _value(entry)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _source(entry: ProfileValue) -> str:
    more = len(entry.sources) - 1
    return entry.sources[0] + (f" (+{more})" if more else "")


def table_as_json(found: Sequence[Dated]) -> str:
    """The same with all sources; a table, and a quota that differs by account, has no value."""
    entries = [
        {
            "name": one.name, "cloud": one.cloud, "value": one.entry.value, "unit": one.entry.unit,
            "kind": one.entry.kind, "checked": one.entry.checked, "confidence": one.entry.confidence,
            "sources": list(one.entry.sources),
        }
        for one in found
    ]  # fmt: skip
    return json_text({"version": 1, "numbers": entries}, indent=1)
