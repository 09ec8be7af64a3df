"""kcheck usage, and its options: a recording in a file, or a Prometheus to query."""

import os
import time
from collections.abc import Callable
from functools import wraps

import click

from kcheck.addons.usage import in_parts
from kcheck.addons.usage.bill import BY, By, Order, bill
from kcheck.addons.usage.network import BASIC_AUTH, TOKEN, Network, access_of, is_here
from kcheck.addons.usage.prometheus import Prometheus
from kcheck.addons.usage.recorder import Question, Recorder
from kcheck.commands import options, printing
from kcheck.commands.check import command_line
from kcheck.commands.options import PathsOrSubcommand
from kcheck.config import settings
from kcheck.config.config import Config
from kcheck.inventory import reader
from kcheck.model import Inventory
from kcheck.report.layout import Text
from kcheck.scale.usage import joining
from kcheck.scale.usage.recording import Recording, RecordingError, as_bytes, read
from kcheck.scale.world import World
from kcheck.text.files import save
from kcheck.text.regex import regex

_DURATION = regex(r"(\d{1,6})(s|m|h|d|w)")
_EPOCH = regex(r"\d{9,10}")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = 30 * 86_400
_WINDOW = "7d"
_LATE = 180
"""Seconds until scraped samples have arrived, also at managed services."""

_STEPS = range(10, 3601)
_MATCHER = regex(r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=~|!~|!=|=)\s*"([^"\\\n]|\\.)*"\s*')


