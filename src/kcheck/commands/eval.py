"""kcheck eval."""

from __future__ import annotations

import sys

import click

from kcheck.commands import options


@click.command("eval", short_help="Evaluate a Terraform expression in a root module.")
@click.argument("expression")
@click.option("--root", default=".", show_default=True, metavar="DIR", type=click.Path(), help="The root module.")
@options.var_files
def command(expression: str, root: str, var_files: tuple[str, ...]) -> None:
    """Evaluate EXPRESSION as Terraform would in the root module DIR, and print JSON.

    {"value", "known", "reason", "origins"}; exits with 1 if the value is not known.
    """
    import json

    from kcheck.terraform.console import evaluate

    answer = options.guarded(lambda: evaluate(expression, root, var_files))
    click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    if not answer["known"]:
        sys.exit(1)
