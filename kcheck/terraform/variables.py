"""Values of root module variables: from files, flags and, on request, the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcheck.config.config import ConfigError, nearest
from kcheck.terraform import convert
from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.scope import Scope
from kcheck.terraform.workspaces import OF_NONE
from kcheck.text.files import system
from kcheck.text.files.tree import display_path
from kcheck.text.syntax.hcl.parse import parse_expression
from kcheck.text.text import Problem, Source
from kcheck.text.values import Datum, Known, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.config.config import Config
    from kcheck.terraform.configuration import Configuration
    from kcheck.text.files.tree import Tree
    from kcheck.text.syntax.hcl import nodes

_PREFIX = "TF_VAR_"
_AUTOMATIC = ("terraform.tfvars", "terraform.tfvars.json")
_LITERAL = frozenset({"string", "number", "bool"})


def is_automatic(path: str) -> bool:
    """Whether Terraform reads a tfvars file automatically."""
    return os.path.basename(path) in _AUTOMATIC or path.endswith((".auto.tfvars", ".auto.tfvars.json"))


class Variables:
    """Binds the variables of root modules; `parse` reads a file once."""

    def __init__(self, tree: Tree, config: Config, parse: Callable[[Source], nodes.File]) -> None:
        self.tree = tree
        self.problems: list[Problem] = []
        self._parse = parse
        self._files = [self.file(path) for path in config.var_files]
        self._flags = {
            name: Source(f"--var {name}", text.encode("utf-8", "replace"), derived=True)
            for name, text in config.variables.items()
        }
        self._environment = dict(_environment()) if config.env_vars else {}

    def file(self, path: str) -> Source:
        """Read a variable file that the user names.

        Raises:
            ConfigError: there is no such file.
        """
        source = self.tree.source(path)
        if source is None:
            why = next((f"it is {one.reason}" for one in self.tree.skipped if one.path == display_path(path)), "")
            raise ConfigError(f"{path}: {why or 'there is no such variable file'}")
        return source

    def values_for(self, configuration: Configuration, more: Iterable[Source] = ()) -> dict[str, Datum]:
        """Return the values of a root's variables, in Terraform's order: the last one wins."""
        folder = self.tree.folder(configuration.folder)
        named = {folder.name(source): source for source in folder.variables} if folder else {}
        files = [named[name] for name in sorted(filter(is_automatic, named), key=lambda name: name not in _AUTOMATIC)]
        result = self._given(configuration, self._environment)
        for source in [*files, *more, *self._files]:
            result |= self.assignments(source)
        return result | self._given(configuration, self._flags)

    def check(self, configurations: Iterable[Configuration]) -> None:
        """Check that some root declares each variable of the flags.

        Raises:
            ConfigError: no root declares one.
        """
        declared = {name for configuration in configurations for name in configuration.variables}
        for name in self._flags:
            if name not in declared:
                raise ConfigError(f"--var {name}: no root module declares it; {nearest(name, tuple(sorted(declared)))}")

    def assignments(self, source: Source) -> dict[str, Datum]:
        """Read the values that a tfvars file sets."""
        if source.path.endswith(".json"):
            return self._json(source)
        file = self._parse(source)
        self.problems += [problem for problem in file.problems if problem not in self.problems]
        nothing = Scope({})
        return {name: evaluate(entry.expression, nothing) for name, entry in file.body.attributes.items()}

    def _json(self, source: Source) -> dict[str, Datum]:
        from kcheck.text.syntax import json

        root = json.parse(source)
        if isinstance(root, Problem):
            self.problems += [] if root in self.problems else [root]
            return {}
        values = convert.from_json(root)
        return values.value if isinstance(values, Known) and isinstance(values.value, dict) else {}

    def _given(self, configuration: Configuration, texts: dict[str, Source]) -> dict[str, Datum]:
        """Parse values of flags or the environment by the type of their variable."""
        result: dict[str, Datum] = {}
        for name, source in texts.items():
            block = configuration.variables.get(name)
            if block is None:
                continue
            entry = block.body.attributes.get("type")
            text = source.data.decode()
            place = source.span(0, len(source.data))
            if entry is None or entry.value_span.text.strip('"') in _LITERAL:
                result[name] = Known(text, Origin((place,)))
            else:
                found = evaluate(parse_expression(text, place), Scope({}))
                result[name] = found
        return result

    def candidates(self, names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield unused tfvars files that set some of these variables."""
        wanted = set(names)
        for path in self.tree.variables:
            source = None if is_automatic(path) else self.tree.source(path)
            if source is not None and source not in self._files:
                found = sorted(wanted & self.assignments(source).keys())
                if found:
                    yield source.path, found

    # --- files that are called like a workspace

    def of_workspace(self, configuration: Configuration, name: str) -> list[Source]:
        """List the tfvars files named like a workspace that set variables of a root."""
        sources = (source for source, labels in self._labelled(configuration.folder) if name in labels)
        return [one for one in sources if not configuration.variables.keys().isdisjoint(self.assignments(one))]

    def workspaces(self, configuration: Configuration) -> list[str]:
        """List the names of tfvars files that set otherwise missing variables of a root."""
        given = self.values_for(configuration)
        missing = {
            name
            for name, block in configuration.variables.items()
            if "default" not in block.body.attributes and name not in given
        }
        sources = self._labelled(configuration.folder) if missing else ()
        found = {labels[0] for source, labels in sources if not missing.isdisjoint(self.assignments(source))}
        return sorted(found - OF_NONE)

    def is_given(self, workspace: str) -> bool:
        """Whether the user passes a variable file named like a workspace."""
        return any(workspace in _labels(source.path) for source in self._files)

    def _labelled(self, root: str) -> Iterator[tuple[Source, list[str]]]:
        own = os.path.abspath(root)
        above = os.path.dirname(own)
        folders = {os.path.abspath(folder.path) for folder in self.tree.folders}
        for path in self.tree.variables:
            folder = os.path.dirname(os.path.abspath(path))
            if is_automatic(path) and folder == own:
                continue
            while folder not in folders and folder.startswith(os.path.join(above, "")):
                folder = os.path.dirname(folder)
            near = folder == own or (folder == above and above not in folders)
            source = self.tree.source(path) if near else None
            if source is not None and source not in self._files:
                yield source, _labels(source.path)


def _labels(path: str) -> list[str]:
    """List the possible names of a tfvars file: the parts of its own name, then its folder's."""
    parts = os.path.basename(path).removesuffix(".json").removesuffix(".tfvars").removesuffix(".auto").split(".")
    names = [part for part in parts if part != "terraform"]
    return [*names, os.path.basename(os.path.dirname(path))]


def _environment() -> Iterator[tuple[str, Source]]:
    for name, text in system.variables(_PREFIX):
        yield name.removeprefix(_PREFIX), Source(name, text.encode("utf-8", "replace"), derived=True)
