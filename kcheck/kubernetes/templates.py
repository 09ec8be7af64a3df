"""Charts rendered without helm: what `helm template` prints, if kcheck knows all that their templates use."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

from kcheck.kubernetes.template_functions import CAPABILITIES, call, field
from kcheck.kubernetes.template_syntax import (
    MAX_DEPTH,
    Body,
    Call,
    Field,
    Function,
    Literal,
    Pipeline,
    TemplateError,
    is_empty,
    parse,
    unsupported,
)
from kcheck.kubernetes.template_values import Fields, decimal, from_yaml, shown, values_of
from kcheck.text.files.tree import holds_objects
from kcheck.text.regex import regex
from kcheck.text.values import known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.charts import Chart
    from kcheck.kubernetes.template_syntax import Block, Command, Operand
    from kcheck.text.files.tree import Tree

MOST_STEPS = 200_000
_MOST_TEXT = 20_000_000
"""Characters that all steps of a chart may make."""
_NOTHING = "<no value>"
"""Go's text for nil, which helm removes in the end."""
_ABSENT = object()
_INSTALL = {"IsInstall": True, "IsUpgrade": False}
_SEPARATOR = regex(r"(?:^|\s*\n)---\s*", re.ASCII)

_BLOCK = regex(r"\{\{-?\s*(?:if|with|range|define)\b")
_CHANCE = regex(r"\{\{(?!-?\s*/\*)[^}\"`]*?(?<![.$\w])(now|rand[A-Z]\w+|uuidv4|gen[A-Z]\w+)\b")

