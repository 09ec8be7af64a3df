"""Go to definition: declarations of a name, and the places that set it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kcheck.addons.editor.hover import chosen_expression
from kcheck.addons.editor.object_links import of_yaml
from kcheck.addons.editor.values_at import MOST, code_of, name_span
from kcheck.terraform.filesystem import OutsideError
from kcheck.text.syntax.hcl import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.addons.editor.values_at import Code, Place
    from kcheck.terraform.module import Module
    from kcheck.text.text import Source, Span

_FILES = frozenset({
    "file", "filebase64", "filebase64sha256", "filebase64sha512", "fileexists", "filemd5", "filesha1", "filesha256",
    "filesha512", "templatefile",
})  # fmt: skip
"""Functions whose first argument is a file."""


def definition(snapshot: Snapshot, source: Source, offset: int) -> list[Span]:
    """List at most `MOST` places that declare or set the code at an offset."""
    code = code_of(snapshot)
    place = code.place(source, offset)
    found = _of_terraform(code, source, place) if place is not None else of_yaml(snapshot, source, offset)
    mine = [span for span in found if not (span.source.bundled or span.source.derived)]
    away = (span for span in dict.fromkeys(mine) if span.source is not source or not span.start <= offset < span.end)
    return list(islice(away, MOST))


def _of_terraform(code: Code, source: Source, place: Place) -> Iterator[Span]:
    modules = code.modules_of(source) or code.roots_of(source)
    if not place.path:
        yield from _of_name(code, modules, place)
        return
    chosen = chosen_expression(place)
    if isinstance(chosen, nodes.Literal):
        yield from _of_text(code, modules, place)
        return
    names = _names(chosen)
    for module in modules[:MOST]:
        yield from _of_reference(module, names, place)


def _names(expression: nodes.Expression) -> tuple[str, ...]:
    """Return a reference's names without indexes; empty for other expressions."""
    if isinstance(expression, nodes.Variable):
        return (expression.name,)
    if isinstance(expression, nodes.GetAttr):
        above = _names(expression.target)
        return (*above, expression.name) if above else ()
    return _names(expression.target) if isinstance(expression, nodes.Index | nodes.Splat) else ()


def _of_name(code: Code, modules: list[Module], place: Place) -> Iterator[Span]:
    """Yield the declaration of an argument, or the code that sets a variable."""
    top, attribute = place.top, place.attribute
    if attribute is None:
        if top is not None and top.type == "variable" and top.labels:
            for module in modules[:MOST]:
                yield from _setters(module, top.labels[0])
        elif top is not None and top.type == "module" and top.labels and len(place.blocks) == 1:
            yield from _folder(code, modules, top)
        return
    if top is None:
        for module in modules:
            yield from _of_block(module.configuration.variables.get(attribute.name))
    elif top.type == "module" and top.labels and len(place.blocks) == 1:
        for module in modules[:MOST]:
            for child in module.children(top.labels[0]):
                yield from _of_block(child.configuration.variables.get(attribute.name))


def _setters(module: Module, name: str) -> Iterator[Span]:
    """Yield the code that sets a variable, the value's own place first."""
    value = module.variable(name)
    origin = value.origin if value is not None else None
    block = module.configuration.variables.get(name)
    written = origin.written if origin is not None and origin.spans and origin.missing is None else None
    if written is not None and (block is None or not block.span.holds(written)):  # else it is the default
        yield written
    given = module.block.body.attributes.get(name) if module.block is not None else None
    if given is not None:
        yield name_span(given)


def _of_reference(module: Module, names: tuple[str, ...], place: Place) -> Iterator[Span]:
    own = module.configuration
    loop = _loop(names, place)
    if loop is not None:
        yield loop
        return
    match names:
        case ("var", name, *_):
            yield from _setters(module, name)
            yield from _of_block(own.variables.get(name))
        case ("local", name, *_) if name in own.locals:
            yield name_span(own.locals[name])
        case ("module", name, *rest) if name in own.calls:
            for child in module.children(name) if rest else ():
                yield from _of_block(child.configuration.outputs.get(rest[0]))
            yield own.calls[name].header
        case ("data", kind, name, *rest):
            yield from _of_block(own.data.get((kind, name)), rest)
        case ("each" | "count" as kind, *_):
            top = place.top
            entry = top.body.attributes.get("for_each" if kind == "each" else "count") if top is not None else None
            yield from (name_span(entry),) if entry is not None else ()
        case ("self", *rest):
            yield from _of_block(place.top, rest)
        case (kind, name, *rest):
            yield from _of_block(own.resources.get((kind, name)), rest)


def _loop(names: tuple[str, ...], place: Place) -> Span | None:
    for expression in reversed(place.path):
        if not isinstance(expression, nodes.For | nodes.TemplateFor):
            continue
        if names and names[0] in (expression.key, expression.name):
            return expression.collection.span
    return None


def _of_block(block: nodes.Block | None, rest: Sequence[str] = ()) -> Iterator[Span]:
    """Yield the referenced attribute, if the code sets it, and the block."""
    if block is None:
        return
    entry = block.body.attributes.get(rest[0]) if rest else None
    if entry is not None:
        yield name_span(entry)
    yield block.header


def _of_text(code: Code, modules: list[Module], place: Place) -> Iterator[Span]:
    """Yield the folder of a module's source, or the file that a function reads."""
    top, attribute, text = place.top, place.attribute, place.path[-1]
    if top is not None and top.type == "module" and attribute is not None and attribute.name == "source":
        yield from _folder(code, modules, top)
    call = place.path[-2] if len(place.path) > 1 else None
    if isinstance(call, nodes.Call) and call.name in _FILES and call.arguments[:1] == (text,):
        yield from _file(text, modules)


def _folder(code: Code, modules: list[Module], call: nodes.Block) -> Iterator[Span]:
    for module in modules[:MOST]:
        for child in module.children(call.labels[0]):
            folder = None if child.configuration.published else code.snapshot.tree.folder(child.configuration.folder)
            if folder is not None and folder.terraform:
                first = min(folder.terraform, key=lambda one: (not one.path.endswith("main.tf"), one.path))
                yield first.span(0, 0)


def _file(text: nodes.Expression, modules: list[Module]) -> Iterator[Span]:
    path = text.value if isinstance(text, nodes.Literal) else None
    for module in modules[:1]:
        try:
            source = module.files.source(str(path))
        except OutsideError:
            return
        if source is not None:
            yield source.span(0, 0)
