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
@options.fail_on
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

    result = options.guarded(lambda: engine.run(tree, config))
    if format_ == "json":
        from kcheck.report import json

        click.echo(json.render(result, info=info), nl=False)
    elif result.relevant or result.findings:
        from kcheck.report import text

        click.echo(text.render(result, info=info, undecided=show_undecided), nl=False)
    if not result.relevant and not result.findings:
        click.echo(NOTHING, err=True)
    options.tell_bugs(result)
    if result.bugs:
        sys.exit(3)
    if any(options.fails(finding, fail_on) for finding in result.findings):
        sys.exit(1)
