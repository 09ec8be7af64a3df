"""The objects of plain manifests, file by file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kcheck.kubernetes import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcheck.kubernetes.objects import Kinds, Manifests, Object
    from kcheck.text.text import Source


class Plain:
    """Manifests that no tool renders.

    Files with objects of the kinds in `alone` only, which no other object asks about, are read when their turn comes:
    the trees of all files at once were half of the memory of a large run. All others are in `manifests` at once.
    """

    def __init__(self, sources: list[Source], kinds: Kinds, alone: frozenset[str]) -> None:
        self._sources = sources
        self._kinds = kinds
        self._later = {source for source in sources if objects.holds_only(source.data, kinds, alone)}
        self.manifests = objects.read([source for source in sources if source not in self._later], kinds)

    def in_turn(self) -> Iterator[tuple[Source, Callable[[], list[Object]]]]:
        """All files in their order, each with what gives its objects: once, some of them read only now."""
        known: dict[Source, list[Object]] = {}
        for item in self.manifests.objects:
            known.setdefault(item.span.source, []).append(item)
        self.manifests.objects = []
        for source in self._sources:
            if source in self._later:
                yield source, partial(self._read, source)
            elif source in known:
                yield source, partial(known.pop, source)

    def is_alone(self, source: Source) -> bool:
        """Whether no other object asks about those of a file."""
        return source in self._later

    def _read(self, source: Source) -> list[Object]:
        objects.read_one(source, self._kinds, self.manifests)
        found, self.manifests.objects = self.manifests.objects, []
        return found

    def read(self) -> Manifests:
        """What was found beside the objects, in the order of the files."""
        order = {source: number for number, source in enumerate(self._sources)}
        self.manifests.problems.sort(key=lambda problem: order[problem.span.source])
        self.manifests.templates.sort(key=order.__getitem__)
        return self.manifests
