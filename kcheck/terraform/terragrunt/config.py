"""Terragrunt files as a unit sees them, evaluated lazily."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property

from kcheck.terraform.evaluator import evaluate, value_in
from kcheck.terraform.roots import Loader
from kcheck.terraform.scope import Names, Scope, circular
from kcheck.text.files.tree import STACK, UNIT
from kcheck.text.partly_known import string
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.values import Datum, Key, Known, Origin, Unknown, parts

_HERE = Origin(())
_NO_STACK = Unknown("values are given by terragrunt.stack.hcl")


class Repository:
    """Reads the Terragrunt files of a repository below `top`.

    `special` finds a function for a config. `output` evaluates an output of the unit in a folder, by its name; the last
    text is its name in the code.
    """

    def __init__(
        self,
        loader: Loader,
        top: str,
        special: Callable[[str, Config], Callable[[nodes.Call, Scope], Datum] | None],
        output: Callable[[str, str, str], Datum],
    ) -> None:
        self.loader = loader
        self.top = top
        self.special = special
        self.output = output
        self.included: set[str] = set()
        """Files that are parts of others: included ones, and templates of stacks."""
        self._configs: dict[tuple[str, str, str, bool], Config] = {}

    def source(self, path: str) -> Source | None:
        """Read a file of the repository; None if missing or outside."""
        if "\0" in path or not self.loader.tree.disk.is_file(path):
            return None
        return self.loader.tree.source(path)

    def is_folder(self, path: str) -> bool:
        """Whether a path is a folder of the repository."""
        return "\0" not in path and self.loader.tree.disk.is_folder(path)

    def config(
        self, path: str, unit: str, *, original: str = "", including: Config | None = None, values: Datum | None = None
    ) -> Config:
        """Read the config in a file as a unit sees it, once.

        `original` is the folder of the reading unit. `values` are those of the stack that generates the unit. Raises
        EvaluationError if there is no such file.
        """
        path, original = os.path.normpath(path), original or unit
        key = (path, unit, original, including is not None)
        if key not in self._configs:
            source = self.source(path)
            if source is None:
                raise EvaluationError(f"there is no file {os.path.basename(path)}")
            found = Config(self, source, path, unit=unit, original=original, including=including, values=values)
            self._configs[key] = found
            if values is not None:
                self.included.add(path)
            self.loader.problems += found.problems
            self.loader.asked.add(source)
        return self._configs[key]


class Config:
    """Terragrunt file. Functions and relative paths refer to the folder `unit`.

    In included files `unit` is the including unit's folder. In files read by `read_terragrunt_config` it is the file's
    own folder, and `original` is that of the reading unit. `including` is the config that includes this one.
    """

    def __init__(
        self,
        host: Repository,
        source: Source,
        path: str,
        *,
        unit: str,
        original: str,
        including: Config | None,
        values: Datum | None,
    ) -> None:
        self.host = host
        self.path = path
        self.unit = unit
        self.original = original
        self.including = including
        file = parse(source)
        self.body = file.body
        self.problems = file.problems
        self.scope: Scope = _Scope(self)
        self.locals = Names(self._local, "local")
        self._includes: dict[str, tuple[Config, str]] | None = None
        self._inputs: Datum | None = None
        self._dependencies: dict[str, str] | None = None
        self.values: Datum = values or (including.values if including else _NO_STACK)

    @property
    def folder(self) -> str:
        """Folder of the file."""
        return os.path.dirname(self.path)

    @cached_property
    def local_names(self) -> dict[str, nodes.Attribute]:
        """Declared locals by name."""
        return {name: entry for block in self.body.all("locals") for name, entry in block.body.attributes.items()}

    def needs_values(self) -> bool:
        """Whether the unit needs `values`, and no stack gives them."""
        if self.values is not _NO_STACK:
            return False
        bodies = (self.body, *(block.body for block in self.body.nested()))
        return any(_asks_values(entry.expression) for body in bodies for entry in body.attributes.values())

    def _local(self, name: str) -> Datum:
        entry = self.local_names.get(name)
        if entry is None:
            raise EvaluationError(f"there is no local.{name}")
        return evaluate(entry.expression, self.scope)

    @property
    def includes(self) -> dict[str, tuple[Config, str]]:
        """Included configs with their merge strategies, by label."""
        if self._includes is not None:
            return self._includes
        self._includes = result = {}  # what a path sees that asks for them
        for block in self.body.all("include"):
            path = string(value_in(block.body, "path", self.scope))
            if path is None:
                continue
            try:
                found = self.host.config(
                    os.path.join(self.unit, path), self.unit, original=self.original, including=self
                )
            except EvaluationError:
                continue
            result["".join(block.labels[:1])] = found, block.body.written("merge_strategy") or "shallow"
        return result

    def merged(self) -> Iterator[tuple[Config, str]]:
        """Yield the configs merged into this one with their strategies, strongest first."""
        yield self, "shallow"
        for found, strategy in reversed(self.includes.values()):
            if strategy != "no_merge":
                yield found, strategy

    def blocks(self, kind: str) -> Iterator[tuple[Config, nodes.Block]]:
        """Yield the blocks of a type in the merged configs, each with its own."""
        return ((config, block) for config, _ in self.merged() for block in config.body.all(kind))

    @property
    def inputs(self) -> Datum:
        """Inputs, merged with those of included configs."""
        if self._inputs is None:
            self._inputs = Unknown(circular("inputs"))
            self._inputs = self._merged_inputs()
        return self._inputs

    def _merged_inputs(self) -> Datum:
        result: Datum | None = None
        for config, strategy in self.merged():
            entry = config.body.attributes.get("inputs")
            own = _members(entry.expression, config.scope) if entry else None
            if own is not None:
                result = own if result is None else merged(own, result, deep=strategy == "deep")
        return Known({}, _HERE) if result is None else result

    def source(self) -> tuple[nodes.Attribute, Datum] | None:
        """Return the `source` of the `terraform` block, as written and as evaluated."""
        for config, block in self.blocks("terraform"):
            entry = block.body.attributes.get("source")
            if entry is not None:
                return entry, evaluate(entry.expression, config.scope)
        return None

    def variable_files(self) -> Iterator[str]:
        """Yield the tfvars files named in `extra_arguments`."""
        for config, block in self.blocks("terraform"):
            for arguments in block.body.all("extra_arguments"):
                for name in ("required_var_files", "optional_var_files"):
                    files = value_in(arguments.body, name, config.scope)
                    for item in parts(files.value) if isinstance(files, Known) else ():
                        if (path := string(item)) is not None:
                            yield os.path.join(self.unit, path)

    @property
    def dependencies(self) -> dict[str, str]:
        """Folders of the units that this one depends on, by name."""
        if self._dependencies is not None:
            return self._dependencies
        result: dict[str, str] = {}
        self._dependencies = result  # what a path sees that asks for them
        for config, block in self.blocks("dependency"):
            path = string(value_in(block.body, "config_path", config.scope))
            if block.labels and path is not None:
                folder = os.path.normpath(os.path.join(self.unit, path))
                folder = os.path.dirname(folder) if folder.endswith(".hcl") else folder
                result.setdefault(block.labels[0], folder)
        return result

    def dependency(self, name: str) -> Datum:
        """Evaluate `dependency.name`. Raises EvaluationError if it is not declared."""
        folder = self.dependencies.get(name)
        if folder is None:
            if self.including is not None:
                return self.including.dependency(name)
            if not any(block.labels[:1] == (name,) for _, block in self.blocks("dependency")):
                raise EvaluationError(f"there is no dependency.{name}")
            return Unknown(f"the config_path of dependency.{name} is not known")
        label = f"dependency.{name}.outputs"
        outputs = Names(lambda output: self.host.output(folder, output, f"{label}.{output}"), label)
        return Known({"outputs": Known(outputs, _HERE)}, _HERE)

    def exposed(self, name: str) -> Datum:
        """Return a part of the config that others see, such as `locals`.

        Any other part is unknown.
        """
        match name:
            case "locals":
                return Known({local: self.locals.attribute(local) for local in self.local_names}, _HERE)
            case "inputs":
                return self.inputs
            case "dependency":
                return Known(Names(self.dependency, name), _HERE)
            case "terraform":
                source = self.source()
                return Known({"source": source[1]} if source else {}, _HERE)
        return Unknown(f"`{name}` of {os.path.basename(self.path)} is not read")

    def feature(self, name: str) -> Datum:
        """Evaluate `feature.name`, with its default as value."""
        for config, block in self.blocks("feature"):
            value = value_in(block.body, "default", config.scope) if block.labels[:1] == (name,) else None
            if value is not None:
                return Known({"value": value}, _HERE)
        raise EvaluationError(f"there is no feature.{name}")


def _asks_values(node: nodes.Expression) -> bool:
    """Whether an expression uses `values` outside of `try` and `can`."""
    if isinstance(node, nodes.Variable):
        return node.name == "values"
    tried = isinstance(node, nodes.Call) and node.name in ("try", "can")
    return not tried and any(map(_asks_values, nodes.children(node)))


def _members(expression: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate an expression; an error in a member leaves others intact."""
    if not isinstance(expression, nodes.Object):
        return evaluate(expression, scope)
    result: dict[Key, Datum] = {}
    for key_node, value in expression.entries:
        key = evaluate(key_node, scope)
        if not isinstance(key, Known) or not isinstance(key.value, str):
            return evaluate(expression, scope)
        result[key.value] = _members(value, scope)
    return Known(result, Origin((expression.span,)))


