"""kcheck show."""

import click

from kcheck.commands import options, printing
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model


@click.command("show", cls=options.Command)
@options.with_config
@click.option("--undecided", is_flag=True, help="Print the missing inputs instead, most wanted first.")
@options.output_format("text", "json")
def command(paths: tuple[str, ...], config: Config, undecided: bool, format_: str) -> None:
    """Print the clusters, pools, subnets and workloads below PATH, each value with its place in the code.

    `=` is written, `~` is a default, `?` is unknown, with the reason. Values without a place are computed.

    With --undecided: what was checked and what was not, and each input that undecided checks need, with its place and
    how to set it.
    """
    if undecided:
        result = linter.run(options.read_tree(paths, config), config)
        printing.page(model.undecided_json(result) if format_ == "json" else model.undecided_text(result))
        options.tell_bugs(result)
        return
    data = model.collect(options.read_tree(paths, config), config)
    printing.page(model.as_json(data) if format_ == "json" else model.as_text(data))
