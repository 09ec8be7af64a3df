"""Everything that was read of a tree, and what of it the next run of nearly the same files need not read again."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from kcheck.config.config import Environment
    from kcheck.kubernetes.charts import Chart, Charts
    from kcheck.model import Inventory, Thing
    from kcheck.terraform.module import Module
    from kcheck.terraform.variables import Variables
    from kcheck.text.files.tree import Tree
    from kcheck.text.text import Problem, Skipped, Source


class Reading(Struct):
    """Everything that was read of a tree.

    `problems` could not be read; `templates` maps a folder to the manifests in it that are templates; `sources`
    are all files that were looked into; `variables` knows the tfvars files; `gaps` is what kustomizations do that is
    not rendered. Terraform has `asked` for some files, such as values of charts, and `filled` some manifests as
    templates. `charts` are those of the tree; of the `unrendered` ones, with their templates, only the values were
    read. `roots` are the root modules of Terraform, `environments` those that variable files beside them make.
    `skipped` is what was not read.
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
    environments: list[Environment] = []
    skipped: list[Skipped] = []


Described: TypeAlias = "list[tuple[str, Thing]]"
"""Things, each with the name of the list of the inventory that it belongs to."""


class OfFile(NamedTuple):
    """What a manifest describes by itself, its problems, and whether it is a template."""

    described: Described
    problems: list[Problem]
    is_template: bool


class OfTerraform(NamedTuple):
    """What was read of Terraform, from which folders, and their state then."""

    read: Reading
    folders: tuple[str, ...]
    state: object


class Kept:
    """The files of the run before, by real paths, and what was read of them with the same settings.

    A file with the same content is the same `Source` again, by which all else is known. What an object describes
    also depends on some others: what was made among others is forgotten.
    """

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._terraform: OfTerraform | None = None
        self._among: object = None
        self._before: dict[Source, OfFile] = {}
        self._files: dict[Source, OfFile] = {}

    def terraform(self, tree: Tree) -> Reading | None:
        """What was read of the Terraform of a tree; None if that is to be read, as something has changed."""
        found = self._terraform
        return _copy(found.read) if found is not None and found.state == _state(tree, found.folders) else None

    def keep_terraform(self, tree: Tree, read: Reading) -> None:
        """Keep what was read of the Terraform of a tree, unless that depends on other files, too."""
        if tree.units or tree.plans or tree.configurations or tree.charts or _asks_for_files(tree):
            self._terraform = None
        else:
            folders = tuple(tree.loaded_folders())
            self._terraform = OfTerraform(_copy(read), folders, _state(tree, folders))

    def begin(self, among: object) -> None:
        """Begin with what the objects of a run are read among."""
        self._before = self._before | self._files if among == self._among else {}
        self._among, self._files = among, {}

    def get(self, source: Source) -> OfFile | None:
        """What a file described; None if that is to be read."""
        found = self._before.get(source)
        if found is not None:
            self._files[source] = found
        return found

    def keep(self, source: Source, found: OfFile) -> None:
        """Keep what a file describes for the next run."""
        self._files[source] = found

    def end(self) -> None:
        """Forget what the run did not need."""
        self._before = {}


_FILES = regex(rb"\b(?:template)?file\w*[ \t]*\(")
_FETCHED = os.path.join(".terraform", "modules", "modules.json")


def _asks_for_files(tree: Tree) -> bool:
    """Whether a function of Terraform may look at files, or list them."""
    return any(_FILES.search(source.data) for folder in tree.folders for source in folder.terraform)


def _state(tree: Tree, folders: tuple[str, ...]) -> object:
    """What Terraform in some folders depends on: its files, variable files anywhere, and what `init` has fetched."""
    found = [(path, tree.folder(path)) for path in folders]
    return (
        [(path, own and (own.terraform, own.variables, own.incomplete)) for path, own in found],
        [folder.path for folder in tree.folders],
        [(path, tree.source(path)) for path in tree.variables],
        [tree.disk.read(os.path.join(path, _FETCHED)) for path in folders],
    )


def _copy(read: Reading) -> Reading:
    """What was read, in lists of its own: more is added to them."""
    own = replace(read.inventory)
    for one in (own, result := replace(read, inventory=own)):
        for name in one.__struct_fields__:
            value = getattr(one, name)
            if isinstance(value, list | dict | set):
                setattr(one, name, copy(value))
    return result
