"""Kustomize without Kustomize: rendered objects with the span of each value.

Only objects of some kinds are read; documents of other kinds and patches for these are never parsed.
Roots are kustomizations without references to them. A base is rendered once, however many build on it.
"""

import os

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes import helm_releases, transforms
from kcheck.kubernetes.helm_releases import Release
from kcheck.kubernetes.kustomization import (
    Fields,
    InvalidKustomizationError,
    Name,
    Resource,
    SelectorError,
    joined,
    may_select,
    name_of,
    selected,
)
from kcheck.kubernetes.objects import Kinds, Manifests, Object, may_hold, read_one, unknown_scalar
from kcheck.kubernetes.patches import PatchError, apply_json_patch, merge_patch, replace_at
from kcheck.text import placeholders
from kcheck.text.files.tree import KUSTOMIZATIONS, Tree, display_path
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.text import Problem, Source

MAX_OBJECTS, MAX_DEPTH, MAX_STEPS = 50_000, 50, 10_000
"""Limits for all kustomizations of a tree, as bases of bases can multiply."""
_GENERATED = frozenset({"ConfigMap", "Secret"})
"""Kinds that generators make; their objects are not rendered."""


class Rendering(Struct):
    """Rendered kustomizations; `losses` are gaps in the objects.

    `named` are the files they name, which are no manifests of their own; `sources` are all files read;
    `releases` are the charts they inflate, with their values.
    """

    manifests: Manifests
    gaps: list[Problem] = []
    losses: list[Problem] = []
    named: set[Source] = set()
    sources: list[Source] = []
    releases: list[Release] = []


def read(tree: Tree, kinds: Kinds) -> Rendering:
    """Render all roots of a tree. Never raises: failures are gaps or problems."""
    return _Renderer(tree, kinds).render()


