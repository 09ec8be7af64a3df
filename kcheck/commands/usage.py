"""kcheck usage."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from kcheck.addons.usage.bill import bill
from kcheck.addons.usage.recorder import Recorder
from kcheck.commands import options, printing
from kcheck.commands.options import PathsOrSubcommand
from kcheck.commands.prometheus_options import Network, client, question, recording_of, with_network
from kcheck.config import settings
from kcheck.inventory import reader
from kcheck.model import Inventory
from kcheck.scale.usage import joining, recording
from kcheck.scale.usage.recording import RecordingError, as_bytes, read
from kcheck.scale.world import World
from kcheck.text.files import save

if TYPE_CHECKING:
    from kcheck.addons.usage.bill import By, Order
    from kcheck.addons.usage.prometheus import Prometheus
    from kcheck.addons.usage.recorder import Question
    from kcheck.config.config import Config
    from kcheck.scale.usage.recording import Recording
_EVERY = 30.0
"""Seconds of work that may be lost."""

_SHARE = 20
"""How many times longer the work takes than saving it may."""


@click.group("usage", cls=PathsOrSubcommand, invoke_without_command=True, subcommand_metavar="")
@options.with_config
@click.option("--from", "measured", metavar="FILE", help="A recording of `kcheck usage record`.")
@click.option(
    "--by", type=click.Choice(["owner", "team", "namespace", "job", "experiment"]), default="job", show_default=True,
    help="What a row of the report is.",
)  # fmt: skip
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
    world = _world(paths, config)
    before = None if older is None else joining.joined(older, world)
    made = bill(joining.joined(found, world), world, by, config.usage.labels, before, sort)
    report: str = import_module(f"kcheck.addons.usage.report.usage_{format_}").render(made)
    if format_ == "csv":
        printing.table(report)
    else:
        printing.page(report)


def _world(paths: tuple[str, ...], config: Config) -> World:
    """What is below some paths; without any no code at all."""
    return World(reader.read(options.read_tree(paths, config), config).inventory if paths else Inventory(), config)


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
        recorder = _recorder(client(network), question(network, window), part, ends_now=network.end is None)
        _run(recorder, part)
        data = as_bytes(recorder.recording)
        save.write(output, data)
        save.remove(part)
    except RecordingError as error:
        raise options.Failure(str(error)) from error
    except OSError as error:
        raise options.Failure(f"{error.filename or output}: {error.strerror or error}") from error
    printing.note(f"kcheck: wrote {output}, {max(1, len(data) >> 10):,} KiB")
    _say(recorder.recording)


def _recorder(prometheus: Prometheus, asked: Question, part: str, *, ends_now: bool) -> Recorder:
    """A recorder that begins, or goes on with what an earlier run has left.

    Raises:
        RecordingError: the part is of something else, or there is no answer.
    """
    with printing.show_progress() as show:
        show("looking for metrics")
        if not os.path.isfile(part):
            return Recorder.new(prometheus, asked)
        old = recording.read(part, part=True)
        mine = (prometheus.url, asked.window, asked.step, list(asked.matchers), old.end if ends_now else asked.end)
        if mine != (old.source, old.asked, old.step, old.matchers, old.end):
            raise recording.RecordingError(
                f"{part} is the begin of another recording, of {old.source}; give its options, or delete it"
            )
        return Recorder.of_part(prometheus, old)


def _run(recorder: Recorder, part: str) -> None:
    """Record to the end; at times, and when it fails, what there is goes into the part."""
    recording = recorder.recording
    saved, cost, at = time.monotonic(), 0.0, recording.until

    def keep() -> None:
        nonlocal saved, cost, at
        begin = time.monotonic()
        save.write(part, as_bytes(recording))
        saved, at = time.monotonic(), recording.until
        cost = saved - begin

    def after_slice() -> None:
        if not recording.is_whole and time.monotonic() - saved > max(_EVERY, _SHARE * cost):
            keep()

    try:
        with printing.show_progress() as show:
            recorder.run(show, after_slice)
    except (RecordingError, KeyboardInterrupt) as error:
        if recorder.is_consistent and recording.until > at:
            keep()
        if not os.path.isfile(part):
            raise
        share = 100 * (recording.until - recording.begin) // (recording.end - recording.begin)
        there = f"{share} % is in {part}: run the same command to go on"
        if isinstance(error, RecordingError):
            raise RecordingError(f"{error}; {there}") from error
        printing.note(f"kcheck: stopped; {there}")
        raise


def _say(recording: Recording) -> None:
    """Say what was recorded, and what was not."""
    hours = (recording.end - recording.begin) / 3600
    printing.line(f"{len(recording.pods):,} pods on {len(recording.nodes):,} nodes in {hours:,.3g} hours")
    for lack in recording.lacks:
        printing.note(f"kcheck: without {lack.what}: {lack.why}")
