"""kcheck baseline."""

import os
from collections import Counter

import click

from kcheck.commands import comparison_options, options, printing
from kcheck.config.config import Config
from kcheck.engine import linter, rules
from kcheck.fix.gate import baseline
from kcheck.text.units import counted


@click.command("baseline", cls=options.Command)
@options.with_config
@options.usage
@comparison_options.baseline_file
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
    old = baseline.Baseline(path, [], not_ignorable) if is_new and not prune else baseline.load(path, config)
    if prune:
        comparison_options.tell_gone(old.with_current_names(result.findings), result, config, prune=True)
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
