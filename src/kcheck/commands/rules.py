"""kcheck rules."""

from __future__ import annotations

import click


@click.command("rules", short_help="List the rules.")
def command() -> None:
    """List the rules by group: severity, whether kcheck can fix it, what it finds."""
    from kcheck import rules
    from kcheck.report import rule as page

    click.echo(page.listing(rules.load()), nl=False)
