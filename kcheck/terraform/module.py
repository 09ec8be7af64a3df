"""Module: one folder's files with variables bound, evaluated lazily."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from typing import Protocol

from kcheck.terraform.budget import NESTED, Budget, BudgetError
from kcheck.terraform.configuration import CALL_ARGUMENTS, Configuration
from kcheck.terraform.evaluator import evaluate, value_in
from kcheck.terraform.filesystem import Files, rendered_data_source, special
from kcheck.terraform.resource import Instance, echo, expand, instances_in, map_instances, parts_of
from kcheck.terraform.scope import Names, Scope, unchosen_workspace
from kcheck.terraform.types import absent, convert_to
from kcheck.text import placeholders
from kcheck.text.files import system
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Problem
from kcheck.text.values import Answer, Datum, Known, Missing, Origin, Partial, Symbol, Unknown, concealed, known


class Inputs(Protocol):
    """Values that the variables of a module get from outside."""

    def get(self, name: str, /) -> Datum | None:
        """Return the value of a variable; None if not set."""


REMOTE_STATE = "terraform_remote_state"
"""Data source of the outputs of another root."""


class Host(Protocol):
    """Loads folders and files for modules."""

    def child(self, module: Module, block: nodes.Block) -> Configuration | str:
        """Load the configuration of a called module, or return why it is unknown."""

    def files(self, folder: str) -> Files:
        """Return the files that functions may read, by paths relative to a folder."""

    def locked(self, folder: str) -> dict[str, str]:
        """Return the provider versions locked in the folder of a root module."""


_IN_CLUSTERS = (("kubernetes",), ("helm",), ("kubectl",))
"""Providers of what is in a cluster, which modules that make one configure, too."""


class Module:
    """One folder with its inputs: the root, or a call of a module.

    `address` is empty for a root, `module.network` for a call. `inputs` gives the values of variables set from
    outside: tfvars for a root, the call's arguments for a child. `caller` is the calling module, `block` its call.
    `environment` names the variables a root is bound with, `workspace` is its `terraform.workspace`. `doubt` says why
    the module may not exist, or why one stands for several.
    """

    def __init__(
        self,
        configuration: Configuration,
        inputs: Inputs,
        host: Host,
        *,
        address: str = "",
        caller: Module | None = None,
        block: nodes.Block | None = None,
        environment: str = "",
        workspace: Datum | None = None,
        doubt: str = "",
    ) -> None:
        self.configuration = configuration
        self.inputs = inputs
        self.address = address
        self.caller = caller
        self.root: Module = caller.root if caller else self
        self.depth: int = caller.depth + 1 if caller else 0
        self.block = block
        self.environment = environment
        self.workspace = workspace
        self.doubt = doubt
        self.problems: list[Problem] = []
        self.host = host
        self._kinds: set[str] | None = None
        self.joined: list[Module] = []
        """Other roots that are parts of this one, as it reads their states or they its."""
        self.state_of: Callable[[Instance], Module | None] = lambda _: None
        self.scope = _ModuleScope(self)

    @property
    def is_library(self) -> bool:
        """Whether a root looks like a library module."""
        own = self.configuration
        clouds = [one for one in own.providers if one.labels[:1] not in _IN_CLUSTERS]
        return not clouds and isinstance(self.inputs, dict) and not self.inputs and bool(own.needed)

    @property
    def budget(self) -> Budget:
        """Remaining budget of its root."""
        return self.scope.budget

    @property
    def files(self) -> Files:
        """Files that its functions may read, by paths relative to the root's folder."""
        return self.root.host.files(self.root.configuration.folder)

    def address_of(self, name: str) -> str:
        """Return the full address of a name in this module."""
        return f"{self.address}.{name}" if self.address else name

    # --- names

    def variable(self, name: str) -> Datum | None:
        """Evaluate `var.name`; None if not declared."""
        block = self.configuration.variables.get(name)
        if block is None:
            return self._lost(f"var.{name}")
        entries = block.body.attributes
        given = self.inputs.get(name)
        null = isinstance(given, Known) and given.value is None
        if given is None or (null and _says(block, "nullable", value=False)):
            if "default" not in entries:
                if self.configuration.unread:
                    return Unknown(self.configuration.unread, Origin((self.scope.place,)) if self.scope.place else None)
                reason = f"var.{self.address_of(name)} has no value"
                return Unknown(reason, Origin((block.header,)))
            other = self.configuration.defaults.get(name)
            default = evaluate(entries["default"].expression, self.scope) if other is None else other
            if given is not None and given.origin:
                default = absent(default, given.origin)
            elif self.configuration.published and self.block is not None:
                default = absent(default, self._default_origin(self.block, name))
            given = default
        if "type" in entries:
            try:
                self.scope.budget.compare(given, given)
                given = self.scope.budget.hold(convert_to(given, entries["type"].expression, self.scope.budget))
            except EvaluationError as error:
                missing = placeholders.of_number(str(known(given)))
                return Unknown(placeholders.reason(missing) if missing else f"var.{name}: {error}", given.origin)
            except BudgetError as error:
                return self.scope.budget.refuse(error, Origin((block.header,)))
        if _says(block, "sensitive", value=True):
            full = f"var.{self.address_of(name)}"
            return concealed(given, f"{full} is sensitive", Symbol(full, ""))
        return given

    def _default_origin(self, call: nodes.Block, name: str) -> Origin:
        """Return where a value would be written in the user's call."""
        fixed = call.header.source.bundled or name in self.configuration.lacks
        return Origin(
            (self.scope.place or call.header,), missing=None if fixed else Missing(call.span, (*call.below, name))
        )

    def local(self, name: str) -> Datum | None:
        """Evaluate `local.name`; None if not declared."""
        entry = self.configuration.locals.get(name)
        if entry is None:
            return self._lost(f"local.{name}")
        return self.scope.checked(evaluate(entry.expression, self.scope), f"local.{name}", entry.span)

    def _lost(self, name: str) -> Datum | None:
        if self.configuration.skeleton and self.block is not None and name.startswith("output."):
            name = name.removeprefix("output.")
            reason = f"{self.address}.{name} is only known after apply"
            return Unknown(reason, Origin((self.block.header,)), Symbol(self.address, name))
        if self.configuration.gap:
            return Unknown(f"{name} is declared nowhere, but {self.configuration.gap}")
        return None

    def resource(self, kind: str, name: str) -> Datum | None:
        """Evaluate a resource; None if not declared."""
        block = self.configuration.resources.get((kind, name))
        if block is None:
            return self._lost(f"{kind}.{name}")
        return expand(block, self.address_of(f"{kind}.{name}"), self.scope)

    def data(self, kind: str) -> Datum:
        """Return `data.kind`: identities are known, the cloud's answers are not."""

        def find(name: str) -> Datum | None:
            block = self.configuration.data.get((kind, name))
            if block is None:
                return self._lost(f"data.{kind}.{name}")
            address = self.address_of(f"data.{kind}.{name}")
            asker = f"{self.address} reads its {kind} from the cloud" if self.configuration.skeleton else ""
            answer = partial(self._answer, asker or f"{address} is read from the cloud")
            return map_instances(expand(block, address, self.scope), answer)

        return Known(Names(find, f"data.{kind}"), Origin(()))

    # --- instances and calls

    def instances(self, kind: str) -> Iterator[Instance]:
        """Yield all instances of one resource type, including called modules."""
        names = self.scope.namespace(kind)
        for found_kind, name in self.configuration.resources:
            if found_kind == kind:
                yield from instances_in(names.attribute(name))
        for module in self.parts():
            if kind in module.kinds():
                yield from module.instances(kind)

    def parts(self) -> Iterator[Module]:
        """Yield the modules that its calls create, and the roots merged into it."""
        for call in self.configuration.calls:
            yield from self.children(call)
        yield from self.joined

    def _answer(self, reason: str, instance: Instance) -> Datum:
        """Return a data source's result: its identity, query arguments and rendered text."""
        place = Origin((instance.block.header,))
        return Answer(reason, place, Symbol(instance.address, ""), echo=partial(self._echo, instance))

    def _echo(self, instance: Instance, name: str) -> Datum | None:
        if name == "outputs" and (state := self.root.state_of(instance)) is not None:
            why = f"{instance.address}.outputs has no such output of {state.configuration.folder}"
            return Known(Names(lambda one: state.output(one) or Unknown(why), instance.address), Origin(()))
        if name == "rendered":
            return rendered_data_source(instance.block.labels[0], instance, self.files)
        return echo(instance, name)

    def sources(self, kind: str) -> Iterator[tuple[str, Instance]]:
        """Yield data sources of one type by address, including called modules."""
        for module in self.all():
            for (found_kind, name), block in module.configuration.data.items():
                if found_kind == kind:
                    for instance in instances_in(expand(block, module.address_of(f"data.{kind}.{name}"), module.scope)):
                        yield instance.address, instance

    def kinds(self) -> set[str]:
        """List the types of all resources, including called modules."""
        if self._kinds is None:
            self._kinds = {kind for kind, _ in self.configuration.resources}
            for call in self.configuration.calls:
                for module in self.children(call):
                    self._kinds |= module.kinds()
        return self._kinds.union(*(one.kinds() for one in self.joined)) if self.joined else self._kinds

    def children(self, name: str) -> Iterator[Module]:
        """Yield the modules that a call creates."""
        yield from _modules(self.call(name))

    def call(self, name: str) -> Datum:
        """Evaluate `module.name`, once. Raises UncaughtError if there is no such call."""
        return self.scope.namespace("module").attribute(name)

    def expand_call(self, name: str) -> Datum | None:
        """Create the modules of a call; None if not declared."""
        block = self.configuration.calls.get(name)
        if block is None:
            return self._lost(f"module.{name}")
        address = self.address_of(f"module.{name}")
        origin = Origin((block.header,))
        if self.depth >= NESTED:
            error = BudgetError(f"modules are nested more than {NESTED} deep")
            return self.scope.budget.refuse(error, origin)
        found = self.host.child(self, block)
        if isinstance(found, str):
            return Unknown(f"{address}: {found}", origin, Symbol(address, ""))

        def build(instance: Instance) -> Datum:
            try:
                self.scope.budget.module(id(found), len(found.resources))
            except BudgetError as error:
                return self.scope.budget.refuse(error, origin)
            inputs, address = _Arguments(instance, found.inputs), instance.address
            module = Module(found, inputs, self.host, address=address, caller=self, block=block, doubt=instance.doubt)
            return Known(_Outputs(module), origin)

        return map_instances(expand(block, address, self.scope), build)

    def left_out(self, types: Set[str]) -> Iterator[tuple[Module, nodes.Block, str]]:
        """Yield resource blocks, and calls of modules with them, without instance."""
        for module in self.all():
            own = module.configuration
            for (kind, name), block in own.resources.items():
                if kind in types and _is_empty(module.scope.namespace(kind).attribute(name)):
                    yield module, block, module.address_of(f"{kind}.{name}")
            for name in own.calls:
                found = self.host.child(module, own.calls[name]) if _is_empty(module.call(name)) else ""
                if not isinstance(found, str) and types & Module(found, {}, self.host, caller=module).kinds():
                    yield module, own.calls[name], module.address_of(f"module.{name}")

    def output(self, name: str) -> Datum | None:
        """Evaluate an output; None if not declared."""
        block = self.configuration.outputs.get(name)
        if block is None:
            return self._lost(f"output.{name}")
        value = value_in(block.body, "value", self.scope)
        if value is not None:
            self.scope.checked(value, f"{self.address}.{name}", block.body.attributes["value"].span)
        if value is not None and _says(block, "sensitive", value=True):
            return concealed(value, f"{self.address_of(f'output.{name}')} is sensitive")
        return value

    def unread(self) -> Iterator[tuple[Module, nodes.Block, bool]]:
        """Yield calls of unread modules, and whether arguments were read."""
        for module in self.all():
            for name, block in module.configuration.calls.items():
                value = module.call(name)
                if isinstance(value, Unknown) and not isinstance(value, Partial):
                    if any(parts_of(expand(block, name, module.scope))):
                        yield module, block, False
                elif any(one.configuration.unread for one in module.children(name)):
                    yield module, block, True

    def calls_of_others(self) -> Iterator[tuple[Instance, list[str]]]:
        """Yield calls of published modules with the arguments not read."""
        for module in self.all():
            for name, block in module.configuration.calls.items():
                found = module.call(name)
                own = next(_modules(found), None)
                if isinstance(found, Unknown) or (own is not None and own.configuration.skeleton):
                    read = set(CALL_ARGUMENTS)
                    if own is not None:
                        read.update(own.configuration.variables, *own.configuration.inputs.values())
                    left = [key for key in block.body.attributes if key not in read]
                    for instance in instances_in(expand(block, module.address_of(f"module.{name}"), module.scope)):
                        yield instance, left

    def callers(self) -> Iterator[Module]:
        """Yield this module, its caller, and so on up to the root."""
        module: Module | None = self
        while module is not None:
            yield module
            module = module.caller

    def all(self) -> Iterator[Module]:
        """Yield this module and all modules below it."""
        yield self
        for module in self.parts():
            yield from module.all()


