"""Plans (`terraform show -json`) as root modules: every resource as it will be, links by what the code refers to."""

from __future__ import annotations

import json as library
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kcheck.source.text import BOM
from kcheck.source.values import Datum, Known, Origin, Symbol, Unknown, concealed
from kcheck.syntax import json, outlines
from kcheck.syntax.problem import Problem
from kcheck.terraform import convert
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.module import Module
from kcheck.terraform.resource import Instance, ObjectRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set

    from kcheck.source.text import Source, Span
    from kcheck.source.values import Record
    from kcheck.syntax.hcl import nodes
    from kcheck.terraform.filesystem import Files

_IDS = ("id", "self_link", "arn")
_CALL = re.compile(r"module\.([\w-]+)(\[[^\]]*\])?")
_INDEX = re.compile(r"\[[^\]]*\]")
_NULL = {"constant_value": None}
"""The expression of an argument that nobody wrote."""


def read(source: Source, targets: Mapping[str, tuple[str, ...]], lists: Set[str]) -> Module | Problem:
    """The root module that a plan describes; a Problem if the file is no plan.

    `targets` are the types of resources that attributes refer to; those of `lists` refer to several.
    """
    whole = source.span(0, min(1, len(source.data)))
    try:
        text = source.data.decode()
        start = len(BOM.decode()) if text.startswith("\ufeff") else 0
        tops = dict(json.members(text, start))
        if "planned_values" not in tops or "format_version" not in tops:
            return Problem("this is no plan: `terraform show -json PLAN` writes one", whole)
        return _Plan(source, text, tops, targets, lists)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Problem(f"this plan cannot be read: {error}", whole)


class _Nowhere:
    """A plan is complete: no module and no file is asked for."""

    def child(self, _module: Module, _block: nodes.Block) -> Configuration | str:
        return "modules of a plan are in it"

    def files(self, _root: Module) -> Files:
        raise NotImplementedError

    def locked(self, _root: Module) -> dict[str, str]:
        return {}


class _Plan(Module):
    """The root module of a plan: only its resources are there, those of called modules with their full address."""

    def __init__(
        self, source: Source, text: str, tops: dict[str, int], targets: Mapping[str, tuple[str, ...]], lists: Set[str]
    ) -> None:
        super().__init__(Configuration(source.path), {}, _Nowhere())
        self.source = source
        self.text = text
        root = _part(_plain(text, tops.get("configuration")), "root_module", dict)
        _check(root)
        self.links = _Links(root, targets, lists)
        self.changes = {
            _part(change, "address", str): _part(change, "change", dict)
            for change in _plain(text, tops.get("resource_changes")) or ()
        }
        self.by_kind: dict[str, list[tuple[str, str, dict[str, Any], int]]] = {}
        for key, at in json.members(text, tops["planned_values"]):
            if key == "root_module":
                self._collect("", at)

    def _collect(self, module: str, start: int) -> None:
        """Where the resources of a module are, and of those that it calls."""
        for key, at in json.members(self.text, start):
            if key == "resources":
                for resource, begin in json.items(self.text, at):
                    if resource.get("mode") == "managed":
                        if not all(_part(resource, name, str) for name in ("address", "type", "name")):
                            raise ValueError("a resource has no address, type or name")
                        _part(resource, "values", dict)
                        found = (resource["address"], module, resource, begin)
                        self.by_kind.setdefault(resource["type"], []).append(found)
                        self.links.add(resource, module)
            elif key == "child_modules":
                for child, begin in json.items(self.text, at):
                    self._collect(_part(child, "address", str), begin)

    def kinds(self) -> set[str]:
        """The types of all resources."""
        return set(self.by_kind)

    def all(self) -> Iterator[Module]:
        """Only itself."""
        yield self

    def instances(self, kind: str) -> Iterator[Instance]:
        """All instances of the resources of one type."""
        for address, module, resource, begin in self.by_kind.get(kind, ()):
            if address not in self._instances:
                self.source.outline = outlines.PLAN
                node = json.node(self.source, self.text, begin)
                change = self.changes.get(address, {})
                self._instances[address] = _Planned(address, module, resource, node, change, self.links)
            yield self._instances[address]

    @cached_property
    def _instances(self) -> dict[str, _Planned]:
        return {}


