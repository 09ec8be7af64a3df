"""Argo CD and Flux: they reapply folders, so deleted objects come back."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from kcheck.text.files import system
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kcheck.kubernetes.objects import Object
    from kcheck.text.text import Source

KINDS = frozenset({"Application", "ApplicationSet", "Kustomization"})
_PLACEHOLDER = regex(r"\{\{[^}]*\}\}|\$\{[^}]*\}|\*+")
_WHOLE = regex(r"\{\{-?\s*\.?path(?:\.path)?\s*-?\}\}")
"""Path of an ApplicationSet that stands for each folder its generator finds."""


class Sync(NamedTuple):
    """A tool that applies folders: its name, and a pattern of real paths."""

    name: str
    folders: re.Pattern[str]


def read(objects: Iterable[Object], top: Callable[[Source], str]) -> Iterator[Sync]:
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
    if item.kind == "Kustomization" and group == "kustomize.toolkit.fluxcd.io":
        yield yaml.text(item.root, "spec", "path") or "."
    if group != "argoproj.io" or item.kind not in KINDS:
        return
    spec = (
        yaml.get(item.root, "spec") if item.kind == "Application" else yaml.get(item.root, "spec", "template", "spec")
    )
    if yaml.text(spec, "syncPolicy", "automated", "selfHeal") != "true":
        return
    several = yaml.get(spec, "sources")
    for source in several.items if isinstance(several, yaml.Sequence) else (yaml.get(spec, "source"),):
        path = yaml.text(source, "path")
        if path and _WHOLE.fullmatch(path):
            yield from _generated(item)
        elif path:
            yield path


def _generated(item: Object) -> Iterator[str]:
    """Yield the folders of an ApplicationSet's generators."""
    for node in yaml.walk(yaml.get(item.root, "spec", "generators")):
        found = yaml.get(node, "directories") if isinstance(node, yaml.Mapping) else None
        for one in found.items if isinstance(found, yaml.Sequence) else ():
            if yaml.text(one, "exclude") != "true" and (path := yaml.text(one, "path")):
                yield path
