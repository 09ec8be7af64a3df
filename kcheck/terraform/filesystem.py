"""Functions and data sources that read files of the repository."""

import base64
import os
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kcheck.terraform import convert, functions
from kcheck.terraform.budget import BudgetError
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.functions.encoding import DIGESTS, digest
from kcheck.terraform.resource import BlockRecord
from kcheck.terraform.scope import Scope
from kcheck.text import scalars
from kcheck.text.data_types import STRING
from kcheck.text.files.boundary import REASON
from kcheck.text.files.patterns import PatternError, compiled
from kcheck.text.files.tree import Tree
from kcheck.text.partly_known import members
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.text import Problem, Source
from kcheck.text.values import Datum, Known, Origin, Piece, Rendered, Unknown, Unrendered, pieces_of

_Action: TypeAlias = "Callable[[Files, str, list[Datum], Origin, Scope], Datum]"
"""Function of a path, the other arguments, and the call's place and scope."""

MAX_FILES = 10_000
"""Maximum number of files below one folder that `fileset` reads."""


class OutsideError(Exception):
    """Raised for a path outside the repository, or one that cannot be read."""


class Files(NamedTuple):
    """Files that a root module may read, within its repository.

    `template` parses a file as a template, once; files that are read are added to those `asked`.
    """

    tree: Tree
    folder: str
    template: Callable[[Source], nodes.Template | Problem]
    asked: set[Source]

    def _path(self, path: str) -> str:
        if "\0" in path:
            raise OutsideError("a path cannot hold a null character")
        found = os.path.join(self.folder, path)
        if self.tree.disk.is_outside(found):
            raise OutsideError(f"{path} is {REASON}")
        return found

    def source(self, path: str) -> Source | None:
        """Read the file at a path; None if there is none."""
        found = self.tree.source(self._path(path))
        if found is not None:
            self.asked.add(found)
        return found

    def names(self, path: str) -> list[str]:
        """List all files below a folder; raise OutsideError if outside or too many."""
        top = self._path(path)
        found = []
        for name in self.tree.disk.walk(top):
            found.append(os.path.relpath(name, top).replace(os.sep, "/"))
            if len(found) > MAX_FILES:
                raise OutsideError(f"there are more than {MAX_FILES:,} files below {path}")
        return found


def special(name: str, files: Files) -> Callable[[nodes.Call, Scope], Datum] | None:
    """Find a function that reads files, by name; None for other names."""
    action = _TABLE.get(name)
    return None if action is None else lambda node, scope: _call(action, files, node, scope)


def _call(action: _Action, files: Files, node: nodes.Call, scope: Scope) -> Datum:
    origin = Origin((node.span,))
    arguments = [value_of(argument, scope) for argument in node.arguments]
    if not arguments:
        raise EvaluationError(f"{node.name}() needs arguments")
    if action is _templatestring and not isinstance(node.arguments[0], nodes.GetAttr | nodes.Index | nodes.Variable):
        raise EvaluationError("templatestring() takes a reference to its template, such as local.template")
    path = arguments[0]
    if isinstance(path, Unknown):
        return Unknown(path.reason, origin)
    try:
        return action(files, scalars.to_string(path.value), arguments[1:], origin, scope)
    except OutsideError as error:
        return Unknown(f"{node.name}(): {error}", origin)


def _read(files: Files, path: str) -> Source:
    source = files.source(path)
    if source is None:
        raise EvaluationError(f"there is no file {path}")
    return source


def _content(source: Source) -> str:
    try:
        return source.data.decode()
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{source.path} is not UTF-8 text") from error


def _file(files: Files, path: str, _rest: list[Datum], _origin: Origin, _scope: Scope) -> Datum:
    source = _read(files, path)
    whole = source.span(0, len(source.data))
    text = _content(source)
    return Rendered(text, Origin((whole,)), pieces=(Piece(text, whole),))


def _filebase64(files: Files, path: str, _rest: list[Datum], origin: Origin, _scope: Scope) -> Datum:
    return Known(base64.b64encode(_read(files, path).data).decode(), origin)


def _digest(name: str) -> _Action:
    return lambda files, path, _rest, origin, _scope: Known(digest(name, _read(files, path).data), origin)


def _fileset(files: Files, path: str, rest: list[Datum], origin: Origin, _scope: Scope) -> Datum:
    if len(rest) != 1:
        raise EvaluationError("fileset() takes a folder and a pattern")
    if isinstance(rest[0], Unknown):
        return Unknown(rest[0].reason, origin)
    text = os.path.normpath(scalars.to_string(rest[0].value)).replace(os.sep, "/")
    try:
        pattern = compiled(text)
    except PatternError as error:
        raise EvaluationError(f"`{text}` is not a pattern of files") from error
    found = sorted(name for name in files.names(path) if pattern.fullmatch(name))
    return Known(convert.set_data((Known(name, origin) for name in found), STRING), origin)


