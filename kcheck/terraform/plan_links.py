"""References in the code of a plan, for values known only after apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from kcheck.text.regex import regex
from kcheck.text.values import Datum, Known, Origin, Symbol, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from kcheck.text.text import Span

_IDS = ("id", "self_link", "arn")
_CALL = regex(r"module\.([\w-]+)(\[[^\]]*\])?")
_INDEX = regex(r"\[[^\]]*\]")
Json: TypeAlias = dict[str, object]
_Seen: TypeAlias = frozenset[tuple[str, str]]
_T = TypeVar("_T")
_NULL: Json = {"constant_value": None}
"""Expression of an argument that is not set."""


def without_indexes(address: str) -> str:
    """Strip indexes from an address: `module.a[0]` becomes `module.a`."""
    return _INDEX.sub("", address)


def part(whole: Json, name: str, kind: type[_T]) -> _T:
    """Return a member of an object, empty if absent; raise ValueError for another type."""
    found = whole.get(name)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        raise ValueError(f"`{name}` is of a kind that Terraform does not write")
    return found


class Links:
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
        self.addresses.setdefault((without_indexes(module), own), []).append((address, resource.get("index")))
        for name in _IDS:
            if isinstance(values.get(name), str) and values[name]:
                self.ids[values[name]] = address

    def target(self, name: str, value: Datum | None, own: str, module: str, index: object, place: Span) -> Datum | None:
        """Resolve the id that an attribute refers to, known after apply; None if unclear."""
        wanted = self.targets.get(name)
        if wanted is None:
            return None
        if value is not None:
            address = self.ids.get(value.value) if isinstance(value, Known) and isinstance(value.value, str) else None
            return _id(address, value.origin or Origin((place,))) if address and _is_a(address, wanted) else None
        path = without_indexes(module)
        resource = self._resource(path, own)
        references = references_of(part(resource, "expressions", dict).get(name))
        direct = [r for r in references if not r.startswith("each.")]
        found = self._resolved(direct, path, index, wanted, frozenset())
        if len(direct) < len(references):  # each group may choose some of them: the plan does not say which
            chosen = self._resolved(
                references_of(resource.get("for_each_expression")), path, index, wanted, frozenset()
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
            return self._resolved(references_of(expression), place, None, wanted, seen)
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
        """Whether an expression is known before apply, so that a planned unknown is null.

        Locals are not in a plan, so expressions that refer to one are not settled.
        """
        if not isinstance(code, dict):
            return False
        references = references_of(code)
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


def argument(code: object, name: str) -> object:
    """Return an argument's expression, or its blocks; None if not in the plan."""
    return code.get(name, _NULL) if isinstance(code, dict) else None


def _is_a(address: str, wanted: tuple[str, ...]) -> bool:
    return any(f".{kind}." in f".{address}" for kind in wanted)


def _id(address: str, origin: Origin) -> Unknown:
    return Unknown(f"{address}.id is only known after apply", origin, Symbol(address, "id"))


def references_of(expression: object) -> list[str]:
    """List the longest references of an expression: `a.b.id` includes `a.b`."""
    if not isinstance(expression, dict):
        return []
    written = expression.get("references")
    references = [r for r in written if isinstance(r, str)] if isinstance(written, list) else []
    return [r for r in references if not any(o != r and o.startswith((f"{r}.", f"{r}[")) for o in references)]
