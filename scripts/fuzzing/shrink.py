"""Smaller inputs that fail alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 2_000
"""Inputs that are tried at most."""


def shrunk(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The input without the lines, then the bytes, that it fails without: in ever smaller pieces."""
    left = _MOST
    for parts in (data.splitlines(keepends=True), None):
        pieces = [bytes([byte]) for byte in data] if parts is None else parts
        size = len(pieces)
        while size >= 1 and left > 0:
            at = 0
            while at < len(pieces) and left > 0:
                fewer = pieces[:at] + pieces[at + size :]
                left -= 1
                if fails(b"".join(fewer)):
                    pieces = fewer
                else:
                    at += size
            size //= 2
        data = b"".join(pieces)
    return data