def _templatefile(files: Files, path: str, rest: list[Datum], _origin: Origin, scope: Scope) -> Datum:
    return _of_file(files, _read(files, path), rest, scope)


def _of_file(files: Files, source: Source, rest: list[Datum], scope: Scope) -> Datum:
    template = files.template(source)
    if isinstance(template, Problem):
        return Unknown(f"{source.path}: {template.message}", Origin((template.span,)))
    return filled(template, rest, scope)


def _templatestring(files: Files, text: str, rest: list[Datum], _origin: Origin, scope: Scope) -> Datum:
    template = files.template(Source("<template>", text.encode()))
    if isinstance(template, Problem):
        raise EvaluationError(template.message)
    return filled(template, rest, scope)


def filled(template: nodes.Template, rest: list[Datum], scope: Scope) -> Datum:
    """Render a template with the given variables only."""
    if len(rest) != 1:
        raise EvaluationError("a template takes a map of variables")
    variables = rest[0]
    if isinstance(variables, Unknown):
        return Unknown(variables.reason, variables.origin)
    if not isinstance(variables.value, dict):
        raise EvaluationError("a template takes a map of variables")
    return value_of(template, _Variables(members(variables), scope))


class _Variables(Scope):
    """Scope of a template: its variables and the functions of the calling module."""

    def __init__(self, names: dict[str, Datum], caller: Scope) -> None:
        super().__init__(names, place=caller.place, budget=caller.budget)
        self.caller = caller

    def special(self, name: str) -> Callable[[nodes.Call, Scope], Datum] | None:
        return _refused if name.startswith("template") else self.caller.special(name)


def _refused(node: nodes.Call, _scope: Scope) -> Datum:
    raise EvaluationError(f"{node.name}() cannot be used in a template")


def _clean(_files: Files, path: str, _rest: list[Datum], origin: Origin, _scope: Scope) -> Datum:
    """abspath(), of a path that is already absolute."""
    if not path.startswith("/"):
        return Unknown(functions.reason_for("abspath"), origin)
    return Known(os.path.normpath(path).replace(os.sep, "/"), origin)


def _expanded(_files: Files, path: str, _rest: list[Datum], origin: Origin, _scope: Scope) -> Datum:
    """pathexpand(), of a path without `~`."""
    return Unknown(functions.reason_for("pathexpand"), origin) if path.startswith("~") else Known(path, origin)


_TABLE: dict[str, _Action] = {
    "file": _file,
    "fileexists": lambda files, path, _rest, origin, _scope: Known(files.source(path) is not None, origin),
    "filebase64": _filebase64, "fileset": _fileset, "templatefile": _templatefile, "templatestring": _templatestring,
    "abspath": _clean, "pathexpand": _expanded,
} | {f"file{name}": _digest(name) for name in DIGESTS}  # fmt: skip
_ARCHIVES = frozenset({"cloudinit_config", "template_cloudinit_config"})


def rendered_data_source(kind: str, record: BlockRecord, files: Files) -> Datum | None:
    """Return the `rendered` attribute of a data source; None for other types."""
    if kind == "template_file":
        return _template_file(record, files)
    if kind in _ARCHIVES:
        return _archive(record)
    return _unrendered([record.entry("content")], record) if kind == "ct_config" else None


def _template_file(record: BlockRecord, files: Files) -> Datum | None:
    text = record.entry("template")
    if text is None or isinstance(text, Unknown):
        return text
    pieces = pieces_of(text)
    if len(pieces) != 1 or pieces[0].span.text != text.value:  # put together: its places are lost
        return None
    variables = record.entry("vars") or Known({}, Origin((record.span,)))
    try:
        return _of_file(files, pieces[0].span.source, [variables], record.scope)
    except EvaluationError as error:
        return Unknown(str(error), Origin((record.span,)))
    except BudgetError as error:
        return record.scope.budget.refuse(error, Origin((record.span,)))


def _archive(record: BlockRecord) -> Datum | None:
    parts = record.blocks("part")
    if isinstance(parts, Unknown):
        return parts
    return _unrendered([part.entry("content") for part in parts.value], record)


def _unrendered(contents: list[Datum | None], record: BlockRecord) -> Datum:
    pieces = [piece for content in contents if content is not None for piece in pieces_of(content)]
    reason = "the user data is only known after apply"
    return Unrendered(reason, Origin((record.span,)), pieces=tuple(pieces))