class _Arguments:
    def __init__(self, instance: Instance, spellings: Mapping[str, tuple[str, ...]]) -> None:
        self.instance = instance
        self.spellings = spellings

    def get(self, name: str) -> Datum | None:
        written = self.instance.block.body.attributes.keys() - CALL_ARGUMENTS
        found = next((one for one in self.spellings.get(name, (name,)) if one in written), None)
        return self.instance.attribute(found) if found is not None else None


class _Outputs(Names):
    """Value of `module.name`: the outputs of one called module."""

    def __init__(self, module: Module) -> None:
        super().__init__(module.output, module.address)
        self.module = module


def _modules(value: Datum) -> Iterator[Module]:
    return (part.module for part in parts_of(value) if isinstance(part, _Outputs))


def _says(block: nodes.Block, name: str, *, value: bool) -> bool:
    literal = block.body.literal(name)
    return literal is not None and literal.value is value


def _is_empty(value: Datum) -> bool:
    return isinstance(value, Known) and value.value in ((), {})


class _ModuleScope(Scope):
    def __init__(self, module: Module) -> None:
        callers = module.callers() if module.configuration.published else ()
        headers = (one.block.header for one in callers if one.block is not None and not one.block.header.source.bundled)
        super().__init__({}, place=next(headers, None), budget=module.caller.scope.budget if module.caller else None)
        self.module = module
        self.unread = module.configuration.unread
        self._found: dict[str, Known[Names]] = {}

    def namespace(self, name: str) -> Names:
        if name not in self._found:
            module = self.module
            finders: dict[str, Callable[[str], Datum | None]] = {
                "var": module.variable, "local": module.local, "module": module.expand_call, "data": module.data,
                "path": self._path, "terraform": self._terraform, "resource": self.lookup,
            }  # fmt: skip
            find = finders.get(name) or partial(module.resource, name)
            self._found[name] = Known(Names(find, name), Origin(()))
        return self._found[name].value

    def lookup(self, name: str) -> Datum | None:
        self.namespace(name)
        return self._found[name]

    def _path(self, name: str) -> Datum | None:
        root = self.module.root.configuration.folder
        match name:  # Terraform runs in the root's folder
            case "root":
                return Known(".", Origin(()))
            case "cwd":  # where on the machine that is, is nobody's business; clusters are called by its last part
                last = os.path.basename(system.real_path(root or "."))
                return Known(f"../{last}" if last else ".", Origin(()))
            case "module":
                path = os.path.relpath(self.module.configuration.folder or ".", root or ".")
                return Known(path.replace(os.sep, "/"), Origin(()))
        return None

    def _terraform(self, name: str) -> Datum | None:
        return self.module.root.workspace or unchosen_workspace() if name == "workspace" else None

    def report(self, problem: Problem) -> None:
        if not self.module.configuration.published and problem not in self.module.problems:
            self.module.problems.append(problem)

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        return special(name, self.module.files)
