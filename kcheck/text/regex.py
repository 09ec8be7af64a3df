"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    regex = re.compile
else:

    class regex:  # noqa: N801 - used as re.compile is
        """A pattern of a module: the 240 of kcheck take 35 ms to compile, and a run needs a few of them."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> object:
            """A method of the compiled pattern, found once and kept."""
            method = getattr(re.compile(self.pattern, self._flags), name)
            setattr(self, name, method)
            return method


@contextmanager
def late() -> Iterator[None]:
    """Imports in here leave the patterns of a library uncompiled until they are used.

    PyYAML compiles 12 for its Python parser: a tenth of checking one manifest, and its C parser uses none.
    """
    compile_now = re.compile
    re.compile = regex
    try:
        yield
    finally:
        re.compile = compile_now
