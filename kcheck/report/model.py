"""Everything kcheck read, the calculation of walls, and unknown inputs."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from kcheck.config.config import Config
from kcheck.config.numbers import profiles
from kcheck.engine.judged import Judged
from kcheck.engine.linter import Result
from kcheck.engine.rule import Rule
from kcheck.engine.words.subjects import SUBJECTS, things
from kcheck.engine.words.tables.field import Field
from kcheck.inventory import reader
from kcheck.inventory.reading import Reading
from kcheck.model import Cluster, NodePool, Subnet, Thing
from kcheck.report import limit, page
from kcheck.report.escape import json_text
from kcheck.report.layout import Line, Text
from kcheck.report.page import Block, Part, Point, Prose, Title
from kcheck.report.text import judged_lines, line_text, skipped_text
from kcheck.scale import addresses, walls
from kcheck.scale.walls.model import Wall
from kcheck.scale.world import World
from kcheck.text.files.tree import Tree
from kcheck.text.units import counted, data_text, shown, some
from kcheck.text.values import Known, Unknown, Unset, known

Json: TypeAlias = dict[str, Any]

_SUBJECTS = (
    "cluster", "setting", "autoscaler", "flag", "pool", "karpenter_pool", "subnet", "pod_range", "workload", "image",
)  # fmt: skip


def collect(tree: Tree, config: Config) -> Json:
    """Read a tree and list every subject with its fields and origins."""
    return of_reading(reader.read(tree, config), config)


def of_reading(reading: Reading, config: Config) -> Json:
    """List the same as `collect`, for a tree already read."""
    world = World(reading.inventory, config)
    result: Json = {"version": 1}
    for subject in _SUBJECTS:
        result[f"{subject}s"] = [_thing(subject, thing, world) for thing in things(subject, world)]
    result["problems"] = [f"{problem.span.exact_location} {problem.message}" for problem in reading.problems]
    return result


def _thing(subject: str, thing: Thing, world: World) -> Json:
    fields = {field.name: _field(field, thing, world) for field in SUBJECTS[subject]}
    return {"id": thing.id, "at": thing.place.exact_location, "fields": fields}


def word_lines(subject: str, words: Sequence[str], thing: Thing, world: World) -> list[str]:
    """Format the given words that an object has, each with its line."""
    wanted = [field for field in SUBJECTS[subject] if f"{subject}.{field.name}" in words]
    found = {field.name: _field(field, thing, world) for field in wanted}
    return [_line(subject, name, one).strip() for name, one in found.items() if one.get("value", one) is not None]


def _field(field: Field, thing: Thing, world: World) -> Json:
    value = field.read(thing, world)
    if isinstance(value, list):
        return {"value": [_named(field, item, world) for item in value]}
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if isinstance(value, Unset):
        return {"value": None, **_origin(value, thing)}
    plain = _named(field, value.value, world) if field.kind == "record" else value.value
    return {"value": list(plain) if isinstance(plain, tuple) else plain, **_origin(value, thing)}


def _named(field: Field, item: object, world: World) -> object:
    """Replace a record by its id or, without one, by its known fields."""
    if isinstance(item, Thing):
        return item.id
    found = ((own, own.read(item, world)) for own in SUBJECTS[field.type])
    return {
        own.name: [_named(own, one, world) for one in value] if isinstance(value, list) else known(value)
        for own, value in found
        if isinstance(value, list | Known)
    }


def _origin(value: Known[object] | Unset, thing: Thing) -> Json:
    """Return where a value is written, or that it is a default; empty if computed."""
    origin = value.origin
    if origin.missing is not None:
        return {"default": True, "from": [origin.written.exact_location]} if isinstance(value, Known) else {}
    if not origin.spans or origin.spans == (thing.place,):
        return {}
    return {"from": [span.exact_location for span in origin.spans]}


def as_json(data: Json) -> str:
    """Format the model as JSON, also for golden files."""
    return json_text(data, indent=1)


def as_text(data: Json) -> Iterator[Line]:
    """Yield the lines of the model."""
    is_first = True
    for subject in _SUBJECTS:
        for item in data[f"{subject}s"]:
            yield from () if is_first else (Line(),)
            is_first = False
            yield Line(f"{subject} {item['id']}  ({item['at']})", "bold")
            worth = {name: one for name, one in item["fields"].items() if "unknown" in one or one["value"] is not None}
            yield from (Line(_line(subject, name, field), hang=4) for name, field in worth.items())
    if data["problems"]:
        yield from () if is_first else (Line(),)
        yield from (Line(f"problem {text}", "yellow") for text in data["problems"])
    elif is_first:
        yield Line("nothing relevant here")


def _line(subject: str, name: str, field: Json) -> str:
    unit = next(word.unit for word in SUBJECTS[subject] if word.name == name)
    if "unknown" in field:
        return f"  {name} ? {field['unknown']}"
    mark = "~" if field.get("default") else "="
    found = field["value"]
    parts = found if isinstance(found, list) else [found]
    text = ", ".join(map(data_text, parts)) if any(isinstance(one, dict) for one in parts) else shown(found, unit)
    value = text or "-"
    if "default" in field:
        return f"  {name} {mark} {value}  (default)"
    places = " <- ".join(field.get("from", ()))
    return f"  {name} {mark} {value}" + (f"  ({places})" if places else "")


_MOST_RULES = 8


def undecided_lines(result: Result) -> Iterator[str]:
    """Yield what was judged, missing inputs, and unread files."""
    judged = result.judged
    yield from judged_lines(result, listed=False)
    yield from _inputs(judged)
    for what in dict.fromkeys(skipped.what for skipped in judged.skipped):
        yield ""
        yield f"{what}:"
        yield from (f"  {skipped_text(skipped)}" for skipped in judged.skipped if skipped.what == what)


def _inputs(judged: Judged) -> Iterator[str]:
    for missing in judged.inputs:
        yield ""
        yield f"{counted(missing.checks, 'check')}: {missing.reason}"
        if missing.place is not None:
            yield f"  {missing.place.location}  {line_text(missing.place)}"
        if missing.remedy:
            yield f"  {missing.remedy}"
        rules = sorted(missing.rules.items(), key=lambda item: (-item[1], item[0]))
        names = [f"{name} {number}" if number > 1 else name for name, number in rules]
        yield f"  {some(names, _MOST_RULES, 'rules')}"


# --- walls: inputs with their places, the steps, and the source of the limit


def mechanisms(name: str, rule: Rule | None) -> set[str]:
    """Return the mechanisms for a name: of itself, a rule or a limit."""
    named = {full.split(".", 2)[-1] for full in (rule.entries() if rule else limit.meant(name))}
    return {key for key, own in profiles.mechanisms().items() if key == name or named.intersection(own["limits"])}


def wall_pages(wanted: set[str], world: World) -> list[Text]:
    """Return a page for each wall of these mechanisms, each cluster's lowest first."""
    every = (wall for cluster in world.inventory.clusters for wall in walls.find_walls(cluster, world))
    found: list[Text] = [page.as_text(_blocks(wall, world)) for wall in every if wall.mechanism in wanted]
    return found or [(Line(f"No such wall here: {', '.join(sorted(wanted))}."),)]


