"""Text of HCL templates: escapes, strip markers, indentation."""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from tree_sitter import Node

from kcheck.text.regex import regex

_ESCAPE = regex(r"\\(?:([nrt\"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|(\$\$\{)|(%%\{)")
_HEREDOC_ESCAPE = regex(r"\$\$\{|%%\{")
_SIMPLE_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


class EscapeError(ValueError):
    """An escape sequence that HCL rejects."""


def unescape(text: str) -> str:
    """Decode the text inside quotes, or raise EscapeError."""
    if "\\" not in text and "$${" not in text and "%%{" not in text:
        return normal(text)

    def decode(match: re.Match[str]) -> str:
        simple, short, long, dollar, _percent = match.groups()
        if simple:
            return _SIMPLE_ESCAPES[simple]
        if short or long:
            code = int(short or long, 16)
            if code > sys.maxunicode or 0xD800 <= code < 0xE000:
                raise EscapeError(f"`{match[0]}` is not a character")
            return chr(code)
        return "${" if dollar else "%{"

    return normal(_ESCAPE.sub(decode, text))


def normal(text: str) -> str:
    """Normalize text to form C, as HCL does."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


class Gap(NamedTuple):
    """Text between template markers; `left` and `right` if `~` strips it."""

    start: int
    end: int
    text: str
    left: bool
    right: bool


Kind: TypeAlias = Literal["quoted", "heredoc", "flush", "file"]
"""Form of a template: a quoted string, a heredoc, one with `<<-`, or a file of its own."""


def decoded(gaps: list[Gap], kind: Kind) -> Iterator[str]:
    """Decode the text of each gap like HCL's parser.

    In a heredoc or a file every line is a token of its own, so a strip marker reaches to the end of its line only, and
    a line after a stripped line end no longer counts as one that begins a line (hclsyntax/parser_template.go).
    """
    tokens = [_tokens(gap, kind) for gap in gaps]
    if kind == "flush":
        _dedent(tokens)
    texts = ("".join(lines) for lines in tokens)
    return texts if kind == "quoted" else (normal(_HEREDOC_ESCAPE.sub(lambda own: own[0][1:], text)) for text in texts)


def _tokens(gap: Gap, kind: Kind) -> list[str]:
    text = gap.text.replace("\r\n", "\n") if kind in ("heredoc", "flush") else gap.text
    by_line = kind != "quoted"
    text = text if by_line else unescape(text)
    lines = text.splitlines(keepends=True) if by_line and "\n" in text else [text] if text else []
    if by_line and any(line[-1:] != "\n" for line in lines[:-1]):
        lines = re.findall(r"[^\n]*\n|[^\n]+$", text)  # only a newline ends a line
    if lines and gap.left:
        lines[0] = lines[0].lstrip()
    if lines and gap.right:
        lines[-1] = lines[-1].rstrip()
    return lines


def _dedent(gaps: list[list[str]]) -> None:
    """Remove the smallest indentation from lines that begin with text."""
    places: list[tuple[list[str], int]] = []
    least: int | None = None
    newline = True
    for number, tokens in enumerate(gaps):
        for i, token in enumerate(tokens):
            if newline:
                newline = False
                stripped = token.lstrip()
                if stripped or not token.endswith("\n"):
                    places.append((tokens, i))
                    spaces = len(token) - len(stripped)
                    least = spaces if least is None else min(least, spaces)
            newline = newline or token.endswith("\n")
        if newline and number < len(gaps) - 1:  # a marker begins the line
            least, newline = 0, False
    for tokens, i in places:
        tokens[i] = tokens[i][least or 0 :]


_DIRECTIVE_MARKERS = frozenset(
    {"template_if_intro", "template_else_intro", "template_if_end", "template_for_start", "template_for_end"}
)


def markers(children: list[Node]) -> Iterator[Node]:
    """Yield all non-text parts of a template in order, including those in directives."""
    for child in children:
        if child.type == "template_interpolation" or child.type in _DIRECTIVE_MARKERS:
            yield child
        elif child.type == "template_directive":
            yield from markers(child.children[0].children)


def gaps_in(children: list[Node], start: int, end: int, between: Callable[[int, int], str]) -> Iterator[Gap]:
    """Yield the gaps between markers; `between` returns the text between two offsets."""
    at, left = start, False
    for marker in markers(children):
        yield Gap(at, marker.start_byte, between(at, marker.start_byte), left, strips(marker, 1))
        at, left = marker.end_byte, strips(marker, -2)
    yield Gap(at, end, between(at, end), left, right=False)


def strips(node: Node, at: int) -> bool:
    """Whether the marker at one end of a node has a `~`."""
    return len(node.children) > 2 and node.children[at].type == "strip_marker"
