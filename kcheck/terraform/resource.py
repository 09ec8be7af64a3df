"""Instances of resource blocks, with count, for_each and nested blocks."""

import re
from _thread import get_ident  # threading takes 3 ms to import
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from msgspec.structs import replace

from kcheck.config.numbers import names
from kcheck.terraform.budget import BudgetError
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.partial_collections import Entry, Gathering, entries_of, gathered, is_map
from kcheck.terraform.scope import Scope, circular
from kcheck.text import scalars
from kcheck.text.data_types import ANYTHING, SetData, each
from kcheck.text.keys import key_datum, loose_keys
from kcheck.text.need import first_unknown
from kcheck.text.partly_known import distinct, members
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Span
from kcheck.text.values import Blocks, Datum, Either, Known, Missing, Origin, Partial, Symbol, Unknown, encoded, known

_NAMES = frozenset({"name", "id", "self_link"})
"""Attributes that identify a resource: never null, so even unknown ones tell which resource is meant."""

MAX_LISTED = 10_000
"""Maximum elements of a provider-made list that are told apart."""
_COPY = 20
"""Budget steps for a copy of a short block: reading its attributes costs as much as so many loop rounds."""


_RUNNING: set[tuple[int, int, str]] = set()
"""Attributes under evaluation, by thread and id of their block."""

LISTED = {("random_shuffle", "result"): ("input", "result_count")}
"""Lists that only the provider knows -> the arguments with their candidates and their length."""


