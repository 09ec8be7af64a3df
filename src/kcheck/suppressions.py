"""Comments that silence a rule: `# kcheck: ignore[rule] reason`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcheck.findings import Finding
    from kcheck.text import Source, Span

_COMMENT = re.compile(rb"(?:#|//)[ \t]*kcheck:[ \t]*ignore\[([^\]\n]*)\][ \t]*([^\n\r]*)")


class Suppression(NamedTuple):
    """One comment. Without a reason it silences nothing; alone on its line, it holds for the next one too."""

    span: Span
    rules: tuple[str, ...]
    reason: str
    alone: bool


class Suppressions:
    """The comments of all sources, by file and line."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._by_line: dict[tuple[int, int], Suppression] = {}
        self.all: list[Suppression] = []
        self._used: set[tuple[Span, str]] = set()
        for source in sources:
            if b"kcheck:" not in source.data:
                continue
            for match in _COMMENT.finditer(source.data):
                names = tuple(name.strip() for name in match[1].decode().split(","))
                span = source.span(match.start(), match.end())
                start = source.data.rfind(b"\n", 0, match.start()) + 1
                alone = not source.data[start : match.start()].strip()
                suppression = Suppression(span, names, match[2].decode("utf-8", "replace").strip(), alone)
                self.all.append(suppression)
                self._by_line[id(source), span.begin.line] = suppression

    def silences(self, finding: Finding) -> bool:
        """Whether a comment silences the finding: at its line, the line above, or the first line of its block."""
        if not self._by_line:
            return False
        found = False
        for anchor in finding.anchors:
            line = anchor.begin.line
            for number in (line, line - 1):
                suppression = self._by_line.get((id(anchor.source), number))
                if suppression is None or (number != line and not suppression.alone):
                    continue
                if suppression.reason and finding.rule in suppression.rules:
                    self._used.add((suppression.span, finding.rule))
                    found = True
        return found

    def unused(self) -> list[tuple[Suppression, str]]:
        """Comments with a reason, and the rule in them that they did not silence."""
        return [(s, rule) for s in self.all if s.reason for rule in s.rules if (s.span, rule) not in self._used]

    def bare(self) -> list[Suppression]:
        """Comments without a reason."""
        return [suppression for suppression in self.all if not suppression.reason]
