"""kcheck explain."""

from __future__ import annotations

import difflib

import click

from kcheck.commands import options


@click.command("explain", short_help="Say why a rule or a number exists, with sources and examples.")
@click.argument("name", metavar="RULE|LIMIT", shell_complete=options.complete_rules)
@options.own_rules
def command(name: str, folders: tuple[str, ...]) -> None:
    """Say why RULE exists, what it looks at, where its numbers come from, and show an example.

    Of a LIMIT such as eks.pool.quota: its value, its source and date, and what uses it.
    """
    from kcheck.engine import rules
    from kcheck.report import limit
    from kcheck.report import rule as page

    known = options.with_usage_errors(lambda: rules.all_rules(options.rule_folders(folders)))
    found = next((own for own in known if own.name == name), None)
    if found is not None:
        click.echo(page.as_text(found, known), nl=False)
        return
    numbers = limit.meant(name)
    if numbers:
        click.echo("\n".join(limit.as_text(full, entry) for full, entry in numbers.items()), nl=False)
        return
    names = [*(own.name for own in known), *(full.partition(".")[2] for full in limit.names())]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; `{close[0]}` is meant?" if close else "; `kcheck rules` lists the rules"
    raise click.UsageError(f"there is no rule and no limit `{name}`{hint}")
