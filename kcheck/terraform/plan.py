"""Plans (`terraform show -json`) as root modules: planned resources, linked by references."""

from __future__ import annotations

import json as library
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from kcheck.terraform import convert
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.module import Module
from kcheck.terraform.plan_links import Json, Links, argument, part, without_indexes
from kcheck.terraform.resource import Instance, ObjectRecord
from kcheck.text.syntax import json
from kcheck.text.text import BOM, Problem
from kcheck.text.values import Datum, Known, Origin, Symbol, Unknown, concealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set

    from kcheck.terraform.filesystem import Files
    from kcheck.text.syntax.hcl import nodes
    from kcheck.text.text import Source, Span
    from kcheck.text.values import Record

T = TypeVar("T")


def read(source: Source, targets: Mapping[str, tuple[str, ...]], lists: Set[str]) -> Module | Problem:
    """Read a plan as a root module; a Problem if the file is not a plan.

    `targets` maps attributes to the resource types they refer to. Attributes in `lists` refer to several.
    """
    whole = source.span(0, min(1, len(source.data)))
    try:
        text = source.data.decode()
        start = len(BOM.decode()) if text.startswith("\ufeff") else 0
        tops = dict(json.members(text, start))
        if "planned_values" not in tops or "format_version" not in tops:
            return Problem("not a plan in JSON: create one with `terraform show -json PLAN`", whole)
        return _Plan(source, text, tops, targets, lists)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Problem(f"this plan cannot be read: {error}", whole)


class _Nowhere:
    """Host of a plan: it is complete, so no module or file is loaded."""

    def child(self, _module: Module, _block: nodes.Block) -> Configuration | str:
        return "modules of a plan are in it"

    def files(self, _folder: str) -> Files:
        raise NotImplementedError

    def locked(self, _folder: str) -> dict[str, str]:
        return {}


class _Plan(Module):
    """Root module of a plan, with resources at full addresses."""

    def __init__(
        self, source: Source, text: str, tops: dict[str, int], targets: Mapping[str, tuple[str, ...]], lists: Set[str]
    ) -> None:
        super().__init__(Configuration(source.path), {}, _Nowhere())
        self.source = source
        self.text = text
        root = part(_plain(text, tops.get("configuration"), Json()), "root_module", dict)
        _check(root)
        self.links = Links(root, targets, lists)
        self.changes = {
            part(change, "address", str): part(change, "change", dict)
            for change in _plain(text, tops.get("resource_changes"), list[Json]()) or ()
        }
        self.by_kind: dict[str, list[tuple[str, str, Json, int]]] = {}
        for key, at in json.members(text, tops["planned_values"]):
            if key == "root_module":
                self._collect("", at)

    def _collect(self, module: str, start: int) -> None:
        for key, at in json.members(self.text, start):
            if key == "resources":
                for resource, begin in json.items(self.text, at):
                    if resource.get("mode") == "managed":
                        address, kind, name = (part(resource, key, str) for key in ("address", "type", "name"))
                        if not (address and kind and name):
                            raise ValueError("a resource has no address, type or name")
                        part(resource, "values", dict)
                        self.by_kind.setdefault(kind, []).append((address, module, resource, begin))
                        self.links.add(resource, module)
            elif key == "child_modules":
                for child, begin in json.items(self.text, at):
                    self._collect(part(child, "address", str), begin)

    def kinds(self) -> set[str]:
        return set(self.by_kind)

    def all(self) -> Iterator[Module]:
        yield self

    def instances(self, kind: str) -> Iterator[Instance]:
        for address, module, resource, begin in self.by_kind.get(kind, ()):
            if address not in self._instances:
                self.source.syntax = "plan"
                node = json.node(self.source, self.text, begin)
                change = self.changes.get(address, {})
                self._instances[address] = _Planned(address, module, resource, node, change, self.links)
            yield self._instances[address]

    @cached_property
    def _instances(self) -> dict[str, _Planned]:
        return {}


def _plain(text: str, start: int | None, default: T) -> T:
    found: T = default if start is None else library.JSONDecoder().raw_decode(text, start)[0]
    return found


def _check(module: Json) -> None:
    for resource in part(module, "resources", list):
        for name, kind in (("mode", str), ("type", str), ("name", str), ("expressions", dict)):
            part(resource, name, kind)
    for output in part(module, "outputs", dict).values():
        part(output, "expression", dict)
    for call in part(module, "module_calls", dict).values():
        part(call, "expressions", dict)
        _check(part(call, "module", dict))


