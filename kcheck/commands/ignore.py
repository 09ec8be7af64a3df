"""kcheck ignore."""

import json

import click

from kcheck.commands import comparison_options, options, printing
from kcheck.config.config import Config
from kcheck.fix.gate import new_ignores
from kcheck.fix.gate.comparison import Comparison
from kcheck.report.formats import Report
from kcheck.text.files import save
from kcheck.text.units import counted


@click.command("ignore", cls=options.Command)
@click.argument("reason")
@options.with_config
@options.usage
@comparison_options.options
@options.select
@click.option("--diff", "diff_only", is_flag=True, help="Print the comments as a diff for `git apply`; write nothing.")
@click.option("--info", is_flag=True, help="Also silence findings of severity info.")
def command(
    paths: tuple[str, ...], config: Config, comparison: Comparison | None, reason: str, select: tuple[str, ...],
    diff_only: bool, info: bool,
) -> None:  # fmt: skip
    """Add a comment with REASON to each finding below PATH (default: the current folder), which silences it.

    Exits with 0, or with 2 on wrong usage or if files cannot be written.
    """
    from msgspec.structs import replace

    if not reason.strip() or not reason.isprintable():
        raise click.UsageError("expected a reason, in one line")
    config = replace(config, select=select or config.select)
    tree = options.read_tree(paths, config)
    _, whole, result = comparison_options.results(paths, config, tree, comparison, quiet=False)
    findings, refused = Report(result, info).findings, new_ignores.not_silenced(config)
    silenced = new_ignores.plan_comments(
        tree, config, whole, [f for f in findings if f.rule not in refused], reason.strip()
    )
    if diff_only:
        printing.diffs(silenced.files)
    else:
        save.save(silenced.files)
    many, files = counted(len(silenced.findings), "finding"), counted(len(silenced.files), "file")
    printing.note(f"kcheck: would silence {many} in {files}." if diff_only else f"kcheck: {many} silenced in {files}.")
    kept = [f for f in findings if f.rule in refused and f.identities & silenced.still]
    left = [*silenced.left, *((finding, refused[finding.rule]) for finding in kept)]
    for finding, why in left:
        printing.note(f"{finding.span.location} {finding.rule}: not silenced: {why}")
    entries = dict.fromkeys((finding.rule, finding.span.source.path) for finding, _ in silenced.left)
    if entries:
        printing.note("No comment can silence these; add to kcheck.yaml:")
        printing.note("suppressions:")
    for rule, path in entries:
        printing.note(f"  - {{rule: {rule}, path: {json.dumps(path)}, reason: {json.dumps(reason)}}}")
    options.end_on_bugs(result, is_late=whole.is_late)
