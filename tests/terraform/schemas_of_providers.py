"""Compare Terraform with the attributes and blocks listed in tests/schemas: unknown names, and missing ones."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from tests.places import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.text.text import Span

SCHEMAS = TESTS / "schemas"
KINDS = {"resource": "resources", "data": "data"}
META = {
    "resource": frozenset({"count", "for_each", "depends_on", "provider", "lifecycle", "connection", "provisioner"}),
    "data": frozenset({"count", "for_each", "depends_on", "provider", "lifecycle"}),
    "module": frozenset({"count", "for_each", "depends_on", "providers", "source", "version"}),
    "provider": frozenset({"alias", "version"}),
}

Listed = dict[str, Any]
Told = tuple["Span", str]
NONE: frozenset[str] = frozenset()


class Ask(Protocol):
    """A check of one body against the lists: for unknown names, or for missing ones."""

    def __call__(self, body: nodes.Body, listed: Listed, path: str, meta: frozenset[str] = NONE) -> Iterator[Told]: ...


def unknown(text: str) -> list[str]:
    """Return the names in resources, data sources, module calls and providers that no schema has."""
    return _told(text, _strange)


def missing(text: str) -> list[str]:
    """Return the required names that are missing, as `LINE: what`, in order."""
    return _told(text, _lacking)


@cache
def provider(name: str) -> Listed | None:
    """Return the listed names of a provider; None if it has no list."""
    path = SCHEMAS / "providers" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


@cache
def modules() -> Listed:
    """Return the inputs of modules, by source."""
    found: Listed = json.loads((SCHEMAS / "modules.json").read_text())["modules"]
    return found


def _told(text: str, ask: Ask) -> list[str]:
    file = parse(Source("main.tf", text.encode()))
    found = [(problem.span, problem.message) for problem in file.problems]
    for block in file.body.blocks:
        if block.type == "provider" or block.type in KINDS or block.type == "module":
            name = block.labels[0] if block.labels else ""
            listed = _listed(block)
            if listed is not None:
                found += ask(block.body, listed, name, META[block.type])
            elif not _is_local(block) and ask is _strange:
                found.append((block.header, f'{block.type} "{name}" is not listed'))
    return [f"{span.begin.line}: {what}" for span, what in sorted(found, key=lambda item: item[0].start)]


def _source(block: nodes.Block) -> str:
    entry = block.body.attributes.get("source")
    value = entry.expression.value if entry and isinstance(entry.expression, nodes.Literal) else ""
    return str(value)


def _is_local(block: nodes.Block) -> bool:
    return block.type == "module" and _source(block).startswith((".", "/"))


def _listed(block: nodes.Block) -> Listed | None:
    """Return the listed names for a block; None if its type is not listed."""
    if block.type == "module":
        found = modules().get(_source(block))
        return found["inputs"] if found else None
    name = block.labels[0] if block.labels else ""
    own = provider(name.partition("_")[0])
    if own is None or block.type == "provider":
        return own["configuration"] if own else None
    listed: Listed | None = own[KINDS[block.type]].get(name)
    return listed


def _blocks(body: nodes.Body) -> Iterator[tuple[str, Span, nodes.Body]]:
    """Yield the nested blocks of a body; a dynamic block counts as its content."""
    for block in body.blocks:
        if block.type != "dynamic":
            yield block.type, block.header, block.body
        else:
            yield from ((block.labels[0], block.header, content.body) for content in block.body.all("content"))


def _strange(body: nodes.Body, listed: Listed, path: str, meta: frozenset[str] = NONE) -> Iterator[Told]:
    attributes = listed.get("attributes", "").split()
    values, nested = _values(listed), _nested(listed)
    for name, entry in body.attributes.items():
        if name in attributes or name in meta:
            continue
        if name in values:
            yield from _objects(_strange, entry.expression, *values[name], f"{path}.{name}")
        elif name in nested:
            yield entry.span, f"{path}: `{name}` is a block, not an attribute"
        else:
            yield entry.span, f"{path}: no attribute `{name}`"
    for name, span, inner in _blocks(body):
        if name in nested:
            yield from _strange(inner, nested[name], f"{path}.{name}")
        elif name in attributes or name in values:
            yield span, f"{path}: `{name}` is an attribute, not a block"
        elif name not in meta:
            yield span, f"{path}: no block `{name}`"


def _lacking(body: nodes.Body, listed: Listed, path: str, meta: frozenset[str] = NONE) -> Iterator[Told]:
    inner, values, nested = list(_blocks(body)), _values(listed), _nested(listed)
    given = body.attributes.keys() | {name for name, _, _ in inner} | meta
    yield from (
        (body.span, f"{path}: `{name}` is required") for name in listed.get("required", "").split() if name not in given
    )
    for name, _, own in inner:
        if name in nested:
            yield from _lacking(own, nested[name], f"{path}.{name}")
    for name, entry in body.attributes.items():
        if name in values:
            yield from _objects(_lacking, entry.expression, *values[name], f"{path}.{name}")


def _nested(listed: Listed) -> dict[str, Listed]:
    """Return the names that can be written as blocks."""
    return {**listed.get("blocks", {}), **listed.get("either", {})}


def _values(listed: Listed) -> dict[str, tuple[Listed, bool]]:
    """Return the names that are written as objects, and whether as a map of objects."""
    forms = ("objects", "either", "maps")
    return {name: (inner, form == "maps") for form in forms for name, inner in listed.get(form, {}).items()}


def _objects(ask: Ask, value: nodes.Expression, listed: Listed, is_map: bool, path: str) -> Iterator[Told]:
    """Yield what the check finds in the objects written in an expression."""
    if isinstance(value, nodes.Object) and is_map:
        for _, item in value.entries:
            yield from _objects(ask, item, listed, False, path)
    elif isinstance(value, nodes.Object):
        yield from ask(_body(value), listed, path)
    elif is_map or ask is not _lacking or not isinstance(value, nodes.Call):  # one object out of parts has each once
        for part, is_item in _parts(value):
            yield from _objects(ask, part, listed, is_map and not is_item, path)


def _parts(value: nodes.Expression) -> Iterator[tuple[nodes.Expression, bool]]:
    """Yield the parts of an expression that give its objects, and whether each is a map value."""
    if isinstance(value, nodes.Tuple):
        yield from ((item, False) for item in value.items)
    elif isinstance(value, nodes.Conditional):
        yield from ((value.yes, False), (value.no, False))
    elif isinstance(value, nodes.For):
        yield value.value, value.result_key is not None
    elif isinstance(value, nodes.Call) and value.name in ("merge", "concat", "tolist", "toset", "tomap", "flatten"):
        yield from ((item, False) for item in value.arguments)


def _body(value: nodes.Object) -> nodes.Body:
    """Return an object as the body of a block, without its computed keys."""
    entries = {
        str(key.value): nodes.Attribute(str(key.value), key.span, item.span, partial(_itself, item))
        for key, item in value.entries
        if isinstance(key, nodes.Literal)
    }
    return nodes.Body(value.span, entries)


def _itself(value: nodes.Expression) -> nodes.Expression:
    return value
