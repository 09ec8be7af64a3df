"""kcheck show."""

from __future__ import annotations

from typing import Any

import click

from kcheck.commands import options


@click.command("show", short_help="Print what kcheck read: the model, each value with its origin.")
@options.paths
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@options.nodes
@options.var_files
def command(paths: tuple[str, ...], format_: str, nodes: tuple[str, ...], var_files: tuple[str, ...]) -> None:
    """Print the clusters, pools, subnets and workloads below PATH, each value with the place it comes from.

    A value without a place is computed. `=` is written, `~` is a default, `?` is not known, with the reason.
    """
    from kcheck.report import model

    config = options.config(nodes, var_files, None)
    data: dict[str, Any] = options.guarded(lambda: model.collect(options.tree(paths), config))
    click.echo(model.as_json(data) if format_ == "json" else model.as_text(data), nl=False)
