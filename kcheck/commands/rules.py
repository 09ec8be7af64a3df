"""kcheck rules."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from kcheck.commands import options

if TYPE_CHECKING:
    from kcheck.engine.rule import Rule


@click.command("rules", short_help="List the rules, or test your own.")
@options.own_rules
@click.option("--test", "tested", metavar="DIR", help="Run the examples of the rules of your own in DIR.")
def command(folders: tuple[str, ...], tested: str | None) -> None:
    """List the rules by group: severity, whether kcheck can fix it, what it finds.

    With --test, exits with 0 if all examples show what they say, 1 if one does not, 2 if a file is no rule.
    """
    from kcheck.engine import rules
    from kcheck.report import rule as page

    if tested is None:
        click.echo(
            page.listing(options.with_usage_errors(lambda: rules.all_rules(options.rule_folders(folders)))), nl=False
        )
        return
    own = options.with_usage_errors(lambda: rules.read(tested))
    beside = tuple(os.path.abspath(folder) for folder in (*folders, tested))
    options.with_usage_errors(lambda: rules.all_rules(beside))
    failed = 0
    for rule in own:
        wrong = options.with_usage_errors(partial(_failures, rule, beside))
        failed += bool(wrong)
        count = len(rule.documentation.examples)
        what = f"{count} example{'s' * (count != 1)}" if count else "no examples, nothing is shown"
        click.echo(f"{'FAILED' if wrong else 'ok' if count else '--'} {rule.group}/{rule.name}: {what}")
        for text in wrong:
            click.echo("\n".join(f"  {line}".rstrip() for line in text.splitlines()))
    click.echo(f"{len(own)} rule{'s' * (len(own) != 1)}, {failed or 'none'} failed.", err=True)
    if failed:
        sys.exit(1)


def _failures(rule: Rule, folders: tuple[str, ...]) -> list[str]:
    """What the examples of a rule do not show, each with the number of its example."""
    from kcheck.fix import rule_examples

    many = len(rule.documentation.examples) > 1
    return [
        f"example {i}: {text}" if many else text
        for i, example in enumerate(rule.documentation.examples, 1)
        for text in rule_examples.failures(rule, example, folders)
    ]
