"""Manifests and flags as records, read like Terraform."""

from __future__ import annotations

from collections.abc import Iterable

from kcheck.kubernetes import flags
from kcheck.kubernetes.objects import value_of
from kcheck.text.keys import Item
from kcheck.text.syntax import yaml
from kcheck.text.text import Span
from kcheck.text.values import Blocks, Datum, Known, Missing, Origin, Unknown, Unset


class MappingRecord:
    """A mapping: its scalars and lists are attributes, its mappings nested blocks."""

    def __init__(self, mapping: yaml.Mapping, place: Span | None = None) -> None:
        self.mapping = mapping
        self.span = place or mapping.span

    def entry(self, name: str) -> Datum | None:
        """Return the value of a key; None if absent or null."""
        node = yaml.get(self.mapping, name)
        found = None if node is None else datum(node)
        return None if isinstance(found, Known) and found.value is None else found

    def blocks(self, kind: str) -> Blocks:
        """Return the mappings of a key; a list of names and values is one record."""
        node = yaml.get(self.mapping, kind)
        if isinstance(node, yaml.Computed) and isinstance(node.datum, Unknown):
            return node.datum
        return Known(tuple(self._mappings(node, kind)), Origin((self.span,)))

    def _mappings(self, node: yaml.Target | None, kind: str) -> Iterable[MappingRecord]:
        if isinstance(node, yaml.Mapping):  # absent members are reported at its key
            return [MappingRecord(node, yaml.entries(self.mapping)[kind].key.span)]
        if not isinstance(node, yaml.Sequence):
            return ()
        inner = [item for item in map(yaml.resolve, node.items) if isinstance(item, yaml.Mapping)]
        if inner and all(set(yaml.entries(item)) == {"name", "value"} for item in inner):
            return [PairsRecord(inner, node.span)]
        return map(MappingRecord, inner)

    def names(self) -> Iterable[str]:
        """Return the keys of the mapping."""
        return yaml.entries(self.mapping)

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return where a missing key would be written."""
        return Origin((self.span,), missing=Missing(self.mapping.span, path))


class PairsRecord(MappingRecord):
    """A list of `name` and `value`, like kubeadm's extraArgs; the last wins."""

    def __init__(self, pairs: list[yaml.Mapping], place: Span) -> None:
        super().__init__(pairs[0], place)
        self.pairs = pairs

    def entry(self, name: str) -> Datum | None:
        """Return the value of a name; None if absent."""
        own = [pair for pair in self.pairs if yaml.text(pair, "name") == name]
        return MappingRecord(own[-1]).entry("value") if own else None

    def blocks(self, kind: str) -> Blocks:  # noqa: ARG002 - the record's signature
        """Return no blocks, as pairs have none."""
        return Known((), Origin((self.span,)))

    def names(self) -> Iterable[str]:
        """Return the names in the list of pairs."""
        return [yaml.text(pair, "name") for pair in self.pairs]

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return where a new pair would be written."""
        return Origin((self.span,), missing=Missing(self.span, (Item(path[-1]), "value")))


class FlagsRecord:
    """Flags of a container."""

    def __init__(self, container: yaml.Node, place: Span) -> None:
        self.span = place
        self.room = flags.room(container)
        self.flags = {flag.name.value: flag.value for flag in flags.read(container)}

    def entry(self, name: str) -> Datum | None:
        """Return the value of a flag; None if not set."""
        value = self.flags.get(name)
        return None if value is None or isinstance(value, Unset) else value

    def blocks(self, kind: str) -> Blocks:  # noqa: ARG002 - the record's signature
        """Return no blocks, as flags have none."""
        return Known((), Origin((self.span,)))

    def names(self) -> Iterable[str]:
        """Return the names of the flags."""
        return self.flags

    def absent(self, path: tuple[str, ...]) -> Origin:
        """Return where a missing flag would be written."""
        return Origin((self.span,), missing=Missing(self.room, (f"--{path[-1]}",)) if self.room is not None else None)


def datum(node: yaml.Node) -> Datum:
    """Convert a node to a value, with the spans of its parts."""
    target = yaml.resolve(node)
    if isinstance(target, yaml.Mapping):
        return Known({key: datum(one.value) for key, one in yaml.entries(target).items()}, Origin((target.span,)))
    if isinstance(target, yaml.Sequence):
        return Known(tuple(map(datum, target.items)), Origin((target.span,)))
    value = value_of(target)
    return Known(None, value.origin) if isinstance(value, Unset) else value
