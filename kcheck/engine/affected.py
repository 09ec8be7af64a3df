"""Find what a change of files can affect: objects, clusters and root modules."""

import os
from collections.abc import Collection
from typing import NamedTuple

from kcheck.engine.linter import Linter
from kcheck.engine.rule_outcomes import owners
from kcheck.inventory.reading import Reading
from kcheck.model import FieldError, Flag, Input, Manifest, Resource, Service, Thing, Workload
from kcheck.scale.word_helpers import cluster_of
from kcheck.scale.world import World
from kcheck.text.files import system
from kcheck.text.files.tree import TERRAFORM, VARIABLES
from kcheck.text.text import grouped
from kcheck.text.values import known

_OF_OTHERS = ("remote_state", "cluster", "net", "vpc", "vswitch")
"""Parts of the types of data sources that read what another root module may make."""


class Affected(NamedTuple):
    """Files that changed, and the roots and scopes that depend on them.

    A scope is the id of a cluster, or empty for objects without one. In `whole` scopes workloads are affected, too.
    """

    changed: set[str]
    paths: set[str]
    roots: set[str]
    scopes: set[str]
    whole: set[str]

    def holds(self, thing: Thing, world: World) -> bool:
        """Whether an object is in a changed file, or in a root or scope of one."""
        if isinstance(thing, Input):
            return thing.place.source.path in self.changed or (thing.kind == "not-rendered" and bool(self.whole))
        own = owners(thing, world)
        if getattr(thing, "root", None) in self.roots or any(one.place.source.path in self.paths for one in own):
            return True
        if isinstance(thing, Resource | Flag):
            return bool(self.roots)
        scopes = self.whole if isinstance(own[0], Workload | FieldError | Manifest) else self.scopes
        return not scopes.isdisjoint(_scopes(own[0], world))


def narrow(linter: Linter, changed: Collection[str]) -> None:
    """Restrict a linter to objects that depend on changed files."""
    read = {one.path for path in changed if (one := linter.tree.sources.get(system.real_path(path))) is not None}
    found = affected(read, linter.reading, linter.world) if len(read) == len(changed) else None
    if found is not None:
        linter.holds = lambda thing: found.holds(thing, linter.world)


def affected(changed: set[str], reading: Reading, world: World) -> Affected | None:
    """Find what depends on the changed files; None if that may be everything."""
    code = {path for path in changed if path.endswith((*TERRAFORM, *VARIABLES))}
    roots, folders = _roots_of(code, reading, world) if code else (set(), set())
    here = grouped(world.inventory.deployed_things(), lambda thing: thing.place.source.path)
    asked = {source.path for source in reading.asked}
    if (code and not roots) or changed & asked or not changed - code <= here.keys():
        return None
    paths = changed | {path for path in here if roots and (path in asked or (os.path.dirname(path) or ".") in folders)}
    things = [thing for path in paths for thing in here.get(path, ())]
    clusters = world.inventory.clusters
    whole = {one.id for one in clusters if one.root in roots}
    whole = whole.union(*(_scopes(thing, world) for thing in things if not _is_alone(thing, reading)))
    scopes = {_scope(thing, world) for thing in things} | whole
    return Affected(changed, paths, roots | {one.root for one in clusters if one.id in scopes}, scopes, whole)


def _roots_of(code: set[str], reading: Reading, world: World) -> tuple[set[str], set[str]]:
    """Find the roots of changed Terraform files; none if others may read them.

    Other roots and manifests may use what a root creates, or are on a cluster that it had before.
    """
    parts = [(root.configuration.folder, part.configuration) for root in reading.roots for part in root.all()]
    own = (*reading.environments, *world.config.environments)
    found = [
        {one.root for one in own if path in one.var_files}
        | {root for root, part in parts if part.folder == (os.path.dirname(path) or ".")}
        for path in code
    ]
    roots, every = set().union(*found), {root for root, _ in parts}
    linked = every != roots and any(part in kind for _, one in parts for kind, _ in one.data for part in _OF_OTHERS)
    with_clusters = {one.root for one in world.inventory.clusters}
    if linked or not all(found) or not roots <= with_clusters or not code.isdisjoint(world.config.var_files):
        return set(), set()
    return roots, {part.folder for root, part in parts if root in roots}


def _is_alone(thing: Thing, reading: Reading) -> bool:
    """Whether no other workload depends on an object."""
    is_own = isinstance(thing, Service | FieldError | Manifest) or (isinstance(thing, Workload) and not thing.per_node)
    return is_own and thing.place.source in reading.alone


def _scope(thing: Thing, world: World) -> str:
    """Return the id of an object's cluster; empty without one."""
    cluster = known(cluster_of(thing, world))
    return cluster.id if cluster is not None else ""


def _scopes(thing: Thing, world: World) -> set[str]:
    """Return the ids of the clusters that an object is or may be on."""
    homes = world.inventory.candidates_of.get(thing)
    return {_scope(thing, world), *(one.id for one in (homes.clusters if homes else ()))}
