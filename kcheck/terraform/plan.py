"""Plans (`terraform show -json`) as root modules."""

from __future__ import annotations

import json as library
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TypeAlias, TypeVar

from kcheck.terraform import convert
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.filesystem import Files
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance, ObjectRecord, objects_in
from kcheck.text.partly_known import string
from kcheck.text.regex import regex
from kcheck.text.syntax import json
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import BOM, Problem, Source, Span
from kcheck.text.values import Blocks, Datum, Known, Origin, Symbol, Unknown, concealed

T = TypeVar("T")
_IDS = ("id", "self_link", "arn")
_CALL = regex(r"module\.([\w-]+)(\[[^\]]*\])?")
_INDEX = regex(r"\[[^\]]*\]")
Json: TypeAlias = dict[str, object]
_Seen: TypeAlias = frozenset[tuple[str, str]]
_NULL: Json = {"constant_value": None}
"""Expression of an argument that is not set."""


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
        self.links = _Links(root, targets, lists)
        self.changes = {
            part(change, "address", str): part(change, "change", dict)
            for change in _plain(text, tops.get("resource_changes"), list[Json]()) or ()
        }
        self._instances: dict[str, _Planned] = {}
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
    """Return the part at a key or index; None without one."""
    if isinstance(part, dict):
        return part.get(step)
    return part[step] if isinstance(part, list) and isinstance(step, int) and step < len(part) else None


class _Planned(Instance):
    def __init__(self, address: str, module: str, resource: Json, node: json.Node, change: Json, links: _Links) -> None:
        self.address = address
        self.doubt = ""
        self.symbol = Symbol(address, "")
        self.node = node
        self._entries: dict[str, Datum | None] = {}
        self._own = f"{resource['type']}.{resource['name']}"
        path = _without_indexes(module)
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
            value = self._merged(name, member.value if member else None, unknown, secret, _argument(self._code, name))
            self._entries[name] = value
        return self._entries[name]

    def _merged(
        self, name: str, node: json.Node | None, unknown: object, secret: list[object], code: object
    ) -> Datum | None:
        """Combine a planned value with its unknown parts."""
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
                    key, nodes.get(key), _at(unknown, key), [_at(part, key) for part in secret], _argument(code, key)
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

    def blocks(self, kind: str) -> Blocks:
        return objects_in(self.entry(kind), _Nested)

    def names(self) -> Iterable[str]:
        return dict.fromkeys((*self._known, *(self._unknown if isinstance(self._unknown, dict) else ())))

    def absent(self, _path: tuple[str, ...]) -> Origin:
        return Origin((self.span,))

    def made_from(self, kind: str) -> Datum | None:  # noqa: ARG002 - the signature of code
        return None


class _Nested(ObjectRecord):
    def absent(self, _path: tuple[str, ...]) -> Origin:
        return Origin((self.span,))


# --- references


def _without_indexes(address: str) -> str:
    """Strip indexes from an address: `module.a[0]` becomes `module.a`."""
    return _INDEX.sub("", address)


def part(whole: Json, name: str, kind: type[T]) -> T:
    """Return a member of an object; raise ValueError for another type."""
    found = whole.get(name)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        raise ValueError(f"`{name}` has a type that Terraform does not write")
    return found


