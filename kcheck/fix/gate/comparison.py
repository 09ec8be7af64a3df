"""New findings, and differences between two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from kcheck.config.config import Config, ConfigError
from kcheck.engine import linter, merging, rules
from kcheck.engine.linter import Result
from kcheck.fix.gate.baseline import Baseline
from kcheck.fix.gate.git import Difference
from kcheck.text.files.tree import PathError, Tree
from kcheck.text.findings import Finding, Identity, Severities, Severity, severities_of


class Comparison:
    """Compares findings with a baseline, with those before a change, or both.

    `settings` builds the settings of the files before the change. `notes` are messages for the user.
    """

    def __init__(
        self, paths: Sequence[str], config: Config, settings: Callable[[Mapping[str, bytes | None]], Config],
        baseline: Baseline | None = None, difference: Difference | None = None,
    ) -> None:  # fmt: skip
        self._paths = list(paths)
        self._config = config
        self._settings = settings
        self.baseline = baseline
        self.difference = difference
        self.notes: list[str] = []

    def find_known(self, findings: Sequence[Finding]) -> KnownFindings:
        """Select the findings of a first run that are known."""
        base = self.baseline = self.baseline and self.baseline.with_current_names(findings)
        recorded = base.known() if base is not None else {}
        now = severities_of((identity, finding.severity) for finding in findings for identity in finding.identities)
        every = rules.all_rules(self._config.rules)
        steady = rules.severities(self._config, every)  # then how bad they are is the settings' own

        def was_there(finding: Finding, before: Severities) -> bool:
            """Whether the finding was there for each of its objects, as often and as severe."""
            return all(
                identity in before
                and len(now[identity]) <= len(before[identity])
                and (finding.rule in steady or finding.severity <= max(before[identity]))
                for identity in finding.identities
            )

        def is_known(finding: Finding) -> bool:
            if base is not None and finding.rule not in base.not_ignorable and was_there(finding, recorded):
                return True
            if self.difference is None or self.difference.touches(finding):
                return False
            return was_there(finding, self._before)

        parts = (part for finding in findings for part in finding.parts or (finding,))
        return KnownFindings([part for part in parts if is_known(part)])

    @cached_property
    def _before(self) -> Severities:
        """Findings before the change, counted by the current names of their files."""
        if self.difference is None or self.before is None:
            return {}
        now = self.difference.current_identities
        return severities_of((identity, f.severity) for f in self.before.findings for identity in now(f.identities))

    @cached_property
    def before(self) -> Result | None:
        """Result of a check before the change; None without one."""
        if self.difference is None:
            return None
        try:
            config = self._settings(self.difference.overlay)
            config = replace(config, rules=self._config.rules)  # what they find first is nobody's change
            return linter.run(Tree(self._paths, self.difference.overlay, config.exclude, config.boundary), config)
        except (ConfigError, PathError) as error:
            self.notes.append(f"all findings count as new: the state before the change cannot be checked: {error}")
            return None


class KnownFindings:
    """Findings in the baseline or older than the change."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._identities: set[Identity] = set()
        self._severities: dict[tuple[str, str], Severity] = {}
        for finding in findings:
            self._identities |= finding.identities
            self._severities |= dict.fromkeys(finding.keys, finding.severity)

    def contains(self, finding: Finding) -> bool:
        """Whether all of the finding's identities are known."""
        return finding.identities <= self._identities

    def contains_after_fixes(self, finding: Finding) -> bool:
        """Whether the finding is known and no worse, after fixes."""
        severities = (self._severities.get(key, -1) for key in finding.keys)
        return self.contains(finding) or all(severity >= finding.severity for severity in severities)


def without_known(result: Result, known: Callable[[Finding], bool]) -> Result:
    """Remove known findings from a result; of merged findings only the new parts stay."""
    left = [finding for finding in result.findings if not known(finding)]
    number = len(result.findings) - len(left)
    parts = [part for finding in left for part in finding.parts or (finding,)]
    new = [part for part in parts if not known(part)]
    if len(new) < len(parts):
        left = merging.merged(new, rules.selected(result.world.config))
    return replace(result, findings=left, known=number)


class News(NamedTuple):
    """Findings that are new, changed, or gone; a moved line is no change."""

    new: list[Finding]
    changed: list[Finding]
    gone: list[Finding]


def compare(before: Sequence[Finding], now: Sequence[Finding]) -> News:
    """Compare the findings of two runs by their identities and contents."""
    counts = [Counter(identity for one in findings for identity in one.identities) for findings in (before, now)]
    said_before, said_now = ({_said(finding) for finding in findings} for findings in (before, now))
    gone = _whole(before, counts[0] - counts[1], said_now)
    new = _whole(now, counts[1] - counts[0], said_before)
    known = {id(finding) for finding in new}
    changed = [finding for finding in now if id(finding) not in known and _said(finding) not in said_before]
    return News(new, changed, gone)


def _whole(findings: Sequence[Finding], surplus: Counter[Identity], others: set[object]) -> list[Finding]:
    """List findings with all identities in surplus, new ones first."""
    found = []
    for finding in sorted(findings, key=lambda one: _said(one) in others):
        if all(surplus[identity] > 0 for identity in finding.identities):
            surplus.subtract(finding.identities)
            found.append(finding)
    return sorted(found, key=lambda one: one.key)


def _said(finding: Finding) -> object:
    """Return a finding's content, without its location."""
    return finding.identities, finding.severity, finding.message