class _Scope(Scope):
    def __init__(self, config: Config) -> None:
        super().__init__({})
        self.config = config

    def lookup(self, name: str) -> Datum | None:
        config = self.config
        if name == "local":
            return Known(config.locals, _HERE)
        if find := {"dependency": config.dependency, "feature": config.feature}.get(name):
            return Known(Names(find, name), _HERE)
        return self._included() if name == "include" else config.values if name == "values" else None

    def _included(self) -> Datum:
        """Return the included configs by label; without a label, the config itself."""
        found: dict[Key, Datum] = {
            label: Known(Names(one.exposed, "include"), _HERE) for label, (one, _) in self.config.includes.items()
        }
        bare = found.get("")
        return bare if bare is not None else Known(found, _HERE)

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        return self.config.host.special(name, self.config)


def merged(below: Datum, above: Datum, *, deep: bool) -> Datum:
    """Merge two maps, `above` wins; `deep` also merges nested maps and appends lists."""
    if isinstance(above, Unknown):
        return above
    if isinstance(below, Unknown):
        return below
    if isinstance(below.value, dict) and isinstance(above.value, dict):
        result = dict(below.value)
        for key, value in above.value.items():
            old = result.get(key)
            result[key] = merged(old, value, deep=True) if deep and old is not None else value
        return Known(dict(sorted(result.items())), above.origin)
    if isinstance(below.value, tuple) and isinstance(above.value, tuple):
        return Known((*below.value, *above.value), above.origin)
    return above


