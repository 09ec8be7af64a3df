"""Find names in files of YAML, HCL, TOML and sysctl by patterns, without parsing."""

import re
from collections.abc import Iterator
from functools import lru_cache

from kcheck.text.files.tree import BRACE
from kcheck.text.regex import regex
from kcheck.text.text import Source, Span

_FLOW_KIND = regex(rb"\bkind[\"']?\s*:\s*[\"']?(\w*)")
# Begins with its literal, and looks back from there: 40 times faster than a pattern that is tried on every line.
_KIND = regex(rb"kind[\"']?[ \t]*:[ \t]*[\"']?(\w*)")
_INDENT = regex(rb"(?:\xef\xbb\xbf)?([ \t-]*)[\"']?")
_DOCUMENT = regex(rb"^---(?:\s|$)", re.MULTILINE)


@lru_cache(maxsize=4)
def document_starts(source: Source) -> list[int]:
    """List the starts of the documents of a file, except the first."""
    return [match.start() for match in _DOCUMENT.finditer(source.data)]


def kinds_named(data: bytes) -> set[tuple[bool, str]]:
    """Return the text of each `kind` and whether it is indented."""
    if BRACE.match(data):
        return {(True, kind.decode()) for kind in _FLOW_KIND.findall(data)}
    return {(bool(indent[1]), match[1].decode()) for match in _KIND.finditer(data) if (indent := _before(data, match))}


def every_kind(data: bytes) -> set[str]:
    """Return the text after each `kind:` anywhere; empty if it has another form."""
    return {kind.decode() for kind in _FLOW_KIND.findall(data)}


def _before(data: bytes, match: re.Match[bytes]) -> re.Match[bytes] | None:
    """Match the start of a key's line; None if other text precedes the key."""
    return _INDENT.fullmatch(data, data.rfind(b"\n", 0, match.start()) + 1, match.start())


def has_word(data: bytes, word: str) -> bool:
    """Whether a text has a word outside its comments."""
    return re.search(rb"^[^#\n]*\b" + re.escape(word.encode()) + rb"\b", data, re.MULTILINE) is not None


def sysctl_numbers(source: Source, name: str) -> Iterator[Span]:
    """Yield the spans where a file sets a setting to a whole number."""
    steps = rb"[./]".join(re.escape(step.encode()) for step in name.split("."))
    for match in re.finditer(rb"^[ \t]*-?" + steps + rb"[ \t]*=[ \t]*(\d+)\b", source.data, re.MULTILINE):
        yield source.span(match.start(1), match.end(1))


def toml_table(data: bytes, name: str) -> int | None:
    """Return the start of the first header of a table or a subtable; None without one."""
    match = re.search(rb"^\[" + re.escape(name.encode()) + rb"(?:\.|\])", data, re.MULTILINE)
    return match.start() if match else None


def toml_key_line(source: Source, table: str, key: str, start: int) -> Span | None:
    """Find the first line from `start` that sets a key, or is the header of its table."""
    names = re.escape(table.encode()), re.escape(key.encode())
    pattern = re.compile(rb"^[ \t]*(?:\[+%s\.)?[\"']?%s\b[^\n]*" % names, re.MULTILINE)
    match = pattern.search(source.data, start)
    return source.span(match.start(), match.end()) if match else None


_COMPUTED = regex(rb"\}[\w./-]*\.(?:ya?ml|json|tftpl|tpl|tmpl)\b")
"""Ends of file names with computed parts."""
_FILESET = regex(rb"\bfileset\((?:[ \t]*\"([^\"\n]*)\"|[^,\n\"]*),[ \t]*\"([^\"\n]*)\"|\bfileset\(")


def computed_paths(data: bytes) -> list[str] | None:
    """List templates and patterns that may name files."""
    found = [data[data.rfind(b'"', 0, match.start()) + 1 : match.end()] for match in _COMPUTED.finditer(data)]
    for match in _FILESET.finditer(data):
        if match[2] is None:
            return None
        found.append((match[1] or b"${}") + b"/" + match[2])
    return [text.decode(errors="replace") for text in found]
