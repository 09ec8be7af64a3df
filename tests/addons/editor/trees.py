"""Build snapshots of trees, and find places in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcheck.addons.editor.checker import Checker
from kcheck.config.config import Config
from kcheck.text.files import system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcheck.addons.editor.snapshot import Snapshot
    from kcheck.text.text import Source, Span


def snapshot(folder: str = ".", config: Config | None = None) -> Snapshot:
    """Return the snapshot of a folder after a check of the files on disk."""
    checker = Checker(system.real_path(folder), lambda _: config or Config())
    return list(checker.check({}))[-1]


def sources(state: Snapshot) -> Iterator[Source]:
    """Yield the files of a snapshot, sorted by path."""
    found = (source for source in state.tree.sources.values() if source is not None)
    yield from sorted(found, key=lambda source: source.path)


def file(state: Snapshot, name: str) -> Source:
    """Return the file of a snapshot whose path ends with a name."""
    return next(source for source in sources(state) if source.path.endswith(name))


def offset(source: Source, mark: str, within: str = "") -> int:
    """Return the offset of `within` inside of `mark`, which must occur exactly once in the file."""
    assert source.data.count(mark.encode()) == 1
    return source.data.index(mark.encode()) + mark.encode().index(within.encode())


def shown(span: Span) -> str:
    """Return a span as FILE:LINE."""
    return f"{span.source.path.rpartition('/')[2]}:{span.begin.line}"
