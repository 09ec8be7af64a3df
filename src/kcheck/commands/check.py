"""kcheck check."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kcheck.commands import options

if TYPE_CHECKING:
    from kcheck.config import Config

NOTHING = "kcheck: nothing relevant here: no cluster in Terraform, no workload in a manifest."


@click.command("check", short_help="Say what breaks first, and what is wasted.")
@options.with_config
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--select", multiple=True, metavar="RULE", help="Only this rule, or group of rules.")
@click.option("--info", is_flag=True, help="Also show what is only worth knowing.")
@click.option("--show-undecided", is_flag=True, help="List the checks that wait for unknown inputs.")
@click.option(
    "--fail-on", type=click.Choice(["error", "warning", "info", "never"]), default=None,
    help="The severity from which on the exit status is 1.  [default: warning]",
)  # fmt: skip
def command(
    paths: tuple[str, ...], config: Config, format_: str, select: tuple[str, ...], info: bool, show_undecided: bool,
    fail_on: str | None,
) -> None:  # fmt: skip
    """Check the Terraform and the manifests below PATH (default: here) together.

    Exits with 0 if nothing is found, 1 if something is at or above --fail-on, 2 on wrong use, 3 on a bug in kcheck.
    """
    config = replace(config, select=select or config.select)
    tree = options.guarded(lambda: options.tree(paths, config))
    fail_on = fail_on or config.fail_on
    if format_ == "text" and tree.empty:
        click.echo(NOTHING, err=True)
        return
    from kcheck import engine
    from kcheck.findings import Severity

    result = options.guarded(lambda: engine.run(tree, config))
    if format_ == "json":
        from kcheck.report import json

        click.echo(json.render(result, info=info), nl=False)
    elif result.relevant or result.findings:
        from kcheck.report import text

        click.echo(text.render(result, info=info, undecided=show_undecided), nl=False)
    if not result.relevant and not result.findings:
        click.echo(NOTHING, err=True)
    for bug in result.bugs:
        click.echo(f"kcheck: bug in {bug.rule or 'the model'} on {bug.object}: {bug.message}", err=True)
    if result.bugs:
        click.echo("Please send these lines to the project's issue tracker; the other rules ran.", err=True)
        sys.exit(3)
    if fail_on != "never" and any(f.severity >= Severity[fail_on.upper()] for f in result.findings):
        sys.exit(1)
