"""The text of HCL templates: escapes, strip markers, and the indentation that `<<-` takes off."""

from __future__ import annotations

import re
from typing import NamedTuple

_ESCAPE = re.compile(r"\\(?:([nrt\"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|(\$\$\{)|(%%\{)")
_HEREDOC_ESCAPE = re.compile(r"\$\$\{|%%\{")
_SIMPLE_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def unescape(text: str) -> str:
    """The value of the inside of a quoted string."""
    if "\\" not in text and "$${" not in text and "%%{" not in text:
        return text

    def decode(match: re.Match[str]) -> str:
        simple, short, long, dollar, _percent = match.groups()
        if simple:
            return _SIMPLE_ESCAPES[simple]
        if short or long:
            return chr(int(short or long, 16))
        return "${" if dollar else "%{"

    return _ESCAPE.sub(decode, text)


class Gap(NamedTuple):
    """Text between two markers of a template; `left` and `right` tell of strip markers at its ends."""

    start: int
    text: str
    left: bool
    right: bool


def decoded(gaps: list[Gap], *, heredoc: bool, flush: bool) -> dict[int, str]:
    """The text of each gap, by where it begins, as HCL's parser makes it.

    In a heredoc every line is a token of its own, so a strip marker reaches to the end of its line only, and a
    line behind a stripped line end no longer counts as one that begins a line (hclsyntax/parser_template.go).
    """
    tokens = [_tokens(gap, heredoc=heredoc) for gap in gaps]
    if flush:
        _dedent(tokens)
    decode = _unescape_heredoc if heredoc else unescape
    return {gap.start: "".join(map(decode, lines)) for gap, lines in zip(gaps, tokens, strict=True)}


def _tokens(gap: Gap, *, heredoc: bool) -> list[str]:
    text = gap.text.replace("\r\n", "\n") if heredoc else gap.text
    lines = text.splitlines(keepends=True) if heredoc and "\n" in text else [text] if text else []
    if heredoc and any(line[-1:] != "\n" for line in lines[:-1]):
        lines = re.findall(r"[^\n]*\n|[^\n]+$", text)  # only a newline ends a line
    if lines and gap.left:
        lines[0] = lines[0].lstrip()
    if lines and gap.right:
        lines[-1] = lines[-1].rstrip()
    return lines


def _dedent(gaps: list[list[str]]) -> None:
    """Take the smallest indentation off the lines that begin with text; blank lines keep theirs."""
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


def _unescape_heredoc(text: str) -> str:
    return _HEREDOC_ESCAPE.sub(lambda match: match.group()[1:], text)
