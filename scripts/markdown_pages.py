"""Pages of rules and limits as Markdown, for docs/ and the site."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from kcheck.config.numbers import dates, flags, machines, profiles
from kcheck.config.numbers.clouds import owners
from kcheck.report import limit
from kcheck.report import rule as rule_page
from kcheck.report.page import Block, Code, Facts, Line, Name, Part, Point, Prose, Title, rule_file
from kcheck.text.units import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kcheck.engine.rule import Rule

_LANGUAGES = {
    "tf": "hcl", "tfvars": "hcl", "yaml": "yaml", "yml": "yaml", "json": "json", "toml": "toml", "cel": "cel",
    "diff": "diff",
}  # fmt: skip


def as_markdown(blocks: Iterable[Block], path: str) -> str:
    """Print a page as Markdown; links are relative to its `path` in the project."""
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None and not (isinstance(block, Point) and isinstance(before, Point)):
            lines.append("")
        lines += _marked(block, path)
        before = block
    return "\n".join(lines) + "\n"


def _marked(block: Block, path: str) -> Iterator[str]:
    match block:
        case Title(text):
            yield f"# {text}"
        case Part(text, level):
            yield f"{'#' * level} {text}"
        case Prose(text):
            yield from (line if line.startswith("    ") else escaped(line) for line in text.splitlines())
        case Facts(rows):
            yield from ("| | |", "|---|---|")
            yield from (f"| {name} | {cell(_linked(line, path))} |" for name, line in rows)
        case Point(line, below):
            yield f"- {_linked(line, path)}"
            yield from (f"    - {escaped(text)}" for text in below)
        case Code(text, suffix):
            yield from (f"```{_LANGUAGES.get(suffix, 'text')}", *text.rstrip("\n").split("\n"), "```")


def _linked(line: Line, path: str) -> str:
    return "".join(escaped(part) if isinstance(part, str) else link(part, path) for part in line)


def link(name: Name, path: str) -> str:
    """Print a name as Markdown, linked from the page `path`."""
    text = f"`{name.text}`" if name.code else escaped(name.text)
    if not name.target:
        return text
    file, hash_, anchor = name.target.partition("#")
    target = posixpath.relpath(f"/{file}", posixpath.dirname(f"/{path}")) if file != path else ""
    return f"[{text}]({target}{hash_}{anchor})"


_SPECIAL = re.compile(r"`[^`\n]*`|https?://\S+|[<*\[\]]|(?<!\w)_|_(?!\w)")


def escaped(text: str) -> str:
    """Escape what Markdown would interpret; code in backticks and addresses stay."""
    return _SPECIAL.sub(
        lambda found: found[0] if len(found[0]) > 1 else "&lt;" if found[0] == "<" else f"\\{found[0]}", text
    )


def cell(text: str) -> str:
    """Escape Markdown for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Print a table of cells in Markdown."""
    titles = tuple(head)
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


# --- rules


def rule_as_markdown(rule: Rule, every: Sequence[Rule], linters: Iterable[Name] = ()) -> str:
    """Print the page of a rule; `linters` are the places that name other linters which disagree."""
    blocks = [*rule_page.blocks(rule, every), *rule_page.examples(rule.documentation.examples)]
    disagree = [Point((name,)) for name in linters]
    blocks += [Part("Other linters"), *disagree] if disagree else []
    return as_markdown([*blocks, *rule_page.silence(rule)], rule_page.page_path(rule.name))


# --- limits


def pages() -> dict[str, str]:
    """Print the pages of numbers, by their paths in the site."""
    found: dict[str, list[Block]] = {}
    for name, entry in limit.names().items():
        path = limit.page_path(name).partition("#")[0]
        single = path.endswith(f"/{entry.key}.md")
        if not single and path not in found:
            found[path] = list(_head(path))
        found.setdefault(path, []).extend(limit.blocks(name, entry, level=1 if single else 2))
    return {path: as_markdown(own, path) for path, own in found.items()}


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
    yield Point((Name("All numbers", limit.INDEX, code=False),))


def file_path(name: str) -> str:
    """Return the file of a number, from the root of the project."""
    kind, _, rest = name.partition(".")
    cloud, _, key = rest.partition(".")
    if kind == "flags":
        return "profiles/any/flags.yaml"
    return f"profiles/{cloud}/{'quotas' if key.startswith('quota.') else kind}.yaml"


def _flags() -> str:
    """Print the chapter of docs/limits.md about the flags of the cluster autoscaler."""
    entries = [entry for name in flags.flags() if (entry := profiles.flag_entry(name))]
    rows = []
    for entry in entries:
        flag = entry.key.removeprefix("--")
        own = flags.flags()[flag]
        first, removed = own.get("first", ""), own.get("removed", "")
        since = first if isinstance(first, str) else ", ".join(first)
        default = shown(entry.value) + (f" ({entry.note})" if entry.note else "")
        name = f"flags.{flag}"
        rows.append([_cell_of(name), entry.unit, escaped(default), since, removed, _links(limit.users().get(name, ()))])
    head = ("flag", "type", "default", "since", "removed in", "used by")
    return (
        "\n## Flags of the cluster autoscaler\n\n"
        f"Defaults of 1.37, read from the [source]({entries[0].sources[0]}) on {entries[0].checked}; they are in "
        f"[profiles/any/flags.yaml](../profiles/any/flags.yaml).\n\n{table(head, rows)}"
    )


def _cell_of(name: str, place: Callable[[str], str] | None = None) -> str:
    """Print the name of a number for a table, as a target of links, with a link to a place."""
    own = limit.link(name, place or str)
    return f'<a id="{own.text}"></a>' + link(own if place else Name(own.text), limit.INDEX)


_MOST = 3
"""Rules named beside a number in a table; `kcheck explain` and the page of the number name all."""


def _links(users: Sequence[Rule]) -> str:
    rest = [f"{len(users) - _MOST} more"] * (len(users) > _MOST)
    return ", ".join([*(link(Name(one.name, rule_file(one)), limit.INDEX) for one in users[:_MOST]), *rest])


def index(place: Callable[[str], str] = file_path) -> str:
    """Print docs/limits.md: all numbers by cloud, with links to their files, or to another `place`."""
    oldest = min(one.entry.checked for one in dates.numbers())
    head = (
        "# The numbers\n\nPrinted from `profiles/`. Each has its source, the day it was last checked, "
        "and the newest day of what was looked at; "
        f"the oldest was checked on {oldest}.\n`kcheck limits --older-than 180d` lists what is due, "
        "and `kcheck explain eks.pool.quota` prints one number.\n"
        "*hard* cannot be raised, *quota* can, *recommended* is advice, *default* holds where nothing is written.\n"
        "The file of a number has also its scope and notes.\n"
    )
    parts = [head]
    every = limit.names()
    for cloud in owners():
        rows = []
        for name, entry in every.items():
            if name.split(".")[1] == cloud:
                quota = limit.quota(name)
                amount = escaped(limit.value(entry)) + (f" (`{quota['code']}`)" if quota else "")
                sources = " ".join(f"[{number}]({source})" for number, source in enumerate(entry.sources, 1))
                dated = (entry.kind, entry.checked, entry.source_dated, entry.confidence, sources)
                rows.append([_cell_of(name, place), amount, *dated, _links(limit.users().get(name, ()))])
        title = "On every cloud" if cloud == "any" else cloud
        columns = ("number", "value", "kind", "checked", "newest source", "confidence", "sources", "used by")
        parts.append(f"\n## {title}\n\n{table(columns, rows)}{_prices(cloud)}")
    return "".join([*parts, _flags()])


def _prices(cloud: str) -> str:
    """Print the list prices of a cloud, spot behind a slash."""
    prices = profiles.prices(cloud)
    listed = dates.table(cloud, "prices")
    if prices is None or listed is None:
        return ""
    dated = listed.entry
    links = " ".join(f"[{i}]({url})" for i, url in enumerate(dated.sources, 1))
    rows = []
    for own in (prices, *prices.elsewhere):
        for group, types in own.on_demand.items():
            if any(machines.gpus(cloud, name) for name in types):
                spot = own.spot.get(group, {})
                each = (
                    f"{n} {mills / 1000:g}" + (f" / {spot[n] / 1000:g}" if n in spot else "")
                    for n, mills in types.items()
                )
                rows.append([group if own is prices else f"{group} ({own.region})", ", ".join(each)])
    if prices.accelerators:
        added = ", ".join(f"{name} {mills / 1000:g}" for name, mills in prices.accelerators.items())
        rows.append(["each attached accelerator", added])
    markets = " on demand" if not prices.spot else ", on demand / spot"
    markets += "" if prices.currency == "USD" else f", converted at {prices.rate:g} {prices.currency} a dollar"
    return (
        f"\n### Prices: {cloud}\n\n"
        f"List prices of {prices.region} in US dollars per node-hour{markets}, as of {dated.source_dated}, "
        f"checked {dated.checked}, confidence {dated.confidence}: {links}. "
        "`--price` and `price:` in kcheck.yaml go first.\n\n"
        f"{table(('accelerators', 'machine types'), rows)}\nThe others are in `profiles/{cloud}/prices.yaml`.\n"
    )
