"""Releases of the tree's charts by helm commands in guides and scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kcheck.kubernetes.helm_releases import Release, ReleaseValues, path_of
from kcheck.text.files import folders
from kcheck.text.files.tree import display_path
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.kubernetes.charts import Chart, Charts

_GUIDES = (".md", ".sh", ".bash", ".mk", "Makefile")
_COMMAND = regex(rb"\bhelm[ \t]+(?:install|upgrade|template)[ \t]((?:\\\r?\n|[^\n;|&`])+)")
_OPTION = regex(r"""(?:^|\s)(-f|--values|--set(?:-string|-file)?)[\s=]+((?:[^\s"'\\]|\\.|"[^"]*"|'[^']*')+)""")
_VALUE = regex(r"((?:[^,\\=]|\\.)+)=((?:[^,\\]|\\.)*)")
_VARIABLE = regex(r"^(?:\$\{?\w+\}?|~/[^/]+|<[^>]+>)/")
"""Matches what stands for a folder that only the user knows, often the repository."""
_QUOTES = regex("[\"']")


def commands(charts: Charts) -> Iterator[tuple[Span, str]]:
    """Yield helm's commands in the repositories of charts, each on one line."""
    for top in dict.fromkeys(charts.top(chart.source) for chart in charts.all):
        guides = sorted(path for path in charts.tree.disk.walk(top, folders.is_ours) if path.endswith(_GUIDES))
        for source in filter(None, map(charts.tree.source, guides)):
            for match in _COMMAND.finditer(source.data):
                text = match[1].decode("utf-8", "replace").replace("\\\r\n", " ").replace("\\\n", " ")
                yield Span(source.uneditable, *match.span()), text


def releases(chart: Chart, charts: Charts, given: Iterable[tuple[Span, str]]) -> Iterator[Release]:
    """Yield the releases of a chart by commands whose values files are there."""
    for span, text in given:
        tops = (os.path.dirname(span.source.path), charts.top(span.source))
        name = os.path.basename(chart.folder)
        if not any(name in word and chart.folder in _paths(word, tops) for word in text.split()):
            continue
        values = ReleaseValues(charts.find, "")
        for option, argument in _OPTION.findall(text):
            if not option.startswith("--set"):
                found = next(filter(None, map(charts.tree.source, _paths(argument, tops))), None)
                values.read(found, argument)
                continue
            for key, value in _VALUE.findall(_QUOTES.sub("", argument)):
                scalar = yaml.Scalar(*span, None, value, "plain" if option == "--set" else "double", None)
                values.sets[path_of(key)] = scalar
        if (values.trees or values.sets) and not values.gap:
            charts.sources += [tree.source for tree in values.trees]
            yield replace(chart.release(), place=span, trees=tuple(values.trees), sets=values.sets)


def _paths(word: str, tops: tuple[str, str]) -> list[str]:
    """Return the paths that a word may mean below some folders."""
    rest = _VARIABLE.sub("", _QUOTES.sub("", word))
    return [display_path(os.path.join(top, rest.lstrip("/"))) for top in tops]
