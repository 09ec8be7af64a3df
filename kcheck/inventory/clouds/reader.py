"""Shared parts of all cloud readers: identities and references."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec.structs import replace

from kcheck.config.numbers import machines, profiles
from kcheck.config.numbers.fields import Fields
from kcheck.inventory.clouds import lifecycle
from kcheck.model import NOTHING, Cluster, Inventory, Machine, Network, NodePool, PodRange, Reserved, Subnet, Thing
from kcheck.terraform import missing_modules, providers
from kcheck.terraform.resource import BlockRecord
from kcheck.text.need import need, or_unknown
from kcheck.text.partly_known import address_of, name_in_code, possible
from kcheck.text.regex import regex
from kcheck.text.text import grouped
from kcheck.text.units import as_text
from kcheck.text.values import Either, Known, Missing, Origin, Unknown, Unset, Value, agreed, equals, known, mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kcheck.terraform.module import Module
    from kcheck.terraform.resource import Instance
    from kcheck.text.text import Span
    from kcheck.text.values import Datum, Record

T = TypeVar("T")
N = TypeVar("N", Network, Subnet, Cluster)
"""Kinds that others refer to by name."""

_KIND = regex(r"([a-z]\w*)\.[\w-]+(?:\[[^\]]*\])?$")
"""Resource type in an address."""

_SAMPLES = frozenset({"examples", "example", "patterns", "samples", "quickstart", "tests", "test", "fixtures", "demos"})
"""Folders with independent children, which may use equal names."""

_Named: TypeAlias = Network | Subnet | Cluster | NodePool


class Names:
    """Index of objects by name across roots."""

    def __init__(self) -> None:
        self._things: dict[tuple[str, str], list[_Named]] = {}
        self._all: dict[str, list[_Named]] = {}

    def add(self, area: str, things: Iterable[_Named]) -> None:
        """Register the objects of a root in an area."""
        for thing in things:
            self._all.setdefault(area, []).append(thing)
            if isinstance(thing.name, Known):
                self._things.setdefault((area, thing.name.value), []).append(thing)

    def all(self, area: str, kind: type[N]) -> list[N]:
        """List all objects of a kind, even without a known name."""
        return [thing for thing in self._all.get(area, ()) if isinstance(thing, kind)]

    def find(self, area: str, kind: type[N], name: str) -> list[N]:
        """List the objects of a kind with that name."""
        return [thing for thing in self._things.get((area, name), ()) if isinstance(thing, kind)]


def read_all(readers: Sequence[Reader], inventory: Inventory) -> None:
    """Read the root modules of a cloud, kind by kind."""
    names = Names()
    ranges: dict[str, PodRange] = {}
    for reader in readers:
        reader.names, reader.ranges = names, ranges
    for kind in ("networks", "subnets", "clusters", "pools"):
        for reader in readers:
            getattr(reader, kind)()
        for reader in readers:
            names.add(reader.area, getattr(reader.found, kind))
    for reader in readers:
        reader.add_to(inventory)


def _area(root: Module) -> str:
    """Return the scope of names: an environment, or an example."""
    steps = root.configuration.folder.split("/")
    at = next((i for i, step in enumerate(steps[:-1]) if step.lower() in _SAMPLES), None)
    folder = "" if at is None else "/".join(steps[: at + 2])
    return f"{folder}@{root.environment}"


class Reader:
    """Reads one root module and resolves references.

    `pools` are the resource types that are node pools.
    """

    names: Names
    ranges: dict[str, PodRange]
    """Pod range by cluster id, of all roots."""

    def __init__(self, cloud: str, root: Module, pools: tuple[str, ...]) -> None:
        self.area = _area(root)
        self.cloud = cloud
        self.root = root
        self.folder = root.configuration.folder
        self.found = Inventory()
        self._addressed: dict[type[_Named], Any] = {}
        self.defaults = profiles.settings(cloud)
        self.pool_instances = {kind: list(root.instances(kind)) for kind in pools}
        self.pins = providers.pinned_versions(root)
        self.gap = self._gap()

    def _gap(self) -> str:
        """Return why pools may be missing: a broken file or an unread module."""
        for module in self.root.all():
            if module.configuration.gap:
                return module.configuration.gap
            if module.configuration.partial:
                return module.configuration.unread
        calls = ((block, missing_modules.source_of(block)) for _, block, told in self.root.unread() if not told)
        return next(
            (missing_modules.why_unread(*call) for call in calls if missing_modules.may_make(*call) == "node pools"), ""
        )

    def _doubts(self) -> dict[str, str]:
        """Return, by pool id, why a pool may not exist, or may be several pools."""
        instances = {one.address: one for some in self.pool_instances.values() for one in some}
        modules = [module for module in self.root.all() if module.doubt]
        result = {}
        for pool in self.found.pools:
            instance, cluster = instances.get(pool.address), known(pool.cluster)
            inside = [module for module in modules if pool.address.startswith(f"{module.address}.")]
            if cluster is not None:
                inside = [module for module in inside if not cluster.address.startswith(f"{module.address}.")]
            if instance is not None and instance.doubt and not self._shared(instance, cluster):
                result[pool.id] = instance.doubt
            elif inside:
                result[pool.id] = inside[0].doubt
        return result

    def _shared(self, instance: Instance, cluster: Cluster | None) -> bool:
        """Whether a pool and its cluster exist under the same condition."""
        kind = _KIND.search(cluster.address) if cluster is not None else None
        owners = self.root.instances(kind[1]) if kind and instance.optional else ()
        return cluster is not None and any(
            owner.address == cluster.address and owner.optional and owner.doubt == instance.doubt for owner in owners
        )

    def fields(self, resource: str, record: Record, owner: Record | None = None) -> Fields:
        """Return the fields of a record; `owner` is the resource around it."""
        paths = lifecycle.ignored(owner or record, resource.partition(".")[2] if owner else "")
        return Fields(self.cloud, resource, record, self.pins, paths)

    def each(self, kind: str) -> Iterator[tuple[Instance, Fields]]:
        """Yield the resources of a type with their fields."""
        for instance in self.pool_instances.get(kind) or self.root.instances(kind):
            yield instance, self.fields(kind, instance)

    @cached_property
    def subnets_by_address(self) -> dict[str, Subnet]:
        """Subnets of this root by address."""
        return {subnet.address: subnet for subnet in self.found.subnets}

    def network(self, instance: Instance, name: Value[str], cidrs: Value[tuple[str, ...]]) -> None:
        """Add a virtual network."""
        own = self.identity(instance.address), instance.span, instance.address, self.folder
        self.found.networks.append(Network(*own, name, cidrs))

    def networks_of(self, kind: str, more: str) -> None:
        """Add networks, with the additional ranges from resources of another type."""
        others = grouped((own for _, own in self.each(more)), lambda own: address_of(own.raw("network")))
        for instance, fields in self.each(kind):
            every = (fields, *others.get(instance.address, ()))
            self.network(instance, fields.text("name"), _joined([one.text("cidr") for one in every]))

    def subnet(
        self, address: str, fields: Fields, network: Value[Network], tags: Value[dict[str, str]] = NOTHING
    ) -> Subnet:
        """Add a subnet."""
        cidr = fields.text("cidr")
        if isinstance(cidr, Unset) and cidr.origin.missing is None and len(cidr.origin.spans) > 1:
            cidr = Unknown(f"{name_in_code(cidr.origin, 'its range')} is empty", cidr.origin)
        found = fields.record_of(
            Subnet, self.identity(address), fields.record.span, self.cloud, address, self.folder,
            gap=self.gap, name=fields.text("name"), cidr=cidr, network=network, tags=tags,
        )  # fmt: skip
        self.found.subnets.append(found)
        return found

    def add_range(self, cluster: Cluster, cidr: Value[str], block: Value[int]) -> None:
        """Add the pod range of a cluster."""
        found = self.ranges[cluster.id] = PodRange(
            f"{cluster.id}/pods", cluster.place, self.cloud, cluster.address, self.folder, cluster.gap,
            name=cluster.name, cidr=cidr, block=block,
        )  # fmt: skip
        self.found.ranges.append(found)

    def reserve(self, identity: str, place: Span, what: str, cidr: Value[str]) -> None:
        """Reserve addresses that pod ranges may not overlap."""
        self.found.reserved.append(Reserved(identity, place, self.folder, what, cidr))

    def identity(self, address: str) -> str:
        """Return the identity of a resource in this root."""
        return identity(self.cloud, self.root, address)

    def things(self, kind: type[N]) -> list[N]:
        """List this root's objects of a kind."""
        found = (*self.found.networks, *self.found.subnets, *self.found.clusters)
        return [thing for thing in found if isinstance(thing, kind)]

    def find_named(
        self, value: Value[str], kind: type[N], what: str, fits: Callable[[N], bool] = lambda _thing: True
    ) -> Value[N]:
        """Find the only object of a kind with this name, here or elsewhere.

        `read_all` must have read the kind in all roots.
        """
        if not isinstance(value, Known):
            return value
        everywhere = [thing for thing in self.names.find(self.area, kind, value.value) if fits(thing)]
        found = [thing for thing in everywhere if thing.root == self.folder] or everywhere
        if len(found) > 1:  # the value may have been passed on from the name of one
            found = [t for t in found if (own := t.name.origin) and value.origin.spans[: len(own.spans)] == own.spans]
        if len(found) == 1:
            return Known(found[0], value.origin)
        return Unknown(f"no unique {what} named {value.value} in this code", value.origin)

    def by_reference(self, kind: type[N], resource: str) -> dict[str, N]:
        """Return objects of a kind by address, or by a data source of their name."""
        found: dict[str, N] | None = self._addressed.get(kind)
        if found is None:
            found = self._addressed[kind] = {thing.address: thing for thing in self.things(kind)}
            for address, record in self.root.sources(resource):
                name = record.entry("name")
                if isinstance(name, Known) and isinstance(name.value, str):
                    thing = self.find_named(Known(name.value, name.origin), kind, "thing")
                    found |= {address: thing.value} if isinstance(thing, Known) else {}
        return found

    def candidates(self, certain: Value[object], datum: Datum | None, things: Mapping[str, N]) -> tuple[N, ...]:
        """List the objects that a partly unknown reference may resolve to."""
        found: list[N] = []
        for one in () if isinstance(certain, Known) else possible(datum):
            link = resolve_reference(one, things)
            if link is not None:
                found.append(link.value)
            elif isinstance(one, Known) and isinstance(one.value, str):
                found += [thing for thing in things.values() if equals(thing.name, one.value)]
        return tuple(dict.fromkeys(found))

    def add_to(self, inventory: Inventory) -> None:
        """Move everything found to the inventory."""
        for name in ("networks", "subnets", "ranges", "reserved", "clusters", "autoscalers", "pools", "sharings"):
            getattr(inventory, name).extend(getattr(self.found, name))
        inventory.doubts |= self._doubts()
        owners = ((one, known(one.pool.cluster)) for one in self.found.sharings if one.pool is not None)
        inventory.cluster_of |= {one: owner for one, owner in owners if owner is not None}


