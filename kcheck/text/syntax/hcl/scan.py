"""The contents of a Terraform file, without parsing it."""

from __future__ import annotations

import re

from kcheck.text.regex import regex

_BLOCK = regex(rb"^([a-z]+)[ \t]+[\"a-zA-Z]", re.MULTILINE)
_COMPUTED = regex(rb"\}[\w./-]*\.(?:ya?ml|json|tftpl|tpl|tmpl)\b")
"""The ends of names of files that are not written as they are."""
_FILESET = regex(rb"\bfileset\((?:[ \t]*\"([^\"\n]*)\"|[^,\n\"]*),[ \t]*\"([^\"\n]*)\"|\bfileset\(")


def block_type_at(data: bytes, offset: int) -> str:
    """The type of the last block at the left margin that begins before a byte; empty without one."""
    blocks: list[bytes] = _BLOCK.findall(data, 0, offset)
    return blocks[-1].decode() if blocks else ""


def computed_paths(data: bytes) -> list[str] | None:
    """Templates and patterns that may name files; None if a pattern is not a literal."""
    found = [data[data.rfind(b'"', 0, match.start()) + 1 : match.end()] for match in _COMPUTED.finditer(data)]
    for match in _FILESET.finditer(data):
        if match[2] is None:
            return None
        found.append((match[1] or b"${}") + b"/" + match[2])
    return [text.decode(errors="replace") for text in found]


def without_blanks(data: bytes, base: int, end: int) -> int:
    """An end of some bytes, moved back over blanks."""
    while data[base + end - 1 : base + end] in (b" ", b"\t", b"\n", b"\r"):
        end -= 1
    return end
