"""Walls of clusters as text, Markdown and JSON."""

from collections.abc import Iterator, Sequence

from kcheck.model import Cluster
from kcheck.report.escape import json_text, markdown, markdown_code, markdown_link
from kcheck.report.layout import PLAIN, Line, line
from kcheck.scale import money, quotas, walls
from kcheck.scale.walls.model import Wall
from kcheck.scale.world import World
from kcheck.scale.world.memory import once
from kcheck.text import units
from kcheck.text.amount import Amount
from kcheck.text.text import grouped
from kcheck.text.units import counted, listed, rough, some
from kcheck.text.values import Unknown, known

_BAR = 20
_INDENT = " " * 12


def as_json(world: World) -> str:
    """Format the walls as JSON: version 1, additive changes only."""
    clusters = [_cluster(cluster, world) for cluster in world.inventory.clusters]
    return json_text({"version": 1, "clusters": clusters}, indent=1)


def _cluster(cluster: Cluster, world: World) -> dict[str, object]:
    return {
        "name": cluster.display_name, "id": cluster.id, "cloud": cluster.cloud,
        "target": world.sizes.wanted_amount(cluster).exact, "reaches": reachable_nodes(cluster, world),
        "walls": [_wall(wall) for wall in walls.find_walls(cluster, world)],
        "quotas": [
            {"code": one.need.quota.code, "name": one.need.quota.name, "needed": one.amount.low,
             "exact": one.amount.exact is not None, "unit": one.need.unit}
            for one in quotas.at_target(cluster, world)
        ],
        "summary": summary_sentence(cluster, world),
    }  # fmt: skip


def _wall(wall: Wall) -> dict[str, object]:
    return {
        "mechanism": wall.mechanism, "scope": wall.scope, "nodes": wall.nodes.exact,
        "at_least": None if wall.nodes.is_open else wall.nodes.low, "at_most": wall.nodes.high,
        "before_target": wall.short, "arithmetic": wall.arithmetic, "path": wall.place.source.path,
        "line": wall.place.begin.line, "source": wall.source, "kind": wall.kind, "move": wall.move,
    }  # fmt: skip


def reachable_nodes(cluster: Cluster, world: World) -> int | None:
    """Return the nodes a cluster reaches; None if unknown."""
    first, target = walls.first(cluster, world), world.sizes.wanted_amount(cluster).exact
    if first is None or (target is not None and first.nodes.low >= target):
        return None if has_unknown_walls(cluster, world) else target
    return _nodes_at_first_wall(first, cluster, world)


def has_unknown_walls(cluster: Cluster, world: World) -> bool:
    """Whether it is unknown if some wall comes before the target."""
    return any(_is_open(wall, world) for wall in walls.find_walls(cluster, world))


def _is_open(wall: Wall, world: World) -> bool:
    """Whether it is unknown if a wall comes before the target."""
    if wall.short is not None or wall.kind == "recommended" or is_account_quota(wall):
        return False
    return world.sizes.wanted_amount(wall.cluster).exact is not None or wall.nodes.exact is None


def _nodes_at_first_wall(first: Wall, cluster: Cluster, world: World) -> int | None:
    """Return the nodes at the first wall; None if another may come earlier."""
    nodes = first.nodes.exact
    return nodes if nodes is not None and earliest(cluster, world)[1].low >= nodes else None


def earliest(cluster: Cluster, world: World) -> tuple[Wall | None, Amount]:
    """Return the wall that may come first, and its nodes."""
    found = [w for w in walls.find_walls(cluster, world) if w.kind != "recommended" and not is_account_quota(w)]
    wall = min(found, key=lambda one: one.nodes.low, default=None)
    return (None, Amount()) if wall is None or any(one.nodes.is_open for one in found) else (wall, wall.nodes)


def summary_sentence(cluster: Cluster, world: World) -> str:
    """Format how far the cluster gets, an unknown target and unknown walls first."""
    open_ = [w for w in walls.find_walls(cluster, world) if _is_open(w, world) and _is_first_perhaps(w, world)]
    found = [(wall.what, wall.nodes.why.reason if wall.nodes.why else wall.arithmetic) for wall in open_]
    wanted = world.sizes.wanted(cluster)
    if isinstance(wanted, Unknown) and wanted.reason not in (why for _, why in found):
        found.insert(0, ("the target", wanted.reason))
    by_reason = grouped(found, lambda pair: pair[1]).items()
    said = [f"{listed(list(dict.fromkeys(what for what, _ in own)))} ({why})" for why, own in by_reason]
    more = f"; {len(said) - 2} more" if said[2:] else ""
    reach = _reach(cluster, world)
    return f"Not known: {'; '.join(said[:2])}{more}. {reach}" if said else reach


def _is_first_perhaps(wall: Wall, world: World) -> bool:
    """Whether a wall without an upper bound may come before those with one."""
    first, nodes = walls.first(wall.cluster, world), wall.nodes
    sure = first.nodes.high if first is not None else None
    return not nodes.low or (nodes.high is None and (sure is None or nodes.low < sure))