Values = dict[str, object]
_Scope = list[tuple[str, object]]


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Add the place to errors that have none."""
    try:
        yield
    except TemplateError as error:
        error.place = error.place or place
        raise


class Interpreter:
    """Runs templates, with an end to their steps and texts."""

    def __init__(self, templates: dict[str, Body]) -> None:
        self.templates = templates
        self._steps = MOST_STEPS
        self._text = _MOST_TEXT
        self._depth = 0

    def run(self, body: Body, dot: object) -> str:
        """The text that a template makes.

        Raises:
            TemplateError: it fails, or is not supported.
        """
        out: list[str] = []
        self._walk(body, dot, [("$", dot)], out)
        return "".join(out)

    def _spend(self, made: object) -> None:
        self._steps -= 1 + (len(made) if isinstance(made, list | dict) else 0)
        self._text -= len(made) if isinstance(made, str) else 0
        if self._steps < 0 or self._text < 0:
            raise unsupported("too many steps")

    def _walk(self, body: Body, dot: object, scope: _Scope, out: list[str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise unsupported(f"more than {MAX_DEPTH} levels of templates")
        for node in body:
            if isinstance(node, str):
                self._spend(node)
                out.append(node)
            elif isinstance(node, Pipeline):
                value = self._pipeline(node, dot, scope)
                with _at(node.place):
                    out.append("" if node.variables else shown(value, _NOTHING))
                    self._spend(out[-1])
            elif isinstance(node, Call):
                value = self._pipeline(node.pipeline, dot, scope) if node.pipeline else None
                self._walk(self._template(node.name, node.place), value, [("$", value)], out)
            else:
                mark = len(scope)
                self._block(node, dot, scope, out)
                del scope[mark:]
        self._depth -= 1

    def _template(self, name: str, place: str = "") -> Body:
        if name not in self.templates:
            raise TemplateError(f"no template is called {name}", place)
        return self.templates[name]

    def _block(self, block: Block, dot: object, scope: _Scope, out: list[str]) -> None:
        if block.kind == "range":
            self._range(block, dot, scope, out)
            return
        value = self._pipeline(block.pipeline, dot, scope)
        if value:
            self._walk(block.body, value if block.kind == "with" else dot, scope, out)
        else:
            self._walk(block.other, dot, scope, out)

    def _range(self, block: Block, dot: object, scope: _Scope, out: list[str]) -> None:
        pipeline = block.pipeline
        value = self._pipeline(pipeline._replace(variables=()), dot, scope)
        if not isinstance(value, list | dict | None) or isinstance(value, Fields):
            raise unsupported("range over what is neither list nor map", pipeline.place)
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value or ()))
        if any(item is None for _, item in pairs):
            raise unsupported("range over null", pipeline.place)
        mark = len(scope)
        for key, item in pairs:
            for name, own in zip(pipeline.variables[::-1], (item, key), strict=False):
                self._assign(name, own, scope, pipeline)
            self._walk(block.body, item, scope, out)
            del scope[mark:]
        if not pairs:
            self._walk(block.other, dot, scope, out)

    def _assign(self, name: str, value: object, scope: _Scope, pipeline: Pipeline) -> None:
        if pipeline.declares:
            scope.append((name, value))
            return
        found = next((i for i in range(len(scope) - 1, -1, -1) if scope[i][0] == name), None)
        if found is None:
            raise TemplateError(f"{name} is not declared", pipeline.place)
        scope[found] = (name, value)

    # --- values

    def _pipeline(self, pipeline: Pipeline, dot: object, scope: _Scope) -> object:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise unsupported(f"more than {MAX_DEPTH} levels of templates", pipeline.place)
        value: object = _ABSENT
        with _at(pipeline.place):
            for command in pipeline.commands:
                value = self._command(command, dot, scope, value)
                self._spend(value)
        for name in pipeline.variables:
            self._assign(name, value, scope, pipeline)
        self._depth -= 1
        return value

    def _command(self, command: Command, dot: object, scope: _Scope, last: object) -> object:
        first, *others = command
        final = [] if last is _ABSENT else [last]
        if isinstance(first, Function):
            if first.name in ("and", "or"):
                return self._logic(first.name, others, dot, scope, final)
            return self._call(first.name, [*(self._value(one, dot, scope) for one in others), *final])
        value = self._field(first, dot, scope) if isinstance(first, Field) else first.value
        arguments = [*(self._value(one, dot, scope) for one in others), *final]
        if callable(value) and len(arguments) == 1 and isinstance(arguments[0], str):
            called: object = value(arguments[0])
            return called
        if callable(value) or arguments:
            raise TemplateError("it gives arguments to what is no function")
        return value

    def _logic(self, name: str, operands: list[Operand], dot: object, scope: _Scope, final: list[object]) -> object:
        value: object = None
        if not operands and not final:
            raise TemplateError(f"{name} has no arguments")
        for operand in operands:
            value = self._value(operand, dot, scope)
            if bool(value) == (name == "or"):
                return value
        return final[0] if final else value

    def _value(self, operand: Operand, dot: object, scope: _Scope) -> object:
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, Function):
            return self._call(operand.name, [])
        value = self._field(operand, dot, scope)
        if callable(value):
            raise TemplateError("it lacks an argument")
        return value

    def _field(self, operand: Field, dot: object, scope: _Scope) -> object:
        if isinstance(operand.root, Pipeline):
            value = self._pipeline(operand.root, dot, scope)
        elif operand.root:
            value = next((value for name, value in reversed(scope) if name == operand.root), _ABSENT)
            if value is _ABSENT:
                raise TemplateError(f"{operand.root} is not declared")
        else:
            value = dot
        if value is None:
            return None  # a nil that was a value of its own has all keys
        for key in operand.keys:
            value = field(value, key)
        return value

    def _call(self, name: str, arguments: list[object]) -> object:
        if name in ("include", "tpl"):
            if len(arguments) != 2 or not isinstance(arguments[0], str):
                raise TemplateError(f"{name} needs a text and a value")
            if name == "include":
                return self.run(self._template(arguments[0]), arguments[1])
            return self._tpl(arguments[0], arguments[1])
        return call(name, arguments)

    def _tpl(self, text: str, dot: object) -> str:
        if "{{" not in text:
            return text.replace(_NOTHING, "")
        self._steps -= len(text)
        found = parse(text, "")
        if len(found) > 1:
            raise unsupported("define in tpl")
        return self.run(found[""], dot).replace(_NOTHING, "")


# --- charts


class _File(NamedTuple):
    """A template: its path in the chart, its name for helm, its text, and what it finds in the dot."""

    path: str
    name: str
    text: str
    dot: Fields

    @property
    def is_partial(self) -> bool:
        """Whether it is there for others only."""
        return os.path.basename(self.path).startswith("_")


def output(chart: Chart, tree: Tree, release: str, values: str = "") -> str:
    """The text that `helm template` prints for a chart, with other values in JSON.

    Raises:
        TemplateError: it fails, or uses what kcheck does not know.
    """
    files = list(_Loader(chart, tree, release).files(json.loads(values, parse_int=float) if values else {}))
    if not any(holds_objects(file.text.encode()) for file in files):
        return ""
    files.sort(key=lambda file: (file.name.count("/"), file.name), reverse=True)  # as helm does
    templates: dict[str, Body] = {}
    for file in files:
        for name, body in parse(file.text, file.path).items():
            own = file.name if name == file.path else name
            if own not in templates or not is_empty(body):
                templates[own] = body
    interpreter = Interpreter(templates)
    texts = {file.path: interpreter.run(templates[file.name], file.dot) for file in files if not file.is_partial}
    return "".join(
        f"---\n# Source: {chart.label}/{path}\n{document.strip()}\n"
        for path in sorted(texts)
        for document in _SEPARATOR.split(texts[path].replace(_NOTHING, "").strip())
        if document.strip()
    )


class _Loader:
    """Reads the templates and values of a chart, and of those that it brings along."""

    def __init__(self, top: Chart, tree: Tree, release: str) -> None:
        self._top = top
        self._tree = tree
        self._release = {"Name": release, "Namespace": "default", "Service": "Helm", "Revision": 1, **_INSTALL}

    def files(self, given: Values) -> Iterator[_File]:
        """All templates."""
        for inside, text in self._templates(self._top):
            _refuse_chance(text, inside)
        return self._files(self._top, self._top.label, self._top.label, self._coalesced(self._top, given))

    def _files(self, chart: Chart, name: str, path: str, values: Values) -> Iterator[_File]:
        """The templates of a chart, which has a path by the names of charts for helm."""
        metadata = _metadata(chart, name, is_root=chart is self._top)
        dot: Values = {"Values": values, "Chart": metadata, "Release": self._release, "Capabilities": CAPABILITIES}
        for inside, text in self._templates(chart):
            own = Fields(Name=f"{path}/{inside}", BasePath=f"{path}/templates")
            place = _relative(os.path.join(chart.folder, inside), self._top.folder)
            yield _File(place, f"{path}/{inside}", text, Fields({**dot, "Template": own}))
        for part, key in _parts(chart, values):
            below = values[key]
            if isinstance(below, dict):
                yield from self._files(part, key, f"{path}/charts/{key}", below)

    def _templates(self, chart: Chart) -> Iterator[tuple[str, str]]:
        """The templates of a chart by their paths in it."""
        ignored = self._text(os.path.join(chart.folder, ".helmignore")).splitlines()
        patterns = [line.strip().strip("!/") for line in ignored if line.strip() and not line.startswith("#")]
        for file in sorted(self._tree.disk.walk(os.path.join(chart.folder, "templates"))):
            inside, base = _relative(file, chart.folder), os.path.basename(file)
            if base.startswith(".") or base == "NOTES.txt" or (chart.library and base[0] != "_"):
                continue
            if any(fnmatch(inside, one) or fnmatch(base, one) or inside.startswith(f"{one}/") for one in patterns):
                raise unsupported(".helmignore", f"{_relative(file, self._top.folder)}:1")
            yield inside, self._text(file, needed=True).replace("\r\n", "\n")

    def _text(self, path: str, *, needed: bool = False) -> str:
        source = self._tree.source(path)
        try:
            if source is not None:
                return source.data.decode()
        except UnicodeDecodeError:
            needed = True
        if needed:
            raise unsupported("a file that cannot be read", f"{_relative(path, self._top.folder)}:1")
        return ""

    def _own_values(self, chart: Chart) -> Values:
        """The values.yaml of a chart."""
        path = os.path.join(chart.folder, "values.yaml")
        if chart.values is not None and chart.values.source is self._tree.source(path):
            return values_of(chart.values)
        return from_yaml(self._text(path))

    def _coalesced(self, chart: Chart, given: Values, *, all_parts: bool = False, merged: bool = False) -> Values:
        """The values of a chart under given ones, with those of the charts that it brings along.

        Helm has `merged` them before, and meets nulls again, if one of those is listed as a dependency.
        """
        own = self._own_values(chart)
        values = _laid(own, given)
        if merged:
            _drop_nulls(values, own)
        if not chart.parts and not chart.dependencies:
            return values
        parts = list(_parts(chart, None if all_parts else self._coalesced(chart, given, all_parts=True)))
        listed = {dependency.key for dependency in chart.dependencies}
        merged = merged or any(key in listed for _, key in parts)
        for part, key in parts:
            below, shared = values.get(key, {}), values.get("global", {})
            inner = below.get("global", {}) if isinstance(below, dict) else None
            if not isinstance(below, dict) or not isinstance(shared, dict) or not isinstance(inner, dict):
                raise unsupported(f"values of {key} or global that are no map")
            values[key] = self._coalesced(
                part, {**below, "global": _laid(inner, shared)}, all_parts=all_parts, merged=merged
            )
        return values


def _refuse_chance(text: str, path: str) -> None:
    """Refuse what is random or the time before any block, without parsing: most charts that are refused have it."""
    block = _BLOCK.search(text)
    found = _CHANCE.search(text, 0, block.start() if block else len(text))
    if found:
        raise unsupported(found[1], f"{path}:{text.count(chr(10), 0, found.start()) + 1}")


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _metadata(chart: Chart, name: str, *, is_root: bool) -> Fields:
    """The Chart.yaml, all of it as text."""
    data = from_yaml(chart.source.data.decode("utf-8", "replace"))
    keys = ("apiVersion", "appVersion", "description", "home", "icon", "kubeVersion", "type", "version")
    texts = {f"{key[0].upper()}{key[1:]}".replace("Api", "API"): _coerced(data.get(key)) for key in keys}
    return Fields({**texts, "Name": name, "IsRoot": is_root})


def _coerced(value: object) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else decimal(value)
    return "" if value is None else shown(value)


def _drop_nulls(values: Values, own: Values) -> None:
    """Remove nulls where a chart's own values have something."""
    for key, below in list(own.items()):
        found = values.get(key)
        if found is None:
            values.pop(key, None)
        elif isinstance(found, dict) and isinstance(below, dict):
            _drop_nulls(found, below)


def _laid(under: Values, over: Values) -> Values:
    """Values over others: null removes what is there."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        if value is None and key in result:
            del result[key]
        else:
            result[key] = _laid(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _parts(chart: Chart, values: Values | None) -> Iterator[tuple[Chart, str]]:
    """The charts that one brings along, with their keys; with `values`, only those that are not switched off."""
    parts = {part.label: part for part in chart.parts}
    for dependency in chart.dependencies:
        name = known(dependency.name) or ""
        if name not in parts or dependency.unusual:
            what = f"{dependency.unusual} of" if dependency.unusual else "an archive for"
            raise unsupported(f"{what} the dependency {name}")
        switches = (_switch(path, values) for path in dependency.condition.split(",") if values is not None)
        if next((one for one in switches if one is not None), True):
            yield parts[name], dependency.key
    listed = {known(dependency.name) for dependency in chart.dependencies}
    yield from ((part, part.label) for part in chart.parts if part.label not in listed)


def _switch(path: str, values: Values) -> bool | None:
    """The boolean at a path; None if there is none."""
    value: object = values
    for key in path.strip().split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, bool) else None
