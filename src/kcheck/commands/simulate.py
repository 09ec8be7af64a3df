"""kcheck simulate."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kcheck.commands import options
from kcheck.config import ConfigError

if TYPE_CHECKING:
    from kcheck.config import Config
    from kcheck.report.simulation import Outcome
    from kcheck.scenario import Scenario
    from kcheck.whatif import Saving
    from kcheck.world import World

_SEEDS = 5


@click.command("simulate", short_help="Say how long a job takes and what it costs, and which setting costs it.")
@options.with_config
@click.option("--duration", metavar="TIME", default=None, help="How long each pod works, such as 10m.  [default: 10m]")
@click.option("--image-size", metavar="SIZE", default=None, help="What a fresh node pulls, such as 5GiB.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "svg", "html"]), default="text", show_default=True
)
@click.option(
    "--what-if", "what_if", is_flag=True, help="Also say what each fix of kcheck would save, and all of them."
)
def command(
    paths: tuple[str, ...], config: Config, duration: str | None, image_size: str | None, format_: str, what_if: bool
) -> None:
    """Run the largest job of each cluster below PATH through a model of its autoscaler and its cloud.

    Without a job in the code, one pod for each node that the pools may have, or for --nodes. Exits with 0, or with 2
    on wrong use.
    """
    from kcheck.report import simulation

    outcomes, left = options.guarded(lambda: _outcomes(paths, config, duration, image_size))
    for why in left:
        click.echo(f"kcheck: {why}", err=True)
    if not outcomes:
        click.echo("kcheck: no cluster that can be simulated here.", err=True)
        return
    if format_ == "text":
        for outcome in outcomes:
            click.echo(simulation.as_text(outcome), nl=False)
            if what_if:
                click.echo(simulation.table(_savings(paths, config, outcome, duration, image_size)), nl=False)
    elif format_ == "json":
        click.echo(simulation.as_json(outcomes), nl=False)
    elif format_ == "html":
        click.echo(simulation.as_html(outcomes), nl=False)
    elif len(outcomes) > 1:
        click.echo("kcheck: svg is of one cluster; name its folder, or take html", err=True)
        sys.exit(2)
    else:
        click.echo(simulation.as_svg(outcomes[0]), nl=False)


def _savings(
    paths: tuple[str, ...], config: Config, outcome: Outcome, duration: str | None, image_size: str | None
) -> list[Saving]:
    """What fixes save of a run."""
    from kcheck import scenario, whatif

    wanted = outcome.scenario.cluster.id

    def again(world: World) -> Scenario | str:
        cluster = next((one for one in world.inventory.clusters if one.id == wanted), None)
        if cluster is None:
            return "the cluster is gone"
        return scenario.of(
            world, cluster, nodes=world.asked(cluster), duration=_seconds(duration), image=_size(image_size)
        )

    return whatif.savings(list(paths) or ["."], config, outcome.scenario, again, range(_SEEDS))


def _outcomes(
    paths: tuple[str, ...], config: Config, duration: str | None, image_size: str | None
) -> tuple[list[Outcome], list[str]]:
    """The runs of every cluster, and why some have none."""
    from kcheck import inventory, rules, scenario
    from kcheck.report.simulation import Outcome
    from kcheck.simulate.run import simulate
    from kcheck.world import World

    rules.check_limits(config)
    seconds, size = _seconds(duration), _size(image_size)
    world = World(inventory.read(options.tree(paths, config), config).inventory, config)
    outcomes, left = [], []
    for cluster in world.inventory.clusters:
        found = scenario.of(world, cluster, nodes=world.asked(cluster), duration=seconds, image=size)
        if isinstance(found, str):
            left.append(found)
        else:
            outcomes.append(Outcome(found, [simulate(replace(found.case, seed=seed)) for seed in range(_SEEDS)]))
    return outcomes, left


def _seconds(text: str | None) -> float | None:
    """A duration of the command line.

    Raises:
        ConfigError: it is none.
    """
    from kcheck.units import seconds

    if text is None:
        return None
    try:
        found = float(seconds(text))
    except ValueError:
        found = 0
    if found <= 0:
        raise ConfigError(f"--duration {text}: give a time, such as 10m or 1h30m")
    return found


def _size(text: str | None) -> float | None:
    """A size of the command line in MiB.

    Raises:
        ConfigError: it is none.
    """
    from kcheck.units import quantity

    if text is None:
        return None
    try:
        found = float(quantity(text.removesuffix("B"))) / (1 << 20)
    except ValueError:
        found = 0
    if found <= 0:
        raise ConfigError(f"--image-size {text}: give a size, such as 5GiB")
    return found