def _reach(cluster: Cluster, world: World) -> str:
    name, aim, first = cluster.display_name, world.sizes.wanted_amount(cluster), walls.first(cluster, world)
    asked = "you ask for" if world.sizes.requested(cluster) else "its pools may have"
    if first is None or first.nodes.high is None:
        below = "" if aim.exact is None else f" below {counted(aim.low, 'node')}"
        return f"{name}: no wall is known{below}."
    high = first.nodes.high
    if not world.pools.of_cluster(cluster) and aim.high == 0:
        known_ = "known " if has_unknown_walls(cluster, world) else ""
        return f"{name} has no node pools in this code; the first {known_}wall is the {first.what}, at {high:,}."
    nearest, at_first = earliest(cluster, world)
    least = at_first.low
    if nearest is not None and 0 < least < (high if aim.exact is None else min(high, aim.exact)):
        part = counted(least, "node") if aim.exact is None else f"{least:,} of the {counted(aim.exact, 'node')} {asked}"
        at = "" if at_first.high is None else f", at {at_first}"
        return f"{name} reaches at least {part}; the first wall is the {nearest.what}{at}."
    sure = _nodes_at_first_wall(first, cluster, world) is not None
    unknown = has_unknown_walls(cluster, world) and not sure
    what = f"; the first {'known wall' if unknown else 'wall'} is the {first.what}"
    if aim.exact is not None and high >= aim.exact:
        at = "" if high == aim.exact else f", at {first.nodes}"
        return f"{name} {'may reach' if unknown else 'reaches'} the {counted(aim.exact, 'node')} {asked}{what}{at}."
    bound = "" if sure else "at most "
    part = counted(high, "node") if aim.exact is None else f"{high:,} of the {counted(aim.exact, 'node')} {asked}"
    return f"{name} reaches {bound}{part}{what}."


def month_text(bill: money.Bill) -> str:
    """Format the bill of a month: its total, the parts, and what it does not count."""
    lines, total = bill.lines, sum(one.mills for one in bill.lines)
    if not total:
        return ""
    large = [one for one in lines if one.mills * 100 > total]
    rest = [one for one in lines if one not in large]
    of = {one: f" ({one.price_of})" if one.price_of else "" for one in large}
    texts = [f"{one.what} {units.money(rough(one.mills))}{of[one]}" for one in large]
    texts += [f"{listed([one.what for one in rest])} {units.money(rough(sum(one.mills for one in rest)))}"] * bool(rest)
    more = "traffic comes" if any(one.what == "disks" for one in lines) else "disks and traffic come"
    about = f"{'at least' if bill.missing else 'about'} {units.money(rough(total))} a month"
    return f"{about}: {'; '.join(texts)}; {more} on top" + (f"; {some(bill.missing, 3)}" if bill.missing else "")


def month_sentence(cluster: Cluster, world: World) -> str:
    """Format the cost of a month with all nodes up; empty without nodes."""
    bill = money.month(cluster, world)
    if bill.missing and not bill.lines:
        return f"The cost of a month is not known: {some(bill.missing, 3)}."
    several = any(len(known(pool.machine.instance_types) or ()) > 1 for pool in world.pools.of_cluster(cluster))
    which = " and of the cheapest machines" if several else ""
    return f"With all nodes up{which} {month_text(bill)}." if bill.lines else ""


# --- text


def as_text(world: World) -> Iterator[Line]:
    """Yield a table per cluster, the lowest wall first."""
    for number, cluster in enumerate(world.inventory.clusters):
        yield from (Line(),) if number else ()
        yield from _text(cluster, world)


def roots(clusters: Sequence[Cluster]) -> dict[str, str]:
    """Map cluster ids to " in ROOT: ADDRESS" if ambiguous, else to ""."""
    alike = grouped(clusters, lambda one: (one.display_name, one.place.location)).values()
    return {one.id: f" in {one.root or '.'}: {one.address}" if own[1:] else "" for own in alike for one in own}


@once
def _roots(world: World) -> dict[str, str]:
    return roots(world.inventory.clusters)


def heading(cluster: Cluster, world: World) -> str:
    """Format a cluster's name, cloud, place, environment and target."""
    target = world.sizes.wanted_amount(cluster).exact
    asked = "target not known" if target is None else f"target {counted(target, 'node')}"
    environment = f", {cluster.environment}" if cluster.environment else ""
    place = f"{cluster.place.location}{_roots(world)[cluster.id]}"
    return f"{cluster.display_name} ({cluster.cloud}, {place}{environment}), {asked}"


