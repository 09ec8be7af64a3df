"""What a run leaves to the next one of nearly the same files: what was made of those that are still the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kcheck.reading.deployed import Described
    from kcheck.source.text import Source
    from kcheck.syntax.problem import Problem


class OfFile(NamedTuple):
    """What a manifest describes by itself, its problems, and whether it is a template."""

    described: Described
    problems: list[Problem]
    is_template: bool


class Kept:
    """The files of the run before, by real paths, and what their manifests described.

    A file with the same content is the same `Source` again, by which all else is known. What an object describes
    also depends on some others: what was made among others is forgotten.
    """

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self._among: object = None
        self._before: dict[Source, OfFile] = {}
        self._files: dict[Source, OfFile] = {}

    def begin(self, among: object) -> None:
        """Begin with what the objects of a run are read among."""
        self._before = self._before | self._files if among == self._among else {}
        self._among, self._files = among, {}

    def get(self, source: Source) -> OfFile | None:
        """What a file described; None if that is to be read."""
        found = self._before.get(source)
        if found is not None:
            self._files[source] = found
        return found

    def keep(self, source: Source, found: OfFile) -> None:
        """Keep what a file describes for the next run."""
        self._files[source] = found

    def end(self) -> None:
        """Forget what the run did not need."""
        self._before = {}
