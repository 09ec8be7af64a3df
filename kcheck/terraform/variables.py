"""Values given to root module variables, by files and flags.

A variable without one becomes Unknown in module.py. Variable files beside a root or below it are its environments;
some are named like its workspaces. `validation` blocks are applied to values that a fix would write.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kcheck.config.config import Config, ConfigError, Environment, nearest
from kcheck.terraform import convert
from kcheck.terraform.budget import Budget, BudgetError
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.evaluator import evaluate, value_in
from kcheck.terraform.module import Module
from kcheck.terraform.scope import Names, Scope
from kcheck.terraform.types import convert_to
from kcheck.terraform.workspaces import OF_NONE
from kcheck.text import scalars
from kcheck.text.data_types import each
from kcheck.text.files import system
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.tree import Tree, display_path
from kcheck.text.partly_known import members, wrap
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl.parse import parse, parse_expression
from kcheck.text.text import Problem, Source, Span, leading
from kcheck.text.values import Data, Datum, Known, Missing, Origin, Unknown, parts

_PREFIX = "TF_VAR_"
_AUTOMATIC = ("terraform.tfvars", "terraform.tfvars.json")
_LITERAL = frozenset({"", "string", "number", "bool"})
"""Types of variables, or none, whose values in flags are texts and no expressions."""


def is_automatic(path: str) -> bool:
    """Whether Terraform reads a tfvars file automatically."""
    return os.path.basename(path) in _AUTOMATIC or path.endswith((".auto.tfvars", ".auto.tfvars.json"))


class Variables:
    """Binds the variables of root modules."""

    def __init__(self, tree: Tree, config: Config) -> None:
        self.tree = tree
        self.problems: list[Problem] = []
        self._files = [self.file(path) for path in config.var_files]
        self._flags = {
            name: Source(f"--var {name}", text.encode("utf-8", "replace"), derived=True)
            for name, text in config.variables.items()
        }
        given = system.variables(_PREFIX) if config.env_vars else ()
        self._environment = {
            name.removeprefix(_PREFIX): Source(name, text.encode("utf-8", "replace"), derived=True)
            for name, text in given
        }

    def file(self, path: str) -> Source:
        """Read a variable file. Raises ConfigError if there is no such file."""
        source = self.tree.source(path)
        if source is None:
            why = next((f"it is {one.reason}" for one in self.tree.skipped if one.path == display_path(path)), "")
            raise ConfigError(f"{path}: {why or 'there is no such variable file'}")
        return source

    def values_for(self, configuration: Configuration, more: Iterable[Source] = ()) -> dict[str, Datum]:
        """Return the values of a root's variables, in Terraform's order."""
        folder = self.tree.folder(configuration.folder)
        own: dict[str, Source | str] = {os.path.basename(path): path for path in folder.unread} if folder else {}
        own |= {folder.name(source): source for source in folder.variables} if folder else {}
        files = (own[name] for name in sorted(filter(is_automatic, own), key=lambda one: (one not in _AUTOMATIC, one)))
        result = self._given(configuration, self._environment)
        for file in (*files, *more, *self._files):
            if isinstance(file, str):
                why = Unknown(f"{file}, which could not be read, may set it")
                result |= dict.fromkeys(configuration.variables, why)
            else:
                result |= self.assignments(file)
        return result | self._given(configuration, self._flags)

    def unset(self, configuration: Configuration) -> set[str]:
        """List the variables of a root that have no value."""
        return configuration.needed - self.values_for(configuration).keys()

    def check(self, configurations: Iterable[Configuration]) -> None:
        """Check that some root declares each variable, or raise ConfigError."""
        declared = {name for configuration in configurations for name in configuration.variables}
        for name in self._flags:
            if name not in declared:
                raise ConfigError(f"--var {name}: no root module declares it; {nearest(name, tuple(sorted(declared)))}")

    def assignments(self, source: Source) -> dict[str, Datum]:
        """Read the values that a tfvars file sets."""
        if source.path.endswith(".json"):
            return self._json(source)
        file = parse(source)
        self.problems += [problem for problem in file.problems if problem not in self.problems]
        nothing = Scope({})
        return {name: evaluate(entry.expression, nothing) for name, entry in file.body.attributes.items()}

    def _json(self, source: Source) -> dict[str, Datum]:
        from kcheck.text.syntax import json

        root = json.parse(source)
        if isinstance(root, Problem):
            self.problems += [] if root in self.problems else [root]
            return {}
        return members(convert.from_json(root))

    def _given(self, configuration: Configuration, texts: dict[str, Source]) -> dict[str, Datum]:
        """Parse values of flags or the environment by the type of their variable."""
        result: dict[str, Datum] = {}
        for name, source in texts.items():
            if name in configuration.variables:
                text, place = source.data.decode(), source.span(0, len(source.data))
                is_text = configuration.variables[name].body.written("type") in _LITERAL
                value = Known(text, Origin((place,))) if is_text else None
                result[name] = value or evaluate(parse_expression(text, place), Scope({}))
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
        missing = self.unset(configuration)
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
    """List the possible names of a tfvars file."""
    parts = os.path.basename(path).removesuffix(".json").removesuffix(".tfvars").removesuffix(".auto").split(".")
    names = [part for part in parts if part != "terraform"]
    return [*names, os.path.basename(os.path.dirname(path))]


# --- environments, found from variable files beside roots or below them

MANY = 12
"""Maximum number of variable files per root that are checked without being asked for."""
_LAYERS = frozenset({"common", "shared", "global", "globals", "base", "defaults", "all"})
"""Names of variable files that every environment shares."""
_NO_ENVIRONMENT = regex(
    r"(?:^|[^a-z])(?:example|sample|template)s?(?:$|[^a-z])|(?:^|[^a-z])(?:tests|e2e|fixtures?|testdata)/"
)
"""Paths of variable files for examples and tests."""


def environments(configurations: Iterable[Configuration], variables: Variables) -> dict[str, list[Environment]]:
    """Find the environments of each root: its variable files.

    Shared variable files are part of every environment. A root with automatic variable files may be one by itself.
    """
    roots = {one.folder: one for one in configurations}
    owned = _own_variable_files(roots, variables) if variables.tree.variables else {}
    return {
        folder: list(_environments(folder, sets, variables.unset(roots[folder]), _has_own_file(folder, variables.tree)))
        for folder, sets in owned.items()
    }


def _has_own_file(folder: str, tree: Tree) -> bool:
    own = tree.folder(folder)
    return own is not None and any(map(is_automatic, (*own.unread, *(source.path for source in own.variables))))


def _own_variable_files(roots: dict[str, Configuration], variables: Variables) -> dict[str, dict[str, set[str]]]:
    """Map each root to its variable files and the names they set."""
    tree = variables.tree
    result: dict[str, dict[str, set[str]]] = {}
    for path in tree.variables:
        source, folder = tree.source(path), tree.folder(os.path.dirname(path) or ".")
        if source is None or (is_automatic(path) and folder is not None and folder.terraform):
            continue
        names = set(variables.assignments(source))
        for owner in _nearest(source.path, names, roots):
            if not _NO_ENVIRONMENT.search(_path_beyond(source.path, owner).lower()):
                result.setdefault(owner, {})[source.path] = names
    inside = {owner: [path for path in sets if contains_path(owner, path)] for owner, sets in result.items()}
    return {owner: {path: sets[path] for path in inside[owner] or sets} for owner, sets in result.items()}


def _nearest(path: str, names: set[str], roots: dict[str, Configuration]) -> list[str]:
    """List the roots nearest to a variable file that declare its variables."""
    declared = {folder: len(names & root.variables.keys()) for folder, root in roots.items()}
    whole = [folder for folder, count in declared.items() if names and count == len(names)]
    fitting = whole or [folder for folder, count in declared.items() if names and 2 * count >= len(names)]
    folders = path.split("/")[:-1]
    shared = {one: leading(folders, [] if one == "." else one.split("/")) for one in fitting}
    return [folder for folder, depth in shared.items() if depth == max(shared.values())]


def _path_beyond(path: str, root: str) -> str:
    """Drop the folders that a path shares with a root."""
    parts = path.split("/")
    return "/".join(parts[leading(parts[:-1], root.split("/")) :])


def _environments(folder: str, sets: dict[str, set[str]], missing: set[str], as_is: bool) -> Iterator[Environment]:
    below = [path for path in sets if _stem(path).lower() in _LAYERS]
    below += [path for path in sets if path not in below and _stands_alone(path, sets, missing)]
    rest = set().union(*(names for path, names in sets.items() if path not in below))
    left = (missing & rest).difference(*(sets[path] for path in below))  # what only those of environments give
    others = [path for path in sets if path not in below and (not left or sets[path] & left)]
    if not others or (as_is and not missing and not below and len(others) == 1):
        yield Environment(folder, _stem(below[-1]) if below else "", tuple(below))
    for path, name in zip(others, _distinct(others), strict=True):
        yield Environment(folder, name, (*below, path))


def _stands_alone(path: str, sets: dict[str, set[str]], missing: set[str]) -> bool:
    """Whether a file sets a missing variable and shares no variables with other files."""
    rest = [names for other, names in sets.items() if other != path]
    return bool(rest and sets[path] & missing) and not any(sets[path] & names for names in rest)


def _stem(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _distinct(paths: list[str]) -> list[str]:
    """Label variable files distinctly, by name or else by folder."""
    whole = [os.path.basename(path).removesuffix(".json").removesuffix(".tfvars") for path in paths]
    steps = [[_stem(path), name, *reversed(path.split("/")[:-1])] for path, name in zip(paths, whole, strict=True)]
    for names in steps:
        if names[0] == "terraform" and len(names) > 2:
            names[0] = names[2]
    for level in zip(*steps, strict=False):
        if len(set(level)) == len(level):
            return list(level)
    return ["-".join(reversed(parts[1:])) for parts in steps]


Place: TypeAlias = Span | Missing
"""Place where a value is written, or would be."""


class Validations:
    """Variables with `validation` blocks in all modules of the roots."""

    def __init__(self, roots: Iterable[Module]) -> None:
        self._users: dict[Place, list[tuple[Module, str]]] = {}
        for root in roots:
            for module in root.all():
                for name, block in module.configuration.variables.items():
                    value = module.scope.namespace("var").attribute(name) if block.body.all("validation") else None
                    for place in dict.fromkeys(_places(value) if value is not None else ()):
                        self._users.setdefault(place, []).append((module, name))

    def refusing(self, values: Mapping[Place, Data]) -> tuple[str, Place] | None:
        """Find a variable that rejects one of the new values; else None."""
        for place in values:
            for module, name in self._users.get(place, ()):
                if _refuses(module, name, values):
                    return f"var.{name}" + (f" of {module.address}" if module.address else ""), place
        return None


def _places(datum: Datum) -> Iterator[Place]:
    origin = datum.origin
    if origin is not None and origin.spans:
        yield origin.missing or origin.written
    if isinstance(datum, Known):
        for part in parts(datum.value):
            yield from _places(part)


def _refuses(module: Module, name: str, values: Mapping[Place, Data]) -> bool:
    block, variables = module.configuration.variables[name], module.scope.namespace("var")
    changed = _changed(variables.attribute(name), values)
    kind = block.body.attributes.get("type")
    try:
        changed = convert_to(changed, kind.expression, Budget()) if kind else changed
    except (EvaluationError, BudgetError):
        return True
    others = Names(lambda other: changed if other == name else variables.attribute(other), "var")
    scope = module.scope.with_names(var=Known(others, Origin(())))
    for validation in block.body.all("validation"):
        found = value_in(validation.body, "condition", scope)
        if isinstance(found, Known) and _is_false(found.value):
            return True
    return False


def _is_false(value: object) -> bool:
    try:
        return not scalars.to_bool(value)
    except EvaluationError:
        return False


def _changed(datum: Datum, values: Mapping[Place, Data]) -> Datum:
    origin = datum.origin
    if origin is not None and origin.spans and (place := origin.missing or origin.written) in values:
        return wrap(values[place], origin)
    if isinstance(datum, Known) and isinstance(datum.value, tuple | dict):
        return Known(each(datum.value, lambda item: _changed(item, values)), datum.origin)
    return datum
