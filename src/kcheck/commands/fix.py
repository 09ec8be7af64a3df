"""kcheck fix."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from kcheck.commands import options

if TYPE_CHECKING:
    from kcheck.config import Config


@click.command("fix", short_help="Mend what can be mended.")
@options.with_config
@click.option("--diff", "diff_only", is_flag=True, help="Print what `git apply` takes; write nothing.")
@click.option(
    "--output", metavar="DIR", type=click.Path(file_okay=False), help="Write changed files below DIR instead."
)
@click.option("--unsafe-fixes", is_flag=True, help="Also fixes by which Terraform would replace something.")
@click.option("--select", multiple=True, metavar="RULE", help="Only this rule; may be repeated.")
def command(
    paths: tuple[str, ...], config: Config, diff_only: bool, output: str | None, unsafe_fixes: bool,
    select: tuple[str, ...],
) -> None:  # fmt: skip
    """Change the files below PATH (default: here) so that what was found is gone. Every other byte stays.

    Fixes are safe (nothing is replaced, evicted sooner or dearer), costs (the bill or the behaviour changes) or unsafe
    (the rest, only with --unsafe-fixes). Exits with 0, 2 on wrong use, 3 if a fix did not work.
    """
    from kcheck import fix, rules

    names = {rule.name for rule in options.guarded(lambda: rules.chosen(config))}
    for name in select:
        if name not in names:
            raise click.UsageError(f"there is no rule `{name}`; `kcheck rules` lists them")
    safeties = ("safe", "costs", "unsafe") if unsafe_fixes else ("safe", "costs")
    outcome = options.guarded(lambda: fix.fix(list(paths), config, safeties=safeties, rules=select))
    for real, (path, old, new) in sorted(outcome.files.items(), key=lambda item: item[1][0]):
        if diff_only:
            sys.stdout.buffer.write(fix.diff(path, old, new))
        elif output is not None:
            target = os.path.join(output, os.path.normpath(path).replace("..", "__"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            fix.write(target, new)
        else:
            fix.write(real, new)
    sys.stdout.flush()
    _summary(outcome)
    if any(refused.bug for refused in outcome.refused):
        sys.exit(3)


def _summary(outcome: object) -> None:
    from kcheck.fix import Outcome

    assert isinstance(outcome, Outcome)  # noqa: S101 - for the type checker; imported late
    by_class: dict[str, int] = {}
    for finding in outcome.fixed:
        safety = finding.fix.safety if finding.fix else ""
        by_class[safety] = by_class.get(safety, 0) + 1
    kinds = ", ".join(f"{count} {safety}" for safety, count in sorted(by_class.items()))
    files = len(outcome.files)
    click.echo(
        f"{len(outcome.fixed)} fixed ({kinds}) in {files} file{'s' * (files != 1)}." if kinds else "Nothing to fix.",
        err=True,
    )
    for finding in outcome.fixed:
        if finding.fix and finding.fix.safety == "costs":
            click.echo(f"  costs: {finding.rule}: {finding.fix.title}", err=True)
    if outcome.held_back:
        click.echo(f"{len(outcome.held_back)} more with --unsafe-fixes (Terraform would replace something).", err=True)
    for refused in outcome.refused:
        place = f"{refused.finding.span.source.path}:{refused.finding.span.begin.line}"
        click.echo(f"{place} {refused.finding.rule}: not written: {refused.reason}.", err=True)
        if refused.bug:
            click.echo("This is a bug in kcheck; please send in the lines around this place.", err=True)
