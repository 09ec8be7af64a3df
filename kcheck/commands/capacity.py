"""kcheck capacity."""

from collections.abc import Callable

import click

from kcheck.api import Project
from kcheck.commands import options, printing
from kcheck.commands.check import command_line
from kcheck.config.config import Config
from kcheck.report import capacity
from kcheck.report.html import capacity_page
from kcheck.report.layout import Text
from kcheck.report.limit import age_lines
from kcheck.report.text import skipped_text
from kcheck.scale.world import World


@click.command("capacity", cls=options.Command)
@options.with_config
@options.output_format("text", "json", "markdown", "html", "svg")
def command(paths: tuple[str, ...], config: Config, format_: str) -> None:
    """Print the walls of each cluster below PATH: each limit with the number of nodes at which it is hit, and why.

    Exits with 0, or with 2 on wrong usage. Only `kcheck check` fails if the target is not reached.
    """
    project = Project(paths, config)
    with printing.show_progress() as project.tell:
        world = project.world
    if format_ == "html":
        printing.page(capacity_page.as_html(world, command_line(click.get_current_context())))
    elif format_ == "svg":
        printing.page(_picture(world))
    else:
        formats: dict[str, Callable[[World], str | Text]]
        formats = {"json": capacity.as_json, "markdown": capacity.as_markdown, "text": capacity.as_text}
        printing.page(formats[format_](world))
    for line in age_lines(world) if format_ != "html" else ():
        printing.note(f"kcheck: {line}")
    for one in project.unjudged:
        printing.note(f"{one.what}: {skipped_text(one)}")
    if not world.inventory.clusters and not project.unjudged:
        printing.note("kcheck: no cluster found here.")


def _picture(world: World) -> str:
    """Draw the limits of the only cluster; empty without a cluster.

    Raises click.UsageError if there are several clusters, or no limit has a number.
    """
    clusters = world.inventory.clusters
    if len(clusters) > 1:
        raise click.UsageError("svg shows one cluster; name its folder, or use --format html")
    drawn = capacity_page.as_svg(clusters[0], world) if clusters else ""
    if drawn is None:
        raise click.UsageError("--format svg: no limit has a known number of nodes; use --format html")
    return drawn
