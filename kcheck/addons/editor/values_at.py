"""Terraform values at a place, one per module, block instance and loop iteration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from kcheck.addons.editor.snapshot import Snapshot
from kcheck.terraform.budget import Budget, BudgetError
from kcheck.terraform.evaluator import evaluate, rounds, value_of
from kcheck.terraform.module import Module
from kcheck.terraform.partial_collections import entries_of
from kcheck.terraform.resource import BlockRecord, expand, instances_in, iterator_name
from kcheck.terraform.roots import Loader
from kcheck.terraform.scope import Scope
from kcheck.text.files import system
from kcheck.text.files.tree import HCL, TERRAFORM, VARIABLES
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import names, nodes
from kcheck.text.syntax.hcl.names import Outline, inner
from kcheck.text.text import Source, Span, grouped
from kcheck.text.values import Known, Secret, Unknown, Value, known

MOST = 24
"""Values computed per expression: block instances, loop iterations, callers of the module."""

NOT_MADE = "not made: count is 0, or for_each is empty"
_OUTSIDE = frozenset({"count", "for_each", "provider", "providers", "depends_on", "source", "version"})
"""Arguments of a block that are not evaluated per instance."""
_COPIED = ("resource", "data", "module")
UNVALUED = frozenset({
    "description", "type", "depends_on", "providers", "provider", "ignore_changes", "replace_triggered_by",
    "error_message", "source", "version", "required_version",
})  # fmt: skip
"""Arguments about the code itself, whose values are not shown."""


class Place(NamedTuple):
    """Code at an offset: enclosing blocks and expressions, outermost first.

    Without `path` it is the name of `attribute`; without that, the header of the innermost block.
    """

    blocks: tuple[nodes.Block, ...]
    attribute: nodes.Attribute | None = None
    path: tuple[nodes.Expression, ...] = ()

    def upto(self, expression: nodes.Expression) -> Place:
        """Shorten the path to end at an expression."""
        at = next(i for i, one in enumerate(self.path) if one is expression)
        return self._replace(path=self.path[: at + 1])

    @property
    def top(self) -> nodes.Block | None:
        """Outermost block."""
        return self.blocks[0] if self.blocks else None


class Evaluated(NamedTuple):
    """A value with its module, block instance and loop iteration."""

    where: str
    value: Value[object]
    module: Module | None


class Code:
    """Terraform code of a snapshot, looked up by place."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._records: dict[tuple[int, int], list[BlockRecord]] = {}

    # --- files and modules

    @cached_property
    def modules(self) -> list[Module]:
        """Modules whose code is in the tree, roots first."""
        every = (module for root in self.snapshot.reading.roots for module in root.all())
        return [module for module in every if not module.configuration.published]

    @cached_property
    def _by_folder(self) -> dict[str, list[Module]]:
        found: dict[str, list[Module]] = {}
        for folder, own in grouped(self.modules, lambda module: module.configuration.folder).items():
            found.setdefault(system.real_path(folder), []).extend(own)
        return found

    @cached_property
    def _loader(self) -> Loader | None:
        hosts = (root.host for root in self.snapshot.reading.roots)
        return next((host for host in hosts if isinstance(host, Loader)), None)

    def modules_of(self, source: Source) -> list[Module]:
        """List the modules a Terraform file is part of, one per call."""
        if not source.path.endswith(TERRAFORM):
            return []
        folder = os.path.dirname(self.snapshot.real_path(source))
        if folder not in self._by_folder:
            self._by_folder[folder] = [own] if (own := self._alone(source)) is not None else []
        return self._by_folder[folder]

    def _alone(self, source: Source) -> Module | None:
        """Return the module of a file that no code calls, with default variables."""
        folder = self.snapshot.tree.folder(os.path.dirname(source.path) or ".")
        if self._loader is None or folder is None or source not in folder.terraform:
            return None
        configuration = self._loader.configuration(folder)
        return Module(configuration, self._loader.variables.values_for(configuration), self._loader)

    def roots_of(self, variables: Source) -> list[Module]:
        """List the root modules that get values from a tfvars file."""
        return [root for root in self.snapshot.reading.roots if variables in _sources(root)]

    def outline(self, source: Source) -> Outline | None:
        """Return the outline of a Terraform or tfvars file; None for other files."""
        is_hcl = source.path.endswith((*HCL, *TERRAFORM, *VARIABLES)) and not source.path.endswith(".tfvars.json")
        return names.of(source) if self._loader is not None and is_hcl else None

    def place(self, source: Source, offset: int) -> Place | None:
        """Find the code at an offset; None outside of attributes."""
        outline = self.outline(source)
        if outline is None:
            return None
        blocks: list[nodes.Block] = []
        body = outline.body
        while True:
            part = outline.part(body, offset)
            if part is None or not part.span.start <= offset < part.span.end:
                return None
            if isinstance(part, nodes.Attribute):
                return Place(tuple(blocks), part, tuple(_path(part, offset)))
            blocks.append(part)
            if offset < part.body.span.start:
                return Place(tuple(blocks))
            body = part.body

    @cached_property
    def secret_lines(self) -> set[tuple[Source, int]]:
        """Lines that have the value of a sensitive variable."""
        found: set[tuple[Source, int]] = set()
        for module in self.modules:
            for name, block in module.configuration.variables.items():
                value = module.variable(name) if "sensitive" in block.body.attributes else None
                if isinstance(value, Secret) and value.origin is not None:
                    found |= {(span.source, span.begin.line) for span in value.origin.spans}
        return found

    # --- values

    def values(self, place: Place, source: Source) -> list[Evaluated]:
        """List at most `MOST` values of the expression or attribute at a place."""
        return list(islice(self._values(place, source), MOST))

    def _values(self, place: Place, source: Source) -> Iterator[Evaluated]:
        attribute = place.attribute
        if attribute is None:
            return
        wanted = place.path[-1] if place.path else attribute.expression
        if source.path.endswith(VARIABLES):
            for root in self.roots_of(source):
                yield Evaluated(_name(root), evaluate(wanted, Scope({})), root)
            return
        for module in self.modules_of(source):
            for record in self.records(module, place):
                for label, scope in _loops(place.path, _afresh(record.scope)):
                    where = ", ".join(filter(None, (_name(module, record), label)))
                    yield Evaluated(where, evaluate(wanted, scope), module)

    def is_left_out(self, place: Place, source: Source) -> bool:
        """Whether `count` or `for_each` creates no instance of the block around a place."""
        top, modules = place.top, self.modules_of(source)
        if top is None or top.type not in _COPIED or not {"count", "for_each"} & top.body.attributes.keys():
            return False
        return bool(modules) and not any(self.instances(module, top) for module in modules)

    def records(self, module: Module, place: Place) -> Iterator[BlockRecord]:
        """Yield the instances of the innermost block around a place, in one module."""
        if place.top is None:
            return
        outside = len(place.blocks) == 1 and place.attribute is not None and place.attribute.name in _OUTSIDE
        if outside or place.top.type not in _COPIED:
            made = [BlockRecord(place.top, module.scope)]
        else:
            made = self.instances(module, place.top) or [_unmade(place.top, module)]
        for own in made:
            yield from _nested(own, place.blocks[1:])

    def instances(self, module: Module, block: nodes.Block) -> list[BlockRecord]:
        """List the instances of a resource, data source or module call."""
        key = (id(module), id(block))
        if key not in self._records:
            scope = _afresh(module.scope)
            name = ".".join((*(() if block.type == "resource" else (block.type,)), *block.labels))
            self._records[key] = list(instances_in(expand(block, module.address_of(name), scope)))
        return self._records[key]