def _text(cluster: Cluster, world: World) -> Iterator[Line]:
    target = world.sizes.wanted_amount(cluster).exact
    yield Line(heading(cluster, world), "bold")
    groups = [group for group in grouped_walls(cluster, world) if not is_account_quota(group[0])]
    told = [group for group in groups if _is_relevant(group[0])]
    for group in groups[: len(told) + 1]:  # and the next one beyond
        yield from (Line(), _line(group, target), *_details(group))
    rest = groups[len(told) + 1 :]
    limit = min((wall.number for (wall, *_) in groups if wall.mechanism == "cluster-limit" and wall.number), default=0)
    near = [group for group in rest if not limit or (group[0].number or 0) <= limit]
    yield from (Line(), *(_line(group, target) for group in near)) if near else ()
    yield from map(Line, _quotas(cluster, world))
    yield from (Line(), Line(f"  {month}", width=PLAIN, hang=2)) if (month := month_sentence(cluster, world)) else ()
    yield from (Line(), Line(summary_sentence(cluster, world), "bold", width=PLAIN, hang=0))


def is_account_quota(wall: Wall) -> bool:
    """Whether a wall is a quota whose number only the account knows."""
    return wall.mechanism == "quota" and wall.number is None


def quotas_title(cluster: Cluster, world: World) -> str:
    """Return the title of the list of quotas."""
    target = world.sizes.target_amount(cluster).exact
    return f"quotas that {'its nodes' if target is None else counted(target, 'node')} need{'s' * (target == 1)}"


def quota_rows(cluster: Cluster, world: World) -> list[tuple[str, str, str, str]]:
    """List the amount of each quota that the target needs, its unit, code and name."""
    found = ((one, one.need.quota) for one in quotas.at_target(cluster, world))
    return [(one.amount.short, one.need.unit, quota.code, quota.name) for one, quota in found]


def _quotas(cluster: Cluster, world: World) -> list[str]:
    rows = [f"  {amount:>9} {unit:5}  {code}: {name}" for amount, unit, code, name in quota_rows(cluster, world)]
    return ["", f"  {quotas_title(cluster, world)}:", *rows] if rows else []


def _is_relevant(wall: Wall) -> bool:
    return wall.number is None or wall.short is not False


def grouped_walls(cluster: Cluster, world: World) -> list[list[Wall]]:
    """Group walls of the same kind, place and number, relevant ones first."""
    found = walls.find_walls(cluster, world)
    groups = grouped(found, lambda wall: (wall.mechanism, wall.number, wall.place, wall.nodes.is_open and wall.id))
    return sorted(groups.values(), key=lambda group: (not _is_relevant(group[0]), group[0].number is not None))


def _line(group: list[Wall], target: int | None) -> Line:
    wall = group[0]
    number = "?" if wall.number is None else wall.nodes.short
    style = {True: "red", False: "green", None: "yellow"}[wall.short]
    return line(f"{number:>9}  ", (_bar(wall, target), style), "  ", (group_title(group), "bold"), column=13 + _BAR)


def group_name(group: list[Wall]) -> str:
    """Return the name of a group of walls."""
    return f"{group[0].what} and {len(group) - 1} more" if len(group) > 1 else group[0].what


def group_title(group: list[Wall]) -> str:
    """Return a group's name, with its kind unless that is "hard"."""
    return group_name(group) + ("" if group[0].kind == "hard" else f" ({group[0].kind})")


def _details(group: list[Wall]) -> Iterator[Line]:
    wall = group[0]
    bounds = f"{wall.nodes} nodes: " if wall.nodes.exact is None and not wall.nodes.is_open else ""
    lines = [f"{bounds}{wall.arithmetic}", f"{wall.place.location}, {wall.source}"]
    if wall.short:
        lines.append(f"to move it: {wall.move}")
    return (Line(f"{_INDENT}{one}", width=PLAIN, hang=0) for one in lines)


def _bar(wall: Wall, target: int | None) -> str:
    if wall.number is None or not target:
        return "." * _BAR
    full = min(_BAR, wall.number * _BAR // target)
    return "#" * full + "." * (_BAR - full)


def as_markdown(world: World) -> str:
    """Format a section with a table per cluster."""
    return "\n".join(_section(cluster, world) for cluster in world.inventory.clusters)


def _section(cluster: Cluster, world: World) -> str:
    lines = [
        f"## {markdown(cluster.display_name)} ({cluster.cloud})",
        "",
        markdown(summary_sentence(cluster, world)),
        *filter(None, [markdown(month_sentence(cluster, world))]),
        "",
    ]
    lines += ["| nodes | wall | kind | arithmetic | where | to move it |", "|---:|---|---|---|---|---|"]
    for wall in [wall for wall in walls.find_walls(cluster, world) if not is_account_quota(wall)]:
        bold = f"**{wall.nodes}**" if wall.short else f"{wall.nodes}"
        kind, place = markdown_link(wall.kind, wall.source), markdown_code(wall.place.location)
        what, arithmetic, move = map(markdown, (wall.what, wall.arithmetic, wall.move))
        lines.append(f"| {bold} | {what} | {kind} | {arithmetic} | {place} | {move} |")
    found = quota_rows(cluster, world)
    lines += ["", "| needed | quota | name |", "|---:|---|---|"] if found else []
    lines += [f"| {amount} {unit} | {markdown_code(code)} | {markdown(name)} |" for amount, unit, code, name in found]
    return "\n".join(lines) + "\n"