def _seconds(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    return None if text is None else _duration(text)


def _duration(text: str) -> int:
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise click.BadParameter(f"`{text}` is not a duration such as 7d, 12h or 30s")
    return int(match[1]) * _UNITS[match[2]]


def _moment(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    import datetime

    if text is None:
        return None
    text = text.strip()
    try:
        moment = datetime.datetime.fromisoformat(text)
        found = int((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp())
    except (ValueError, OverflowError):
        found = int(text) if _EPOCH.fullmatch(text) else 0
    if not 0 < found < 1 << 33:
        raise click.BadParameter(f"`{text}` is not a time such as 2026-05-31 or 2026-05-31T12:00:00Z")
    return found


def _selecting(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        if not _MATCHER.fullmatch(text):
            raise click.BadParameter(f'`{text}` is not a matcher such as cluster="prod"')
    return tuple(text.strip() for text in texts)


_OPTIONS = (
    click.option("--prometheus", metavar="URL", help="Measure by this Prometheus, Thanos, Mimir or managed service."),
    click.option(
        "--window", callback=_seconds, metavar="TIME",
        help="How far to look back; up to 30d.  [default: that of the settings, else 7d]",
    ),
    click.option(
        "--step", default="1m", show_default=True, callback=_seconds, metavar="TIME", help="Time between two samples."
    ),
    click.option("--end", callback=_moment, metavar="TIME", help="Look back from this time, UTC.  [default: 3m ago]"),
    click.option(
        "--matcher", "matchers", multiple=True, callback=_selecting, metavar="MATCHER",
        help="Only series with this label, such as cluster=\"prod\"; may be repeated.",
    ),
    click.option("--ca", metavar="FILE", help="Certificate authority of the server, besides those of the system."),
    click.option("--token-file", metavar="FILE", help=f"File with a bearer token.  [default: {TOKEN}]"),
    click.option("--basic-auth-file", metavar="FILE", help=f"File with user:password.  [default: {BASIC_AUTH}]"),
    click.option(
        "--header", "headers", multiple=True, metavar="'NAME: VALUE'",
        help="Send this header, such as 'X-Scope-OrgID: team'; may be repeated.",
    ),
    click.option(
        "--request-timeout", type=click.FloatRange(0.1, 3600), default=60, show_default=True, metavar="SECONDS",
        help="Longest time for one answer.",
    ),
)  # fmt: skip


def with_network(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a Prometheus to a command; it receives one `network`."""

    @wraps(command)
    def wrapper(**given: object) -> None:
        network = Network._make(given.pop(name) for name in Network._fields)
        command(network=network, **given)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper


def recording_of(file: str | None, network: Network, window: str) -> Recording:
    """Read the recording in a file, or record from a Prometheus.

    Raises click.UsageError if neither is given, or both; RecordingError if it cannot be read, or there is no answer.
    """
    if (file is None) == (network.prometheus is None):
        raise click.UsageError("give --from FILE or --prometheus URL; kcheck usage record makes a FILE")
    return read(file) if file is not None else _recorded(network, window)


def _recorded(network: Network, window: str) -> Recording:
    with printing.show_progress() as show:
        recorder = Recorder.new(client(network), question(network, window))
        recorder.run(show, lambda: None)
    return recorder.recording


def question(network: Network, window: str) -> Question:
    """Build the question from the options and the settings' `window`.

    Raises click.UsageError if step or window is out of range.
    """
    step = network.step
    length = _duration(window or _WINDOW) if network.window is None else network.window
    if step not in _STEPS:
        raise click.UsageError("--step: expected 10s to 1h")
    if not 2 * step <= length <= _LONGEST:
        raise click.UsageError("--window: expected at least two steps and at most 30d")
    now = int(time.time())
    end = min(network.end or now - _LATE, now) // step * step
    return Question(length // step * step, step, end, network.matchers)


def client(network: Network) -> Prometheus:
    """Create a client for a Prometheus; its secrets are never shown.

    Raises OptionError if options contradict each other, RecordingError if an option is invalid.
    """
    access = access_of(network)
    if access.url.startswith("http:") and access.headers and not is_here(access.url):
        printing.note("kcheck: credentials are sent over http, unencrypted; use https")
    return Prometheus(access)


@click.group("usage", cls=PathsOrSubcommand, invoke_without_command=True, subcommand_metavar="")
@options.with_config
@click.option("--from", "measured", metavar="FILE", help="A recording of `kcheck usage record`.")
@click.option("--by", type=click.Choice(BY), default="job", show_default=True, help="What a row of the report is.")
@click.option(
    "--sort", type=click.Choice(["idle", "use", "paid", "gpu-hours"]), default="idle", show_default=True,
    help="What comes first: most idle, least used, most paid, most GPU-hours.",
)  # fmt: skip
@click.option("--previous", metavar="FILE", help="An older recording to compare with.")
@options.output_format("text", "json", "csv", "html")
@with_network
def command(
    paths: tuple[str, ...], config: Config, measured: str | None, by: By, sort: Order, previous: str | None,
    format_: str, network: Network,
) -> None:  # fmt: skip
    """Report GPU-hours, utilisation, money paid and money idle of a cluster, the worst first.

    From a recording, or from a Prometheus: with --prometheus it opens connections to that address only. With PATH, the
    code there names labels and the pools of nodes, and the report lists what ran and is not in it. Recordings of two
    weeks and more compare the last week with the one before. `kcheck usage record` writes a recording, which needs no
    access later.
    """
    from importlib import import_module

    if measured is None and network.prometheus is None:
        measured = config.usage.recording or None
    found = recording_of(measured, network, config.usage.window)
    try:
        older = None if previous is None else read(previous)
    except RecordingError as error:
        raise options.Failure(f"--previous: {error}") from error
    world = World(reader.read(options.read_tree(paths, config), config).inventory if paths else Inventory(), config)
    before = None if older is None else joining.joined(older, world)
    made = bill(joining.joined(found, world), world, by, config.usage.labels, before, sort)
    module = import_module(f"kcheck.addons.usage.report.usage_{'html' if format_ == 'html' else 'formats'}")
    source = (command_line(click.get_current_context()),) if format_ == "html" else ()
    report: str | Text = getattr(module, f"as_{format_}")(made, *source)
    if isinstance(report, str) and format_ == "csv":
        printing.table(report)
    else:
        printing.page(report)


@command.command("record", short_help="Record what a cluster did into a file.")
@click.option("-o", "--output", default="usage.json.gz", show_default=True, metavar="FILE", help="File to write.")
@with_network
def record(output: str, network: Network) -> None:
    """Record CPU, memory, GPUs, owners and requests of all pods into a file, by queries to a Prometheus.

    It opens connections to that address only. What was recorded before an interruption is in FILE.part: the same
    command goes on there.
    """
    if network.prometheus is None:
        raise click.UsageError("give --prometheus URL")

    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise click.UsageError(f"--output {output}: there is no folder {folder}")
    part = f"{output}.part"
    window = settings.load(()).usage.window
    try:
        asked, ends_now = question(network, window), network.end is None
        with printing.show_progress() as show:
            recorder = in_parts.begin(client(network), asked, part, show, ends_now=ends_now)
            in_parts.run(recorder, part, show)
        data = as_bytes(recorder.recording)
        save.write(output, data)
        save.remove(part)
    except KeyboardInterrupt as stop:
        if stop.args:
            printing.note(f"kcheck: stopped; {stop}")
        raise
    except OSError as error:
        raise options.Failure(f"{error.filename or output}: {error.strerror or error}") from error
    printing.note(f"kcheck: wrote {output}, {max(1, len(data) >> 10):,} KiB")
    _say(recorder.recording)


def _say(recording: Recording) -> None:
    hours = (recording.end - recording.begin) / 3600
    printing.line(f"{len(recording.pods):,} pods on {len(recording.nodes):,} nodes in {hours:,.3g} hours")
    for lack in recording.lacks:
        printing.note(f"kcheck: without {lack.what}: {lack.why}")