def _at(part: object, step: str | int) -> object:
    """Return the part at a key or an index; None if there is none."""
    if isinstance(part, dict):
        return part.get(step)
    return part[step] if isinstance(part, list) and isinstance(step, int) and step < len(part) else None


class _Planned(Instance):
    def __init__(
        self,
        address: str,
        module: str,
        resource: Json,
        node: json.Node,
        change: Json,
        links: Links,
    ) -> None:
        self.address = address
        self.doubt = ""
        self.symbol = Symbol(address, "")
        self.node = node
        self._entries: dict[str, Datum | None] = {}
        self._own = f"{resource['type']}.{resource['name']}"
        path = without_indexes(module)
        self._code = links.code(path, self._own)
        self._settled: Callable[[object], bool] = lambda code: links.settled(code, path, self._own)
        members = node.value if isinstance(node.value, dict) else {}
        values = members["values"].value.value if "values" in members else members
        self._known = values if isinstance(values, dict) else {}
        self._unknown = change.get("after_unknown") or {}
        self._secret: list[object] = [change.get("after_sensitive") or {}, resource.get("sensitive_values") or {}]
        self._link: Callable[[str, Datum | None], Datum | None] = lambda name, value: links.target(
            name, value, self._own, module, resource.get("index"), self.span
        )

    @property
    def span(self) -> Span:
        member = self.node.value.get("address") if isinstance(self.node.value, dict) else None
        return member.value.span if member else self.node.span

    @property
    def complete(self) -> bool:
        return True

    def entry(self, name: str) -> Datum | None:
        if name not in self._entries:
            member = self._known.get(name)
            secret = [part.get(name) if isinstance(part, dict) else part for part in self._secret]
            unknown = self._unknown.get(name) if isinstance(self._unknown, dict) else self._unknown
            value = self._merged(name, member.value if member else None, unknown, secret, argument(self._code, name))
            self._entries[name] = value
        return self._entries[name]

    def _merged(
        self, name: str, node: json.Node | None, unknown: object, secret: list[object], code: object
    ) -> Datum | None:
        """Combine a planned value with its unknown and sensitive parts.

        A value the provider will choose counts as absent, as in code: unknown in the plan although its code is settled.
        """
        if any(part is True for part in secret):
            known = Known(None, Origin((node.span if node else self.span,)))
            return concealed(known, f"{self.address}.{name} is sensitive")
        if unknown is True:
            nowhere = Unknown(f"{self.address}.{name} is only known after apply", Origin((self.span,)))
            return self._link(name, None) or (None if self._settled(code) else nowhere)
        if node is None:
            return None
        origin = Origin((node.span,), literal=False)
        if isinstance(node.value, dict):
            nodes = {key: member.value for key, member in node.value.items()}
            names = dict.fromkeys((*nodes, *(unknown if isinstance(unknown, dict) else ())))
            parts = {
                key: self._merged(
                    key, nodes.get(key), _at(unknown, key), [_at(part, key) for part in secret], argument(code, key)
                )
                for key in names
            }
            return Known({key: part for key, part in parts.items() if part is not None}, origin)
        if isinstance(node.value, list):
            written = code if isinstance(code, list) and len(code) == len(node.value) else [None] * len(node.value)
            items = [
                self._merged(name, item, _at(unknown, i), [_at(part, i) for part in secret], written[i])
                for i, item in enumerate(node.value)
            ]
            whole: Datum = Known(tuple(item for item in items if item is not None), origin)
            return whole
        value = convert.from_json(node)
        return self._link(name, value) or value

    def blocks(self, kind: str) -> tuple[Record, ...] | Unknown:
        found = self.entry(kind)
        if isinstance(found, Unknown):
            return found
        items = found.value if found is not None and isinstance(found.value, tuple) else (found,)
        known = [item for item in items if isinstance(item, Known)]
        return tuple(_Nested(Known(item.value, item.origin)) for item in known if isinstance(item.value, dict))

    def names(self) -> Iterable[str]:
        return dict.fromkeys((*self._known, *(self._unknown if isinstance(self._unknown, dict) else ())))

    def absent(self, _path: tuple[str, ...]) -> Origin:
        return Origin((self.span,))

    def made_from(self, kind: str) -> Datum | None:  # noqa: ARG002 - the signature of code
        return None


class _Nested(ObjectRecord):
    def blocks(self, kind: str) -> tuple[Record, ...] | Unknown:
        found = super().blocks(kind)
        return (
            found
            if isinstance(found, Unknown)
            else tuple(_Nested(r.value) for r in found if isinstance(r, ObjectRecord))
        )

    def absent(self, _path: tuple[str, ...]) -> Origin:
        return Origin((self.span,))