def identity(cloud: str, root: Module, address: str) -> str:
    """Build the identity of a resource from its cloud, root and address.

    The root is named unless it is the working directory, the environment only if the settings have several.
    """
    folder, environment = root.configuration.folder, f"@{root.environment}" if root.environment else ""
    return f"{cloud}/{address}" if folder == "." and not environment else f"{cloud}/{folder}{environment}:{address}"


_IDENTITIES = ("id", "name", "self_link", "arn", "?")
"""Attributes that identify an object; the last one is a part of an id."""


def resolve_reference(datum: Datum | None, things: Mapping[str, T]) -> Known[T] | None:
    """Find the object whose id or name the datum refers to; `things` are by address."""
    symbol = datum.symbol if isinstance(datum, Unknown) else None
    thing = things.get(symbol.address) if symbol and symbol.attribute in _IDENTITIES else None
    if datum is None or thing is None:
        return None
    return Known(thing, datum.origin or Origin((thing.place,) if isinstance(thing, Thing) else ()))


_PART = regex(r"\$\{[^}]*\}")
"""Unknown part of a text."""


def matches_pattern(text: str | None, pattern: str | None) -> bool:
    """Whether a text matches a pattern with `*` and `?`."""
    return bool(text is not None and pattern and fnmatchcase(_PART.sub("?", text), _PART.sub("?", pattern)))


