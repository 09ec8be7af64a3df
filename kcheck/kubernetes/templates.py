"""Charts rendered without helm: what `helm template` prints, if kcheck knows all that their templates use."""

from __future__ import annotations

import json
import os
import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from kcheck.kubernetes.template_functions import (
    RANDOM,
    Chance,
    Fields,
    call,
    decimal,
    field,
    from_yaml,
    shown,
    values_of,
)
from kcheck.kubernetes.template_syntax import MAX_DEPTH, Body, Literal, TemplateError, is_empty, parse, unsupported
from kcheck.text.files.tree import holds_objects
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.kubernetes.charts import Chart
    from kcheck.kubernetes.template_syntax import Action, Command, Field, Node, Operand, Pipeline
    from kcheck.text.files.tree import Tree

_MOST = 20_000_000
"""Characters that the steps of a chart may make; a step itself counts as 100."""
_NOTHING = "<no value>"
"""Go's text for nil, which helm removes in the end."""
_ABSENT = object()
_APIS = frozenset({"apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1"})
_SEPARATOR = regex(r"(?:^|\s*\n)---\s*", re.ASCII)

_Scope = list[tuple[str, object]]


class Interpreter:
    """Runs templates, with an end to their steps and texts."""

    def __init__(self, templates: dict[str, Body]) -> None:
        self.templates = templates
        self._left = _MOST
        self._depth = 0
        self._random = 0

    def run(self, name: str, dot: object) -> str:
        """The text that a template makes.

        Raises:
            TemplateError: it fails, or is not supported.
        """
        out: list[str] = []
        self._walk(self._template(name), dot, [("$", dot)], out)
        text = "".join(out)
        return Chance(text) if any(isinstance(one, Chance) for one in out) else text

    def _template(self, name: str) -> Body:
        if name not in self.templates:
            raise TemplateError(f"no template is called {name}")
        return self.templates[name]

    def _spend(self, made: object) -> None:
        self._left -= 100 + (len(made) if isinstance(made, str) else 100 * len(made) if isinstance(made, list) else 0)
        if self._left < 0:
            raise unsupported("too many steps")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise unsupported(f"more than {MAX_DEPTH} levels of templates")

    def _walk(self, body: Body, dot: object, scope: _Scope, out: list[str]) -> None:
        self._deeper()
        for node in body:
            if isinstance(node, str):
                self._spend(node)
                out.append(node)
                continue
            try:
                self._node(node, dot, scope, out)
            except TemplateError as error:
                error.place = error.place or node.place
                raise
        self._depth -= 1

    def _node(self, node: Node, dot: object, scope: _Scope, out: list[str]) -> None:
        action, mark = node.action, len(scope)
        value = self._pipeline(action.pipeline, dot, scope) if action.pipeline else None
        if action.keyword == "range":
            self._range(node, value, dot, scope, out)
            return
        for name in action.variables:
            _assign(action, name, value, scope)
        if action.keyword == "template":
            self._walk(self._template(action.name), value, [("$", value)], out)
        elif action.keyword:
            holds = _is_true(value)
            inner = value if holds and action.keyword == "with" else dot
            self._walk(node.body if holds else node.other, inner, scope, out)
            del scope[mark:]
        elif not action.variables:
            out.append(shown(value, _NOTHING))
            self._spend(out[-1])

    def _range(self, node: Node, value: object, dot: object, scope: _Scope, out: list[str]) -> None:
        if not isinstance(value, list | dict | None) or isinstance(value, Fields):
            raise unsupported("range over what is neither list nor map")
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value or ()))
        if any(item is None for _, item in pairs):
            raise unsupported("range over null")
        mark = len(scope)
        for key, item in pairs:
            for name, own in zip(node.action.variables[::-1], (item, key), strict=False):
                _assign(node.action, name, own, scope)
            self._spend(None)
            self._walk(node.body, item, scope, out)
            del scope[mark:]
        if not pairs:
            self._walk(node.other, dot, scope, out)

    # --- values

    def _pipeline(self, pipeline: Pipeline, dot: object, scope: _Scope) -> object:
        self._deeper()
        value: object = _ABSENT
        for command in pipeline:
            value = self._command(command, dot, scope, value)
            self._spend(value)
        self._depth -= 1
        return value

    def _command(self, command: Command, dot: object, scope: _Scope, last: object) -> object:
        first, *others = command
        final = [] if last is _ABSENT else [last]
        if first in ("and", "or"):
            return self._logic(str(first), others, dot, scope, final)
        arguments = [*(self._value(one, dot, scope) for one in others), *final]
        if isinstance(first, str):
            return self._call(first, arguments)
        value = first.value if isinstance(first, Literal) else self._field(first, dot, scope)
        if value is _has_api and len(arguments) == 1:
            return _has_api(arguments[0])
        if value is _has_api or arguments:
            raise TemplateError("it gives arguments to what is no function")
        return value

    def _logic(self, name: str, operands: list[Operand], dot: object, scope: _Scope, final: list[object]) -> object:
        value: object = None
        if not operands and not final:
            raise TemplateError(f"{name} has no arguments")
        for operand in operands:
            value = self._value(operand, dot, scope)
            if _is_true(value) == (name == "or"):
                return value
        return final[0] if final else value

    def _value(self, operand: Operand, dot: object, scope: _Scope) -> object:
        if isinstance(operand, str):
            return self._call(operand, [])
        return operand.value if isinstance(operand, Literal) else self._field(operand, dot, scope)

    def _field(self, operand: Field, dot: object, scope: _Scope) -> object:
        value = dot
        if isinstance(operand.root, tuple):
            value = self._pipeline(operand.root, dot, scope)
        elif operand.root:
            value = scope[_position(operand.root, scope)][1]
        if value is None:
            return None  # a nil that was a value of its own has all keys
        for key in operand.keys:
            value = field(value, key)
        return value

    def _call(self, name: str, arguments: list[object]) -> object:
        if name == "include":
            if len(arguments) != 2 or type(arguments[0]) is not str:
                raise TemplateError("include needs a text and a value")
            return self.run(arguments[0], arguments[1])
        result = call(name, arguments)
        if name in RANDOM:
            self._random += 1
            return Chance(f"{result}-{self._random}")
        return result


