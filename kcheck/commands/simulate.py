"""kcheck simulate."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

import click

from kcheck.commands import options, printing
from kcheck.commands.check import command_line
from kcheck.config.config import Config, RunRequest
from kcheck.engine import rules
from kcheck.fix.what_if import savings
from kcheck.inventory import reader
from kcheck.report import simulation
from kcheck.report.html import simulation_page
from kcheck.report.layout import Line
from kcheck.scale.simulate import results, scenario
from kcheck.scale.simulate.results import SimulationResult
from kcheck.scale.simulate.run import simulate
from kcheck.scale.world import World
from kcheck.text.errors import Error
from kcheck.text.units import quantity, seconds


@click.command("simulate", cls=options.Command)
@options.with_config
@click.option("--duration", metavar="TIME", default=None, help="Work time of each pod.  [default: 10m]")
@click.option(
    "--image-size", metavar="SIZE", default=None, help="Size of the images that a new node pulls, such as 5GiB."
)
@options.output_format("text", "json", "svg", "html")
@click.option(
    "--what-if", "what_if", is_flag=True, help="Also print what each fix would save, and all of them together."
)
@click.option(
    "--record", multiple=True, metavar="FILE", type=click.Path(),
    help="Only print the delays of a real run as settings, from its events, metrics or a CSV file; may be repeated.",
)  # fmt: skip
def command(
    paths: tuple[str, ...], config: Config, duration: str | None, image_size: str | None, format_: str, what_if: bool,
    record: tuple[str, ...],
) -> None:  # fmt: skip
    """Simulate the largest job of each cluster below PATH with a model of its autoscaler and cloud.

    Without a job in the code: one pod per node, for --nodes or for the maxima of the pools. Exits with 0, or with 2 on
    wrong usage.
    """
    from msgspec.structs import replace

    if record:
        printing.page(_recorded(record, paths))
        return

    run_time = _positive(duration, seconds, "duration such as 10m or 1h30m", "--duration")
    size = _positive(image_size, _mebibytes, "size such as 5GiB", "--image-size")
    config = replace(config, run=RunRequest(run_time, size, jobs=True))
    with printing.show_progress() as tell:
        found, left = _results(paths, config, tell)
    for why in left:
        printing.note(f"kcheck: {why}")
    if not found:
        printing.note("kcheck: no cluster here can be simulated.")
        return
    if format_ == "svg" and len(found) > 1:
        raise click.UsageError("svg shows one cluster; name its folder, or use --format html")
    if format_ == "svg":
        printing.page(simulation_page.as_svg(found[0]))
        return
    saved = savings(list(paths) or ["."], config, found) if what_if else [None] * len(found)
    pairs = list(zip(found, saved, strict=True))
    if format_ == "text":
        for number, (one, own) in enumerate(pairs):
            text = (*simulation.as_text(one, printing.screen()), *(() if own is None else simulation.table(one, own)))
            printing.page((*([Line()] if number else []), *text))
    else:
        made = command_line(click.get_current_context())
        printing.page(simulation_page.as_html(pairs, made) if format_ == "html" else simulation.as_json(pairs))


def _recorded(files: tuple[str, ...], paths: tuple[str, ...]) -> str:
    """Format the delays of recorded runs as settings.

    Raises click.UsageError if a file is no recording, or none has a delay.
    """
    if paths:
        raise click.UsageError("--record reads FILE alone; leave out PATH")
    try:
        text: str = import_module("kcheck.addons.calibration.measures").settings(files)
    except Error as error:
        raise click.UsageError(f"--record {error}") from error
    return text


def _results(
    paths: tuple[str, ...], config: Config, tell: Callable[[str], None]
) -> tuple[list[SimulationResult], list[str]]:
    rules.check_limits(config)
    world = World(reader.read(options.read_tree(paths, config), config, tell=tell).inventory, config)
    found, left, run = [], [], cache(simulate)
    for cluster in world.inventory.clusters:
        one = scenario.build_scenario(world, cluster)
        if isinstance(one, str):
            left.append(one)
        else:
            found.append(results.run_scenario(one, run))
    return found, left


def _positive(text: str | None, parse: Callable[[str], float], what: str, option: str) -> float | None:
    """Parse a positive number of the command line; None if not given.

    Raises BadParameter if it is not positive or no number.
    """
    if text is None:
        return None
    try:
        found = float(parse(text))
    except ValueError:
        found = 0
    if found <= 0:
        raise click.BadParameter(f"{text} is not a {what}", param_hint=option)
    return found


def _mebibytes(text: str) -> float:
    return float(quantity(text.removesuffix("B"))) / (1 << 20)