class BlockRecord:
    """Block with the scope of its expressions; `address` names it, if it has a name."""

    def __init__(self, block: nodes.Block, scope: Scope, address: str = "") -> None:
        self.block = block
        self.scope = scope
        self.address = address
        self._values: dict[str, Datum] = {}
        self._blocks: dict[str, Blocks] = {}

    @property
    def span(self) -> Span:
        """Header of the block; for a skeleton, the call that it replaces."""
        header = self.block.header
        return self.scope.place or header if header.source.bundled else header

    def entry(self, name: str) -> Datum | None:
        """Evaluate an attribute; None if not set."""
        entry = self.block.body.attributes.get(name)
        if entry is None:
            lost = self.scope.unread if self.scope.unread and name not in self.names() else ""
            return Unknown(lost, Origin((self.span,))) if lost else None
        if name not in self._values:
            label = f"{self.address}.{name}" if self.address else name
            running = get_ident(), id(self), name
            if running in _RUNNING:
                return Unknown(circular(label))
            _RUNNING.add(running)
            try:
                self._values[name] = self.scope.checked(evaluate(entry.expression, self.scope), label, entry.span)
            finally:
                _RUNNING.discard(running)
        return self._values[name]

    def blocks(self, kind: str) -> Blocks:
        """Return nested blocks of one type, including `dynamic` ones and lists of objects."""
        if kind not in self._blocks:
            found = self._nested(kind)
            if isinstance(found, Unknown):  # what it may be are elements, and no blocks
                found = Unknown(found.reason, found.origin, found.symbol)
            self._blocks[kind] = found
        return self._blocks[kind]

    def _nested(self, kind: str) -> Blocks:
        dynamic = (block for block in self.block.body.all("dynamic") if block.labels == (kind,))
        generated = [_dynamic(block, kind, self.scope) for block in dynamic]
        listed = self.entry(kind)
        listed = encoded(listed) or listed if listed is not None else None
        items = listed.value if isinstance(listed, Known) and isinstance(listed.value, tuple) else (listed,)
        unknown = first_unknown((*generated, *items))
        if unknown is not None:
            return unknown
        written = [BlockRecord(block, self.scope) for block in self.block.body.all(kind)]
        made = [record for blocks in generated for record in known(blocks) or ()]
        objects = [ObjectRecord(item) for item in items if isinstance(item, Known) and isinstance(item.value, dict)]
        return Known((*written, *made, *objects), Origin((self.span,)))

    def names(self) -> Iterable[str]:
        """List the names of attributes and the types of nested blocks."""
        kinds = (b.labels[0] if b.type == "dynamic" and b.labels else b.type for b in self.block.body.blocks)
        return dict.fromkeys((*self.block.body.attributes, *kinds))

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return the origin of an unset attribute."""
        block = self._dynamic(path[0]) if path else None
        if self.block.span.source.bundled or self.block.span.source.derived:
            switch, name = _inputs(block, path[-1]) if block is not None else ("", "")
            return Origin((self.span,), within=(name,) if name else path, why=switch)
        if block is not None:  # a second block would be one too many where the first is on
            return Origin((block.header,), missing=Missing(self.block.span, ()))
        return Origin((self.block.header,), missing=Missing(self.block.span, path))

    def _dynamic(self, kind: str) -> nodes.Block | None:
        return next((block for block in self.block.body.all("dynamic") if block.labels == (kind,)), None)

    def made_from(self, kind: str) -> Datum | None:
        """Evaluate the collection behind a simple `dynamic` block; else None."""
        block = self._dynamic(kind)
        content = next(iter(block.body.all("content")), None) if block is not None else None
        if block is None or content is None or "for_each" not in block.body.attributes:
            return None
        iterator = iterator_name(block, kind)
        for name, entry in content.body.attributes.items():
            if not re.search(rf"\b{iterator}\.value\W+{name}\b", entry.value_span.text):
                return None
        return evaluate(block.body.attributes["for_each"].expression, self.scope)

    def attribute(self, name: str) -> Datum:
        """Evaluate a reference to an attribute or nested block of this block."""
        value = self.entry(name)
        if value is not None:
            if isinstance(value, Unknown) and value.symbol is None and self.address and name in _NAMES:
                return Unknown(value.reason, value.origin, Symbol(self.address, name))
            return value
        nested = self.blocks(name)
        if isinstance(nested, Unknown):
            return nested
        if not nested.value:
            return self.computed(name)
        items = []
        for i, record in enumerate(nested.value):
            if isinstance(record, BlockRecord):
                record.address = f"{self.address}.{name}[{i}]" if self.address else ""
            items.append(Known(record, Origin((record.span,))))
        labels = self.block.labels  # an index into several blocks of a set says nothing
        unordered = len(items) > 1 and labels and f"{labels[0]}.{name}" in names.listed("unordered")
        return Known(SetData.of(items, ANYTHING) if unordered else tuple(items), Origin((self.span,)))

    def computed(self, name: str) -> Datum:
        """Return an unset attribute: its identity is known, and for some lists the length."""
        origin = Origin((self.span,))
        arguments = LISTED.get((self.block.labels[0], name)) if self.block.labels and self.address else None
        if arguments is not None:
            found = self._listed(name, *map(self.entry, arguments))
            if found is not None:
                return found
        if not self.address:
            return Unknown(f"`{name}` is not set in the code", origin)
        return Unknown(f"{self.address}.{name} is only known after apply", origin, Symbol(self.address, name))

    def _listed(self, name: str, given: Datum | None, count: Datum | None) -> Datum | None:
        """Return a list that the provider selects from another; None if too long."""
        origin, reason = Origin((self.span,)), f"{self.address}.{name} is only known after apply"
        items = known(given) if isinstance(given, Known) else None
        number = known(count) if isinstance(count, Known) else None
        if number is None and isinstance(items, tuple):
            number = len(items)
        if not isinstance(number, int) or number > MAX_LISTED:
            return None
        if isinstance(items, tuple) and not number <= len(items) == distinct(items):
            return None
        symbols = [Symbol(self.address, f"{name}[{i}]") for i in range(number)]
        if isinstance(items, tuple):
            return Known(tuple(Either(reason, origin, symbol, branches=items) for symbol in symbols), origin)
        return Known(tuple(Unknown(reason, origin, symbol) for symbol in symbols), origin)


class Instance(BlockRecord):
    """Instance of a resource; `doubt` says why it may not exist."""

    def __init__(
        self, block: nodes.Block, scope: Scope, address: str, doubt: str = "", *, optional: bool = False
    ) -> None:
        super().__init__(block, scope, address)
        self.doubt = doubt
        self.optional = optional
        self.symbol = Symbol(address, "")

    @property
    def complete(self) -> bool:
        """Whether all its attributes are in the code."""
        return not self.block.header.source.bundled


_ECHOED = frozenset({"name", "location", "region", "project", "resource_group_name", "virtual_network_name"})
"""Attributes of data sources that return a query argument."""
_LATEST = frozenset({"latest_version", "latest_master_version", "latest_node_version"})
"""Attributes of Kubernetes version data sources: begins with the requested prefix, or the cloud's choice."""
_MINOR = regex(r"1\.\d\d")