class _Renderer:
    def __init__(self, tree: Tree, kinds: Kinds) -> None:
        self.tree = tree
        self.kinds = kinds
        self.result = Rendering(Manifests([], [], []))
        self.loaded: dict[str, Fields | None] = {}
        self.bases: dict[str, list[Resource]] = {}
        self.files: dict[Source, list[Object]] = {}
        self.patches: dict[tuple[Source, bool], list[yaml.Target]] = {}
        self.variables = transforms.Variables()
        self.owners: dict[str, Fields] = {}
        self.inflated: set[str] = set()
        self.steps = 0
        self.left = MAX_OBJECTS

    def render(self) -> Rendering:
        folders = [os.path.dirname(path) or "." for path in self.tree.kustomizations]
        own = [found for found in map(self.load, folders) if found is not None]
        inner = {key for found in own for key in self.references(found)}
        roots = [found for found in own if found.key not in inner]
        for found in roots:
            self.root(found)
        for found in own:  # those that refer to each other only
            if found.key not in self.bases and found.key in inner and not found.entered:
                self.root(found)
        entered = [found for found in self.loaded.values() if found is not None and found.entered]
        self.result.gaps += [joined(found.gaps) for found in entered if found.gaps]
        self.result.losses += [joined(found.losses, 1) for found in entered if found.losses]
        return self.result

    def load(self, folder: str) -> Fields | None:
        """Read the kustomization in a folder once; None if missing or unreadable."""
        key = self.tree.disk.real(folder)
        if key not in self.loaded:
            found = (self.tree.source(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
            source = next(filter(None, found), None)
            self.loaded[key] = self.fields(source, folder, key) if source else None
        return self.loaded[key]

    def fields(self, source: Source, folder: str, key: str) -> Fields | None:
        documents = list(yaml.documents(source))
        problem = next((document.problem for document in documents if document.problem), None)
        if problem is not None:
            if placeholders.is_template(source.data):
                self.result.manifests.templates.append(source)
            else:
                self.result.manifests.problems.append(problem)
        root = documents[0].root if documents else None
        if problem is not None or root is None:
            return None
        self.result.sources.append(source)
        try:
            return Fields.from_document(root, source, folder, key)
        except InvalidKustomizationError as error:
            self.result.manifests.problems.append(error.args[0])
            return None

    def references(self, own: Fields) -> list[str]:
        """List the folders of other kustomizations that one refers to."""
        paths = [os.path.join(own.folder, node.text) for node in own.resources + own.texts("components")]
        return [self.tree.disk.real(path) for path in paths if self.tree.disk.is_folder(path)]

    # --- rendering

    def root(self, own: Fields) -> None:
        scope = display_path(own.folder)
        resources = self.base(own, ())
        resources, used = transforms.with_variables(resources, frozenset(self.owners), self.variables)
        for name in sorted(used):
            self.owners[name].unknown("vars")
        for resource in resources:
            local = yaml.text(resource.item.root, "metadata", "annotations", "config.kubernetes.io/local-config")
            if local in ("", "false"):
                self.result.manifests.objects.append(replace(resource.item, scope=scope))

    def base(self, own: Fields, above: tuple[str, ...]) -> list[Resource]:
        if own.key not in self.bases:
            self.bases[own.key] = self.apply_kustomization(own, [], above)
        return self.bases[own.key]

    def apply_kustomization(self, own: Fields, resources: list[Resource], above: tuple[str, ...]) -> list[Resource]:
        """Return the objects of a kustomization, or `resources` as changed by a component."""
        own.entered = True
        self.owners |= dict.fromkeys(own.variables, own)
        self.steps += 1
        above = (*above, own.key)
        found = {resource.identity: resource for resource in resources}
        for node in own.resources:
            for resource in self.resources(own, node, above):
                if resource.identity in found:
                    own.gap(f"{resource.item.kind}/{resource.names[-1].name} exists twice", node.span)
                elif self.left == 0:
                    own.gap(f"the kustomizations have more than {MAX_OBJECTS:,} objects", node.span)
                    break
                else:
                    self.left -= 1
                    found[resource.identity] = resource
        resources = list(found.values())
        for node in own.texts("components"):
            inner = self.kustomization(own, node, above)
            if inner is not None:
                resources = self.apply_kustomization(inner, resources, above)
                own.complete = own.complete and inner.complete
        for node in own.others:
            self.file(own, node.text)
        if yaml.items(own.root, "helmCharts"):
            self.charts(own)
        resources = self.apply_patches(own, resources, ("patchesStrategicMerge", "patches"))
        resources = transforms.apply_transformers(resources, own.root)
        resources = self.apply_patches(own, resources, ("patchesJson6902",))
        resources = transforms.with_replicas(resources, own.maps("replicas"))
        resources = transforms.with_images(resources, own.maps("images"))
        return self.apply_replacements(own, resources)

    def resources(self, own: Fields, node: yaml.Scalar, above: tuple[str, ...]) -> list[Resource]:
        """Return the objects of an entry of `resources`."""
        path = os.path.join(own.folder, node.text)
        if self.tree.disk.is_folder(path):
            inner = self.kustomization(own, node, above)
            result = self.base(inner, above) if inner is not None else []
            own.complete = own.complete and (inner is None or inner.complete)
            return result
        source = self.file(own, node.text)
        if source is None:
            own.missing(node, self.tree.disk)
            return []
        return [Resource(item, (name_of(item.root),)) for item in self.objects(own, source)]

    def kustomization(self, own: Fields, node: yaml.Scalar, above: tuple[str, ...]) -> Fields | None:
        """Return the kustomization that an entry names; None if it cannot be entered."""
        path = os.path.join(own.folder, node.text)
        inner = self.load(path) if self.tree.disk.is_folder(path) else None
        if inner is None:
            if self.tree.disk.is_folder(path):
                own.gap(f"`{node.text}` has no kustomization that can be read", node.span)
            else:
                own.missing(node, self.tree.disk)
        elif inner.key in above:
            own.complete = False
            message = f"`{node.text}` leads back to {display_path(inner.folder)}: the kustomizations are circular"
            self.result.manifests.problems.append(Problem(message, node.span))
        elif len(above) > MAX_DEPTH or self.steps > MAX_STEPS:
            own.gap("kustomizations are nested too deeply", node.span)
        else:
            return inner
        return None

    def file(self, own: Fields, name: str) -> Source | None:
        """Return a file that a kustomization names; it is no manifest any more."""
        source = self.tree.source(os.path.join(own.folder, name)) if name and "\0" not in name else None
        if source is not None and source not in self.result.named:
            self.result.named.add(source)
            self.result.sources.append(source)
        return source

    def charts(self, own: Fields) -> None:
        """Record the charts of a kustomization; their templates are not rendered."""
        if own.key not in self.inflated:
            self.inflated.add(own.key)
            folder = display_path(own.folder)
            self.result.releases += helm_releases.of_kustomization(
                own.root, folder, lambda _, path: self.file(own, path)
            )

    def objects(self, own: Fields, source: Source) -> list[Object]:
        if source not in self.files:
            manifests = Manifests([], [], [])
            read_one(source, self.kinds, manifests)
            self.files[source] = manifests.objects
            self.result.manifests.problems += manifests.problems
            self.result.manifests.templates += manifests.templates
            if manifests.problems or manifests.templates:
                own.complete = False
        return self.files[source]

    # --- patches

    def apply_patches(self, own: Fields, resources: list[Resource], names: tuple[str, ...]) -> list[Resource]:
        patches = [found for name in names for found in own.patches(name)]
        if not patches:
            return resources
        slots: list[Resource | None] = list(resources)  # what a patch deletes leaves an empty one
        places: dict[tuple[str, str, Name], list[int]] = {}
        for i, resource in enumerate(resources):
            item = resource.item
            for name in dict.fromkeys(name.effective for name in resource.names):
                places.setdefault((item.kind, item.api_version, name), []).append(i)
        for patch, target in patches:
            if target is not None and not may_select(target, self.kinds):
                self.file(own, yaml.text(patch, "path"))
                continue
            for document in self.documents(own, patch, whole=target is not None):
                try:
                    if target is not None:
                        chosen = selected(slots, target)
                    else:
                        kind, version = yaml.text(document, "kind"), yaml.text(document, "apiVersion")
                        key = kind, version, name_of(document).effective
                        chosen = places.get(key, [])
                        is_component = yaml.text(own.root, "kind") == "Component"  # which changes others only
                        if not chosen and own.complete and not is_component and key[0] not in _GENERATED:
                            own.gap(
                                f"a patch is for {key[0] or 'object'}/{key[2].name}, which does not exist", patch.span
                            )
                    for i in chosen:
                        slots[i] = with_patch(slots[i], document)
                except (PatchError, SelectorError) as error:
                    own.gap(f"a patch does not fit: {error}", patch.span)
        return [resource for resource in slots if resource is not None]

    def documents(self, own: Fields, patch: yaml.Target, *, whole: bool) -> list[yaml.Target]:

        def wanted(data: bytes) -> bool:
            return whole or may_hold(data, self.kinds)

        path = patch if isinstance(patch, yaml.Scalar) and "\n" not in patch.text else yaml.get(patch, "path")
        inline = patch if isinstance(patch, yaml.Scalar) else yaml.get(patch, "patch")
        found: list[yaml.Target | Problem | None] = []
        source = None
        if isinstance(path, yaml.Scalar) and path.text:
            source = self.file(own, path.text)
            if source is None:
                own.missing(path, self.tree.disk)
            elif (source, whole) in self.patches:
                return self.patches[source, whole]
            else:
                found = [document.problem or document.root for document in yaml.documents(source, wanted)]
        elif isinstance(inline, yaml.Scalar):
            found = list(embedded_yaml.read(embedded_yaml.embedded_lines(inline), wanted))
        problems = [one for one in found if isinstance(one, Problem)]
        self.result.manifests.problems += problems
        own.complete = own.complete and not problems
        result = [one for one in found if one is not None and not isinstance(one, Problem)]
        if source is not None:
            self.patches[source, whole] = result
        return result

    def apply_replacements(self, own: Fields, resources: list[Resource]) -> list[Resource]:
        """Mark the values that `replacements` set as unknown."""
        for entry in own.maps("replacements"):
            source = self.file(own, yaml.text(entry, "path"))
            documents = (document.root for document in yaml.documents(source)) if source else iter((entry,))
            for root in documents:
                for target in own.targets(root):
                    resources = self.without(own, resources, target)
        return resources

    def without(self, own: Fields, resources: list[Resource], target: yaml.Mapping) -> list[Resource]:
        selector = yaml.get(target, "select")
        paths = own.field_paths(target)

        def unknown(node: yaml.Target) -> yaml.Target:
            own.unknown("replacements")
            return unknown_scalar("`replacements` of a kustomization set the value", node.span)

        def changed(resource: Resource) -> Resource:
            root = resource.item.root
            for path in paths:
                root = replace_at(root, path, unknown)
            return resource.changed(root)

        if not isinstance(selector, yaml.Mapping):
            return resources
        try:
            chosen = set(selected(resources, selector))
        except SelectorError as error:
            own.gap(str(error), selector.span)
            return resources
        return [changed(one) if i in chosen else one for i, one in enumerate(resources)]


def with_patch(resource: Resource | None, patch: yaml.Target) -> Resource | None:
    """Apply a patch, an object or a list of operations; None if it deletes the object.

    Raises PatchError if the patch does not fit.
    """
    if resource is None:
        return None
    item = resource.item
    if isinstance(patch, yaml.Sequence):
        return resource.changed(apply_json_patch(item.root, patch))
    if not isinstance(patch, yaml.Mapping):
        raise PatchError("it is neither an object nor a list of operations")
    root = merge_patch(item.root, patch, item.api_version)
    return resource.changed(root) if root is not None else None
