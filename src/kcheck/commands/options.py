"""Options that several commands share, and the run behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from kcheck.config import Config, ConfigError, parse_nodes, parse_price
from kcheck.files import PathError, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

paths = click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path())
nodes = click.option(
    "--nodes", multiple=True, metavar="[CLUSTER=]N", help="How many nodes the cluster is meant to reach."
)
var_files = click.option(
    "--var-file", "var_files", multiple=True, metavar="FILE", help="A tfvars file, as for Terraform."
)
price = click.option("--price", metavar="USD", help="What one node costs an hour; waste is then told in money.")


def config(nodes: tuple[str, ...], var_files: tuple[str, ...], price: str | None) -> Config:
    """The settings of a run.

    Raises:
        click.UsageError: a flag makes no sense.
    """
    try:
        return Config(parse_nodes(nodes), var_files, parse_price(price))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def guarded(action: Callable[[], T]) -> T:
    """Run an action; what the user got wrong becomes a usage error.

    Raises:
        click.UsageError: a path or a variable file does not exist.
    """
    try:
        return action()
    except (PathError, ConfigError) as error:
        raise click.UsageError(str(error)) from error


def tree(paths: tuple[str, ...]) -> Tree:
    """The files of the given paths, the working directory without any."""
    return Tree(list(paths))