STACK_FOLDER = ".terragrunt-stack"
"""Folder beside a stack file in which its units are generated."""
_DEPTH = 8


def stack_configs(
    host: Repository, path: str, folder: str, unread: Callable[[nodes.Block], None], *, values: Datum | None = None,
    depth: int = 0,
) -> Iterator[Config]:  # fmt: skip
    """Yield the configs of a stack's units, each as seen from its generated folder.

    Calls `unread` for blocks that cannot be read.
    """
    try:
        own = host.config(path, folder, values=values)
    except EvaluationError:
        return
    for block in (*own.body.all("unit"), *own.body.all("stack")):
        source, place = _stack_text(block, "source", own), _stack_text(block, "path", own)
        plain = block.body.attributes.get("no_dot_terragrunt_stack")
        inner = os.path.join(
            folder, "" if plain is not None and plain.value_span.text == "true" else STACK_FOLDER, place
        )
        template = os.path.normpath(os.path.join(folder, source.replace("//", "/")))
        given = value_in(block.body, "values", own.scope) or Known({}, _HERE)
        file = os.path.join(template, UNIT if block.type == "unit" else STACK)
        if not source or not place or depth > _DEPTH or host.source(file) is None:
            unread(block)
        elif block.type == "unit":
            yield host.config(file, os.path.normpath(inner), values=given)
        else:
            yield from stack_configs(host, file, os.path.normpath(inner), unread, values=given, depth=depth + 1)


def _stack_text(block: nodes.Block, name: str, config: Config) -> str:
    text = string(value_in(block.body, name, config.scope)) or ""
    return "" if "\0" in text else text
