"""Turn an intent into files: generate, check, size ranges, refuse."""

import os
from contextlib import suppress
from importlib import import_module
from itertools import count
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from kcheck.config import settings
from kcheck.config.config import Config, ConfigError
from kcheck.config.numbers.profiles import limits
from kcheck.engine import linter
from kcheck.engine.linter import Result
from kcheck.generate import manifests, ranges, readme, recommended, render
from kcheck.generate.intent import Intent, meanings, resized
from kcheck.generate.parts import PARTS, is_wanted
from kcheck.generate.pools import Pool, split, system_nodes, system_parallel
from kcheck.generate.ranges import Layout, NoRoomError, Slot
from kcheck.generate.readme import Facts
from kcheck.inventory import reader
from kcheck.inventory.clouds import registry
from kcheck.model import Cluster, PodRange, Subnet
from kcheck.scale import addresses as demands
from kcheck.scale import walls
from kcheck.scale.world import World
from kcheck.text.files.disk import Disk
from kcheck.text.files.tree import Tree
from kcheck.text.units import counted
from kcheck.text.values import known

_SETTINGS = "kcheck.yaml"
_FEW_WALLS = 4  # in the README of a small cluster
_FAR = 3  # walls beyond this multiple of the nodes would flatten the graph
_GRAFANA_SCHEMA = 39  # schemaVersion of the JSON model of dashboards
_LATE = {
    "README.md": "any/templates/_README.md.j2",
    "kubernetes/dashboard.yaml": "any/templates/_dashboard.yaml.j2",
    "other-linters.md": "any/templates/_other-linters.md.j2",
}
"""Files rendered last, with their templates, because they describe the others."""


class Generator(Protocol):
    """Generator of a cloud: its network ranges and template values."""

    def slots(self, intent: Intent, pools: list[Pool]) -> list[Slot]:
        """List the ranges that the cloud's network needs."""

    def context(self, intent: Intent, pools: list[Pool], layout: Layout) -> dict[str, object]:
        """Return the cloud's own template values."""


class ImpossibleError(Exception):
    """Raised for an impossible intent, with its limit and the nearest possible one."""


class Output(Struct):
    """Files of a cluster by path, their check, and facts for the README."""

    files: dict[str, bytes]
    result: Result
    top: str
    facts: Facts


class _Assembled(Struct):
    """Cluster under construction: its files, and how kcheck reads them."""

    files: dict[str, bytes]
    context: dict[str, object]
    config: Config
    world: World

    @property
    def cluster(self) -> Cluster:
        return self.world.inventory.clusters[0]


def generate(intent: Intent) -> Output:
    """Generate the files for an intent, deterministically.

    Raises ImpossibleError if a limit cannot be raised, or the network has too little room.
    """
    made = _assemble(intent)
    if isinstance(made, str):
        raise ImpossibleError(_explain_refusal(intent, made))
    requests = readme.quota_requests(made.world, made.cluster)
    requests += cast("list[readme.QuotaRequest]", made.context.get("storage_requests", []))
    context = made.context | {"requests": requests}
    files = render.files(intent.cloud, context, intent.parts)
    result, top = check_files(files), os.path.relpath(folder())
    facts = readme.facts(result.world, intent, requests)
    context |= {name: getattr(facts, name) for name in facts._fields}
    context |= {"graph_nodes": _FAR * intent.nodes, "grafana_schema": _GRAFANA_SCHEMA}
    context["place"] = lambda wall: readme.place(wall.place, top)
    context["lacking"] = {name: part for name, part in PARTS.items() if name not in intent.parts}
    context["most_walls"] = None if intent.parts else _FEW_WALLS
    late = {path: render.text(_LATE[path], context).encode() for path in _LATE if is_wanted(path, intent.parts)}
    return Output(files | late, result, top, facts)


def check_files(files: dict[str, bytes]) -> Result:
    """Run `kcheck check` on unwritten files."""
    return linter.run(*as_tree(files))


def folder() -> str:
    """Return an unused folder name for unwritten files."""
    name = os.path.join(os.path.realpath("."), "kcheck-generated")
    return next(path for i in count() if not os.path.lexists(path := f"{name}{i or ''}"))


def drafted(intent: Intent) -> dict[str, bytes] | str:
    """Generate the files of an intent without README, or return why not."""
    made = _assemble(intent)
    return made if isinstance(made, str) else made.files


def as_tree(files: dict[str, bytes]) -> tuple[Tree, Config]:
    """Make a tree, with its settings, from files in memory."""
    top = folder()
    overlay: dict[str, bytes | None] = {os.path.join(top, *path.split("/")): data for path, data in files.items()}
    config = settings.load([], os.path.join(os.path.relpath(top), _SETTINGS), Disk(overlay))  # roots are relative too
    return Tree([top], overlay), config


