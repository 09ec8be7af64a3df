"""The contents of a YAML text, without parsing it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from kcheck.files.tree import in_braces
from kcheck.source.regex import regex

if TYPE_CHECKING:
    from kcheck.source.text import Source

_FLOW_KIND = regex(rb"\bkind[\"']?\s*:\s*[\"']?(\w*)")
_KIND = regex(rb"^(?:\xef\xbb\xbf)?([ \t-]*)[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?(\w*)", re.MULTILINE)
_DOCUMENT = regex(rb"^---(?:\s|$)", re.MULTILINE)


@lru_cache(maxsize=4)
def document_starts(source: Source) -> list[int]:
    """Where the documents of a file begin, but for the first."""
    return [match.start() for match in _DOCUMENT.finditer(source.data)]


def kinds_named(data: bytes) -> set[tuple[bool, str]]:
    """The text of each `kind`, and whether it is indented; empty if templated."""
    if in_braces(data):
        return {(True, kind.decode()) for kind in _FLOW_KIND.findall(data)}
    return {(bool(indent), kind.decode()) for indent, kind in _KIND.findall(data)}


def has_word(data: bytes, word: str) -> bool:
    """Whether a word is in a text outside its comments."""
    return re.search(rb"^[^#\n]*\b" + re.escape(word.encode()) + rb"\b", data, re.MULTILINE) is not None