def echo(instance: Instance, name: str) -> Datum | None:
    """Return the query argument that a data source returns; else None."""
    if name in _LATEST:
        prefix = instance.entry("version_prefix") or Known("", Origin(()))
        minor = _MINOR.match(str(known(prefix)))
        chosen = Known(None, Origin((instance.span,))) if known(prefix) == "" else None
        return Known(minor[0], prefix.origin or Origin(())) if minor else chosen
    return instance.entry(name) if name in _ECHOED else None


class ObjectRecord:
    """Object in a list that stands for a nested block: `subnet = [{ name = ... }]`."""

    def __init__(self, value: Known[object]) -> None:
        self.value = value
        self._members = members(value)

    @property
    def span(self) -> Span:
        """Place where the object is written."""
        return self.value.origin.written

    def entry(self, name: str) -> Datum | None:
        """Return the value of a key; None if absent."""
        return self._members.get(name)

    def blocks(self, kind: str) -> Blocks:
        """Return the objects in the list at a key."""
        return objects_in(self.entry(kind), type(self))

    def names(self) -> Iterable[str]:
        """List the keys of the object."""
        return self._members

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return the origin of an unset key in this object."""
        return Origin((self.span,), missing=Missing(self.span, path))


def objects_in(found: Datum | None, record: type[ObjectRecord]) -> Blocks:
    """Wrap an object, or the known objects of a list, as records."""
    if isinstance(found, Unknown):
        return found
    if found is None:
        return Known((), Origin(()))
    items = found.value if isinstance(found.value, tuple) else (found,)
    objects = (record(item) for item in items if isinstance(item, Known) and isinstance(item.value, dict))
    return Known(tuple(objects), found.origin)


def expand(block: nodes.Block, address: str, scope: Scope) -> Datum:
    """Expand a resource or module block into its instances.

    Returns one instance without `count` and `for_each`, else a tuple or dict of them. If their number is unknown, one
    instance stands for the rest.
    """
    origin = Origin((block.header,))
    entries = block.body.attributes
    if "count" in entries:
        return _counted(block, address, scope, evaluate(entries["count"].expression, scope))
    if "for_each" not in entries:
        return Known(Instance(block, scope, address), origin)
    collection = evaluate(entries["for_each"].expression, scope)
    try:
        found = _named(collection)
    except EvaluationError:
        collection = Unknown("for_each needs a map or a set of strings")
        found = _named(collection)
    excess = _too_many(len(found), block, scope)
    if excess is not None:
        collection = excess
        found = _named(collection)
    result = Gathering(origin)
    for entry in found:
        name = result.free(entry.key)
        inner = _each(scope, key_datum(name, entry.item.origin or origin), entry.item, origin)
        optional = not loose_keys([name])
        label = f'{address}["{name}"]' if optional or len(found) > 1 else address
        instance = Instance(block, inner, label, entry.why.reason if entry.why else "", optional=optional)
        result.put(name, Known(instance, origin), entry.why)
    return result.map()


def _too_many(number: int | Fraction, block: nodes.Block, scope: Scope) -> Unknown | None:
    """Deduct copies of a block; return the reason if there are too many."""
    try:
        scope.budget.copy(int(number), _COPY + (block.span.end - block.span.start >> 4))
    except BudgetError as error:
        return scope.budget.refuse(error, Origin((block.header,)))
    return None


def _named(collection: Datum) -> list[Entry]:
    """List the elements of `for_each`. Raises EvaluationError if a key is no text."""
    found = list(entries_of(collection))
    if not is_map(collection) and type(collection) is not Unknown:
        found = [entry._replace(key=entry.item) for entry in found]
    for entry in found:
        if isinstance(entry.key, Known):
            scalars.to_string(entry.key.value)
    return found


def _each(scope: Scope, key: Datum, value: Datum, origin: Origin) -> Scope:
    spans = value.origin.spans if value.origin else ()
    place = next((span for span in spans if not span.source.bundled), None)
    return scope.with_names(place, each=Known({"key": key, "value": value}, origin))


def _counted(block: nodes.Block, address: str, scope: Scope, count: Datum) -> Datum:
    origin = Origin((block.header,))

    def instance(index: Datum, address: str, why: Unknown | None = None) -> tuple[Datum, Unknown | None]:
        inner = scope.with_names(count=Known({"index": index}, origin))
        found = Instance(block, inner, address, why.reason if why else "", optional=isinstance(index, Known))
        return Known(found, origin), why

    if isinstance(count, Known):
        try:
            number = scalars.to_number(count.value)
        except EvaluationError as error:
            count = Unknown(str(error))
        else:
            count = _too_many(number, block, scope) or count
            if isinstance(count, Known):
                indexes = range(int(number))
                return gathered((instance(Known(i, count.origin), f"{address}[{i}]") for i in indexes), origin)
    if isinstance(count, Either) and all(
        isinstance(known(one), int) and known(one) in (0, 1) for one in count.branches
    ):
        return gathered([instance(Known(0, origin), f"{address}[0]", count)], origin)
    return gathered([instance(Unknown(count.reason), address, count)], origin)


def iterator_name(block: nodes.Block, kind: str) -> str:
    """Return the name of a `dynamic` block's loop variable."""
    return block.body.written("iterator") or kind


