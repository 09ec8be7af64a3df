"""kcheck fix."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING

import click

from kcheck.api import Project
from kcheck.commands import comparison_options, options, printing
from kcheck.text.files import folders, save
from kcheck.text.files.boundary import around, repository
from kcheck.text.files.disk import MAX_BYTES, Disk
from kcheck.text.files.save import File
from kcheck.text.files.tree import display_path
from kcheck.text.findings import SAFETIES, Finding, Severity
from kcheck.text.ip_ranges import parse_cidr
from kcheck.text.syntax import edit
from kcheck.text.text import Source, grouped
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcheck.config.config import Config
    from kcheck.fix.fix import Fixes, Refused
    from kcheck.fix.gate.comparison import Comparison

_LINES = 5
_SHOWN = 20
"""Remaining findings listed; `kcheck check` lists all."""


@click.command("fix", cls=options.HookCommand)
@options.with_config
@options.usage
@comparison_options.options
@click.option("--diff", "diff_only", is_flag=True, help="Print the changes as a diff for `git apply`; write nothing.")
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(file_okay=False),
    help="Write changed files below DIR, not in place.",
)  # fmt: skip
@click.option("-i", "--interactive", is_flag=True, help="Show each fix with its reason, and ask before applying it.")
@click.option("--safe-only", is_flag=True, help="Apply only fixes that change neither the bill nor the behaviour.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that make Terraform replace something.")
@options.select
@click.option("--info", is_flag=True, help="Also fix findings of severity info.")
@options.fail_on
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if anything was fixed, as hooks expect.")
@options.hook
def command(
    paths: tuple[str, ...], config: Config, comparison: Comparison | None, diff_only: bool, output: str | None,
    interactive: bool, safe_only: bool, unsafe_fixes: bool, select: tuple[str, ...], info: bool, fail_on: str | None,
    exit_non_zero_on_fix: bool,
) -> None:  # fmt: skip
    """Fix findings in the files below PATH (default: the current folder). All other bytes stay as they are.

    Fixes are safe (nothing is replaced, evicted sooner or costs more), costs (the bill or the behaviour changes) or
    unsafe (all others, only with --unsafe-fixes). Exits with 0 if nothing at or above --fail-on is left, 1 if something
    is, 2 on wrong usage or if files cannot be written, 3 if a fix did not work.
    """
    if safe_only and unsafe_fixes:
        raise click.UsageError("--safe-only and --unsafe-fixes exclude each other")

    safeties = SAFETIES if unsafe_fixes else ("safe",) if safe_only else ("safe", "costs")
    wanted = partial(Project(paths, config).fix, safeties, select, info=info, comparison=comparison)
    with printing.show_progress() as tell:
        outcome = wanted(tell=tell)
    if interactive and outcome.fixed and (declined := _declined(outcome.fixed)):
        with printing.show_progress() as tell:  # what is left must stand without the others
            outcome = wanted(tell=tell, declined=declined)
    _write(outcome, diff_only=diff_only, output=output)
    threshold = fail_on or config.fail_on
    status = report(outcome, threshold, diff=diff_only, copied=output is not None)
    changed = outcome.files and (exit_non_zero_on_fix or (diff_only and threshold != "never"))
    sys.exit(status or int(bool(changed)))


def report(outcome: Fixes, threshold: str, *, diff: bool, copied: bool = False) -> int:
    """Print what was fixed and what is left; return the exit status."""
    left = [finding for finding in outcome.remaining if options.reaches_threshold(finding, threshold)]
    places = _Places(outcome, written=not diff and not copied)
    headline, *lines = _summary(outcome, left, places, is_written=not diff)
    printing.note(headline, bold=True)
    for line in lines:
        printing.note(line)
    options.tell_bugs(outcome.result)
    if any(refused.bug for refused in outcome.refused):
        return 3
    if outcome.result.bugs:
        return options.bug_status(outcome.result)
    return int(bool(left) or options.fails_undecided(outcome.result, threshold))


def _write(outcome: Fixes, *, diff_only: bool, output: str | None) -> None:
    """Print a diff, or write the files; exit with 2 if that fails."""
    try:
        if diff_only:
            printing.diffs(outcome.files)
        elif output is not None:
            save.copies(outcome.files, output)
        else:
            outcome.write()
    except save.SaveError as error:
        printing.note(f"kcheck: {error}")
        sys.exit(2)


def _declined(fixes: list[Finding]) -> list[Finding]:
    """Ask about each fix and return those to leave out. Raises click.Abort."""
    declined: list[Finding] = []
    answer = ""
    printing.note("a: this one and all that follow; q: neither this one nor what follows; Ctrl-C: write nothing")
    for number, finding in enumerate(fixes, 1):
        if answer not in ("a", "q"):
            edited = (
                (of, edit.apply_edits(of, edit.edits(own)))
                for of, own in grouped(finding.changes, edit.source_of).items()
            )
            printing.diffs((File(of.path, of.path, of.data, new) for of, new in edited), err=True)
            printing.note(f"{number} of {len(fixes)}: {finding.rule}: {finding.message}")
            safety = finding.fix.safety if finding.fix else ""
            answer = click.prompt(f"Apply this fix ({safety})?", type=click.Choice(("y", "n", "a", "q")), err=True)
        if answer in ("n", "q"):
            declined.append(finding)
    return declined


def _summary(outcome: Fixes, left: list[Finding], places: _Places, *, is_written: bool) -> Iterable[str]:
    counts = Counter(finding.fix.safety for finding in outcome.fixed if finding.fix)
    kinds = ", ".join(f"{counts[safety]} {safety}" for safety in SAFETIES if counts[safety])
    if kinds:
        many, files = counted(len(outcome.fixed), "finding"), counted(len(outcome.files), "file")
        yield f"{'Fixed' if is_written else 'Would fix'} {many} ({kinds}) in {files}."
    else:
        yield "Nothing was fixed." if outcome.remaining else "Nothing to fix."
    walk = cache(lambda top: [*Disk(boundary=around([top])).walk(top, folders.is_ours)])
    for finding in outcome.fixed:
        comments = [span for one in finding.changes for span, alone in edit.stale_comments(one) if not alone]
        stale = [(f"comment at {places.of(one.source, one.begin.line)}", one.text) for one in comments]
        stale += _stale_pages(finding, walk)
        if finding.fix and (stale or not is_written or finding.fix.safety != "safe"):
            reason = finding.fix.title if is_written else finding.message
            yield f"  {finding.fix.safety}: {places.location(finding)} {finding.rule}: {reason}"
            yield from (f"    the {what} still says {old}" for what, old in stale)
    tried = {key for refused in outcome.refused for key in refused.finding.keys}
    for refused in outcome.refused:
        yield from _refused(refused, places)
    for flag, why, held in _held_back(outcome):
        if held:
            names = ", ".join(f"{name} {count}" for name, count in sorted(Counter(f.rule for f in held).items()))
            yield f"{len(held)} more {flag}{why}: {names}."
    rest = [f for f in left if f not in outcome.held_back and not f.keys & tried]
    if rest:
        yield f"{len(rest)} left for you to decide:"
    for finding in rest[:_SHOWN]:
        yield f"  {places.location(finding)} {finding.severity.word} {finding.rule}: {finding.message}"
        if finding.help:
            yield from (f"    = help: {line}" for line in finding.help.splitlines())
    if len(rest) > _SHOWN:
        yield f"  and {len(rest) - _SHOWN} more; `kcheck check` lists them."


def _stale_pages(finding: Finding, walk: Callable[[str], list[str]]) -> Iterable[tuple[str, str]]:
    """Yield lines of Markdown that still show a changed range or default."""
    for place, written in ((change.origin.path, change.origin.written) for change in finding.changes):
        path, old = written.source.path, written.text
        disk, pages = Disk(boundary=around([path])), [os.path.join(os.path.dirname(path), "README.md")]
        if parse_cidr(old.strip('"')) is not None:
            old = old.strip('"')
            pages = [page for page in walk(display_path(repository(path) or ".")) if page.endswith(".md")]
            row = re.compile(rf"(?<![\d.]){re.escape(old)}(?!\d)")
        elif place[1:] == ("default",) and place[0].startswith("variable "):  # as terraform-docs writes them
            name = re.escape(place[0].split(" ", 1)[1].strip('"'))
            row = re.compile(rf"^\|[^|]*\b{name}\b[^|]*\|.*`{re.escape(old)}`")
        else:
            continue
        for page in map(display_path, pages):
            lines = disk.head(page, MAX_BYTES).decode(errors="replace").replace("\\_", "_").splitlines()
            yield from ((f"text at {page}:{i}", old) for i, line in enumerate(lines, 1) if row.search(line))


def _held_back(outcome: Fixes) -> Iterable[tuple[str, str, list[Finding]]]:
    """Yield fixes that were not asked for, with their flag and the reason."""
    kinds = grouped(outcome.held_back, lambda one: one.fix.safety if one.fix and one.severity > Severity.INFO else "")
    held: dict[str, list[Finding]] = {"costs": [], "unsafe": [], "": [], **kinds}
    yield "without --safe-only", " (the bill or the behaviour changes)", held["costs"]
    yield "with --unsafe-fixes", " (Terraform would replace something, or pods that run today may not)", held["unsafe"]
    yield "with --info", "", held[""]


def _refused(refused: Refused, places: _Places) -> Iterable[str]:
    finding = refused.finding
    yield f"{places.location(finding)} {finding.rule}: not written: {refused.reason.rstrip('.')}."
    if refused.bug:
        yield f"  This is a bug in kcheck. Please send in these lines: {finding.fix.title if finding.fix else ''}"
        first, last = finding.span.begin.line, finding.span.finish.line
        yield from (f"    {finding.span.source.line(n)}" for n in range(first, min(first + _LINES, last + 1)))


class _Places:
    """Places of findings of any round in the current files."""

    def __init__(self, outcome: Fixes, *, written: bool) -> None:
        self.now = {file.path: file.new if written else file.old for file in outcome.files}
        self.lines: dict[bytes, list[int]] = {}

    def location(self, finding: Finding) -> str:
        return f"{self.of(finding.span.source, finding.span.begin.line)}:{finding.span.begin.column}"

    def of(self, source: Source, line: int) -> str:
        now = self.now.get(source.path, source.data)
        return f"{source.path}:{line if now == source.data else self._moved(source.data, now)[line - 1]}"

    def _moved(self, then: bytes, now: bytes) -> list[int]:
        """Map line numbers of an earlier text to current ones."""
        if then not in self.lines:
            old, new = then.split(b"\n"), now.split(b"\n")
            found = [1] * len(old)
            for _, start, end, to, stop in save.LineMatcher(old, new).get_opcodes():
                for i in range(start, end):
                    found[i] = min(to + i - start, max(to, stop - 1), len(new) - 1) + 1
            self.lines[then] = found
        return self.lines[then]
