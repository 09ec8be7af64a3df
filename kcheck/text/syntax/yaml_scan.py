"""The contents of a YAML text, without parsing it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from kcheck.text.files.tree import in_braces
from kcheck.text.regex import regex

if TYPE_CHECKING:
    from kcheck.text.text import Source

_FLOW_KIND = regex(rb"\bkind[\"']?\s*:\s*[\"']?(\w*)")
# Begins with its literal, and looks back from there: 40 times faster than a pattern that is tried on every line.
_KIND = regex(rb"kind[\"']?[ \t]*:[ \t]*[\"']?(\w*)")
_INDENT = regex(rb"(?:\xef\xbb\xbf)?([ \t-]*)[\"']?")
_DOCUMENT = regex(rb"^---(?:\s|$)", re.MULTILINE)


@lru_cache(maxsize=4)
def document_starts(source: Source) -> list[int]:
    """Where the documents of a file begin, but for the first."""
    return [match.start() for match in _DOCUMENT.finditer(source.data)]


def kinds_named(data: bytes) -> set[tuple[bool, str]]:
    """The text of each `kind`, and whether it is indented; empty if templated."""
    if in_braces(data):
        return {(True, kind.decode()) for kind in _FLOW_KIND.findall(data)}
    return {(bool(indent[1]), match[1].decode()) for match in _KIND.finditer(data) if (indent := _before(data, match))}


def every_kind(data: bytes) -> set[str]:
    """The text behind each `kind:`, wherever it stands; empty texts are in another form."""
    return {kind.decode() for kind in _FLOW_KIND.findall(data)}


def _before(data: bytes, match: re.Match[bytes]) -> re.Match[bytes] | None:
    """What the line of a key begins with; None if the key is not the first thing on it."""
    return _INDENT.fullmatch(data, data.rfind(b"\n", 0, match.start()) + 1, match.start())


def has_word(data: bytes, word: str) -> bool:
    """Whether a word is in a text outside its comments."""
    return re.search(rb"^[^#\n]*\b" + re.escape(word.encode()) + rb"\b", data, re.MULTILINE) is not None