def _assemble(intent: Intent) -> _Assembled | str:
    """Build a cluster without its README, or return why it is impossible."""
    cloud: Generator = import_module(registry.cloud(intent.cloud).generator)
    layout: Layout | str = ""
    with suppress(ConfigError):
        layout = _layout(cloud, resized(replace(intent, parts=tuple(PARTS)), intent.sized))
    if isinstance(layout, str):  # too large for the given range or mode
        layout = _layout(cloud, intent)
    if isinstance(layout, str):
        return layout
    made = _render_and_read(cloud, intent, split(intent), layout)
    return _why_impossible(made) or made


def _layout(cloud: Generator, intent: Intent) -> Layout | str:
    """Choose the ranges of an intent, or return why it is impossible."""
    pools = split(intent)
    slots = cloud.slots(intent, pools)
    first = _render_and_read(cloud, intent, pools, ranges.draft(slots))
    refused = _why_impossible(first)
    if refused:  # before any range is too small for it
        return refused
    reserved, needed = limits(intent.cloud)["subnet.reserved"].number, _addresses_needed(first.world, slots)
    try:
        return ranges.layout(slots, needed, reserved, intent.range, intent.in_use)._replace(nodes=intent.nodes)
    except NoRoomError as error:
        return str(error)


def _render_and_read(cloud: Generator, intent: Intent, pools: list[Pool], layout: Layout) -> _Assembled:
    usual, why = recommended.values(intent.cloud), recommended.reasons(intent.cloud)
    system = system_nodes(intent)
    target = intent.nodes + system
    context: dict[str, object] = {
        "intent": intent, "pools": pools, "ranges": layout.ranges, "networks": layout.networks,
        "use": recommended.nested(usual), "why": recommended.nested(why), "requests": [], "beyond": {},
        "planned": layout.nodes,
        "limit": recommended.nested(limits(intent.cloud)),
        "target": target, "system_nodes": system, "system_parallel": system_parallel(intent),
        "sources_of": {key: entry.sources for key, entry in recommended.entries(intent.cloud).items()},
    }  # fmt: skip
    context |= {"about": meanings()}
    context |= manifests.context(intent, pools, layout, target)
    context |= cloud.context(intent, pools, layout)
    files = render.files(intent.cloud, context, intent.parts)
    tree, config = as_tree(files)
    return _Assembled(files, context, config, World(reader.read(tree, config).inventory, config))


def _addresses_needed(world: World, slots: list[Slot]) -> dict[str, int]:
    """Return the addresses each slot needs by the capacity model, with growth.

    Raises NotKnown or AssertionError if the need is unknown, which is a bug of kcheck.
    """
    every: list[Subnet | PodRange] = [*world.inventory.subnets, *world.inventory.ranges]
    places = {known(place.cidr): place for place in every}
    drafted = ranges.draft(slots).ranges
    result = {}
    for slot in slots:
        if slot.prefix is None:
            found = demands.bounds(places[drafted[slot.name]], world)
            high = demands.needed(found).high
            if high is None:
                raise AssertionError(f"what {slot.name} needs is not known: {found}")
            result[slot.name] = recommended.with_growth("any", high)
    return result


def _why_impossible(made: _Assembled) -> str:
    """Return the limit or reason that makes a cluster impossible; empty if none."""
    for wall in walls.find_walls(made.cluster, made.world):
        if wall.short and wall.kind == "hard" and wall.mechanism != "maximum":
            return f"the {wall.what} ends at {wall.number:,} nodes ({wall.arithmetic}); to move it: {wall.move}"
    return str(made.context.get("refused", ""))


def _explain_refusal(intent: Intent, why: str) -> str:
    """Format the obstacle and the nearest possible intent."""
    usual = str(recommended.values(intent.cloud)["intent.mode"])
    nearest, mode = _most_possible_nodes(intent), ""
    if intent.mode != usual and (other := _most_possible_nodes(replace(intent, mode=usual))) > nearest:
        nearest, mode = other, f" with network.mode: {usual}"
    told = f"the nearest possible is {counted(nearest, 'node')}{mode}" if nearest else "not even one node is possible"
    verb = "is" if intent.nodes == 1 else "are"
    if intent.sized < intent.nodes:
        told += (
            f"; its ranges were planned for {intent.sized:,} (network.nodes), and none can change while it is in use"
        )
    return f"{counted(intent.nodes, 'node')} {verb} impossible: {why}; {told}"


def _most_possible_nodes(intent: Intent) -> int:
    """Find the largest possible number of nodes; 0 if size is not the obstacle."""
    high = low = intent.nodes
    least = _assemble(resized(intent, 1))
    while low and isinstance(why := _assemble(resized(intent, low)), str):
        if why == least:  # size has nothing to do with it
            return 0
        high, low = low, low * 3 // 4
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if not isinstance(_assemble(resized(intent, middle)), str) else (low, middle)
    return low
