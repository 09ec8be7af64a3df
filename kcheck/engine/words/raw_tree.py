"""Manifests and Terraform resources as trees of parts, each with its span."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kcheck.kubernetes.objects import value_of
from kcheck.model import Manifest, Resource, Thing
from kcheck.text import placeholders
from kcheck.text.files.tree import MANIFESTS, TERRAFORM, VARIABLES
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.units import decimal_number
from kcheck.text.values import Datum, Missing, Origin, Record, Unknown, UnknownKey, Unset
from kcheck.text.yaml_nodes import Plain

_META = frozenset({"count", "for_each", "depends_on", "provider", "lifecycle", "provisioner", "connection"})
"""Terraform's own arguments, not the resource's."""

_MOST = 100_000
"""Most values of one object: aliases can multiply what is written."""


class Part(NamedTuple):
    """A part of a tree: a plain value, a list or a dict of parts, or an Unknown.

    `inside` is where a missing member would be added.
    """

    value: Plain | Unknown | list[Part] | dict[str, Part]
    origin: Origin
    inside: Missing | None = None


def raw_tree(thing: Thing) -> Part:
    """Build the tree of a manifest or a resource."""
    return _Builder(thing.place).root(thing)


class _Builder:
    """Builds the parts of one object, up to _MOST values."""

    def __init__(self, place: Span) -> None:
        self.place = place
        self.left = _MOST

    def root(self, thing: Thing) -> Part:
        here = Origin((thing.place,))
        if isinstance(thing, Manifest):
            whole = self.node(thing.tree, thing.place)
            names = {"apiVersion": thing.api_version, "kind": thing.kind}
            own = {name: Part(value, here) for name, value in names.items()}
            return whole._replace(value=own | whole.value) if isinstance(whole.value, dict) else Part(own, here)
        assert isinstance(thing, Resource)  # noqa: S101 - for the type checker
        names = {"type": thing.type, "address": thing.address, "module": thing.module}
        parts = {name: Part(value, here) for name, value in names.items()}
        return Part({**parts, "values": self.record(thing.record, _META)}, here)

    def _full(self) -> bool:
        self.left -= 1
        return self.left < 0

    def node(self, node: yaml.Node, place: Span) -> Part:
        """Convert a YAML node; `place` is the span of its key."""
        target, here = yaml.resolve(node), Origin((place,))
        if self._full():
            return Part(Unknown(f"it has more than {_MOST:,} values"), here)
        if isinstance(target, yaml.Sequence):
            items = [self.node(item, yaml.resolve(item).span) for item in target.items]
            return Part(items, Origin((target.span,)))  # where another item goes
        if isinstance(target, yaml.Scalar):
            value = value_of(target)
            if isinstance(value, Unset):
                return Part(None, value.origin, Missing(target.span, ()) if value.origin.literal else None)
            return self.datum(value)
        entries = yaml.entries(target)
        if missing := placeholders.unknown(entries):
            return Part(missing, here)
        members = {}
        for name, entry in entries.items():
            inner = yaml.resolve(entry.value)
            members[name] = self.node(inner, inner.span if entry.key.span == target.span else entry.key.span)
        return Part(members, here, Missing(target.span, ()) if _takes_members(target.span) else None)

    def record(self, record: Record, without: frozenset[str] = frozenset()) -> Part:
        """Convert a Terraform block."""
        members = {}
        for name in record.names():
            if name not in without:
                datum = record.entry(name)
                members[name] = self._blocks(record, name) if datum is None else self.datum(datum)
        return Part(members, Origin((record.span,)), record.absent(()).missing)

    def _blocks(self, record: Record, kind: str) -> Part:
        blocks = record.blocks(kind)
        if isinstance(blocks, Unknown):
            return self.datum(blocks)
        place = blocks.value[0].span if blocks.value else record.span
        return Part([self.record(block) for block in blocks.value], Origin((place,)))

    def datum(self, datum: Datum) -> Part:
        """Convert a Terraform value, or a scalar of a manifest."""
        origin = (datum.origin or Origin(())).outside(self.place)
        origin = origin if origin.spans else Origin((self.place,))
        if isinstance(datum, Unknown) or self._full():
            reason = datum.reason if isinstance(datum, Unknown) else f"it has more than {_MOST:,} values"
            return Part(Unknown(reason), Origin(origin.spans))
        value = datum.value
        if isinstance(value, dict):
            unknown = next((key for key in value if isinstance(key, UnknownKey)), None)
            if unknown is not None:
                return Part(Unknown(unknown.datum.reason), origin)
            here = None if origin.missing or not _takes_members(origin.written) else Missing(origin.written, ())
            return Part({str(key): self.datum(item) for key, item in value.items()}, origin, here)
        if isinstance(value, tuple):
            return Part([self.datum(item) for item in value], origin)
        return Part(_scalar(value), origin)


def _scalar(value: object) -> Plain | Unknown:
    """Convert a single value for CEL."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Fraction):
        value = decimal_number(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return Unknown("a number does not fit 64 bits")
    return value if isinstance(value, bool | int | float | None) else Unknown("a whole resource is not a single value")


def _takes_members(span: Span) -> bool:
    """Whether a fix can add a key to the map at a span: the code has a map there."""
    path = span.source.path
    if path.endswith(".json"):
        return not path.endswith((*TERRAFORM, *VARIABLES))
    return path.endswith(MANIFESTS) or (path.endswith((".tf", ".hcl")) and span.text[:1] == "{")
