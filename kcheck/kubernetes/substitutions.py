"""Flux substitutions: `postBuild` of Kustomizations, applied to the manifests of a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kcheck.kubernetes.patches import rebuild
from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.values import Known, Origin

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.kubernetes.object_references import Named
    from kcheck.kubernetes.objects import Object
    from kcheck.text.text import Source

_GROUP = "kustomize.toolkit.fluxcd.io/"
_VARIABLE = regex(r"\$\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}")


class Substitution(Struct, frozen=True):
    """The substitutions of a Kustomization for the manifests below a real path."""

    folder: str
    values: dict[str, yaml.Scalar]


def read(objects: Iterable[Object], top: Callable[[Source], str], named: Named) -> list[Substitution]:
    """The substitutions in some objects; `top` is the folder of a source's repository."""
    result = []
    for item in objects:
        post = yaml.get(item.root, "spec", "postBuild")
        if item.kind != "Kustomization" or not item.api_version.startswith(_GROUP) or post is None:
            continue
        path = yaml.get(item.root, "spec", "path")
        folder = path.text if isinstance(path, yaml.Scalar) else "."
        values: dict[str, yaml.Scalar] = {}
        others = yaml.get(post, "substituteFrom")
        for other in others.items if isinstance(others, yaml.Sequence) else ():
            kind, name = yaml.get(other, "kind"), yaml.get(other, "name")
            if isinstance(kind, yaml.Scalar) and kind.text == "ConfigMap" and isinstance(name, yaml.Scalar):
                data = named.data(item.span.source, name.text) or {}
                values |= {key: node for key, node in data.items() if isinstance(node, yaml.Scalar)}
        own = yaml.get(post, "substitute")
        for key, entry in (yaml.entries(own) if isinstance(own, yaml.Mapping) else {}).items():
            value = yaml.resolve(entry.value)
            if isinstance(value, yaml.Scalar):
                values[key] = value
        real = system.real_path(os.path.join(top(item.span.source), os.path.normpath(folder.lstrip("/") or ".")))
        result.append(Substitution(real, values))
    return result


def of(
    objects: Iterable[Object], top: Callable[[Source], str], named: Named
) -> Callable[[Iterable[Object]], Iterator[Object]]:
    """What gives objects the values of the nearest Kustomization among some, or the common values of several."""
    found = read(objects, top, named)
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
        """A text with the values of its variables; None for all else, and for a text without any."""
        if not isinstance(node, yaml.Scalar) or isinstance(node, yaml.Computed) or "${" not in node.text:
            return None
        return self._scalar(node)

    def _scalar(self, node: yaml.Scalar) -> yaml.Scalar:
        used: list[yaml.Scalar] = []

        def value(match: re.Match[str]) -> str:
            found = self.values.get(match[1])
            if found is not None:
                used.append(found)
                return found.text
            return match[0] if match[2] is None or not self.defaults else match[2]

        text = _VARIABLE.sub(value, node.text)
        if text == node.text:
            return node
        plain = yaml.Scalar(*node.span, None, text, node.style, node.tag)
        if "${" in text:  # a part of it is still to be filled in
            return plain
        origin = Origin((*(one.span for one in used), node.span))
        return yaml.Computed(*node.span, None, text, node.style, node.tag, Known(yaml.value(plain), origin))
