"""The trees that tree-sitter makes of HCL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tree_sitter_hcl
from tree_sitter import Language, Parser

from kcheck.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_LANGUAGE = Language(tree_sitter_hcl.language())
_EXPONENT = regex(rb"(?<![\w.])\d+(?:\.\d+)?[eE][+-]?\d+\b")


def parsed(data: bytes) -> Node:
    """The tree of some bytes. The grammar has no exponents; other digits stand in for them."""
    root = Parser(_LANGUAGE).parse(data).root_node
    if root.has_error and _EXPONENT.search(data):
        other = Parser(_LANGUAGE).parse(_EXPONENT.sub(lambda match: b"1" * len(match[0]), data)).root_node
        return root if other.has_error else other
    return root


def tokens(data: bytes) -> Iterator[tuple[str, int]]:
    """The tokens of some HCL with the bytes at which they begin, comments too."""
    todo = [parsed(data)]
    while todo:
        node = todo.pop()
        if node.child_count:
            todo += reversed(node.children)
        else:
            yield node.type, node.start_byte


def body_of(root: Node) -> Node | None:
    """The body of a file; comments may stand before it."""
    return next((child for child in root.children if child.type == "body"), None)


def is_dotted(step: Node) -> bool:
    """Whether a step is written with a dot: an attribute, or the legacy index `.0`."""
    return step.type == "get_attr" or is_legacy(step)


def is_legacy(step: Node) -> bool:
    """Whether a step is the legacy index `.0`."""
    return step.type == "index" and step.children[0].type == "legacy_index"
