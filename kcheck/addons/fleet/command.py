"""kcheck fleet."""

import datetime
import os
from collections.abc import Iterable

import click

from kcheck import __version__
from kcheck.addons.fleet import storage
from kcheck.addons.fleet.database import FORMATS, QUESTIONS, ask, question
from kcheck.addons.fleet.listing import fleet
from kcheck.addons.fleet.outcomes import Kept
from kcheck.addons.fleet.report.contents import contents
from kcheck.addons.fleet.report.layout import MOST
from kcheck.addons.fleet.run import Order, engine_of, run
from kcheck.addons.fleet.shared import OVER, of_run, sentence
from kcheck.addons.fleet.tables import RunRow, SharedRow
from kcheck.commands import options, printing
from kcheck.commands.options import PathsOrSubcommand
from kcheck.commands.printing import show_progress
from kcheck.engine import rules
from kcheck.report.layout import Column, Table
from kcheck.text.regex import regex
from kcheck.text.units import counted

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_BYTES = regex(r"(\d{1,12})([KMGT]?)(?:i?B?)", 0)
_FOLDER = "kcheck-fleet"
_LEAST = 64 * 1024**2
_MOST_LIMITS = 10
"""Of those that clusters share and exceed, in the summary."""


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    """Read an amount of memory."""
    found = _BYTES.fullmatch(text)
    amount = int(found[1]) * _UNITS[found[2]] if found else 0
    if amount < _LEAST:
        raise click.BadParameter("expected bytes such as 4GiB, at least 64MiB")
    return amount


folder = click.option(
    "-o", "--output", default=_FOLDER, show_default=True, metavar="DIR",
    help="Folder of the results of all runs; the next run takes from it what has not changed.",
)  # fmt: skip


@click.group("fleet", cls=PathsOrSubcommand, invoke_without_command=True, subcommand_metavar="")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path(), required=True)
@folder
@click.option(
    "--jobs", type=click.IntRange(1), default=None, envvar="KCHECK_JOBS", metavar="N",
    help="Repositories checked at a time on this machine.  [default: KCHECK_JOBS, else one per core]",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(1), metavar="N", help="Target of clusters for which the list has no other."
)
@options.own_rules
@options.module_dirs
@click.option(
    "--timeout", type=click.FloatRange(1, 86_400), default=600, show_default=True, metavar="SECONDS",
    help="Time for each repository.",
)  # fmt: skip
@click.option(
    "--memory", callback=_bytes, default="4GiB", show_default=True, metavar="BYTES",
    help="Memory for each repository; held on Linux only.",
)  # fmt: skip
@click.option(
    "--retries", type=click.IntRange(0, 10), default=1, show_default=True, metavar="N",
    help="How often a repository whose process died is tried again.",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(1), default=100, show_default=True, metavar="N",
    help="How many runs the results keep; older ones are deleted.",
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS", default=None,
    help="Check on the workers of this Dask scheduler, tcp://HOST:PORT, which see the same folders.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Check again what has not changed since the last run, too.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the summary.")
