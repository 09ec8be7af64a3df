"""kcheck explain."""

from __future__ import annotations

import difflib

import click


@click.command("explain", short_help="Say why a rule exists, with sources and examples.")
@click.argument("rule")
def command(rule: str) -> None:
    """Say why RULE exists, what it looks at, where its numbers come from, and show an example."""
    from kcheck import rules
    from kcheck.report import rule as page

    found = rules.named(rule)
    if found is None:
        close = difflib.get_close_matches(rule, [known.name for known in rules.load()], n=1)
        hint = f"; `{close[0]}` is meant?" if close else "; `kcheck rules` lists them"
        raise click.UsageError(f"there is no rule `{rule}`{hint}")
    click.echo(page.as_text(found), nl=False)
