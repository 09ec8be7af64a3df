"""Changes as a unified diff for `git apply` and for people."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import NamedTuple

from kcheck.text.control_characters import visible, visible_lines
from kcheck.text.files import system
from kcheck.text.files.save import File
from kcheck.text.files.tree import display_path

_BOM = "\ufeff"
_NAMED = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
"""Escapes that git uses for some bytes of a name."""


class Diff(NamedTuple):
    """Diff of a file; not `exact` if characters that act on terminals or CI logs are escaped."""

    text: str
    exact: bool


def diff(file: File) -> Diff:
    """Make the diff of a file: for `git apply`, byte for byte, unless a line must be escaped."""
    path = display_path(system.real_path(file.real))  # without the links on the way, beyond which git changes nothing
    before = file.old.decode("utf-8", "surrogateescape").split("\n")
    after = file.new.decode("utf-8", "surrogateescape").split("\n")
    found = list(unified_diff(list(_lines(before)), list(_lines(after)), lineterm="\n"))
    if not found:
        return Diff("", exact=True)
    wanted = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found[2:]]
    shown = [_shown(line) for line in wanted]
    old = "/dev/null" if file.fresh else _name(f"a/{path}")
    return Diff("".join((f"--- {old}\n", f"+++ {_name(f'b/{path}')}\n", *shown)), exact=shown == wanted)


def _lines(parts: list[str]) -> Iterator[str]:
    """Yield the lines with their newline; as for git, only a newline ends a line."""
    yield from (part + "\n" for part in parts[:-1])
    if parts[-1]:
        yield parts[-1]


def _shown(line: str) -> str:
    """Escape a line of a diff, except a Windows line end and a byte-order mark."""
    mark = _BOM if line[1:2] == _BOM else ""
    end = "\r\n" if line.endswith("\r\n") else "\n"
    body = line[1 + len(mark) :].removesuffix(end)
    return f"{line[:1]}{mark}{visible_lines(f'{line[:1]}{body}')[1:]}{end}"


def _name(path: str) -> str:
    """Format a path like git: quoted if it has characters that act, with its bytes as octal numbers."""
    if visible(path) == path and not set('"\\') & set(path):
        return path
    hashes = path.replace("##", "#\0").encode("utf-8", "surrogateescape")
    return f'"{"".join(map(_byte, hashes))}"'


def _byte(byte: int) -> str:
    if byte == 0:
        return "\\043"
    return _NAMED.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
