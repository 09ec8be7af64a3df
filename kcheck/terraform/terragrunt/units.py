"""Terragrunt units; those that depend on each other become one root module."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from kcheck.config.config import Environment
from kcheck.terraform.access import attribute
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.evaluator import evaluate, value_in
from kcheck.terraform.module import Module
from kcheck.terraform.roots import Loader
from kcheck.terraform.terragrunt import functions
from kcheck.terraform.terragrunt.config import STACK_FOLDER, Config, Repository, stack_configs
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.tree import STACK, UNIT, display_path
from kcheck.text.partly_known import members, string
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes, parse
from kcheck.text.text import Skipped, Source
from kcheck.text.values import Datum, Known, Unknown

_REGISTRY = regex(r"tfr://[^/]*/([^?]+)(?:\?version=(.*))?")
_SCHEME = regex(r"[a-z]+(::|://)|[\w.-]+@|[\w-]+\.[\w.-]+/")
"""Beginnings of sources that are not folders."""
_NAMED = 3


class Unit:
    """Folder with a `terragrunt.hcl` that runs a module."""

    def __init__(self, config: Config, source: str, version: str, written: nodes.Attribute | None) -> None:
        self.config = config
        self.folder = config.unit
        self.source = source
        self.version = version
        self.written = written
        self.place = written.span if written else config.body.span.source.span(0, 0)
        self.stack: Stack | None = None
        self.name = os.path.basename(config.unit)

    @property
    def is_folder(self) -> bool:
        """Whether its module is a folder of the repository."""
        return os.path.isabs(self.source)

    @cached_property
    def inputs(self) -> dict[str, Datum] | Unknown:
        """Inputs by name; Unknown if not even the names are known."""
        found = self.config.inputs
        return found if isinstance(found, Unknown) else members(found)

    @cached_property
    def is_read(self) -> bool:
        """Whether its module can be read."""
        alone = Module(Configuration(display_path(self.folder)), {}, self.config.host.loader)
        return isinstance(alone.host.child(alone, self.call(self.folder)), Configuration)

    def call(self, folder: str) -> nodes.Block:
        """Convert the unit to a module call in a root module at a folder."""
        entry = self.config.body.attributes.get("inputs")
        written = entry.expression if entry is not None else None
        span = written.span if isinstance(written, nodes.Object) else self.place
        source = f"./{os.path.relpath(self.source, folder)}" if self.is_folder else self.source
        block = nodes.Block("module", (self.name,), nodes.Body(span), span, self.place)
        place = self.written.value_span if self.written else self.place
        for name, text in {"source": source.replace(os.sep, "/"), "version": self.version}.items():
            if text:
                block.body.attributes[name] = _argument(name, nodes.Literal(place, text))
        return block


class Stack(Module):
    """Root module made of units that depend on each other, each as a module call."""

    def __init__(self, folder: str, units: list[Unit], host: Loader, environment: Environment) -> None:
        super().__init__(Configuration(display_path(folder)), {}, host, environment=environment.name)
        self._loader = host
        self._files = [host.variables.file(path) for path in environment.var_files]
        self._values: dict[str, Datum] = {}
        self._unbound = {unit.name: unit for unit in units}
        for unit in units:
            unit.stack = self
            call = self.configuration.calls[unit.name] = unit.call(folder)
            _provide(unit.config, unit.name, call, self.configuration.providers)
        for unit in units:
            self.bind(unit)

    def bind(self, unit: Unit) -> None:
        """Bind the inputs of a unit's call, after those of its dependencies."""
        if self._unbound.pop(unit.name, None) is None:
            return
        block = self.configuration.calls[unit.name]
        inputs = unit.inputs
        self._give(unit, block, {} if isinstance(inputs, Unknown) else inputs)
        found = self.host.child(self, block)
        if isinstance(found, str):
            return
        if isinstance(inputs, Unknown):
            self._give(unit, block, dict.fromkeys(found.variables, inputs))
        own = (self._loader.tree.source(path) for path in unit.config.variable_files())
        self._give(unit, block, self._loader.variables.values_for(found, [*filter(None, own), *self._files]))

    def _give(self, unit: Unit, block: nodes.Block, values: Mapping[str, Datum]) -> None:
        for name, value in values.items():
            full = f"{unit.name}/{name}"
            span = value.origin.written if value.origin and value.origin.spans else unit.place
            self._values[full] = value
            expression = nodes.GetAttr(span, nodes.Variable(span, "var"), full)
            block.body.attributes[name] = _argument(name, expression)

    def variable(self, name: str) -> Datum | None:
        """Return an input by its name `unit/input`."""
        return self._values.get(name)


