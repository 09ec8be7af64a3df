"""Find the workspaces of a root module in its code."""

import os
import re
from collections.abc import Iterator

from kcheck.terraform.evaluator import evaluate
from kcheck.terraform.filesystem import Files, OutsideError
from kcheck.terraform.module import Module
from kcheck.terraform.scope import WORKSPACE, Scope
from kcheck.text.partly_known import possible, string
from kcheck.text.regex import regex
from kcheck.text.syntax.hcl import nodes
from kcheck.text.values import Datum, Known, Piece, Unknown, UnknownKey

FEW = 4
"""Maximum number of workspaces checked one by one without being asked for."""
DEFAULT = "default"
"""Workspace that always exists."""
OF_NONE = frozenset({
    "common", "shared", "global", "globals", "base", "defaults", "example", "sample", "template", "all",
})  # fmt: skip
"""Names that are not workspaces."""
MARK = b"terraform.workspace"
"""Sign that some code uses its workspace."""
_NAME = regex(r"[A-Za-z0-9][\w.-]*")
_MAY_CHOOSE = regex(r"\[\s*[^\s\]*]|\b(?:lookup|contains|\w*file\w*)\(|[!=]=")
"""Signs that an expression chooses by the workspace."""
_LABELS = frozenset({"tags", "tags_all", "labels", "default_tags", "description"})
"""Attributes that do not affect findings."""
_OPEN_FILE = frozenset({"file", "fileexists", "templatefile"})
_FALLBACK = frozenset({"try", "can", "fileexists"})


def known_to(root: Module) -> list[str]:
    """List the workspace names that all indexed maps know, sorted."""
    finder = _Finder(root.files)
    seen = set()
    for module in root.all():
        configuration = module.configuration
        if configuration.skeleton or id(configuration) in seen:
            continue
        seen.add(id(configuration))
        blocks = (*configuration.resources.values(), *configuration.data.values(), *configuration.calls.values())
        entries = [*configuration.locals.values(), *(entry for block in blocks for entry in _entries(block.body))]
        for entry in entries:
            if _MAY_CHOOSE.search(entry.value_span.text):
                finder.look(entry.expression, module.scope, optional=False)
    required = [names - finder.bases.get(chosen, set()) for chosen, names in finder.required]
    if required:
        names = set.intersection(*required) or set().union(*required)
    elif finder.optional:
        others = len(finder.optional - OF_NONE) < FEW  # of many that have names, none is left to judge
        names = {*finder.optional, DEFAULT} if others else finder.optional
    else:
        names = set()
    return sorted(name for name in names - OF_NONE if _NAME.fullmatch(name))


def _entries(body: nodes.Body) -> Iterator[nodes.Attribute]:
    for name, entry in body.attributes.items():
        if name not in _LABELS:
            yield entry
    for block in body.blocks:
        if block.type not in _LABELS:
            yield from _entries(block.body)


class _Finder:
    """Collects workspace names: required sets, and names that are only compared.

    `required` pairs each set with its map, as written. `bases` are keys that the code itself reads from such maps, for
    values shared by all workspaces.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.required: list[tuple[str, set[str]]] = []
        self.optional: set[str] = set()
        self.bases: dict[str, set[str]] = {}

    def look(self, node: nodes.Expression, scope: Scope, *, optional: bool) -> None:
        """Visit an expression and its parts; `optional` if a failure has a fallback."""
        match node:
            case nodes.Index():
                if isinstance(node.key, nodes.Literal):
                    self.bases.setdefault(node.target.span.text, set()).add(str(node.key.value))
                elif _is_workspace(node.key, scope):
                    self._add(_keys(evaluate(node.target, scope)), node.target, optional=optional)
            case nodes.GetAttr():
                self.bases.setdefault(node.target.span.text, set()).add(node.name)
            case nodes.Call():
                self._call(node, scope, optional=optional)
                optional = optional or node.name in _FALLBACK
            case nodes.Operation() if node.operator in ("==", "!=") and node.left is not None:
                for side, other in ((node.left, node.right), (node.right, node.left)):
                    if _is_workspace(side, scope):
                        self._add(_texts(evaluate(other, scope)), other, optional=True)
            case nodes.Conditional():
                self.look(node.condition, scope, optional=optional)
                self.look(node.yes, scope, optional=True)
                self.look(node.no, scope, optional=True)
                return
        for child in nodes.children(node):
            self.look(child, scope, optional=optional)

    def _call(self, node: nodes.Call, scope: Scope, *, optional: bool) -> None:
        arguments = node.arguments
        if node.name == "lookup" and len(arguments) > 1 and _is_workspace(arguments[1], scope):
            self._add(_keys(evaluate(arguments[0], scope)), arguments[0], optional=optional or len(arguments) > 2)
        elif node.name == "contains" and len(arguments) == 2 and _is_workspace(arguments[1], scope):
            self._add(_texts(evaluate(arguments[0], scope)), arguments[0], optional=True)
        elif node.name in _OPEN_FILE and arguments and isinstance(arguments[0], nodes.Template):
            found = self._named_files(arguments[0], scope)
            self._add(found, arguments[0], optional=optional or node.name in _FALLBACK)

    def _add(self, names: set[str], chosen: nodes.Expression, *, optional: bool) -> None:
        if names and optional:
            self.optional |= names
        elif names:
            self.required.append((chosen.span.text, names))

    def _named_files(self, path: nodes.Template, scope: Scope) -> set[str]:
        """List the workspaces whose file, named by a template, exists."""
        prefix, pattern, found = "", "", False
        for part in path.parts:
            if isinstance(part, Piece):
                text = part.text
            else:
                value = evaluate(part, scope)
                if (known := string(value)) is not None:
                    text = known
                elif _may_be_workspace(value):
                    pattern += r"(?P=name)" if found else r"(?P<name>[^/]+)"
                    found = True
                    continue
                else:
                    return set()
            prefix += "" if found else text
            pattern += re.escape(text)
        if not found:
            return set()
        folder = os.path.dirname(prefix)
        matching = re.compile(pattern)
        try:
            names = self.files.names(folder or ".")
        except OutsideError:
            return set()
        begin = prefix[: len(prefix) - len(os.path.basename(prefix))]
        return {match["name"] for name in names if (match := matching.fullmatch(begin + name))}


def _is_workspace(node: nodes.Expression, scope: Scope) -> bool:
    """Whether an expression is or may be the workspace, also through locals."""
    return not isinstance(node, nodes.Literal) and _may_be_workspace(evaluate(node, scope))


def _may_be_workspace(value: Datum) -> bool:
    return any(isinstance(one, Unknown) and one.symbol == WORKSPACE for one in possible(value))


def _keys(value: Datum) -> set[str]:
    if not isinstance(value, Known) or not isinstance(value.value, dict):
        return set()
    return {key for key in value.value if not isinstance(key, UnknownKey)}


def _texts(value: Datum) -> set[str]:
    return {text for one in possible(value) if (text := string(one)) is not None}
