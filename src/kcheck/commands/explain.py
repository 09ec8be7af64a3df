"""kcheck explain."""

from __future__ import annotations

import difflib

import click

from kcheck.commands import options


@click.command("explain", short_help="Say why a rule exists, with sources and examples.")
@click.argument("rule")
@options.own_rules
def command(rule: str, folders: tuple[str, ...]) -> None:
    """Say why RULE exists, what it looks at, where its numbers come from, and show an example."""
    from kcheck import rules
    from kcheck.report import rule as page

    known = options.guarded(lambda: rules.every(options.rule_folders(folders)))
    found = next((own for own in known if own.name == rule), None)
    if found is None:
        close = difflib.get_close_matches(rule, [own.name for own in known], n=1)
        hint = f"; `{close[0]}` is meant?" if close else "; `kcheck rules` lists them"
        raise click.UsageError(f"there is no rule `{rule}`{hint}")
    click.echo(page.as_text(found), nl=False)
