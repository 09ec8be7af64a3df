"""kcheck capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kcheck.commands import options, printing

if TYPE_CHECKING:
    from kcheck.config.config import Config
    from kcheck.scale.world import World


@click.command("capacity", short_help="Print the number of nodes at which each limit is hit, lowest first.")
@options.with_config
@options.cache
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def command(paths: tuple[str, ...], config: Config, format_: str) -> None:
    """Print the walls of each cluster below PATH: each limit with the number of nodes at which it is hit, and why.

    Exits with 0, or with 2 on wrong usage. Only `kcheck check` fails if the target is not reached.
    """
    from kcheck.report import capacity

    world = options.with_usage_errors(lambda: _world(paths, config))
    render = {"json": capacity.as_json, "markdown": capacity.as_markdown, "text": capacity.as_text}[format_]
    printing.page(render(world))
    if not world.inventory.clusters:
        printing.note("kcheck: no cluster found here.")


def _world(paths: tuple[str, ...], config: Config) -> World:
    from kcheck.engine import rules
    from kcheck.reading import inventory
    from kcheck.scale.world import World

    rules.check_limits(config)
    return World(inventory.read(options.read_tree(paths, config), config).inventory, config)
