"""Rendered charts as objects, by helm or without it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.kubernetes import marked_values
from kcheck.kubernetes.charts import MOST_RELEASES, Chart, Charts
from kcheck.kubernetes.helm_releases import Release, merged
from kcheck.kubernetes.marked_values import Unknowns
from kcheck.kubernetes.objects import Object, objects_in
from kcheck.kubernetes.template_functions import (
    MOST_TEXT,
    Fields,
    TemplateError,
    from_json,
    from_yaml,
    to_json,
    unsupported,
    values_of,
)
from kcheck.kubernetes.templates import NOTHING, Body, Interpreter, parse
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON, contains_path
from kcheck.text.files.disk import TooLargeError
from kcheck.text.files.tree import Tree, display_path, holds_objects
from kcheck.text.regex import regex
from kcheck.text.syntax import embedded_yaml, yaml
from kcheck.text.text import Problem, Source, Span
from kcheck.text.values import Known, Origin, Piece, known

TIMEOUT = 60
_MOST = 500  # characters shown of helm's message
_SEPARATOR = regex(r"^---[ \t]*\n", re.MULTILINE)
_SOURCE = regex(r"^# Source: [^/\n]+/(\S.*?)[ \t]*$", re.MULTILINE)
_ACTION = regex(r"\{\{-?.*?-?\}\}")
_VALUE = regex(r"\{\{-?\s*\.Values\.([\w.]+)\s*(?:\|[^}]*)?-?\}\}")
_HEAD = regex(r"[\w./\"'-]*")
_UNKNOWN = regex(r"(kcheckunknown\d+x)", re.IGNORECASE)
_DOCUMENT_END = regex(r"(?:^|\n)---\s*", re.ASCII)
_APIS = frozenset({"apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1"})
_GLOB = regex(r"(?:[\w./-]|\*)*")
_NO_FILE = regex(r"Chart\.|values\.|templates/|charts/")
"""Parts of a chart that its templates cannot read."""
_NAME = regex(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")


class _HelmError(Exception):
    """helm printed nothing; the message says why."""


class Rendering:
    """Objects of a rendered chart, or why it was `refused`.

    Values come from the chart and files, or from a `release`. For a fix, the chart is rendered again to find the values
    behind requests and limits. It may use the templates of its `family`.
    """

    def __init__(self, chart: Chart, charts: Charts, release: Release | None, family: tuple[Chart, ...]) -> None:
        self.chart, self.tree = chart, charts.tree
        helm, traced, files = charts.helm, charts.config.traced, charts.config.helm_values if charts.helm else ()
        own = [*([chart.values] if chart.values is not None else []), *charts.values(files)]
        self.values = merged(own) if release is None else release.values
        self.problems: list[Problem] = []
        self.objects: list[Object] = []
        self.refused: TemplateError | None = None
        self._templates: dict[str, _Template] = {}
        self._unknown: Unknowns = {}
        name = next(filter(_NAME.fullmatch, (known(release.name) or "" if release else "", chart.label, "release")))
        try:
            given = self._given(release, charts) if release is not None else ""
            if helm:
                _refuse_links(charts.tree, chart)
                with _as_read(charts.tree, (chart.folder, *files)) as (folder, *values):
                    self._render(partial(_output, helm, chart, name, folder, values), given, traced=traced)
            elif release is None and charts.may_deploy(chart):
                self.refused = TemplateError("something in the tree may deploy it with other values")
            else:
                render = partial(output_without_helm, chart, family, charts.tree, name, self._unknown)
                self._render(render, given, traced=traced)
                self._refuse_without_image()
        except _HelmError as error:
            message = f"the chart {chart.label} could not be rendered: {error}"
            self.problems.append(Problem(message, chart.source.span(0, 0)))
        except TemplateError as error:
            self.refused, self.objects = error, []
        if self.problems:
            self.objects = []
            if not helm:
                self.refused, self.problems = TemplateError(self.problems[0].message), []

    def refuse(self, reason: TemplateError | None, inside: str = "") -> None:
        """Refuse the whole chart if a chart `inside` it is refused."""
        if reason is not None and self.refused is None:
            reason.place = reason.place and os.path.join(inside, reason.place)
            self.refused = reason
        self.objects = [] if self.refused else self.objects

    def _given(self, release: Release, charts: Charts) -> str:
        """Return a release's values as JSON. Raises TemplateError if some lack."""
        charts.left -= 1
        if release.gap or charts.left < 0:
            raise TemplateError(release.gap or f"more than {MOST_RELEASES} charts are rendered for releases")
        return to_json(self.values, self._unknown)

    def _render(self, render: Callable[[str], str], given: str, *, traced: bool) -> None:
        """Render with values in JSON, empty for the chart's own, and read the output."""
        output = render(given)
        self._read(output)
        if traced and self.objects:
            self.objects = marked_values.traced(self.values, output, self.objects, partial(_again, render))

    def _refuse_without_image(self) -> None:
        """Refuse a chart whose own values name no image: its users have to set one.

        Raises TemplateError if a container has none.
        """
        for node in (node for item in self.objects for node in yaml.walk(item.root)):
            image, name = yaml.get(node, "image"), yaml.get(node, "name")
            if name is not None and isinstance(image, yaml.Scalar) and (not image.text or image.text.startswith(":")):
                place = name.span.location.removeprefix(f"{self.chart.folder}/")
                raise TemplateError("its own values name no image", place)

    def _read(self, output: str) -> None:
        for part in _SEPARATOR.split(output):
            match = _SOURCE.search(part)
            if match is None or not holds_objects(part.encode()):
                continue
            pieces: Iterable[Piece] = self._template(match[1]).pieces(part)
            if self._unknown:
                pieces = (one for piece in pieces for one in self._with_unknown(piece))
            for root in embedded_yaml.read(tuple(pieces)):
                if isinstance(root, Problem):
                    self.problems.append(replace(root, message=f"as helm renders it: {root.message}"))
                else:
                    self.objects += objects_in(root)

    def _with_unknown(self, piece: Piece) -> Iterator[Piece]:
        """Split a piece at placeholders of unknown values."""
        parts = [text for text in _UNKNOWN.split(piece.text) if text]
        if len(parts) < 2 and parts[0].lower() not in self._unknown:
            yield piece
            return
        for text in parts:
            missing = self._unknown.get(text.lower())
            yield _piece(text, piece.span) if missing is None else Piece(text, piece.span, missing)

    def _template(self, path: str) -> _Template:
        """Return the template at a path of the chart; Chart.yaml if it is in an archive."""
        if path not in self._templates:
            full = os.path.join(self.chart.folder, path)
            found = self.tree.source(full) if contains_path(self.chart.folder, full) else None
            own = None if path.startswith("charts/") else self.values  # charts that it brings along have others
            self._templates[path] = _Template(found or self.chart.source, own, whole=found is not None)
        return self._templates[path]


