"""kcheck eval."""

from __future__ import annotations

import sys

import click

from kcheck.commands import options


@click.command("eval", short_help="Evaluate a Terraform expression in a root module.")
@click.argument("expression")
@click.option("--root", default=".", show_default=True, metavar="DIR", type=click.Path(), help="The root module.")
@options.var_files
@options.variables
@options.workspace
@options.env_vars
def command(
    expression: str, root: str, var_files: tuple[str, ...], variables: tuple[str, ...], workspace: str | None,
    env_vars: bool,
) -> None:  # fmt: skip
    """Evaluate EXPRESSION as Terraform would in the root module DIR, and print JSON.

    {"value", "known", "reason", "origins"}; exits with 1 if the value is not known.
    """
    import json

    from kcheck.config.config import Config, parse_variables
    from kcheck.terraform.console import Answer, evaluate

    def answered() -> Answer:
        given = parse_variables(variables)
        config = Config(var_files=var_files, variables=given, workspace=workspace or "", env_vars=env_vars)
        return evaluate(expression, root, config)

    answer = options.with_usage_errors(answered)
    click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    if not answer["known"]:
        sys.exit(1)
