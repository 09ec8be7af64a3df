"""kcheck show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcheck.commands import options

if TYPE_CHECKING:
    from kcheck.config.config import Config


@click.command("show", short_help="Print what kcheck read: the model, each value with its origin.")
@options.with_config
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(paths: tuple[str, ...], config: Config, format_: str) -> None:
    """Print the clusters, pools, subnets and workloads below PATH, each value with the place it comes from.

    A value without a place is computed. `=` is written, `~` is a default, `?` is not known, with the reason.
    """
    from kcheck.report import model

    data = options.with_usage_errors(lambda: model.collect(options.read_tree(paths, config), config))
    click.echo(model.as_json(data) if format_ == "json" else model.as_text(data), nl=False)
