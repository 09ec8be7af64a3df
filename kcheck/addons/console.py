"""kcheck eval: evaluate an expression as `terraform console` would."""

import re
import sys
from fractions import Fraction
from typing import TypedDict

import click

from kcheck.commands import options, printing
from kcheck.config.config import Config, parse_variables
from kcheck.report.escape import json_text
from kcheck.terraform.configuration import Configuration
from kcheck.terraform.evaluator import value_of
from kcheck.terraform.module import Module
from kcheck.terraform.roots import Loader
from kcheck.terraform.scope import Names, Scope
from kcheck.text import scalars
from kcheck.text.files.tree import Tree
from kcheck.text.partly_known import plain
from kcheck.text.regex import regex
from kcheck.text.scalars import EvaluationError
from kcheck.text.syntax.hcl import nodes
from kcheck.text.syntax.hcl.parse import parse
from kcheck.text.text import Source
from kcheck.text.units import decimal_number
from kcheck.text.values import Datum, Known, Unknown


class Answer(TypedDict):
    """Value of an expression, or why it is unknown, and where it comes from."""

    value: object
    known: bool
    reason: str | None
    origins: list[str]


def evaluate(expression: str, root: str, config: Config) -> Answer:
    """Evaluate an expression in a root module.

    Raises kcheck.text.files.tree.PathError if there is no such folder, kcheck.config.config.ConfigError if there is no
    such variable file.
    """
    source = Source("<expression>", f"value = (\n{expression}\n)".encode("utf-8", "surrogatepass"))
    file = parse(source)
    entry = file.body.attributes.get("value")
    if file.problems or entry is None:
        return _unknown(file.problems[0].message if file.problems else "not an expression")
    loader = Loader(Tree([root]), config)
    modules = loader.roots(each=False)
    module = modules[0] if modules else None
    scope = (module or Module(Configuration(root), {}, loader)).scope
    try:
        datum = strict_value(entry.expression, scope)
    except EvaluationError as error:
        return _unknown(str(error))
    except RecursionError:
        return _unknown("the expression is nested too deeply")
    spans = datum.origin.spans if datum.origin else ()
    origins = [span.exact_location for span in spans if span.source is not source]
    return _answer(datum, origins)


def strict_value(expression: nodes.Expression, scope: Scope) -> Datum:
    """Evaluate an expression; raise EvaluationError where Terraform does."""
    strict = scope.strictly()
    loops = [node for node in nodes.walk(expression) if isinstance(node, nodes.For | nodes.TemplateFor)]
    own = {name for loop in loops for name in (loop.key, loop.name)}
    for node in nodes.walk(expression):
        root = node.target if isinstance(node, nodes.GetAttr) else node
        if isinstance(root, nodes.Variable) and root.name not in own:
            found = scope.lookup(root.name)
            if found is None:
                raise EvaluationError(f"`{root.name}` is not a name that can be used here")
            if isinstance(node, nodes.GetAttr) and isinstance(found, Known) and isinstance(found.value, Names):
                found.value.attribute(node.name)
    return value_of(expression, strict)


def _answer(datum: Datum, origins: list[str]) -> Answer:
    if isinstance(datum, Unknown):
        return {**_unknown(datum.reason), "origins": origins}
    try:
        value = plain(Known(datum.value, datum.origin))
        return {"value": _json(value), "known": True, "reason": None, "origins": origins}
    except (ValueError, TypeError) as error:
        return {**_unknown(str(error)), "origins": origins}


def _unknown(reason: str) -> Answer:
    return {"value": None, "known": False, "reason": reason, "origins": []}


def _json(value: object) -> object:
    """Convert a value for JSON; fractions become decimal numbers."""
    if isinstance(value, Fraction):
        return decimal_number(value)
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, int) and value.bit_length() > scalars.BITS:
        return int(scalars.to_string(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError("a resource or module is not a value; name one of its attributes")


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
