"""Argo CD and Flux: folders that they reapply, so deleted objects come back, and values that Flux fills in."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes import releases
from kcheck.kubernetes.patches import rebuild
from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.kubernetes.objects import Named, Object
    from kcheck.text.text import Source

KINDS = frozenset({"Application", "ApplicationSet", "Kustomization"})
_PLACEHOLDER = regex(r"\{\{[^}]*\}\}|\$\{[^}]*\}|\*+")
_WHOLE = regex(r"\{\{-?\s*\.?path(?:\.path)?\s*-?\}\}")
"""Path of an ApplicationSet that stands for each folder its generator finds."""
_GROUP = "kustomize.toolkit.fluxcd.io/"
_VARIABLE = regex(r"\$\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}")


class Sync(NamedTuple):
    """A tool that applies folders: its name, and a pattern of real paths."""

    name: str
    folders: re.Pattern[str]


def syncs(objects: Iterable[Object], top: Callable[[Source], str]) -> Iterator[Sync]:
    """Yield the objects that restore deleted ones; `top` is the folder of a source's repository."""
    for item in objects:
        for path in _paths(item):
            name = f"{item.kind} {yaml.text(item.root, 'metadata', 'name') or '?'}"
            whole = os.path.join(system.real_path(top(item.span.source)), os.path.normpath(path.lstrip("/")))
            parts = map(re.escape, _PLACEHOLDER.split(os.path.normpath(whole)))
            yield Sync(name, re.compile(f"{'.*'.join(parts)}/"))


def _paths(item: Object) -> Iterator[str]:
    """Yield the applied folders, from the top of the repository; patterns for generators."""
    group = item.api_version.partition("/")[0]
    if item.kind == "Kustomization" and f"{group}/" == _GROUP:
        yield yaml.text(item.root, "spec", "path") or "."
    if group != "argoproj.io" or item.kind not in KINDS:
        return
    spec = (
        yaml.get(item.root, "spec") if item.kind == "Application" else yaml.get(item.root, "spec", "template", "spec")
    )
    if yaml.text(spec, "syncPolicy", "automated", "selfHeal") != "true":
        return
    for source in releases.sources_of(spec):
        path = yaml.text(source, "path")
        if path and _WHOLE.fullmatch(path):
            yield from _generated(item)
        elif path:
            yield path


def _generated(item: Object) -> Iterator[str]:
    for node in yaml.walk(yaml.get(item.root, "spec", "generators")):
        for one in yaml.items(node, "directories"):
            if yaml.text(one, "exclude") != "true" and (path := yaml.text(one, "path")):
                yield path


# --- substitutions of Flux: `postBuild` of its Kustomizations


class Substitution(Struct, frozen=True):
    """Substitutions of a Kustomization for the manifests below a real path."""

    folder: str
    values: dict[str, yaml.Scalar]


def _substitutions(objects: Iterable[Object], top: Callable[[Source], str], named: Named) -> list[Substitution]:
    """List the substitutions in some objects; `top` is the folder of a source's repository."""
    result = []
    for item in objects:
        post = yaml.get(item.root, "spec", "postBuild")
        if item.kind != "Kustomization" or not item.api_version.startswith(_GROUP) or post is None:
            continue
        values: dict[str, yaml.Scalar] = {}
        for other in yaml.items(post, "substituteFrom"):
            if yaml.text(other, "kind") == "ConfigMap" and (name := yaml.text(other, "name")):
                data = named.data(item.span.source, name) or {}
                values |= {key: node for key, node in data.items() if isinstance(node, yaml.Scalar)}
        for key, entry in yaml.pairs(post, "substitute").items():
            value = yaml.resolve(entry.value)
            if isinstance(value, yaml.Scalar):
                values[key] = value
        path = yaml.text(item.root, "spec", "path").lstrip("/") or "."
        real = system.real_path(os.path.join(top(item.span.source), os.path.normpath(path)))
        result.append(Substitution(real, values))
    return result


def substituting(
    objects: Iterable[Object], top: Callable[[Source], str], named: Named
) -> Callable[[Iterable[Object]], Iterator[Object]]:
    """Return a function that applies the nearest Kustomization's values, or the common ones of several."""
    found = _substitutions(objects, top, named)
    by_folder: dict[str, _Filler | None] = {}

    def applied(items: Iterable[Object]) -> Iterator[Object]:
        for item in items:
            if item.folder not in by_folder:
                by_folder[item.folder] = _filler(system.real_path(item.folder), found)
            filler = by_folder[item.folder]
            yield replace(item, root=rebuild(item.root, filler.filled)) if filler is not None else item

    return applied


def _filler(folder: str, found: list[Substitution]) -> _Filler | None:
    above = [one for one in found if f"{folder}/".startswith(f"{one.folder.rstrip('/')}/")]
    deepest = max((len(one.folder) for one in above), default=0)
    near = [one.values for one in above if len(one.folder) == deepest]
    if not near:
        return None
    same = {key: node for key, node in near[0].items() if all(key in v and v[key].text == node.text for v in near)}
    return _Filler(same, defaults=len(near) == 1)


class _Filler:
    """Substitutes variables in trees; nodes without variables stay unchanged."""

    def __init__(self, values: dict[str, yaml.Scalar], *, defaults: bool) -> None:
        self.values = values
        self.defaults = defaults

    def filled(self, _name: str, node: yaml.Target) -> yaml.Target | None:
        """Substitute the variables in a text; None for other nodes and texts without any."""
        if not isinstance(node, yaml.Scalar) or isinstance(node, yaml.Computed) or "${" not in node.text:
            return None
        used: list[yaml.Scalar] = []

        def value(match: re.Match[str]) -> str:
            found = self.values.get(match[1])
            if found is not None:
                used.append(found)
                return found.text
            return match[0] if match[2] is None or not self.defaults else match[2]

        text = _VARIABLE.sub(value, node.text)
        if text == node.text:
            return None
        plain = yaml.Scalar(*node.span, None, text, node.style, node.tag)
        if "${" in text:  # a part of it is still to be filled in
            return plain
        origin = Origin((*(one.span for one in used), node.span))
        return yaml.Computed(*node.span, None, text, node.style, node.tag, Known(yaml.value(plain), origin))