def _blocks(wall: Wall, world: World) -> Iterator[Block]:
    target = world.sizes.wanted_amount(wall.cluster)
    hit = "Where it is hit is not known" if wall.nodes.is_open else f"It is hit at {wall.nodes} nodes"
    yield Title(f"{wall.what}, cluster {wall.cluster.display_name}")
    yield Prose(f"{hit}; the target is {'not known' if target.low == 0 else target}.")
    yield Part("Inputs")
    for subject, thing in _parts(wall):
        lines = word_lines(subject, profiles.mechanisms()[wall.mechanism]["inputs"], thing, world)
        if lines:
            yield Point((f"{subject} {thing.id.rpartition('/')[2]}  ({thing.place.location})",), tuple(lines))
    yield Part("Calculation")
    yield from (Point((text,)) for text in (wall.arithmetic, *walls.steps(wall, world)))
    yield Part("Source")
    entry = world.numbers.limits(wall.cluster.cloud).get(wall.limit)
    yield limit.point(f"limits.{wall.cluster.cloud}.{wall.limit}", entry) if entry else Point((wall.source,))
    yield Part("To move it")
    yield Prose(f"  {wall.move}")


def _parts(wall: Wall) -> Iterator[tuple[str, Cluster | NodePool | addresses.Place]]:
    yield "cluster", wall.cluster
    places = (one for pool in wall.pools for one in addresses.of_pool(pool) if wall.id.endswith(f"/{one.id}"))
    for place in dict.fromkeys(places):
        yield "subnet" if isinstance(place, Subnet) else "pod_range", place
    yield from (("pool", pool) for pool in wall.pools)
