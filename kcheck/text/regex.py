"""Regular expressions that are compiled on first use."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    regex = re.compile
else:

    class regex:  # noqa: N801 - used as re.compile is
        """A pattern compiled on first use, as a run needs few of them."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> object:
            """Find a method of the compiled pattern once and keep it."""
            method = getattr(re.compile(self.pattern, self._flags), name)
            setattr(self, name, method)
            return method


@contextmanager
def late() -> Iterator[None]:
    """Leave the patterns of imported libraries uncompiled until used.

    PyYAML compiles 12 for its Python parser: a tenth of checking one manifest, and its C parser uses none.
    """
    compile_now = re.compile
    re.compile = regex
    try:
        yield
    finally:
        re.compile = compile_now