def text_of(value: Value[object]) -> str | None:
    """Return a text with `${...}` for unknown parts; None if all of it is unknown."""
    if isinstance(value, Known):
        return str(value.value)
    symbol = value.symbol if isinstance(value, Unknown) else None
    return symbol.address.strip('"') if symbol is not None and symbol.attribute == "text" else None


def unique_identity(identity: str, inventory: Inventory) -> str:
    """Number a cluster's identity if another cluster has it already."""
    taken = {cluster.id for cluster in inventory.clusters}
    numbered = (f"{identity}#{number}" for number in count(2))
    return identity if identity not in taken else next(name for name in numbered if name not in taken)


def machine_of(fields: Fields, cloud: str, types: Value[tuple[str, ...]]) -> Machine:
    """Read a machine, and its GPUs from its machine types."""
    return fields.record_of(Machine, types, gpu_of(cloud, types), least_gpus_of(cloud, types))


def gpu_of(cloud: str, types: Value[tuple[str, ...]]) -> Value[bool]:
    """Whether nodes of some machine types may have GPUs or other accelerators."""
    return mapped(types, lambda names: any(machines.has_accelerator(cloud, name) for name in names))


def least_gpus_of(cloud: str, types: Value[tuple[str, ...]]) -> Value[int]:
    """Return the fewest GPUs that a node of some machine types has."""
    return mapped(types, lambda names: min((machines.gpus(cloud, name) or 0 for name in names), default=0))


