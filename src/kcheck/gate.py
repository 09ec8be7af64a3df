"""Which findings count: those that are neither in the baseline nor older than a change."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kcheck import engine
from kcheck.config import ConfigError
from kcheck.disk import Disk
from kcheck.files import PathError, Tree
from kcheck.findings import worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcheck.baseline import Baseline
    from kcheck.config import Config
    from kcheck.engine import Result
    from kcheck.findings import Finding, Identity, Severity
    from kcheck.git import Difference


class Gate:
    """What is known already: by a baseline, by what was found before a difference, by both or neither.

    `settings` makes the settings of the files as they are, or were.
    """

    def __init__(
        self, paths: Sequence[str], settings: Callable[[Disk], Config], baseline: Baseline | None = None,
        difference: Difference | None = None,
    ) -> None:  # fmt: skip
        self._paths = list(paths)
        self._settings = settings
        self.baseline = baseline
        self.difference = difference

    def known(self, findings: Iterable[Finding]) -> frozenset[Identity]:
        """What tells those of the findings of a first run that do not count."""
        known = [finding for finding in findings if self._is_known(finding)]
        return frozenset(identity for finding in known for identity in finding.identities)

    def _is_known(self, finding: Finding) -> bool:
        if self.baseline is not None and self.baseline.knows(finding):
            return True
        if self.difference is None or self.difference.touches(finding):
            return False
        return all(self._before.get(identity, -1) >= finding.severity for identity in finding.identities)

    @cached_property
    def _before(self) -> dict[Identity, Severity]:
        """What was found before the difference, by the names that files have now."""
        if self.difference is None:
            return {}
        try:
            config = self._settings(Disk(self.difference.overlay))
            config = replace(config, rules=self._settings(Disk()).rules)  # what they find first is nobody's change
            result = engine.run(Tree(self._paths, self.difference.overlay, config.exclude), config)
        except (ConfigError, PathError):  # then nobody could run it: all is new
            return {}
        now = self.difference.now
        return worst((identity, f.severity) for f in result.findings for identity in now(f.identities))


def narrowed(result: Result, known: frozenset[Identity]) -> Result:
    """A result without what is known."""
    new = [finding for finding in result.findings if not finding.identities <= known]
    return replace(result, findings=new, known=len(result.findings) - len(new))
