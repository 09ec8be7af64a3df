"""kcheck show."""

import click

from kcheck.commands import options, printing
from kcheck.config.config import Config
from kcheck.engine import linter
from kcheck.report import model
from kcheck.report.escape import json_text
from kcheck.report.json import undecided_data
from kcheck.report.layout import Line


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
        as_json = format_ == "json"  # `inputs` and `judged` of the report of `check`
        lines = map(Line, model.undecided_lines(result))
        printing.page(json_text(undecided_data(result), indent=2) if as_json else lines)
        options.tell_bugs(result)
        return
    data = model.collect(options.read_tree(paths, config), config)
    printing.page(model.as_json(data) if format_ == "json" else model.as_text(data))
