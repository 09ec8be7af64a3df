"""Facts about places in code: fields, limits they affect, findings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import NamedTuple

from kcheck.addons.editor.snapshot import Snapshot
from kcheck.addons.editor.values_at import code_of
from kcheck.engine.words.subjects import PARTS, SUBJECTS, things
from kcheck.engine.words.tables.field import Field
from kcheck.model import NodePool, Thing
from kcheck.scale.walls import find_walls
from kcheck.scale.walls.model import Wall, WallFinder
from kcheck.scale.world.numbers import needs
from kcheck.terraform.evaluator import evaluate
from kcheck.text.amount import Amount
from kcheck.text.findings import Finding
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Source, Span
from kcheck.text.values import Origin, Unset, Value, known

_MEASURED = frozenset({"request", "gpu_usage", "fragment", "wall", "object", "resource", "input"})
"""Subjects that no code declares, or whose words are raw code."""
_DECLARED = ("cluster", "pool", "karpenter_pool", "subnet", "pod_range")
_CALLED = ("name", "namespace")
"""Words that repeat the code."""
_MOST_STEPS = 200
"""Expressions followed from a limit to its inputs."""
_ADDRESSES = ("subnet", "pod-subnet", "pod-range")
"""Mechanisms of a full subnet or range."""
_DISKS = ("ssd", "hyperdisk", "standard_disk")
"""Kinds of disks that quotas count."""
_INTERFACES = ("interfaces", "address-units")
_UPGRADED = (*_ADDRESSES, "pool-limit", "pool-quota", "outbound-ports")
"""Mechanisms that count surge nodes."""
_GROWING = (*_UPGRADED, *_INTERFACES, "autoscaling", "quota", "pods", "maximum")
"""Mechanisms that the pools grow into."""


class Fact(NamedTuple):
    """A field of a model object, with its value."""

    subject: str
    field: Field
    thing: Thing
    value: Value[object]


class Facts:
    """Facts about the places of a snapshot, computed on demand."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._made_of = cache(lambda span: tuple(self._references(span)))

    # --- fields

    def fields(self, span: Span) -> list[Fact]:
        """List the fields of the model whose values are at exactly this span."""
        return self._fields.get(span.source, {}).get((span.start, span.end), [])

    def between(self, source: Source, start: int, end: int) -> list[tuple[Span, list[Fact]]]:
        """List the fields written or used between two offsets."""
        found = self._fields.get(source, {})
        return [(source.span(*at), fields) for at, fields in sorted(found.items()) if at[0] < end and start < at[1]]

    def around(self, source: Source, offset: int) -> list[Span]:
        """List the places of fields that contain an offset, the smallest first."""
        found = [source.span(start, end) for start, end in self._fields.get(source, {}) if start <= offset < end]
        return sorted(found, key=lambda span: span.end - span.start)

    @cached_property
    def _fields(self) -> dict[Source, dict[tuple[int, int], list[Fact]]]:
        found: dict[Source, dict[tuple[int, int], list[Fact]]] = defaultdict(lambda: defaultdict(list))
        world = self._snapshot.world
        for subject, words in SUBJECTS.items():
            if subject in PARTS | _MEASURED:
                continue
            direct = [word for word in words if word.direct and word.name not in _CALLED]
            for thing in things(subject, world) if direct else ():
                for word in direct:
                    value = word.read(thing, world)
                    if not isinstance(value, list):
                        for span in _written(value, thing):
                            found[span.source][span.start, span.end].append(Fact(subject, word, thing, value))
        return found

    def declared(self, span: Span) -> list[tuple[str, Thing]]:
        """List the objects of the model that a block declares, with their subjects."""
        return self._declared.get(span, [])

    @cached_property
    def _declared(self) -> dict[Span, list[tuple[str, Thing]]]:
        found: dict[Span, list[tuple[str, Thing]]] = defaultdict(list)
        for subject in _DECLARED:
            for thing in things(subject, self._snapshot.world):
                found[thing.place].append((subject, thing))
        return found

    # --- limits

    def walls(self, spans: Iterable[Span]) -> list[Wall]:
        """List the limits that values at these places affect, nearest first."""
        every = dict.fromkeys(wall for span in spans for wall in self._walls.get(span, ()))
        return sorted(every, key=lambda wall: (wall.short is not True, wall.number is None, wall.number or 0))

    def full(self, place: Thing) -> Wall | None:
        """Return the limit of a subnet or range; if several clusters use it, the lowest."""
        own = (wall for wall in self._all_walls if wall.mechanism in _ADDRESSES and wall.id.endswith(f"/{place.id}"))
        return min(own, key=lambda wall: (wall.number is None, wall.number or 0), default=None)

    @cached_property
    def _all_walls(self) -> list[Wall]:
        world = self._snapshot.world
        return [wall for cluster in world.inventory.clusters for wall in find_walls(cluster, world)]

    @cached_property
    def _walls(self) -> dict[Span, list[Wall]]:
        found: dict[Span, list[Wall]] = defaultdict(list)
        for wall in self._all_walls:
            origins = (value.origin for value in _inputs(wall) if value.origin is not None)
            for span in self._behind(origins):
                found[span].append(wall)
        return found

    def _behind(self, origins: Iterable[Origin]) -> set[Span]:
        todo = [span for origin in origins if origin.missing is None for span in _own(origin)]
        seen: set[Span] = set()
        while todo and len(seen) < _MOST_STEPS:
            span = todo.pop()
            if span not in seen:
                seen.add(span)
                todo += self._made_of(span)
        return seen

    def _references(self, span: Span) -> Iterator[Span]:
        code = code_of(self._snapshot)
        place = code.place(span.source, span.start)
        whole = next((one for one in place.path if one.span == span), None) if place is not None else None
        if whole is None or place is None or isinstance(whole, nodes.Literal):
            return
        for module in code.modules_of(span.source)[:2]:
            for record in list(code.records(module, place))[:2]:
                for reference in references(whole):
                    value = evaluate(reference, record.scope)
                    yield reference.span
                    if value.origin is not None:
                        yield from _own(value.origin)

    def aim(self, wall: Wall) -> Amount:
        """Return the target that a limit is compared with."""
        return WallFinder(wall.cluster, self._snapshot.world).aim(wall.mechanism)

    # --- findings

    def findings(self, span: Span) -> list[Finding]:
        """List findings that begin at a place or have it as a cause, worst first."""
        line = self._findings.get(span.source, {}).get(span.source.line_number(span.start), ())
        found = {id(finding): finding for finding, own in line if own.start < span.end and span.start < own.end}
        return sorted(found.values(), key=lambda finding: -finding.severity)

    @cached_property
    def _findings(self) -> dict[Source, dict[int, list[tuple[Finding, Span]]]]:
        found: dict[Source, dict[int, list[tuple[Finding, Span]]]] = defaultdict(lambda: defaultdict(list))
        for finding in self._snapshot.result.findings:
            written = (change.origin.written for change in finding.changes if change.origin.spans)
            for span in dict.fromkeys((finding.span, *(related.span for related in finding.related), *written)):
                found[span.source][span.source.line_number(span.start)].append((finding, span))
        return found