_SWITCH = regex(r"var\.(\w+) \?")


def _inputs(block: nodes.Block, name: str) -> tuple[str, str]:
    """List the inputs that create a `dynamic` block and set its attribute."""
    content = next(iter(block.body.all("content")), block).body.attributes.get(name)
    switch = _SWITCH.match(block.body.attributes["for_each"].value_span.text)
    value = content.value_span.text.removeprefix("var.") if content is not None else ""
    return (switch[1], value) if switch and value.isidentifier() else ("", "")


def _dynamic(block: nodes.Block, kind: str, scope: Scope) -> Blocks:
    entries = block.body.attributes
    content = next(iter(block.body.all("content")), None)
    origin = Origin((block.header,))
    if content is None or "for_each" not in entries:
        return Known((), origin)
    collection = evaluate(entries["for_each"].expression, scope)
    if isinstance(collection, Unknown):
        return collection
    iterator = iterator_name(block, kind)
    if not isinstance(collection.value, dict | tuple):
        return Known((), origin)
    excess = _too_many(len(collection.value), block, scope)
    if excess is not None:
        return excess
    each: list[Datum] = [Known({"key": one.key, "value": one.item}, origin) for one in entries_of(collection)]
    return Known(tuple(BlockRecord(content, scope.with_names(**{iterator: one})) for one in each), origin)


def instances_in(value: Datum) -> Iterator[Instance]:
    """Yield the instances of an expanded block."""
    return (part for part in parts_of(value) if isinstance(part, Instance))


def parts_of(value: Datum) -> Iterator[object]:
    """Yield the known values of an expanded block, one per instance."""
    items: Iterable[Datum] = value.elements() if isinstance(value, Partial) else ()
    if isinstance(value, Known):
        inner = value.value
        items = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, tuple) else (value,)
    for item in items:
        if isinstance(item, Known):
            yield item.value


def map_instances(value: Datum, build: Callable[[Instance], Datum]) -> Datum:
    """Replace each instance of an expanded block."""

    def inside(item: Datum) -> Datum:
        return map_instances(item, build)

    if isinstance(value, Partial):
        return replace(value, part=each(value.part, inside), rest=each(value.rest, inside))
    if isinstance(value, Unknown):
        return value
    inner = value.value
    if isinstance(inner, dict | tuple):
        return Known(each(inner, inside), value.origin)
    return build(inner) if isinstance(inner, Instance) else value
