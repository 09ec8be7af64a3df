"""Words of the rules that a CEL expression uses, by its syntax tree."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kcheck.text.regex import regex
from kcheck.text.syntax.cel_tree import Node

_IDENTIFIER = regex(r"[A-Za-z_][A-Za-z0-9_]*")


class Usage(Struct, frozen=True):
    """Paths and numbers that an expression uses.

    Elements of lists are followed: `a.b.exists(x, x.c)` uses a.b and a.b.c. In the narrower sets, a path ends in `[]`
    if the element itself is meant. A constant key counts as a field if it is an identifier.
    """

    paths: frozenset[str]  # all, those of the other sets too
    presence: frozenset[str]  # under has()
    keys: frozenset[str]  # members that `"key" in a.b` asks for
    counted: frozenset[str]  # of which only what members there are counts: what macros walk over, size()
    whole: frozenset[str]  # in which everything counts
    result: frozenset[str]  # what the expression gives, or the elements of the list it makes
    numbers: tuple[int | float, ...]  # literals, from left to right


_SETS = Usage.__struct_fields__[:-1]


def packed(used: Usage) -> list[list[str] | tuple[int | float, ...]]:
    """Convert a usage to plain data, the same in each run."""
    return [*(sorted(getattr(used, name)) for name in _SETS), used.numbers]


def unpacked(data: list[Any]) -> Usage:
    """Convert plain data back to a usage."""
    sets = dict(zip(_SETS, map(frozenset, data), strict=False))
    return Usage(**sets, numbers=tuple(data[-1]))


def usage(tree: Node, variables: tuple[str, ...]) -> Usage:
    """Collect what an expression uses."""
    walker = _Walker(variables)
    walker.sets["result"].update(path for path, _ in walker.use(tree, {}))
    sets = {name: frozenset(found) for name, found in walker.sets.items()}
    return Usage(**sets, numbers=tuple(walker.numbers))


def required_texts(node: Node, path: str) -> frozenset[str] | None:
    """Return the values of a path for which a condition can hold; None if it can with any."""
    if node.kind != "call" or len(node.parts) != 2:
        return None
    if node.name in ("_&&_", "_||_"):
        both = [required_texts(part, path) for part in node.parts]
        if node.name == "_&&_":
            found = [texts for texts in both if texts is not None]
            return frozenset.intersection(*found) if found else None
        return None if None in both else frozenset.union(*filter(None, both), frozenset())
    one, other = node.parts
    if node.name == "_==_" and _dotted(other) == path:
        one, other = other, one
    if node.name not in ("_==_", "@in") or _dotted(one) != path:
        return None
    texts = [_text(item) for item in (other.parts if other.kind == "list" else (other,))]
    if (other.kind == "list") != (node.name == "@in") or None in texts:
        return None
    return frozenset(text for text in texts if text is not None)


def _text(node: Node) -> str | None:
    return node.value if node.kind == "const" and isinstance(node.value, str) else None


def _dotted(node: Node) -> str:
    """Return `a.b.c` as text; empty for all else."""
    if node.kind == "select" and not node.test and (inner := _dotted(node.parts[0])):
        return f"{inner}.{node.name}"
    return node.name if node.kind == "ident" else ""


_Refs: TypeAlias = frozenset[tuple[str, int]]  # where a value comes from: paths, and how many lists were put around
_NONE: _Refs = frozenset()


class _Walker:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        self.sets: dict[str, set[str]] = {name: set() for name in _SETS}
        self.numbers: list[int | float] = []

    def note(self, kind: str, refs: _Refs) -> None:
        self.sets[kind].update(path for path, lists in refs if not lists or kind == "whole")

    def use(self, node: Node, scope: Mapping[str, _Refs], kind: str = "whole") -> _Refs:
        """Visit a part whose value is used, so its paths end here; without a `kind`, the caller says how."""
        refs = self.visit(node, scope)
        self.sets["paths"].update(path.rstrip("[]") for path, _ in refs)
        if kind:
            self.note(kind, refs)
        return refs

    def visit(self, node: Node, scope: Mapping[str, _Refs]) -> _Refs:
        if node.kind == "const" and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            self.numbers.append(node.value)
        elif node.kind == "ident":
            if node.name in scope and not node.rooted:
                return scope[node.name]
            return frozenset({(node.name, 0)}) if node.name in self.variables else _NONE
        elif node.kind == "select":
            refs = _member(self.visit(node.parts[0], scope), node.name)
            if not node.test:
                return refs
            self.note("presence", refs)
            self.note("paths", refs)
        elif node.kind == "call":
            return self.call(node, scope)
        elif node.kind == "list":
            items = [self.visit(item, scope) for item in node.parts]
            return frozenset((path, lists + 1) for refs in items for path, lists in refs)
        elif node.kind == "map":
            for part in node.parts:
                self.use(part, scope)
        elif node.kind == "loop":  # how it starts comes from the macro alone
            source, _, step, result = node.parts
            total, elements = str(node.value), _elements(self.use(source, scope, "counted"))
            inner = {**scope, node.name: elements, total: _NONE}
            return self.visit(result, {**scope, total: self.visit(step, inner)})
        return _NONE

    def call(self, node: Node, scope: Mapping[str, _Refs]) -> _Refs:
        function, args = node.name, node.parts
        made = any(arg.kind == "ident" and arg.name.startswith("@") for arg in args)
        if made and function in ("_+_", "_==_") and any(arg.kind == "const" for arg in args):
            return _NONE  # `@result + 1` and `@result == 1` of exists_one: nothing here is the author's
        if function == "_?_:_":
            self.use(args[0], scope)
            return self.visit(args[1], scope) | self.visit(args[2], scope)
        if function == "_+_":  # of lists, perhaps
            return _NONE.union(*[self.visit(arg, scope) for arg in args])
        if function == "_[_]":
            refs, key = self.visit(args[0], scope), _text(args[1])
            if key is not None and _IDENTIFIER.fullmatch(key):
                return _member(refs, key)
            self.use(args[1], scope)
            return _elements(refs)
        key = _text(args[0]) if function == "@in" else None
        if key is not None:  # of a map only this member counts; lists are unknown if an item is not
            self.note("keys", _member(self.use(args[1], scope, kind=""), key))
            return _NONE
        for arg in args:
            self.use(arg, scope, "counted" if function == "size" else "whole")
        return _NONE


def _member(refs: _Refs, name: str) -> _Refs:
    return frozenset((f"{path.rstrip('[]')}.{name}", 0) for path, lists in refs if not lists)


def _elements(refs: _Refs) -> _Refs:
    return frozenset((path, lists - 1) if lists else (f"{path}[]", 0) for path, lists in refs)