class Terragrunt:
    """Terragrunt units of a tree."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.skipped: list[Skipped] = []
        top = system.real_path(loader.tree.repository(os.path.dirname(loader.tree.units[0]) or "."))
        self.repository = Repository(loader, top, functions.special, self.output)
        self.units: dict[str, Unit] = {}
        """Units by their folder."""
        paths = [system.real_path(path) for path in loader.tree.units]
        stacks = {path: list(self._made(path)) for path in paths if os.path.basename(path) == STACK}
        made = [unit for path, found in stacks.items() if path not in self.repository.included for unit in found]
        self.units |= {unit.folder: unit for unit in made}
        todo = [path for path in paths if path not in stacks]
        seen = set(todo)
        while todo:  # also what they depend on, wherever it is in the repository
            for unit in self._units(todo.pop()):
                self.units[unit.folder] = unit
                needed = {os.path.join(folder, UNIT) for folder in unit.config.dependencies.values()} - seen
                todo += needed
                seen |= needed
        self.units = {folder: self.units[folder] for folder in sorted(self.units)}
        for path in self.repository.included:
            if os.path.basename(path) == UNIT:
                self.units.pop(os.path.dirname(path), None)

    def _units(self, path: str) -> Iterator[Unit]:
        """Yield the unit of a file; none for templates of stacks and included files."""
        with suppress(EvaluationError):
            config = self.repository.config(path, os.path.dirname(path))
            if path in self.repository.included:
                return
            if config.needs_values():
                reason = "it is a template for stacks outside the repository, so its values are not known"
                self.skipped.append(Skipped(display_path(path), reason))
            else:
                yield from self._unit(config)

    def _made(self, path: str) -> Iterator[Unit]:
        """Yield the units of a stack; report unreadable ones in one line."""
        unread: list[nodes.Block] = []
        for config in stack_configs(self.repository, path, os.path.dirname(path), unread.append):
            yield from self._unit(config)
        if unread:
            place = unread[0].header
            labels = ["".join(block.labels[:1]) for block in unread]
            named = ", ".join(labels[:_NAMED]) + (", ..." if len(labels) > _NAMED else "")
            what = f"the source of {named} was not read; it may create clusters"
            remedy = (
                f"terragrunt stack generate, then kcheck check {display_path(os.path.dirname(path))}/{STACK_FOLDER}"
            )
            self.skipped.append(Skipped(place.source.path, what, place.begin.line, remedy))

    def _unit(self, config: Config) -> Iterator[Unit]:
        """Yield the unit of a config; none without a module or with `skip = true`."""
        skipped = value_in(config.body, "skip", config.scope)
        if isinstance(skipped, Known) and skipped.value is True:
            return
        self.repository.included |= {found.path for found, _ in config.includes.values()}
        source = config.source()
        if source is None:
            folder = self.loader.tree.folder(config.unit)
            if folder is not None and folder.terraform:
                yield Unit(config, config.unit, "", None)
            return
        entry, value = source
        if (written := string(value)) is not None:
            registered = _REGISTRY.fullmatch(written)
            if registered is not None:
                yield Unit(config, registered[1], registered[2] or "", entry)
            else:
                yield Unit(config, self._folder(config, written), "", entry)
            return
        reason = value.reason if isinstance(value, Unknown) else "it is not a string"
        line = entry.span.begin.line
        self.skipped.append(
            Skipped(entry.span.source.path, f"the module of {display_path(config.unit)} is not known: {reason}", line)
        )

    def _folder(self, config: Config, source: str) -> str:
        """Convert a source to a folder path if it is in the repository."""
        if "\0" in source or (_SCHEME.match(source) and not source.startswith("file://")):
            return source
        path = os.path.normpath(os.path.join(config.unit, source.removeprefix("file://").replace("//", "/")))
        return path if contains_path(self.repository.top, path) else source

    def stacks(self, environments: Mapping[str, list[Environment]]) -> Iterator[Stack]:
        """Yield groups of dependent units as root modules."""
        for units in self._joined():
            folder = os.path.commonpath([unit.folder for unit in units])
            for unit in units:
                path = os.path.relpath(unit.folder, folder)
                unit.name = re.sub(r"[^\w-]+", "-", os.path.basename(folder) if path == "." else path)
            for environment in environments.get(folder, ()) or [Environment(folder)]:
                yield Stack(folder, units, self.loader, environment)

    def _joined(self) -> list[list[Unit]]:
        groups = {folder: [unit] for folder, unit in self.units.items()}
        for folder, unit in self.units.items():
            for other in unit.config.dependencies.values():
                needed = self.units.get(other)
                if needed is not None and groups[other] is not groups[folder] and needed.is_read:
                    groups[folder] += groups[other]
                    for one in groups[other]:
                        groups[one.folder] = groups[folder]
        return list({id(group): group for group in groups.values()}.values())

    def output(self, folder: str, name: str, label: str) -> Datum:
        """Evaluate an output of the unit in a folder; `label` is its name in the code.

        Raises EvaluationError if its module has no such output.
        """
        unit = self.units.get(folder)
        if unit is None:
            return Unknown(f"{label} is not known: there is no unit in {display_path(folder)}")
        if unit.stack is None or not unit.is_read:
            return Unknown(f"{label} is only known after apply of {display_path(folder)}")
        unit.stack.bind(unit)
        return attribute(unit.stack.call(unit.name), name)


_MOST_BYTES = 100_000
"""Maximum characters of a generated file that is read: those with providers are short."""


def _provide(config: Config, name: str, call: nodes.Block, providers: list[nodes.Block]) -> None:
    """Add a unit's providers to its root module and pass them to its call."""
    entries: list[tuple[nodes.Expression, nodes.Expression]] = []
    for block in _blocks(config):
        written, kind, place = block.body.literal("alias"), "".join(block.labels[:1]), block.header
        own = f".{written.value}" if written is not None else ""
        alias = _argument("alias", nodes.Literal(place, f"{name}{own}"))
        body = nodes.Body(block.body.span, block.body.attributes | {"alias": alias}, block.body.blocks)
        providers.append(nodes.Block("provider", block.labels, body, block.span, place))
        entries.append((nodes.Literal(place, f"{kind}{own}"), nodes.Literal(place, f"{kind}.{name}{own}")))
    if entries:
        call.body.attributes["providers"] = _argument("providers", nodes.Object(call.header, tuple(entries)))


def _argument(name: str, value: nodes.Expression) -> nodes.Attribute:
    return nodes.Attribute(name, value.span, value.span, lambda: value)


def _blocks(config: Config) -> Iterator[nodes.Block]:
    """Yield the provider blocks of generated files, the strongest per label."""
    seen = set()
    for one, block in config.blocks("generate"):
        label = "".join(block.labels[:1])
        entry = block.body.attributes.get("contents")
        if label in seen or entry is None:
            continue
        seen.add(label)
        text = _text(evaluate(entry.expression, one.scope))
        if "provider" in text and len(text) <= _MOST_BYTES:
            at, data = entry.value_span, text.encode("utf-8", "surrogatepass")
            source = Source(at.source.path, b"\n" * at.begin.line + data, derived=True)
            yield from parse.parse(source).body.all("provider")


def _text(contents: Datum) -> str:
    """Return the contents of a generated file; empty if unknown."""
    if isinstance(contents, Known):
        return contents.value if isinstance(contents.value, str) else ""
    symbol = contents.symbol
    return symbol.address.strip('"') if symbol is not None and symbol.attribute == "text" else ""