@or_unknown
def taints_of(record: Record, kind: str) -> Value[tuple[str, ...]]:
    """List taints in nested blocks, as `key=value:Effect`; Unset if none."""
    nested, found = need(record.blocks(kind)), []
    for one in nested:
        parts = [need(part) if part else None for part in map(one.entry, ("key", "value", "effect"))]
        key, value, effect = ("" if part is None else as_text(part) for part in parts)
        found.append(f"{key}={value}:{effect}")
    if found:
        return Known(tuple(found), Origin((nested[0].span,)))
    return Unset(_of_collection(record, kind) or record.absent((kind,)))


def taint_form(record: Record, kind: str) -> str:
    """Return `member` if taints come from a map, else `item`."""
    made = record.made_from(kind) if isinstance(record, BlockRecord) else None
    return "member" if made is not None and isinstance(known(made), dict) else "item"


def _of_collection(record: Record, kind: str) -> Origin | None:
    """Return where to add an item to the collection of a `dynamic` block."""
    made = record.made_from(kind) if isinstance(record, BlockRecord) else None
    origin = made.origin.outside(record.span) if isinstance(made, Known) and made.origin else None
    if origin is None or made is None or not isinstance(known(made), dict):
        return origin
    if origin.missing is not None:
        return replace(origin, missing=origin.missing.below(_MEMBER) if origin.missing.path else None)
    empty = re.fullmatch(r"\{\s*\}", origin.written.text)
    return replace(origin, missing=Missing(origin.written, (_MEMBER,))) if empty else origin