@contextmanager
def _as_read(tree: Tree, paths: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield paths for helm: copies if the tree differs from the disk."""
    if not any(contains_path(path, changed) for path in paths for changed in tree.disk.overlay):
        yield list(paths)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="kcheck-") as top:
        copies = [os.path.join(top, str(i), os.path.basename(os.path.abspath(path))) for i, path in enumerate(paths)]
        for path, copy in zip(paths, copies, strict=True):
            for file in tree.disk.walk(path) if tree.disk.is_folder(path) else [path]:
                data = None
                with suppress(TooLargeError):  # nothing that helm reads is so large
                    data = tree.disk.read(file)
                if data is not None:
                    target = os.path.normpath(os.path.join(copy, os.path.relpath(file, path)))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as new:
                        new.write(data)
        yield copies


def _refuse_links(tree: Tree, chart: Chart) -> None:
    """Refuse a chart with which helm would read files that kcheck may not.

    Raises _HelmError if a link in it leads out of the repository.
    """
    for link in tree.disk.links(chart.folder):
        if tree.disk.is_outside(link):
            raise _HelmError(f"{display_path(link)} is {REASON}")


def _output(helm: str, chart: Chart, name: str, folder: str, files: list[str], values: str) -> str:
    """Run helm and return its output. Raises _HelmError if it fails."""
    import subprocess
    from tempfile import TemporaryDirectory

    missing = ", ".join(_missing(chart))
    if missing:
        which = "run `helm dependency build`; kcheck downloads nothing"
        raise _HelmError(f"its dependency {missing} is not in charts/: {which}")
    with TemporaryDirectory(prefix="kcheck-") as top:
        if values:
            files = [*files, os.path.join(top, "values.json")]
            with open(files[-1], "w", encoding="utf-8") as new:
                new.write(values)
        command = [helm, "template", name, os.path.join(".", folder), *(f"--values={path}" for path in files)]
        try:
            done = subprocess.run(  # noqa: S603 - the user asked for it
                command, capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL
            )
            output = done.stdout.decode()
        except subprocess.TimeoutExpired:
            raise _HelmError(f"helm template took more than {TIMEOUT} s") from None
        except OSError as error:
            raise _HelmError(f"helm does not start: {error.strerror or error}") from error
        except UnicodeDecodeError:
            raise _HelmError("the output of helm is not UTF-8") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise _HelmError(said[:_MOST] or f"helm template ended with {done.returncode}")
    return output.replace("\r\n", "\n")


def _again(render: Callable[[str], str], values: str) -> str | None:
    """Render with other values; None if that fails."""
    try:
        return render(values)
    except (_HelmError, TemplateError):
        return None


# --- without helm


def _has_api(name: object) -> bool:
    """Whether helm knows an API; it knows only those of Kubernetes itself."""
    group = str(name).partition("/")[0]
    if name not in _APIS and ("." not in group or group.endswith(".k8s.io")):
        raise unsupported(f'.Capabilities.APIVersions.Has "{name}"')
    return name in _APIS


def output_without_helm(
    chart: Chart, family: Iterable[Chart], tree: Tree, release: str, unknown: Unknowns, values: str = ""
) -> str:
    """Return the output of `helm template` for a chart.

    It may use the templates of its `family`. Texts in `unknown` stand for unknown values. Raises TemplateError if it
    fails, or uses something that kcheck does not render.
    """
    texts = dict(_templates(chart, tree))
    if not any(holds_objects(text.encode()) for text in texts.values()):
        return ""
    files = {f"{chart.label}/{path}": text for path, text in texts.items() if "define" not in text}
    templates: dict[str, Body] = {}
    for own in (*(one for one in family if one is not chart), chart):
        found = texts if own is chart else dict(_templates(own, tree))
        for path in sorted(found, key=lambda path: (path.count("/"), path), reverse=True):  # as helm does
            if "define" in found[path]:
                parse(found[path], path, f"{own.label}/{path}", templates)
    dot = _dot(chart, tree, release, from_json(values, unknown) if values else None)
    interpreter, made = Interpreter(templates, files), ""
    for path in sorted(path for path in texts if not os.path.basename(path).startswith("_")):
        name = f"{chart.label}/{path}"
        own_dot = Fields(dot, Template=Fields(Name=name, BasePath=f"{chart.label}/templates"))
        documents = _DOCUMENT_END.split(interpreter.run(name, own_dot).replace(NOTHING, "").strip())
        made += "".join(f"---\n# Source: {name}\n{one.strip()}\n" for one in documents if one.strip())
        if len(made) > MOST_TEXT:
            raise unsupported("too much text", f"{path}:1")
    return made


def _dot(chart: Chart, tree: Tree, release: str, values: dict[str, object] | None) -> Fields:
    metadata = from_yaml(chart.source.data.decode("utf-8", "replace"))
    texts = {"Version": metadata.get("version"), "AppVersion": metadata.get("appVersion", ""), "Name": chart.label}
    about = {"Name": release, "Namespace": "default", "Service": "Helm", "IsInstall": True, "IsUpgrade": False}
    if values is None:
        path = os.path.join(chart.folder, "values.yaml")
        is_read = chart.values is not None and chart.values.source is tree.source(path)
        values = values_of(chart.values) if is_read else from_yaml(_text(tree, path))
    return Fields(
        Values=values,
        Chart=Fields({key: text for key, text in texts.items() if isinstance(text, str)}),
        Release=Fields(about, Revision=1, Time=None),  # helm 3 has none, and its date is today
        Capabilities=Fields(APIVersions=Fields(Has=_has_api)),
        Files=Fields(
            Get=lambda path: _files(chart, tree, str(path)).pop(str(path), ""),
            Glob=lambda pattern: _files(chart, tree, str(pattern)),
        ),
    )


def _files(chart: Chart, tree: Tree, pattern: str) -> dict[str, str]:
    """Read the files of a chart whose paths match a pattern."""
    if _GLOB.fullmatch(pattern) is None:
        raise unsupported(f".Files.Glob {pattern}")
    found = (one for one in _inside(chart, tree, "") if "**" in pattern or one.count("/") == pattern.count("/"))
    own = (one for one in found if fnmatch(one, pattern) and not _NO_FILE.match(one))
    return {one: _text(tree, os.path.join(chart.folder, one)) for one in own}


def _templates(chart: Chart, tree: Tree) -> Iterator[tuple[str, str]]:
    for inside in _inside(chart, tree, "templates"):
        yield inside, _text(tree, os.path.join(chart.folder, inside)).replace("\r\n", "\n")


def _inside(chart: Chart, tree: Tree, folder: str) -> Iterator[str]:
    """Yield the paths of a chart's files in a subfolder.

    Raises TemplateError if one is ignored by helm, or cannot be read.
    """
    ignored = _text(tree, os.path.join(chart.folder, ".helmignore")).splitlines()
    patterns = [line.strip().strip("!/") for line in ignored if line.strip() and not line.startswith("#")]
    for file in sorted(tree.disk.walk(os.path.join(chart.folder, folder))):
        inside, base = os.path.relpath(file, chart.folder).replace(os.sep, "/"), os.path.basename(file)
        if base.startswith(".") or base == "NOTES.txt":
            continue
        if any(fnmatch(inside, one) or fnmatch(base, one) or inside.startswith(f"{one}/") for one in patterns):
            raise unsupported(".helmignore", f"{inside}:1")
        if tree.source(file) is None:
            raise unsupported("a file that cannot be read", f"{inside}:1")
        yield inside


def _text(tree: Tree, path: str) -> str:
    source = tree.source(path)
    try:
        return source.data.decode() if source is not None else ""
    except UnicodeDecodeError:
        raise unsupported(f"a {os.path.basename(path)} that is not UTF-8") from None


# --- places


class _Template:
    """A template, and the lines of it that may have produced a line of the output."""

    def __init__(self, source: Source, values: yaml.Target | None, *, whole: bool) -> None:
        self.source = source
        if whole:
            source.derived = True  # what helm prints is not what stands there: no fix can go into it
        self.values = values
        self.plain: dict[str, list[Span]] = {}
        self.made: dict[str, list[tuple[str, Span, str]]] = {}
        data = source.data
        for start, end in zip(source.line_starts, [*source.line_starts[1:], len(data)], strict=True):
            line = data[start:end]
            text = line.decode("utf-8", "replace").strip()
            begin = start + len(line) - len(line.lstrip())
            span = source.span(begin, begin + len(line.strip()))
            if not whole or not text:
                continue
            if actions := _ACTION.findall(text):  # one that ends on a later line leaves nothing to compare
                head, path = _head(text), _VALUE.findall(text) if len(actions) == 1 else []
                if head:
                    made = (_pattern(_ACTION.split(text)), span, path[0] if path else "")
                    self.made.setdefault(head, []).append(made)
            else:
                self.plain.setdefault(text, []).append(span)

    def pieces(self, part: str) -> Iterator[Piece]:
        """Yield the lines of a part of the output, each with its span."""
        for line in part.splitlines(keepends=True):
            text = line.strip()
            same = self.plain.get(text, [])
            made = self.made.get(_head(text), []) if text and not same else []
            found = [
                self._filled(match, span, path)
                for pattern, span, path in made
                if (match := re.fullmatch(pattern, text))
            ]
            certain = [one for one in found if one.value is not None] or found
            if len(same) == 1 or not certain or len(certain) > 1:
                yield _piece(line, same[0] if len(same) == 1 else self.source.span(0, 0))
            else:
                yield from certain[0].pieces(line)

    def _filled(self, match: re.Match[str], span: Span, path: str) -> _Filled:
        """Return a templated line, with its chart value if it has only one."""
        node = yaml.get(self.values, *path.split(".")) if path else None
        value = match[1].strip("\"'") if path else ""
        given = isinstance(node, yaml.Scalar) and node.text == value and value
        return _Filled(match, span, node.span if given and node is not None else None)


def _pattern(parts: list[str]) -> str:
    """Return the pattern of a line with actions between its parts."""
    first, *between, last = map(re.escape, parts)
    return f"{first}{''.join(f'(?>.*?{part})' for part in between)}(.*){last}"


class _Filled(NamedTuple):
    """A line filled in at `span`, and the place of its value."""

    match: re.Match[str]
    span: Span
    value: Span | None

    def pieces(self, line: str) -> Iterator[Piece]:
        """Yield the line, with the value at its own span."""
        if self.value is None:
            yield _piece(line, self.span)
            return
        at = len(line) - len(line.lstrip())
        start, end = at + self.match.start(1), at + self.match.end(1)
        if line[start - 1 : start] in ('"', "'") and line[end : end + 1] == line[start - 1]:
            start, end = start - 1, end + 1
        yield _piece(line[:start], self.span)
        text = line[start:end]
        yield Piece(text, self.span, Known(text, Origin((self.value, self.span))))
        yield _piece(line[end:], self.span)


def _piece(text: str, span: Span) -> Piece:
    """Build a part of the output that is not literally in any file."""
    return Piece(text, span, Known(text, Origin((span,))))


def _head(text: str) -> str:
    """Return the start of a line, up to its value."""
    found = _HEAD.match(text.removeprefix("- "))
    return found[0] if found else ""


def _missing(chart: Chart) -> Iterator[str]:
    """Yield the dependencies that helm would not find."""
    folder = os.path.join(chart.folder, "charts")
    names = {name for name, _ in system.entries(folder)} if os.path.isdir(folder) else set()
    for dependency in chart.dependencies:
        name = known(dependency.name) or ""
        if name and name not in names and not any(re.fullmatch(rf"{re.escape(name)}-v?\d.*\.tgz", n) for n in names):
            yield name
