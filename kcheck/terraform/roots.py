"""Find root modules and bind their variables."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module

from kcheck.config.config import Config, ConfigError, Environment
from kcheck.terraform import missing_modules, workspaces
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.copies import Copies, is_call_of
from kcheck.terraform.filesystem import Files
from kcheck.terraform.module import REMOTE_STATE, Module
from kcheck.terraform.scope import circular, unchosen_workspace
from kcheck.terraform.variables import MANY, Variables, environments
from kcheck.text import deadline
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON
from kcheck.text.files.tree import TERRAFORM, Folder, Tree
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.hcl1 import adapted, is_old
from kcheck.text.syntax.hcl.parse import parse, parse_template
from kcheck.text.text import Problem, Skipped, Source
from kcheck.text.units import some
from kcheck.text.values import Known, Origin


class Loader:
    """Parses each folder once and binds roots."""

    def __init__(self, tree: Tree, config: Config, tell: deadline.Tell = deadline.no_progress) -> None:
        self.tree = tree
        self._tell = tell
        self.config = config
        self.problems: list[Problem] = []
        self.skipped: list[Skipped] = []
        self.environments: list[Environment] = []
        """Environments found from variable files beside the roots."""
        self._mentions_workspace = cache(_mentions_workspace)
        self._configurations: dict[str, Configuration] = {}
        self.asked: set[Source] = set()
        """Files that functions have read."""
        self._templates: dict[Source, nodes.Template | Problem] = {}
        self.variables = Variables(tree, config)
        self._copies = Copies(tree, config.module_dirs)

    def written(self, blueprints: Iterable[tuple[str, Configuration]]) -> list[Module]:
        """Make root modules from another tool's files, with distinct names."""
        found = list(blueprints)
        folders = Counter(own.folder for _, own in found) + Counter(folder.path for folder in self.tree.folders)
        return [
            Module(own, self.variables.values_for(own), self, environment=name if folders[own.folder] > 1 else "")
            for name, own in found
        ]

    def roots(self, clusters: tuple[str, ...] = (), *, each: bool = True) -> list[Module]:
        """Find the root modules of the tree: uncalled folders and those in the settings.

        Folders whose files are all linked into others are no roots, nor are fragments. Roots are bound once per
        environment in the settings, else once per workspace if the code names a few, else once per variable file
        beside them if they create resources whose types begin with one of `clusters`. Without `each`, roots not in
        the settings are bound once. Raises ConfigError if a folder or variable file of the settings does not exist.
        """
        folders = [folder for folder in self.tree.folders if not self._copies.holds(folder.path)]
        configurations = [self.configuration(folder) for folder in deadline.each(folders, "folders", self._tell)]
        by_root: dict[str, list[Environment]] = {}
        for environment in self.config.environments:
            if not self.tree.disk.is_folder(environment.root):
                raise ConfigError(f"clusters: there is no folder {environment.root}")
            by_root.setdefault(system.real_path(environment.root), []).append(environment)
        roots, called = self._units(by_root) if self.tree.units else ([], set[str]())
        found: dict[str, list[Environment]] = {}
        parts = [part.configuration for root in roots for part in root.all() if not part.configuration.skeleton]
        self.variables.check([*configurations, *(part.configuration for root in roots for part in root.all())])
        called |= {system.real_path(p) for c in (*configurations, *parts) for p in self._called(c) if p != c.folder}
        called |= {system.real_path(folder.path) for folder in _fragments(folders)}
        real = {one.folder: system.real_path(one.folder) for one in configurations}
        if each and clusters and not self.config.var_files:
            uncalled = [one for one in configurations if real[one.folder] not in called]
            found = environments(uncalled, self.variables)
        for configuration in configurations:
            own = by_root.get(real[configuration.folder], ())
            roots += [self._root(configuration, environment) for environment in own]
            if real[configuration.folder] not in called and not own and not self._is_fragment(configuration, clusters):
                beside = found.get(configuration.folder, ())
                roots += self._each(configuration, beside, clusters) if each else [self._root(configuration)]
        named = {one.path for one in self.skipped}  # fragments, beside files
        roots = roots or [self._root(one) for one in configurations if one.folder not in named]
        reads = any(kind == REMOTE_STATE for one in configurations for kind, _ in one.data)
        return self._joined(roots, found) if reads else roots

    def _is_fragment(self, configuration: Configuration, clusters: tuple[str, ...]) -> bool:
        """Whether a folder refers to names it does not declare; record it."""
        own = [".".join(key) for key in configuration.resources if clusters and key[0].startswith(clusters)]
        if not own or configuration.has_settings or configuration.gap:
            return False
        lost = configuration.undeclared()
        resource = next((name for name in lost if not name.startswith("var.")), "")
        if not resource or len(lost) == 1:
            return False
        reason = f"a fragment: {resource} is declared nowhere in it; it has {some(own, 3, 'resources')}"
        self.skipped.append(Skipped(configuration.folder, reason, what="not judged"))
        return True

    def _joined(self, roots: list[Module], found: Mapping[str, Sequence[Environment]]) -> list[Module]:
        """Join roots that read each other's states, each in the environment of its reader."""

        def bound(root: Module, name: str) -> Module:
            own = next((one for one in found.get(root.configuration.folder, ()) if one.name == name), None)
            return root if own is None or root.environment else self._root(root.configuration, own)

        joined: list[Module] = import_module("kcheck.terraform.remote_states").States(roots, bound, self).join()
        return joined

    def _units(self, by_root: dict[str, list[Environment]]) -> tuple[list[Module], set[str]]:
        """Bind Terragrunt's stacks; return them and the folders of their modules."""
        units = import_module("kcheck.terraform.terragrunt.units").Terragrunt(self)
        roots: list[Module] = list(units.stacks(by_root))
        for root in roots:
            root.workspace = Known(self.config.workspace, Origin(())) if self.config.workspace else None
        self.skipped += units.skipped
        return roots, set(units.units)

    def _root(
        self, configuration: Configuration, environment: Environment | None = None, names: list[str] | None = None
    ) -> Module:
        """Bind a root module in its workspace; `names` are its workspaces."""
        environment = environment or Environment(configuration.folder)
        files = [self.variables.file(path) for path in environment.var_files]
        chosen = environment.workspace or self.config.workspace
        if not chosen:
            names = self._known_workspaces(configuration, files) if names is None else names
            chosen = environment.name if environment.name in names else ""
        if chosen:
            files = [*self.variables.of_workspace(configuration, chosen), *files]
        workspace = Known(chosen, Origin(())) if chosen else unchosen_workspace(names or ())
        inputs = self.variables.values_for(configuration, files)
        return Module(configuration, inputs, self, environment=environment.name, workspace=workspace)

    def _each(
        self, configuration: Configuration, beside: Sequence[Environment], clusters: tuple[str, ...]
    ) -> list[Module]:
        """Bind a root once per workspace, else once per environment."""
        names = [] if self.config.workspace else self._known_workspaces(configuration)
        given = [name for name in names if self.variables.is_given(name)]
        if len(given) == 1:
            names = given
        if 0 < len(names) <= workspaces.FEW:
            return [self._root(configuration, Environment(configuration.folder, one, workspace=one)) for one in names]
        found = [] if names or self.config.workspace else self._environments(configuration, beside, clusters)
        return found or [self._root(configuration, names=names)]

    def _environments(
        self, configuration: Configuration, beside: Sequence[Environment], clusters: tuple[str, ...]
    ) -> list[Module]:
        first = self._root(configuration, beside[0], []) if beside else None
        if first is None or not any(kind.startswith(clusters) for kind in first.kinds()):
            return []
        several = beside[:MANY]
        if beside[MANY:]:
            reason = f"{len(beside) - len(several):,} more variable files of this root; --var-file FILE chooses one"
            self.skipped.append(Skipped(configuration.folder, reason))
        self.environments += several
        return [first, *(self._root(configuration, one, []) for one in several[1:])]

    def _known_workspaces(self, configuration: Configuration, files: Iterable[Source] = ()) -> list[str]:
        if not self._asks_workspace(configuration):
            return []
        module = Module(configuration, self.variables.values_for(configuration, files), self)
        return workspaces.known_to(module) or self.variables.workspaces(configuration)

    def _asks_workspace(self, configuration: Configuration) -> bool:
        folders, todo = {configuration.folder}, [configuration]
        while todo:
            one = todo.pop()
            folder = self.tree.folder(one.folder)
            if folder is not None and self._mentions_workspace(folder):
                return True
            for path in self._called(one):
                inner = self.tree.folder(path)
                if inner is not None and inner.path not in folders:
                    folders.add(inner.path)
                    todo.append(self.configuration(inner))
        return False

    def configuration(self, folder: Folder) -> Configuration:
        """Read the declarations of a folder; override files are merged last."""
        known = self._configurations.get(folder.path)
        if known is not None:
            return known
        unread = next((path for path in folder.unread if path.endswith(TERRAFORM)), "")
        files = [parse(source) for source in folder.terraform]
        result = Configuration(folder.path, gap=unread and f"{unread} could not be read", old=is_old(files))
        files = [adapted(file) for file in files] if result.old else files
        result.add_all(zip(map(folder.name, folder.terraform), files, strict=True))
        self._configurations[folder.path] = result
        if result.old and result.problems:
            where = result.problems[0].span
            reason = "partly written for Terraform before 0.12, in a form that kcheck does not read"
            self.skipped.append(Skipped(where.source.path, reason, where.begin.line))
        else:
            self.problems += result.problems
        return result

    def template(self, source: Source) -> nodes.Template | Problem:
        """Parse a file as a template, once."""
        if source not in self._templates:
            self._templates[source] = parse_template(source.span(0, len(source.data)))
        return self._templates[source]

    def templates(self) -> set[Source]:
        """Return the files parsed as Terraform templates."""
        return set(self._templates)

    def _called(self, configuration: Configuration) -> Iterable[str]:
        for block in configuration.calls.values():
            path = _local(configuration, block) or self._own_folder(configuration, block)
            if path is not None:
                yield path

    def _own_folder(self, configuration: Configuration, block: nodes.Block) -> str | None:
        """Find the folder of this repository that a call names by its published address."""
        found = self._copies.own_folder(configuration.folder, _text(block, "source") or "")
        folder = self.tree.folder(found.path) if found is not None else None
        if found is None or folder is None or not folder.terraform or folder.path == configuration.folder:
            return None
        return found.path if found.certain or is_call_of(block, self.configuration(folder)) else None

    def child(self, module: Module, block: nodes.Block) -> Configuration | str:
        """Load the configuration of a called module, or return why it is unknown."""
        configuration = self._find(module, block)
        if isinstance(configuration, str) or configuration.skeleton:
            return configuration
        if any(caller.configuration is configuration for caller in module.callers()):
            module.scope.report(Problem(circular(module.address_of(f"module.{block.labels[0]}")), block.header))
            return "it calls itself"
        return missing_modules.copy_of(configuration) or configuration

    def _find(self, module: Module, block: nodes.Block) -> Configuration | str:
        """Find a called module, or return why there is none."""
        source = _text(block, "source")
        if source is None:
            return "its source is not a literal string"
        path, top = _local(module.configuration, block), module.configuration.top
        if path is not None and top:
            return self._copies.read(path, top) or "there is no such folder"
        why = f"it is {REASON}" if path and self.tree.disk.is_outside(path) else "there is no such folder"
        if path is None:
            locked = partial(self.locked, module.root.configuration.folder)
            found = missing_modules.find(source, _text(block, "version") or "", block.body.attributes.keys(), locked)
            if isinstance(found, Configuration):
                return found
            why = f"{found or f'kcheck does not read modules from {source}'}; {missing_modules.REMEDY}"
            path = self._own_folder(module.configuration, block)
        folder = self.tree.folder(path) if path is not None else None
        if folder is not None:
            return self.configuration(folder)
        return self._copies.find(module, block, source) or missing_modules.stand_in(module, block, source) or why

    def files(self, folder: str) -> Files:
        """Return the files that functions may read, by paths relative to a folder."""
        return Files(self.tree, folder, self.template, self.asked)

    def locked(self, folder: str) -> dict[str, str]:
        """Return the provider versions locked in the folder of a root module."""
        source = self.tree.source(os.path.join(folder, ".terraform.lock.hcl"))
        return missing_modules.locked_providers(parse(source)) if source else {}


def _mentions_workspace(folder: Folder) -> bool:
    return any(workspaces.MARK in source.data for source in folder.terraform)


def _fragments(folders: Sequence[Folder]) -> Iterator[Folder]:
    """Yield folders whose files are all linked into others, where they are judged."""
    files = {folder: {source.path for source in folder.terraform} for folder in folders}
    own = {
        folder: {path for path in paths if (os.path.dirname(path) or ".") == folder.path}
        for folder, paths in files.items()
    }
    linked = set[str]().union(*(files[folder] - own[folder] for folder in folders))
    yield from (folder for folder in folders if own[folder] and own[folder] <= linked)


def _local(configuration: Configuration, block: nodes.Block) -> str | None:
    """Return the folder of a module call whose source is a path; else None."""
    source = _text(block, "source")
    if source is not None and (source.startswith(("./", "../")) or source in (".", "..")):
        return os.path.normpath(os.path.join(configuration.folder, source))
    return None


def _text(block: nodes.Block, name: str) -> str | None:
    """Read an argument written as a literal string; None for any other."""
    literal = block.body.literal(name)
    return str(literal.value) if literal is not None else None