def command(
    paths: tuple[str, ...], nodes: int | None, folders: tuple[str, ...], module_dirs: tuple[str, ...], output: str,
    jobs: int | None, timeout: float, memory: int, retries: int, keep: int, scheduler: str | None, fresh: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Check many repositories side by side: folders, patterns such as 'checkouts/*', or a list (.yaml).

    A repository that fails, hangs or needs too much memory is a row with its reason. A run that was stopped goes on
    where it was. Exits with 0 when all is done, or with 2 on wrong usage.
    """
    if folders:  # a mistake in them is none of each repository
        rules.all_rules(folders)
    found, limits = fleet(paths, nodes, folders, module_dirs)
    order = Order(timeout, memory, retries, fresh)
    jobs = jobs or os.cpu_count() or 1
    start = engine_of(scheduler, jobs)
    with storage.locked_run(output) as run_id:
        kept = Kept(output)
        begin = datetime.datetime.now(datetime.UTC)
        with show_progress(quiet=quiet) as tell:
            ended, most = run(found, kept, start, order, tell)
        row = RunRow(
            run=run_id, started=begin.isoformat(timespec="seconds"),
            seconds=(datetime.datetime.now(datetime.UTC) - begin).total_seconds(), version=__version__,
            engine=scheduler or "local", workers=most or (0 if scheduler else jobs), repositories=len(ended),
            unchanged=sum(one.outcome.is_unchanged for one in ended),
            failed=sum(one.outcome.status == "failed" for one in ended),
        )  # fmt: skip
        shared = of_run(ended, kept, limits)
        storage.write(output, row, ended, kept, shared, keep=keep)
    for one in ended:
        if one.outcome.reason:
            printing.note(f"{one.repository.name}: {one.outcome.status}: {one.outcome.reason}")
    for line in _exceeded(shared):
        printing.note(line)
    printing.note(_summary(row, output))


@command.command("report", short_help="Report which clusters break first, what is wasted, and what has changed.")
@folder
@options.output_format(*MOST)
@click.option("--owner", default="", metavar="TEAM", help="Only repositories of this owner, as the list names it.")
@click.option("--run", default="", metavar="RUN", help="The run to report, by its id.  [default: the last one]")
def report(output: str, format_: str, owner: str, run: str) -> None:
    """Report on all clusters of a fleet: which break first, what is wasted, what has changed since the run before.

    Reads the results of `kcheck fleet`, and checks nothing. Exits with 0, or with 2 on wrong usage.
    """
    from importlib import import_module

    module = import_module(f"kcheck.addons.fleet.report.{'html' if format_ == 'html' else 'layout'}")
    found = contents(output, owner, run, MOST[format_])
    printing.page(getattr(module, format_)(found))


@command.command("query", short_help="Answer a question about all repositories from the results, in SQL.")
@click.argument(
    "name", required=False, metavar="[QUESTION]",
    shell_complete=lambda _context, _parameter, begin: [name for name in QUESTIONS if name.startswith(begin)],
)  # fmt: skip
@folder
@options.output_format("text", "csv", "json", "markdown")
@click.option("--sql", is_flag=True, help="Print the query itself, for DuckDB.")
def query(name: str | None, output: str, format_: str, *, sql: bool) -> None:
    """Answer a QUESTION about all repositories, of the last run or of all runs; without one list the questions.

    The answers are queries to DIR/fleet.duckdb, which any DuckDB can ask, too. Nothing is written.
    """
    if name is None:
        printing.page([Table((Column(), Column()), [(one, question(one).sentence) for one in QUESTIONS])])
        return
    if name not in QUESTIONS:
        raise click.UsageError(f"no such question: {name}; there are {', '.join(QUESTIONS)}")
    asked = question(name).sql
    if sql:
        printing.page(asked)
        return
    made = FORMATS[format_](ask(output, asked))
    if isinstance(made, str) and format_ == "csv":
        printing.table(made)
    else:
        printing.page(made)


def _exceeded(shared: Iterable[SharedRow]) -> list[str]:
    over = [sentence(limit) for limit in shared if limit.state == OVER]
    more = f"{len(over) - _MOST_LIMITS:,} more shared limits are exceeded: kcheck fleet query shared"
    return [*over[:_MOST_LIMITS], more] if len(over) > _MOST_LIMITS else over


def _summary(row: RunRow, output: str) -> str:
    """Report what was done, and the next step."""
    import shlex

    parts = [f"{row.unchanged:,} unchanged"] * bool(row.unchanged) + [f"{row.failed:,} failed"] * bool(row.failed)
    some = f" ({', '.join(parts)})" if parts else ""
    own = "" if output == _FOLDER else f" -o {shlex.quote(output)}"
    many = counted(row.repositories, "repository", "repositories")
    return f"kcheck: {many}{some} in {row.seconds:.0f} s. Next: `kcheck fleet report{own}`."
