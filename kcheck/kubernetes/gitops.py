"""Argo CD and Flux: folders they apply, and values Flux substitutes."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes import helm_releases
from kcheck.kubernetes.objects import Named, Object
from kcheck.kubernetes.patches import rebuild
from kcheck.model import Sync
from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source
from kcheck.text.values import Known, Origin

KINDS = frozenset({"Application", "ApplicationSet", "Kustomization"})
_PLACEHOLDER = regex(r"\{\{[^}]*\}\}|\$\{[^}]*\}|\*+")
_WHOLE = regex(r"\{\{-?\s*\.?path(?:\.path)?\s*-?\}\}")
"""Path of an ApplicationSet that stands for each folder its generator finds."""
_PARAMETER = regex(r"\{\{-?\s*\.?([\w.-]+)\s*-?\}\}")
_OWN = "https://kubernetes.default.svc"  # the cluster on which Argo CD runs
_GROUP = "kustomize.toolkit.fluxcd.io/"
_FLUX_VARIABLE = regex(r"\$\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}")


def syncs(objects: Iterable[Object], top: Callable[[Source], str]) -> Iterator[Sync]:
    """Yield the objects that apply folders or charts of a repository."""
    for item in objects:
        of_flux = item.kind == "Kustomization" and item.api_version.startswith(_GROUP)
        if of_flux or (item.kind in KINDS and item.api_version.startswith("argoproj.io/")):
            spec = yaml.get(item.root, *(("spec", "template") if item.kind == "ApplicationSet" else ()), "spec")
            folder, patterns = system.real_path(top(item.span.source)), []
            for path in [yaml.text(spec, "path") or "."] if of_flux else _paths(item, spec):
                whole = os.path.normpath(os.path.join(folder, os.path.normpath(path.lstrip("/"))))
                patterns.append(f"{'.*'.join(map(re.escape, _PLACEHOLDER.split(whole)))}/")
            name = f"{item.kind} {yaml.text(item.root, 'metadata', 'name') or '?'}"
            heals = of_flux or yaml.text(spec, "syncPolicy", "automated", "selfHeal") == "true"
            yield Sync(name, item.span, re.compile("|".join(patterns) or "(?!)"), heals, *_destination(item, spec))


def _paths(item: Object, spec: yaml.Node | None) -> Iterator[str]:
    """Yield the folders of an Argo CD object, or patterns of its generators."""
    found = [(yaml.text(source, "path"), source) for source in helm_releases.sources_of(spec)]
    if any(_WHOLE.fullmatch(path) for path, _ in found):
        nodes = yaml.walk(yaml.get(item.root, "spec", "generators"))
        found += [(yaml.text(one, "path"), one) for node in nodes for one in yaml.items(node, "directories")]
    for path, node in found:
        if path and not _WHOLE.fullmatch(path) and yaml.text(node, "exclude") != "true":
            yield path


def _destination(item: Object, spec: yaml.Node | None) -> tuple[str, tuple[str, ...]]:
    """Describe the clusters Argo CD applies an object to, and list names."""
    name, server = (yaml.text(spec, "destination", key) for key in ("name", "server"))
    if name == "in-cluster" or server.rstrip("/") == _OWN:
        return "", ()
    key, own = _PARAMETER.fullmatch(name or server), list(yaml.walk(yaml.get(item.root, "spec", "generators")))
    if key is None:
        return name or server, (name,)
    listed = [one for node in own for one in yaml.items(node, "elements")]
    texts = {yaml.text(one, step) for one in listed for step in ([key[1]] if name else yaml.pairs(one))}
    selector = next((node for one in own if (node := yaml.get(one, "clusters")) is not None), None)
    labels = yaml.pairs(selector, "selector", "matchLabels")
    having = " and ".join(f"{label}={yaml.text(selector, 'selector', 'matchLabels', label)}" for label in labels)
    return f"clusters with the labels {having}" if having else "clusters that a generator finds", tuple(texts)


# --- substitutions of Flux: `postBuild` of its Kustomizations


class Substitution(Struct, frozen=True):
    """Substitutions of a Kustomization for the manifests below a real path."""

    folder: str
    values: dict[str, yaml.Scalar]


def _substitutions(objects: Iterable[Object], top: Callable[[Source], str], named: Named) -> list[Substitution]:
    """List the substitutions in objects; `top` is the repository's folder."""
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
    """Return a function that applies the values of the nearest Kustomization."""
    found = _substitutions(objects, top, named)
    by_folder: dict[str, Callable[[str, yaml.Target], yaml.Target | None] | None] = {}

    def applied(items: Iterable[Object]) -> Iterator[Object]:
        for item in items:
            if item.folder not in by_folder:
                by_folder[item.folder] = _filler(system.real_path(item.folder), found)
            filler = by_folder[item.folder]
            yield replace(item, root=rebuild(item.root, filler)) if filler is not None else item

    return applied


def _filler(folder: str, found: list[Substitution]) -> Callable[[str, yaml.Target], yaml.Target | None] | None:
    above = [one for one in found if f"{folder}/".startswith(f"{one.folder.rstrip('/')}/")]
    deepest = max((len(one.folder) for one in above), default=0)
    near = [one.values for one in above if len(one.folder) == deepest]
    if not near:
        return None
    same = {key: node for key, node in near[0].items() if all(key in v and v[key].text == node.text for v in near)}
    return partial(_filled, same, len(near) == 1)


def _filled(values: dict[str, yaml.Scalar], defaults: bool, _name: str, node: yaml.Target) -> yaml.Target | None:
    """Substitute the variables in a text; None for other nodes and texts without any."""
    if not isinstance(node, yaml.Scalar) or isinstance(node, yaml.Computed) or "${" not in node.text:
        return None
    used: list[yaml.Scalar] = []

    def value(match: re.Match[str]) -> str:
        found = values.get(match[1])
        if found is not None:
            used.append(found)
            return found.text
        return match[0] if match[2] is None or not defaults else match[2]

    text = _FLUX_VARIABLE.sub(value, node.text)
    if text == node.text:
        return None
    plain = yaml.Scalar(*node.span, None, text, node.style, node.tag)
    if "${" in text:  # a part of it is still to be filled in
        return plain
    origin = Origin((*(one.span for one in used), node.span))
    return yaml.Computed(*node.span, None, text, node.style, node.tag, Known(yaml.value(plain), origin))
