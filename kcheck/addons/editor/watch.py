"""kcheck watch."""

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import click

from kcheck.addons.editor.changes import Watcher
from kcheck.addons.editor.checker import Checker
from kcheck.commands import comparison_options, options, printing
from kcheck.commands.comparison_options import Wanted
from kcheck.config.config import Config, ConfigError
from kcheck.config.locations import find_file
from kcheck.engine import linter
from kcheck.engine.linter import Result
from kcheck.fix.gate.comparison import compare, without_known
from kcheck.fix.gate.relevance import can_change_findings
from kcheck.report import text
from kcheck.report.formats import Report
from kcheck.report.layout import Line
from kcheck.report.text import closing, finding_lines
from kcheck.text.files import system
from kcheck.text.files.disk import Disk
from kcheck.text.files.tree import Tree, display_path
from kcheck.text.findings import Finding
from kcheck.text.units import some

_NAMED = 3
_MOST = 20
"""Findings printed per change; after a checkout of another branch, all may be new."""
_UNREADABLE = "unreadable-file"


@click.command("watch", cls=options.Command)
@options.with_flags
@comparison_options.with_flags
@options.select
@click.option("--info", is_flag=True, help="Also show findings of severity info.")
def command(
    paths: tuple[str, ...], known: bool | None, baseline_file: str | None, diff_base: str | None,
    select: tuple[str, ...], info: bool,
) -> None:  # fmt: skip
    """Check PATH (default: the current folder), and again whenever a file below it is saved.

    Prints all findings once, then those that are new, changed or gone. A file that cannot be read is reported, and the
    findings before it stand until it can. Ends with Ctrl-C, and exits with 0 then; 2 on wrong usage.
    """
    for path in paths:
        if not os.path.exists(path):
            raise click.UsageError(f"{path}: no such file or folder")
    gc.enable()  # a run that does not end has to give back what it no longer needs
    watch = _Watch(paths, Wanted(known, baseline_file, diff_base), select=select, info=info)
    try:
        watcher = Watcher(paths or (".",))
        watch.begin()
        while True:
            watcher.watch_others(watch.others())
            changed = watcher.wait()
            if watch.is_relevant(changed):
                watch.check_again(changed)
    except KeyboardInterrupt:
        printing.note("")


class _State(NamedTuple):
    config: Config
    tree: Tree
    result: Result


class _Watch:
    def __init__(self, paths: tuple[str, ...], wanted: Wanted, *, select: tuple[str, ...], info: bool) -> None:
        self._paths = paths
        self._wanted = wanted
        self._select = select
        self._info = info
        self._run: options.Run = click.get_current_context().obj
        self._checker = Checker(paths[0] if paths else ".", self._settings) if len(paths) < 2 else None
        self._last: _State | None = None
        self._shown: list[Finding] | None = None

    def _settings(self, overlay: Mapping[str, bytes | None]) -> Config:
        from msgspec.structs import replace

        config = self._run.settings(self._paths, overlay=overlay)
        return replace(config, select=self._select or config.select)

    def others(self) -> Iterator[str]:
        """Yield relevant files outside the paths: settings and files named there."""
        yield from self._settings_files()
        if self._last is None:
            return
        config, tree, _ = self._last
        yield from (path for _, path in config.paths())
        with suppress(ConfigError):  # it is not read, either
            yield comparison_options.baseline_path(config, self._wanted.baseline_file)
        tops = [os.path.join(system.real_path(path), "") for path in self._paths or (".",)]
        yield from (real for real in tree.sources if not any(real.startswith(top) for top in tops))

    def _settings_files(self) -> Iterator[str]:
        """Yield the settings files, even if invalid."""
        flag = "--config="
        yield from (one.removeprefix(flag) for one in self._run.arguments if one.startswith(flag))
        with suppress(ConfigError):
            found = find_file(self._paths, Disk())
            if found is not None:
                yield found

    def is_relevant(self, changed: list[str]) -> bool:
        if self._last is None:
            return True

        config, tree, _ = self._last
        others = {os.path.normpath(path) for path in self.others()}
        if others.intersection(changed) or tree.sources.keys() & set(map(system.real_path, changed)):
            return True
        return can_change_findings(changed, self._paths, config, Disk(boundary=config.boundary))

    # --- what is printed

    def begin(self) -> None:
        result = self._checked("")
        if result is not None:
            self._shown = Report(result, self._info).findings
            if result.relevant or result.findings:
                printing.page(text.as_text(Report(result, self._info), printing.screen()))
            else:
                printing.line(options.NOTHING)
        printing.line("Watching for changes. Ctrl-C ends.")

    def check_again(self, changed: list[str]) -> None:
        begin = time.perf_counter()
        paths = list(map(display_path, changed))
        head = f"[{time.strftime('%H:%M:%S')}] {some(paths, _NAMED, 'files')} changed"
        result = self._checked(head)
        if result is None:
            return

        report = Report(result, self._info)
        found = compare(self._shown or [], report.findings)
        broken = [one for one in found.new if one.rule == _UNREADABLE and one.span.source.path in paths]
        if broken:  # what was found before stands until it can be read
            printing.line(f"{head}: it cannot be read; the findings before stand")
            for finding in broken:
                printing.page(finding_lines(finding))
            return
        self._shown = report.findings
        kinds = (("new", found.new), ("changed", found.changed), ("gone", found.gone))
        counts = ", ".join(f"{len(own):,} {word}" for word, own in kinds if own) or "no finding is new or gone"
        printing.line(f"{head}: {counts} ({time.perf_counter() - begin:.1f} s)")
        for word, own in kinds:
            for finding in own[:_MOST]:
                if word == "gone":
                    printing.line(f"gone: {finding.span.exact_location} {finding.rule}: {finding.message}")
                else:
                    printing.page((*finding_lines(finding, before=f"{word}: "), Line()))
            if len(own) > _MOST:
                printing.line(f"and {len(own) - _MOST:,} more {word}; `kcheck check` lists what is found")
        printing.line(next(iter(closing(report))))

    def _checked(self, head: str) -> Result | None:
        """Run a check; None if the settings are invalid, which is printed."""
        try:
            with printing.show_progress():
                self._last = self._state()
        except ConfigError as error:
            printing.line(f"{head}: the settings cannot be used" if head else "The settings cannot be used")
            for line in getattr(error, "lines", (str(error),)):
                printing.line(f"  {line}")
            return None
        options.tell_bugs(self._last.result)
        return self._last.result

    def _state(self) -> _State:
        """Check, without known findings. Raises ConfigError for invalid settings."""
        if self._checker is not None:
            (last,) = self._checker.check({}, in_parts=False)
            config, tree, result = last.config, last.tree, last.result
        else:
            config = self._settings({})
            tree = Tree(list(self._paths), None, config.exclude, config.boundary)
            result = linter.run(tree, config)
        comparison = self._wanted.comparison(self._paths, config)
        if comparison is not None:
            result = without_known(result, comparison.find_known(result.findings).contains)
        return _State(config, tree, result)
