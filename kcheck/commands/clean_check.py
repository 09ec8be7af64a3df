"""What `kcheck check` can print before click is imported: that nothing is found.

Findings need click, for their colours and for the commands that come next; it takes a seventh of checking one manifest.
"""

from __future__ import annotations

import sys

from kcheck.commands import first_look, progress
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report.formats import Report, render
from kcheck.text.files import system

_STRICT = frozenset({"--fail-on=info", "--fail-on=undecided"})
"""What can fail a run without findings that are shown."""


def is_clean(arguments: list[str]) -> bool:
    """Whether nothing is found in the tree that was read for these arguments, which is then printed."""
    given = first_look.split(arguments)
    if given is None or given[0] not in first_look.trees or system.variable("KCHECK_JOBS"):
        return False
    folders, _, flags = given
    system.may_repeat()
    quiet = bool(flags & first_look.QUIET)
    with progress.show_progress(quiet=quiet) as tell:
        result = linter.run(first_look.trees[folders], Config(), tell, jobs=None)
    report = Report(result, "--info" in flags, "--show-undecided" in flags, quiet)
    if report.findings or result.bugs or not result.relevant or flags & _STRICT:
        first_look.results[folders] = result
        return False
    sys.stdout.write(render("text", report))
    sys.stdout.flush()
    del first_look.trees[folders]
    return True
