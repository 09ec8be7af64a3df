"""Suppressions of findings: comments, annotations and settings."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from kcheck.config.config import Accepted, Config, has_come
from kcheck.engine.rule import Rule
from kcheck.text.files.boundary import contains_path
from kcheck.text.files.patterns import matches
from kcheck.text.findings import Finding, Undecided
from kcheck.text.regex import regex
from kcheck.text.syntax import yaml
from kcheck.text.text import Source, Span

COMMENT = regex(rb"(?:#|//)[ \t]*kcheck:[ \t]*ignore\[([^\]\n]*)\][ \t]*([^\n\r]*)")

_NAMELESS = regex(rb"(?:#|//)[ \t]*kcheck:[ \t]*ignore(?![\[\w-])")


class Suppression(Struct, frozen=True):
    """A comment or an annotation. Without a reason it silences nothing.

    An `annotation` may be meant for policies in the cluster.
    """

    span: Span
    rules: tuple[str, ...]
    reason: str
    annotation: bool = False


def parse_comment(comment: re.Match[bytes]) -> tuple[tuple[str, ...], str]:
    """Parse a comment into the rules it names and its reason."""
    rules, reason = (group.decode("utf-8", "replace") for group in comment.groups())
    return tuple(name.strip() for name in rules.split(",")), reason.strip()


class Suppressions:
    """All suppressions of a run, by file and line.

    A group stands for its rules. `not_ignorable` are names of rules; `nameless` are comments that name none; `expired`
    are those of the settings that hold no more.
    """

    def __init__(self, sources: Iterable[Source], config: Config, rules: Iterable[Rule]) -> None:
        self.expired = [one for one in config.accepted if one.expires is not None and has_come(one.expires)]
        self._accepted = [one for one in config.accepted if one not in self.expired]
        self._per_path = config.per_path_ignores
        self.not_ignorable: set[str] = set()
        self._names: dict[str, set[str]] = {}
        self._ran: dict[str, set[str]] = {}
        sources = list(sources)
        self._paths = [source.path for source in sources]
        for rule in rules:
            own = self._names[rule.name] = set(rule.names)
            for name in own:
                self._ran.setdefault(name, set()).add(rule.name)
            if own.intersection(config.not_ignorable):
                self.not_ignorable.add(rule.name)
        self._useful: set[Accepted] = set()
        self._by_line: dict[tuple[int, int], list[Suppression]] = {}  # by source and line: on it, or alone above it
        self._by_block: dict[int, list[tuple[range, Suppression]]] = {}  # by source, with the bytes of the block
        self.all: list[Suppression] = []
        self.nameless: list[Span] = []
        self._used: set[tuple[Span, str]] = set()
        for source in sources:
            if b"kcheck:" in source.data:
                self._read(source)
            if IGNORE.encode() in source.data and source.syntax == "yaml":
                self._read_annotations(source)

    def _read(self, source: Source) -> None:
        """Read comments; each applies to its line, the next, or a block below."""
        found = []
        for match in COMMENT.finditer(source.data):
            span = source.span(match.start(), match.end())
            found.append(Suppression(span, *parse_comment(match)))
            is_alone = not source.data[source.line_start(span.start) : span.start].strip()
            for line in range(span.begin.line, span.begin.line + 1 + is_alone):
                self._by_line.setdefault((id(source), line), []).append(found[-1])
        self.all += found
        self.nameless += [source.span(m.start(), m.end()) for m in _NAMELESS.finditer(source.data)]
        if found and source.path.endswith((".tf", ".hcl")):
            from kcheck.text.syntax.hcl.parse import parse

            pairs = ((block.span, one) for block in parse(source).body.nested() for one in self._on_line(block.span))
            self._by_block[id(source)] = [(range(span.start, span.end), one) for span, one in pairs]

    def _read_annotations(self, source: Source) -> None:
        """Read annotations, which apply to whole objects."""
        for span, place, value in read_annotations(source):
            suppression = Suppression(place, *parse_annotation(value), annotation=True)
            self.all.append(suppression)
            self._by_block.setdefault(id(source), []).append((range(span.start, span.end), suppression))

    def silences(self, finding: Finding) -> bool:
        """Whether a finding is accepted by the settings, a comment or an annotation.

        A comment stands on its line, on the line above, or on the first line of a block around it; an annotation in the
        object.
        """
        if finding.rule in self.not_ignorable:
            return False
        found = self._is_accepted(finding) or self._is_ignored(finding)
        if not self.all:
            return found
        for suppression in self._around(finding.anchors):
            for name in self._names[finding.rule].intersection(suppression.rules if suppression.reason else ()):
                self._used.add((suppression.span, name))
                found = True
        return found

    def _is_accepted(self, finding: Finding) -> bool:
        names = self._names[finding.rule]
        found = [one for one in self._accepted if one.rule in names and (not one.path or _is_in(finding, one.path))]
        self._useful.update(found)
        return bool(found)

    def _is_ignored(self, finding: Finding) -> bool:
        names = self._names[finding.rule]
        return any(_is_in(finding, path) for path, ignored in self._per_path.items() if names.intersection(ignored))

    def unused_settings(self, undecided: Iterable[Undecided], given: Iterable[str]) -> list[Accepted]:
        """List the settings' suppressions that silenced nothing.

        `given` are the paths of the run.
        """
        waiting = {check.rule for check in undecided}
        tops = list(given)

        def is_judged(accepted: Accepted) -> bool:
            rules = self._ran.get(accepted.rule)
            if not rules or rules & waiting:
                return False
            if any(contains_path(top, os.path.dirname(accepted.place.source.path) or ".") for top in tops):
                return True  # all that the settings are about was read
            return bool(accepted.path) and any(matches(path, accepted.path) for path in self._paths)

        return [accepted for accepted in self._accepted if is_judged(accepted) and accepted not in self._useful]

    def _around(self, anchors: Iterable[Span]) -> Iterator[Suppression]:
        for anchor in anchors:
            yield from self._on_line(anchor)
            blocks = self._by_block.get(id(anchor.source), ())
            yield from (suppression for block, suppression in blocks if anchor.start in block)

    def _on_line(self, place: Span) -> Sequence[Suppression]:
        """Return the comments on the first line of a span, and those alone above it."""
        return self._by_line.get((id(place.source), place.begin.line), ())

    def unused(self, names: set[str], undecided: Iterable[Undecided]) -> list[tuple[Suppression, str]]:
        """List comments that silenced nothing, each with a reason.

        `names` are those of all rules and groups.
        """
        waiting: dict[str, set[str]] = {}
        for check in undecided:
            waiting.setdefault(check.span.source.path, set()).add(check.rule)

        def is_judged(suppression: Suppression, name: str) -> bool:
            if name not in names:
                return True
            rules = self._ran.get(name, set())
            return bool(rules) and not rules & waiting.get(suppression.span.source.path, set())

        comments = (own for own in self.all if own.reason and not own.annotation)
        found = [(suppression, name) for suppression in comments for name in suppression.rules]
        return [(own, name) for own, name in found if (own.span, name) not in self._used and is_judged(own, name)]


def _is_in(finding: Finding, pattern: str) -> bool:
    return any(matches(anchor.source.path, pattern) for anchor in finding.anchors)


IGNORE = "kcheck.dev/ignore"
"""Its value names rules or groups, and gives a reason: `job-without-deadline, images: runs until it is stopped`."""


def parse_annotation(value: str) -> tuple[tuple[str, ...], str]:
    """Parse an annotation into rules, groups and the reason."""
    names, _, reason = value.partition(":")
    return tuple(filter(None, (name.strip() for name in names.split(",")))), reason.strip()


def read_annotations(source: Source) -> Iterator[tuple[Span, Span, str]]:
    """Yield the objects of a file that have the annotation, with its place and value."""
    for document in yaml.documents(source, lambda data: IGNORE.encode() in data):
        root = document.root
        found = yaml.get(root, "items") if root is not None and yaml.get(root, "metadata", "name") is None else None
        for item in found.items if isinstance(found, yaml.Sequence) else (root,):
            value = yaml.get(item, "metadata", "annotations", IGNORE)
            if isinstance(value, yaml.Scalar):
                span = document.span if item is root or item is None else yaml.resolve(item).span
                yield span, value.span, value.text


def ignoring(names: Iterable[str]) -> str:
    """Return a pattern for annotation values that ignore a rule."""
    either = "|".join(map(re.escape, names)).replace("\\-", "-")
    return rf"^([^:]*,)?\s*({either})\s*(,[^:]*)?:\s*\S"