_MEMBER = "gpu"
"""Key of the GPU nodes' taint in a map of taints."""


def _joined(cidrs: list[Value[str]]) -> Value[tuple[str, ...]]:
    """Join the ranges of a network; Unknown if one is."""
    texts = []
    for cidr in cidrs:
        if not isinstance(cidr, Known):
            return Unknown(why_missing(cidr, "cidr_block"), cidr.origin)
        texts.append(cidr.value)
    return Known(tuple(texts), cidrs[0].origin or Origin(()))


def resolve_list(
    datum: Datum | None, things: Mapping[str, T], what: str, selected: Callable[[Datum], list[T]] = lambda _: []
) -> Value[tuple[T, ...]]:
    """Resolve references; Unknown if one leads outside this root."""
    if datum is None:
        return NOTHING
    if isinstance(datum, Either):
        return agreed(datum, [resolve_list(branch, things, what, selected) for branch in datum.branches])
    if isinstance(datum, Unknown):
        return Known(tuple(own), datum.origin or Origin(())) if (own := selected(datum)) else datum
    found: list[T] = []
    for item in datum.value if isinstance(datum.value, tuple) else ():
        link = resolve_reference(item, things)
        own = [link.value] if link is not None else selected(item)
        if len(own) != 1:
            return Unknown(why_missing(unresolved_reference(item, what), what), datum.origin)
        found += own
    return Known(tuple(dict.fromkeys(found)), datum.origin)


def not_empty(found: Value[tuple[T, ...]], what: str) -> Value[tuple[T, ...]]:
    """Return a pool's list; Unknown if it is empty, which no cloud accepts."""
    empty = isinstance(found, Known) and not found.value
    return Unknown(f"{name_in_code(found.origin, what)} is empty", found.origin) if empty else found


def unresolved_reference(value: Value[object], what: str) -> Unset | Unknown:
    """Return why a reference to an object outside this root is unknown."""
    if isinstance(value, Known):
        return Unknown(f"the {what} is given by id and is not in this root module", value.origin)
    return value


def why_missing(value: Value[object], name: str) -> str:
    """Return why a needed value is missing; `name` is its attribute."""
    return value.reason if isinstance(value, Unknown) else f"{name} is not set"


def blocks_below(record: Record, *path: str) -> Iterator[Record]:
    """Yield the nested blocks at a path; none if they are unknown."""
    if not path:
        yield record
        return
    for one in known(record.blocks(path[0])) or ():
        yield from blocks_below(one, *path[1:])


def text_reference(value: Value[str]) -> Value[str]:
    """Return a name, or the address of the resource it comes from."""
    symbol = value.symbol if isinstance(value, Unknown) else None
    return Known(symbol.address, value.origin or Origin(())) if symbol and symbol.attribute != "?" else value


def or_default(value: Value[T], default: Callable[[Origin], Value[T]]) -> Value[T]:
    """Return the value, or a default if not set."""
    return default(value.origin) if isinstance(value, Unset) else value


def growing(low: Value[int], high: Value[int]) -> Value[bool]:
    """Whether an autoscaler can change the size: the maximum exceeds the minimum."""
    return mapped(high, lambda most: most > (known(low) or 0))


def bound_of(fields: Fields, bound: str, scaled: Value[bool], names: tuple[str, str, str]) -> Value[int]:
    """Return a bound of an autoscaled pool, or the size of a fixed pool.

    `names` are the attributes that switch the autoscaler on, bound the pool, and fix its size.
    """
    if not isinstance(scaled, Known):
        return Unknown(why_missing(scaled, names[0]), scaled.origin)
    name, size = names[1 if scaled.value else 2], fields.number(bound if scaled.value else "count")
    return Unknown(f"{name} is not set", size.origin) if isinstance(size, Unset) else size
