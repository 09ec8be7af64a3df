"""Error messages for HCL that cannot be parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kcheck.text.regex import regex
from kcheck.text.syntax.problem import Problem

if TYPE_CHECKING:
    from tree_sitter import Node

    from kcheck.text.text import Source


_LONG_LINE = regex(rb"[^\n]{500001}")


def too_long(source: Source) -> tuple[Problem, ...]:
    """The first line that is too long: the parser takes 200 bytes of memory for each character of a text."""
    found = _LONG_LINE.search(source.data)
    why = "a line of more than 500,000 characters is not read"
    return (Problem(why, source.span(*found.span())),) if found else ()


def explain(source: Source, begin: int, piece: bytes, root: Node) -> Problem:
    """The error in a piece that cannot be parsed, as far as its tokens show it."""
    header = piece.split(b"\n", 1)[0].strip().rstrip(b"{").strip().decode()
    text = re.sub(rb'"(?:\\.|[^"\\\n])*"|#[^\n]*|//[^\n]*', b"", piece)
    start = begin + (len(piece) - len(piece.lstrip()))
    if re.search(rb"^(<{7}|={7}|>{7})", piece, re.MULTILINE):
        match = re.search(rb"^(<{7}|={7}|>{7})", piece, re.MULTILINE)
        at = begin + (match.start() if match else 0)
        return Problem("a merge conflict was left in the file", source.span(at, at + 7))
    if text.count(b"{") > text.count(b"}"):
        return Problem(f"`{header}` is opened here and never closed", source.span(start, start + len(header)))
    if text.count(b"}") > text.count(b"{"):
        at = begin + piece.rfind(b"}")
        return Problem("a closing brace without an opening one", source.span(at, at + 1))
    node = _first_error(root)
    at = begin + node.start_byte
    end = max(at + 1, min(begin + node.end_byte, _line_end(source.data, at)))
    found = source.data[at:end].decode("utf-8", "replace").strip()
    return Problem(
        f"unexpected `{found}`" if found else "something is missing here",
        source.span(at, min(end, len(source.data))),
    )


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end == -1 else end


def _first_error(root: Node) -> Node:
    """The first node that tree-sitter could not place; the innermost of nested ones."""
    found, stack = root, [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            found = node
            if node.is_missing or node.start_byte > root.start_byte:
                return node
        stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return found
