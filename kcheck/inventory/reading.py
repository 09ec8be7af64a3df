"""Result of reading a tree, and its incremental cache."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from kcheck.config.config import Environment
    from kcheck.inventory.clouds.selfmanaged.machines import Group
    from kcheck.kubernetes.charts import Chart, Charts
    from kcheck.model import Inventory, Thing
    from kcheck.terraform.module import Module
    from kcheck.terraform.variables import Variables
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Problem, Skipped, Source


class Reading(Struct):
    """Everything read from a tree.

    `problems` could not be read; `templates` maps a folder to its manifest templates; `sources` are all files read;
    `variables` knows the tfvars files; `gaps` are kustomization features that are not rendered. Terraform `asked` for
    some files, such as chart values, and `filled` some manifests as templates. `charts` are those of the tree; of
    `unrendered` ones, listed with their templates, only values were read. `roots` are Terraform root modules, and
    `blueprints` those that another tool writes; `environments` are those from variable files beside them. `skipped`
    was not read. `machines` may be nodes of a cluster that other files describe. No other object needs those of files
    read `alone`.
    """

    inventory: Inventory
    problems: list[Problem]
    templates: dict[str, list[Source]]
    sources: list[Source]
    variables: Variables | None = None
    gaps: list[Problem] = []
    asked: set[Source] = set()
    filled: set[Source] = set()
    charts: Charts | None = None
    unrendered: list[tuple[Chart, list[Source]]] = []
    roots: list[Module] = []
    blueprints: list[Module] = []
    environments: list[Environment] = []
    skipped: list[Skipped] = []
    machines: list[Group] = []
    alone: set[Source] = set()

    def finish(self) -> None:
        """Add the requested files, drop duplicates, list skipped clusters."""
        if self.charts is not None:
            self.problems += self.charts.problems
            self.sources += self.charts.sources
        self.sources += sorted(self.asked, key=lambda source: source.path)
        self.sources = list(dict.fromkeys(self.sources))
        self.problems = list(dict.fromkeys(self.problems))
        self.skipped = sorted(dict.fromkeys(self.skipped), key=lambda one: one.what == "not read")


Described: TypeAlias = "list[tuple[str, Thing]]"
"""Things, each with the name of its list in the inventory."""


class OfFile(Struct, frozen=True):
    """Result of reading a manifest: model objects and problems."""

    described: Described
    problems: list[Problem]
    is_template: bool


class OfTerraform(Struct, frozen=True):
    """Result of reading Terraform, with its folders and the state of their files."""

    read: Reading
    folders: tuple[str, ...]
    state: object


class Kept:
    """Incremental cache: files of the previous run, and results read.

    A file with unchanged content is the same `Source` again, the key of everything else. An object may depend on
    others: results read among other objects are dropped.
    """

    def __init__(self) -> None:
        self.sources: dict[str, Source | None] = {}
        self._terraform: OfTerraform | None = None
        self._among: object = None
        self._before: dict[Source, OfFile] = {}
        self._files: dict[Source, OfFile] = {}

    def terraform(self, tree: Tree) -> Reading | None:
        """Return the cached Terraform of a tree; None if it must be read again."""
        found = self._terraform
        return _copy(found.read) if found is not None and found.state == _state(tree, found.folders) else None

    def keep_terraform(self, tree: Tree, read: Reading) -> None:
        """Cache the Terraform of a tree, unless functions may read other files."""
        code = (source.data for folder in tree.folders for source in folder.terraform)
        if tree.units or tree.plans or tree.configurations or tree.charts or any(map(_FILES.search, code)):
            self._terraform = None
        else:
            folders = tuple(tree.loaded_folders)
            self._terraform = OfTerraform(_copy(read), folders, _state(tree, folders))

    def begin(self, among: object) -> None:
        """Begin a run; keep earlier results only if `among` is unchanged."""
        self._before = self._before | self._files if among == self._among else {}
        self._among, self._files = among, {}

    def get(self, source: Source) -> OfFile | None:
        """Return the cached result of a file; None if it must be read."""
        found = self._before.get(source)
        if found is not None:
            self._files[source] = found
        return found

    def keep(self, source: Source, found: OfFile) -> None:
        """Cache the result of a file for the next run."""
        self._files[source] = found

    def end(self) -> None:
        """Drop results that this run did not need."""
        self._before = {}


_FILES = regex(rb"\b(?:template)?file\w*[ \t]*\(")
_FETCHED = os.path.join(".terraform", "modules", "modules.json")


def _state(tree: Tree, folders: tuple[str, ...]) -> object:
    """Return the state of Terraform folders, with their variable files."""
    found = [(path, tree.folder(path)) for path in folders]
    return (
        [(path, own and (own.terraform, own.variables, own.unread)) for path, own in found],
        [folder.path for folder in tree.folders],
        [(path, tree.source(path)) for path in tree.variables],
        [tree.disk.read(os.path.join(path, _FETCHED)) for path in folders],
    )


def _copy(read: Reading) -> Reading:
    """Copy a reading and its lists, as more is added to them."""
    own = replace(read.inventory)
    for one in (own, result := replace(read, inventory=own)):
        for name in one.__struct_fields__:
            value = getattr(one, name)
            if isinstance(value, list | dict | set):
                setattr(one, name, copy(value))
    return result