class _Links:
    """References in the code of a plan, for values known only after apply."""

    def __init__(self, root: Json, targets: Mapping[str, tuple[str, ...]], lists: Set[str]) -> None:
        self.root = root
        self.targets, self.lists = targets, lists
        self.addresses: dict[tuple[str, str], list[tuple[str, object]]] = {}
        """(module without indexes, type and name) -> addresses of the instances, with their index."""
        self.ids: dict[str, str] = {}

    def add(self, resource: Json, module: str) -> None:
        """Add a planned resource."""
        own = f"{resource['type']}.{resource['name']}"
        address, values = part(resource, "address", str), part(resource, "values", dict)
        self.addresses.setdefault((_without_indexes(module), own), []).append((address, resource.get("index")))
        for name in _IDS:
            if isinstance(values.get(name), str) and values[name]:
                self.ids[values[name]] = address

    def target(self, name: str, value: Datum | None, own: str, module: str, index: object, place: Span) -> Datum | None:
        """Resolve the id that an attribute refers to, known after apply; None if unclear."""
        wanted = self.targets.get(name)
        if wanted is None:
            return None
        if value is not None:
            address = self.ids.get(string(value) or "")
            if address and any(f".{kind}." in f".{address}" for kind in wanted):
                return _id(address, value.origin or Origin((place,)))
            return None
        path = _without_indexes(module)
        resource = self._resource(path, own)
        references = _references_of(part(resource, "expressions", dict).get(name))
        direct = [r for r in references if not r.startswith("each.")]
        found = self._resolved(direct, path, index, wanted, frozenset())
        if len(direct) < len(references):  # each group may choose some of them: the plan does not say which
            chosen = self._resolved(
                _references_of(resource.get("for_each_expression")), path, index, wanted, frozenset()
            )
            found = chosen if not direct and len(chosen) == 1 else [] if chosen else found
        here = Origin((place,))
        if name in self.lists:
            return Known(tuple(_id(address, here) for address in found), here) if found else None
        return _id(found[0], here) if len(found) == 1 else None

    def _resolved(
        self, references: list[str], module: str, index: object, wanted: tuple[str, ...], seen: _Seen
    ) -> list[str]:
        found: list[str] = []
        for reference in references:
            if (module, reference) in seen:
                continue
            found += self._followed(reference, module, index, wanted, seen | {(module, reference)})
        return list(dict.fromkeys(found))

    def _followed(self, reference: str, module: str, index: object, wanted: tuple[str, ...], seen: _Seen) -> list[str]:
        steps = _INDEX.sub("", reference).split(".")
        if len(steps) < 2:
            return []
        if steps[0] in ("var", "module"):
            expression, place = self._behind(steps, module)
            return self._resolved(_references_of(expression), place, None, wanted, seen)
        instances = self.addresses.get((module, ".".join(steps[:2])), ())
        if steps[0] not in wanted:
            return []
        own = _INDEX.search(reference.partition(".")[2].partition(".")[0])
        if own is not None:
            return [address for address, _ in instances if address.endswith(own[0])]
        same = [address for address, key in instances if key == index] if index is not None else []
        return same if same and len(instances) > 1 and len(seen) == 1 else [address for address, _ in instances]

    def _behind(self, steps: list[str], module: str) -> tuple[object, str]:
        """Return the expression of a module's variable or output, and its module."""
        if steps[0] == "var":
            outer, _, call = module.rpartition(".module.") if ".module." in module else ("", "", module[7:])
            given = part(part(part(self._module(outer), "module_calls", dict), call, dict), "expressions", dict)
            return given.get(steps[1], _NULL) if module else _NULL, outer
        inner = f"{module}.module.{steps[1]}".removeprefix(".")
        output = part(part(self._module(inner), "outputs", dict), steps[2], dict) if len(steps) > 2 else {}
        return output.get("expression"), inner

    def code(self, module: str, own: str) -> object:
        """Return the arguments of a resource as written; None if not in the plan."""
        return self._resource(module, own).get("expressions")

    def settled(self, code: object, module: str, own: str, seen: _Seen = frozenset()) -> bool:
        """Whether an expression is known before apply."""
        if not isinstance(code, dict):
            return False
        references = _references_of(code)
        return all(self._known(r, module, own, seen) for r in references) if references else "constant_value" in code

    def _known(self, reference: str, module: str, own: str, seen: _Seen) -> bool:
        steps = _INDEX.sub("", reference).split(".")
        if (module, reference) in seen:
            return False
        seen |= {(module, reference)}
        if steps[0] in ("each", "count"):
            resource = self._resource(module, own)
            loop = resource.get("for_each_expression" if steps[0] == "each" else "count_expression")
            return self.settled(loop, module, "", seen)
        if steps[0] in ("var", "module") and len(steps) > 1:
            expression, place = self._behind(steps, module)
            return self.settled(expression, place, "", seen)
        return steps[0] in ("path", "terraform")

    def _module(self, path: str) -> Json:
        found = self.root
        for name, _ in _CALL.findall(path):
            found = part(part(part(found, "module_calls", dict), name, dict), "module", dict)
        return found

    def _resource(self, module: str, own: str) -> Json:
        kind, _, name = own.partition(".")
        for resource in part(self._module(module), "resources", list):
            if (resource.get("type"), resource.get("name")) == (kind, name) and resource.get("mode") == "managed":
                return dict(resource)
        return {}


def _argument(code: object, name: str) -> object:
    """Return an argument's expression, or its blocks; None if not in the plan."""
    return code.get(name, _NULL) if isinstance(code, dict) else None


def _id(address: str, origin: Origin) -> Unknown:
    return Unknown(f"{address}.id is only known after apply", origin, Symbol(address, "id"))


def _references_of(expression: object) -> list[str]:
    """List the longest references of an expression: `a.b.id` includes `a.b`."""
    if not isinstance(expression, dict):
        return []
    written = expression.get("references")
    references = [r for r in written if isinstance(r, str)] if isinstance(written, list) else []
    return [r for r in references if not any(o != r and o.startswith((f"{r}.", f"{r}[")) for o in references)]
