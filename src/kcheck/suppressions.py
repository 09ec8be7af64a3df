"""What silences a rule: comments (`# kcheck: ignore[rule] reason`), and the settings."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, NamedTuple

from kcheck.files import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kcheck.config import Accepted, Config
    from kcheck.findings import Finding, Undecided
    from kcheck.rules import Rule
    from kcheck.text import Source, Span

COMMENT = re.compile(rb"(?:#|//)[ \t]*kcheck:[ \t]*ignore\[([^\]\n]*)\][ \t]*([^\n\r]*)")


class Suppression(NamedTuple):
    """One comment. Without a reason it silences nothing; alone on its line, it holds for the next one too."""

    span: Span
    rules: tuple[str, ...]
    reason: str
    alone: bool


def said(comment: re.Match[bytes]) -> tuple[tuple[str, ...], str]:
    """The rules that a comment names, and its reason."""
    rules, reason = (group.decode("utf-8", "replace") for group in comment.groups())
    return tuple(name.strip() for name in rules.split(",")), reason.strip()


class Suppressions:
    """The comments of all sources, by file and line, and what the settings say of the rules that run.

    `firm` are the names of the rules that are not to be ignored.
    """

    def __init__(self, sources: Iterable[Source], config: Config, rules: Iterable[Rule]) -> None:
        self._accepted = config.accepted
        self._ignored: dict[str, list[str]] = {}
        self.firm: set[str] = set()
        self._ran: set[str] = set()
        for rule in rules:
            own = {rule.name, rule.group}
            self._ran.add(rule.name)
            if own.intersection(config.not_ignorable):
                self.firm.add(rule.name)
                continue
            patterns = [path for path, names in config.per_path_ignores.items() if own.intersection(names)]
            if patterns:
                self._ignored[rule.name] = patterns
        self._today = datetime.datetime.now(datetime.UTC).date()
        self._useful: set[Accepted] = set()
        self._by_line: dict[tuple[int, int], Suppression] = {}
        self._by_block: dict[int, list[tuple[Span, Suppression]]] = {}
        self.all: list[Suppression] = []
        self._used: set[tuple[Span, str]] = set()
        for source in sources:
            if b"kcheck:" in source.data:
                self._read(source)

    def _read(self, source: Source) -> None:
        found = []
        for match in COMMENT.finditer(source.data):
            span = source.span(match.start(), match.end())
            start = source.data.rfind(b"\n", 0, match.start()) + 1
            alone = not source.data[start : match.start()].strip()
            suppression = Suppression(span, *said(match), alone)
            found.append(suppression)
            self._by_line[id(source), span.begin.line] = suppression
        self.all += found
        if found and source.path.endswith(".tf"):
            self._by_block[id(source)] = list(_blocks(source, self._by_line))

    def silences(self, finding: Finding) -> bool:
        """Whether the finding is accepted: by the settings, or by a comment.

        A comment stands at its line, on the line above, or on the first line of a block around it.
        """
        if finding.rule in self.firm:
            return False
        found = self._is_accepted(finding) or self._is_ignored(finding)
        if not self.all:
            return found
        for suppression in self._around(finding.anchors):
            if suppression.reason and finding.rule in suppression.rules:
                self._used.add((suppression.span, finding.rule))
                found = True
        return found

    def _is_accepted(self, finding: Finding) -> bool:
        found = False
        for accepted in self._accepted:
            if accepted.rule != finding.rule or self._has_expired(accepted):
                continue
            path = accepted.path
            if not path or any(matches(anchor.source.path, path) for anchor in finding.anchors):
                self._useful.add(accepted)
                found = True
        return found

    def _is_ignored(self, finding: Finding) -> bool:
        patterns = self._ignored.get(finding.rule, ())
        return any(matches(anchor.source.path, path) for path in patterns for anchor in finding.anchors)

    def _has_expired(self, accepted: Accepted) -> bool:
        return accepted.expires is not None and self._today >= accepted.expires

    def expired(self) -> list[Accepted]:
        """What the settings accepted up to a day that has come."""
        return [accepted for accepted in self._accepted if self._has_expired(accepted)]

    def unused_settings(self, undecided: Iterable[Undecided]) -> list[Accepted]:
        """What the settings accept and nothing was found of, though its rule ran and was decided."""
        waiting = {check.rule for check in undecided}
        judged = [a for a in self._accepted if a.rule in self._ran - waiting and not self._has_expired(a)]
        return [accepted for accepted in judged if accepted not in self._useful]

    def _around(self, anchors: Iterable[Span]) -> Iterator[Suppression]:
        for anchor in anchors:
            source = id(anchor.source)
            line = anchor.begin.line
            here, above = self._by_line.get((source, line)), self._by_line.get((source, line - 1))
            if here is not None:
                yield here
            if above is not None and above.alone:
                yield above
            for block, suppression in self._by_block.get(source, ()):
                if block.start <= anchor.start < block.end:
                    yield suppression

    def unused(self, names: set[str], undecided: Iterable[Undecided]) -> list[tuple[Suppression, str]]:
        """Comments with a reason, and the rule in them that they did not silence, though it ran and was decided.

        `names` are those of all rules.
        """
        idle = names - self._ran
        waiting = {(check.span.source.path, check.rule) for check in undecided}
        return [
            (s, rule)
            for s in self.all
            if s.reason
            for rule in s.rules
            if (s.span, rule) not in self._used and rule not in idle and (s.span.source.path, rule) not in waiting
        ]

    def bare(self) -> list[Suppression]:
        """Comments without a reason."""
        return [suppression for suppression in self.all if not suppression.reason]


def _blocks(source: Source, comments: dict[tuple[int, int], Suppression]) -> Iterator[tuple[Span, Suppression]]:
    """The blocks of a Terraform file that a comment is about: on their first line, or alone on the line above."""
    from kcheck.syntax.hcl.parse import parse

    stack = [parse(source).body]
    while stack:
        for block in stack.pop().blocks:
            stack.append(block.body)
            line = block.span.begin.line
            here, above = comments.get((id(source), line)), comments.get((id(source), line - 1))
            if here is not None:
                yield block.span, here
            if above is not None and above.alone:
                yield block.span, above
