"""Letters that the encoding of a terminal or a log lacks."""

from __future__ import annotations

import codecs
import io
import sys

_NAME = "kcheck.letters"


def show_all() -> None:
    """Have names told all the same where the output has no letters for them, as escapes that JSON has too."""
    codecs.register_error(_NAME, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_NAME)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - nothing is decoded
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end
