"""Options that leave out known findings: a baseline, and a commit to compare with."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from kcheck.commands import printing
from kcheck.config.config import Config, ConfigError
from kcheck.config.locations import BASELINE
from kcheck.text.files import system
from kcheck.text.files.boundary import REASON
from kcheck.text.files.disk import Disk
from kcheck.text.files.tree import Tree, display_path
from kcheck.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcheck.api import Project
    from kcheck.commands.options import Run
    from kcheck.engine.linter import Result
    from kcheck.fix.gate.baseline import Baseline
    from kcheck.fix.gate.comparison import Comparison

baseline_file = click.option(
    "--baseline-file", metavar="FILE",
    help="Baseline file.  [default: the settings' baseline, else kcheck-baseline.json]",
)  # fmt: skip
_OPTIONS = (
    click.option(
        "--baseline/--no-baseline", "known", default=None, help="Leave out findings that `kcheck baseline` recorded."
    ),
    baseline_file,
    click.option("--diff-base", metavar="REF", help="Report only findings that changes since REF touch or cause."),
)

_BEGIN = b'{\n "version": 1,\n "folder": '


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the comparison options to a command; it receives one `comparison`."""

    @wraps(command)
    def wrapper(
        paths: tuple[str, ...], config: Config, known: bool | None, baseline_file: str | None, diff_base: str | None,
        **rest: object,
    ) -> None:  # fmt: skip
        _refuse_baseline_path(paths, known)
        comparison = Wanted(known, baseline_file, diff_base).comparison(paths, config)
        command(paths=paths, config=config, comparison=comparison, **rest)

    return with_flags(wrapper)


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add the comparison options to a command; it receives their values."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Wanted(Struct, frozen=True):
    """Requested comparison: with a baseline, its file, and a commit."""

    known: bool | None
    baseline_file: str | None
    diff_base: str | None

    def comparison(self, paths: tuple[str, ...], config: Config) -> Comparison | None:
        """Build the comparison; None if there is nothing to compare with.

        Raises ConfigError if the baseline or the commit cannot be read.
        """
        has_baseline = self.known or (self.known is None and (self.baseline_file or config.baseline))
        if not has_baseline and self.diff_base is None:
            return None
        from kcheck.fix.gate import baseline
        from kcheck.fix.gate.comparison import Comparison
        from kcheck.fix.gate.git import Difference

        known, difference = None, None
        if has_baseline:
            known = baseline.load(baseline_path(config, self.baseline_file), config)
        if self.diff_base is not None:
            difference = Difference(paths, self.diff_base, config.boundary)
            if difference.note:
                printing.note(f"kcheck: {difference.note}")
        run: Run = click.get_current_context().obj
        return Comparison(paths, config, lambda overlay: run.settings(paths, overlay=overlay), known, difference)


def _refuse_baseline_path(paths: tuple[str, ...], known: bool | None) -> None:
    """Refuse `--baseline FILE`. Raises click.UsageError if a path is a baseline."""
    for name in paths if known else ():
        if name.endswith(".json") and os.path.isfile(name) and system.head(name, len(_BEGIN)) == _BEGIN:
            raise click.UsageError(f"{name} is a baseline; use --baseline-file {name}")


def baseline_path(config: Config, file: str | None) -> str:
    """Return the baseline file of the flag, of the settings, or the default.

    Raises ConfigError if it leads out of the repository, and the flag does not name it.
    """
    path = file or config.baseline or BASELINE
    boundary = config.boundary
    if boundary is not None and not boundary.widened([path] if file else ()).holds(system.real_path(path)):
        raise ConfigError(f"{path}: it is {REASON}, or leads there")
    return path


def save_baseline(baseline: Baseline) -> None:
    """Write the baseline file. Raises click.UsageError if it cannot be written."""
    from kcheck.text.files import save as saving

    real = system.real_path(baseline.path)
    fresh = not os.path.exists(real)
    try:
        old = b"" if fresh else system.read(real)
        saving.save([saving.File(baseline.path, baseline.path, old, baseline.dump(), fresh)])
    except (OSError, saving.SaveError) as error:
        raise click.UsageError(str(error)) from error


def change_is_relevant(paths: tuple[str, ...], config: Config, comparison: Comparison) -> bool:
    """Whether the changes since the compared commit can change the findings."""
    from kcheck.fix.gate.relevance import can_change_findings

    if comparison.difference is None:
        return True
    overlay = comparison.difference.overlay
    changed = [display_path(path) for path in overlay]
    disks = (Disk(boundary=config.boundary), Disk(overlay, config.boundary))
    return any(can_change_findings(changed, paths, config, disk) for disk in disks)


def results(
    paths: tuple[str, ...], config: Config, tree: Tree, comparison: Comparison | None, *, quiet: bool
) -> tuple[Project, Result, Result]:  # fmt: skip
    """Check a tree; return it, and its result with and without known findings."""
    from kcheck.api import Project

    project = Project(paths, config)
    project.tree = tree  # read before the engine is imported, which a hook with nothing to check does not need
    if changed := click.get_current_context().obj.changed:
        from kcheck.engine import affected

        project.narrow = lambda linter: affected.narrow(linter, changed)
    with printing.show_progress(quiet=quiet) as tell:
        whole = project.check(tell=tell).result
        if comparison is None:
            return project, whole, whole
        from kcheck.fix.gate.comparison import without_known

        tell("comparing")
        result = without_known(whole, comparison.find_known(whole.findings).contains)
    for text in comparison.notes if not quiet else ():
        printing.note(f"kcheck: {text}")
    if comparison.baseline is not None and not (whole.is_late or changed):
        tell_gone(comparison.baseline, whole, config, quiet=quiet)
    return project, whole, result


_MOST = 10


def tell_gone(known: Baseline, result: Result, config: Config, *, prune: bool = False, quiet: bool = False) -> None:
    """List known findings that are gone; `prune` removes them from the baseline.

    Raises click.UsageError if the file cannot be written, or was written by a run with other arguments.
    """
    from kcheck.engine import rules

    if known.arguments != click.get_current_context().obj.arguments:
        if prune:
            how = " ".join(("kcheck baseline", *known.arguments))
            raise click.UsageError(f"--prune: {known.path} was written by `{how}`; run with the same arguments")
        return
    note: Callable[[str], None] = (lambda _: None) if quiet else printing.note
    gone = known.gone(result, {rule.name for rule in rules.selected(config)})
    if prune:
        save_baseline(known.without(gone))
    if not gone:
        return
    many = counted(len(gone), "entry", "entries")
    if prune:
        left = len(known.without(gone).entries)
        note(f"kcheck: removed {many} from {known.path}, {left:,} left:")
    else:
        them = "it" if len(gone) == 1 else "them"
        note(f"kcheck: {many} of {known.path} not found any more; `kcheck baseline --prune` removes {them}:")
    for entry in gone[:_MOST]:
        note(f"  {entry.path} {entry.rule}: {', '.join(entry.objects)}")
    if len(gone) > _MOST:
        note(f"  and {len(gone) - _MOST:,} more")
