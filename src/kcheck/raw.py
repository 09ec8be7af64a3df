"""Raw subjects: a manifest or a resource of Terraform as it is written, for rules that no model has words for.

Their trees are open: an absent key is absent, and so is null. What is not known is left out of the data too, so a view
remembers where, and says of an expression whether it would take the one for the other.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kcheck import views
from kcheck.kubernetes.objects import value_of
from kcheck.model import Manifest, Resource
from kcheck.subjects import things
from kcheck.syntax import yaml
from kcheck.values import Known, Missing, Origin, Reference, Unknown, Unset
from kcheck.views import ID, View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.cel import Usage
    from kcheck.model import Thing
    from kcheck.text import Span
    from kcheck.values import Datum, Record
    from kcheck.views import Wanted
    from kcheck.world import World

SUBJECTS: dict[str, dict[str, str]] = {
    "object": {
        "": "a Kubernetes object as it is written, as ValidatingAdmissionPolicy shows it: also those in Terraform code",
    },
    "resource": {
        "type": "its type, such as aws_subnet",
        "address": "its address, such as module.network.aws_subnet.nodes[0]",
        "module": "address of the module that makes it; empty for the root",
        "values": "its arguments as they are written, evaluated; nested blocks are lists, as in terraform show -json",
    },
}
"""Subject -> its fixed words; what is below the last one of each is as it is written."""

OPEN = ("object", "resource.values")
"""Words below which any name may stand."""

KINDS = {"object": "object.kind", "resource": "resource.type"}
"""What tells one kind of a raw subject from others."""

_META = frozenset({"count", "for_each", "depends_on", "provider", "lifecycle", "provisioner", "connection"})
"""Arguments that are Terraform's, not the resource's."""

_MOST = 100_000
"""Values of one object: aliases can stand for more than anybody has written."""


class _Part(NamedTuple):
    """A part of a tree: a plain value, a list or a dict of parts, or an Unknown.

    `inside` is where an absent member would be written.
    """

    value: Any
    origin: Origin
    inside: Missing | None = None


class RawView(View):
    """The data of a manifest or a resource."""

    open = True

    def _read(self, fields: Wanted | None) -> dict[str, Any]:  # noqa: ARG002 - all of it is there anyway
        self._unknown: dict[str, str] = {}
        self._unknown_within: dict[str, str] = {}
        self._unknown_members: dict[str, str] = {}
        self._root = _Builder(self.thing.place).root(self.thing)
        self._parts: list[_Part] | None = None
        data: dict[str, Any] = self._plain(self._root, self.subject, ())
        return data

    @cached_property
    def numbered(self) -> dict[str, Any]:
        """The same data with the numbers of all maps in it."""
        self._parts = []
        data: dict[str, Any] = self._plain(self._root, self.subject, ())
        return data

    def _plain(self, part: _Part, path: str, above: tuple[tuple[str, bool], ...]) -> Any:
        """The plain data of a part; what is not known is left out, with all lists that it is an item of.

        `above` are the paths of the collections around it, with whether it is a map.
        """
        value = part.value
        unknown = value
        if isinstance(value, list):
            unknown = next((item.value for item in value if isinstance(item.value, Unknown)), None)
        if isinstance(unknown, Unknown):
            self._note(path, above, unknown.reason)
            return None
        if isinstance(value, list):
            return [self._plain(item, f"{path}[]", (*above, (path, False))) for item in value]
        if not isinstance(value, dict):
            return value
        result: dict[str, Any] = {}
        if self._parts is not None:
            result[ID] = len(self._parts)
            self._parts.append(part)
        for name, member in value.items():
            plain = self._plain(member, f"{path.rstrip('[]')}.{name}", (*above, (path, True)))
            if plain is not None:
                result[name] = plain
        return result

    def _note(self, path: str, above: tuple[tuple[str, bool], ...], reason: str) -> None:
        self._unknown.setdefault(path.rstrip("[]"), reason)
        for outer, is_map in above:
            self._unknown_within.setdefault(outer, reason)
            if is_map:
                self._unknown_members.setdefault(outer, reason)

    # --- what expressions may say

    def hidden(self, usage: Usage) -> tuple[str, ...]:
        """Why an expression may take what is not known for absent.

        A member that is selected is no danger: without it, CEL has no answer.
        """
        if not self._unknown:
            return ()
        found = [self._unknown.get(path) for path in sorted(usage.presence | usage.keys)]
        found += [self._unknown_within.get(path) for path in sorted(usage.whole)]
        found += [self._unknown_members.get(path) for path in sorted(usage.counted)]
        return tuple(dict.fromkeys(reason for reason in found if reason))

    def lacks(self, usage: Usage) -> tuple[str, ...]:
        """What an undecided expression waits for: what is not known, else what is not written."""
        reasons = list(self.hidden(usage))
        for path in sorted(usage.paths):
            steps = path.split(".")
            outer = (".".join(steps[: i + 1]) for i in range(len(steps)))
            reasons += [self._unknown[path] for path in outer if path in self._unknown]
        if not reasons:
            absent = map(self._absent, sorted(usage.paths - usage.presence))
            reasons = [f"`{path}` is not written; ask has() first" for path in absent if path]
        return tuple(dict.fromkeys(reasons))

    def _absent(self, path: str) -> str:
        """The first part of a path that is not written, as a person calls it; empty if all of it is."""
        steps = path.split(".")
        parts = [self._root]
        for i, step in enumerate(steps[1:]):
            parts = [inner for part in parts for inner in _flat(part) if isinstance(inner.value, dict)]
            members = [part.value.get(step) for part in parts]
            parts = [member for member in members if member is not None and member.value is not None]
            if len(parts) < len(members):
                return ".".join(steps[2 if steps[1] == "values" and self.subject == "resource" else 1 : i + 2])
        return ""

    # --- places

    def _found(self, record: int, path: tuple[str, ...]) -> tuple[_Part, tuple[str, ...]]:
        """The last part on the way that is written, and the names below it that are not."""
        part = self._parts[record] if self._parts is not None else self._root
        for i, name in enumerate(path):
            member = part.value.get(name) if isinstance(part.value, dict) else None
            if member is None:
                return part, path[i:]
            part = member
        return part, ()

    def origin(self, record: int, path: tuple[str, ...]) -> Origin:
        """Where a part is written, or would be."""
        part, rest = self._found(record, path)
        if not rest:
            return part.origin
        inside = part.inside
        missing = Missing(inside.container, (*inside.path, *rest)) if inside else None
        return Origin(part.origin.spans, missing=missing)

    def value(self, record: int, path: tuple[str, ...]) -> Any:
        """The value of a part; None if it is not written, or no single one."""
        part, rest = self._found(record, path)
        return None if rest or isinstance(part.value, dict | list | Unknown) else part.value

    def owner(self, record: int) -> tuple[str, str]:  # noqa: ARG002 - all parts belong to one thing
        """The subject, and the id of its thing."""
        return self.subject, self.thing.id

    def unit(self, record: int, path: tuple[str, ...]) -> str:  # noqa: ARG002 - as it is written
        """There are none."""
        return ""

    def unit_of(self, steps: list[str]) -> str:  # noqa: ARG002 - as it is written
        """There are none."""
        return ""

    def literals(self) -> Iterator[Span]:
        """Where its single values are written."""
        todo = [self._root]
        while todo:
            part = todo.pop()
            todo += part.value.values() if isinstance(part.value, dict) else ()
            todo += part.value if isinstance(part.value, list) else ()
            if part.origin.literal:
                yield part.origin.written


def view(subject: str, thing: Thing, world: World, fields: Wanted | None = None) -> View:
    """The view of a thing: of its words, or of what is written."""
    return (RawView if subject in SUBJECTS else View)(subject, thing, world, fields)


def users(subject: str, name: str, world: World) -> Iterator[tuple[Span, str]]:
    """The literals that give a field of all things of a subject its value, and the ids of these things."""
    if subject not in SUBJECTS:
        yield from views.users(subject, name, world)
        return
    for thing in things(subject, world):
        for place in RawView(subject, thing, world).literals():
            yield place, thing.id


# --- reading


def _flat(part: _Part) -> Iterator[_Part]:
    """A part, or the items of lists."""
    if isinstance(part.value, list):
        for item in part.value:
            yield from _flat(item)
    else:
        yield part


class _Builder:
    """Makes the parts of one thing, up to a number of them."""

    def __init__(self, place: Span) -> None:
        self.place = place
        self.left = _MOST

    def root(self, thing: Thing) -> _Part:
        """All of a thing."""
        here = Origin((thing.place,))
        if isinstance(thing, Manifest):
            whole = self.node(thing.tree, thing.place)
            names = {"apiVersion": thing.api_version, "kind": thing.kind}
            own = {name: _Part(value, here) for name, value in names.items()}
            return whole._replace(value=own | whole.value) if isinstance(whole.value, dict) else _Part(own, here)
        assert isinstance(thing, Resource)  # noqa: S101 - for the type checker
        names = {"type": thing.type, "address": thing.address, "module": thing.module}
        parts = {name: _Part(value, here) for name, value in names.items()}
        return _Part({**parts, "values": self.record(thing.record, _META)}, here)

    def _full(self) -> bool:
        self.left -= 1
        return self.left < 0

    def node(self, node: yaml.Node, place: Span) -> _Part:
        """A node of YAML; `place` is its key."""
        target, here = yaml.resolve(node), Origin((place,))
        if self._full():
            return _Part(Unknown(f"it has more than {_MOST:,} values"), here)
        if isinstance(target, yaml.Sequence):
            return _Part([self.node(item, yaml.resolve(item).span) for item in target.items], here)
        if isinstance(target, yaml.Scalar):
            value = value_of(target)
            if isinstance(value, Unset):
                return _Part(None, value.origin)
            if isinstance(value, Known) and isinstance(value.value, str) and _is_filled_in(value.value):
                value = Unknown(f"`{_short(value.value)}` is filled in by a template", value.origin)
            return self.datum(value)
        entries = yaml.entries(target)
        filled = next(filter(_is_filled_in, entries), None)
        if filled is not None:
            return _Part(Unknown(f"the key `{_short(filled)}` is filled in by a template"), here)
        members = {}
        for name, entry in entries.items():
            inner = yaml.resolve(entry.value)
            members[name] = self.node(inner, inner.span if entry.key.span == target.span else entry.key.span)
        return _Part(members, here, Missing(target.span, ()) if _takes_members(target.span) else None)

    def record(self, record: Record, without: frozenset[str] = frozenset()) -> _Part:
        """A block of Terraform."""
        members = {}
        for name in record.names():
            if name not in without:
                datum = record.entry(name)
                members[name] = self._blocks(record, name) if datum is None else self.datum(datum)
        return _Part(members, Origin((record.span,)), record.absent(()).missing)

    def _blocks(self, record: Record, kind: str) -> _Part:
        blocks = record.blocks(kind)
        if isinstance(blocks, Unknown):
            return self.datum(blocks)
        place = blocks[0].span if blocks else record.span
        return _Part([self.record(block) for block in blocks], Origin((place,)))

    def datum(self, datum: Datum) -> _Part:
        """A value of Terraform, or a single one of a manifest."""
        origin = (datum.origin or Origin(())).outside(self.place)
        origin = origin if origin.spans else Origin((self.place,))
        if isinstance(datum, Unknown) or self._full():
            reason = datum.reason if isinstance(datum, Unknown) else f"it has more than {_MOST:,} values"
            return _Part(Unknown(reason), Origin(origin.spans))
        value = datum.value
        if isinstance(value, dict):
            unknown = next((key for key in value if isinstance(key, Reference)), None)
            if unknown is not None:
                return _Part(Unknown(unknown.datum.reason), origin)
            here = None if origin.missing or not _takes_members(origin.written) else Missing(origin.written, ())
            return _Part({str(key): self.datum(item) for key, item in value.items()}, origin, here)
        if isinstance(value, tuple):
            return _Part([self.datum(item) for item in value], origin)
        return _Part(_scalar(value), origin)


def _scalar(value: Any) -> Any:
    """A single value as CEL takes it."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return Unknown(f"{value} does not fit 64 bits")
    return value if isinstance(value, bool | int | float | None) else Unknown("a whole resource is no single value")


def _is_filled_in(text: str) -> bool:
    """Whether a template engine must fill in a text."""
    at = text.find("{{")
    return at >= 0 and text.find("}}", at) >= 0


def _short(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 60 else f"{line[:60]}..."


def _takes_members(span: Span) -> bool:
    """Whether a fix can write into the map at a span: what stands there is a map as it is written."""
    path = span.source.path
    return path.endswith((".yaml", ".yml")) or (path.endswith(".tf") and span.text[:1] == "{")
