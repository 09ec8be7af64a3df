"""kcheck baseline."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from kcheck.commands import comparison_options, options, progress

if TYPE_CHECKING:
    from kcheck.config.config import Config


@click.command("baseline", short_help="Write down what is found today, so that only what is new is reported.")
@options.with_config
@click.option("--baseline-file", metavar="FILE", help="Where.  [default: the settings' baseline, kcheck-baseline.json]")
def command(paths: tuple[str, ...], config: Config, baseline_file: str | None) -> None:
    """Write down what is found below PATH (default: here), for `kcheck check --baseline`.

    Entries are known by rule, file, object and message without what is filled in, not by line. Those of a file that
    exists keep their day, and those outside of PATH stay as they are.
    """
    from kcheck.engine import linter, rules
    from kcheck.gate import baseline
    from kcheck.source.units import counted

    tree = options.with_usage_errors(lambda: options.read_tree(paths, config))
    with progress.show_progress() as tell:
        result = options.with_usage_errors(lambda: linter.run(tree, config, tell))
    path = comparison_options.baseline_path(config, baseline_file)
    not_ignorable = options.with_usage_errors(lambda: rules.not_ignorable(config))
    is_new = not os.path.exists(path)
    old = (
        baseline.Baseline(path, (), not_ignorable)
        if is_new
        else options.with_usage_errors(lambda: baseline.load(path, not_ignorable))
    )
    arguments = click.get_current_context().obj.arguments
    new = old.with_current_names(result.findings).updated(result.findings, tree.given, arguments)
    comparison_options.save_baseline(new)
    counts = Counter(entry.severity for entry in new.entries)
    kinds = ", ".join(counted(counts[word], word) for word in ("error", "warning", "info") if counts[word])
    click.echo(f"{path}: {len(new.entries):,} known{f' ({kinds})' if kinds else ''}.", err=True)
    left_out = [finding for finding in result.findings if finding.rule in not_ignorable]
    if left_out:
        click.echo(f"{len(left_out):,} of rules that are not to be ignored are left out.", err=True)
    if not config.baseline:
        click.echo(f"`kcheck check --baseline` leaves them out, or `baseline: {path}` in kcheck.yaml.", err=True)
    options.tell_bugs(result)
    if result.bugs:
        sys.exit(options.bug_status(result))
