"""Views of raw subjects: manifests and Terraform resources as written.

Their trees are open: an absent key is absent, and so is null. Unknown values are left out of the data too, so a view
records them, and says whether an expression would mistake an unknown value for an absent one.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from kcheck.engine.words import views
from kcheck.engine.words.subjects import things
from kcheck.engine.words.views import ID, Target, View, Wanted
from kcheck.text.findings import UnknownInput, unknown_input
from kcheck.text.need import first_unknown
from kcheck.text.values import Missing, Origin, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.engine.words.raw_tree import Part
    from kcheck.model import Thing
    from kcheck.scale.world import World
    from kcheck.text.syntax.cel_tree import Usage
    from kcheck.text.text import Span

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
"""Subject -> its fixed words; below the last one of each any name may stand."""

OPEN = ("object", "resource.values")
"""Words below which any name may stand."""

KINDS = {"object": "object.kind", "resource": "resource.type"}
"""Word that tells the kinds of a raw subject apart."""


class RawView(View):
    """View of a manifest or a resource."""

    open = True

    def _read(self, fields: Wanted | None) -> dict[str, object]:  # noqa: ARG002 - all of it is there anyway
        self._unknown: dict[str, UnknownInput] = {}
        self._unknown_within: dict[str, UnknownInput] = {}
        self._unknown_members: dict[str, UnknownInput] = {}
        self._root = import_module("kcheck.engine.words.raw_tree").raw_tree(self.thing)
        self._parts: list[Part] | None = None
        self._maps: list[dict[str, object]] = []
        return self._whole()

    @cached_property
    def numbered(self) -> dict[str, object]:
        """Read the data again, with a number in each map."""
        self._parts, self._maps = [], []
        return self._whole()

    def _whole(self) -> dict[str, object]:
        data = self._plain(self._root, self.subject, ())
        assert isinstance(data, dict)  # noqa: S101 - for the type checker
        return data

    def _plain(self, part: Part, path: str, above: tuple[tuple[str, bool], ...]) -> object:
        """Convert a part to plain data, without unknown parts.

        `above` are the paths of the collections around it, with whether each is a map.
        """
        value = part.value
        unknown = value
        if isinstance(value, list):
            unknown = first_unknown(item.value for item in value)
        if isinstance(unknown, Unknown):
            self._note(path, above, unknown_input(unknown))
            return None
        if isinstance(value, list):
            return [self._plain(item, f"{path}[]", (*above, (path, False))) for item in value]
        if not isinstance(value, dict):
            return value
        result: dict[str, object] = {}
        if self._parts is not None:
            result[ID] = len(self._parts)
            self._parts.append(part)
            self._maps.append(result)
        for name, member in value.items():
            plain = self._plain(member, f"{path.rstrip('[]')}.{name}", (*above, (path, True)))
            if plain is not None:
                result[name] = plain
        return result

    def _note(self, path: str, above: tuple[tuple[str, bool], ...], reason: UnknownInput) -> None:
        self._unknown.setdefault(path.rstrip("[]"), reason)
        for outer, is_map in above:
            self._unknown_within.setdefault(outer, reason)
            if is_map:
                self._unknown_members.setdefault(outer, reason)

    def hidden(self, usage: Usage) -> tuple[UnknownInput, ...]:
        """List unknown values that an expression would treat as absent.

        A selected member is safe: without it, CEL has no answer.
        """
        if not self._unknown:
            return ()
        found = [self._unknown.get(path) for path in sorted(usage.presence | usage.keys)]
        found += [self._unknown_within.get(path) for path in sorted(usage.whole)]
        found += [self._unknown_members.get(path) for path in sorted(usage.counted)]
        return tuple(dict.fromkeys(reason for reason in found if reason))

    def lacks(self, usage: Usage) -> tuple[UnknownInput, ...]:
        """List what an undecided expression waits for: unknown values, else missing keys."""
        reasons = list(self.hidden(usage))
        for path in sorted(usage.paths):
            steps = path.split(".")
            outer = (".".join(steps[: i + 1]) for i in range(len(steps)))
            reasons += [self._unknown[path] for path in outer if path in self._unknown]
        if not reasons:
            asked = {path.rpartition(".")[0] for path in usage.presence}  # has(a.b.c) needs a.b
            absent = map(self._absent, sorted(usage.paths - usage.presence | asked))
            texts = (f"`{path}` is not written; ask has() first" for path in absent if path)
            reasons = [UnknownInput(text, text) for text in texts]
        return tuple(dict.fromkeys(reasons))

    def _absent(self, path: str) -> str:
        """Return the first missing key of a path; empty if none is missing."""
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

    def target(self, record: int, path: tuple[str, ...]) -> Target:
        """Return a part, or where the rest of its path would be added."""
        part, rest = self._parts[record] if self._parts is not None else self._root, path
        while rest and isinstance(part.value, dict) and (member := part.value.get(rest[0])) is not None:
            part, rest = member, rest[1:]
        kind = "list" if isinstance(part.value, list) else "map" if isinstance(part.value, dict) else "scalar"
        value = part.value if kind == "scalar" and not rest and not isinstance(part.value, Unknown) else None
        origin, inside = part.origin, part.inside
        if rest:
            missing = Missing(inside.container, (*inside.path, *rest)) if inside else None
            origin = Origin(origin.spans, missing=missing)
        return Target(path[-1], origin, value, subject=self.subject, owner=self.thing.id, kind=kind)

    def record(self, number: int) -> dict[str, object]:
        """Return the data of a map by its number."""
        return self._maps[number]

    def literals(self) -> Iterator[Span]:
        """Yield the spans of its literals."""
        todo = [self._root]
        while todo:
            part = todo.pop()
            todo += part.value.values() if isinstance(part.value, dict) else ()
            todo += part.value if isinstance(part.value, list) else ()
            if part.origin.literal:
                yield part.origin.written


def view(subject: str, thing: Thing, world: World, fields: Wanted | None = None) -> View:
    """Build the view of an object; raw for raw subjects."""
    return (RawView if subject in SUBJECTS else View)(subject, thing, world, fields)


def users(subject: str, name: str, world: World) -> Iterator[tuple[Span | Missing, str]]:
    """Yield the spans that set a field of a raw subject, with object ids."""
    if subject not in SUBJECTS:
        yield from views.users(subject, name, world)
        return
    for thing in things(subject, world):
        for place in RawView(subject, thing, world).literals():
            yield place, thing.id


def _flat(part: Part) -> Iterator[Part]:
    if isinstance(part.value, list):
        for item in part.value:
            yield from _flat(item)
    else:
        yield part
