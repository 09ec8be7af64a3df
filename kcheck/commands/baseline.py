"""kcheck baseline."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import click

from kcheck.commands import comparison_options, options, printing
from kcheck.engine import linter, rules
from kcheck.fix.gate import baseline
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.config.config import Config
    from kcheck.engine.linter import Result


_MOST = 10


@click.command("baseline", cls=options.Command)
@options.with_config
@options.usage
@click.option(
    "--baseline-file",
    metavar="FILE",
    help="Baseline file.  [default: the settings' baseline, else kcheck-baseline.json]",
)
@click.option("--prune", is_flag=True, help="Only remove findings that are gone from the baseline.")
def command(paths: tuple[str, ...], config: Config, baseline_file: str | None, prune: bool) -> None:
    """Record the findings below PATH (default: the current folder) for `kcheck check --baseline`.

    Entries are matched by rule, file and object, not by line or message. Entries that exist keep their date; those
    outside PATH are kept.
    """
    tree = options.read_tree(paths, config)
    with printing.show_progress() as tell:
        result = linter.run(tree, config, tell)
    path = comparison_options.baseline_path(config, baseline_file)
    not_ignorable = rules.not_ignorable(config)
    is_new = not os.path.exists(path)
    old = baseline.Baseline(path, (), not_ignorable) if is_new and not prune else baseline.load(path, not_ignorable)
    if prune:
        tell_gone(old.with_current_names(result.findings), result, config, prune=True, quiet=False)
        options.end_on_bugs(result)
        return
    arguments = click.get_current_context().obj.arguments
    new = old.with_current_names(result.findings).updated(result.findings, tree.given, arguments)
    comparison_options.save_baseline(new)
    counts = Counter(entry.severity for entry in new.entries)
    kinds = ", ".join(counted(counts[word], word) for word in ("error", "warning", "info") if counts[word])
    printing.note(f"{path}: {counted(len(new.entries), 'known finding')}{f' ({kinds})' if kinds else ''}.")
    left_out = [finding for finding in result.findings if finding.rule in not_ignorable]
    if left_out:
        printing.note(f"Left out {counted(len(left_out), 'finding')} of rules in not_ignorable.")
    if not config.baseline:
        printing.note(f"Next: `kcheck check --baseline`, or add `baseline: {path}` to kcheck.yaml.")
    options.end_on_bugs(result)


def tell_gone(known: baseline.Baseline, result: Result, config: Config, *, prune: bool, quiet: bool) -> None:
    """List known findings that are gone; with `prune`, remove them from the baseline file.

    Raises:
        click.UsageError: the file cannot be written, or was written by a run with other arguments.
    """
    if known.arguments != click.get_current_context().obj.arguments:
        if prune:
            how = " ".join(("kcheck baseline", *known.arguments))
            raise click.UsageError(f"--prune: {known.path} was written by `{how}`; run with the same arguments")
        return
    note: Callable[[str], None] = (lambda _: None) if quiet else printing.note
    gone = known.gone(result, {rule.name for rule in rules.selected(config)})
    if prune:
        comparison_options.save_baseline(known.without(gone))
    if not gone:
        return
    many = counted(len(gone), "entry", "entries")
    if prune:
        left = len(known.without(gone).entries)
        note(f"kcheck: removed {many} from {known.path}, {left:,} left:")
    else:
        them = "it" if len(gone) == 1 else "them"
        note(f"kcheck: {many} of {known.path} not found any more; `kcheck baseline --prune` removes {them}:")
    for entry in gone[:_MOST]:
        note(f"  {entry.path} {entry.rule}: {', '.join(entry.objects)}")
    if len(gone) > _MOST:
        note(f"  and {len(gone) - _MOST:,} more")
