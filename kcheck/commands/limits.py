"""kcheck limits."""

import datetime

import click

from kcheck.commands import options, printing
from kcheck.config.config import ConfigError, today
from kcheck.config.numbers import dates
from kcheck.config.numbers.clouds import CLOUDS
from kcheck.report import limit
from kcheck.text.regex import regex

_DAYS = regex(r"(\d{1,5})d")


def _before(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Convert an age or a date to a date; numbers older than it are listed."""
    if text is None:
        return None
    days = _DAYS.fullmatch(text)
    try:
        if days:
            return (today() - datetime.timedelta(days=int(days[1]))).isoformat()
        return datetime.date.fromisoformat(text).isoformat()
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, OverflowError):
        raise click.BadParameter(f"`{text}` is neither an age such as 180d nor a date such as 2026-05-31") from None


@click.command("limits", cls=options.Command)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete_limits)
@click.option("--cloud", type=click.Choice(["any", *CLOUDS]), help="Only the numbers of this cloud, or of any cloud.")
@click.option(
    "--older-than", "before", metavar="AGE", callback=_before,
    help="Only numbers whose newest source, or else check, is before a date, or older than an age: 2026-05-31, 180d.",
)  # fmt: skip
@options.output_format("text", "json")
def command(names: tuple[str, ...], cloud: str | None, before: str | None, format_: str) -> None:
    """List limits, quotas, defaults, retirements and tables: value, kind, the days of its check and of its source.

    With NAMEs, only numbers whose name contains one of them. `kcheck explain NAME` says what uses a number.
    """
    every = [one for one in dates.numbers() if cloud in (None, one.cloud)]
    every = [one for one in every if not names or any(name in one.name for name in names)]
    found = [one for one in every if before is None or one.entry.seen < before]
    printing.page(limit.table_as_json(found) if format_ == "json" else limit.table(found))
    if before is not None:
        printing.note(f"{len(found)} of {len(every)} numbers have a source or check before {before}.")
