"""Charts rendered without helm: what `helm template` prints, if kcheck knows all that their templates use."""

from __future__ import annotations

import json
import os
import re
from collections import ChainMap
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from kcheck.kubernetes.template_functions import Chance, Fields, call, field, from_yaml, shown, values_of
from kcheck.kubernetes.template_syntax import MAX_DEPTH, Body, Literal, TemplateError, parse, unsupported
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

_Scope = ChainMap[str, object]


class Interpreter:
    """Runs templates, with an end to their steps and texts."""

    def __init__(self, templates: dict[str, Body], files: dict[str, str]) -> None:
        self.templates = templates
        self._files = files
        """Texts that are parsed when they are run: most charts that are refused fail at the first."""
        self._left = _MOST
        self._depth = 0
        self._random = 0

    def run(self, name: str, dot: object) -> str:
        """The text that a template makes.

        Raises:
            TemplateError: it fails, or is not supported.
        """
        out: list[str] = []
        self._walk(self._template(name), dot, ChainMap({"$": dot}), out)
        text = "".join(out)
        return Chance(text) if any(isinstance(one, Chance) for one in out) else text

    def _template(self, name: str) -> Body:
        if name in self._files:
            parse(self._files.pop(name), name.partition("/")[2], name, self.templates)
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
        action = node.action
        inner = scope.new_child() if action.keyword else scope
        value = self._pipeline(action.pipeline, dot, scope) if action.pipeline else None
        if action.keyword == "range":
            self._range(node, value, dot, inner, out)
            return
        for name in action.variables:
            _assign(action, name, value, inner)
        if action.keyword == "template":
            self._walk(self._template(action.name), value, ChainMap({"$": value}), out)
        elif action.keyword and value:
            self._walk(node.body, value if action.keyword == "with" else dot, inner, out)
        elif action.keyword:
            self._walk(node.other, dot, inner, out)
        elif not action.variables:
            out.append(shown(value, _NOTHING))
            self._spend(out[-1])

    def _range(self, node: Node, value: object, dot: object, scope: _Scope, out: list[str]) -> None:
        if not isinstance(value, list | dict | None) or isinstance(value, Fields):
            raise unsupported("range over what is neither list nor map")
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value or ()))
        if any(item is None for _, item in pairs):
            raise unsupported("range over null")
        for key, item in pairs:
            inner = scope.new_child()
            for name, own in zip(node.action.variables[::-1], (item, key), strict=False):
                _assign(node.action, name, own, inner)
            self._spend(None)
            self._walk(node.body, item, inner, out)
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
        first, *others = command if last is _ABSENT else (*command, Literal(last))
        if first in ("and", "or") and others:
            return self._logic(str(first), others, dot, scope)
        if isinstance(first, str):
            return self._call(first, [self._value(one, dot, scope) for one in others])
        value = self._value(first, dot, scope)
        if value is _has_api and len(others) == 1:
            return _has_api(self._value(others[0], dot, scope))
        if value is _has_api or others:
            raise TemplateError("it gives arguments to what is no function")
        return value

    def _logic(self, name: str, operands: list[Operand], dot: object, scope: _Scope) -> object:
        value: object = None
        for operand in operands:
            value = self._value(operand, dot, scope)
            if bool(value) == (name == "or"):
                break
        return value

    def _value(self, operand: Operand, dot: object, scope: _Scope) -> object:
        if isinstance(operand, str):
            return self._call(operand, [])
        return operand.value if isinstance(operand, Literal) else self._field(operand, dot, scope)

    def _field(self, operand: Field, dot: object, scope: _Scope) -> object:
        value = dot
        if isinstance(operand.root, tuple):
            value = self._pipeline(operand.root, dot, scope)
        elif operand.root in scope:
            value = scope[operand.root]
        elif operand.root:
            raise TemplateError(f"{operand.root} is not declared")
        if value is None:
            return None  # a nil that was a value of its own has all keys
        for key in operand.keys:
            value = field(value, key)
        return value

    def _call(self, name: str, arguments: list[object]) -> object:
        for argument in arguments:
            self._spend(argument)
        if name == "include":
            if len(arguments) != 2 or type(arguments[0]) is not str:
                raise TemplateError("include needs a text and a value")
            return self.run(arguments[0], arguments[1])
        result = call(name, arguments)
        if name in ("randAlphaNum", "uuidv4"):
            self._random += 1
            return Chance(f"{result}-{self._random}")
        return result


def _assign(action: Action, name: str, value: object, scope: _Scope) -> None:
    """Declare a variable, or set the innermost of its name."""
    found = [scope.maps[0]] if action.declares else [one for one in scope.maps if name in one]
    if not found:
        raise TemplateError(f"{name} is not declared")
    found[0][name] = value


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
    files = {f"{chart.label}/{path}": text for path, text in texts.items() if "define" not in text}
    templates: dict[str, Body] = {}
    for path in sorted(texts, key=lambda path: (path.count("/"), path), reverse=True):  # as helm does
        if "define" in texts[path]:
            parse(texts[path], path, f"{chart.label}/{path}", templates)
    interpreter, dot, made = Interpreter(templates, files), _dot(chart, tree, release, values), ""
    for path in sorted(path for path in texts if not os.path.basename(path).startswith("_")):
        name = f"{chart.label}/{path}"
        own_dot = Fields(dot, Template=Fields(Name=name, BasePath=f"{chart.label}/templates"))
        documents = _SEPARATOR.split(interpreter.run(name, own_dot).replace(_NOTHING, "").strip())
        made += "".join(f"---\n# Source: {name}\n{one.strip()}\n" for one in documents if one.strip())
    return made


def _dot(chart: Chart, tree: Tree, release: str, values: str) -> Fields:
    """What templates find in the dot."""
    metadata = from_yaml(chart.source.data.decode("utf-8", "replace"))
    texts = {"Version": metadata.get("version"), "AppVersion": metadata.get("appVersion", ""), "Name": chart.label}
    about = {"Name": release, "Namespace": "default", "Service": "Helm", "IsInstall": True, "IsUpgrade": False}
    path = os.path.join(chart.folder, "values.yaml")
    is_read = chart.values is not None and chart.values.source is tree.source(path)
    own = values_of(chart.values) if is_read else from_yaml(_text(tree, path))
    return Fields(
        Values=json.loads(values, parse_int=float) if values else own,
        Chart=Fields({key: text for key, text in texts.items() if isinstance(text, str)}),
        Release=Fields(about),
        Capabilities=Fields(APIVersions=Fields(Has=_has_api)),
    )


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
