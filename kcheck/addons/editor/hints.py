"""Inlay hints of computed values: ranges, numbers, nodes of pools."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, takewhile
from typing import TYPE_CHECKING, NamedTuple

from kcheck.addons.editor.described import thing_name, wall_line
from kcheck.addons.editor.facts import facts_of, references
from kcheck.addons.editor.value_text import link, plain
from kcheck.addons.editor.values_at import UNVALUED, Place, code_of
from kcheck.model import NodePool, PodRange, PodTemplate, Subnet
from kcheck.report.escape import as_code
from kcheck.scale import addresses
from kcheck.text.control_characters import visible
from kcheck.text.syntax.hcl import nodes
from kcheck.text.units import as_text, clipped, counted
from kcheck.text.values import Known, known, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.editor.facts import Fact, Facts
    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.values_at import Code, Evaluated
    from kcheck.text.text import Source, Span
    from kcheck.text.values import Value

MOST = 200
"""Hints per response."""
_SHOWN = 3
_LONGEST = 144
_FUNCTIONS = frozenset({"cidrsubnet", "cidrsubnets", "cidrhost", "cidrnetmask"})
"""Functions that compute a range; other expressions only pass one on."""


class Hint(NamedTuple):
    """An inlay hint behind the code that ends at `offset`; the tooltip is Markdown."""

    offset: int
    label: str
    tooltip: str


def hints(snapshot: Snapshot, source: Source, start: int, end: int) -> list[Hint]:
    """List at most `MOST` hints between two offsets, in file order."""
    code, facts = code_of(snapshot), facts_of(snapshot)
    outline = code.outline(source)
    found: list[Hint] = []
    for place in _attributes(outline.body, (), start, end) if outline is not None else ():
        found += _of_attribute(code, source, place)
        if len(found) >= MOST:
            break
    computed = {source.line_number(hint.offset): hint.offset for hint in found}
    for hint in _of_fields(facts, snapshot, source, (start, end)):
        behind = computed.get(source.line_number(hint.offset), 0)  # of a line with both, the value comes first
        found.append(hint._replace(offset=max(hint.offset, behind)))
    return sorted(dict.fromkeys(found), key=lambda hint: hint.offset)[:MOST]


def _attributes(body: nodes.Body, blocks: tuple[nodes.Block, ...], start: int, end: int) -> Iterator[Place]:
    for attribute in body.attributes.values():
        if attribute.span.start < end and start < attribute.span.end and attribute.name not in UNVALUED:
            yield Place(blocks, attribute)
    for block in body.blocks:
        if block.span.start < end and start < block.span.end:
            yield from _attributes(block.body, (*blocks, block), start, end)


# --- computed values


def _of_attribute(code: Code, source: Source, place: Place) -> Iterator[Hint]:
    """Yield hints for ranges and numbers an attribute computes."""
    attribute = place.attribute
    if attribute is None or place.top is None or place.top.type in ("variable", "terraform"):
        return
    if attribute.name not in ("count", "for_each") and code.is_left_out(place, source):
        return
    for path in _computed((attribute.expression,)):
        expression = path[-1]
        values = code.values(place._replace(path=path), source)
        calls = (one.name for one in nodes.walk(expression) if isinstance(one, nodes.Call))
        label = _label(values, ranges=not _FUNCTIONS.isdisjoint(calls))
        if label:
            yield Hint(expression.span.end, f"= {label}", _arithmetic(code, source, place._replace(path=path), values))


def _computed(path: tuple[nodes.Expression, ...]) -> Iterator[tuple[nodes.Expression, ...]]:
    last = path[-1]
    if isinstance(last, nodes.Object | nodes.Tuple):
        for item in last.items if isinstance(last, nodes.Tuple) else (value for _, value in last.entries):
            yield from _computed((*path, item))
    elif not isinstance(last, nodes.Literal | nodes.Invalid):
        yield path


def _label(values: list[Evaluated], *, ranges: bool) -> str:
    """Format values briefly; empty if hints do not show such values."""
    texts: list[str] = []
    for one in values:
        found = list(_texts(one.value, ranges))
        if not found:
            return ""
        texts += found
    different = list(dict.fromkeys(texts))
    shown = ", ".join(different[:_SHOWN])
    more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    return visible(f"{clipped(shown, _LONGEST)}{more}")


def _texts(value: Value[object], ranges: bool) -> Iterator[str]:
    inner = known(value) if isinstance(value, Known) else None
    if isinstance(inner, int | Fraction) and not isinstance(inner, bool):
        yield as_text(inner)
    elif ranges and isinstance(inner, str):
        yield str(inner)
    elif ranges:
        own = (list(_texts(part, ranges)) for part in parts(inner))
        yield from chain.from_iterable(takewhile(bool, own))


def _arithmetic(code: Code, source: Source, place: Place, values: list[Evaluated]) -> str:
    expression = place.path[-1]
    rows = [as_code(" ".join(expression.span.text.split())[:_LONG])]
    for reference in list(references(expression))[:_MOST_PARTS]:
        if not _is_inside_loop(expression, reference):
            found = code.values(place._replace(path=(*place.path, reference)), source)
            texts = list(dict.fromkeys(plain(one.value) for one in found))[:_SHOWN]
            origins = (one.value.origin for one in found)
            written = dict.fromkeys(one.written for one in origins if one is not None and one.spans)
            places = ", ".join(link(span, code.snapshot) for span in list(written)[:_SHOWN] if not span.source.bundled)
            rows.append(f"- {as_code(reference.span.text)} = {as_code(', '.join(texts))} {places}".rstrip())
    if len(values) > 1:
        rows += [f"- {as_code(one.where)}: {as_code(plain(one.value))}" for one in values[:_MOST_PARTS] if one.where]
    return "\n".join(rows)


_LONG = 200
_MOST_PARTS = 8


def _is_inside_loop(whole: nodes.Expression, part: nodes.Expression) -> bool:
    loops = (one for one in nodes.walk(whole) if isinstance(one, nodes.For | nodes.TemplateFor))
    return any(loop.span.start <= part.span.start < loop.span.end and part is not loop.collection for loop in loops)


# --- what the model says of a place


def _of_fields(facts: Facts, snapshot: Snapshot, source: Source, between: tuple[int, int]) -> Iterator[Hint]:
    for span, fields in facts.between(source, *between):
        sizes = _pool_size(_of_pools(fields, "max_nodes"), span)
        blocks = _pods_of_node(_of_pools(fields, "max_pods"), span, snapshot)
        pods = [fact.thing for fact in fields if fact.field.name == "count" and isinstance(fact.thing, PodTemplate)]
        yield from (hint for hint in (sizes, blocks, _nodes_of_pods(pods, span, snapshot)) if hint is not None)
        if any(fact.subject in ("subnet", "pod_range") and fact.field.name == "cidr" for fact in fields):
            yield from _full(facts, fields, span, snapshot)


def _of_pools(fields: list[Fact], name: str) -> list[NodePool]:
    return [fact.thing for fact in fields if fact.field.name == name and isinstance(fact.thing, NodePool)]


def _pool_size(pools: list[NodePool], span: Span) -> Hint | None:
    """Return a hint at the nodes of a pool sized per zone; None for others."""
    most = known(pools[0].size.max_nodes) if len(pools) == 1 else None
    times = 1 if most is None else known(pools[0].size.times) or 1
    if most is None or times < 2:
        return None
    tooltip = f"{as_code(thing_name(pools[0]))}: {most // times:,} in each of {counted(times, 'zone')} = {most:,}"
    return Hint(span.end, f"up to {counted(most, 'node')}", tooltip)


def _pods_of_node(pools: list[NodePool], span: Span, snapshot: Snapshot) -> Hint | None:
    """Return a hint at the size of the pod range of each node; None if unknown."""
    ranged = [pool for pool in pools if known(pool.addresses.pod_range) is not None]
    sizes = {addresses.block_size(pool, snapshot.world).exact for pool in ranged}
    size = sizes.pop() if len(sizes) == 1 else None
    if not size:
        return None
    tooltip = f"each node takes {counted(size, 'address', 'addresses')} of the pod range for its pods"
    return Hint(span.end, f"/{33 - size.bit_length()} per node", tooltip)


def _nodes_of_pods(templates: list[PodTemplate], span: Span, snapshot: Snapshot) -> Hint | None:
    """Return a hint at the nodes for a job's GPU pods; None unless one pool fits."""
    if len(templates) != 1 or not (known(templates[0].gpus) or 0) or (known(templates[0].count) or 0) < 2:
        return None
    template, pools = templates[0], snapshot.world.pools
    fitting = pools.fitting(template)
    pool = fitting[0] if len(fitting) == 1 else None
    each = pools.per_node(template, pool) if pool is not None else None
    if pool is None or each is None:
        return None
    wanted, most = pools.nodes_for(template, pool), known(snapshot.world.sizes.of_pool(pool))
    name, fits = thing_name(pool), max(1, each.low)
    few = f", which has {most:,}" if most is not None and most < wanted else ""
    tooltip = f"{known(template.count):,} pods, {fits:,} on each node of pool {as_code(name)}"
    return Hint(span.end, visible(f"{counted(wanted, 'node')} of {name}{few}"), tooltip)


def _full(facts: Facts, fields: list[Fact], span: Span, snapshot: Snapshot) -> Iterator[Hint]:
    places = dict.fromkeys(fact.thing for fact in fields if isinstance(fact.thing, Subnet | PodRange))
    found = [wall for place in reversed(places) if (wall := facts.full(place)) is not None]
    walls = {wall.nodes.exact: wall for wall in found}  # of equal ones the first place's
    numbers = sorted(number for number in walls if number is not None)
    if numbers:
        first = walls[numbers[0]]
        aim = facts.aim(first).exact
        of = f" of {aim:,}" if first.short and aim is not None else ""
        last = f" to {numbers[-1]:,}" if len(numbers) > 1 else ""
        yield Hint(span.end, f"full at {numbers[0]:,}{last}{of} nodes", wall_line(first, snapshot))
