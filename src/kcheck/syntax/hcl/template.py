"""The text of HCL templates: escapes, and the indentation that `<<-` takes off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcheck.syntax.hcl import nodes

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


def unescape_heredoc(text: str) -> str:
    """The value of the literal text of a heredoc: backslashes are just that."""
    return _HEREDOC_ESCAPE.sub(lambda match: match.group()[1:], text.replace("\r\n", "\n"))


def dedent(parts: tuple[nodes.Expression | str, ...]) -> tuple[nodes.Expression | str, ...]:
    """Take the smallest indentation off all lines, as `<<-` wants it."""
    indents: list[int] = []
    fresh = True
    for part in parts:
        if isinstance(part, str):
            lines = part.split("\n")
            for i, line in enumerate(lines):
                starts = fresh if i == 0 else True
                last = i == len(lines) - 1
                if starts and (line.strip() or (last and part is not parts[-1])):
                    indents.append(len(line) - len(line.lstrip(" \t")))
            fresh = part.endswith("\n")
        else:
            if fresh:
                indents.append(0)
            fresh = False
    cut = min(indents, default=0)
    result: list[nodes.Expression | str] = []
    fresh = True
    for part in parts:
        if isinstance(part, str):
            lines = part.split("\n")
            done = [line[cut:] if (i or fresh) else line for i, line in enumerate(lines)]
            result.append("\n".join(done))
            fresh = part.endswith("\n")
        else:
            result.append(part)
            fresh = False
    return tuple(result)