def _unmade(block: nodes.Block, module: Module) -> BlockRecord:
    """Return a record for a block without instances."""
    nothing = Unknown(NOT_MADE)
    return BlockRecord(block, module.scope.with_names(None, each=nothing, count=nothing))


def _sources(root: Module) -> set[Source]:
    values = root.inputs.values() if isinstance(root.inputs, dict) else ()
    return {one.origin.written.source for one in values if one.origin is not None and one.origin.spans}


def _afresh(scope: Scope) -> Scope:
    """Copy a scope with its own budget, apart from the check's."""
    own = Scope({}, scope)
    own.budget = Budget()
    return own


def _path(attribute: nodes.Attribute, offset: int) -> Iterator[nodes.Expression]:
    """Yield the expressions that contain an offset, outermost first."""
    span = attribute.value_span
    if not span.start <= offset < span.end:
        return
    found: nodes.Expression | None = attribute.expression
    here = span.source.span(offset, offset + 1)
    while found is not None and found.span.start <= offset < found.span.end:
        yield found
        found = None if isinstance(found, nodes.Splat) and offset >= found.target.span.end else inner(found, here)


def _name(module: Module, record: BlockRecord | None = None) -> str:
    address = record.address if record is not None and record.address else module.address
    return ": ".join(filter(None, (module.root.environment, address)))


def _nested(record: BlockRecord, rest: tuple[nodes.Block, ...]) -> Iterator[BlockRecord]:
    if not rest:
        yield record
        return
    first, *others = rest
    if first.type != "dynamic" or not others or not first.labels:
        yield from _nested(BlockRecord(first, record.scope, record.address), tuple(others))
        return
    content, kind = others[0], first.labels[0]
    made = record.blocks(kind)
    copies = known(made) or ()
    own = [one for one in copies if isinstance(one, BlockRecord) and one.block.span == content.span]
    if not own:
        why = made.reason if isinstance(made, Unknown) else f"{kind} is made for no element"
        own = [BlockRecord(content, record.scope.with_names(**{iterator_name(first, kind): Unknown(why)}))]
    for one in own:
        one.address = one.address or record.address
        yield from _nested(one, tuple(others[1:]))


def _loops(path: tuple[nodes.Expression, ...], scope: Scope) -> Iterator[tuple[str, Scope]]:
    """Yield a label and scope per iteration of the loops around an expression."""
    for at, (outer, inside) in enumerate(pairwise(path)):
        if not isinstance(outer, nodes.For | nodes.TemplateFor) or inside is outer.collection:
            continue
        for label, own in _rounds(outer, scope):
            for more, innermost in _loops(path[at + 1 :], own):
                yield ", ".join(filter(None, (label, more))), innermost
        return
    yield "", scope


def _rounds(loop: nodes.For | nodes.TemplateFor, scope: Scope) -> Iterator[tuple[str, Scope]]:
    try:
        if isinstance(loop, nodes.For):
            found = (own for own, _ in rounds(loop, scope))
        else:
            entries = entries_of(value_of(loop.collection, scope))
            found = (
                scope.with_names(None, **{loop.name: one.item, **({loop.key: one.key} if loop.key else {})})
                for one in entries
            )
        for own in islice(found, MOST):
            key = own.names.get(loop.key or loop.name)
            plain = key.value if isinstance(key, Known) else None
            yield f"{loop.key or loop.name} = {plain}" if isinstance(plain, str | int) else "", own
    except (EvaluationError, BudgetError, RecursionError):
        return


def code_of(snapshot: Snapshot) -> Code:
    """Return the code of a snapshot, created once."""
    return snapshot.once(Code)


def name_span(attribute: nodes.Attribute) -> Span:
    """Return the place of an attribute's name."""
    span = attribute.span
    return span.source.span(span.start, min(span.end, span.start + len(attribute.name.encode())))
