"""kcheck eval."""

import re
import sys

import click

from kcheck.addons.console import evaluate
from kcheck.commands import options, printing
from kcheck.config.config import Config, parse_variables
from kcheck.report.escape import json_text
from kcheck.text.regex import regex

_OPTION = regex(r"--?[A-Za-z][\w-]*(?:=.*)?", re.DOTALL)


class _Eval(options.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a space before an expression that begins with a minus and is no option."""
        valued = {name for own in self.params if isinstance(own, click.Option) and not own.is_flag for name in own.opts}
        before = ["", *args]
        return super().parse_args(
            ctx,
            [
                f" {arg}" if arg.startswith("-") and arg != "--" and not _OPTION.fullmatch(arg) and last not in valued
                else arg
                for last, arg in zip(before, args, strict=False)
            ],
        )  # fmt: skip


@click.command("eval", cls=_Eval)
@click.argument("expression")
@click.option("--root", default=".", show_default=True, metavar="DIR", type=click.Path(), help="Root module.")
@options.var_files
@options.variables
@options.workspace
@options.env_vars
def command(
    expression: str, root: str, var_files: tuple[str, ...], variables: tuple[str, ...], workspace: str | None,
    env_vars: bool,
) -> None:  # fmt: skip
    """Evaluate EXPRESSION as Terraform would in the root module DIR, and print JSON.

    {"value", "known", "reason", "origins"}; exits with 1 if the value is unknown.
    """
    given = parse_variables(variables)
    config = Config(var_files=var_files, variables=given, workspace=workspace or "", env_vars=env_vars)
    answer = evaluate(expression.lstrip(), root, config)
    printing.page(json_text(answer, indent=2))
    if not answer["known"]:
        sys.exit(1)
