"""Options that leave out known findings: a baseline, and a commit to compare with."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

import click

from kcheck.commands import printing
from kcheck.config.config import ConfigError
from kcheck.config.locations import BASELINE
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON
from kcheck.text.files.tree import display_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.commands.options import Run
    from kcheck.config.config import Config
    from kcheck.fix.gate.baseline import Baseline
    from kcheck.fix.gate.comparison import Comparison

_OPTIONS = (
    click.option(
        "--baseline/--no-baseline", "known", default=None, help="Leave out findings that `kcheck baseline` recorded."
    ),
    click.option("--baseline-file", metavar="FILE", help="Baseline file.  [default: kcheck-baseline.json]"),
    click.option("--diff-base", metavar="REF", help="Report only findings that changes since REF touch or cause."),
)

_BEGIN = b'{\n "version": 1,\n "folder": '
"""How a baseline begins."""


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with `paths` and `config` the options of what is known; it takes `comparison` in their place."""

    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], config: Config, known: bool | None, baseline_file: str | None, diff_base: str | None,
        **rest: object,
    ) -> None:  # fmt: skip
        _refuse_baseline_path(paths, known)
        wanted = Wanted(known, baseline_file, diff_base)
        comparison = wanted.comparison(paths, config)
        command(paths=paths, config=config, comparison=comparison, **rest)

    return with_flags(wrapper)


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of what is known, as they are."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Wanted(NamedTuple):
    """What findings are to be compared with: whether a baseline, in which file, and the state at which commit."""

    known: bool | None
    baseline_file: str | None
    diff_base: str | None

    def comparison(self, paths: tuple[str, ...], config: Config) -> Comparison | None:
        """The comparison; None if there is nothing to compare with.

        Raises:
            ConfigError: the baseline or the commit cannot be read.
        """
        baseline = _baseline(config, self.known, self.baseline_file)
        return _comparison(paths, config, baseline, self.diff_base)


def _refuse_baseline_path(paths: tuple[str, ...], known: bool | None) -> None:
    """Refuse `--baseline FILE`, which would check FILE.

    Raises:
        click.UsageError: a path is a baseline.
    """
    for name in paths if known else ():
        if name.endswith(".json") and os.path.isfile(name) and system.head(name, len(_BEGIN)) == _BEGIN:
            raise click.UsageError(f"{name} is a baseline; use --baseline-file {name}")


def baseline_path(config: Config, file: str | None) -> str:
    """The file of what is known: of the flag, of the settings, or where it is by default.

    Raises:
        ConfigError: it is a link that leads out of the repository, or the settings have another file there.
    """
    path = file or config.baseline or BASELINE
    boundary = config.boundary
    if boundary is not None and not boundary.widened([path] if file else ()).holds(system.real_path(path)):
        raise ConfigError(f"{path}: it is {REASON}, or leads there")
    return path


def _baseline(config: Config, known: bool | None, file: str | None) -> Baseline | None:
    if known is False or not (known or file or config.baseline):
        return None
    from kcheck.engine import rules
    from kcheck.fix.gate import baseline

    return baseline.load(baseline_path(config, file), rules.not_ignorable(config))


def save_baseline(baseline: Baseline) -> None:
    """Write the file of what is known.

    Raises:
        click.UsageError: it cannot be written.
    """
    from kcheck.text.files import save as saving

    real = system.real_path(baseline.path)
    try:
        old = b""
        fresh = not os.path.exists(real)
        if not fresh:
            with open(real, "rb") as file:
                old = file.read()
        saving.save([saving.File(baseline.path, baseline.path, old, baseline.dump(), fresh)])
    except (OSError, saving.SaveError) as error:
        raise click.UsageError(str(error)) from error


def _comparison(
    paths: tuple[str, ...], config: Config, baseline: Baseline | None, diff_base: str | None
) -> Comparison | None:
    if baseline is None and diff_base is None:
        return None
    from kcheck.fix.gate.comparison import Comparison
    from kcheck.fix.gate.git import Difference

    difference = None
    if diff_base is not None:
        difference = Difference(paths, diff_base, config.boundary)
        if difference.note:
            printing.note(f"kcheck: {difference.note}")
    run: Run = click.get_current_context().obj
    return Comparison(paths, config, lambda overlay: run.settings(paths, overlay=overlay), baseline, difference)


def change_is_relevant(paths: tuple[str, ...], config: Config, comparison: Comparison) -> bool:
    """Whether what changed since the commit to compare with can change the findings."""
    from kcheck.fix.gate.relevance import can_change_findings
    from kcheck.text.files.disk import Disk

    if comparison.difference is None:
        return True
    overlay = comparison.difference.overlay
    changed = [display_path(path) for path in overlay]
    disks = (Disk(boundary=config.boundary), Disk(overlay, config.boundary))
    return any(can_change_findings(changed, paths, config, disk) for disk in disks)