def _own(origin: Origin) -> list[Span]:
    """List the spans of an origin in the user's code."""
    return [span for span in origin.spans if not span.source.bundled]


def _written(value: Value[object], thing: Thing) -> list[Span]:
    """List where a value is written and used; empty for defaults."""
    if isinstance(value, Unset) or value.origin is None or value.origin.missing is not None:
        return []
    return [span for span in _own(value.origin) if span != thing.place]


def references(expression: nodes.Expression) -> Iterator[nodes.Expression]:
    """Yield the longest references in an expression: `var.x.y`, not `var.x`."""
    node: nodes.Expression = expression
    while isinstance(node, nodes.GetAttr | nodes.Index | nodes.Splat):
        if isinstance(node, nodes.Index):
            yield from references(node.key)
        node = node.target
    if isinstance(node, nodes.Variable):
        yield expression
        return
    for child in nodes.children(node):
        yield from references(child)


def _inputs(wall: Wall) -> Iterator[Value[object]]:
    """Yield the written values of a limit, the limit itself first."""
    if wall.cause is not wall.cluster.name:  # where nothing in the code makes it
        yield wall.cause
    mechanism, cni = wall.mechanism, wall.cluster.cni
    if mechanism in ("outbound-ports", "docker-hub"):
        yield from (wall.cluster.outbound_ports, wall.cluster.outbound_ips)
    if mechanism in ("subnet", "pod-subnet", *_INTERFACES) and cni is not None:
        yield from (cni.prefix_delegation, cni.custom_networking, cni.warm_interfaces, cni.warm_prefixes)
        yield from (cni.warm_ips, cni.minimum_ips)
        for pool in wall.pools:
            yield from (pool.machine.instance_types, pool.machine.efa)
    for pool in wall.pools:
        yield from _of_pool(pool, mechanism)
    if mechanism == "quota":
        yield from _of_quota(wall)


def _of_quota(wall: Wall) -> Iterator[Value[object]]:
    for need in needs(wall.cluster, list(wall.pools)):
        if wall.limit != f"quota.{need.quota.key}":
            continue
        for pool in need.pools:
            machine = pool.machine
            yield pool.market.spot
            if need.quota.counts in _DISKS:
                yield from (machine.disk_size, machine.disk_type)
            else:
                yield machine.instance_types
            if need.quota.counts == "gpus":
                yield from (machine.gpus, machine.accelerator)
            if need.quota.counts == "local_ssd":
                yield machine.local_ssd


def _of_pool(pool: NodePool, mechanism: str) -> Iterator[Value[object]]:
    addresses = pool.addresses
    if mechanism in _GROWING:
        yield from (pool.size.max_nodes, pool.size.zone_count)
    if mechanism in _UPGRADED:
        yield from (pool.upgrade.surge, pool.upgrade.max_surge)
    if mechanism in ("subnet", *_INTERFACES):
        yield from (addresses.subnets, addresses.pods_take_addresses)
    if mechanism == "subnet" and known(addresses.pods_take_addresses) is not False:
        yield addresses.max_pods
    if mechanism == "pod-subnet":
        yield from (addresses.pod_subnets, addresses.pod_addresses, addresses.allocation, addresses.max_pods)
    if mechanism in ("pod-range", "pods"):
        yield addresses.max_pods


def facts_of(snapshot: Snapshot) -> Facts:
    """Return the facts of a snapshot, created once."""
    return snapshot.once(Facts)