def _plain(text: str, start: int | None) -> Any:
    return {} if start is None else library.JSONDecoder().raw_decode(text, start)[0]


def _part(whole: Any, name: str, kind: type[Any]) -> Any:
    """A member of an object, empty if it is not there; a ValueError if it is of another kind."""
    found = whole.get(name)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        raise ValueError(f"`{name}` is of a kind that Terraform does not write")
    return found


def _check(module: dict[str, Any]) -> None:
    """Raise an error unless a module of the configuration, and those that it calls, have the shape of a plan's."""
    for resource in _part(module, "resources", list):
        for name, kind in (("mode", str), ("type", str), ("name", str), ("expressions", dict)):
            _part(resource, name, kind)
    for output in _part(module, "outputs", dict).values():
        _part(output, "expression", dict)
    for call in _part(module, "module_calls", dict).values():
        _part(call, "expressions", dict)
        _check(_part(call, "module", dict))


class _Planned(Instance):
    """One resource of a plan."""

    def __init__(
        self,
        address: str,
        module: str,
        resource: dict[str, Any],
        node: json.Node,
        change: dict[str, Any],
        links: _Links,
    ) -> None:
        self.address = address
        self.doubt = ""
        self.symbol = Symbol(address, "")
        self.node = node
        self._values = {}
        self._own = f"{resource['type']}.{resource['name']}"
        path = _INDEX.sub("", module)
        self._code = links.code(path, self._own)
        self._settled: Callable[[Any], bool] = lambda code: links.settled(code, path, self._own)
        self._known = node.value["values"].value if "values" in node.value else node
        self._unknown = change.get("after_unknown") or {}
        self._secret = [change.get("after_sensitive") or {}, resource.get("sensitive_values") or {}]
        self._link: Callable[[str, Datum | None], Datum | None] = lambda name, value: links.of(
            name, value, self._own, module, resource.get("index"), self.span
        )

    @property
    def span(self) -> Span:
        """Where its address is written."""
        member = self.node.value.get("address")
        return member.value.span if member else self.node.span

    @property
    def complete(self) -> bool:
        """A plan has everything."""
        return True

    def entry(self, name: str) -> Datum | None:
        """The value of an attribute, or None if it is not there."""
        if name not in self._values:
            member = self._known.value.get(name) if isinstance(self._known.value, dict) else None
            secret = [part.get(name) if isinstance(part, dict) else part for part in self._secret]
            unknown = self._unknown.get(name) if isinstance(self._unknown, dict) else self._unknown
            value = self._merged(name, member.value if member else None, unknown, secret, _argument(self._code, name))
            self._values[name] = value  # type: ignore[assignment]
        return self._values[name]

    def _merged(self, name: str, node: json.Node | None, unknown: Any, secret: list[Any], code: Any) -> Datum | None:
        """A planned value with what is not known yet and what must not be looked at.

        What the provider will choose is not there, as in code: the plan does not know it though its code is settled.
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
            inner = unknown if isinstance(unknown, dict) else {}
            parts = {
                key: self._merged(
                    key,
                    node.value[key].value if key in node.value else None,
                    inner.get(key),
                    [part.get(key) if isinstance(part, dict) else None for part in secret],
                    _argument(code, key),
                )
                for key in dict.fromkeys((*node.value, *inner))
            }
            return Known({key: part for key, part in parts.items() if part is not None}, origin)
        if isinstance(node.value, list):
            flags = unknown if isinstance(unknown, list) else []
            written = code if isinstance(code, list) and len(code) == len(node.value) else [None] * len(node.value)
            items = [
                self._merged(
                    name,
                    item,
                    flags[i] if i < len(flags) else None,
                    [part[i] if isinstance(part, list) and i < len(part) else None for part in secret],
                    written[i],
                )
                for i, item in enumerate(node.value)
            ]
            whole: Datum = Known(tuple(item for item in items if item is not None), origin)
            return whole
        value = convert.from_json(node)
        return self._link(name, value) or value

    def blocks(self, kind: str) -> tuple[Record, ...] | Unknown:
        """The nested blocks of one type."""
        found = self.entry(kind)
        if isinstance(found, Unknown):
            return found
        items = found.value if found is not None and isinstance(found.value, tuple) else (found,)
        return tuple(_Nested(item) for item in items if isinstance(item, Known) and isinstance(item.value, dict))

    def names(self) -> Iterable[str]:
        """The names of its attributes."""
        return dict.fromkeys((*self._known.value, *(self._unknown if isinstance(self._unknown, dict) else ())))

    def absent(self, _path: tuple[str, ...]) -> Origin:
        """A plan is not edited."""
        return Origin((self.span,))

    def made_from(self, kind: str) -> Datum | None:  # noqa: ARG002 - the signature of code
        """A plan has no `dynamic` blocks."""
        return None


class _Nested(ObjectRecord):
    """A nested block of a planned resource."""

    def blocks(self, kind: str) -> tuple[Record, ...] | Unknown:
        """The nested blocks of one type."""
        found = super().blocks(kind)
        return (
            found
            if isinstance(found, Unknown)
            else tuple(_Nested(r.value) for r in found if isinstance(r, ObjectRecord))
        )

    def absent(self, _path: tuple[str, ...]) -> Origin:
        """A plan is not edited."""
        return Origin((self.span,))


class _Links:
    """What the code of a plan refers to, for values that are only known after apply."""

    def __init__(self, root: dict[str, Any], targets: Mapping[str, tuple[str, ...]], lists: Set[str]) -> None:
        self.root = root
        self.targets, self.lists = targets, lists
        self.addresses: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        """(module without indexes, type and name) -> addresses of the instances, with their index."""
        self.ids: dict[str, str] = {}

    def add(self, resource: dict[str, Any], module: str) -> None:
        """Enter a planned resource."""
        own = f"{resource['type']}.{resource['name']}"
        entry = (resource["address"], resource.get("index"))
        self.addresses.setdefault((_INDEX.sub("", module), own), []).append(entry)
        values = resource.get("values") or {}
        for name in _IDS:
            if isinstance(values.get(name), str) and values[name]:
                self.ids[values[name]] = resource["address"]

    def of(self, name: str, value: Datum | None, own: str, module: str, index: Any, place: Span) -> Datum | None:
        """What an attribute refers to, as an id that is known after apply; None if that cannot be told."""
        wanted = self.targets.get(name)
        if wanted is None:
            return None
        if value is not None:
            address = self.ids.get(value.value) if isinstance(value, Known) and isinstance(value.value, str) else None
            return _id(address, value.origin or Origin((place,))) if address and _is_a(address, wanted) else None
        path = _INDEX.sub("", module)
        resource = self._resource(path, own)
        references = _references((resource.get("expressions") or {}).get(name))
        direct = [r for r in references if not r.startswith("each.")]
        found = self._resolved(direct, path, index, wanted, frozenset())
        if len(direct) < len(references):  # each group may choose some of them: the plan does not say which
            chosen = self._resolved(_references(resource.get("for_each_expression")), path, index, wanted, frozenset())
            found = chosen if not direct and len(chosen) == 1 else [] if chosen else found
        here = Origin((place,))
        if name in self.lists:
            return Known(tuple(_id(address, here) for address in found), here) if found else None
        return _id(found[0], here) if len(found) == 1 else None

    def _resolved(
        self, references: list[str], module: str, index: Any, wanted: tuple[str, ...], seen: frozenset[tuple[str, str]]
    ) -> list[str]:
        """The addresses of wanted resources that references lead to."""
        found: list[str] = []
        for reference in references:
            if (module, reference) in seen:
                continue
            found += self._followed(reference, module, index, wanted, seen | {(module, reference)})
        return list(dict.fromkeys(found))

    def _followed(
        self, reference: str, module: str, index: Any, wanted: tuple[str, ...], seen: frozenset[tuple[str, str]]
    ) -> list[str]:
        steps = _INDEX.sub("", reference).split(".")
        if len(steps) < 2:
            return []
        if steps[0] in ("var", "module"):
            expression, place = self._behind(steps, module)
            return self._resolved(_references(expression), place, None, wanted, seen)
        instances = self.addresses.get((module, ".".join(steps[:2])), ())
        if steps[0] not in wanted:
            return []
        own = _INDEX.search(reference.partition(".")[2].partition(".")[0])
        if own is not None:
            return [address for address, _ in instances if address.endswith(own[0])]
        same = [address for address, key in instances if key == index] if index is not None else []
        return same if same and len(instances) > 1 and len(seen) == 1 else [address for address, _ in instances]

    def _behind(self, steps: list[str], module: str) -> tuple[Any, str]:
        """The expression that a variable or an output of a module gets, and the module where it stands."""
        if steps[0] == "var":
            outer, _, call = module.rpartition(".module.") if ".module." in module else ("", "", module[7:])
            given = (self._module(outer).get("module_calls") or {}).get(call, {}).get("expressions") or {}
            return given.get(steps[1], _NULL) if module else _NULL, outer
        inner = f"{module}.module.{steps[1]}".removeprefix(".")
        output = (self._module(inner).get("outputs") or {}).get(steps[2], {}) if len(steps) > 2 else {}
        return output.get("expression"), inner

    def code(self, module: str, own: str) -> dict[str, Any] | None:
        """The arguments of a resource as written; None if the plan does not say."""
        return self._resource(module, own).get("expressions")

    def settled(self, code: Any, module: str, own: str, seen: frozenset[tuple[str, str]] = frozenset()) -> bool:
        """Whether the value of an expression is known before apply, so that a planned unknown stands for a null.

        Locals are not in a plan: what refers to one is not settled.
        """
        if not isinstance(code, dict):
            return False
        references = _references(code)
        return all(self._known(r, module, own, seen) for r in references) if references else "constant_value" in code

    def _known(self, reference: str, module: str, own: str, seen: frozenset[tuple[str, str]]) -> bool:
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

    def _module(self, path: str) -> dict[str, Any]:
        """The configuration of a module by its path without indexes."""
        found = self.root
        for name, _ in _CALL.findall(path):
            found = (found.get("module_calls") or {}).get(name, {}).get("module") or {}
        return found

    def _resource(self, module: str, own: str) -> dict[str, Any]:
        kind, _, name = own.partition(".")
        for resource in self._module(module).get("resources") or ():
            if (resource.get("type"), resource.get("name")) == (kind, name) and resource.get("mode") == "managed":
                return dict(resource)
        return {}


def _argument(code: Any, name: str) -> Any:
    """The expression of an argument or the list of its blocks; None if the plan does not say what is written."""
    return code.get(name, _NULL) if isinstance(code, dict) else None


def _is_a(address: str, wanted: tuple[str, ...]) -> bool:
    return any(f".{kind}." in f".{address}" for kind in wanted)


def _id(address: str, origin: Origin) -> Unknown:
    return Unknown(f"{address}.id is only known after apply", origin, Symbol(address, "id"))


def _references(expression: Any) -> list[str]:
    """The longest references of an expression: `a.b.id` stands for `a.b`, too."""
    if not isinstance(expression, dict):
        return []
    written = expression.get("references")
    references = [r for r in written if isinstance(r, str)] if isinstance(written, list) else []
    return [r for r in references if not any(o != r and o.startswith((f"{r}.", f"{r}[")) for o in references)]
