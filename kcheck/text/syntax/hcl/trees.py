"""Tree-sitter's trees of HCL, and messages for what it cannot parse."""

import re
from collections.abc import Iterator

import tree_sitter_hcl
from tree_sitter import Language, Node, Parser

from kcheck.text.regex import regex
from kcheck.text.text import Problem, Source

_LANGUAGE = Language(tree_sitter_hcl.language())
_UNREADABLE = regex(rb"(?<![\w.])\d+(?:\.\d+)?[eE][+-]?\d+\b|\$+(?=\$\$\{)|%+(?=%%\{)")


def parsed(data: bytes) -> Node:
    """Parse bytes; digits stand in for exponents, and for `$` before `$${`."""
    return Parser(_LANGUAGE).parse(_UNREADABLE.sub(lambda match: b"1" * len(match[0]), data)).root_node


def tokens(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the tokens of HCL, comments too, with the bytes at which they begin."""
    todo = [parsed(data)]
    while todo:
        node = todo.pop()
        if node.child_count:
            todo += reversed(node.children)
        else:
            yield node.type, node.start_byte


def body_of(root: Node) -> Node | None:
    """Return the body of a file; comments may precede it."""
    return next((child for child in root.children if child.type == "body"), None)


def is_dotted(step: Node) -> bool:
    """Whether a step is written with a dot: an attribute, or the legacy index `.0`."""
    return step.type == "get_attr" or is_legacy(step)


def is_legacy(step: Node) -> bool:
    """Whether a step is the legacy index `.0`."""
    return step.type == "index" and step.children[0].type == "legacy_index"


_LONG_LINE = regex(rb"[^\n]{500001}")


def too_long(source: Source) -> Problem | None:
    """Return a problem for the first line that is too long to parse."""
    found = _LONG_LINE.search(source.data)
    why = "a line of more than 500,000 characters is not read"
    return Problem(why, source.span(*found.span())) if found else None


_WHOLE = regex(rb'"(?:\\.|[^"\\\n])*"|#[^\n]*|//[^\n]*|/\*.*?\*/|<<-?(\w+)\n.*?\n\s*\1\b', re.DOTALL)
"""Strings that end on their line, comments, and heredocs."""
_QUOTE = regex(rb'"[^\n]*')


def problem_in(source: Source, begin: int, piece: bytes, root: Node) -> Problem:
    """Describe the syntax error in a piece, as far as its tokens show it."""
    header = piece.split(b"\n", 1)[0].strip().rstrip(b"{").strip().decode()
    text = _WHOLE.sub(lambda match: b" " * len(match[0]), piece)
    start = begin + (len(piece) - len(piece.lstrip()))
    if match := re.search(rb"^(<{7}|={7}|>{7})", piece, re.MULTILINE):
        at = begin + match.start()
        return Problem("a merge conflict was left in the file", source.span(at, at + 7))
    stray = _QUOTE.search(text)
    if stray and not {b"${", b"%{"} & {stray[0][at : at + 2] for at in range(len(stray[0]))}:  # which go on below
        at = begin + stray.start()
        return Problem("this quote is never closed", source.span(at, at + len(stray[0].rstrip())))
    if text.count(b"{") > text.count(b"}"):
        return Problem(f"`{header}` is opened here and never closed", source.span(start, start + len(header)))
    if text.count(b"}") > text.count(b"{"):
        at = begin + piece.rfind(b"}")
        return Problem("a closing brace without an opening one", source.span(at, at + 1))
    node = _first_error(root)
    at = begin + node.start_byte
    end = max(at + 1, min(begin + node.end_byte, source.line_end(at)))
    found = source.data[at:end].decode("utf-8", "replace").strip()
    what = f"unexpected `{found}`" if found else "something is missing here"
    return Problem(what, source.span(at, min(end, len(source.data))))


def _first_error(root: Node) -> Node:
    """Find the first node that tree-sitter could not place."""
    found, stack = root, [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            found = node
            if node.is_missing or node.start_byte > root.start_byte:
                return node
        stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return found