def _position(name: str, scope: _Scope) -> int:
    """The place of the innermost variable of a name."""
    for i in range(len(scope) - 1, -1, -1):
        if scope[i][0] == name:
            return i
    raise TemplateError(f"{name} is not declared")


def _assign(action: Action, name: str, value: object, scope: _Scope) -> None:
    if action.declares:
        scope.append((name, value))
    else:
        scope[_position(name, scope)] = (name, value)


def _is_true(value: object) -> bool:
    if isinstance(value, Chance):
        raise unsupported("a random text as a condition")
    return bool(value)


def _has_api(name: object) -> bool:
    """Whether helm takes an API for known: those of other projects are not."""
    group = str(name).partition("/")[0]
    if name not in _APIS and ("." not in group or group.endswith(".k8s.io")):
        raise unsupported(f'.Capabilities.APIVersions.Has "{name}"')
    return name in _APIS


# --- charts


def output(chart: Chart, tree: Tree, release: str, values: str = "") -> str:
    """The text that `helm template` prints for a chart, with other values in JSON.

    Raises:
        TemplateError: it fails, or uses what kcheck does not know.
    """
    texts = dict(_templates(chart, tree))
    if not any(holds_objects(text.encode()) for text in texts.values()):
        return ""
    if chart.parts or chart.dependencies:
        raise unsupported("other charts", "Chart.yaml:1")
    templates: dict[str, Body] = {}
    for path in sorted(texts, key=lambda path: (path.count("/"), path), reverse=True):  # as helm does
        for name, body in parse(texts[path], path).items():
            own = f"{chart.label}/{name}" if name == path else name
            if own not in templates or not is_empty(body):
                templates[own] = body
    dot = _dot(chart, tree, release, values)
    interpreter = Interpreter(templates)
    made = []
    for path in sorted(path for path in texts if not os.path.basename(path).startswith("_")):
        name = f"{chart.label}/{path}"
        own_dot = Fields(dot, Template=Fields(Name=name, BasePath=f"{chart.label}/templates"))
        documents = _SEPARATOR.split(interpreter.run(name, own_dot).replace(_NOTHING, "").strip())
        made += [f"---\n# Source: {name}\n{one.strip()}\n" for one in documents if one.strip()]
    return "".join(made)


def _dot(chart: Chart, tree: Tree, release: str, values: str) -> Fields:
    """What templates find in the dot."""
    metadata = from_yaml(chart.source.data.decode("utf-8", "replace"))
    version, app_version = (_coerced(metadata.get(key)) for key in ("version", "appVersion"))
    return Fields(
        Values=json.loads(values, parse_int=float) if values else _own_values(chart, tree),
        Chart=Fields(Name=chart.label, Version=version, AppVersion=app_version),
        Release={
            "Name": release, "Namespace": "default", "Service": "Helm", "Revision": 1, "IsInstall": True, "IsUpgrade": False
        },
        Capabilities=Fields(APIVersions=Fields(Has=_has_api)),
    )  # fmt: skip


def _own_values(chart: Chart, tree: Tree) -> dict[str, object]:
    """The values.yaml of a chart."""
    path = os.path.join(chart.folder, "values.yaml")
    if chart.values is not None and chart.values.source is tree.source(path):
        return values_of(chart.values)
    return from_yaml(_text(tree, path))


def _coerced(value: object) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else decimal(value)
    return "" if value is None else shown(value)


def _templates(chart: Chart, tree: Tree) -> Iterator[tuple[str, str]]:
    """The templates of a chart by their paths in it."""
    ignored = _text(tree, os.path.join(chart.folder, ".helmignore")).splitlines()
    patterns = [line.strip().strip("!/") for line in ignored if line.strip() and not line.startswith("#")]
    for file in sorted(tree.disk.walk(os.path.join(chart.folder, "templates"))):
        inside, base = os.path.relpath(file, chart.folder).replace(os.sep, "/"), os.path.basename(file)
        if base.startswith(".") or base == "NOTES.txt":
            continue
        if any(fnmatch(inside, one) or fnmatch(base, one) or inside.startswith(f"{one}/") for one in patterns):
            raise unsupported(".helmignore", f"{inside}:1")
        if tree.source(file) is None:
            raise unsupported("a file that cannot be read", f"{inside}:1")
        yield inside, _text(tree, file).replace("\r\n", "\n")


def _text(tree: Tree, path: str) -> str:
    source = tree.source(path)
    try:
        return source.data.decode() if source is not None else ""
    except UnicodeDecodeError:
        raise unsupported(f"a {os.path.basename(path)} that is not UTF-8") from None
